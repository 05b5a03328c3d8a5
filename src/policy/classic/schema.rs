//! The schema of classic policies and exceptions.

use crate::diagnostics::Code;
use crate::pattern::nearest;
use crate::value::{Pointer, Value};

use crate::policy::error::PolicyError;
use crate::policy::fields::any_of;

/// What a field may hold.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Anything, checked elsewhere or not at all.
    Any,
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    Flag,
    Integer,
    List(&'static Self),
    /// A map with any keys.
    Map(&'static Self),
    /// A map with known fields.
    Fields(&'static Fields),
}

/// The fields of a map.
#[derive(Clone, Copy, Debug)]
struct Fields {
    known: &'static [(&'static str, Shape)],
    required: &'static [&'static str],
    /// Whether other fields are allowed.
    open: bool,
}

impl Fields {
    const fn of(known: &'static [(&'static str, Shape)]) -> Self {
        Self { known, required: &[], open: false }
    }

    const fn requiring(self, required: &'static [&'static str]) -> Self {
        Self { required, ..self }
    }
}

const TEXTS: Shape = Shape::List(&Shape::Text);
const FILTERS: Shape = Shape::List(&Shape::Fields(&FILTER));
const SUBJECTS: Shape = Shape::List(&Shape::Fields(&SUBJECT));
const TEXT_MAP: Shape = Shape::Map(&Shape::Text);

static POLICY: Fields = Fields::of(&[
    ("apiVersion", Shape::OneOf(&["kyverno.io/v1", "kyverno.io/v2beta1"])),
    ("kind", Shape::OneOf(&["ClusterPolicy", "Policy"])),
    ("metadata", Shape::Fields(&METADATA)),
    ("spec", Shape::Fields(&SPEC)),
    ("status", Shape::Any),
])
.requiring(&["apiVersion", "kind", "metadata", "spec"]);

static EXCEPTION: Fields = Fields::of(&[
    ("apiVersion", Shape::OneOf(&["kyverno.io/v2", "kyverno.io/v2beta1"])),
    ("kind", Shape::OneOf(&["PolicyException"])),
    ("metadata", Shape::Fields(&METADATA)),
    ("spec", Shape::Fields(&EXCEPTION_SPEC)),
])
.requiring(&["apiVersion", "kind", "metadata", "spec"]);

static EXCEPTION_SPEC: Fields = Fields::of(&[
    ("background", Shape::Flag),
    ("conditions", Shape::Map(&Shape::Any)),
    ("exceptions", Shape::List(&Shape::Fields(&EXEMPTED))),
    ("match", Shape::Fields(&EXCEPTION_MATCH)),
    ("podSecurity", Shape::List(&Shape::Any)),
])
.requiring(&["exceptions", "match"]);

static EXEMPTED: Fields =
    Fields::of(&[("policyName", Shape::Text), ("ruleNames", TEXTS)]).requiring(&["policyName", "ruleNames"]);

static EXCEPTION_MATCH: Fields = Fields::of(&[("any", FILTERS), ("all", FILTERS)]);

static METADATA: Fields = Fields {
    known: &[
        ("name", Shape::Text),
        ("generateName", Shape::Text),
        ("namespace", Shape::Text),
        ("labels", TEXT_MAP),
        ("annotations", TEXT_MAP),
    ],
    required: &["name"],
    open: true,
};

static SPEC: Fields = Fields::of(&[
    ("admission", Shape::Flag),
    ("applyRules", Shape::OneOf(&["All", "One"])),
    ("background", Shape::Flag),
    ("emitWarning", Shape::Flag),
    ("failurePolicy", Shape::OneOf(FAILURE_POLICIES)),
    ("generateExisting", Shape::Flag),
    ("generateExistingOnPolicyUpdate", Shape::Flag),
    ("mutateExistingOnPolicyUpdate", Shape::Flag),
    ("rules", Shape::List(&Shape::Fields(&RULE))),
    ("schemaValidation", Shape::Flag),
    ("useServerSideApply", Shape::Flag),
    ("validationFailureAction", Shape::OneOf(ACTIONS)),
    ("validationFailureActionOverrides", Shape::List(&Shape::Fields(&ACTION_OVERRIDE))),
    ("webhookConfiguration", Shape::Fields(&WEBHOOK)),
    ("webhookTimeoutSeconds", Shape::Integer),
]);

const FAILURE_POLICIES: &[&str] = &["Ignore", "Fail"];
const ACTIONS: &[&str] = &["audit", "enforce", "Audit", "Enforce"];

static ACTION_OVERRIDE: Fields = Fields::of(&[
    ("action", Shape::OneOf(ACTIONS)),
    ("namespaces", TEXTS),
    ("namespaceSelector", Shape::Fields(&SELECTOR)),
]);

