//! The providers as a reader meets them: on frozen machines and on this one.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[cfg(feature = "bpf")]
mod bpf;
mod common;
mod frozen;
mod live;
mod manual;
mod real_trees;
mod warm;

#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;
