//! All instances as they stood in the last block, while nobody comes or goes.

use super::super::Known;
use super::super::sample::Sample;
use super::{ALIGNMENT, Cell, Kept};
use perfhive_format::{ObjectWriting, WriteError};

/// An instance of the picture.
#[derive(Clone, Copy)]
pub(super) struct Row {
    known: Known,
    at: usize,
    length: usize,
}

impl Kept {
    /// Begins with rows of which a picture is to be made.
    pub(in crate::process) fn begin_rows(&mut self) {
        self.is_picture = false;
        self.rows.clear();
    }

    /// The next row is of this process, and is written at this position.
    pub(in crate::process) fn row(&mut self, known: Known, at: usize) {
        if let Some(last) = self.rows.last_mut() {
            last.length = at - last.at;
        }
        self.rows.push(Row { known, at, length: 0 });
    }

    /// Makes the picture of the rows, which began at this position.
    /// `slot` tells the slot of a process.
    pub(in crate::process) fn end_rows(
        &mut self,
        start: usize,
        object: &ObjectWriting<'_, '_>,
        slot: impl Fn(Known) -> Option<u32>,
    ) {
        let written = object.since(start);
        self.bytes.clear();
        self.bytes.extend_from_slice(written);
        if let Some(last) = self.rows.last_mut() {
            last.length = object.position() - last.at;
        }
        for cell in &mut self.cells {
            *cell = Cell { row: u32::MAX, ..*cell };
        }
        for (place, row) in (0..).zip(&mut self.rows) {
            row.at -= start;
            let Some(slot) = slot(row.known).map(|slot| slot as usize) else { continue };
            if self.cells.len() <= slot {
                self.cells.resize(slot + 1, Cell { row: u32::MAX, ..Cell::default() });
                self.samples.resize(slot + 1, Sample::default());
            }
            if let Some(cell) = self.cells.get_mut(slot) {
                (cell.at, cell.length, cell.row) = (row.at, row.length, place);
            }
        }
        for cell in self.cells.iter_mut().filter(|cell| cell.row == u32::MAX) {
            (cell.at, cell.length) = (0, 0);
        }
        self.live = self.bytes.len();
        self.phase = start % ALIGNMENT;
        self.is_picture = true;
    }

    /// Whether there is a picture that may be copied here.
    pub(in crate::process) fn may_go_on(&self, object: &ObjectWriting<'_, '_>) -> bool {
        self.is_picture && self.phase == object.position() % ALIGNMENT
    }

    /// Begins to copy the picture, but for the processes of these slots and those
    /// that have none.
    pub(in crate::process) fn go_on(&mut self, changes: impl Iterator<Item = u32>) {
        // Who did not change was met in the run that counts.
        self.run -= 1;
        self.goes_on = true;
        self.passed = 0;
        self.anew.clear();
        self.anew.reserve(self.rows.len());
        let rows = changes.filter_map(|slot| Some(self.cells.get(slot as usize)?.row));
        self.anew.extend(rows.filter(|row| *row != u32::MAX));
        let rows = (0..).zip(&self.rows);
        let without = rows.filter(|(_, row)| matches!(row.known, Known::Tracked(_)));
        self.anew.extend(without.map(|(place, _)| place));
        self.anew.sort_unstable();
    }

    /// Copies the picture up to the next process that is to be written anew, and
    /// answers that.
    pub(in crate::process) fn next_anew(
        &mut self,
        done: &mut usize,
        object: &mut ObjectWriting<'_, '_>,
    ) -> Result<Option<Known>, WriteError> {
        let start = self.start_of(self.passed);
        // Where a row got another length, what is behind it may be padded
        // in another way.
        if object.position() % ALIGNMENT != (self.phase + start) % ALIGNMENT {
            self.is_picture = false;
            let next = self.rows.get(self.passed).map(|row| row.known);
            self.passed += usize::from(next.is_some());
            let passed = self.passed;
            let behind = self.anew.get(*done..).unwrap_or_default();
            *done += behind.iter().take_while(|row| (**row as usize) < passed).count();
            return Ok(next);
        }
        let next = self.anew.get(*done).map_or(self.rows.len(), |row| *row as usize);
        let bytes = self.bytes.get(start..self.start_of(next)).unwrap_or_default();
        if next > self.passed {
            object.instances_as_written(bytes, (next - self.passed) as u32)?;
        }
        *done += 1;
        self.passed = next + 1;
        Ok(self.rows.get(next).map(|row| row.known))
    }

    /// Where a row begins; of the one behind the last, where that ends.
    fn start_of(&self, row: usize) -> usize {
        let last = || self.rows.last().map_or(0, |row| row.at + row.length);
        self.rows.get(row).map_or_else(last, |row| row.at)
    }

    /// Notes what was written anew of the newest row, at this position: nothing, if
    /// the process is gone. Then, and where it has another length, the picture is
    /// none any more.
    pub(in crate::process) fn redone(&mut self, position: usize, object: &ObjectWriting<'_, '_>) {
        let Some(row) = self.passed.checked_sub(1).and_then(|row| self.rows.get(row)) else {
            return;
        };
        let written = object.since(position);
        match self.bytes.get_mut(row.at..row.at + row.length) {
            Some(bytes) if bytes.len() == written.len() => bytes.copy_from_slice(written),
            _ => self.is_picture = false,
        }
    }

    /// Takes a process out that is not told by its slot alone.
    pub(in crate::process) fn forget(&mut self, slot: u32) {
        let place = slot as usize;
        self.leave_out(place);
        if let Some(cell) = self.cells.get_mut(place) {
            cell.run = 0;
        }
    }
}
