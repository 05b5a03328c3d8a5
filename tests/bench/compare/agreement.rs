//! Whether two programs make the same of the same objects. What does not do the same work is not compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use kyv::value::{Map, ObjectRef, Value};

use test_support::kyverno_cli::artefacts::{ARTEFACTS, with_whole_numbers};
use test_support::kyverno_samples::parse;
use test_support::normalize::without_empty;

use crate::compare::programs::Programs;

/// Kind, namespace and name of an object.
type Identity = (String, String, String);

/// Checks that kyv, under both semantics, and the Kyverno CLI make the same of all objects of a file.
///
/// # Errors
///
/// The first object that differs, as each of them makes it, or where rules fail.
pub(crate) fn with_kyverno(programs: &Programs, policies: &Path, objects: &Path) -> Result<(), String> {
    let Printed { originals, printed } = printed_by_kyverno(programs, policies, objects, &[0])?;
    let given: BTreeMap<Identity, &Value> =
        originals.iter().map(|object| (identity(object), object)).collect();
    // Each object is printed once for each policy: what the last left is what counts.
    let mut theirs: BTreeMap<Identity, Option<Value>> =
        given.iter().map(|(name, object)| (name.clone(), Some((*object).clone()))).collect();
    for object in printed {
        let identity = identity(&object);
        // An object without a namespace comes back in that of the CLI.
        let bare = (identity.0.clone(), String::new(), identity.2.clone());
        let key = if given.contains_key(&identity) { identity } else { bare };
        let original = given.get(&key).ok_or_else(|| format!("{key:?} was not given to the Kyverno CLI"))?;
        theirs.insert(key, Some(undone(object, original)));
    }
    some_changed(&originals, &theirs)?;
    for semantics in ["documented", "kyverno"] {
        compared_with_kyv(programs, policies, objects, semantics, &[0], &theirs)?;
    }
    Ok(())
}

/// The same with classic policies whose rules may fail, and gives the number of objects on which some do: after a failure the
/// CLI goes on with an empty object, so these are not compared. Under `kyverno` semantics alone, as the other one differs by
/// design.
///
/// # Errors
///
/// As for [`with_kyverno`].
pub(crate) fn where_no_rule_fails(
    programs: &Programs,
    policies: &Path,
    objects: &Path,
) -> Result<usize, String> {
    // 1 tells that a rule failed.
    let Printed { originals, printed } = printed_by_kyverno(programs, policies, objects, &[0, 1])?;
    // Each object is printed once for each classic policy.
    let policies_for_each = printed.len() / originals.len().max(1);
    if policies_for_each == 0 || printed.len() != policies_for_each * originals.len() {
        return Err(format!("the Kyverno CLI prints {} for {} objects", printed.len(), originals.len()));
    }
    let (mut theirs, mut failed) = (BTreeMap::new(), 0);
    for (original, printed) in originals.iter().zip(printed.chunks(policies_for_each)) {
        let is_failed = printed.iter().any(|object| object.as_object().is_some_and(Map::is_empty));
        failed += usize::from(is_failed);
        let last = printed.last().filter(|_| !is_failed);
        theirs.insert(identity(original), last.map(|last| undone(last.clone(), original)));
    }
    some_changed(&originals, &theirs)?;
    compared_with_kyv(programs, policies, objects, "kyverno", &[0, 3], &theirs)?;
    Ok(failed)
}

/// Objects and what the Kyverno CLI prints of them.
struct Printed {
    originals: Vec<Value>,
    printed: Vec<Value>,
}

