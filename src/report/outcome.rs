//! The outcomes of a rule.

use std::ops::Range;

use crate::diagnostics::Code;
use crate::value::{ObjectRef, Pointer, Segment, Text, Value};

/// The outcome of one rule for one object.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The rule changed the object.
    Patched {
        /// The object before the rule.
        before: Value,
        /// The object after the rule.
        after: Value,
    },
    /// The rule applies and changes nothing.
    NoChange,
    /// The object triggers a mutate-existing rule; the targets have reports of their own.
    Triggered {
        /// The objects that the rule was run on, in order.
        targets: Vec<ObjectRef>,
        /// Descriptions of targets for which no object exists.
        missing: Vec<Text>,
    },
    /// The rule does not apply.
    Skipped(SkipReason),
    /// The rule could not be evaluated.
    Error(RuleError),
}

impl Outcome {
    /// The outcome in one word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Patched { .. } => "patched",
            Self::NoChange => "no change",
            Self::Triggered { .. } => "triggered",
            Self::Skipped(_) => "skipped",
            Self::Error(_) => "error",
        }
    }
}

/// Why a rule does not apply to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// `match` and `exclude` do not select the object; reported only in a trace.
    NotSelected(Vec<String>),
    /// The preconditions do not hold.
    Preconditions {
        /// The messages of the failed conditions; may be empty.
        message: String,
    },
    /// The match condition of this name is false.
    MatchCondition(Text),
    /// No binding of the policy selects the object, or none has parameters.
    NotBound,
    /// The policy is for this version of the object's resource, to which a cluster converts the object.
    OtherVersion(Text),
    /// The policy failed with this error, and has `failurePolicy: Ignore`.
    FailureIgnored(String),
    /// These policy exceptions apply, named as `namespace/name`.
    Exceptions(Vec<Text>),
    /// A condition anchor of the overlay does not hold.
    Anchor {
        /// The anchor's path in the overlay.
        overlay: Pointer,
        /// The path in the object that was tested.
        at: Pointer,
        /// Why it does not hold; never the value itself.
        reason: String,
    },
    /// The `foreach` loops of the rule changed nothing.
    NoElements {
        /// Lists that do not exist, which count as empty.
        missing: Vec<Text>,
    },
    /// This part of Kyverno's configuration excludes the object from all policies.
    Filtered(Text),
    /// An earlier rule of the policy applied, and the policy has `applyRules: One`.
    ApplyOne,
    /// The request deletes the object.
    Deleted,
    /// The request deletes the object, and the mutate-existing rule does not match that operation.
    NotOnDelete,
    /// The policy was created or updated, and `mutateExistingOnPolicyUpdate` is not set.
    NotOnPolicyUpdate,
}

impl std::fmt::Display for SkipReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotSelected(reasons) => write!(f, "not selected: {}", reasons.join("; ")),
            Self::Preconditions { message } if message.is_empty() => f.write_str("preconditions not met"),
            Self::Preconditions { message } => write!(f, "preconditions not met; {message}"),
            Self::MatchCondition(name) => write!(f, "match condition `{name}` is false"),
            Self::FailureIgnored(error) => {
                write!(f, "the policy failed and has `failurePolicy: Ignore`: {error}")
            }
            Self::OtherVersion(version) => write!(
                f,
                "the policy is for API version `{version}`, to which a cluster converts the object \
                 (matchPolicy Equivalent)"
            ),
            Self::NotBound => f.write_str("no binding of the policy applies"),
            Self::Exceptions(names) => {
                // Kyverno's text lacks the space before the names.
                write!(f, "rule is skipped due to policy exceptions {}", names.join(", "))
            }
            Self::Anchor { overlay, at, reason } => {
                write!(f, "condition at `{overlay}` not met: {reason}")?;
                if at.is_root() { Ok(()) } else { write!(f, " (at `{at}` of the object)") }
            }
            Self::NoElements { missing } if missing.is_empty() => f.write_str("0 elements processed"),
            Self::NoElements { missing } => {
                write!(f, "0 elements processed: the object has no {}", missing.join(", "))
            }
            Self::Filtered(filter) => {
                write!(f, "{filter} of the cluster's Kyverno hides the object from policies")
            }
            Self::NotOnDelete => {
                f.write_str("the request deletes the object, and `match` does not name the operation DELETE")
            }
            Self::NotOnPolicyUpdate => f.write_str("`mutateExistingOnPolicyUpdate` is not true"),
            Self::Deleted => f.write_str("the request deletes the object: there is nothing to patch"),
            Self::ApplyOne => f.write_str("an earlier rule applied, and the policy has `applyRules: One`"),
        }
    }
}

