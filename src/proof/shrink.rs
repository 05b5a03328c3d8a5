//! Counterexamples: of the requests that differ for one cause the smallest.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use crate::admission::View;
use crate::value::{Pointer, Segment, Text, Value};

use super::compare::{self, Difference, DifferenceKind};
use super::request::{Answers, Case};
use super::sides::{self, Run, Sides};
use super::stored;
use super::{Counterexample, Differences, Differing, Key, difference_of};

/// The most evaluations for one counterexample.
const MAX_EVALUATIONS: usize = 600;

pub(super) struct Shrinker<'a> {
    pub(super) sides: &'a Sides<'a>,
    /// The view in which requests differ.
    pub(super) view: View,
    /// How much more work is allowed: then requests stay as large as they are.
    pub(super) work: Cell<u64>,
}

impl Shrinker<'_> {
    /// A counterexample for each cause, at most so many; each kind of difference has one before others have several.
    pub(super) fn counterexamples(&self, found: &Differences, most: usize) -> Vec<Counterexample> {
        let mut number_in_kind: BTreeMap<DifferenceKind, usize> = BTreeMap::new();
        let mut causes: Vec<(usize, &Key, &Differing)> = Vec::new();
        let mut by_count: Vec<_> = found.iter().collect();
        by_count.sort_by_key(|(cause, differing)| (cause.0, usize::MAX - differing.requests));
        for (cause, differing) in by_count {
            let number = number_in_kind.entry(cause.0).or_default();
            causes.push((*number, cause, differing));
            *number += 1;
        }
        causes.sort_by_key(|(number, ..)| *number);
        let mut all: Vec<Counterexample> = Vec::new();
        let mut seen = BTreeSet::new();
        // Causes that turn out to be the same are not counted.
        for (_, cause, differing) in causes.into_iter().take(most * 3) {
            if all.len() >= most {
                break;
            }
            let wanted = Difference { kind: cause.0, is_in_kyverno: cause.1, cause: cause.2.clone() };
            let Some((run, difference)) = self.shrunk(&differing.smallest, &wanted) else { continue };
            let kind = difference.kind;
            let is_in_kyverno = difference.is_in_kyverno;
            if seen.insert(difference.key()) {
                all.push(self.counterexample(run, (kind, is_in_kyverno), differing.requests));
            }
        }
        all.sort_by_key(|one| one.kind);
        all
    }

    fn answers<'r>(&self, run: &'r Run) -> &'r sides::Answers {
        if self.view == View::Written { &run.written } else { run.counted() }
    }

    /// The smallest request that differs in the same way.
    fn shrunk(&self, case: &Case, wanted: &Difference) -> Option<(Run, Difference)> {
        let differing = self.differing(case, wanted)?;
        let smaller = |case: &Case| if self.work.get() > 0 { self.differing(case, wanted) } else { None };
        let (_, found) = shrink((case.clone(), differing), smaller);
        Some(found)
    }

    fn counterexample(
        &self,
        run: Run,
        (kind, is_in_kyverno): (DifferenceKind, bool),
        requests: usize,
    ) -> Counterexample {
        let Run { mut case, admitted, written } = run;
        // Of several changes most are gone.
        if case.origin.contains(", ") {
            case.origin = if case.is_given() { "given, and changed" } else { "generated" }.into();
        }
        let counted = admitted.filter(|_| self.view == View::Admitted);
        let sides::Answers { mut before, mut old, new, reversed, in_kyverno } = counted.unwrap_or(written);
        let in_kyverno = in_kyverno.filter(|_| is_in_kyverno);
        let divergences = in_kyverno.as_ref().map(|evaluated| {
            let mut all = evaluated.divergences;
            all.extend(new.divergences);
            all
        });
        let mut new = in_kyverno.unwrap_or(new);
        let is_real = case.is_given() || old.reads_inputs || new.reads_inputs;
        let secrets = is_real.then(|| {
            let mut all = old.secrets.clone();
            all.extend(&new.secrets);
            all
        });
        let target = compare::differing_target(&old, &new, self.sides.schemas());
        let (of_old, of_new) = match (kind, reversed, target) {
            (DifferenceKind::PolicyOrder, Some(reversed), _) => (old.answer, reversed),
            (DifferenceKind::Targets, _, Some((target, [of_old, of_new], _))) => {
                before = target;
                for side in [&mut old, &mut new] {
                    side.reasons = vec![stored::reason(&before, &side.targets, &side.unchanged)];
                }
                (of_old, of_new)
            }
            _ => (old.answer, new.answer),
        };
        Counterexample {
            case,
            before,
            kind,
            old: of_old,
            old_reasons: old.reasons,
            new: of_new,
            new_reasons: new.reasons,
            divergences,
            requests,
            traps: Vec::new(),
            secrets,
        }
    }

    /// What came of a request, if it differs in the wanted way.
    fn differing(&self, case: &Case, wanted: &Difference) -> Option<(Run, Difference)> {
        // What is given may be anything.
        let is_valid = |object: &Value| self.sides.schemas().admits(object);
        if !(case.is_given() || is_valid(&case.object) && case.old.as_ref().is_none_or(is_valid)) {
            return None;
        }
        let run = self.sides.run(case);
        self.work.set(self.work.get().saturating_sub(run.work()));
        let difference = difference_of(self.answers(&run), self.sides.schemas())?;
        let paths = |cause: &'_ str| cause.split(", ").map(str::to_owned).collect::<BTreeSet<_>>();
        let is_same = difference.kind == wanted.kind
            && difference.is_in_kyverno == wanted.is_in_kyverno
            && (difference.cause == wanted.cause
                || !wanted.kind.is_refusal() && paths(&difference.cause).is_subset(&paths(&wanted.cause)));
        is_same.then_some((run, difference))
    }
}

