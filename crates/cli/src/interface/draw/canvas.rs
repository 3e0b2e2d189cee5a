//! Draws lines with braille characters, which have eight dots in each cell.

use ratatui_core::layout::Rect;
use std::ops::Range;

/// A grid of dots, two by four in each cell of the terminal, with the number of the line that last set a dot in
/// each cell.
pub(super) struct Canvas {
    width: usize,
    height: usize,
    dots: Vec<u8>,
    owners: Vec<u16>,
    /// The columns of dots that can be set at present.
    pub(super) columns: Range<i32>,
}

/// The bit of each dot of a cell in a Braille character: four rows of two.
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

impl Canvas {
    /// An empty canvas with the cells of an area.
    pub(super) fn new(area: Rect) -> Self {
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        let (dots, owners) = (vec![0; width * height], vec![0; width * height]);
        Self { width, height, dots, owners, columns: 0..width as i32 * 2 }
    }

    /// The width and height in dots.
    pub(super) fn size(&self) -> (i32, i32) {
        (self.width as i32 * 2, self.height as i32 * 4)
    }

    /// Sets a dot for the line with the number `owner`; the origin is the upper left corner. A dot outside of the
    /// canvas, or of the columns that can be set, is ignored.
    fn dot(&mut self, x: i32, y: i32, owner: u16) {
        if !self.columns.contains(&x) {
            return;
        }
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { return };
        let place = y / 4 * self.width + x / 2;
        let bit = BITS.get(y % 4).and_then(|row| row.get(x % 2)).copied().unwrap_or(0);
        if let (Some(dots), Some(known)) = (self.dots.get_mut(place), self.owners.get_mut(place)) {
            *dots |= bit;
            *known = owner;
        }
    }

    /// Draws a straight line from one dot to another, including both, for the line with the number `owner`.
    pub(super) fn line(&mut self, from: (i32, i32), to: (i32, i32), owner: u16) {
        let (mut x, mut y) = from;
        let (wide, high) = ((to.0 - x).abs(), -(to.1 - y).abs());
        let (step_x, step_y) = ((to.0 - x).signum(), (to.1 - y).signum());
        let mut error = wide + high;
        loop {
            self.dot(x, y, owner);
            if (x, y) == to {
                return;
            }
            let twice = 2 * error;
            if twice >= high {
                error += high;
                x += step_x;
            }
            if twice <= wide {
                error += wide;
                y += step_y;
            }
        }
    }

    /// The cells that have dots: the column, the row, the character, and the number of the line that last set a dot
    /// in the cell.
    pub(super) fn cells(&self) -> impl Iterator<Item = (u16, u16, char, u16)> {
        let all = self.dots.iter().zip(&self.owners).enumerate();
        all.filter(|(_, (dots, _))| **dots != 0).map(|(place, (dots, owner))| {
            let character = char::from_u32(0x2800 + u32::from(*dots)).unwrap_or(' ');
            ((place % self.width) as u16, (place / self.width) as u16, character, *owner)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_set_dots_and_stay_inside() {
        let mut canvas = Canvas::new(Rect::new(0, 0, 2, 1));
        canvas.line((0, 0), (3, 3), 1);
        let cells: Vec<_> = canvas.cells().collect();
        assert_eq!(cells, [(0, 0, '⠑', 1), (1, 0, '⢄', 1)]);
        canvas.line((-5, -5), (100, 2), 2);
        assert_eq!(canvas.cells().count(), 2);
    }
}
