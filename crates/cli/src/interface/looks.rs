//! The looks of lines: the colour and the marker that a further line of a chart takes.

use perfhive_view::palette::{COLOURS, LOOKS, look};

/// The number of lines of a chart that have each look, and the number of those that have each colour.
pub(super) struct Looks {
    looks: [usize; LOOKS],
    colours: [usize; COLOURS.len()],
}

impl Looks {
    /// The numbers of lines after each of these looks (the colour and the marker) was taken once.
    pub(super) fn of(taken: impl Iterator<Item = (u8, char)>) -> Self {
        let mut this = Self { looks: [0; LOOKS], colours: [0; COLOURS.len()] };
        taken.for_each(|one| this.take(one));
        this
    }

    /// The number for which [`look`] returns this look; `None` if no number gives it.
    fn number_of(wanted: (u8, char)) -> Option<usize> {
        (0..LOOKS).find(|number| look(*number) == wanted)
    }

    /// Whether no line has this look yet; `false` for a look that no number gives.
    pub(super) fn is_free(&self, look: (u8, char)) -> bool {
        Self::number_of(look).and_then(|number| self.looks.get(number)) == Some(&0)
    }

    /// Counts one more line with this look. For a look that no number gives, only the colour is
    /// counted.
    pub(super) fn take(&mut self, taken: (u8, char)) {
        let number = Self::number_of(taken);
        if let Some(count) = number.and_then(|number| self.looks.get_mut(number)) {
            *count += 1;
        }
        if let Some(count) = self.colours.get_mut(usize::from(taken.0)) {
            *count += 1;
        }
    }

    /// The number of a look that the fewest lines have. Of several such looks, it is one in a colour that the fewest
    /// lines have, and of several such colours the first from the colour `from` on.
    pub(super) fn next(&self, from: u8) -> usize {
        let key = |number: &usize| {
            let colour = number % COLOURS.len();
            let behind =
                (colour + COLOURS.len() - usize::from(from) % COLOURS.len()) % COLOURS.len();
            (self.looks.get(*number), self.colours.get(colour), behind)
        };
        (0..LOOKS).min_by_key(key).unwrap_or(0)
    }

    /// The look with the number that [`next`](Self::next) returns; it counts as taken from now on.
    pub(super) fn take_next(&mut self, from: u8) -> (u8, char) {
        let taken = look(self.next(from));
        self.take(taken);
        taken
    }
}
