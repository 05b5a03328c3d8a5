//! The JSON context of variables.

mod images;
mod loading;
mod typed_integers;
mod variable_names;

use std::cell::{Cell, RefCell};
use std::sync::LazyLock;

use jiff::Timestamp;

use crate::engine::{DottedName, LookupError, LookupSource, Settings, Values, World, lookups};
use crate::jmespath::{Clock, Random, Runtime};
use crate::pattern::IntegerTyping;
use crate::policy::{Operation, PolicyException, Rule};
use crate::report::{
    ConditionTrace, ElementOutcome, ExceptionTrace, Iteration, Trace, VariableError, VariableTrace,
};
use crate::secrets::TaintTracker;
use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{ObjectRef, Pointer, Text, Value};
use crate::variables::{Inline, LoadError, Query, QueryError, Scope, Substitution};

use loading::{RegisteredEntry, VisibleEntries};
use typed_integers::TypedIntegers;
use variable_names::{contains, names};

pub use loading::image_name;

/// The variable with the target that is being patched.
const TARGET: &str = "target";

/// Time and random numbers of the world, for expressions. The random numbers are a sequence for each object, policy and
/// rule.
pub(super) struct ExpressionWorld<'a> {
    world: &'a dyn World,
    object: Option<&'a ObjectRef>,
    rule: RefCell<(Text, Text)>,
    call: Cell<u64>,
}

impl<'a> ExpressionWorld<'a> {
    pub(super) fn new(world: &'a dyn World, object: Option<&'a ObjectRef>) -> Self {
        Self { world, object, rule: RefCell::default(), call: Cell::new(0) }
    }

    /// Starts the sequence of a policy's rule.
    fn restart(&self, policy: &Text, rule: &Text) {
        *self.rule.borrow_mut() = (policy.clone(), rule.clone());
        self.call.set(0);
    }
}

impl Clock for ExpressionWorld<'_> {
    fn now(&self) -> Timestamp {
        self.world.now()
    }
}

impl Random for ExpressionWorld<'_> {
    fn next(&self) -> u64 {
        let call = self.call.get();
        self.call.set(call + 1);
        let (policy, rule) = &*self.rule.borrow();
        let object = self.object.map(|object| format!("{}/{object}", object.kind));
        self.world.random(&format!("{}/{policy}/{rule}", object.unwrap_or_default()), call)
    }
}

/// The context of one policy for one object.
pub(super) struct Context<'a> {
    root: Value,
    /// `request.object`. The root has it only after [`Context::insert_object`].
    object: Value,
    is_object_in_root: bool,
    typed_integers: TypedIntegers,
    runtime: Runtime<'a>,
    world: &'a ExpressionWorld<'a>,
    tracker: &'a DivergenceTracker,
    taint: &'a TaintTracker,
    settings: &'a Settings,
    /// The object that `images` is computed from.
    image_source: Value,
    /// The value of `images`, once computed.
    images: Option<Option<Value>>,
    are_images_in_root: bool,
    trace: Option<Trace>,
    /// The current iteration in the trace.
    iteration: Option<usize>,
    policy: &'a Text,
    /// The namespace of a namespaced policy.
    pub(super) namespace: Option<&'a Text>,
    /// The context entries, in the order they were registered.
    entries: Vec<RegisteredEntry>,
    /// The number of open checkpoints.
    checkpoints: usize,
    /// The entries that the one being loaded can use.
    visible: Option<VisibleEntries>,
    /// The number of entries that are being loaded.
    loading: usize,
    /// The number of iterations of the rule's loops so far.
    iterations: usize,
    /// Whether the request deletes the object, so that variables use the old one.
    is_delete: bool,
    /// The steps of the runtimes before the current one.
    steps: u64,
    /// Whether a target is being patched.
    has_target: bool,
    /// Whether a loop has patched a target: then the two semantics differ in `target` and `request.object`.
    has_patched_target: bool,
}

