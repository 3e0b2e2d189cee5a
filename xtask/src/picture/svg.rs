//! Lines of styled text as a picture of a terminal window.
//!
//! Every span says where it begins and how long it is, so that columns stay
//! straight in whatever monospace font the reader's browser has.

use super::ansi::{self, Colour, Line, Style};

const FONT_SIZE: f64 = 14.0;
/// The advance of a character in nearly every monospace font is 0.6 of its size.
const CELL: f64 = 8.4;
const LINE_HEIGHT: f64 = 19.0;
/// From the top of a line to where its letters stand.
const BASELINE: f64 = 14.5;
const PADDING: f64 = 18.0;
const TITLE_BAR: f64 = 38.0;
/// A window narrower than this would not look like one.
const NARROWEST: usize = 40;

const BACKGROUND: &str = "#161b22";
const FOREGROUND: &str = "#d0d7de";
const FRAME: &str = "#30363d";
const PROMPT: &str = "#3fb950";
const DOTS: [&str; 3] = ["#ff5f57", "#febc2e", "#28c840"];
const PALETTE: [&str; 16] = [
    "#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
    "#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
];

/// Draws a window in which a command line and its output stand.
pub(super) fn render(command: &str, lines: &[Line]) -> String {
    let line_columns = |line: &Line| line.iter().map(|span| ansi::columns(&span.text)).sum();
    let longest = lines.iter().map(line_columns).max().unwrap_or(0);
    let columns = longest.max(ansi::columns(command) + 2).max(NARROWEST);
    let width = columns as f64 * CELL + 2.0 * PADDING;
    let height = TITLE_BAR + (lines.len() + 1) as f64 * LINE_HEIGHT + PADDING;
    let (w, h) = (number(width), number(height));
    let title = escape(command);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\" role=\"img\">\n\
         <title>{title}</title>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"9\" fill=\"{BACKGROUND}\" \
         stroke=\"{FRAME}\"/>\n",
        number(width - 1.0),
        number(height - 1.0),
    );
    for (index, colour) in DOTS.iter().enumerate() {
        let x = number(PADDING + 4.0 + 20.0 * index as f64);
        svg += &format!("<circle cx=\"{x}\" cy=\"19\" r=\"6\" fill=\"{colour}\"/>\n");
    }
    svg += &format!(
        "<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', \
         monospace\" font-size=\"{FONT_SIZE}\" fill=\"{FOREGROUND}\">\n"
    );
    let prompt = Style { bold: true, ..Style::default() };
    svg += &text(0, 0, "$", prompt, PROMPT);
    svg += &text(0, 2, command, Style::default(), FOREGROUND);
    for (index, line) in lines.iter().enumerate() {
        let mut column = 0;
        for span in line {
            svg += &draw(index + 1, column, &span.text, span.style);
            column += ansi::columns(&span.text);
        }
    }
    svg += "</g>\n</svg>\n";
    svg
}

/// A span, with its background if it has one of its own.
fn draw(row: usize, column: usize, content: &str, style: Style) -> String {
    let colour = |colour: Option<Colour>, default: &str| match colour {
        None => default.to_owned(),
        Some(Colour::Named(index)) => {
            PALETTE.get(usize::from(index)).map_or(default, |colour| colour).to_owned()
        }
        Some(Colour::Rgb(r, g, b)) => format!("#{r:02x}{g:02x}{b:02x}"),
    };
    let mut front = colour(style.foreground, FOREGROUND);
    let mut back = colour(style.background, BACKGROUND);
    if style.reverse {
        (front, back) = (back, front);
    }
    let mut svg = String::new();
    if back != BACKGROUND {
        svg += &format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{LINE_HEIGHT}\" fill=\"{back}\"/>\n",
            number(PADDING + column as f64 * CELL),
            number(TITLE_BAR + row as f64 * LINE_HEIGHT),
            number(ansi::columns(content) as f64 * CELL),
        );
    }
    // Spaces at either end need no drawing, unless they are underlined.
    let (content, column) = if style.underline {
        (content, column)
    } else {
        let begun = content.trim_start_matches(' ');
        (begun.trim_end_matches(' '), column + content.len() - begun.len())
    };
    if !content.is_empty() {
        svg += &text(row, column, content, style, &front);
    }
    svg
}

