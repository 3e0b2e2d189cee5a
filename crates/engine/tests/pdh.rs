//! PDH's functions beside paths: browsing, expanding, formats, statistics.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::*;
use perfhive_format::{CookOptions, CounterSpec, CounterType, LanguageId, TitleIndex};
use perfhive_recording::ReplaySource;
use perfhive_testkit::real;
use perfhive_testkit::script::{Row, block, titles};

const PROCESS: TitleIndex = TitleIndex(230);

fn counters() -> [CounterSpec; 4] {
    [
        CounterSpec::new(TitleIndex(784), CounterType::PERF_COUNTER_RAWCOUNT),
        CounterSpec::new(TitleIndex(684), CounterType::PERF_ELAPSED_TIME),
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(180), CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
    ]
}

/// One sample a second: processes by name and PID, each of which keeps `busy` processors busy.
fn recording(machine: &str, samples: &[&[(&str, u64)]], busy: u64) -> ReplaySource {
    let blocks = samples.iter().enumerate().map(|(second, processes)| {
        let cpu = second as u64 * busy * 10_000_000;
        let values: Vec<[u64; 4]> =
            processes.iter().map(|(_, pid)| [*pid, *pid + 1, cpu, 5_000_000_000]).collect();
        let rows: Vec<Row<'_>> =
            processes.iter().zip(&values).map(|(p, v)| (p.0, None, &v[..])).collect();
        let bytes = block(machine, second as i64 + 1, &[(PROCESS, &counters(), &rows)]);
        (format!("sample {second}"), bytes)
    });
    let english =
        titles(&[(230, "Process"), (784, "ID Process"), (180, "Working Set"), (6, "% PT")]);
    let german = titles(&[(230, "Prozess"), (180, "Arbeitsseiten")]);
    ReplaySource::new("script:", blocks)
        .unwrap()
        .with_titles(LanguageId::ENGLISH, &english)
        .with_titles(LanguageId::GERMAN, &german)
}

fn three() -> ReplaySource {
    recording("HOST", &[&[("a", 1)], &[("a", 1), ("b", 2), ("a", 3)], &[("b", 2)]], 4)
}

fn expanded(query: &mut Query, path: &str) -> Vec<String> {
    query.expand(path).unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn a_ring_drops_its_samples_when_another_instance_has_the_name() {
    let timer = [CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER)];
    let sample = |at: i64, times: &[u64]| {
        let values: Vec<[u64; 1]> = times.iter().map(|time| [time * 10_000_000]).collect();
        let rows: Vec<Row<'_>> = values.iter().map(|v| ("x", None, &v[..])).collect();
        (at.to_string(), block("HOST", at, &[(TitleIndex(700), &timer, &rows)]))
    };
    // The first x, which is quick, is gone, and the second takes its place.
    let blocks = [
        sample(1, &[0, 500]),
        sample(2, &[1, 501]),
        sample(3, &[502]),
        sample(4, &[503]),
        sample(5, &[504]),
    ];
    let source = ReplaySource::new("script:", blocks)
        .unwrap()
        .with_titles(LanguageId::ENGLISH, &titles(&[(6, "Time"), (700, "Paths")]));
    let mut query = Query::new(source).unwrap();
    query.add(r"\Paths(x)\Time").unwrap();
    let mut ring = SampleRing::new(10);
    let mut small = SampleRing::new(2);
    let mut most = Vec::new();
    while query.collect().is_ok() {
        query.readings().iter().for_each(|reading| {
            ring.push(reading);
            small.push(reading);
            assert!(small.samples().count() <= 2);
        });
        most.push(ring.statistics().map(|s| s.maximum.as_f64()).map_err(|why| why.code()));
    }
    let two = Err("needs-two-samples");
    assert_eq!(most[1..2], [Ok(100.0)]);
    assert!(most[2..].iter().all(|most| *most == two || *most == Ok(100.0)), "{most:?}");
}