fn printed_by_kyverno(
    programs: &Programs,
    policies: &Path,
    objects: &Path,
    codes: &[i32],
) -> Result<Printed, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let output = folder.path().join("kyverno.yaml");
    let mut command = Command::new(programs.kyverno());
    command.arg("apply").arg(policies).arg("--resource").arg(objects).arg("--output").arg(&output);
    let said = run(command.arg("--remove-color"), "the Kyverno CLI", codes)?;
    let last = said.lines().last().unwrap_or_default();
    if codes == [0] && !(last.contains("fail: 0,") && last.contains("error: 0,")) {
        return Err(format!("the Kyverno CLI could not apply everything: {last}"));
    }
    let told = |error: std::io::Error| format!("{error}: {last}");
    let [originals, printed] = [objects, &output].map(|path| fs::read_to_string(path).map_err(told));
    Ok(Printed { originals: values(&originals?)?, printed: values(&printed?)? })
}

/// An object of the CLI without its artefacts.
fn undone(object: Value, original: &Value) -> Value {
    ARTEFACTS.iter().fold(object, |object, artefact| (artefact.undo)(object, original))
}

fn some_changed(originals: &[Value], theirs: &BTreeMap<Identity, Option<Value>>) -> Result<(), String> {
    let is_changed = |original: &&Value| {
        theirs
            .get(&identity(original))
            .is_some_and(|made| made.as_ref().is_some_and(|made| made != *original))
    };
    if originals.iter().any(|original| is_changed(&original)) {
        Ok(())
    } else {
        Err("the Kyverno CLI changes nothing, so nothing is compared".to_owned())
    }
}

/// Checks that kyv makes the same of the objects as the Kyverno CLI.
fn compared_with_kyv(
    programs: &Programs,
    policies: &Path,
    objects: &Path,
    semantics: &str,
    codes: &[i32],
    theirs: &BTreeMap<Identity, Option<Value>>,
) -> Result<(), String> {
    let mut command = Command::new(&programs.kyv);
    command.args(["mutate", "--semantics", semantics, "--view", "written", "-p"]);
    command.arg(policies).arg("-f").arg(objects);
    let mut ours = values(&run(&mut command, "kyv", codes)?)?;
    if ours.len() != theirs.len() {
        return Err(format!("kyv prints {} of {} objects", ours.len(), theirs.len()));
    }
    ours.retain(|object| theirs.get(&identity(object)).is_none_or(Option::is_some));
    let theirs = theirs.iter().filter_map(|(name, object)| Some((name.clone(), object.clone()?))).collect();
    same(&ours, &theirs, &format!("kyv --semantics {semantics}"), "the Kyverno CLI")
}

/// Checks that two programs print the same objects, in any order.
///
/// # Errors
///
/// The first object that differs, as each of them prints it.
pub(crate) fn between(ours: &mut Command, theirs: &mut Command, their_name: &str) -> Result<(), String> {
    compared(values(&run(ours, "kyv", &[0])?)?, values(&run(theirs, their_name, &[0])?)?, their_name)
}

/// The same, with elements that have names in any order: both kinds of policies merge by name, and each has its own order.
///
/// # Errors
///
/// As for [`between`].
pub(crate) fn by_names(ours: &mut Command, theirs: &mut Command, their_name: &str) -> Result<(), String> {
    let [ours, theirs] = [run(ours, "kyv", &[0])?, run(theirs, their_name, &[0])?];
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
    run(program, name, &[0])?;
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

fn run(command: &mut Command, name: &str, codes: &[i32]) -> Result<String, String> {
    let output =
        command.env_clear().stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.code().is_some_and(|code| codes.contains(&code)) {
        return Ok(text);
    }
    Err(format!("{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
}

fn values(text: &str) -> Result<Vec<Value>, String> {
    parse("printed".to_owned(), text.to_owned())
}

fn by_identity(objects: Vec<Value>) -> BTreeMap<Identity, Value> {
    objects.into_iter().map(|object| (identity(&object), object)).collect()
}

fn identity(object: &Value) -> Identity {
    let Some(name) = ObjectRef::of(object) else { return Identity::default() };
    let namespace = name.namespace.as_deref().unwrap_or_default().to_owned();
    (name.kind.kind.to_string(), namespace, name.name.to_string())
}
