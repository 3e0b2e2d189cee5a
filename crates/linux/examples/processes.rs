//! Lists the processes of a `/proc`, with what is known of each:
//!
//! ```sh
//! cargo run -p perfhive-linux --example processes -- [PROC [INTERVAL_MS [COUNT]]]
//! ```

use perfhive_engine::{Broker, Request, Snapshot, Source};
use perfhive_format::{CounterPlan, TitleIndex};
use perfhive_linux::{LinuxClock, ProcRoot, machine_name, providers};
use std::error::Error;
use std::io::Write as _;
use std::time::Duration;

const PROCESS: TitleIndex = TitleIndex(230);
/// ID Process, Thread Count, Working Set, Handle Count, IO Data Bytes/sec.
const COLUMNS: [u32; 5] = [784, 680, 180, 952, 1424];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().map_or_else(ProcRoot::default, ProcRoot::new);
    let interval: u64 = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let count: u32 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let mut machine = Broker::builder("local:", &machine_name())
        .clock(LinuxClock::new())
        .providers(providers(&root))
        .build();
    let request = Request::objects(&[PROCESS]).with_all_counters_of(PROCESS);
    let mut snapshot = Snapshot::new();
    let mut out = std::io::stdout().lock();
    for round in 0..count {
        if round > 0 {
            std::thread::sleep(Duration::from_millis(interval));
        }
        machine.collect(&request, &mut snapshot)?;
        for object in snapshot.objects().filter(|object| object.view().name_index() == PROCESS) {
            let plans = CounterPlan::all(object.view());
            for instance in object.view().instances() {
                for column in COLUMNS {
                    let plan = plans.iter().find(|plan| plan.name == TitleIndex(column));
                    match plan.and_then(|plan| plan.value(instance.counter_block()).ok()) {
                        Some(value) => write!(out, "{value:>15}")?,
                        None => write!(out, "{:>15}", "-")?,
                    }
                }
                writeln!(out, "  {}", instance.name().to_text())?;
            }
        }
        for fault in snapshot.faults() {
            writeln!(out, "! {fault}")?;
        }
    }
    Ok(())
}
