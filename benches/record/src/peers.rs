//! Other programs that record, started beside perfhive's own recording.
//!
//! All of them record the same machine in the same minutes, a sample a second, with what they record
//! anyway. How many values that is, their own readers say.

use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Ticks of processor times in /proc, which are of this length on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// What pmlogger records of each process. All of its metrics would include environments.
const METRICS: [(&str, &str); 4] = [
    (
        "psinfo",
        "pid ppid cmd sname utime stime minflt maj_flt vsize threads start_time priority nice",
    ),
    ("memory", "size rss datrss textrss vmsize vmlock vmrss vmdata vmstack vmexe vmlib vmswap"),
    ("io", "rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes"),
    ("schedstat", "cpu_time run_delay pcount"),
];

/// One of the programs, and the folder where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Atop,
    Pmlogger,
    Below,
}

impl Peer {
    pub const ALL: [Self; 3] = [Self::Below, Self::Atop, Self::Pmlogger];

    /// The key of the argument that tells where it is.
    pub fn key(self) -> &'static str {
        match self {
            Self::Atop => "atop",
            Self::Pmlogger => "pcp",
            Self::Below => "below",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Atop => "atop, `-a -w`",
            Self::Pmlogger => "PCP's pmlogger, metrics of processes",
            Self::Below => "below, zstd with dictionaries",
        }
    }
}

/// What a peer took.
pub struct Taken {
    pub bytes: u64,
    pub values: u64,
    pub time: Duration,
}

/// A peer at work, ended when it is dropped.
pub struct Running {
    peer: Peer,
    root: PathBuf,
    folder: PathBuf,
    child: Child,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts a peer that records into a folder of its own.
    pub fn start(peer: Peer, root: &str, folder: &Path) -> Result<Self> {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
        let root = PathBuf::from(root);
        let mut command = match peer {
            Peer::Atop => {
                let mut command = Command::new(root.join("usr/bin/atop"));
                command.arg("-a").arg("-w").arg(folder.join("log")).arg("1");
                command
            }
            Peer::Pmlogger => pmlogger(&root, folder)?,
            Peer::Below => below(&root, folder)?,
        };
        let errors = fs::File::create(folder.join("errors"))?;
        command.stdin(Stdio::null()).stdout(errors.try_clone()?).stderr(errors);
        let child = command.spawn().with_context(|| format!("cannot start {peer:?}"))?;
        let mut running = Self { peer, root, folder: folder.to_path_buf(), child };
        std::thread::sleep(Duration::from_secs(1));
        if let Some(status) = running.child.try_wait()? {
            let errors = fs::read_to_string(running.folder.join("errors")).unwrap_or_default();
            bail!("it ended at once ({status}): {}", errors.trim().replace(['\n', '|'], " "));
        }
        Ok(running)
    }

    /// Processor time so far, of all threads.
    fn time(&self) -> Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = stat.rsplit_once(')').context("no name")?;
        let of = |field: usize| fields.split_whitespace().nth(field).and_then(|of| of.parse().ok());
        let (user, system): (u32, u32) = (of(11).context("no time")?, of(12).context("no time")?);
        Ok(TICK * (user + system))
    }

    /// Ends the recording, and has its reader count the values.
    pub fn end(mut self) -> Result<Taken> {
        let time = self.time()?;
        self.child.kill()?;
        self.child.wait()?;
        let mut bytes = 0;
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let is_about = ["errors", "config", "config.d", "cgroup"]
                    .iter()
                    .any(|name| entry.file_name() == *name);
                match entry.metadata()? {
                    of if of.is_dir() && !is_about => folders.push(entry.path()),
                    of if !is_about => bytes += of.len(),
                    _ => {}
                }
            }
        }
        let values = match self.peer {
            Peer::Atop => {
                let mut reader = Command::new(self.root.join("usr/bin/atop"));
                reader.arg("-r").arg(self.folder.join("log")).args(["-P", "ALL"]);
                // Six fields say what a line is about.
                count(&mut reader, |line| line.split_whitespace().count().saturating_sub(6))?
            }
            Peer::Pmlogger => {
                let mut reader = Command::new(self.root.join("usr/bin/pmdumplog"));
                pcp(&mut reader, &self.root, &self.folder).arg("-a").arg(self.folder.join("log"));
                count(&mut reader, |line| usize::from(line.contains("inst [")))?
            }
            Peer::Below => {
                let mut values = 0;
                for what in ["system", "process", "cgroup", "iface", "network", "transport"] {
                    let mut reader = Command::new(self.root.join("bin/below"));
                    reader.arg("--config").arg(self.folder.join("config"));
                    reader.args(["dump", what, "--everything", "-O", "csv", "-b", "1 hour ago"]);
                    values += count(&mut reader, |line| line.split(',').count())?;
                }
                values
            }
        };
        if values == 0 {
            bail!("its reader found no values");
        }
        Ok(Taken { bytes, values, time })
    }
}

