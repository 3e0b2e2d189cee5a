//! Rounds, and the table of what they came to.

use anyhow::{Context, Result};

/// A way to read, measured in each round: seconds, and how many were read.
type Run<'a> = Box<dyn FnMut() -> Result<(f64, usize)> + 'a>;

/// A row of the table.
pub struct Row<'a> {
    name: String,
    run: Result<Run<'a>, String>,
    goal: Option<Goal>,
    times: Vec<f64>,
    count: usize,
}

#[derive(Clone, Copy)]
pub enum Goal {
    /// At most so many times REF.
    AtMost(f64),
    /// So many times as slow as perfhive, at least.
    Slower(f64),
}

impl<'a> Row<'a> {
    pub fn new(name: &str, run: impl FnMut() -> Result<(f64, usize)> + 'a) -> Self {
        let run = Ok(Box::new(run) as Run<'a>);
        Self { name: name.to_string(), run, goal: None, times: Vec::new(), count: 0 }
    }

    /// A row that says why there is nothing to measure.
    pub fn missing(name: &str, why: &str) -> Self {
        let run = Err(why.to_string());
        Self { name: name.to_string(), run, goal: None, times: Vec::new(), count: 0 }
    }

    pub fn goal(self, goal: Goal) -> Self {
        Self { goal: Some(goal), ..self }
    }
}

/// Measures the rows in turn, each round in another order. The first row is
/// REF, the second perfhive. Each is run twice in a row and the second time
/// counts, so that none pays for what another has left in the caches.
pub fn measure(rows: &mut [Row<'_>], rounds: usize) {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let mut seed = 0x5eed_u64;
    for _ in 0..rounds {
        for at in (1..order.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            order.swap(at, (seed >> 33) as usize % (at + 1));
        }
        for at in &order {
            let row = &mut rows[*at];
            let Ok(run) = &mut row.run else { continue };
            match run().and_then(|_| run()) {
                Ok((time, count)) => {
                    row.times.push(time);
                    row.count = count;
                }
                Err(error) => row.run = Err(format!("{error:#}")),
            }
        }
    }
}

pub fn print(what: &str, rows: &[Row<'_>]) {
    println!("\n| {what} | instances | time | each | x REF | x perfhive (middle half) | goal | |");
    println!("|---|---:|---:|---:|---:|---:|---:|---|");
    let times = |at: usize| rows.get(at).map_or(&[][..], |row| &row.times);
    let (least, own) = (times(0), times(1));
    for row in rows {
        if let Err(why) = &row.run {
            println!("| {} | | not measured: {why} | | | | | |", row.name);
            continue;
        }
        let Ok([_, time, _]) = quartiles(row.times.iter().copied()) else { continue };
        let ratios = |to: &[f64]| quartiles(row.times.iter().zip(to).map(|(time, to)| time / to));
        let (Ok([_, x_least, _]), Ok([low, x_own, high])) = (ratios(least), ratios(own)) else {
            continue;
        };
        let (goal, met) = match row.goal {
            None => (String::new(), ""),
            Some(Goal::AtMost(most)) => (format!("<= {most} REF"), judge(x_least <= most)),
            Some(Goal::Slower(least)) => (format!(">= {least}"), judge(x_own >= least)),
        };
        println!(
            "| {} | {} | {:.2} ms | {:.2} µs | {x_least:.2} | {x_own:.2} ({low:.2} to {high:.2}) | {goal} | {met} |",
            row.name,
            row.count,
            time * 1e3,
            time * 1e6 / row.count.max(1) as f64,
        );
    }
}

fn judge(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

fn quartiles(values: impl Iterator<Item = f64>) -> Result<[f64; 3]> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |part: usize| values.get(values.len() * part / 4).copied().context("no rounds");
    Ok([at(1)?, at(2)?, at(3)?])
}
