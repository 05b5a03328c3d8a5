//! Installs policies in a cluster that runs Kyverno, and waits until they are in force.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rest::{Refusal, Rest};

/// The longest wait for Kyverno; reached only when something is wrong.
pub const TIMEOUT: Duration = Duration::from_secs(180);

const POLL_INTERVAL: Duration = Duration::from_millis(15);

// Kinds that no policy of a case matches.
const LEASE: (&str, &str) = ("coordination.k8s.io/v1", "Lease");
const REVISION: (&str, &str) = ("apps/v1", "ControllerRevision");

/// An object that the probe policy marks or denies.
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
pub struct PolicyInstaller<'a> {
    rest: &'a Rest,
    marks: u32,
}

impl<'a> PolicyInstaller<'a> {
    pub const fn new(rest: &'a Rest) -> Self {
        Self { rest, marks: 0 }
    }

    /// Installs policies and waits until they are in force.
    ///
    /// # Errors
    ///
    /// The refusal of the API server or of Kyverno.
    pub fn install(&mut self, policies: &[Value]) -> Result<(), Refusal> {
        for policy in policies {
            self.rest.create(policy, "fieldValidation=Strict")?;
        }
        for policy in policies {
            self.wait("a policy is ready", |rest| {
                let held = rest.get(policy).unwrap_or_default();
                let conditions = held["status"]["conditions"].as_array();
                // CEL policies say it elsewhere.
                held["status"]["conditionStatus"]["ready"] == true
                    || conditions.is_some_and(|conditions| {
                        conditions.iter().any(|state| state["type"] == "Ready" && state["status"] == "True")
                    })
            });
        }
        self.settle();
        Ok(())
    }

    /// Waits until all earlier changes of policies are in force: until a later probe policy is.
    pub fn settle(&mut self) {
        self.mark(LEASE);
    }

    /// Waits as well until Kyverno's mutating and validating webhooks cover all kinds of the policies: the probe
    /// policy matches a kind that the webhooks did not have before.
    pub fn settle_webhooks(&mut self) {
        for kind in [REVISION, LEASE] {
            self.mark(kind);
            let refused = object(kind, "zz-test-refused");
            let mark = format!("mark n{}", self.marks);
            self.wait_for("a policy refuses", |rest| match rest.create(&refused, "dryRun=All") {
                Err(refusal) if refusal.message.contains(&mark) => Ok(()),
                other => Err(format!("{other:?}")),
            });
        }
    }

    /// Installs a policy that marks one object of a kind and denies another, and waits for the mark.
    fn mark(&mut self, of: (&str, &str)) {
        self.marks += 1;
        let mark = format!("n{}", self.marks);
        let matched = |name: &str| json!({"any": [{"resources": {"kinds": [of.1], "names": [name]}}]});
        let probe = json!({
            "apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "zz-test-mark"},
            "spec": {"background": false, "rules": [{
                "name": "mark",
                "match": matched("zz-test-mark"),
                "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"marked": mark}}}},
            }, {
                "name": "refuse",
                "match": matched("zz-test-refused"),
                "validate": {"failureAction": "Enforce", "message": format!("mark {mark}"), "deny": {}},
            }]},
        });
        let asked = object(of, "zz-test-mark");
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

    /// Polls until a condition holds.
    pub fn wait(&self, what: &str, mut done: impl FnMut(&Rest) -> bool) {
        self.wait_for(what, |rest| if done(rest) { Ok(()) } else { Err(String::from("not yet")) });
    }

    /// Polls until there is no error; panics with the last one after [`TIMEOUT`].
    fn wait_for(&self, what: &str, mut ask: impl FnMut(&Rest) -> Result<(), String>) {
        let start = Instant::now();
        while let Err(last) = ask(self.rest) {
            assert!(start.elapsed() < TIMEOUT, "it never happened that {what}: {last}");
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
