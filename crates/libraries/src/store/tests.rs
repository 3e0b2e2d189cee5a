use super::*;
use perfhive_contract::Texts;
use perfhive_format::LanguageId;
use std::os::unix::fs::{chown, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

fn definition(name: &str, count: u32) -> ProviderDefinition {
    let mut made = ProviderDefinition::new(name);
    let texts = |what: &str| (0..count).map(|n| (2 * n, format!("{what} {n} of {name}"))).collect();
    made.objects = vec![0];
    made.titles =
        vec![Texts { language: LanguageId::ENGLISH, names: texts("Name"), help: texts("Help") }];
    made
}

/// A folder with a library in it that can be trusted.
struct HiveFolder {
    folder: tempfile::TempDir,
    functions: Functions,
}

impl HiveFolder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("library.so");
        std::fs::write(&library, "no code").unwrap();
        // Independent of the umask.
        chmod(folder.path(), 0o755);
        chmod(&library, 0o755);
        Self { folder, functions: Functions { library: Some(library), ..Functions::default() } }
    }

    fn library(&self) -> PathBuf {
        self.functions.library.clone().unwrap()
    }

    fn hive(&self) -> HiveFile {
        HiveFile::new(Scope::System, self.folder.path().join("lib/hives"))
    }

    fn parsed(&self) -> Hive {
        let (hive, faults) = self.hive().read(Trust::of_caller()).unwrap().unwrap();
        assert_eq!(faults, []);
        hive
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn registered_provider_is_read_and_unregistered() {
    let place = HiveFolder::new();
    let mut hive = place.hive();
    assert!(hive.registrations().unwrap().0.providers.is_empty());
    assert!(hive.unregister("A").is_err());
    assert!(!hive.path().parent().unwrap().exists(), "looking makes nothing");

    let (one, change) = hive.register(&definition("A", 2), &place.functions).unwrap();
    assert_eq!((one.first_counter, change), (1848, Change::Added));
    assert_eq!((mode(hive.path()), mode(&place.folder.path().join("lib/hives"))), (0o644, 0o755));
    let (all, faults) = hive.registrations().unwrap();
    assert_eq!((all.providers, faults), (vec![one.clone()], vec![]));
    // An unchanged hive is not written.
    let inode =
        |hive: &HiveFile| std::os::unix::fs::MetadataExt::ino(&hive.path().metadata().unwrap());
    let before = inode(&hive);
    assert_eq!(hive.register(&definition("A", 2), &place.functions).unwrap().1, Change::Unchanged);
    assert_eq!(inode(&hive), before);
    assert_eq!(hive.unregister("A").unwrap(), one);
    assert_eq!(place.parsed().services().count(), 0);
    assert!(!std::fs::read_to_string(hive.path()).unwrap().contains("Name 0 of A"));

    let mut own = HiveFile::new(Scope::User, place.folder.path().join("own"));
    own.register(&definition("A", 2), &place.functions).unwrap();
    assert_eq!((mode(own.path()), mode(&place.folder.path().join("own"))), (0o600, 0o700));
}

#[test]
fn damaged_hive_is_not_overwritten() {
    let place = HiveFolder::new();
    let mut hive = place.hive();
    hive.register(&definition("A", 2), &place.functions).unwrap();
    let text = std::fs::read_to_string(hive.path()).unwrap();
    let damaged = text.replace("Collect = ", "Collect : ");
    std::fs::write(hive.path(), &damaged).unwrap();
    for error in [
        hive.register(&definition("B", 1), &place.functions).unwrap_err(),
        hive.unregister("A").unwrap_err(),
    ] {
        assert_eq!(error.kind(), RegisterErrorKind::Damaged);
        assert!(error.to_string().contains("line 1"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(hive.path()).unwrap(), damaged);
    let (_, faults) = hive.registrations().unwrap();
    assert!(faults[0].to_string().contains("hive:1"), "{}", faults[0]);
}

#[test]
fn in_process_of_an_older_hive_is_ignored_with_a_warning() {
    let place = HiveFolder::new();
    let mut hive = place.hive();
    hive.register(&definition("A", 2), &place.functions).unwrap();
    let text = std::fs::read_to_string(hive.path()).unwrap();
    let older = text.replace("Collect = ", "In Process = 1\nCollect = ");
    std::fs::write(hive.path(), &older).unwrap();
    let (all, faults) = hive.registrations().unwrap();
    assert_eq!(all.providers.len(), 1);
    let message = "In Process is ignored: the library of A runs in its host process";
    assert!(faults[0].message.starts_with(message), "{}", faults[0]);
    // It does not keep the hive from being changed, which removes the line.
    hive.register(&definition("B", 1), &place.functions).unwrap();
    assert_eq!(hive.registrations().unwrap().1.len(), 0);
}

#[test]
fn concurrent_registrations_are_all_kept() {
    let place = HiveFolder::new();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let place = &place;
            scope.spawn(move || {
                let mut hive = place.hive();
                for round in 0..4 {
                    let name = format!("{thread}-{round}");
                    hive.register(&definition(&name, 3), &place.functions).unwrap();
                    if round == 1 {
                        hive.unregister(&format!("{thread}-0")).unwrap();
                    }
                    // A reader always sees a whole hive.
                    place.parsed();
                }
            });
        }
    });
    let hive = place.parsed();
    let mut firsts: Vec<u32> = hive.services().map(|one| one.first_counter).collect();
    firsts.sort_unstable();
    assert_eq!(firsts.len(), 24);
    assert!(firsts.windows(2).all(|pair| pair[1] >= pair[0] + 6), "{firsts:?}");
}

