//! What a terminal makes of a program's output: lines of styled characters.
//!
//! Only what programs print into a pipe is understood: SGR sequences (colours,
//! bold and so on), tabs, carriage returns, and clearing the screen. Other
//! sequences are skipped, as a terminal skips those it does not know.

/// The colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    /// One of the sixteen colours with a shade that the terminal chooses.
    Named(u8),
    Rgb(u8, u8, u8),
}

/// How a character looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) foreground: Option<Colour>,
    pub(super) background: Option<Colour>,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underline: bool,
    pub(super) reverse: bool,
}

/// Neighbouring characters of one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) style: Style,
}

/// One line of the screen.
pub(super) type Line = Vec<Span>;

const ESCAPE: char = '\x1b';
const TAB: usize = 8;

/// The part of the output that would be on the screen at the end: what follows
/// the last clearing of the screen, or, for a program that prints one table
/// after the other, the last table. Tables begin with the same line but for its
/// digits (it may hold the time of day) or, failing that, follow an empty line.
pub(super) fn last_screen(text: &str) -> &str {
    let clears = ["\x1b[2J", "\x1b[3J", "\x1b[J", "\x1b[0J", "\x1b[H", "\x1b[1;1H", "\x1bc"];
    let after = clears.iter().filter_map(|clear| Some(text.rfind(clear)? + clear.len())).max();
    // A sequence after the last table only tidies up behind it.
    if let Some(after) = after {
        let shown = &text[after..];
        return if plain(shown).trim().is_empty() {
            last_screen(text[..after].rsplit_once(ESCAPE).map_or("", |(before, _)| before))
        } else {
            shown
        };
    }
    let trimmed = text.trim_end();
    let start = trimmed.len() - trimmed.trim_start_matches(['\n', '\r']).len();
    let first = plain(trimmed[start..].lines().next().unwrap_or_default());
    let mut last = start;
    let mut previous_empty = true;
    let mut paragraph = start;
    let mut at = 0;
    for line in trimmed.split_inclusive('\n') {
        let shown = plain(line);
        if !first.trim().is_empty()
            && without_digits(&shown) == without_digits(&first)
            && at > start
        {
            last = at;
        }
        if previous_empty && !shown.trim().is_empty() {
            paragraph = at.max(start);
        }
        previous_empty = shown.trim().is_empty();
        at += line.len();
    }
    &trimmed[if last > start { last } else { paragraph }..]
}

/// A line in which every digit is the same.
fn without_digits(line: &str) -> String {
    line.trim_end().chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

/// A text without its escape sequences.
fn plain(text: &str) -> String {
    let spans = lines(text).into_iter().flatten();
    spans.map(|span| span.text).collect()
}

/// Splits a text into lines of spans. Empty lines at the end are left out.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut style = Style::default();
    for source in text.lines() {
        let mut line: Line = Vec::new();
        let mut column = 0;
        // What stands before a carriage return is overwritten.
        let source = source.trim_end_matches('\r');
        let source = source.rsplit('\r').next().unwrap_or_default();
        let mut rest = source.chars();
        while let Some(c) = rest.next() {
            match c {
                ESCAPE => {
                    if let Some(parameters) = escape(&mut rest) {
                        style.apply(&parameters);
                    }
                }
                '\t' => {
                    let spaces = TAB - column % TAB;
                    push(&mut line, style, &" ".repeat(spaces));
                    column += spaces;
                }
                c if c.is_control() => {}
                c => {
                    push(&mut line, style, c.encode_utf8(&mut [0; 4]));
                    column += width(c);
                }
            }
        }
        lines.push(line);
    }
    let invisible = |span: &Span| span.text.trim().is_empty() && !span.style.shows_spaces();
    while lines.last().is_some_and(|line| line.iter().all(invisible)) {
        lines.pop();
    }
    lines
}

fn push(line: &mut Line, style: Style, text: &str) {
    match line.last_mut() {
        Some(span) if span.style == style => span.text.push_str(text),
        _ => line.push(Span { text: text.to_owned(), style }),
    }
}

/// Skips an escape sequence; the parameters of an SGR sequence are returned.
fn escape(rest: &mut std::str::Chars<'_>) -> Option<String> {
    match rest.next()? {
        '[' => {
            let mut parameters = String::new();
            for c in rest.by_ref() {
                match c {
                    'm' => return Some(parameters),
                    '\x40'..='\x7e' => return None,
                    c => parameters.push(c),
                }
            }
            None
        }
        // An operating system command, such as a link, ends with BEL or ESC \.
        ']' => {
            while let Some(c) = rest.next() {
                if c == '\x07' || (c == ESCAPE && rest.next() == Some('\\')) {
                    break;
                }
            }
            None
        }
        // A character set, such as ESC ( B.
        '(' | ')' | '#' => {
            rest.next();
            None
        }
        _ => None,
    }
}

impl Style {
    /// Whether a space of this style can be seen.
    fn shows_spaces(self) -> bool {
        self.background.is_some() || self.reverse || self.underline
    }

    /// Applies "Select Graphic Rendition" parameters.
    fn apply(&mut self, parameters: &str) {
        let mut codes = parameters.split([';', ':']).map(|code| match code {
            "" => 0,
            code => code.parse::<u8>().unwrap_or(u8::MAX),
        });
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Style::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underline = true,
                7 => self.reverse = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                27 => self.reverse = false,
                30..=37 => self.foreground = Some(Colour::Named(code - 30)),
                38 => self.foreground = extended(&mut codes).or(self.foreground),
                39 => self.foreground = None,
                40..=47 => self.background = Some(Colour::Named(code - 40)),
                48 => self.background = extended(&mut codes).or(self.background),
                49 => self.background = None,
                90..=97 => self.foreground = Some(Colour::Named(code - 90 + 8)),
                100..=107 => self.background = Some(Colour::Named(code - 100 + 8)),
                _ => {}
            }
        }
    }
}

