//! All counters of all instances of a category, from two samples a second
//! apart: by instance, and by counter as .NET nests them.
//!
//! ```sh
//! cargo run --example read_category Process
//! cargo run --example read_category Process --by-counter
//! ```

use perfhive::{Category, CategoryData, InstanceData, QueryError};
use std::thread::sleep;
use std::time::Duration;

fn main() -> Result<(), QueryError> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "Processor".to_string());
    let mut category = Category::new(&name)?;
    let older = category.read()?;
    sleep(Duration::from_secs(1));
    let newer = category.read()?;
    if arguments.next().is_some() {
        for counter in &newer.by_counter() {
            println!("{}", counter.name());
            counter.iter().for_each(|data| show(&data.instance_name(), &data, &older));
        }
    } else {
        for instance in &newer.by_instance() {
            println!("{}", instance.name());
            instance.iter().for_each(|data| show(&data.counter_name(), &data, &older));
        }
    }
    Ok(())
}

fn show(name: &str, data: &InstanceData<'_>, older: &CategoryData) {
    match data.value_since(older) {
        Ok(value) => println!("\t{name}: {value} {}", data.counter_type().unit()),
        Err(why) => println!("\t{name}: {why}"),
    }
}