static WEBHOOK: Fields = Fields::of(&[
    ("failurePolicy", Shape::OneOf(FAILURE_POLICIES)),
    ("matchConditions", Shape::List(&Shape::Fields(&CEL_CONDITION))),
    ("timeoutSeconds", Shape::Integer),
]);

static CEL_CONDITION: Fields =
    Fields::of(&[("name", Shape::Text), ("expression", Shape::Text)]).requiring(&["name", "expression"]);

static RULE: Fields = Fields::of(&[
    ("name", Shape::Text),
    ("context", CONTEXT),
    ("match", Shape::Fields(&MATCH)),
    ("exclude", Shape::Fields(&MATCH)),
    ("imageExtractors", Shape::Map(&Shape::List(&Shape::Fields(&IMAGE_EXTRACTOR)))),
    ("preconditions", Shape::Any),
    ("celPreconditions", Shape::List(&Shape::Fields(&CEL_CONDITION))),
    ("mutate", Shape::Fields(&MUTATE)),
    ("validate", Shape::Map(&Shape::Any)),
    ("generate", Shape::Map(&Shape::Any)),
    ("verifyImages", Shape::List(&Shape::Any)),
    ("skipBackgroundRequests", Shape::Flag),
    ("reportProperties", TEXT_MAP),
])
.requiring(&["name", "match"]);

static IMAGE_EXTRACTOR: Fields = Fields::of(&[
    ("path", Shape::Text),
    ("value", Shape::Text),
    ("name", Shape::Text),
    ("key", Shape::Text),
    ("jmesPath", Shape::Text),
])
.requiring(&["path"]);

static MATCH: Fields = Fields::of(&[
    ("any", FILTERS),
    ("all", FILTERS),
    ("resources", Shape::Fields(&RESOURCES)),
    ("roles", TEXTS),
    ("clusterRoles", TEXTS),
    ("subjects", SUBJECTS),
]);

static FILTER: Fields = Fields::of(&[
    ("resources", Shape::Fields(&RESOURCES)),
    ("roles", TEXTS),
    ("clusterRoles", TEXTS),
    ("subjects", SUBJECTS),
]);

static RESOURCES: Fields = Fields::of(&[
    ("kinds", TEXTS),
    ("name", Shape::Text),
    ("names", TEXTS),
    ("namespaces", TEXTS),
    ("annotations", TEXT_MAP),
    ("selector", Shape::Fields(&SELECTOR)),
    ("namespaceSelector", Shape::Fields(&SELECTOR)),
    ("operations", Shape::List(&Shape::OneOf(&["CREATE", "UPDATE", "DELETE", "CONNECT"]))),
]);

static SUBJECT: Fields = Fields::of(&[
    ("kind", Shape::OneOf(&["User", "Group", "ServiceAccount"])),
    ("apiGroup", Shape::Text),
    ("name", Shape::Text),
    ("namespace", Shape::Text),
])
.requiring(&["kind", "name"]);

static SELECTOR: Fields = Fields::of(&[
    ("matchLabels", TEXT_MAP),
    ("matchExpressions", Shape::List(&Shape::Fields(&SELECTOR_EXPRESSION))),
]);

static SELECTOR_EXPRESSION: Fields = Fields::of(&[
    ("key", Shape::Text),
    ("operator", Shape::OneOf(&["In", "NotIn", "Exists", "DoesNotExist"])),
    ("values", TEXTS),
])
.requiring(&["key", "operator"]);

static MUTATE: Fields = Fields::of(&[
    ("foreach", Shape::List(&FOREACH_ENTRY)),
    ("mutateExistingOnPolicyUpdate", Shape::Flag),
    ("patchStrategicMerge", Shape::Any),
    ("patchesJson6902", Shape::Text),
    ("targets", Shape::List(&Shape::Fields(&TARGET))),
    // The legacy syntax.
    ("overlay", Shape::Any),
    ("patches", Shape::Any),
]);

static FOREACH_ENTRY: Shape = Shape::Fields(&FOREACH);

static FOREACH: Fields = Fields::of(&[
    ("list", Shape::Text),
    ("order", Shape::OneOf(&["Ascending", "Descending"])),
    ("context", CONTEXT),
    ("preconditions", Shape::Any),
    ("patchStrategicMerge", Shape::Any),
    ("patchesJson6902", Shape::Text),
    ("foreach", Shape::List(&FOREACH_ENTRY)),
]);

static TARGET: Fields = Fields::of(&[
    ("apiVersion", Shape::Text),
    ("kind", Shape::Text),
    ("namespace", Shape::Text),
    ("name", Shape::Text),
    ("uid", Shape::Text),
    ("selector", Shape::Fields(&SELECTOR)),
    ("context", CONTEXT),
    ("preconditions", Shape::Any),
]);

