//! The host process: its limits, deadlines, restarts and end.

use crate::support::{Folder, OBJECT, broker, broker_of, host, registration};
use perfhive_contract::Registration;
use perfhive_engine::{Ask, FaultKind, ProviderState, Source, TestLevel};
use perfhive_format::TitleIndex;
use perfhive_libraries::{HostCommand, HostOptions, Severity, check};
use rustix::process::{Pid, Signal, kill_process};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The living processes whose parent is `parent` and whose name contains a text.
fn children(parent: u32, name: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        // A process may end at any moment.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((head, rest)) = stat.rsplit_once(')') else { continue };
        let mut fields = rest.split_whitespace();
        let state = fields.next().unwrap();
        let is_child = fields.next().unwrap().parse::<u32>().unwrap() == parent;
        if is_child && head.contains(name) && !"ZX".contains(state) {
            found.push(pid);
        }
    }
    found
}

/// Waits until a condition holds.
fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < Duration::from_secs(30), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn host_has_six_descriptors_no_environment_and_the_priority_of_the_reader() {
    let folder = Folder::new("needs");
    let library = folder.compile("tests/libraries/zoo.c");
    // A file that this process leaves open for its children.
    let open = std::fs::File::open("/dev/zero").unwrap();
    rustix::io::fcntl_setfd(open.as_fd(), rustix::io::FdFlags::empty()).unwrap();
    let limit = 400 << 20;
    // Below a supervisor it has the same.
    for processes in [false, true] {
        let mut registration = registration(&library, "tells where it is");
        registration.processes = processes;
        let mut reader = broker(registration, |options| options.memory_limit(limit));
        let seen = reader.see();
        let text = &seen.faults[0].message;
        // Standard input, output, error, the socket, the memory, and the reader's process.
        // Whatever priority the tests have.
        let nice = rustix::process::getpriority_process(None).unwrap();
        let lowered = (nice + 10).min(19);
        let may = match processes {
            true => "signals 4 and 3, reached 0",
            false => "signals 0 and 3, reached 0",
        };
        let usual = format!(
            "files 6 of 1024, variables 0, folder /, privileges 1, memory {limit}, core 0, {may}"
        );
        assert_eq!(**text, format!("{usual}, nice {nice}"));
        // Costly objects were requested when its objects were asked for.
        assert!(
            reader.lines()[0].ends_with(&format!("{usual}, nice {lowered}")),
            "{:?}",
            reader.lines()
        );
    }
    drop(open);
}

/// A host leads a session of its own: Ctrl-C at the reader's terminal does not reach it, and
/// the kernel may share processors between the two.
#[test]
fn host_leads_its_own_session() {
    let folder = Folder::new("session");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut reader = broker(registration(&library, "good"), |options| options);
    reader.see();
    let hosts = children(std::process::id(), "perfhive-host");
    let session = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
        // The last two of state, parent, group and session.
        fields.skip(2).take(2).map(|n| n.parse().unwrap()).collect::<Vec<u32>>()
    };
    assert!(!hosts.is_empty());
    for host in hosts {
        assert_eq!(session(host), [host, host]);
    }
}

/// A library has one process, so that one limit holds for everything and no process is left
/// behind.
#[test]
fn library_may_start_threads_but_no_processes() {
    let folder = Folder::new("processes");
    let library = folder.compile("tests/libraries/zoo.c");
    for (allowed, text) in [(false, "0 processes, 1 threads"), (true, "5 processes, 1 threads")] {
        let mut registration = registration(&library, "starts processes");
        registration.processes = allowed;
        let mut reader = broker(registration, |options| options);
        assert_eq!(reader.see().instances, Some(2));
        assert_eq!(reader.lines(), [format!("Zoo: {text}")]);
    }
}

