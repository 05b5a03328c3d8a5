//! What is wrong with the policies of a set together.

use crate::secrets::Secrets;
use crate::value::{Pointer, Text, Value};

use super::ObjectReport;

/// What is wrong with the policies together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CheckFindingKind {
    /// Another order of the policies leads to another result.
    Order,
    /// A policy replaces or removes what another one set.
    Overwritten,
    /// A policy takes back what another one changed.
    Undone,
    /// Another admission of the result changes it again.
    NotIdempotent,
    /// The Pods of a changed template are changed again when they are created.
    PodChangedAgain,
    /// An update with the changes restarts Pods.
    Restart,
    /// The changes grant more privileges.
    Privilege,
    /// The API server refuses an update with the changes: they concern immutable fields.
    Immutable,
    /// The API server refuses the object with the changes.
    Refused,
}

impl CheckFindingKind {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Overwritten => "overwritten",
            Self::Undone => "undone",
            Self::NotIdempotent => "not-idempotent",
            Self::PodChangedAgain => "pod-changed-again",
            Self::Restart => "restart",
            Self::Privilege => "privilege",
            Self::Immutable => "immutable",
            Self::Refused => "refused",
        }
    }
}

/// What is wrong with the policies together, on one object.
#[derive(Clone, Debug)]
pub struct CheckFinding {
    /// What it is.
    pub kind: CheckFindingKind,
    /// The policies, in the order of the run.
    pub policies: Vec<Text>,
    /// The fields of the object that it concerns.
    pub fields: Vec<Pointer>,
    /// The policies that fail in one of the orders only.
    pub failing: Vec<Text>,
    /// How the result goes on to change.
    pub settling: Option<Settling>,
    /// Why the API server refuses it.
    pub refusal: Option<String>,
    /// Two states of the object: the results of both orders, the result and what another admission makes of it, or the object
    /// before and after the changes, of the second of two policies.
    pub results: Option<Box<[Value; 2]>>,
    /// The Secrets that were read for these states.
    pub secrets: Secrets,
}

impl CheckFinding {
    /// A finding with fields alone.
    pub fn new(kind: CheckFindingKind, policies: Vec<Text>, fields: Vec<Pointer>) -> Self {
        Self {
            kind,
            policies,
            fields,
            failing: Vec::new(),
            settling: None,
            refusal: None,
            results: None,
            secrets: Secrets::default(),
        }
    }
}

/// How a result goes on to change when it is admitted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Settling {
    /// It is stable after so many admissions more.
    After(usize),
    /// It alternates between so many states.
    Cycle(usize),
    /// It still changed at the last admission that was tried.
    Never,
    /// A policy fails on it.
    Fails,
}

/// What is wrong with the policies together on objects that were made from their own conditions.
#[derive(Clone, Debug, Default)]
pub struct GeneratedFindings {
    /// How many objects were evaluated.
    pub objects: usize,
    /// Whether they are fewer than wanted, because more would be too much work.
    pub stopped_early: bool,
    /// The findings.
    pub findings: Vec<GeneratedFinding>,
}

/// A finding on a generated object.
#[derive(Clone, Debug)]
pub struct GeneratedFinding {
    /// The finding.
    pub finding: CheckFinding,
    /// What the policies did with the object.
    pub report: ObjectReport,
    /// The object, the smallest that was found.
    pub object: Value,
    /// The labels of its namespace, beside that of the name, if it needs some.
    pub namespace_labels: Option<Value>,
    /// Whether policies looked up objects that were generated, too.
    pub has_generated_lookups: bool,
    /// The policies without which those of the finding do not show it.
    pub others: Vec<Text>,
}
