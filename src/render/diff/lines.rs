//! Lines of texts, and where two texts differ.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Texts of more lines are first held against each other by the lines that stand once in each of them.
const LONG: usize = 20_000;

/// A run of lines that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    /// The lines that go.
    pub(super) old: Range<usize>,
    /// The lines that come.
    pub(super) new: Range<usize>,
}

/// The lines of a text with their line ends. A lone carriage return ends none, for programs that apply diffs
/// know of no such lines.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Where two texts differ, in order.
pub(super) fn edits(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let head = old.iter().zip(new).take_while(|(was, is)| was == is).count();
    let tail =
        old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(was, is)| was == is).count();
    let (was, is) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if was.is_empty() && is.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Edit> = Vec::new();
    // The fewest lines take a time that grows with the length of the texts and with the number of changes.
    let algorithm = if was.len() + is.len() > LONG { Algorithm::Patience } else { Algorithm::Myers };
    for operation in capture_diff_slices(algorithm, was, is) {
        let (tag, gone, come) = operation.as_tag_tuple();
        if tag == DiffTag::Equal {
            continue;
        }
        let edit = Edit { old: gone.start + head..gone.end + head, new: come.start + head..come.end + head };
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
    fn only_what_differs_is_an_edit() {
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
