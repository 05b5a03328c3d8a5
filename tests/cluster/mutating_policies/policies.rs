//! The policies that are compared, each with a namespace of its own.

use std::collections::BTreeMap;
use std::path::Path;

use kyv::{Input, LoadError, Mutator, MutatorBuilder, Semantics};
use serde_json::{Map, Value, json};
use test_support::api_server::ADMINISTRATOR;
use test_support::cel_policies::{list_of, spec};

use crate::admission_policies::{self, generator};
use crate::controllers::conformance_policies::documents_below;

const KYVERNO: &str = "policies.kyverno.io/v1";

/// Policies that act on one namespace, which has the name of the case.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) policies: Vec<Value>,
    pub(super) exceptions: Vec<Value>,
    /// The labels of the namespace.
    pub(super) labels: BTreeMap<String, String>,
}

impl Case {
    /// A case as `policies.yaml` writes it: one policy, or several below `policies`.
    fn of(written: &Value) -> Self {
        let name = written["name"].as_str().expect("a name").to_owned();
        let mut case =
            Self { policies: Vec::new(), exceptions: Vec::new(), labels: labels(&name), name: name.clone() };
        match written["policies"].as_array() {
            Some(several) => several.iter().for_each(|one| {
                let own = one["name"].as_str().expect("a name");
                case.add(one, &format!("{name}-{own}"));
            }),
            None => case.add(written, &name),
        }
        for (number, spec) in written["exceptions"].as_array().into_iter().flatten().enumerate() {
            let mut spec = spec.clone();
            if spec["policyRefs"].is_null() {
                let policy = &case.policies[0];
                spec["policyRefs"] = json!([{"name": policy["metadata"]["name"], "kind": policy["kind"]}]);
            }
            case.exceptions.push(json!({
                "apiVersion": KYVERNO, "kind": "PolicyException",
                "metadata": {"name": format!("{name}-{number}"), "namespace": name}, "spec": spec,
            }));
        }
        case
    }

    /// A policy of which the effect shows that earlier ones are in force.
    pub(super) fn last() -> Self {
        let label = "Object{metadata: Object.metadata{labels: {\"in\": \"force\"}}}";
        Self::of(&json!({"name": "zz-last", "resources": ["configmaps"], "mutations": [{"apply": label}]}))
    }

    fn add(&mut self, written: &Value, name: &str) {
        let mut spec = spec(written);
        let is_namespaced = written["namespaced"] == true;
        if !is_namespaced {
            spec["matchConstraints"]["namespaceSelector"] = json!({"matchLabels": self.labels});
        }
        // Selectors of namespaces select objects without one.
        spec["matchConstraints"]["resourceRules"][0]["scope"] = json!("Namespaced");
        // An empty list is not the same for Kyverno as none.
        if spec["matchConditions"] == json!([]) {
            spec.as_object_mut().expect("a spec").remove("matchConditions");
        }
        merge(&mut spec["matchConstraints"], &written["constraints"]);
        merge(&mut spec["matchConstraints"]["resourceRules"][0], &written["rule"]);
        merge(&mut spec, &written["spec"]);
        let mut metadata = json!({"name": name});
        if is_namespaced {
            metadata["namespace"] = json!(self.name);
        }
        let kind = if is_namespaced { "NamespacedMutatingPolicy" } else { "MutatingPolicy" };
        let policy = json!({"apiVersion": KYVERNO, "kind": kind, "metadata": metadata, "spec": spec});
        self.policies.push(policy);
    }

    /// A policy of the catalogue, restricted to a namespace that has the labels it selects.
    fn of_catalogue(policy: &Value, number: usize) -> Option<Self> {
        let is_one =
            ["MutatingPolicy", "NamespacedMutatingPolicy"].iter().any(|kind| policy["kind"] == *kind);
        if !is_one || policy["spec"]["mutations"].as_array().is_none_or(Vec::is_empty) {
            return None;
        }
        let name = format!("catalogue-{number}-{}", policy["metadata"]["name"].as_str()?);
        let name = name.chars().take(60).collect::<String>().trim_end_matches('-').to_owned();
        let mut policy = policy.clone();
        policy["metadata"] = json!({"name": name});
        let mut labels = labels(&name);
        if policy["kind"] == "NamespacedMutatingPolicy" {
            policy["metadata"]["namespace"] = json!(name);
        } else {
            let selector = &mut policy["spec"]["matchConstraints"]["namespaceSelector"];
            let own = selector["matchLabels"].as_object().cloned().unwrap_or_default();
            labels.extend(
                own.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))),
            );
            selector["matchLabels"] = json!(labels);
        }
        Some(Self { name, policies: vec![policy], exceptions: Vec::new(), labels })
    }

    /// What policies of the catalogue read.
    pub(super) fn config_map(&self) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "env-config", "namespace": self.name},
            "data": {"environment": "testing"}})
    }

    /// The labels of the namespace.
    pub(super) fn all_labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.labels.clone();
        labels.insert("kubernetes.io/metadata.name".to_owned(), self.name.clone());
        labels
    }

    /// The program with these policies, for the administrator.
    pub(super) fn mutator(&self, semantics: Semantics, definition: &Value) -> Result<Mutator, LoadError> {
        let user = Input::text("user.yaml", ADMINISTRATOR);
        self.builder(semantics, definition).user_info(user).build()
    }

    /// The program with these policies.
    pub(super) fn builder(&self, semantics: Semantics, definition: &Value) -> MutatorBuilder {
        let text = |objects: &[Value]| -> String {
            objects.iter().map(|object| format!("---\n{object}\n")).collect()
        };
        let mut builder = Mutator::builder()
            .policies(Input::text("policies.yaml", text(&self.policies)))
            .crds(Input::text("definition.yaml", definition.to_string()))
            .context_objects(Input::text("context.yaml", self.config_map().to_string()))
            .now(std::time::SystemTime::now())
            .semantics(semantics)
            .namespace_labels(&self.name, self.all_labels());
        if !self.exceptions.is_empty() {
            builder = builder.exceptions(Input::text("exceptions.yaml", text(&self.exceptions)));
        }
        builder
    }
}

fn labels(name: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("policy".to_owned(), name.to_owned())])
}

/// Adds members; maps into maps.
fn merge(into: &mut Value, more: &Value) {
    let none = Map::new();
    for (key, value) in more.as_object().unwrap_or(&none) {
        if into[key].is_object() && value.is_object() {
            merge(&mut into[key], value);
        } else {
            into[key] = value.clone();
        }
    }
}

/// The written policies: those for the API server, too.
pub(super) fn written() -> Vec<Case> {
    let own = list_of(include_str!("policies.yaml"));
    let values = list_of(include_str!("values.yaml"));
    let values = values.iter().enumerate().map(|(number, value)| {
        let value = value.as_str().expect("an expression");
        let patch = format!("JSONPatch{{op: \"add\", path: \"/spec/free\", value: {value}}}");
        json!({"name": format!("value-{number}"), "resources": ["widgets"], "mutations": [{"patch": patch}]})
    });
    let written = admission_policies::written().into_iter().chain(own).chain(values);
    written.map(|written| Case::of(&written)).collect()
}

/// Generated policies, the same in each run.
pub(super) fn generated(count: usize) -> Vec<Case> {
    let policies = generator::policies(count);
    policies.map(|written| Case::of(&written)).collect()
}

/// The policies of a folder.
pub(super) fn catalogue(folder: &Path) -> Vec<Case> {
    let documents = documents_below(folder);
    documents.iter().enumerate().filter_map(|(number, one)| Case::of_catalogue(one, number)).collect()
}
