//! Which providers are registered, on systems without a registry.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;

pub mod definition;
pub mod hive;
pub mod library;
#[cfg(target_os = "linux")]
pub mod store;
