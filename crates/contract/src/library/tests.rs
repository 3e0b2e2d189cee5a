//! The three functions, called as a performance library calls them.

use super::*;
use crate::abi::{wide, wide_list};
use perfhive_engine::{ObjectDescription, ProvidedTitles};
use perfhive_format::titles::TitleList;
use perfhive_format::{
    CounterSpec, CounterType, DataBlock, InstanceHead, LanguageId, ObjectSpec, ObjectTemplate,
    PerfObject,
};
use perfhive_testkit::script::ScriptProvider;
use std::sync::atomic::{AtomicU32, Ordering};

/// The result of Collect.
#[derive(Debug, PartialEq, Eq)]
struct Collected {
    code: u32,
    moved: isize,
    bytes: u32,
    objects: u32,
    data: Vec<u8>,
}

fn collect(library: &Library, value: &str, room: usize) -> Collected {
    let value = wide(value);
    let mut buffer = vec![0u8; room];
    let start: *mut c_void = buffer.as_mut_ptr().cast();
    let (mut data, mut bytes, mut objects) = (start, room as u32, 77);
    // SAFETY: the string is terminated, `room` bytes may be written.
    let code = unsafe { library.collect(value.as_ptr(), &mut data, &mut bytes, &mut objects) };
    let moved = data as isize - start as isize;
    buffer.truncate(bytes as usize);
    Collected { code, moved, bytes, objects, data: buffer }
}

fn open(library: &Library, linkage: Option<&str>) -> u32 {
    let linkage = linkage.map(wide_list);
    // SAFETY: NULL or ended by two NULs.
    unsafe { library.open(linkage.as_ref().map_or(core::ptr::null(), |list| list.as_ptr())) }
}

const NOTHING: Collected =
    Collected { code: ERROR_SUCCESS, moved: 0, bytes: 0, objects: 0, data: Vec::new() };

fn gauges() -> Box<dyn Provider> {
    Box::new(Gauges { refuse: false })
}

/// A provider of three objects at offsets 0 (global), 10 (costly) and 20 (foreign), each with First
/// Counter as its only value. Sessions with the linkage `one` are counted.
struct Gauges {
    refuse: bool,
}

static OPEN: AtomicU32 = AtomicU32::new(0);

struct GaugesSession {
    first: u32,
    linkage: String,
}