/// One piece of text in its place.
fn text(row: usize, column: usize, content: &str, style: Style, colour: &str) -> String {
    let mut attributes = String::new();
    if colour != FOREGROUND {
        attributes += &format!(" fill=\"{colour}\"");
    }
    for (set, attribute) in [
        (style.bold, " font-weight=\"bold\""),
        (style.dim, " opacity=\"0.6\""),
        (style.italic, " font-style=\"italic\""),
        (style.underline, " text-decoration=\"underline\""),
    ] {
        if set {
            attributes += attribute;
        }
    }
    format!(
        "<text x=\"{}\" y=\"{}\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\" \
         xml:space=\"preserve\"{attributes}>{}</text>\n",
        number(PADDING + column as f64 * CELL),
        number(TITLE_BAR + row as f64 * LINE_HEIGHT + BASELINE),
        number(ansi::columns(content) as f64 * CELL),
        escape(content),
    )
}

/// At most one decimal: more would be noise in the file.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(text: &str) -> String {
        render("perfhive watch", &ansi::lines(text))
    }

    #[test]
    fn the_window_is_as_wide_as_the_longest_line() {
        let lines = format!("short\n{}\n", "x".repeat(100));
        // 100 columns of 8.4, and the padding; 38 + 3 lines of 19 + 18.
        assert!(picture(&lines).contains("width=\"876\" height=\"113\" viewBox=\"0 0 876 113\""));
        assert!(picture("x").contains("width=\"372\""), "not narrower than 40 columns");
    }

    #[test]
    fn text_is_escaped() {
        let svg = render("a <b> & \"c\"", &ansi::lines("1 < 2 && \"x\" > 0"));
        assert!(svg.contains("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"), "{svg}");
        assert!(svg.contains(">1 &lt; 2 &amp;&amp; &quot;x&quot; &gt; 0</text>"), "{svg}");
    }

    #[test]
    fn spans_stand_in_their_columns() {
        let svg = picture("ab  \x1b[1;31mcd\x1b[0m\n  ef");
        assert!(svg.contains("x=\"18\" y=\"71.5\" textLength=\"16.8\""), "ab: {svg}");
        let bold = "x=\"51.6\" y=\"71.5\" textLength=\"16.8\" lengthAdjust=\"spacingAndGlyphs\" \
                    xml:space=\"preserve\" fill=\"#ff7b72\" font-weight=\"bold\">cd</text>";
        assert!(svg.contains(bold), "cd: {svg}");
        assert!(svg.contains("x=\"34.8\" y=\"90.5\""), "ef: {svg}");
    }

    #[test]
    fn each_style_is_drawn() {
        assert!(picture("\x1b[2mx").contains("opacity=\"0.6\">x<"));
        assert!(picture("\x1b[3mx").contains("font-style=\"italic\">x<"));
        assert!(picture("\x1b[4m x").contains("text-decoration=\"underline\"> x<"));
        assert!(picture("\x1b[38;2;1;2;255mx").contains("fill=\"#0102ff\""));
        let reversed = picture("\x1b[7mx");
        assert!(reversed.contains("height=\"19\" fill=\"#d0d7de\"/>"), "{reversed}");
        assert!(reversed.contains("fill=\"#161b22\">x<"), "{reversed}");
        assert!(picture("\x1b[44m  ").contains("fill=\"#58a6ff\"/>"), "a background of spaces");
    }

    #[test]
    fn it_looks_like_a_window() {
        let svg = picture("x");
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("rx=\"9\"") && svg.contains("monospace"));
        assert!(svg.contains(">perfhive watch</text>"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }
}
