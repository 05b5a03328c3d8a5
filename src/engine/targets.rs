//! The objects of a run as targets of mutate-existing rules.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::policy::TargetSelector;
use crate::report::{MissingInputs, PolicyReport};
use crate::secrets::{Secrets, TaintTracker};
use crate::value::{GroupVersionKind, ObjectRef, Text, Value};

use super::placed::{self, Placed};
use super::{Engine, LookupError, World, lookups};

/// The objects that mutate-existing rules may change, in the order of the run, each in its current state.
#[derive(Debug, Default)]
pub struct Targets {
    entries: Vec<Entry>,
    by_kind: BTreeMap<Text, Vec<usize>>,
    by_name: BTreeMap<(Text, Text), Vec<usize>>,
    /// The number of targets so far, counted once for each trigger and rule.
    uses: usize,
    /// The objects that were compared with selectors, since the last call of [`Targets::take_compared`].
    compared: Cell<u64>,
    /// Whether every rule sees the original objects.
    is_fixed: bool,
    /// The targets of reports since the last call of [`Targets::add_secrets`].
    reported: Vec<TargetId>,
}

/// An object with the reports of rules.
#[derive(Debug)]
struct Entry {
    original: Value,
    placed: Placed,
    kind: GroupVersionKind,
    subresource: Text,
    /// The object in its current state, with its namespace.
    current: Value,
    reports: Vec<PolicyReport>,
    /// The Secrets whose values these rules used.
    secrets: Secrets,
}

/// A target with the reports of rules.
#[derive(Clone, Debug)]
pub struct MutatedTarget {
    /// The original object.
    pub before: Value,
    /// The object after all rules so far.
    pub after: Value,
    /// The reports.
    pub policies: Vec<PolicyReport>,
    /// The Secrets whose values these rules used.
    pub secrets: Secrets,
}

/// The reports of mutate-existing policies on their trigger.
#[derive(Clone, Debug, Default)]
pub struct Triggered {
    /// The policies, in the order they ran.
    pub policies: Vec<PolicyReport>,
    /// Inputs that rules needed and that were not given.
    pub unknown: MissingInputs,
    /// The part of Kyverno's configuration that excludes the object from policies, if one does.
    pub filter: Option<Text>,
    /// The Secrets whose values the policies used.
    pub secrets: Secrets,
    /// The steps of all expressions and loops.
    pub steps: u64,
}

/// The number of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TargetId(usize);

impl Targets {
    /// No objects yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No objects yet. Every rule sees the original objects, as in Kyverno's test suites, and changes are only reported.
    pub fn fixed() -> Self {
        Self { is_fixed: true, ..Self::default() }
    }

