//! Of the requests that go the same way through the policies the smallest.

use std::collections::BTreeMap;

use super::generate::hash;
use super::request::Case;
use super::sides::Run;

/// One request for each way.
#[derive(Default)]
pub(super) struct Samples {
    /// Their places in `cases`, by hashes of the ways.
    places: BTreeMap<u64, usize>,
    /// Each with its weight.
    cases: Vec<(usize, Case)>,
}

impl Samples {
    pub(super) fn add(&mut self, run: &Run) {
        let weight = run.case.object.weight();
        let end = self.cases.len();
        let place = *self.places.entry(hash(&run.signature())).or_insert(end);
        match self.cases.get_mut(place) {
            Some(known) if known.0 <= weight => {}
            Some(known) => *known = (weight, run.case.clone()),
            None => self.cases.push((weight, run.case.clone())),
        }
    }

    pub(super) fn smallest_first(mut self) -> Vec<Case> {
        self.cases.sort_by_key(|(weight, _)| *weight);
        self.cases.into_iter().map(|(_, case)| case).collect()
    }
}
