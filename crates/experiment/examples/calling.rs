//! A program with calls at named points, to be measured:
//!
//! ```sh
//! cargo build -p perfhive-experiment --example calling
//! perfhive experiment run --on 'call checkout' -- target/debug/examples/calling shop
//! ```

use perfhive_experiment::{call, end, section, start};
use std::hint::spin_loop;
use std::time::{Duration, Instant};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("shop") => shop(),
        Some("known") => known(),
        Some("same") => same(),
        Some("flood") => flood(),
        _ => println!("usage: calling shop | known | same | flood"),
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

/// Sections of 2 ms of work, with calls in them.
fn known() {
    for _ in 0..50 {
        let _known = section("known");
        let begun = Instant::now();
        (0..200).for_each(|_| call("inside"));
        while begun.elapsed() < Duration::from_millis(2) {
            spin_loop();
        }
    }
}

/// The same work in turn without calls in it and with a hundred.
fn same() {
    for _ in 0..40 {
        for (name, calls) in [("without", 0), ("with", 100)] {
            let _section = section(name);
            for part in 0..100_u64 {
                let work = (0..1_000).fold(part, |sum, one| std::hint::black_box(sum ^ one));
                std::hint::black_box(work);
                if part < calls {
                    call("inside");
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
