//! Whether two sets of policies do the same: both are run on many requests, and the answers are compared.
//!
//! The requests are made from what the policies mention: their conditions, literals, patterns and paths, and the kinds'
//! schemas. It is evidence by test, not by logic. [`Creations`] are made in the same way for other questions. Pure: no
//! files, no clock, and random by a seed alone.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod bindings;
mod compare;
mod coverage;
mod creations;
mod facts;
mod generate;
mod images;
mod refusal;
mod request;
mod samples;
mod schema;
mod seen;
mod shrink;
mod sides;
mod stored;
mod traps;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use jiff::Timestamp;

use crate::admission::{KindSchemas, View};
use crate::engine::{Limits, Values, World};
use crate::patch::Schemas;
use crate::policy::{CelExceptions, Policy, PolicyExceptions, UserInfo};
use crate::resources::ApiResource;
use crate::secrets::Secrets;
use crate::semantics::{Divergence, DivergenceSet, Semantics};
use crate::value::{GroupVersionKind, Text, Value};

pub use compare::DifferenceKind;
pub use coverage::Coverage;
pub use creations::Creations;
pub use refusal::refusal;
pub use request::{Answer, Answers, Case};
pub use traps::Trap;

use compare::{Difference, Pair, difference, is_changed};
use facts::Facts;
use generate::Generator;
use samples::Samples;
use schema::ObjectSchemas;
use shrink::Shrinker;
use sides::{Run, Sides};

/// The most counterexamples for each rule.
const MAX_COUNTEREXAMPLES: usize = 5;

/// The most work of a proof, for each request that a rule may have: steps of expressions and loops, and some more for
/// each rule and for the bytes of objects.
const WORK_PER_REQUEST: u64 = 20_000;

/// The origin of given objects.
const GIVEN: &str = "given";

/// How a proof is made.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which semantics apply where Kyverno diverges from its documentation.
    pub semantics: Semantics,
    /// Merge keys of lists, for strategic merge patches.
    pub schemas: Schemas,
    /// The schemas of kinds.
    pub kind_schemas: KindSchemas,
    /// The kinds of definitions, each in all its versions.
    pub defined: Vec<ApiResource>,
    /// The most requests for each rule of the old policies.
    pub requests_per_rule: usize,
    /// The seed of random choices.
    pub seed: u64,
    /// The time that policies see.
    pub now: Timestamp,
    /// Values of variables.
    pub values: Values,
    /// Exceptions from classic policies.
    pub exceptions: PolicyExceptions,
    /// Exceptions from CEL policies.
    pub cel_exceptions: CelExceptions,
    /// The ordinary user of requests, if known.
    pub user: Option<UserInfo>,
    /// Whether lookups come from a recording without the values of Secrets.
    pub is_replay: bool,
    /// The namespace of objects that name none; empty means `default`.
    pub namespace: Text,
    /// Limits of the evaluation of one rule on one object.
    pub limits: Limits,
}

impl Options {
    /// How many requests a full proof has for each rule.
    pub const FULL: usize = 2000;
    /// How many requests a fast proof has for each rule.
    pub const FAST: usize = 200;

    /// The most work for generated requests.
    fn work(&self) -> u64 {
        WORK_PER_REQUEST.saturating_mul(self.requests_per_rule as u64)
    }
}

/// The result of a proof.
#[derive(Debug, Default)]
pub struct Proof {
    /// How many requests were compared.
    pub requests: usize,
    /// Whether they are fewer than wanted, because more would be too much work.
    pub stopped_early: bool,
    /// How many of them a rule of the old policies was for.
    pub matched: usize,
    /// How many of them the old policies changed.
    pub changed: usize,
    /// With how many of them the old policies changed further objects.
    pub targets: usize,
    /// How many of them both sides denied.
    pub refused: usize,
    /// The differences, each with its smallest request.
    pub counterexamples: Vec<Counterexample>,
    /// Which conditions of the policies were true and false.
    pub coverage: Coverage,
    /// How many requests differ only for manifests as they are written: not if an API server sets its defaults, and leaves
    /// out what is null or empty, before policies see the object.
    pub only_written: usize,
    /// The smallest of these.
    pub as_written: Vec<Counterexample>,
    /// What could not be compared, each reason once.
    pub unknown: Vec<String>,
    /// Creations that go different ways through the policies and that both sides answer alike, also as written and without a
    /// lookup: of each way the smallest, the smallest first.
    pub samples: Vec<Case>,
    /// Where Kyverno does something else with the old policies than is documented.
    pub divergences: BTreeMap<Divergence, Reached>,
}

