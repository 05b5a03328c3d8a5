//! Lines of texts and their differences.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// The number of lines in both texts above which lines that occur once in each of them are aligned first.
const PATIENCE_LINES: usize = 20_000;

/// Consecutive lines that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    /// The removed lines.
    pub(super) old: Range<usize>,
    /// The added lines.
    pub(super) new: Range<usize>,
}

/// The lines of a text with their line ends. As for programs that apply diffs, a lone carriage return ends no line.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The differences of two texts, in order.
pub(super) fn edits(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = rest.take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Edit> = Vec::new();
    // The time for a minimal diff is the length of the texts times the number of changes.
    let algorithm =
        if old.len() + new.len() > PATIENCE_LINES { Algorithm::Patience } else { Algorithm::Myers };
    for operation in capture_diff_slices(algorithm, old, new) {
        let (tag, old, new) = operation.as_tag_tuple();
        if tag == DiffTag::Equal {
            continue;
        }
        let edit = Edit { old: old.start + head..old.end + head, new: new.start + head..new.end + head };
        match found.last_mut() {
            Some(last) if last.old.end == edit.old.start && last.new.end == edit.new.start => {
                (last.old.end, last.new.end) = (edit.old.end, edit.new.end);
            }
            _ => found.push(edit),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_differences_are_edits() {
        let found = |old, new| edits(&lines(old), &lines(new));
        assert!(found("a\nb\n", "a\nb\n").is_empty());
        assert_eq!(found("a\nb\nc\n", "a\nx\ny\nc\n"), [Edit { old: 1..2, new: 1..3 }]);
        assert_eq!(found("a\nb\n", "a\n"), [Edit { old: 1..2, new: 1..1 }]);
        assert_eq!(found("a", "a\n"), [Edit { old: 0..1, new: 0..1 }]);
        assert_eq!(
            found("a\nb\nc\nd\n", "x\nb\nc\n"),
            [Edit { old: 0..1, new: 0..1 }, Edit { old: 3..4, new: 3..3 }]
        );
    }

    #[test]
    fn a_lone_carriage_return_ends_no_line() {
        assert_eq!(lines("a\rb\r\nc"), ["a\rb\r\n", "c"]);
    }
}