const CHILD: &str = "PERFHIVE_TEST_KILLED";

/// Registers the provider B with 400 names in a folder; `see` gets each step before it happens.
fn register_b(folder: &Path, see: &mut dyn FnMut(Step)) {
    let library = folder.join("library.so");
    let functions = Functions { library: Some(library), ..Functions::default() };
    let hive = HiveFile::new(Scope::System, folder.join("lib/hives"));
    hive.change(|hive| hive.register(&definition("B", 400), &functions), see).unwrap();
}

/// The new file is on the disk before it is renamed. The test below starts this test as a
/// process that kills itself before a step.
#[test]
fn changed_hive_is_written_beside_the_old_one_and_renamed() {
    let Some(text) = std::env::var_os(CHILD) else {
        let (place, mut steps) = (HiveFolder::new(), Vec::new());
        register_b(place.folder.path(), &mut |step| steps.push(step));
        steps.dedup();
        use Step::*;
        assert_eq!(
            steps,
            [
                Folder,
                Lock,
                Read,
                TakeAwayOld,
                Create,
                Write,
                Sync,
                Rename,
                SyncFolder,
                Unlock,
                Done
            ]
        );
        return;
    };
    let text = text.into_string().unwrap();
    let (at, folder) = text.split_once(':').unwrap();
    let at = at.parse::<u32>().unwrap();
    let mut steps = 0;
    register_b(Path::new(folder), &mut |_| {
        if steps == at {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
        }
        steps += 1;
    });
}

