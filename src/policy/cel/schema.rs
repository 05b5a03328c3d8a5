//! The fields of CEL policies, bindings and exceptions.

use crate::policy::PolicyError;
use crate::policy::schema::{
    CEL_CONDITION, FAILURE_POLICIES, Fields, METADATA, SELECTOR, Shape, TEXT_MAP, TEXTS,
};
use crate::value::Value;

use super::CelPolicyKind;

const CONDITIONS: Shape = Shape::List(&Shape::Fields(&CEL_CONDITION));

const fn document(known: &'static [(&'static str, Shape)]) -> Fields {
    Fields::of(known).requiring(&["apiVersion", "kind", "metadata", "spec"])
}

static MUTATING_POLICY: Fields = document(&[
    (
        "apiVersion",
        Shape::OneOf(&[
            "policies.kyverno.io/v1",
            "policies.kyverno.io/v1beta1",
            "policies.kyverno.io/v1alpha1",
        ]),
    ),
    ("kind", Shape::OneOf(&["MutatingPolicy"])),
    ("metadata", Shape::Fields(&METADATA)),
    ("spec", Shape::Fields(&SPEC)),
    ("status", Shape::Any),
]);

static NAMESPACED_MUTATING_POLICY: Fields = document(&[
    ("apiVersion", Shape::OneOf(&["policies.kyverno.io/v1", "policies.kyverno.io/v1beta1"])),
    ("kind", Shape::OneOf(&["NamespacedMutatingPolicy"])),
    ("metadata", Shape::Fields(&METADATA)),
    ("spec", Shape::Fields(&SPEC)),
    ("status", Shape::Any),
]);

static SPEC: Fields = Fields::of(&[
    ("auditAnnotations", Shape::List(&Shape::Fields(&AUDIT_ANNOTATION))),
    ("autogen", Shape::Fields(&AUTOGEN)),
    ("evaluation", Shape::Fields(&EVALUATION)),
    ("failurePolicy", Shape::OneOf(FAILURE_POLICIES)),
    ("matchConditions", CONDITIONS),
    ("matchConstraints", Shape::Fields(&CONSTRAINTS)),
    ("mutations", Shape::List(&Shape::Fields(&MUTATION))),
    ("reinvocationPolicy", Shape::Text),
    ("targetMatchConditions", CONDITIONS),
    ("targetMatchConstraints", Shape::Fields(&TARGET_CONSTRAINTS)),
    ("variables", CONDITIONS),
    ("webhookConfiguration", Shape::Fields(&WEBHOOK)),
]);

static AUDIT_ANNOTATION: Fields = Fields::of(&[("key", Shape::Text), ("valueExpression", Shape::Text)])
    .requiring(&["key", "valueExpression"]);

static AUTOGEN: Fields =
    Fields::of(&[("mutatingAdmissionPolicy", SWITCH), ("podControllers", Shape::Fields(&POD_CONTROLLERS))]);

static POD_CONTROLLERS: Fields = Fields::of(&[("controllers", TEXTS)]);

const SWITCH: Shape = Shape::Fields(&ENABLED);

static ENABLED: Fields = Fields::of(&[("enabled", Shape::Flag)]);

static EVALUATION: Fields = Fields::of(&[
    ("admission", SWITCH),
    ("background", SWITCH),
    ("mode", Shape::Text),
    ("mutateExisting", SWITCH),
    ("skipBackgroundRequests", Shape::Flag),
    ("useServerSideApply", Shape::Flag),
]);

static WEBHOOK: Fields = Fields::of(&[("timeoutSeconds", Shape::Integer)]);

static CONSTRAINTS: Fields = Fields::of(&[
    ("excludeResourceRules", RULES),
    ("matchPolicy", Shape::Text),
    ("namespaceSelector", Shape::Fields(&SELECTOR)),
    ("objectSelector", Shape::Fields(&SELECTOR)),
    ("resourceRules", RULES),
]);

