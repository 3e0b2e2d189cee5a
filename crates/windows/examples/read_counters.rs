//! Prints the values of counters of this machine, from two samples a second apart. The arguments
//! are counter paths; processor time and available memory if there are none. Windows only: other
//! systems' sources come from the crate `perfhive`.
//!
//! ```sh
//! cargo run -p perfhive-windows --example read_counters "\Processor(*)\% Processor Time"
//! ```

#[cfg(not(windows))]
fn main() {
    println!("This example reads HKEY_PERFORMANCE_DATA.");
}

#[cfg(windows)]
fn main() -> std::process::ExitCode {
    match print() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(windows)]
fn print() -> Result<(), perfhive_engine::QueryError> {
    let mut query = perfhive_engine::Query::new(perfhive_windows::local_source("local:"))?;
    let usual = [r"\Processor(_Total)\% Processor Time", r"\Memory\Available Bytes"];
    let mut paths: Vec<String> = std::env::args().skip(1).collect();
    if paths.is_empty() {
        paths.extend(usual.map(str::to_string));
    }
    for path in &paths {
        query.add(path)?;
    }
    query.collect()?;
    // Percentages and rates are the change from one sample to the next.
    std::thread::sleep(std::time::Duration::from_secs(1));
    query.collect()?;
    for reading in query.readings() {
        match &reading.value {
            Ok(value) => println!("{} = {value}", query.path_of(reading)),
            Err(why) => println!("{}: {why}", query.path_of(reading)),
        }
    }
    Ok(())
}