/// The requests in which a divergence was reached.
#[derive(Clone, Debug)]
pub struct Reached {
    /// How many.
    pub requests: usize,
    /// The smallest object of them.
    pub object: Value,
}

/// A request that both sides answer differently.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The request, as small as possible.
    pub case: Case,
    /// Its object as policies see it.
    pub before: Value,
    /// How the answers differ.
    pub kind: DifferenceKind,
    /// The answer of the old policies.
    pub old: Answer,
    /// Why the old policies leave the object alone.
    pub old_reasons: Vec<String>,
    /// The answer of the new policies; of those in reverse order if that is the difference.
    pub new: Answer,
    /// Why the new policies leave the object alone.
    pub new_reasons: Vec<String>,
    /// Where the new policies do what is documented, and only Kyverno does not: the divergences.
    pub divergences: Option<DivergenceSet>,
    /// How many requests differ in this way.
    pub requests: usize,
    /// What the new policies may have fallen into.
    pub traps: Vec<Trap>,
    /// The values that must not be shown, if the request or what it looks up is not generated.
    pub secrets: Option<Secrets>,
}

impl Proof {
    /// Whether the answers to all requests were equal.
    pub const fn is_equal(&self) -> bool {
        self.counterexamples.is_empty()
    }
}

/// The kinds of objects that policies select.
pub fn kinds(policies: &[Policy]) -> Vec<GroupVersionKind> {
    Facts::of(policies, &[], &[]).kinds
}

/// What is compared.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The policies that are replaced.
    pub old: &'a [Policy],
    /// The policies that replace them.
    pub new: &'a [Policy],
    /// The new policies read with the semantics of Kyverno: where they do not do in a cluster what is documented, that is a
    /// difference, too.
    pub new_in_kyverno: Option<&'a [Policy]>,
    /// Objects beside the generated ones.
    pub given: &'a [Value],
    /// What given objects look up; where it has nothing, what they look up is generated.
    pub world: Option<&'a dyn World>,
    /// Whether generated objects look it up, too.
    pub is_world_of_all: bool,
}

/// Compares two sets of policies on given objects and on generated requests. `progress` gets the number of requests that
/// were evaluated since its last call.
pub fn prove(input: &Input<'_>, options: &Options, progress: &mut dyn FnMut(usize)) -> Proof {
    let Input { old, new, given, .. } = *input;
    let mut facts = Facts::of(old, new, &options.defined);
    if let (Some(ordinary), Some(user)) = (facts.users.first_mut(), &options.user) {
        ordinary.clone_from(user);
    }
    let schemas = ObjectSchemas::new(options.kind_schemas.clone());
    let targets = generate::target_kinds(&facts, &schemas);
    let sides = Sides::new(input, (&facts.users, facts.deletes), (&facts, targets), schemas, options);
    let limit = options.requests_per_rule.saturating_mul(facts.rules.max(1));
    let generator =
        Generator { sides: &sides, facts: &facts, limit, work: options.work(), seed: options.seed };
    let given: Vec<Case> = given.iter().map(|object| Case::of(object.clone(), GIVEN)).collect();
    let mut proof = Proof { coverage: Coverage::of(old, new), ..Proof::default() };
    let mut found = Differences::default();
    let mut written = Differences::default();
    let mut samples = Samples::default();
    let mut note = |run: Run| {
        proof.count(&run);
        let schemas = sides.schemas();
        if run.is_sample() && difference_of(&run.written, schemas).is_none() {
            samples.add(&run);
        }
        if let Some(difference) = difference_of(run.counted(), schemas) {
            Differing::add(&mut found, difference, run.case);
        } else if let Some(difference) = difference_of(&run.written, schemas) {
            proof.only_written += 1;
            Differing::add(&mut written, difference, run.case);
        }
    };
    let stopped_early = generator.run(&given, &mut note, progress);
    proof.stopped_early = stopped_early;
    if proof.targets == 0 {
        proof.unknown.extend(unchanged_targets(old));
    }
    proof.samples = samples.smallest_first();
    let most = MAX_COUNTEREXAMPLES * facts.rules.max(1);
    let shrunk = |found: &Differences, view, most| {
        let work = Cell::new(options.work());
        let mut all = Shrinker { sides: &sides, view, work }.counterexamples(found, most);
        for counterexample in &mut all {
            counterexample.traps = traps::of(counterexample, old, new);
            counterexample.old_reasons.extend(traps::no_autogen(&counterexample.before, old));
        }
        all
    };
    proof.counterexamples = shrunk(&found, View::Admitted, most);
    proof.as_written = shrunk(&written, View::Written, 1);
    proof
}

