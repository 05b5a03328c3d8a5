//! The schema of classic policies and exceptions.

use crate::policy::PolicyError;
use crate::policy::schema::{
    CEL_CONDITION, FAILURE_POLICIES, Fields, METADATA, SELECTOR, Shape, TEXT_MAP, TEXTS,
};
use crate::value::Value;

const FILTERS: Shape = Shape::List(&Shape::Fields(&FILTER));
const SUBJECTS: Shape = Shape::List(&Shape::Fields(&SUBJECT));

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
    POLICY.check(document, errors);
}

/// Checks the fields of a whole exception.
pub(super) fn check_exception(document: &Value, errors: &mut Vec<PolicyError>) {
    EXCEPTION.check(document, errors);
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
    fn a_field_beside_its_empty_parent_lacks_indentation() {
        assert_eq!(
            in_rule(
                r#""exclude":{"any":[{"resources":null,"kinds":["Pod"]}]},"mutate":{"patchStrategicMerge":null,"metadata":{}}"#
            ),
            [
                "spec.rules[0].exclude.any[0].kinds: unknown field `kinds`: `resources` beside it is empty; indent `kinds` below it",
                "spec.rules[0].mutate.metadata: unknown field `metadata`: `patchStrategicMerge` beside it is empty; indent `metadata` below it",
            ]
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
