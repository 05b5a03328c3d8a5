//! One object and its request: what is the same for all policies.

use std::cell::Cell;

use crate::diagnostics::Code;
use crate::patch::MergeContext;
use crate::policy::{Candidate, Candidates, Operation};
use crate::report::{MissingInputs, Outcome, PolicyReport, RuleError, SkipReason};
use crate::resources::KindResource;
use crate::secrets::{Secrets, TaintTracker};
use crate::semantics::DivergenceTracker;
use crate::value::{GroupVersionKind, ObjectRef, Text, Value};

use super::classic::state::ObjectState;
use super::expression_trace::ShownValues;
use super::placed::Placed;
use super::{Engine, Settings, World};

/// What is the same for all policies of one object.
pub(super) struct Evaluation<'a> {
    pub(super) engine: &'a Engine,
    pub(super) world: &'a dyn World,
    pub(super) taint: &'a TaintTracker,
    /// The kind of the object itself.
    pub(super) own_kind: &'a GroupVersionKind,
    /// The kind that policies match: for a subresource that of its parent.
    pub(super) kind: &'a GroupVersionKind,
    pub(super) subresource: &'a str,
    /// The resource of `kind`.
    resource: &'a KindResource<'a>,
    /// The policies that may concern objects of `kind`.
    pub(super) policies: Candidates<'a>,
    pub(super) identity: Option<&'a ObjectRef>,
    pub(super) placed: &'a Placed,
    /// The object of the request, which an update without a stored object starts from.
    pub(super) original: &'a Value,
    pub(super) namespace_labels: Option<&'a Value>,
    /// Whether the labels of the namespace are needed and not known.
    lacks_namespace_labels: bool,
    /// The stored object of an update.
    pub(super) old: Option<&'a Value>,
    pub(super) merge_context: MergeContext<'a>,
    needs_namespace_labels: Cell<bool>,
    /// A namespace of targets whose labels are needed and not known.
    unlabelled: Cell<Option<Text>>,
    needs_user: Cell<bool>,
    /// The part of Kyverno's configuration that excludes the object from policies that would change it.
    pub(super) filter: Cell<Option<Text>>,
    /// Whether reports have traces.
    is_traced: Cell<bool>,
    /// Whether something is evaluated [`Self::aside`].
    is_aside: Cell<bool>,
    /// The values of expressions that reports show.
    pub(super) shown_values: ShownValues,
    /// The bytes that the reports of this object hold beside it.
    reported: Cell<usize>,
    /// The steps of expressions and loops so far.
    steps: Cell<u64>,
    /// Those that do not count for the limit, with those of patches: of runs without effect on the report, and in such a run
    /// those before it.
    steps_aside: Cell<u64>,
    pub(super) classic: ObjectState,
}

/// The result of one policy.
#[derive(Default)]
pub(super) struct PolicyRun {
    pub(super) report: Option<PolicyReport>,
    /// The object after the policy; `None` if it is unchanged.
    pub(super) after: Option<Value>,
}

/// An object and what is known of its request.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    /// The object that the first policy sees.
    pub(super) object: &'a Value,
    /// The object of the request, if it is not the same.
    pub(super) original: Option<&'a Value>,
    /// The stored object of an update.
    pub(super) old: Option<&'a Value>,
    pub(super) world: &'a dyn World,
}

