//! The test document.

use crate::policy::Operation;
use crate::value::{Pointer, Text, Value};

use super::fields::{Fault, Fields};

/// What a test document says. Paths stand as written.
#[derive(Clone, Debug, Default)]
pub struct Suite {
    /// Its name; empty where it has none.
    pub name: Text,
    /// Files and folders with policies.
    pub policies: Vec<Text>,
    /// Files and folders with objects.
    pub resources: Vec<Text>,
    /// Files and folders with objects that rules with targets may change, and that trigger nothing.
    pub targets: Vec<Text>,
    /// Files with policy exceptions.
    pub exceptions: Vec<Text>,
    /// The place of values that stand in the document itself; they win over [`Suite::variables`].
    pub values: Option<Pointer>,
    /// A file with values.
    pub variables: Option<Text>,
    /// A file that says who makes the requests.
    pub userinfo: Option<Text>,
    /// A file with objects and images that context entries are answered from.
    pub context: Option<Text>,
    /// Files with what the cluster holds.
    pub cluster_resources: Vec<Text>,
    /// What is expected.
    pub results: Vec<Expectation>,
    /// Fields with content that this version has no use for.
    pub unused: Vec<&'static str>,
}

/// One expectation: what a policy's rule makes of some objects.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Its place in the document.
    pub pointer: Pointer,
    /// The policy, as written.
    pub policy: Text,
    /// The rule; `None` for all rules of the policy.
    pub rule: Option<Text>,
    /// The expected status.
    pub result: Status,
    /// Objects, by `name` or `namespace/name`.
    pub resources: Vec<Text>,
    /// Objects, by more than a name.
    pub specs: Vec<ResourceSpec>,
    /// The operation of the requests, if not the suite's own.
    pub operation: Option<Operation>,
    /// The file with the objects as they are expected to become.
    pub patched: Option<Text>,
    /// Whether an object that the file does not hold is a failure.
    pub fail_on_missing: bool,
    /// Whether it names a generated object, which only generate rules make.
    pub generated: bool,
}

/// An object of an expectation, by more than its name.
#[derive(Clone, Debug)]
pub struct ResourceSpec {
    /// The API group.
    pub group: Text,
    /// The version; empty for any.
    pub version: Text,
    /// The namespace; empty for none or `default`.
    pub namespace: Text,
    /// The name.
    pub name: Text,
}

/// The status of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It applied.
    Pass,
    /// It found a violation. No mutate rule does.
    Fail,
    /// It does not apply, or changes nothing.
    Skip,
    /// It found a violation that does not count. No mutate rule does.
    Warn,
    /// It could not be evaluated.
    Error,
}

impl Status {
    const ALL: [Self; 5] = [Self::Pass, Self::Fail, Self::Skip, Self::Warn, Self::Error];