static TARGET_CONSTRAINTS: Fields = Fields::of(&[
    ("excludeResourceRules", RULES),
    ("expression", Shape::Text),
    ("matchPolicy", Shape::Text),
    ("namespaceSelector", Shape::Fields(&SELECTOR)),
    ("objectSelector", Shape::Fields(&SELECTOR)),
    ("resourceRules", RULES),
]);

const RULES: Shape = Shape::List(&Shape::Fields(&RULE));

static RULE: Fields = Fields::of(&[
    ("apiGroups", TEXTS),
    ("apiVersions", TEXTS),
    ("operations", TEXTS),
    ("resourceNames", TEXTS),
    ("resources", TEXTS),
    ("scope", Shape::Text),
]);

static MUTATION: Fields = Fields::of(&[
    ("applyConfiguration", Shape::Fields(&PATCH)),
    ("jsonPatch", Shape::Fields(&PATCH)),
    ("patchType", Shape::Text),
])
.requiring(&["patchType"]);

static PATCH: Fields = Fields::of(&[("expression", Shape::Text)]);

const KUBERNETES_VERSIONS: Shape = Shape::OneOf(&[
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1beta1",
    "admissionregistration.k8s.io/v1alpha1",
]);

static ADMISSION_POLICY: Fields = document(&[
    ("apiVersion", KUBERNETES_VERSIONS),
    ("kind", Shape::OneOf(&["MutatingAdmissionPolicy"])),
    ("metadata", Shape::Fields(&METADATA)),
    ("spec", Shape::Fields(&ADMISSION_SPEC)),
]);

static ADMISSION_SPEC: Fields = Fields::of(&[
    ("failurePolicy", Shape::OneOf(&["Fail", "Ignore"])),
    ("matchConditions", CONDITIONS),
    ("matchConstraints", Shape::Fields(&STRICT_CONSTRAINTS)),
    ("mutations", Shape::List(&Shape::Fields(&STRICT_MUTATION))),
    ("paramKind", Shape::Fields(&PARAM_KIND)),
    ("reinvocationPolicy", Shape::OneOf(&["Never", "IfNeeded"])),
    ("variables", CONDITIONS),
])
.requiring(&["matchConstraints", "mutations", "reinvocationPolicy"]);

static PARAM_KIND: Fields =
    Fields::of(&[("apiVersion", Shape::Text), ("kind", Shape::Text)]).requiring(&["apiVersion", "kind"]);

static STRICT_CONSTRAINTS: Fields = Fields::of(&[
    ("excludeResourceRules", Shape::List(&Shape::Fields(&EXCLUDED_RULE))),
    ("matchPolicy", MATCH_POLICY),
    ("namespaceSelector", Shape::Fields(&SELECTOR)),
    ("objectSelector", Shape::Fields(&SELECTOR)),
    ("resourceRules", STRICT_RULES),
])
.requiring(&["resourceRules"]);

const MATCH_POLICY: Shape = Shape::OneOf(&["Exact", "Equivalent"]);

const STRICT_RULES: Shape = Shape::List(&Shape::Fields(&STRICT_RULE));

static STRICT_RULE: Fields = Fields::of(&[
    ("apiGroups", TEXTS),
    ("apiVersions", TEXTS),
    ("operations", Shape::List(&Shape::OneOf(&["*", "CREATE", "UPDATE", "CONNECT"]))),
    ("resourceNames", TEXTS),
    ("resources", TEXTS),
    ("scope", SCOPE),
])
.requiring(&["apiGroups", "apiVersions", "operations", "resources"]);

/// Deletions may be excluded, though no rule may be for them.
static EXCLUDED_RULE: Fields = Fields::of(&[
    ("apiGroups", TEXTS),
    ("apiVersions", TEXTS),
    ("operations", Shape::List(&Shape::OneOf(&["*", "CREATE", "UPDATE", "DELETE", "CONNECT"]))),
    ("resourceNames", TEXTS),
    ("resources", TEXTS),
    ("scope", SCOPE),
])
.requiring(&["apiGroups", "apiVersions", "operations", "resources"]);