#[test]
fn kill_at_any_step_leaves_a_whole_hive() {
    for begun in [false, true] {
        let mut outcomes = Vec::new();
        for at in 0.. {
            let place = HiveFolder::new();
            let mut hive = place.hive();
            if begun {
                hive.register(&definition("A", 2), &place.functions).unwrap();
            }
            let before = hive.read(Trust::of_caller()).unwrap();
            let status = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "store::tests::changed_hive_is_written_beside_the_old_one_and_renamed",
                ])
                .env(CHILD, format!("{at}:{}", place.folder.path().display()))
                .stdout(std::process::Stdio::null())
                .status()
                .unwrap();
            let after = hive.read(Trust::of_caller()).unwrap();
            if let Some((_, faults)) = &after {
                assert_eq!(faults, &[], "step {at}");
            }
            let done = after != before;
            if done {
                let (after, _) = after.as_ref().unwrap();
                assert_eq!(
                    after.get("B").map(|one| one.last_counter - one.first_counter),
                    Some(798)
                );
                assert_eq!(after.get("A").is_some(), begun);
            }
            // The remains of the killed process do not disturb the next one.
            hive.register(&definition("C", 1), &place.functions).unwrap();
            assert_eq!(place.parsed().get("B").is_some(), done);
            let left: Vec<_> = std::fs::read_dir(place.folder.path().join("lib/hives"))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| name != "hive" && name != "lock")
                .collect();
            assert_eq!(left, Vec::<String>::new());
            outcomes.push(done);
            if status.success() {
                break;
            }
            assert_eq!(status.signal(), Some(9), "step {at}");
        }
        // A kill before the renaming leaves the old hive, after it the new one.
        assert!(outcomes.len() > 12, "{outcomes:?}");
        assert!(outcomes.is_sorted() && outcomes.contains(&false) && outcomes.contains(&true));
    }
}

#[test]
fn held_lock_is_waited_for() {
    let place = HiveFolder::new();
    let mut hive = place.hive();
    hive.register(&definition("A", 1), &place.functions).unwrap();
    let lock = hive.lock().unwrap();
    let other = std::thread::spawn({
        let (mut hive, functions) = (hive.clone(), place.functions.clone());
        move || hive.register(&definition("B", 1), &functions)
    });
    // Readers need no lock.
    assert!(place.parsed().get("B").is_none());
    drop(lock);
    other.join().unwrap().unwrap();
    assert!(place.parsed().get("B").is_some());
}

#[test]
fn files_writable_for_others_are_refused() {
    let place = HiveFolder::new();
    let library = place.library();
    let open = |path: &Path| Trust::of_caller().open(path);
    let real = std::fs::canonicalize(&library).unwrap();
    assert_eq!(open(&library).unwrap().1, real);

    // The file, its folder, and a folder above.
    let inner = place.folder.path().join("a/b");
    std::fs::create_dir_all(&inner).unwrap();
    let file = inner.join("x.so");
    std::fs::write(&file, "").unwrap();
    for path in [&file, &inner, &place.folder.path().join("a")] {
        chmod(path, 0o755);
    }
    for path in [&file, &inner, &place.folder.path().join("a")] {
        let old = mode(path);
        chmod(path, old | 0o020);
        let refusal = open(&file).unwrap_err();
        assert!(
            matches!(&refusal, Refusal::Writable { path: at, .. } if at.ends_with(path.file_name().unwrap()))
        );
        assert!(refusal.to_string().contains("chmod go-w"), "{refusal}");
        chmod(path, old | 0o002);
        assert!(matches!(open(&file), Err(Refusal::Writable { .. })), "{}", path.display());
        chmod(path, old & !0o022);
        assert!(open(&file).is_ok());
    }
    // A sticky folder such as /tmp may be above, but may not hold the library.
    chmod(&place.folder.path().join("a"), 0o1777);
    assert!(open(&file).is_ok());
    chmod(&inner, 0o1777);
    assert!(matches!(open(&file), Err(Refusal::Writable { .. })));
    assert!(matches!(open(&inner.join("none")), Err(Refusal::Writable { .. })));
    chmod(&inner, 0o755);
    assert!(matches!(open(&inner.join("none")), Err(Refusal::NotFound)));

    // Not a file; opening a pipe does not block.
    assert!(matches!(open(&inner), Err(Refusal::Kind { .. })));
    assert!(matches!(open(Path::new("x.so")), Err(Refusal::Kind { .. })));
    assert!(matches!(open(&file.join("x")), Err(Refusal::Kind { .. })));
    let pipe = inner.join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert!(matches!(open(&pipe), Err(Refusal::Kind { .. })));

    // Own links are followed; the result is their target.
    let real = std::fs::canonicalize(&file).unwrap();
    for target in [real.clone(), PathBuf::from("../b/./x.so")] {
        let link = inner.join("link.so");
        symlink(&target, &link).unwrap();
        assert_eq!(open(&link).unwrap().1, real);
        std::fs::remove_file(&link).unwrap();
    }
    let round = inner.join("round");
    symlink("round", &round).unwrap();
    assert!(matches!(open(&round), Err(Refusal::Kind { .. })));
}

