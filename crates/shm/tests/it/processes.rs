//! Several processes, and their ends.

use crate::common::*;
#[cfg(unix)]
use perfhive_shm::PublishErrorKind;
use perfhive_shm::{CounterDeclaration, PublishedCategory};

/// The child process: publishes an instance of its own name, and waits.
fn publish_and_wait(role: &str, folder: &std::path::Path) {
    let category = PublishedCategory::builder("Shared")
        .instances(8)
        .counter(CounterDeclaration::new("Orders", COUNT))
        .folder(folder)
        .publish()
        .unwrap();
    for name in ["both", role] {
        category.instance(name).unwrap().counter("Orders").unwrap().set(role.len() as u64);
    }
    tell_and_wait("ready");
}

#[test]
fn two_processes_share_a_category() {
    const TEST: &str = "processes::two_processes_share_a_category";
    if let Some((role, folder)) = role() {
        return publish_and_wait(&role, &folder);
    }
    let folder = Folder::new();
    let mut reader = Reader::new(&folder);
    let mut first = Process::start(TEST, "a", &folder);
    first.line();
    let mut second = Process::start(TEST, "bb", &folder);
    second.line();
    let names = |rows: Rows| -> Vec<(String, u64)> {
        rows.into_iter().map(|(name, row)| (name, row[0].unwrap().0)).collect()
    };
    let own = |name: &str, value| (name.to_string(), value);
    assert_eq!(
        names(reader.rows("Shared")),
        [own("both", 1), own("a", 1), own("both", 2), own("bb", 2)]
    );
    // Each has its own unique number, so that the second never passes for the first.
    let numbers = |reader: &Reader| -> Vec<_> {
        let object = reader.snapshot.objects().next().unwrap();
        object.view().instances().map(|i| i.unique_id().unwrap()).collect()
    };
    let before = numbers(&reader);
    first.finish();
    assert_eq!(names(reader.rows("Shared")), [own("both", 2), own("bb", 2)]);
    assert_eq!(numbers(&reader), before[2..]);
    // A killed process is gone as well, and so is its file.
    second.kill();
    assert_eq!(reader.read()["Shared"], []);
    assert!(folder.files().is_empty());
}

#[test]
fn other_counters_or_no_instances_are_left_out() {
    let folder = Folder::new();
    let first = shop(&folder).instances(2).publish().unwrap();
    first.instance("x").unwrap();
    let second = shop(&folder).publish().unwrap();
    let mut reader = Reader::new(&folder);
    assert_eq!(reader.rows("Web Shop").len(), 1);
    let fault = &reader.faults()[0];
    assert!(fault.contains("publishes other counters: left out"), "{fault}");
    // When the first ends, the second is shown; a third has to wait.
    drop(first);
    second.counter("Orders").unwrap().set(2);
    let third = shop(&folder).publish().unwrap();
    third.counter("Orders").unwrap().set(3);
    assert_eq!(reader.rows("Web Shop")[0].1[0], Some((2, None)));
    assert!(reader.faults()[0].contains("publishes it too, without instances"));
    // The numbers of the third and the second are not subtracted from each other: one sample has no
    // values.
    drop(second);
    assert_eq!(reader.rows("Web Shop")[0].1[0], None);
    assert_eq!(reader.rows("Web Shop")[0].1[0], Some((3, None)));
}

