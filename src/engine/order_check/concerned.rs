//! The policies that concern some state of an object, and what they did with its states.

use std::borrow::Cow;
use std::slice;

use crate::policy::Policy;
use crate::value::{PathSet, Value};

use super::known::{Field, Known, have_same_metadata, unreadable};

/// So many states of an object are compared with one, to find out whether a policy does the same with it.
const MAX_COMPARED: usize = 8;

/// A policy that concerns some state of the object.
pub(super) struct Concerned<'a> {
    pub(super) number: usize,
    pub(super) policy: &'a Policy,
    pub(super) parts: Cow<'a, [usize]>,
    /// What it did with each state of the object that it was evaluated on.
    pub(super) results: Vec<Known>,
    /// What it changed in some order, and the maps of other policies that it may create.
    pub(super) changes: PathSet,
    /// Whether it may read or write maps that some policy created.
    pub(super) meets_created: bool,
    /// Whether something of this was found since policies were last compared.
    pub(super) is_new: bool,
}

impl Concerned<'_> {
    /// Adds what it changed.
    pub(super) fn add_changes(&mut self, changes: &PathSet) {
        self.is_new |= self.changes.extend(changes);
    }

    /// Whether it may read or write one of these paths.
    pub(super) fn touches(&self, paths: &PathSet) -> bool {
        let mut rules = self.parts.iter().filter_map(|part| self.policy.paths(*part));
        rules.any(|rule| rule.touched().intersects(paths))
    }

    /// What a policy does with an object, and whether it fails, if it ran on another state that differs in nothing that it may
    /// read or write.
    pub(super) fn known_effect(&self, object: &Value) -> Option<(Value, bool)> {
        let Self { policy, parts, results, .. } = self;
        results.iter().rev().take(MAX_COMPARED).find_map(|known| {
            let before = &known.before;
            let mut rules = parts.iter().filter_map(|part| policy.paths(*part));
            let is_changed = |paths: &PathSet| {
                let is_unreadable = |field: Field| {
                    let mut fields = PathSet::default();
                    fields.insert_keys(&field);
                    paths.intersects(&fields)
                };
                paths.is_changed(before, object)
                    || !have_same_metadata(before, object) && unreadable(before, object).any(is_unreadable)
            };
            if rules.any(|rule| is_changed(rule.touched())) {
                return None;
            }
            Some((known.after(object)?, known.has_failed))
        })
    }
}

/// These policies, by their numbers.
#[derive(Default)]
pub(super) struct ConcernedPolicies<'a>(Vec<Concerned<'a>>);

impl<'a> ConcernedPolicies<'a> {
    /// Adds those that are not known yet.
    pub(super) fn add(&mut self, policies: impl Iterator<Item = (usize, &'a Policy, Cow<'a, [usize]>)>) {
        let known = self.0.len();
        for (number, policy, parts) in policies {
            if self.place(known, number).is_none() {
                let (results, changes) = (Vec::new(), PathSet::default());
                let (meets_created, is_new) = (false, true);
                self.0.push(Concerned { number, policy, parts, results, changes, meets_created, is_new });
            }
        }
        if self.0.len() > known {
            self.0.sort_by_key(|policy| policy.number);
        }
    }

    /// The place of a policy among the first ones, which are sorted.
    fn place(&self, sorted: usize, number: usize) -> Option<usize> {
        self.0.get(..sorted)?.binary_search_by_key(&number, |policy| policy.number).ok()
    }

    pub(super) fn get(&self, number: usize) -> Option<&Concerned<'a>> {
        self.0.get(self.place(self.0.len(), number)?)
    }

    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut Concerned<'a>> {
        let place = self.place(self.0.len(), number)?;
        self.0.get_mut(place)
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> slice::Iter<'_, Concerned<'a>> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> slice::IterMut<'_, Concerned<'a>> {
        self.0.iter_mut()
    }
}
