//! Finds variables and references in strings.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Innermost variables: inside are no braces except groups in single braces. The preceding character belongs to the match,
/// so that escaped variables do not match.
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[^\\])(\{\{(?:\{[^{}]*\}|[^{}])*\}\})").expect("the expression is constant and valid")
});

/// `$(`, any character, then no blanks up to the last `)`.
static REFERENCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:^|[^\\])(\$\(.[^ ]*\))").expect("the expression is constant and valid"));

/// A variable in a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable<'a> {
    /// Its range, with the braces.
    pub(super) range: Range<usize>,
    /// The text between the braces, without blanks and dash.
    pub(super) expression: &'a str,
    /// Written `{{- …}}`: variables in the value are not replaced.
    pub(super) shallow: bool,
}

/// Whether a string contains a variable that is not escaped.
pub fn holds_variable(text: &str) -> bool {
    text.contains("{{") && VARIABLE.is_match(text)
}

/// The innermost variables of a string, from left to right.
pub(super) fn variables(text: &str) -> Vec<Variable<'_>> {
    if !text.contains("{{") {
        return Vec::new();
    }
    let found = VARIABLE.captures_iter(text).filter_map(|captures| captures.get(1));
    found
        .map(|whole| {
            let inside = whole.as_str().get(2..whole.len() - 2).unwrap_or_default().trim();
            let (shallow, expression) =
                inside.strip_prefix('-').map_or((false, inside), |rest| (true, rest.trim()));
            Variable { range: whole.range(), expression, shallow }
        })
        .collect()
}

/// Replaces the innermost variables by the result of `with` on their expressions; `None` if there is no variable.
pub fn replace_variables(text: &str, mut with: impl FnMut(&str) -> String) -> Option<String> {
    replace_each_variable(text, |expression, _| with(expression))
}

/// The same; `with` gets to know, too, whether a variable is written `{{- …}}`: variables in its value are not replaced.
pub fn replace_each_variable(text: &str, mut with: impl FnMut(&str, bool) -> String) -> Option<String> {
    let found = variables(text);
    if found.is_empty() {
        return None;
    }
    let mut replaced = String::with_capacity(text.len());
    let mut end = 0;
    for variable in found {
        replaced.push_str(text.get(end..variable.range.start).unwrap_or_default());
        replaced.push_str(&with(variable.expression, variable.shallow));
        end = variable.range.end;
    }
    replaced.push_str(text.get(end..).unwrap_or_default());
    Some(replaced)
}

/// Whether a string contains a reference that is not escaped.
pub fn holds_reference(text: &str) -> bool {
    text.contains("$(") && REFERENCE.is_match(text)
}

/// The ranges of the `$(…)` references in a string.
pub(super) fn references(text: &str) -> Vec<Range<usize>> {
    if !text.contains("$(") {
        return Vec::new();
    }
    REFERENCE
        .captures_iter(text)
        .filter_map(|captures| captures.get(1))
        .map(|reference| reference.range())
        .collect()
}

/// Removes the backslash of escaped variables.
pub(super) fn unescape_variables(text: &str) -> String {
    text.replace(r"\{{", "{{")
}

/// Removes the backslash of escaped references.
pub(super) fn unescape_references(text: &str) -> String {
    text.replace(r"\$(", "$(")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, &str, bool)> {
        variables(text)
            .into_iter()
            .map(|variable| (&text[variable.range], variable.expression, variable.shallow))
            .collect()
    }

    #[test]
    fn the_innermost_variables_are_found_first() {
        assert_eq!(found("{{ a }}"), [("{{ a }}", "a", false)]);
        assert_eq!(found("{{ obj.{{ key }} }}"), [("{{ key }}", "key", false)]);
        assert_eq!(found("x{{a}} {{b}}"), [("{{a}}", "a", false), ("{{b}}", "b", false)]);
        // A variable directly after another is found in the next round.
        assert_eq!(found("x{{a}}{{b}}"), [("{{a}}", "a", false)]);
        assert_eq!(found(" {{ value }}"), [("{{ value }}", "value", false)]);
        assert_eq!(found("é{{ a }}"), [("{{ a }}", "a", false)]);
    }

    #[test]
    fn single_braces_inside_must_not_be_nested() {
        assert_eq!(found("{{ {x: a} }}"), [("{{ {x: a} }}", "{x: a}", false)]);
        assert_eq!(found("{{{x: a}}}"), [("{{{x: a}}}", "{x: a}", false)]);
        assert!(found(r#"{{ `{"a":{"b":1}}` }}"#).is_empty());
    }

    #[test]
    fn escaped_and_incomplete_variables_are_text() {
        for text in [r"\{{ a }}", "{{ a", "{{request.object", "{{ a }", "{ {a} }", "a"] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn variables_are_replaced_round_by_round() {
        let mut seen = Vec::new();
        let mut text = String::from(r"a {{ b.{{ c }} }}{{d}} \{{ e }}");
        while let Some(next) = replace_variables(&text, |expression| {
            seen.push(expression.to_owned());
            "x".into()
        }) {
            text = next;
        }
        assert_eq!(text, r"a xx \{{ e }}");
        assert_eq!(seen, ["c", "d", "b.x"]);
        for (text, expected) in
            [(r"{{ foo }} \{{foo}} {{foo}}", r"test \{{foo}} test"), ("{{ foo {{foo}} }}", "{{ foo test }}")]
        {
            assert_eq!(replace_variables(text, |_| "test".into()).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_dash_marks_a_shallow_variable() {
        assert_eq!(found("{{- a }}"), [("{{- a }}", "a", true)]);
        assert_eq!(found("{{ - a }}"), [("{{ - a }}", "a", true)]);
    }

    #[test]
    fn a_reference_is_not_empty_and_has_no_blank() {
        let found =
            |text: &'static str| references(text).into_iter().map(|range| &text[range]).collect::<Vec<_>>();
        assert_eq!(found("$(./../name)"), ["$(./../name)"]);
        assert_eq!(found("$(/b)-$(/c)"), ["$(/b)-$(/c)"]);
        assert_eq!(found("$(/b) $(/c)"), ["$(/b)", "$(/c)"]);
        for text in ["$(./name", "$()", "$(a b)", r"\$(a)", "$(a"] {
            assert!(references(text).is_empty(), "{text}");
        }
    }
}
