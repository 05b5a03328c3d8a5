//! The requests of a proof: made from what policies mention, led by what happens when they are evaluated.
//!
//! A request that goes another way through the policies than all before it is the start of further ones, so that
//! conditions behind conditions are reached.

mod edit;
mod plan;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::value::{GroupVersionKind, Value};

use super::facts::Facts;
use super::request::Case;
use super::schema::{ObjectSchemas, base};
use super::sides::{Run, Sides};
use super::stored::TargetKind;

use edit::{BASE, Context, Edit};
use plan::Plan;

/// How many requests are evaluated at once.
const BATCH: usize = 64;

/// How many are evaluated before it is known how much work they are.
const FIRST_BATCH: usize = 4;

/// From how many requests of one kind others are made.
const MAX_STARTS: usize = 24;

/// The search for further ways through the policies takes at most so large a part of the work.
const SHARE_OF_SEARCH: u64 = 4;

/// Which share of its requests each round may use, in percent.
const SHARES: [usize; 4] = [45, 30, 10, 15];

/// The objects that policies with targets may change.
pub(super) fn target_kinds(facts: &Facts, schemas: &ObjectSchemas) -> Vec<TargetKind> {
    let kinds = facts.targets.iter().map(|target| {
        let of_kind = facts.of_kind(&target.kind);
        let context = Context { facts: &of_kind, kind: &target.kind, schemas };
        let plan = Plan::of(&context);
        let smallest = Case::of(base(&target.kind), BASE);
        let fitting = [(0, false), (0, true), (1, false)];
        let fitting = fitting
            .map(|(number, with_written)| plan.fitting(&smallest, number, with_written, &context).object);
        TargetKind { facts: target.clone(), contents: [smallest.object].into_iter().chain(fitting).collect() }
    });
    kinds.collect()
}

/// Makes the requests of a proof and evaluates them, in order.
pub(super) struct Generator<'a> {
    pub(super) sides: &'a Sides<'a>,
    pub(super) facts: &'a Facts,
    /// The most requests.
    pub(super) limit: usize,
    /// The most work for generated requests.
    pub(super) work: u64,
    pub(super) seed: u64,
}

impl Generator<'_> {
    /// Evaluates given requests and generated ones of all kinds; `found` gets what came of each. Returns whether there are
    /// fewer than wanted, because more would be too much work.
    pub(super) fn run(
        &self,
        given: &[Case],
        found: &mut dyn FnMut(Run),
        progress: &mut dyn FnMut(usize),
    ) -> bool {
        let mut known: BTreeSet<u64> = given.iter().map(|case| hash(&case.identity())).collect();
        let mut starts: BTreeMap<GroupVersionKind, Vec<Start>> = BTreeMap::new();
        for batch in given.chunks(BATCH) {
            for run in self.evaluate(batch) {
                if let Some(kind) = GroupVersionKind::of(&run.case.object) {
                    let of_kind = starts.entry(kind).or_default();
                    if of_kind.len() < GIVEN_STARTS {
                        of_kind.push(Start::of(&run));
                    }
                }
                found(run);
            }
            progress(batch.len());
        }
        let weight = |kind: &GroupVersionKind| match &*kind.kind {
            "Pod" => 4,
            "Deployment" | "CronJob" => 2,
            _ => 1,
        };
        let all: usize = self.facts.kinds.iter().map(weight).sum();
        let (mut work_left, mut weight_left, mut stopped_early) = (self.work, all as u64, false);
        for kind in &self.facts.kinds {
            let limit = self.limit * weight(kind) / all.max(1);
            let facts = self.facts.of_kind(kind);
            let context = Context { facts: &facts, kind, schemas: self.sides.schemas() };
            // What a kind leaves, the later ones share.
            let weight = weight(kind) as u64;
            let work = work_left / weight_left.max(1) * weight;
            let shared = Shared { known: &mut known, found: &mut *found, progress: &mut *progress };
            let mut run = KindRun::new(self, context, (limit.max(MIN_PER_KIND), work), shared);
            stopped_early |= run.run(starts.remove(kind).unwrap_or_default());
            work_left = work_left.saturating_sub(run.spent);
            weight_left = weight_left.saturating_sub(weight);
        }
        stopped_early
    }

    fn evaluate(&self, cases: &[Case]) -> Vec<Run> {
        cases.par_iter().map(|case| self.sides.run(case)).collect()
    }
}

/// Each kind gets so many requests at least, if they are not too much work.
const MIN_PER_KIND: usize = 24;

/// Others are made from so many given objects of one kind.
const GIVEN_STARTS: usize = 4;

/// What the runs of all kinds share.
struct Shared<'k> {
    /// The requests that were made, by hashes of what tells them apart.
    known: &'k mut BTreeSet<u64>,
    found: &'k mut dyn FnMut(Run),
    progress: &'k mut dyn FnMut(usize),
}

