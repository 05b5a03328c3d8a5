//! Creations made from what policies mention, for other questions than whether two sets of policies do the same.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::World;
use crate::policy::Policy;
use crate::value::{GroupVersionKind, Value};

use super::facts::Facts;
use super::generate::Generator;
use super::request::{Answer, Case, Surroundings};
use super::samples::Samples;
use super::schema::ObjectSchemas;
use super::shrink::shrink;
use super::sides::{Run, Sides};
use super::{Input, Options};

/// For a pair of policies, objects of so many kinds are made.
const KINDS_OF_PAIR: usize = 3;

/// For a pair of policies, so many objects for each are joined with those for the other.
const CASES_OF_EACH: usize = 2;

/// What all creations see, and how they are made.
pub struct Creations<'a> {
    surroundings: Surroundings<'a>,
    schemas: ObjectSchemas,
    options: &'a Options,
    stopped_early: AtomicBool,
}

impl<'a> Creations<'a> {
    /// Creations for these policies. What they look up comes from the world if `is_asked`, and is generated where that has
    /// nothing.
    pub fn new(policies: &[Policy], options: &'a Options, (world, is_asked): (&'a dyn World, bool)) -> Self {
        let facts = Facts::of(policies, &[], &options.defined);
        Self {
            surroundings: Surroundings {
                now: options.now,
                data_keys: facts.data_keys,
                knows_images: facts.knows_images,
                world: Some(world),
                is_world_of_all: is_asked,
                users: facts.users,
                targets: Vec::new(),
            },
            schemas: ObjectSchemas::new(options.kind_schemas.clone()),
            options,
            stopped_early: AtomicBool::default(),
        }
    }

    /// Whether fewer creations than wanted were made so far, because more would be too much work.
    pub fn have_stopped_early(&self) -> bool {
        self.stopped_early.load(Ordering::Relaxed)
    }

    /// Creations that go different ways through these policies and are changed by them: of each way the smallest, the
    /// smallest first.
    pub fn of(&self, policy: &Policy) -> Vec<Case> {
        let facts = Facts::of(std::slice::from_ref(policy), &[], &self.options.defined);
        let limit = self.options.requests_per_rule.saturating_mul(facts.rules.max(1));
        self.generate(std::slice::from_ref(policy), facts, limit)
    }

    /// The same of two policies together, of the first of these kinds: a few new ones, and those for each policy joined.
    pub fn of_pair(&self, pair: [(&Policy, &[Case]); 2], kinds: &[GroupVersionKind]) -> Vec<Case> {
        let policies = pair.map(|(policy, _)| policy.clone());
        let mut facts = Facts::of(&policies, &[], &self.options.defined);
        facts.kinds.retain(|kind| kinds.contains(kind));
        facts.kinds.truncate(KINDS_OF_PAIR);
        let mut all = Vec::new();
        for kind in &facts.kinds {
            let [one, other] = pair.map(|(_, cases)| {
                let of_kind = |case: &&Case| GroupVersionKind::of(&case.object).as_ref() == Some(kind);
                cases.iter().filter(of_kind).take(CASES_OF_EACH)
            });
            for (one, other) in one.flat_map(|one| other.clone().map(move |other| (one, other))) {
                all.extend([joined(one, other), joined(other, one)]);
            }
        }
        all.retain(|case| self.schemas.admits(&case.object));
        // Each kind gets the least.
        all.extend(self.generate(&policies, facts, 0));
        all
    }

    fn generate(&self, policies: &[Policy], mut facts: Facts, limit: usize) -> Vec<Case> {
        // The ordinary user creates all of them.
        facts.users.truncate(1);
        if let (Some(ordinary), Some(user)) = (facts.users.first_mut(), &self.options.user) {
            ordinary.clone_from(user);
        }
        facts.deletes = false;
        facts.targets.clear();
        let input = Input {
            old: policies,
            new: &[],
            new_in_kyverno: None,
            given: &[],
            world: None,
            is_world_of_all: false,
        };
        let schemas = ObjectSchemas::new(self.options.kind_schemas.clone());
        let sides = Sides::new(&input, (&facts.users, false), (&facts, Vec::new()), schemas, self.options);
        let (work, seed) = (self.options.work(), self.options.seed);
        let generator = Generator { sides: &sides, facts: &facts, limit, work, seed };
        let mut samples = Samples::default();
        let mut note = |run: Run| {
            let answers = run.counted();
            let may_change = match &answers.old.answer {
                Answer::Admitted(after) => *after != answers.before,
                Answer::Denied { .. } => false,
                // What is not generated may be given.
                Answer::Unknown(_) => true,
            };
            if may_change && run.case.is_plain_creation() && run.case.cluster == 0 {
                samples.add(&run);
            }
        };
        if generator.run(&[], &mut note, &mut |_| {}) {
            self.stopped_early.store(true, Ordering::Relaxed);
        }
        samples.smallest_first()
    }

    /// Runs something with the world of a creation; also returns whether generated objects were looked up.
    pub fn in_world_of<T>(&self, case: &Case, run: impl FnOnce(&dyn World) -> T) -> (T, bool) {
        case.in_world(&self.surroundings, run)
    }

    /// The smallest creation of which `test` still returns something, found by leaving out.
    pub fn shrink<T>(&self, start: (Case, T), mut test: impl FnMut(&Case) -> Option<T>) -> (Case, T) {
        shrink(start, |case| if self.schemas.admits(&case.object) { test(case) } else { None })
    }
}

/// A creation with what another one has beside it.
fn joined(one: &Case, other: &Case) -> Case {
    Case {
        object: merged(&one.object, &other.object),
        namespace_labels: merged(&one.namespace_labels, &other.namespace_labels),
        ..one.clone()
    }
}

/// A value with what another one has beside it; elements of lists are merged by their places.
fn merged(one: &Value, other: &Value) -> Value {
    match (one, other) {
        (Value::Object(members), Value::Object(more)) => {
            let mut all = one.clone();
            for (key, value) in more.iter() {
                let value = members.get(key).map_or_else(|| value.clone(), |known| merged(known, value));
                all.insert(key.clone(), value);
            }
            all
        }
        (Value::Array(items), Value::Array(more)) => {
            let common = items.iter().zip(more.iter()).map(|(item, other)| merged(item, other));
            let longer = if items.len() < more.len() { more } else { items };
            let rest = longer.iter().skip(items.len().min(more.len())).cloned();
            Value::array(common.chain(rest).collect())
        }
        _ => one.clone(),
    }
}

impl Case {
    /// The labels of its namespace, beside that of the name; `None` if there are none.
    pub fn labels_of_namespace(&self) -> Option<&Value> {
        let is_filled = self.namespace_labels.as_object().is_some_and(|labels| !labels.is_empty());
        is_filled.then_some(&self.namespace_labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_joined_by_keys_and_places() {
        let read = |text: &str| Value::from_json(text).unwrap();
        let one = read(r#"{"a":1,"l":[{"x":1}],"m":{"p":1}}"#);
        let other = read(r#"{"a":2,"b":2,"l":[{"x":2,"y":2},{"z":2}],"m":{"q":2}}"#);
        let expected = r#"{"a":1,"l":[{"x":1,"y":2},{"z":2}],"m":{"p":1,"q":2},"b":2}"#;
        assert_eq!(merged(&one, &other).to_json(), expected);
    }
}
