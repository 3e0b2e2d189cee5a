//! The native library behind `org.perfhive`, the measuring framework for Java programs in the folder
//! `java/`.
//!
//! Java holds handles, which are numbers (`handles.rs`). An operation that is called seldom crosses
//! as one message in each direction (`wire.rs`, `calls.rs`). An operation of every cycle has a
//! native method of its own (`entry.rs`): values are copied in bulk into arrays that Java keeps.
#![deny(unsafe_code)]

mod calls;
mod categories;
mod clock;
#[expect(unsafe_code, reason = "the names under which the JVM finds its native methods")]
mod entry;
mod experiment;
mod failure;
mod handles;
mod outbox;
mod points;
mod probe;
mod snapshot;
mod source;
mod wire;
