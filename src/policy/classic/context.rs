//! Context entries: what a rule loads before it is evaluated.

use std::sync::Arc;

use crate::diagnostics::Code;
use crate::semantics::Semantics;
use crate::value::{Pointer, Text, Value};
use crate::variables::{Query, Template, holds_variable};

use super::findings::Findings;
use super::schema::CONTEXT_KINDS;
use crate::policy::fields::{filled, given, is_blank};

/// One entry of a `context`, compiled.
#[derive(Clone, Debug)]
pub struct ContextEntry {
    /// The name of its variable.
    pub name: Text,
    /// Where its value comes from.
    pub source: ContextSource,
    /// The whole entry at its place in the rule: Kyverno substitutes it once more with the rule.
    pub whole: Template,
}

/// Where the value of a context entry comes from. As in Kyverno, each template is a document of its own for its
/// references and for the places in errors.
#[derive(Clone, Debug)]
pub enum ContextSource {
    /// An expression over the rest of the context, a value, or an expression over a value.
    Variable {
        /// The value.
        value: Option<Template>,
        /// The expression.
        jmes_path: Option<Template>,
        /// The value if the expression has none.
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
        /// The value if the call fails.
        default: Option<Value>,
    },
    /// The metadata of an image.
    ImageRegistry {
        /// The image.
        reference: Template,
        /// The expression over the metadata.
        jmes_path: Option<Template>,
    },
    /// A global context entry.
    GlobalReference {
        /// Its name.
        name: Template,
        /// The expression over its data.
        jmes_path: Option<Template>,
    },
}

/// Names that entries cannot have.
const RESERVED_NAMES: &[&str] =
    &["request", "images", "element", "elementIndex", "serviceAccountName", "serviceAccountNamespace"];

/// Reads the entries at a place of a rule.
pub(super) fn read(rule: &Value, at: &Pointer, semantics: Semantics) -> Vec<Arc<ContextEntry>> {
    let read = |(index, entry): (usize, &Value)| {
        let name = entry.get("name")?.as_text()?.clone();
        let whole = Template::prepare_at(rule, &at.index(index), semantics);
        Some(Arc::new(ContextEntry { name, source: source(entry, semantics)?, whole }))
    };
    entries(rule.pointed(at)).iter().enumerate().filter_map(read).collect()
}

fn entries(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).unwrap_or_default()
}

fn source(entry: &Value, semantics: Semantics) -> Option<ContextSource> {
    let prepare = |value: &Value| Template::prepare(value, semantics);
    let (kind, fields) = CONTEXT_KINDS.into_iter().find_map(|kind| Some((kind, given(entry, kind)?)))?;
    let template = |name: &str| given(fields, name).map(prepare);
    let text = |name: &str| template(name).unwrap_or_else(|| prepare(&Value::from("")));
    let jmes_path = filled(fields, "jmesPath").map(prepare);
    Some(match kind {
        "configMap" => ContextSource::ConfigMap { name: text("name"), namespace: text("namespace") },
        "apiCall" => {
            let mut call = fields.clone();
            let default = call.remove("default").filter(|default| !default.is_null());
            ContextSource::ApiCall { call: prepare(&call), default }
        }
        "imageRegistry" => ContextSource::ImageRegistry { reference: text("reference"), jmes_path },
        "globalReference" => ContextSource::GlobalReference { name: text("name"), jmes_path },
        _ => ContextSource::Variable { value: template("value"), jmes_path, default: template("default") },
    })
}

/// Checks that each entry has one source.
pub(super) fn check_kinds(list: Option<&Value>, at: &Pointer, findings: &mut Findings) {
    for (index, entry) in entries(list).iter().enumerate() {
        let sources = CONTEXT_KINDS.iter().filter(|kind| given(entry, kind).is_some());
        if entry.as_object().is_some() && sources.count() != 1 {
            let message = format!("exactly one of {} is needed", CONTEXT_KINDS.join(", "));
            findings.error(Code::ContextEntry, at.index(index), message);
        }
    }
}