#[test]
fn files_of_another_user_are_refused() {
    let place = HiveFolder::new();
    let library = place.library();
    let me = rustix::process::geteuid().as_raw();
    if !is_root() {
        // A file of this user is not trusted by another.
        let refusal = Trust::of_user(me + 1).open(&library).unwrap_err();
        assert!(matches!(refusal, Refusal::Owner { .. }), "{refusal}");
        return;
    }
    let (other, third) = (54_321, 54_322);
    let allowed = |user: u32, path: &Path| Trust::of_user(user).open(path).is_ok();
    // All users trust root's files.
    assert!(allowed(0, &library) && allowed(other, &library));
    // A user's file is trusted by that user alone, not by root.
    chown(&library, Some(other), None).unwrap();
    assert!(!allowed(0, &library) && allowed(other, &library) && !allowed(third, &library));
    chown(&library, Some(0), None).unwrap();
    // The same holds for a folder on the way, and for a link in a folder like /tmp.
    let folder = place.folder.path();
    chown(folder, Some(other), None).unwrap();
    assert!(!allowed(0, &library) && allowed(other, &library));
    chown(folder, Some(0), None).unwrap();
    let shared = folder.join("shared");
    std::fs::create_dir(&shared).unwrap();
    chmod(&shared, 0o1777);
    let link = shared.join("link.so");
    symlink(&library, &link).unwrap();
    assert!(allowed(0, &link) && allowed(third, &link));
    std::os::unix::fs::lchown(&link, Some(other), None).unwrap();
    assert!(!allowed(0, &link) && allowed(other, &link) && !allowed(third, &link));

    // A hive in another user's home, as under sudo with HOME kept.
    let mut home = HiveFile::new(Scope::User, folder.join("home"));
    home.register(&definition("A", 1), &place.functions).unwrap();
    chown(home.path(), Some(other), None).unwrap();
    let loaded = ReadHives::read(std::slice::from_ref(&home), Trust::of_caller());
    assert!(loaded.registrations.providers.is_empty());
    assert!(loaded.faults[0].message.contains("must belong to root"), "{}", loaded.faults[0]);
    let error = home.register(&definition("B", 1), &place.functions).unwrap_err();
    assert_eq!(error.kind(), RegisterErrorKind::Denied);
}

/// Root with another user's HOME creates no file there that would keep the user out.
#[test]
fn hive_that_would_not_be_read_is_not_created() {
    if !is_root() {
        eprintln!("not tested: another user's home, for which this must run as root");
        return;
    }
    let place = HiveFolder::new();
    let home = place.folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    chown(&home, Some(54_321), None).unwrap();
    let mut hive = HiveFile::new(Scope::User, home.join(".config/perfhive"));
    let error = hive.register(&definition("A", 1), &place.functions).unwrap_err();
    assert_eq!(error.kind(), RegisterErrorKind::Denied);
    assert!(error.to_string().contains("belongs to user 54321"), "{error}");
    assert_eq!(std::fs::read_dir(&home).unwrap().count(), 0);
    // Nor in a folder that all users may write.
    chown(&home, Some(0), None).unwrap();
    chmod(&home, 0o777);
    let error = hive.register(&definition("A", 1), &place.functions).unwrap_err();
    assert!(error.to_string().contains("chmod go-w"), "{error}");
    assert_eq!(std::fs::read_dir(&home).unwrap().count(), 0);
    chmod(&home, 0o755);
    hive.register(&definition("A", 1), &place.functions).unwrap();
}

