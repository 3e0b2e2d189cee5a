//! The benchmark `view`: the processor time of perfhive's interface and of other programs that show
//! processes, each in the same kind of pseudo-terminal with one sample a second.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::tools::SystemTool;
use crate::{command, tools, workspace};

const TMUX: SystemTool = SystemTool { program: "tmux", package: "tmux" };
const PEERS: [SystemTool; 3] = [
    SystemTool { program: "top", package: "procps" },
    SystemTool { program: "htop", package: "htop" },
    SystemTool { program: "btop", package: "btop" },
];
/// The least number of processes that the machine has during the measurement.
const PROCESSES: usize = 500;
/// The time that a program has to begin before it is watched.
const WARM_UP: Duration = Duration::from_secs(5);
/// The time for which a program is watched in each round.
const WATCHED: Duration = Duration::from_secs(20);
/// The largest number of rounds; the command line may ask for fewer.
const ROUNDS: usize = 3;
/// The most processor time that `perfhive view` may take, in percent of one processor.
const GOAL: f64 = 1.5;

/// A program that is measured: its command line, and its share of a processor in each round.
struct Screen {
    name: &'static str,
    command: String,
    shares: Vec<f64>,
}

pub(super) fn run(rounds: usize) -> Result<()> {
    let rounds = rounds.min(ROUNDS);
    if !cfg!(target_os = "linux") {
        bail!("the benchmark `view` reads /proc: it takes Linux");
    }
    let frame = ["test", "--release", "--locked", "-p", "perfhive-cli", "--bin", "perfhive"];
    let mut cargo = command::cargo(&frame);
    cargo.args(["twenty_lines_are_drawn", "--", "--nocapture"]).env("FRAMES", "300");
    command::run(&mut cargo)?;
    tools::system(&[TMUX])?;
    let perfhive = workspace::release_binary()?.display().to_string();
    let mut screens = vec![
        screen("perfhive view", format!("{} view", command::quote(&perfhive))),
        screen(
            "perfhive view --view processes",
            format!("{} view --view processes", command::quote(&perfhive)),
        ),
    ];
    let folder = workspace::target_directory()?.join("screens");
    std::fs::create_dir_all(folder.join("btop"))?;
    std::fs::write(folder.join("btop/btop.conf"), "update_ms = 1000\n")?;
    for peer in PEERS {
        if let Err(error) = tools::system(&[peer]) {
            say!("{} is not measured: {error:#}", peer.program);
            continue;
        }
        let command = match peer.program {
            "top" => "top -d 1".to_owned(),
            "htop" => "htop -d 10".to_owned(),
            _ => {
                let folder = folder.display().to_string();
                format!("env XDG_CONFIG_HOME={} btop", command::quote(&folder))
            }
        };
        screens.push(screen(peer.program, command));
    }
    match bottom(&folder) {
        Ok(path) => {
            let path = path.display().to_string();
            screens.push(screen("btm", format!("{} -r 1000ms", command::quote(&path))));
        }
        Err(error) => say!("btm is not measured: {error:#}"),
    }
    let _sleepers = Sleepers::up_to(PROCESSES)?;
    let before = super::load_average();
    for _ in 0..rounds {
        for screen in &mut screens {
            let share = watch(&screen.command)
                .with_context(|| format!("cannot watch `{}`", screen.command))?;
            say!("{}: {share:.2} % of a processor", screen.name);
            screen.shares.push(share);
        }
    }
    say!("\n`cargo xtask bench view`\n\n| program | % of a processor | perfhive view beside it |");
    say!("|---|---:|---:|");
    let own = screens.first().map_or(0.0, |screen| median(&screen.shares));
    for screen in &screens {
        let share = median(&screen.shares);
        say!("| `{}` | {share:.2} | {:.2} |", screen.name, own / share);
    }
    let reached = if own <= GOAL { "reached" } else { "MISSED" };
    say!(
        "\nOne sample a second, 120 x 40 cells, {PROCESSES} processes, medians of rounds of {} s ({rounds}); \
         goal {GOAL} %: {reached}; load average {before} before, {} after.",
        WATCHED.as_secs(),
        super::load_average()
    );
    Ok(())
}