/// Processes that publish, count, change their instances and end, killed at any
/// moment.
#[test]
fn writers_killed_at_random() {
    const TEST: &str = "processes::writers_killed_at_random";
    if let Some((_, folder)) = role() {
        println!("\n>begun");
        for round in 0u64.. {
            let category = PublishedCategory::builder("Shared")
                .instances(8)
                .counter(CounterDeclaration::new("Orders", COUNT))
                .counter(CounterDeclaration::new("Avg. Bytes/Order", AVERAGE))
                .folder(&folder)
                .publish()
                .unwrap();
            for step in 0..200i64 {
                let name = format!("instance {}", step % 11);
                let Ok(instance) = category.instance(&name) else { continue };
                instance.counter("Orders").unwrap().increment();
                let pair = instance.pair("Avg. Bytes/Order").unwrap();
                pair.add(3 * step, step);
                if step % 3 == 0 {
                    instance.remove();
                }
            }
            if round % 2 == 0 {
                drop(category);
            }
        }
    }
    let folder = Folder::new();
    let mut reader = Reader::new(&folder);
    for round in 0..25u64 {
        let mut processes: Vec<_> =
            (0..2).map(|_| Process::start(TEST, "worker", &folder)).collect();
        processes.iter_mut().for_each(|process| drop(process.line()));
        for _ in 0..round % 7 * 5 {
            for (name, row) in reader.rows("Shared") {
                assert!(name.starts_with("instance "), "{name}");
                let (value, base) = row[1].unwrap();
                assert_eq!(value, 3 * base.unwrap());
            }
        }
        processes.into_iter().for_each(Process::kill);
        assert!(reader.rows("Shared").is_empty(), "{round}");
        assert_eq!(reader.faults(), [""; 0]);
    }
    // Incomplete files stay for a while: a process may be writing them.
    make_old(&folder);
    drop(shop(&folder).publish().unwrap());
    assert_eq!(folder.files(), [""; 0].map(std::path::PathBuf::from));
}

/// Any user may create folders beside those of users: a folder in another user's name does not keep
/// that user from publishing.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_created_by_another_user_is_replaced() {
    const TEST: &str = "processes::a_folder_created_by_another_user_is_replaced";
    if role().is_some() {
        let user = rustix::process::geteuid().as_raw();
        let category = PublishedCategory::builder(&format!("Squatted {user}"))
            .counter(CounterDeclaration::new("Orders", COUNT))
            .publish()
            .unwrap();
        category.counter("Orders").unwrap().set(5);
        return tell_and_wait(&category.path().display().to_string());
    }
    /// A folder that is removed in the end.
    struct Gone(std::path::PathBuf);
    impl Drop for Gone {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
    // A number that no user and no parallel test has: process numbers are below 2^22.
    let user = (1 << 30) + std::process::id();
    let folder = Gone(format!("/dev/shm/perfhive-{user}").into());
    let _ = std::fs::remove_dir_all(&folder.0);
    std::fs::create_dir(&folder.0).unwrap();
    let known = std::env::var_os("PERFHIVE_COUNTERS").is_none();
    let owner = std::os::unix::fs::chown(&folder.0, Some(1 << 29), None).is_ok();
    let started = (known && owner).then(|| Process::start_as(TEST, user)).flatten();
    let Some(mut process) = started else {
        eprintln!("not tested: another user, for which this must run as root");
        return;
    };
    let path = std::path::PathBuf::from(process.line());
    let made = Gone(path.parent().unwrap().to_path_buf());
    assert!(made.0.to_string_lossy().starts_with(&format!("/dev/shm/perfhive-{user}-")));
    // A second program of the user finds the folder of the first.
    let mut second = Process::start_as(TEST, user).unwrap();
    assert_eq!(std::path::Path::new(&second.line()).parent(), Some(&*made.0));
    second.finish();
    let counters = perfhive_shm::PublishedCounters::new().every(std::time::Duration::ZERO);
    let broker = perfhive_engine::Broker::builder("test:", "HOST").roster(counters).build();
    let mut reader = Reader { broker, snapshot: perfhive_engine::Snapshot::new() };
    assert_eq!(reader.rows(&format!("Squatted {user}"))[0].1[0], Some((5, None)));
    process.finish();
}

