//! The results of a function.

use crate::report::{ObjectReport, Outcome};
use crate::value::{Change, ChangeKind, ObjectRef, Value};

/// How grave a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The function fails.
    Error,
    /// Somebody should look.
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

/// A result about no object in particular.
pub fn failure(message: &str) -> Value {
    result(message, Severity::Error)
}

fn result(message: &str, severity: Severity) -> Value {
    [("message", Value::from(message)), ("severity", severity.word().into())].into_iter().collect()
}

/// The results of one item: one `info` for each rule that changed it, one of the given severity for each
/// rule that could not be evaluated. Scalar changes carry the values, unless the object is a Secret.
/// `shown` takes secrets out of messages.
pub fn results(
    report: &ObjectReport,
    item: &Value,
    errors: Severity,
    shown: &dyn Fn(&str) -> String,
) -> Vec<Value> {
    let mut found = Vec::new();
    for (policy, rule) in report.rules() {
        let mut row = match &rule.outcome {
            Outcome::Error(error) => {
                result(&format!("{}/{}: {}", policy.policy, rule.rule, shown(&error.message)), errors)
            }
            Outcome::Patched { .. } if !policy.has_error() => {
                let changes = rule.changes();
                let paths: Vec<String> = changes.iter().map(|change| change.pointer.to_string()).collect();
                let by = rule.trigger.as_ref().map_or_else(String::new, |by| format!(" (triggered by {by})"));
                let paths = shown(&paths.join(", "));
                let message = format!("{}/{}: changed {paths}{by}", policy.policy, rule.rule);
                let mut row = result(&message, Severity::Info);
                if let [change] = &*changes {
                    row.insert("field", field(change, report, shown));
                }
                row
            }
            Outcome::Patched { .. } | Outcome::NoChange | Outcome::Triggered { .. } | Outcome::Skipped(_) => {
                continue;
            }
        };
        if let Some(object) = &report.object {
            row.insert("resourceRef", reference(object));
        }
        if let Some(file) = file(item) {
            row.insert("file", file);
        }
        row.insert(
            "tags",
            [("policy", Value::String(policy.policy.clone())), ("rule", Value::String(rule.rule.clone()))]
                .into_iter()
                .collect(),
        );
        found.push(row);
    }
    found
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

/// Where the item stands in the package, from the orchestrator's annotations.
fn file(item: &Value) -> Option<Value> {
    let annotations = item.path(&["metadata", "annotations"])?;
    let either = |name: &str| {
        let current = annotations.get(&format!("internal.config.kubernetes.io/{name}"));
        current.or_else(|| annotations.get(&format!("config.kubernetes.io/{name}")))?.as_str()
    };
    let mut file: Value = [("path", Value::from(either("path")?))].into_iter().collect();
    let index = either("index").and_then(|index| index.parse::<i64>().ok()).unwrap_or(0);
    file.insert("index", index.into());
    Some(file)
}