    /// Adds an object, also one that cannot be a target. Objects are numbered from 0.
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
            original: object.clone(),
            kind: kind.clone(),
            subresource: subresource.into(),
            current: placed.object.clone(),
            placed,
            reports: Vec::new(),
            secrets: Secrets::default(),
        });
    }

    /// The number of the first object with the same identity.
    pub fn number_of(&self, engine: &Engine, object: &Value, world: &dyn World) -> Option<usize> {
        let kind = GroupVersionKind::of(object)?;
        let namespace = placed::namespace(engine, object, &kind, world);
        let same = self.by_name.get(&(namespace, name(object))).map(Vec::as_slice).unwrap_or_default();
        same.iter().copied().find(|index| {
            let entry = self.entries.get(*index);
            entry.is_some_and(|entry| entry.kind.group == kind.group && entry.kind.kind == kind.kind)
        })
    }

    /// The number of objects, with those found by lookups.
    pub const fn count(&self) -> usize {
        self.entries.len()
    }

    /// An object as it was added.
    pub fn original(&self, number: usize) -> Option<&Value> {
        self.entries.get(number).map(|entry| &entry.original)
    }

    /// Takes the result for an object; `None` if no rule has a report on it.
    pub fn take(&mut self, number: usize) -> Option<MutatedTarget> {
        let entry = self.entries.get_mut(number)?;
        if entry.reports.is_empty() {
            return None;
        }
        let after = entry.placed.take_back(&entry.original, entry.current.clone());
        Some(MutatedTarget {
            before: entry.original.clone(),
            after,
            policies: std::mem::take(&mut entry.reports),
            secrets: std::mem::take(&mut entry.secrets),
        })
    }

    /// Finds the objects that a target selects, in order. Those found by a lookup come last and are added.
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
                self.compared.set(self.compared.get().saturating_add(objects.len() as u64));
                for object in objects {
                    match self.number_of(engine, &object, world).map(TargetId) {
                        None => {
                            found.push(TargetId(self.entries.len()));
                            self.add(engine, &object, world);
                        }
                        // An earlier lookup found this subresource; its kind does not name the parent.
                        Some(known) if !selector.kind.subresource.is_empty() && !found.contains(&known) => {
                            found.push(known);
                        }
                        Some(_) => {}
                    }
                }
            }
            Err(LookupError::NotGiven | LookupError::NotFound) => {}
            // For a name the known object is enough; a list may be incomplete.
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
            // A status is part of its object.
            let of_status = &*selector.kind.subresource == "status" && entry.subresource.is_empty();
            let subresource = if of_status { "status" } else { &*entry.subresource };
            !entry.kind.kind.is_empty()
                && selector.matches_kind(&entry.kind, subresource)
                && selector.matches(&entry.current, &entry.placed.namespace)
        };
        self.compared.set(self.compared.get().saturating_add(candidates.len() as u64));
        let fitting = candidates.iter().filter(|index| self.entries.get(**index).is_some_and(fits));
        fitting.copied().map(TargetId).collect()
    }

    /// The objects that fit by kind, current state and namespace, in order. Subresources never do.
    pub(super) fn select(&self, fits: impl Fn(&GroupVersionKind, &Value, &str) -> bool) -> Vec<TargetId> {
        let fits = |entry: &Entry| {
            !entry.kind.kind.is_empty()
                && entry.subresource.is_empty()
                && fits(&entry.kind, &entry.current, &entry.placed.namespace)
        };
        self.compared.set(self.compared.get().saturating_add(self.entries.len() as u64));
        let fitting = self.entries.iter().enumerate().filter(|(_, entry)| fits(entry));
        fitting.map(|(index, _)| TargetId(index)).collect()
    }

    /// The first object with the same identity.
    pub(super) fn known_number(
        &self,
        engine: &Engine,
        object: &Value,
        world: &dyn World,
    ) -> Option<TargetId> {
        self.number_of(engine, object, world).map(TargetId)
    }

    /// Adds an object that an expression found.
    pub(super) fn add_found(&mut self, engine: &Engine, object: &Value, world: &dyn World) -> TargetId {
        self.add(engine, object, world);
        TargetId(self.entries.len() - 1)
    }

    /// Whether the parent of a target with a subresource exists.
    pub(super) fn has_parent(&self, selector: &TargetSelector) -> bool {
        let mut parent = selector.clone();
        parent.kind.subresource = Text::default();
        !selector.kind.subresource.is_empty() && !self.known(&parent).is_empty()
    }

    /// How many objects were compared with selectors since the last call.
    pub(super) const fn take_compared(&self) -> u64 {
        self.compared.replace(0)
    }

    /// Counts targets; `false` if they are too many.
    pub(super) const fn add_uses(&mut self, targets: usize, maximum: usize) -> bool {
        self.uses = self.uses.saturating_add(targets);
        self.uses <= maximum
    }

    /// The current state of a target.
    pub(super) fn object(&self, id: TargetId) -> Option<&Value> {
        self.entries.get(id.0).map(|entry| &entry.current)
    }

    /// The identity of the original target.
    pub(super) fn identity(&self, id: TargetId) -> Option<ObjectRef> {
        self.entries.get(id.0).and_then(|entry| ObjectRef::of(&entry.original))
    }

    /// Whether an object has the identity of a target.
    pub(super) fn is_same(&self, id: TargetId, object: &Value) -> bool {
        self.entries
            .get(id.0)
            .is_some_and(|entry| ObjectRef::of(&entry.placed.object) == ObjectRef::of(object))
    }

    /// Sets the current state of a target.
    pub(super) fn set(&mut self, id: TargetId, object: Value) {
        if let Some(entry) = self.entries.get_mut(id.0).filter(|_| !self.is_fixed) {
            entry.current = object;
        }
    }

    /// Adds a report on a target.
    pub(super) fn add_report(&mut self, id: TargetId, report: PolicyReport) {
        if let Some(entry) = self.entries.get_mut(id.0) {
            entry.reports.push(report);
            self.reported.push(id);
        }
    }

    /// Adds the Secrets that rules used to the targets of reports since the last call.
    pub(super) fn add_secrets(&mut self, secrets: &Secrets) {
        let mut reported = std::mem::take(&mut self.reported);
        reported.sort_unstable();
        reported.dedup();
        for target in reported {
            if let Some(entry) = self.entries.get_mut(target.0) {
                entry.secrets.extend(secrets);
            }
        }
    }
}

fn name(object: &Value) -> Text {
    object.path(&["metadata", "name"]).and_then(Value::as_text).cloned().unwrap_or_default()
}
