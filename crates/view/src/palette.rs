//! Colours and markers of lines.

/// A colour: red, green and blue, from 0 to 255.
pub type Rgb = (u8, u8, u8);

/// The names and values of colours that people with any kind of colour vision tell apart, on dark and on light ground:
/// those of Okabe and Ito (<https://jfly.uni-koeln.de/color/>), the black one replaced by grey.
pub const COLOURS: [(&str, Rgb); 8] = [
    ("blue", (86, 180, 233)),
    ("orange", (230, 159, 0)),
    ("green", (0, 158, 115)),
    ("pink", (204, 121, 167)),
    ("yellow", (240, 228, 66)),
    ("red", (213, 94, 0)),
    ("navy", (0, 114, 178)),
    ("grey", (153, 153, 153)),
];

/// Markers, which tell lines apart without colour.
pub const MARKERS: [char; 8] = ['*', '+', 'o', 'x', '#', '%', '@', '='];

/// The lengths of strokes and gaps in a report's chart, in pixels: the first list is for the lines
/// at the places of `COLOURS`, the second for the eight places behind them, and so on. An empty
/// list is a line without gaps.
pub const DASHES: [&[f32]; 4] = [&[], &[9.0, 5.0], &[2.0, 5.0], &[14.0, 5.0, 2.0, 5.0]];

/// The place in `COLOURS` of the colour with this name, in small or capital letters; `None` if no
/// colour has the name.
#[must_use]
pub fn colour_named(name: &str) -> Option<u8> {
    let place = COLOURS.iter().position(|(known, _)| known.eq_ignore_ascii_case(name))?;
    u8::try_from(place).ok()
}

/// The name and the value of the colour at a place of `COLOURS`; the place behind the last colour
/// is the first colour again.
#[must_use]
pub fn colour(place: u8) -> (&'static str, Rgb) {
    let all = COLOURS.len();
    COLOURS.get(usize::from(place) % all).copied().unwrap_or(("grey", (153, 153, 153)))
}

/// The list of `DASHES` for a line's colour place: each list serves as many places as there are
/// colours, and the first list follows the last.
#[must_use]
pub fn dashes(place: u8) -> &'static [f32] {
    let round = usize::from(place) / COLOURS.len();
    DASHES.get(round % DASHES.len()).copied().unwrap_or_default()
}

/// How many looks a line can have: each is another pair of a colour and a marker.
pub const LOOKS: usize = COLOURS.len() * MARKERS.len();

/// The look with a number below [`LOOKS`]: the place of its colour in `COLOURS`, and its marker. Looks that follow one
/// another differ in both.
#[must_use]
pub fn look(number: usize) -> (u8, char) {
    let place = number % COLOURS.len();
    let marker = MARKERS.get((place + number / COLOURS.len()) % MARKERS.len());
    (place as u8, marker.copied().unwrap_or('*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_have_names_and_begin_anew() {
        assert_eq!(colour_named("Green"), Some(2));
        assert_eq!(colour_named("mauve"), None);
        assert_eq!(colour(9).0, "orange");
    }

    #[test]
    fn looks_differ() {
        let looks: std::collections::HashSet<_> = (0..LOOKS).map(look).collect();
        assert_eq!(looks.len(), LOOKS);
        assert!(dashes(7).is_empty() && [8, 16, 24].map(dashes) == DASHES[1..]);
        assert_eq!([look(0), look(7), look(8)], [(0, '*'), (7, '='), (0, '+')]);
    }
}
