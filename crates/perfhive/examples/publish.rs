//! A program that publishes counters of its own: `cargo run --example publish`,
//! and in another terminal `perfhive watch '\Dice(*)\*'`.

#[cfg(any(
    all(target_os = "linux", target_endian = "little"),
    all(windows, target_pointer_width = "64")
))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use perfhive::CounterType;
    use perfhive::publish::{CounterDeclaration, PublishedCategory};
    use std::time::Duration;

    let throws = std::env::args().nth(1).map_or(Ok(600), |count| count.parse())?;
    let dice = PublishedCategory::builder("Dice")
        .help("Dice that are thrown ten times a second.")
        .instances(2)
        .counter(CounterDeclaration::new("Throws/sec", CounterType::PERF_COUNTER_BULK_COUNT))
        .counter(CounterDeclaration::new("Avg. Eyes/Throw", CounterType::PERF_AVERAGE_BULK))
        .publish()?;
    println!("publishing in {}", dice.path().display());
    let handles = ["red", "blue"].map(|name| -> Result<_, perfhive::publish::PublishError> {
        let die = dice.instance(name)?;
        Ok((die.counter("Throws/sec")?, die.pair("Avg. Eyes/Throw")?))
    });
    let [red, blue] = handles;
    let (red, blue) = (red?, blue?);
    let mut random = u64::from(std::process::id());
    for throw in 0..throws {
        let (throws, eyes) = if throw % 3 == 0 { &red } else { &blue };
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        throws.increment();
        eyes.record(1 + (random >> 33) as i64 % 6);
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

#[cfg(not(any(
    all(target_os = "linux", target_endian = "little"),
    all(windows, target_pointer_width = "64")
)))]
fn main() {
    println!("programs publish on Linux and on Windows of 64 bits so far");
}