/// A library that means harm reads what any user may read, and no more; it writes no file, starts
/// few threads, and gets no further rights. With registered paths it reads those only.
#[test]
fn hostile_library_reads_public_files_and_changes_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("hostile");
    let library = folder.compile("tests/libraries/zoo.c");
    let prey = Folder::new("prey");
    for (name, mode) in [("secret", 0o600), ("public", 0o644)] {
        let file = prey.0.join(name);
        std::fs::write(&file, "text").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let is_root = rustix::process::geteuid().is_root();
    // Whether an ordinary user may have a user namespace, in which threads are counted.
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "unshare", "-U", "true"];
    let mut attempt = match is_root {
        true => std::process::Command::new("setpriv"),
        false => std::process::Command::new("unshare"),
    };
    attempt.args(if is_root { &nobody[..] } else { &nobody[4..] });
    let is_counted = attempt.status().is_ok_and(|status| status.success());
    // Files that only root may read; an ordinary user's library reads what the user may.
    let usual = if is_root { 2 } else { 3 };
    for (reads, expected) in
        [(vec![], usual), (vec!["/proc"], 0), (vec![prey.0.to_str().unwrap()], 3)]
    {
        let mut registration = registration(&library, &format!("!attacks {}", prey.0.display()));
        registration.reads = reads.iter().map(Into::into).collect();
        let mut reader = broker(registration, |options| options);
        assert_eq!(reader.see().instances, Some(2));
        let expected = format!(
            "Zoo: reads {expected}, writes 0, null 1, memory 0, namespaces 0, raised 0, threads "
        );
        let lines = reader.lines();
        let said = lines.iter().find_map(|line| line.strip_prefix(&expected));
        let threads = said.unwrap_or_else(|| panic!("{expected}: {lines:?}"));
        assert!(threads == "limited" || !is_counted, "{lines:?}");
        assert_eq!(std::fs::read_to_string(prey.0.join("public")).unwrap(), "text");
        assert_eq!(std::fs::read_dir(&prey.0).unwrap().count(), 2);
    }
}

/// Root's libraries run as nobody. A library that nobody may not read says so, and reads the
/// files that are registered for it.
#[test]
fn private_library_of_root_says_how_it_is_read() {
    use std::os::unix::fs::PermissionsExt as _;
    if !rustix::process::geteuid().is_root() {
        eprintln!("this takes root");
        return;
    }
    let folder = Folder::new("private");
    let library = folder.compile("tests/libraries/zoo.c");
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut registration = registration(&library, "good");
    let seen = broker(registration.clone(), |options| options).see();
    assert_eq!(seen.instances, None);
    registration.reads = vec![folder.0.clone()];
    let mut reader = broker(registration.clone(), |options| options);
    assert_eq!(reader.see().instances, Some(2));
    registration.reads.clear();
    let verdict = check(&registration, &HostOptions::new().host(host()));
    let wrong: String = verdict.findings.iter().map(|one| one.message.clone()).collect();
    assert!(wrong.contains("--reads PATH"), "{wrong}");
}

/// Where the system cannot refuse to start processes, readers, the log and `check` get a note,
/// unless the library may start processes.
#[test]
fn missing_filter_is_reported_to_readers_the_log_and_check() {
    let folder = Folder::new("no-filters");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut without = HostCommand::new(folder.compile_program("tests/libraries/no_filters.c"));
    without.arguments = vec![host().program.into()];
    let text = "it may start processes, each with limits of its own, since this system cannot";
    for processes in [false, true] {
        let mut registration = registration(&library, "good");
        registration.processes = processes;
        let mut reader = broker(registration.clone(), |options| options.host(without.clone()));
        let expected = usize::from(!processes);
        // Once per process.
        for told in [expected, 0] {
            let seen = reader.see();
            assert_eq!(seen.instances, Some(2), "{seen:?}");
            let warnings = seen.faults.iter().filter(|one| one.message.contains(text));
            assert_eq!(warnings.count(), told, "{seen:?}");
        }
        assert_eq!(reader.logged(text) > 0, !processes, "{:?}", reader.lines());
        let verdict = check(&registration, &HostOptions::new().host(without.clone()));
        let warnings = verdict.findings.iter().filter(|one| one.message.contains(text));
        assert_eq!(warnings.count(), expected, "{:?}", verdict.findings);
    }
}

