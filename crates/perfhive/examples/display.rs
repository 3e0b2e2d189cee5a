//! Waits for a process, then prints its share of processor time in user mode
//! whenever it is above zero, until the process ends.
//!
//! ```sh
//! cargo run --example display firefox
//! ```

use perfhive::{Category, NoValue, PerformanceCounter};
use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let Some(name) = std::env::args().nth(1) else {
        return Err("name a process, as `perfhive list Process` shows it".into());
    };
    while !Category::instance_exists(&name, "Process")? {
        // Looking costs something; ten times a second is soon enough.
        sleep(Duration::from_millis(100));
    }
    println!("Found {name}");
    let mut time = PerformanceCounter::new("Process", "% User Time", &name)?;
    loop {
        match time.next_value() {
            Ok(value) if value > 0.0 => println!("{value}"),
            Ok(_) => {}
            // .NET throws InvalidOperationException here.
            Err(NoValue::Vanished | NoValue::NoSuchInstance) => return Ok(()),
            Err(NoValue::SourceFailed(error)) => return Err(error.into()),
            // The first sample, or another process of the name: wait for more.
            Err(_) => {}
        }
        sleep(Duration::from_millis(200));
    }
}
