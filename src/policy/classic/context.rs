//! Context entries: what a rule loads before it is evaluated.

use std::sync::Arc;

use crate::semantics::Semantics;
use crate::value::{Pointer, Text, Value};
use crate::variables::{Query, Template, holds_variable};

use super::schema::CONTEXT_KINDS;
use crate::policy::error::PolicyError;
use crate::policy::fields::is_blank;

/// One entry of a `context`, compiled.
#[derive(Clone, Debug)]
pub struct ContextEntry {
    /// The name that variables know it by.
    pub name: Text,
    /// Where its value comes from.
    pub source: ContextSource,
    /// The whole entry at its place in the rule: Kyverno substitutes it once more with the rule.
    pub whole: Template,
}

/// Where the value of a context entry comes from. Each part is a document of its own for its references and
/// for the places that errors name, as in Kyverno.
#[derive(Clone, Debug)]
pub enum ContextSource {
    /// An expression over the rest of the context, a value, or an expression over a value.
    Variable {
        /// The value.
        value: Option<Template>,
        /// The expression.
        jmes_path: Option<Template>,
        /// What stands in where the expression has no value.
        default: Option<Template>,
    },
    /// A `ConfigMap`.
    ConfigMap {
        /// Its name.
        name: Template,
        /// Its namespace.
        namespace: Template,
    },
    /// A call of the API server or of another service.
    ApiCall {
        /// The call: `urlPath`, `method`, `data`, `service`, `jmesPath`.
        call: Template,
        /// The answer where the call fails.
        default: Option<Value>,
    },
    /// The metadata of an image.
    ImageRegistry {
        /// The image.
        reference: Template,
        /// What is taken of it.
        jmes_path: Option<Template>,
    },
    /// A global context entry.
    GlobalReference {
        /// Its name.
        name: Template,
        /// What is taken of it.
        jmes_path: Option<Template>,
    },
}

/// Names that entries cannot take.
const TAKEN: &[&str] =
    &["request", "images", "element", "elementIndex", "serviceAccountName", "serviceAccountNamespace"];

/// Reads the entries at a place of a rule.
pub(super) fn read(rule: &Value, at: &Pointer, semantics: Semantics) -> Vec<Arc<ContextEntry>> {
    let entries = rule.pointed(at).and_then(Value::as_array).unwrap_or_default().iter().enumerate();
    entries
        .filter_map(|(index, entry)| {
            let name = entry.get("name")?.as_text()?.clone();
            let whole = Template::prepare_at(rule, &at.index(index), semantics);
            Some(Arc::new(ContextEntry { name, source: source(entry, semantics)?, whole }))
        })
        .collect()
}

fn source(entry: &Value, semantics: Semantics) -> Option<ContextSource> {
    let prepare = |value: &Value| Template::prepare(value, semantics);
    let part = |kind: &Value, name: &str| kind.get(name).filter(|part| !part.is_null()).map(prepare);
    let text = |kind: &Value, name: &str| part(kind, name).unwrap_or_else(|| prepare(&Value::from("")));
    let path = |kind: &Value| {
        let path = kind.get("jmesPath").filter(|path| !is_blank(path))?;
        Some(prepare(path))
    };
    CONTEXT_KINDS.into_iter().find_map(|field| {
        let kind = entry.get(field).filter(|kind| !kind.is_null())?;
        Some(match field {
            "configMap" => {
                ContextSource::ConfigMap { name: text(kind, "name"), namespace: text(kind, "namespace") }
            }
            "apiCall" => {
                let mut call = kind.clone();
                let default = call.remove("default").filter(|default| !default.is_null());
                ContextSource::ApiCall { call: prepare(&call), default }
            }
            "imageRegistry" => {
                ContextSource::ImageRegistry { reference: text(kind, "reference"), jmes_path: path(kind) }
            }
            "globalReference" => {
                ContextSource::GlobalReference { name: text(kind, "name"), jmes_path: path(kind) }
            }
            _ => ContextSource::Variable {
                value: part(kind, "value"),
                jmes_path: path(kind),
                default: part(kind, "default"),
            },
        })
    })
}

/// Checks that entries come from one place each.
pub(super) fn check_kinds(list: Option<&Value>, at: &Pointer, errors: &mut Vec<PolicyError>) {
    for (index, entry) in list.and_then(Value::as_array).unwrap_or_default().iter().enumerate() {
        let Some(members) = entry.as_object() else { continue };
        let given = |field: &&str| members.get(field).is_some_and(|part| !part.is_null());
        if CONTEXT_KINDS.iter().filter(|kind| given(kind)).count() != 1 {
            let message = format!("exactly one of {} is needed", CONTEXT_KINDS.join(", "));
            errors.push(PolicyError::new(at.index(index), message));
        }
    }
}

/// Checks the entries of a rule; those of a foreach and of targets Kyverno checks less.
pub(super) fn check(list: Option<&Value>, at: &Pointer, semantics: Semantics, errors: &mut Vec<PolicyError>) {
    check_kinds(list, at, errors);
    for (index, entry) in list.and_then(Value::as_array).unwrap_or_default().iter().enumerate() {
        EntryCheck { entry, at: at.index(index), semantics, errors: &mut *errors }.run();
    }
}

