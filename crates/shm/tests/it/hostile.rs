//! Damaged and hostile files.

use crate::common::*;
use perfhive_engine::{Ask, Collection, ObjectWriter, OpenContext, Roster, Source, TestLevel};
use perfhive_format::{BlockHead, BlockWriter};
use perfhive_shm::{
    CounterDeclaration, FileContents, PublishedCategory, PublishedCounters, decode,
};
use std::fs::File;
use std::time::Instant;

/// The bytes of a published file.
fn published(folder: &Folder) -> Vec<u8> {
    let category = shop(folder).instances(3).publish().unwrap();
    let instance = category.instance("Berlin").unwrap();
    instance.counter("Orders").unwrap().set(5);
    instance.pair("Avg. Bytes/Order").unwrap().record(100);
    category.instance("Rome").unwrap().remove();
    category.instance("Oslo").unwrap();
    std::fs::read(category.path()).unwrap()
}

#[test]
fn the_bytes_of_a_published_file_decode_to_its_values() {
    let bytes = published(&Folder::new());
    let FileContents { definition, instances, .. } = decode(&bytes).unwrap();
    assert_eq!(definition.name(), "Web Shop");
    assert_eq!(definition.counters().count(), 2);
    let instances: Vec<_> = instances.into_iter().map(|i| (i.name, i.values)).collect();
    assert_eq!(
        instances,
        [("Berlin".to_string(), vec![5, 100, 1]), ("Oslo".to_string(), vec![0, 0, 0])]
    );
}

#[test]
fn every_truncation_is_refused() {
    let bytes = published(&Folder::new());
    for length in 0..bytes.len() {
        assert!(decode(&bytes[..length]).is_err(), "{length}");
    }
}

#[test]
fn a_change_of_any_byte_gives_contents_or_an_error() {
    let bytes = published(&Folder::new());
    let mut refused = 0;
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7F, 0x80, 0xFF, bytes[at] ^ 1] {
            let mut changed = bytes.clone();
            changed[at] = value;
            match decode(&changed) {
                Ok(FileContents { definition, instances, .. }) => {
                    assert!(!definition.name().is_empty() && instances.len() <= 1 << 16);
                }
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 100);
}

#[test]
fn other_versions_and_other_files_are_faults() {
    let folder = Folder::new();
    let mut bytes = published(&folder);
    let good = put(&folder, "good.counters", &bytes);
    bytes[8] += 1;
    let newer = put(&folder, "newer.counters", &bytes);
    let text = put(&folder, "text.counters", b"hello");
    let _other = put(&folder, "notes.txt", b"hello");
    let empty = put(&folder, "empty.counters", b"");
    std::fs::create_dir(folder.path().join("folder.counters")).unwrap();
    #[cfg_attr(windows, expect(unused_mut, reason = "more kinds of files follow elsewhere"))]
    let mut expected = vec![
        ("newer.counters", "version 3 of the layout, of which 2 is known at offset 8"),
        ("text.counters", "5 bytes are fewer than"),
        ("empty.counters", "0 bytes are fewer than"),
        ("folder.counters", "not a file"),
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("link.counters")).unwrap();
        let pipe = folder.path().join("pipe.counters");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
        expected.extend([("link.counters", ""), ("pipe.counters", "not a file")]);
    }

    let mut reader = Reader::new(&folder);
    assert_eq!(reader.rows("Web Shop").len(), 2);
    let faults = reader.faults();
    for (file, why) in &expected {
        let fault = faults.iter().find(|fault| fault.contains(file)).expect(file);
        assert!(fault.contains(why), "{fault}");
    }
    assert_eq!(faults.len(), expected.len(), "{faults:?}");
    drop((good, newer, text, empty));
}

fn without_header(bytes: &[u8]) -> Vec<u8> {
    [&[0; 256], &bytes[256..]].concat()
}

