//! The styles of text, in the terminal's sixteen colours.

/// The style of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    /// The style of most text.
    #[default]
    Plain,
    /// A heading.
    Heading,
    /// A name, which the reader looks for.
    Name,
    /// Less important text: units, indexes, notes.
    Faint,
    /// Something that deserves attention, such as a missing value.
    Attention,
    /// An error.
    Bad,
    /// A curve.
    Curve,
}

/// The escape sequence that ends any style.
pub(crate) const RESET: &str = "\x1b[0m";

impl Style {
    /// The escape sequence that begins the style; empty for plain text.
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

/// The colours of the output; `false` means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Palette(pub(crate) bool);

impl Palette {
    /// Appends a text in a style, or plain without colours.
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
