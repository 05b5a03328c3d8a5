//! The objects of a run as targets: in order, each as the rules so far left it.

use std::collections::BTreeMap;

use crate::policy::TargetSelector;
use crate::report::{MissingInputs, PolicyReport};
use crate::secrets::{Secrets, TaintTracker};
use crate::value::{GroupVersionKind, ObjectRef, Text, Value};

use super::placed::Placed;
use super::{Engine, LookupError, World, lookups};

/// The objects that rules with targets may change, in the order of the run.
#[derive(Debug, Default)]
pub struct Targets {
    entries: Vec<Entry>,
    by_kind: BTreeMap<Text, Vec<usize>>,
    by_name: BTreeMap<(Text, Text), Vec<usize>>,
    /// How many targets were taken so far.
    taken: usize,
    /// Whether every rule sees the objects as they were added.
    is_fixed: bool,
    /// The objects told of since it was last said which Secrets were seen.
    told: Vec<TargetId>,
}

/// An object with what became of it.
#[derive(Debug)]
struct Entry {
    given: Value,
    placed: Placed,
    kind: GroupVersionKind,
    subresource: Text,
    /// The object as it stands, with its namespace.
    current: Value,
    reports: Vec<PolicyReport>,
    /// What these rules came across of Secrets.
    secrets: Secrets,
}

/// What became of an object.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The object as it was added.
    pub before: Value,
    /// The object as it stands.
    pub after: Value,
    /// What the rules did with it.
    pub policies: Vec<PolicyReport>,
    /// What these rules came across of Secrets.
    pub secrets: Secrets,
}

/// What policies with targets report on the object that triggers them.
#[derive(Clone, Debug, Default)]
pub struct Triggered {
    /// The policies, in the order they ran.
    pub policies: Vec<PolicyReport>,
    /// What `match` and `exclude` of some rule depend on and is not known.
    pub unknown: MissingInputs,
    /// The filter of Kyverno's configuration that hides the object from policies that it triggers.
    pub filter: Option<Text>,
    /// The Secrets whose values the policies used.
    pub secrets: Secrets,
}

/// A target that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TargetId(usize);

impl Targets {
    /// No objects yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No objects yet; every rule sees those that are added as they are, as in Kyverno's test suites, and only
    /// the reports tell what it made of them.
    pub fn fixed() -> Self {
        Self { is_fixed: true, ..Self::default() }
    }

    /// Adds an object, also one that cannot be a target. Objects are known by their number, from 0.
    pub fn add(&mut self, engine: &Engine, object: &Value, world: &dyn World) {
        let own = GroupVersionKind::of(object).unwrap_or_else(|| GroupVersionKind::new("", ""));
        let (kind, subresource) = engine.settings.values.as_subresource(&own);
        let placed = Placed::new(engine, object, &own, world);
        let index = self.entries.len();
        if !own.kind.is_empty() {
            self.by_kind.entry(kind.kind.clone()).or_default().push(index);
            self.by_name.entry((placed.namespace.clone(), name(object))).or_default().push(index);
        }
        self.entries.push(Entry {
            given: object.clone(),
            kind: kind.clone(),
            subresource: subresource.into(),
            current: placed.object.clone(),
            placed,
            reports: Vec::new(),
            secrets: Secrets::default(),
        });
    }

    /// The number of the first object with the identity of this one.
    pub fn number_of(&self, engine: &Engine, object: &Value, world: &dyn World) -> Option<usize> {
        let kind = GroupVersionKind::of(object)?;
        let placed = Placed::new(engine, object, &kind, world);
        let same = self.by_name.get(&(placed.namespace, name(object))).map(Vec::as_slice).unwrap_or_default();
        same.iter().copied().find(|index| {
            let entry = self.entries.get(*index);
            entry.is_some_and(|entry| entry.kind.group == kind.group && entry.kind.kind == kind.kind)
        })
    }

    /// How many objects there are, those that the world added included.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no object.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// An object as it was added.
    pub fn given(&self, number: usize) -> Option<&Value> {
        self.entries.get(number).map(|entry| &entry.given)
    }

    /// Hands out what became of an object. `None` where no rule took it.
    pub fn take(&mut self, number: usize) -> Option<Taken> {
        let entry = self.entries.get_mut(number)?;
        if entry.reports.is_empty() {
            return None;
        }
        let after = entry.placed.take_back(&entry.given, entry.current.clone());
        Some(Taken {
            before: entry.given.clone(),
            after,
            policies: std::mem::take(&mut entry.reports),
            secrets: std::mem::take(&mut entry.secrets),
        })
    }

