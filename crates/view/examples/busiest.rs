//! Shows the processes that use most processor time, with numbers and units for people and a curve
//! of the last samples. The argument is the number of samples after the first, 3 if it is missing.
//! Linux only: other systems' sources come from the crate `perfhive`.
//!
//! ```sh
//! cargo run -p perfhive-view --example busiest 5
//! ```

#![cfg_attr(not(target_os = "linux"), allow(unused_imports))]

use perfhive_engine::{Broker, Query};
#[cfg(target_os = "linux")]
use perfhive_linux::{LinuxClock, ProcRoot, machine_name, providers};
use perfhive_view::{Detail, History, Row, TopProcesses};
use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("This example reads /proc.");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn Error>> {
    let samples = std::env::args().nth(1).map_or(Ok(3), |text| text.parse::<u32>())?;
    let root = ProcRoot::default();
    let machine = Broker::builder("local:", &machine_name())
        .clock(LinuxClock::of(&root))
        .providers(providers(&root))
        .build();
    let mut query = Query::new(machine)?;
    let top = TopProcesses {
        time: query.add(r"\Process(*)\% Processor Time")?,
        id: query.add(r"\Process(*)\ID Process")?,
        working_set: query.add(r"\Process(*)\Working Set")?,
    };
    let mut history = History::default();
    // Processor time is known from the second sample on.
    for _ in 0..=samples {
        query.collect()?;
        history.note(&query, 20);
        sleep(Duration::from_millis(200));
    }
    let shown = |reading| {
        let shown = Row::new(&query, reading).shown(Detail::Brief);
        shown.map_or_else(|| "-".to_string(), |shown| format!("{} {}", shown.number, shown.unit))
    };
    for process in top.busiest(&query) {
        let name = process.time.instance.as_ref().map(|label| label.plain()).unwrap_or_default();
        let id = process.id.map(shown).unwrap_or_default();
        let memory = process.working_set.map(shown).unwrap_or_default();
        let curve = history.curve(process.time);
        println!("{name:20} {id:>8} {:>8} {memory:>10} {curve}", shown(process.time));
    }
    Ok(())
}
