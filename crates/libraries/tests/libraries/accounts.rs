//! Accounts: what one program finds out about a provider, and others use.

use crate::support::{
    Folder, NEIGHBOUR, OBJECT, Reader, broker, broker_of, neighbour, registration,
};
use perfhive_engine::{Ask, FaultKind, ObjectQuery, ProviderState, Source, TestLevel};
use perfhive_libraries::{HostCommand, enable};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A reader of a provider in zoo.c, with an account in a folder.
fn reader(folder: &Folder, library: &Path, kind: &str) -> Reader {
    let accounts = folder.0.join("accounts");
    let mut reader = broker(registration(library, kind), |options| {
        options.accounts(accounts).pause(Duration::ZERO).look_every(Duration::ZERO)
    });
    // Reads the registrations without asking a provider.
    reader.broker.catalogue(&Ask::nothing()).unwrap();
    reader
}

/// The file of the provider's account.
fn file(folder: &Folder) -> PathBuf {
    let files = std::fs::read_dir(folder.0.join("accounts")).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    files.find(|file| file.file_name().unwrap().to_string_lossy().starts_with("Zoo-")).unwrap()
}

/// Collects everything until a condition holds; `what` names it in the failure.
fn until(reader: &mut Reader, what: &str, mut is_so: impl FnMut(&mut Reader) -> bool) {
    let start = Instant::now();
    loop {
        reader.collect(&Ask::new(ObjectQuery::Global));
        if is_so(reader) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{what}: {:?}", reader.status());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn known_objects_are_listed_without_asking_the_library() {
    let folder = Folder::new("known");
    let library = folder.compile("tests/libraries/zoo.c");
    assert_eq!(reader(&folder, &library, "good").see().instances, Some(2));
    // No library can be asked without a host: the catalogue comes from the account.
    let mut other = broker(registration(&library, "good"), |options| {
        let options = options.accounts(folder.0.join("accounts"));
        options.host(HostCommand::new("/no/such/program"))
    });
    let catalogue = other.broker.catalogue(&Ask::everything()).unwrap();
    assert_eq!(catalogue.objects.len(), 1);
    assert_eq!((catalogue.objects[0].name, catalogue.objects[0].counters.len()), (OBJECT, 1));
    assert!(catalogue.objects[0].has_instances);
    assert_eq!((other.status().collections, other.status().bytes), (1, 184));
    assert_eq!(other.lines(), [""; 0]);
    let seen = other.see();
    assert!(seen.faults[0].message.contains("/no/such/program"), "{seen:?}");

    // A replaced library has another account: nothing is known of it.
    std::fs::write(&library, "no library").unwrap();
    let mut replaced = reader(&folder, &library, "good");
    assert_eq!(replaced.broker.catalogue(&Ask::everything()).unwrap().objects.len(), 0);
    assert_eq!((replaced.status().collections, replaced.status().faults), (0, 1));
}

#[test]
fn request_for_other_objects_does_not_ask_the_library() {
    let folder = Folder::new("else");
    let library = folder.compile("tests/libraries/zoo.c");
    for kind in ["!never returns", "!crashes", "good"] {
        let mut reader = reader(&folder, &library, kind);
        let elsewhere = [perfhive_format::TitleIndex(2), perfhive_format::TitleIndex(60000)];
        let (_, faults) = reader.collect(&Ask::objects(&elsewhere));
        assert_eq!(faults.len(), 0, "{faults:?}");
        reader.broker.titles(perfhive_format::LanguageId::ENGLISH, &Ask::nothing()).unwrap_err();
        reader.broker.catalogue(&Ask::nothing()).unwrap();
        assert_eq!(reader.status().state, ProviderState::Idle);
        drop(reader);
        assert!(!folder.0.join("accounts/new").exists());
        let files = std::fs::read_dir(folder.0.join("accounts")).unwrap().count();
        assert_eq!(files, 0, "{kind}: it was asked");
    }
}

/// A library that hangs costs one reader its patience; the next reader does not wait.
#[test]
fn library_hanging_on_global_is_not_asked_again_during_the_pause() {
    let folder = Folder::new("hangs");
    let library = folder.compile("tests/libraries/zoo.c");
    let global = Ask::new(ObjectQuery::Global);
    let hurried = |pause| {
        broker(registration(&library, "!never returns"), |options| {
            let options = options.accounts(folder.0.join("accounts")).pause(pause);
            options.patience(Duration::from_millis(50))
        })
    };
    let mut first = hurried(Duration::from_secs(60));
    let (_, faults) = first.collect(&global);
    assert_eq!(&*faults[0].message, "did not say within 50ms what it offers");
    let mut second = hurried(Duration::from_secs(60));
    let (_, faults) = second.collect(&global);
    assert!(faults[0].message.ends_with("it is asked again after a pause"), "{faults:?}");
    // The wait in vain counts as a fault until it answers, but not as a failure in a row.
    assert_eq!((second.status().faults, second.status().in_a_row), (1, 0));
    let text = std::fs::read_to_string(file(&folder)).unwrap();
    assert!(text.contains("\nlate 1\n"), "{text}");

    // After the pause it is asked again, and waited for.
    let over: Vec<&str> = text.lines().filter(|line| !line.starts_with("not-before")).collect();
    std::fs::write(file(&folder), over.join("\n") + "\n").unwrap();
    hurried(Duration::from_secs(60)).collect(&global);
    let text = std::fs::read_to_string(file(&folder)).unwrap();
    assert!(text.contains("\nlate 2\n"), "{text}");
}

/// A reader of a library that hangs when it is asked by index, with a very long timeout. The
/// library's objects are known already.
fn hanging(folder: &Folder, library: &Path, pause: Duration) -> Reader {
    let mut registration = registration(library, "never returns");
    registration.collect_timeout = Duration::from_secs(3600);
    let reader = |patience| {
        broker(registration.clone(), |options| {
            let options = options.accounts(folder.0.join("accounts")).patience(patience);
            options.pause(pause).look_every(Duration::ZERO)
        })
    };
    if !folder.0.join("accounts").exists() {
        assert_eq!(
            reader(Duration::from_secs(30))
                .broker
                .catalogue(&Ask::everything())
                .unwrap()
                .objects
                .len(),
            1
        );
    }
    reader(Duration::from_millis(200))
}

/// A library that hangs in Collect is waited for once: not again by the same reader, and not
/// by the next one.
#[test]
fn library_hanging_in_collect_is_waited_for_once() {
    let folder = Folder::new("hangs-later");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut first = hanging(&folder, &library, Duration::from_secs(60));
    for _ in 0..1000 {
        let seen = first.see();
        assert_eq!(seen.faults[0].kind, FaultKind::NotYet, "{seen:?}");
        assert!(seen.faults[0].message.contains("did not come back from"), "{seen:?}");
    }
    assert_eq!(first.logged("did not come back"), 1, "{:?}", first.lines());
    let text = std::fs::read_to_string(file(&folder)).unwrap();
    assert!(text.contains("\nlate 1\n"), "{text}");
    let mut second = hanging(&folder, &library, Duration::from_secs(60));
    let seen = second.see();
    assert!(seen.faults[0].message.contains("will be started again in"), "{seen:?}");
    assert!(seen.faults[0].message.contains("; it did not come back from "), "{seen:?}");
    assert_eq!(second.state(), ProviderState::Open);
}

/// Programs that each end soon after a wait in vain count towards the quarantine together.
#[test]
fn five_hangs_in_short_programs_quarantine_the_library() {
    let folder = Folder::new("hangs-short");
    let library = folder.compile("tests/libraries/zoo.c");
    for late in 1..=5 {
        let mut reader = hanging(&folder, &library, Duration::ZERO);
        assert_eq!(reader.see().faults[0].kind, FaultKind::NotYet);
        let text = std::fs::read_to_string(file(&folder)).unwrap();
        assert!(text.contains(&format!("\nlate {late}\n")), "{text}");
        let disabled = usize::from(late == 5);
        assert_eq!(reader.logged("is asked no more"), disabled, "{:?}", reader.lines());
        if late == 5 {
            // The running reader learns it too.
            assert_eq!(reader.see().faults[0].kind, FaultKind::Quarantined);
        }
    }
    let mut next = hanging(&folder, &library, Duration::ZERO);
    let seen = next.see();
    assert_eq!(seen.faults[0].kind, FaultKind::Quarantined, "{seen:?}");
    assert_eq!((next.status().faults, next.status().in_a_row), (5, 0));
    assert!(enable(&folder.0.join("accounts"), "Zoo").unwrap());
    assert_eq!(next.see().faults[0].kind, FaultKind::NotYet);
}

/// A library known to be slow gets its time from readers without a deadline.
#[test]
fn known_slow_library_gets_more_than_the_patience() {
    let folder = Folder::new("slow");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut first = reader(&folder, &library, "!takes its time");
    assert_eq!(first.see().instances, Some(2));
    drop(first);
    let mut second = broker(registration(&library, "!takes its time"), |options| {
        options.accounts(folder.0.join("accounts")).patience(Duration::from_millis(1))
    });
    assert_eq!(second.see().instances, Some(2), "{:?}", second.lines());
}

/// An answer without objects is an answer: the library was slow, and is asked again by every program.
#[test]
fn answer_without_objects_ends_the_quarantine_of_a_slow_library() {
    let folder = Folder::new("slow-empty");
    let library = folder.compile("tests/libraries/zoo.c");
    let reader = || {
        broker(registration(&library, "!takes its time and has nothing"), |options| {
            let options = options.accounts(folder.0.join("accounts")).look_every(Duration::ZERO);
            options.patience(Duration::from_millis(1)).pause(Duration::ZERO)
        })
    };
    let global = Ask::new(ObjectQuery::Global);
    for _ in 0..4 {
        reader().collect(&global);
    }
    let mut fifth = reader();
    let (_, faults) = fifth.collect(&global);
    assert_eq!(faults[0].kind, FaultKind::Quarantined, "{faults:?}");
    until(&mut fifth, "no answer", |reader| reader.state() == ProviderState::Idle);
    let mut next = reader();
    next.broker.catalogue(&Ask::nothing()).unwrap();
    assert_eq!(next.state(), ProviderState::Idle, "{:?}", next.status());
    let (_, faults) = next.collect(&global);
    assert_eq!(&*faults[0].message, "did not say within 1ms what it offers");
}

/// A reader with a short deadline does not use up the patience of the next one.
#[test]
fn slow_library_is_waited_for_after_a_reader_with_a_short_deadline() {
    let folder = Folder::new("hurried");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut reader = reader(&folder, &library, "!takes its time");
    let soon = Ask::new(ObjectQuery::Global).until(Instant::now());
    assert_eq!(reader.collect(&soon).0.objects().count(), 0);
    assert_eq!(reader.see().instances, Some(2), "{:?}", reader.lines());
}

/// A reader with a deadline keeps time for known libraries.
#[test]
fn first_question_uses_only_half_of_the_deadline() {
    let folder = Folder::new("share");
    let library = folder.compile("tests/libraries/zoo.c");
    let accounts = || folder.0.join("accounts");
    let known = neighbour(&folder);
    broker_of(vec![known.clone()], TestLevel::All, |options| options.accounts(accounts()))
        .collect(&Ask::objects(&[NEIGHBOUR]));
    let both = vec![registration(&library, "!never returns"), known];
    let mut reader = broker_of(both, TestLevel::All, |options| options.accounts(accounts()));
    let soon = Instant::now() + Duration::from_secs(4);
    let (snapshot, faults) = reader.collect(&Ask::new(ObjectQuery::Global).until(soon));
    assert!(snapshot.object(NEIGHBOUR).is_some(), "{faults:?}");
}

#[test]
fn failures_of_all_readers_add_up_to_quarantine() {
    let folder = Folder::new("count");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut first = reader(&folder, &library, "crashes");
    for _ in 0..3 {
        assert_eq!(first.see().instances, None);
    }
    let mut second = reader(&folder, &library, "crashes");
    assert_eq!((second.status().faults, second.status().in_a_row), (3, 3));
    for _ in 0..2 {
        second.see();
    }
    assert_eq!(second.state(), ProviderState::Quarantined);
    // The first reader, still running, learns it.
    let seen = first.see();
    assert_eq!(seen.faults[0].kind, FaultKind::Quarantined);
    assert!(seen.faults[0].message.contains("signal 11"), "{seen:?}");
    // So does a later reader.
    let mut third = reader(&folder, &library, "crashes");
    assert_eq!(third.see().faults[0].kind, FaultKind::Quarantined);
    assert_eq!((third.status().faults, third.status().collections), (5, 5));
    // Each program logs the failures that it met itself.
    let logged = [&first, &second, &third].map(|reader| reader.logged("signal 11"));
    assert_eq!(logged, [3, 2, 0]);
    assert_eq!(second.logged("is asked no more"), 1);

    // Enabled, it is asked again by all readers.
    assert!(enable(&folder.0.join("accounts"), "Zoo").unwrap());
    assert!(!enable(&folder.0.join("accounts"), "Bar").unwrap());
    for reader in [&mut first, &mut third] {
        let seen = reader.see();
        assert_eq!(seen.faults[0].kind, FaultKind::CollectFailed, "{seen:?}");
    }
    // A release by one broker reaches the others.
    while third.state() != ProviderState::Quarantined {
        third.see();
    }
    assert_eq!(first.see().faults[0].kind, FaultKind::Quarantined);
    assert!(third.broker.release("Zoo"));
    assert_eq!(third.see().faults[0].kind, FaultKind::CollectFailed);
    assert_eq!(first.see().faults[0].kind, FaultKind::CollectFailed);
}

/// A program that has no host, or cannot start it, says nothing about the library: the other programs
/// of the user read it as before.
#[test]
fn a_reader_without_a_host_puts_no_library_into_quarantine() {
    let folder = Folder::new("hostless");
    let library = folder.compile("tests/libraries/zoo.c");
    for is_known in [false, true] {
        for host in [None, Some(HostCommand::new("/no/such/program"))] {
            let mut hostless = broker(registration(&library, "good"), |options| {
                let mut options = options.accounts(folder.0.join("accounts")).pause(Duration::ZERO);
                options.host.clone_from(&host);
                options.look_every(Duration::ZERO)
            });
            for _ in 0..6 {
                let (snapshot, faults) = hostless.collect(&Ask::new(ObjectQuery::Global));
                assert!(snapshot.object(OBJECT).is_none());
                let told = if host.is_some() { "/no/such/program" } else { "no program to run it" };
                assert!(faults[0].message.contains(told), "{faults:?}");
                assert_ne!(hostless.state(), ProviderState::Quarantined);
                assert_eq!((hostless.status().faults, hostless.status().in_a_row), (0, 0));
            }
            assert!((1..=3).contains(&hostless.logged("program")), "{:?}", hostless.lines());
        }
        let mut other = reader(&folder, &library, "good");
        assert_eq!(other.see().instances, Some(2), "known: {is_known}");
    }
}

#[test]
fn failed_questions_for_objects_quarantine_without_a_file_too() {
    let folder = Folder::new("offers");
    let library = folder.compile("tests/libraries/zoo.c");
    for kind in ["refuses to open", "!crashes"] {
        let mut reader =
            broker(registration(&library, kind), |options| options.pause(Duration::ZERO));
        until(&mut reader, kind, |reader| reader.state() == ProviderState::Quarantined);
        assert_eq!(reader.status().faults, 5, "{kind}");
        assert_eq!(reader.logged("is asked no more"), 1, "{kind}: {:?}", reader.lines());
        let (_, faults) = reader.collect(&Ask::new(ObjectQuery::Global));
        assert_eq!(faults[0].kind, FaultKind::Quarantined, "{kind}");
        assert!(reader.broker.release("Zoo"));
        until(&mut reader, kind, |reader| reader.status().faults > 5);
    }
}

/// An object that changes does not begin a new account.
#[test]
fn account_counts_on_while_objects_change() {
    let folder = Folder::new("outlives");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut reader = reader(&folder, &library, "!changes its objects");
    for count in 1..=16 {
        reader.collect(&Ask::new(ObjectQuery::Global));
        assert_eq!(reader.status().collections, count);
    }
}

#[test]
fn collections_of_concurrent_readers_add_up() {
    let folder = Folder::new("add-up");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut readers = [0, 1, 2].map(|_| reader(&folder, &library, "good"));
    for _ in 0..10 {
        readers.iter_mut().for_each(|reader| assert_eq!(reader.see().instances, Some(2)));
    }
    let worst = readers.iter().map(|reader| reader.status().worst).max();
    drop(readers);
    let status = reader(&folder, &library, "good").status();
    assert_eq!((status.collections, Some(status.worst)), (30, worst));
}

/// A removed account begins anew: a running reader does not restore it.
#[test]
fn removed_account_begins_anew() {
    let folder = Folder::new("away");
    let library = folder.compile("tests/libraries/zoo.c");
    let accounts = folder.0.join("accounts");
    let mut first = reader(&folder, &library, "crashes");
    for _ in 0..4 {
        first.see();
    }
    assert!(perfhive_libraries::forget(&accounts, "Zoo").unwrap());
    assert!(!perfhive_libraries::forget(&accounts, "Zoo").unwrap());
    first.see();
    drop(first);
    let account = |folder: &Folder| reader(folder, &library, "crashes").status().in_a_row;
    assert_eq!(account(&folder), 0);
    let mut second = reader(&folder, &library, "crashes");
    second.see();
    drop(second);
    assert_eq!(account(&folder), 1);
}

/// A folder that others may write is not used, nor a damaged file or a link.
#[test]
fn accounts_writable_for_others_or_damaged_are_ignored() {
    let folder = Folder::new("own");
    let library = folder.compile("tests/libraries/zoo.c");
    let accounts = folder.0.join("accounts");
    let chmod = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    reader(&folder, &library, "good").see();
    let account = file(&folder);
    let sound = std::fs::read_to_string(&account).unwrap();
    let known = |folder: &Folder| {
        let mut reader = broker(registration(&library, "good"), |options| {
            let options = options.accounts(folder.0.join("accounts"));
            options.host(HostCommand::new("/no/such/program"))
        });
        reader.broker.catalogue(&Ask::everything()).unwrap().objects.len()
    };
    assert_eq!(known(&folder), 1);
    for (path, mode) in [(&accounts, 0o777), (&account, 0o666)] {
        let before = std::fs::metadata(path).unwrap().permissions().mode();
        chmod(path, mode);
        assert_eq!(known(&folder), 0, "{path:?}");
        chmod(path, before & 0o7777);
        std::fs::write(&account, &sound).unwrap();
        assert_eq!(known(&folder), 1, "{path:?}");
    }
    for bad in ["", "perfhive account 2\n[End]\n", &sound[..sound.len() - 3]] {
        std::fs::write(&account, bad).unwrap();
        assert_eq!(known(&folder), 0, "{bad}");
    }
    // A link to another file is not followed.
    std::fs::remove_file(&account).unwrap();
    std::fs::write(folder.0.join("elsewhere"), &sound).unwrap();
    std::os::unix::fs::symlink(folder.0.join("elsewhere"), &account).unwrap();
    assert_eq!(known(&folder), 0);
    assert_eq!(std::fs::read_to_string(folder.0.join("elsewhere")).unwrap(), sound);
}
