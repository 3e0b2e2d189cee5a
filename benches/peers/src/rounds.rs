//! Rounds, and the table of what they came to.

use crate::readers::{Bare, time};
use anyhow::Result;

/// A way to read: seconds, and how many were read.
pub type Run = Box<dyn FnMut() -> Result<(f64, usize)>>;

/// A row of the table.
pub struct Row {
    name: String,
    start: Result<Box<dyn Fn() -> Result<Run>>, String>,
    goal: Option<Goal>,
    /// Of each turn, the times of its rounds: of this row, and of REF before.
    turns: Vec<Vec<(f64, f64)>>,
    count: usize,
}

#[derive(Clone, Copy)]
pub enum Goal {
    /// At most so many times REF.
    AtMost(f64),
    /// So many times as slow as perfhive, at least.
    Slower(f64),
    /// At least so many times as fast as the row with this beginning of its name.
    FasterThan(&'static str, f64),
}

impl Row {
    pub fn new(name: &str, start: impl Fn() -> Result<Run> + 'static) -> Self {
        Self::of(name, Ok(Box::new(start)))
    }

    /// A row that says why there is nothing to measure.
    pub fn missing(name: &str, why: &str) -> Self {
        Self::of(name, Err(why.to_string()))
    }

    fn of(name: &str, start: Result<Box<dyn Fn() -> Result<Run>>, String>) -> Self {
        Self { name: name.to_string(), start, goal: None, turns: Vec::new(), count: 0 }
    }

    pub fn goal(self, goal: Goal) -> Self {
        Self { goal: Some(goal), ..self }
    }

    fn turn(&mut self, threads: bool, rounds: usize) -> Result<(), String> {
        let start = self.start.as_ref().map_err(Clone::clone)?;
        let mut times = Vec::with_capacity(rounds);
        let mut measured = || -> Result<()> {
            let (mut bare, mut run) = (Bare::new(threads), start()?);
            for round in 0..WARM_UP + rounds {
                let (least, _) = time(|| Ok(bare.read()))?;
                let (own, count) = run()?;
                if round >= WARM_UP {
                    times.push((own, least));
                    self.count = count;
                }
            }
            Ok(())
        };
        measured().map_err(|error| format!("{error:#}"))?;
        self.turns.push(times);
        Ok(())
    }

    /// The medians of the turns.
    fn medians(&self) -> impl Iterator<Item = f64> {
        self.turns.iter().filter_map(|turn| Some(quartiles(turn.iter().map(|(own, _)| *own))?[1]))
    }
}

/// Rounds before measuring, in which everything is opened.
const WARM_UP: usize = 12;
/// How often each row has its turn.
const TURNS: usize = 5;

/// Measures the rows in turn, beside `stat` of processes or of threads as REF.
/// In each round of a row, REF is read and then the row, so that what else the
/// machine does meets both. One row does not run among the rounds of another,
/// and is started anew for each turn: a machine runs one such program at a time,
/// and what one program keeps in the caches and in the kernel slows others down.
pub fn measure(rows: &mut [Row], threads: bool, rounds: usize) {
    for _ in 0..TURNS {
        for row in &mut *rows {
            if let Err(why) = row.turn(threads, rounds) {
                row.start = Err(why);
            }
        }
    }
}

/// Prints the table. The second row is perfhive. Its ratio to REF is the median
/// of the rounds' ratios. A peer is compared with perfhive, by the medians of
/// the same turn: REF after a peer that is much slower than REF would find the
/// caches empty, and flatter the peer.
pub fn print(what: &str, rows: &[Row]) {
    println!("\n| {what} | instances | time | each | x REF | x perfhive (of the turns) | goal | |");
    println!("|---|---:|---:|---:|---:|---:|---:|---|");
    for row in rows {
        let line = row.start.as_ref().map_err(Clone::clone).and_then(|_| {
            line(row, rows).ok_or_else(|| "there is nothing to compare it with".to_string())
        });
        match line {
            Ok(line) => println!("{line}"),
            Err(why) => println!("| {} | | not measured: {why} | | | | | |", row.name),
        }
    }
}

fn line(row: &Row, rows: &[Row]) -> Option<String> {
    let own = rows.get(1)?;
    let [_, least, _] = quartiles(own.turns.iter().flatten().map(|(own, least)| own / least))?;
    let turns = row.medians().zip(own.medians()).map(|(time, own)| time / own);
    let mut turns: Vec<f64> = turns.collect();
    turns.sort_by(f64::total_cmp);
    let (x_own, low, high) = (*turns.get(turns.len() / 2)?, turns.first()?, turns.last()?);
    let x_least = if std::ptr::eq(row, rows.first()?) { 1.0 } else { x_own * least };
    let [_, time, _] = quartiles(row.turns.iter().flatten().map(|(own, _)| *own))?;
    let (goal, met) = match row.goal {
        None => (String::new(), ""),
        Some(Goal::AtMost(most)) => (format!("<= {most} REF"), judge(x_least <= most)),
        Some(Goal::Slower(least)) => (format!(">= {least} x"), judge(x_own >= least)),
        Some(Goal::FasterThan(peer, least)) => {
            let found = rows.iter().find(|other| other.name.starts_with(peer))?;
            let mut ratios: Vec<f64> =
                found.medians().zip(row.medians()).map(|(peer, own)| peer / own).collect();
            ratios.sort_by(f64::total_cmp);
            let ratio = *ratios.get(ratios.len() / 2)?;
            (format!("{ratio:.0} x as fast as {peer}; >= {least} x"), judge(ratio >= least))
        }
    };
    Some(format!(
        "| {} | {} | {:.2} ms | {:.2} µs | {x_least:.2} | {x_own:.2} ({low:.2} to {high:.2}) | {goal} | {met} |",
        row.name,
        row.count,
        time * 1e3,
        time * 1e6 / row.count as f64,
    ))
}

fn judge(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

fn quartiles(values: impl Iterator<Item = f64>) -> Option<[f64; 3]> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |part: usize| values.get(values.len() * part / 4).copied();
    Some([at(1)?, at(2)?, at(3)?])
}
