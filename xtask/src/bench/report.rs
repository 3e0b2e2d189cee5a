//! The benchmark `report`: a report of 100 MB of perfmon's binary log.
//!
//! The log is a captured log with its samples repeated. The clock goes back at each
//! repetition, so the rates mean nothing, but there is as much to read and to compute as in a real
//! log.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::statistics::Comparison;
use super::{silent, time};
use crate::{command, workspace};

/// The size of a buffer of the captured log, in bytes.
const BUFFER: usize = 0x10000;
/// The numbers, from 0, of the buffers that have only samples.
const OF_SAMPLES: std::ops::Range<usize> = 3..7;
/// The least size of the large log, in bytes.
const SIZE: usize = 100_000_000;
/// The most time that a report of the large log may take.
const GOAL: Duration = Duration::from_secs(2);
/// The largest number of rounds: a report takes as long as a hundred runs of other commands.
const MOST_ROUNDS: usize = 11;

pub(super) fn run(rounds: usize) -> Result<()> {
    let Some(data) = workspace::real_data() else { bail!("the captured data is absent") };
    let captured = std::fs::read(data.join("logs/pal_SampleLog.blg"))?;
    let (begin, samples) =
        (..OF_SAMPLES.start * BUFFER, OF_SAMPLES.start * BUFFER..OF_SAMPLES.end * BUFFER);
    let (begin, samples) = captured.get(begin).zip(captured.get(samples)).context("a short log")?;
    let mut log = begin.to_vec();
    while log.len() < SIZE {
        log.extend_from_slice(samples);
    }
    let folder = workspace::target_directory()?.join("bench");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("report.blg");
    std::fs::write(&file, &log)?;
    let (program, name) = (workspace::release_binary()?, file.to_string_lossy());
    let rounds = rounds.min(MOST_ROUNDS);
    let mut own = silent(command::program(&program.to_string_lossy(), &["report", &name]));
    let mut peer = silent(command::program("cksum", &[&*name]));
    let mut times = Vec::new();
    for _ in 0..=rounds {
        times.push((time(&mut own)?, time(&mut peer)?));
    }
    std::fs::remove_file(&file)?;
    // The first round fills the page cache.
    let found = Comparison::of(times.get(1..).unwrap_or_default()).context("no rounds")?;
    let bytes = log.len() as f64 / 1e6;
    let each = found.own.mul_f64(100.0 / bytes);
    let met = if each <= GOAL { "met" } else { "MISSED" };
    say!("\n`cargo xtask bench report`, medians of {rounds} rounds\n");
    say!("| a binary log | `perfhive report` | 100 MB | goal | `cksum` | ratio |");
    say!("|---|---|---|---|---|---|");
    say!(
        "| {bytes:.1} MB | {:.2} s | {:.2} s | <= {} s: {met} | {:.2} s | {:.1} |",
        found.own.as_secs_f64(),
        each.as_secs_f64(),
        GOAL.as_secs(),
        found.peer.as_secs_f64(),
        found.ratio
    );
    Ok(())
}
