//! Apply configurations compared with the API server's own code: random objects of all kinds, and configurations as
//! expressions, merged by both. `server` has some of them in a real API server.
//!
//! Runs when `KYV_REAL_PROGRAMS` is 1: some pairs of each kind, and with `KYV_ALL_CHANGES` 1 more than 20,000.

mod configurations;
mod server;
pub(crate) mod widgets;

use std::collections::BTreeMap;

use kyv::admission::KindSchemas;
use kyv::cel::{Activation, Dialect, Env, Meter, Numbers, Program, Val, apply_configuration};
use kyv::patch::{ApplyError, Atomics, apply};
use kyv::value::{GroupVersionKind, Pointer, Segment, Value};
use kyv_fuzz::seeds::Random;

use crate::admission_types::{ask, kinds};
use configurations::{expression, members};

/// The objects of each kind; with each come a configuration as an expression and one as JSON.
const SAMPLES: usize = 4;
const ALL_SAMPLES: usize = 130;

#[test]
fn configurations_of_all_kinds_are_merged_as_by_the_api_server() {
    if test_support::skip_without_real_programs("apply configurations") {
        return;
    }
    let are_all = std::env::var_os("KYV_ALL_CHANGES").is_some_and(|value| value == "1");
    let count = if are_all { ALL_SAMPLES } else { SAMPLES };
    let samples = ask(&["samples", &count.to_string(), "7"], &kinds());
    let decoded = ask(&["decode"], &samples);
    let mut by_kind: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for answer in &decoded {
        if let Some(object) = json(answer).get("ok") {
            by_kind
                .entry(GroupVersionKind::of(object).expect("a kind").to_string())
                .or_default()
                .push(object.clone());
        }
    }
    let mut random = Random(11);
    let mut cases = Vec::new();
    for objects in by_kind.values() {
        for (index, object) in objects.iter().enumerate() {
            let donor = &objects[(index + 1) % objects.len()];
            cases.push(Case::expression(object, expression(&mut random, object, donor)));
            cases.push(Case::json(object, members(&mut random, object, donor)));
        }
    }
    compare(&cases, &KindSchemas::default(), None);
}

#[test]
fn configurations_of_custom_resources_are_merged_as_by_the_api_server() {
    if test_support::skip_without_real_programs("apply configurations of custom resources") {
        return;
    }
    let are_all = std::env::var_os("KYV_ALL_CHANGES").is_some_and(|value| value == "1");
    let count = if are_all { 4_000 } else { 200 };
    let definition = widgets::definition();
    let mut random = Random(13);
    let mut cases = Vec::new();
    for _ in 0..count {
        let (object, donor) = (widgets::object(&mut random), widgets::object(&mut random));
        cases.push(Case::expression(&object, expression(&mut random, &object, &donor)));
        cases.push(Case::json(&object, members(&mut random, &object, &donor)));
    }
    compare(&cases, &KindSchemas::with_crds([&definition]), Some(&definition));
}

/// A configuration for an object.
struct Case {
    object: Value,
    configuration: Configuration,
}

enum Configuration {
    /// Evaluated, merged if it has nothing that is replaced as a whole.
    Expression(String),
    /// Merged, whatever it has.
    Json(Value),
}

impl Case {
    fn expression(object: &Value, text: String) -> Self {
        Self { object: object.clone(), configuration: Configuration::Expression(text) }
    }

    fn json(object: &Value, members: Value) -> Self {
        Self { object: object.clone(), configuration: Configuration::Json(members) }
    }

    /// The case as the oracle reads it.
    fn line(&self, definition: Option<&Value>) -> String {
        let configuration = match &self.configuration {
            Configuration::Expression(text) => ("expression", Value::from(text.as_str())),
            Configuration::Json(value) => ("configuration", value.clone()),
        };
        let definition = definition.map(|definition| ("definition", definition.clone()));
        let members = [("object", self.object.clone()), configuration].into_iter().chain(definition);
        members.collect::<Value>().to_json()
    }

