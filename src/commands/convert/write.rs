//! Writing the new policies.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::commands::exit::Exit;
use crate::commands::options::RunOptions;
use crate::commands::reporter::{Label, Note, NoteKind, Reporter};
use crate::commands::spool::Spool;
use crate::convert::{Options, Outcome, convert};
use crate::diagnostics::Code;
use crate::render::{counted, divergence_text};
use crate::semantics::Semantics;
use crate::source::{Location, create_file, read_text, replace_file, replace_read_file};
use crate::value::Pointer;
use crate::yaml::Source;

use super::checked::{Checked, Verdict};
use super::files::{PolicyFile, read_policies};
use super::prover::{Pair, PolicySource, Prover, policies};
use super::report::{Converted, json, shorter, summary};
use super::suites::Suites;
use super::{Effort, Task, text};

/// The names of kustomizations.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Converts the policies of the arguments and writes the new ones.
pub(super) fn run(task: &Task, options: &RunOptions, conversion: &Options, reporter: &mut Reporter) {
    if let Some(problem) = unused_tests(task) {
        return reporter.error(Exit::Input, Code::ArgumentConflict, problem);
    }
    let Some(files) = read_policies(&task.policy, options, reporter) else { return };
    let mut converted: Vec<Converted<'_>> = Vec::new();
    for file in &files {
        let target = target(task, file);
        for policy in &file.policies {
            let result = convert(&policy.value, &policy.policy, &policy.comments, conversion);
            if !result.rules.is_empty() {
                let target = target.as_ref().map(|path| path.display().to_string());
                let shorter = shorter(policy, &result, conversion);
                converted.push(Converted {
                    file,
                    policy,
                    conversion: result,
                    target,
                    shorter,
                    checked: None,
                });
            }
        }
    }
    for one in &converted {
        for rule in &one.conversion.rules {
            if let Outcome::Refused(refusal) = &rule.outcome {
                reporter.error(Exit::Evaluation, Code::NotConverted, one.refused(rule, refusal));
            }
        }
    }
    if refuse_existing(task, &converted, reporter) || !prove_all(&mut converted, task, options, reporter) {
        return;
    }
    let is_json = task.output.as_deref() == Some(Path::new("json"));
    let is_written = task.in_place || task.output.is_some() && !is_json;
    if is_written {
        if !write_files(task, &files, &converted, reporter) {
            return;
        }
    } else {
        let text = if is_json { json(&converted) } else { texts(&converted) };
        let mut spool = Spool::new();
        if let Err(error) = spool.write_all(text.as_bytes()).and_then(|()| spool.print_all()) {
            reporter.unwritten(&error);
        }
    }
    for one in &converted {
        if let Some(checked) = &one.checked {
            report_proof(one, checked, options.dialect.semantics, reporter);
        }
        for (difference, lines) in one.shorter.iter().filter(|_| !one.documents().is_empty()) {
            let (name, own) = (one.policy.policy.meta.full_name(), one.lines());
            let difference = difference.name();
            reporter.summary(&format!("{name}: {own} lines, {lines} with --accept {difference}"));
        }
    }
    reporter.summary(&summary(&converted));
    if let Some(folder) = &task.tests {
        files.iter().for_each(|file| write_suites(folder, file, &converted, (task, options), reporter));
    }
}

/// Why `--tests` is not possible.
fn unused_tests(task: &Task) -> Option<&'static str> {
    task.tests.as_ref()?;
    let is_written =
        task.in_place || task.output.as_deref().is_some_and(|output| output != Path::new("json"));
    if task.proof == Effort::None {
        Some("--tests takes objects of the proof, and there is none: --proof none")
    } else {
        (!is_written).then_some("--tests needs files of new policies: write them with -o DIR or -i")
    }
}

