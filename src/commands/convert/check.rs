//! `convert --check`: proves existing pairs of policies.

use std::io::Write as _;
use std::path::Path;

use crate::commands::exit::Exit;
use crate::commands::manifests::{manifests, report_errors};
use crate::commands::options::RunOptions;
use crate::commands::reporter::Reporter;
use crate::commands::session::{kind_schemas, schemas};
use crate::commands::spool::Spool;
use crate::diagnostics::Code;
use crate::policy::Policy;
use crate::proof::{self, Input, prove};
use crate::render::counted;
use crate::semantics::{Dialect, Semantics};
use crate::source::{PolicyLoader, custom_kinds};
use crate::value::{GroupVersionKind, Value};

use super::checked::{Checked, Verdict};
use super::pairs::{PolicyPair, pairs};
use super::text::{json, markdown, text};
use super::{Arguments, Output};

/// Proves the pairs of the arguments. Errors are reported.
pub(super) fn run(
    arguments: &Arguments,
    output: Option<Output>,
    options: &RunOptions,
    reporter: &mut Reporter,
) {
    let [old, new] = &*arguments.check else { return };
    let Some(found) = reporter.ok(pairs(old, new)) else { return };
    let Some(given) = given(options, reporter) else { return };
    let limits = &options.input_limits;
    let Some(kinds) = reporter.loaded(custom_kinds(&options.crds, limits)) else { return };
    let Some(schemas) = reporter.valid(schemas(&kinds)) else { return };
    let proof_options = proof::Options {
        semantics: arguments.semantics,
        schemas,
        kind_schemas: kind_schemas(&kinds),
        requests_per_rule: arguments.proof.requests_per_rule(),
        seed: options.seed,
        limits: options.evaluation_limits,
    };
    for (side, names) in [(old, &found.only_old), (new, &found.only_new)] {
        if !names.is_empty() {
            let message = format!("{}: without a counterpart: {}", side.display(), names.join(", "));
            reporter.note(Code::UnusedInput, message);
        }
    }
    let mut all = Vec::new();
    let count = found.pairs.len();
    for pair in found.pairs {
        let Some([old, new]) = load(&pair, options, reporter) else { continue };
        let new_in_kyverno = in_kyverno(&pair.new, options);
        let input = Input { old: &old, new: &new, new_in_kyverno: new_in_kyverno.as_deref(), given: &given };
        let proof = prove(&input, &proof_options);
        all.push(Checked::new(pair.name, proof, &arguments.accept));
    }
    // As everywhere, nothing is printed if an input cannot be read.
    if all.len() == count {
        print(&all, output, reporter);
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
    let count = |is: fn(&Verdict) -> bool| all.iter().filter(|checked| is(&checked.verdict)).count();
    let equal = count(|verdict| *verdict == Verdict::Equal);
    let unclear = all.iter().filter(|checked| !checked.proof.unknown.is_empty()).count();
    if unclear > 0 {
        reporter.worsen(Exit::Evaluation);
    } else if equal < all.len() {
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

/// The objects of `-f`. Errors are reported; `None` if there are any.
fn given(options: &RunOptions, reporter: &mut Reporter) -> Option<Vec<Value>> {
    if options.manifests.is_empty() {
        return Some(Vec::new());
    }
    let manifests = manifests(options, None, reporter)?;
    let mut objects = Vec::new();
    let mut errors = Vec::new();
    for document in manifests.documents() {
        match document {
            Ok(document) => {
                let value = document.value().filter(|value| GroupVersionKind::of(value).is_some());
                objects.extend(value.cloned());
            }
            Err(error) => errors.push(Err(error)),
        }
    }
    let is_whole = errors.is_empty();
    report_errors(errors.into_iter(), reporter);
    is_whole.then_some(objects)
}

/// The policies of both sides. Errors are reported; `None` if there are any.
fn load(pair: &PolicyPair, options: &RunOptions, reporter: &mut Reporter) -> Option<[Vec<Policy>; 2]> {
    let [old, new] = [&pair.old, &pair.new].map(|path| policies(path, options, reporter));
    let (old, new) = (old?, new?);
    let kinds = |policies: &[Policy]| proof::kinds(policies);
    let (of_old, of_new) = (kinds(&old), kinds(&new));
    if !of_old.iter().any(|kind| of_new.contains(kind)) {
        let message = format!(
            "{} and {} select no kind in common: are they the same policy?",
            pair.old.display(),
            pair.new.display()
        );
        reporter.error(Exit::Input, Code::ArgumentConflict, message);
        return None;
    }
    Some([old, new])
}

/// The policies as Kyverno has them; `None` if it refuses them, which was reported where it matters.
fn in_kyverno(path: &Path, options: &RunOptions) -> Option<Vec<Policy>> {
    let dialect = Dialect { semantics: Semantics::Kyverno, ..options.dialect };
    let mut loader = PolicyLoader::new(dialect, options.input_limits);
    loader.path(path);
    loader.finish("").ok().map(|loaded| loaded.policies)
}

fn policies(path: &Path, options: &RunOptions, reporter: &mut Reporter) -> Option<Vec<Policy>> {
    let mut loader = PolicyLoader::new(options.dialect, options.input_limits);
    loader.path(path);
    let name = path.display().to_string();
    let loaded = match loader.finish(&name) {
        Ok(loaded) => loaded,
        Err(refused) => {
            reporter.source_errors(&refused.errors);
            return None;
        }
    };
    if loaded.policies.iter().all(|policy| policy.rules().is_empty()) {
        reporter.error(Exit::Input, Code::NoDocument, format_args!("{name}: no mutate rule to compare"));
        return None;
    }
    Some(loaded.policies)
}
