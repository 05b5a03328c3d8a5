//! What a GitOps tool sees of the changes of policies.

use crate::value::{Text, Value};

/// A difference between an object in Git and in a cluster that a GitOps tool shows.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftField {
    /// Its place in the object.
    pub path: Vec<DriftStep>,
    /// What differs.
    pub kind: DriftKind,
    /// The policies that changed it.
    pub policies: Vec<Text>,
}

/// A step to a place in an object.
#[derive(Clone, Debug, PartialEq)]
pub enum DriftStep {
    /// To a member.
    Key(Text),
    /// To the element of a list that has this value under its merge key.
    Element {
        /// The merge key.
        key: Text,
        /// The value.
        value: Value,
    },
    /// To the elements of a list that equal this one.
    Item(Value),
}

/// How a field differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriftKind {
    /// It has another value.
    Changed,
    /// The cluster does not have what Git has.
    Removed,
    /// The cluster has an element that the list does not have in Git, and the list has no merge key.
    Added,
    /// A list without merge key is another one.
    List,
    /// The elements of a list have another order.
    Order,
}

/// How an object in Git differs from that in a cluster, as a GitOps tool compares them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drift {
    /// The differences; none if the object is in sync.
    pub fields: Vec<DriftField>,
    /// Whether the comparison is incomplete, because the defaults or lists of the kind are not known.
    pub is_incomplete: bool,
}