impl Drop for GaugesSession {
    fn drop(&mut self) {
        if self.linkage == "one" {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Provider for Gauges {
    fn name(&self) -> &str {
        "Gauges"
    }
    fn describe(&self) -> ProviderDescription {
        let object = |name: u32, cost| {
            ObjectDescription::new(ObjectSpec::new(TitleIndex(name)), Vec::new()).with_cost(cost)
        };
        ProviderDescription::new(
            Numbering::Allotted,
            vec![object(0, Cost::Global), object(10, Cost::Costly), object(20, Cost::Foreign)],
        )
    }
    fn titles(&self) -> Vec<ProvidedTitles> {
        let (names, help) = (TitleList::default(), TitleList::default());
        vec![ProvidedTitles::new(LanguageId::ENGLISH, names, help)]
    }
    fn open(&self, context: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        if self.refuse {
            return Err(ProviderError::Failed("the gauges are out".into()));
        }
        let linkage = context.linkage.unwrap_or_default().to_string();
        if linkage == "one" {
            OPEN.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Box::new(GaugesSession { first: context.first_counter, linkage }))
    }
}

impl GaugesSession {
    fn write(&self, out: &mut BlockWriter, name: u32) -> Result<(), ProviderError> {
        let kind = CounterType::PERF_COUNTER_RAWCOUNT;
        let counter = CounterSpec::new(TitleIndex(name + 2), kind);
        let spec = ObjectSpec::new(TitleIndex(name)).with_instances();
        let template = ObjectTemplate::new(&spec, &[counter])?;
        let mut object = out.object(&template)?;
        object.instance(&InstanceHead::named(&self.linkage), &[u64::from(self.first)])?;
        object.finish()?;
        Ok(())
    }
}

impl Session for GaugesSession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let mut block = BlockWriter::new();
        if let ObjectQuery::Foreign(machine) = collection.query() {
            if machine == "MARS" {
                block.start(&BlockHead { system_name: machine, ..BlockHead::default() });
                self.write(&mut block, self.first + 20)?;
                out.foreign_block(block.finish().to_vec());
            }
            return Ok(());
        }
        for offset in [0, 10] {
            if collection.wants(TitleIndex(self.first + offset)) {
                block.start(&BlockHead::default());
                let mark = block.mark();
                self.write(&mut block, self.first + offset)?;
                out.raw_objects(block.since(mark))?;
            }
        }
        Ok(())
    }
}

fn allotted(provider: &str) -> Option<AllottedIndexes> {
    assert_eq!(provider, "Gauges");
    Some(AllottedIndexes { first_counter: 5000, first_help: 5001 })
}

#[test]
fn open_collect_and_close_follow_the_contract() {
    let library = Library::new(gauges, allotted, |_, message| panic!("{message}"));
    assert_eq!(collect(&library, "Global", 4096), NOTHING, "not open");
    assert_eq!(open(&library, Some("one")), ERROR_SUCCESS);

    let global = collect(&library, "Global", 4096);
    assert_eq!((global.code, global.objects), (ERROR_SUCCESS, 1));
    assert_eq!(global.moved, global.bytes as isize);
    assert!(global.bytes.is_multiple_of(8));
    let object = PerfObject::parse(&global.data).unwrap();
    assert_eq!(object.name_index(), TitleIndex(5000));
    let instance = object.instances().next().unwrap();
    assert_eq!(instance.name().to_string(), "one");

    assert_eq!(collect(&library, "5000", 4096).data, global.data);
    assert_eq!(collect(&library, "2 5000 230", 4096).data, global.data);
    let costly = collect(&library, "Costly", 4096);
    assert_eq!(PerfObject::parse(&costly.data).unwrap().name_index(), TitleIndex(5010));
    assert_eq!(collect(&library, "5010 5000", 4096).objects, 2);
    for other in ["2 230", "5020", "0", "Foreign", "Foreign VENUS", "nonsense", "-1"] {
        assert_eq!(collect(&library, other, 4096), NOTHING, "{other}");
    }

    let foreign = collect(&library, "Foreign MARS", 4096);
    assert_eq!((foreign.code, foreign.objects), (ERROR_SUCCESS, 1));
    assert_eq!(foreign.moved, foreign.data.len() as isize);
    let (head, objects) = DataBlock::scan(&foreign.data).unwrap();
    assert_eq!(head.system_name().to_string(), "MARS");
    assert_eq!(objects.count(), 1);

    // Every size that is too small, and the one that fits.
    for query in ["Global", "Foreign MARS"] {
        let needed = collect(&library, query, 4096).bytes as usize;
        for room in (0..needed).step_by(4) {
            let full = Collected { code: ERROR_MORE_DATA, ..NOTHING };
            assert_eq!(collect(&library, query, room), full, "{query} {room}");
        }
        assert_eq!(collect(&library, query, needed).bytes as usize, needed);
    }

    // The last Close ends the sessions.
    assert_eq!(open(&library, None), ERROR_SUCCESS);
    assert_eq!(library.close(), ERROR_SUCCESS);
    assert_eq!(collect(&library, "Global", 4096).data, global.data);
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                for _ in 0..200 {
                    assert_eq!(collect(&library, "Global", 4096).data, global.data);
                }
            });
        }
    });
    assert!((1..=9).contains(&OPEN.load(Ordering::Relaxed)));
    assert_eq!(library.close(), ERROR_SUCCESS);
    assert_eq!(OPEN.load(Ordering::Relaxed), 0);
    assert_eq!(collect(&library, "Global", 4096), NOTHING, "closed");
    assert_eq!(library.close(), ERROR_SUCCESS, "one too many");
}

#[test]
fn null_pointers_are_refused() {
    let library = Library::new(gauges, allotted, |_, _| {});
    let (mut data, mut bytes, mut objects) = (core::ptr::null_mut(), 0, 0);
    let null = core::ptr::null_mut::<u8>();
    let value = wide("Global");
    // SAFETY: NULL is allowed for each, and nothing may be written.
    unsafe {
        let code = library.collect(value.as_ptr(), null.cast(), &mut bytes, &mut objects);
        assert_eq!(code, ERROR_INVALID_PARAMETER);
        let code = library.collect(value.as_ptr(), &mut data, null.cast(), &mut objects);
        assert_eq!(code, ERROR_INVALID_PARAMETER);
        let code = library.collect(core::ptr::null(), &mut data, &mut bytes, &mut objects);
        assert_eq!((code, bytes, objects), (ERROR_SUCCESS, 0, 0));
    }
}

static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note(provider: &str, message: &str) {
    lock(&TOLD).push(format!("{provider}: {message}"));
}

fn trouble() -> Box<dyn Provider> {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let names = [(4000, "Trouble"), (4002, "Value")];
    let mut provider = ScriptProvider::new("Trouble", Numbering::Windows, &names, |_, out| {
        match CALLS.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("gauge {} is broken", 3),
            1 => Err(ProviderError::Failed("no connection".into())),
            2 => {
                out.fault(TitleIndex(4000), None, "half of it");
                Ok(())
            }
            _ => Ok(()),
        }
    });
    provider.refuse = None;
    Box::new(provider)
}