/// The smallest request of which `test` still returns something, found by leaving out; at most [`MAX_EVALUATIONS`] are
/// tested.
pub(super) fn shrink<T>(start: (Case, T), mut test: impl FnMut(&Case) -> Option<T>) -> (Case, T) {
    let mut best = start;
    let mut left = MAX_EVALUATIONS;
    loop {
        let mut is_smaller = false;
        let mut tried = 0;
        // A change moves what comes after it: the steps are found anew.
        let mut steps = steps(&best.0);
        while let Some(step) = steps.get(tried) {
            let Some(rest) = left.checked_sub(1) else { return best };
            left = rest;
            let Some(case) = step.apply(&best.0) else {
                tried += 1;
                continue;
            };
            match test(&case) {
                Some(found) => {
                    best = (case, found);
                    steps = self::steps(&best.0);
                    is_smaller = true;
                }
                None => tried += 1,
            }
        }
        if !is_smaller {
            return best;
        }
    }
}

/// What makes a request a little smaller.
#[derive(Clone, Debug)]
enum Step {
    /// A creation instead of an update.
    WithoutOld,
    /// The ordinary user.
    OrdinaryUser,
    /// No deletion.
    NoDeletion,
    FirstCluster,
    WithAnswers,
    WithoutNamespaceLabel(Text),
    /// A part of the object removed, or set to something shorter; in the stored object alone, or in both if they are equal.
    Object {
        of_old: bool,
        at: Pointer,
        value: Option<Value>,
    },
}

impl Step {
    /// The smaller request; `None` if there is no such part.
    fn apply(&self, case: &Case) -> Option<Case> {
        let case = case.clone();
        Some(match self {
            Self::WithoutOld => Case { old: None, ..case },
            Self::OrdinaryUser => Case { user: 0, user_name: None, ..case },
            Self::NoDeletion => Case { is_deletion: false, ..case },
            Self::FirstCluster => Case { cluster: 0, ..case },
            Self::WithAnswers => Case { answers: Answers::Present, ..case },
            Self::WithoutNamespaceLabel(key) => {
                let mut fewer = case.namespace_labels.clone();
                fewer.remove(key);
                Case { namespace_labels: fewer, ..case }
            }
            Self::Object { of_old: true, at, value } => {
                Case { old: Some(edited(case.old.as_ref()?, at, value.clone())?), ..case }
            }
            Self::Object { of_old: false, at, value } => {
                let object = edited(&case.object, at, value.clone())?;
                // An update of the same object stays one.
                let is_same = case.old.as_ref() == Some(&case.object);
                let old = if is_same { Some(object.clone()) } else { case.old };
                Case { object, old, ..case }
            }
        })
    }
}

