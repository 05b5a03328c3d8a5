//! Policies brought into force.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::case::Case;
use crate::rig::rest::{Refusal, Rest};

/// How long Kyverno may take with anything. Never waited for unless something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(15);

/// Installs policies, and knows when they are in force.
pub(crate) struct Force<'a> {
    rest: &'a Rest,
    marks: u32,
}

impl<'a> Force<'a> {
    pub(crate) const fn new(rest: &'a Rest) -> Self {
        Self { rest, marks: 0 }
    }

    /// Installs policies and waits until they are in force; what the cluster says if it refuses one.
    pub(crate) fn install(&mut self, policies: &[Value]) -> Result<(), Refusal> {
        for policy in policies {
            self.rest.create(policy, "fieldValidation=Strict")?;
        }
        for policy in policies {
            self.wait("a policy is ready", |rest| {
                let held = rest.get(policy).unwrap_or_default();
                let conditions = held["status"]["conditions"].as_array();
                conditions.is_some_and(|conditions| {
                    conditions.iter().any(|state| state["type"] == "Ready" && state["status"] == "True")
                })
            });
        }
        self.settle();
        Ok(())
    }

    /// Waits until everything that was said about policies is in force: until a policy that came after is.
    pub(crate) fn settle(&mut self) {
        self.marks += 1;
        let mark = format!("n{}", self.marks);
        let probe = json!({
            "apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "zz-rig-mark"},
            "spec": {"rules": [{
                "name": "mark",
                "match": {"any": [{"resources": {"kinds": ["Lease"], "names": ["zz-rig-mark"]}}]},
                "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"marked": mark}}}},
            }]},
        });
        // Of a kind that the policies of cases leave alone.
        let asked = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "zz-rig-mark", "namespace": "default"}});
        self.wait("a policy is taken", |rest| {
            rest.replace(&probe, "").is_ok() || rest.create(&probe, "").is_ok()
        });
        self.wait("a policy comes into force", |rest| {
            rest.create(&asked, "dryRun=All")
                .is_ok_and(|answer| answer["metadata"]["labels"]["marked"] == mark.as_str())
        });
    }

    /// Asks again until it is so.
    pub(crate) fn wait(&self, what: &str, mut done: impl FnMut(&Rest) -> bool) {
        let start = Instant::now();
        while !done(self.rest) {
            assert!(start.elapsed() < PATIENCE, "it never happened that {what}");
            std::thread::sleep(PAUSE);
        }
    }
}

/// Makes every namespace that an object of the cases lives in.
pub(crate) fn make_namespaces(rest: &Rest, cases: &[&Case]) -> Vec<Value> {
    let objects = cases.iter().flat_map(|case| {
        case.inputs.iter().chain(&case.old).chain(&case.targets).chain(&case.policies).chain(&case.exceptions)
    });
    let mut names: BTreeSet<&str> =
        objects.filter_map(|object| object["metadata"]["namespace"].as_str()).collect();
    names.insert("default");
    let made = names.iter().filter_map(|name| {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        drop(rest.create(&namespace, ""));
        // A name that no namespace can have is no path to one either.
        rest.get(&namespace).ok().filter(|held| held["kind"] == "Namespace")
    });
    made.collect()
}
