//! Which variables an expression names.

/// Whether an expression contains the name of a variable as a word that does not follow a `.`, a letter or a digit.
pub(super) fn names(expression: &str, name: &str) -> bool {
    // Most expressions are short: a search for one letter is faster than the setup of a search for a word.
    let Some(first) = name.chars().next() else { return false };
    let mut from = 0;
    while let Some(start) = expression.get(from..).and_then(|rest| rest.find(first)).map(|at| from + at) {
        let bytes = expression.as_bytes();
        let before = start.checked_sub(1).and_then(|before| bytes.get(before));
        if !bytes.get(start..).is_some_and(|rest| rest.starts_with(name.as_bytes())) {
            from = start + first.len_utf8();
            continue;
        }
        from = start + name.len();
        if !before.is_some_and(|byte| *byte == b'.' || byte.is_ascii_alphanumeric())
            && !bytes.get(from).is_some_and(|byte| *byte == b'_' || byte.is_ascii_alphanumeric())
        {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_words() {
        for text in [
            "one<two",
            "(one)",
            "one.two",
            "one.two.three",
            "one-two",
            "one; two; three",
            "one>two",
            "one, two, three",
            "\"one-two\"",
            "x_one",
        ] {
            assert!(names(text, "one"), "{text}");
        }
        for text in ["oneTwo", "one1", "one_two", "two.one", "", "on", "twoone", "äone1", "oneone"] {
            assert!(!names(text, "one"), "{text}");
        }
        assert!(names("äone ", "one") && names("oneß", "one"));
        // Occurrences do not overlap.
        assert!(!names(".a-a-a", "a-a") && names("a-a-a", "a-a"));
    }
}
