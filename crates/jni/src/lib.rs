//! The native library behind `org.perfhive`, the measuring framework for Java programs in the folder
//! `java/`.
//!
//! Java holds handles, which are numbers (`handles.rs`). What is asked seldom crosses as one message
//! in each direction (`wire.rs`, `calls.rs`); what is asked in every cycle has an entry of its own
//! (`entry.rs`): values are copied in bulk into arrays that Java keeps.
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
