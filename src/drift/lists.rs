//! Lists: by merge keys, as sets, or as a whole.

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::patch::{ListStrategy, Schemas};
use crate::report::{DriftKind, DriftStep};
use crate::value::{GroupVersionKind, Text, Value, distinct};

use super::{Comparison, Place};

impl Comparison<'_> {
    pub(super) fn lists(&mut self, config: &[Value], in_git: &[Value], live: &[Value], place: &mut Place) {
        if !Schemas::is_built_in(self.kind) {
            if !matches_list(live, config) {
                self.whole(in_git, live, place);
            }
            return;
        }
        match strategy(self.schemas, self.kind, &place.path) {
            ListStrategy::Keys(keys) => match keys.first().map(|key| Text::from(*key)) {
                Some(key) if has_keys(&[config, in_git, live], &key) => {
                    self.keyed(&key, (config, in_git), live, place);
                }
                _ => self.whole(in_git, live, place),
            },
            ListStrategy::Set => {
                let known = distinct(live);
                for item in in_git.iter().filter(|item| !known.contains(item)) {
                    place.path.push(DriftStep::Item(item.clone()));
                    self.add(place, DriftKind::Removed);
                    place.path.pop();
                }
            }
            ListStrategy::Replace => self.whole(in_git, live, place),
        }
    }

    /// A list whose elements are merged by a key.
    fn keyed(
        &mut self,
        key: &Text,
        (config, in_git): (&[Value], &[Value]),
        live: &[Value],
        place: &mut Place,
    ) {
        let mut order = Vec::new();
        let live_places = places(live, key);
        for (config, in_git) in config.iter().zip(in_git) {
            let Some(value) = in_git.get(key) else { continue };
            place.path.push(DriftStep::Element { key: key.clone(), value: value.clone() });
            match live_places.get(value) {
                Some(&index) => {
                    order.push(index);
                    place.live.push_index(index);
                    self.values(config, in_git, &live[index], place);
                    place.live.pop();
                }
                None => self.add(place, DriftKind::Removed),
            }
            place.path.pop();
        }
        if !order.is_sorted() {
            self.add(place, DriftKind::Order);
        }
    }

    /// A list without merge key.
    fn whole(&mut self, in_git: &[Value], live: &[Value], place: &mut Place) {
        let mut expected = in_git.iter().peekable();
        let mut added = distinct(&[]);
        for element in live {
            if expected.next_if(|expected| *expected == element).is_none() {
                added.insert(element);
            }
        }
        // An element that Git has, too, cannot be told from the one that was added.
        let is_only_added = expected.next().is_none() && distinct(in_git).is_disjoint(&added);
        if !is_only_added {
            return self.add(place, DriftKind::List);
        }
        for element in added {
            place.path.push(DriftStep::Item(element.clone()));
            self.add(place, DriftKind::Added);
            place.path.pop();
        }
    }
}

/// How the list at a place is merged.
pub(super) fn strategy<'s>(
    schemas: &'s Schemas,
    kind: &GroupVersionKind,
    path: &[DriftStep],
) -> ListStrategy<'s> {
    let names: Vec<Option<&str>> = path
        .iter()
        .map(|step| match step {
            DriftStep::Key(key) => Some(&**key),
            DriftStep::Element { .. } | DriftStep::Item(_) | DriftStep::Index(_) => None,
        })
        .collect();
    schemas.list_strategy(kind, &names)
}

/// Whether a list of a custom resource counts as unchanged: it has as many elements, and each has what Git sets. Source:
/// `matchesArray` of json-patch 4.12, which Argo CD 3.2 compares them with.
fn matches_list(live: &[Value], config: &[Value]) -> bool {
    live.len() == config.len() && live.iter().zip(config).all(|(live, config)| matches(live, config))
}

fn matches(live: &Value, config: &Value) -> bool {
    match (live, config) {
        (Value::Object(live), Value::Object(config)) => {
            config.iter().all(|(key, config)| live.get(key).is_some_and(|live| matches(live, config)))
        }
        (Value::Array(live), Value::Array(config)) => matches_list(live, config),
        _ => live == config,
    }
}

/// Whether all elements have the key, each another value.
pub(super) fn has_keys(lists: &[&[Value]], key: &str) -> bool {
    lists.iter().all(|list| places(list, key).len() == list.len())
}

/// The index of the first element with each value of a key.
pub(super) fn places<'v>(list: &'v [Value], key: &str) -> IndexMap<&'v Value, usize, RandomState> {
    let mut places = IndexMap::default();
    for (index, element) in list.iter().enumerate() {
        if let Some(value) = element.get(key) {
            places.entry(value).or_insert(index);
        }
    }
    places
}