#[test]
fn objects_counters_and_instances_are_listed() {
    let mut query = Query::new(three()).unwrap();
    assert_eq!(query.machines(), ["HOST"]);
    assert_eq!(query.objects(None).unwrap(), ["Process"]);
    assert_eq!(query.objects(Some(r"\\host")).unwrap(), ["Process"]);
    assert!(query.objects(Some("other")).unwrap_err().to_string().contains("HOST"));
    // By name in any language, and by index.
    for name in ["process", "PROZESS", "230"] {
        let items = query.items(None, name).unwrap();
        assert_eq!(items.object, "Process");
        assert_eq!(items.counters, ["ID Process", "684", "% PT", "Working Set"]);
        assert_eq!(items.instances.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a"]);
        assert!(items.has_instances);
    }
    let error = query.items(None, "Proces").unwrap_err().to_string();
    assert_eq!(error, r#"no object "Proces"; did you mean "Process"?"#);
}

#[test]
fn listing_instances_does_not_move_a_recording() {
    let mut query = Query::new(three()).unwrap();
    let all = r"\Process(*#*)\Working Set";
    query.add(all).unwrap();
    let first = [r"\Process(a)\Working Set"];
    assert_eq!(expanded(&mut query, all), first);
    query.collect().unwrap();
    assert_eq!(query.readings().len(), 1);
    assert_eq!(expanded(&mut query, all), first);
    query.collect().unwrap();
    assert_eq!(query.readings().len(), 3);
    let second = [r"\Process(a)", r"\Process(b)", r"\Process(a#1)"];
    assert_eq!(expanded(&mut query, r"\Process(*)\Working Set").len(), 3);
    assert_eq!(expanded(&mut query, all), second.map(|path| format!(r"{path}\Working Set")));
    query.collect().unwrap();
    assert_eq!(expanded(&mut query, all), [r"\Process(b)\Working Set"]);
    assert!(query.collect().unwrap_err().is_end_of_data());
    assert_eq!(expanded(&mut query, all), [r"\Process(b)\Working Set"]);
}

#[test]
fn listing_instances_returns_to_the_last_sample_of_a_recording_that_was_rewound() {
    let cached = Cached::new(three());
    let mut other = cached.clone();
    let mut query = Query::new(cached).unwrap();
    query.add(r"\Process(*)\Working Set").unwrap();
    let present = |query: &mut Query| {
        query.collect().unwrap();
        query.readings().iter().filter(|reading| reading.value.is_ok()).count()
    };
    assert_eq!([present(&mut query), present(&mut query)], [1, 3]);
    other.recording().unwrap().seek(None).unwrap();
    assert_eq!([present(&mut query), present(&mut query)], [1, 3]);
    assert_eq!(query.items(None, "Process").unwrap().instances.len(), 3);
    assert_eq!(present(&mut query), 1);
}

#[test]
fn path_by_process_id_stays_when_the_process_is_gone() {
    let source = recording("HOST", &[&[("a", 1)], &[("a", 3)], &[("a", 3)]], 4);
    let mut query = Query::new(source).unwrap();
    query.add(r"\Process(pid:1)\Working Set").unwrap();
    for _ in 0..3 {
        query.collect().unwrap();
        let paths: Vec<String> =
            query.readings().iter().map(|one| query.path_of(one).to_string()).collect();
        assert_eq!(paths, [r"\Process(pid:1)\Working Set"]);
    }
}

#[test]
fn listing_instances_through_a_cache_does_not_move_a_recording() {
    let mut query = Query::new(Cached::new(three())).unwrap();
    let all = r"\Process(*)\Working Set";
    query.add(all).unwrap();
    for instances in [1, 3, 1] {
        query.collect().unwrap();
        assert_eq!(query.readings().iter().filter(|r| r.value.is_ok()).count(), instances);
        assert_eq!(expanded(&mut query, all).len(), instances);
        assert_eq!(query.items(None, "Process").unwrap().instances.len(), instances);
    }
    assert!(query.collect().unwrap_err().is_end_of_data());
}

#[test]
fn wildcards_expand_in_every_part_of_a_path() {
    let sources = SourceSet::new(three()).with_machine("OTHER", three());
    let mut query = Query::over(sources, LanguageId::GERMAN).unwrap();
    let paths = expanded(&mut query, r"\\*\Process(a)\*");
    assert_eq!(paths.len(), 8);
    assert_eq!(paths[0], r"\\HOST\Prozess(a)\ID Process");
    assert_eq!(paths[7], r"\\OTHER\Prozess(a)\Arbeitsseiten");
    assert_eq!(expanded(&mut query, r"\Process(none*)\*"), [""; 0]);
    assert!(query.expand(r"\Process\Working Set").unwrap_err().is_misuse());
    assert!(query.expand(r"nothing").unwrap_err().is_misuse());
    assert_eq!(query.machines(), ["HOST", "OTHER"]);
}

#[test]
fn readings_are_formatted_as_whole_numbers_and_doubles() {
    let mut query = Query::new(recording("HOST", &[&[("a", 1)], &[("a", 1)]], 4)).unwrap();
    let cpu = query.add(r"\Process(a)\% PT").unwrap();
    let set = query.add(r"\Process(a)\Working Set").unwrap();
    query.collect().unwrap();
    let formatted = |query: &Query, id, format| {
        query.readings_of(id).next().unwrap().formatted(format).map_err(|why| why.code())
    };
    assert_eq!(formatted(&query, cpu, ValueFormat::double()), Err("needs-two-samples"));
    query.collect().unwrap();
    let double = FormattedValue::Double;
    assert_eq!(formatted(&query, cpu, ValueFormat::double()), Ok(double(400.0)));
    assert_eq!(formatted(&query, cpu, ValueFormat::double().cap_100(true)), Ok(double(100.0)));
    assert_eq!(formatted(&query, set, ValueFormat::long()), Err("out-of-range"));
    let large = FormattedValue::Large;
    assert_eq!(formatted(&query, set, ValueFormat::large()), Ok(large(5_000_000_000)));
    assert_eq!(
        formatted(&query, set, ValueFormat::long().scale(-6)),
        Ok(FormattedValue::Long(5000))
    );
}

#[test]
fn a_ring_holds_the_samples_of_one_instance() {
    let samples: [&[(&str, u64)]; 5] = [&[("a", 1)], &[("a", 1)], &[("a", 9)], &[("a", 9)], &[]];
    let mut query = Query::new(recording("HOST", &samples, 2)).unwrap();
    query.add(r"\Process(a)\% PT").unwrap();
    let mut ring = SampleRing::new(3);
    assert!(ring.statistics().is_err());
    let mut counts = Vec::new();
    for _ in samples {
        query.collect().unwrap();
        query.readings().iter().for_each(|reading| {
            ring.push(reading);
        });
        counts.push((ring.samples().count(), ring.statistics().map(|s| s.mean).ok()));
    }
    // Another process took the name: no value is calculated across the two.
    let two = Some(200.0);
    assert_eq!(counts, [(1, None), (2, two), (1, None), (2, two), (2, two)]);
}

#[test]
fn a_ring_undoes_wraps_of_processes_and_not_of_totals() {
    let wrapping = [
        CounterSpec::new(TitleIndex(784), CounterType::PERF_COUNTER_RAWCOUNT),
        CounterSpec::new(TitleIndex(684), CounterType::PERF_ELAPSED_TIME),
        CounterSpec::new(TitleIndex(28), CounterType::PERF_COUNTER_COUNTER),
    ];
    let blocks = [4_294_967_290, 4, 14].map(|faults: u64| [7, 7, faults]);
    let blocks = blocks.iter().enumerate().map(|(second, values)| {
        let rows: [Row<'_>; 2] = [("a", None, values), ("_Total", None, &[0, 0, values[2]])];
        (second.to_string(), block("HOST", second as i64, &[(PROCESS, &wrapping, &rows)]))
    });
    let mut query = Query::new(ReplaySource::new("wrap:", blocks).unwrap()).unwrap();
    let ids = [query.add(r"\230(a)\28").unwrap(), query.add(r"\230(_Total)\28").unwrap()];
    let mut rings = [SampleRing::new(5), SampleRing::new(5)];
    while query.collect().is_ok() {
        for (id, ring) in ids.iter().zip(&mut rings) {
            assert!(query.readings_of(*id).all(|reading| ring.push(reading)));
        }
    }
    let statistics = rings.map(|ring| ring.statistics().map(|s| (s.count, s.mean)).unwrap());
    // A total is a sum over processes that come and go, so that a wrap is never certain.
    assert_eq!(statistics, [(2, 10.0), (1, 10.0)]);
}

#[test]
fn statistics_of_a_real_log_equal_the_values_between_its_ends() {
    let blocks = real::files("windows-vista", "_global.bin");
    if blocks.is_empty() {
        return;
    }
    let names = real::text("titles/vista_009_from_pal_SampleLog.txt").unwrap();
    let list = perfhive_format::titles::TitleList::from_text(&names);
    let mut source = ReplaySource::new("vista:", blocks).unwrap();
    let samples = source.recording().unwrap().span().unwrap().samples as usize;
    let mut query = Query::new(source.with_titles(LanguageId::ENGLISH, &list)).unwrap();
    let paths = [
        r"\System\Context Switches/sec",
        r"\Processor(_Total)\% Processor Time",
        r"\PhysicalDisk(_Total)\Avg. Disk sec/Transfer",
        r"\PhysicalDisk(_Total)\% Disk Time",
        r"\Memory\Available Bytes",
    ];
    let ids = paths.map(|path| query.add(path).unwrap());
    let mut rings = ids.map(|_| SampleRing::new(samples));
    let mut values = ids.map(|_| Vec::new());
    let mut ends = ids.map(|_| None);
    for _ in 0..samples {
        query.collect().unwrap();
        for (at, id) in ids.iter().enumerate() {
            let reading = query.readings_of(*id).next().unwrap();
            assert!(rings[at].push(reading));
            values[at].extend(reading.value.as_ref().ok().map(|value| value.as_f64()));
            let ends = ends[at].get_or_insert((reading.counter_type, reading.raw, reading.raw));
            ends.2 = reading.raw;
        }
    }
    for at in 0..ids.len() {
        let statistics = rings[at].statistics().unwrap();
        let values = &values[at];
        assert_eq!(statistics.count, values.len(), "{}", paths[at]);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(statistics.minimum.as_f64(), least);
        assert_eq!(statistics.maximum.as_f64(), greatest);
        // From the first raw sample to the last, as the types define averages.
        let (kind, first, last) = ends[at].unwrap();
        let options = CookOptions::default();
        let mean = if kind.samples() == 2 {
            let whole = perfhive_format::cook_with(kind, options, first.as_ref(), &last.unwrap());
            whole.unwrap().as_f64()
        } else {
            values.iter().sum::<f64>() / values.len() as f64
        };
        let error = (statistics.mean - mean).abs();
        assert!(error <= 1e-9 * mean.abs(), "{}: {} {mean}", paths[at], statistics.mean);
    }
}
