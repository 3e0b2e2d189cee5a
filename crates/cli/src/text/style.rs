//! Colours, few and of the terminal's own sixteen.

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    /// As everything else.
    #[default]
    Plain,
    /// A heading.
    Heading,
    /// What the eye should find: a name.
    Name,
    /// What matters less: units, indexes, notes.
    Faint,
    /// Something to look at: a value that is missing.
    Attention,
    /// Something wrong.
    Bad,
    /// A curve.
    Curve,
}

/// Ends every style.
pub(crate) const RESET: &str = "\x1b[0m";

impl Style {
    /// The sequence that begins the style; empty for plain text.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Heading => "\x1b[1m",
            Self::Name => "\x1b[36m",
            Self::Faint => "\x1b[2m",
            Self::Attention => "\x1b[33m",
            Self::Bad => "\x1b[31m",
            Self::Curve => "\x1b[32m",
        }
    }
}

/// Whether colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Palette(pub(crate) bool);

impl Palette {
    /// Appends text in a style.
    pub(crate) fn push(self, out: &mut String, style: Style, text: &str) {
        let code = style.code();
        if self.0 && !code.is_empty() && !text.is_empty() {
            out.push_str(code);
            out.push_str(text);
            out.push_str(RESET);
        } else {
            out.push_str(text);
        }
    }
}