#[test]
fn a_damaged_file_of_an_ended_program_is_removed() {
    let folder = Folder::new();
    let mut reader = Reader::new(&folder);
    let bytes = published(&folder);
    put(&folder, "cut.counters", &bytes[..300]);
    put(&folder, "Shop-4711-18b2f3c4d5e6f708.counters", &without_header(&bytes));
    put(&folder, "Web_Shop-4711-18b2f3c4d5e6f709.counters", b"");
    let mut counters = bytes;
    counters[28..32].fill(0xFF);
    put(&folder, "counters.counters", &counters);
    assert!(!reader.read().contains_key("Web Shop"));
    assert_eq!((reader.faults(), folder.files()), (Vec::new(), Vec::new()));
    // The name is free for other programs now.
    let again = shop(&folder).publish().unwrap();
    again.counter("Orders").unwrap().set(7);
    assert_eq!(reader.rows("Web Shop")[0].1[0], Some((7, None)));
}

/// A file damaged while its program lives is a fault, and goes with the program.
#[test]
fn a_damaged_file_of_a_living_program_is_a_fault() {
    let folder = Folder::new();
    let mut reader = Reader::new(&folder);
    let bytes = published(&folder);
    let file = put(&folder, "a.counters", &bytes[..300]);
    assert!(!reader.read().contains_key("Web Shop"));
    assert!(reader.faults()[0].contains("a.counters"), "{:?}", reader.faults());
    assert_eq!(folder.files().len(), 1);
    drop(file);
    assert!(reader.read().is_empty());
    assert_eq!((reader.faults(), folder.files()), (Vec::new(), Vec::new()));
}

/// A file that may belong to another program is left alone, with advice in the fault.
#[test]
fn a_damaged_file_of_unknown_owner_stays() {
    let folder = Folder::new();
    let mut reader = Reader::new(&folder);
    let bytes = published(&folder);
    put(&folder, "notes.counters", b"apples");
    put(&folder, "blank.counters", &without_header(&bytes));
    let mut newer = bytes.clone();
    newer[8] = 200;
    put(&folder, "newer.counters", &newer);
    #[cfg_attr(windows, expect(unused_mut, reason = "one more follows elsewhere"))]
    let mut files = vec!["notes.counters", "blank.counters", "newer.counters"];
    // Only root can give files away.
    #[cfg(unix)]
    {
        put(&folder, "another-users.counters", &bytes[..300]);
        let others = folder.path().join("another-users.counters");
        if std::os::unix::fs::chown(others, Some(54321), None).is_ok() {
            files.push("another-users.counters");
        } else {
            eprintln!("not tested: another user's file, for which this must run as root");
        }
    }
    for _ in 0..2 {
        assert!(reader.read().is_empty());
        let faults = reader.faults();
        assert_eq!(faults.len(), files.len(), "{faults:?}");
        for file in &files {
            let fault = faults.iter().find(|fault| fault.contains(file)).expect(file);
            assert!(fault.contains("its program is gone: remove the file"), "{fault}");
        }
    }
    // Publishing programs do not remove them either.
    drop(shop(&folder).publish().unwrap());
    assert_eq!(folder.files().len(), files.len());
}

/// Windows does not let a file be shortened while it is read.
#[cfg(windows)]
#[test]
fn a_file_that_is_read_cannot_shrink() {
    let folder = Folder::new();
    let bytes = published(&folder);
    let file = put(&folder, "a.counters", &bytes);
    let mut reader = Reader::new(&folder);
    assert_eq!(reader.rows("Web Shop").len(), 2);
    for length in [bytes.len() as u64 - 64, 300, 0] {
        let refused = file.set_len(length).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(1224), "ERROR_USER_MAPPED_FILE: {refused}");
        assert_eq!(reader.rows("Web Shop").len(), 2);
    }
    assert_eq!(reader.faults(), [""; 0]);
    // Once it is no longer read it can be shortened, and is a fault.
    drop(reader);
    file.set_len(300).unwrap();
    let mut reader = Reader::new(&folder);
    assert!(reader.read().is_empty());
    assert!(reader.faults()[0].contains("a.counters"), "{:?}", reader.faults());
}