/// What differences are grouped by: their kind, whether it is one in Kyverno alone, and the cause.
type Key = (DifferenceKind, bool, String);

/// Requests that differ.
type Differences = BTreeMap<Key, Differing>;

/// Requests that differ in the same way.
struct Differing {
    /// How many.
    requests: usize,
    /// The smallest of them.
    smallest: Case,
}

impl Differing {
    fn add(all: &mut Differences, difference: Difference, case: Case) {
        match all.entry(difference.key()) {
            Entry::Vacant(vacant) => {
                vacant.insert(Self { requests: 1, smallest: case });
            }
            Entry::Occupied(mut occupied) => {
                let known = occupied.get_mut();
                known.requests += 1;
                if case.object.weight() < known.smallest.object.weight() {
                    known.smallest = case;
                }
            }
        }
    }
}

/// How the answers to a request differ.
fn difference_of(answers: &sides::Answers, schemas: &ObjectSchemas) -> Option<Difference> {
    let before = &answers.before;
    let pair = |new| Pair { before, old: &answers.old.answer, new };
    let of_orders = || {
        let reversed = answers.reversed.as_ref()?;
        let between = Pair { before, old: &answers.new.answer, new: reversed };
        let difference = difference(&between, schemas)?;
        Some(Difference { kind: DifferenceKind::PolicyOrder, ..difference })
    };
    let of_kyverno = || {
        let in_kyverno = answers.in_kyverno.as_ref()?;
        let difference = difference(&pair(&in_kyverno.answer), schemas)?;
        Some(Difference { is_in_kyverno: true, ..difference })
    };
    difference(&pair(&answers.new.answer), schemas)
        .or_else(|| compare::of_targets(&answers.old, &answers.new, schemas))
        .or_else(of_orders)
        .or_else(of_kyverno)
}

impl Proof {
    fn count(&mut self, run: &Run) {
        let answers = run.counted();
        for answer in [&answers.old.answer, &answers.new.answer] {
            if let Answer::Unknown(why) = answer {
                if !self.unknown.contains(why) {
                    self.unknown.push(why.clone());
                }
                return;
            }
        }
        self.requests += 1;
        for divergence in answers.old.divergences.iter() {
            let object = &run.case.object;
            let reached = self.divergences.entry(divergence);
            let reached = reached.or_insert_with(|| Reached { requests: 0, object: object.clone() });
            reached.requests += 1;
            if object.weight() < reached.object.weight() {
                reached.object = object.clone();
            }
        }
        self.matched += usize::from(answers.old.is_matched);
        let has_targets = !answers.old.targets.is_empty();
        self.targets += usize::from(has_targets);
        self.changed += usize::from(has_targets || is_changed(&answers.before, &answers.old.answer));
        let is_denied = |answer: &Answer| matches!(answer, Answer::Denied { .. });
        self.refused += usize::from(is_denied(&answers.old.answer) && is_denied(&answers.new.answer));
        for evaluated in [&answers.old, &answers.new, &run.written.old, &run.written.new] {
            self.coverage.note(&evaluated.conditions);
        }
    }
}

/// Policies that change other objects than that of the request, where none was changed.
fn unchanged_targets(old: &[Policy]) -> Vec<String> {
    let with_targets = old.iter().filter(|policy| policy.has_targets());
    let title =
        |policy: &Policy| format!("{}: no object was made that it changes as a target", policy.full_name());
    with_targets.map(title).collect()
}
