//! What a GitOps tool shows as a difference where policies changed an object on its way into a cluster: Argo CD, or Flux.
//!
//! Argo CD merges the object in Git into the live one, as `kubectl apply` does, and compares the result with the live one.
//! So a field that only the cluster has is no difference; one that Git sets is; and lists without merge key are compared as
//! a whole. Source: `pkg/diff` of gitops-engine.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod cluster;
mod flux;
mod lists;
mod managers;

use std::cell::OnceCell;
use std::sync::Arc;

use crate::engine::Engine;
use crate::patch::Schemas;
use crate::report::{Cause, Drift, DriftField, DriftKind, DriftStep, ObjectReport, Outcome, Writers};
use crate::value::{GroupVersionKind, Map, Pointer, Value};

use managers::Managers;

pub use flux::flux_drift;

/// The nesting of objects that is compared.
const MAX_DEPTH: usize = 200;

/// The differences of an object that policies changed; `None` if it has no kind or no name, so that no tool keeps it in sync.
pub fn drift(engine: &Engine, report: &ObjectReport) -> Option<Drift> {
    let sides = Sides::new(engine, report)?;
    let fields = sides.renamed().map_or_else(|| sides.predicted(), |field| vec![field]);
    Some(Drift { fields, is_incomplete: sides.is_incomplete, ..Drift::default() })
}

/// The differences between an object and the one in a cluster. `reports` has what policies do with the object, each in another
/// request: what one of them explains is theirs.
pub fn live_drift(engine: &Engine, reports: &[&ObjectReport], live: &Value) -> Option<Drift> {
    let sides = reports.iter().map(|report| Sides::new(engine, report)).collect::<Option<Vec<_>>>()?;
    let first = sides.first()?;
    let live = cluster::without_last_applied(live);
    let managers = Managers::of(&live);
    let fields = cluster::shown(&sides, &live, &managers);
    let mut others = cluster::others(&sides, &live, &fields, &managers);
    if first.is_incomplete {
        // What nobody explains may be a default that is not known.
        others.others.retain(|other| matches!(*other.cause, Cause::Policies { .. }));
    }
    Some(Drift { fields, is_incomplete: first.is_incomplete, live: Some(others), ..Drift::default() })
}

/// An object in Git and what becomes of it.
struct Sides<'a> {
    report: &'a ObjectReport,
    /// What policies wrote, once it is needed.
    writers: OnceCell<Writers>,
    kind: GroupVersionKind,
    /// Argo CD knows the lists of built-in kinds alone.
    schemas: Schemas,
    /// What Git sets.
    config: Value,
    /// The same with the defaults of the API server.
    in_git: Value,
    /// The same with the changes of policies.
    predicted: Value,
    is_incomplete: bool,
}

/// The object before the first change of the policies and after the last one, as the report has it.
fn ends(report: &ObjectReport) -> [Option<&Value>; 2] {
    let mut states = report.rules().filter_map(|(_, rule)| match &rule.outcome {
        Outcome::Patched { before, after } => Some((before, after)),
        _ => None,
    });
    let first = states.next();
    let last = states.last().or(first);
    [first.map(|(before, _)| before), last.map(|(_, after)| after)]
}

/// Stores once what a view has in common with other states of the object: large objects take much memory.
fn share<'v>(view: &mut Option<Value>, others: impl IntoIterator<Item = Option<&'v Value>>) {
    if let Some(view) = view {
        for other in others.into_iter().flatten() {
            view.share_with(other);
        }
    }
}

fn object_namespace(object: &Value) -> Option<&Value> {
    object.path(&["metadata", "namespace"])
}

impl<'a> Sides<'a> {
    fn new(engine: &Engine, report: &'a ObjectReport) -> Option<Self> {
        let kind = GroupVersionKind::of(&report.before)?;
        report.before.path(&["metadata", "name"])?;
        let mut after = report.after.clone();
        if let (Some(namespace), None) = (object_namespace(&report.before), object_namespace(&after)) {
            // The API server fills it in.
            let metadata = after.as_object_mut().and_then(|after| after.get_mut("metadata")?.as_object_mut());
            metadata.map(|metadata| metadata.insert("namespace".into(), namespace.clone()));
        }
        let settings = engine.settings();
        let view = |object: &Value| {
            settings.admission.as_ref().and_then(|admission| admission.view(object, &kind).ok())
        };
        let [first, last] = ends(report);
        let mut in_git = view(&report.before);
        share(&mut in_git, [first]);
        let mut predicted = view(&after);
        share(&mut predicted, [last, in_git.as_ref()]);
        let is_incomplete = in_git.is_none() || predicted.is_none();
        let (in_git, predicted) = match (in_git, predicted) {
            (Some(in_git), Some(predicted)) => (in_git, predicted),
            _ => (report.before.clone(), after),
        };
        let config = with_data(&report.before, &in_git);
        Some(Self {
            report,
            writers: OnceCell::new(),
            kind,
            schemas: Schemas::kubernetes(),
            config,
            in_git,
            predicted,
            is_incomplete,
        })
    }

