//! Providers and sources that do what a test tells them.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use perfhive_engine::{
    Collection, Numbering, ObjectDescription, ObjectWriter, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, ProviderError, Session,
};
use perfhive_format::titles::{Title, TitleList};
use perfhive_format::{
    BlockHead, BlockWriter, Clocks, CounterSpec, CounterType, InstanceHead, LanguageId, NameRef,
    ObjectSpec, ObjectTemplate, TitleIndex,
};
#[cfg(feature = "recording")]
use perfhive_recording::ReplaySource;
use std::sync::Arc;

/// The function that a session of a [`ScriptProvider`] calls to collect.
pub type Script =
    dyn Fn(&Collection<'_>, &mut ObjectWriter<'_>) -> Result<(), ProviderError> + Send + Sync;

/// A provider with sessions that run a closure.
pub struct ScriptProvider {
    /// The provider's name.
    pub name: String,
    /// The objects that the provider offers.
    pub description: ProviderDescription,
    /// The provider's names and help texts.
    pub titles: Vec<ProvidedTitles>,
    /// The function that each session calls to collect.
    pub script: Arc<Script>,
    /// The message with which opening fails; `None` if it succeeds.
    pub refuse: Option<String>,
}

struct ScriptSession(Arc<Script>);

impl Provider for ScriptProvider {
    fn name(&self) -> &str {
        &self.name
    }
    fn describe(&self) -> ProviderDescription {
        self.description.clone()
    }
    fn titles(&self) -> Vec<ProvidedTitles> {
        self.titles.clone()
    }
    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        match &self.refuse {
            Some(message) => Err(ProviderError::Failed(message.clone())),
            None => Ok(Box::new(ScriptSession(Arc::clone(&self.script)))),
        }
    }
}

impl Session for ScriptSession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        (self.0)(collection, out)
    }
}

/// A title list of pairs of index and name.
#[must_use]
pub fn titles(pairs: &[(u32, &str)]) -> TitleList {
    let titles = pairs.iter();
    let titles =
        titles.map(|(index, text)| Title { index: TitleIndex(*index), text: (*text).to_string() });
    TitleList::from(titles.collect::<Vec<_>>())
}

impl ScriptProvider {
    /// A provider of one object of raw 64-bit numbers. `names` are pairs of title index and name:
    /// the first pair is the object's, the others are those of its counters.
    pub fn new(
        name: &str,
        numbering: Numbering,
        names: &[(u32, &str)],
        script: impl Fn(&Collection<'_>, &mut ObjectWriter<'_>) -> Result<(), ProviderError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let counters: Vec<_> = names
            .iter()
            .skip(1)
            .map(|(index, _)| {
                let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
                CounterSpec::new(TitleIndex(*index), kind)
            })
            .collect();
        let object = names.first().map_or(0, |(index, _)| *index);
        Self {
            name: name.to_string(),
            description: ProviderDescription::new(
                numbering,
                vec![ObjectDescription::new(ObjectSpec::new(TitleIndex(object)), counters)],
            ),
            titles: vec![ProvidedTitles::new(
                LanguageId::ENGLISH,
                titles(names),
                TitleList::default(),
            )],
            script: Arc::new(script),
            refuse: None,
        }
    }

    /// The same provider, with instances for each of its objects.
    #[must_use]
    pub fn with_instances(mut self) -> Self {
        for object in &mut self.description.objects {
            object.spec.has_instances = true;
        }
        self
    }
}

/// One instance of a scripted object: its name; the title index of its parent's object with the
/// index (from 0) of the parent in it; the values.
pub type Row<'a> = (&'a str, Option<(TitleIndex, u32)>, &'a [u64]);

/// A data block of `machine` with these objects (name, counters, rows), which all have instances.
/// Its time is `seconds` seconds after a fixed time, so that blocks of different `seconds` can be
/// samples of one source.
#[must_use]
pub fn block(
    machine: &str,
    seconds: i64,
    objects: &[(TitleIndex, &[CounterSpec], &[Row<'_>])],
) -> Vec<u8> {
    const EPOCH: i64 = 133_000_000_000_000_000;
    let mut writer = BlockWriter::new();
    let clocks = Clocks {
        perf_time: seconds * 3_579_545,
        perf_freq: 3_579_545,
        time_100ns: EPOCH + seconds * 10_000_000,
        ..Clocks::default()
    };
    writer.start(&BlockHead {
        system_name: machine,
        clocks,
        system_time: perfhive_format::FileTime(clocks.time_100ns).to_system_time(),
        ..BlockHead::default()
    });
    for (name, counters, rows) in objects {
        let template = ObjectTemplate::new(&ObjectSpec::new(*name).with_instances(), counters)
            .expect("the script's counters have a layout");
        let object = writer.object(&template).expect("the script's block is small");
        let mut object = object.clock(clocks.time_100ns, 10_000_000);
        for (name, parent, values) in *rows {
            let head = InstanceHead { name: NameRef::Text(name), unique_id: None, parent: *parent };
            object.instance(&head, values).expect("the script's values fit");
        }
        object.finish().expect("the script's object is complete");
    }
    writer.finish().to_vec()
}

/// A recording for the examples in the documentation: `System` (2) with `Context Switches/sec`
/// (146) of machine `HOST`, which counts 50 switches between two samples of seconds 0 and 2.
#[cfg(feature = "recording")]
#[must_use]
pub fn recording() -> ReplaySource {
    let counters = [CounterSpec::new(TitleIndex(146), CounterType::PERF_COUNTER_BULK_COUNT)];
    let system = ObjectTemplate::new(&ObjectSpec::new(TitleIndex(2)), &counters)
        .expect("the counter has a layout");
    let samples = [(0, 100), (2, 150)].map(|(second, switches)| {
        let clocks = Clocks { perf_time: second * 10, perf_freq: 10, ..Clocks::default() };
        let mut writer = BlockWriter::new();
        writer.start(&BlockHead { system_name: "HOST", clocks, ..BlockHead::default() });
        let object = writer.object(&system).expect("the block is small");
        object.values(&[switches]).and_then(|object| object.finish()).expect("one value");
        (second.to_string(), writer.finish().to_vec())
    });
    let names = titles(&[(2, "System"), (146, "Context Switches/sec")]);
    let recording = ReplaySource::new("recording", samples).expect("the blocks are whole");
    recording.with_titles(LanguageId::ENGLISH, &names)
}

/// A recording of these blocks, a sample each, with these names in English.
#[cfg(feature = "recording")]
#[must_use]
pub fn replay(blocks: impl IntoIterator<Item = Vec<u8>>, names: &[(u32, &str)]) -> ReplaySource {
    let blocks = blocks.into_iter().enumerate().map(|(number, block)| (number.to_string(), block));
    let recording = ReplaySource::new("recording", blocks).expect("the blocks are whole");
    recording.with_titles(LanguageId::ENGLISH, &titles(names))
}
