//! Drawings that consist of a few kinds of shapes, and their text as SVG.

use crate::palette::Rgb;
use std::fmt::Write as _;

/// A drawing in pixels; the origin is the upper left corner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// The drawing's width in pixels.
    pub width: f32,
    /// The drawing's height in pixels.
    pub height: f32,
    /// The shapes in the order in which they are drawn: a later shape covers an earlier one.
    pub shapes: Vec<Shape>,
}

/// A shape of one colour.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A filled rectangle.
    Rectangle {
        /// The left edge, in pixels from the drawing's left.
        x: f32,
        /// The top edge, in pixels from the drawing's top.
        y: f32,
        /// The rectangle's width in pixels.
        width: f32,
        /// The rectangle's height in pixels.
        height: f32,
        /// The rectangle's colour.
        colour: Rgb,
    },
    /// A line through points.
    Lines {
        /// The points of the line, in pixels from the drawing's left and top.
        points: Vec<(f32, f32)>,
        /// The line's thickness in pixels.
        thickness: f32,
        /// The lengths of the line's strokes and gaps in pixels, in turn; empty for a line without
        /// gaps.
        dashes: &'static [f32],
        /// The line's colour.
        colour: Rgb,
    },
    /// A text on one line; each character is as wide as [`GLYPH`] says.
    Text {
        /// The horizontal position of the text's beginning, or of its end if `end` is set, in
        /// pixels.
        x: f32,
        /// The vertical position of the text's baseline, in pixels.
        y: f32,
        /// The text.
        text: String,
        /// Whether `x` is the text's end; otherwise it is the text's beginning.
        end: bool,
        /// The text's colour.
        colour: Rgb,
    },
}

/// The width of a character and the height of its line, in pixels.
pub const GLYPH: (f32, f32) = (8.0, 16.0);

impl Drawing {
    /// The drawing as an SVG document. All of it is ASCII, except the texts.
    #[must_use]
    pub fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n<g font-family=\"ui-monospace,Menlo,Consolas,\
             'DejaVu Sans Mono',monospace\" font-size=\"13\">\n"
        );
        for shape in &self.shapes {
            match shape {
                Shape::Rectangle { x, y, width, height, colour } => {
                    let _ = writeln!(
                        out,
                        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
                         fill=\"{}\"/>",
                        hex(*colour)
                    );
                }
                Shape::Lines { points, thickness, dashes, colour } => {
                    out.push_str("<polyline points=\"");
                    for (place, (x, y)) in points.iter().enumerate() {
                        let gap = if place > 0 { " " } else { "" };
                        let _ = write!(out, "{gap}{:.1},{:.1}", x, y);
                    }
                    let _ = writeln!(
                        out,
                        "\" fill=\"none\" stroke=\"{}\" stroke-width=\"{thickness}\"{} \
                         stroke-linejoin=\"round\" stroke-linecap=\"round\"/>",
                        hex(*colour),
                        dash_array(dashes)
                    );
                }
                Shape::Text { x, y, text, end, colour } => {
                    let anchor = if *end { " text-anchor=\"end\"" } else { "" };
                    // The width is fixed, whatever font there is. The width of wide characters (such as Chinese) is
                    // not known, so that a text with them has none.
                    let is_narrow = text
                        .chars()
                        .all(|c| c < '\u{1100}' || ('\u{2000}'..'\u{2a00}').contains(&c));
                    let length = match is_narrow {
                        true => {
                            format!(" textLength=\"{}\"", text.chars().count() as f32 * GLYPH.0)
                        }
                        false => String::new(),
                    };
                    let _ = writeln!(
                        out,
                        "<text x=\"{x}\" y=\"{y}\"{anchor}{length} fill=\"{}\" xml:space=\"preserve\">{}</text>",
                        hex(*colour),
                        escaped(text)
                    );
                }
            }
        }
        out.push_str("</g>\n</svg>\n");
        out
    }
}

fn dash_array(dashes: &[f32]) -> String {
    let all: Vec<String> = dashes.iter().map(f32::to_string).collect();
    if all.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", all.join(",")) }
}

fn hex((red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A text with `&`, `<`, `>` and `"` escaped for XML; control characters, U+FFFE and U+FFFF become
/// `?`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('?'),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let text = Shape::Text {
            x: 1.0,
            y: 2.0,
            text: "<a & \"b\"\u{1b}".into(),
            end: true,
            colour: (1, 2, 255),
        };
        let svg = Drawing { width: 10.0, height: 20.0, shapes: vec![text] }.svg();
        assert!(
            svg.contains(
                "fill=\"#0102ff\" xml:space=\"preserve\">&lt;a &amp; &quot;b&quot;?</text>"
            )
        );
        assert!(svg.contains("text-anchor=\"end\""));
    }
}
