//! Texts against wildcards.

use super::cel_text::{Cel, Operator};

/// Whether a text matches a pattern with the wildcards `*` and `?`.
pub(super) fn wildcard(text: Cel, pattern: &str) -> Cel {
    if !pattern.contains(['*', '?']) {
        return text.equals(Cel::text(pattern));
    }
    if pattern.bytes().all(|byte| byte == b'*') {
        return Cel::bool(true);
    }
    if pattern == "?*" || pattern == "*?" {
        return text.compare(Operator::NotEqual, Cel::text(""));
    }
    let inner = pattern.trim_matches('*');
    let starts = pattern.starts_with('*');
    let ends = pattern.ends_with('*');
    if !inner.contains(['*', '?']) {
        return match (starts, ends) {
            (true, true) => text.call("contains", [Cel::text(inner)]),
            (true, false) => text.call("endsWith", [Cel::text(inner)]),
            (false, _) => text.call("startsWith", [Cel::text(inner)]),
        };
    }
    let both = |head: &str, tail: &str| {
        Cel::all(vec![
            text.clone().call("startsWith", [Cel::text(head)]),
            text.clone().call("endsWith", [Cel::text(tail)]),
            text.clone()
                .call("size", [])
                .compare(Operator::GreaterOrEqual, Cel::int(head.chars().count() + tail.chars().count())),
        ])
    };
    if let Some((head, tail)) = pattern.split_once('*')
        && !head.is_empty()
        && !tail.is_empty()
        && !head.contains('?')
        && !tail.contains(['*', '?'])
    {
        return both(head, tail);
    }
    text.call("matches", [Cel::text(regular_expression(pattern))])
}

/// A pattern as a regular expression; `.` matches line breaks, too.
fn regular_expression(pattern: &str) -> String {
    let mut out = "(?s)^".to_owned();
    let mut last = ' ';
    for c in pattern.chars() {
        match c {
            '*' if last == '*' => {}
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            c if r"\.+()[]{}|^$".contains(c) => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
        last = c;
    }
    out.push('$');
    out
}

/// The regular expression of a pattern that is computed. All but its wildcards is quoted.
pub(super) fn computed_wildcard(pattern: Cel) -> Cel {
    let replaced = [("\\E", "\\E\\\\E\\Q"), ("*", "\\E.*\\Q"), ("?", "\\E.\\Q")]
        .into_iter()
        .fold(pattern, |text, (old, new)| text.call("replace", [Cel::text(old), Cel::text(new)]));
    Cel::text("(?s)^\\Q").plus(replaced).plus(Cel::text("\\E$"))
}

/// Whether every text that matches a pattern reads as neither a quantity nor a duration.
pub(super) fn is_never_a_quantity(pattern: &str) -> bool {
    // A quantity or a duration begins with a sign, a point or a digit, and has few letters after it.
    let literal: Vec<char> = pattern.chars().filter(|c| !matches!(c, '*' | '?')).collect();
    let starts_with_letter = pattern
        .chars()
        .next()
        .is_some_and(|c| !matches!(c, '*' | '?' | '+' | '-' | '.') && !c.is_ascii_digit());
    starts_with_letter || literal.iter().any(|c| !c.is_ascii_digit() && !"+-.eEinumkKMGTPhsdwµμ".contains(*c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_become_the_simplest_test() {
        for (pattern, expected) in [
            ("abc", "x == \"abc\""),
            ("*", "true"),
            ("?*", "x != \"\""),
            ("a*", "x.startsWith(\"a\")"),
            ("*:latest", "x.endsWith(\":latest\")"),
            ("*a*", "x.contains(\"a\")"),
            ("a*b", "x.startsWith(\"a\") && x.endsWith(\"b\") && x.size() >= 2"),
            ("a?b.*", r#"x.matches("(?s)^a.b\\..*$")"#),
            ("**", "true"),
            ("x?", "x.matches(\"(?s)^x.$\")"),
        ] {
            assert_eq!(wildcard(Cel::atom("x"), pattern).to_string(), expected, "{pattern}");
        }
    }

    #[test]
    fn a_computed_pattern_is_quoted_but_for_its_wildcards() {
        assert_eq!(
            computed_wildcard(Cel::atom("x")).to_string(),
            r#""(?s)^\\Q" + x.replace("\\E", "\\E\\\\E\\Q").replace("*", "\\E.*\\Q").replace("?", "\\E.\\Q") + "\\E$""#
        );
    }

    #[test]
    fn some_patterns_match_no_quantity() {
        for (pattern, expected) in [
            ("kube-*", true),
            ("*:latest", true),
            ("1*", false),
            ("*", false),
            ("10m", false),
            ("a", true),
            ("?*", false),
        ] {
            assert_eq!(is_never_a_quantity(pattern), expected, "{pattern}");
        }
    }
}