/// The generation for one kind.
struct KindRun<'a, 'k> {
    generator: &'a Generator<'a>,
    context: Context<'a>,
    plan: Plan,
    /// The most requests.
    limit: usize,
    /// The most work.
    work: u64,
    /// How many requests were evaluated.
    count: usize,
    /// The work that they were.
    spent: u64,
    shared: Shared<'k>,
    /// Hashes of the ways that requests went.
    signatures: BTreeSet<u64>,
    starts: Vec<Start>,
    has_lookups: bool,
    /// Whether requests were left out because they are too much work.
    has_left_out: bool,
}

/// A request from which others are made.
#[derive(Clone)]
struct Start {
    case: Case,
    /// How both sides leave its object.
    results: Vec<Value>,
    /// Whether policies change something.
    acts: bool,
}

impl Start {
    fn of(run: &Run) -> Self {
        let results = run.results();
        let acts = run.changes_targets() || results.iter().any(|after| *after != run.case.object);
        Self { case: run.case.clone(), results, acts }
    }
}

impl<'a, 'k> KindRun<'a, 'k> {
    fn new(
        generator: &'a Generator<'a>,
        context: Context<'a>,
        (limit, work): (usize, u64),
        shared: Shared<'k>,
    ) -> Self {
        let plan = Plan::of(&context);
        Self {
            generator,
            context,
            plan,
            limit,
            work,
            count: 0,
            spent: 0,
            shared,
            signatures: BTreeSet::new(),
            starts: Vec::new(),
            has_lookups: false,
            has_left_out: false,
        }
    }

    /// Returns whether the limit of work allowed fewer requests than wanted.
    fn run(&mut self, given: Vec<Start>) -> bool {
        self.base();
        self.starts.extend(given);
        let wanted = self.limit;
        self.limit = wanted.min(self.count.saturating_add(self.affordable()));
        let mut end = 0;
        for (round, share) in SHARES.into_iter().enumerate() {
            end += self.limit * share / 100;
            if round < 3 { self.round(round, end) } else { self.pairs(self.limit) }
        }
        self.has_left_out || self.limit < wanted && self.count >= self.limit
    }

    /// How many more requests are not too much work, if they are like the ones before.
    fn affordable(&self) -> usize {
        let each = (self.spent / self.count.max(1) as u64).max(1);
        usize::try_from(self.work.saturating_sub(self.spent) / each).unwrap_or(usize::MAX)
    }

    /// The smallest object, and objects that fit the conditions.
    fn base(&mut self) {
        let kind = self.context.kind;
        let smallest = Case::of(base(kind), BASE);
        let mut cases = vec![smallest.clone()];
        for with_written in [false, true] {
            let numbers = if self.limit < 100 { 0..2 } else { 0..6 };
            cases.extend(
                numbers.map(|number| self.plan.fitting(&smallest, number, with_written, &self.context)),
            );
        }
        // Rules may be for deletions alone.
        if self.context.facts.deletes {
            let deleted: Vec<Case> =
                cases.iter().filter_map(|case| Edit::Delete.apply(case, &self.context)).collect();
            cases.extend(deleted);
        }
        // A policy may be for some users alone.
        for user in 1..self.context.facts.users.len().min(4) {
            let fitted = cases.get(1).and_then(|case| Edit::User(user).apply(case, &self.context));
            cases.extend(fitted);
        }
        self.evaluate(cases);
        self.search(&smallest);
    }

    /// Objects with random values of the conditions, of which those are kept that go a way of their own.
    fn search(&mut self, smallest: &Case) {
        let tries = (self.limit / 10).clamp(8, 120);
        let most = self.spent.saturating_add(self.work / SHARE_OF_SEARCH);
        let mut random = Random(self.generator.seed ^ 0x5eed);
        let mut cases = Vec::new();
        for _ in 0..tries {
            let mut case = smallest.clone();
            let edits: Vec<Edit> = self
                .plan
                .choices
                .iter()
                .filter_map(|(path, values)| {
                    // Some stay absent.
                    let number = random.below(values.len() + values.len().div_ceil(2));
                    values.get(number).map(|value| Edit::Set(path.clone(), value.clone()))
                })
                .collect();
            let request = &self.plan.requests;
            let extra = (!request.is_empty() && random.below(3) == 0).then(|| random.below(request.len()));
            for edit in edits.iter().chain(extra.and_then(|number| request.get(number))) {
                if self.spent > most {
                    break;
                }
                self.spent = self.spent.saturating_add(case.work());
                if let Some(next) = edit.apply(&case, &self.context)
                    && self.context.schemas.admits(&next.object)
                {
                    case = next;
                }
            }
            case.origin = "generated: values of several conditions".into();
            cases.push(case);
        }
        self.evaluate(cases);
    }

