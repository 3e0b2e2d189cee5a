//! The objects Cgroup Process and Container Process.

use super::file::File;
use super::group::{Group, GroupReader};
use crate::faults::{describe, is_denied, is_gone};
use crate::files::{PidPath, Reader};
use crate::parse::{Stat, number, utf16_name, whole_lines};
use crate::table::{CGROUP, Object};
use perfhive_engine::standard::Layouts;
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::{InstanceHead, NameRef, TitleIndex};

/// A process of a control group.
struct Process {
    pid: u32,
    /// The position of the process's group among the groups.
    group: u32,
    /// The position of the process's name in [`Processes::names`].
    start: usize,
    /// The length of the process's name in UTF-16 units.
    length: usize,
}

/// The processes of the groups, by ascending process ID.
#[derive(Default)]
pub(super) struct Processes {
    list: Vec<Process>,
    names: Vec<u16>,
    name: Vec<u16>,
}

impl Processes {
    /// Reads the processes of the groups that have an instance of Cgroup in this collection or
    /// belong to a container.
    pub(super) fn read(
        &mut self,
        groups: &mut [Group],
        reader: &mut GroupReader,
        proc: &mut Reader,
    ) {
        self.list.clear();
        self.names.clear();
        for (at, group) in (0..).zip(groups) {
            if group.place.is_none() && group.owner.is_none() {
                continue;
            }
            let Some(text) = reader.read(group, File::Procs) else {
                continue;
            };
            let (lines, mut damaged) = whole_lines(text);
            for line in lines {
                match number(line.trim_ascii_end()).map(u32::try_from) {
                    // 0 stands for a process that is not visible in this /proc.
                    Some(Ok(0)) => {}
                    Some(Ok(pid)) => {
                        self.list.push(Process { pid, group: at, start: 0, length: 0 });
                    }
                    _ => damaged = true,
                }
            }
            if damaged {
                reader.fault(group, File::Procs, "not understood");
            }
        }
        // A process that moves to another group during the reading may be listed in both.
        self.list.sort_unstable_by_key(|process| process.pid);
        self.list.dedup_by_key(|process| process.pid);
        let (names, name) = (&mut self.names, &mut self.name);
        self.list.retain_mut(|process| {
            let mut path = PidPath::new(process.pid);
            let length = path.len();
            let problem = match proc.once_here(path.file(length, b"stat")) {
                Ok(()) => match Stat::parse(proc.text()) {
                    Some(stat) => {
                        utf16_name(stat.name, name);
                        process.start = names.len();
                        process.length = name.len();
                        names.extend_from_slice(name);
                        return true;
                    }
                    None => "not understood",
                },
                Err(error) if is_gone(error) || is_denied(error) => return false,
                Err(error) => describe(error),
            };
            let pid = process.pid;
            let name = format_args!("PID {pid}");
            reader.faults.instance(name, format_args!("stat: {problem}"));
            false
        });
    }

    /// Writes Cgroup Process if `parent` is Cgroup, or Container Process if it is Container. A
    /// process is left out if its group or container is not an instance of `parent`.
    pub(super) fn write(
        &self,
        layouts: &mut Layouts,
        parent: &Object,
        groups: &[Group],
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let group_at = |at: u32| groups.get(at as usize);
        let mut writing = out.object(layouts.template(u64::MAX)?)?;
        for process in &self.list {
            let Some(group) = group_at(process.group) else {
                continue;
            };
            let place = match parent.index == CGROUP.index {
                true => group.place,
                false => group.owner.and_then(group_at).and_then(|owner| owner.container_place),
            };
            let Some(place) = place else {
                continue;
            };
            let name = self.names.get(process.start..process.start + process.length);
            let head = InstanceHead {
                name: NameRef::Utf16(name.unwrap_or_default()),
                unique_id: None,
                parent: Some((TitleIndex(parent.index), place)),
            };
            writing.instance_prefix(&head, &[u64::from(process.pid), group.inode])?;
        }
        writing.finish()?;
        Ok(())
    }
}
