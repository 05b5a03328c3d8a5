//! The variables of the expressions of a CEL policy.

use std::cell::{Cell, OnceCell, RefCell};

use crate::cel::{Env, EvalError, Host, Meter, Numbers, Program, Val, Variables};
use crate::engine::admission_request;
use crate::engine::evaluation::Evaluation;
use crate::policy::{CelPolicy, CelVariant, Operation};
use crate::semantics::Semantics;
use crate::value::{ObjectRef, Text, Value};

/// The bytes of the objects that the mutations of a policy read together.
const MAX_MUTATED_BYTES: usize = 1 << 30;

/// So many mutations stay below that on all but enormous objects.
const UNCOUNTED_MUTATIONS: usize = 64;

/// Each of many mutations takes one step for so many bytes of the object.
const BYTES_OF_STEP: usize = 32;

/// The variables of one run of a policy: one object, one binding, one parameter.
pub(super) struct Scope<'a> {
    pub(super) evaluation: &'a Evaluation<'a>,
    pub(super) policy: &'a CelPolicy,
    variant: &'a CelVariant,
    /// Whether Kyverno runs the policy.
    is_of_kyverno: bool,
    /// Whether there is an empty map where an object of a request is not there, not null.
    has_empty_objects: bool,
    operation: Operation,
    object: RefCell<Value>,
    /// Whether the object is a target, and the request that of its trigger.
    is_target: bool,
    /// Whether `namespaceObject` is null, whatever the namespace is.
    hides_namespace: Cell<bool>,
    /// How many random numbers were used.
    pub(super) random_calls: Cell<u64>,
    params: Val,
    allowed: Allowed,
    request: OnceCell<Val>,
    namespace: OnceCell<Val>,
    /// The values of `variables.NAME`, by number.
    found: RefCell<Vec<Option<Result<Val, EvalError>>>>,
    /// The bytes that were made for them.
    found_bytes: Cell<usize>,
    /// The bytes that mutations made.
    mutation_bytes: Cell<usize>,
    /// The bytes of the objects that were mutated, each counted once for each mutation.
    mutated_bytes: Cell<usize>,
    /// Whether `request.userInfo` may have been read.
    reads_request: Cell<bool>,
}

