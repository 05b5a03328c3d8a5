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

/// The offset of the first text behind a tab that indents a line after the start of a plain scalar. A tab may be in the
/// lines of the scalar behind the indentation that they need.
pub(super) fn after_tab(text: &str, scalar: usize) -> Option<usize> {
    let line_start = text.get(..scalar)?.rfind('\n').map_or(0, |index| index + 1);
    let key = text.get(line_start..scalar)?.trim_start_matches([' ', '-']);
    let indent = scalar - line_start - key.len();
    let mut start = line_start;
    for line in text.get(line_start..)?.split_inclusive('\n') {
        let lead = line.len() - line.trim_start_matches([' ', '\t']).len();
        let tab = line.get(..lead)?.find('\t').filter(|tab| *tab <= indent && start > scalar);
        if tab.is_some() && !line.trim().is_empty() {
            return Some(start + lead);
        }
        start += line.len();
    }
    None
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
    fn tabs_after_a_plain_scalar_are_found() {
        for (text, scalar, behind) in [
            ("a: x\n\tb: 1\n", "x", "b"),
            ("a:\n  b: x\n\tc: 1\n", "x", "c"),
            ("- x\n\t- y\n", "x", "- y"),
            ("a: x\n\t\n\n  y\n \t\n\tb: 1\n", "x", "b"),
            ("a:\n- b: x\n   \ty\n\tc: 1\n", "x", "c"),
        ] {
            let found = after_tab(text, text.find(scalar).unwrap());
            assert_eq!(found, text.find(behind), "{text:?}");
            let error = crate::yaml::parse_value(text).unwrap_err();
            let line = text[..found.unwrap()].matches('\n').count() + 1;
            assert!(error.to_string().contains(&format!("{line}:")), "{error}");
        }
        assert_eq!(after_tab("a: x\nb: 1\n", 3), None);
    }

    #[test]
    fn tabs_elsewhere_stay() {
        assert_eq!(with_spaces("a:\n\tb: 1\n", 4, false), None);
        assert_eq!(with_spaces("a: [\n1]\n", 5, false), None);
        assert_eq!(with_spaces("a: 'x\n\ty\n\tz'", 6, true).as_deref(), Some("a: 'x\n y\n\tz'"));
    }
}