/// As with a `HOME` below `/tmp`: without a hive there is nothing to warn of, and `/tmp` stays as it is.
#[test]
fn missing_hive_below_a_folder_of_all_users_is_no_fault() {
    let place = HiveFolder::new();
    let shared = place.folder.path().join("shared");
    let home = shared.join("home");
    std::fs::create_dir(&shared).unwrap();
    chmod(&shared, 0o1777);
    let mut hive = HiveFile::new(Scope::User, home.join(".config/perfhive"));
    let read = || {
        let hive = HiveFile::new(Scope::User, home.join(".config/perfhive"));
        let listed = hive.registrations().map(|(all, faults)| (all.providers.len(), faults.len()));
        let read = ReadHives::read(&[hive], Trust::of_caller());
        (listed.unwrap_or_default(), read.registrations.providers.len(), read.faults.len())
    };
    assert_eq!(hive.registrations().unwrap().1, []);
    assert_eq!(read(), ((0, 0), 0, 0));
    // Others could make the home: nothing is created in it.
    let error = hive.register(&definition("A", 1), &place.functions).unwrap_err();
    assert!(!error.to_string().contains("chmod"), "{error}");
    assert!(error.to_string().contains("move it"), "{error}");
    // A hive that comes is read, if it can be trusted.
    std::fs::create_dir(&home).unwrap();
    chmod(&home, 0o755);
    hive.register(&definition("A", 1), &place.functions).unwrap();
    assert_eq!(read(), ((1, 0), 1, 0));
    chmod(&home, 0o777);
    assert_eq!(ReadHives::read(&[hive], Trust::of_caller()).faults.len(), 1);
}

#[test]
fn untrusted_library_is_neither_registered_nor_loaded() {
    let place = HiveFolder::new();
    let mut hive = place.hive();
    hive.register(&definition("A", 1), &place.functions).unwrap();
    let read = || ReadHives::read(&[place.hive()], Trust::of_caller());
    assert_eq!(read().registrations.providers.len(), 1);
    chmod(&place.library(), 0o777);
    assert!(read().registrations.providers.is_empty());
    assert!(read().faults[0].to_string().starts_with("A: its library"), "{}", read().faults[0]);
    let error = hive.register(&definition("B", 1), &place.functions).unwrap_err();
    assert_eq!(error.kind(), RegisterErrorKind::Denied);
    assert!(place.parsed().get("B").is_none());
    // A missing library stays registered, and loading reports it.
    std::fs::remove_file(place.library()).unwrap();
    assert_eq!((read().registrations.providers.len(), read().faults.len()), (1, 0));
    let error = hive.register(&definition("B", 1), &place.functions).unwrap_err();
    assert!(error.to_string().contains("there is no library"), "{error}");
}

