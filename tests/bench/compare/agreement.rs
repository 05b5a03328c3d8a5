//! Whether two programs make the same of the same objects. What does not do the same work is not compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use kyv::value::{ObjectRef, Value};
use kyv::yaml::{Limits, Source, read};

use test_support::kyverno_cli::artefacts::{ARTEFACTS, with_whole_numbers};
use test_support::normalize::without_empty;

use crate::compare::programs::Programs;

/// Kind, namespace and name of an object.
type Identity = (String, String, String);

/// Checks that kyv, under both semantics, and the Kyverno CLI make the same of all objects of a file.
///
/// # Errors
///
/// The first object that differs, as each of them makes it.
pub(crate) fn with_kyverno(programs: &Programs, policies: &Path, objects: &Path) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let output = folder.path().join("kyverno.yaml");
    let mut command = Command::new(programs.kyverno());
    command.arg("apply").arg(policies).arg("--resource").arg(objects).arg("--output").arg(&output);
    let said = run(command.arg("--remove-color"), "the Kyverno CLI")?;
    let last = said.lines().last().unwrap_or_default();
    if !last.contains("fail: 0,") || !last.contains("error: 0,") {
        return Err(format!("the Kyverno CLI could not apply everything: {last}"));
    }
    let given = values(&fs::read_to_string(objects).map_err(|error| error.to_string())?)?;
    let originals = by_identity(given.clone());
    // Each object is printed once for each policy: what the last left is what counts.
    let mut theirs = originals.clone();
    for printed in values(&fs::read_to_string(&output).map_err(|error| error.to_string())?)? {
        let identity = identity(&printed);
        // An object without a namespace comes back in that of the CLI.
        let bare = (identity.0.clone(), String::new(), identity.2.clone());
        let key = if originals.contains_key(&identity) { identity } else { bare };
        let original =
            originals.get(&key).ok_or_else(|| format!("{key:?} was not given to the Kyverno CLI"))?;
        let object = ARTEFACTS.iter().fold(printed, |object, artefact| (artefact.undo)(object, original));
        theirs.insert(key, object);
    }
    if theirs == originals {
        return Err("the Kyverno CLI changes nothing, so nothing is compared".to_owned());
    }
    for semantics in ["documented", "kyverno"] {
        let mut command = Command::new(&programs.kyv);
        command
            .args(["mutate", "--semantics", semantics, "--view", "written", "-p"])
            .arg(policies)
            .arg("-f")
            .arg(objects);
        let ours = values(&run(&mut command, "kyv")?)?;
        if ours.len() != given.len() {
            return Err(format!("kyv prints {} of {} objects", ours.len(), given.len()));
        }
        same(&ours, &theirs, &format!("kyv --semantics {semantics}"), "the Kyverno CLI")?;
    }
    Ok(())
}

/// Checks that two programs print the same objects, in any order.
///
/// # Errors
///
/// The first object that differs, as each of them prints it.
pub(crate) fn between(ours: &mut Command, theirs: &mut Command, their_name: &str) -> Result<(), String> {
    compared(values(&run(ours, "kyv")?)?, values(&run(theirs, their_name)?)?, their_name)
}

/// The same, with elements that have names in any order: both kinds of policies merge by name, and each has its own order.
///
/// # Errors
///
/// As for [`between`].
pub(crate) fn by_names(ours: &mut Command, theirs: &mut Command, their_name: &str) -> Result<(), String> {
    let [ours, theirs] = [run(ours, "kyv")?, run(theirs, their_name)?];
    let sorted = |objects: Vec<Value>| objects.iter().map(sorted_by_name).collect();
    compared(sorted(values(&ours)?), sorted(values(&theirs)?), their_name)
}

fn sorted_by_name(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(sorted_by_name).collect();
            items.sort_by_key(|item| item.get("name").and_then(Value::as_str).map(str::to_owned));
            Value::array(items)
        }
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), sorted_by_name(value))).collect()
        }
        other => other.clone(),
    }
}

fn compared(ours: Vec<Value>, theirs: Vec<Value>, their_name: &str) -> Result<(), String> {
    let theirs = by_identity(theirs);
    if ours.len() != theirs.len() {
        return Err(format!("kyv prints {} objects and {their_name} {}", ours.len(), theirs.len()));
    }
    same(&ours, &theirs, "kyv", their_name)
}

/// Checks that a program that changes nothing has left out nothing.
///
/// # Errors
///
/// The first object that is not there as it was.
pub(crate) fn unchanged(
    program: &mut Command,
    printed: &Path,
    objects: &Path,
    name: &str,
) -> Result<(), String> {
    run(program, name)?;
    let [printed, given] =
        [printed, objects].map(|path| fs::read_to_string(path).map_err(|error| error.to_string()));
    let (printed, given) = (values(&printed?)?, values(&given?)?);
    if printed.len() != given.len() {
        return Err(format!("{name} prints {} of {} objects", printed.len(), given.len()));
    }
    same(&given, &by_identity(printed), "the file", name)
}

fn same(
    ours: &[Value],
    theirs: &BTreeMap<Identity, Value>,
    our_name: &str,
    their_name: &str,
) -> Result<(), String> {
    let tidied = |object: &Value| without_empty(&with_whole_numbers(object.clone()));
    for object in ours {
        let identity = identity(object);
        let (ours, theirs) = (tidied(object), theirs.get(&identity).and_then(tidied));
        if ours != theirs {
            let json = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_go_json);
            let (ours, theirs) = (json(&ours), json(&theirs));
            return Err(format!(
                "{our_name} and {their_name} differ at {identity:?}, so their times mean nothing\n{our_name}: {ours}\n{their_name}: {theirs}"
            ));
        }
    }
    Ok(())
}

fn run(command: &mut Command, name: &str) -> Result<String, String> {
    let output =
        command.env_clear().stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(format!("{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
}

fn values(text: &str) -> Result<Vec<Value>, String> {
    let documents = read(&Arc::new(Source::new("printed", text)), &Limits::default())
        .map_err(|errors| errors.first().map(ToString::to_string).unwrap_or_default())?;
    Ok(documents.iter().filter_map(|document| document.value().cloned()).collect())
}

fn by_identity(objects: Vec<Value>) -> BTreeMap<Identity, Value> {
    objects.into_iter().map(|object| (identity(&object), object)).collect()
}

fn identity(object: &Value) -> Identity {
    let Some(name) = ObjectRef::of(object) else { return Identity::default() };
    let namespace = name.namespace.as_deref().unwrap_or_default().to_owned();
    (name.kind.kind.to_string(), namespace, name.name.to_string())
}
