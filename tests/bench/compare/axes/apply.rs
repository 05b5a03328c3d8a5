//! kyv beside the Kyverno CLI.

use std::cmp::Ordering;
use std::fs;

use super::{Axis, Bench, KYV, KYVERNO};
use crate::compare::agreement;
use crate::compare::contestant::Contestant;
use crate::compare::limit::Reading;
use crate::compare::policies;
use crate::compare::programs::system;
use crate::compare::results::Figure;
use crate::compare::{manifests, say};

/// What starting costs: nearly nothing is done.
pub(crate) const NOTHING: &str = "true";

/// Beside a run of the Kyverno CLI that takes half a minute, others are not repeated for longer.
const SLOW: usize = 3;

const POD: &str = "apiVersion: v1
kind: Pod
metadata:
  name: one
  namespace: team-00
spec:
  containers:
    - name: main
      image: docker.io/library/nginx:latest
";

/// How many Pods the loop goes through.
const PODS: usize = 20;

pub(crate) fn startup(bench: &mut Bench) -> Result<(), String> {
    let policy = policies::folder().join("02-pull-latest.yaml");
    let pod = bench.made("pod.yaml", |path| fs::write(path, POD).expect("room for a Pod"));
    bench.agree("1 object × 1 policy".to_owned(), &policy, &pod)?;
    let contestants = vec![
        (1, bench.kyv(&policy, &pod)),
        (1, bench.kyverno(&policy, &pod).at_most(bench.sizes.starts / 3)),
        (1, Contestant::new(NOTHING, &system("true"))),
    ];
    bench.take_rounds(Axis::Startup, contestants, bench.sizes.starts)
}

pub(crate) fn objects(bench: &mut Bench) -> Result<(), String> {
    let folder = bench.policies(policies::MATCHING, 0);
    let mut contestants = Vec::new();
    for number in bench.sizes.objects.clone() {
        let objects = bench.objects(number);
        let long = if number > 10_000 { SLOW } else { usize::MAX };
        contestants.push((number, bench.kyv(&folder, &objects).at_most(long)));
        if number <= bench.sizes.with_kyverno {
            // What takes longer than this would be compared for longer than it is measured.
            if number <= bench.sizes.yardstick {
                bench.agree(
                    format!("{number} objects × {} policies", policies::MATCHING),
                    &folder,
                    &objects,
                )?;
            }
            let rounds = match number.cmp(&bench.sizes.yardstick) {
                Ordering::Less => usize::MAX,
                Ordering::Equal => SLOW,
                Ordering::Greater => 1,
            };
            contestants.push((number, bench.kyverno(&folder, &objects).at_most(rounds)));
        }
        contestants.push((number, bench.limit(Reading::Library, &objects).at_most(long)));
    }
    bench.take(Axis::Objects, contestants)
}

/// kyv with the thirty, beside their twins.
pub(crate) const CLASSIC: &str = "kyv, classic policies";

/// `MutatingPolicies`, and the classic policies that do the same.
pub(crate) fn cel(bench: &mut Bench) -> Result<(), String> {
    let (classic, folder) = (bench.policies(policies::MATCHING, 0), policies::cel_folder());
    let (large, mut contestants) = (bench.sizes.large, Vec::new());
    for number in bench.sizes.objects.clone().into_iter().filter(|number| *number <= large) {
        let objects = bench.objects(number);
        let ours = bench.kyv(&folder, &objects);
        let twins = Contestant { name: CLASSIC, ..bench.kyv(&classic, &objects) };
        if number <= bench.sizes.yardstick {
            let what = format!("{number} objects × {} MutatingPolicies", policies::MATCHING);
            bench.agree(what, &folder, &objects)?;
            agreement::by_names(&mut ours.command(), &mut twins.command(), CLASSIC)?;
            bench
                .agreements
                .push(format!("{number} objects × the classic policies beside the MutatingPolicies"));
        }
        contestants.push((number, ours));
        contestants.push((number, twins));
        if number <= bench.sizes.with_kyverno {
            contestants.push((number, bench.kyverno(&folder, &objects).at_most(SLOW)));
        }
    }
    bench.take(Axis::Cel, contestants)
}

