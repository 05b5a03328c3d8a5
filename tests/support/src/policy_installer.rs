//! Policies brought into force.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rest::{Refusal, Rest};

/// How long Kyverno may take with anything. Never waited for unless something is wrong.
pub const PATIENCE: Duration = Duration::from_secs(180);

const PAUSE: Duration = Duration::from_millis(15);

// Kinds that the policies of cases leave alone.
const LEASE: (&str, &str) = ("coordination.k8s.io/v1", "Lease");
const REVISION: (&str, &str) = ("apps/v1", "ControllerRevision");

/// An object of a kind that marks are made on.
fn object((api_version, kind): (&str, &str), name: &str) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": "default"}});
    if kind == REVISION.1 {
        object["revision"] = json!(1);
        object["data"] = json!({});
    }
    object
}

/// Installs policies, and knows when they are in force.
pub struct Force<'a> {
    rest: &'a Rest,
    marks: u32,
}

impl<'a> Force<'a> {
    pub const fn new(rest: &'a Rest) -> Self {
        Self { rest, marks: 0 }
    }

    /// Installs policies and waits until they are in force; what the cluster says if it refuses one.
    pub fn install(&mut self, policies: &[Value]) -> Result<(), Refusal> {
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
    pub fn settle(&mut self) {
        self.mark(LEASE);
    }

    /// Waits too until the API server asks Kyverno about all kinds of the policies, to mutate and to validate: the
    /// policy that comes after is about a kind that its webhooks had nothing to do with.
    pub fn settle_webhooks(&mut self) {
        for kind in [REVISION, LEASE] {
            self.mark(kind);
            let refused = object(kind, "zz-rig-refused");
            let mark = format!("mark n{}", self.marks);
            self.wait_for("a policy refuses", |rest| match rest.create(&refused, "dryRun=All") {
                Err(refusal) if refusal.message.contains(&mark) => Ok(()),
                other => Err(format!("{other:?}")),
            });
        }
    }

    /// Has a policy mark the next object of a kind, and waits for the mark; another object it refuses.
    fn mark(&mut self, of: (&str, &str)) {
        self.marks += 1;
        let mark = format!("n{}", self.marks);
        let matched = |name: &str| json!({"any": [{"resources": {"kinds": [of.1], "names": [name]}}]});
        let probe = json!({
            "apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "zz-rig-mark"},
            "spec": {"background": false, "rules": [{
                "name": "mark",
                "match": matched("zz-rig-mark"),
                "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"marked": mark}}}},
            }, {
                "name": "refuse",
                "match": matched("zz-rig-refused"),
                "validate": {"failureAction": "Enforce", "message": format!("mark {mark}"), "deny": {}},
            }]},
        });
        let asked = object(of, "zz-rig-mark");
        self.wait_for("a policy is taken", |rest| {
            rest.replace(&probe, "")
                .or_else(|_| rest.create(&probe, ""))
                .map(drop)
                .map_err(|refusal| refusal.message)
        });
        self.wait_for("a policy comes into force", |rest| {
            let answer = rest.create(&asked, "dryRun=All").map_err(|refusal| refusal.message)?;
            let labels = &answer["metadata"]["labels"];
            if labels["marked"] == mark.as_str() { Ok(()) } else { Err(format!("labels {labels}")) }
        });
    }

    /// Asks again until it is so.
    pub fn wait(&self, what: &str, mut done: impl FnMut(&Rest) -> bool) {
        self.wait_for(what, |rest| if done(rest) { Ok(()) } else { Err(String::from("not yet")) });
    }

    /// Asks again until nothing is in the way; names the last that was.
    fn wait_for(&self, what: &str, mut ask: impl FnMut(&Rest) -> Result<(), String>) {
        let start = Instant::now();
        while let Err(last) = ask(self.rest) {
            assert!(start.elapsed() < PATIENCE, "it never happened that {what}: {last}");
            std::thread::sleep(PAUSE);
        }
    }
}