/// What partial exceptions allow.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowed {
    pub(super) images: Vec<Text>,
    pub(super) values: Vec<Text>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        evaluation: &'a Evaluation<'a>,
        (policy, variant, side): (&'a CelPolicy, &'a CelVariant, Semantics),
        operation: Operation,
        object: Value,
    ) -> Self {
        Self {
            evaluation,
            policy,
            variant,
            is_of_kyverno: policy.kind.is_of_kyverno(),
            has_empty_objects: policy.kind.is_of_kyverno() && side == Semantics::Kyverno,
            operation,
            object: RefCell::new(object),
            is_target: false,
            hides_namespace: Cell::new(false),
            random_calls: Cell::new(0),
            params: Val::Null,
            allowed: Allowed::default(),
            request: OnceCell::new(),
            namespace: OnceCell::new(),
            found: RefCell::new(vec![None; variant.variables.programs.len()]),
            found_bytes: Cell::new(0),
            mutation_bytes: Cell::new(0),
            mutated_bytes: Cell::new(0),
            reads_request: Cell::new(false),
        }
    }

    /// For a target: what the request brings is that of the trigger.
    pub(super) const fn of_target(mut self) -> Self {
        self.is_target = true;
        self
    }

    /// With a parameter; null for none.
    pub(super) fn with_params(mut self, params: &Value) -> Self {
        self.params = Val::from_json(params, Numbers::Exact);
        self
    }

    pub(super) fn allow(&mut self, allowed: Allowed) {
        self.allowed = allowed;
    }

    /// The object as changed so far.
    pub(super) fn object(&self) -> Value {
        self.object.borrow().clone()
    }

    /// Sets what `object` is. The API server then evaluates the policy's variables again, Kyverno does not.
    pub(super) fn set_object(&self, object: Value) {
        self.object.replace(object);
        if !self.is_of_kyverno {
            self.found.borrow_mut().fill(None);
            self.found_bytes.set(0);
        }
    }

    /// Evaluates conditions of the policy. The API server has no namespace there.
    pub(super) fn while_matching<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        self.hides_namespace.set(!self.is_of_kyverno);
        let result = evaluate();
        self.hides_namespace.set(false);
        result
    }

    /// The policy's variables that were evaluated.
    pub(super) fn found(&self) -> Vec<(Text, Result<Val, EvalError>)> {
        let found = self.found.borrow();
        let names = self.variant.variables.names.iter();
        names.zip(found.iter()).filter_map(|(name, found)| Some((name.clone(), found.clone()?))).collect()
    }

    pub(super) const fn variant(&self) -> &'a CelVariant {
        self.variant
    }

    /// What expressions may name.
    pub(super) const fn env(&self) -> &'a Env {
        &self.variant.env
    }

    /// Evaluates an expression.
    pub(super) fn evaluate(&self, program: &Program) -> Result<Val, EvalError> {
        if let Some(limit) = self.evaluation.exceeded_steps(0) {
            return Err(EvalError::StepLimit(limit));
        }
        let mut meter = self.meter();
        let value = program.evaluate(self, &mut meter);
        self.evaluation.add_steps(meter.work());
        value
    }

    /// Evaluates the expression of a mutation, whose result the object keeps.
    pub(super) fn evaluate_mutation(&self, program: &Program) -> Result<Val, EvalError> {
        self.evaluate_kept(program, &self.mutation_bytes)
    }

    /// Whether the object may be mutated once more: each mutation reads it as a whole.
    pub(super) fn allows_mutation(&self, object: &Value) -> bool {
        if self.variant.mutations.len() <= UNCOUNTED_MUTATIONS {
            return true;
        }
        let weight = object.weight();
        self.evaluation.add_steps((weight / BYTES_OF_STEP) as u64);
        let bytes = self.mutated_bytes.get().saturating_add(weight);
        self.mutated_bytes.set(bytes);
        bytes <= MAX_MUTATED_BYTES
    }

    /// A meter for one evaluation: it has a cost of its own, as in the API server, but not the memory that earlier ones keep.
    fn meter(&self) -> Meter {
        Meter::default().with_bytes(self.found_bytes.get().saturating_add(self.mutation_bytes.get()))
    }

    fn evaluate_kept(&self, program: &Program, kept: &Cell<usize>) -> Result<Val, EvalError> {
        if let Some(limit) = self.evaluation.exceeded_steps(0) {
            return Err(EvalError::StepLimit(limit));
        }
        let mut meter = self.meter();
        let before = meter.bytes();
        let value = program.evaluate(self, &mut meter);
        self.evaluation.add_steps(meter.work());
        kept.set(kept.get().saturating_add(meter.bytes() - before));
        value
    }

    /// How to raise a limit.
    pub(super) fn limit_hint(&self, limit: &str) -> String {
        self.evaluation.engine.settings().input_names.limit_hint(limit)
    }

    /// Whether an expression read the request.
    pub(super) const fn reads_request(&self) -> bool {
        self.reads_request.get()
    }

    /// The object that is mutated is a target of this kind and name; `None` if it is the object of the request.
    pub(super) fn target(&self) -> Option<ObjectRef> {
        self.is_target.then(|| ObjectRef::of(&self.object.borrow())).flatten()
    }

    fn old(&self) -> Val {
        if self.is_target {
            return Val::Null;
        }
        match (self.operation, self.evaluation.old) {
            (Operation::Create | Operation::Connect, _) => Val::from_json(&self.absent(), Numbers::Exact),
            (Operation::Update | Operation::Delete, old) => {
                Val::from_json(old.unwrap_or(self.evaluation.original), Numbers::Exact)
            }
        }
    }

    /// The stored object of a request without one.
    fn absent(&self) -> Value {
        if self.has_empty_objects { Value::empty_object() } else { Value::Null }
    }

    fn request(&self) -> Val {
        self.reads_request.set(true);
        let create = || {
            let mut request = admission_request::request(self.evaluation, Some(self.operation));
            if self.is_of_kyverno {
                request.insert("object", self.evaluation.original.clone());
                let old = match self.operation {
                    Operation::Create | Operation::Connect => self.absent(),
                    Operation::Update | Operation::Delete => {
                        self.evaluation.old.unwrap_or(self.evaluation.original).clone()
                    }
                };
                request.insert("oldObject", old);
            }
            Val::from_json(&request, Numbers::Exact)
        };
        self.request.get_or_init(create).clone()
    }

    fn namespace(&self) -> Val {
        if self.is_target || self.hides_namespace.get() {
            return Val::Null;
        }
        let create = || Val::from_json(&admission_request::namespace_object(self.evaluation), Numbers::Exact);
        self.namespace.get_or_init(create).clone()
    }

    fn exceptions(&self) -> Val {
        let texts = |texts: &[Text]| Value::array(texts.iter().cloned().map(Value::String).collect());
        let allowed = Value::from_iter([
            ("allowedImages", texts(&self.allowed.images)),
            ("allowedValues", texts(&self.allowed.values)),
        ]);
        Val::from_json(&allowed, Numbers::Exact)
    }
}

impl Variables for Scope<'_> {
    fn variable(&self, number: usize) -> Option<Val> {
        Some(match &**self.variant.env.variables().nth(number)? {
            "object" => Val::from_json(&self.object.borrow(), Numbers::Exact),
            "oldObject" => self.old(),
            "request" => self.request(),
            "namespaceObject" => self.namespace(),
            "params" => self.params.clone(),
            "exceptions" => self.exceptions(),
            _ => return None,
        })
    }

    fn name(&self, number: usize) -> String {
        self.variant.env.variables().nth(number).map(ToString::to_string).unwrap_or_default()
    }

    fn definition(&self, number: usize) -> Result<Val, EvalError> {
        if let Some(Some(found)) = self.found.borrow().get(number) {
            return found.clone();
        }
        let Some(program) = self.variant.variables.programs.get(number) else {
            return Err(EvalError::NoSuchAttribute(format!("variables #{number}")));
        };
        // An expression names only earlier ones, so this ends. Each has a limit of its own, as in the API server.
        let value = self.evaluate_kept(program, &self.found_bytes);
        if let Some(slot) = self.found.borrow_mut().get_mut(number) {
            *slot = Some(value.clone());
        }
        value
    }

    fn known_error(&self, number: usize) -> Option<EvalError> {
        self.found.borrow().get(number)?.as_ref()?.as_ref().err().cloned()
    }

    fn host(&self) -> Option<&dyn Host> {
        Some(self)
    }
}
