//! Which variables a rule may use, and whether they are valid expressions.

use std::sync::LazyLock;

use regex::Regex;

use crate::diagnostics::Code;
use crate::pattern;
use crate::value::{Pointer, Segment, Text, Value};
use crate::variables::{Query, replace_variables};

use super::findings::Findings;
use super::nearest_variable::nearest_variable;
use super::strings::each_string;
use super::written::targets;
use crate::policy::fields::{given, list};

/// What every variable must contain.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"request|serviceAccountName|serviceAccountNamespace|element|elementIndex|@|images|image|([a-z_0-9]+\()[^{}]",
    )
});

/// The same for a policy that also runs in background scans.
static BACKGROUND_NAMES: LazyLock<Regex> =
    LazyLock::new(|| expression(r"request\.|element|elementIndex|@|images|image\.|([a-z_0-9]+\()[^{}]"));

/// The same for rules with targets.
static TARGET_NAMES: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"request\.|serviceAccountName|serviceAccountNamespace|element|elementIndex|@|images|image\.|target\.|([a-z_0-9]+\()[^{}]",
    )
});

/// The fields of a target that name the object.
const TARGET_FIELDS: [&str; 5] = ["apiVersion", "kind", "namespace", "name", "uid"];

/// What only a request of a user has.
pub(super) static USER_NAMES: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?:^|[^.])(?:serviceAccountName|serviceAccountNamespace|request\.userInfo|request\.roles|request\.clusterRoles)",
    )
});

fn expression(text: &str) -> Regex {
    Regex::new(text).expect("the expression is constant and valid")
}

/// The deepest that variables may be nested in one another.
pub(super) const MAX_NESTING: usize = 32;

/// What the check depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Whether the policy also runs in background scans.
    pub(super) background: bool,
    /// Whether a rule of the policy has targets, which allows variables about users.
    pub(super) targets: bool,
}

/// Checks all variables of a mutate rule outside `match` and `exclude`.
pub(super) fn check(rule: &Value, at: &Pointer, settings: Settings, findings: &mut Findings) {
    let mut rule_context = Vec::new();
    declared(rule, &mut rule_context);
    let mut names = rule_context.clone();
    if let Some(mutate) = rule.get("mutate") {
        foreach_names(mutate, &mut names);
        list(mutate, "targets").iter().for_each(|target| declared(target, &mut names));
    }
    let has_targets = targets(rule).is_some();
    let mut check = Check {
        root: at,
        at: Pointer::ROOT,
        settings,
        names,
        rule_context,
        has_targets,
        in_foreach: false,
        findings,
    };
    for (key, member) in rule.as_object().into_iter().flat_map(|members| members.iter()) {
        if !matches!(&**key, "match" | "exclude" | "name") {
            check.at.push_key(key.clone());
            check.value(member);
            check.at.pop();
        }
    }
}

/// Adds the patterns of the variables that the `context` of a rule, target or foreach declares.
fn declared(block: &Value, names: &mut Vec<String>) {
    for entry in list(block, "context") {
        let Some(name) = entry.get("name").and_then(Value::as_str) else { continue };
        if given(entry, "configMap").is_some() {
            for field in ["data", "metadata"] {
                names.extend([format!("{name}.{field}"), format!("{name}.{field}.*")]);
            }
        } else {
            names.push(format!("{name}*"));
        }
    }
}

fn foreach_names(block: &Value, names: &mut Vec<String>) {
    for entry in list(block, "foreach") {
        declared(entry, names);
        foreach_names(entry, names);
    }
}

struct Check<'a> {
    root: &'a Pointer,
    /// The place in the rule.
    at: Pointer,
    settings: Settings,
    /// Patterns of all variables that the rule declares.
    names: Vec<String>,
    /// Patterns of those in the `context` of the rule itself.
    rule_context: Vec<String>,
    has_targets: bool,
    in_foreach: bool,
    findings: &'a mut Findings,
}

