//! Text from objects and policies, fit for a terminal.

/// The text without characters that act on a terminal or turn the direction of writing; line ends and tabs
/// stay.
pub fn printable(text: &str) -> String {
    let acts = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    text.chars().map(|c| if acts(c) || turns(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// A name on one line: as [`printable`], and without line ends and tabs.
pub fn printable_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || turns(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn turns(c: char) -> bool {
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
