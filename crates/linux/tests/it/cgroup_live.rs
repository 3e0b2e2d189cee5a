//! Control groups of the machine that the tests run on.

use crate::cgroup::{
    ALL, CGROUP, CONTAINER, CONTAINER_PROCESS, ID, LONG_ID, PRESSURE, PROCESS, damage, extra,
    nothing,
};
use crate::common::{Look, Machine, Tree};
use crate::warm::alone;
use perfhive_engine::{Ask, ObjectQuery};
use perfhive_format::TitleIndex;
use perfhive_linux::ProcRoot;
use perfhive_testkit::alloc::count;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A child process, which ends when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A control group of this machine, which is removed when this is dropped.
struct LiveGroup(PathBuf);

/// A version of control groups that this machine has.
struct Version {
    mount: PathBuf,
    root: ProcRoot,
    /// The file with a group's processor time, the word before the time, and its conversion to 100 ns units.
    usage: (&'static str, &'static str, fn(u64) -> u64),
    /// A folder with a table of mounts that has only this version, and the processes that are to be seen; `None` if
    /// this machine has only one version.
    tree: Option<Tree>,
}

impl Version {
    /// The versions with groups that can be read here.
    fn all() -> Vec<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let find = |kind: &str, controller: &str| {
            mounts.lines().find_map(|line| {
                let mut words = line.split(' ').skip(1);
                let (point, found, options) = (words.next()?, words.next()?, words.next()?);
                let mut options = options.split(',');
                let is =
                    found == kind && (controller.is_empty() || options.any(|o| o == controller));
                is.then(|| (PathBuf::from(point), line))
            })
        };
        let version_1 = find("cgroup", "cpuacct").map(|(mount, _)| Self {
            mount,
            root: ProcRoot::default(),
            usage: ("cpuacct.usage", "", |nanos| nanos / 100),
            tree: None,
        });
        let version_2 = find("cgroup2", "").map(|(mount, line)| {
            let tree = Tree::new();
            tree.file("mounts", format!("{line}\n"));
            let root = tree.root().with_sys("/sys").with_mounts("/");
            let usage: (_, _, fn(u64) -> u64) = ("cpu.stat", "usage_usec ", |micros| micros * 10);
            Self { mount, root, usage, tree: Some(tree) }
        });
        version_1.into_iter().chain(version_2).collect()
    }

    /// Makes a process visible in the folder.
    fn show(&self, pid: u32) {
        let Some(tree) = &self.tree else { return };
        let link = tree.path().join(format!("proc/{pid}"));
        std::os::unix::fs::symlink(format!("/proc/{pid}"), link).unwrap();
    }

    /// The processor time of a group, in 100 ns units.
    fn usage(&self, group: &LiveGroup) -> u64 {
        let (file, key, unit) = self.usage;
        unit(group.read(file, key).unwrap())
    }
}

impl LiveGroup {
    /// A new group; `None` where groups of this version cannot be created.
    fn new(version: &Version, name: &str) -> Option<Self> {
        let folder = version.mount.join(format!("perfhive-{name}-{}", std::process::id()));
        match std::fs::create_dir(&folder) {
            Ok(()) => Some(Self(folder)),
            Err(error) => {
                eprintln!("no control group can be made here: {error}");
                None
            }
        }
    }

    fn name(&self) -> String {
        format!("/{}", self.0.file_name().unwrap().to_str().unwrap())
    }

