//! `convert --check`: proves existing pairs of policies.

use std::io::Write as _;
use std::path::Path;

use crate::commands::exit::Exit;
use crate::commands::options::RunOptions;
use crate::commands::reporter::Reporter;
use crate::commands::spool::Spool;
use crate::diagnostics::Code;
use crate::policy::Policy;
use crate::proof;
use crate::render::counted;

use super::checked::{Checked, Verdict};
use super::pairs::{PolicyPair, pairs};
use super::prover::{Pair, PolicySource, Prover, policies};
use super::suites::Suites;
use super::text::{json, markdown, text};
use super::{Output, Task};

/// Proves the pairs of the arguments. Errors are reported.
pub(super) fn run(task: &Task, output: Option<Output>, options: &RunOptions, reporter: &mut Reporter) {
    let [old, new] = &*task.check else { return };
    let Some(found) = reporter.ok(pairs(old, new)) else { return };
    for (side, names) in [(old, &found.only_old), (new, &found.only_new)] {
        if !names.is_empty() {
            let message = format!("{}: without a counterpart: {}", side.display(), names.join(", "));
            reporter.note(Code::UnusedInput, message);
        }
    }
    let loaded = found.pairs.iter().map(|pair| load(pair, options, reporter));
    let loaded: Vec<Option<Pair<'_>>> = loaded.collect();
    let Some(prover) = Prover::new(task, options, loaded.iter().flatten(), reporter) else { return };
    // As everywhere, nothing is printed if an input cannot be read.
    let Some(pairs) = loaded.into_iter().collect::<Option<Vec<_>>>() else { return };
    let all: Vec<Checked> = prover.prove(pairs.iter(), reporter);
    prover.finish(reporter);
    print(&all, output, reporter);
    for ((pair, paths), checked) in pairs.iter().zip(&found.pairs).zip(&all) {
        let Some(folder) = &task.tests else { break };
        let suites = Suites {
            folder: folder.join(&pair.name),
            name: &pair.name,
            sides: [&paths.old, &paths.new],
            samples: &checked.proof.samples,
            force: task.force,
        };
        suites.write(options, reporter);
    }
}

/// Prints the result, and sets the exit code.
fn print(all: &[Checked], output: Option<Output>, reporter: &mut Reporter) {
    let result = match output {
        None => text(all),
        Some(Output::Json) => json(all),
        Some(Output::Markdown) => markdown(all),
    };
    let mut spool = Spool::new();
    let written = spool.write_all(result.as_bytes()).and_then(|()| spool.print_all());
    if let Err(error) = written {
        reporter.unwritten(&error);
    }
    for checked in all {
        if let Some(why) = checked.not_compared() {
            let message = format!("{}: not everything can be compared: {why}", checked.name);
            reporter.error(Exit::Evaluation, Code::NotCompared, message);
        }
    }
    let count = |is: fn(&Verdict) -> bool| all.iter().filter(|checked| is(&checked.verdict)).count();
    let equal = count(|verdict| *verdict == Verdict::Equal);
    if equal < all.len() {
        reporter.worsen(Exit::Changes);
    }
    if all.len() > 1 {
        let but = count(|verdict| matches!(verdict, Verdict::EqualBut(_)));
        let differ = count(|verdict| matches!(verdict, Verdict::Differs { .. }));
        let not = count(|verdict| *verdict == Verdict::NotCompared);
        let pairs = counted(all.len(), "pair");
        reporter.summary(&format!(
            "{pairs}: {equal} equal, {but} equal but for named differences, {differ} differ, {not} not compared"
        ));
    }
}

/// The policies of both sides. Errors are reported; `None` if there are any.
fn load<'p>(pair: &'p PolicyPair, options: &RunOptions, reporter: &mut Reporter) -> Option<Pair<'p>> {
    let [old, new] = [&pair.old, &pair.new].map(|path| mutating(path, options, reporter));
    let (old, new) = (old?, new?);
    let kinds = |policies: &[Policy]| proof::kinds(policies);
    let (of_old, of_new) = (kinds(&old), kinds(&new));
    // The kinds of some resources are not known.
    let are_known = !of_old.is_empty() && !of_new.is_empty();
    if are_known && !of_old.iter().any(|kind| of_new.contains(kind)) {
        let message = format!(
            "{} and {} select no kind in common: are they the same policy?",
            pair.old.display(),
            pair.new.display()
        );
        reporter.error(Exit::Input, Code::ArgumentConflict, message);
        return None;
    }
    Some(Pair { name: pair.name.clone(), old, new, source: PolicySource::Path(&pair.new) })
}

/// The policies of a path, of which one at least must have a mutate rule.
fn mutating(path: &Path, options: &RunOptions, reporter: &mut Reporter) -> Option<Vec<Policy>> {
    let policies = policies(&PolicySource::Path(path), options, reporter)?;
    if policies.iter().all(|policy| policy.rules().is_empty()) {
        let message = format!("{}: no mutate rule to compare", path.display());
        reporter.error(Exit::Input, Code::NoDocument, message);
        return None;
    }
    Some(policies)
}
