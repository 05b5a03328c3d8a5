//! Rules with targets and what they become, run by the program on the cases of the corpus and those with `targets.yaml`.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kyv::value::Value;

use crate::pairs::{conversions, documents, is_whole, normal, options};

/// Cases that are not compared, and why.
const NOT_COMPARED: [&str; 3] = [
    // The new policy also runs when it is created: it says so in a comment.
    "x05-a-policy-that-comes-changes-nothing",
    "x06-a-rule-for-operations-waits",
    "x06-the-flag-of-a-rule-wins",
];

/// The annotation with the last change, which Kyverno does not write (KYV-D04).
const LAST_APPLIED: &str = "policies.kyverno.io/last-applied-patches";

/// The objects that policies leave, each normal.
fn results(case: &Path, policies: &Path) -> Vec<String> {
    let has = |file: &str| case.join(file).exists();
    let files = [("--targets", "targets.yaml"), ("--exceptions", "exceptions.yaml"), ("--old", "old.yaml")];
    let given = fs::read_to_string(case.join("options")).unwrap_or_default();
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
        .args(["mutate", "-f", "input.yaml", "-p"])
        .arg(policies)
        .args(files.into_iter().filter(|(_, file)| has(file)).flat_map(|(flag, file)| [flag, file]))
        // Look-ups find the objects of the run.
        .args(["--context-from", "input.yaml"])
        .args(has("targets.yaml").then_some(["--context-from", "targets.yaml"]).into_iter().flatten())
        .args(given.lines().filter(|line| !line.is_empty() && *line != "--strict"))
        .current_dir(case)
        .output()
        .unwrap();
    assert_ne!(
        output.status.code(),
        Some(2),
        "{}: {}",
        case.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let stdout = String::from_utf8(output.stdout).unwrap();
    let mut results: Vec<String> =
        documents(&stdout).iter().map(|object| without_mark(object).to_json()).collect();
    results.sort();
    results
}

fn without_mark(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(items) = object.get("items").and_then(Value::as_array) {
        let items = Value::array(items.iter().map(without_mark).collect());
        object.insert("items", items);
    }
    let metadata = object.as_object_mut().and_then(|members| members.get_mut("metadata"));
    if let Some(annotations) =
        metadata.and_then(Value::as_object_mut).and_then(|metadata| metadata.get_mut("annotations"))
    {
        annotations.remove(LAST_APPLIED);
    }
    normal(&object)
}

#[test]
fn rules_with_targets_do_the_same_to_their_targets() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = |folder: &str| fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let own = folders("tests/convert/cases").filter(|case| case.join("targets.yaml").exists());
    let mut cases: Vec<PathBuf> = folders("tests/corpus/targets").chain(own).collect();
    cases.sort();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("converted-targets");
    fs::create_dir_all(&folder).unwrap();
    let (mut compared, mut different) = (0, Vec::new());
    for case in cases {
        let text = fs::read_to_string(case.join("policy.yaml")).unwrap();
        let conversions = conversions(&text, &options(&[]));
        let is_whole = !conversions.is_empty() && conversions.iter().all(|(_, one)| is_whole(one));
        if !is_whole || NOT_COMPARED.iter().any(|name| case.ends_with(name)) {
            continue;
        }
        let new: Vec<String> = conversions.into_iter().flat_map(|(_, one)| one.documents).collect();
        let file = folder.join(case.file_name().unwrap()).with_extension("yaml");
        fs::write(&file, new.join("---\n")).unwrap();
        let (old, found) = (results(&case, &case.join("policy.yaml")), results(&case, &file));
        compared += 1;
        if old != found {
            different.push(format!(
                "{}\n classic {old:#?}\n new {found:#?}\n{}",
                case.display(),
                new.join("---\n")
            ));
        }
    }
    eprintln!("{compared} cases compared");
    assert!(compared > 30, "{compared}");
    assert!(different.is_empty(), "{} of {compared}:\n{}", different.len(), different.join("\n"));
}
