//! Comments that suppress findings: `# kyv:ignore KYV903 the controller removes it`.

use std::ops::Range;

/// What the comment begins with, behind `#`.
const MARK: &str = "kyv:ignore ";

/// A comment that suppresses findings of one code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// The line of the comment, from 1.
    pub line: usize,
    /// The text of that line.
    pub text: String,
    /// The code.
    pub code: String,
    /// Why; empty if the comment does not say it.
    pub reason: String,
    /// The lines whose findings are suppressed.
    pub lines: Range<usize>,
}

impl Suppression {
    /// Whether a finding of this code at this line is suppressed.
    pub fn covers(&self, code: &str, line: usize) -> bool {
        !self.reason.is_empty() && self.code.eq_ignore_ascii_case(code) && self.lines.contains(&line)
    }
}

/// The suppressions in the text of a file. A comment behind something is for its line; one on a line of its own is for
/// the node that begins on the next line.
pub fn suppressions(text: &str) -> Vec<Suppression> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    // The node behind the last comment: comments above one another have the same.
    let mut node: Option<Range<usize>> = None;
    for (index, line) in lines.iter().enumerate() {
        let Some((start, rest)) = marked(line) else { continue };
        let (code, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let covered = if line[..start].trim().is_empty() {
            let known = node.take().filter(|node| index < node.start);
            node.insert(known.unwrap_or_else(|| node_after(&lines, index))).clone()
        } else {
            index..index + 1
        };
        found.push(Suppression {
            line: index + 1,
            text: (*line).to_owned(),
            code: code.to_owned(),
            reason: reason.trim().to_owned(),
            // Lines count from 1.
            lines: covered.start + 1..covered.end + 1,
        });
    }
    found
}

/// Where a comment that suppresses something begins in a line, and what it says.
fn marked(line: &str) -> Option<(usize, &str)> {
    let (before, rest) = line.split_once(MARK)?;
    let comment = before.trim_end().strip_suffix('#')?;
    let is_comment = comment.chars().next_back().is_none_or(char::is_whitespace) && !ends_in_quotes(comment);
    is_comment.then_some((comment.len(), rest.trim()))
}

/// Whether the end of a part of a line is in a quoted text that begins in it.
fn ends_in_quotes(part: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    let mut chars = part.chars();
    while let Some(char) = chars.next() {
        match quote {
            Some('"') if char == '\\' => {
                chars.next();
            }
            Some(open) if char == open => quote = None,
            // A doubled single quote is one in the text.
            None if char == '\'' && before == '\'' => quote = Some(char),
            None if matches!(char, '"' | '\'') && matches!(before, ' ' | '\t' | '[' | '{' | ',' | ':') => {
                quote = Some(char);
            }
            _ => {}
        }
        before = char;
    }
    quote.is_some()
}

/// The lines of the node that begins behind a line, from 0: up to the next line that is not indented more. Empty, behind
/// the last line, if there is none.
fn node_after(lines: &[&str], comment: usize) -> Range<usize> {
    let is_content = |line: &str| !matches!(line.trim_start().bytes().next(), None | Some(b'#'));
    let indent = |line: &str| line.len() - line.trim_start().len();
    let behind = (comment + 1..lines.len()).filter(|index| is_content(lines[*index]));
    let mut behind = behind.map(|index| (index, indent(lines[index])));
    let Some((start, depth)) = behind.next() else { return lines.len()..lines.len() };
    let is_key_of_list = !lines[start].trim_start().starts_with("- ");
    let ends = |(index, indent): &(usize, usize)| {
        // The elements of a list may be indented as the key above them.
        let is_element = lines[*index].trim_start().starts_with("- ");
        *indent < depth || *indent == depth && !(is_element && is_key_of_list)
    };
    let end = behind.find(ends).map_or(lines.len(), |(index, _)| index);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_for_its_line_or_the_node_below() {
        let text = "\
spec:
  rules:
  # kyv:ignore KYV903 a controller removes it
  - name: a
    match: {}
    # another comment
    mutate: {}
  - name: b   # kyv:ignore KYV901 on purpose
    # kyv:ignore KYV904
    mutate: {}
";
        let found = suppressions(text);
        let row = |line, code: &str, reason: &str, lines| Suppression {
            line,
            text: text.lines().nth(line - 1).unwrap().to_owned(),
            code: code.to_owned(),
            reason: reason.to_owned(),
            lines,
        };
        assert_eq!(
            found,
            [
                row(3, "KYV903", "a controller removes it", 4..8),
                row(8, "KYV901", "on purpose", 8..9),
                row(9, "KYV904", "", 10..11),
            ]
        );
        assert!(
            found[0].covers("KYV903", 7) && !found[0].covers("KYV903", 8) && !found[0].covers("KYV901", 7)
        );
        assert!(!found[2].covers("KYV904", 10), "a suppression needs a reason");
    }

    #[test]
    fn the_space_behind_the_number_sign_may_be_missing() {
        assert_eq!(suppressions("a: b #kyv:ignore KYV901 x\n")[0].reason, "x");
        for text in ["a: b#kyv:ignore KYV901 x\n", "a: kyv:ignore KYV901 x\n"] {
            assert!(suppressions(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_comment_in_quotes_is_text() {
        let comment = "# kyv:ignore KYV901 x";
        for before in ["a: \"b ", "a: 'b ", "{a: 'it''s ", r#"a: "b\" "#] {
            assert!(suppressions(&format!("{before}{comment}\n")).is_empty(), "{before}");
        }
        for before in ["a: it's ", "a: \"b\" ", "a: 'b''' ", "a: b \"c\" d "] {
            assert_eq!(suppressions(&format!("{before}{comment}\n")).len(), 1, "{before}");
        }
    }

    #[test]
    fn a_list_may_be_indented_as_its_key() {
        let text = "a:\n  # kyv:ignore KYV901 x\n  b:\n  - c\n  - d\n  e: f\n";
        assert_eq!(suppressions(text)[0].lines, 3..6);
        let both = "# kyv:ignore KYV901 x\n\n# kyv:ignore KYV902 y\na:\n  b: c\nd: e\n";
        let lines: Vec<_> = suppressions(both).into_iter().map(|one| one.lines).collect();
        assert_eq!(lines, [4..6, 4..6]);
        assert_eq!(suppressions("a: b\n# kyv:ignore KYV901 x\n")[0].lines, 3..3);
    }
}
