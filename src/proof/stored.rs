//! The objects of a cluster that policies with targets change.

use crate::diagnostics::Code;
use crate::engine::{Engine, LAST_APPLIED, Targets, World};
use crate::report::{Outcome, PolicyReport};
use crate::resources::{KindScope, builtin_resource};
use crate::value::{GroupVersionKind, ObjectRef, Text, Value};

use super::facts::TargetFacts;

/// The objects of one kind, from which those of a cluster are made.
#[derive(Debug)]
pub(super) struct TargetKind {
    pub(super) facts: TargetFacts,
    /// Objects without names: the smallest one, and such that fit conditions.
    pub(super) contents: Vec<Value>,
}

/// How many clusters differ in what their objects hold.
pub(super) const CLUSTERS: usize = 4;

/// An object that policies changed beside that of the request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChangedTarget {
    pub(super) before: Value,
    pub(super) after: Value,
}

/// A target that policies left as it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnchangedTarget {
    /// What tells the object from others.
    identity: String,
    /// Why: the error, the condition that does not hold, or that the policy applies and changes nothing.
    reason: String,
}

impl TargetKind {
    /// The objects of a cluster, with the namespace of the request and others.
    fn objects(&self, object: &Value, cluster: usize) -> Vec<Value> {
        let own = object.path(&["metadata", "namespace"]).and_then(Value::as_text).cloned();
        let mut namespaces = vec![own.unwrap_or_else(|| "default".into())];
        let others = self.facts.namespaces.iter().cloned().chain([Text::from("elsewhere")]);
        namespaces.extend(others.filter(|other| *other != namespaces[0]).collect::<Vec<_>>());
        if builtin_resource(&self.facts.kind).scope == KindScope::Cluster {
            namespaces = vec![Text::default()];
        }
        let names = self.facts.names.iter().cloned().chain(["first", "second"].map(Text::from));
        let names: Vec<Text> = names.collect();
        let places = namespaces.iter().flat_map(|namespace| names.iter().map(move |name| (namespace, name)));
        let made = places.enumerate().filter_map(|(number, (namespace, name))| {
            let mut object = self.contents.get((number + cluster) % self.contents.len().max(1))?.clone();
            let metadata = object.as_object_mut()?.get_mut("metadata")?;
            metadata.insert("name", Value::String(name.clone()));
            if !namespace.is_empty() {
                metadata.insert("namespace", Value::String(namespace.clone()));
            }
            Some(object)
        });
        made.collect()
    }
}

/// The objects of the cluster of this number that a request with an object is sent to.
pub(super) fn objects(kinds: &[TargetKind], object: &Value, cluster: usize) -> Vec<Value> {
    kinds.iter().flat_map(|kind| kind.objects(object, cluster)).collect()
}

/// The same with the object of the request, which is stored when its targets are looked for.
pub(super) fn with_object(cluster: &[Value], object: &Value) -> Vec<Value> {
    let mut object = object.clone();
    let kind = GroupVersionKind::of(&object);
    let is_namespaced = kind.is_some_and(|kind| builtin_resource(&kind).scope == KindScope::Namespaced);
    if let Some(metadata) = object.as_object_mut().and_then(|members| members.get_mut("metadata"))
        && is_namespaced
        && metadata.get("namespace").is_none()
    {
        metadata.insert("namespace", Value::from("default"));
    }
    let others =
        cluster.iter().filter(|other| identity(other) != identity(&object)).cloned().collect::<Vec<_>>();
    [object].into_iter().chain(others).collect()
}

/// What policies with targets did.
#[derive(Debug, Default)]
pub(super) struct Ran {
    /// The changed objects, by what they are called.
    pub(super) changed: Vec<ChangedTarget>,
    /// Why targets were left as they are.
    pub(super) unchanged: Vec<UnchangedTarget>,
    /// The reports of the policies, on the object of the request and on the targets.
    pub(super) reports: Vec<PolicyReport>,
    /// Why it cannot be said what they do.
    pub(super) unknown: Option<String>,
    /// The steps of all expressions and loops.
    pub(super) steps: u64,
}

/// Runs the policies with targets that a request triggers: its object before and after the other policies, and the stored
/// one.
pub(super) fn run(
    engine: &Engine,
    (before, after): (&Value, &Value),
    old: Option<&Value>,
    cluster: &[Value],
    world: &dyn World,
) -> Ran {
    let mut targets = Targets::new();
    cluster.iter().for_each(|object| targets.add(engine, object, world));
    let triggered = engine.mutate_targets((before, after), old, &mut targets, world);
    let taken: Vec<_> = (0..targets.count()).filter_map(|number| targets.take(number)).collect();
    let reports = triggered.policies.into_iter();
    let reports: Vec<PolicyReport> =
        reports.chain(taken.iter().flat_map(|target| target.policies.iter().cloned())).collect();
    let rules = reports.iter().flat_map(|policy| policy.rules.iter().map(move |rule| (policy, rule)));
    let unknown = rules.into_iter().find_map(|(policy, rule)| match &rule.outcome {
        Outcome::Error(error) if error.code == Code::NoData => {
            Some(format!("{}: {}", rule.title(&policy.policy), error.message))
        }
        _ => None,
    });
    let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
    for target in taken {
        let after = without_mark(target.after);
        if target.before != after {
            changed.push(ChangedTarget { before: target.before, after });
            continue;
        }
        let reason = target.policies.iter().find_map(why_unchanged);
        unchanged.extend(reason.map(|reason| UnchangedTarget { identity: identity(&target.before), reason }));
    }
    changed.sort_by_cached_key(|target| identity(&target.before));
    Ran { changed, unchanged, reports, unknown, steps: triggered.steps }
}

/// Why a policy left its target as it is.
fn why_unchanged(policy: &PolicyReport) -> Option<String> {
    policy.rules.iter().find_map(|rule| {
        let title = rule.title(&policy.policy);
        match &rule.outcome {
            Outcome::Error(error) => Some(format!("error: {title}: {}", error.message)),
            Outcome::Skipped(reason) => Some(format!("{title}: {reason}")),
            Outcome::NoChange => Some(format!("{title} applies and changes nothing")),
            _ => None,
        }
    })
}

/// Why an object is left as it is by policies that did this to their targets.
pub(super) fn reason(object: &Value, changed: &[ChangedTarget], unchanged: &[UnchangedTarget]) -> String {
    let identity_of_object = identity(object);
    if changed.iter().any(|target| identity(&target.before) == identity_of_object) {
        return "what is written is null or empty, which a cluster does not keep".to_owned();
    }
    let found = unchanged.iter().find(|target| target.identity == identity_of_object);
    found.map_or_else(|| "it is no target".to_owned(), |target| target.reason.clone())
}

/// An object without the mark that Kyverno leaves on changed targets.
fn without_mark(mut object: Value) -> Value {
    let metadata = object.as_object_mut().and_then(|members| members.get_mut("metadata"));
    if let Some(metadata) = metadata
        && let Some(annotations) = metadata.as_object_mut().and_then(|members| members.get_mut("annotations"))
    {
        annotations.remove(LAST_APPLIED);
        if annotations.as_object().is_some_and(|annotations| annotations.is_empty()) {
            metadata.remove("annotations");
        }
    }
    object
}

/// What tells an object from others.
pub(super) fn identity(object: &Value) -> String {
    let kind = GroupVersionKind::of(object).map(|kind| kind.to_string()).unwrap_or_default();
    format!("{kind} {}", ObjectRef::of(object).map(|object| object.to_string()).unwrap_or_default())
}
