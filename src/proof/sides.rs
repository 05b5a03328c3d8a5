//! The two sides of a proof, ready to be run.

use crate::engine::{Engine, Settings};
use crate::policy::{Operation, Policy, PolicySet, UserInfo};
use crate::semantics::Semantics;
use crate::value::Value;

use super::facts::Facts;
use super::request::{Answer, Case, Evaluated, Surroundings};
use super::schema::ObjectSchemas;
use super::stored::TargetKind;
use super::{Input, Options};

/// Both sides, for each user of requests.
pub(super) struct Sides<'a> {
    old: Vec<Engine>,
    new: Vec<Engine>,
    /// The new policies in reverse order, if there are several.
    reversed: Vec<Engine>,
    /// How many engines are for creations and updates; the others are for deletions by the same users.
    users: usize,
    /// The new policies under the semantics of Kyverno, if the others are documented ones.
    in_kyverno: Vec<Engine>,
    /// Whether these may do something else without a divergence that the documented ones reach with an object.
    differs_in_kyverno: bool,
    surroundings: Surroundings<'a>,
    schemas: ObjectSchemas,
}

/// What came of a request.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) case: Case,
    /// As an API server passes the object to policies; `None` if its kind is not known, or that is as written.
    pub(super) admitted: Option<Answers>,
    /// As manifests have it.
    pub(super) written: Answers,
}

/// The answers of both sides to a request in one view.
#[derive(Debug)]
pub(super) struct Answers {
    /// The object that policies see.
    pub(super) before: Value,
    pub(super) old: Evaluated,
    pub(super) new: Evaluated,
    /// The answer of the new policies in reverse order.
    pub(super) reversed: Option<Answer>,
    /// What the new policies do in Kyverno, if it may be something else than documented.
    pub(super) in_kyverno: Option<Evaluated>,
}

impl<'a> Sides<'a> {
    pub(super) fn new(
        Input { old, new, new_in_kyverno, world, is_world_of_all, .. }: &Input<'a>,
        (users, deletes): (&[UserInfo], bool),
        (facts, targets): (&Facts, Vec<TargetKind>),
        schemas: ObjectSchemas,
        options: &Options,
    ) -> Self {
        let by_name = |policies: &[Policy]| {
            let mut policies = policies.to_vec();
            policies.sort_by_key(Policy::full_name);
            policies
        };
        let engines_in = |policies: &[Policy], semantics| -> Vec<Engine> {
            let settings = |user, operation| Settings { semantics, operation, ..settings(user, options) };
            let operations: &[Option<Operation>] =
                if deletes { &[None, Some(Operation::Delete)] } else { &[None] };
            let requests =
                operations.iter().flat_map(|operation| users.iter().map(move |user| (user, *operation)));
            let engine =
                |(user, operation)| Engine::new(PolicySet::new(policies.to_vec()), settings(user, operation));
            requests.map(engine).collect()
        };
        let engines = |policies: &[Policy]| engines_in(policies, options.semantics);
        let in_kyverno = new_in_kyverno.filter(|_| options.semantics == Semantics::Documented);
        let has_divergences =
            |policies: &[Policy]| policies.iter().any(|policy| !policy.meta().divergences.is_empty());
        let differs_in_kyverno = in_kyverno.is_some_and(|policies| {
            policies.len() != new.len() || has_divergences(policies) || has_divergences(new)
        });
        let new = by_name(new);
        let backwards: Vec<Policy> = new.iter().rev().cloned().collect();
        Self {
            old: engines(old),
            new: engines(&new),
            reversed: if new.len() > 1 { engines(&backwards) } else { Vec::new() },
            in_kyverno: in_kyverno
                .map_or_else(Vec::new, |policies| engines_in(&by_name(policies), Semantics::Kyverno)),
            differs_in_kyverno,
            users: users.len(),
            surroundings: Surroundings {
                now: options.now,
                data_keys: facts.data_keys.clone(),
                knows_images: facts.knows_images,
                world: *world,
                is_world_of_all: *is_world_of_all,
                users: users.to_vec(),
                targets,
            },
            schemas,
        }
    }

    pub(super) const fn schemas(&self) -> &ObjectSchemas {
        &self.schemas
    }

