//! Whether the result of the policies is stable: a cluster admits objects again and again.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;

use crate::engine::{Engine, LaterWorld, World};
use crate::report::{CheckFinding, CheckFindingKind, ObjectReport, Settling, Writers};
use crate::value::{Pointer, Value, changes};

use super::{drop_states, shown, writers_of};

/// So many admissions after the first are tried.
const MAX_ADMISSIONS: usize = 8;

pub(super) fn finding(
    engine: &Engine,
    report: &ObjectReport,
    stored: Option<&Value>,
    world: &dyn World,
) -> Option<CheckFinding> {
    let at_once = LaterWorld::new(world, 0);
    let second = engine.mutate_alone(&report.after, stored, &at_once);
    let fails = second.has_error() && !report.has_error();
    if !second.is_changed() && !fails {
        return at_once.is_asked().then(|| of_later_updates(engine, report, stored, world)).flatten();
    }
    let failing =
        second.policies.iter().filter(|policy| policy.has_error()).map(|policy| policy.policy.clone());
    let changed: Vec<Pointer> = second.changes().into_iter().map(|change| change.pointer).collect();
    let policies = if fails { failing.collect() } else { writers_of(&Writers::of(&second), &changed) };
    let fields = shown(&second, changed);
    let mut secrets = report.secrets.clone();
    secrets.extend(&second.secrets);
    let is_changed = second.is_changed();
    let after = second.after.clone();
    // What each rule did is large, and not needed any more.
    drop(second);
    let settling = if fails {
        Settling::Fails
    } else {
        settle([&report.after, &after], |object| {
            let next = engine.mutate_alone(object, stored, world);
            (!next.has_error() || report.has_error()).then_some(next.after)
        })
    };
    Some(CheckFinding {
        settling: Some(settling),
        secrets,
        results: is_changed.then(|| Box::new([report.after.clone(), after])),
        ..CheckFinding::new(CheckFindingKind::NotIdempotent, policies, fields)
    })
}

/// That the result is another one at each update, because of its time or of random numbers.
fn of_later_updates(
    engine: &Engine,
    report: &ObjectReport,
    stored: Option<&Value>,
    world: &dyn World,
) -> Option<CheckFinding> {
    let stored = stored.unwrap_or(&report.after);
    let update =
        |requests: u32| engine.mutate_alone(&report.after, Some(stored), &LaterWorld::new(world, requests));
    let now = update(0).after;
    let mut later = update(1);
    if now == later.after || later.has_error() {
        return None;
    }
    let writers = Writers::of(&later);
    drop_states(engine, &mut later);
    let is_lasting = update(2).after != later.after;
    let changed: Vec<Pointer> =
        changes(&now, &later.after).into_iter().map(|change| change.pointer).collect();
    let mut secrets = report.secrets.clone();
    secrets.extend(&later.secrets);
    let policies = writers_of(&writers, &changed);
    Some(CheckFinding {
        settling: Some(if is_lasting { Settling::Never } else { Settling::After(1) }),
        secrets,
        results: Some(Box::new([now, later.after.clone()])),
        ..CheckFinding::new(CheckFindingKind::NotIdempotent, policies, shown(&later, changed))
    })
}

/// Goes on from two states. `admit` returns `None` if a policy fails. Of earlier states only the hashes are kept: large
/// objects take much memory.
fn settle([first, second]: [&Value; 2], admit: impl Fn(&Value) -> Option<Value>) -> Settling {
    let hasher = RandomState::default();
    let mut known: Vec<u64> = [first, second].iter().map(|state| hasher.hash_one(state)).collect();
    let mut last = second.clone();
    for admissions in 1..MAX_ADMISSIONS {
        let Some(next) = admit(&last) else { return Settling::Fails };
        if next == last {
            return Settling::After(admissions);
        }
        let hash = hasher.hash_one(&next);
        if let Some(state) = known.iter().rposition(|state| *state == hash) {
            return Settling::Cycle(known.len() - state);
        }
        known.push(hash);
        last = next;
    }
    Settling::Never
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_settle_alternate_or_go_on() {
        let number = |value: &Value| value.to_json().parse::<i64>().unwrap();
        for (next, expected) in [
            (&(|n: i64| Some(n.min(2))) as &dyn Fn(i64) -> Option<i64>, Settling::After(1)),
            (&|n: i64| Some((n + 1).min(4)), Settling::After(3)),
            (&|n: i64| Some(3 - n), Settling::Cycle(2)),
            (&|n: i64| Some(if n == 4 { 2 } else { n + 1 }), Settling::Cycle(3)),
            (&|n: i64| Some(n + 1), Settling::Never),
            (&|n: i64| (n < 3).then_some(n + 1), Settling::Fails),
        ] {
            let start = [&Value::from(1), &Value::from(2)];
            assert_eq!(settle(start, |value| next(number(value)).map(Value::from)), expected);
        }
    }
}
