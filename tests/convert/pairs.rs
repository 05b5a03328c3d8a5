//! A policy and what it became, run on the same objects.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kyv::admission::KindSchemas;
use kyv::convert::{Comments, Conversion, Difference, Options, Outcome, convert};
use kyv::patch::Schemas;
use kyv::policy::{DocumentKind, Policy, kind_of, parse};
use kyv::resources::Resources;
use kyv::source::custom_kinds;
use kyv::value::{Map, Pointer, Value};
use kyv::yaml::{Limits, Source, read};
use kyv::{Input, Mutator, Semantics};

/// The documents of a text with their values.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    let source = Arc::new(Source::new("text", text));
    let read = read(&source, &Limits::default()).unwrap_or_default();
    read.into_iter().filter_map(kyv::yaml::Document::into_value).collect()
}

/// The classic policies of a text that load, with what they become.
pub(crate) fn conversions(text: &str, options: &Options) -> Vec<(Value, Conversion)> {
    let mut converted = Vec::new();
    let source = Arc::new(Source::new("text", text));
    for read in read(&source, &Limits::default()).unwrap_or_default() {
        let mut comments = Comments::of(&read, &Pointer::ROOT);
        // The first line of a case says what it shows.
        comments.head.clear();
        let Some(document) = read.into_value() else { continue };
        if kind_of(&document) != DocumentKind::Policy {
            continue;
        }
        let Ok(Policy::Classic(policy)) = parse(&document, Semantics::default()) else {
            continue;
        };
        let conversion = convert(&document, &policy, &comments, options);
        converted.push((document, conversion));
    }
    converted
}

/// The definition of the custom kind of the corpus.
fn definitions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/convert/custom-kind.yaml")
}

pub(crate) fn options(accepts: &[Difference]) -> Options {
    let kinds = custom_kinds(&[definitions()], &Limits::default()).unwrap_or_default();
    let mut schemas = Schemas::kubernetes();
    for kind in &kinds {
        assert!(schemas.add_crd(&kind.definition).is_ok(), "{}", kind.origin);
    }
    let resources = kinds.iter().flat_map(|kind| kind.versions.iter().cloned());
    Options {
        accepts: accepts.to_vec(),
        kinds: KindSchemas::with_crds(kinds.iter().map(|kind| &kind.definition)),
        schemas,
        resources: Some(Resources::served().with(resources)),
        ..Options::default()
    }
}

/// Whether all mutate rules of a policy were converted.
pub(crate) fn is_whole(conversion: &Conversion) -> bool {
    !conversion.rules.is_empty()
        && conversion.rules.iter().all(|rule| matches!(rule.outcome, Outcome::Converted(_)))
}

/// Why the API or Kyverno would refuse a new policy.
pub(crate) fn faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for document in documents(text) {
        if kind_of(&document) == DocumentKind::Binding {
            continue;
        }
        if let Err(errors) = parse(&document, Semantics::default()) {
            faults.extend(errors.iter().map(|error| format!("{}: {}", error.pointer, error.message)));
        }
    }
    faults
}

/// What policies make of an object: the object without nulls and empty lists and maps, or that there is an error. `sorts`
/// the elements of lists.
pub(crate) fn result(mutator: &Mutator, object: &str, sorts: bool) -> Result<String, String> {
    let report = mutator.mutate(object).map_err(|error| format!("unreadable: {error}"))?;
    if report.has_errors() {
        return Ok("error".to_owned());
    }
    let value = Value::from_json(&report.json()).map_err(|error| error.to_string())?;
    let normal = normal(&value);
    Ok(if sorts { sorted(&normal) } else { normal }.to_json())
}

/// With the elements of lists in the order of their text.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => members.iter().map(|(key, member)| (key.clone(), sorted(member))).collect(),
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(sorted).collect();
            items.sort_by_key(Value::to_json);
            Value::array(items)
        }
        other => other.clone(),
    }
}

/// The first error of the policies on an object.
pub(crate) fn error(mutator: &Mutator, object: &str) -> String {
    let Ok(report) = mutator.mutate(object) else { return String::new() };
    let errors = report.rules().filter_map(|rule| match rule.outcome() {
        kyv::Outcome::Error(message) => Some(message),
        _ => None,
    });
    errors.collect::<Vec<_>>().join("; ")
}

/// Keys sorted, without nulls and empty lists and maps.
pub(crate) fn normal(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut kept: Vec<_> = members
                .iter()
                .map(|(key, member)| (key.clone(), normal(member)))
                .filter(|(_, member)| !is_empty(member))
                .collect();
            kept.sort_by(|(one, _), (other, _)| one.cmp(other));
            let mut map = Map::with_capacity(kept.len());
            for (key, member) in kept {
                map.insert(key, member);
            }
            Value::object(map)
        }
        Value::Array(items) => Value::array(items.iter().map(normal).collect()),
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Policies as a mutator, with what a folder says of the cluster: `userinfo.yaml`, labels of namespaces in `values.yaml`,
/// and `context.yaml`.
pub(crate) fn mutator(
    folder: &Path,
    name: &str,
    policies: &str,
    semantics: Semantics,
) -> Result<Mutator, String> {
    let file = |name: &str| Some(folder.join(name)).filter(|path| path.exists()).map(Input::path);
    let mut builder = Mutator::builder().policies(Input::text(name, policies)).semantics(semantics);
    builder = builder.crds(Input::path(definitions()));
    if let Some(user) = file("userinfo.yaml") {
        builder = builder.user_info(user);
    }
    // Values of variables are values of classic ones.
    let values = std::fs::read_to_string(folder.join("values.yaml")).unwrap_or_default();
    if values.contains("namespaceSelector:") && !values.contains("policies:") {
        builder = builder.values(Input::text("values", values));
    }
    if let Some(objects) = file("context.yaml") {
        builder = builder.context_objects(objects);
    }
    builder.build().map_err(|error| error.to_string())
}
