//! Patches without anchors, which know the elements of the object they are for.

use std::mem;
use std::sync::Arc;

use crate::patch::scalar::has_key_text;
use crate::patch::strategic::keys::MergeKeys;
use crate::patch::strategic::node::{Entry, EntryKind};
use crate::value::{Map, Text, Value};

/// A patch without anchors.
#[derive(Clone, Debug)]
pub(in crate::patch::strategic) enum Plan {
    /// A value that is merged as written.
    Value(Value),
    /// A map.
    Map(Map<Self>),
    /// A list.
    List(PlannedList),
}

/// A list of a patch without anchors.
#[derive(Clone, Debug)]
pub(in crate::patch::strategic) struct PlannedList {
    pub(in crate::patch::strategic) elements: Vec<PlannedElement>,
    /// Whether anchors selected elements: then a list without merge keys is edited in place, not replaced.
    pub(in crate::patch::strategic) edits: bool,
}

/// One element of a [`PlannedList`].
#[derive(Clone, Debug)]
pub(in crate::patch::strategic) struct PlannedElement {
    /// The element of the object it is for, if an anchor selected it.
    pub(in crate::patch::strategic) target: Option<Target>,
    /// Elements in a row that get the same share it.
    pub(in crate::patch::strategic) plan: Arc<Plan>,
}

/// An element of the object that an anchor selected.
#[derive(Clone, Debug)]
pub(in crate::patch::strategic) struct Target {
    /// Its index in the list.
    pub(in crate::patch::strategic) index: usize,
    /// The element. Its name and merge keys are needed if the patch replaces the list.
    pub(in crate::patch::strategic) element: Value,
}

impl Target {
    /// Its name and merge keys.
    pub(in crate::patch::strategic) fn identity<'t>(
        &'t self,
        keys: MergeKeys<'t>,
    ) -> impl Iterator<Item = (&'t Text, &'t Value)> {
        let members = self.element.as_object().into_iter().flatten();
        members.filter(move |(key, _)| &***key == "name" || keys.names().contains(&&***key))
    }
}

impl Plan {
    /// Whether another plan is known to be the same, written the same. Plans of lists are not compared.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Value(one), Self::Value(other)) => match (one, other) {
                (Value::Null, Value::Null) => true,
                (Value::Bool(one), Value::Bool(other)) => one == other,
                (Value::Number(one), Value::Number(other)) => {
                    one.is_written_as_integer() && other.is_written_as_integer() && one == other
                }
                (one, other) => one.same_storage(other),
            },
            (Self::Map(one), Self::Map(other)) => {
                let mut pairs = one.iter().zip(other);
                one.len() == other.len()
                    && pairs.all(|((key, one), (name, other))| key == name && one.is_same(other))
            }
            _ => false,
        }
    }
}

impl PlannedElement {
    /// Whether the selected element has a name.
    pub(super) fn has_name(&self) -> bool {
        let name = |target: &Target| target.element.get("name").is_some_and(has_key_text);
        self.target.as_ref().is_some_and(name)
    }

    /// An element for the selected one with this index, after others of the same list.
    pub(super) fn selected(index: usize, element: &Value, plan: Plan, others: &[Self]) -> Self {
        let last = others.last().map(|last| &last.plan).filter(|last| last.is_same(&plan));
        Self {
            target: Some(Target { index, element: element.clone() }),
            plan: last.map_or_else(|| Arc::new(plan), Arc::clone),
        }
    }
}

/// The plans of the members of a map, collected in the order of evaluation.
pub(super) enum MemberPlans<'t> {
    /// The order of evaluation is the written order and no key occurs twice: plans go straight into a map.
    InOrder(&'t [Entry], Option<Map<Plan>>),
    /// Any other order: plans are assembled at the end.
    Reordered(&'t [Entry], Vec<Option<Plan>>),
}

impl<'t> MemberPlans<'t> {
    /// An empty collection for these members, which are evaluated in this order.
    #[inline]
    pub(super) fn new(entries: &'t [Entry], order: &[usize], repeated: bool) -> Self {
        if !repeated && order.is_sorted() {
            return Self::InOrder(entries, None);
        }
        Self::Reordered(entries, entries.iter().map(|_| None).collect())
    }

    /// Sets the plan for a member, if there is one.
    #[inline]
    pub(super) fn set(&mut self, index: usize, plan: Option<Plan>) {
        match self {
            Self::InOrder(entries, members) => {
                if let (Some(entry), Some(plan)) = (entries.get(index), plan) {
                    let members = members.get_or_insert_with(|| Map::with_capacity(entries.len()));
                    members.insert(entry.name.clone(), plan);
                }
            }
            Self::Reordered(_, plans) => {
                if let Some(slot) = plans.get_mut(index) {
                    *slot = plan;
                }
            }
        }
    }

    /// The plan of the map.
    #[inline]
    pub(super) fn assemble(self) -> Option<Plan> {
        match self {
            Self::InOrder(_, members) => members.map(Plan::Map),
            Self::Reordered(entries, plans) => assemble(entries, plans),
        }
    }
}

/// The plan of a map, given those of its members in written order.
pub(super) fn assemble(entries: &[Entry], plans: Vec<Option<Plan>>) -> Option<Plan> {
    let mut members = Map::with_capacity(entries.len());
    for (entry, plan) in entries.iter().zip(plans) {
        let Some(plan) = plan else { continue };
        let Some(earlier) = members.get_mut(&entry.name) else {
            members.insert(entry.name.clone(), plan);
            continue;
        };
        let previous = mem::replace(earlier, Plan::Value(Value::Null));
        // An add anchor wins over a plain member, which wins over add anchors inside a condition.
        *earlier = match &entry.kind {
            EntryKind::Plain(_) if has_add_anchor(entries, &entry.name) => previous,
            EntryKind::Plain(_) => overlaid(previous, plan),
            EntryKind::Add(_) => plan,
            EntryKind::Condition(_) => overlaid(plan, previous),
        };
    }
    (!members.is_empty()).then_some(Plan::Map(members))
}

fn has_add_anchor(entries: &[Entry], name: &str) -> bool {
    entries.iter().any(|entry| &*entry.name == name && matches!(entry.kind, EntryKind::Add(_)))
}

/// Combines two plans; the second one wins.
fn overlaid(under: Plan, over: Plan) -> Plan {
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
                let previous = mem::replace(slot, Plan::Value(Value::Null));
                *slot = overlaid(previous, over);
            }
            None => {
                under.insert(key, over);
            }
        }
    }
    Plan::Map(under)
}

/// Removes a plain `name` beside anchors if the selected element has a name.
pub(super) fn without_name(plan: Plan, candidate: &Value) -> Plan {
    match plan {
        Plan::Map(mut members) if candidate.get("name").is_some_and(has_key_text) => {
            members.shift_remove("name");
            Plan::Map(members)
        }
        plan => plan,
    }
}