#[test]
fn panics_and_errors_of_a_provider_are_reported() {
    let library = Library::new(trouble, |_| None, note);
    assert_eq!(open(&library, None), ERROR_SUCCESS);
    for _ in 0..4 {
        assert_eq!(collect(&library, "Global", 4096), NOTHING);
    }
    let refusing = Library::new(|| Box::new(Gauges { refuse: true }), allotted, note);
    assert_eq!(open(&refusing, None), ERROR_GEN_FAILURE);
    assert_eq!(collect(&refusing, "Global", 4096), NOTHING);
    let unregistered = Library::new(gauges, |_| None, note);
    assert_eq!(open(&unregistered, None), ERROR_FILE_NOT_FOUND);
    let panicking = Library::new(|| panic!("not even made"), |_| None, note);
    assert_eq!(open(&panicking, None), ERROR_GEN_FAILURE);
    assert_eq!(
        *lock(&TOLD),
        [
            "Trouble: the provider panicked: gauge 3 is broken",
            "Trouble: Collect failed: no connection",
            "Trouble: half of it",
            "Gauges: Open failed: the gauges are out",
            "Gauges: no indexes are allotted to it: it must be registered under this name \
             (drivername=Gauges in its .ini file)",
            "provider library: the provider panicked: not even made",
        ]
    );
}

unsafe extern "system" fn hear(context: *mut c_void, text: *const c_char, length: usize) {
    // SAFETY: the context is the test's vector, the text is as long as it says.
    let (heard, text) = unsafe {
        let text = core::slice::from_raw_parts(text.cast::<u8>(), length);
        (&*context.cast::<Mutex<Vec<String>>>(), text)
    };
    lock(heard).push(String::from_utf8(text.to_vec()).unwrap());
}

#[test]
fn host_passes_indexes_and_receives_reports() {
    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let context = core::ptr::from_ref(&HEARD).cast_mut().cast();
    let host = Host {
        size: size_of::<Host>() as u32,
        first_counter: 7000,
        first_help: 7001,
        reserved: 0,
        context,
        report: Some(hear),
    };
    let library = Library::new(gauges, |_| None, note);
    let short = Host { size: 8, ..host };
    // SAFETY: the structures are whole; what they point to lives for ever.
    unsafe {
        library.host(core::ptr::null());
        library.host(&short);
        library.host(&host);
    }
    assert_eq!(open(&library, None), ERROR_SUCCESS);
    let global = collect(&library, "Global", 4096);
    assert_eq!(PerfObject::parse(&global.data).unwrap().name_index(), TitleIndex(7000));
    library.tell("Gauges", "a message");
    assert_eq!(*lock(&HEARD), ["a message"]);
}

/// On Windows only the first NUL of the argument of Open is certain.
#[test]
fn linkage_lookup_replaces_the_truncated_list() {
    for (handed, found, wanted) in [
        ("one", Some("one\0two"), "one\0two"),
        ("one", Some("another\0two"), "one"),
        ("one", None, "one"),
    ] {
        static FOUND: Mutex<Option<&str>> = Mutex::new(None);
        *lock(&FOUND) = found;
        let library =
            Library::new(gauges, allotted, |_, _| {}).linkage(|_| lock(&FOUND).map(str::to_string));
        let running = library.start(Some(handed.to_string())).unwrap();
        assert_eq!(running.linkage.as_deref(), Some(wanted));
    }
}

#[test]
fn costly_request_runs_at_lower_priority() {
    static LOWERED: AtomicU32 = AtomicU32::new(0);
    let library =
        Library::new(gauges, allotted, |_, message| panic!("{message}")).lowered(|work| {
            LOWERED.fetch_add(1, Ordering::Relaxed);
            work();
        });
    assert_eq!(open(&library, None), ERROR_SUCCESS);
    for (query, objects, lowered) in
        [("Global", 1, 0), ("5000", 1, 0), ("Costly", 1, 1), ("5010 5000", 2, 1), ("2", 0, 0)]
    {
        LOWERED.store(0, Ordering::Relaxed);
        assert_eq!(collect(&library, query, 4096).objects, objects, "{query}");
        assert_eq!(LOWERED.load(Ordering::Relaxed), lowered, "{query}");
    }
    library.close();
}

