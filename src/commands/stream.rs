//! Documents of several texts, strung together to one stream.

use std::io;

use crate::yaml::Document;

use super::spool::Spool;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Writes documents one after the other. Those of one text keep what stands between them; between texts a
/// line break and a separator are added where there is none.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The input that the last document came from.
    input: Option<usize>,
    /// What was written last has no line break at its end.
    unterminated: bool,
}

impl Stream {
    /// Takes what comes next for another text than what came before, though it may be of the same.
    pub(super) const fn part(&mut self) {
        if self.input.is_some() {
            self.input = Some(usize::MAX);
        }
    }

    /// Writes a document as it is, or with another text.
    pub(super) fn document(
        &mut self,
        input: usize,
        document: &Document,
        changed: Option<&str>,
        out: &mut Spool,
    ) -> io::Result<()> {
        let mut text = changed.unwrap_or_else(|| document.text());
        if text.is_empty() {
            return Ok(());
        }
        let last = self.input.replace(input);
        if last.is_some_and(|last| last != input) {
            self.end_line(out)?;
            text = text.trim_start_matches(BYTE_ORDER_MARK);
            match opening(text) {
                Opening::Separator => {}
                Opening::Directive => out.push("...\n")?,
                Opening::Content => out.push("---\n")?,
            }
        }
        self.unterminated = !text.ends_with('\n');
        out.push(text)
    }

    /// Writes an object that has no text.
    pub(super) fn object(&mut self, printed: &str, out: &mut Spool) -> io::Result<()> {
        self.end_line(out)?;
        if self.input.replace(usize::MAX).is_some() {
            out.push("---\n")?;
        }
        out.push(printed)
    }

    /// Ends the last line. Readers of Kubernetes take it as ended anyway, even inside a block scalar.
    fn end_line(&mut self, out: &mut Spool) -> io::Result<()> {
        if std::mem::take(&mut self.unterminated) { out.push("\n") } else { Ok(()) }
    }
}

/// How a text begins.
#[derive(Debug, PartialEq)]
enum Opening {
    Separator,
    Directive,
    Content,
}

fn opening(text: &str) -> Opening {
    // Blank lines could lengthen a block scalar that the text before ends with.
    if text.starts_with(['\n', '\r', ' ', '\t']) {
        return Opening::Content;
    }
    let line = text.lines().find(|line| !line.trim_start().is_empty() && !line.trim_start().starts_with('#'));
    match line {
        Some(line) if line.starts_with('%') => Opening::Directive,
        Some(line)
            if line
                .strip_prefix("---")
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t'])) =>
        {
            Opening::Separator
        }
        _ => Opening::Content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_text_decides_what_must_stand_before_it() {
        for (text, expected) in [
            ("a: 1\n", Opening::Content),
            ("---\na: 1\n", Opening::Separator),
            ("--- {a: 1}", Opening::Separator),
            ("# c\n\n---\na: 1\n", Opening::Separator),
            ("\n---\na: 1\n", Opening::Content),
            ("---a: 1\n", Opening::Content),
            ("%YAML 1.1\n---\na: 1\n", Opening::Directive),
            ("# c\n%YAML 1.1\n---\n", Opening::Directive),
            ("# c\n", Opening::Content),
        ] {
            assert_eq!(opening(text), expected, "{text:?}");
        }
    }
}
