//! The interface on a terminal, which `perfhive view` starts.
//!
//! `model` is the whole state; `update` and `commands` change it and `draw` shows it, as pure
//! functions without a terminal, a clock or a source. `seen` has what was seen of each source,
//! `views` the views that were left, `sampling` reads each source on a thread of its own, `saving`
//! makes the names and the contents of saved files, and `files` writes them. `terminal` has the
//! modes of the terminal and the loop that connects everything.
//!
//! How to add a key or a typed command:
//! 1. `keys.rs`: a variant of `Action` and a row of `BINDINGS`; a command with an argument is instead a row of
//!    `COMMANDS` and an arm of `with_argument` in `commands.rs`.
//! 2. `update.rs`: the action's arm of `act` (`time.rs` handles the shown time, `typing.rs` typed lines,
//!    `pointing.rs` the mouse). A request to the outside is an `Effect`, which `terminal.rs` carries out.
//! 3. `tests.rs`, and `docs/manual/view.md`. The random driver of the tests uses the key without a change.

mod answers;
mod commands;
mod draw;
mod entries;
mod files;
mod keys;
mod layout;
mod looks;
mod model;
mod near;
mod panes;
mod pasted;
mod pointing;
mod rows;
mod sampling;
mod saving;
mod seen;
mod settings;
mod steered;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod time;
mod tree;
mod typing;
mod update;
mod views;

pub(crate) use layout::{BUILT_IN, View};
pub(crate) use sampling::Growth;
pub(crate) use terminal::{Shown, Start, is_possible, run};
pub(crate) use theme::Theme;