/// What makes a request a little smaller, what leaves most out first.
fn steps(case: &Case) -> Vec<Step> {
    let of_request = [
        (case.old.is_some(), Step::WithoutOld),
        (case.user != 0, Step::OrdinaryUser),
        (case.is_deletion, Step::NoDeletion),
        (case.cluster != 0, Step::FirstCluster),
        (case.answers != Answers::Present, Step::WithAnswers),
    ];
    let mut all: Vec<Step> =
        of_request.into_iter().filter_map(|(is_there, step)| is_there.then_some(step)).collect();
    let labels = case.namespace_labels.as_object().into_iter().flat_map(|labels| labels.keys());
    all.extend(labels.map(|key| Step::WithoutNamespaceLabel(key.clone())));
    for (of_old, object) in [(false, Some(&case.object)), (true, case.old.as_ref())] {
        let parts = object.map(parts).unwrap_or_default();
        all.extend(parts.into_iter().map(|(at, value)| Step::Object { of_old, at, value }));
    }
    all
}

/// The fields and elements that can be removed, and the texts with shorter ones; only as many as can be tried.
fn parts(object: &Value) -> Vec<(Pointer, Option<Value>)> {
    let mut parts = Vec::new();
    let mut texts = Vec::new();
    let mut open = vec![(Pointer::ROOT, object)];
    let mut next = 0;
    // By depth, so that most is left out first.
    while let Some((at, node)) = open.get(next).cloned()
        && parts.len() < MAX_EVALUATIONS
    {
        next += 1;
        match node {
            Value::Object(members) => {
                for (key, member) in members.iter().take(MAX_EVALUATIONS) {
                    let below = at.key(key.clone());
                    if !is_identity(&below) {
                        parts.push((below.clone(), None));
                    }
                    open.push((below, member));
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate().take(MAX_EVALUATIONS) {
                    parts.push((at.index(index), None));
                    open.push((at.index(index), item));
                }
            }
            Value::String(text) if text.chars().nth(1).is_some() && !is_identity(&at) => {
                let half: String = text.chars().take(text.chars().count() / 2).collect();
                texts.extend(["a".to_owned(), half].map(|text| (at.clone(), Some(Value::string(text)))));
            }
            _ => {}
        }
    }
    parts.extend(texts);
    parts
}

/// Whether a field identifies the object.
fn is_identity(at: &Pointer) -> bool {
    ["apiVersion", "kind", "metadata", "metadata.name", "spec.schedule"].contains(&&*at.to_string())
}

/// A copy with another value at a place, or without the place.
fn edited(object: &Value, at: &Pointer, value: Option<Value>) -> Option<Value> {
    let mut copy = object.clone();
    let (last, above) = at.segments().split_last()?;
    let mut node = &mut copy;
    for segment in above {
        node = match segment {
            Segment::Key(key) => node.as_object_mut()?.get_mut(key)?,
            Segment::Index(index) => node.as_array_mut()?.get_mut(*index)?,
        };
    }
    match (last, value) {
        (Segment::Key(key), Some(value)) => *node.as_object_mut()?.get_mut(key)? = value,
        (Segment::Key(key), None) => drop(node.remove(key)?),
        (Segment::Index(index), Some(value)) => *node.as_array_mut()?.get_mut(*index)? = value,
        (Segment::Index(index), None) => drop(node.as_array_mut()?.remove(*index)),
    }
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_shrink_by_fields_elements_and_characters() {
        let object =
            Value::from_json(r#"{"kind":"Pod","metadata":{"name":"web","labels":{"a":"xy"}},"l":[1]}"#);
        let case = Case::of(object.unwrap(), "");
        let all: Vec<String> =
            steps(&case).iter().filter_map(|step| Some(step.apply(&case)?.object.to_json())).collect();
        let expected = [
            r#"{"kind":"Pod","metadata":{"name":"web","labels":{"a":"xy"}}}"#,
            r#"{"kind":"Pod","metadata":{"name":"web"},"l":[1]}"#,
            r#"{"kind":"Pod","metadata":{"name":"web","labels":{"a":"xy"}},"l":[]}"#,
            r#"{"kind":"Pod","metadata":{"name":"web","labels":{}},"l":[1]}"#,
            r#"{"kind":"Pod","metadata":{"name":"web","labels":{"a":"a"}},"l":[1]}"#,
            r#"{"kind":"Pod","metadata":{"name":"web","labels":{"a":"x"}},"l":[1]}"#,
        ];
        assert_eq!(all, expected);
    }
}
