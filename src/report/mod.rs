//! What became of objects, policies and rules: data, before anything is shown.
//!
//! Every outcome that a user would name is a variant of its own. Places are pointers, not lines; nothing
//! here knows colours, formats or exit codes.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod gaps;
mod impact;
mod outcome;
mod server_dry_run;
mod suite;
mod tally;
mod trace;

use std::collections::BTreeSet;

use crate::secrets::Secrets;
use crate::semantics::DivergenceSet;
use crate::value::{Change, ObjectRef, Pointer, Text, Value, changes};

pub use gaps::Gaps;
pub use impact::Impact;
pub use outcome::{Outcome, RuleError, SkipReason};
pub use server_dry_run::{ServerDryRun, ServerDryRuns};
pub use suite::{Difference, Subject, SuiteCounts, SuiteReport, SuiteRow, UnloadedSuite, Verdict};
pub use tally::{Counts, Flag, FlagCounts, Flagged, RunningKyverno, Tally, TallyKey, TallyRow};
pub use trace::{ConditionTrace, ElementOutcome, ExceptionTrace, Iteration, Trace, VariableTrace};

/// What the policies made of one object.
#[derive(Clone, Debug)]
pub struct ObjectReport {
    /// The object's identity; `None` where it lacks `apiVersion` or `kind`, and so was not evaluated.
    pub object: Option<ObjectRef>,
    /// The object as it was.
    pub before: Value,
    /// The object as the policies leave it.
    pub after: Value,
    /// The policies that concern the object, in the order they ran.
    pub policies: Vec<PolicyReport>,
    /// What `match` and `exclude` of some rule ask for and nobody gave.
    pub unknown: Unknown,
    /// The part of Kyverno's configuration that hides the object from policies, where they act on it.
    pub filter: Option<Text>,
    /// Secrets whose values may have come into the object, and what was made of those: the object itself, the stored one of
    /// an update, those that answered context entries or triggered a rule whose target the object is.
    pub secrets: Secrets,
    /// Whether values of Secrets may be shown.
    pub shows_secrets: bool,
    /// What an API server says of the object as it is, if one was asked.
    pub server_dry_run: Option<Box<ServerDryRun>>,
}

/// What was taken as absent because nobody gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// The labels of this namespace.
    pub namespace: Option<Text>,
    /// Who sends the request.
    pub user: bool,
    /// Exceptions whose conditions cannot be evaluated, and that so do not apply.
    pub undecided: Vec<Undecided>,
}

/// An exception whose conditions cannot be evaluated for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// Its name, as `namespace/name`.
    pub exception: Text,
    /// The policy it is from.
    pub policy: Text,
    /// The rule of the policy.
    pub rule: Text,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for Undecided {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { exception, policy, rule, message } = self;
        write!(f, "exception {exception} does not apply to {policy}/{rule}: {message}")
    }
}

impl ObjectReport {
    /// The report of an object that no policy concerns.
    pub fn untouched(object: Value) -> Self {
        Self {
            object: ObjectRef::of(&object),
            before: object.clone(),
            after: object,
            policies: Vec::new(),
            unknown: Unknown::default(),
            filter: None,
            secrets: Secrets::default(),
            shows_secrets: false,
            server_dry_run: None,
        }
    }

    /// Whether the object became another.
    pub fn is_changed(&self) -> bool {
        self.before != self.after
    }

    /// Whether some rule could not be evaluated.
    pub fn has_error(&self) -> bool {
        self.policies.iter().any(PolicyReport::has_error)
    }

    /// What leads from the object as it was to the object as it is.
    pub fn changes(&self) -> Vec<Change> {
        changes(&self.before, &self.after)
    }

    /// A place in the object, with secrets masked that stand in keys.
    pub fn shown_place(&self, place: &Pointer) -> Pointer {
        if self.shows_secrets || self.secrets.is_empty() {
            return place.clone();
        }
        self.secrets.texts_with(&[&self.before, &self.after]).shown_place(place)
    }

    /// What the change of the object means for a cluster; whether the object exists already, and so is updated.
    pub fn impact(&self, is_update: bool) -> Impact {
        let mut impact = Impact::of(&self.before, &self.after, is_update);
        for place in impact.immutable.iter_mut().chain(&mut impact.privilege) {
            *place = self.shown_place(place);
        }
        impact
    }

    /// Every divergence between the two semantics that the object came through.
    pub fn divergences(&self) -> DivergenceSet {
        let mut all = DivergenceSet::NONE;
        for policy in &self.policies {
            all.extend(policy.divergences);
        }
        all
    }

    /// The exceptions that took the object out of some rule, each once.
    pub fn exceptions(&self) -> BTreeSet<&Text> {
        let names = self.rules().filter_map(|(_, rule)| match &rule.outcome {
            Outcome::Skipped(SkipReason::Exceptions(names)) => Some(names),
            _ => None,
        });
        names.flatten().collect()
    }

    /// The reports of all rules, with their policies.
    pub fn rules(&self) -> impl Iterator<Item = (&PolicyReport, &RuleReport)> {
        self.policies.iter().flat_map(|policy| policy.rules.iter().map(move |rule| (policy, rule)))
    }
}

/// What one policy made of one object.
#[derive(Clone, Debug)]
pub struct PolicyReport {
    /// The policy's name; `namespace/name` for a namespaced one.
    pub policy: Text,
    /// Its rules that gave a result, in the order they ran. With a trace, also those that do not match.
    pub rules: Vec<RuleReport>,
    /// The divergences that the policy reached with this object.
    pub divergences: DivergenceSet,
}

impl PolicyReport {
    /// Whether some rule could not be evaluated: none of the policy's changes is kept then, because a
    /// cluster would refuse the request.
    pub fn has_error(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule.outcome, Outcome::Error(_)))
    }
}

/// What one rule made of one object.
#[derive(Clone, Debug)]
pub struct RuleReport {
    /// The rule's name; generated rules carry their generated name.
    pub rule: Text,
    /// The outcome.
    pub outcome: Outcome,
    /// The object that triggered the rule, where this one is a target of it.
    pub trigger: Option<ObjectRef>,
    /// How it came about, if that was asked for.
    pub trace: Option<Box<Trace>>,
}

impl RuleReport {
    /// What the rule changed: empty unless it patched the object.
    pub fn changes(&self) -> Vec<Change> {
        match &self.outcome {
            Outcome::Patched { before, after } => changes(before, after),
            Outcome::NoChange | Outcome::Triggered { .. } | Outcome::Skipped(_) | Outcome::Error(_) => {
                Vec::new()
            }
        }
    }
}