/// Sets the time of all files of a folder far back.
fn make_old(folder: &Folder) {
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(90);
    for path in folder.files() {
        std::fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
}

/// An incomplete file of a killed program goes with the user's next reader or writer, unless a
/// process may be writing it.
#[test]
fn old_incomplete_files_are_removed() {
    let folder = Folder::new();
    let name = "Shop-4711-18b2f3c4d5e6f708.counters-new";
    let held = put(&folder, name, b"");
    let read = || assert!(Reader::new(&folder).read().is_empty());
    let publish = || drop(shop(&folder).publish().unwrap());
    let uses: [&dyn Fn(); 2] = [&read, &publish];
    // First its lock is held, then it is young.
    make_old(&folder);
    uses.iter().for_each(|f| f());
    assert_eq!(folder.files().len(), 1);
    drop(held);
    for f in uses {
        std::fs::write(folder.path().join(name), b"").unwrap();
        f();
        assert_eq!(folder.files().len(), 1, "it may be locked the next moment");
        make_old(&folder);
        f();
        assert!(folder.files().is_empty());
    }
    // A name of another form belongs to another program.
    std::fs::write(folder.path().join("mine.counters-new"), b"abc").unwrap();
    make_old(&folder);
    uses.iter().for_each(|f| f());
    assert_eq!(folder.files().len(), 1);
}

/// A process with another start time has the number of a dead one, and another process holds the
/// lock through an inherited handle.
#[cfg(windows)]
#[test]
fn a_reused_pid_is_not_the_publishing_process() {
    let folder = Folder::new();
    let category = shop(&folder).publish().unwrap();
    let mut bytes = std::fs::read(category.path()).unwrap();
    assert_eq!(
        u64::from_le_bytes(bytes[120..128].try_into().unwrap()),
        u64::from(std::process::id())
    );
    drop(category);
    let same = put(&folder, "same.counters", &bytes);
    assert_eq!(Reader::new(&folder).read().len(), 1);
    drop(same);
    assert!(Reader::new(&folder).read().is_empty());
    assert!(folder.files().is_empty(), "its lock is gone, and so is the file");
    // The low bytes of its start time.
    bytes[128] ^= 1;
    let _other = put(&folder, "other.counters", &bytes);
    assert!(Reader::new(&folder).read().is_empty());
    // An unused number: used ones are multiples of 4.
    bytes[120..128].copy_from_slice(&0x7fff_fff1u64.to_le_bytes());
    let _nobody = put(&folder, "nobody.counters", &bytes);
    assert!(Reader::new(&folder).read().is_empty());
    assert_eq!(folder.files().len(), 2, "their locks are held");
}

/// While a program publishes, no other process can write to its file, and the file goes with the
/// program, however that ends.
#[cfg(windows)]
#[test]
fn a_published_file_is_writable_by_its_program_only() {
    let folder = Folder::new();
    let category = shop(&folder).publish().unwrap();
    std::fs::File::open(category.path()).unwrap();
    let refused = std::fs::File::options().write(true).open(category.path()).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(32), "ERROR_SHARING_VIOLATION: {refused}");
    let orders = category.counter("Orders").unwrap();
    drop(category);
    orders.increment();
    assert!(Reader::new(&folder).read().is_empty(), "although a child counts on");
    drop(orders);
    assert!(folder.files().is_empty());
}

/// A process with another start time has the number of a dead one, whose child still holds the
/// lock.
#[cfg(unix)]
#[test]
fn a_reused_pid_is_not_the_publishing_process() {
    let folder = Folder::new();
    let category = shop(&folder).publish().unwrap();
    let mut reader = Reader::new(&folder);
    assert_eq!(reader.read().len(), 1);
    let file = std::fs::File::options().write(true).open(category.path()).unwrap();
    let bytes = std::fs::read(category.path()).unwrap();
    let start = u64::from_le_bytes(bytes[128..136].try_into().unwrap());
    assert!(start > 0);
    // Written before the first read: a definition is read once.
    let mut reader = Reader::new(&folder);
    write_at(&file, &(start - 1).to_le_bytes(), 128);
    assert!(reader.read().is_empty());
    assert!(category.path().exists(), "its lock is held");
    // In another namespace the number says nothing, and the lock counts.
    write_at(&file, &1u64.to_le_bytes(), 136);
    assert_eq!(Reader::new(&folder).read().len(), 1);
    // The lock of this copy is free.
    let copy = folder.path().join("copy.counters");
    std::fs::copy(category.path(), &copy).unwrap();
    drop(category);
    assert!(Reader::new(&folder).read().is_empty());
    assert!(!copy.exists());
}

