//! What the recorded machine does: processes that sleep, and others that work a little.

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{PipeReader, PipeWriter, Write as _, pipe};
use std::process::{Child, Command, Stdio};

/// Processes of either machine.
const PROCESSES: usize = 500;
/// How many of them work on the lively one.
const WORKERS: usize = 250;
/// How often each of these works.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 400_000_000 };

/// Child processes. Each waits for the end of one pipe, so that none is left behind even if the
/// benchmark is killed.
pub struct Load {
    children: Vec<Child>,
    reader: PipeReader,
    /// Held until the end.
    writer: Option<PipeWriter>,
}

impl Load {
    /// Starts the processes of a quiet or a lively machine.
    pub fn start(is_lively: bool) -> Result<Self> {
        let (reader, writer) = pipe()?;
        let mut load = Self { children: Vec::new(), reader, writer: Some(writer) };
        let workers = if is_lively { WORKERS } else { 0 };
        for number in 0..PROCESSES {
            match number < workers {
                true => load.spawn(Command::new(std::env::current_exe()?).arg("work"))?,
                false => load.spawn(&mut Command::new("cat"))?,
            }
        }
        Ok(load)
    }

    fn spawn(&mut self, command: &mut Command) -> Result<()> {
        command.stdin(self.reader.try_clone()?).stdout(Stdio::null());
        self.children.push(command.spawn().context("cannot start a process of the load")?);
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        drop(self.writer.take());
        for child in &mut self.children {
            let _ = child.kill();
        }
        for child in &mut self.children {
            let _ = child.wait();
        }
    }
}

/// Calculates, takes memory and gives it back, reads and writes, until the pipe ends.
pub fn work() -> Result<()> {
    let mut sink = std::fs::File::create("/dev/null")?;
    let input = std::io::stdin();
    // Nothing is ever written to the pipe: what happens there is its end.
    while poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&PAUSE))? == 0 {
        // As much memory as the kernel gives and takes back each time.
        let mut memory = vec![0_u8; 256 << 10];
        memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        sink.write_all(&memory)?;
        std::fs::read("/proc/self/stat")?;
    }
    Ok(())
}
