//! Fields of rows.

/// One field of a row, as exact as the source gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    /// No value: `null`, or an empty field.
    None,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Unsigned(u64),
    /// A whole number that may be negative.
    Signed(i64),
    /// A floating-point number. Infinities and NaN are written as no value.
    Float(f64),
    /// A text.
    Text(&'a str),
}

impl<'a> Field<'a> {
    /// The text as a field; [`Field::None`] for `None`.
    #[must_use]
    pub fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::None, Self::Text)
    }

    /// The whole number as a field; [`Field::None`] for `None`.
    #[must_use]
    pub fn unsigned(number: Option<u64>) -> Self {
        number.map_or(Self::None, Self::Unsigned)
    }
}
