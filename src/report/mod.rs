//! Reports: the results of policies as data, before rendering.
//!
//! Paths are pointers, not lines; nothing here knows colors, output formats or exit codes.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod check_finding;
mod coverage;
mod diagnostic;
mod drift;
mod finding;
mod impact;
mod missing_data;
mod mutant;
mod order;
mod outcome;
mod server_dry_run;
mod suite;
mod totals;
mod trace;
mod view;
mod writers;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::secrets::{Secrets, TaintedTexts};
use crate::semantics::DivergenceSet;
use crate::value::{Change, ObjectRef, Pointer, Text, Value, changes};

pub use check_finding::{CheckFinding, CheckFindingKind, GeneratedFinding, GeneratedFindings, Settling};
pub use coverage::{MissingBranch, PartCoverage, RuleCoverage};
pub use diagnostic::{Diagnostic, Severity};
pub use drift::{Cause, Drift, DriftField, DriftKind, DriftStep, GitOpsTool, LiveDrift, OtherField};
pub use finding::{FilePlace, Finding, FindingGroup, FindingResult};
pub use impact::Impact;
pub use missing_data::MissingData;
pub use mutant::Mutant;
pub use order::OrderDependence;
pub use outcome::{Outcome, RuleError, RulePlace, SkipReason};
pub use server_dry_run::{ServerDryRun, ServerDryRuns};
pub use suite::{
    Difference, MissingExpectation, Subject, SuiteCounts, SuiteReport, SuiteRow, UnloadedSuite, Verdict,
};
pub use totals::{Counts, Flag, FlagCounts, Flagged, RunningKyverno, Totals, TotalsKey, TotalsRow};
pub use trace::{
    AnchorTrace, ConditionTrace, ElementOutcome, ExceptionTrace, ExpressionTrace, Iteration, TestTrace,
    Trace, VariableError, VariableTrace,
};
pub use view::{ViewDifference, ViewReport};
pub use writers::Writers;

/// The result of the policies for one object.
#[derive(Clone, Debug, Default)]
pub struct ObjectReport {
    /// The object's identity; `None` if it lacks `apiVersion` or `kind`, and so was not evaluated.
    pub object: Option<ObjectRef>,
    /// The object before.
    pub before: Value,
    /// The object after all policies.
    pub after: Value,
    /// The policies that match the object, in the order they ran.
    pub policies: Vec<PolicyReport>,
    /// Inputs that rules needed and that were not given.
    pub unknown: MissingInputs,
    /// The part of Kyverno's configuration that excludes the object from policies, if one does.
    pub filter: Option<Text>,
    /// Secrets whose values may be in the object, and values derived from them: the object itself, the stored one of an
    /// update, those that context entries loaded, and those that triggered a rule for this target.
    pub secrets: Secrets,
    /// Whether values of Secrets may be shown.
    pub shows_secrets: bool,
    /// How the admitted view of the object differs from the object as written.
    pub view: ViewReport,
    /// What depends on the order of the policies.
    pub order: Vec<OrderDependence>,
    /// The result of a dry run on an API server, if there was one.
    pub server_dry_run: Option<Box<ServerDryRun>>,
    /// The steps of all expressions and loops.
    pub steps: u64,
}

/// Inputs that were treated as absent because they were not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingInputs {
    /// The labels of this namespace.
    pub namespace: Option<Text>,
    /// The user of the request.
    pub user: bool,
    /// Exceptions whose conditions cannot be evaluated; they do not apply.
    pub undecided: Vec<UndecidedException>,
    /// The priority of this `PriorityClass`, for a rule that reads or writes that of a Pod.
    pub priority_class: Option<Text>,
}

/// An exception whose conditions cannot be evaluated for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndecidedException {
    /// Its name, as `namespace/name`.
    pub exception: Text,
    /// The policy.
    pub policy: Text,
    /// The rule.
    pub rule: Text,
    /// The error.
    pub message: String,
}

impl std::fmt::Display for UndecidedException {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { exception, policy, rule, message } = self;
        write!(f, "exception {exception} does not apply to {policy}/{rule}: {message}")
    }
}

impl ObjectReport {
    /// The report of an object that no policy matches: most objects, so each field is written once.
    pub fn untouched(object: Value) -> Self {
        Self {
            object: ObjectRef::of(&object),
            before: object.clone(),
            after: object,
            policies: Vec::new(),
            unknown: MissingInputs::default(),
            filter: None,
            secrets: Secrets::default(),
            shows_secrets: false,
            view: ViewReport::default(),
            order: Vec::new(),
            server_dry_run: None,
            steps: 0,
        }
    }

    /// Whether the object changed.
    pub fn is_changed(&self) -> bool {
        self.before != self.after
    }

