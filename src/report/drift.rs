//! What a GitOps tool sees of the changes of policies.

use std::sync::Arc;

use crate::value::{Text, Value};

/// A tool that keeps a cluster in sync with Git.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GitOpsTool {
    /// Argo CD.
    #[default]
    ArgoCd,
    /// Flux.
    Flux,
}

impl GitOpsTool {
    /// Its name in options and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ArgoCd => "argocd",
            Self::Flux => "flux",
        }
    }
}

/// A difference between an object in Git and in a cluster that a GitOps tool shows.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftField {
    /// Its place in the object.
    pub path: Vec<DriftStep>,
    /// What differs.
    pub kind: DriftKind,
    /// Where the other value comes from. Differences with the same cause share it: large objects have many.
    pub cause: Arc<Cause>,
}

/// Where a value of a cluster comes from that the object in Git does not have.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// Policies set it, or removed what was there.
    Policies {
        /// Their names.
        policies: Vec<Text>,
        /// Their rules: `policy/rule`, or `policy` where that is all.
        rules: Vec<Text>,
    },
    /// No policy explains it: someone else changed the object in the cluster.
    Others {
        /// The field managers that own the field, as `metadata.managedFields` of the object has them.
        managers: Vec<Text>,
    },
}

/// A difference that no GitOps tool shows, because Git does not set the field.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherField {
    /// Its place in the object.
    pub path: Vec<DriftStep>,
    /// Where the value comes from.
    pub cause: Arc<Cause>,
    /// Whether the cluster does not have what policies would set.
    pub is_missing: bool,
}

/// A step to a place in an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// To the element with this number.
    Index(usize),
}

/// How a field differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DriftKind {
    /// It has another value.
    Changed,
    /// The cluster does not have it.
    Set,
    /// The cluster does not have what Git has.
    Removed,
    /// The cluster has an element that the list does not have in Git, and the list has no merge key.
    Added,
    /// A list without merge key is another one.
    List,
    /// The elements of a list have another order.
    Order,
    /// The object in the cluster is another one: it has another name, namespace or kind.
    Identity,
}

/// How an object in Git differs from that in a cluster, as a GitOps tool compares them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drift {
    /// The differences; none if the object is in sync.
    pub fields: Vec<DriftField>,
    /// Whether the comparison is incomplete, because the defaults or lists of the kind are not known.
    pub is_incomplete: bool,
    /// Of Flux: the rules that fail in its dry run, which then fails, too, and shows no differences.
    pub failing: Vec<Text>,
    /// Of Flux: whether each reconciliation finds differences again.
    pub is_lasting: bool,
    /// What a comparison with the object in a cluster found beside; `None` if the object was not compared with one.
    pub live: Option<LiveDrift>,
}

/// What else differs between an object in Git and the one in a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveDrift {
    /// Fields that Git does not set, and what policies would set and the cluster does not have.
    pub others: Vec<OtherField>,
    /// How many values are defaults of the API server.
    pub defaults: usize,
}
