//! Example providers: a good one, and providers that break the contract in one way each. The tests
//! register them and have the system load them.
#![cfg(windows)]

use perfhive_engine::{
    Collection, Numbering, ObjectDescription, ObjectWriter, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, ProviderError, Session,
};
use perfhive_format::titles::{Title, TitleList};
use perfhive_format::{
    BlockHead, BlockWriter, CounterSpec, CounterType, InstanceHead, LanguageId, ObjectSpec,
    ObjectTemplate, TitleIndex,
};
use std::ffi::c_void;
use std::time::{Duration, SystemTime};

/// A provider of hives: two instances with a count, a timer that runs a quarter of the time, and a
/// fraction.
struct Bees;

struct Hives {
    template: ObjectTemplate,
}

const SPECS: [(u32, CounterType); 4] = [
    (2, CounterType::PERF_COUNTER_RAWCOUNT),
    (4, CounterType::PERF_OBJ_TIME_TIMER),
    (6, CounterType::PERF_RAW_FRACTION),
    (8, CounterType::PERF_RAW_BASE),
];

fn counters(first: u32) -> Vec<CounterSpec> {
    SPECS.iter().map(|(offset, kind)| CounterSpec::new(TitleIndex(first + offset), *kind)).collect()
}

fn list(texts: [&str; 4]) -> TitleList {
    let titles = (0u32..)
        .step_by(2)
        .zip(texts)
        .map(|(index, text)| Title { index: TitleIndex(index), text: text.to_string() });
    TitleList::from(titles.collect::<Vec<_>>())
}

impl Provider for Bees {
    fn name(&self) -> &str {
        "PerfhiveBees"
    }
    fn describe(&self) -> ProviderDescription {
        ProviderDescription::new(
            Numbering::Allotted,
            vec![ObjectDescription::new(
                ObjectSpec::new(TitleIndex(0)).with_instances(),
                counters(0),
            )],
        )
    }
    fn titles(&self) -> Vec<ProvidedTitles> {
        vec![ProvidedTitles::new(
            LanguageId::ENGLISH,
            list(["Beekeeping", "Bees", "% Flight Time", "% Full"]),
            list(["Hives.", "Bees in the hive.", "Time on the wing.", "How full it is."]),
        )]
    }
    fn open(&self, context: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        let first = context.first_counter;
        let spec = ObjectSpec::new(TitleIndex(first)).with_instances();
        Ok(Box::new(Hives { template: ObjectTemplate::new(&spec, &counters(first))? }))
    }
}

impl Session for Hives {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        if !collection.wants(self.template.name()) {
            return Ok(());
        }
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        // A flight of 1 ms in each 4 ms, by a clock that stands still in between: a quarter of the
        // time at any moment.
        let flights = now.as_millis() as u64 / 4;
        let object = out.object(&self.template)?;
        let mut object = object.clock((flights * 40_000) as i64, 10_000_000);
        let flown = flights * 10_000;
        object.instance(&InstanceHead::named("north"), &[1000, flown, 1, 4])?;
        object.instance(&InstanceHead::named("south"), &[2000, flown, 3, 4])?;
        object.finish()?;
        Ok(())
    }
}

perfhive_contract::provider_dll! {
    provider: Bees,
    open: OpenBees,
    collect: CollectBees,
    close: CloseBees,
    indexes: perfhive_windows::allotted_indexes,
    report: perfhive_windows::report_event,
}

/// A provider that panics at each request.
struct Panics;

struct Panicking;

impl Provider for Panics {
    fn name(&self) -> &str {
        "PerfhivePanics"
    }
    fn describe(&self) -> ProviderDescription {
        Bees.describe()
    }
    fn titles(&self) -> Vec<ProvidedTitles> {
        Vec::new()
    }
    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        Ok(Box::new(Panicking))
    }
}

impl Session for Panicking {
    fn collect(
        &mut self,
        _: &Collection<'_>,
        _: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        panic!("the zoo's provider panics");
    }
}

perfhive_contract::provider_dll! {
    provider: Panics,
    open: OpenPanics,
    collect: CollectPanics,
    close: ClosePanics,
    indexes: perfhive_windows::allotted_indexes,
    report: perfhive_windows::report_event,
}

