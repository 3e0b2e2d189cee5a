//! perfmon's text logs, read and written.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use perfhive_engine::{Ask, ObjectQuery};
use perfhive_engine::{NoValue, Query, Snapshot, Source, SourceErrorKind};
use perfhive_format::{FileTime, LanguageId};
use perfhive_recording::{
    ReplaySource, TextForm, TextLines, TextLogWriter, TextZone, open, text_log_columns,
};
use perfhive_testkit::{conformance, real};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A file of the test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(text: impl AsRef<[u8]>) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("perfhive-text-{}-{number}.csv", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn open(&self) -> ReplaySource {
        open("file:log", std::slice::from_ref(&self.0), &[], None).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const LOG: &str = concat!(
    r#""(PDH-CSV 4.0) (Eastern Daylight Time)(240)","\\BOX\Process(a, b#1)\% Processor Time","#,
    r#""\\BOX\Process(c)\Working Set","\\BOX\Memory\Available Bytes (x)""#,
    "\r\n",
    r#""08/14/2007 15:40:38.659"," ","4096","1.5""#,
    "\r\n",
    r#""08/14/2007 15:41:38.659","99.961234567890002722","8192"," ""#,
    "\r\n",
);

/// The values of some paths in each sample.
fn values(source: ReplaySource, paths: &[&str]) -> Vec<Vec<Option<f64>>> {
    let mut query = Query::new(source).unwrap();
    let ids: Vec<_> = paths.iter().map(|path| query.add(path).unwrap()).collect();
    let mut samples = Vec::new();
    while query.collect().is_ok() {
        let value = |id: &_| {
            let reading = query.readings_of(*id).next().unwrap();
            reading.value.as_ref().ok().map(|value| value.as_f64())
        };
        samples.push(ids.iter().map(value).collect());
    }
    samples
}

#[test]
fn cells_become_values_and_blanks_none() {
    let file = Scratch::new(LOG);
    let paths = [r"\Process(a, b#1)\% Processor Time", r"\Process(c)\Working Set"];
    let found = values(file.open(), &paths);
    assert_eq!(found, [[None, Some(4096.0)], [Some(99.96123456789), Some(8192.0)]]);
    let found = values(file.open(), &[r"\\BOX\Memory\Available Bytes (x)"]);
    assert_eq!(found, [[Some(1.5)], [None]]);
    // An instance without the counter has no value of it.
    let mut query = Query::new(file.open()).unwrap();
    query.add(r"\Process(c)\% Processor Time").unwrap();
    query.collect().unwrap();
    assert!(matches!(query.readings()[0].value, Err(NoValue::Cook(_))));
}

#[test]
fn times_are_utc_by_the_banners_bias() {
    let mut source = Scratch::new(LOG).open();
    let span = source.recording().unwrap().span().unwrap();
    assert_eq!(span.begin.to_string(), "2007-08-14T19:40:38.659Z");
    assert_eq!((span.end.0 - span.begin.0, span.samples), (60 * FileTime::PER_SECOND, 2));
    let mut out = Snapshot::new();
    source.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
    assert!(out.faults().is_empty());
    let cut = Scratch::new(LOG.replace("Eastern Daylight Time)(240)", "RTZ 2 ("));
    let mut source = cut.open();
    source.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
    assert!(out.faults()[0].message.contains("no time zone"), "{:?}", out.faults());
}

#[test]
fn a_text_log_is_a_source_like_others() {
    let file = Scratch::new(LOG);
    conformance::source(|| Box::new(file.open()));
    let tabs = LOG.replace(r#"",""#, "\"\t\"").replace("PDH-CSV", "PDH-TSV").replace("\r\n", "\n");
    let file = Scratch::new(tabs);
    assert_eq!(
        values(file.open(), &[r"\Process(c)\Working Set"]),
        [[Some(4096.0)], [Some(8192.0)]]
    );
}

/// A text in UTF-16 with a byte order mark, as PowerShell writes it with `>`; `bytes_of` gives the
/// order of the two bytes of a unit.
fn utf16(text: &str, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes_of).collect()
}

#[test]
fn a_log_in_utf_16_is_read_like_one_in_utf_8() {
    // Letters of one, two, three and four bytes of UTF-8, so that pieces end inside of them.
    let log = LOG.replace("(c)", "(\u{448}\u{8b80}\u{1f600})");
    let path = "\\Process(\u{448}\u{8b80}\u{1f600})\\Working Set";
    for bytes_of in [u16::to_le_bytes, u16::to_be_bytes] {
        let bytes = utf16(&log, bytes_of);
        let file = Scratch::new(&bytes);
        conformance::source(|| Box::new(file.open()));
        assert_eq!(values(file.open(), &[path]), [[Some(4096.0)], [Some(8192.0)]]);
        let unmarked = Scratch::new(&bytes[2..]);
        assert_eq!(values(unmarked.open(), &[path]), [[Some(4096.0)], [Some(8192.0)]]);
        // A console's output, with lines enough for many pieces.
        let mut lines = TextLines::of_console(TextForm::Csv, TextZone::utc());
        let mut text = lines.first([&*format!(r"\\BOX{path}")]).to_string();
        for second in 0..9000 {
            let time = FileTime(128_315_940_380_000_000 + second * FileTime::PER_SECOND);
            text.push_str(lines.sample(time, [Some(second as f64)]));
        }
        let file = Scratch::new(utf16(&text, bytes_of));
        let mut source = file.open();
        assert_eq!(source.recording().unwrap().span().unwrap().samples, 9000);
        let found = values(file.open(), &[path]);
        assert_eq!(found.len(), 9000);
        assert!((0..).zip(found).all(|(second, row)| row == [Some(f64::from(second))]));
        let to = FileTime(128_315_940_380_000_000 + 8500 * FileTime::PER_SECOND);
        source.recording().unwrap().seek(Some(to)).unwrap();
        assert_eq!(values(source, &[path])[0], [Some(8500.0)]);
    }
    // A letter that is cut at the end of the file.
    let mut cut = utf16(LOG, u16::to_le_bytes);
    cut.pop();
    let file = Scratch::new(cut);
    assert_eq!(values(file.open(), &[r"\Process(c)\Working Set"]).len(), 2);
}

/// A log of one process in a code page, as a Windows of that language writes it: the banner ends where
/// the zone's name is not ASCII.
fn in_code_page(page: &'static encoding_rs::Encoding, object: &str, counter: &str) -> Vec<u8> {
    let text = format!(
        "\"(PDH-CSV 4.0) (\",\"\\\\BOX\\{object}(a)\\{counter}\"\r\n\
         \"08/14/2007 15:40:38.659\",\"4096\"\r\n"
    );
    let (bytes, _, has_errors) = page.encode(&text);
    assert!(!has_errors && str::from_utf8(&bytes).is_err());
    bytes.into_owned()
}

/// The warnings of the first sample.
fn warnings(source: &mut ReplaySource) -> Vec<String> {
    let mut out = Snapshot::new();
    source.collect(&Ask::everything(), &mut out).unwrap();
    out.faults().iter().map(|fault| fault.message.to_string()).collect()
}

#[test]
fn a_log_in_a_code_page_is_read_in_the_one_that_is_named() {
    use encoding_rs::{BIG5, EUC_KR, GBK, SHIFT_JIS, WINDOWS_1251};
    // In Shift_JIS the last byte of \u{30bd} is a backslash.
    for (name, page, object, counter) in [
        ("932", SHIFT_JIS, "\u{30d7}\u{30ed}\u{30bb}\u{30b9}", "\u{30bd}\u{8868}"),
        ("windows-1251", WINDOWS_1251, "\u{41f}\u{440}\u{43e}", "% \u{43a}"),
        ("cp936", GBK, "\u{8fdb}\u{7a0b}", "\u{5de5}\u{4f5c}"),
        ("949", EUC_KR, "\u{d504}", "\u{c791}"),
        ("big5", BIG5, "\u{8655}", "\u{529f}"),
    ] {
        let file = Scratch::new(in_code_page(page, object, counter));
        let files = std::slice::from_ref(&file.0);
        let mut source = open("file:log", files, &[], Some(name.parse().unwrap())).unwrap();
        assert_eq!(values(source, &[&format!("\\{object}(a)\\{counter}")]), [[Some(4096.0)]]);
        source = open("file:log", files, &[], Some(name.parse().unwrap())).unwrap();
        assert_eq!(warnings(&mut source).len(), 1, "the banner's alone");
        let columns = text_log_columns(&file.0, Some(name.parse().unwrap())).unwrap().unwrap();
        assert_eq!(columns, [format!("\\\\BOX\\{object}(a)\\{counter}")]);
        // Without the name of the code page, a warning says how to give it.
        let told = warnings(&mut file.open());
        assert!(told[0].contains("windows-1252") && told[0].contains("--encoding"), "{told:?}");
    }
    // A wrong name is told, too.
    let file = Scratch::new(in_code_page(WINDOWS_1251, "\u{41f}", "\u{43a}"));
    let wrong = Some("utf-8".parse().unwrap());
    let mut source = open("file:log", std::slice::from_ref(&file.0), &[], wrong).unwrap();
    assert!(warnings(&mut source)[0].contains("not UTF-8 text"));
    // What is named does not replace a mark.
    let file = Scratch::new(format!("\u{feff}{}", LOG.replace("(c)", "(\u{448})")));
    let named = Some("1251".parse().unwrap());
    let source = open("file:log", std::slice::from_ref(&file.0), &[], named).unwrap();
    assert_eq!(values(source, &["\\Process(\u{448})\\Working Set"])[0], [Some(4096.0)]);
}

#[test]
fn a_log_of_a_spreadsheet_with_semicolons_is_refused_with_the_reason() {
    let file = Scratch::new(LOG.replace("\",\"", "\";\""));
    let error = open("file:log", std::slice::from_ref(&file.0), &[], None).err().unwrap();
    assert!(error.to_string().contains("semicolons"), "{error}");
}

#[test]
fn the_columns_of_a_log_are_told_as_it_has_them() {
    let file = Scratch::new(LOG);
    let columns = text_log_columns(&file.0, None).unwrap().unwrap();
    let wanted = [
        r"\\BOX\Process(a, b#1)\% Processor Time",
        r"\\BOX\Process(c)\Working Set",
        r"\\BOX\Memory\Available Bytes (x)",
    ];
    assert_eq!(columns, wanted);
    assert_eq!(text_log_columns(&Scratch::new("no log").0, None).unwrap(), None);
}

/// `typeperf` writes paths as they were typed. Instances stay apart: on Linux they may differ in case alone.
#[test]
fn columns_in_several_spellings_are_those_of_one_machine_object_and_counter() {
    let file = Scratch::new(
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\box\\Memory\\Available Bytes\",\"\\\\BOX\\memory\\pages/sec\",\
         \"\\\\BOX\\Process(a)\\Working Set\",\"\\\\Box\\PROCESS(A)\\working set\"\r\n\
         \"11/24/2026 12:00:00.000\",\"1\",\"2\",\"3\",\"4\"\r\n",
    );
    let catalogue = file.open().catalogue(&Ask::everything()).unwrap();
    assert_eq!((&*catalogue.machine, catalogue.objects.len()), ("box", 2));
    let paths = [r"\Memory\Available Bytes", r"\Memory\Pages/sec"];
    let found = values(file.open(), &paths);
    assert_eq!(found[0], [Some(1.0), Some(2.0)]);
    let mut query = Query::new(file.open()).unwrap();
    query.add(r"\Process(*)\Working Set").unwrap();
    query.collect().unwrap();
    let values = query.readings().iter().map(|one| one.value.as_ref().unwrap().as_f64());
    assert_eq!(values.collect::<Vec<_>>(), [3.0, 4.0]);
}

#[test]
fn what_typeperf_prints_is_read() {
    let Some(text) = real::text("logs/typeperf_stdout_excerpt.txt") else { return };
    let file = Scratch::new(text);
    let found = values(file.open(), &[r"\Memory\Commit Limit", r"\Paging File(_Total)\% Usage"]);
    assert_eq!(found[0], [Some(20_261_367_808.0), Some(0.0)]);
}

#[test]
fn localised_names_of_a_cut_banner_are_read() {
    let Some(text) = real::text("logs/waflia_ru_header_excerpt.csv") else { return };
    let file = Scratch::new(text);
    let mut source = file.open();
    let catalogue = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!(catalogue.machine, "DESKTOP-LRPVSK4");
    let titles = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(titles.name(catalogue.objects[0].name), Some("Процесс"));
}

#[test]
fn a_written_log_is_byte_for_byte_that_of_windows() {
    let file = Scratch::new("");
    let columns = [
        r"\\BOX\Process(a, b#1)\% Processor Time",
        r"\\BOX\Process(c)\Working Set",
        r"\\BOX\Memory\Available Bytes (x)",
    ];
    let zone = TextZone { name: "Eastern Daylight Time".into(), bias: 240 };
    let mut writer = TextLogWriter::create(&file.0, TextForm::Csv, zone, columns).unwrap();
    for (minute, values) in
        [(40, [None, Some(4096.0), Some(1.5)]), (41, [Some(99.96123456789), Some(8192.0), None])]
    {
        let time = perfhive_format::CalendarTime {
            year: 2007,
            month: 8,
            day: 14,
            hour: 19,
            minute,
            second: 38,
            milliseconds: 659,
            ..Default::default()
        };
        writer.add(time.to_file_time().unwrap(), values).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let written = std::fs::read_to_string(&file.0).unwrap();
    assert_eq!((written.as_str(), bytes as usize), (LOG, LOG.len()));
}

#[test]
fn a_column_that_is_no_counter_is_left_out_and_the_others_are_read() {
    let log = concat!(
        r#""(PDH-CSV 4.0) (Coordinated Universal Time)(0)","\\BOX\Memory\A","note","\\BOX\My (odd) Object\B","\\BOX\Memory\C""#,
        "\r\n",
        r#""08/14/2007 15:42:37.659","1","seen by Ann","2","3""#,
        "\r\n",
    );
    let file = Scratch::new(log);
    let found = values(file.open(), &[r"\Memory\A", r"\Memory\C"]);
    assert_eq!(found, [[Some(1.0), Some(3.0)]]);
    let mut out = Snapshot::new();
    file.open().collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
    let faults: Vec<_> = out.faults().iter().map(|fault| &*fault.message).collect();
    assert_eq!(out.objects().count(), 2);
    assert_eq!(faults, ["column 3: \"note\" is not a counter path, and is left out"]);
    // Without any counter it is no log.
    let none = Scratch::new(log.replace("BOX", ""));
    assert!(open("file:log", std::slice::from_ref(&none.0), &[], None).is_err());
}

#[test]
fn bad_lines_are_faults_and_the_others_are_read() {
    let long = "x".repeat(100_000);
    let bad = LOG.to_string()
        + "garbage\r\n"
        + &long
        + "\r\n\"08/14/2007 15:42:38.659\",\"5\"\r\n\"99/99/2007";
    let file = Scratch::new(bad);
    let found = values(file.open(), &[r"\Process(a, b#1)\% Processor Time"]);
    assert_eq!(found.last().unwrap()[0], None);
    let mut source = file.open();
    let (mut out, mut faults) = (Snapshot::new(), Vec::new());
    let mut is_end = false;
    while !is_end {
        // The end tells what is wrong behind the last sample.
        is_end = source.collect(&Ask::new(ObjectQuery::Global), &mut out).is_err();
        faults.extend(out.faults().iter().map(|fault| fault.message.to_string()));
    }
    assert_eq!(
        faults,
        [
            "line 4: \"garbage\" is not a time; the line is left out",
            &format!(
                "line 5: \"{}\" and 99920 bytes more is not a time; the line is left out",
                &long[..80]
            ),
            "line 6 is damaged and has no values: 2 columns instead of 4, or a quote is missing",
            "line 7, the last one, is not complete and left out",
        ]
    );
}

/// The messages of all faults of a source up to its end.
fn messages(mut source: ReplaySource) -> Vec<String> {
    let (mut out, mut found) = (Snapshot::new(), Vec::new());
    while source.collect(&Ask::new(ObjectQuery::Global), &mut out).is_ok() {
        found.extend(out.faults().iter().map(|fault| fault.message.to_string()));
    }
    found
}

#[test]
fn lines_in_faults_are_those_of_the_file_behind_empty_and_joined_ones() {
    let time = "\"08/14/2007 15:42:38.659\"";
    for end in ["\r\n", "\n"] {
        // Line 4 is empty, and a missing quote joins line 6 and 7.
        let more = [
            "",
            "{}\",\"x\",\"5\",\"6\"",
            "{},\"1\",\"2",
            "{},\"3\",\"4\",\"5\"",
            "{},\"y\",\"7\",\"8\"",
        ];
        let more = more.map(|line| line.replace("{}\"", time).replace("{}", time) + end);
        let log = LOG.replace("\r\n", end) + &more.concat();
        let found = messages(Scratch::new(log).open());
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("line 5: \"x\""), "{found:?}");
        assert!(found[1].starts_with("line 6 is damaged"), "{found:?}");
        assert!(found[2].starts_with("line 8: \"y\""), "{found:?}");
    }
}

#[test]
fn object_with_and_without_instances_is_warned_about() {
    let log = concat!(
        r#""(PDH-CSV 4.0) (Coordinated Universal Time)(0)","\\A\Job(x)\Count","\\A\Job\Count","\\B\Job\Count""#,
        "\r\n\"08/14/2007 15:40:38.659\",\"1\",\"2\",\"3\"\r\n",
    );
    let found = messages(Scratch::new(log).open());
    assert_eq!(
        found,
        ["object \"Job\" has counters with instances and without; those without are left out"]
    );
}

#[test]
fn repeated_column_has_its_value_whichever_cell_is_blank() {
    let cells = ["\" \",\"5\"", "\"5\",\" \"", "\"5\",\"5\"", "\"5\",\"6\""];
    let lines = cells.map(|cells| format!("\"08/14/2007 15:40:38.659\",{cells},\"1\"\r\n"));
    let head = r#""(PDH-CSV 4.0) (Coordinated Universal Time)(0)","\\A\Memory\Free","\\A\Memory\Free","\\A\Memory\Used""#;
    let log = format!("{head}\r\n{}", lines.concat());
    let found = values(Scratch::new(log).open(), &[r"\Memory\Free"]);
    assert_eq!(found, [[Some(5.0)], [Some(5.0)], [Some(5.0)], [None]]);
}

#[test]
fn a_line_without_a_quote_gives_no_value_of_another_column() {
    let line = |cells: &str| format!("\"08/14/2007 15:42:39.000\",{cells}\r\n");
    let sound = line(r#""1","2","3""#);
    for (bad, told) in [
        // The quote takes the next line with it, whose cells would be those of other columns.
        (line(r#""1","2"#) + &line(r#""7","8","9""#), "line 4 is damaged"),
        (line(r#""1,"2","3""#), "3 columns instead of 4"),
        (line(r#""1","abc","1e400""#), "\"abc\" is not a number"),
    ] {
        let file = Scratch::new(LOG.to_string() + &bad + &sound);
        let paths = [r"\Process(c)\Working Set", r"\Memory\Available Bytes (x)"];
        let found = values(file.open(), &paths);
        let (last, damaged) = (found.last().unwrap(), &found[found.len() - 2]);
        assert_eq!(damaged[..], [None, None], "{bad}");
        assert!(last.iter().all(Option::is_some), "{bad}");
        let mut source = file.open();
        let (mut out, mut faults) = (Snapshot::new(), Vec::new());
        while source.collect(&Ask::new(ObjectQuery::Global), &mut out).is_ok() {
            faults.extend(out.faults().iter().map(|fault| fault.message.to_string()));
        }
        assert!(faults.iter().any(|fault| fault.contains(told)), "{faults:?}");
    }
}

#[test]
fn a_last_line_that_is_cut_makes_no_sample() {
    const PATH: &[&str] = &[r"\Process(c)\Working Set", r"\Memory\Available Bytes (x)"];
    let whole = LOG.replace(r#"" ""#, r#""7""#);
    let known = values(Scratch::new(&whole).open(), PATH);
    assert_eq!(known.len(), 2);
    let last = whole.trim_end().rfind('\n').unwrap() + 1;
    for end in last..whole.len() {
        let file = Scratch::new(&whole[..end]);
        // Only the end of the line is missing.
        let is_whole = end + 2 >= whole.len();
        assert_eq!(values(file.open(), PATH), known[..if is_whole { 2 } else { 1 }], "{end}");
        let utf16 = utf16(&whole[..end], u16::to_le_bytes);
        assert_eq!(values(Scratch::new(utf16).open(), PATH).len(), 1 + usize::from(is_whole));
    }
}

#[test]
fn every_cut_and_change_of_a_log_is_an_error_or_a_recording() {
    let mut bytes = LOG.as_bytes().to_vec();
    let read = |bytes: &[u8]| {
        let file = Scratch::new(bytes);
        match open("file:log", std::slice::from_ref(&file.0), &[], None) {
            Ok(mut source) => {
                let mut out = Snapshot::new();
                let ask = Ask::new(ObjectQuery::Global);
                while source.collect(&ask, &mut out).is_ok() {}
            }
            Err(error) => assert_eq!(error.kind(), SourceErrorKind::Malformed, "{error}"),
        }
    };
    for end in 0..bytes.len() {
        read(&bytes[..end]);
    }
    for place in 0..bytes.len() {
        for change in [0xff, b'"' ^ bytes[place], b',' ^ bytes[place], b'\n' ^ bytes[place]] {
            bytes[place] ^= change;
            read(&bytes);
            bytes[place] ^= change;
        }
    }
}

/// The log of the next minutes: the columns are in another order, and one is new.
const NEXT: &str = concat!(
    r#""(PDH-CSV 4.0) (Eastern Daylight Time)(240)","\\BOX\Memory\Available Bytes (x)","#,
    r#""\\BOX\Memory\Pages/sec","\\BOX\Process(c)\Working Set""#,
    "\r\n",
    r#""08/14/2007 15:42:38.659","2.5","7","12288""#,
    "\r\n",
);

#[test]
fn text_logs_of_one_machine_are_one_recording() {
    let (one, two) = (Scratch::new(LOG), Scratch::new(NEXT));
    let open = |logs: &[&Scratch]| {
        let files: Vec<_> = logs.iter().map(|log| log.0.clone()).collect();
        perfhive_recording::open("file:logs", &files, &[], None)
    };
    let paths = [r"\Process(c)\Working Set", r"\Memory\Available Bytes (x)", r"\Memory\Pages/sec"];
    assert_eq!(
        values(open(&[&one, &two]).unwrap(), &paths),
        [
            [Some(4096.0), Some(1.5), None],
            [Some(8192.0), None, None],
            [Some(12288.0), Some(2.5), Some(7.0)],
        ]
    );
    let mut source = open(&[&one, &two]).unwrap();
    assert_eq!(source.recording().unwrap().span().unwrap().samples, 3);
    let foreign = Scratch::new(NEXT.replace("BOX", "OTHER"));
    let error = open(&[&one, &foreign]).err().unwrap();
    assert_eq!(error.kind(), SourceErrorKind::Mismatch);
    assert!(error.to_string().contains("samples must be of one machine"), "{error}");
    // Other recordings have Windows' own indexes.
    let block = Scratch::new([0; 200]);
    for files in [[&one, &block], [&block, &one]] {
        assert_eq!(open(&files).err().unwrap().kind(), SourceErrorKind::Mismatch);
    }
}

#[test]
fn the_lines_of_a_console_are_those_of_typeperf() {
    let Some(text) = real::text("logs/typeperf_stdout_excerpt.txt") else { return };
    let mut lines = TextLines::of_console(TextForm::Csv, TextZone::utc());
    let columns =
        [r"\\runnervmvmocb\Paging File(_Total)\% Usage", r"\\runnervmvmocb\Memory\Commit Limit"];
    let mut made = lines.first(columns).to_string();
    let time = perfhive_format::FileTime::from_unix_nanos(1_790_113_352_824_000_000);
    made += lines.sample(time, [Some(0.0), Some(20_261_367_808.0)]);
    // The excerpt was kept with other line ends.
    assert!(text.replace('\r', "").starts_with(&made.replace('\r', "")), "{made}");
}

#[test]
fn columns_that_would_need_the_square_of_their_number_are_refused() {
    let mut text = String::from("\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\"");
    for number in 0..5000 {
        text.push_str(&format!(r#","\\BOX\Process(i{number})\counter {number}""#));
    }
    let file = Scratch::new(text + "\r\n");
    let error = open("file:log", std::slice::from_ref(&file.0), &[], None).err().unwrap();
    assert!(error.message().contains("do not make objects"), "{error}");
}

#[test]
fn a_log_that_shrinks_while_it_is_read_ends_there() {
    let file = Scratch::new("");
    let mut text = LOG.lines().next().unwrap().to_string() + "\r\n";
    // More than is read at once.
    for line in 0..20_000 {
        let (minute, second) = (line / 60 % 60, line % 60);
        text.push_str(&format!(
            "\"08/14/2007 15:{minute:02}:{second:02}.000\",\"1\",\"2\",\"3\"\r\n"
        ));
    }
    for end in [0, 100, 300_000, 300_007, text.len() - 5] {
        std::fs::write(&file.0, &text).unwrap();
        let mut source = file.open();
        let mut out = Snapshot::new();
        source.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
        std::fs::OpenOptions::new().write(true).open(&file.0).unwrap().set_len(end as u64).unwrap();
        let mut samples = 1;
        while source.collect(&Ask::new(ObjectQuery::Global), &mut out).is_ok() {
            samples += 1;
        }
        assert!((1..=20_000).contains(&samples), "{end}: {samples}");
        // What is sought now is not there, or is an earlier sample.
        let recording = source.recording().unwrap();
        let sought = recording.span().and_then(|span| recording.seek(Some(span.end)));
        let found = source.collect(&Ask::new(ObjectQuery::Global), &mut out);
        assert!(end > 100 || sought.is_err() || found.is_err(), "{end}");
    }
}
