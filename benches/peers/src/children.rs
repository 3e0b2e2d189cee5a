//! Processes that the benchmark starts, and ends by their numbers.

use anyhow::{Context, Result, bail};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Children that do nothing. Each waits for the end of one pipe, so that none
/// is left behind even if the benchmark is killed.
pub struct Sleepers {
    children: Vec<Child>,
    reader: PipeReader,
    /// Held until the end.
    writer: Option<PipeWriter>,
}

impl Sleepers {
    pub fn new() -> Result<Self> {
        let (reader, writer) = pipe()?;
        Ok(Self { children: Vec::new(), reader, writer: Some(writer) })
    }

    /// Starts processes until there are `count`.
    pub fn grow(&mut self, count: usize) -> Result<()> {
        while self.children.len() < count {
            let mut command = Command::new("cat");
            command.stdin(self.reader.try_clone()?).stdout(Stdio::null());
            self.children.push(command.spawn().context("cannot start `cat`")?);
        }
        Ok(())
    }

    /// Starts a process with so many threads.
    pub fn threads(&mut self, count: usize) -> Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("hold-threads").arg(count.to_string());
        let mut child = command.stdin(self.reader.try_clone()?).stdout(Stdio::piped()).spawn()?;
        let ready = child.stdout.take();
        self.children.push(child);
        // It says so when all are there.
        ready.context("no output")?.read_exact(&mut [0])?;
        Ok(())
    }
}

impl Drop for Sleepers {
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

/// Runs a program to its end: its processor time, and the lines that it wrote
/// but the first.
pub fn run(path: &str, arguments: &[&str]) -> Result<(f64, usize)> {
    let mut command = Command::new(path);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut text = Vec::new();
    let read = child.stdout.take().context("no output")?.read_to_end(&mut text);
    // Ended, but not yet waited for: its times are still there.
    let id = rustix::process::Pid::from_child(&child);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let time = waitid(WaitId::Pid(id), options).map_err(Into::into).and_then(|_| spent(child.id()));
    let status = child.wait()?;
    read?;
    if !status.success() {
        bail!("it failed ({status})");
    }
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    Ok((time?, lines.saturating_sub(1)))
}

/// Processor time of a process, as the kernel's scheduler tells it.
pub fn spent(pid: u32) -> Result<f64> {
    let mut nanos = 0u64;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        nanos += text.split(' ').next().context("no schedstat")?.parse::<u64>()?;
    }
    Ok(nanos as f64 / 1e9)
}

/// What the children with threads do.
pub fn hold_threads(count: usize) -> Result<()> {
    for _ in 1..count {
        let thread = std::thread::Builder::new().stack_size(64 << 10);
        thread.spawn(|| {
            loop {
                std::thread::park();
            }
        })?;
    }
    let mut output = std::io::stdout();
    output.write_all(b"!")?;
    output.flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// A program that reads everything once for each line that it gets, and
/// answers how long that took and how many there were.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    pub fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.context("no output")?);
        Ok(Self { child, input, output })
    }

    pub fn ask(&mut self) -> Result<(f64, usize)> {
        let input = self.input.as_mut().context("no input")?;
        input.write_all(b"\n")?;
        input.flush()?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let mut words = line.split_whitespace();
        let (Some(seconds), Some(count)) = (words.next(), words.next()) else {
            bail!("it ended");
        };
        Ok((seconds.parse()?, count.parse()?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