    /// Changes each start by some of the plan, until a number of requests is reached.
    fn round(&mut self, round: usize, end: usize) {
        // What is changed tells more than what is left alone.
        self.starts.sort_by_key(|start| !start.acts);
        let mut next = 0;
        while next < self.starts.len() && self.count < end {
            let start = self.starts[next].clone();
            let edits = self.edits(round, &start);
            // The first starts are the smallest objects of their sort, and get most.
            let room = (end - self.count).div_ceil(if next == 0 { 2 } else { 3 });
            let step = edits.len().div_ceil(room.max(1)).max(1);
            let cases: Vec<Case> = edits
                .iter()
                .step_by(step)
                .filter_map(|edit| edit.apply(&start.case, &self.context))
                .collect();
            self.evaluate(cases);
            next += 1;
        }
    }

    fn edits(&self, round: usize, start: &Start) -> Vec<Edit> {
        let plan = &self.plan;
        match round {
            0 => {
                let mut edits = plan.literals.clone();
                edits.extend(plan.absences.iter().cloned());
                edits.extend(plan.lists.iter().cloned());
                if self.has_lookups {
                    edits.extend(Plan::answers());
                }
                edits
            }
            1 => {
                let mut edits = plan.requests.clone();
                edits.extend(plan.others.iter().cloned());
                edits.extend(plan.empties.iter().cloned());
                for after in &start.results {
                    edits.extend(plan.written_in(after, &self.context));
                }
                edits
            }
            _ => plan.texts.clone(),
        }
    }

    /// Two changes at once, in random order.
    fn pairs(&mut self, end: usize) {
        let all: Vec<Edit> = [
            &self.plan.literals,
            &self.plan.absences,
            &self.plan.lists,
            &self.plan.empties,
            &self.plan.requests,
            &self.plan.others,
            &self.plan.texts,
        ]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
        if all.is_empty() || self.starts.is_empty() {
            return;
        }
        let mut random = Random(self.generator.seed);
        // Many pairs are impossible, or known.
        let mut tries = end.saturating_sub(self.count) * 4;
        while self.count < end && self.affordable() > 0 && tries > 0 {
            let mut cases = Vec::new();
            while cases.len() < BATCH.min(end - self.count) && tries > 0 {
                tries -= 1;
                let start = &self.starts[random.below(self.starts.len())].case;
                let [one, two] = [0, 1].map(|_| &all[random.below(all.len())]);
                let changed =
                    one.apply(start, &self.context).and_then(|case| two.apply(&case, &self.context));
                cases.extend(changed);
            }
            self.evaluate(cases);
        }
        self.has_left_out |= self.count < end && tries > 0;
    }

    /// Evaluates those requests that are new and can reach admission, until they are too much work.
    fn evaluate(&mut self, cases: Vec<Case>) {
        let mut fresh: Vec<Case> = cases.into_iter().filter(|case| self.is_fresh(case)).collect();
        while !fresh.is_empty() {
            // The first ones tell how much work they are.
            let most = if self.count == 0 { FIRST_BATCH } else { BATCH.min(self.affordable()) };
            if most == 0 {
                self.has_left_out = true;
                return;
            }
            let later = fresh.split_off(most.min(fresh.len()));
            let evaluated = self.generator.evaluate(&fresh);
            (self.shared.progress)(evaluated.len());
            for run in evaluated {
                self.count += 1;
                self.spent = self.spent.saturating_add(run.work());
                self.has_lookups |= run.looked_up();
                if self.signatures.insert(hash(&run.signature())) && self.starts.len() < MAX_STARTS {
                    self.starts.push(Start::of(&run));
                    self.starts.extend(self.left_by(&run));
                }
                (self.shared.found)(run);
            }
            fresh = later;
        }
    }

    /// Whether a request is new and can reach admission.
    fn is_fresh(&mut self, case: &Case) -> bool {
        self.spent = self.spent.saturating_add(case.work());
        self.context.schemas.admits(&case.object)
            && GroupVersionKind::of(&case.object).as_ref() == Some(self.context.kind)
            && self.shared.known.insert(hash(&case.identity()))
    }

    /// The objects as both sides leave them, as the start of further requests: with everything that is written.
    fn left_by(&self, run: &Run) -> Vec<Start> {
        if self.starts.len() >= MAX_STARTS / 2 {
            return Vec::new();
        }
        let results = run.results().into_iter().filter(|after| *after != run.case.object);
        let as_left = |object| {
            let origin = format!("{}, as policies leave it", run.case.origin).into();
            Start { case: Case { object, origin, ..run.case.clone() }, results: Vec::new(), acts: false }
        };
        let is_valid = |start: &Start| self.context.schemas.admits(&start.case.object);
        results.map(as_left).filter(is_valid).take(1).collect()
    }
}

/// A hash of a text, the same in each run.
pub(super) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Random numbers by a seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut state = self.0;
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let number = usize::try_from((state ^ (state >> 31)) >> 1).unwrap_or(0);
        number % limit.max(1)
    }
}
