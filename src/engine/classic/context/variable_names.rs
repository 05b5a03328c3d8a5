//! Which variables an expression names.

/// Whether an expression contains the name of a variable as a word that does not follow a `.`, a letter or a digit.
pub(super) fn names(expression: &str, name: &str) -> bool {
    let bytes = expression.as_bytes();
    let mut from = 0;
    while let Some(start) = find(bytes, name.as_bytes(), from) {
        let before = start.checked_sub(1).and_then(|before| bytes.get(before));
        from = start + name.len();
        if !before.is_some_and(|byte| *byte == b'.' || byte.is_ascii_alphanumeric())
            && !bytes.get(from).is_some_and(|byte| *byte == b'_' || byte.is_ascii_alphanumeric())
        {
            return true;
        }
    }
    false
}

/// Whether an expression contains a text.
pub(super) fn contains(expression: &str, text: &str) -> bool {
    find(expression.as_bytes(), text.as_bytes(), 0).is_some()
}

/// Where a text is found from a place on. Most expressions are short: what a search of the standard library prepares
/// would take longer.
fn find(expression: &[u8], text: &[u8], from: usize) -> Option<usize> {
    let first = text.first()?;
    let last = expression.len().checked_sub(text.len())?;
    let mut rest = expression.get(from..=last)?.iter().zip(from..);
    rest.find(|(byte, at)| *byte == first && expression[*at..].starts_with(text)).map(|(_, at)| at)
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
