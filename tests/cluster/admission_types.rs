//! The types and defaults of built-in kinds, compared with Kubernetes' own packages. Runs when `KYV_REAL_PROGRAMS` is 1.
//!
//! With `UPDATE=1` too the first test is the generator of the table of types:
//!
//! ```console
//! UPDATE=1 KYV_REAL_PROGRAMS=1 cargo test --test cluster the_table_of_types
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use kyv::admission::{Admission, NotAdmitted};
use kyv::resources::Resources;
use kyv::value::{GroupVersionKind, Value};
use test_support::objects::differing_paths;

const TABLE: &str = "src/admission/types.txt";
/// The random objects of each kind; `KYV_SAMPLES` is another number.
const SAMPLES: &str = "40";
const SEED: &str = "1";

#[test]
fn the_table_of_types_is_that_of_kubernetes() {
    if test_support::skip_without_real_programs("the table of types") {
        return;
    }
    let mut table = ask(&["table"], &kinds()).join("\n");
    table.push('\n');
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        fs::write(&path, &table).expect("the table is written");
        return;
    }
    assert!(
        fs::read_to_string(&path).expect("the table is read") == table,
        "{TABLE} differs, run with UPDATE=1"
    );
}

#[test]
fn random_objects_are_what_an_api_server_makes_of_them() {
    if test_support::skip_without_real_programs("defaults of random objects") {
        return;
    }
    let count = std::env::var("KYV_SAMPLES").unwrap_or_else(|_| SAMPLES.into());
    let samples = ask(&["samples", &count, SEED], &kinds());
    let answers = ask(&["decode"], &samples);
    assert_eq!(samples.len(), answers.len(), "one answer for each object");
    let mut differences: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (sample, answer) in samples.iter().zip(&answers) {
        let object = Value::from_json(sample).expect("samples are JSON");
        if let Some(difference) = difference(&object, answer) {
            let kind = GroupVersionKind::of(&object).expect("samples have a kind");
            differences.entry(format!("{} {}", kind.api_version(), kind.kind)).or_default().push(difference);
        }
    }
    test_support::log(&format!("{} random objects", samples.len()));
    let mut report = String::new();
    for (kind, all) in &differences {
        let first: String = all[0].chars().take(600).collect();
        writeln!(report, "{kind}: {} differ, such as {first}", all.len()).expect("a String takes text");
    }
    assert!(report.is_empty(), "of {} random objects\n{report}", samples.len());
}

/// How our view of an object differs from the API server's answer.
fn difference(object: &Value, answer: &str) -> Option<String> {
    let answer = json(answer);
    let kind = GroupVersionKind::of(object).expect("samples have a kind");
    let expected = &answer["ok"];
    match Admission::default().decoded(object, &kind) {
        Ok(decoded) => {
            if expected.is_null() {
                return Some(format!("the API server refuses: {}", answer["error"]));
            }
            let [decoded, expected] = [json(&decoded.to_json()), expected.clone()].map(without_times);
            (decoded != expected).then(|| differing_paths(&decoded, &expected))
        }
        Err(NotAdmitted::Refused { .. }) if expected.is_null() => None,
        Err(error) => Some(error.to_string()),
    }
}

/// Without the times of taints: where none is written, it is the current one.
fn without_times(mut value: serde_json::Value) -> serde_json::Value {
    match &mut value {
        serde_json::Value::Object(members) => {
            members.remove("timeAdded");
            members.values_mut().for_each(|member| *member = without_times(member.take()));
        }
        serde_json::Value::Array(items) => {
            items.iter_mut().for_each(|item| *item = without_times(item.take()));
        }
        _ => {}
    }
    value
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

/// The built-in kinds of Kubernetes, as the tool reads them.
pub(super) fn kinds() -> Vec<String> {
    let is_removed =
        |kind: &GroupVersionKind| &*kind.group == "extensions" || &*kind.kind == "PodSecurityPolicy";
    let resources = Resources::built_in()
        .iter()
        .filter(|resource| !resource.kind.group.ends_with("kyverno.io") && !is_removed(&resource.kind));
    resources.map(|resource| format!("{} {}", resource.kind.api_version(), resource.kind.kind)).collect()
}

/// The answer of the tool `admission-types` to lines.
pub(super) fn ask(arguments: &[&str], lines: &[String]) -> Vec<String> {
    let mut child = Command::new(test_support::tool("admission-types"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let answers = std::thread::scope(|scope| {
        scope.spawn(move || {
            for line in lines {
                writeln!(stdin, "{line}").expect("the tool reads");
            }
        });
        stdout.lines().map(|line| line.expect("the tool writes text")).collect()
    });
    assert!(child.wait().expect("the tool ends").success(), "the tool failed");
    answers
}