/// Writes the suites for the policies of a file, if some new ones are written.
fn write_suites(
    folder: &Path,
    file: &PolicyFile,
    converted: &[Converted<'_>],
    (task, options): (&Task, &RunOptions),
    reporter: &mut Reporter,
) {
    let (Some(old), Some(new)) = (&file.path, target(task, file)) else { return };
    let written = converted.iter().filter(|one| std::ptr::eq(one.file, file) && !one.documents().is_empty());
    let proofs = written.filter_map(|one| one.checked.as_ref());
    let samples: Vec<_> = proofs.flat_map(|checked| checked.proof.samples.iter().cloned()).collect();
    let name = file.below.with_extension("");
    let suites = Suites {
        folder: folder.join(&name),
        name: &name.file_name().unwrap_or_default().to_string_lossy(),
        sides: [old, &new],
        samples: &samples,
        force: task.force,
    };
    if !samples.is_empty() {
        suites.write(options, reporter);
    }
}

/// Reports files that would be overwritten; whether there are any. A proof takes longer.
fn refuse_existing(task: &Task, converted: &[Converted<'_>], reporter: &mut Reporter) -> bool {
    let converted = converted.iter().filter(|one| !task.force && !one.conversion.documents.is_empty());
    let targets = converted.filter_map(|one| target(task, one.file)).filter(|path| path.exists());
    let existing: BTreeSet<PathBuf> = targets.collect();
    for path in &existing {
        let message = format!("{}: the file exists; --force overwrites it", path.display());
        reporter.error(Exit::Input, Code::FileExists, message);
    }
    !existing.is_empty()
}

/// Proves that the new policies do the same as the converted rules. Errors of inputs are reported; whether there are none.
fn prove_all(
    converted: &mut [Converted<'_>],
    task: &Task,
    options: &RunOptions,
    reporter: &mut Reporter,
) -> bool {
    if task.proof == Effort::None {
        if !options.manifests.is_empty() || options.is_live() {
            reporter.note(Code::UnusedOption, "--proof none: no policy is compared on the objects");
        }
        return true;
    }
    let mut pairs = Vec::new();
    for (index, one) in converted.iter().enumerate() {
        if one.conversion.documents.is_empty() {
            continue;
        }
        let name = one.policy.policy.meta.full_name().to_string();
        let text = one.conversion.documents.join("---\n");
        let source = PolicySource::Text(Arc::new(Source::new(&name, text)));
        let Some(new) = policies(&source, options, reporter) else { return false };
        pairs.push((index, Pair { name, old: vec![one.old()], new, source }));
    }
    let Some(prover) = Prover::new(task, options, pairs.iter().map(|(_, pair)| pair), reporter) else {
        return false;
    };
    let proven = prover.prove(pairs.iter().map(|(_, pair)| pair), reporter);
    for ((index, _), checked) in pairs.iter().zip(proven) {
        if let Some(one) = converted.get_mut(*index) {
            one.checked = Some(checked);
        }
    }
    prover.finish(reporter);
    true
}

/// Reports what a proof says.
fn report_proof(one: &Converted<'_>, checked: &Checked, semantics: Semantics, reporter: &mut Reporter) {
    let is_not_written = format!("{}: {} is not written", one.place(&Pointer::ROOT), checked.name);
    match &checked.verdict {
        Verdict::Equal => {
            reporter.summary(&format!("{}: {}", checked.name, text::summary(checked)));
            if checked.is_without_change() {
                reporter.summary(text::WITHOUT_CHANGE);
            }
        }
        Verdict::NotCompared => {
            let why = checked.not_compared().unwrap_or_default();
            let message = format!(
                "{is_not_written}: not everything can be compared: {why}. `--proof none` writes it without a proof."
            );
            reporter.error(Exit::Evaluation, Code::NotCompared, message);
        }
        Verdict::EqualBut(_) | Verdict::Differs { .. } => {
            let found = text::text(std::slice::from_ref(checked));
            let message = format!("{is_not_written}: it does not do the same\n{}", found.trim_end());
            reporter.error(Exit::Changes, Code::NotProven, message);
        }
    }
    if semantics == Semantics::Documented {
        for (divergence, reached) in &checked.proof.divergences {
            let objects = counted(reached.requests, "object");
            let shown = text::shown_object(&reached.object);
            let said = divergence_text(*divergence, semantics);
            let message = format!("{} ({objects}, such as {shown}): {said}", checked.name);
            reporter.add(Note::new(NoteKind::Omission, Label::Divergence(*divergence), message));
        }
    }
}

/// All documents in one stream.
fn texts(converted: &[Converted<'_>]) -> String {
    let documents: Vec<&str> = converted.iter().flat_map(Converted::documents).map(String::as_str).collect();
    documents.join("---\n")
}

/// The file for the policies of a file.
fn target(task: &Task, file: &PolicyFile) -> Option<PathBuf> {
    if task.in_place {
        let path = file.path.as_ref()?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        return Some(path.with_file_name(format!("{stem}.{}.{extension}", task.to.suffix())));
    }
    let folder = task.output.as_ref().filter(|output| output.as_os_str() != "json")?;
    Some(folder.join(&file.below))
}

/// Writes one file for each file of policies; whether all were written.
fn write_files(
    task: &Task,
    files: &[PolicyFile],
    converted: &[Converted<'_>],
    reporter: &mut Reporter,
) -> bool {
    let mut texts: BTreeMap<PathBuf, (usize, Vec<&str>)> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        let Some(path) = target(task, file) else {
            reporter.error(
                Exit::Input,
                Code::NotARegularFile,
                "-i: standard input is no file beside which another one can be written",
            );
            return false;
        };
        let documents = converted.iter().filter(|one| std::ptr::eq(one.file, file));
        let documents: Vec<&str> = documents.flat_map(Converted::documents).map(String::as_str).collect();
        if documents.is_empty() {
            continue;
        }
        if let Some((other, _)) = texts.insert(path.clone(), (index, documents)) {
            let other = files.get(other).map(|file| file.name.clone()).unwrap_or_default();
            reporter.error(
                Exit::Input,
                Code::FileExists,
                format_args!(
                    "{}: the policies of {other} and {} would both be written there",
                    path.display(),
                    file.name
                ),
            );
            return false;
        }
    }
    for (path, (index, documents)) in &texts {
        let text = documents.join("---\n");
        let written = if path.exists() {
            replace_file(path, text.as_bytes())
        } else {
            create_file(path, text.as_bytes())
        };
        if reporter.ok(written).is_none() {
            return false;
        }
        if let Some(old) = files.get(*index).and_then(|file| file.path.as_ref()).filter(|_| task.in_place) {
            add_to_kustomization(old, path, reporter);
        }
    }
    true
}

/// Adds a file to the kustomization of its folder, if that names the old file.
fn add_to_kustomization(old: &Path, new: &Path, reporter: &mut Reporter) {
    let Some(folder) = old.parent() else { return };
    let names = (old.file_name(), new.file_name());
    let (Some(old_name), Some(new_name)) =
        (names.0.and_then(|name| name.to_str()), names.1.and_then(|name| name.to_str()))
    else {
        return;
    };
    let Some(path) = KUSTOMIZATIONS.iter().map(|name| folder.join(name)).find(|path| path.is_file()) else {
        return;
    };
    let Some(source) = reporter.ok(read_text(&Location::file(&path), &crate::yaml::Limits::default())) else {
        return;
    };
    if let Some(text) = with_entry(source.text(), old_name, new_name) {
        reporter.ok(replace_read_file(&path, source.text().as_bytes(), text.as_bytes()));
    }
}

/// A kustomization in which another file follows the one of that name; `None` if it names both, or not the first.
fn with_entry(text: &str, old: &str, new: &str) -> Option<String> {
    let entry = |line: &str| {
        let name = line.trim_start().strip_prefix("- ")?;
        let name = name.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        Some(name.strip_prefix("./").unwrap_or(name).to_owned())
    };
    if text.lines().any(|line| entry(line).as_deref() == Some(new)) {
        return None;
    }
    let mut out = String::new();
    let mut is_added = false;
    for line in text.split_inclusive('\n') {
        out.push_str(line);
        if !is_added && entry(line).as_deref() == Some(old) {
            let indent = line.len() - line.trim_start().len();
            if !line.ends_with('\n') {
                out.push('\n');
            }
            let name = if line.contains(&format!("./{old}")) { format!("./{new}") } else { new.to_owned() };
            out.extend([&" ".repeat(indent), "- ", &*name, "\n"]);
            is_added = true;
        }
    }
    is_added.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kustomization_names_the_new_file_after_the_old_one() {
        let text = "resources:\n  - a.yaml # old\n  - ./b.yaml\n";
        assert_eq!(
            with_entry(text, "a.yaml", "a.mpol.yaml").unwrap(),
            "resources:\n  - a.yaml # old\n  - a.mpol.yaml\n  - ./b.yaml\n"
        );
        assert_eq!(
            with_entry(text, "b.yaml", "b.mpol.yaml").unwrap(),
            "resources:\n  - a.yaml # old\n  - ./b.yaml\n  - ./b.mpol.yaml\n"
        );
        assert_eq!(with_entry(text, "c.yaml", "c.mpol.yaml"), None);
        assert_eq!(with_entry("resources:\n- a.yaml\n- a.mpol.yaml\n", "a.yaml", "a.mpol.yaml"), None);
    }
}