#[test]
fn messages_of_an_open_that_succeeds_are_in_the_log_and_in_check() {
    let folder = Folder::new("tells-in-open");
    let library = folder.compile("tests/libraries/zoo.c");
    let registration = registration(&library, "tells in Open");
    let mut reader = broker(registration.clone(), |options| options);
    for _ in 0..2 {
        let seen = reader.see();
        assert_eq!((seen.instances, seen.faults.len()), (Some(2), 0), "{seen:?}");
    }
    // Once per process.
    assert_eq!(reader.lines(), ["Zoo: the pump is new"]);
    let verdict = check(&registration, &HostOptions::new().host(host()));
    let found = verdict.findings.iter().filter(|one| one.severity != Severity::Good);
    let found: Vec<_> = found.map(|one| (&*one.asked, &*one.message)).collect();
    assert_eq!(found, [("Open", "it reports: the pump is new")]);
}

/// The memory limit holds for files in memory as well.
#[test]
fn file_beyond_the_memory_limit_is_not_written() {
    let folder = Folder::new("large-file");
    let library = folder.compile("tests/libraries/zoo.c");
    for (limit, text) in [(150 << 20, "not written"), (400 << 20, "written")] {
        // The registered limit precedes the reader's default.
        let mut registration = registration(&library, "writes a large file");
        registration.memory_limit = Some(limit);
        let mut reader = broker(registration, |options| options.memory_limit(300 << 20));
        assert_eq!(reader.see().instances, Some(2));
        assert_eq!(reader.lines(), [format!("Zoo: {text}")]);
    }
}

#[test]
fn reader_returns_at_its_deadline_and_reads_later() {
    let folder = Folder::new("deadline");
    let library = folder.compile("tests/libraries/zoo.c");
    let registration = registration(&library, "sleeps now and then");
    let mut reader = broker(registration, |options| options);
    assert_eq!(reader.see().instances, Some(2));
    let request = Ask::objects(&[OBJECT]);
    let soon = request.until(Instant::now() + Duration::from_millis(50));
    let (snapshot, faults) = reader.collect(&soon);
    assert!(snapshot.object(OBJECT).is_none());
    assert_eq!(faults[0].kind, FaultKind::NotYet, "{faults:?}");
    assert!(faults[0].message.contains("is still at work"), "{faults:?}");
    assert!(faults[0].message.ends_with("at the reader's deadline"), "{faults:?}");
    // Neither a fault nor a log line. The late answer is discarded, and the next answer
    // belongs to the next request.
    assert_eq!((reader.state(), reader.status().faults), (ProviderState::Open, 0));
    assert_eq!(reader.see().instances, Some(2));
    assert_eq!(reader.lines(), [""; 0]);
}

/// A library that has not said what it offers does not delay a reader with a deadline.
#[test]
fn first_question_keeps_to_the_deadline() {
    let folder = Folder::new("first-look");
    let library = folder.compile("tests/libraries/zoo.c");
    for kind in ["!sleeps past its deadline", "never comes back from Open"] {
        let registration = registration(&library, kind);
        let mut reader =
            broker(registration, |options| options.patience(Duration::from_secs(3600)));
        let soon = Ask::new(perfhive_engine::ObjectQuery::Global)
            .until(Instant::now() + Duration::from_millis(100));
        // The timeouts of its functions are ten seconds: a reader that waited for them
        // would show another state.
        let (snapshot, faults) = reader.collect(&soon);
        assert_eq!(snapshot.objects().count(), 0);
        assert_eq!(reader.state(), ProviderState::Idle);
        // A request for everything reports the missing provider.
        assert_eq!(&*faults[0].message, "has not said yet what it offers");
        let why = reader.status().last_fault.unwrap().message;
        assert_eq!(&*why, "has not said yet what it offers");
    }
}

#[test]
fn first_crash_restarts_at_once_second_one_waits() {
    let folder = Folder::new("again");
    let library = folder.compile("tests/libraries/zoo.c");
    let registration = registration(&library, "crashes the second time");
    let mut reader = broker(registration, |options| options.pause(Duration::from_secs(3600)));
    assert_eq!(reader.see().instances, Some(2));
    let seen = reader.see();
    assert!(seen.faults[0].message.contains("crashed with signal 6 (abort)"), "{seen:?}");
    // The new process crashes in the fourth call.
    for _ in 0..3 {
        assert_eq!(reader.see().instances, Some(2));
    }
    assert_eq!(reader.see().instances, None);
    for _ in 0..20 {
        let seen = reader.see();
        assert_eq!(seen.faults[0].kind, FaultKind::NotYet);
        assert!(seen.faults[0].message.contains("will be started again in"), "{seen:?}");
    }
    // Collections during the pause count neither way.
    assert_eq!((reader.state(), reader.status().faults), (ProviderState::Open, 2));
    assert_eq!(reader.logged("crashed"), 2, "{:?}", reader.lines());
}