#[cfg(unix)]
#[test]
fn a_file_that_shrinks_is_a_fault() {
    let folder = Folder::new();
    let bytes = published(&folder);
    let file = put(&folder, "a.counters", &bytes);
    let mut reader = Reader::new(&folder);
    assert_eq!(reader.rows("Web Shop").len(), 2);
    let values = u64::from_le_bytes(bytes[80..88].try_into().unwrap());
    for length in [values + 100, values - 1, 300, 100, 0] {
        file.set_len(length).unwrap();
        assert_eq!(reader.read()["Web Shop"], []);
        assert!(reader.faults()[0].contains("a.counters"), "{:?}", reader.faults());
    }
}

/// Random bytes written into a file that is being read leave the reader alive.
#[test]
fn random_bytes_written_under_a_reader_do_not_end_it() {
    let folder = Folder::new();
    let bytes = published(&folder);
    let file = put(&folder, "a.counters", &bytes);
    let mut reader = Reader::new(&folder);
    let mut random = 1u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        random >> 20
    };
    let live = u64::from_le_bytes(bytes[64..72].try_into().unwrap());
    for _ in 0..2_000 {
        let at = live + next() % (bytes.len() as u64 - live);
        write_at(&file, &[next() as u8], at);
        let rows = reader.rows("Web Shop");
        assert!(rows.len() <= 3);
    }
    write_at(&file, &bytes, 0);
    assert_eq!(reader.rows("Web Shop").len(), 2);
}

const LARGE: u64 = if cfg!(windows) { 1 << 25 } else { 1 << 40 };

#[test]
fn a_file_that_claims_too_much_is_left_out() {
    let folder = Folder::new();
    let bytes = published(&folder);
    // It claims more used slots than exist, and names longer than their room.
    let live = u64::from_le_bytes(bytes[64..72].try_into().unwrap()) as usize;
    let mut changed = bytes.clone();
    changed[live + 8..live + 16].fill(0xFF);
    changed[live + 64 + 12..live + 64 + 16].fill(0xFF);
    let instances = decode(&changed).unwrap().instances;
    assert_eq!(instances.len(), 2);
    assert!(instances[0].name.len() <= 3 * 256);
    // A sparse file of the largest length; on Windows a smaller one is enough.
    let path = folder.path().join("sparse.counters");
    std::fs::write(&path, &bytes).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(LARGE).unwrap();
    let held = File::open(&path).unwrap();
    held.lock().unwrap();
    let mut reader = Reader::new(&folder);
    assert!(reader.read().is_empty());
    assert!(reader.faults()[0].contains("length of the file"), "{:?}", reader.faults());
    assert_eq!(reader.broker.providers().count(), 0);
    reader.broker.catalogue(&Ask::everything()).unwrap();
}

/// A user's excess of data does not slow readers of other users' data down.
#[test]
fn a_user_with_too_many_bytes_is_read_in_part() {
    let folder = Folder::new();
    let large = |number: usize| {
        let category = shop(&folder).instances(30_000).longest_name(320).publish().unwrap();
        category.instance(&format!("{number}")).unwrap();
        category
    };
    let categories: Vec<_> = (0..6).map(large).collect();
    let length = std::fs::metadata(categories[0].path()).unwrap().len();
    assert!(length > (11 << 20), "{length}");
    let mut reader = Reader::new(&folder);
    assert_eq!(reader.rows("Web Shop").len() as u64, (64 << 20) / length);
    assert!(reader.faults()[0].contains("of which as many are read"), "{:?}", reader.faults());
}

/// The numbers of a file's header.
fn header(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// Cells cannot overlap: a small file cannot claim much data.
#[test]
fn cells_that_overlap_are_refused() {
    let bytes = published(&Folder::new());
    let counters = header(&bytes, 40);
    // The pair is first, 56 bytes; a cache line is 64.
    let (number, pair) = (counters + 32, counters + 48 + 32);
    let with = |at: usize, cell: u32| {
        let mut changed = bytes.clone();
        changed[at..at + 4].copy_from_slice(&cell.to_le_bytes());
        decode(&changed)
    };
    for (at, cell, culprit) in
        [(number, 0, pair), (number, 48, number), (pair, 16, number), (pair, 64, pair)]
    {
        let error = with(at, cell).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("cells that another counter has at offset {culprit}")
        );
    }
    for cell in [56, 64, 72, 120] {
        with(number, cell).unwrap();
    }
}