pub(crate) fn matching(bench: &mut Bench) -> Result<(), String> {
    let number = bench.sizes.yardstick;
    let objects = bench.objects(number);
    let mut contestants = Vec::new();
    for matching in bench.sizes.matching.clone() {
        // Half a minute for each run is measured once.
        if matching == policies::MATCHING
            && let [Some(ours), Some(theirs)] =
                [KYV, KYVERNO].map(|name| bench.results.get(Axis::Objects, number, name).cloned())
        {
            say("taking the figures of all policies from those of the objects");
            for (name, measured) in [(KYV, ours), (KYVERNO, theirs)] {
                bench.results.add(Figure { axis: Axis::Matching, point: matching, name, measured });
            }
            continue;
        }
        let folder = bench.policies(matching, 0);
        let policies = if matching == 1 { "policy" } else { "policies" };
        bench.agree(format!("{number} objects × {matching} {policies}"), &folder, &objects)?;
        contestants.push((matching, bench.kyv(&folder, &objects)));
        contestants.push((matching, bench.kyverno(&folder, &objects).at_most(SLOW)));
    }
    bench.take(Axis::Matching, contestants)
}

/// kyv with few objects and with many, so that what an object costs can be told from what loading costs.
pub(crate) fn idle(bench: &mut Bench) -> Result<(), String> {
    let (few, many) = (bench.sizes.yardstick, bench.sizes.large);
    let small = bench.sizes.objects[0];
    let mut contestants = Vec::new();
    for idle in bench.sizes.idle.clone() {
        let folder = bench.policies(10, idle);
        let [small, few, many] = [small, few, many].map(|number| bench.objects(number));
        if idle == bench.sizes.idle[bench.sizes.idle.len() / 2] {
            bench.agree(
                format!("{} objects × 10 and {idle} policies", bench.sizes.objects[0]),
                &folder,
                &small,
            )?;
        }
        let named = |mut contestant: Contestant, name| {
            contestant.name = name;
            contestant
        };
        contestants.push((idle, named(bench.kyv(&folder, &small), SMALL)));
        let rounds = if idle > 100 { 1 } else { SLOW };
        contestants.push((idle, named(bench.kyverno(&folder, &small), KYVERNO_SMALL).at_most(rounds)));
        contestants.push((idle, named(bench.kyv(&folder, &few), FEW)));
        contestants.push((idle, named(bench.kyv(&folder, &many), MANY)));
    }
    bench.take(Axis::Idle, contestants)
}

/// kyv with 10,000 objects.
pub(crate) const MANY: &str = "kyv, 10,000 objects";
/// kyv with 1,000 objects.
pub(crate) const FEW: &str = "kyv, 1,000 objects";
/// kyv with 100 objects.
pub(crate) const SMALL: &str = "kyv, 100 objects";
/// The Kyverno CLI with 100 objects.
pub(crate) const KYVERNO_SMALL: &str = "Kyverno CLI, 100 objects";

pub(crate) fn foreach(bench: &mut Bench) -> Result<(), String> {
    let policy = bench.made("loop.yaml", policies::write_loop);
    let mut contestants = Vec::new();
    for elements in bench.sizes.elements.clone() {
        let pods =
            bench.made(&format!("pods-{elements}.yaml"), |path| manifests::write_pods(path, PODS, elements));
        contestants.push((elements, bench.kyv(&policy, &pods)));
        if elements <= bench.sizes.elements_with_kyverno {
            bench.agree(format!("{PODS} Pods with {elements} in the list × 1 policy"), &policy, &pods)?;
            contestants.push((elements, bench.kyverno(&policy, &pods).at_most(SLOW)));
        }
    }
    bench.take(Axis::Foreach, contestants)
}
