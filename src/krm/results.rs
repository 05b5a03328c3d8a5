//! The results of a function.

use crate::report::{ObjectReport, Outcome, RuleReport};
use crate::value::{Change, ChangeKind, ObjectRef, Text, Value};

use super::annotations::internal_annotation;

/// The severity of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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

/// A result of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionResult {
    message: String,
    severity: Severity,
    field: Option<Field>,
    object: Option<ObjectRef>,
    file: Option<ItemFile>,
    /// The policy and its rule.
    rule: Option<(Text, Text)>,
    /// The code of a diagnostic.
    code: Option<String>,
}

/// The field that changed. Values are left out of Secrets, and where they are no scalars.
#[derive(Clone, Debug, PartialEq)]
struct Field {
    path: String,
    current: Option<Value>,
    proposed: Option<Value>,
}

/// A file of a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemFile {
    /// Its path in the package.
    pub path: Text,
    /// The number of the document in it, from 0.
    pub index: i64,
}

impl FunctionResult {
    fn new(message: String, severity: Severity) -> Self {
        Self { message, severity, field: None, object: None, file: None, rule: None, code: None }
    }

    /// An error about no object in particular.
    pub fn failure((code, message): (&str, &str)) -> Self {
        Self::message((code, message), Severity::Error, None, None)
    }

    /// A message about an object and its file, if they are known.
    pub fn message(
        (code, message): (&str, &str),
        severity: Severity,
        object: Option<&ObjectRef>,
        file: Option<&ItemFile>,
    ) -> Self {
        Self {
            object: object.filter(|object| !object.name.is_empty()).cloned(),
            file: file.cloned(),
            code: Some(code.to_owned()),
            ..Self::new(message.to_owned(), severity)
        }
    }

    /// Its severity.
    pub const fn severity(&self) -> Severity {
        self.severity
    }

    /// Results are sorted as the orchestrators' library does: by file, severity, object and message.
    fn order(&self) -> impl Ord {
        let object = self.object.as_ref().map(|object| {
            let version = object.kind.api_version();
            (version, &object.kind.kind, object.namespace.as_deref().unwrap_or_default(), &object.name)
        });
        (&self.file, self.severity, object, &self.message)
    }

    /// As the response has it.
    pub(super) fn to_value(&self) -> Value {
        let mut row = Value::from_iter([
            ("message", Value::from(&*self.message)),
            ("severity", self.severity.word().into()),
        ]);
        if let Some(field) = &self.field {
            let mut value = Value::from_iter([("path", Value::from(&*field.path))]);
            for (name, scalar) in [("currentValue", &field.current), ("proposedValue", &field.proposed)] {
                if let Some(scalar) = scalar {
                    value.insert(name, scalar.clone());
                }
            }
            row.insert("field", value);
        }
        if let Some(object) = &self.object {
            row.insert("resourceRef", reference(object));
        }
        if let Some(ItemFile { path, index }) = &self.file {
            let file = [("path", Value::String(path.clone())), ("index", (*index).into())];
            row.insert("file", Value::from_iter(file));
        }
        let mut tags = Value::empty_object();
        if let Some((policy, rule)) = &self.rule {
            tags.insert("policy", Value::String(policy.clone()));
            tags.insert("rule", Value::String(rule.clone()));
        }
        if let Some(code) = &self.code {
            tags.insert("code", Value::from(&**code));
        }
        row.insert("tags", tags);
        row
    }
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
    file: Option<&ItemFile>,
    severities: Severities,
    shown: &dyn Fn(&str) -> String,
) -> Vec<FunctionResult> {
    let object = report.object.as_ref().filter(|object| !object.name.is_empty());
    let mut found = Vec::new();
    for (policy, rule) in report.rules() {
        let result = match &rule.outcome {
            Outcome::Error(error) => {
                let message = format!("{}: {}", rule.title(&policy.policy), shown(&error.message));
                let code = Some(error.code.to_string());
                FunctionResult { code, ..FunctionResult::new(message, severities.errors) }
            }
            Outcome::Patched { .. } if !policy.has_error() && report.is_changed() => {
                let changes = rule.changes();
                let message =
                    format!("{}: {}", rule.title(&policy.policy), change_words(rule, severities, shown));
                let field = match &*changes {
                    // A field belongs to a resourceRef.
                    [change] if object.is_some() => Some(field(change, report, shown)),
                    _ => None,
                };
                let severity = severities.violations.unwrap_or(Severity::Info);
                FunctionResult { field, ..FunctionResult::new(message, severity) }
            }
            Outcome::Patched { .. } | Outcome::NoChange | Outcome::Triggered { .. } | Outcome::Skipped(_) => {
                continue;
            }
        };
        found.push(FunctionResult {
            object: object.cloned(),
            file: file.cloned(),
            rule: Some((policy.policy.clone(), rule.rule.clone())),
            ..result
        });
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

fn field(change: &Change, report: &ObjectReport, shown: &dyn Fn(&str) -> String) -> Field {
    let secret = !report.secrets.is_empty()
        || report.object.as_ref().is_some_and(|object| &*object.kind.kind == "Secret");
    let scalar = |value: &&Value| !secret && value.as_array().is_none() && value.as_object().is_none();
    let (before, after) = match &change.kind {
        ChangeKind::Add(after) => (None, Some(after)),
        ChangeKind::Remove(before) => (Some(before), None),
        ChangeKind::Replace { before, after } => (Some(before), Some(after)),
    };
    Field {
        path: shown(&change.pointer.to_string()),
        current: before.filter(scalar).cloned(),
        proposed: after.filter(scalar).cloned(),
    }
}

/// The file of the package that the item comes from, by the orchestrator's annotations.
pub fn file_of(item: &Value) -> Option<ItemFile> {
    let index = internal_annotation(item, "index").and_then(|index| index.parse().ok()).unwrap_or(0);
    Some(ItemFile { path: internal_annotation(item, "path")?.into(), index })
}

/// Sorts results as the orchestrators' library does: by file, severity, object and message.
pub fn sort(results: &mut [FunctionResult]) {
    results.sort_by(|one, other| one.order().cmp(&other.order()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_sorted_by_file_severity_object_and_message() {
        let result = |file: Option<(&str, i64)>, severity: Severity, name: &str, message: &str| {
            let object = Value::from_iter([
                ("apiVersion", Value::from("v1")),
                ("kind", "Pod".into()),
                ("metadata", Value::from_iter([("name", Value::from(name))])),
            ]);
            let file = file.map(|(path, index)| ItemFile { path: path.into(), index });
            FunctionResult::message(("", message), severity, ObjectRef::of(&object).as_ref(), file.as_ref())
        };
        let sorted = [
            result(None, Severity::Error, "b", "m"),
            result(None, Severity::Info, "a", "m"),
            result(None, Severity::Info, "b", "l"),
            result(None, Severity::Info, "b", "m"),
            result(Some(("a.yaml", 2)), Severity::Info, "a", "m"),
            result(Some(("a.yaml", 10)), Severity::Info, "a", "m"),
            result(Some(("b.yaml", 0)), Severity::Warning, "a", "m"),
        ];
        let mut mixed: Vec<FunctionResult> = sorted.iter().rev().cloned().collect();
        sort(&mut mixed);
        assert_eq!(mixed, sorted);
    }
}
