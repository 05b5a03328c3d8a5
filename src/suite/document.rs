//! The test document.

use indexmap::IndexSet;

use crate::decode::{DecodeError, Decoder};
use crate::policy::Operation;
use crate::value::{Pointer, Text, Value};

/// A test document. Paths are as written.
#[derive(Clone, Debug, Default)]
pub struct Suite {
    /// The name; empty if it has none.
    pub name: Text,
    /// Files and folders with policies.
    pub policies: Vec<Text>,
    /// Files and folders with objects.
    pub resources: Vec<Text>,
    /// Files and folders with objects that rules with targets may change, and that trigger nothing.
    pub targets: Vec<Text>,
    /// Files and folders with the parameters of policies.
    pub params: Vec<Text>,
    /// Files with policy exceptions.
    pub exceptions: Vec<Text>,
    /// The place of values inside the document; they win over [`Suite::variables`].
    pub values: Option<Pointer>,
    /// A file with values.
    pub variables: Option<Text>,
    /// A file with the sender of the requests.
    pub userinfo: Option<Text>,
    /// A file with objects and images for context entries.
    pub context: Option<Text>,
    /// Files with the objects of the cluster.
    pub cluster_resources: Vec<Text>,
    /// The expectations.
    pub results: Vec<Expectation>,
    /// Fields with content that this version does not use.
    pub unused: Vec<&'static str>,
}

/// An expectation: what a rule of a policy does with some objects.
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
    /// The file with the expected objects.
    pub patched: Option<Text>,
    /// Whether an object that is missing in the file is a failure.
    pub fail_on_missing: bool,
    /// Whether it names a generated object, which only generate rules create.
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
const UNUSED: [&str; 4] = ["jsonPayload", "jsonPayloads", "httpPayloads", "envoyPayloads"];

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
    pub fn read(root: &Value) -> Result<Self, Vec<DecodeError>> {
        // Kyverno reads the names of fields without regard to case.
        let decoder = &mut Decoder { ignores_case: true, ..Decoder::default() };
        let at = Pointer::ROOT;
        let mut suite = Self::default();
        let unknown = |key: &str| unknown_field(key, &FIELDS, &[("name", "write `metadata.name`")]);
        if decoder.fields(root, &at, &FIELDS, unknown).is_none() {
            return std::mem::take(decoder).finish(suite);
        }
        let has_head = ["apiVersion", "kind"].map(|name| text(decoder, root, &at, name).is_some());
        if has_head != [true, true] {
            let message = "apiVersion and kind are missing: the layout before Kyverno 1.11 is not read; begin \
                           with `apiVersion: cli.kyverno.io/v1alpha1` and `kind: Test`";
            decoder.error(&at, message);
        }
        if let Some((at, metadata)) = decoder.member(root, &at, "metadata") {
            suite.name = text(decoder, metadata, &at, "name").unwrap_or_default();
        }
        // One that is listed again is the same, as for the Kyverno CLI.
        let policies: IndexSet<Text> = names(decoder, root, &at, "policies").into_iter().collect();
        suite.policies = policies.into_iter().collect();
        suite.resources = names(decoder, root, &at, "resources");
        suite.exceptions = names(decoder, root, &at, "exceptions");
        suite.cluster_resources = names(decoder, root, &at, "clusterResources");
        suite.targets = names(decoder, root, &at, "targetResources");
        suite.params = names(decoder, root, &at, "paramResources");
        suite.values = decoder.member(root, &at, "values").map(|(at, _)| at);
        suite.variables = text(decoder, root, &at, "variables");
        suite.userinfo = text(decoder, root, &at, "userinfo");
        suite.context = text(decoder, root, &at, "context");
        let has_content = |name: &&str| {
            decoder.member(root, &at, name).is_some_and(|(_, value)| match value {
                Value::Array(items) => !items.is_empty(),
                Value::String(text) => !text.is_empty(),
                _ => true,
            })
        };
        suite.unused = UNUSED.into_iter().filter(has_content).collect();
        for (at, result) in decoder.list(root, &at, "results") {
            suite.results.extend(expectation(result, &at, decoder));
        }
        std::mem::take(decoder).finish(suite)
    }
}

/// The error for an unknown field; `old` are those of the layout before Kyverno 1.11, with what replaces them.
fn unknown_field(key: &str, known: &[&str], old: &[(&str, &str)]) -> String {
    match old.iter().find(|(name, _)| *name == key) {
        Some((_, now)) => format!("this field is of the layout before Kyverno 1.11; {now}"),
        None => format!("unknown field; known are {}", known.join(", ")),
    }
}

/// A text, unless it is empty.
fn text(decoder: &mut Decoder, node: &Value, at: &Pointer, name: &str) -> Option<Text> {
    decoder.text(node, at, name).filter(|text| !text.is_empty()).cloned()
}

/// Texts that must not be empty.
fn names(decoder: &mut Decoder, node: &Value, at: &Pointer, name: &str) -> Vec<Text> {
    let mut names = Vec::new();
    for (at, text) in decoder.texts(node, at, name) {
        if text.is_empty() {
            decoder.error(&at, "expected a string that is not empty");
        }
        names.push(text.clone());
    }
    names
}