struct EntryCheck<'a> {
    entry: &'a Value,
    at: Pointer,
    semantics: Semantics,
    errors: &'a mut Vec<PolicyError>,
}

impl EntryCheck<'_> {
    fn error(&mut self, below: &[&str], message: impl Into<String>) {
        let at = below.iter().fold(self.at.clone(), |at, key| at.key(*key));
        self.errors.push(PolicyError::new(at, message));
    }

    fn part(&self, kind: &str, field: &str) -> Option<&Value> {
        self.entry.path(&[kind, field]).filter(|part| !part.is_null())
    }

    fn is_map(&self, kind: &str) -> bool {
        self.entry.get(kind).is_some_and(|part| part.as_object().is_some())
    }

    fn run(&mut self) {
        self.name();
        if self.is_map("configMap") {
            for field in ["name", "namespace"] {
                // A name that is missing is reported by the field table.
                let found = self.part("configMap", field);
                if found.is_some_and(is_blank) || (found.is_none() && field == "namespace") {
                    self.error(&["configMap"], format!("a {field} is required for configMap context entry"));
                }
            }
        }
        let computed = ["value", "jmesPath"].into_iter().any(|field| self.part("variable", field).is_some());
        if self.is_map("variable") && !computed {
            self.error(&["variable"], "a variable must define a value or a jmesPath expression");
        }
        let calls_cluster = self.part("apiCall", "urlPath").is_some_and(|path| !is_blank(path));
        if calls_cluster && self.part("apiCall", "service").is_some() {
            self.error(&["apiCall"], "a URLPath cannot be used for service API calls");
        }
        for kind in CONTEXT_KINDS {
            self.expression(kind);
        }
    }

    fn name(&mut self) {
        let Some(name) = self.entry.get("name").and_then(Value::as_str) else { return };
        let first = name.split('.').next().unwrap_or_default();
        if name.is_empty() {
            self.error(&["name"], "a name is required for context entries");
        } else if TAKEN.contains(&first) {
            let message =
                format!("entry name {name} is invalid as it conflicts with a pre-defined variable {first}");
            self.error(&["name"], message);
        }
    }

    fn expression(&mut self, kind: &str) {
        let Some(text) = self.part(kind, "jmesPath").and_then(Value::as_str) else { return };
        // With variables inside the expression is known only later.
        if text.is_empty() || holds_variable(text) {
            return;
        }
        if let Err(error) = Query::new(text, self.semantics).expression() {
            self.error(&[kind, "jmesPath"], format!("failed to parse JMESPath: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_need_a_free_name_and_one_kind() {
        for (entry, expected) in [
            (r#"{"name":"c","variable":{"value":"x"}}"#, None),
            (r#"{"name":"requests","variable":{"jmesPath":"request.object.x"}}"#, None),
            (r#"{"name":"c","variable":{"jmesPath":"request.object.{{ request.object.x }}["}}"#, None),
            (
                r#"{"name":"request.x","variable":{"value":"x"}}"#,
                Some("conflicts with a pre-defined variable request"),
            ),
            (r#"{"name":"","variable":{"value":"x"}}"#, Some("a name is required")),
            (r#"{"name":"c"}"#, Some("exactly one of")),
            (r#"{"name":"c","variable":{"value":"x"},"apiCall":{}}"#, Some("exactly one of")),
            (r#"{"name":"c","variable":{"default":"x"}}"#, Some("must define a value or a jmesPath")),
            (r#"{"name":"c","variable":{"jmesPath":"request.["}}"#, Some("failed to parse JMESPath")),
            (r#"{"name":"c","configMap":{"name":"x"}}"#, Some("a namespace is required")),
            (r#"{"name":"c","configMap":{"name":"","namespace":"x"}}"#, Some("a name is required")),
            (
                r#"{"name":"c","apiCall":{"urlPath":"/x","service":{"url":"x"}}}"#,
                Some("URLPath cannot be used"),
            ),
            (r#"{"name":1,"variable":[]}"#, None),
        ] {
            let list = Value::array(vec![Value::from_json(entry).unwrap()]);
            let mut errors = Vec::new();
            check(Some(&list), &Pointer::ROOT, Semantics::Documented, &mut errors);
            let found: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
            match expected {
                None => assert_eq!(found, [""; 0], "{entry}"),
                Some(text) => assert!(found.len() == 1 && found[0].contains(text), "{entry}: {found:?}"),
            }
        }
    }

    #[test]
    fn entries_are_read_with_their_kind() {
        let rule =
            Value::from_json(r#"{"context":[{"name":"c","configMap":{"name":"x"}},{"name":1},7]}"#).unwrap();
        let read = read(&rule, &Pointer::ROOT.key("context"), Semantics::Documented);
        assert_eq!(read.len(), 1);
        assert_eq!(&*read[0].name, "c");
        assert!(matches!(read[0].source, ContextSource::ConfigMap { .. }));
    }
}
