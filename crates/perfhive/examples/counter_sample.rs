//! Two samples of a counter a second apart, what is in them, and what is
//! calculated from them.
//!
//! ```sh
//! cargo run --example counter_sample Processor '% Processor Time' _Total
//! ```

use perfhive::{CounterSample, PerformanceCounter};
use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (category, counter, instance) = match arguments.as_slice() {
        [category, counter] => (category, counter, ""),
        [category, counter, instance] => (category, counter, instance.as_str()),
        _ => return Err("name a category, a counter and, if there are any, an instance".into()),
    };
    let mut counter = PerformanceCounter::new(category, counter, instance)?;
    let old = counter.next_sample()?;
    sleep(Duration::from_secs(1));
    let new = counter.next_sample()?;
    for sample in [old, new] {
        println!("RawValue          {}", sample.raw_value());
        println!("BaseValue         {}", sample.base_value());
        println!("CounterFrequency  {}", sample.counter_frequency());
        println!("SystemFrequency   {}", sample.system_frequency());
        println!("CounterTimeStamp  {}", sample.counter_time_stamp());
        println!("TimeStamp         {}", sample.time_stamp());
        println!("TimeStamp100nSec  {}", sample.time_stamp_100nsec());
        println!("CounterType       {}\n", sample.counter_type());
    }
    match CounterSample::calculate_between(old, new) {
        Ok(value) => println!("{value} {}", counter.counter_type().unit()),
        Err(why) => println!("no value: {why}"),
    }
    Ok(())
}