fn expectation(node: &Value, at: &Pointer, decoder: &mut Decoder) -> Option<Expectation> {
    decoder.fields(node, at, &RESULT_FIELDS, |key| unknown_field(key, &RESULT_FIELDS, &OLD_RESULT_FIELDS))?;
    let is_old = node.get("status").is_some() && decoder.member(node, at, "result").is_none();
    let policy = decoder.required_text(node, at, "policy").cloned();
    let result = if is_old { None } else { decoder.required_text(node, at, "result") };
    let result = result.and_then(|word| {
        let status = Status::ALL.into_iter().find(|status| status.word() == &**word);
        if status.is_none() {
            let words = Status::ALL.map(Status::word).join(", ");
            decoder.error(&at.key("result"), format!("expected one of {words}"));
        }
        status
    });
    let operation = text(decoder, node, at, "operation").and_then(|word| {
        let operation = Operation::parse(&word);
        if operation.is_none() {
            decoder.error(&at.key("operation"), "expected CREATE, UPDATE or DELETE");
        }
        operation
    });
    decoder.texts(node, at, "generatedResources");
    for name in ["kind", "generatedResource", "cloneSourceResource"] {
        decoder.text(node, at, name);
    }
    for name in RESULT_FIELDS.iter().filter(|name| name.starts_with("is")) {
        decoder.boolean(node, at, name);
    }
    let mut specs = Vec::new();
    const SPEC: [&str; 6] = ["group", "version", "kind", "namespace", "name", "subresource"];
    for (at, spec) in decoder.list(node, at, "resourceSpecs") {
        if decoder.fields(spec, &at, &SPEC, |key| unknown_field(key, &SPEC, &[])).is_some() {
            let mut field = |name| text(decoder, spec, &at, name).unwrap_or_default();
            let [group, version, _, namespace, name, _] = SPEC.map(&mut field);
            specs.push(ResourceSpec { group, version, namespace, name });
        }
    }
    Some(Expectation {
        pointer: at.clone(),
        rule: text(decoder, node, at, "rule"),
        resources: names(decoder, node, at, "resources"),
        patched: text(decoder, node, at, "patchedResources"),
        fail_on_missing: decoder.boolean(node, at, "failOnMissingResources"),
        generated: ["generatedResource", "generatedResources"]
            .iter()
            .any(|name| decoder.member(node, at, name).is_some_and(|(_, value)| value.as_str() != Some(""))),
        policy: policy?,
        result: result?,
        specs,
        operation,
    })
}

impl Expectation {
    /// The name of the policy: the text after the last `/`.
    pub fn policy_name(&self) -> &str {
        self.policy.rsplit('/').next().unwrap_or_default()
    }

    /// Whether a rule of this name is meant: the one named, and those generated from it.
    pub fn is_about(&self, rule: &str) -> bool {
        let Some(named) = self.rule.as_deref() else { return true };
        rule == named
            || [GENERATED, GENERATED_FOR_CRON_JOBS]
                .iter()
                .any(|prefix| rule.strip_prefix(prefix) == Some(named))
    }

    /// Whether the expectation could mean the rule of this name if other rules were generated from it.
    pub fn could_be_about(&self, rule: &str) -> bool {
        let named = self.rule.as_deref();
        self.is_about(rule)
            || [GENERATED_FOR_CRON_JOBS, GENERATED]
                .iter()
                .any(|prefix| named.and_then(|named| named.strip_prefix(prefix)) == Some(rule))
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
        Suite::read(&root).map_err(|errors| errors.iter().map(ToString::to_string).collect())
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
        assert_eq!((suite.targets.len(), suite.params.len(), suite.unused.len()), (1, 1, 0));
        assert!(suite.values.is_some());
    }

    #[test]
    fn policies_that_are_listed_again_are_the_same() {
        let suite =
            read("{apiVersion: a, kind: Test, metadata: {name: s}, policies: [p, q, p, ./p], results: []}");
        assert_eq!(suite.unwrap().policies, ["p", "q", "./p"]);
    }

    #[test]
    fn the_layout_before_1_11_is_refused_by_name() {
        let errors =
            read("{name: s, policies: [p], results: [{policy: p, rule: r, resource: a, status: pass}]}")
                .unwrap_err();
        assert_eq!(errors.len(), 4, "{errors:#?}");
        assert!(errors.iter().all(|error| error.contains("before Kyverno 1.11")), "{errors:#?}");
    }

    #[test]
    fn deviations_are_named() {
        let errors = read(
            "{apiVersion: a, kind: Test, polices: [], resources: r, results: [{policy: p, result: ok}, {result: pass}]}",
        )
        .unwrap_err();
        let starts = [
            "polices: unknown field",
            "resources: expected a list, found string",
            "results[0].result: expected one of pass, fail, skip, warn, error",
            "results[1]: policy is missing",
        ];
        assert_eq!(errors.len(), starts.len(), "{errors:#?}");
        for (error, start) in errors.iter().zip(starts) {
            assert!(error.starts_with(start), "{error}");
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