const CONTEXT: Shape = Shape::List(&Shape::Fields(&CONTEXT_ENTRY));

/// The kinds of context entries.
pub(super) const CONTEXT_KINDS: [&str; 5] =
    ["configMap", "apiCall", "imageRegistry", "variable", "globalReference"];

static CONTEXT_ENTRY: Fields = Fields::of(&[
    ("name", Shape::Text),
    ("configMap", Shape::Fields(&CONFIG_MAP)),
    ("apiCall", Shape::Fields(&API_CALL)),
    ("imageRegistry", Shape::Fields(&IMAGE_REGISTRY)),
    ("variable", Shape::Fields(&VARIABLE)),
    ("globalReference", Shape::Fields(&GLOBAL_REFERENCE)),
])
.requiring(&["name"]);

static CONFIG_MAP: Fields =
    Fields::of(&[("name", Shape::Text), ("namespace", Shape::Text)]).requiring(&["name"]);

static API_CALL: Fields = Fields::of(&[
    ("urlPath", Shape::Text),
    ("method", Shape::OneOf(&["GET", "POST"])),
    ("data", Shape::List(&Shape::Fields(&REQUEST_DATA))),
    ("service", Shape::Fields(&SERVICE)),
    ("jmesPath", Shape::Text),
    ("default", Shape::Any),
]);

static REQUEST_DATA: Fields =
    Fields::of(&[("key", Shape::Text), ("value", Shape::Any)]).requiring(&["key", "value"]);

static SERVICE: Fields = Fields::of(&[
    ("url", Shape::Text),
    ("caBundle", Shape::Text),
    ("headers", Shape::List(&Shape::Fields(&HEADER))),
])
.requiring(&["url"]);

static HEADER: Fields =
    Fields::of(&[("key", Shape::Text), ("value", Shape::Text)]).requiring(&["key", "value"]);

static IMAGE_REGISTRY: Fields = Fields::of(&[
    ("reference", Shape::Text),
    ("jmesPath", Shape::Text),
    ("imageRegistryCredentials", Shape::Fields(&REGISTRY_CREDENTIALS)),
])
.requiring(&["reference"]);

static REGISTRY_CREDENTIALS: Fields = Fields::of(&[
    ("allowInsecureRegistry", Shape::Flag),
    ("providers", Shape::List(&Shape::OneOf(&["default", "amazon", "azure", "google", "github"]))),
    ("secrets", TEXTS),
]);

static VARIABLE: Fields =
    Fields::of(&[("value", Shape::Any), ("jmesPath", Shape::Text), ("default", Shape::Any)]);

static GLOBAL_REFERENCE: Fields =
    Fields::of(&[("name", Shape::Text), ("jmesPath", Shape::Text)]).requiring(&["name"]);

/// Checks the fields of a whole policy.
pub(super) fn check(document: &Value, errors: &mut Vec<PolicyError>) {
    Check { at: Pointer::ROOT, errors }.fields(&POLICY, document);
}

/// Checks the fields of a whole exception.
pub(super) fn check_exception(document: &Value, errors: &mut Vec<PolicyError>) {
    Check { at: Pointer::ROOT, errors }.fields(&EXCEPTION, document);
}

/// The length to which messages shorten an unsupported value.
const MAX_SHOWN_CHARS: usize = 63;

struct Check<'f> {
    at: Pointer,
    errors: &'f mut Vec<PolicyError>,
}