impl Check<'_> {
    fn value(&mut self, value: &Value) {
        let mut at = self.at.clone();
        each_string(value, &mut at, &mut |at, text| {
            self.at.clone_from(at);
            let below = self.at.segments().get(1);
            self.in_foreach = matches!(below, Some(Segment::Key(key)) if &**key == "foreach");
            self.text(text);
        });
        self.in_foreach = false;
        self.at = at;
    }

    /// Checks the variables of a string from the inside out. An inner variable counts as `null` in the outer one.
    fn text(&mut self, text: &Text) {
        let mut rest = text.to_string();
        for _ in 0..MAX_NESTING {
            let mut found = Vec::new();
            let Some(next) = replace_variables(&rest, |expression| {
                found.push(expression.to_owned());
                "null".into()
            }) else {
                return;
            };
            for expression in found {
                self.expression(&expression);
            }
            rest = next;
        }
        self.error(Code::TooDeep, format!("variables are nested deeper than {MAX_NESTING} levels"));
    }

    fn error(&mut self, code: Code, message: String) {
        self.findings.error(code, self.root.join(&self.at), message);
    }

    fn expression(&mut self, expression: &str) {
        let shown = shortened(expression);
        let background = self.settings.background && !self.settings.targets;
        if expression.starts_with("element") && !self.in_foreach {
            self.error(Code::UnknownVariable, format!("variable `{shown}` is used outside of a `foreach`"));
        } else if background && USER_NAMES.is_match(expression) {
            self.error(Code::BackgroundMode, format!(
                "variable `{shown}` is about the user of the request, whom background mode does not have; \
                 set `spec.background: false`"
            ));
        } else if let Err(error) = Query::new(expression).expression() {
            self.error(Code::InvalidExpression, format!("`{shown}`: {error}"));
        } else if self.is_before_targets() {
            if !self.allows_before_targets(expression) {
                self.error(Code::UnknownVariable, format!(
                    "variable {shown} is not known before a target is: it is neither part of request, images or @, \
                     nor a call of a function, nor declared in the context of the rule"
                ));
            }
        } else if !self.allows(expression) {
            let meant = self.suggestion(expression);
            self.error(Code::UnknownVariable, format!(
                "variable {shown} is neither part of request, images, element or @, nor a call of a function, nor \
                 declared in context{meant}"
            ));
        }
    }

    /// `, did you mean …?` for a variable whose first name is misspelt.
    fn suggestion(&self, expression: &str) -> String {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let first = expression.split(|c| !is_name(c)).next().unwrap_or_default();
        let declared = self.names.iter().filter_map(|name| name.split(['.', '*']).next());
        nearest_variable(expression, first, declared)
            .map_or_else(String::new, |meant| format!(", did you mean `{meant}`?"))
    }

    /// Whether the string is evaluated before the targets are known.
    fn is_before_targets(&self) -> bool {
        let key = |segment: &Segment, name: &str| matches!(segment, Segment::Key(key) if **key == *name);
        self.has_targets
            && match self.at.segments() {
                [context, ..] if key(context, "context") => true,
                [mutate, targets, Segment::Index(_), Segment::Key(field)] => {
                    key(mutate, "mutate") && key(targets, "targets") && TARGET_FIELDS.contains(&&**field)
                }
                _ => false,
            }
    }

    fn allows_before_targets(&self, expression: &str) -> bool {
        let expression = expression.replace('"', "");
        let known = if self.settings.background { &*BACKGROUND_NAMES } else { &*NAMES };
        known.is_match(&expression)
            || self.rule_context.iter().any(|name| pattern::matches(name, &expression))
    }

    fn allows(&self, expression: &str) -> bool {
        let expression = expression.replace('"', "");
        let known = match (self.settings.background, self.has_targets) {
            (true, _) => &*BACKGROUND_NAMES,
            (false, true) => &*TARGET_NAMES,
            (false, false) => &*NAMES,
        };
        known.is_match(&expression)
            || self.has_targets && expression.contains("target.")
            || self.names.iter().any(|name| pattern::matches(name, &expression))
    }
}

