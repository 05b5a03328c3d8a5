//! Tabs as indentation inside brackets and quotes, which Go accepts and our parser does not.

/// The text with blanks for the tabs that start the line at an offset, and for those of the lines that
/// follow it inside the same brackets. `None` where the line neither is inside brackets or quotes nor
/// starts with a tab; every offset keeps its meaning.
pub(super) fn with_spaces(text: &str, offset: usize, quoted: bool) -> Option<String> {
    let before = text.get(..offset)?;
    let mut start = before.rfind('\n').map_or(0, |index| index + 1);
    let mut opened = text[..start].trim_end().ends_with(OPENING);
    let mut out = String::from(&text[..start]);
    let mut changed = false;
    for line in text[start..].split_inclusive('\n') {
        let content = line.trim_start_matches([' ', '\t']);
        let inside = opened || content.starts_with([']', '}']);
        if !inside && (!quoted || changed) {
            break;
        }
        let lead = &line[..line.len() - content.len()];
        changed |= lead.contains('\t');
        out.push_str(&lead.replace('\t', " "));
        out.push_str(content);
        start += line.len();
        let end = content.split(" #").next().unwrap_or_default().trim_end();
        opened = end.ends_with(OPENING) || (inside && (end.is_empty() || end.starts_with('#')));
    }
    out.push_str(&text[start..]);
    changed.then_some(out)
}

/// The ends of lines after which the next line is inside brackets.
const OPENING: [char; 3] = ['[', '{', ','];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_inside_brackets_become_blanks() {
        let text = "a: [\n\t1,\n\t{b: 2},\n\n\t# c\n\t3\n\t]\nb: |\n\tx\n";
        let spaced = with_spaces(text, 6, false).unwrap();
        assert_eq!(spaced, "a: [\n 1,\n {b: 2},\n\n # c\n 3\n ]\nb: |\n\tx\n");
    }

    #[test]
    fn tabs_elsewhere_stay() {
        assert_eq!(with_spaces("a:\n\tb: 1\n", 4, false), None);
        assert_eq!(with_spaces("a: [\n1]\n", 5, false), None);
        assert_eq!(with_spaces("a: 'x\n\ty\n\tz'", 6, true).as_deref(), Some("a: 'x\n y\n\tz'"));
    }
}
