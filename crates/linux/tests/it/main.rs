//! Tests of the providers from a reader's view: on frozen machines and on this machine.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[cfg(feature = "bpf")]
mod bpf;
mod by_number;
mod cgroup;
mod cgroup_live;
mod common;
mod disk;
mod faults;
mod few;
mod frozen;
mod growth;
mod injected;
mod live;
mod machine;
mod manual;
mod maps;
mod network;
mod network_interface;
mod network_live;
mod odd;
mod one;
mod process_extras;
mod real_trees;
mod resting;
mod totals;
mod warm;

#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;
