//! Providers in libraries, compiled and loaded for real.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod accounts;
mod checked;
mod good;
mod isolation;
mod registered;
mod remote;
mod support;
mod zoo;

#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;
