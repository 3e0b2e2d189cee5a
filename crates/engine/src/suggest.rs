//! "Did you mean": the names nearest to a mistyped one.

use crate::titles::fold;

/// The names nearest to `wanted`, best first, at most `most`: those that begin
/// with it or contain it, and those a few typing errors away.
pub fn nearest<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let wanted: Vec<char> = fold(wanted).chars().collect();
    let mut ranked: Vec<(usize, &str)> = names
        .into_iter()
        .filter(|name| !name.is_empty())
        .filter_map(|name| rank(&wanted, name).map(|rank| (rank, name)))
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().take(most).map(|(_, name)| name).collect()
}

fn rank(wanted: &[char], name: &str) -> Option<usize> {
    let text: String = wanted.iter().collect();
    let folded = fold(name);
    let name: Vec<char> = folded.chars().collect();
    let distance = distance(wanted, &name);
    if distance <= (wanted.len() / 3).max(1) {
        return Some(distance);
    }
    // Part of a name is the usual thing to type when one does not know it.
    if wanted.len() >= 2 && folded.contains(&text) {
        return Some(100 + name.len());
    }
    // The right words in another order, or some of them.
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let hits = words.iter().filter(|word| word.len() >= 3 && folded.contains(**word)).count();
    // The words may be many, and each counts that is written again.
    (hits > 0).then(|| 10_000 - hits.min(9) * 1_000 + name.len())
}

/// Typing errors between two texts: letters added, left out, changed, or
/// swapped with their neighbour (optimal string alignment).
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
    fn finds_what_was_meant() {
        let names = ["Process", "Processor", "Thread", "Memory", "Working Set", "Available Bytes"];
        assert_eq!(nearest("Proces", names, 2), ["Process", "Processor"]);
        assert_eq!(nearest("memroy", names, 3), ["Memory"]);
        assert_eq!(nearest("workingset", names, 3), ["Working Set"]);
        assert_eq!(nearest("bytes available", names, 3), ["Available Bytes"]);
        assert!(nearest("xyzzy", names, 3).is_empty());
        // More words than the ranks have room for.
        assert_eq!(nearest(&"bytes ".repeat(20), names, 3), ["Available Bytes"]);
        assert!(nearest("", names, 3).is_empty());
    }
}