const SCOPE: Shape = Shape::OneOf(&["*", "Cluster", "Namespaced"]);

static STRICT_MUTATION: Fields = Fields::of(&[
    ("applyConfiguration", Shape::Fields(&STRICT_PATCH)),
    ("jsonPatch", Shape::Fields(&STRICT_PATCH)),
    ("patchType", Shape::OneOf(&["ApplyConfiguration", "JSONPatch"])),
])
.requiring(&["patchType"]);

static STRICT_PATCH: Fields = Fields::of(&[("expression", Shape::Text)]).requiring(&["expression"]);

static BINDING: Fields = document(&[
    ("apiVersion", KUBERNETES_VERSIONS),
    ("kind", Shape::OneOf(&["MutatingAdmissionPolicyBinding"])),
    ("metadata", Shape::Fields(&METADATA)),
    ("spec", Shape::Fields(&BINDING_SPEC)),
]);

static BINDING_SPEC: Fields = Fields::of(&[
    ("matchResources", Shape::Fields(&BINDING_CONSTRAINTS)),
    ("paramRef", Shape::Fields(&PARAM_REF)),
    ("policyName", Shape::Text),
])
.requiring(&["policyName"]);

static BINDING_CONSTRAINTS: Fields = Fields::of(STRICT_CONSTRAINTS.known);

static PARAM_REF: Fields = Fields::of(&[
    ("name", Shape::Text),
    ("namespace", Shape::Text),
    ("parameterNotFoundAction", Shape::OneOf(&["Allow", "Deny"])),
    ("selector", Shape::Fields(&SELECTOR)),
])
.requiring(&["parameterNotFoundAction"]);

static EXCEPTION: Fields = document(&[
    (
        "apiVersion",
        Shape::OneOf(&[
            "policies.kyverno.io/v1",
            "policies.kyverno.io/v1beta1",
            "policies.kyverno.io/v1alpha1",
        ]),
    ),
    ("kind", Shape::OneOf(&["PolicyException"])),
    ("metadata", Shape::Fields(&METADATA)),
    ("spec", Shape::Fields(&EXCEPTION_SPEC)),
]);

static EXCEPTION_SPEC: Fields = Fields::of(&[
    ("allowedValues", TEXTS),
    ("evaluationMode", Shape::Text),
    ("expiresAt", Shape::Text),
    ("images", TEXTS),
    ("matchConditions", CONDITIONS),
    ("policyRefs", Shape::List(&Shape::Fields(&POLICY_REF))),
    ("properties", TEXT_MAP),
    ("reportResult", Shape::OneOf(&["skip", "pass"])),
])
.requiring(&["policyRefs"]);

static POLICY_REF: Fields =
    Fields::of(&[("kind", Shape::Text), ("name", Shape::Text)]).requiring(&["kind", "name"]);

/// Checks the fields of a whole policy.
pub(super) fn check(kind: CelPolicyKind, document: &Value, errors: &mut Vec<PolicyError>) {
    let fields = match kind {
        CelPolicyKind::MutatingPolicy => &MUTATING_POLICY,
        CelPolicyKind::NamespacedMutatingPolicy => &NAMESPACED_MUTATING_POLICY,
        CelPolicyKind::MutatingAdmissionPolicy => &ADMISSION_POLICY,
    };
    fields.check(document, errors);
}

/// Checks the fields of a whole binding.
pub(super) fn check_binding(document: &Value, errors: &mut Vec<PolicyError>) {
    BINDING.check(document, errors);
}

/// Checks the fields of a whole exception.
pub(super) fn check_exception(document: &Value, errors: &mut Vec<PolicyError>) {
    EXCEPTION.check(document, errors);
}
