//! The case corpus: every folder below `tests/corpus` that holds a `policy.yaml` is a test for each semantics and each
//! view, run through the real binary. `tests/corpus/README.md` says what a case folder holds.
//!
//! `cargo test --test corpus documents/a17` runs the cases whose names contain that text.

mod krm_function;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::Arc;

use kyv::value::Value;
use kyv::yaml::{Document, Limits, Source, read};
use libtest_mimic::{Arguments, Failed, Trial};
use similar::TextDiff;

const SEMANTICS: [&str; 2] = ["documented", "kyverno"];
const VIEWS: [&str; 2] = ["written", "admitted"];

fn main() -> ExitCode {
    let mut trials = tests();
    trials.extend(krm_function::tests());
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A test for each case, each semantics and each view.
fn tests() -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut cases = Vec::new();
    collect(&root, &mut cases);
    cases.sort();
    assert!(!cases.is_empty(), "no case folder below {}", root.display());
    let mut parting = parting_cases(&root);
    let mut trials = Vec::new();
    for path in cases {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let everywhere = parting.remove(&name);
        for semantics in SEMANTICS {
            let parts = everywhere | parting.remove(&format!("{name} ({semantics})"));
            for view in VIEWS {
                let case = Case { path: path.clone(), semantics, view };
                let check = if parts && view == "admitted" { Case::check_parts } else { Case::check };
                trials.push(Trial::test(format!("{name} ({semantics}, {view})"), move || check(&case)));
            }
        }
    }
    assert!(parting.is_empty(), "views-part.txt lists what is no case: {parting:?}");
    trials
}

/// What `views-part.txt` lists: `CASE`, or `CASE (SEMANTICS)` for one semantics.
fn parting_cases(root: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(root.join("views-part.txt")).expect("the list can be read");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split_once(": ").expect("a name, a colon and the reason").0.to_owned()).collect()
}

/// The folders that hold a case.
fn collect(folder: &Path, cases: &mut Vec<PathBuf>) {
    if folder.join("policy.yaml").exists() {
        cases.push(folder.to_owned());
    }
    let entries = fs::read_dir(folder).expect("the folder of the corpus can be read");
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()) {
        collect(&path, cases);
    }
}

/// A case folder under one semantics and one view.
struct Case {
    path: PathBuf,
    semantics: &'static str,
    view: &'static str,
}

impl Case {
    /// A file of the case: that of the view before that of the semantics before the common one.
    fn expectation(&self, stem: &str, extension: &str) -> Option<String> {
        let names = [format!("{stem}.{}", self.view), format!("{stem}.{}", self.semantics), stem.to_owned()];
        names.iter().find_map(|name| fs::read_to_string(self.path.join(format!("{name}.{extension}"))).ok())
    }

    /// The lines of a file of the case that are not empty.
    fn lines(&self, stem: &str) -> Vec<String> {
        let text = self.expectation(stem, "txt").unwrap_or_default();
        text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
    }

    fn run(&self, more: &[&str]) -> Result<Output, Failed> {
        let has = |file: &str| self.path.join(file).exists();
        let files =
            [("--targets", "targets.yaml"), ("--exceptions", "exceptions.yaml"), ("--old", "old.yaml")];
        let files = files.into_iter().filter(|(_, file)| has(file));
        let options = fs::read_to_string(self.path.join("options")).unwrap_or_default();
        Ok(Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
            .args(["mutate", "-p", "policy.yaml", "-f", "input.yaml"])
            .args(["--semantics", self.semantics, "--view", self.view])
            .args(files.flat_map(|(flag, file)| [flag, file]))
            .args(options.lines().filter(|line| !line.is_empty()))
            .args(more)
            .current_dir(&self.path)
            .env_clear()
            .stdin(Stdio::null())
            .output()?)
    }

    /// Checks that something is not as expected.
    fn check_parts(&self) -> Result<(), Failed> {
        match self.check() {
            Ok(()) => Err("views-part.txt lists the case, but its expectations hold in both views".into()),
            Err(_) => Ok(()),
        }
    }

