//! Suggestions for names that were not found.

/// `; did you mean "A", "B" or "C"?`, to be appended to a message; empty if
/// there is no suggestion.
#[must_use]
pub fn did_you_mean(nearest: &[&str]) -> String {
    let quoted: Vec<String> = nearest.iter().map(|name| format!("{name:?}")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [head @ .., last] => format!("; did you mean {} or {last}?", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_joined_by_commas_and_or() {
        assert_eq!(did_you_mean(&[]), "");
        assert_eq!(did_you_mean(&["A"]), "; did you mean \"A\"?");
        assert_eq!(did_you_mean(&["A", "B", "C"]), "; did you mean \"A\", \"B\" or \"C\"?");
    }
}
