//! Tests that run the command as its users do.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bad_input;
mod blg;
mod blocks;
mod capture;
mod experiment;
mod formats;
mod golden;
mod live;
mod machines;
mod measure;
#[cfg(feature = "parquet")]
mod parquet;
mod providers;
mod published;
mod recorded;
mod recordings;
mod register;
mod reports;
mod run;
mod shells;
mod terminal;
#[cfg(target_os = "linux")]
mod tmux;
mod view;
mod windows;
mod windows_tools;