/// A writer that leaves pairs half written costs its own instances only.
#[test]
fn pairs_that_never_settle_are_given_up() {
    let folder = Folder::new();
    let category = shop(&folder).instances(2000).publish().unwrap();
    for number in 0..2000 {
        category.instance(&format!("{number}")).unwrap();
    }
    let mut bytes = std::fs::read(category.path()).unwrap();
    drop(category);
    let (values_at, values_size) = (header(&bytes, 80), header(&bytes, 88) & 0xFFFF_FFFF);
    let begun = |slot: usize| values_at + slot * values_size + 24;
    for slot in 10..2000 {
        bytes[begun(slot)] = 1;
    }
    let file = put(&folder, "a.counters", &bytes);
    let mut reader = Reader::new(&folder);
    assert_eq!(reader.rows("Web Shop").len(), 10);
    let faults = reader.faults();
    // Some pairs were tried in vain; one fault covers the others.
    let last = faults.last().unwrap();
    let others = 1990 - (faults.len() - 1);
    assert!((2..20).contains(&faults.len()), "{} faults", faults.len());
    assert!(last.contains(&format!("a.counters: {others} more instances left out")), "{last}");
    write_at(&file, &[0], begun(1999) as u64);
    assert_eq!(reader.rows("Web Shop").len(), 11, "whole ones are not missed");
}

#[test]
fn the_deadline_cuts_instances_short() {
    let folder = Folder::new();
    let category = shop(&folder).instances(3).publish().unwrap();
    category.instance("Berlin").unwrap();
    let mut published = PublishedCounters::in_folder(folder.path());
    let provider = published.changed(&Ask::nothing()).unwrap().remove(0);
    let wanted = [provider.describe().objects[0].spec.name];
    let context = OpenContext::new(None, 0, 0);
    let mut session = provider.open(&context).unwrap();
    let mut collect = |deadline: Option<Instant>| {
        let mut request = Ask::objects(&wanted);
        request.until = deadline;
        let (mut block, mut faults) = (BlockWriter::new(), Vec::new());
        block.start(&BlockHead::default());
        let mut foreign = Vec::new();
        let mut out =
            ObjectWriter::new(&mut block, "test", TestLevel::All, &mut faults, &mut foreign);
        session.collect(&Collection::new(&request, &wanted), &mut out).unwrap();
        let faults: Vec<_> = faults.iter().map(|fault| fault.message.to_string()).collect();
        (block.finish().len(), faults)
    };
    let (whole, faults) = collect(None);
    assert_eq!(faults, [""; 0]);
    let (cut, faults) = collect(Some(Instant::now()));
    assert_eq!(faults, ["cut short after 0 instances: the deadline had passed"]);
    assert!(cut < whole, "{cut} {whole}");
}

/// Gives a file to another user, if this is root.
fn give_away(path: &std::path::Path) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::chown(path, Some(54321), None).is_ok();
    #[cfg(windows)]
    return !path.exists();
}