/// The arguments of Collect: pointers to where to write, to the number of bytes, and to the number
/// of objects.
struct Out {
    data: *mut *mut c_void,
    bytes: *mut u32,
    objects: *mut u32,
}

impl Out {
    fn room(&self) -> usize {
        // SAFETY: the caller of Collect keeps its contract.
        unsafe { *self.bytes as usize }
    }

    /// Writes bytes and claims them, as `objects` objects. Returns 0, or 234 (more data) and claims
    /// nothing if there is no room for the bytes.
    fn claim(self, written: &[u8], objects: u32) -> u32 {
        if written.len() > self.room() {
            return self.nothing(234);
        }
        // SAFETY: there is room for the bytes, by the contract of Collect.
        unsafe {
            let start = (*self.data).cast::<u8>();
            start.copy_from_nonoverlapping(written.as_ptr(), written.len());
            *self.data = start.add(written.len()).cast();
            *self.bytes = written.len() as u32;
            *self.objects = objects;
        }
        0
    }

    fn nothing(self, code: u32) -> u32 {
        // SAFETY: the caller of Collect keeps its contract.
        unsafe {
            *self.bytes = 0;
            *self.objects = 0;
        }
        code
    }
}

/// Whether a request is for this service's objects: `Global`, `Costly`, or a list with its first
/// index.
fn is_asked(query: *const u16, service: &str) -> bool {
    let mut units = Vec::new();
    for place in 0..0x4000 {
        // SAFETY: the caller of Collect gives a text that ends in NUL, and nothing behind that NUL
        // is read.
        match unsafe { *query.add(place) } {
            0 => break,
            unit => units.push(unit),
        }
    }
    let query = String::from_utf16_lossy(&units);
    let first = perfhive_windows::allotted_indexes(service).map(|all| all.first_counter);
    let first = first.map(|first| first.to_string()).unwrap_or_default();
    ["Global", "Costly"].contains(&query.as_str()) || query.split(' ').any(|word| word == first)
}