    /// The status as documents write it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Skip => "skip",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

const FIELDS: [&str; 20] = [
    "apiVersion",
    "kind",
    "metadata",
    "policies",
    "resources",
    "targetResources",
    "paramResources",
    "exceptions",
    "variables",
    "values",
    "userinfo",
    "context",
    "clusterResources",
    "apiCallResponses",
    "globalContextEntries",
    "jsonPayload",
    "jsonPayloads",
    "httpPayloads",
    "envoyPayloads",
    "results",
];

/// Fields that have an effect in Kyverno, and none here.
const UNUSED: [&str; 5] = ["paramResources", "jsonPayload", "jsonPayloads", "httpPayloads", "envoyPayloads"];

const RESULT_FIELDS: [&str; 19] = [
    "policy",
    "rule",
    "result",
    "kind",
    "resources",
    "resourceSpecs",
    "operation",
    "patchedResources",
    "generatedResource",
    "generatedResources",
    "cloneSourceResource",
    "failOnMissingResources",
    "isValidatingPolicy",
    "isImageValidatingPolicy",
    "isMutatingPolicy",
    "isGeneratingPolicy",
    "isDeletingPolicy",
    "isValidatingAdmissionPolicy",
    "isMutatingAdmissionPolicy",
];

const OLD_RESULT_FIELDS: [(&str, &str); 4] = [
    ("resource", "write `resources: [NAME]`"),
    ("status", "write `result: STATUS`"),
    ("namespace", "write `resources: [NAMESPACE/NAME]`, and `policy: NAMESPACE/NAME` for a Policy"),
    ("patchedResource", "write `patchedResources: FILE`"),
];

impl Suite {
    /// Reads a test document.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, with its place.
    pub fn read(root: &Value) -> Result<Self, Vec<Fault>> {
        let mut fields = Fields::default();
        let at = Pointer::ROOT;
        let mut suite = Self::default();
        if !fields.known(root, &at, &FIELDS, &[("name", "write `metadata.name`")]) {
            return Err(fields.faults);
        }
        let has_head = ["apiVersion", "kind"].map(|name| fields.text(root, &at, name).is_some());
        if has_head != [true, true] {
            let message = "apiVersion and kind are missing: the layout before Kyverno 1.11 is not read; begin \
                           with `apiVersion: cli.kyverno.io/v1alpha1` and `kind: Test`";
            fields.fault(&at, message);
        }
        if let Some((at, metadata)) = Fields::member(root, &at, "metadata") {
            suite.name = fields.text(metadata, &at, "name").unwrap_or_default();
        }
        suite.policies = fields.texts(root, &at, "policies");
        suite.resources = fields.texts(root, &at, "resources");
        suite.exceptions = fields.texts(root, &at, "exceptions");
        suite.cluster_resources = fields.texts(root, &at, "clusterResources");
        suite.targets = fields.texts(root, &at, "targetResources");
        fields.texts(root, &at, "paramResources");
        suite.values = Fields::member(root, &at, "values").map(|(at, _)| at);
        suite.variables = fields.text(root, &at, "variables");
        suite.userinfo = fields.text(root, &at, "userinfo");
        suite.context = fields.text(root, &at, "context");
        suite.unused = UNUSED
            .into_iter()
            .filter(|name| {
                Fields::member(root, &at, name).is_some_and(|(_, value)| match value {
                    Value::Array(items) => !items.is_empty(),
                    Value::String(text) => !text.is_empty(),
                    _ => true,
                })
            })
            .collect();
        for (at, result) in fields.list(root, &at, "results") {
            suite.results.extend(expectation(result, &at, &mut fields));
        }
        if fields.faults.is_empty() { Ok(suite) } else { Err(fields.faults) }
    }
}

fn expectation(node: &Value, at: &Pointer, fields: &mut Fields) -> Option<Expectation> {
    if !fields.known(node, at, &RESULT_FIELDS, &OLD_RESULT_FIELDS) {
        return None;
    }
    let is_old = node.get("status").is_some() && Fields::member(node, at, "result").is_none();
    let policy = fields.needed(node, at, "policy");
    let result = if is_old { None } else { fields.needed(node, at, "result") };
    let result = result.and_then(|word| {
        let status = Status::ALL.into_iter().find(|status| status.word() == &*word);
        if status.is_none() {
            let words = Status::ALL.map(Status::word).join(", ");
            fields.fault(&at.key("result"), format!("expected one of {words}"));
        }
        status
    });
    let operation = fields.text(node, at, "operation").and_then(|word| {
        let operation = Operation::parse(&word);
        if operation.is_none() {
            fields.fault(&at.key("operation"), "expected CREATE, UPDATE or DELETE");
        }
        operation
    });
    for (at, file) in fields.list(node, at, "generatedResources") {
        if file.as_str().is_none() {
            fields.type_fault(file, &at, "a string");
        }
    }
    for name in ["kind", "generatedResource", "cloneSourceResource"] {
        fields.text(node, at, name);
    }
    for name in RESULT_FIELDS.iter().filter(|name| name.starts_with("is")) {
        fields.truth(node, at, name);
    }
    let mut specs = Vec::new();
    const SPEC: [&str; 6] = ["group", "version", "kind", "namespace", "name", "subresource"];
    for (at, spec) in fields.list(node, at, "resourceSpecs") {
        if !fields.known(spec, &at, &SPEC, &[]) {
            continue;
        }
        let mut text = |name| fields.text(spec, &at, name).unwrap_or_default();
        let [group, version, _, namespace, name, _] = SPEC.map(&mut text);
        specs.push(ResourceSpec { group, version, namespace, name });
    }
    Some(Expectation {
        pointer: at.clone(),
        rule: fields.text(node, at, "rule"),
        resources: fields.texts(node, at, "resources"),
        patched: fields.text(node, at, "patchedResources"),
        fail_on_missing: fields.truth(node, at, "failOnMissingResources"),
        generated: ["generatedResource", "generatedResources"]
            .iter()
            .any(|name| Fields::member(node, at, name).is_some_and(|(_, value)| value.as_str() != Some(""))),
        policy: policy?,
        result: result?,
        specs,
        operation,
    })
}

impl Expectation {
    /// The name of the policy: what stands after the last `/`.
    pub fn policy_name(&self) -> &str {
        self.policy.rsplit('/').next().unwrap_or_default()
    }