/// What a [`Context`] starts from.
pub(super) struct ContextInput<'a> {
    /// The root, without `request.object`.
    pub(super) root: Value,
    /// `request.object`.
    pub(super) object: Value,
    /// The name of the policy.
    pub(super) policy: &'a Text,
    /// The namespace of a namespaced policy.
    pub(super) namespace: Option<&'a Text>,
    pub(super) settings: &'a Settings,
    pub(super) world: &'a ExpressionWorld<'a>,
    pub(super) tracker: &'a DivergenceTracker,
    pub(super) taint: &'a TaintTracker,
}

impl<'a> Context<'a> {
    pub(super) fn new(input: ContextInput<'a>) -> Self {
        let ContextInput { root, object, policy, namespace, settings, world, tracker, taint } = input;
        let operation = root.path(&["request", "operation"]).and_then(Value::as_str);
        Self {
            is_delete: operation == Some(Operation::Delete.name()),
            root,
            image_source: object.clone(),
            images: None,
            are_images_in_root: false,
            object,
            is_object_in_root: false,
            typed_integers: TypedIntegers::default(),
            runtime: Runtime::new(world, world, tracker)
                .with_limits(settings.limits.of_expressions())
                .with_secrets(Some(taint)),
            world,
            tracker,
            taint,
            settings,
            trace: None,
            iteration: None,
            policy,
            namespace,
            entries: Vec::new(),
            checkpoints: 0,
            visible: None,
            loading: 0,
            iterations: 0,
            steps: 0,
            has_target: false,
            has_patched_target: false,
        }
    }