    /// Evaluates a request on both sides, in both views.
    pub(super) fn run(&self, case: &Case) -> Run {
        let admitted = self.admitted(case);
        let written = self.answers(case, admitted.is_none());
        Run { admitted, written, case: case.clone() }
    }

    /// The answers to a request as an API server passes it on; `None` if nothing is known of its kind, or that is the object
    /// as written.
    fn admitted(&self, case: &Case) -> Option<Answers> {
        let object = self.schemas.view(&case.object)?;
        let old = case.old.as_ref().map(|old| self.schemas.view(old).unwrap_or_else(|| old.clone()));
        if object == case.object && old == case.old {
            return None;
        }
        Some(self.answers(&Case { object, old, ..case.clone() }, true))
    }

    fn answers(&self, case: &Case, is_counted: bool) -> Answers {
        let number = case.user + if case.is_deletion { self.users } else { 0 };
        let evaluate =
            |engines: &[Engine]| engines.get(number).map(|engine| case.evaluate(engine, &self.surroundings));
        let unknown = || Evaluated::unknown("no such user");
        let new = evaluate(&self.new).unwrap_or_else(unknown);
        // Where no divergence is reached, Kyverno does what is documented.
        let may_differ = self.differs_in_kyverno || !new.divergences.is_empty();
        Answers {
            before: case.object.clone(),
            old: evaluate(&self.old).unwrap_or_else(unknown),
            new,
            reversed: evaluate(&self.reversed).map(|evaluated| evaluated.answer),
            in_kyverno: if is_counted && may_differ { evaluate(&self.in_kyverno) } else { None },
        }
    }
}

fn settings(user: &UserInfo, options: &Options) -> Settings {
    Settings {
        schemas: options.schemas.clone(),
        kind_schemas: options.kind_schemas.clone(),
        user: Some(user.clone()),
        values: options.values.clone(),
        exceptions: options.exceptions.clone(),
        cel_exceptions: options.cel_exceptions.clone(),
        namespace: options.namespace.clone(),
        is_replay: options.is_replay,
        limits: options.limits,
        trace: true,
        ..Settings::default()
    }
}

impl Run {
    /// The answers that count: as an API server passes the object on, if that is known.
    pub(super) fn counted(&self) -> &Answers {
        self.admitted.as_ref().unwrap_or(&self.written)
    }

    /// Whether it is a plain creation that both sides admit, without a failure.
    pub(super) fn is_sample(&self) -> bool {
        let is_admitted =
            |side: &Evaluated| matches!(side.answer, Answer::Admitted(_)) && !side.ignores_failure;
        let all = [Some(&self.written), self.admitted.as_ref()];
        self.case.is_plain_creation()
            && !self.looked_up()
            && all.into_iter().flatten().all(|answers| is_admitted(&answers.old) && is_admitted(&answers.new))
    }

    /// How both sides leave the object as written.
    pub(super) fn results(&self) -> Vec<Value> {
        let answers = [&self.written.old.answer, &self.written.new.answer];
        let admitted = answers.into_iter().filter_map(|answer| match answer {
            Answer::Admitted(after) => Some(after.clone()),
            Answer::Denied { .. } | Answer::Unknown(_) => None,
        });
        admitted.collect()
    }

    /// Which way it went on both sides.
    pub(super) fn signature(&self) -> String {
        let of = |answers: &Answers| format!("{}|{}", answers.old.signature, answers.new.signature);
        format!("{}|{}", of(&self.written), self.admitted.as_ref().map(of).unwrap_or_default())
    }

    /// The work that it was.
    pub(super) fn work(&self) -> u64 {
        let of = |answers: &Answers| {
            let sides = [Some(&answers.old), Some(&answers.new), answers.in_kyverno.as_ref()];
            sides.into_iter().flatten().map(|side| side.work).sum::<u64>()
        };
        of(&self.written) + self.admitted.as_ref().map_or(0, of)
    }

    /// Whether a side changes further objects.
    pub(super) const fn changes_targets(&self) -> bool {
        !self.written.old.targets.is_empty() || !self.written.new.targets.is_empty()
    }

    pub(super) const fn looked_up(&self) -> bool {
        self.written.old.looked_up || self.written.new.looked_up
    }
}