/// `5;N` (one of 256) or `2;R;G;B`.
fn extended(codes: &mut impl Iterator<Item = u8>) -> Option<Colour> {
    match codes.next()? {
        5 => Some(match codes.next()? {
            named @ 0..=15 => Colour::Named(named),
            cube @ 16..=231 => {
                let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
                let n = cube - 16;
                Colour::Rgb(level(n / 36), level(n / 6 % 6), level(n % 6))
            }
            grey => {
                let level = 8 + 10 * (grey - 232);
                Colour::Rgb(level, level, level)
            }
        }),
        2 => Some(Colour::Rgb(codes.next()?, codes.next()?, codes.next()?)),
        _ => None,
    }
}

/// How many columns a text takes.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// How many columns a character takes: the wide ranges of East Asia and
/// pictographs, and the marks that combine with the character before.
fn width(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x2_0000..=0x3_fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str, style: Style) -> Span {
        Span { text: text.to_owned(), style }
    }

    #[test]
    fn styles_are_read() {
        let plain = Style::default();
        let bold = Style { bold: true, ..plain };
        let red = Style { foreground: Some(Colour::Named(1)), ..plain };
        assert_eq!(
            lines("a\x1b[1mb\x1b[22mc\x1b[31md\x1b[me\n\n"),
            [vec![
                span("a", plain),
                span("b", bold),
                span("c", plain),
                span("d", red),
                span("e", plain)
            ]]
        );
        let both = Style {
            foreground: Some(Colour::Named(12)),
            background: Some(Colour::Named(3)),
            dim: true,
            ..plain
        };
        assert_eq!(lines("\x1b[0;2;94;43mx"), [vec![span("x", both)]]);
    }

    #[test]
    fn a_style_lasts_over_the_end_of_a_line() {
        let green = Style { foreground: Some(Colour::Named(2)), ..Style::default() };
        assert_eq!(lines("\x1b[32ma\r\nb"), [vec![span("a", green)], vec![span("b", green)]]);
    }

    #[test]
    fn extended_colours_are_read() {
        let colour = |text: &str| lines(text)[0][0].style.foreground;
        assert_eq!(colour("\x1b[38;5;9mx"), Some(Colour::Named(9)));
        assert_eq!(colour("\x1b[38;5;196mx"), Some(Colour::Rgb(255, 0, 0)));
        assert_eq!(colour("\x1b[38;5;232mx"), Some(Colour::Rgb(8, 8, 8)));
        assert_eq!(colour("\x1b[38;5;255mx"), Some(Colour::Rgb(238, 238, 238)));
        assert_eq!(colour("\x1b[38;2;1;2;3mx"), Some(Colour::Rgb(1, 2, 3)));
        assert_eq!(colour("\x1b[38;5mx"), None, "damaged");
        assert_eq!(colour("\x1b[999;mx"), None);
    }

    #[test]
    fn other_sequences_are_skipped() {
        for text in ["\x1b[?25lx\x1b[K", "\x1b]0;title\x07x", "\x1b]8;;u\x1b\\x", "\x1b(Bx\x07"] {
            assert_eq!(lines(text), [vec![span("x", Style::default())]], "{text:?}");
        }
        assert_eq!(lines("\x1b["), Vec::<Line>::new(), "cut off");
    }

    #[test]
    fn tabs_and_carriage_returns() {
        assert_eq!(plain("ab\tc"), "ab      c");
        assert_eq!(plain("50 %\r100 %\n"), "100 %");
    }

    #[test]
    fn the_last_screen_follows_the_last_clearing() {
        assert_eq!(last_screen("old\n\x1b[H\x1b[2Jnew\nend\n"), "new\nend\n");
        assert_eq!(last_screen("\x1b[2J\x1b[Hone\n\x1b[2J\x1b[Htwo\n\x1b[J"), "two\n");
        assert_eq!(last_screen("\x1b[2J"), "");
    }

    #[test]
    fn the_last_table_begins_with_the_same_line() {
        let head = "\x1b[1mCounter  Value\x1b[0m\n";
        assert_eq!(last_screen(&format!("{head}a  1\n{head}a  2\n")), format!("{head}a  2"));
        // The time of day in it may differ.
        let text = "host  12:00:01\n\na  1\n\nhost  12:00:02\n\na  2\n";
        assert_eq!(last_screen(text), "host  12:00:02\n\na  2");
        // An empty line inside a table does not end it.
        let text = format!("{head}a  1\n\nb  1\n{head}a  2\n\nb  2\n");
        assert_eq!(last_screen(&text), format!("{head}a  2\n\nb  2"));
    }

    #[test]
    fn the_last_table_follows_an_empty_line() {
        assert_eq!(last_screen("12:00:01\na  1\n\n12:00:02\na  2\n\n"), "12:00:02\na  2");
        assert_eq!(last_screen("\n\none\ntwo\n"), "one\ntwo");
        assert_eq!(last_screen(""), "");
        assert_eq!(last_screen("\n\n"), "");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(columns("abc"), 3);
        assert_eq!(columns("内存"), 4);
        assert_eq!(columns("e\u{301}"), 1);
        assert_eq!(columns("─█"), 2);
    }
}
