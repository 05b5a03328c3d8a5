//! Plain patches that know which elements of the object they are for.

use std::borrow::Cow;
use std::mem;

use crate::value::{Map, Text, Value};

use super::keyed::key_text;
use super::schema::{Position, Strategy};
use super::tree::{Entry, Role};

/// A patch without anchors.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    /// Merged as it stands.
    Value(Value),
    /// A map.
    Map(Map<Self>),
    /// A list.
    List(PlannedList),
}

/// A list of a patch without anchors.
#[derive(Clone, Debug)]
pub(super) struct PlannedList {
    pub(super) items: Vec<Item>,
    /// Whether anchors chose elements: then a list without merge key is edited, not replaced.
    pub(super) edits: bool,
}

/// One element of a [`PlannedList`].
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The element of the object it is for, where an anchor chose it.
    pub(super) target: Option<Target>,
    pub(super) plan: Plan,
}

/// An element of the object that an anchor chose.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Its place.
    pub(super) index: usize,
    /// Its name and keys, for the case that the patch replaces the list it stands in.
    pub(super) identity: Vec<(Text, Value)>,
}

impl Item {
    /// Whether the element that an anchor chose has a name.
    pub(super) fn has_name(&self) -> bool {
        let name = |target: &Target| {
            target.identity.iter().any(|(key, value)| &**key == "name" && key_text(value).is_some())
        };
        self.target.as_ref().is_some_and(name)
    }
}

/// The plans of the members of a map while they are made, in the order of evaluation.
pub(super) enum Plans<'t> {
    /// That is the written order, and no key stands twice: a map already, once there is something in it.
    InOrder(&'t [Entry], Option<Map<Plan>>),
    /// They are put together when all are there.
    Any(&'t [Entry], Vec<Option<Plan>>),
}

impl<'t> Plans<'t> {
    /// No plans yet for these members, which are evaluated in this order.
    pub(super) fn new(entries: &'t [Entry], order: &[usize], repeated: bool) -> Self {
        if !repeated && order.is_sorted() {
            return Self::InOrder(entries, None);
        }
        Self::Any(entries, entries.iter().map(|_| None).collect())
    }

    /// Takes the plan for a member, if there is one.
    pub(super) fn take(&mut self, index: usize, plan: Option<Plan>) {
        match self {
            Self::InOrder(entries, members) => {
                if let (Some(entry), Some(plan)) = (entries.get(index), plan) {
                    let members = members.get_or_insert_with(|| Map::with_capacity(entries.len()));
                    members.insert(entry.name.clone(), plan);
                }
            }
            Self::Any(_, planned) => {
                if let Some(slot) = planned.get_mut(index) {
                    *slot = plan;
                }
            }
        }
    }

    /// The plan of the map.
    pub(super) fn assembled(self) -> Option<Plan> {
        match self {
            Self::InOrder(_, members) => members.map(Plan::Map),
            Self::Any(entries, planned) => assembled(entries, planned),
        }
    }
}

/// The plan of a map from those of its members, in written order.
pub(super) fn assembled(entries: &[Entry], planned: Vec<Option<Plan>>) -> Option<Plan> {
    let mut members = Map::with_capacity(entries.len());
    for (entry, plan) in entries.iter().zip(planned) {
        let Some(plan) = plan else { continue };
        let Some(earlier) = members.get_mut(&entry.name) else {
            members.insert(entry.name.clone(), plan);
            continue;
        };
        let taken = mem::replace(earlier, Plan::Value(Value::Null));
        // What an anchor adds wins over a plain member, which wins over what a condition adds.
        *earlier = match &entry.role {
            Role::Plain(_) if adds_to(entries, &entry.name) => taken,
            Role::Plain(_) => joined(taken, plan),
            Role::Add(_) => plan,
            Role::Condition(_) => joined(plan, taken),
        };
    }
    (!members.is_empty()).then_some(Plan::Map(members))
}

fn adds_to(entries: &[Entry], name: &str) -> bool {
    entries.iter().any(|entry| &*entry.name == name && matches!(entry.role, Role::Add(_)))
}

/// One plan over another.
fn joined(under: Plan, over: Plan) -> Plan {
    let (mut under, over) = match (under, over) {
        (Plan::Map(under), Plan::Map(over)) => (under, over),
        (Plan::Map(under), Plan::Value(Value::Object(over))) => {
            let over = over.iter().map(|(key, value)| (key.clone(), Plan::Value(value.clone())));
            (under, over.collect())
        }
        (_, over) => return over,
    };
    for (key, over) in over {
        match under.get_mut(&key) {
            Some(slot) => {
                let taken = mem::replace(slot, Plan::Value(Value::Null));
                *slot = joined(taken, over);
            }
            None => {
                under.insert(key, over);
            }
        }
    }
    Plan::Map(under)
}

/// What tells an element apart from the others of its list.
pub(super) fn identity(element: &Value, position: Position<'_>) -> Vec<(Text, Value)> {
    let keys = match position.strategy() {
        Strategy::Keys(keys) => keys,
        Strategy::Replace | Strategy::Set => Cow::default(),
    };
    let Some(members) = element.as_object() else { return Vec::new() };
    let tells = |key: &Text| &**key == "name" || keys.contains(&&**key);
    members.iter().filter(|(key, _)| tells(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A plain name beside anchors gives way to the name of the element that was chosen.
pub(super) fn without_name(plan: Plan, candidate: &Value) -> Plan {
    match plan {
        Plan::Map(mut members) if name_of(candidate).is_some() => {
            members.shift_remove("name");
            Plan::Map(members)
        }
        plan => plan,
    }
}

/// The name that Kyverno knows an element by.
fn name_of(element: &Value) -> Option<Cow<'_, str>> {
    key_text(element.get("name")?)
}