/// A user who publishes more than a block can hold is cut short; other users' data is complete, in
/// the same category and in others.
#[test]
fn a_user_beyond_the_share_leaves_other_users_data_complete() {
    let folder = Folder::new();
    let large = |letter: char| {
        let category = shop(&folder).instances(400).publish().unwrap();
        for number in 0..400 {
            let name = format!("{number:03} {}", String::from(letter).repeat(100));
            category.instance(&name).unwrap().counter("Orders").unwrap().set(number);
        }
        category
    };
    let categories = [large('x'), large('y')];
    // Without root's rights, all files belong to one user, who shares with himself.
    let others = categories.iter().all(|category| give_away(category.path()));
    let small = shop(&folder).instances(3).publish().unwrap();
    small.instance("Berlin").unwrap();
    let _zoo = zoo(&folder);

    // Each large one takes about 100 KiB.
    for limit in [64 << 10, 128 << 10] {
        let mut reader = Reader::of(
            &folder,
            |counters| counters.limit(limit),
            |broker| broker.limit(limit + 1024),
        );
        let all = reader.read();
        let shop = &all["Web Shop"];
        assert!(shop.iter().any(|(name, _)| name == "Berlin"), "{:?}", reader.faults());
        assert_eq!(all["Zoo"], [(String::new(), vec![Some((7, None))])]);
        let of = |letter| {
            shop.iter().filter(move |(name, _)| name.contains(letter)).map(|(name, row)| {
                assert_eq!(name[..3].parse::<u64>().unwrap(), row[0].unwrap().0);
            })
        };
        let (x, y) = (of('x').count(), of('y').count());
        assert!(x.abs_diff(y) < 3 && (100..390).contains(&x), "{x} {y}");
        let faults = reader.faults();
        assert_eq!(faults.len(), 2, "{faults:?}");
        let user = if others { "54321" } else { "user" };
        assert!(faults[0].contains(&format!("cut short after {x} instances")), "{faults:?}");
        assert!(faults[0].contains(user) && faults[0].contains("fit"), "{faults:?}");
        assert!(
            reader.snapshot.objects().map(|one| one.view().as_bytes().len()).sum::<usize>()
                <= limit
        );
    }
}

/// The block has less room than expected: what fits is delivered.
#[test]
fn a_full_block_holds_what_fits() {
    let folder = Folder::new();
    let category = shop(&folder).instances(400).publish().unwrap();
    for number in 0..400 {
        category.instance(&format!("{number}")).unwrap();
    }
    let mut reader = Reader::of(&folder, |counters| counters, |broker| broker.limit(8 << 10));
    let rows = reader.rows("Web Shop").len();
    assert!((20..200).contains(&rows), "{rows}");
    let fault = &reader.faults()[0];
    assert!(fault.contains(&format!("cut short after {rows} instances")), "{fault}");
}

/// A user with too many files does not hide other users' files.
#[test]
fn a_user_with_too_many_files_is_read_in_part() {
    let folder = Folder::new();
    let bytes = published(&folder);
    let held: Vec<File> = (0..300)
        .map(|number| {
            let name = format!("a{number:03}.counters");
            let file = put(&folder, &name, &bytes);
            give_away(&folder.path().join(name));
            file
        })
        .collect();
    let bad: Vec<File> =
        (0..300).map(|number| put(&folder, &format!("b{number:03}.counters"), b"no")).collect();
    let last = shop(&folder).instances(3).publish().unwrap();
    last.instance("Lima").unwrap();
    let mut reader = Reader::new(&folder);
    // Without root's rights, the user has one of the other files among the first 256.
    let (mut expected, mut more) = (2 * 256 - 1, 45);
    if give_away(&folder.path().join("a000.counters")) {
        assert!(reader.rows("Web Shop").iter().any(|(name, _)| name == "Lima"));
        (expected, more) = (2 * 256 + 1, 44);
    }
    assert_eq!(reader.rows("Web Shop").len(), expected);
    let faults = reader.faults();
    assert_eq!(faults.len(), 256 + 2, "{faults:?}");
    let has = |text: &str| faults.iter().any(|fault| fault.contains(text));
    assert!(has(&format!("{more} more, beyond 256 or")) && has("44 more that cannot be read"));
    drop((held, bad));
}

/// A program that publishes category after category does not use up what others need. (Under Wine
/// so many files take minutes, and the test is the same on all systems.)
#[cfg(unix)]
#[test]
fn many_category_names_do_not_use_up_indexes() {
    let folder = Folder::new();
    let bytes = published(&folder);
    let at = bytes.windows(8).position(|name| name == b"Web Shop").unwrap();
    let mut reader = Reader::new(&folder);
    let first = shop(&folder).publish().unwrap();
    first.counter("Orders").unwrap().set(1);
    reader.read();
    let index = reader.index("Web Shop");
    let mut number = 0;
    // More than a reader remembers.
    while number < 5_000 {
        let held: Vec<File> = (0..250)
            .map(|_| {
                number += 1;
                let mut bytes = bytes.clone();
                bytes[at..at + 8].copy_from_slice(format!("N{number:07}").as_bytes());
                put(&folder, &format!("{number}.counters"), &bytes)
            })
            .collect();
        assert!(
            reader.index(&format!("N{number:07}")).is_some(),
            "{number}: {:?}",
            reader.faults()
        );
        drop(held);
    }
    assert_eq!(reader.index("Web Shop"), index, "a category in use keeps its index");
    let _zoo = zoo(&folder);
    assert_eq!(reader.rows("Zoo")[0].1[0], Some((7, None)));
    assert_eq!(reader.rows("Web Shop")[0].1[0], Some((1, None)));
}

