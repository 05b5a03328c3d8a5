//! The results of a function.

use crate::report::{ObjectReport, Outcome, RuleReport};
use crate::value::{Change, ChangeKind, ObjectRef, Value};

use super::annotations::internal_annotation;

/// The severity of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Severity {
    /// The function fails.
    #[default]
    Error,
    /// It should be looked at.
    Warning,
    /// Something was done.
    Info,
}

impl Severity {
    /// The word of the specification.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// An error about no object in particular.
pub fn failure((code, message): (&str, &str)) -> Value {
    let mut row = result(message, Severity::Error);
    row.insert("tags", Value::from_iter([("code", Value::from(code))]));
    row
}

/// A message about an object and its file, if they are known.
pub fn message_result(
    (code, message): (&str, &str),
    severity: Severity,
    object: Option<&ObjectRef>,
    file: Option<&Value>,
) -> Value {
    let mut row = result(message, severity);
    if let Some(object) = object.filter(|object| !object.name.is_empty()) {
        row.insert("resourceRef", reference(object));
    }
    if let Some(file) = file {
        row.insert("file", file.clone());
    }
    row.insert("tags", Value::from_iter([("code", Value::from(code))]));
    row
}

fn result(message: &str, severity: Severity) -> Value {
    [("message", Value::from(message)), ("severity", severity.word().into())].into_iter().collect()
}

/// The severities of results.
#[derive(Clone, Copy, Debug)]
pub struct Severities {
    /// Of a rule that could not be evaluated.
    pub errors: Severity,
    /// Of a change, in mode validate; `None` where the object is changed.
    pub violations: Option<Severity>,
}

/// The results of one item: one for each rule that changed it, or would, and for each rule that failed. Scalar changes
/// have the values, unless the object is a Secret. `file` is from [`file_of`]; `shown` redacts messages.
pub fn results(
    report: &ObjectReport,
    file: Option<&Value>,
    severities: Severities,
    shown: &dyn Fn(&str) -> String,
) -> Vec<Value> {
    let mut found = Vec::new();
    for (policy, rule) in report.rules() {
        let mut row = match &rule.outcome {
            Outcome::Error(error) => {
                let message = format!("{}: {}", rule.title(&policy.policy), shown(&error.message));
                result(&message, severities.errors)
            }
            Outcome::Patched { .. } if !policy.has_error() && report.is_changed() => {
                let changes = rule.changes();
                let message =
                    format!("{}: {}", rule.title(&policy.policy), change_words(rule, severities, shown));
                let mut row = result(&message, severities.violations.unwrap_or(Severity::Info));
                if let [change] = &*changes {
                    row.insert("field", field(change, report, shown));
                }
                row
            }
            Outcome::Patched { .. } | Outcome::NoChange | Outcome::Triggered { .. } | Outcome::Skipped(_) => {
                continue;
            }
        };
        match report.object.as_ref().filter(|object| !object.name.is_empty()) {
            Some(object) => row.insert("resourceRef", reference(object)),
            // A field belongs to a resourceRef.
            None => drop(row.remove("field")),
        }
        if let Some(file) = file {
            row.insert("file", file.clone());
        }
        let mut tags = Value::from_iter([
            ("policy", Value::String(policy.policy.clone())),
            ("rule", Value::String(rule.rule.clone())),
        ]);
        if let Outcome::Error(error) = &rule.outcome {
            tags.insert("code", error.code.to_string().into());
        }
        row.insert("tags", tags);
        found.push(row);
    }
    found
}

/// A sentence on what a rule changed or would change.
pub fn change_words(rule: &RuleReport, severities: Severities, shown: &dyn Fn(&str) -> String) -> String {
    let paths: Vec<String> = rule.changes().iter().map(|change| change.pointer.to_string()).collect();
    let by = rule.trigger.as_ref().map_or_else(String::new, |by| format!(" (triggered by {by})"));
    let verb = if severities.violations.is_some() { "would change" } else { "changed" };
    format!("{verb} {}{by}", shown(&paths.join(", ")))
}

fn reference(object: &ObjectRef) -> Value {
    let mut row: Value = [
        ("apiVersion", Value::from(object.kind.api_version())),
        ("kind", Value::String(object.kind.kind.clone())),
        ("name", Value::String(object.name.clone())),
    ]
    .into_iter()
    .collect();
    if let Some(namespace) = &object.namespace {
        row.insert("namespace", Value::String(namespace.clone()));
    }
    row
}

fn field(change: &Change, report: &ObjectReport, shown: &dyn Fn(&str) -> String) -> Value {
    let path = shown(&change.pointer.to_string());
    let mut row: Value = [("path", Value::from(path))].into_iter().collect();
    let secret = !report.secrets.is_empty()
        || report.object.as_ref().is_some_and(|object| &*object.kind.kind == "Secret");
    let scalar = |value: &Value| value.as_array().is_none() && value.as_object().is_none();
    let (before, after) = match &change.kind {
        ChangeKind::Add(after) => (None, Some(after)),
        ChangeKind::Remove(before) => (Some(before), None),
        ChangeKind::Replace { before, after } => (Some(before), Some(after)),
    };
    for (name, value) in [("currentValue", before), ("proposedValue", after)] {
        if let Some(value) = value.filter(|value| !secret && scalar(value)) {
            row.insert(name, value.clone());
        }
    }
    row
}

/// The file of the package that the item comes from, by the orchestrator's annotations.
pub fn file_of(item: &Value) -> Option<Value> {
    let index = internal_annotation(item, "index").and_then(|index| index.parse().ok()).unwrap_or(0);
    Some(file(internal_annotation(item, "path")?, index))
}

/// A file of the package, and the number of the document in it.
pub fn file(path: &str, index: i64) -> Value {
    [("path", Value::from(path)), ("index", index.into())].into_iter().collect()
}

/// Sorts results as the orchestrators' library does: by file, severity, object and message.
pub fn sort(results: &mut [Value]) {
    results.sort_by_cached_key(|result| {
        let text = |path: &[&str]| result.path(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let index = result.path(&["file", "index"]).map_or_else(String::new, Value::to_json);
        let severity = match &*text(&["severity"]) {
            "error" => 0,
            "warning" => 1,
            _ => 2,
        };
        let object = ["apiVersion", "kind", "namespace", "name"].map(|name| text(&["resourceRef", name]));
        // A number with more digits is a greater one.
        (text(&["file", "path"]), index.len(), index, severity, object, text(&["message"]))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_sorted_by_file_severity_object_and_message() {
        let result = |file: &str, severity: &str, name: &str, message: &str| {
            let file = if file.is_empty() { String::new() } else { format!(r#""file":{file},"#) };
            let text = format!(
                r#"{{"message":"{message}","severity":"{severity}",{file}"resourceRef":{{"kind":"Pod","name":"{name}"}}}}"#
            );
            Value::from_json(&text).unwrap()
        };
        let sorted = [
            result("", "error", "b", "m"),
            result("", "info", "a", "m"),
            result("", "info", "b", "l"),
            result("", "info", "b", "m"),
            result(r#"{"path":"a.yaml","index":2}"#, "info", "a", "m"),
            result(r#"{"path":"a.yaml","index":10}"#, "error", "a", "m"),
            result(r#"{"path":"b.yaml","index":0}"#, "warning", "a", "m"),
        ];
        let mut mixed: Vec<Value> = sorted.iter().rev().cloned().collect();
        sort(&mut mixed);
        assert_eq!(mixed, sorted);
    }
}