    /// Assigns values to variables, which may be below `request.object`.
    pub(super) fn assign<'v>(&mut self, assignments: impl Iterator<Item = &'v (DottedName, Value)>) {
        for (name, value) in assignments {
            self.insert_object();
            name.merge_into(&mut self.root, value);
        }
        if self.is_object_in_root {
            self.object = self.root.path(&["request", "object"]).cloned().unwrap_or_default();
            self.image_source = self.object.clone();
        }
    }

    pub(super) const fn tracker(&self) -> &'a DivergenceTracker {
        self.tracker
    }

    /// How variables in a document are replaced.
    pub(super) const fn substitution(&self, inline: Inline) -> Substitution<'a> {
        Substitution {
            tracker: self.tracker,
            deleting: self.is_delete,
            inline,
            inline_root: if self.has_target { "target" } else { "request.object" },
            limits: self.settings.limits.of_substitution(),
        }
    }

    pub(super) const fn taint(&self) -> &'a TaintTracker {
        self.taint
    }

    /// The current `request.object`.
    pub(super) const fn object(&self) -> &Value {
        &self.object
    }

    /// Sets `request.object`.
    pub(super) fn set_object(&mut self, object: &Value) {
        self.typed_integers.object = true;
        self.object = object.clone();
        self.is_object_in_root = false;
    }

    /// Sets what the loops of a rule have patched so far.
    pub(super) fn set_patched(&mut self, object: &Value) {
        if !self.has_target {
            return self.set_object(object);
        }
        self.has_patched_target = true;
        match self.tracker.semantics() {
            Semantics::Documented => self.set_variable(&TARGET.into(), object.clone()),
            Semantics::Kyverno => self.set_object(object),
        }
    }

    /// Sets the target, which has its own limits and trace.
    pub(super) fn enter_target(&mut self, target: &Value, is_traced: bool) {
        self.iterations = 0;
        self.restart_runtime();
        self.trace = is_traced.then(Trace::default);
        self.has_target = true;
        self.taint.track(target);
        self.typed_integers.set(&TARGET.into(), true);
        self.set_variable(&TARGET.into(), target.clone());
    }

    /// Restores the context from before a target, and returns the trace. In Kyverno's semantics `request.object` stays as
    /// a loop patched it.
    pub(super) fn leave_target(&mut self, checkpoint: &Checkpoint) -> Option<Box<Trace>> {
        let object = self.object.clone();
        self.restore(checkpoint);
        if self.has_patched_target && self.tracker.semantics() == Semantics::Kyverno {
            self.set_object(&object);
        }
        self.has_target = false;
        self.take_trace()
    }

    /// Runs something without a trace and without effect on the sequence of random numbers.
    pub(super) fn untraced<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let (trace, calls) = (self.trace.take(), self.world.call.get());
        let result = run(self);
        self.trace = trace;
        self.world.call.set(calls);
        result
    }

    /// The trace so far.
    pub(super) fn take_trace(&mut self) -> Option<Box<Trace>> {
        self.trace.take().map(Box::new)
    }

    /// The steps of all rules so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps.saturating_add(self.runtime.steps())
    }

    fn restart_runtime(&mut self) {
        self.steps = self.steps();
        self.runtime = Runtime::new(self.world, self.world, self.tracker)
            .with_limits(self.settings.limits.of_expressions())
            .with_secrets(Some(self.taint));
    }

    /// Records that Kyverno has put the object, or both objects, into the context again: then their integers are typed.
    pub(super) const fn type_objects(&mut self, is_old_typed: bool) {
        self.typed_integers.object = true;
        self.typed_integers.old_object |= is_old_typed;
    }

    /// The type in Kyverno of the integers in all variables since the last call.
    pub(super) const fn take_integer_typing(&mut self) -> IntegerTyping {
        let used = std::mem::replace(&mut self.typed_integers.used, false);
        if used { IntegerTyping::Integers } else { IntegerTyping::Floats }
    }

    /// Makes the root have `request.object`, as each query needs it.
    pub(super) fn insert_object(&mut self) {
        if !self.is_object_in_root
            && let Some(request) = self.root.as_object_mut().and_then(|root| root.get_mut("request"))
        {
            request.insert("object", self.object.clone());
            self.is_object_in_root = true;
        }
    }

    /// Starts a rule, which has its own limits, random numbers, values and trace.
    pub(super) fn enter_rule(&mut self, rule: &Rule, values: &Values, is_traced: bool) -> Checkpoint {
        let checkpoint = self.checkpoint();
        self.iterations = 0;
        self.world.restart(self.policy, &rule.name);
        self.restart_runtime();
        self.trace = is_traced.then(Trace::default);
        self.iteration = None;
        for (name, value) in values.of_rule(self.policy, rule.source_name()) {
            self.insert_object();
            name.merge_into(&mut self.root, value);
        }
        self.register(&rule.context);
        checkpoint
    }

    /// Restores the context from before a rule, and returns its trace.
    pub(super) fn leave_rule(&mut self, checkpoint: Checkpoint) -> Option<Box<Trace>> {
        let Checkpoint { root, object, is_object_in_root, are_images_in_root, typed_names, number } =
            checkpoint;
        (self.root, self.object, self.typed_integers.names) = (root, object, typed_names);
        (self.is_object_in_root, self.are_images_in_root) = (is_object_in_root, are_images_in_root);
        self.keep_entries_above(number);
        self.checkpoints = number.saturating_sub(1);
        self.has_patched_target = false;
        self.take_trace()
    }

    /// Opens a checkpoint.
    pub(super) fn checkpoint(&mut self) -> Checkpoint {
        self.checkpoints += 1;
        Checkpoint {
            root: self.root.clone(),
            object: self.object.clone(),
            is_object_in_root: self.is_object_in_root,
            are_images_in_root: self.are_images_in_root,
            typed_names: self.typed_integers.names.clone(),
            number: self.checkpoints,
        }
    }

    /// Returns to a checkpoint and leaves it open. Older context entries that were loaded since stay loaded.
    pub(super) fn reset(&mut self, checkpoint: &Checkpoint) {
        self.root = checkpoint.root.clone();
        self.object = checkpoint.object.clone();
        self.is_object_in_root = checkpoint.is_object_in_root;
        self.are_images_in_root = checkpoint.are_images_in_root;
        self.typed_integers.names.clone_from(&checkpoint.typed_names);
        self.keep_entries_above(checkpoint.number);
    }

    /// Returns to a checkpoint and closes it.
    pub(super) fn restore(&mut self, checkpoint: &Checkpoint) {
        self.reset(checkpoint);
        self.checkpoints = checkpoint.number.saturating_sub(1);
    }

    pub(super) fn set_variable(&mut self, name: &Text, value: Value) {
        self.root.insert(name.clone(), value);
    }

    pub(super) fn variable(&self, name: &str) -> Option<&Value> {
        self.root.get(name)
    }

    pub(super) const fn runtime(&self) -> &Runtime<'a> {
        &self.runtime
    }

    pub(super) const fn settings(&self) -> &'a Settings {
        self.settings
    }

    pub(super) fn lookup(&self, source: LookupSource<'_>) -> Result<Value, LookupError> {
        lookups::lookup(self.world.world, self.taint, source)
    }

    /// Sets the element of a loop inside of `nesting` others. `list` is the expression that it comes from.
    pub(super) fn set_element(&mut self, (element, list): (&Value, &Query), index: usize, nesting: usize) {
        /// The names in every loop, and the additional ones in an outermost loop.
        static NAMES: LazyLock<[LoopNames; 2]> = LazyLock::new(|| [LoopNames::new(""), LoopNames::new("0")]);
        let [plain, outermost] = &*NAMES;
        let inner = (nesting > 0).then(|| LoopNames::new(&nesting.to_string()));
        let nested = inner.as_ref().unwrap_or(outermost);
        let index = Value::from(i64::try_from(index).unwrap_or(i64::MAX));
        let is_typed = self.typed_integers.is_used_by(list.text());
        let Some(root) = self.root.as_object_mut() else { return };
        root.reserve(2 * NAMES.len());
        for names in [nested, plain] {
            self.typed_integers.set(&names.element, is_typed);
            root.insert(names.element.clone(), element.clone());
            root.insert(names.index.clone(), index.clone());
        }
    }

    pub(super) fn is_in_loop(&self) -> bool {
        self.root.get("elementIndex").is_some()
    }

    /// Counts iterations of loops. The error is the limit that they exceed.
    pub(super) fn count_iterations(&mut self, elements: usize) -> Result<(), usize> {
        self.iterations = self.iterations.saturating_add(elements);
        let maximum = self.settings.limits.foreach_iterations;
        if self.iterations > maximum { Err(maximum) } else { Ok(()) }
    }

    pub(super) fn trace_condition(&mut self, condition: ConditionTrace) {
        if let Some(trace) = &mut self.trace {
            trace.conditions.push(ConditionTrace { iteration: self.iteration, ..condition });
        }
    }

    /// Adds what a patch shows of an anchor to the trace. The place is that in the rule, of a loop that in its entry.
    pub(super) fn trace_anchor(&mut self, place: &Pointer, held: bool, failed: bool) {
        if let Some(trace) = &mut self.trace {
            let iteration = self.iteration.and_then(|number| trace.iterations.get(number));
            let entry = iteration.map(|iteration| Pointer::ROOT.key("mutate").join(&iteration.place));
            let place = entry.map_or_else(|| place.clone(), |entry| entry.join(place));
            let anchor = trace.anchors.entry(place).or_default();
            anchor.held |= held;
            anchor.failed |= failed;
        }
    }

    /// Starts an iteration in the trace. One that does not end has failed.
    pub(super) fn begin_iteration(
        &mut self,
        place: &Pointer,
        list: &Text,
        index: usize,
    ) -> Option<TraceLengths> {
        let trace = self.trace.as_mut()?;
        let lengths = TraceLengths {
            iterations: trace.iterations.len(),
            conditions: trace.conditions.len(),
            variables: trace.variables.len(),
        };
        trace.iterations.push(Iteration {
            place: place.clone(),
            list: list.clone(),
            index,
            outer: self.iteration,
            outcome: ElementOutcome::Failed,
        });
        self.iteration = Some(lengths.iterations);
        Some(lengths)
    }

    /// Ends an iteration in the trace, where it began at these lengths. Beyond the maximum, iterations are only counted.
    pub(super) fn end_iteration(&mut self, begin: Option<TraceLengths>, outcome: ElementOutcome) {
        let (Some(trace), Some(begin)) = (&mut self.trace, begin) else { return };
        if let Some(iteration) = trace.iterations.get_mut(begin.iterations) {
            iteration.outcome = outcome;
            self.iteration = iteration.outer;
        }
        if begin.iterations >= Trace::MAX_ITERATIONS {
            trace.omitted_iterations += trace.iterations.len() - begin.iterations;
            trace.iterations.truncate(begin.iterations);
            trace.conditions.truncate(begin.conditions);
            trace.variables.truncate(begin.variables);
        }
    }

    pub(super) const fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Adds an exception that does not apply to the trace.
    pub(super) fn trace_exception(
        &mut self,
        exception: &PolicyException,
        reasons: impl FnOnce() -> Vec<String>,
    ) {
        if let Some(trace) = &mut self.trace {
            trace.exceptions.push(ExceptionTrace { name: exception.full_name(), reasons: reasons() });
        }
    }

    fn insert_images(&mut self) -> Result<(), QueryError> {
        if self.images.is_none() {
            self.taint.note_read(&self.image_source);
            let images = images::images(&self.image_source)
                .map_err(|error| QueryError::Load(LoadError::from(error.to_string())))?;
            if let Some(images) = images.as_ref().filter(|_| self.taint.is_tainted(&self.image_source)) {
                self.taint.note_derived(images, &[&self.image_source]);
            }
            self.images = Some(images);
        }
        if let Some(Some(images)) = &self.images {
            self.root.insert("images", images.clone());
        }
        self.are_images_in_root = true;
        Ok(())
    }

    fn resolve(&mut self, query: &Query) -> Result<Value, QueryError> {
        self.load_named(query.text())?;
        let expression = query.expression()?;
        self.insert_object();
        if self.has_patched_target
            && (names(query.text(), TARGET) || contains(query.text(), "request.object"))
        {
            self.tracker.reach(Divergence::ForeachOnTarget);
        }
        if !self.are_images_in_root && names(query.text(), "images") {
            self.insert_images()?;
        }
        let (calls, _) = (self.world.call.get(), self.runtime.take_numbers_read());
        let found = expression.search(&self.root, &self.runtime);
        let is_typed = self.typed_integers.is_used_by(query.text());
        self.typed_integers.used |= is_typed;
        // The type of integers matters only to functions that depend on it.
        if !self.runtime.take_numbers_read() || !(is_typed || names(query.text(), "request")) {
            return found.map_err(QueryError::Failed);
        }
        let called = self.world.call.replace(calls);
        let root =
            self.typed_integers.root(&self.root, &self.object, &self.runtime).map_err(QueryError::Failed)?;
        let in_cluster = expression.search(&root, &self.runtime).map(|value| value.without_typed_integers());
        let is_same = match (&found, &in_cluster) {
            (Ok(found), Ok(other)) => found == other,
            (Err(found), Err(other)) => found == other,
            _ => false,
        };
        let found = if is_same || self.tracker.documented(Divergence::HeldIntegers) {
            self.world.call.set(called);
            found
        } else {
            in_cluster
        };
        found.map_err(QueryError::Failed)
    }
}

/// The variables of a loop.
struct LoopNames {
    element: Text,
    index: Text,
}

impl LoopNames {
    fn new(nesting: &str) -> Self {
        Self { element: format!("element{nesting}").into(), index: format!("elementIndex{nesting}").into() }
    }
}

/// The lengths of a trace's lists.
pub(super) struct TraceLengths {
    iterations: usize,
    conditions: usize,
    variables: usize,
}

/// A state of the context, to return to.
pub(super) struct Checkpoint {
    root: Value,
    object: Value,
    is_object_in_root: bool,
    are_images_in_root: bool,
    typed_names: Vec<Text>,
    /// From 1, counting the open ones.
    number: usize,
}

impl Scope for Context<'_> {
    fn secrets(&self) -> Option<&TaintTracker> {
        Some(self.taint)
    }

    fn query(&mut self, query: &Query) -> Result<Value, QueryError> {
        let found = self.resolve(query);
        if let Some(trace) = &mut self.trace {
            let value = found.clone().map_err(|error| VariableError(error.to_string()));
            let expression = Text::clone(query.text());
            trace.variables.push(VariableTrace { iteration: self.iteration, expression, value });
        }
        found
    }
}