/// Files that fill a common folder hide no other user's counters, or there is a fault.
#[cfg(unix)]
#[test]
fn a_folder_full_of_other_files_hides_no_category() {
    let folder = Folder::new();
    let before = shop(&folder).publish().unwrap();
    before.counter("Orders").unwrap().set(1);
    let fill = |suffix: &str| {
        for number in 0..5_000 {
            std::fs::write(folder.path().join(format!("{number}{suffix}")), "").unwrap();
        }
    };
    fill(".txt");
    let _zoo = zoo(&folder);
    let mut reader = Reader::new(&folder);
    assert_eq!(reader.rows("Zoo")[0].1[0], Some((7, None)));
    assert_eq!(reader.rows("Web Shop")[0].1[0], Some((1, None)));
    fill(".counters");
    reader.read();
    let told = |reader: &Reader| reader.faults().iter().any(|f| f.contains("there is more in"));
    assert!(told(&reader), "{:?}", reader.faults());
    assert_eq!(reader.rows("Zoo")[0].1[0], Some((7, None)));
    assert_eq!(reader.rows("Web Shop")[0].1[0], Some((1, None)));
}

/// With many files of one user in a common folder, files of other users that come later are read.
/// (Only root can create another user's files.)
#[cfg(unix)]
#[test]
fn many_files_of_one_user_hide_no_other() {
    let folder = Folder::new();
    for number in 0..6_000 {
        let path = folder.path().join(format!("{number}.counters"));
        std::fs::write(&path, "").unwrap();
        if !give_away(&path) {
            return;
        }
    }
    let zoo: Vec<PublishedCategory> = (0..20)
        .map(|number| {
            let count = CounterDeclaration::new("Animals", COUNT);
            let name = format!("Zoo {number}");
            PublishedCategory::builder(&name)
                .counter(count)
                .folder(folder.path())
                .publish()
                .unwrap()
        })
        .collect();
    let mut reader = Reader::new(&folder);
    for (number, zoo) in zoo.iter().enumerate() {
        zoo.counter("Animals").unwrap().set(number as u64);
        let rows = reader.rows(&format!("Zoo {number}"));
        assert_eq!(rows[0].1[0], Some((number as u64, None)));
    }
    let told = reader.faults().iter().any(|fault| fault.contains("there is more in"));
    assert!(told, "{:?}", reader.faults());
}

/// A text that is referred to repeatedly is copied up to the limit.
#[test]
fn a_text_referred_to_repeatedly_is_copied_up_to_a_limit() {
    let folder = Folder::new();
    let counters = (0..200).map(|n| CounterDeclaration::new(&format!("{n:03}"), COUNT).help("h"));
    let long = "x".repeat(1000);
    let category = PublishedCategory::builder(&long).counters(counters).folder(folder.path());
    let bytes = std::fs::read(category.publish().unwrap().path()).unwrap();
    let with_help = |length: u32| {
        let mut bytes = bytes.clone();
        for counter in 0..200 {
            let at = header(&bytes, 40) + counter * 48 + 8;
            bytes[at..at + 4].copy_from_slice(&0u32.to_le_bytes());
            bytes[at + 4..at + 8].copy_from_slice(&length.to_le_bytes());
        }
        decode(&bytes).map(drop)
    };
    with_help(300).unwrap();
    let error = with_help(1000).unwrap_err().to_string();
    assert!(error.contains("texts that are used too often"), "{error}");
}
