//! Which variables a rule may name, and whether they are expressions at all.

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern;
use crate::semantics::{Divergence, Semantics};
use crate::value::{Pointer, Segment, Text, Value};
use crate::variables::{Query, replace_variables};

use crate::policy::error::PolicyError;

/// What every variable must hold somewhere.
static PARTS: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"request|serviceAccountName|serviceAccountNamespace|element|elementIndex|@|images|image|([a-z_0-9]+\()[^{}]",
    )
});

/// The same for a policy that is also for background scans.
static BACKGROUND_PARTS: LazyLock<Regex> =
    LazyLock::new(|| expression(r"request\.|element|elementIndex|@|images|image\.|([a-z_0-9]+\()[^{}]"));

/// The same for rules with targets.
static TARGET_PARTS: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"request\.|serviceAccountName|serviceAccountNamespace|element|elementIndex|@|images|image\.|target\.|([a-z_0-9]+\()[^{}]",
    )
});

/// The fields of a target that say which object it is, by a name or a pattern.
const NAMING: [&str; 5] = ["apiVersion", "kind", "namespace", "name", "uid"];

/// What is known only of a request that a user sends.
static USER_PARTS: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?:^|[^.])(?:serviceAccountName|serviceAccountNamespace|request\.userInfo|request\.roles|request\.clusterRoles)",
    )
});

fn expression(text: &str) -> Regex {
    Regex::new(text).expect("the expression is constant and valid")
}

/// The deepest that variables may be nested in one another.
pub(super) const MAX_ROUNDS: usize = 32;

/// What the check needs to know of the policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) semantics: Semantics,
    /// Whether the policy is also for background scans.
    pub(super) background: bool,
    /// Whether some rule of the policy has targets, which lets users' data in.
    pub(super) targets: bool,
}

/// Checks all variables of a mutate rule outside `match` and `exclude`.
pub(super) fn check(rule: &Value, at: &Pointer, setting: Setting, errors: &mut Vec<PolicyError>) {
    let mut names = Vec::new();
    declared(rule.get("context"), &mut names);
    let legacy_names = names.clone();
    if let Some(mutate) = rule.get("mutate") {
        foreach_names(mutate.get("foreach"), &mut names);
        for target in mutate.get("targets").and_then(Value::as_array).unwrap_or_default() {
            declared(target.get("context"), &mut names);
        }
    }
    let targets = rule.path(&["mutate", "targets"]).is_some_and(|targets| !targets.is_null());
    let mut check =
        Check { root: at, at: Pointer::ROOT, setting, names, legacy_names, targets, foreach: false, errors };
    for (key, member) in rule.as_object().into_iter().flat_map(|members| members.iter()) {
        if !matches!(&**key, "match" | "exclude" | "name") {
            check.at.push_key(key.clone());
            check.value(member);
            check.at.pop();
        }
    }
}

/// The patterns that the entries of a `context` allow.
fn declared(context: Option<&Value>, names: &mut Vec<String>) {
    for entry in context.and_then(Value::as_array).unwrap_or_default() {
        let Some(name) = entry.get("name").and_then(Value::as_str) else { continue };
        if entry.get("configMap").is_some_and(|map| !map.is_null()) {
            for part in ["data", "metadata"] {
                names.extend([format!("{name}.{part}"), format!("{name}.{part}.*")]);
            }
        } else {
            names.push(format!("{name}*"));
        }
    }
}

fn foreach_names(entries: Option<&Value>, names: &mut Vec<String>) {
    for entry in entries.and_then(Value::as_array).unwrap_or_default() {
        declared(entry.get("context"), names);
        foreach_names(entry.get("foreach"), names);
    }
}

struct Check<'a> {
    root: &'a Pointer,
    /// The place below the rule.
    at: Pointer,
    setting: Setting,
    names: Vec<String>,
    /// Those of the rule itself.
    legacy_names: Vec<String>,
    targets: bool,
    foreach: bool,
    errors: &'a mut Vec<PolicyError>,
}

