//! One object through all policies.

use std::cell::{Cell, OnceCell, RefCell};

use crate::policy::{Candidate, Operation, Policy, Rule, other_namespace};
use crate::report::{
    ObjectReport, Outcome, PolicyReport, RuleError, RuleReport, SkipReason, Undecided, Unknown,
};
use crate::semantics::{Corners, Difference, Reading};
use crate::value::{GroupVersionKind, KindScope, ObjectRef, Text, Value};

use super::context::{Context, Subject, WorldChance, WorldClock};
use super::exemption::Exemption;
use super::rule::{self, Run};
use super::{Engine, World};

/// Runs the policies that concern an object.
pub(super) fn run(engine: &Engine, object: &Value, old: Option<&Value>, world: &dyn World) -> ObjectReport {
    let Some(own_kind) = GroupVersionKind::of(object) else {
        return ObjectReport::untouched(object.clone());
    };
    let (kind, subresource) = engine.settings.values.as_subresource(&own_kind);
    let mut candidates = engine.policies.candidates(&kind.kind).peekable();
    if candidates.peek().is_none() {
        return ObjectReport::untouched(object.clone());
    }
    let placed = Placed::new(engine, object, &own_kind, world);
    let labels = world.namespace_labels(&placed.namespace);
    let identity = ObjectRef::of(object);
    let evaluation = Evaluation {
        engine,
        world,
        own_kind: &own_kind,
        kind,
        subresource,
        identity: identity.as_ref(),
        placed: &placed,
        namespace_labels: labels.as_ref(),
        old,
        bases: Default::default(),
        missed_labels: Cell::new(false),
        missed_user: Cell::new(false),
        undecided: RefCell::default(),
    };
    let mut current = placed.object.clone();
    let mut reports = Vec::new();
    for (policy, rules) in candidates {
        reports.extend(evaluation.policy(policy, &rules, &mut current));
    }
    let unknown = Unknown {
        namespace: evaluation.missed_labels.get().then(|| placed.namespace.clone()),
        user: evaluation.missed_user.get(),
        undecided: evaluation.undecided.take(),
    };
    let after = placed.take_back(object, current);
    ObjectReport { object: identity.clone(), before: object.clone(), after, policies: reports, unknown }
}

/// An object as a cluster would hold it: with the namespace it is evaluated in.
struct Placed {
    object: Value,
    namespace: Text,
    added: bool,
}

impl Placed {
    fn new(engine: &Engine, object: &Value, kind: &GroupVersionKind, world: &dyn World) -> Self {
        let written = object.path(&["metadata", "namespace"]).and_then(Value::as_text);
        if let Some(namespace) = written.filter(|namespace| !namespace.is_empty()) {
            return Self { object: object.clone(), namespace: namespace.clone(), added: false };
        }
        // What is written stays, even where it is no namespace.
        let metadata = object.get("metadata").and_then(Value::as_object);
        let may_add = metadata.is_some_and(|metadata| !metadata.contains_key("namespace"));
        if world.scope(kind) == KindScope::Cluster {
            return Self { object: object.clone(), namespace: Text::default(), added: false };
        }
        let given = &engine.settings.namespace;
        let namespace: Text = if given.is_empty() { "default".into() } else { given.clone() };
        let mut placed = object.clone();
        if may_add
            && let Some(metadata) = placed.as_object_mut().and_then(|members| members.get_mut("metadata"))
        {
            metadata.insert("namespace", Value::String(namespace.clone()));
        }
        Self { object: placed, namespace, added: may_add }
    }

    /// The evaluated object without the namespace that only the evaluation gave it.
    fn take_back(&self, original: &Value, mut evaluated: Value) -> Value {
        if evaluated == self.object {
            return original.clone();
        }
        let namespace = evaluated.path(&["metadata", "namespace"]).and_then(Value::as_str);
        if self.added
            && namespace == Some(&*self.namespace)
            && let Some(metadata) = evaluated.as_object_mut().and_then(|members| members.get_mut("metadata"))
        {
            metadata.remove("namespace");
        }
        evaluated
    }
}

/// What is the same for all policies of one object.
struct Evaluation<'a> {
    engine: &'a Engine,
    world: &'a dyn World,
    /// The kind of the object itself.
    own_kind: &'a GroupVersionKind,
    /// The kind that rules name: for a subresource that of its parent.
    kind: &'a GroupVersionKind,
    subresource: &'a str,
    identity: Option<&'a ObjectRef>,
    placed: &'a Placed,
    namespace_labels: Option<&'a Value>,
    old: Option<&'a Value>,
    /// What the request alone gives to the context, by operation.
    bases: [OnceCell<Value>; Operation::ALL.len()],
    /// A rule asked for labels of the namespace, or for the user, that nobody gave.
    missed_labels: Cell<bool>,
    missed_user: Cell<bool>,
    /// Exceptions whose conditions could not be evaluated.
    undecided: RefCell<Vec<Undecided>>,
}

