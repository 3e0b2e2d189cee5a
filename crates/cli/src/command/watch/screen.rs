//! A table redrawn in place.
//!
//! No mode of the terminal is ever changed: the cursor stays visible and rests
//! in the line below the table, colours are reset at the end of each piece of
//! text, and a table is one write. However the program ends, there is nothing
//! to restore, and the last table stays where it is.

use super::view::{View, Widths};
use crate::failure::Failure;
use crate::output::Output;
use crate::text::escape::clip;
use crate::text::style::Style;
use crate::text::wrap::push_wrapped;
use std::fmt::Write as _;
use std::time::Duration;

/// The table that the terminal shows, with warnings below it.
#[derive(Default)]
pub(super) struct Screen {
    /// The number of lines of the last table; the cursor is in the line below it.
    height: usize,
    view: Option<View>,
    widths: Widths,
    warnings: Vec<String>,
}

/// The most warnings that stay in view.
const WARNINGS: usize = 3;

impl Screen {
    /// Whether standard output is a terminal that can move its cursor.
    pub(super) fn is_possible(output: &Output) -> bool {
        output.size().is_some() && output.escapes
    }

    /// The number of lines that a view may have above the warnings.
    pub(super) fn lines(&self, output: &Output) -> usize {
        let (_, lines) = output.size().unwrap_or((80, 24));
        lines.saturating_sub(1 + self.notes(output).len())
    }

    /// The lines of the newest warnings, as many as fit into a quarter of the terminal's lines.
    fn notes(&self, output: &Output) -> Vec<String> {
        let (columns, lines) = output.size().unwrap_or((80, 24));
        let room = (lines / 4).max(1);
        let mut notes: Vec<String> = Vec::new();
        for warning in self.warnings.iter().rev() {
            let mut text = String::new();
            push_wrapped(&mut text, warning, "", columns);
            let wrapped = text.lines().map(|line| clip(line, columns).0.to_string());
            // Older warnings are left out if there is no room, and the end of a warning that is too long.
            let wrapped: Vec<String> = wrapped.take(room).collect();
            if notes.len() + wrapped.len() > room {
                break;
            }
            notes.splice(0..0, wrapped);
        }
        notes
    }

    /// Adds warnings below the table; the oldest ones make room.
    pub(super) fn warn(&mut self, warnings: Vec<String>) {
        self.warnings.extend(warnings);
        let old = self.warnings.len().saturating_sub(WARNINGS);
        self.warnings.drain(..old);
    }

    /// Draws a view over the previous one.
    pub(super) fn show(
        &mut self,
        mut view: View,
        output: &Output,
        pace: Option<Duration>,
    ) -> Result<(), Failure> {
        view.keep_widths(&mut self.widths);
        self.view = Some(view);
        let mut start = String::new();
        if self.height > 0 {
            let _ = write!(start, "\x1b[{}A", self.height);
        }
        self.draw(start, output, pace)
    }

    /// Clears the screen and draws the view again, since the terminal may have broken its lines differently.
    pub(super) fn redraw_cleared(
        &mut self,
        output: &Output,
        pace: Option<Duration>,
    ) -> Result<(), Failure> {
        self.draw("\x1b[H\x1b[2J".to_string(), output, pace)
    }

    /// Draws the view again below the present content of the terminal.
    pub(super) fn redraw_below(
        &mut self,
        output: &Output,
        pace: Option<Duration>,
    ) -> Result<(), Failure> {
        self.draw(String::new(), output, pace)
    }

    fn draw(
        &mut self,
        mut out: String,
        output: &Output,
        pace: Option<Duration>,
    ) -> Result<(), Failure> {
        let Some(view) = &self.view else {
            return Ok(());
        };
        let (_, lines) = output.size().unwrap_or((80, 24));
        let mut text = String::new();
        view.render(&mut text, output, Some((self.lines(output), pace)));
        for line in self.notes(output) {
            output.palette.push(&mut text, Style::Bad, &line);
            text.push('\n');
        }
        out.push('\r');
        self.height = 0;
        for line in text.lines().take(lines.saturating_sub(1).max(1)) {
            out.push_str(line);
            // Erases the end of an older, longer line.
            out.push_str("\x1b[K\n");
            self.height += 1;
        }
        out.push_str("\x1b[J");
        output.write(&out)
    }
}