/// Why a rule could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RuleError {
    /// The code of the cause.
    pub code: Code,
    /// The error.
    pub message: String,
    /// What would help, such as the flag for a missing input.
    pub hint: Option<String>,
    /// The error in Kyverno's words, if they are others.
    pub original: Option<String>,
    /// The node of the rule that failed, if it is known.
    pub place: Option<Box<RulePlace>>,
}

/// A place in a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePlace {
    /// The node, from the root of the rule; a node below `spec`, which rules do not have, from that of the policy.
    pub pointer: Pointer,
    /// The expression in it.
    pub expression: Option<Text>,
    /// The bytes of a part of the expression, where it is the whole text of the node.
    pub part: Option<Range<usize>>,
    /// The exception from CEL policies that the node is in, as `namespace/name`, if it is in none of the policy.
    pub exception: Option<Text>,
}

impl RulePlace {
    /// A whole node.
    pub const fn node(pointer: Pointer) -> Self {
        Self { pointer, expression: None, part: None, exception: None }
    }

    /// Whether it is a place in the policy, outside of its rules.
    pub fn is_of_policy(&self) -> bool {
        matches!(self.pointer.segments().first(), Some(Segment::Key(key)) if &**key == "spec")
    }
}

impl RuleError {
    /// Whether a limit was exceeded that an option raises: clusters have none of these, but have limits of CEL.
    pub fn is_raisable_limit(&self) -> bool {
        self.code == Code::EvaluationLimit && self.hint.is_some()
    }

    /// An error without a hint.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, original: None, place: None }
    }

    /// The same error with its text in Kyverno's words.
    #[must_use]
    pub fn in_words_of_kyverno(mut self, words: impl Into<String>) -> Self {
        self.original = Some(words.into()).filter(|words| *words != self.message);
        self
    }

    /// The text of Kyverno's own error.
    pub fn words_of_kyverno(&self) -> &str {
        self.original.as_ref().unwrap_or(&self.message)
    }

    /// The same error at a node of the rule, and an expression in it, unless it has a place.
    #[must_use]
    pub fn at(mut self, pointer: &Pointer, expression: Option<&Text>) -> Self {
        let place = || {
            let node = RulePlace::node(pointer.clone());
            Box::new(RulePlace { expression: expression.cloned(), ..node })
        };
        self.place.get_or_insert_with(place);
        self
    }

    /// The same error at a part of the text at a node of the rule.
    #[must_use]
    pub fn at_part(mut self, pointer: &Pointer, text: &str, part: Range<usize>) -> Self {
        let node = RulePlace::node(pointer.clone());
        let place = RulePlace { expression: Some(text.into()), part: Some(part), ..node };
        self.place = Some(Box::new(place));
        self
    }

    /// The same error of an exception from the policy, its place in that.
    #[must_use]
    pub fn of_exception(mut self, name: &Text) -> Self {
        self.message = format!("exception {name}: {}", self.message);
        if let Some(place) = &mut self.place {
            place.exception = Some(name.clone());
        }
        self
    }

    /// The same error, its place below a node: the patches of a `foreach` are documents of their own.
    #[must_use]
    pub fn below(mut self, node: &Pointer) -> Self {
        const OF_RULES: [&str; 3] = ["context", "mutate", "preconditions"];
        if let Some(place) = &mut self.place {
            let first = place.pointer.segments().first();
            let is_of_rule = matches!(first, Some(Segment::Key(key)) if OF_RULES.contains(&&**key));
            if !is_of_rule {
                place.pointer = node.join(&place.pointer);
            }
        }
        self
    }

    /// The same error with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
