//! The least, the greatest and the mean value of a counter over some samples,
//! which is more to rely on than the rate between two of them.
//!
//! ```sh
//! cargo run --example statistics '\System\Context Switches/sec' 10 1000
//! ```
//!
//! The arguments are a counter path, the number of samples, and the
//! milliseconds between them. Of a path with a wildcard the instances are
//! expanded at the start, as PDH does.

use perfhive::{FormattedValue, NoValue, Query, SampleRing, ValueFormat, open};
use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a counter path")?;
    let samples: usize = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let pause = Duration::from_millis(arguments.next().map_or(Ok(1000), |text| text.parse())?);
    let mut query = Query::new(open("local:")?)?;
    let mut rings = Vec::new();
    for path in query.expand(&path)? {
        rings.push((query.add_path(path.clone())?, path, SampleRing::new(samples)));
    }
    for sample in 0..samples {
        if sample > 0 {
            sleep(pause);
        }
        query.collect()?;
        for (id, _, ring) in &mut rings {
            query.readings_of(*id).for_each(|reading| {
                ring.push(reading);
            });
        }
    }
    for (id, path, ring) in &rings {
        match ring.statistics() {
            Ok(s) => {
                println!("{path}: {} to {}, mean {}", s.minimum, s.maximum, s.mean);
                let last = query.readings_of(*id).next();
                let whole = last.map(|reading| reading.formatted(ValueFormat::large()));
                let text = |value: Result<FormattedValue, NoValue>| match value {
                    Ok(value) => value.to_string(),
                    Err(why) => why.to_string(),
                };
                println!("\tlast as a whole number: {}", whole.map_or(String::new(), text));
            }
            Err(why) => println!("{path}: {why}"),
        }
    }
    Ok(())
}