/// A hang costs readers time, so that even the first one is followed by a pause.
#[test]
fn first_timeout_is_followed_by_a_pause() {
    let folder = Folder::new("hung");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut registration = registration(&library, "sleeps past its deadline");
    registration.collect_timeout = Duration::from_millis(300);
    let mut reader = broker(registration, |options| options.pause(Duration::from_secs(3600)));
    let seen = reader.see();
    assert!(seen.faults[0].message.contains("within 300ms: its process was ended"), "{seen:?}");
    for _ in 0..20 {
        let seen = reader.see();
        assert_eq!(seen.faults[0].kind, FaultKind::NotYet, "{seen:?}");
        assert!(seen.faults[0].message.contains("will be started again in"), "{seen:?}");
    }
    assert_eq!((reader.state(), reader.status().faults), (ProviderState::Open, 1));
}

#[test]
fn no_host_is_left_after_its_reader() {
    let folder = Folder::new("left");
    let library = folder.compile("tests/libraries/zoo.c");
    for kind in ["good", "never comes back from Close", "sleeps past its deadline"] {
        let mut registration = registration(&library, kind);
        registration.collect_timeout = Duration::from_millis(100);
        let mut reader = broker(registration, |options| options);
        reader.see();
        drop(reader);
        // Other tests of this process may have hosts of other libraries.
        let ours = |pid: &u32| {
            let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
            maps.contains(library.to_str().unwrap())
        };
        wait_until(kind, || !children(std::process::id(), "perfhive-host").iter().any(ours));
    }
}

/// The processes that have loaded a library.
fn users(library: &Path) -> Vec<u32> {
    let library = library.to_str().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        // A process may end at any moment.
        let maps = std::fs::read_to_string(entry.path().join("maps")).unwrap_or_default();
        if maps.contains(library) {
            found.push(pid);
        }
    }
    found
}

/// Kills the processes that a failed test would leave behind.
struct Leftovers<'a>(&'a Path);

impl Drop for Leftovers<'_> {
    fn drop(&mut self) {
        for pid in users(self.0).into_iter().filter_map(|pid| Pid::from_raw(pid as i32)) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Processes of a library end in whatever session they are, when the library is closed, when
/// it crashes and when its reader is killed.
#[test]
fn processes_of_a_library_end_with_it() {
    let folder = Folder::new("starts");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut registration = registration(&library, "leaves processes");
    registration.processes = true;
    let _none = Leftovers(&library);
    let mut reader = broker(registration.clone(), |options| options);
    assert_eq!(reader.see().instances, Some(2));
    // The host, and two that it left in sessions of their own.
    assert_eq!(users(&library).len(), 3);
    drop(reader);
    wait_until("the library is closed", || users(&library).is_empty());

    registration.linkage = Some("leaves processes and crashes".to_string());
    let mut reader = broker(registration, |options| options);
    let seen = reader.see();
    assert!(seen.faults[0].message.contains("crashed with signal 6 (abort)"), "{seen:?}");
    wait_until("the library crashed", || users(&library).is_empty());

    let mut reader = reader_to_be_killed(&library, "leaves processes");
    wait_until("the processes are there", || users(&library).len() == 3);
    reader.kill().unwrap();
    reader.wait().unwrap();
    wait_until("the reader was killed", || users(&library).is_empty());
}

fn reader_to_be_killed(library: &Path, kind: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "isolation::reader_that_is_killed"])
        .env("PERFHIVE_TEST_LIBRARY", library)
        .env("PERFHIVE_TEST_KIND", kind)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The program that the tests above and below start as a reader and kill.
