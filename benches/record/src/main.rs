//! `cargo xtask bench record`: what a recording takes, beside other programs that record the same
//! machine in the same minutes.
//!
//! Arguments are `KEY=VALUE`: `folder=FOLDER` for the recordings, `samples=COUNT`, and where the
//! peers are (`below=FOLDER`, `atop=FOLDER`, `pcp=FOLDER`) or `missing-PEER=REASON`.

mod load;
mod own;
mod peers;

use anyhow::{Context, Result};
use load::Load;
use own::{Day, day, record};
use peers::{Peer, Running};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// What the issue of recordings asks for.
const BYTES: [f64; 2] = [0.05, 0.10];
const SHARE: f64 = 0.03;
const SEEK: Duration = Duration::from_millis(2);
const OPENING: Duration = Duration::from_millis(100);

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["work"] {
        return load::work();
    }
    let pair = |argument: &String| {
        let (key, value) = argument.split_once('=').context("KEY=VALUE")?;
        Ok((key.to_string(), value.to_string()))
    };
    let arguments: HashMap<_, _> = arguments.iter().map(pair).collect::<Result<_>>()?;
    let folder = Path::new(arguments.get("folder").context("no folder=")?);
    let samples = arguments.get("samples").map_or(Ok(120), |count| count.parse())?;
    std::fs::create_dir_all(folder)?;
    let mut goals = Vec::new();
    for (number, name) in ["quiet", "lively"].into_iter().enumerate() {
        let recording = folder.join(format!("{name}.phr"));
        let taken = compare(&arguments, folder, name, &recording, samples)?;
        let path = folder.join("day.phr");
        let _ = std::fs::remove_file(&path);
        let day = day(&recording, &path)?;
        std::fs::remove_file(&path)?;
        goals.push((name, taken, day, BYTES[number]));
    }
    print_goals(&goals);
    println!("\nLoad average {}.", load_average());
    Ok(())
}

/// Records a machine with everything at the same time, and prints what each took.
fn compare(
    arguments: &HashMap<String, String>,
    folder: &Path,
    name: &str,
    recording: &Path,
    samples: u64,
) -> Result<own::Taken> {
    let load = Load::start(name == "lively")?;
    std::thread::sleep(Duration::from_secs(1));
    let running = Peer::ALL.map(|peer| {
        let missing =
            || arguments.get(&format!("missing-{}", peer.key())).map_or("not given", |why| why);
        let root =
            arguments.get(peer.key()).map_or_else(|| Err(anyhow::anyhow!("{}", missing())), Ok);
        let run = root.and_then(|root| Running::start(peer, root, &folder.join(peer.key())));
        (peer, run)
    });
    let _ = std::fs::remove_file(recording);
    let taken = record(recording, samples)?;
    let seconds = samples + 1;
    let rows = running.map(|(peer, run)| (peer, run.and_then(Running::end)));
    drop(load);
    let changed = 100.0 * taken.changed as f64 / taken.values as f64;
    println!(
        "\n| A {name} machine: {changed:.1} % of the values change in a second | values a sample | bytes a sample | bytes a value | processor time a sample |"
    );
    println!("|---|---:|---:|---:|---:|");
    let row = |title: &str, values: u64, bytes: u64, time: Duration, samples: u64| {
        println!(
            "| {title} | {} | {} | {:.3} | {:.2} ms |",
            values / samples,
            bytes / samples,
            bytes as f64 / values as f64,
            time.as_secs_f64() * 1e3 / samples as f64,
        );
    };
    let time = taken.collecting + taken.recording;
    row("**perfhive**, everything Global", taken.values, taken.bytes, time, taken.samples);
    for (peer, result) in rows {
        match result {
            Ok(of) => row(peer.title(), of.values, of.bytes, of.time, seconds),
            Err(why) => println!(
                "| {}: {} | | | | |",
                peer.title(),
                format!("{why:#}").replace(['\n', '|'], " ")
            ),
        }
    }
    Ok(taken)
}

fn print_goals(goals: &[(&str, own::Taken, Day, f64)]) {
    println!(
        "\n| A day's recording, 86,400 samples | size | bytes a value | goal | encoding and writing, of the collection's processor time | goal | opening | goal | a seek, median (slowest) | goal |"
    );
    println!("|---|---:|---:|---|---:|---|---:|---|---:|---|");
    let met = |is_met: bool| if is_met { "met" } else { "MISSED" };
    for (name, taken, day, most) in goals {
        let values = taken.values as f64 / taken.samples as f64;
        let each = day.bytes as f64 / values / own::DAY as f64;
        let share = taken.recording.as_secs_f64() / taken.collecting.as_secs_f64();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!(
            "| {name} | {:.1} MB | {each:.4} | <= {most}: {} | {:.1} % ({:.1} ns a value) | <= 3 %: {} | {:.1} ms | <= 100 ms: {} | {:.2} ms ({:.1} ms) | <= 2 ms: {} |",
            day.bytes as f64 / 1e6,
            met(each <= *most),
            100.0 * share,
            taken.recording.as_nanos() as f64 / taken.values as f64,
            met(share <= SHARE),
            ms(day.opening),
            met(day.opening <= OPENING),
            ms(day.seek),
            ms(day.slowest_seek),
            met(day.seek <= SEEK),
        );
    }
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}
