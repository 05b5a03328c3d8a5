//! Text from objects and policies, safe for a terminal.

/// The text without control characters, other than line breaks and tabs, and without characters that change the
/// direction of writing.
pub fn printable(text: &str) -> String {
    safe(text, |c| matches!(c, '\n' | '\t'))
}

/// A name on one line: as [`printable`], and without line breaks and tabs.
pub fn printable_line(text: &str) -> String {
    safe(text, |_| false)
}

fn safe(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let is_safe = |c: char| is_kept(c) || !c.is_control() && !changes_direction(c);
    text.chars().map(|c| if is_safe(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// Whether a character changes the direction of writing.
pub(super) fn changes_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[31m\n\tb"), "a\u{fffd}[31m\n\tb");
        assert_eq!(printable_line("a\n\u{202e}b"), "a\u{fffd}\u{fffd}b");
    }
}
