//! Render equals admission. Runs when `KYV_REAL_PROGRAMS` is 1; `KYV_ALL_BUILDS=1` takes all builds and sets of policies
//! instead of a sample, `KYV_CASES` is a text that the names of sets must contain.
//!
//! Every object of every build is created, as a dry run, in a cluster: as it is written while Kyverno's admission
//! controller has the policies, and as our program prints it while there is no Kyverno. Both must be equal. Kyverno
//! must change nothing of what our program prints, unless a note says so. Where a note says that the order of policies
//! matters, it must, and only there.

mod builds;
mod cluster;
pub(crate) mod comparison;
mod faults;
mod modules;
mod orders;
mod policy_sets;
mod prediction;
mod program;

use std::time::Instant;

use test_support::api_server::ApiServer;
use test_support::kyverno::Kyverno;
use test_support::log;
use test_support::policy_installer::PolicyInstaller;

use builds::Build;
use cluster::Cluster;
use comparison::Outcome;
use faults::{Counts, Faults};
use policy_sets::PolicySet;
use prediction::{Prediction, disagreement, predict};
use program::Surroundings;

/// How often a disagreement is looked at again: what comes late on a busy machine is none.
const ROUNDS: usize = 3;

/// Fewer would mean that something was not compared at all.
const MIN_BUILDS: usize = 40;
const MIN_CHANGED: usize = 100;

#[test]
fn kyverno_makes_of_builds_what_is_rendered() {
    if test_support::skip_without_real_programs("rendered builds against Kyverno's controllers") {
        return;
    }
    let start = Instant::now();
    let is_whole = std::env::var_os("KYV_ALL_BUILDS").is_some_and(|value| value == "1");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let builds = all_builds(folder.path(), is_whole);
    let sets = policy_sets::all(is_whole);
    log(&format!("{} builds, {} sets of policies, {:?}", builds.len(), sets.len(), start.elapsed()));

    let server = ApiServer::start_with(&["--disable-admission-plugins="]);
    let cluster = Cluster::prepare(&server, &builds, &sets);
    let objects = cluster.objects(&builds);
    let refused = objects.iter().filter(|object| !matches!(object.plain, Outcome::Held(_))).count();
    log(&format!("{} objects, {refused} refused by the server, {:?}", objects.len(), start.elapsed()));

    let surroundings = Surroundings::new(&cluster.context, &cluster.definitions);
    let mut faults = Faults::new(&builds);
    let mut counts = Counts::default();
    let mut predictions = Vec::new();
    for set in &sets {
        faults.set = set.name.clone();
        let paths = surroundings.policies(set);
        match predict(&paths, &surroundings, &cluster, &builds, &objects, &mut counts, &mut faults) {
            Ok(predicted) => {
                orders::check(
                    set,
                    (&surroundings, &cluster.definitions),
                    &predicted,
                    &mut counts,
                    &mut faults,
                );
                log(&format!("{}: predicted after {:?}", set.name, start.elapsed()));
                predictions.push(Ok(predicted));
            }
            Err(message) => predictions.push(Err(message)),
        }
    }
    log(&format!("predicted after {:?}", start.elapsed()));

    let _kyverno = Kyverno::start(&server);
    let mut installer = PolicyInstaller::new(&cluster.rest);
    for (set, predictions) in sets.iter().zip(&predictions) {
        faults.set = set.name.clone();
        match (installer.install(&set.policies), predictions) {
            (Ok(()), Ok(predictions)) => {
                admit((set, predictions), &cluster, &mut installer, &mut counts, &mut faults);
            }
            (Err(_), Err(_)) => counts.refused_sets += 1,
            (Err(refusal), Ok(_)) => faults.add_of_set(format!("only Kyverno refuses: {}", refusal.message)),
            (Ok(()), Err(message)) => faults.add_of_set(format!("only we refuse: {message}")),
        }
        set.policies.iter().for_each(|policy| cluster.rest.remove(policy));
        log(&format!("{}: {:?}", set.name, start.elapsed()));
    }
    log(&format!(
        "{} builds, {} sets of policies, {:?}: {counts}",
        builds.len(),
        sets.len(),
        start.elapsed()
    ));
    faults.finish();
    if std::env::var_os("KYV_CASES").is_none() {
        assert!(!is_whole || builds.len() >= MIN_BUILDS, "only {} builds", builds.len());
        assert!(counts.changed >= MIN_CHANGED, "only {} changed objects", counts.changed);
    }
}

/// The builds of other projects and our own; a sample has all of our own.
fn all_builds(folder: &std::path::Path, is_whole: bool) -> Vec<Build> {
    const STEP: usize = 5;
    let mut builds = Build::own(folder);
    let others = modules::builds(folder, if is_whole { 1 } else { STEP });
    builds.extend(others);
    builds.extend(Build::conformance(folder, is_whole));
    builds
}

/// Sends all objects through Kyverno, and those that were changed a second time as they are printed.
fn admit(
    (set, predictions): (&PolicySet, &[Prediction]),
    cluster: &Cluster,
    installer: &mut PolicyInstaller,
    counts: &mut Counts,
    faults: &mut Faults,
) {
    let mut open: Vec<&Prediction> =
        predictions.iter().filter(|prediction| !prediction.depends_on_order).collect();
    let mut second: Vec<&Prediction> =
        open.iter().filter(|prediction| prediction.is_printed_changed()).copied().collect();
    counts.objects += open.len();
    counts.second_passes += second.len();
    for round in 1..=ROUNDS {
        installer.settle_webhooks();
        let sent = open.iter().map(|prediction| (prediction.object, &prediction.object.written));
        let answers = cluster.answers(sent);
        let mut kept = Vec::new();
        for (prediction, answer) in open.into_iter().zip(answers) {
            match disagreement(prediction, &answer) {
                Some(_) if prediction.is_unstable && set.has_two_webhooks() => counts.noted_unstable += 1,
                Some(fault) => {
                    faults.add_in_round(round, prediction.object, fault);
                    kept.push(prediction);
                }
                None => counts.add(prediction, &answer),
            }
        }
        open = kept;
        let sent =
            second.iter().filter_map(|prediction| Some((prediction.object, prediction.printed.as_ref()?)));
        let answers = cluster.answers(sent);
        let mut kept = Vec::new();
        for (prediction, answer) in second.into_iter().zip(answers) {
            let fault = match (disagreement(prediction, &answer), prediction.is_unstable) {
                (None, false) => None,
                (Some(_), true) => {
                    counts.noted_unstable += 1;
                    None
                }
                (Some(fault), false) => Some(format!("rendered, then admitted: {fault}")),
                (None, true) if !prediction.is_held() => None,
                (None, true) => Some("noted to change again, but it does not".to_owned()),
            };
            if let Some(fault) = fault {
                faults.add_in_round(round, prediction.object, fault);
                kept.push(prediction);
            }
        }
        second = kept;
        if open.is_empty() && second.is_empty() {
            break;
        }
    }
}