/// Evaluates one object, and returns the Secrets whose values were seen; `None` where no policy can concern it.
pub(super) fn evaluate<T>(
    engine: &Engine,
    input: Input<'_>,
    run: impl FnOnce(&Evaluation<'_>) -> T,
) -> Option<(T, Secrets)> {
    let Input { object, original, old, world } = input;
    let own_kind = GroupVersionKind::of(object)?;
    let (kind, subresource) = engine.settings.values.as_subresource(&own_kind);
    let resource =
        if engine.policies.matches_resources() { world.resource(kind) } else { KindResource::default() };
    let policies = engine.policies.of_kind(&kind.kind, &resource.plural);
    if policies.is_empty() {
        return None;
    }
    let mut placed = Placed::new(engine, object, &own_kind, world);
    if old.is_some() {
        placed.share();
    }
    let original = original.map(|original| Placed::new(engine, original, &own_kind, world).object);
    let original = original.as_ref().unwrap_or(&placed.object);
    let old = old.map(|old| Placed::old(engine, old, &own_kind, world));
    let old = old.as_ref();
    let taint = TaintTracker::new(engine.settings.is_replay);
    for object in [&placed.object, original].into_iter().chain(old) {
        taint.track(object);
    }
    let labels = engine
        .needs_namespace_labels(policies, kind, subresource)
        .then(|| world.namespace_labels(&placed.namespace));
    let lacks_namespace_labels = matches!(labels, Some(None));
    let has_name = engine.settings.admission.is_some() && !placed.namespace.is_empty();
    let labels =
        labels.and_then(|labels| if has_name { with_name(labels, &placed.namespace) } else { labels });
    let identity = ObjectRef::of(&placed.object).map(|identity| ObjectRef {
        // Reports do not show an added namespace.
        namespace: identity.namespace.filter(|_| !placed.is_added()),
        ..identity
    });
    let result = run(&Evaluation {
        engine,
        world,
        taint: &taint,
        own_kind: &own_kind,
        kind,
        subresource,
        resource: &resource,
        policies,
        identity: identity.as_ref(),
        placed: &placed,
        original,
        namespace_labels: labels.as_ref(),
        lacks_namespace_labels,
        old,
        merge_context: MergeContext::new(&engine.settings.schemas),
        needs_namespace_labels: Cell::new(false),
        unlabelled: Cell::default(),
        needs_user: Cell::new(false),
        filter: Cell::default(),
        is_traced: Cell::new(engine.settings.trace),
        is_aside: Cell::new(false),
        shown_values: ShownValues::default(),
        reported: Cell::default(),
        steps: Cell::default(),
        steps_aside: Cell::default(),
        classic: ObjectState::default(),
    });
    Some((result, taint.secrets()))
}

/// The labels of a namespace with the one that the API server sets to its name.
fn with_name(labels: Option<Value>, namespace: &Text) -> Option<Value> {
    const NAME: &str = "kubernetes.io/metadata.name";
    let mut labels = labels.unwrap_or_else(Value::empty_object);
    labels.insert(NAME, Value::String(namespace.clone()));
    Some(labels)
}

impl Evaluation<'_> {
    /// The operation of the request that a policy sees: an update if there is a stored object, unless the options or a
    /// value override it.
    #[inline]
    pub(super) fn operation(&self, policy: &str) -> Operation {
        let settings = &self.engine.settings;
        let assigned = || settings.values.operation(policy, self.name());
        let operation =
            settings.operation.or_else(|| if settings.values.is_empty() { None } else { assigned() });
        operation.unwrap_or(if self.old.is_some() { Operation::Update } else { Operation::Create })
    }

    /// The name of the object; may be empty.
    #[inline]
    pub(super) fn name(&self) -> &str {
        self.identity.map_or("", |identity| &identity.name)
    }

    /// The namespace of the request; of a namespace itself its name. Empty for other cluster-scoped objects.
    pub(super) fn namespace_of_request(&self) -> &str {
        if self.is_namespace() { self.name() } else { &self.placed.namespace }
    }

    /// Whether the object is a namespace.
    pub(super) fn is_namespace(&self) -> bool {
        self.own_kind.group.is_empty() && &*self.own_kind.kind == "Namespace"
    }

    /// The object in its current state, as policies match it.
    #[inline]
    pub(super) fn candidate<'b>(&'b self, object: &'b Value, operation: Option<Operation>) -> Candidate<'b> {
        Candidate {
            object,
            kind: self.kind,
            resource: &self.resource.plural,
            scope: self.resource.scope,
            subresource: self.subresource,
            operation,
            user: self.engine.settings.user.as_ref(),
            namespace: &self.placed.namespace,
            namespace_labels: self.namespace_labels,
        }
    }

    /// The part of Kyverno's configuration that excludes the object from policies, if one does. It applies to the object
    /// of the request, before any policy.
    pub(super) fn excluding_filter(&self, object: &Value, operation: Option<Operation>) -> Option<Text> {
        let filters = &self.engine.settings.filters;
        let old = self.old.filter(|_| operation != Some(Operation::Create));
        let filter = filters.excluding(&self.candidate(object, operation), (self.original, old))?;
        self.filter.set(Some(filter.clone()));
        Some(filter)
    }

    /// Records that a decision depends on the labels of the namespace or on the user.
    #[inline]
    pub(super) fn note_needs(&self, labels: bool, user: bool) {
        if labels && self.lacks_namespace_labels && !self.placed.namespace.is_empty() {
            self.needs_namespace_labels.set(true);
        }
        if user && self.engine.settings.user.is_none() {
            self.needs_user.set(true);
        }
    }

    /// Records that a target depends on the labels of its namespace, which are not known.
    pub(super) fn note_unlabelled(&self, namespace: &str) {
        if !namespace.is_empty() {
            self.unlabelled.set(Some(namespace.into()));
        }
    }

    /// The inputs that decisions depended on and that are not known.
    pub(super) fn missing_inputs(&self) -> MissingInputs {
        MissingInputs {
            namespace: if self.needs_namespace_labels.get() {
                Some(self.placed.namespace.clone())
            } else {
                self.unlabelled.take()
            },
            user: self.needs_user.get(),
            undecided: self.classic.undecided.take(),
            priority_class: None,
        }
    }

    /// Adds steps of expressions and loops.
    pub(super) fn add_steps(&self, steps: u64) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    /// The steps of expressions and loops so far, with those of showing their values.
    pub(super) const fn steps(&self) -> u64 {
        self.steps.get().saturating_add(self.shown_values.steps())
    }

    /// The steps of expressions, loops and patches so far.
    fn all_steps(&self) -> u64 {
        /// The steps of an exception that cannot be decided: each is reported.
        const UNDECIDED: u64 = 256;
        let undecided = UNDECIDED * self.classic.undecided.borrow().len() as u64;
        self.steps.get().saturating_add(self.merge_context.steps() as u64).saturating_add(undecided)
    }

    /// The limit of the steps of all rules on the object, if they exceed it. `more` are steps that were not added yet.
    pub(super) fn exceeded_steps(&self, more: u64) -> Option<usize> {
        let limit = self.engine.settings.limits.object_steps;
        let steps = self.all_steps().saturating_sub(self.steps_aside.get()).saturating_add(more);
        (steps > limit as u64).then_some(limit)
    }

    /// The error of a rule that does not run, because the rules before it took all steps.
    pub(super) fn out_of_steps(&self, more: u64) -> Option<RuleError> {
        let limit = self.exceeded_steps(more)?;
        let message = format!("the rules exceed the limit `object-steps` of {limit} for one object");
        let error = RuleError::new(Code::EvaluationLimit, message);
        Some(error.with_hint(self.engine.settings.input_names.limit_hint("object-steps")))
    }

    /// Whether policies that the index skips may have something to report on an object.
    pub(super) fn needs_all(&self, object: &Value) -> bool {
        let settings = &self.engine.settings;
        settings.operation == Some(Operation::Delete)
            || !settings.values.is_empty()
            || self.has_redacted_labels(object)
    }

    /// The outcome of a rule, or an error if the reports would hold too much with it: each has the object before and after.
    pub(super) fn within_memory(&self, outcome: Outcome) -> Outcome {
        let Settings { limits, input_names, .. } = &self.engine.settings;
        let room = limits.report_bytes.saturating_sub(self.reported.get());
        let bytes = match &outcome {
            Outcome::Patched { before, after } => after.bytes_beside(before, room),
            Outcome::Skipped(SkipReason::Exceptions(names)) => names.capacity() * size_of::<Text>(),
            _ => return outcome,
        };
        self.reported.set(self.reported.get().saturating_add(bytes));
        if !self.exceeds_memory() {
            return outcome;
        }
        let message = format!(
            "the changes of all rules exceed the limit `report-bytes` of {} for one object",
            limits.report_bytes
        );
        let error = RuleError::new(Code::EvaluationLimit, message);
        Outcome::Error(error.with_hint(input_names.limit_hint("report-bytes")))
    }

    /// Whether the reports of all rules hold more than is allowed.
    pub(super) const fn exceeds_memory(&self) -> bool {
        self.reported.get() > self.engine.settings.limits.report_bytes
    }

    /// Creates what only traces need.
    pub(super) fn if_traced<T>(&self, create: impl FnOnce() -> T) -> Option<T> {
        self.is_traced().then(create)
    }

    /// Whether reports have traces.
    pub(super) const fn is_traced(&self) -> bool {
        self.is_traced.get()
    }

    /// A tracker of divergences for one policy.
    pub(super) fn tracker(&self) -> DivergenceTracker {
        let semantics = self.engine.settings.semantics;
        if self.is_aside.get() {
            DivergenceTracker::idle(semantics)
        } else {
            DivergenceTracker::new(semantics)
        }
    }

    /// Runs something as if no policy had seen the object: without traces and divergences, and without effect on the
    /// report.
    pub(super) fn aside<T>(&self, run: impl FnOnce() -> T) -> T {
        let Self { needs_namespace_labels, needs_user, filter, is_traced, is_aside, .. } = self;
        let Self { reported, classic, .. } = self;
        let needs = [needs_namespace_labels.get(), needs_user.get()];
        let was_aside = is_aside.replace(true);
        let (filtered, traced) = (filter.take(), is_traced.replace(false));
        let kept = classic.restart();
        let held = reported.take();
        let (started, earlier) = (self.all_steps(), self.steps_aside.get());
        self.steps_aside.set(started);
        let result = run();
        self.steps_aside.set(earlier.saturating_add(self.all_steps().saturating_sub(started)));
        reported.set(held);
        classic.restore(kept);
        filter.set(filtered);
        is_traced.set(traced);
        is_aside.set(was_aside);
        needs_namespace_labels.set(needs[0]);
        needs_user.set(needs[1]);
        result
    }
}