#[test]
fn reader_that_is_killed() {
    let Some(library) = std::env::var_os("PERFHIVE_TEST_LIBRARY") else { return };
    let kind = std::env::var("PERFHIVE_TEST_KIND").unwrap();
    let mut registration = registration(Path::new(&library), &kind);
    registration.processes = kind.starts_with("leaves");
    let mut reader = broker(registration, |options| options);
    reader.see();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn host_ends_when_its_reader_is_killed() {
    let folder = Folder::new("killed");
    let library = folder.compile("tests/libraries/zoo.c");
    for kind in ["never returns", "never returns and has no parent-death signal"] {
        host_ends_with_its_reader(&library, kind);
    }
}

fn host_ends_with_its_reader(library: &Path, kind: &str) {
    let mut reader = reader_to_be_killed(library, kind);
    let mut hosts = Vec::new();
    wait_until("the host is at work", || {
        hosts = children(reader.id(), "perfhive-host");
        // The library is loaded; its Collect never returns.
        hosts.first().is_some_and(|pid| {
            let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
            maps.contains("zoo.so")
        })
    });
    reader.kill().unwrap();
    reader.wait().unwrap();
    wait_until("the host is gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", hosts[0]));
        stat.map_or(true, |stat| {
            let state = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
            state.starts_with('Z') || state.starts_with('X')
        })
    });
}

#[test]
fn missing_wrong_or_untrusted_host_program_is_reported() {
    let folder = Folder::new("without");
    let library = folder.compile("tests/libraries/zoo.c");
    let registration = registration(&library, "good");
    // Any user may replace this one.
    let public = folder.0.join("public");
    std::fs::create_dir(&public).unwrap();
    std::fs::set_permissions(&public, std::fs::Permissions::from_mode(0o777)).unwrap();
    let public = public.join("host");
    std::fs::copy(host().program, &public).unwrap();
    let cases = [
        (Path::new("/bin/true"), "exit status 0"),
        (Path::new("/no/such/program"), "is not there"),
        (Path::new("host"), "is not an absolute path"),
        (&public, "may be written by others (mode 0777)"),
    ];
    for (program, expected) in cases {
        let mut reader = broker(registration.clone(), |options| {
            options.host(perfhive_libraries::HostCommand::new(program))
        });
        assert_eq!(reader.see().instances, None);
        let providers = Source::providers(&mut reader.broker, &Ask::nothing()).unwrap();
        let status = providers.first().unwrap();
        assert_eq!(status.state, ProviderState::Failed);
        let fault = status.last_fault.as_ref().unwrap().message.to_string();
        assert!(fault.contains(expected), "{fault}");
    }
}

/// Two libraries wait for each other: they are called side by side, so that any number of
/// hanging libraries costs a reader the time of one.
#[test]
fn libraries_are_called_side_by_side() {
    let folder = Folder::new("meets");
    let library = folder.compile("tests/libraries/meets.c");
    let both = [TitleIndex(50000), TitleIndex(50002)];
    // Each has a costly object too, which is a second request.
    let all = [50000, 50004, 50002, 50006].map(TitleIndex);
    let registration = |object: &TitleIndex| {
        let mut one = Registration::new(&format!("Meets {object}"), &library, "CollectMeets");
        one.open = Some("OpenMeets".to_string());
        one.close = Some("CloseMeets".to_string());
        one.linkage = Some(format!("{object} {}", folder.0.display()));
        (one.first_counter, one.last_counter) = (object.0, object.0);
        (one.first_help, one.last_help) = (object.0 + 1, object.0 + 1);
        one.objects = vec![*object, TitleIndex(object.0 + 4)];
        one
    };
    let registrations = both.iter().map(registration).collect();
    let mut reader = broker_of(registrations, TestLevel::All, |options| options);
    // With new processes, and with running ones.
    for wanted in [&both[..], &both, &all, &all] {
        let (snapshot, faults) = reader.collect(&Ask::objects(wanted));
        assert!(wanted.iter().all(|object| snapshot.object(*object).is_some()), "{faults:?}");
    }
    // The reported time is that of the call, not that of the wait.
    assert!(reader.broker.providers().all(|one| one.total >= Duration::from_millis(1)));
}
