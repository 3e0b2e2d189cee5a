//! Every category with its instances and the names of its counters, each name
//! once: what perfmon's dialogue for adding counters shows.
//!
//! ```sh
//! cargo run --example categories
//! ```

use perfhive::{Category, QueryError};

fn main() -> Result<(), QueryError> {
    for category in Category::all()? {
        println!("{}", category.name());
        // One that cannot be read now does not keep the others from being listed.
        if let Err(why) = show(&category) {
            println!("\t({why})");
        }
    }
    Ok(())
}

fn show(category: &Category) -> Result<(), QueryError> {
    let instances = category.instance_names()?;
    for instance in &instances {
        println!("\t{instance}");
    }
    // All instances of a category have the same counters.
    let counters = match instances.first() {
        Some(first) => category.counters(first)?,
        // A category of instances that has none now has names all the same.
        None if category.has_instances() => {
            category.counter_names().iter().for_each(|name| println!("\t\t{name}"));
            return Ok(());
        }
        None => category.counters("")?,
    };
    let indent = if instances.is_empty() { "\t" } else { "\t\t" };
    for counter in counters {
        println!("{indent}{}", counter.counter_name());
        // There is nothing to close: a counter lets go of its source when it is dropped.
    }
    Ok(())
}