    fn check(&self) -> Result<(), Failed> {
        let output = self.run(&[])?;
        let stdout = String::from_utf8(output.stdout)?;
        let stderr = String::from_utf8(output.stderr)?;
        let errors = self.lines("error");
        let expected = self.expectation("expected", "yaml").filter(|text| !text.trim().is_empty());
        let mut faults = Vec::new();

        let wanted_code = match (&expected, errors.is_empty()) {
            (None, true) => {
                return Err("the case expects nothing: neither expected.yaml nor error.txt".into());
            }
            (None, false) => 2,
            (Some(_), false) => 3,
            (Some(_), true) => 0,
        };
        if output.status.code() != Some(wanted_code) {
            faults.push(format!("exit code {:?}, expected {wanted_code}", output.status.code()));
        }
        for wanted in self.lines("stderr").iter().filter(|wanted| !stderr.contains(*wanted)) {
            faults.push(format!("stderr does not say `{wanted}`"));
        }
        // The words of Kyverno's own error are behind --verbose.
        let mut missing = errors.iter().filter(|wanted| !stderr.contains(*wanted)).peekable();
        if missing.peek().is_some() {
            let verbose = String::from_utf8(self.run(&["--verbose"])?.stderr)?;
            for wanted in missing.filter(|wanted| !verbose.contains(*wanted)) {
                faults.push(format!("stderr does not say `{wanted}`, also with --verbose"));
            }
        }
        match &expected {
            Some(expected) => compare(&self.path, expected, &stdout, &mut faults)?,
            _ if !stdout.is_empty() => faults.push(format!("stdout should be empty:\n{stdout}")),
            _ => {}
        }
        let wanted: BTreeSet<String> = self.lines("divergences").into_iter().collect();
        let announced = announced(&stderr);
        if announced != wanted {
            faults.push(format!("announced divergences {announced:?}, expected {wanted:?}"));
        }
        if faults.is_empty() {
            return Ok(());
        }
        Err(format!("{}\n--- stderr\n{stderr}--- end of stderr", faults.join("\n")).into())
    }
}

/// The `KYV-Dnn` in a text.
fn announced(text: &str) -> BTreeSet<String> {
    let numbers =
        text.split("KYV-D").skip(1).map(|rest| rest.chars().take_while(char::is_ascii_digit).collect());
    numbers.map(|number: String| format!("KYV-D{number}")).collect()
}

fn documents(name: &str, text: &str) -> Result<Vec<Document>, Failed> {
    let source = Arc::new(Source::new(name, text));
    read(&source, &Limits::default())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n").into())
}

/// Compares stdout with the expectation, document by document, and untouched documents with the input,
/// byte by byte.
fn compare(case: &Path, expected: &str, stdout: &str, faults: &mut Vec<String>) -> Result<(), Failed> {
    let holding = |documents: Vec<Document>| -> Vec<Document> {
        documents.into_iter().filter(|document| document.value().is_some()).collect()
    };
    let wanted = holding(documents("expected.yaml", expected)?);
    let got = holding(documents("stdout", stdout)?);
    let values = |documents: &[Document]| -> Vec<Value> {
        documents.iter().filter_map(|document| document.value().cloned()).collect()
    };
    let (wanted_values, got_values) = (values(&wanted), values(&got));
    if wanted_values != got_values {
        let text = |values: &[Value]| -> String {
            values.iter().map(|value| format!("{}\n---\n", sorted(value).to_pretty_json(1))).collect()
        };
        let (wanted, got) = (text(&wanted_values), text(&got_values));
        let diff = TextDiff::from_lines(&wanted, &got);
        faults.push(format!("{}", diff.unified_diff().header("expected", "stdout")));
        return Ok(());
    }
    let input = fs::read_to_string(case.join("input.yaml"))
        .or_else(|_| fs::read_to_string(case.join("input.json")))?;
    let input = holding(documents("input.yaml", &input)?);
    for (before, after) in input.iter().zip(&got) {
        if before.value() == after.value() && before.body().trim() != after.body().trim() {
            faults.push(format!("an untouched document changed:\n{}\n=>\n{}", before.body(), after.body()));
        }
    }
    Ok(())
}

/// The same value with sorted keys, so that only what differs shows in the diff.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(sorted).collect()),
        Value::Object(members) => {
            let mut entries: Vec<_> =
                members.iter().map(|(key, member)| (key.clone(), sorted(member))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.into_iter().collect()
        }
        other => other.clone(),
    }
}