impl Check<'_> {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.at.push_index(index);
                    self.value(item);
                    self.at.pop();
                }
            }
            Value::Object(members) => {
                for (key, member) in members.iter() {
                    self.at.push_key(key.clone());
                    self.text(key);
                    let outside = !self.foreach && self.at.segments().len() == 2 && &**key == "foreach";
                    self.foreach |= outside;
                    self.value(member);
                    self.foreach &= !outside;
                    self.at.pop();
                }
            }
        }
    }

    /// Checks the variables of a text, from the inside out; what is nested counts as `null` further out.
    fn text(&mut self, text: &Text) {
        let mut rest = text.to_string();
        for _ in 0..MAX_ROUNDS {
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
        self.error(format!("variables are nested deeper than {MAX_ROUNDS} levels"), None);
    }

    fn error(&mut self, message: String, divergence: Option<Divergence>) {
        let error = PolicyError::new(self.root.join(&self.at), message);
        self.errors.push(match divergence {
            Some(divergence) => error.because_of(divergence),
            None => error,
        });
    }

    fn expression(&mut self, expression: &str) {
        let shown = shortened(expression);
        let path = self.at.to_json_pointer();
        if expression.starts_with("element") && !self.foreach {
            return self.error(format!("variable '{shown}' present outside of foreach at path {path}"), None);
        }
        if self.setting.background && !self.setting.targets && USER_PARTS.is_match(expression) {
            return self.error(
                format!(
                    "only select variables are allowed in background mode, set spec.background=false: \
                     variable {{{{ {shown} }}}} is not allowed"
                ),
                None,
            );
        }
        let query = Query::new(expression, self.setting.semantics);
        if let Err(error) = query.expression() {
            let kyverno = Query::new(expression, Semantics::Kyverno);
            let divergence = (self.setting.semantics == Semantics::Documented
                && kyverno.expression().is_ok())
            .then_some(Divergence::MissingComma);
            return self.error(format!("failed to resolve {shown} at path {path}: {error}"), divergence);
        }
        if self.is_before_targets() {
            if !self.allows_before_targets(expression) {
                self.error(
                    format!(
                        "variable {shown} is not known before a target is: it is neither part of request, images or \
                         @, nor a call of a function, nor declared in the context of the rule"
                    ),
                    None,
                );
            }
        } else if !self.allows(expression) {
            self.error(
                format!(
                    "variable {shown} is neither part of request, images, element or @, nor a call of a function, \
                     nor declared in context"
                ),
                None,
            );
        }
    }

    /// Whether the text is needed to find the targets of the rule.
    fn is_before_targets(&self) -> bool {
        let key = |segment: &Segment, name: &str| matches!(segment, Segment::Key(key) if **key == *name);
        self.targets
            && match self.at.segments() {
                [context, ..] if key(context, "context") => true,
                [mutate, targets, Segment::Index(_), Segment::Key(field)] => {
                    key(mutate, "mutate") && key(targets, "targets") && NAMING.contains(&&**field)
                }
                _ => false,
            }
    }

    fn allows_before_targets(&self, expression: &str) -> bool {
        let expression = expression.replace('"', "");
        let parts = if self.setting.background { &*BACKGROUND_PARTS } else { &*PARTS };
        parts.is_match(&expression)
            || self.legacy_names.iter().any(|name| pattern::matches(name, &expression))
    }

    fn allows(&self, expression: &str) -> bool {
        let expression = expression.replace('"', "");
        let parts = match (self.setting.background, self.targets) {
            (true, _) => &*BACKGROUND_PARTS,
            (false, true) => &*TARGET_PARTS,
            (false, false) => &*PARTS,
        };
        parts.is_match(&expression)
            || self.targets && expression.contains("target.")
            || self.names.iter().any(|name| pattern::matches(name, &expression))
    }
}

/// The start of an expression, for a message.
fn shortened(expression: &str) -> String {
    const LONGEST: usize = 80;
    match expression.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", expression.get(..end).unwrap_or_default()),
        None => expression.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(rule: &Value, background: bool) -> Vec<String> {
        let targets = rule.path(&["mutate", "targets"]).is_some();
        let setting = Setting { semantics: Semantics::Documented, background, targets };
        let mut errors = Vec::new();
        check(rule, &Pointer::ROOT, setting, &mut errors);
        errors.iter().map(|error| error.message.clone()).collect()
    }

    fn label(text: &str) -> Value {
        let labels = Value::from_iter([("a", Value::from(text))]);
        Value::from_iter([("mutate", Value::from_iter([("patchStrategicMerge", labels)]))])
    }

    #[test]
    fn only_what_a_request_holds_may_be_named() {
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
    fn context_entries_may_be_named() {
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
    fn elements_belong_to_foreach_and_targets_to_rules_with_targets() {
        let foreach = r#"{"mutate":{"foreach":[{"list":"x","patchStrategicMerge":{"a":"{{ element0 }}"}}]},
            "preconditions":{"all":[{"key":"{{ element }}"}]}}"#;
        assert_eq!(
            errors(&Value::from_json(foreach).unwrap(), true),
            ["variable 'element' present outside of foreach at path /preconditions/all/0/key"]
        );
        let targets = r#"{"mutate":{"targets":[{"name":"{{ request.object.x }}"}],
            "patchStrategicMerge":{"a":"{{ target.metadata.name }}{{ request.userInfo.username }}"}}}"#;
        assert_eq!(errors(&Value::from_json(targets).unwrap(), true), [""; 0]);
    }

    #[test]
    fn nothing_of_a_target_names_it() {
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
    fn a_missing_comma_is_a_divergence() {
        let rule = label("{{ join('-' request.object.x) }}");
        let setting = Setting { semantics: Semantics::Documented, background: true, targets: false };
        let mut found = Vec::new();
        check(&rule, &Pointer::ROOT, setting, &mut found);
        assert_eq!(found[0].divergence, Some(Divergence::MissingComma));
        found.clear();
        check(&rule, &Pointer::ROOT, Setting { semantics: Semantics::Kyverno, ..setting }, &mut found);
        assert_eq!(found, []);
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = format!("{}request.x{}", "{{ a".repeat(5_000), " }}".repeat(5_000));
        assert!(!errors(&label(&deep), true).is_empty());
    }
}
