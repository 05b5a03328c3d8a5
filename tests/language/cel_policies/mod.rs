//! What CEL policies make of objects: each policy of `policies.yaml` as a `MutatingAdmissionPolicy` and as a
//! `MutatingPolicy`, under both semantics.

use kyv::{Input, Mutator, Outcome, Semantics, View};
use serde_json::{Value, json};
use test_support::cel_policies::{list_of, spec};
use test_support::objects::differing_paths;

/// A policy of `policies.yaml` as one of the two kinds.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Admission,
    Mutating,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Admission, Self::Mutating];

    const fn name(self) -> &'static str {
        match self {
            Self::Admission => "admission",
            Self::Mutating => "mutating",
        }
    }

    /// The document, for an admission policy with its binding.
    fn policy(self, written: &Value) -> String {
        let mut spec = spec(written);
        if self == Self::Admission {
            spec["reinvocationPolicy"] = json!("Never");
            let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
                "metadata": {"name": "test"}, "spec": spec});
            let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": "test"}, "spec": {"policyName": "test"}});
            return format!("{policy}\n---\n{binding}\n");
        }
        for (key, value) in written["spec"].as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        json!({"apiVersion": "policies.kyverno.io/v1", "kind": "MutatingPolicy", "metadata": {"name": "test"},
            "spec": spec})
        .to_string()
    }
}

/// What a run answers: the object, or an error of the run or of the policy.
#[derive(Debug)]
enum Answer {
    Object(Value),
    Error(String),
    Refused(String),
}

fn answer(policy: &str, object: &Value, view: View, semantics: Semantics) -> Answer {
    let mutator =
        Mutator::builder().policies(Input::text("policy.yaml", policy)).view(view).semantics(semantics);
    let mutator = match mutator.build() {
        Ok(mutator) => mutator,
        Err(error) => return Answer::Refused(error.to_string()),
    };
    let report = mutator.mutate(&object.to_string()).expect("the object is read");
    let error = report.rules().find_map(|rule| match rule.outcome() {
        Outcome::Error(error) => Some(error),
        _ => None,
    });
    let after = || serde_json::from_str(&report.json()).expect("JSON");
    error.map_or_else(|| Answer::Object(after()), Answer::Error)
}

/// Why an answer is not as expected.
fn fault(answer: &Answer, expected: &Value, object: &Value) -> Option<String> {
    let has_words = |key: &str, text: &str| expected[key].as_str().is_some_and(|words| text.contains(words));
    let is_expected = match answer {
        Answer::Error(text) => has_words("error", text),
        Answer::Refused(text) => has_words("refused", text),
        Answer::Object(after) => {
            let Some(values) = expected["becomes"].as_object() else { return Some(format!("{after}")) };
            let mut wanted = object.clone();
            values.iter().for_each(|(pointer, value)| set(&mut wanted, pointer, value));
            return (*after != wanted).then(|| differing_paths(&wanted, after));
        }
    };
    (!is_expected).then(|| format!("{answer:?}"))
}

/// Sets what a JSON pointer names, maps on the way included; the index behind a list's last element adds one.
fn set(object: &mut Value, pointer: &str, value: &Value) {
    let mut place = object;
    for key in pointer.split('/').skip(1) {
        let key = key.replace("~1", "/").replace("~0", "~");
        place = match place {
            Value::Array(elements) => {
                let index: usize = key.parse().expect("an index");
                if index == elements.len() {
                    elements.push(Value::Null);
                }
                &mut elements[index]
            }
            other => &mut other[key],
        };
    }
    *place = value.clone();
}

#[test]
fn policies_make_of_objects_what_is_written() {
    let objects = kyv::yaml::parse_value(include_str!("objects.yaml")).expect("YAML");
    let objects: Value = serde_json::from_str(&objects.to_json()).expect("JSON");
    let policies = list_of(include_str!("policies.yaml"));
    assert!(policies.len() > 60, "only {} policies", policies.len());
    let mut faults = Vec::new();
    for written in &policies {
        let title = written["title"].as_str().expect("a title");
        let object = &objects[written["object"].as_str().unwrap_or("pod")];
        let view = if written["view"] == "admitted" { View::Admitted } else { View::Written };
        for kind in Kind::ALL {
            if written["kinds"].as_array().is_some_and(|kinds| !kinds.contains(&json!(kind.name()))) {
                continue;
            }
            for semantics in [Semantics::Documented, Semantics::Kyverno] {
                let own = [
                    (kind == Kind::Mutating && semantics == Semantics::Kyverno).then(|| &written["kyverno"]),
                    Some(&written[kind.name()]),
                    Some(written),
                ];
                let expected = own.into_iter().flatten().find(|one| !one.is_null()).expect("an expectation");
                let answer = answer(&kind.policy(written), object, view, semantics);
                if let Some(fault) = fault(&answer, expected, object) {
                    faults.push(format!("{title}, {}, {semantics:?}: {fault}", kind.name()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
