//! What a cluster refuses when the object is created, and what Kyverno accepts without effect.

use crate::policy::{Binding, CelException};

use super::*;

/// Of a `MutatingAdmissionPolicy`. CONSTRAINTS, MUTATIONS and NEVER are valid fields; RULE are those of a rule.
const ADMISSION: &str = "
    CONSTRAINTS, NEVER => spec: required field `mutations` is missing
    CONSTRAINTS, NEVER, mutations: [] => spec.mutations: mutations must contain at least one item
    MUTATIONS, NEVER => spec: required field `matchConstraints` is missing
    MUTATIONS, NEVER, matchConstraints: {} => spec.matchConstraints: required field `resourceRules` is missing
    MUTATIONS, NEVER, matchConstraints: {resourceRules: []} => spec.matchConstraints.resourceRules: expected at least one
    RULES(operations: [DELETE], apiGroups: [''], apiVersions: [v1], resources: [pods]) => spec.matchConstraints.resourceRules[0].operations[0]: unsupported value `DELETE`, expected `*`, `CREATE`, `UPDATE` or `CONNECT`
    MUTATIONS, NEVER, matchConstraints: {resourceRules: [{RULE}], excludeResourceRules: [{operations: ['*', DELETE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]} => excludeResourceRules[0].operations: if `*` is present
    MUTATIONS, NEVER, matchConstraints: {resourceRules: [{RULE}], excludeResourceRules: [{operations: [delete], apiGroups: [''], apiVersions: [v1], resources: [pods]}]} => did you mean `DELETE`?
    RULES(RULE, resourceNames: [a, b, a]) => spec.matchConstraints.resourceRules[0].resourceNames[2]: `a` is used twice
    RULES(RULE, resourceNames: [a/b]) => spec.matchConstraints.resourceRules[0].resourceNames[0]: a name may not contain `/`
    RULES(RULE, resourceNames: [a%b]) => spec.matchConstraints.resourceRules[0].resourceNames[0]: a name may not contain `%`
    RULES(RULE, resourceNames: [..]) => spec.matchConstraints.resourceRules[0].resourceNames[0]: a name may not be `..`
    ALL, paramKind: {} => spec.paramKind: required field `apiVersion` is missing
    ALL, paramKind: {apiVersion: '', kind: A} => spec.paramKind.apiVersion: `` is no API version
    ALL, paramKind: {apiVersion: v1/x/y, kind: A} => spec.paramKind.apiVersion: `v1/x/y` is no API version
    ALL, paramKind: {apiVersion: Group_X/v1, kind: A} => spec.paramKind.apiVersion: `Group_X/v1` is no API version
    ALL, paramKind: {apiVersion: a..b/v1, kind: A} => spec.paramKind.apiVersion: `a..b/v1` is no API version
    ALL, paramKind: {apiVersion: 1v, kind: A} => spec.paramKind.apiVersion: `1v` is no API version
    ALL, paramKind: {apiVersion: V1, kind: A} => spec.paramKind.apiVersion: `V1` is no API version
    ALL, paramKind: {apiVersion: a/, kind: A} => spec.paramKind.apiVersion: `a/` is no API version
    ALL, paramKind: {apiVersion: v1, kind: ''} => spec.paramKind.kind: `` is no kind
    ALL, paramKind: {apiVersion: v1, kind: a b} => spec.paramKind.kind: `a b` is no kind
    ALL, paramKind: {apiVersion: v1, kind: 1A} => spec.paramKind.kind: `1A` is no kind
    ALL, paramKind: {apiVersion: v1, kind: Foo_X} => spec.paramKind.kind: `Foo_X` is no kind
    ALL, variables: [{name: a, expression: 'jsonpatch.escapeKey(\"a/b\")'}] => spec.variables[0].expression: undeclared reference to 'jsonpatch'
    ALL, matchConditions: [{name: a, expression: 'jsonpatch.escapeKey(\"a/b\") == \"x\"'}] => spec.matchConditions[0].expression: undeclared reference to 'escapeKey'
    RULES(operations: ['*', CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]) => spec.matchConstraints.resourceRules[0].operations: if `*` is present, must not specify other operations
    RULES(operations: [create], apiGroups: [''], apiVersions: [v1], resources: [pods]) => did you mean `CREATE`?
    RULES(RULE, scope: Foo) => spec.matchConstraints.resourceRules[0].scope: unsupported value `Foo`
    RULES(operations: [CREATE], apiVersions: [v1], resources: [pods]) => spec.matchConstraints.resourceRules[0]: required field `apiGroups` is missing
    RULES(operations: [], apiGroups: [''], apiVersions: [v1], resources: [pods]) => spec.matchConstraints.resourceRules[0].operations: expected at least one
    RULES(operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods/*, pods/status]) => spec.matchConstraints.resourceRules[0].resources[1]: if `pods/*` is present, must not specify `pods/status`
    RULES(operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: ['*', pods]) => must not specify other resources without subresources
    MUTATIONS, NEVER, matchConstraints: {resourceRules: [{RULE}], matchPolicy: Foo} => spec.matchConstraints.matchPolicy: unsupported value `Foo`
    MUTATIONS, NEVER, matchConstraints: {resourceRules: [{RULE}], objectSelector: {matchLabels: {a: '*'}}} => spec.matchConstraints.objectSelector: the value of `a` is no label value
    CONSTRAINTS, MUTATIONS => spec: required field `reinvocationPolicy` is missing
    CONSTRAINTS, MUTATIONS, reinvocationPolicy: Always => spec.reinvocationPolicy: unsupported value `Always`
    ALL, failurePolicy: Foo => spec.failurePolicy: unsupported value `Foo`
    CONSTRAINTS, NEVER, mutations: [{applyConfiguration: {expression: 'Object{}'}}] => spec.mutations[0]: required field `patchType` is missing
    CONSTRAINTS, NEVER, mutations: [{patchType: Merge}] => spec.mutations[0].patchType: unsupported value `Merge`
    CONSTRAINTS, NEVER, mutations: [{patchType: JSONPatch, applyConfiguration: {expression: 'Object{}'}}] => spec.mutations[0]: `jsonPatch` must be specified when patchType is JSONPatch
    CONSTRAINTS, NEVER, mutations: [{patchType: JSONPatch, applyConfiguration: {expression: 'Object{}'}}] => spec.mutations[0].applyConfiguration: must not be specified when patchType is JSONPatch
    CONSTRAINTS, NEVER, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: ' '}}] => spec.mutations[0].applyConfiguration.expression: expected an expression
    ALL, variables: [{name: a-b, expression: '1'}] => spec.variables[0].name: `a-b` is no CEL identifier
    ALL, variables: [{name: in, expression: '1'}] => spec.variables[0].name: `in` is no CEL identifier
    ALL, matchConditions: [{name: a, expression: 'true'}, {name: a, expression: 'true'}] => spec.matchConditions[1].name: `a` is used twice
    ALL, matchConditions: [{name: a b, expression: 'true'}] => spec.matchConditions[0].name: `a b` is no qualified name
    ALL, matchConditions: [MANY] => spec.matchConditions: 65 conditions, at most 64 are allowed
    ALL, variables: [{name: v, expression: '1'}], matchConditions: [{name: a, expression: 'Object{} == Object{}'}] => spec.matchConditions[0].expression: undeclared reference to 'Object'
    ALL, matchConditions: [{name: a, expression: params.x}] => spec.matchConditions[0].expression: undeclared reference to 'params'
    ALL, matchConditions: [{name: a, expression: object.x}] => spec.matchConditions[0].expression: must evaluate to bool but got dyn
    ALL, matchConditions: [{name: a, expression: 'request.object.x == 1'}] => undefined field 'object'
    CONSTRAINTS, NEVER, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: '{}'}}] => must evaluate to Object but got map
    CONSTRAINTS, NEVER, mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[]'}}] => must evaluate to list(JSONPatch) but got list(dyn)
    ALL, nope: 1 => spec.nope: unknown field `nope`
    ALL, paramkind: {apiVersion: v1, kind: ConfigMap} => spec.paramkind: unknown field `paramkind`, did you mean `paramKind`?
    ALL, evaluation: {} => spec.evaluation: unknown field
";

/// Accepted in a `MutatingAdmissionPolicy`.
const ADMITTED: &str = "
    ALL
    MUTATIONS, NEVER, matchConstraints: {resourceRules: [{RULE}], excludeResourceRules: [{operations: [DELETE, CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]}
    MUTATIONS, NEVER, matchConstraints: {resourceRules: [{RULE, resourceNames: ['', A b, a_b]}]}
    ALL, paramKind: {apiVersion: /v1, kind: Foo}
    ALL, paramKind: {apiVersion: a.b/v1, kind: Foo-X}
    CONSTRAINTS, NEVER, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{name: jsonpatch.escapeKey(\"a\")}}'}}]
";

/// The metadata of policies and bindings, and what is refused in it.
const METADATA: &str = "
    {name: Upper} => metadata.name: `Upper` is no name of an object
    {name: a..b} => metadata.name: `a..b` is no name of an object
    {name: B_} => metadata.name: `B_` is no name of an object
    {name: ''} => metadata.name: `` is no name of an object
    {name: LONG} => is no name of an object
    {name: 1.a-b} =>
    {name: p, labels: {a b: c}} => `a b` is no label key
    {name: p, labels: {A.B/c: d}} => `A.B/c` is no label key
    {name: p, labels: {a: b c}} => `b c` is no label value
    {name: p, labels: {UP: '', a/UP: x}} =>
    {name: p, annotations: {x/y/z: d}} => `x/y/z` is no qualified name
    {name: p, annotations: {A.B/c: d e}} =>
";

/// Of a `MutatingPolicy`.
const MUTATING: &str = "
    MUTATIONS => spec.matchConstraints: a matchConstraints with at least one resource rule is required
    MUTATIONS, matchConstraints: {resourceRules: []} => a matchConstraints with at least one resource rule is required
    BOTH, failurePolicy: Foo => spec.failurePolicy: unsupported value `Foo`
    CONSTRAINTS, mutations: [{jsonPatch: {expression: '[]'}}] => spec.mutations[0]: required field `patchType` is missing
    CONSTRAINTS, mutations: [{patchType: JSONPatch, jsonPatch: {}}] => spec.mutations[0].jsonPatch.expression: syntax error
    BOTH, variables: [{name: a, expression: '1'}, {name: a, expression: '2'}] => spec.variables[1].name: `a` is used twice
    BOTH, matchConditions: [{name: a, expression: 'true'}, {name: a, expression: 'true'}] => spec.matchConditions[1].name: `a` is used twice
    BOTH, evaluation: {admission: {enabled: false}} => spec.evaluation: disabling both admission and mutateExisting
    BOTH, targetMatchConstraints: {expression: object} => spec.targetMatchConstraints.expression: must evaluate to a map of any values by strings but got dyn
    BOTH, targetMatchConstraints: {expression: '{\"a\": \"b\"}'} => must evaluate to a map of any values by strings but got map(string, string)
    BOTH, auditAnnotations: [{key: a, valueExpression: object.x}] => spec.auditAnnotations[0].valueExpression: must evaluate to string or null but got dyn
    BOTH, auditAnnotations: [{key: a, valueExpression: '1'}] => must evaluate to string or null but got int
    BOTH, variables: [{name: v, expression: 'true'}], matchConditions: [{name: a, expression: variables.v}], autogen: {mutatingAdmissionPolicy: {enabled: true}} => spec.matchConditions[0].expression: variables cannot be referenced
    BOTH, variables: [{name: v, expression: foo}], matchConditions: [{name: a, expression: variables.v}] => spec.variables[0].expression: undeclared reference to 'foo'
    BOTH, variables: [{name: b, expression: variables.a}, {name: a, expression: '1'}] => spec.variables[0].expression: undefined field 'a'
    BOTH, variables: [{name: a, expression: '1'}], matchConditions: [{name: a, expression: 'variables.a + \"x\" == \"\"'}] => spec.matchConditions[0].expression: found no matching overload
    BOTH, matchConditions: [{name: n, expression: 1}] => spec.matchConditions[0].expression: expected a string, found a number
    BOTH, autogen: {podControllers: [jobs]} => spec.autogen.podControllers: expected an object, found a list
";

/// Accepted in a `MutatingPolicy`, with a warning or without.
const ACCEPTED: &str = "
    CONSTRAINTS => spec: the policy has no mutations and does nothing
    CONSTRAINTS, mutations: [{patchType: Merge}] => spec.mutations[0].patchType: the mutation is ignored: there is no patchType `Merge`
    CONSTRAINTS, mutations: [{patchType: JSONPatch, applyConfiguration: {expression: '1'}}] => spec.mutations[0]: the mutation is ignored: it has no block for its patchType
    CONSTRAINTS, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}, jsonPatch: {expression: '1 +'}}] =>
    MUTATIONS, matchConstraints: {resourceRules: [{operations: [DELETE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]} => spec.matchConstraints.resourceRules[0].operations[0]: an object that is deleted cannot be mutated
    MUTATIONS, matchConstraints: {resourceRules: [{operations: [create], apiGroups: [''], apiVersions: [v1], resources: [pods]}]} => `create`, did you mean `CREATE`?
    MUTATIONS, matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods]}]} => spec.matchConstraints.resourceRules[0]: the rule matches nothing: it has no operations
    MUTATIONS, matchConstraints: {resourceRules: [{RULE, scope: Foo}]} => `Foo`, did you mean `*`?
    MUTATIONS, matchConstraints: {resourceRules: [{RULE}], matchPolicy: Foo} => spec.matchConstraints.matchPolicy: Kyverno's webhook
    MUTATIONS, matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [core], apiVersions: [v1], resources: [pods]}]} => spec.matchConstraints.resourceRules[0].apiGroups[0]: there is no API group `core`; that of Pods
    BOTH, reinvocationPolicy: Always =>
    BOTH, evaluation: {mode: Foo} =>
    BOTH, webhookConfiguration: {timeoutSeconds: 31} =>
    BOTH, variables: [{name: a-b, expression: '1'}] => spec.variables[0].name: no expression can name the variable `a-b`
    BOTH, autogen: {podControllers: {controllers: [deployment]}} => spec.autogen.podControllers.controllers[0]: `deployment` is no Pod controller, did you mean `deployments`?
    MUTATIONS, matchConstraints: {resourceRules: [{RULE}], namespaceSelector: {matchLabels: {a: b}}}, autogen: {mutatingAdmissionPolicy: {enabled: true}} => spec.matchConstraints.namespaceSelector: Kyverno makes a MutatingAdmissionPolicy without `namespaceSelector`
    MUTATIONS, matchConstraints: {resourceRules: [{RULE}], namespaceSelector: {matchLabels: {a: b}}} =>
    BOTH, matchConditions: [{name: a b, expression: 'true'}, MANY] =>
    BOTH, variables: [{name: v, expression: 'true'}], matchConditions: [{name: a, expression: variables.v}] =>
    BOTH, matchConditions: [{name: a, expression: 'request.object.spec.priority == 1'}] =>
";

const BINDINGS: &str = "
    matchResources: {} => spec: required field `policyName` is missing
    policyName: '' => spec.policyName: expected the name of a policy
    policyName: p, paramRef: {parameterNotFoundAction: Deny} => spec.paramRef: one of name or selector must be specified
    policyName: p, paramRef: {name: a, selector: {}, parameterNotFoundAction: Deny} => spec.paramRef.selector: name and selector are mutually exclusive
    policyName: p, paramRef: {name: a} => spec.paramRef: required field `parameterNotFoundAction` is missing
    policyName: p, paramRef: {name: a, parameterNotFoundAction: Warn} => spec.paramRef.parameterNotFoundAction: unsupported value `Warn`
    policyName: p, matchResources: {resourceRules: [{operations: [DELETE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]} => spec.matchResources.resourceRules[0].operations[0]: unsupported value `DELETE`
    policyName: p, matchResources: {resourceRules: [{RULE, resourceNames: [a, a]}]} => spec.matchResources.resourceRules[0].resourceNames[1]: `a` is used twice
    policyName: A b => spec.policyName: `A b` is no name of an object
    policyName: a..b => spec.policyName: `a..b` is no name of an object
    policyName: p, paramRef: {name: a/b, parameterNotFoundAction: Deny} => spec.paramRef.name: a name may not contain `/`
    policyName: p, paramRef: {name: .., parameterNotFoundAction: Deny} => spec.paramRef.name: a name may not be `..`
    policyName: p, validationActions: [Deny] => spec.validationActions: unknown field
";

const EXCEPTIONS: &str = "
    matchConditions: [] => spec: required field `policyRefs` is missing
    policyRefs: [] => spec.policyRefs: must specify at least one policy ref
    policyRefs: [{name: p}] => spec.policyRefs[0]: required field `kind` is missing
    policyRefs: [REF], reportResult: fail => spec.reportResult: unsupported value `fail`
    policyRefs: [REF], expiresAt: tomorrow => spec.expiresAt: expected a time
    policyRefs: [REF], matchConditions: [{name: a, expression: object.x}] => spec.matchConditions[0].expression: must evaluate to bool but got dyn
    policyRefs: [REF], matchConditions: [{name: a, expression: variables.x}] => spec.matchConditions[0].expression: undefined field 'x'
";

/// Mistakes that have one error, not others that follow from it.
const SINGLE: &str = "
    ALL, matchConditions: [{name: a, expression: 'object.x.existsOne(a, a == 1)'}] => undeclared reference to 'existsOne', did you mean `exists_one`?
    ALL, matchConditions: [{name: a, expression: 'authorizer.group(\"\").resource(\"pods\").check(\"get\").allowed()'}] => undeclared reference to 'authorizer', which
    ALL, matchConditions: [{name: a, expression: 'authorizer.requestResource.check(\"get\").allowed() == true'}] => undeclared reference to 'authorizer', which
    MUTATIONS, NEVER, matchConstraints: {resourceRules: [{RULE}], objectSelector: {matchExpressions: [{key: a, operator: Foo, values: [x]}]}} => matchExpressions[0].operator: unsupported value `Foo`
    ALL, variables: [{name: y, expression: '1'}] => spec.variables[0].name: expected a string, found a boolean; quote it
    ALL, matchConditions: [{name: a, expression: 'authorizer'}] => undeclared reference to 'authorizer', which
";

fn rows(table: &str) -> impl Iterator<Item = (String, &str)> {
    table.trim().lines().map(|line| {
        let (spec, expected) = line.trim().split_once(" =>").unwrap();
        (expanded(spec), expected.trim())
    })
}

fn expanded(spec: &str) -> String {
    let many: Vec<_> = (0..65).map(|n| format!("{{name: c{n}, expression: 'true'}}")).collect();
    let mut spec = spec.to_owned();
    if let Some(rule) = spec.strip_prefix("RULES(").and_then(|rule| rule.strip_suffix(')')) {
        spec = format!("MUTATIONS, NEVER, matchConstraints: {{resourceRules: [{{{rule}}}]}}");
    }
    spec.replace("ALL", "CONSTRAINTS, MUTATIONS, NEVER")
        .replace("BOTH", "CONSTRAINTS, MUTATIONS")
        .replace("CONSTRAINTS", "matchConstraints: {resourceRules: [{RULE}]}")
        .replace("MUTATIONS", &format!("mutations: [{MUTATION}]"))
        .replace("NEVER", "reinvocationPolicy: Never")
        .replace("RULE", RULE)
        .replace("MANY", &many.join(", "))
        .replace("REF", "{kind: MutatingPolicy, name: p}")
}

#[track_caller]
fn refused<T: std::fmt::Debug>(read: Result<T, Vec<PolicyError>>, spec: &str, expected: &str) {
    let errors = shown(&read.expect_err(spec));
    assert!(errors.iter().any(|error| error.contains(expected)), "{spec}\n{errors:#?}");
}

#[test]
fn what_an_api_server_refuses_is_refused() {
    for (spec, expected) in rows(ADMISSION) {
        let document = document("MutatingAdmissionPolicy", &spec);
        refused(parse(&document, Semantics::Documented), &spec, expected);
    }
    for spec in ADMITTED.trim().lines() {
        let document = document("MutatingAdmissionPolicy", &expanded(spec.trim()));
        assert_eq!(load(&document).meta.warnings, [], "{spec}");
    }
}

#[test]
fn metadata_is_refused_as_by_an_api_server() {
    let long = "a".repeat(254);
    for (metadata, expected) in METADATA.trim().lines().filter_map(|line| line.split_once(" =>")) {
        let (metadata, expected) = (metadata.trim().replace("LONG", &long), expected.trim());
        let with_metadata = |kind: &str, spec: &str| {
            let mut document = document(kind, &expanded(spec));
            document.insert("metadata", yaml::parse_value(&metadata).unwrap());
            document
        };
        let policy = with_metadata("MutatingAdmissionPolicy", "ALL");
        let binding = with_metadata("MutatingAdmissionPolicyBinding", "policyName: p");
        if expected.is_empty() {
            load(&policy);
            Binding::parse(&binding).unwrap();
        } else {
            refused(parse(&policy, Semantics::Documented), &metadata, expected);
            refused(Binding::parse(&binding), &metadata, expected);
        }
    }
}

#[test]
fn what_kyverno_refuses_is_refused() {
    for kind in ["MutatingPolicy", "NamespacedMutatingPolicy"] {
        for (spec, expected) in rows(MUTATING) {
            refused(parse(&document(kind, &spec), Semantics::Documented), &spec, expected);
        }
    }
    let http = "CONSTRAINTS, MUTATIONS, variables: [{name: a, expression: 'http.get(\"x\")'}] => \
        spec.variables[0].expression: http.* is not allowed in namespaced policies";
    let (spec, expected) = rows(http).next().unwrap();
    refused(parse(&document("NamespacedMutatingPolicy", &spec), Semantics::Documented), &spec, expected);
}

#[test]
fn what_kyverno_accepts_loads_with_a_warning_if_it_cannot_be_meant() {
    for (spec, expected) in rows(ACCEPTED) {
        let policy = load(&document("MutatingPolicy", &spec));
        let warnings = policy.meta.warnings.iter();
        let warnings: Vec<_> = warnings.map(|one| format!("{}: {}", one.pointer, one.cause)).collect();
        let is_found = warnings.iter().any(|warning| warning.contains(expected));
        assert!(if expected.is_empty() { warnings.is_empty() } else { is_found }, "{spec}\n{warnings:#?}");
    }
}

#[test]
fn one_mistake_is_one_error() {
    for kind in ["MutatingPolicy", "MutatingAdmissionPolicy"] {
        for (spec, expected) in rows(SINGLE) {
            let errors = parse(&document(kind, &spec), Semantics::Documented).expect_err(&spec);
            let errors = shown(&errors);
            assert!(matches!(&*errors, [one] if one.contains(expected)), "{kind} {spec}\n{errors:#?}");
        }
    }
    let two =
        "CONSTRAINTS, MUTATIONS, variables: [{name: y, expression: '1'}, {name: n, expression: '1'}] =>";
    let (spec, _) = rows(two).next().unwrap();
    let errors = shown(&parse(&document("MutatingPolicy", &spec), Semantics::Documented).expect_err(&spec));
    assert!(errors.len() == 2 && errors.iter().all(|error| error.contains("quote it")), "{errors:#?}");
}

#[test]
fn bindings_are_refused_as_by_an_api_server() {
    for (spec, expected) in rows(BINDINGS) {
        refused(Binding::parse(&document("MutatingAdmissionPolicyBinding", &spec)), &spec, expected);
    }
    let excluding = "policyName: p, matchResources: {excludeResourceRules: [{operations: [DELETE], apiGroups: [''], \
        apiVersions: [v1], resources: [pods]}]}";
    assert!(Binding::parse(&document("MutatingAdmissionPolicyBinding", excluding)).is_ok());
    let all = "policyName: p, matchResources: {}, paramRef: {selector: {}, parameterNotFoundAction: Allow}";
    let binding = Binding::parse(&document("MutatingAdmissionPolicyBinding", all)).unwrap();
    assert_eq!((&*binding.name, &*binding.policy), ("p", "p"));
    assert!(binding.constraints.is_some() && binding.param_ref.unwrap().selects(&Value::Null));
}

#[test]
fn exceptions_are_refused_as_by_kyverno() {
    for (spec, expected) in rows(EXCEPTIONS) {
        refused(CelException::parse(&document("PolicyException", &spec)), &spec, expected);
    }
    // The conditions of an exception from other policies are not ours to compile.
    let other =
        "policyRefs: [{kind: ValidatingPolicy, name: p}], matchConditions: [{name: a, expression: nope}]";
    assert!(!CelException::parse(&document("PolicyException", other)).unwrap().is_for_mutation());
    let all = "policyRefs: [{kind: MutatingPolicy, name: p}], images: [a], allowedValues: [b], reportResult: pass, \
        expiresAt: '2030-01-31T00:00:00Z', evaluationMode: x, properties: {a: b}";
    let exception = CelException::parse(&document("PolicyException", all)).unwrap();
    assert!(exception.is_partial() && exception.reports_pass && exception.expires_at.is_some());
}

#[test]
fn versions_are_those_that_are_served() {
    for (kind, api_version, is_served) in [
        ("MutatingPolicy", "policies.kyverno.io/v1alpha1", true),
        ("NamespacedMutatingPolicy", "policies.kyverno.io/v1beta1", true),
        ("NamespacedMutatingPolicy", "policies.kyverno.io/v1alpha1", false),
        ("MutatingAdmissionPolicy", "admissionregistration.k8s.io/v1beta1", true),
        ("MutatingAdmissionPolicy", "admissionregistration.k8s.io/v2", false),
    ] {
        let (spec, _) =
            rows(if kind == "MutatingAdmissionPolicy" { "ALL =>" } else { "BOTH =>" }).next().unwrap();
        let mut document = document(kind, &spec);
        document.insert("apiVersion", Value::from(api_version));
        assert_eq!(parse(&document, Semantics::Documented).is_ok(), is_served, "{kind} {api_version}");
    }
}
