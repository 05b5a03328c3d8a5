//! Notes on what depends on the order of policies.

use std::collections::{BTreeMap, BTreeSet};

use crate::render::{and_more, first_names};
use crate::report::{ObjectReport, OrderDependence};
use crate::value::Text;

/// How many policies or fields are named unless the run is verbose; the rest is counted.
const NAMED: usize = 10;

/// What depends on the order of policies in a run, by the policies.
#[derive(Debug, Default)]
pub(super) struct OrderNotes {
    by_policies: BTreeMap<Vec<Text>, OrderNote>,
}

#[derive(Debug)]
struct OrderNote {
    /// The first object.
    object: String,
    /// How many others there are.
    others: usize,
    /// The fields that differ in some of them.
    fields: BTreeSet<String>,
    /// The policies that fail in one of the orders only.
    failing: BTreeSet<Text>,
}

impl OrderNotes {
    pub(super) fn add(&mut self, report: &ObjectReport) {
        for OrderDependence { policies, fields, failing, .. } in &report.order {
            let note = self.by_policies.entry(policies.clone());
            let note = note.and_modify(|note| note.others += 1).or_insert_with(|| OrderNote {
                object: report.object.as_ref().map_or_else(String::new, ToString::to_string),
                others: 0,
                fields: BTreeSet::new(),
                failing: BTreeSet::new(),
            });
            note.fields.extend(fields.iter().map(|field| report.shown_place(field).to_string()));
            note.failing.extend(failing.iter().cloned());
        }
    }

    /// One for each set of policies.
    pub(super) fn texts(&self, verbose: bool) -> impl Iterator<Item = String> {
        self.by_policies.iter().map(move |(policies, note)| note.text(policies, verbose))
    }
}

impl OrderNote {
    fn text(&self, policies: &[Text], verbose: bool) -> String {
        let limit = if verbose { usize::MAX } else { NAMED };
        let Self { object, others, fields, failing } = self;
        let objects = and_more(object, *others);
        let names = match policies.split_last() {
            Some((last, first)) if first.len() < limit => format!("{} and {last}", first.join(", ")),
            _ => first_names(limit, policies.iter().map(ToString::to_string)),
        };
        let order = if policies.len() == 2 { "the other order" } else { "another order" };
        let failing: Vec<&str> = failing.iter().map(|name| &**name).collect();
        let failing = (!failing.is_empty()).then(|| format!("{} fails in one of them", failing.join(", ")));
        let fields = (!fields.is_empty()).then(|| first_names(limit, fields.iter().cloned()));
        let places: Vec<String> = fields.into_iter().chain(failing).collect();
        if places.is_empty() {
            return format!(
                "{objects}: policies {names} may have another result in another order: too many policies that \
                 change or read the same fields to compare; a cluster runs policies in no fixed order"
            );
        }
        format!(
            "{objects}: policies {names} give another result in {order} ({}); a cluster runs policies in no \
             fixed order",
            places.join("; ")
        )
    }
}
