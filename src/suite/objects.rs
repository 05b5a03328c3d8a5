//! The objects of a suite's runs, by their names.

use std::collections::BTreeMap;

use crate::report::ObjectReport;
use crate::value::ObjectRef;

/// The reports on objects, also by the names of the objects.
pub(super) struct ObjectsByName<'a> {
    pub(super) all: Vec<(&'a ObjectRef, &'a ObjectReport)>,
    places: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> ObjectsByName<'a> {
    pub(super) fn of(reports: impl Iterator<Item = &'a ObjectReport>) -> Self {
        let all: Vec<_> = reports.filter_map(|report| Some((report.object.as_ref()?, report))).collect();
        let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, (object, _)) in all.iter().enumerate() {
            places.entry(&object.name).or_default().push(place);
        }
        Self { all, places }
    }

    /// The places of the objects with a name that a test holds for.
    pub(super) fn named(
        &self,
        name: &str,
        is_meant: impl Fn(&ObjectRef) -> bool,
    ) -> impl Iterator<Item = usize> {
        let places = self.places.get(name).into_iter().flatten().copied();
        places.filter(move |place| self.all.get(*place).is_some_and(|(object, _)| is_meant(object)))
    }
}