/// The start of an expression, for a message.
fn shortened(expression: &str) -> String {
    const MAX_CHARS: usize = 80;
    match expression.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", expression.get(..end).unwrap_or_default()),
        None => expression.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(rule: &Value, background: bool) -> Vec<String> {
        let targets = rule.path(&["mutate", "targets"]).is_some();
        let settings = Settings { background, targets };
        let mut findings = Findings::default();
        check(rule, &Pointer::ROOT, settings, &mut findings);
        findings.errors.iter().map(|error| error.message.clone()).collect()
    }

    fn label(text: &str) -> Value {
        let labels = Value::from_iter([("a", Value::from(text))]);
        Value::from_iter([("mutate", Value::from_iter([("patchStrategicMerge", labels)]))])
    }

    #[test]
    fn only_known_names_are_allowed() {
        for (text, background, expected) in [
            ("{{ foo }}", true, false),
            ("{{ foo.bar }}", false, false),
            ("{{- foo }}", true, false),
            ("{{ 'x' }}", true, false),
            ("{{ `\"x\"` }}", true, false),
            ("{{ request }}", true, false),
            ("{{ request }}", false, true),
            ("{{ to_string(request) }}", true, true),
            ("{{ time_now() }}", true, true),
            ("{{ foo(`{}`) }}", true, true),
            ("{{@}}", true, true),
            ("{{ \"request\".object.metadata.name }}", true, true),
            ("{{ request.object.metadata.nope }}", true, true),
            ("{{ target.metadata.name }}", true, false),
            (r"\{{ foo }}", true, true),
            ("{{ request.object.{{ foo }} }}", true, false),
            ("{{ foo.{{ request.object.metadata.name }} }}", true, false),
            ("{{ images.containers.{{request.object.metadata.name}}.registry }}", true, true),
            ("{{ request.object.spec.containers[{{request.object.x}}].name }}", true, false),
            ("{{ serviceAccountName }}", true, false),
            ("{{ serviceAccountName }}", false, true),
            ("{{ request.userInfo.username }}", true, false),
            ("{{ request.userInfo.username }}", false, true),
            ("{{ request.object.request.roles }}", true, true),
            ("{{ element.name }}", true, false),
            ("{{ elementIndex }}", false, false),
            ("{{ to_upper(element.name) }}", true, true),
            ("{{ request.object.metadata.name || element }}", true, true),
            ("{{ }}", true, false),
            ("{{ request.object.[ }}", true, false),
            ("{{ request.object.data.my-app }}", true, false),
            ("no variable", true, true),
        ] {
            let found = errors(&label(text), background);
            assert_eq!(found.is_empty(), expected, "{text} {background}: {found:?}");
        }
    }

    #[test]
    fn keys_are_checked_too() {
        let rule = Value::from_json(r#"{"mutate":{"patchStrategicMerge":{"{{ foo }}":1}}}"#).unwrap();
        assert_eq!(errors(&rule, true).len(), 1);
    }

    #[test]
    fn context_entries_are_allowed() {
        for (entry, variable, expected) in [
            (r#"{"name":"c","variable":{"value":"x"}}"#, "c", true),
            (r#"{"name":"c","variable":{"value":"x"}}"#, "cx.y", true),
            (r#"{"name":"c","variable":{"value":"x"}}"#, "\\\"c\\\"", true),
            (r#"{"name":"c","variable":{"value":"x"}}"#, "'x' == c", false),
            (r#"{"name":"c","configMap":{"name":"x"}}"#, "c.data.x", true),
            (r#"{"name":"c","configMap":{"name":"x"}}"#, "c.metadata", true),
            (r#"{"name":"c","configMap":{"name":"x"}}"#, "c.other", false),
            (r#"{"name":"c","variable":{"value":"{{ foo }}"}}"#, "c", false),
        ] {
            for rule in [
                format!(
                    r#"{{"context":[{entry}],"mutate":{{"patchStrategicMerge":{{"a":"{{{{ {variable} }}}}"}}}}}}"#
                ),
                format!(
                    r#"{{"mutate":{{"foreach":[{{"context":[{entry}],"patchStrategicMerge":{{"a":"{{{{ {variable} }}}}"}}}}]}}}}"#
                ),
            ] {
                let found = errors(&Value::from_json(&rule).unwrap(), true);
                assert_eq!(found.is_empty(), expected, "{rule}: {found:?}");
            }
        }
    }

    #[test]
    fn elements_are_for_foreach_and_targets_for_rules_with_targets() {
        let foreach = r#"{"mutate":{"foreach":[{"list":"x","patchStrategicMerge":{"a":"{{ element0 }}"}}]},
            "preconditions":{"all":[{"key":"{{ element }}"}]}}"#;
        assert_eq!(
            errors(&Value::from_json(foreach).unwrap(), true),
            ["variable `element` is used outside of a `foreach`"]
        );
        let targets = r#"{"mutate":{"targets":[{"name":"{{ request.object.x }}"}],
            "patchStrategicMerge":{"a":"{{ target.metadata.name }}{{ request.userInfo.username }}"}}}"#;
        assert_eq!(errors(&Value::from_json(targets).unwrap(), true), [""; 0]);
    }

    #[test]
    fn fields_that_name_a_target_do_not_use_it() {
        let of_target = "{{ target.metadata.name }}";
        for (entry, background, expected) in [
            (format!(r#""name":"{of_target}""#), true, false),
            (format!(r#""name":"{of_target}""#), false, false),
            (format!(r#""namespace":"{of_target}""#), true, false),
            (format!(r#""kind":"{of_target}""#), true, false),
            (format!(r#""apiVersion":"{of_target}""#), true, false),
            (format!(r#""uid":"{of_target}""#), true, false),
            (format!(r#""selector":{{"matchLabels":{{"a":"{of_target}"}}}}"#), true, true),
            (format!(r#""context":[{{"name":"v","variable":{{"value":"{of_target}"}}}}]"#), true, true),
            (format!(r#""preconditions":{{"all":[{{"key":"{of_target}"}}]}}"#), true, true),
            (r#""name":"{{ request.object.x || target.x }}""#.into(), true, true),
            (r#""name":"{{ to_upper(target.x) }}""#.into(), true, true),
            (r#""name":"{{ request.object.target.x }}""#.into(), true, true),
            (r#""name":"{{ serviceAccountName }}""#.into(), true, false),
            (r#""name":"{{ serviceAccountName }}""#.into(), false, true),
            (r#""name":"{{ of_rule }}""#.into(), true, true),
            (r#""name":"{{ v }}","context":[{"name":"v","variable":{"value":"x"}}]"#.into(), true, false),
        ] {
            let rule = format!(
                r#"{{"context":[{{"name":"of_rule","variable":{{"value":"x"}}}}],"mutate":{{"targets":[{{{entry}}}]}}}}"#
            );
            let found = errors(&Value::from_json(&rule).unwrap(), background);
            assert_eq!(found.is_empty(), expected, "{entry} {background}: {found:?}");
        }
        let context = format!(
            r#"{{"context":[{{"name":"v","variable":{{"value":"{of_target}"}}}}],"mutate":{{"targets":[{{"name":"a"}}]}}}}"#
        );
        assert_eq!(errors(&Value::from_json(&context).unwrap(), true).len(), 1);
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = format!("{}request.x{}", "{{ a".repeat(5_000), " }}".repeat(5_000));
        assert!(!errors(&label(&deep), true).is_empty());
    }
}
