//! One object through all policies.

use std::cell::{Cell, OnceCell, RefCell};

use crate::patch::MergeContext;
use crate::policy::{Candidate, Candidates, FailurePolicy, Operation, Policy, Rule, other_namespace};
use crate::report::{
    MissingInputs, ObjectReport, Outcome, PolicyReport, RuleError, RuleReport, SkipReason, UndecidedException,
};
use crate::secrets::{Secrets, TaintTracker};
use crate::semantics::{Divergence, DivergenceSet, DivergenceTracker};
use crate::value::{GroupVersionKind, ObjectRef, Text, Value};

use super::classic::context::{Context, WorldClock, WorldRandom};
use super::classic::exemption::Exemption;
use super::classic::request::Subject;
use super::classic::rule::{self, Run};
use super::placed::Placed;
use super::secret_world::SecretTrackingWorld;
use super::{Engine, World};

/// Runs the policies that concern an object.
pub(super) fn run(engine: &Engine, object: &Value, old: Option<&Value>, world: &dyn World) -> ObjectReport {
    let Some(own_kind) = GroupVersionKind::of(object).filter(|_| !engine.settings.on_policy_update) else {
        return ObjectReport::untouched(object.clone());
    };
    let (kind, _) = engine.settings.values.as_subresource(&own_kind);
    let candidates = engine.policies.of_kind(&kind.kind);
    if candidates.is_empty() {
        return ObjectReport::untouched(object.clone());
    }
    let placed = Placed::new(engine, object, &own_kind, world);
    let secret_world = SecretTrackingWorld::new(world);
    let mut report =
        evaluate(engine, (&placed, &placed.object), &own_kind, old, &secret_world, |evaluation| {
            let mut current = placed.object.clone();
            let reports = evaluation.policies(candidates, &mut current);
            ObjectReport {
                object: evaluation.identity.cloned(),
                before: object.clone(),
                after: placed.take_back(object, current),
                policies: reports,
                unknown: evaluation.unknown(),
                filter: evaluation.filter.take(),
                secrets: Secrets::default(),
                shows_secrets: false,
                server_dry_run: None,
            }
        });
    secret_world.taint.see(&report.after);
    report.secrets = secret_world.secrets();
    report
}

/// Prepares what is the same for all policies of one object, beside it what an update without a stored object
/// is taken to start from.
pub(super) fn evaluate<T>(
    engine: &Engine,
    (placed, original): (&Placed, &Value),
    own_kind: &GroupVersionKind,
    old: Option<&Value>,
    world: &SecretTrackingWorld<'_>,
    run: impl FnOnce(&Evaluation<'_>) -> T,
) -> T {
    for object in [&placed.object, original].into_iter().chain(old) {
        world.taint.see(object);
    }
    let (kind, subresource) = engine.settings.values.as_subresource(own_kind);
    let labels = engine
        .needs_namespace_labels(kind, subresource)
        .then(|| world.namespace_labels(&placed.namespace))
        .flatten();
    let identity = ObjectRef::of(&placed.object);
    let identity = identity.map(|identity| ObjectRef {
        // What only the evaluation knows is not shown.
        namespace: identity.namespace.filter(|_| !placed.is_added()),
        ..identity
    });
    run(&Evaluation {
        engine,
        world,
        taint: &world.taint,
        own_kind,
        kind,
        subresource,
        identity: identity.as_ref(),
        placed,
        original,
        namespace_labels: labels.as_ref(),
        old,
        survey: MergeContext::new(&engine.settings.schemas),
        bases: Default::default(),
        missed_labels: Cell::new(false),
        missed_user: Cell::new(false),
        undecided: RefCell::default(),
        passed: Default::default(),
        filter: Cell::default(),
    })
}

/// What is the same for all policies of one object.
pub(super) struct Evaluation<'a> {
    pub(super) engine: &'a Engine,
    pub(super) world: &'a dyn World,
    pub(super) taint: &'a TaintTracker,
    /// The kind of the object itself.
    own_kind: &'a GroupVersionKind,
    /// The kind that rules name: for a subresource that of its parent.
    kind: &'a GroupVersionKind,
    subresource: &'a str,
    pub(super) identity: Option<&'a ObjectRef>,
    pub(super) placed: &'a Placed,
    original: &'a Value,
    namespace_labels: Option<&'a Value>,
    old: Option<&'a Value>,
    /// What is known of the lists of the object.
    pub(super) survey: MergeContext<'a>,
    /// What the request alone gives to the context, by operation.
    bases: [OnceCell<Value>; Operation::ALL.len()],
    /// A rule asked for labels of the namespace, or for the user, that nobody gave.
    missed_labels: Cell<bool>,
    missed_user: Cell<bool>,
    /// Exceptions whose conditions could not be evaluated.
    undecided: RefCell<Vec<UndecidedException>>,
    /// Whether a policy has seen the request; each failure policy has a webhook and so a request of its own.
    passed: [Cell<bool>; 2],
    /// What hides the object from policies that would act on it.
    pub(super) filter: Cell<Option<Text>>,
}

