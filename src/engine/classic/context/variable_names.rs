//! Which variables an expression names.

/// Whether an expression names a variable of the context: the name stands in it as a word that no `.`,
/// letter or digit goes before.
pub(super) fn names(expression: &str, name: &str) -> bool {
    // Most expressions are short: this is sooner done than to prepare a search for more than a letter.
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
    fn a_name_stands_as_a_word() {
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
        // An occurrence that begins in another one is none.
        assert!(!names(".a-a-a", "a-a") && names("a-a-a", "a-a"));
    }
}