/// A number beyond all indexes is ignored.
#[test]
fn list_with_a_number_beyond_u32_still_gives_the_other_objects() {
    static GAUGES: Library = Library::new(gauges, allotted, |_, _| {});
    assert_eq!(open(&GAUGES, None), ERROR_SUCCESS);
    let one = collect(&GAUGES, "5000", 1000);
    assert_eq!(one.objects, 1);
    assert_eq!(collect(&GAUGES, "5000 99999999999", 1000), one);
    assert_eq!(collect(&GAUGES, "99999999999", 1000), NOTHING);
    GAUGES.close();
}

/// A provider that panics on demand, and whenever a part of it is dropped.
struct Droppy(&'static str);

impl Droppy {
    fn at(&self, place: &str) {
        assert!(self.0 != place, "panics in {place}");
    }
}

impl Drop for Droppy {
    fn drop(&mut self) {
        panic!("panics when dropped");
    }
}

impl Provider for Droppy {
    fn name(&self) -> &str {
        "Droppy"
    }
    fn describe(&self) -> ProviderDescription {
        self.at("describe");
        ProviderDescription::new(Numbering::Windows, Gauges { refuse: false }.describe().objects)
    }
    fn titles(&self) -> Vec<ProvidedTitles> {
        Vec::new()
    }
    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        self.at("open");
        Ok(Box::new(Droppy(self.0)))
    }
}

/// The number of threads that collect and wait.
static INSIDE: AtomicU32 = AtomicU32::new(0);
static KEPT: Mutex<()> = Mutex::new(());

impl Session for Droppy {
    fn collect(
        &mut self,
        _: &Collection<'_>,
        _: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        self.at("collect");
        INSIDE.fetch_add(1, Ordering::SeqCst);
        drop(lock(&KEPT));
        Ok(())
    }
}

static SAID_OF_DROPS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn droppy<const PLACE: char>() -> Library {
    let make = || -> Box<dyn Provider> {
        let place = ["describe", "open", "collect"].into_iter().find(|p| p.starts_with(PLACE));
        Box::new(Droppy(place.unwrap_or_default()))
    };
    Library::new(make, |_| None, |_, message| lock(&SAID_OF_DROPS).push(message.to_string()))
}

/// A panic during another one would end the process, and the reader with it.
#[test]
fn panics_in_drop_are_contained() {
    let told = |expected: &[&str]| {
        let told = std::mem::take(&mut *lock(&SAID_OF_DROPS));
        let told: Vec<&str> = told.iter().filter_map(|line| line.split(": ").nth(1)).collect();
        assert_eq!(told, expected);
    };
    let dropped = "panics when dropped";
    for (library, first) in
        [(droppy::<'d'>(), "panics in describe"), (droppy::<'o'>(), "panics in open")]
    {
        assert_eq!(open(&library, None), ERROR_GEN_FAILURE);
        told(&[first, dropped]);
    }
    let library = droppy::<'c'>();
    assert_eq!(open(&library, None), ERROR_SUCCESS);
    for _ in 0..2 {
        assert_eq!(collect(&library, "Global", 1000), NOTHING);
        told(&["panics in collect", dropped]);
    }
    // Now the provider alone.
    assert_eq!(library.close(), ERROR_SUCCESS);
    told(&[dropped]);

    // Two sessions, whose threads still collect when Close comes.
    let library = droppy::<'-'>();
    assert_eq!(open(&library, None), ERROR_SUCCESS);
    std::thread::scope(|threads| {
        let kept = lock(&KEPT);
        let two = [0, 1].map(|_| threads.spawn(|| collect(&library, "Global", 1000)));
        while INSIDE.load(Ordering::SeqCst) < 2 {
            std::thread::yield_now();
        }
        assert_eq!(library.close(), ERROR_SUCCESS);
        told(&[]);
        drop(kept);
        for one in two {
            assert_eq!(one.join().unwrap(), NOTHING);
        }
    });
    told(&[dropped, dropped, dropped]);
}

/// `pin` is called once, before the provider is made, with an address in the library.
#[test]
fn first_open_pins_the_library_once() {
    static PINNED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    fn pin(inside: *const c_void) {
        lock(&PINNED).push(inside.addr());
    }
    fn made() -> Box<dyn Provider> {
        assert!(!lock(&PINNED).is_empty(), "its threads would not be safe");
        gauges()
    }
    static GAUGES: Library = Library::new(made, allotted, |_, _| {}).pin(pin);
    assert!(lock(&PINNED).is_empty());
    for _ in 0..3 {
        assert_eq!(open(&GAUGES, None), ERROR_SUCCESS);
        GAUGES.close();
    }
    assert_eq!(*lock(&PINNED), [core::ptr::from_ref(&GAUGES).addr()]);
}