impl Evaluation<'_> {
    /// The operation of the request that a policy sees: an update where a stored object is given, unless the
    /// run or a value says otherwise.
    fn operation(&self, policy: &Policy) -> Operation {
        let settings = &self.engine.settings;
        let given = settings.operation.or_else(|| settings.values.operation(&policy.name, self.name()));
        given.unwrap_or(if self.old.is_some() { Operation::Update } else { Operation::Create })
    }

    fn name(&self) -> &str {
        self.identity.map_or("", |identity| &identity.name)
    }

    /// The context that a request of this operation gives, made once for all policies.
    fn base(&self, operation: Operation) -> Value {
        let make = || {
            let old = match operation {
                Operation::Create | Operation::Connect => None,
                Operation::Update | Operation::Delete => {
                    Some(self.old.unwrap_or(&self.placed.object).clone())
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
        match Operation::ALL.iter().position(|known| *known == operation).and_then(|at| self.bases.get(at)) {
            Some(base) => base.get_or_init(make).clone(),
            None => make(),
        }
    }

    /// Runs one policy; `None` where none of its rules has anything to say.
    fn policy(&self, policy: &Policy, rules: &[usize], current: &mut Value) -> Option<PolicyReport> {
        let settings = &self.engine.settings;
        let reading = Reading::new(settings.semantics);
        let operation = self.operation(policy);
        let object = if operation == Operation::Delete { Value::Null } else { current.clone() };
        let clock = WorldClock(self.world);
        let chance = WorldChance::new(self.world, self.identity);
        let mut context = Context::new(
            (self.base(operation), object),
            (&policy.name, policy.namespace.as_ref()),
            settings.limits,
            (&clock, &chance),
            &reading,
        );
        if !current.same_storage(&self.placed.object) {
            context.set_patched();
        }
        context.assign(settings.values.of(&policy.name, self.name()));
        let entry = if operation == Operation::Delete { current.clone() } else { context.object().clone() };
        let mut report =
            PolicyReport { policy: policy.full_name(), rules: Vec::new(), corners: Corners::NONE };
        if !policy.admits(&self.candidate(&entry, operation)) {
            return self.traced(|| {
                let candidate = self.candidate(&entry, operation);
                let of = policy.namespace.as_deref().unwrap_or_default();
                let reason = || vec![other_namespace(of, &candidate)];
                let rules = rules.iter().filter_map(|index| policy.rules.get(*index));
                report.rules.extend(rules.map(|rule| not_run(rule, SkipReason::NotSelected(reason()))));
                report
            });
        }
        let name = policy.full_name();
        let exemption = Exemption {
            exceptions: &settings.exceptions,
            policy: &name,
            candidate: self.candidate(&entry, operation),
            undecided: &self.undecided,
        };
        let mut working = entry.clone();
        let mut failed = false;
        let mut applied = false;
        let mut emptied = false;
        for rule in rules.iter().filter_map(|index| policy.rules.get(*index)) {
            if applied && policy.applies_one() {
                report.rules.extend(self.traced(|| not_run(rule, SkipReason::ApplyOne)));
                continue;
            }
            let candidate = self.candidate(&working, operation);
            self.note_what_is_missing(rule);
            if !rule.selects(&candidate) {
                report.rules.extend(self.traced(|| {
                    let mismatch = rule.mismatch(&candidate).map(|mismatch| mismatch.details);
                    not_run(rule, SkipReason::NotSelected(mismatch.unwrap_or_default()))
                }));
                continue;
            }
            if rule.not_evaluated().is_some() {
                continue;
            }
            // Kyverno goes on with an empty object, which no rule selects.
            if emptied && !reading.documented(Difference::FailedRule) {
                break;
            }
            self.note_what_exceptions_miss(&name, rule);
            if operation == Operation::Delete {
                let saved = context.enter(rule, &settings.values, settings.trace);
                let admitted = rule::admit(rule, &mut context, &exemption);
                let trace = context.leave(saved);
                let outcome = deleted(admitted.err().map(|run| run.outcome), &reading);
                failed |= matches!(outcome, Outcome::Error(_));
                report.rules.push(RuleReport { rule: rule.name.clone(), outcome, trace });
                continue;
            }
            report.corners.extend(rule.corners);
            let saved = context.enter(rule, &settings.values, settings.trace);
            let Run { outcome, emptied: run_emptied } =
                rule::run(rule, &working, &mut context, &settings.schemas, &exemption);
            let trace = context.leave(saved);
            match &outcome {
                Outcome::Patched { after, .. } => {
                    working = after.clone();
                    context.set_object(&working);
                    applied = true;
                }
                Outcome::Error(_) => failed = true,
                Outcome::NoChange | Outcome::Skipped(_) => {}
            }
            report.rules.push(RuleReport { rule: rule.name.clone(), outcome, trace });
            emptied |= run_emptied;
        }
        report.corners.extend(reading.reached());
        if !failed {
            *current = working;
        }
        (!report.rules.is_empty()).then_some(report)
    }

    /// Remembers what a rule's `match` or `exclude` asks for and nobody gave.
    fn note_what_is_missing(&self, rule: &Rule) {
        self.note_missing(rule.asks_for_namespace_labels(), rule.asks_for_user());
    }

    /// Remembers what the exceptions from a rule ask for and nobody gave.
    fn note_what_exceptions_miss(&self, policy: &str, rule: &Rule) {
        for exception in self.engine.settings.exceptions.of(policy, &rule.name) {
            self.note_missing(exception.asks_for_namespace_labels(), exception.asks_for_user());
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

    fn candidate<'b>(&'b self, object: &'b Value, operation: Operation) -> Candidate<'b> {
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
    fn traced<T>(&self, make: impl FnOnce() -> T) -> Option<T> {
        self.engine.settings.trace.then(make)
    }
}

/// The report of a rule that did not run.
fn not_run(rule: &Rule, reason: SkipReason) -> RuleReport {
    RuleReport { rule: rule.name.clone(), outcome: Outcome::Skipped(reason), trace: None }
}

/// What a standard rule comes to where the request deletes the object, given what kept it from its patch.
fn deleted(kept: Option<Outcome>, reading: &Reading) -> Outcome {
    match kept {
        Some(skipped @ Outcome::Skipped(_)) => skipped,
        _ if reading.documented(Difference::StandardRuleOnDelete) => Outcome::Skipped(SkipReason::Deleted),
        Some(error) => error,
        None => Outcome::Error(RuleError::new(
            "failed to unmarshal patched resource: Object 'Kind' is missing in 'null'",
        )),
    }
}