    /// The objects that a target stands for, in order; those that only the world knows come last, and are kept.
    pub(super) fn find(
        &mut self,
        selector: &TargetSelector,
        engine: &Engine,
        (world, taint): (&dyn World, &TaintTracker),
    ) -> Result<Vec<TargetId>, LookupError> {
        let mut found = self.known(selector);
        if taint.is_replay() && selector.labels.is_some() {
            let labels = self.entries.iter().filter_map(|entry| entry.current.path(&["metadata", "labels"]));
            labels.for_each(|labels| taint.note_read(labels));
        }
        if !found.is_empty() && selector.exact().is_some() && selector.kind.only_kind().is_some() {
            return Ok(found);
        }
        match lookups::targets(world, taint, selector) {
            Ok(objects) => {
                for object in objects {
                    match self.number_of(engine, &object, world).map(TargetId) {
                        None => {
                            found.push(TargetId(self.entries.len()));
                            self.add(engine, &object, world);
                        }
                        // A subresource that the world gave before; its kind does not tell what it is part of.
                        Some(known) if !selector.kind.subresource.is_empty() && !found.contains(&known) => {
                            found.push(known);
                        }
                        Some(_) => {}
                    }
                }
            }
            Err(LookupError::NotGiven | LookupError::NotFound) => {}
            // What is known answers for a name; of a list it may be a part.
            Err(_) if !found.is_empty() && selector.exact().is_some() => {}
            Err(error) => return Err(error),
        }
        if found.is_empty() && selector.exact().is_some() {
            return Err(LookupError::NotFound);
        }
        Ok(found)
    }

    fn known(&self, selector: &TargetSelector) -> Vec<TargetId> {
        let all;
        let candidates: &[usize] = if let Some((namespace, name)) = selector.exact() {
            self.by_name.get(&(namespace.clone(), name.clone())).map(Vec::as_slice).unwrap_or_default()
        } else if let Some(kind) = selector.kind.only_kind() {
            self.by_kind.get(kind).map(Vec::as_slice).unwrap_or_default()
        } else {
            all = (0..self.entries.len()).collect::<Vec<_>>();
            &all
        };
        let fits = |entry: &Entry| {
            // A status is read and written with its object.
            let of_status = &*selector.kind.subresource == "status" && entry.subresource.is_empty();
            let subresource = if of_status { "status" } else { &*entry.subresource };
            !entry.kind.kind.is_empty()
                && selector.matches_kind(&entry.kind, subresource)
                && selector.matches(&entry.current, &entry.placed.namespace)
        };
        let fitting = candidates.iter().filter(|index| self.entries.get(**index).is_some_and(fits));
        fitting.copied().map(TargetId).collect()
    }

    /// The parents of the kind that a target with a subresource speaks of, whether or not the subresource is
    /// there.
    pub(super) fn has_parent(&self, selector: &TargetSelector) -> bool {
        let mut parent = selector.clone();
        parent.kind.subresource = Text::default();
        !selector.kind.subresource.is_empty() && !self.known(&parent).is_empty()
    }

    /// Counts targets; `false` where they become too many.
    pub(super) const fn count(&mut self, targets: usize, maximum: usize) -> bool {
        self.taken = self.taken.saturating_add(targets);
        self.taken <= maximum
    }

    /// A target as it stands.
    pub(super) fn object(&self, found: TargetId) -> Option<&Value> {
        self.entries.get(found.0).map(|entry| &entry.current)
    }

    /// The identity of a target, as it was added.
    pub(super) fn identity(&self, found: TargetId) -> Option<ObjectRef> {
        self.entries.get(found.0).and_then(|entry| ObjectRef::of(&entry.given))
    }

    /// Whether an object is still the one that it was added as.
    pub(super) fn is_same(&self, found: TargetId, object: &Value) -> bool {
        self.entries
            .get(found.0)
            .is_some_and(|entry| ObjectRef::of(&entry.placed.object) == ObjectRef::of(object))
    }

    /// Makes this value the target.
    pub(super) fn set(&mut self, found: TargetId, object: Value) {
        if let Some(entry) = self.entries.get_mut(found.0).filter(|_| !self.is_fixed) {
            entry.current = object;
        }
    }

    /// Adds what a rule did with a target.
    pub(super) fn add_report(&mut self, found: TargetId, report: PolicyReport) {
        if let Some(entry) = self.entries.get_mut(found.0) {
            entry.reports.push(report);
            self.told.push(found);
        }
    }
}

impl Targets {
    /// Remembers what rules came across of Secrets, for the targets told of since the last call.
    pub(super) fn add_secrets(&mut self, secrets: &Secrets) {
        let mut told = std::mem::take(&mut self.told);
        told.sort_unstable();
        told.dedup();
        for found in told {
            if let Some(entry) = self.entries.get_mut(found.0) {
                entry.secrets.extend(secrets);
            }
        }
    }
}

fn name(object: &Value) -> Text {
    object.path(&["metadata", "name"]).and_then(Value::as_text).cloned().unwrap_or_default()
}