    /// The field of the kind, namespace or name that is another one after the policies. A namespace that they remove is none:
    /// the API server fills it in, as asked of a real one.
    pub fn changed_identity(&self) -> Option<&'static [&'static str]> {
        const FIELDS: [&[&str]; 4] =
            [&["apiVersion"], &["kind"], &["metadata", "namespace"], &["metadata", "name"]];
        FIELDS.into_iter().find(|field| {
            let [before, after] = [&self.before, &self.after].map(|object| object.path(field));
            let is_empty = after.is_none_or(|value| value.as_str() == Some(""));
            before.is_some() && before != after && !(is_empty && field.ends_with(&["namespace"]))
        })
    }

    /// Drops the object before and after each rule, where nothing reads them any more: the outcomes have `null` there.
    pub fn drop_changes(&mut self) {
        for rule in self.policies.iter_mut().flat_map(|policy| &mut policy.rules) {
            if let Outcome::Patched { before, after } = &mut rule.outcome {
                (*before, *after) = (Value::Null, Value::Null);
            }
        }
    }

    /// Whether some rule could not be evaluated.
    pub fn has_error(&self) -> bool {
        self.policies.iter().any(PolicyReport::has_error)
    }

    /// The changes of the object.
    pub fn changes(&self) -> Vec<Change> {
        changes(&self.before, &self.after)
    }

    /// The texts that output must not contain, none if secrets may be shown.
    pub fn secret_texts(&self) -> Arc<TaintedTexts> {
        if self.shows_secrets { Arc::default() } else { self.secrets.texts_with([&self.before, &self.after]) }
    }

    /// A text about the object, with secrets masked.
    pub fn shown_text(&self, text: &str) -> String {
        self.secret_texts().redacted(text).unwrap_or_else(|| text.to_owned())
    }

    /// A path in the object, with secrets in keys masked.
    pub fn shown_place(&self, place: &Pointer) -> Pointer {
        if self.shows_secrets || self.secrets.is_empty() {
            return place.clone();
        }
        self.secret_texts().redacted_pointer(place)
    }

    /// The impact of the change on a cluster. `is_update` is whether the object exists already.
    pub fn impact(&self, is_update: bool) -> Impact {
        let mut impact = Impact::of(&self.before, &self.after, is_update);
        for place in impact.immutable.iter_mut().chain(&mut impact.privilege) {
            *place = self.shown_place(place);
        }
        impact
    }

    /// All divergences that were reached.
    pub fn divergences(&self) -> DivergenceSet {
        let mut all = DivergenceSet::NONE;
        for policy in &self.policies {
            all.extend(policy.divergences);
        }
        all
    }

    /// The exceptions that applied, each once.
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

/// The result of one policy for one object.
#[derive(Clone, Debug)]
pub struct PolicyReport {
    /// The policy's name; `namespace/name` for a namespaced one.
    pub policy: Text,
    /// The rules that matched, in the order they ran. With a trace, also those that do not match.
    pub rules: Vec<RuleReport>,
    /// The divergences that the policy reached with this object.
    pub divergences: DivergenceSet,
}

impl PolicyReport {
    /// Whether some rule failed: all changes of the policy are then discarded, because a cluster would refuse the request.
    pub fn has_error(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule.outcome, Outcome::Error(_)))
    }
}

/// The result of one rule for one object.
#[derive(Clone, Debug)]
pub struct RuleReport {
    /// The rule's name; generated rules carry their generated name.
    pub rule: Text,
    /// Whether the policy is its own only rule, as CEL policies are. `rule` is then its name.
    pub is_policy: bool,
    /// The outcome.
    pub outcome: Outcome,
    /// The trigger of the rule, if this object is a target.
    pub trigger: Option<ObjectRef>,
    /// Errors of mutations that the failure policy of a CEL policy ignores.
    pub ignored: Vec<RuleError>,
    /// Changes of a CEL policy that a cluster drops or refuses afterwards.
    pub warnings: Vec<RuleError>,
    /// How the outcome came about, if requested.
    pub trace: Option<Box<Trace>>,
    /// Those divergences of the policy that this rule reached.
    pub divergences: DivergenceSet,
}

impl RuleReport {
    /// A report without trigger and trace.
    pub const fn new(rule: Text, outcome: Outcome) -> Self {
        Self {
            rule,
            is_policy: false,
            outcome,
            trigger: None,
            ignored: Vec::new(),
            warnings: Vec::new(),
            trace: None,
            divergences: DivergenceSet::NONE,
        }
    }

    /// `POLICY/RULE`, or the name of a policy that is its own rule.
    pub fn title(&self, policy: &str) -> String {
        if self.is_policy { policy.to_owned() } else { format!("{policy}/{}", self.rule) }
    }

    /// The changes of the rule.
    pub fn changes(&self) -> Vec<Change> {
        if let Outcome::Patched { before, after } = &self.outcome {
            changes(before, after)
        } else {
            Vec::new()
        }
    }
}
