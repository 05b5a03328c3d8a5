//! The lexical forms: where variables and references stand in a string.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Innermost variables: no braces inside but single groups without braces of their own. What stands
/// before counts as part of the match, so that an escaped brace is none.
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[^\\])(\{\{(?:\{[^{}]*\}|[^{}])*\}\})").expect("the expression is constant and valid")
});

/// `$(`, any character, then whatever holds no blank, up to the last `)`.
static REFERENCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:^|[^\\])(\$\(.[^ ]*\))").expect("the expression is constant and valid"));

/// A variable found in a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable<'a> {
    /// Where it stands, braces included.
    pub(super) range: Range<usize>,
    /// What stands between the braces, without blanks and marks.
    pub(super) expression: &'a str,
    /// Written `{{- …}}`: braces in the result are text.
    pub(super) shallow: bool,
}

/// Whether a string holds a variable that is not escaped.
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

/// Replaces one round of variables, the innermost, by what `with` makes of their expressions; `None` where
/// there is none.
pub fn replace_variables(text: &str, mut with: impl FnMut(&str) -> String) -> Option<String> {
    let found = variables(text);
    if found.is_empty() {
        return None;
    }
    let mut replaced = String::with_capacity(text.len());
    let mut end = 0;
    for variable in found {
        replaced.push_str(text.get(end..variable.range.start).unwrap_or_default());
        replaced.push_str(&with(variable.expression));
        end = variable.range.end;
    }
    replaced.push_str(text.get(end..).unwrap_or_default());
    Some(replaced)
}

/// The places of the `$(…)` references of a string.
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

/// Takes the backslash from escaped variables.
pub(super) fn unescape_variables(text: &str) -> String {
    text.replace(r"\{{", "{{")
}

/// Takes the backslash from escaped references.
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
        // What touches a variable on its left waits for the next round.
        assert_eq!(found("x{{a}}{{b}}"), [("{{a}}", "a", false)]);
        assert_eq!(found(" {{ value }}"), [("{{ value }}", "value", false)]);
        assert_eq!(found("é{{ a }}"), [("{{ a }}", "a", false)]);
    }

    #[test]
    fn one_level_of_single_braces_is_allowed_inside() {
        assert_eq!(found("{{ {x: a} }}"), [("{{ {x: a} }}", "{x: a}", false)]);
        assert_eq!(found("{{{x: a}}}"), [("{{{x: a}}}", "{x: a}", false)]);
        assert!(found(r#"{{ `{"a":{"b":1}}` }}"#).is_empty());
    }

    #[test]
    fn escaped_and_broken_variables_are_text() {
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
    fn a_reference_holds_something_and_no_blank() {
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
