//! A cluster with Kyverno, and the `UpdateRequests` in it.

use serde_json::{Value, json};

use test_support::objects::without_server_fields;
use test_support::policy_installer::PolicyInstaller;
use test_support::rest::{Refusal, Rest};
use test_support::watch::Watch;

/// Where requests for the background controller lie.
pub(crate) const REQUESTS: &str = "/apis/kyverno.io/v2/namespaces/kyverno/updaterequests";

/// The background controller, as the cluster knows it.
pub(crate) const BACKGROUND: &str = "system:serviceaccount:kyverno:kyverno-background-controller";

/// Brings policies into force and waits for the background controller.
pub(crate) struct TestCluster<'a> {
    pub(crate) rest: &'a Rest,
    pub(crate) installer: PolicyInstaller<'a>,
    rounds: u32,
    requests: Watch,
}

impl<'a> TestCluster<'a> {
    /// Takes a cluster in which Kyverno runs and no policy is.
    pub(crate) fn new(rest: &'a Rest) -> Self {
        let requests = Watch::start(rest, REQUESTS);
        let mut cluster = Self { rest, installer: PolicyInstaller::new(rest), rounds: 0, requests };
        cluster.make_round();
        cluster
    }

    /// Installs policies and waits until their triggers reach them: these come through the validating webhook.
    pub(crate) fn install(&mut self, policies: &[Value]) -> Result<(), Refusal> {
        self.installer.install(policies)?;
        self.installer.settle_webhooks();
        Ok(())
    }

    /// A policy with a target that shows when everything before it was worked off.
    fn make_round(&mut self) {
        let policy = json!({
            "apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "zz-test-round"},
            "spec": {"rules": [{
                "name": "round",
                "match": {"any": [{"resources": {"kinds": ["Lease"], "names": ["zz-test-round"]}}]},
                "mutate": {
                    "targets": [{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "name": "zz-test-done",
                        "namespace": "default"}],
                    "patchStrategicMerge": {"spec": {"holderIdentity": "{{ request.object.spec.holderIdentity }}"}},
                },
            }]},
        });
        for name in ["zz-test-round", "zz-test-done"] {
            self.rest.create(&lease(name, "start"), "").expect("the server takes a lease");
        }
        self.installer.install(&[policy]).expect("Kyverno takes the policy");
        self.drain();
    }

    /// Waits until the background controller has worked off every request: until one that came after is done, and
    /// none is left.
    pub(crate) fn drain(&mut self) {
        for _ in 0..2 {
            self.rounds += 1;
            let round = format!("r{}", self.rounds);
            self.rest.replace(&lease("zz-test-round", &round), "").expect("the server takes a lease");
            self.installer.wait("a target is changed", |rest| {
                let done = rest.get(&lease("zz-test-done", "")).unwrap_or_default();
                done["spec"]["holderIdentity"] == round.as_str() && none_requested(rest)
            });
        }
    }

    /// The requests of policies seen since the last call, as each was at each moment.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let seen =
            self.requests.take().into_iter().filter(|seen| seen.object["spec"]["policy"] != "zz-test-round");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let requests = seen.map(|seen| Request {
            name: text(&seen.object["metadata"]["name"]),
            state: if seen.what == "DELETED" {
                "deleted".into()
            } else {
                text(&seen.object["status"]["state"])
            },
            message: text(&seen.object["status"]["message"]),
        });
        requests.collect()
    }
}

/// A request for the background controller at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) name: String,
    /// `Pending`, `Failed`, `Completed`; nothing at first, and at last `deleted`.
    pub(crate) state: String,
    pub(crate) message: String,
}

fn none_requested(rest: &Rest) -> bool {
    let requests = rest.ask("GET", REQUESTS, None);
    requests.is_ok_and(|requests| requests["items"].as_array().is_some_and(Vec::is_empty))
}

fn lease(name: &str, holder: &str) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name, "namespace": "default"}, "spec": {"holderIdentity": holder}})
}

/// The object as the cluster stores it.
pub(crate) fn stored_object(rest: &Rest, object: &Value) -> Option<Value> {
    rest.get(object).ok().map(|object| without_server_fields(&object))
}

/// What tells an object from the others.
pub(crate) fn key(object: &Value) -> String {
    let metadata = &object["metadata"];
    format!("{} {} {}", object["kind"], metadata["namespace"], metadata["name"])
}
