//! Why a construct has no exact translation.

use crate::value::{Pointer, Value};

/// Why a construct has no exact translation; its place is not known yet.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) construct: String,
    pub(super) reason: String,
    pub(super) advice: String,
    /// The difference that the user may accept.
    pub(super) difference: Option<Difference>,
}

/// A difference that a user may accept by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// The order of the elements of lists that merge by key.
    Order,
    /// The type of values that YAML reads after variables are replaced.
    YamlTypes,
    /// Upper and lower case of letters beyond ASCII.
    UnicodeCase,
    /// `ReplicationController` objects, which autogen of CEL policies does not know.
    ReplicationController,
    /// Errors of conditions and variables, which mean that the rule does not apply.
    Errors,
}

impl Difference {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Order, Self::YamlTypes, Self::UnicodeCase, Self::ReplicationController, Self::Errors];

    /// Its name, as `--accept` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::YamlTypes => "yaml-types",
            Self::UnicodeCase => "unicode-case",
            Self::ReplicationController => "replicationcontroller",
            Self::Errors => "errors",
        }
    }
}

/// So many parts of one kind are converted: each is compared with the others.
pub(super) const MAX_PARTS: usize = 1_000;

/// The parts of a list, or why there are too many of them.
pub(super) fn parts<'v>(list: Option<&'v Value>, what: &str) -> Result<&'v [Value], Problem> {
    let parts = list.and_then(Value::as_array).unwrap_or_default();
    if parts.len() > MAX_PARTS {
        return Err(too_many(what));
    }
    Ok(parts)
}

/// Why what has more than [`MAX_PARTS`] parts of a kind is not converted.
pub(super) fn too_many(what: &str) -> Problem {
    Problem::new(
        format!("more than {MAX_PARTS} {what}"),
        "the conversion compares each with all others",
        "split the policy",
    )
}

/// Why a rule was not converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The construct, such as ``the function `items` ``.
    pub construct: String,
    /// Its place in the document.
    pub at: Pointer,
    /// Why it has no exact form.
    pub reason: String,
    /// What to do.
    pub advice: String,
    /// The difference that would have to be accepted.
    pub difference: Option<Difference>,
}

impl Problem {
    pub(super) fn new(
        construct: impl Into<String>,
        reason: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { construct: construct.into(), reason: reason.into(), advice: advice.into(), difference: None }
    }

    /// One that the user may accept.
    pub(super) fn acceptable(
        difference: Difference,
        construct: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        let advice =
            format!("accept the difference with `--accept {}`, or rewrite the rule", difference.name());
        Self { difference: Some(difference), ..Self::new(construct, reason, advice) }
    }

    pub(super) fn at(self, at: &Pointer) -> Refusal {
        Refusal {
            construct: self.construct,
            at: at.clone(),
            reason: self.reason,
            advice: self.advice,
            difference: self.difference,
        }
    }
}