/// Checks the entries of a rule. Kyverno checks less in those of foreach and targets.
pub(super) fn check(list: Option<&Value>, at: &Pointer, findings: &mut Findings) {
    check_kinds(list, at, findings);
    for (index, entry) in entries(list).iter().enumerate() {
        EntryCheck { entry, at: at.index(index), findings: &mut *findings }.run();
    }
}

struct EntryCheck<'a> {
    entry: &'a Value,
    at: Pointer,
    findings: &'a mut Findings,
}

impl EntryCheck<'_> {
    fn error(&mut self, code: Code, below: &[&str], message: impl Into<String>) {
        let at = below.iter().fold(self.at.clone(), |at, key| at.key(*key));
        self.findings.error(code, at, message);
    }

    fn field(&self, kind: &str, name: &str) -> Option<&Value> {
        given(self.entry.get(kind)?, name)
    }

    fn is_map(&self, kind: &str) -> bool {
        self.entry.get(kind).is_some_and(|fields| fields.as_object().is_some())
    }

    fn run(&mut self) {
        self.name();
        if self.is_map("configMap") {
            for name in ["name", "namespace"] {
                // The schema reports a missing name.
                let found = self.field("configMap", name);
                if found.is_some_and(is_blank) || (found.is_none() && name == "namespace") {
                    self.error(
                        Code::ContextEntry,
                        &["configMap"],
                        format!("a {name} is required for configMap context entry"),
                    );
                }
            }
        }
        let is_computed = ["value", "jmesPath"].iter().any(|name| self.field("variable", name).is_some());
        if self.is_map("variable") && !is_computed {
            self.error(
                Code::ContextEntry,
                &["variable"],
                "a variable must define a value or a jmesPath expression",
            );
        }
        let calls_cluster = self.field("apiCall", "urlPath").is_some_and(|path| !is_blank(path));
        if calls_cluster && self.field("apiCall", "service").is_some() {
            self.error(Code::ContextEntry, &["apiCall"], "a URLPath cannot be used for service API calls");
        }
        for kind in CONTEXT_KINDS {
            self.expression(kind);
        }
    }

    fn name(&mut self) {
        let Some(name) = self.entry.get("name").and_then(Value::as_str) else { return };
        let first = name.split('.').next().unwrap_or_default();
        if name.is_empty() {
            self.error(Code::ContextEntry, &["name"], "a name is required for context entries");
        } else if RESERVED_NAMES.contains(&first) {
            let message =
                format!("entry name {name} is invalid as it conflicts with a pre-defined variable {first}");
            self.error(Code::ContextEntry, &["name"], message);
        }
    }

    fn expression(&mut self, kind: &str) {
        let Some(text) = self.field(kind, "jmesPath").and_then(Value::as_str) else { return };
        // The values of variables are part of the expression.
        if text.is_empty() || holds_variable(text) {
            return;
        }
        if let Err(error) = Query::new(text).expression() {
            self.error(
                Code::InvalidExpression,
                &[kind, "jmesPath"],
                format!("failed to parse JMESPath: {error}"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_need_a_name_and_one_source() {
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
            let mut findings = Findings::default();
            check(Some(&list), &Pointer::ROOT, &mut findings);
            let found: Vec<_> = findings.errors.iter().map(|error| error.message.as_str()).collect();
            match expected {
                None => assert_eq!(found, [""; 0], "{entry}"),
                Some(text) => assert!(found.len() == 1 && found[0].contains(text), "{entry}: {found:?}"),
            }
        }
    }

    #[test]
    fn entries_are_read_with_their_source() {
        let rule =
            Value::from_json(r#"{"context":[{"name":"c","configMap":{"name":"x"}},{"name":1},7]}"#).unwrap();
        let read = read(&rule, &Pointer::ROOT.key("context"), Semantics::Documented);
        assert_eq!(read.len(), 1);
        assert_eq!(&*read[0].name, "c");
        assert!(matches!(read[0].source, ContextSource::ConfigMap { .. }));
    }
}
