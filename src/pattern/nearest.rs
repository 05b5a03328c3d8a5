//! Suggestions for misspelt names.

/// The candidate most similar to a misspelt name, ignoring case; `None` if none is similar.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const MAX_NAME_BYTES: usize = 64;
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return None;
    }
    let name = name.to_lowercase();
    candidates
        .map(|candidate| (edit_distance(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= 1.max(name.len().min(candidate.len()) / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The Damerau–Levenshtein distance: insertions, deletions, substitutions and swaps of neighbouring letters.
pub fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut older = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut before = None;
    for (row, letter) in from.chars().enumerate() {
        let mut this = vec![row + 1];
        for (column, expected) in to.iter().enumerate() {
            let change = last[column] + usize::from(letter != *expected);
            let mut best = change.min(last[column + 1] + 1).min(this[column] + 1);
            if column > 0 && before == Some(*expected) && to[column - 1] == letter {
                best = best.min(older[column - 1] + 1);
            }
            this.push(best);
        }
        older = last;
        last = this;
        before = Some(letter);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_count_letters_and_swaps() {
        for (a, b, expected) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("ab", "ba", 1)]
        {
            assert_eq!(edit_distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn a_similar_name_is_suggested() {
        let known = ["patchStrategicMerge", "patchesJson6902", "foreach", "targets"];
        for (written, expected) in [
            ("patchStrategicMerg", Some("patchStrategicMerge")),
            ("patchesStrategicMerge", Some("patchStrategicMerge")),
            ("patchesJSON6902", Some("patchesJson6902")),
            ("forEach", Some("foreach")),
            ("tagrets", Some("targets")),
            ("validate", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, known.into_iter()), expected, "{written}");
        }
        assert_eq!(nearest(&"x".repeat(1 << 20), known.into_iter()), None);
    }
}