    fn writers(&self) -> &Writers {
        self.writers.get_or_init(|| Writers::of(self.report))
    }

    /// That policies give the object another name, namespace or kind: no object of the cluster is ever the one in Git.
    fn renamed(&self) -> Option<DriftField> {
        let path = self.report.changed_identity()?;
        let field = path.iter().fold(Pointer::ROOT, |at, key| at.key(*key));
        let steps = path.iter().map(|key| DriftStep::Key((*key).into())).collect();
        Some(DriftField {
            path: steps,
            kind: DriftKind::Identity,
            cause: cause(self.writers(), &field).into(),
        })
    }

    /// The differences between Git and what policies make of it.
    fn predicted(&self) -> Vec<DriftField> {
        self.compared(&self.in_git, &self.predicted)
    }

    /// The differences between two objects in what Git sets.
    fn compared(&self, in_git: &Value, live: &Value) -> Vec<DriftField> {
        let mut comparison = Comparison {
            writers: self.writers(),
            schemas: &self.schemas,
            kind: &self.kind,
            found: Vec::new(),
        };
        if let [Some(config), Some(in_git), Some(live)] = [&self.config, in_git, live].map(Value::as_object) {
            comparison.maps(config, in_git, live, &mut Place::default());
        }
        comparison.found
    }
}

/// The policies and rules that wrote a field.
fn cause(writers: &Writers, field: &Pointer) -> Cause {
    let fields = std::slice::from_ref(field);
    let policies = writers.policies(fields);
    if policies.is_empty() && !field.is_root() {
        // The API server made it of another field that they changed.
        return cause(writers, &Pointer::ROOT);
    }
    Cause::Policies { policies, rules: writers.titles(fields) }
}

/// A cause, that of the last difference if it is the same.
fn shared(cause: Cause, last: Option<&DriftField>) -> Arc<Cause> {
    last.filter(|last| *last.cause == cause).map_or_else(|| cause.into(), |last| Arc::clone(&last.cause))
}

/// A Secret with the `data` that its `stringData` becomes, as Argo CD compares it. Other objects as they are.
fn with_data(config: &Value, in_git: &Value) -> Value {
    let mut config = config.clone();
    let is_secret =
        GroupVersionKind::of(&config).is_some_and(|kind| kind.group.is_empty() && &*kind.kind == "Secret");
    if is_secret
        && config.remove("stringData").is_some()
        && let Some(data) = in_git.get("data")
    {
        config.insert("data", data.clone());
    }
    config
}

/// A place in an object: its path, and where it is in the live object.
#[derive(Default)]
struct Place {
    path: Vec<DriftStep>,
    live: Pointer,
}

struct Comparison<'a> {
    writers: &'a Writers,
    schemas: &'a Schemas,
    kind: &'a GroupVersionKind,
    found: Vec<DriftField>,
}

impl Comparison<'_> {
    /// Compares what Git sets. `in_git` is the same with the defaults of the API server, and perhaps with changes of policies.
    fn maps(&mut self, config: &Map, in_git: &Map, live: &Map, place: &mut Place) {
        if place.path.len() > MAX_DEPTH {
            return;
        }
        for (key, config) in config {
            // A null removes the field. What the API server drops cannot differ.
            let Some(in_git) = in_git.get(key).filter(|_| !config.is_null()) else { continue };
            if is_identity(place, key) {
                continue;
            }
            place.path.push(DriftStep::Key(key.clone()));
            place.live.push_key(key.clone());
            match live.get(key) {
                None => self.add(place, DriftKind::Removed),
                Some(live) => self.values(config, in_git, live, place),
            }
            place.live.pop();
            place.path.pop();
        }
    }

    fn values(&mut self, config: &Value, in_git: &Value, live: &Value, place: &mut Place) {
        if in_git == live {
            return;
        }
        match (config, in_git, live) {
            (Value::Object(config), Value::Object(in_git), Value::Object(live)) => {
                self.maps(config, in_git, live, place);
            }
            (Value::Array(config), Value::Array(in_git), Value::Array(live)) => {
                self.lists(config, in_git, live, place);
            }
            _ => self.add(place, DriftKind::Changed),
        }
    }

    fn add(&mut self, place: &Place, kind: DriftKind) {
        let cause = shared(cause(self.writers, &place.live), self.found.last());
        self.found.push(DriftField { path: place.path.clone(), kind, cause });
    }
}

/// Whether a field is none of those that Argo CD compares: what names the object, and its status.
fn is_identity(place: &Place, key: &str) -> bool {
    match &*place.path {
        [] => matches!(key, "apiVersion" | "kind" | "status"),
        [DriftStep::Key(parent)] => &**parent == "metadata" && matches!(key, "name" | "namespace"),
        _ => false,
    }
}