    fn read(&self, file: &str, key: &str) -> Option<u64> {
        let text = std::fs::read_to_string(self.0.join(file)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse().ok()
    }
}

impl Drop for LiveGroup {
    fn drop(&mut self) {
        // A process that has just ended leaves its group a little later; a process
        // that still runs is moved back.
        for _ in 0..100 {
            let inside = std::fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
            for pid in inside.lines() {
                let _ = std::fs::write(self.0.parent().unwrap().join("cgroup.procs"), pid);
            }
            if std::fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{} is left over", self.0.display());
    }
}

#[test]
fn a_busy_child_shows_in_its_own_group() {
    Version::all().iter().for_each(busy_child);
}

fn busy_child(version: &Version) {
    let Some(group) = LiveGroup::new(version, "busy") else { return };
    let docker = group.0.join(format!("docker-{LONG_ID}.scope"));
    let inner = {
        std::fs::create_dir(&docker).unwrap();
        LiveGroup(docker)
    };
    let child = Running(
        Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let pid = child.0.id();
    std::fs::write(inner.0.join("cgroup.procs"), pid.to_string()).unwrap();
    version.show(pid);
    version.show(std::process::id());
    let mut machine = Machine::new(&version.root);
    let name = format!("{}{}", group.name(), inner.name());
    let usage = |look: &Look, name: &str| look.value(CGROUP, name, 6).unwrap();
    let least = version.usage(&inner);
    let first = machine.look(&ALL, &extra());
    let most = version.usage(&inner);
    assert!((least..=most).contains(&usage(&first, &name)), "{least} {most}");
    std::thread::sleep(Duration::from_millis(700));
    let least = version.usage(&inner);
    let second = machine.look(&ALL, &extra());
    let most = version.usage(&inner);
    assert!((least..=most).contains(&usage(&second, &name)), "{least} {most}");
    // The group ran, and so the group above it did.
    assert!(usage(&second, &name) > usage(&first, &name));
    assert!(usage(&second, &group.name()) >= usage(&first, &name));
    let inode = std::fs::metadata(&inner.0).unwrap().ino();
    assert_eq!(second.value(CGROUP, &name, ID), Some(inode));
    if version.tree.is_some() {
        assert_eq!(second.value(CGROUP, &group.name(), 104_022), Some(1));
    }
    assert_eq!(second.value(CGROUP, &name, 248), Some(1));
    assert_eq!(second.value(CGROUP, &group.name(), 248), Some(0));

    // The process belongs to an instance of both objects.
    for (object, parent) in [(PROCESS, name.as_str()), (CONTAINER_PROCESS, "docker/f4d3b90bea15")] {
        let is = |instance: &perfhive_format::Instance<'_>| {
            second.value_of(object, *instance, 784) == Some(u64::from(pid))
        };
        let process = second.object(object).instances().find(is).unwrap();
        assert_eq!(process.name().to_text(), "sh");
        assert_eq!(second.value_of(object, process, ID), Some(inode));
        assert_eq!(second.block().parent(&process).unwrap().1.name().to_text(), parent);
    }
    assert_eq!(second.value(CONTAINER, "docker/f4d3b90bea15", ID), Some(inode));
    // This process is in the group that its file names.
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let of_version = |line: &str| match version.tree {
        Some(_) => line.starts_with("0::"),
        None => line.split(':').nth(1).is_some_and(|all| all.split(',').any(|c| c == "cpuacct")),
    };
    let own = own.lines().find(|line| of_version(line)).unwrap();
    let own = own.splitn(3, ':').nth(2).unwrap();
    let me = second.object(PROCESS).instances().find(|instance| {
        second.value_of(PROCESS, *instance, 784) == Some(u64::from(std::process::id()))
    });
    if let Some(me) = me {
        assert_eq!(second.block().parent(&me).unwrap().1.name().to_text(), own);
    }
    if second.has(PRESSURE) && inner.0.join("cpu.pressure").exists() {
        assert!(second.value(PRESSURE, &name, 104_402).is_some());
    }

    // The group vanishes, and a new one of its name takes its place.
    drop(child);
    let path = inner.0.clone();
    drop(inner);
    let gone = machine.look(&ALL, &extra());
    assert!(!gone.names(CGROUP).contains(&name) && gone.names(CGROUP).contains(&group.name()));
    std::fs::create_dir(&path).unwrap();
    let again = LiveGroup(path);
    let look = machine.look(&ALL, &extra());
    assert_eq!(look.value(CGROUP, &name, ID), Some(std::fs::metadata(&again.0).unwrap().ino()));
    assert!(usage(&look, &name) < usage(&second, &name));
    for look in [&first, &second, &gone, &look] {
        assert_eq!(damage(look), nothing());
    }
}

#[test]
fn groups_that_vanish_while_read_give_no_fault() {
    Version::all().iter().for_each(vanishing_groups);
}

fn vanishing_groups(version: &Version) {
    let Some(group) = LiveGroup::new(version, "churn") else { return };
    let end = Instant::now() + Duration::from_millis(600);
    let above = group.0.clone();
    let churn = std::thread::spawn(move || {
        let mut count = 0;
        while Instant::now() < end {
            let folder = above.join(format!("g{}", count % 7));
            std::fs::create_dir(&folder).unwrap();
            std::fs::create_dir(folder.join("in it")).unwrap();
            std::fs::remove_dir(folder.join("in it")).unwrap();
            std::fs::remove_dir(folder).unwrap();
            count += 1;
        }
        count
    });
    let mut machine = Machine::new(&version.root);
    let mut collections = 0;
    while !churn.is_finished() || collections < 4 {
        let look = machine.look(&ALL, &extra());
        assert_eq!(damage(&look), nothing());
        assert!(look.names(CGROUP).contains(&group.name()));
        collections += 1;
    }
    assert!(churn.join().unwrap() > 0);
}

#[test]
fn descriptors_of_groups_are_kept_and_released() {
    alone("cgroup_live::descriptors_of_groups_are_kept_and_released", || {
        let versions = Version::all();
        let Some(version) = versions.last() else { return };
        let Some(group) = LiveGroup::new(version, "kept") else { return };
        let inner = group.0.join("inner");
        std::fs::create_dir(&inner).unwrap();
        let inner = LiveGroup(inner);
        let open = || {
            let entries = std::fs::read_dir("/proc/self/fd").unwrap();
            let links = entries.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
            links.filter(|link| link.starts_with(&inner.0)).count()
        };
        let mut machine = Machine::new(&version.root);
        machine.look(&[CGROUP], &[]);
        let kept = open();
        assert!(kept >= 1, "{kept}");
        // What is missing is reported in each collection.
        let first = machine.look(&ALL, &extra());
        let there = ALL.into_iter().filter(|object| first.has(*object));
        let wanted: Vec<_> = there.map(TitleIndex).collect();
        let mut request = Ask::new(ObjectQuery::Indexes(wanted.clone()));
        request.extra_counters = wanted.iter().map(|object| (*object, TitleIndex(0))).collect();
        for _ in 0..3 {
            machine.collect(&request, &wanted);
        }
        assert!(open() > kept);
        let least =
            (0..20).map(|_| count(|| machine.collect(&request, &wanted)).1.count).min().unwrap();
        assert_eq!(least, 0);
        let path = inner.0.clone();
        drop(inner);
        machine.look(&[CGROUP], &[]);
        let entries = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = entries.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        assert_eq!(links.filter(|link| link.starts_with(&path)).count(), 0);
    });
}
