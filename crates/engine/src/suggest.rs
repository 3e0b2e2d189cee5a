//! Names without regard to case, and "did you mean": the names nearest to a mistyped one.

/// The longest text, in characters, for which near names are searched; a longer text has none. The
/// time of a comparison with one name grows with the product of both lengths.
const LONGEST: usize = 256;

/// A name in the form in which names are compared: in lower case.
#[must_use]
pub(crate) fn fold(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// Whether two names are the same without regard to case.
#[must_use]
pub fn same_name(a: &str, b: &str) -> bool {
    let fold = |name| str::chars(name).flat_map(char::to_lowercase);
    a == b || fold(a).eq(fold(b))
}

/// At most `most` names that are near to `wanted`, the nearest first: names that are a few typing
/// errors away (at most a third of the length of `wanted`, but one is always allowed), then names
/// that contain `wanted`, then names that contain some of its words of three letters or more. For a
/// text of more than 256 characters the list is empty.
pub fn nearest<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    nearest_of(wanted, &names.into_iter().collect::<Vec<_>>(), most)
}

/// [`nearest`], compiled once for all kinds of lists.
fn nearest_of<'a>(wanted: &str, names: &[&'a str], most: usize) -> Vec<&'a str> {
    let text: String = fold(wanted).chars().take(LONGEST + 1).collect();
    let wanted: Vec<char> = text.chars().collect();
    if wanted.len() > LONGEST {
        return Vec::new();
    }
    let names = names.iter().copied().filter(|name| !name.is_empty());
    let ranked = names.filter_map(|name| Some((rank(&text, &wanted, name)?, name)));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().take(most).map(|(_, name)| name).collect()
}

/// The rank of a name as a suggestion, the best being the smallest; `None` if the name is not near.
/// `text` and `wanted` are both the mistyped name in lower case.
fn rank(text: &str, wanted: &[char], name: &str) -> Option<usize> {
    let folded = fold(name);
    let name: Vec<char> = folded.chars().collect();
    let most = (wanted.len() / 3).max(1);
    // There are at least as many errors as the lengths differ.
    if wanted.len().abs_diff(name.len()) <= most {
        let distance = distance(wanted, &name);
        if distance <= most {
            return Some(distance);
        }
    }
    // A person who does not know the whole name usually types a part of it.
    if wanted.len() >= 2 && folded.contains(text) {
        return Some(100 + name.len());
    }
    // The right words in another order, or some of them.
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let hits = words.iter().filter(|word| word.len() >= 3 && folded.contains(**word)).count();
    // At most 9 words count, since a text may have many words, or one word many times.
    (hits > 0).then(|| 10_000 - hits.min(9) * 1_000 + name.len())
}

/// The number of typing errors between two texts: letters added, left out, changed, or swapped with
/// their neighbour (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let step = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut best = (step(&above, j) + usize::from(x != y))
                .min(step(&above, j + 1) + 1)
                .min(step(&row, j) + 1);
            if i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x) {
                best = best.min(step(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(a.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_names_are_found_and_long_texts_cost_nothing() {
        let names = ["Process", "Processor", "Thread", "Memory", "Working Set", "Available Bytes"];
        assert_eq!(nearest("Proces", names, 2), ["Process", "Processor"]);
        assert_eq!(nearest("memroy", names, 3), ["Memory"]);
        assert_eq!(nearest("workingset", names, 3), ["Working Set"]);
        assert_eq!(nearest("bytes available", names, 3), ["Available Bytes"]);
        assert!(nearest("xyzzy", names, 3).is_empty());
        // More words than there are ranks.
        assert_eq!(nearest(&"bytes ".repeat(20), names, 3), ["Available Bytes"]);
        assert!(nearest("", names, 3).is_empty());
        // Long texts are not compared letter by letter.
        let long = "Working Set ".repeat(1 << 18);
        assert!(nearest(&long, names, 3).is_empty());
        assert!(nearest(&long, [long.as_str()], 3).is_empty());
        assert_eq!(nearest("working", [long.as_str()], 3), [long.as_str()]);
    }
}