impl Check<'_> {
    fn value(&mut self, shape: &Shape, value: &Value) {
        match (shape, value) {
            (Shape::Any, _) | (Shape::Text, Value::String(_)) | (Shape::Flag, Value::Bool(_)) => {}
            (Shape::Integer, Value::Number(number)) => {
                if number.as_i64().is_none_or(|number| i32::try_from(number).is_err()) {
                    self.error(Code::WrongType, "expected an integer of 32 bits, found another number");
                }
            }
            (Shape::OneOf(known), Value::String(text)) => {
                if !known.contains(&&**text) {
                    let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
                    let message = format!("unsupported value `{shown}`, expected {}", any_of(known));
                    let error = PolicyError::new(Code::InvalidField, self.at.clone(), message);
                    self.errors.push(error.suggesting(nearest(text, known.iter().copied())));
                }
            }
            (Shape::List(element), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.at.push_index(index);
                    self.value(element, item);
                    self.at.pop();
                }
            }
            (Shape::Map(member), Value::Object(members)) => {
                for (key, value) in members.iter() {
                    self.at.push_key(key.clone());
                    self.value(member, value);
                    self.at.pop();
                }
            }
            (Shape::Fields(fields), _) => self.fields(fields, value),
            (shape, value) => {
                self.error(Code::WrongType, &format!("expected {}, found {}", shape.name(), found(value)));
            }
        }
    }

    fn fields(&mut self, fields: &Fields, value: &Value) {
        let Some(members) = value.as_object() else {
            return self.error(Code::WrongType, &format!("expected an object, found {}", found(value)));
        };
        for (key, value) in members {
            self.at.push_key(key.clone());
            match fields.known.iter().find(|(name, _)| *name == &**key) {
                // As in an API server, `null` counts as absent.
                Some(_) if value.is_null() => {}
                Some((_, shape)) => self.value(shape, value),
                None if fields.open => {}
                None => {
                    let known = fields.known.iter().map(|(name, _)| *name);
                    let message = format!("unknown field `{key}`");
                    self.errors.push(PolicyError::unknown_field(
                        self.at.clone(),
                        message,
                        nearest(key, known),
                    ));
                }
            }
            self.at.pop();
        }
        for name in fields.required {
            if members.get(name).is_none_or(Value::is_null) {
                self.error(Code::MissingField, &format!("required field `{name}` is missing"));
            }
        }
    }

    fn error(&mut self, code: Code, message: &str) {
        self.errors.push(PolicyError::new(code, self.at.clone(), message));
    }
}

impl Shape {
    const fn name(&self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Text | Self::OneOf(_) => "a string",
            Self::Flag => "a boolean",
            Self::Integer => "an integer",
            Self::List(_) => "a list",
            Self::Map(_) | Self::Fields(_) => "an object",
        }
    }
}

/// The type of a value, in words.
pub(super) const fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(document: &str) -> Vec<String> {
        let mut errors = Vec::new();
        check(&Value::from_json(document).unwrap(), &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    fn in_rule(fields: &str) -> Vec<String> {
        errors(&format!(
            r#"{{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{{"name":"p"}},
                "spec":{{"rules":[{{"name":"r","match":{{}},{fields}}}]}}}}"#
        ))
    }

    #[test]
    fn an_unknown_field_has_a_suggestion() {
        assert_eq!(
            in_rule(r#""mutate":{"patchStrategicMerg":{}}"#),
            [
                "spec.rules[0].mutate.patchStrategicMerg: unknown field `patchStrategicMerg`, did you mean `patchStrategicMerge`?"
            ]
        );
        assert_eq!(
            in_rule(r#""mutate":{"foreach":[{"foreach":[{"as":"x"}]}]}"#),
            ["spec.rules[0].mutate.foreach[0].foreach[0].as: unknown field `as`"]
        );
    }

    #[test]
    fn an_ill_typed_field_names_both_types() {
        assert_eq!(
            in_rule(r#""exclude":{"any":[{"resources":{"kinds":"Pod","operations":["create"]}},null]}"#),
            [
                "spec.rules[0].exclude.any[0].resources.kinds: expected a list, found a string",
                "spec.rules[0].exclude.any[0].resources.operations[0]: unsupported value `create`, \
                 expected `CREATE`, `UPDATE`, `DELETE` or `CONNECT`, did you mean `CREATE`?",
                "spec.rules[0].exclude.any[1]: expected an object, found null",
            ]
        );
        assert_eq!(errors("[]"), ["expected an object, found a list"]);
    }

    #[test]
    fn null_counts_as_absent_and_required_fields_are_required() {
        assert_eq!(in_rule(r#""exclude":null,"context":null"#), [""; 0]);
        assert_eq!(
            in_rule(r#""context":[{"name":null,"variable":{}}]"#),
            ["spec.rules[0].context[0]: required field `name` is missing"]
        );
        assert_eq!(
            errors(r#"{"apiVersion":"kyverno.io/v2","kind":"Policy","metadata":{"name":1}}"#),
            [
                "apiVersion: unsupported value `kyverno.io/v2`, expected `kyverno.io/v1` or `kyverno.io/v2beta1`, did you mean `kyverno.io/v1`?",
                "metadata.name: expected a string, found a number",
                "required field `spec` is missing",
            ]
        );
    }

    #[test]
    fn integers_have_32_bits() {
        for (number, expected) in [("10", 0), ("10.0", 0), ("1.5", 1), ("4294967296", 1), (r#""10""#, 1)] {
            let document = format!(
                r#"{{"apiVersion":"kyverno.io/v1","kind":"Policy","metadata":{{"name":"p"}},
                    "spec":{{"webhookTimeoutSeconds":{number}}}}}"#
            );
            assert_eq!(errors(&document).len(), expected, "{number}");
        }
    }
}
