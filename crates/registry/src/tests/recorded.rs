//! The objects and the title table of a recorded Windows (Vista), which Wine does not have.

use super::*;
use perfhive_engine::Query;
use perfhive_testkit::real;

/// The objects of the recording, in its order.
const OBJECTS: [u32; 8] = [236, 638, 4, 510, 234, 230, 238, 2];

/// Gives the made-up registry the recorded answers of one sample: `Global`, and each object of `OBJECTS`. `None`
/// without the real data.
fn answer(fake: &Fake, sample: usize) -> Option<()> {
    let global = real::file(&format!("windows-vista/s{sample:02}_global.bin"))?;
    fake.with(|world| world.data.insert("Global".into(), global));
    for (place, object) in OBJECTS.iter().enumerate() {
        let name = format!("windows-vista/s{sample:02}_o{place}_{object}.bin");
        let block = real::file(&name)?;
        fake.with(|world| world.data.insert(object.to_string(), block));
    }
    Some(())
}

fn vista() -> Option<Fake> {
    let titles = real::file("titles/vista_009_from_pal_SampleLog.txt")?;
    let text = String::from_utf8(titles).unwrap();
    let list = perfhive_format::titles::TitleList::from_text(&text);
    let pairs: Vec<_> = list.titles.iter().map(|t| (t.index.0, t.text.as_str())).collect();
    let fake = Fake::default();
    fake.with(|world| {
        world.titles.insert(("data".into(), "Counter 009".into()), multi_sz(&pairs));
        world.user = 0x0409;
        world.languages = vec!["009".into()];
    });
    answer(&fake, 0)?;
    Some(fake)
}

#[test]
fn objects_of_a_recorded_windows_have_names() {
    let Some(fake) = vista() else { return };
    let mut source = fake.source();
    let catalogue = source.catalogue(&Ask::everything()).unwrap();
    let english = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(english.len(), 1839);
    let names: Vec<_> =
        catalogue.objects.iter().map(|object| english.name(object.name).unwrap()).collect();
    let expected = [
        "LogicalDisk",
        "TCPv4",
        "Memory",
        "Network Interface",
        "PhysicalDisk",
        "Process",
        "Processor",
        "System",
    ];
    assert_eq!(names, expected);
    for object in &catalogue.objects {
        for counter in &object.counters {
            assert!(english.name(counter.name).is_some(), "{} {}", object.name, counter.name);
        }
    }
}

/// The expected numbers were read from the two blocks and cooked by a separate program (structures of
/// winperf.h, formulas of the counter types).
#[test]
fn values_of_a_recorded_windows_are_those_of_a_separate_program() {
    const VALUES: [(&str, f64); 26] = [
        (r"\System\Processes", 50.0),
        (r"\System\Threads", 674.0),
        (r"\System\Context Switches/sec", 1241.7541848042092),
        (r"\System\System Up Time", 2062.1157831),
        (r"\System\% Registry Quota In Use", 2.0754879477791532),
        (r"\Memory\Available Bytes", 113_057_792.0),
        (r"\Memory\% Committed Bytes In Use", 42.14359590839926),
        (r"\Memory\Page Faults/sec", 8086.855119955397),
        (r"\Processor(_Total)\% Processor Time", 82.1481131553226),
        (r"\Processor(0)\% User Time", 37.73654328626698),
        (r"\Processor(0)\Interrupts/sec", 1228.3777780908947),
        (r"\Process(Idle)\% Processor Time", 17.851886844677406),
        (r"\Process(_Total)\Working Set", 207_745_024.0),
        (r"\Process(System)\ID Process", 4.0),
        (r"\Process(svchost#2)\ID Process", 760.0),
        (r"\Process(smss)\Elapsed Time", 2021.3667596),
        (r"\PhysicalDisk(0 C:)\% Idle Time", 78.65941536127166),
        (r"\PhysicalDisk(_Total)\Avg. Disk sec/Transfer", 0.008170940934075234),
        (r"\PhysicalDisk(_Total)\Disk Bytes/sec", 1467496.292524977),
        (r"\PhysicalDisk(_Total)\Avg. Disk Queue Length", 0.3114094608090945),
        (r"\PhysicalDisk(0 C:)\Avg. Disk Bytes/Write", 178086.03194888178),
        (r"\LogicalDisk(C:)\% Free Space", 75.18801142557507),
        (r"\LogicalDisk(C:)\Free Megabytes", 54488.0),
        (r"\TCPv4\Segments Received/sec", 0.0),
        (r"\Network Interface(VIA Rhine II Fast Ethernet Adapter)\Current Bandwidth", 1e7),
        (r"\Network Interface(Atheros AR5005G Wireless Network Adapter)\Bytes Received/sec", 0.0),
    ];
    let Some(fake) = vista() else { return };
    let mut queries: Vec<_> = VALUES
        .iter()
        .map(|(path, _)| {
            let mut query = Query::new(fake.source()).unwrap();
            query.add(path).unwrap();
            query.collect().unwrap();
            query
        })
        .collect();
    answer(&fake, 1).unwrap();
    for (query, (path, expected)) in queries.iter_mut().zip(VALUES) {
        query.collect().unwrap();
        let [reading] = query.readings() else { panic!("{path}: {:?}", query.readings()) };
        let value = reading.value.as_ref().unwrap_or_else(|why| panic!("{path}: {why}")).as_f64();
        let allowed = expected * 1e-12;
        assert!((value - expected).abs() <= allowed, "{path}: {value}, not {expected}");
    }
}

#[test]
fn objects_of_a_recorded_windows_are_passed_on_byte_for_byte() {
    let Some(fake) = vista() else { return };
    let mut source = fake.source();
    for (place, object) in OBJECTS.into_iter().enumerate() {
        for sample in 0..3 {
            answer(&fake, sample).unwrap();
            let answer = collect(&mut source, ObjectQuery::one(TitleIndex(object)));
            assert!(answer.faults().is_empty(), "{:?}", answer.faults());
            let is = answer.object(TitleIndex(object)).unwrap();
            let name = format!("windows-vista/s{sample:02}_o{place}_{object}.bin");
            let bytes = real::file(&name).unwrap();
            let block = perfhive_format::DataBlock::parse(&bytes).unwrap();
            let was = block.object(TitleIndex(object)).unwrap();
            assert_eq!(is.view().as_bytes(), was.as_bytes(), "{name}");
            assert_eq!(is.view().clocks(), was.clocks(), "{name}");
        }
    }
}