impl Evaluation<'_> {
    /// The operation of the request that a policy sees: an update where a stored object is given, unless the
    /// run or a value says otherwise.
    pub(super) fn operation(&self, policy: &Policy) -> Operation {
        let settings = &self.engine.settings;
        let given = settings.operation.or_else(|| settings.values.operation(&policy.name, self.name()));
        given.unwrap_or(if self.old.is_some() { Operation::Update } else { Operation::Create })
    }

    pub(super) fn name(&self) -> &str {
        self.identity.map_or("", |identity| &identity.name)
    }

    /// The context that a request of this operation gives, made once for all policies.
    pub(super) fn base(&self, operation: Option<Operation>) -> Value {
        let make = || {
            let old = match operation {
                None | Some(Operation::Create | Operation::Connect) => None,
                Some(Operation::Update | Operation::Delete) => {
                    Some(self.old.unwrap_or(self.original).clone())
                }
            };
            let subject = Subject {
                operation,
                old,
                kind: self.own_kind,
                namespace: &self.placed.namespace,
                name: self.name(),
                subresource: self.subresource,
                user: self.engine.settings.user.as_ref(),
            };
            subject.base()
        };
        let at = Operation::ALL.iter().position(|known| Some(*known) == operation);
        match at.and_then(|at| self.bases.get(at)) {
            Some(base) => base.get_or_init(make).clone(),
            None => make(),
        }
    }

    /// Runs the policies, one after the other.
    fn policies(&self, candidates: Candidates<'_>, current: &mut Value) -> Vec<PolicyReport> {
        let settings = &self.engine.settings;
        let mut reports = Vec::new();
        if settings.trace || settings.operation == Some(Operation::Delete) || settings.values.has_any() {
            for (policy, rules) in candidates.all() {
                let prematch = self.prematch(policy, &rules, current);
                reports.extend(self.policy(policy, &rules, &prematch, current));
            }
            return reports;
        }
        let mut walk = candidates.walk(&self.candidate(current, None));
        let mut seers =
            [FailurePolicy::Fail, FailurePolicy::Ignore].map(|one| (one, candidates.first_to_see(one)));
        let mut last = None;
        while let Some((number, policy, rules)) = walk.next() {
            debug_assert!(self.are_left_out(candidates, (last, Some(number)), current));
            last = Some(number);
            // Those left out see the request, too.
            for (failure_policy, first) in &mut seers {
                if first.take_if(|first| *first < number).is_some() {
                    self.note_passed(*failure_policy);
                }
            }
            let prematch = self.prematch(policy, &rules, current);
            if matches!(prematch, Prematch::NoMatch) {
                continue;
            }
            let before = current.clone();
            reports.extend(self.policy(policy, &rules, &prematch, current));
            if !before.same_storage(current) {
                walk.meet(&self.candidate(&before, None), &self.candidate(current, None));
            }
        }
        debug_assert!(self.are_left_out(candidates, (last, None), current));
        reports
    }

    /// Whether the policies between two, or after one, have nothing to say about an object: builds with debug
    /// assertions make sure of it.
    fn are_left_out(
        &self,
        candidates: Candidates<'_>,
        (last, next): (Option<usize>, Option<usize>),
        object: &Value,
    ) -> bool {
        let from = last.map_or(0, |last| last + 1);
        let to = next.unwrap_or(self.engine.policies.policies().len());
        (from..to).filter_map(|number| candidates.at(number)).all(|(policy, rules)| {
            let candidate = self.candidate(object, Some(self.operation(policy)));
            let is_silent = |rule: &Rule| {
                !rule.selects(&candidate) && !rule.asks_for_user() && !rule.asks_for_namespace_labels()
            };
            let is_seen = |next| candidates.first_to_see(policy.failure_policy) < Some(next);
            let is_standard = |rule: &Rule| rule.existing().is_none();
            !policy.admits(&candidate)
                || rules.iter().all(|index| *index < policy.rules.len())
                    && standard(policy, &rules).all(is_silent)
                    && (!policy.rules.iter().any(is_standard) || next.is_none_or(is_seen))
        })
    }

    /// Runs one policy; `None` where none of its rules has anything to say.
    fn policy(
        &self,
        policy: &Policy,
        rules: &[usize],
        prematch: &Prematch,
        current: &mut Value,
    ) -> Option<PolicyReport> {
        let settings = &self.engine.settings;
        let operation = self.operation(policy);
        let first = match *prematch {
            Prematch::NoMatch => return None,
            Prematch::First(first) => Some(first),
            Prematch::Unknown => None,
        };
        let tracker = DivergenceTracker::new(settings.semantics);
        let object = if operation == Operation::Delete { Value::Null } else { current.clone() };
        let clock = WorldClock(self.world);
        let random = WorldRandom::new(self.world, self.identity);
        let mut context = Context::new(
            (self.base(Some(operation)), object),
            (&policy.name, policy.namespace.as_ref()),
            settings,
            (&clock, &random),
            (&tracker, self.taint),
        );
        if self.passed.get(webhook(policy.failure_policy)).is_some_and(Cell::get) {
            context.hold_object();
        }
        context.assign(settings.values.of(&policy.name, self.name()));
        let entry = if operation == Operation::Delete { current.clone() } else { context.object().clone() };
        let mut report = PolicyReport {
            policy: policy.full_name(),
            rules: Vec::with_capacity(rules.len()),
            divergences: DivergenceSet::NONE,
        };
        if first.is_none() && !policy.admits(&self.candidate(&entry, Some(operation))) {
            return self.traced(|| {
                let candidate = self.candidate(&entry, Some(operation));
                let of = policy.namespace.as_deref().unwrap_or_default();
                let reason = || vec![other_namespace(of, &candidate)];
                let rules = standard(policy, rules);
                report.rules.extend(rules.map(|rule| not_run(rule, SkipReason::NotSelected(reason()))));
                report
            });
        }
        self.pass(policy);
        let name = policy.full_name();
        let exemption = self.exemption(&name, &entry, Some(operation));
        let mut working = entry.clone();
        let mut failed = false;
        let mut applied = false;
        let mut emptied = false;
        for (number, rule) in standard(policy, rules).enumerate() {
            if applied && policy.applies_one() {
                report.rules.extend(self.traced(|| not_run(rule, SkipReason::ApplyOne)));
                continue;
            }
            let candidate = self.candidate(&working, Some(operation));
            self.note_what_is_missing(rule);
            // The first rule that takes the object is the first that can change it.
            let selects = match first.filter(|first| number <= *first) {
                Some(first) => number == first,
                None => rule.selects(&candidate),
            };
            if !selects {
                report.rules.extend(self.traced(|| {
                    let mismatch = rule.mismatch(&candidate).map(|mismatch| mismatch.details);
                    not_run(rule, SkipReason::NotSelected(mismatch.unwrap_or_default()))
                }));
                continue;
            }
            if rule.not_evaluated().is_some() {
                continue;
            }
            if !self.reaches(policy, rule, &candidate) && !tracker.documented(Divergence::EmptyExclude) {
                report.rules.push(not_run(rule, unasked()));
                continue;
            }
            // Kyverno goes on with an empty object, which no rule selects.
            if emptied && !tracker.documented(Divergence::FailedRule) {
                break;
            }
            self.note_what_exceptions_miss(&name, rule);
            if operation == Operation::Delete {
                let saved = context.enter(rule, &settings.values, settings.trace);
                let admitted = rule::admit(rule, &mut context, &exemption);
                let trace = context.leave(saved);
                let outcome = deleted(admitted.err().map(|run| run.outcome), &tracker);
                failed |= matches!(outcome, Outcome::Error(_));
                report.rules.push(RuleReport { rule: rule.name.clone(), outcome, trigger: None, trace });
                continue;
            }
            report.divergences.extend(rule.divergences);
            let saved = context.enter(rule, &settings.values, settings.trace);
            let Run { outcome, emptied: run_emptied } =
                rule::run(rule, &working, &mut context, &self.survey, &exemption);
            let trace = context.leave(saved);
            context.hold_object();
            match &outcome {
                Outcome::Patched { after, .. } => {
                    working = after.clone();
                    context.set_object(&working);
                    applied = true;
                }
                Outcome::Error(_) => failed = true,
                Outcome::NoChange | Outcome::Triggered { .. } | Outcome::Skipped(_) => {}
            }
            report.rules.push(RuleReport { rule: rule.name.clone(), outcome, trigger: None, trace });
            emptied |= run_emptied;
        }
        let beyond = rules.iter().filter_map(|index| index.checked_sub(policy.rules.len()));
        if beyond
            .filter_map(|index| policy.controller_only_rules.get(index))
            .any(|rule| rule.selects(&self.candidate(&entry, Some(operation))))
        {
            tracker.reach(Divergence::AutogenTargets);
        }
        report.divergences.extend(tracker.reached());
        let acts = |outcome: &Outcome| matches!(outcome, Outcome::Patched { .. } | Outcome::Error(_));
        if report.rules.iter().any(|rule| acts(&rule.outcome))
            && let Some(filter) = self.hidden(&entry, Some(operation))
        {
            let tracker = DivergenceTracker::new(settings.semantics);
            if !tracker.documented(Divergence::HiddenObject) {
                for rule in report.rules.iter_mut().filter(|rule| acts(&rule.outcome)) {
                    rule.outcome = Outcome::Skipped(SkipReason::Filtered(filter.clone()));
                }
                report.divergences = tracker.reached();
                return Some(report);
            }
            report.divergences.extend(tracker.reached());
        }
        if !failed {
            *current = working;
        }
        (!report.rules.is_empty() || !report.divergences.is_empty()).then_some(report)
    }

    /// What is known of a policy without looking closer. Most policies of a cluster are for other objects.
    fn prematch(&self, policy: &Policy, rules: &[usize], object: &Value) -> Prematch {
        let settings = &self.engine.settings;
        let operation = self.operation(policy);
        let has_more = rules.iter().any(|index| *index >= policy.rules.len());
        let is_given = || settings.values.of(&policy.name, self.name()).next().is_some();
        if settings.trace || operation == Operation::Delete || has_more || is_given() {
            return Prematch::Unknown;
        }
        let candidate = self.candidate(object, Some(operation));
        if !policy.admits(&candidate) {
            return Prematch::NoMatch;
        }
        if let Some(first) = standard(policy, rules).position(|rule| rule.selects(&candidate)) {
            return Prematch::First(first);
        }
        self.pass(policy);
        standard(policy, rules).for_each(|rule| self.note_what_is_missing(rule));
        Prematch::NoMatch
    }

    /// Lets a policy see the request.
    fn pass(&self, policy: &Policy) {
        if policy.rules.iter().any(|rule| rule.existing().is_none()) {
            self.note_passed(policy.failure_policy);
        }
    }

    /// Remembers that a policy with this failure policy has seen the request.
    fn note_passed(&self, failure_policy: FailurePolicy) {
        if let Some(passed) = self.passed.get(webhook(failure_policy)) {
            passed.set(true);
        }
    }

    /// Whether a request comes to a rule that takes its object. The webhook asks for what the rules name; to a rule
    /// that takes everything out of it by a filter without content, a request comes where another rule asks for it.
    pub(super) fn reaches(&self, policy: &Policy, rule: &Rule, candidate: &Candidate<'_>) -> bool {
        let is_existing = rule.existing().is_some();
        !rule.asks_for_nothing() || {
            let mut others = self.engine.policies.of_kind(&self.kind.kind).all();
            others.any(|(other, rules)| {
                other.failure_policy == policy.failure_policy
                    && other.admits(candidate)
                    && rules
                        .iter()
                        .filter_map(|index| other.rules.get(*index))
                        .any(|rule| rule.existing().is_some() == is_existing && rule.asks_for(candidate))
            })
        }
    }

    /// What decides whether exceptions take an object away from a rule.
    pub(super) fn exemption<'b>(
        &'b self,
        policy: &'b Text,
        object: &'b Value,
        operation: Option<Operation>,
    ) -> Exemption<'b> {
        Exemption {
            exceptions: &self.engine.settings.exceptions,
            policy,
            candidate: self.candidate(object, operation),
            undecided: &self.undecided,
        }
    }

    /// What of Kyverno's configuration keeps the request for the object from policies. Its webhooks are asked for the
    /// object as it came, whatever policies made of it since.
    pub(super) fn hidden(&self, object: &Value, operation: Option<Operation>) -> Option<Text> {
        let filters = &self.engine.settings.filters;
        let old = self.old.filter(|_| operation != Some(Operation::Create));
        let filter = filters.hiding(&self.candidate(object, operation), (self.original, old))?;
        self.filter.set(Some(filter.clone()));
        Some(filter)
    }

    /// What of the evaluation's questions had no answer.
    pub(super) fn unknown(&self) -> MissingInputs {
        MissingInputs {
            namespace: self.missed_labels.get().then(|| self.placed.namespace.clone()),
            user: self.missed_user.get(),
            undecided: self.undecided.take(),
        }
    }

    /// Remembers what a rule's `match` or `exclude` asks for and nobody gave.
    pub(super) fn note_what_is_missing(&self, rule: &Rule) {
        let labels = self.engine.asks_for_namespace_labels()
            && rule.needs_namespace_labels(self.kind, self.subresource);
        self.note_missing(labels, rule.asks_for_user());
    }

    /// Remembers what the exceptions from a rule ask for and nobody gave.
    pub(super) fn note_what_exceptions_miss(&self, policy: &str, rule: &Rule) {
        for exception in self.engine.settings.exceptions.of(policy, &rule.name) {
            let labels = exception.needs_namespace_labels(self.kind, self.subresource);
            self.note_missing(labels, exception.asks_for_user());
        }
    }

    fn note_missing(&self, labels: bool, user: bool) {
        if labels && self.namespace_labels.is_none() && !self.placed.namespace.is_empty() {
            self.missed_labels.set(true);
        }
        if user && self.engine.settings.user.is_none() {
            self.missed_user.set(true);
        }
    }

    pub(super) fn candidate<'b>(&'b self, object: &'b Value, operation: Option<Operation>) -> Candidate<'b> {
        Candidate {
            object,
            kind: self.kind,
            subresource: self.subresource,
            operation,
            user: self.engine.settings.user.as_ref(),
            namespace: &self.placed.namespace,
            namespace_labels: self.namespace_labels,
        }
    }

    /// What is worth its cost only in a trace.
    pub(super) fn traced<T>(&self, make: impl FnOnce() -> T) -> Option<T> {
        self.engine.settings.trace.then(make)
    }
}