/// Counts what the lines of a program's output hold.
fn count(command: &mut Command, of: impl Fn(&str) -> usize) -> Result<u64> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let mut values = 0;
    for line in BufReader::new(child.stdout.take().context("no output")?).split(b'\n') {
        values += of(&String::from_utf8_lossy(&line?)) as u64;
    }
    // A log that was not ended is an error to some, behind what they printed.
    child.wait()?;
    Ok(values)
}

/// pmlogger without a daemon: it loads the library that reads processes itself.
fn pmlogger(root: &Path, folder: &Path) -> Result<Command> {
    let config = folder.join("config");
    fs::create_dir(&config)?;
    fs::create_dir_all(root.join("var/tmp"))?;
    let names = fs::read_to_string(root.join("usr/lib/pcp/pmns/root_proc"))?;
    let mut is_comment = false;
    let mut kept = String::new();
    for line in names.lines().filter(|line| !line.starts_with('#')) {
        is_comment |= line.trim_start().starts_with("/*");
        if !is_comment {
            kept.push_str(&line.replace("PROC:", "3:"));
            kept.push('\n');
        }
        is_comment &= !line.contains("*/");
    }
    fs::write(config.join("names"), kept)?;
    let variables = fs::read_to_string(root.join("etc/pcp.conf"))?;
    let shown = root.display();
    let moved: String = variables
        .lines()
        .map(|line| match line.split_once("=/") {
            Some((name, path)) if name.starts_with("PCP_") => format!("{name}={shown}/{path}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    fs::write(config.join("pcp.conf"), moved)?;
    let metrics: String = METRICS
        .iter()
        .flat_map(|(of, names)| names.split(' ').map(move |name| format!("proc.{of}.{name} ")))
        .collect();
    let metrics = format!("log mandatory on every 1 sec {{ {metrics} }}\n");
    fs::write(config.join("metrics"), metrics)?;
    let mut command = Command::new(root.join("usr/lib/pcp/bin/pmlogger"));
    pcp(&mut command, root, folder);
    let library = root.join("usr/lib/pcp/pmdas/proc/pmda_proc.so");
    command.args(["-o", "-K", "clear", "-K"]).arg(format!("add,3,{},proc_init", library.display()));
    command.arg("-c").arg(config.join("metrics")).arg("-l").arg(config.join("log"));
    command.args(["-t", "1"]).arg(folder.join("log"));
    Ok(command)
}

fn pcp<'a>(command: &'a mut Command, root: &Path, folder: &Path) -> &'a mut Command {
    let (lib, config) = (root.join("usr/lib"), folder.join("config"));
    let path = format!("{}:{}/x86_64-linux-gnu", lib.display(), lib.display());
    let variables = HashMap::from([
        ("LD_LIBRARY_PATH", path.into()),
        ("PCP_CONF", config.join("pcp.conf")),
        ("PMNS_DEFAULT", config.join("names")),
        ("PCP_PMDAS_DIR", root.join("usr/lib/pcp/pmdas")),
    ]);
    command.envs(variables)
}

/// below, in a mount namespace of its own with the control groups that it insists on.
fn below(root: &Path, folder: &Path) -> Result<Command> {
    let (config, groups) = (folder.join("config"), folder.join("cgroup"));
    fs::create_dir(&groups)?;
    fs::create_dir(folder.join("config.d"))?;
    let shown = folder.display();
    fs::write(
        &config,
        format!(
            "log_dir = '{shown}/config.d'\nstore_dir = '{shown}/store'\ncgroup_root = '{}'\n",
            groups.display()
        ),
    )?;
    let mut command = Command::new("unshare");
    let script = "mount -t cgroup2 none \"$1\" && shift && exec \"$@\"";
    command.args(["-m", "sh", "-c", script, "sh"]).arg(&groups).arg(root.join("bin/below"));
    command.arg("--config").arg(config);
    command.args(["record", "-i", "1", "--disable-exitstats", "--compress"]);
    command.args(["--dict-compress-chunk-size", "16"]);
    Ok(command)
}
