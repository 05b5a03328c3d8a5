//! The JSON context that variables are answered from.

mod images;
mod loading;
mod typed_integers;
mod variable_names;

use std::cell::{Cell, RefCell};
use std::sync::LazyLock;

use jiff::Timestamp;

use crate::jmespath::{Clock, Random, Runtime};
use crate::pattern::IntegerTyping;
use crate::policy::{Operation, Rule};
use crate::report::{
    ConditionTrace, ElementOutcome, ExceptionTrace, Iteration, Trace, VariableError, VariableTrace,
};
use crate::secrets::TaintTracker;
use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{ObjectRef, Pointer, Text, Value};
use crate::variables::{Inline, Query, QueryError, Scope, Substitution};

use crate::engine::{DottedName, LookupError, LookupSource, Settings, Values, World, lookups};

use loading::{Loader, Window};
use typed_integers::TypedIntegers;
use variable_names::names;

pub use loading::image_name;

/// The variable that holds the target being patched.
const TARGET: &str = "target";

/// The world's clock, for expressions.
pub(super) struct WorldClock<'a>(pub(super) &'a dyn World);

impl Clock for WorldClock<'_> {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

/// The world's chance, for expressions: a sequence for each object, policy and rule.
pub(super) struct WorldRandom<'a> {
    world: &'a dyn World,
    object: Option<&'a ObjectRef>,
    rule: RefCell<(Text, Text)>,
    call: Cell<u64>,
}

impl<'a> WorldRandom<'a> {
    pub(super) fn new(world: &'a dyn World, object: Option<&'a ObjectRef>) -> Self {
        Self { world, object, rule: RefCell::default(), call: Cell::new(0) }
    }

    /// Starts the sequence of a policy's rule.
    fn restart(&self, policy: &Text, rule: &Text) {
        *self.rule.borrow_mut() = (policy.clone(), rule.clone());
        self.call.set(0);
    }
}

impl Random for WorldRandom<'_> {
    fn next(&self) -> u64 {
        let call = self.call.get();
        self.call.set(call + 1);
        let (policy, rule) = &*self.rule.borrow();
        let object = self.object.map(|object| format!("{}/{object}", object.kind));
        self.world.random(&format!("{}/{policy}/{rule}", object.unwrap_or_default()), call)
    }
}

/// What variables are answered from while one policy runs on one object.
pub(super) struct Context<'a> {
    root: Value,
    /// `request.object`, which the root is given only when something is asked.
    object: Value,
    is_in_root: bool,
    /// Which of its values hold integers as integers.
    held: TypedIntegers,
    runtime: Runtime<'a>,
    clock: &'a WorldClock<'a>,
    random: &'a WorldRandom<'a>,
    tracker: &'a DivergenceTracker,
    secrets: &'a TaintTracker,
    settings: &'a Settings,
    /// The object that `images` is computed from.
    imaged: Value,
    /// The value of `images`, once it was asked for.
    images: Option<Option<Value>>,
    has_images: bool,
    trace: Option<Trace>,
    /// The element that a loop is at, in the trace.
    turn: Option<usize>,
    policy: &'a Text,
    /// The namespace of a policy that has one.
    pub(super) namespace: Option<&'a Text>,
    /// The context entries, in the order they were registered.
    loaders: Vec<Loader>,
    /// How many checkpoints are open.
    level: usize,
    /// Which entries the one that is loading may ask for.
    window: Option<Window>,
    /// How many entries are loading.
    loading: usize,
    /// The elements that the loops of the rule went through.
    iterations: usize,
    /// Whether the request deletes the object, so that variables about it read the old one.
    deleting: bool,
    /// Whether a target is being patched.
    has_target: bool,
    /// Whether a loop has patched a target: from then on the two semantics disagree on what `target` and
    /// `request.object` are.
    has_looped: bool,
}

impl<'a> Context<'a> {
    /// The context of a policy for an object, given what the request alone says.
    pub(super) fn new(
        (base, object): (Value, Value),
        (policy, namespace): (&'a Text, Option<&'a Text>),
        settings: &'a Settings,
        (clock, random): (&'a WorldClock<'a>, &'a WorldRandom<'a>),
        (tracker, secrets): (&'a DivergenceTracker, &'a TaintTracker),
    ) -> Self {
        let operation = base.path(&["request", "operation"]).and_then(Value::as_str);
        Self {
            deleting: operation == Some(Operation::Delete.name()),
            root: base,
            imaged: object.clone(),
            images: None,
            has_images: false,
            object,
            is_in_root: false,
            held: TypedIntegers::default(),
            runtime: Runtime::new(clock, random, tracker)
                .with_limits(settings.limits.of_expressions())
                .with_secrets(Some(secrets)),
            clock,
            random,
            tracker,
            secrets,
            settings,
            trace: None,
            turn: None,
            policy,
            namespace,
            loaders: Vec::new(),
            level: 0,
            window: None,
            loading: 0,
            iterations: 0,
            has_target: false,
            has_looped: false,
        }
    }

