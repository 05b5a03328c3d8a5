//! Server-side dry runs: changed objects through the API server's own validation and webhooks.

use crate::engine::World;
use crate::render::mask_beside;
use crate::report::{ObjectReport, ServerDryRun};
use crate::resources::plural;
use crate::secrets::mask_server_fields;
use crate::source::Content;
use crate::source::cluster::{Cluster, ClusterError, DryRunRequest, DryRunVerb};
use crate::suite::in_order_of;
use crate::value::{ObjectRef, Value};

use super::evaluate::{Evaluated, Evaluation, Evaluator, without_bookkeeping};

/// Fields of `metadata` that the server sets.
const SET_BY_SERVER: [&str; 7] =
    ["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink"];

/// The error for dry runs without a cluster.
pub(super) const NO_CLUSTER: &str =
    "--server-dry-run needs a cluster: manifests are evaluated in it with --live";

/// Sends objects to the API server as dry runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct DryRuns<'a> {
    cluster: &'a dyn Cluster,
    /// The namespace of objects that name none.
    namespace: &'a str,
}

impl<'a> DryRuns<'a> {
    pub(super) fn new<W: World>(cluster: &'a dyn Cluster, evaluator: &Evaluator<'a, W>) -> Self {
        Self { cluster, namespace: &evaluator.engine.settings().namespace }
    }

    /// Sends all changed objects of a document.
    pub(super) fn run(self, evaluated: &mut Evaluated) {
        let is_live = matches!(evaluated.source.content, Content::Object(_));
        for object in evaluated.objects.iter_mut().filter(|object| object.report.is_changed()) {
            let verb = match object {
                _ if is_live => DryRunVerb::Update,
                Evaluation { is_update: true, .. } => DryRunVerb::Apply,
                _ => DryRunVerb::Create,
            };
            object.report.server_dry_run = self.send(object, verb).map(Box::new);
        }
    }

    fn send(self, object: &Evaluation, verb: DryRunVerb) -> Option<ServerDryRun> {
        let report = &object.report;
        // An object that exists keeps its name, even if policies change it.
        let named = if verb == DryRunVerb::Create { &report.after } else { &report.before };
        let identity = ObjectRef::of(named)?;
        let mut sent = report.after.clone();
        let status = object.whole.as_ref().and_then(|whole| whole.0.get("status"));
        if let Some(status) = status.filter(|_| sent.get("status").is_none()) {
            sent.insert("status", status.clone());
        }
        let response = self.request(&identity, &sent, report, verb);
        Some(match response {
            Ok(stored) => {
                let sent = without_bookkeeping(&sent);
                let stored = comparable(&sent, &without_bookkeeping(&stored));
                let stored = if report.shows_secrets { stored } else { mask_server_fields(&sent, &stored) };
                ServerDryRun::Accepted { sent, stored }
            }
            Err(error) if error.is_refusal_of_the_object() => ServerDryRun::Refused(message(error)),
            Err(error) => ServerDryRun::Failed(message(error)),
        })
    }

    fn request(
        self,
        object: &ObjectRef,
        sent: &Value,
        report: &ObjectReport,
        verb: DryRunVerb,
    ) -> Result<Value, ClusterError> {
        let served = self.cluster.resources()?;
        let resource = served.of_kind(&object.kind).ok_or_else(|| {
            ClusterError::UnknownType(plural(&object.kind.group, &object.kind.kind).into_owned())
        })?;
        let namespace = object.namespace.as_deref().unwrap_or(self.namespace);
        let namespace = resource.is_namespaced.then_some(namespace);
        let shown = mask_beside(sent, sent, &report.secrets).after;
        let name = &object.name;
        let request = DryRunRequest {
            resource,
            namespace,
            name,
            object: sent,
            shown: &shown,
            secrets: &report.secrets,
            verb,
        };
        match self.cluster.dry_run(&request) {
            Err(error) if verb == DryRunVerb::Create && error.is_already_there() => {
                self.cluster.dry_run(&DryRunRequest { verb: DryRunVerb::Apply, ..request })
            }
            response => response,
        }
    }
}

fn message(error: ClusterError) -> String {
    match error {
        ClusterError::Refused { message, .. } => message,
        error => error.to_string(),
    }
}

/// A stored object to be compared with what was sent: in the same order, and without what the server sets in every
/// object.
fn comparable(sent: &Value, stored: &Value) -> Value {
    let mut stored = in_order_of(sent, stored);
    if let Some(metadata) = stored.as_object_mut().and_then(|members| members.get_mut("metadata")) {
        for field in SET_BY_SERVER {
            match sent.path(&["metadata", field]) {
                Some(own) => metadata.insert(field, own.clone()),
                None => drop(metadata.remove(field)),
            }
        }
    }
    // Members may have come back in the middle.
    in_order_of(sent, &stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_server_writes_is_no_further_change() {
        let json = |text| Value::from_json(text).unwrap();
        let sent = json(
            r#"{"kind":"A","metadata":{"name":"a","resourceVersion":"1"},"spec":{"b":1,"a":[{"y":1,"x":2}]}}"#,
        );
        let stored = json(
            r#"{"kind":"A","spec":{"a":[{"x":2,"y":1,"z":3}],"b":1},"metadata":{"uid":"u","generation":2,"name":"a","resourceVersion":"1","namespace":"default"}}"#,
        );
        assert_eq!(
            comparable(&sent, &stored).to_json(),
            r#"{"kind":"A","metadata":{"name":"a","resourceVersion":"1"},"spec":{"b":1,"a":[{"y":1,"x":2,"z":3}]}}"#
        );
    }
}
