//! The provider `linux-cgroup`: control groups, the containers among them, and the processes in
//! groups and containers.

mod container;
mod file;
mod group;
mod mount;
mod processes;
mod rows;
mod source;
mod walk;

use crate::faults::{Faults, describe};
use crate::files::Reader;
use crate::provider::LinuxProvider;
use crate::root::ProcRoot;
use crate::table::{
    CGROUP, CGROUP_IO, CGROUP_MEMORY, CGROUP_PRESSURE, CGROUP_PROCESS, CONTAINER,
    CONTAINER_PROCESS, JOB_OBJECT, Object,
};
use group::{Group, GroupReader};
use perfhive_engine::standard::Layouts;
use perfhive_engine::{Collection, ObjectWriter, Provider, ProviderError, Session};
use perfhive_format::TitleIndex;
use processes::Processes;
use rows::{GroupSelection, Rows};
use walk::Walk;

/// The objects of the provider.
static OBJECTS: [&Object; 8] = [
    &CGROUP,
    &CGROUP_MEMORY,
    &CGROUP_IO,
    &CGROUP_PRESSURE,
    &CGROUP_PROCESS,
    &CONTAINER,
    &CONTAINER_PROCESS,
    &JOB_OBJECT,
];

/// The provider `linux-cgroup` for the machine below `root`.
pub(crate) fn provider(root: &ProcRoot) -> impl Provider + use<> {
    LinuxProvider::new("linux-cgroup", &OBJECTS, root, CgroupSession::open)
}

struct CgroupSession {
    root: ProcRoot,
    proc: Reader,
    /// The reader of the groups' files; `None` while no mount point is known.
    mounted: Option<GroupReader>,
    walk: Walk,
    /// The groups of this collection, each before its children.
    groups: Vec<Group>,
    /// The groups of the previous collection; empty between collections.
    before: Vec<Group>,
    /// The objects with an instance for each group or container, for the mounted version of control
    /// groups.
    rows: Vec<Rows>,
    processes: Processes,
    of_groups: Layouts,
    of_containers: Layouts,
    faults: Faults,
}

impl CgroupSession {
    fn open(root: &ProcRoot, proc: Reader) -> Self {
        Self {
            root: root.clone(),
            proc,
            mounted: None,
            walk: Walk::default(),
            groups: Vec::new(),
            before: Vec::new(),
            rows: Vec::new(),
            processes: Processes::default(),
            of_groups: Layouts::new(&CGROUP_PROCESS),
            of_containers: Layouts::new(&CONTAINER_PROCESS),
            faults: Faults::default(),
        }
    }
}

/// The objects with an instance for each group or container, read from the files of version 1 or of
/// version 2.
fn rows(is_version_1: bool) -> Vec<Rows> {
    use source::version_1;
    let [cgroup, memory, container, job] = match is_version_1 {
        true => [version_1::CGROUP, version_1::MEMORY, version_1::CONTAINER, version_1::JOB],
        false => [source::CGROUP, source::MEMORY, source::CONTAINER, source::JOB],
    };
    let all = |object, sources| Rows::new(object, sources, GroupSelection::All);
    vec![
        all(&CGROUP, cgroup),
        all(&CGROUP_MEMORY, memory),
        all(&CGROUP_IO, source::IO),
        all(&CGROUP_PRESSURE, source::PRESSURE),
        Rows::new(&CONTAINER, container, GroupSelection::Containers),
        all(&JOB_OBJECT, job),
    ]
}

impl Session for CgroupSession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let wants = |object: &&Object| collection.wants(TitleIndex(object.index));
        let Some(first) = OBJECTS.into_iter().find(wants) else {
            return Ok(());
        };
        if !self.find_groups() {
            // No object is written. The fault is reported for each wanted object.
            for object in OBJECTS.iter().copied().filter(wants) {
                self.faults.tell(object.index, out);
            }
            self.faults.clear();
            return Ok(());
        }
        self.faults.report(first.index, out);
        let Some(reader) = &mut self.mounted else {
            return Ok(());
        };
        let of_groups = collection.wants(TitleIndex(CGROUP_PROCESS.index));
        let of_containers = collection.wants(TitleIndex(CONTAINER_PROCESS.index));
        for rows in &mut self.rows {
            let object = rows.object();
            // Processes need their parents in the same block, so Cgroup or Container is written too.
            let comes_along = (of_groups && object.index == CGROUP.index)
                || (of_containers && object.index == CONTAINER.index);
            if !comes_along && !collection.wants(TitleIndex(object.index)) {
                continue;
            }
            let written = rows.write(collection, comes_along, &mut self.groups, reader, out);
            reader.faults.report(object.index, out);
            written?;
        }
        if of_groups || of_containers {
            self.processes.read(&mut self.groups, reader, &mut self.proc);
            if of_groups {
                let layouts = &mut self.of_groups;
                self.processes.write(layouts, &CGROUP, &self.groups, out)?;
                reader.faults.report(CGROUP_PROCESS.index, out);
            }
            if of_containers {
                let layouts = &mut self.of_containers;
                self.processes.write(layouts, &CONTAINER, &self.groups, out)?;
                reader.faults.report(CONTAINER_PROCESS.index, out);
            }
        }
        Ok(())
    }
}

impl CgroupSession {
    /// Finds the mount point, unless known, and the groups. Returns `false`, and adds a fault, if the
    /// groups cannot be found.
    fn find_groups(&mut self) -> bool {
        if self.mounted.is_none() {
            match mount::find(&self.root, &mut self.proc) {
                Ok(reader) => {
                    self.rows = rows(reader.is_version_1());
                    self.mounted = Some(reader);
                }
                Err(message) => {
                    self.groups.clear();
                    self.faults.object(message);
                    return false;
                }
            }
        }
        let Some(reader) = &self.mounted else {
            return false;
        };
        if let Err(error) = self.walk.run(reader, &mut self.faults) {
            self.mounted = None;
            self.groups.clear();
            self.faults.object(format_args!("the control groups: {}", describe(error)));
            return false;
        }
        self.follow();
        true
    }

    /// Replaces `groups` with the groups that the walk found. A group keeps its state as long as
    /// its path leads to the same inode.
    fn follow(&mut self) {
        std::mem::swap(&mut self.groups, &mut self.before);
        self.groups.clear();
        let mut before = self.before.drain(..).peekable();
        for found in self.walk.found() {
            let path = self.walk.path(found);
            while before.next_if(|known| walk::order(&known.path, path).is_lt()).is_some() {}
            let known = before.next_if(|known| known.path == path);
            let known = known.filter(|known| known.inode == found.inode);
            let mut group = known.unwrap_or_else(|| Group::new(path, found.inode));
            group.begin();
            self.groups.push(group);
        }
        drop(before);
        self.find_owners();
    }

    /// Sets for each group the container that the group is or lies in ([`Group::owner`]), and the
    /// nearest other container around the group ([`Group::around`]). Groups stand before their children.
    fn find_owners(&mut self) {
        let mut owner: Option<u32> = None;
        for at in 0..self.groups.len() {
            let (behind, here) = self.groups.split_at_mut(at);
            let Some(group) = here.first_mut() else {
                break;
            };
            while let Some(container) = owner.and_then(|owner| behind.get(owner as usize)) {
                if walk::is_below(&group.path, &container.path) {
                    break;
                }
                owner = container.around;
            }
            group.around = owner;
            if group.container.is_some() {
                owner = u32::try_from(at).ok();
            }
            group.owner = owner;
        }
    }
}