fn screen(name: &'static str, command: String) -> Screen {
    Screen { name, command, shares: Vec::new() }
}

/// The path of the program bottom. Where it is not installed, it is built once from crates.io into
/// `folder`, because Debian has no package.
fn bottom(folder: &Path) -> Result<PathBuf> {
    if let Some(path) = tools::find("btm") {
        return Ok(path);
    }
    let path = folder.join("bin/btm");
    if !path.exists() {
        say!("bottom is built once, which takes minutes");
        let root = folder.to_string_lossy();
        let args = ["install", "--locked", "--root", &root, "bottom"];
        command::run(&mut command::cargo(&args))?;
    }
    Ok(path)
}

/// The processor time that a program in a terminal of its own takes during [`WATCHED`], in percent
/// of one processor.
fn watch(command: &str) -> Result<f64> {
    let terminal = Tmux::start(command)?;
    std::thread::sleep(WARM_UP);
    let id = terminal.process()?;
    let (start, used) = (Instant::now(), processor_time(id)?);
    std::thread::sleep(WATCHED);
    let used = processor_time(id)? - used;
    Ok(used / start.elapsed().as_secs_f64() * 100.0)
}

/// The user and system time of a process and its ended children, in seconds.
fn processor_time(id: u32) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).context("the program ended")?;
    // The name stands in parentheses and may contain spaces and parentheses.
    let fields: Vec<&str> =
        text.rsplit_once(") ").context("no name")?.1.split_whitespace().collect();
    let ticks = |place: usize| -> Option<f64> { fields.get(place)?.parse().ok() };
    let all: Option<f64> = (11..15).map(ticks).sum();
    // The kernel reports a hundred ticks a second to programs, on every architecture.
    Ok(all.context("no times")? / 100.0)
}

/// The median; the greater of the middle two for an even number of values, and NaN without values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A tmux server with one program in its terminal; dropping it ends both.
struct Tmux(String);

impl Tmux {
    fn start(program: &str) -> Result<Self> {
        // Each server has a name of its own: an earlier server of the same name may be about to end.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let this = Self(format!("perfhive-bench-{}-{number}", std::process::id()));
        let size = ["new-session", "-d", "-x", "120", "-y", "40"];
        let mut tmux = this.command(&["-f", "/dev/null"]);
        tmux.args(size).arg(format!("exec {program}")).env("LC_ALL", "C.UTF-8");
        command::run(&mut tmux)?;
        Ok(this)
    }

    fn command(&self, args: &[&str]) -> Command {
        command::program("tmux", &[&["-L", &self.0], args].concat())
    }

    /// The process ID of the program in the terminal; an error if the program has ended.
    fn process(&self) -> Result<u32> {
        let text = command::output(&mut self.command(&["list-panes", "-F", "#{pane_pid}"]))?;
        let text = String::from_utf8(text).context("tmux printed no UTF-8")?;
        text.trim().parse().context("tmux names no process: the program ended")
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).stderr(Stdio::null()).status();
    }
}

/// Processes that only sleep; dropping this ends them.
struct Sleepers(Vec<Child>);

impl Sleepers {
    /// Starts as many sleeping processes as the machine lacks to have `count` in all.
    fn up_to(count: usize) -> Result<Self> {
        let is_process = |name: &std::ffi::OsStr| {
            name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit())
        };
        let all = std::fs::read_dir("/proc")?.flatten();
        let present = all.filter(|entry| is_process(&entry.file_name())).count();
        let mut sleepers = Self(Vec::new());
        for _ in present..count {
            sleepers.0.push(Command::new("sleep").arg("100000").spawn()?);
        }
        Ok(sleepers)
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_grows_with_work() -> Result<()> {
        let id = std::process::id();
        let before = processor_time(id)?;
        let start = Instant::now();
        while processor_time(id)? <= before {
            assert!(start.elapsed() < Duration::from_secs(60));
        }
        Ok(())
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    }
}
