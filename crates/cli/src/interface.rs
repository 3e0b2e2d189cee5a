//! The interface on a terminal: `perfhive view`.
//!
//! `model` is the whole state, which `update` and `commands` change and `draw` shows: pure functions,
//! without a terminal, a clock or a source. `sampling` reads the source on a thread of its own,
//! `terminal` has the modes of the terminal and the loop that connects all of them.
//!
//! To add a key or a typed command:
//! 1. `keys.rs`: a variant of `Action` and a row of `BINDINGS`; a command with an argument is a row of `COMMANDS` in
//!    `commands.rs` instead.
//! 2. `update.rs`: its arm of `act` (`time.rs` is about what is seen when, `typing.rs` about typed lines,
//!    `pointing.rs` about the mouse). What it asks of the world is an `Effect`, which `terminal.rs` carries out.
//! 3. `tests.rs`, and `docs/manual/view.md`. The random driver presses it by itself.

mod commands;
mod draw;
mod keys;
mod layout;
mod model;
mod pointing;
mod rows;
mod sampling;
mod steered;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod time;
mod tree;
mod typing;
mod update;

pub(crate) use layout::{BUILT_IN, View};
pub(crate) use terminal::{Start, is_possible, run};
pub(crate) use theme::Theme;
