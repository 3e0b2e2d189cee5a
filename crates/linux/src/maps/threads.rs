//! The object Thread Details: the instruction pointer of each thread, from
//! `/proc/PID/task/TID/syscall`.

use super::parse::{ThreadState, thread_state};
use super::{Listed, Maps};
use crate::faults::{Faults, describe, is_denied, is_gone};
use crate::files::{PidPath, Reader, decimal};
use crate::table::{PROCESS, THREAD_DETAILS};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::{InstanceHead, ObjectWriting, TitleIndex};
use rustix::io::Errno;

impl Maps {
    /// Writes the object. After the deadline the threads of further processes are left out, with a fault.
    pub(super) fn write_threads(
        &mut self,
        reader: &mut Reader,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let mut object = out.object(self.details.template(THREAD_DETAILS.standard())?)?;
        for process in &self.listed {
            if reader.is_late() {
                self.faults
                    .object("the deadline passed: the threads of some processes were not read");
                break;
            }
            write_process(process, &mut self.threads, reader, &mut self.faults, &mut object)?;
        }
        object.finish()?;
        Ok(())
    }
}

fn write_process(
    process: &Listed,
    threads: &mut Vec<u32>,
    reader: &mut Reader,
    faults: &mut Faults,
    object: &mut ObjectWriting<'_, '_>,
) -> Result<(), ProviderError> {
    let mut path = PidPath::new(process.pid);
    let length = path.len();
    let folder = match reader.list(path.file(length, b"task"), threads) {
        Ok(folder) => folder,
        Err(error) => {
            fault(process.pid, "task", error, faults);
            return Ok(());
        }
    };
    // As in Thread, a thread that cannot be read keeps its number.
    let mut number = 0;
    for tid in threads {
        let mut path = PidPath::new(*tid);
        let length = path.len();
        match reader.once(&folder, path.file(length, b"syscall")) {
            Ok(()) => {}
            // If reading one thread is not permitted, neither is reading the others.
            Err(error) if is_denied(error) => return Ok(()),
            Err(error) => {
                number += u32::from(!is_gone(error));
                fault(process.pid, "task: syscall", error, faults);
                continue;
            }
        }
        let address = match thread_state(reader.text()) {
            Some(ThreadState::At(address)) => Some(address),
            Some(ThreadState::Running) => None,
            Some(ThreadState::Nowhere) => {
                number += 1;
                continue;
            }
            // The thread has just ended.
            None if reader.text().is_empty() => continue,
            None => {
                let name = format_args!("PID {}", process.pid);
                faults.instance(name, "task: syscall: not understood");
                None
            }
        };
        let mut digits = [0; 10];
        let name = std::str::from_utf8(decimal(number, &mut digits)).unwrap_or_default();
        let head = InstanceHead {
            parent: Some((TitleIndex(PROCESS.index), process.place)),
            ..InstanceHead::named(name)
        };
        object.instance_prefix(&head, address.as_slice())?;
        number += 1;
    }
    Ok(())
}

fn fault(pid: u32, file: &str, error: Errno, faults: &mut Faults) {
    if !is_gone(error) && !is_denied(error) {
        let message = format_args!("{file}: {}", describe(error));
        faults.instance(format_args!("PID {pid}"), message);
    }
}