/// The place of the webhook that a failure policy has.
fn webhook(failure_policy: FailurePolicy) -> usize {
    usize::from(failure_policy == FailurePolicy::Ignore)
}

/// Whether a policy can match, decided before its rules run.
enum Prematch {
    /// It has nothing to say about the object.
    NoMatch,
    /// This one of its standard rules is the first that takes the object.
    First(usize),
    /// Nothing.
    Unknown,
}

/// Those rules of a policy that change the object they take.
fn standard<'p>(policy: &'p Policy, rules: &[usize]) -> impl Iterator<Item = &'p Rule> {
    rules.iter().filter_map(|index| policy.rules.get(*index)).filter(|rule| rule.existing().is_none())
}

/// The report of a rule that did not run.
pub(super) fn not_run(rule: &Rule, reason: SkipReason) -> RuleReport {
    RuleReport { rule: rule.name.clone(), outcome: Outcome::Skipped(reason), trigger: None, trace: None }
}

/// The reason of a rule that no request comes to.
pub(super) fn unasked() -> SkipReason {
    SkipReason::NotSelected(vec![
        "a filter of `exclude` without content takes all kinds out of what the rule asks the API server for"
            .to_owned(),
    ])
}

/// What a standard rule comes to where the request deletes the object, given what kept it from its patch.
fn deleted(kept: Option<Outcome>, tracker: &DivergenceTracker) -> Outcome {
    match kept {
        Some(skipped @ Outcome::Skipped(_)) => skipped,
        _ if tracker.documented(Divergence::StandardRuleOnDelete) => Outcome::Skipped(SkipReason::Deleted),
        Some(error) => error,
        None => Outcome::Error(RuleError::new(
            "failed to unmarshal patched resource: Object 'Kind' is missing in 'null'",
        )),
    }
}