#[test]
fn changes_are_noticed_at_the_next_look() {
    let place = HiveFolder::new();
    let mut hive = place.hive();
    let mut watch = Watch::new(vec![hive.clone()], Trust::of_caller());
    let start = Instant::now();
    let mut now = start;
    assert!(watch.changed_at(now).unwrap().registrations.providers.is_empty());
    hive.register(&definition("A", 1), &place.functions).unwrap();
    assert!(watch.changed_at(now).is_none(), "not looked at so soon");
    now += Watch::EVERY;
    let loaded = watch.changed_at(now).unwrap();
    assert_eq!(loaded.registrations.providers[0].name, "A");
    now += Watch::EVERY;
    assert!(watch.changed_at(now).is_none());
    // An editor that changes the file in place.
    let text = std::fs::read_to_string(hive.path()).unwrap();
    std::fs::write(hive.path(), text.replace("Timeout = 10000", "Timeout = 20000")).unwrap();
    now += Watch::EVERY;
    let loaded = watch.changed_at(now).unwrap();
    assert_eq!(loaded.registrations.providers[0].collect_timeout, Duration::from_secs(20));
    hive.unregister("A").unwrap();
    now += Watch::EVERY;
    assert!(watch.changed_at(now).unwrap().registrations.providers.is_empty());

    // A hive that is a link to another file, as some keep their configuration.
    let other = place.folder.path().join("kept");
    std::fs::rename(hive.path(), &other).unwrap();
    symlink(&other, hive.path()).unwrap();
    std::fs::write(&other, &text).unwrap();
    now += Watch::EVERY;
    assert_eq!(watch.changed_at(now).unwrap().registrations.providers.len(), 1);
    std::fs::write(&other, text.replace("Timeout = 10000", "Timeout = 7000")).unwrap();
    now += Watch::EVERY;
    assert!(watch.changed_at(now).is_some());
    std::fs::remove_file(hive.path()).unwrap();

    // A corrected mode does not show in the hive.
    hive.register(&definition("A", 1), &place.functions).unwrap();
    chmod(&place.library(), 0o777);
    now += Watch::EVERY;
    assert_eq!(watch.changed_at(now).unwrap().faults.len(), 1);
    now += Watch::AGAIN;
    assert!(watch.changed_at(now).is_none());
    chmod(&place.library(), 0o755);
    now += Watch::AGAIN;
    assert_eq!(watch.changed_at(now).unwrap().registrations.providers.len(), 1);
    std::fs::remove_dir_all(place.folder.path().join("lib")).unwrap();
    now += Watch::EVERY;
    assert!(watch.changed_at(now).unwrap().registrations.providers.is_empty());
}

#[test]
fn look_at_unchanged_hives_allocates_nothing() {
    let place = HiveFolder::new();
    let mut hive = place.hive();
    hive.register(&definition("A", 1), &place.functions).unwrap();
    let mut watch = Watch::new(vec![hive], Trust::of_caller());
    let start = Instant::now();
    watch.changed_at(start).unwrap();
    let (changed, allocations) = perfhive_testkit::alloc::count(|| {
        let mut changed = false;
        for round in 1..100 {
            changed |= watch.changed_at(start + Watch::EVERY * round).is_some();
        }
        changed
    });
    assert!(!changed);
    assert_eq!(allocations.count, 0);
}

/// The environment is the caller's choice: a copy of this program with a set-group-ID bit ignores it.
#[test]
fn program_with_more_rights_than_its_caller_ignores_the_environment() {
    const CHILD: &str = "PERFHIVE_TEST_MORE_RIGHTS";
    if std::env::var_os(CHILD).is_some() {
        assert!(super::has_more_rights());
        assert_eq!(HiveFile::system().path(), Path::new("/var/lib/perfhive/hive"));
        assert!(HiveFile::user().is_none() && super::accounts().is_none());
        return;
    }
    let own = rustix::process::getegid();
    let other = if super::is_root() {
        Some(1)
    } else {
        let groups = rustix::process::getgroups().unwrap();
        groups.iter().find(|group| **group != own).map(|group| group.as_raw())
    };
    let Some(other) = other else {
        eprintln!("skipped: this user has one group only");
        return;
    };
    let program = std::env::current_exe().unwrap();
    // Beside the program: file systems of temporary folders may ignore the bit.
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let copy = folder.path().join("copy");
    std::fs::copy(&program, &copy).unwrap();
    std::os::unix::fs::chown(&copy, None, Some(other)).unwrap();
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o2755)).unwrap();
    let name = "program_with_more_rights_than_its_caller_ignores_the_environment";
    let output = Command::new(&copy)
        .args(["--exact", &format!("store::tests::{name}")])
        .env(CHILD, "1")
        .env(super::FOLDER_VARIABLE, folder.path())
        .env("HOME", folder.path())
        .env("XDG_CONFIG_HOME", folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