    /// What we make of it.
    fn merged(&self, schemas: &KindSchemas) -> Result<Value, Failure> {
        let schema = schemas.of(&GroupVersionKind::of(&self.object).expect("a kind")).expect("a schema");
        let (configuration, atomics) = match &self.configuration {
            Configuration::Json(value) => (value.clone(), Atomics::Replaced),
            Configuration::Expression(text) => {
                let env = Env::policy(Dialect::Kubernetes).with_messages();
                let program = Program::compile(&env, text).map_err(|error| Failure::of(&error))?;
                let mut activation = Activation::new(&env, &[]);
                activation.set("object", Val::from_json(&self.object, Numbers::Exact));
                let value = program.evaluate(&activation, &mut Meter::default());
                let value = value.map_err(|error| Failure::of(&error))?;
                (apply_configuration(&value).map_err(|error| Failure::of(&error))?, Atomics::Refused)
            }
        };
        apply(&self.object, &configuration, schema, atomics).map_err(|error| match &error {
            ApplyError::Atomic(paths) => {
                Failure { atomics: Some(sorted(paths.iter().map(field_path))), ..Failure::of(&error) }
            }
            _ => Failure::of(&error),
        })
    }
}

/// Why a configuration was not merged.
#[derive(Debug, PartialEq)]
struct Failure {
    text: String,
    /// What it has that is replaced as a whole, if that is the reason.
    atomics: Option<Vec<String>>,
}

impl Failure {
    fn of(error: &impl ToString) -> Self {
        Self { text: error.to_string(), atomics: None }
    }

    /// Whether the object itself does not fit its schema.
    fn is_of_object(&self) -> bool {
        self.text.contains("convert original object") || self.text.starts_with("the object: ")
    }

    fn of_oracle(text: &str) -> Self {
        let paths = text.split_once("may not mutate atomic arrays, maps or structs: ");
        let atomics = paths.map(|(_, paths)| sorted(paths.split(", ").map(str::to_owned)));
        Self { text: text.to_owned(), atomics }
    }
}

fn sorted(paths: impl Iterator<Item = String>) -> Vec<String> {
    let mut paths: Vec<String> = paths.collect();
    paths.sort();
    paths
}

/// A path as the API server writes it.
fn field_path(pointer: &Pointer) -> String {
    let segment = |segment: &Segment| match segment {
        Segment::Key(key) => format!(".{key}"),
        Segment::Index(index) => format!("[{index}]"),
    };
    pointer.segments().iter().map(segment).collect()
}

fn compare(cases: &[Case], schemas: &KindSchemas, definition: Option<&Value>) {
    let lines: Vec<String> = cases.iter().map(|case| case.line(definition)).collect();
    let answers = ask(&["apply"], &lines);
    assert_eq!(cases.len(), answers.len(), "one answer for each case");
    let mut differences = Vec::new();
    let (mut merged, mut changed, mut atomic) = (0, 0, 0);
    for (case, answer) in cases.iter().zip(&answers) {
        let answer = json(answer);
        let theirs = match answer.get("ok") {
            Some(object) => Ok(object.clone()),
            None => Err(Failure::of_oracle(answer.get("error").and_then(Value::as_str).unwrap_or_default())),
        };
        // We look at the parts that a configuration sets; the API server does not get to see such objects.
        if theirs.as_ref().is_err_and(Failure::is_of_object) {
            continue;
        }
        let ours = case.merged(schemas);
        let is_same = match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => without_empty_lists(ours) == without_empty_lists(theirs),
            (Err(ours), Err(theirs)) => ours.atomics == theirs.atomics,
            _ => false,
        };
        merged += usize::from(theirs.is_ok());
        changed += usize::from(theirs.as_ref().is_ok_and(|theirs| *theirs != case.object));
        atomic += usize::from(theirs.as_ref().is_err_and(|theirs| theirs.atomics.is_some()));
        if !is_same {
            let ours = ours.map(|value| value.to_json());
            let theirs = theirs.map(|value| value.to_json());
            differences.push(format!("{}\nours {ours:?}\ntheirs {theirs:?}", case.line(None)));
        }
    }
    test_support::log(&format!(
        "{} apply configurations: {merged} merged, {changed} of them with changes; {atomic} with atomic fields",
        cases.len()
    ));
    assert!(changed * 4 > cases.len(), "most configurations are merged");
    assert!(
        differences.is_empty(),
        "{} of {} differ, such as\n{}",
        differences.len(),
        cases.len(),
        differences[..differences.len().min(5)].join("\n\n")
    );
}

/// With nulls instead of empty lists: the API server makes that of `[]` in an expression where nothing decodes it.
fn without_empty_lists(value: &Value) -> Value {
    match value {
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Array(items) => Value::array(items.iter().map(without_empty_lists).collect()),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), without_empty_lists(member))).collect()
        }
        scalar => scalar.clone(),
    }
}

fn json(text: &str) -> Value {
    Value::from_json(text).expect("JSON")
}