#[cfg(unix)]
#[test]
fn a_forked_child_does_not_count_for_its_parent() {
    const TEST: &str = "processes::a_forked_child_does_not_count_for_its_parent";
    if let Some((_, folder)) = role() {
        return fork(&folder);
    }
    let folder = Folder::new();
    let mut reader = Reader::new(&folder);
    let mut process = Process::start(TEST, "parent", &folder);
    assert_eq!(process.line(), "forked: refused, published its own");
    assert_eq!(reader.rows("Forking"), [("parent".to_string(), vec![Some((1, None))])]);
    process.finish();
    assert!(folder.files().is_empty());
}

#[cfg(unix)]
#[allow(unsafe_code)]
fn fork(folder: &std::path::Path) {
    let builder = PublishedCategory::builder("Forking")
        .instances(2)
        .counter(CounterDeclaration::new("Orders", COUNT))
        .folder(folder);
    let category = builder.clone().publish().unwrap();
    let instance = category.instance("parent").unwrap();
    let orders = instance.counter("Orders").unwrap();
    orders.increment();
    // SAFETY: no other thread of this process holds a lock that the child needs: the thread that
    // started the test waits for its end.
    let child = unsafe { libc::fork() };
    if child == 0 {
        orders.increment();
        orders.set(100);
        let refused = category.instance("child").map(drop).map_err(|error| error.kind());
        instance.remove();
        let published = builder.publish().and_then(|own| {
            own.instance("mine")?.counter("Orders")?.increment();
            Ok(own.instance("mine")?.counter("Orders")?.get())
        });
        drop((orders, category));
        let good = refused == Err(PublishErrorKind::Forked) && published.ok() == Some(1);
        // SAFETY: ends the process without running any other code of it.
        unsafe { libc::_exit(i32::from(!good)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    let good = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
    let text = if good { "refused, published its own" } else { "wrong" };
    tell_and_wait(&format!("forked: {text}"));
    drop(category);
}

/// A child holds the lock of its killed parent; the parent counts as gone.
#[cfg(unix)]
#[test]
fn a_lock_inherited_by_a_child_does_not_keep_the_parent_alive() {
    const TEST: &str = "processes::a_lock_inherited_by_a_child_does_not_keep_the_parent_alive";
    if let Some((_, folder)) = role() {
        return fork_and_stay(&folder);
    }
    let folder = Folder::new();
    let mut reader = Reader::new(&folder);
    let mut process = Process::start(TEST, "parent", &folder);
    let child: i32 = process.line().parse().unwrap();
    assert_eq!(reader.rows("Forking").len(), 1);
    process.kill();
    let rows = reader.rows("Forking");
    let locked = folder.files().len();
    // SAFETY: a process that this test started and has not waited for.
    #[allow(unsafe_code)]
    unsafe {
        libc::kill(child, libc::SIGKILL);
    }
    assert_eq!((rows, locked), (Vec::new(), 1));
}

#[cfg(unix)]
#[allow(unsafe_code)]
fn fork_and_stay(folder: &std::path::Path) {
    let category = PublishedCategory::builder("Forking")
        .instances(2)
        .counter(CounterDeclaration::new("Orders", COUNT))
        .folder(folder)
        .publish()
        .unwrap();
    category.instance("parent").unwrap();
    // SAFETY: the child does nothing but wait.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: takes nothing and waits for a signal; should the test fail it
        // ends by itself.
        unsafe {
            libc::alarm(60);
            libc::pause();
            libc::_exit(0);
        }
    }
    tell_and_wait(&child.to_string());
}