    /// Gives names of the context values; they may reach into the object.
    pub(super) fn assign<'v>(&mut self, assignments: impl Iterator<Item = &'v (DottedName, Value)>) {
        for (name, value) in assignments {
            self.fill_in();
            name.merge_into(&mut self.root, value);
        }
        if self.is_in_root {
            self.object = self.root.path(&["request", "object"]).cloned().unwrap_or_default();
            self.imaged = self.object.clone();
        }
    }

    /// The semantics of this evaluation and the divergences it came through.
    pub(super) const fn tracker(&self) -> &'a DivergenceTracker {
        self.tracker
    }

    /// How a document is substituted.
    pub(super) const fn substitution(&self, inline: Inline) -> Substitution<'a> {
        Substitution {
            tracker: self.tracker,
            deleting: self.deleting,
            inline,
            inline_root: if self.has_target { "target" } else { "request.object" },
            limits: self.settings.limits.of_substitution(),
        }
    }

    /// What is known of secrets.
    pub(super) const fn taint(&self) -> &'a TaintTracker {
        self.secrets
    }

    /// `request.object` as it stands.
    pub(super) const fn object(&self) -> &Value {
        &self.object
    }

    /// Makes this value `request.object`.
    pub(super) fn set_object(&mut self, object: &Value) {
        self.held.object = true;
        self.object = object.clone();
        self.is_in_root = false;
    }

    /// Makes this value what the loops of a rule have made so far.
    pub(super) fn set_patched(&mut self, object: &Value) {
        if !self.has_target {
            return self.set_object(object);
        }
        self.has_looped = true;
        match self.tracker.semantics() {
            Semantics::Documented => self.put(&TARGET.into(), object.clone()),
            Semantics::Kyverno => self.set_object(object),
        }
    }

    /// Makes this object the target, with steps and a trace of its own.
    pub(super) fn enter_target(&mut self, target: &Value, traced: bool) {
        self.iterations = 0;
        self.restart_runtime();
        self.trace = traced.then(Trace::default);
        self.has_target = true;
        self.secrets.see(target);
        self.held.name(&TARGET.into(), true);
        self.put(&TARGET.into(), target.clone());
    }

    /// Takes back what the rule did with a target, and hands out the trace. What a loop made of
    /// `request.object` stays in Kyverno.
    pub(super) fn leave_target(&mut self, saved: &Saved) -> Option<Box<Trace>> {
        let object = self.object.clone();
        self.restore(saved);
        if self.has_looped && self.tracker.semantics() == Semantics::Kyverno {
            self.set_object(&object);
        }
        self.has_target = false;
        self.take_trace()
    }

    /// Does something that neither the trace nor the sequence of chance shall show.
    pub(super) fn aside<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let (trace, calls) = (self.trace.take(), self.random.call.get());
        let result = run(self);
        self.trace = trace;
        self.random.call.set(calls);
        result
    }

    /// Hands out the trace so far.
    pub(super) fn take_trace(&mut self) -> Option<Box<Trace>> {
        self.trace.take().map(Box::new)
    }

    fn restart_runtime(&mut self) {
        self.runtime = Runtime::new(self.clock, self.random, self.tracker)
            .with_limits(self.settings.limits.of_expressions())
            .with_secrets(Some(self.secrets));
    }

    /// Tells that Kyverno has put the object into the context again, which a request does not do by itself: from now on
    /// the integers in it are held as integers.
    pub(super) const fn hold_object(&mut self) {
        self.held.object = true;
    }

    /// Tells that this holds for the stored object as well: no request is under way.
    pub(super) const fn hold_objects(&mut self) {
        self.held.object = true;
        self.held.old_object = true;
    }

    /// What Kyverno makes of the integers that variables have given since the last call.
    pub(super) const fn take_integers(&mut self) -> IntegerTyping {
        let gave = std::mem::replace(&mut self.held.gave, false);
        if gave { IntegerTyping::Integers } else { IntegerTyping::Floats }
    }

    /// Gives the root the object.
    fn fill_in(&mut self) {
        if !self.is_in_root
            && let Some(request) = self.root.as_object_mut().and_then(|root| root.get_mut("request"))
        {
            request.insert("object", self.object.clone());
            self.is_in_root = true;
        }
    }

    /// Gives a rule its own steps, chance, values and trace; what the rule adds to the context goes when
    /// the returned state is restored.
    pub(super) fn enter(&mut self, rule: &Rule, values: &Values, traced: bool) -> Saved {
        let saved = self.checkpoint();
        self.iterations = 0;
        self.random.restart(self.policy, &rule.name);
        self.restart_runtime();
        self.trace = traced.then(Trace::default);
        self.turn = None;
        for (name, value) in values.of_rule(self.policy, rule.source_name()) {
            self.fill_in();
            name.merge_into(&mut self.root, value);
        }
        self.register(&rule.context);
        saved
    }

    /// Takes back what a rule added, and hands out its trace.
    pub(super) fn leave(&mut self, saved: Saved) -> Option<Box<Trace>> {
        let Saved { root, object, is_in_root, has_images, held_names, level } = saved;
        (self.root, self.object, self.held.names) = (root, object, held_names);
        (self.is_in_root, self.has_images) = (is_in_root, has_images);
        self.keep_loaders_below(level);
        self.level = level.saturating_sub(1);
        self.has_looped = false;
        self.take_trace()
    }

    /// Opens a checkpoint: the context as it stands, to come back to.
    pub(super) fn checkpoint(&mut self) -> Saved {
        self.level += 1;
        Saved {
            root: self.root.clone(),
            object: self.object.clone(),
            is_in_root: self.is_in_root,
            has_images: self.has_images,
            held_names: self.held.names.clone(),
            level: self.level,
        }
    }

    /// Takes back what was added since, and leaves the checkpoint open. What older context entries were
    /// found to be stays.
    pub(super) fn reset(&mut self, saved: &Saved) {
        self.root = saved.root.clone();
        self.object = saved.object.clone();
        self.is_in_root = saved.is_in_root;
        self.has_images = saved.has_images;
        self.held.names.clone_from(&saved.held_names);
        self.keep_loaders_below(saved.level);
    }

    /// Takes back what was added since, and closes the checkpoint.
    pub(super) fn restore(&mut self, saved: &Saved) {
        self.reset(saved);
        self.level = saved.level.saturating_sub(1);
    }

    /// Gives the context a value under a name.
    pub(super) fn put(&mut self, name: &Text, value: Value) {
        self.root.insert(name.clone(), value);
    }

    /// What the context holds under a name.
    pub(super) fn held(&self, name: &str) -> Option<&Value> {
        self.root.get(name)
    }

    /// What evaluates expressions.
    pub(super) const fn runtime(&self) -> &Runtime<'a> {
        &self.runtime
    }

    /// What is the same for all objects of the run.
    pub(super) const fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// Looks up what a context entry needs.
    pub(super) fn lookup(&self, source: LookupSource<'_>) -> Result<Value, LookupError> {
        lookups::lookup(self.clock.0, self.secrets, source)
    }

    /// Makes this value, which comes from an expression, the element of a loop that so many others are around.
    pub(super) fn set_element(&mut self, (element, from): (&Value, &Query), index: usize, nesting: usize) {
        /// What the element of every loop is called, and what that of an outermost one is called besides.
        static NAMES: LazyLock<[LoopNames; 2]> = LazyLock::new(|| [LoopNames::new(""), LoopNames::new("0")]);
        let [plain, outermost] = &*NAMES;
        let inner = (nesting > 0).then(|| LoopNames::new(&nesting.to_string()));
        let nested = inner.as_ref().unwrap_or(outermost);
        let index = Value::from(i64::try_from(index).unwrap_or(i64::MAX));
        let is_held = self.held.gives(from.text());
        let Some(root) = self.root.as_object_mut() else { return };
        root.reserve(2 * NAMES.len());
        for names in [nested, plain] {
            self.held.name(&names.element, is_held);
            root.insert(names.element.clone(), element.clone());
            root.insert(names.index.clone(), index.clone());
        }
    }

    /// Whether a loop goes through its elements.
    pub(super) fn is_in_loop(&self) -> bool {
        self.root.get("elementIndex").is_some()
    }

    /// Answers an expression without braces around it.
    pub(super) fn evaluate(&mut self, query: &Query) -> Result<Value, QueryError> {
        self.query(query)
    }

    /// Counts the elements of a loop; the limit where they are too many.
    pub(super) fn count_iterations(&mut self, elements: usize) -> Result<(), usize> {
        self.iterations = self.iterations.saturating_add(elements);
        let maximum = self.settings.limits.foreach_iterations;
        if self.iterations > maximum { Err(maximum) } else { Ok(()) }
    }

    /// Notes a condition for the trace.
    pub(super) fn see(&mut self, condition: ConditionTrace) {
        if let Some(trace) = &mut self.trace {
            trace.conditions.push(ConditionTrace { turn: self.turn, ..condition });
        }
    }

    /// Notes for the trace that a loop comes to an element. One that is never ended has failed.
    pub(super) fn begin_turn(&mut self, place: &Pointer, list: &Text, index: usize) -> Option<OpenTurn> {
        let trace = self.trace.as_mut()?;
        let open = OpenTurn {
            turns: trace.turns.len(),
            conditions: trace.conditions.len(),
            variables: trace.variables.len(),
        };
        trace.turns.push(Iteration {
            place: place.clone(),
            list: list.clone(),
            index,
            outer: self.turn,
            fate: ElementOutcome::Failed,
        });
        self.turn = Some(open.turns);
        Some(open)
    }

    /// Notes what became of the element; of too many nothing is kept but their number.
    pub(super) fn end_turn(&mut self, open: Option<OpenTurn>, fate: ElementOutcome) {
        let (Some(trace), Some(open)) = (&mut self.trace, open) else { return };
        if let Some(turn) = trace.turns.get_mut(open.turns) {
            turn.fate = fate;
            self.turn = turn.outer;
        }
        if open.turns >= Trace::TURNS {
            trace.turns_left_out += trace.turns.len() - open.turns;
            trace.turns.truncate(open.turns);
            trace.conditions.truncate(open.conditions);
            trace.variables.truncate(open.variables);
        }
    }

    /// Whether what is looked at is noted for a trace.
    pub(super) const fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Notes an exception that does not apply for the trace.
    pub(super) fn see_exception(&mut self, exception: ExceptionTrace) {
        if let Some(trace) = &mut self.trace {
            trace.exceptions.push(exception);
        }
    }

    /// Gives the root the images of the object that the policy was given.
    fn add_images(&mut self) -> Result<(), QueryError> {
        if self.images.is_none() {
            self.secrets.note_read(&self.imaged);
            let images = images::images(&self.imaged).map_err(|text| QueryError::Load(text.into()))?;
            if let Some(images) = images.as_ref().filter(|_| self.secrets.holds(&self.imaged)) {
                self.secrets.note(images, &[&self.imaged]);
            }
            self.images = Some(images);
        }
        if let Some(Some(images)) = &self.images {
            self.root.insert("images", images.clone());
        }
        self.has_images = true;
        Ok(())
    }

    fn answer(&mut self, query: &Query) -> Result<Value, QueryError> {
        self.load_matching(query.text())?;
        let expression = query.expression()?;
        self.fill_in();
        if self.has_looped && (names(query.text(), TARGET) || query.text().contains("request.object")) {
            self.tracker.reach(Divergence::ForeachOnTarget);
        }
        if !self.has_images && names(query.text(), "images") {
            self.add_images()?;
        }
        let (calls, _) = (self.random.call.get(), self.runtime.take_numbers_read());
        let found = expression.search(&self.root, &self.runtime);
        let gives = self.held.gives(query.text());
        self.held.gave |= gives;
        // How integers are held matters only to what looks at them.
        if !self.runtime.take_numbers_read() || !(gives || names(query.text(), "request")) {
            return found.map_err(QueryError::Failed);
        }
        let called = self.random.call.replace(calls);
        let root = self.held.root(&self.root, &self.object, &self.runtime).map_err(QueryError::Failed)?;
        let in_cluster = expression.search(&root, &self.runtime).map(|value| value.without_typed_integers());
        let is_same = match (&found, &in_cluster) {
            (Ok(found), Ok(other)) => found == other,
            (Err(found), Err(other)) => found == other,
            _ => false,
        };
        let found = if is_same || self.tracker.documented(Divergence::HeldIntegers) {
            self.random.call.set(called);
            found
        } else {
            in_cluster
        };
        found.map_err(QueryError::Failed)
    }
}

/// What a loop calls its element and the place of it.
struct LoopNames {
    element: Text,
    index: Text,
}

impl LoopNames {
    fn new(nesting: &str) -> Self {
        Self { element: format!("element{nesting}").into(), index: format!("elementIndex{nesting}").into() }
    }
}

/// How much the trace held when a loop came to an element.
pub(super) struct OpenTurn {
    turns: usize,
    conditions: usize,
    variables: usize,
}

/// The context at some time, without what is the same for the whole policy.
pub(super) struct Saved {
    root: Value,
    object: Value,
    is_in_root: bool,
    has_images: bool,
    held_names: Vec<Text>,
    level: usize,
}

impl Scope for Context<'_> {
    fn secrets(&self) -> Option<&TaintTracker> {
        Some(self.secrets)
    }

    fn query(&mut self, query: &Query) -> Result<Value, QueryError> {
        let answer = self.answer(query);
        if let Some(trace) = &mut self.trace {
            let value = answer.clone().map_err(|error| VariableError(error.to_string()));
            let seen = VariableTrace { turn: self.turn, expression: Text::clone(query.text()), value };
            trace.variables.push(seen);
        }
        answer
    }
}
