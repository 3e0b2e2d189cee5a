//! Many threads that count.

use crate::common::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops the counting threads, also if the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn the_totals_of_64_threads_are_exact() {
    const ROUNDS: i64 = 5_000;
    let folder = Folder::new();
    let category = shop(&folder).publish().unwrap();
    let (orders, bytes) =
        (category.counter("Orders").unwrap(), category.pair("Avg. Bytes/Order").unwrap());
    std::thread::scope(|scope| {
        for thread in 0..64 {
            let (orders, bytes) = (orders.clone(), bytes.clone());
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    orders.increment();
                    // Some updates are large.
                    bytes.record(if round % 100 == 0 { 1 << 30 } else { thread });
                }
            });
        }
    });
    let rounds = 64 * ROUNDS as u64;
    let large = rounds / 100;
    let small: u64 = (0..64).sum::<u64>() * (ROUNDS as u64 - ROUNDS as u64 / 100);
    let row = vec![Some((rounds, None)), Some((large * (1 << 30) + small, Some(rounds)))];
    assert_eq!(Reader::new(&folder).rows("Web Shop"), [(String::new(), row)]);
}

/// Every pair that is read existed at one moment, while threads make small and large updates.
#[test]
fn a_pair_is_read_whole() {
    let folder = Folder::new();
    let category = shop(&folder).instances(2).publish().unwrap();
    let stop = AtomicBool::new(false);
    let (small, mixed) = (category.instance("small").unwrap(), category.instance("mixed").unwrap());
    std::thread::scope(|scope| {
        for thread in 0..4i64 {
            let (stop, small, mixed) = (
                &stop,
                small.pair("Avg. Bytes/Order").unwrap(),
                mixed.pair("Avg. Bytes/Order").unwrap(),
            );
            scope.spawn(move || {
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    small.add(3 * (1 + thread), 1 + thread);
                    let base = if round % 1000 == 0 { 1 << 33 } else { 1 };
                    mixed.add(3 * base, base);
                }
            });
        }
        let _stop = Stop(&stop);
        let mut reader = Reader::new(&folder);
        let (mut whole, mut last) = ([0, 0], [0, 0]);
        for _ in 0..2_000 {
            for (name, row) in reader.rows("Web Shop") {
                let place = usize::from(name == "mixed");
                let (value, base) = row[1].unwrap();
                let base = base.unwrap();
                assert_eq!(value, 3 * base, "{name}");
                assert!(base >= last[place], "{name} went backwards");
                last[place] = base;
                whole[place] += 1;
            }
        }
        assert!(whole[0] > 1_900 && whole[1] > 1_000, "{whole:?}: {:?}", reader.faults());
    });
}

/// The reader's assumption: the kernel copies aligned numbers of 8 bytes whole.
#[test]
fn a_number_is_read_whole() {
    let folder = Folder::new();
    let category = shop(&folder).publish().unwrap();
    let orders = category.counter("Orders").unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                orders.set(u64::MAX);
                orders.set(0);
            }
        });
        let _stop = Stop(&stop);
        let mut reader = Reader::new(&folder);
        let mut seen = [0, 0];
        for _ in 0..5_000 {
            let value = reader.rows("Web Shop")[0].1[0].unwrap().0;
            assert!(value == 0 || value == u64::MAX, "{value:#x}");
            seen[usize::from(value == 0)] += 1;
        }
        eprintln!("{seen:?}");
    });
}

/// Instances that come and go under a reader keep their own names and values.
#[test]
fn instances_that_come_and_go_are_never_mixed_up() {
    let folder = Folder::new();
    let category = shop(&folder).instances(64).publish().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let (stop, category) = (&stop, &category);
            scope.spawn(move || {
                let mut number = thread;
                let mut alive = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    number += 2;
                    let name = format!("{number} is the name of this one");
                    let instance = category.instance(&name).unwrap();
                    let orders = instance.counter("Orders").unwrap();
                    orders.set(number);
                    alive.push((instance, orders));
                    if alive.len() > 20 {
                        let (instance, orders) = alive.remove(number as usize % 20);
                        instance.remove();
                        // The slot's next instance must not have this.
                        orders.set(u64::MAX);
                    }
                }
            });
        }
        let _stop = Stop(&stop);
        let mut reader = Reader::new(&folder);
        let mut seen = 0;
        for _ in 0..2_000 {
            for (name, row) in reader.rows("Web Shop") {
                let number: u64 = name.split(' ').next().unwrap().parse().unwrap();
                assert!(name.ends_with(" is the name of this one"), "{name}");
                let value = row[0].unwrap().0;
                // Before its first count it is 0; between its removal and that of its last handle
                // it is hidden.
                assert!(value == number || value == 0, "{name}: {value}");
                seen += 1;
            }
        }
        assert!(seen > 1_000, "{seen}");
    });
}
