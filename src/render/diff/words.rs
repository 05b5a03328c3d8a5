//! Differences inside of two lines.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Lines with more words are not compared word by word.
const MAX_WORDS: usize = 1000;

/// Parts of a line, in bytes.
pub(super) type Parts = Vec<Range<usize>>;

/// The parts of two lines that differ; `None` where the lines have too little in common.
pub(super) fn differing(old: &str, new: &str) -> Option<(Parts, Parts)> {
    let (old_parts, new_parts) = (words(old)?, words(new)?);
    let old_words: Vec<&str> = old_parts.iter().map(|part| &old[part.clone()]).collect();
    let new_words: Vec<&str> = new_parts.iter().map(|part| &new[part.clone()]).collect();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let mut common = 0;
    for operation in capture_diff_slices(Algorithm::Myers, &old_words, &new_words) {
        let (tag, before, after) = operation.as_tag_tuple();
        if tag == DiffTag::Equal {
            common += old_words[before].iter().map(|word| word.trim().len()).sum::<usize>();
            continue;
        }
        removed.extend(joined(&old_parts[before]));
        added.extend(joined(&new_parts[after]));
    }
    let length = |line: &str| line.split_whitespace().map(str::len).sum::<usize>();
    (common * 3 >= length(old).max(length(new))).then_some((removed, added))
}

/// Neighbouring words as one part.
fn joined(words: &[Range<usize>]) -> Option<Range<usize>> {
    Some(words.first()?.start..words.last()?.end)
}

/// The words of a line: letters and digits, blanks, and every other character alone; `None` if there are too many.
fn words(line: &str) -> Option<Parts> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    let mut found = Parts::new();
    let mut last = 0;
    for (at, c) in line.char_indices() {
        let end = at + c.len_utf8();
        match found.last_mut() {
            Some(word) if class(c) != 0 && class(c) == last => word.end = end,
            _ => found.push(at..end),
        }
        if found.len() > MAX_WORDS {
            return None;
        }
        last = class(c);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_are_found() {
        let shown = |old: &str, new: &str| {
            differing(old, new).map(|(removed, added)| {
                let of = |line: &str, parts: Vec<Range<usize>>| {
                    parts.into_iter().map(|part| line[part].to_owned()).collect::<Vec<_>>().join("|")
                };
                format!("{} > {}", of(old, removed), of(new, added))
            })
        };
        assert_eq!(shown("  image: nginx:1.25", "  image: nginx:1.26").as_deref(), Some("25 > 26"));
        assert_eq!(shown("a: [b, c]", "a: [b, c, d]").as_deref(), Some(" > , d"));
        assert_eq!(shown("name: web", "replicas: 3"), None);
    }

    #[test]
    fn very_long_lines_are_not_compared() {
        let long = "a ".repeat(MAX_WORDS);
        assert_eq!(differing(&long, &long), None);
    }
}
