//! Colours and styles, as far as the terminal supports them.

use perfhive_view::palette::colour;
use ratatui_core::style::{Color, Modifier, Style};

/// The number of colours that the terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    /// No colours: markers and bold letters are used instead.
    Plain,
    Sixteen,
    Indexed,
    True,
}

/// For each colour of the palette, the nearest of the terminal's sixteen colours.
const SIXTEEN: [Color; 8] = [
    Color::LightBlue,
    Color::Yellow,
    Color::Green,
    Color::Magenta,
    Color::LightYellow,
    Color::Red,
    Color::Cyan,
    Color::Gray,
];

impl Theme {
    /// The theme for the terminal, from COLORTERM, TERM and WT_SESSION; [`Plain`](Self::Plain) if
    /// `has_colours` is false, as with NO_COLOR.
    pub(crate) fn of_environment(
        has_colours: bool,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let color_term = variable("COLORTERM").unwrap_or_default();
        let term = variable("TERM").unwrap_or_default();
        match () {
            () if !has_colours => Self::Plain,
            () if matches!(color_term.as_str(), "truecolor" | "24bit") => Self::True,
            // Windows Terminal supports all colours.
            () if variable("WT_SESSION").is_some() => Self::True,
            () if term.contains("256") => Self::Indexed,
            () => Self::Sixteen,
        }
    }

    /// The style of the line with this place in the palette.
    pub(crate) fn line(self, place: u8) -> Style {
        let (_, (red, green, blue)) = colour(place);
        let colour = match self {
            Self::Plain => return Style::new(),
            Self::Sixteen => {
                SIXTEEN.get(usize::from(place) % SIXTEEN.len()).copied().unwrap_or(Color::Reset)
            }
            Self::Indexed => {
                // The nearest of the terminal's 6 x 6 x 6 colours.
                let level = |part: u8| (u16::from(part) * 5 + 127) / 255;
                let index = 16 + 36 * level(red) + 6 * level(green) + level(blue);
                Color::Indexed(u8::try_from(index).unwrap_or(7))
            }
            Self::True => Color::Rgb(red, green, blue),
        };
        Style::new().fg(colour)
    }

    /// The style of unimportant text.
    pub(crate) fn faint(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Sixteen => Style::new().fg(Color::DarkGray),
            Self::Indexed | Self::True => Style::new().fg(Color::Indexed(244)),
        }
    }

    /// The style of titles.
    pub(crate) fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The style of selected text.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The style of text that needs attention.
    pub(crate) fn attention(self) -> Style {
        match self {
            Self::Plain => Style::new().add_modifier(Modifier::BOLD),
            _ => self.line(5).add_modifier(Modifier::BOLD),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_says_how_many_colours_it_has() {
        let of = |pairs: &'static [(&str, &str)], has| {
            Theme::of_environment(has, |name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_string())
            })
        };
        assert_eq!(of(&[("TERM", "xterm")], true), Theme::Sixteen);
        assert_eq!(of(&[("TERM", "tmux-256color")], true), Theme::Indexed);
        assert_eq!(of(&[("TERM", "xterm"), ("COLORTERM", "truecolor")], true), Theme::True);
        assert_eq!(of(&[("COLORTERM", "truecolor")], false), Theme::Plain);
        // The blue of the palette among the 6 x 6 x 6 colours.
        assert_eq!(Theme::Indexed.line(0).fg, Some(Color::Indexed(16 + 36 * 2 + 6 * 4 + 5)));
    }
}
