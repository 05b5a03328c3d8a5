//! Objects through the real Kyverno CLI.

pub mod artefacts;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use kyv::value::{Map, ObjectRef, Value};
use kyv::yaml::{Limits, Source, print, read};

/// The result of one object.
pub struct Applied {
    /// The object as printed.
    pub object: Value,
    /// Whether a rule could not be evaluated.
    pub failed: bool,
}

/// Applies the policy of one file to objects, with values for variables where there are any, and gives the objects in
/// the same order.
///
/// No two objects may have the same kind, namespace and name, where no namespace is `default`: the CLI panics then.
///
/// # Errors
///
/// What the CLI says, where it does not print each object: it ended early, or runs none of the policy's rules.
pub fn apply(
    program: &Path,
    policy: &Path,
    objects: &[Value],
    values: Option<&Path>,
) -> Result<Vec<Applied>, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [input, output] = ["objects.yaml", "mutated.yaml"].map(|name| folder.path().join(name));
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        print(object, &mut text);
    }
    fs::write(&input, text).expect("a file in a temporary folder");
    let mut command = Command::new(program);
    command.arg("apply").arg(policy).arg("--resource").arg(&input).arg("--output").arg(&output);
    command.arg("--remove-color");
    if let Some(values) = values {
        command.arg("--values-file").arg(values);
    }
    let ended = command.env_clear().stdin(Stdio::null()).output().expect("the Kyverno CLI starts");
    let said = String::from_utf8_lossy(&[&ended.stdout[..], &ended.stderr[..]].concat()).into_owned();
    let refused = |what: String| {
        let tail: Vec<&str> = said.lines().rev().take(20).collect();
        format!("{what}, {}: {}", ended.status, tail.into_iter().rev().collect::<Vec<_>>().join("\n"))
    };
    let text = fs::read_to_string(&output).map_err(|error| refused(error.to_string()))?;
    let documents = read(&Arc::new(Source::new("the Kyverno CLI", text)), &Limits::default())
        .map_err(|errors| format!("{errors:?}"))?;
    let printed: Vec<Value> = documents.iter().filter_map(|document| document.value().cloned()).collect();
    if printed.len() != objects.len() {
        return Err(refused(format!("{} of {} objects", printed.len(), objects.len())));
    }
    let mut failures: BTreeSet<&str> = said
        .lines()
        .filter(|line| line.starts_with("error while applying mutate policy "))
        .filter_map(|line| line.split(" -> resource ").nth(1))
        .map(str::trim)
        .collect();
    let applied = objects.iter().zip(printed).map(|(given, object)| {
        let name = ObjectRef::of(given).expect("an object has a kind");
        let failed = [name.namespace.as_deref().unwrap_or("default"), ""]
            .iter()
            .any(|namespace| failures.remove(&*format!("{namespace}/{}/{}", name.kind.kind, name.name)));
        Applied { object, failed }
    });
    let applied: Vec<Applied> = applied.collect();
    if applied.iter().any(|one| !one.failed && one.object.as_object().is_some_and(Map::is_empty)) {
        return Err(refused("nothing for an object, and no error".to_owned()));
    }
    if failures.is_empty() { Ok(applied) } else { Err(refused(format!("errors at {failures:?}"))) }
}
