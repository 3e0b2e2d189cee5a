//! Programs that publish, and a broker that reads them.
#![cfg(any(
    all(target_os = "linux", target_endian = "little"),
    all(windows, target_pointer_width = "64")
))]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
mod hostile;
mod processes;
mod publish;
#[cfg(unix)]
mod python;
mod threads;

#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;