/// An object of the given number of instances.
fn object(name: u32, instances: usize) -> Vec<u8> {
    let counter = CounterSpec::new(TitleIndex(name + 2), CounterType::PERF_COUNTER_RAWCOUNT);
    let spec = ObjectSpec::new(TitleIndex(name)).with_instances();
    let Ok(template) = ObjectTemplate::new(&spec, &[counter]) else { return Vec::new() };
    let mut block = BlockWriter::new();
    block.start(&BlockHead::default());
    let mark = block.mark();
    if let Ok(mut object) = block.object(&template) {
        for number in 0..instances {
            let name = format!("instance {number}");
            if object.instance(&InstanceHead::named(&name), &[number as u64]).is_err() {
                break;
            }
        }
        let _ = object.finish();
    }
    block.since(mark).to_vec()
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
extern "system" fn CloseZoo() -> u32 {
    0
}

macro_rules! zoo {
    ($($(#[$doc:meta])* $open:ident, $collect:ident, $answer:expr, $body:expr;)+) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            unsafe extern "system" fn $open(_: *mut u16) -> u32 {
                $answer
            }

            $(#[$doc])*
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            unsafe extern "system" fn $collect(
                _: *mut u16,
                data: *mut *mut c_void,
                bytes: *mut u32,
                objects: *mut u32,
            ) -> u32 {
                let body: fn(Out) -> u32 = $body;
                body(Out { data, bytes, objects })
            }
        )+
    };
}

zoo! {
    /// Always asks for a larger buffer.
    OpenGreedy, CollectGreedy, 0, |out| out.nothing(234);
    /// Writes an object of some 600 KiB.
    OpenLarge, CollectLarge, 0, |out| out.claim(&object(7000, 10_000), 1);
    /// Claims five objects for one.
    OpenCount, CollectCount, 0, |out| out.claim(&object(7100, 2), 5);
    /// Writes bytes that are not an object.
    OpenGarbage, CollectGarbage, 0, |out| out.claim(&[0xff; 512], 1);
    /// Writes an object that states a length of 0 bytes.
    OpenZero, CollectZero, 0, |out| {
        let mut bytes = object(7200, 2);
        bytes[..4].fill(0);
        out.claim(&bytes, 1)
    };
    /// Refuses to open.
    OpenRefuses, CollectRefuses, 5, |out| out.claim(&object(7300, 2), 1);
    /// Opens, and fails to collect.
    OpenFails, CollectFails, 0, |out| out.nothing(31);
    /// Claims more bytes than the buffer has.
    OpenClaims, CollectClaims, 0, |out| {
        let bytes = out.bytes;
        let code = out.claim(&object(7400, 2), 1);
        // SAFETY: the caller of Collect keeps its contract.
        unsafe { *bytes = 0x7fff_fff8 };
        code
    };
    /// Writes to an unmapped address.
    OpenCrashes, CollectCrashes, 0, |out| {
        let nowhere = std::hint::black_box(16usize) as *mut u8;
        // SAFETY: none: the example shows the violation.
        unsafe { nowhere.write_volatile(1) };
        out.nothing(0)
    };
    /// Writes a byte behind its buffer.
    OpenOverruns, CollectOverruns, 0, |out| {
        let room = out.room();
        // SAFETY: none: the example shows the violation.
        unsafe { (*out.data).cast::<u8>().add(room).write_volatile(1) };
        out.claim(&object(7500, 2), 1)
    };
    /// Answers, and hangs in Close.
    OpenLingers, CollectLingers, 0, |out| out.claim(&object(7600, 2), 1);
    /// Hangs for a minute.
    OpenHangs, CollectHangs, 0, |out| {
        for _ in 0..600 {
            std::thread::sleep(Duration::from_millis(100));
        }
        out.nothing(0)
    };
}

/// Hangs for a minute.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
extern "system" fn CloseLingers() -> u32 {
    for _ in 0..600 {
        std::thread::sleep(Duration::from_millis(100));
    }
    0
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
extern "system" fn OpenBroken(_: *mut u16) -> u32 {
    0
}

/// Always asks for a larger buffer if it is asked for its objects, as on Windows, which asks no
/// provider with an `Object List` that has none of the request.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "system" fn CollectBroken(
    query: *mut u16,
    data: *mut *mut c_void,
    bytes: *mut u32,
    objects: *mut u32,
) -> u32 {
    let out = Out { data, bytes, objects };
    match is_asked(query, "PerfhiveBroken") {
        true => out.nothing(234),
        false => out.nothing(0),
    }
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
extern "system" fn OpenStuck(_: *mut u16) -> u32 {
    0
}

/// Hangs for ten minutes if it is asked for its objects, as on Windows, which asks no provider with
/// an `Object List` that has none of the request.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "system" fn CollectStuck(
    query: *mut u16,
    data: *mut *mut c_void,
    bytes: *mut u32,
    objects: *mut u32,
) -> u32 {
    let out = Out { data, bytes, objects };
    if is_asked(query, "PerfhiveStuck") {
        std::thread::sleep(Duration::from_secs(600));
    }
    out.nothing(0)
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
extern "system" fn OpenFatal(_: *mut u16) -> u32 {
    0
}

/// Ends the process that asks for its objects or for everything, so that a process that is still
/// alive did not ask.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "system" fn CollectFatal(
    query: *mut u16,
    data: *mut *mut c_void,
    bytes: *mut u32,
    objects: *mut u32,
) -> u32 {
    let out = Out { data, bytes, objects };
    if is_asked(query, "PerfhiveFatal") {
        std::process::abort();
    }
    out.nothing(0)
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
extern "system" fn OpenSleeps(_: *mut u16) -> u32 {
    0
}

/// Takes three seconds for a request that includes its objects, and then gives nothing.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "system" fn CollectSleeps(
    query: *mut u16,
    data: *mut *mut c_void,
    bytes: *mut u32,
    objects: *mut u32,
) -> u32 {
    let out = Out { data, bytes, objects };
    if is_asked(query, "PerfhiveSleeps") {
        std::thread::sleep(Duration::from_secs(3));
    }
    out.nothing(0)
}
