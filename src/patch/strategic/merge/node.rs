//! The nodes of a patch without anchors: plain values or planned ones.

use crate::patch::NodeKind;
use crate::patch::strategic::planner::{Plan, PlannedElement, PlannedList, Target};
use crate::value::{MapIter, Text, Value};

/// A node of a patch without anchors.
#[derive(Clone, Copy, Debug)]
pub(in crate::patch::strategic) enum PatchNode<'p> {
    Value(&'p Value),
    Plan(&'p Plan),
}

/// An element of a list in a patch.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatchElement<'p> {
    /// The element of the object it is for, if an anchor selected it.
    pub(super) target: Option<&'p Target>,
    pub(super) patch: PatchNode<'p>,
}

/// The members of a map of a patch.
pub(super) enum Members<'p> {
    Value(MapIter<'p>),
    Plan(MapIter<'p, Plan>),
    None,
}

impl<'p> Iterator for Members<'p> {
    type Item = (&'p Text, PatchNode<'p>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Value(members) => members.next().map(|(key, value)| (key, PatchNode::Value(value))),
            Self::Plan(members) => members.next().map(|(key, plan)| (key, PatchNode::Plan(plan))),
            Self::None => None,
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Value(members) => members.size_hint(),
            Self::Plan(members) => members.size_hint(),
            Self::None => (0, Some(0)),
        }
    }
}

impl ExactSizeIterator for Members<'_> {}

impl<'p> PatchNode<'p> {
    /// The value, unless it is a planned map or list.
    #[inline]
    pub(super) const fn value(self) -> Option<&'p Value> {
        match self {
            Self::Value(value) | Self::Plan(Plan::Value(value)) => Some(value),
            Self::Plan(_) => None,
        }
    }

    /// The kind of node; `None` for null.
    #[inline]
    pub(super) fn kind(self) -> Option<NodeKind> {
        match (self.value(), self) {
            (Some(Value::Null), _) => None,
            (Some(value), _) => Some(NodeKind::of(value)),
            (None, Self::Plan(Plan::List(_))) => Some(NodeKind::Sequence),
            (None, _) => Some(NodeKind::Mapping),
        }
    }

    /// The members of a map, in written order.
    #[inline]
    pub(super) fn members(self) -> Members<'p> {
        match self {
            Self::Value(Value::Object(members)) | Self::Plan(Plan::Value(Value::Object(members))) => {
                Members::Value(members.iter())
            }
            Self::Plan(Plan::Map(members)) => Members::Plan(members.iter()),
            Self::Value(_) | Self::Plan(_) => Members::None,
        }
    }

    /// A member of a map.
    #[inline]
    pub(super) fn member(self, key: &str) -> Option<Self> {
        match self {
            Self::Plan(Plan::Map(members)) => members.get(key).map(Self::Plan),
            _ => self.value()?.get(key).map(Self::Value),
        }
    }

    /// A member of a map that is a plain value.
    #[inline]
    pub(super) fn scalar_member(self, key: &str) -> Option<&'p Value> {
        self.member(key)?.value()
    }

    /// The elements of a list.
    pub(super) fn elements(self) -> Vec<PatchElement<'p>> {
        match self {
            Self::Value(Value::Array(items)) | Self::Plan(Plan::Value(Value::Array(items))) => {
                let element = |item| PatchElement { target: None, patch: Self::Value(item) };
                items.iter().map(element).collect()
            }
            Self::Plan(Plan::List(list)) => {
                let element = |item: &'p PlannedElement| PatchElement {
                    target: item.target.as_ref(),
                    patch: Self::Plan(&item.plan),
                };
                list.elements.iter().map(element).collect()
            }
            Self::Value(_) | Self::Plan(_) => Vec::new(),
        }
    }

    /// Whether anchors selected elements of this list.
    #[inline]
    pub(super) const fn edits(self) -> bool {
        matches!(self, Self::Plan(Plan::List(PlannedList { edits: true, .. })))
    }

    /// The `$patch` directive of a map.
    #[inline]
    pub(super) fn directive(self) -> Option<&'p str> {
        self.scalar_member("$patch")?.as_str()
    }

    /// The `$patch` directive of a map; empty, and so unknown, if it is not a string.
    #[inline]
    pub(super) fn strategy(self) -> Option<&'p str> {
        let written = self.member("$patch")?;
        Some(written.value().and_then(Value::as_str).unwrap_or_default())
    }

    /// The `$patch` directive of a map that has no other member.
    #[inline]
    pub(super) fn only_directive(self) -> Option<&'p str> {
        let directive = self.directive()?;
        (self.members().len() == 1).then_some(directive)
    }

    /// The patch as a value.
    pub(super) fn to_value(self) -> Value {
        match self {
            Self::Value(value) | Self::Plan(Plan::Value(value)) => value.clone(),
            Self::Plan(Plan::Map(members)) => {
                members.iter().map(|(key, plan)| (key.clone(), Self::Plan(plan).to_value())).collect()
            }
            Self::Plan(Plan::List(list)) => {
                let plan = |element: &'p PlannedElement| Self::Plan(&element.plan).to_value();
                list.elements.iter().map(plan).collect::<Vec<_>>().into()
            }
        }
    }
}
