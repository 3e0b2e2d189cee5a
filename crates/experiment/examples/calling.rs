//! A program with calls at named points, to be measured:
//!
//! ```sh
//! cargo build -p perfhive-experiment --example calling
//! perfhive experiment run --on 'call checkout' -- target/debug/examples/calling shop
//! ```

use perfhive_experiment::{call, end, section, start};
use std::hint::{black_box, spin_loop};
use std::time::{Duration, Instant};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("shop") => shop(),
        Some("known") => known(),
        Some("apart") => apart(),
        Some("flood") => flood(),
        _ => println!("usage: calling shop | known | apart | flood"),
    }
}

/// Sections in one another, and on several threads.
fn shop() {
    call("not asked for");
    for _ in 0..100 {
        let _checkout = section("checkout");
        let _payment = section("payment");
        call("paid");
    }
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..50 {
                    start("checkout");
                    end("checkout");
                }
            });
        }
    });
}

/// Sections of 2 ms of work.
fn known() {
    for _ in 0..50 {
        let _known = section("known");
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(2) {
            spin_loop();
        }
    }
}

/// Sections of a known time, with calls as far apart as their names say: with nothing in them, and with the same work
/// without calls in it and with some.
fn apart() {
    let work = |steps: u64| black_box((0..steps).fold(0, |sum, one| black_box(sum ^ one)));
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        work(100_000);
        fastest = fastest.min(begun.elapsed());
    }
    for (distance, micros, parts) in [("close", 0, 100), ("100us", 100, 10), ("1ms", 1000, 1)] {
        let steps = 100_000 * micros / (fastest.as_micros() as u64).max(1);
        let names = ["empty", "without", "with"].map(|what| format!("{what} {distance}"));
        for _ in 0..100 {
            for (name, parts, calls) in
                [(&names[0], 0, 0), (&names[1], parts, 0), (&names[2], parts, parts)]
            {
                work(steps);
                let _section = section(name);
                for part in 0..parts {
                    work(steps);
                    if part < calls {
                        call("inside");
                    }
                }
            }
        }
    }
}

/// More calls at once than the pipe has room for, and a few afterwards.
fn flood() {
    (0..40_000).for_each(|_| call("flood"));
    println!("flooded");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(5));
        call("last");
    }
}