    /// Whether a rule of this name is meant: the one named, and those generated from it.
    pub fn is_about(&self, rule: &str) -> bool {
        let Some(wanted) = self.rule.as_deref() else { return true };
        rule == wanted
            || [GENERATED, GENERATED_FOR_CRON_JOBS]
                .iter()
                .any(|prefix| rule.strip_prefix(prefix) == Some(wanted))
    }

    /// Whether the expectation could mean the rule of this name if other rules were generated from it.
    pub fn could_be_about(&self, rule: &str) -> bool {
        let wanted = self.rule.as_deref();
        self.is_about(rule)
            || [GENERATED_FOR_CRON_JOBS, GENERATED]
                .iter()
                .any(|prefix| wanted.and_then(|wanted| wanted.strip_prefix(prefix)) == Some(rule))
    }
}

const GENERATED: &str = "autogen-";
const GENERATED_FOR_CRON_JOBS: &str = "autogen-cronjob-";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn read(text: &str) -> Result<Suite, Vec<String>> {
        let root = yaml::parse_value(text).unwrap();
        Suite::read(&root).map_err(|faults| faults.into_iter().map(|fault| fault.message).collect())
    }

    #[test]
    fn every_field_is_known_whatever_its_case() {
        let suite = read(
            "{apiVersion: a, kind: Test, metadata: {name: s}, policies: [p], resources: [r], values: {}, \
             userinfo: u, targetResources: [t], paramResources: [q], results: [{policy: ns/p, RULE: r, result: skip, \
             isMUtatingPolicy: true, operation: UPDATE, resources: [a, b/c], resourceSpecs: [{group: apps, \
             version: v1, name: x}], patchedResources: f, failOnMissingResources: true}]}",
        )
        .unwrap();
        let row = &suite.results[0];
        assert_eq!((row.policy_name(), row.rule.as_deref()), ("p", Some("r")));
        assert_eq!((row.result, row.operation), (Status::Skip, Some(Operation::Update)));
        assert_eq!((row.resources.len(), row.specs.len(), row.fail_on_missing), (2, 1, true));
        assert_eq!((suite.targets.len(), &*suite.unused), (1, &["paramResources"][..]));
        assert!(suite.values.is_some());
    }

    #[test]
    fn the_layout_before_1_11_is_refused_by_name() {
        let faults =
            read("{name: s, policies: [p], results: [{policy: p, rule: r, resource: a, status: pass}]}")
                .unwrap_err();
        assert_eq!(faults.len(), 4, "{faults:#?}");
        assert!(faults.iter().all(|fault| fault.contains("before Kyverno 1.11")), "{faults:#?}");
    }

    #[test]
    fn deviations_are_named() {
        let faults = read(
            "{apiVersion: a, kind: Test, polices: [], resources: r, results: [{policy: p, result: ok}, {result: pass}]}",
        )
        .unwrap_err();
        let starts = [
            "polices: unknown field",
            "resources: expected a list, found string",
            "results[0].result: expected one of pass, fail, skip, warn, error",
            "results[1]: policy is missing",
        ];
        assert_eq!(faults.len(), starts.len(), "{faults:#?}");
        for (fault, start) in faults.iter().zip(starts) {
            assert!(fault.starts_with(start), "{fault}");
        }
    }

    #[test]
    fn a_rule_stands_for_those_generated_from_it() {
        let suite =
            read("{apiVersion: a, kind: Test, results: [{policy: p, rule: r, result: pass}]}").unwrap();
        let row = &suite.results[0];
        for (rule, about) in
            [("r", true), ("autogen-r", true), ("autogen-cronjob-r", true), ("s", false), ("autogen-", false)]
        {
            assert_eq!(row.is_about(rule), about, "{rule}");
        }
    }
}
