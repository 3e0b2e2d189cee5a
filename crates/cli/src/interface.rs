//! The interface on a terminal: `perfhive view`.
//!
//! `model` is the whole state, which `update` and `commands` change and `draw` shows: pure functions,
//! without a terminal, a clock or a source. `sampling` reads the source on a thread of its own,
//! `terminal` has the modes of the terminal and the loop that connects all of them.

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
