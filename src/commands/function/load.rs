//! A function, loaded as its configuration says.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::engine::{Engine, InputNames, Settings};
use crate::krm::{self, FunctionConfig, Mode, PolicyInput, hide};
use crate::patch::Schemas;
use crate::policy::{PolicyExceptions, PolicySet};
use crate::semantics::Dialect;
use crate::source::{
    ExceptionLoader, GivenLoader, GivenObjects, LoadedExceptions, LoadedPolicies, OfflineWorld, PolicyLoader,
    SourceError, user_in, values_in,
};
use crate::value::{Pointer, Value};
use crate::yaml::{self, Limits, Source};

use super::generate::GeneratedObjects;
use super::input::{FunctionInput, Subject};
use super::{NoteKind, Reporter, exception_notes, policy_notes, unsupported};

/// A function, configured.
pub(super) struct Function {
    pub(super) engine: Engine,
    pub(super) world: OfflineWorld,
    pub(super) config: FunctionConfig,
    /// The objects that mode generate adds.
    pub(super) generated: Vec<Subject>,
    /// Notes on the configuration.
    pub(super) notes: Vec<(NoteKind, String)>,
}

impl Function {
    /// Loads everything that the configuration names.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the configuration, what it names, and the items as a whole.
    pub(super) fn open(input: &FunctionInput<'_>, reporter: &mut Reporter) -> Result<Self, Vec<String>> {
        let limits = Limits::default();
        if input.config.value.is_null() {
            return Err(vec![
                "no functionConfig: it is where a Kyv (kyv.dev/v1alpha1) or a ConfigMap names the policies"
                    .into(),
            ]);
        }
        let config = FunctionConfig::from_value(input.config.value)
            .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let items: Vec<&Value> = input.items.iter().map(|item| item.value).collect();
        let label = |number: usize| match input.items.get(number) {
            Some(item) => item.origin().to_string(),
            None => String::new(),
        };
        let mut faults = krm::faults(&items, input.config.value, &label);
        let loaded = policies(input, &config, limits, reporter);
        let loaded = loaded.map_err(|errors| faults.extend(errors)).ok();
        let values =
            config.values.as_ref().map(|value| values_in(&printed("values", value), &limits)).transpose();
        let user =
            config.user_info.as_ref().map(|value| user_in(&printed("userInfo", value), &limits)).transpose();
        let objects = context_from(input, &config, limits);
        let said = |errors: Vec<SourceError>| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
        let values =
            values.map_err(|errors| faults.extend(said(errors))).unwrap_or_default().unwrap_or_default();
        let user = user.map_err(|errors| faults.extend(said(errors))).unwrap_or_default();
        let objects = objects.map_err(|errors| faults.extend(said(errors))).unwrap_or_default();
        let exceptions = exceptions(input, &config, limits);
        let exceptions = exceptions.map_err(|errors| faults.extend(errors)).unwrap_or_default();
        let generated = GeneratedObjects::load(&config.manifests, input.config.value, limits);
        let generated = generated.map_err(|errors| faults.extend(errors)).unwrap_or_default();
        let Some(loaded) = loaded.filter(|_| faults.is_empty()) else { return Err(faults) };
        let errors = unsupported(&loaded);
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut notes = policy_notes(&loaded, reporter);
        notes.extend(exception_notes(&exceptions, &loaded.policies));
        notes.extend(generated.notes.into_iter().map(|note| (NoteKind::Other, note)));
        notes.extend(values.notes.into_iter().map(|note| (NoteKind::Omission, note)));
        let settings = Settings {
            semantics: config.semantics,
            schemas: Schemas::kubernetes(),
            values: values.values,
            user,
            exceptions: PolicyExceptions::new(exceptions.exceptions),
            operation: config.operation,
            input_names: InputNames::FUNCTION,
            ..Settings::default()
        };
        let engine = Engine::new(PolicySet::new(loaded.policies), settings);
        let named = match config.mode {
            Mode::Generate => generated.subjects.iter().map(|subject| &subject.value).collect(),
            Mode::Mutate | Mode::Validate => items,
        };
        let world = world(&engine, &named, objects);
        Ok(Self { engine, world, config, generated: generated.subjects, notes })
    }
}

/// The policies that the configuration names, and those among the items if it is set so.
fn policies(
    input: &FunctionInput<'_>,
    config: &FunctionConfig,
    limits: Limits,
    reporter: &mut Reporter,
) -> Result<LoadedPolicies, Vec<String>> {
    let dialect = Dialect { semantics: config.semantics, legacy: config.legacy };
    let mut loader = PolicyLoader::new(dialect, limits);
    let mut strays = Vec::new();
    let mut node = |loader: &mut PolicyLoader, at: &Pointer, value: &Value| {
        if !loader.node(input.config.document, at, value) {
            strays.push(format!("{at}: neither a path nor a policy"));
        }
    };
    let inline = input.config.at.key("spec").key("policies");
    for (index, policy) in config.policies.iter().enumerate() {
        match policy {
            PolicyInput::Path(path) => loader.path(Path::new(&**path)),
            PolicyInput::Inline(policy) => node(&mut loader, &inline.index(index), policy),
            PolicyInput::Stream(text) => {
                loader.text(&Arc::new(Source::new("functionConfig.data.inline", &**text)));
            }
        }
    }
    if config.policies_from_items {
        for item in &input.items {
            loader.node(item.document, &item.at, &hide(item.value).0);
        }
    }
    let name = if config.policies_from_items { "functionConfig and items" } else { "functionConfig" };
    match loader.finish(name) {
        Ok(loaded) if strays.is_empty() => Ok(loaded),
        Ok(_) => Err(strays),
        Err(refused) => {
            reporter.divergences(refused.divergences, config.semantics);
            strays.extend(refused.errors.iter().map(ToString::to_string));
            Err(strays)
        }
    }
}

/// The exceptions that the configuration names.
fn exceptions(
    input: &FunctionInput<'_>,
    config: &FunctionConfig,
    limits: Limits,
) -> Result<LoadedExceptions, Vec<String>> {
    let mut loader = ExceptionLoader::new(config.semantics, limits);
    let mut strays = Vec::new();
    let at = input.config.at.key("spec").key("exceptions");
    for (index, exception) in config.exceptions.iter().enumerate() {
        match exception {
            PolicyInput::Path(path) => loader.path(Path::new(&**path)),
            PolicyInput::Inline(exception) => {
                let at = at.index(index);
                if !loader.node(input.config.document, &at, exception) {
                    strays.push(format!("{at}: neither a path nor an exception"));
                }
            }
            // Only policies are given as a stream.
            PolicyInput::Stream(_) => {}
        }
    }
    match loader.finish() {
        Ok(loaded) if strays.is_empty() => Ok(loaded),
        Ok(_) => Err(strays),
        Err(errors) => Err(strays.into_iter().chain(errors.iter().map(ToString::to_string)).collect()),
    }
}

/// What context entries are loaded from. The items are not: they are no part of the cluster yet.
fn context_from(
    input: &FunctionInput<'_>,
    config: &FunctionConfig,
    limits: Limits,
) -> Result<GivenObjects, Vec<SourceError>> {
    let mut loader = GivenLoader::new("default", &[], limits);
    let inline = input.config.at.key("spec").key("contextFrom");
    for (index, entry) in config.context_from.iter().enumerate() {
        match entry {
            PolicyInput::Path(path) => loader.path(Path::new(&**path)),
            PolicyInput::Inline(_) | PolicyInput::Stream(_) => {
                loader.node(input.config.document, &inline.index(index));
            }
        }
    }
    loader.finish()
}

/// The world of the items: the namespaces among them, and those of the configuration.
fn world(engine: &Engine, items: &[&Value], objects: GivenObjects) -> OfflineWorld {
    let mut world = OfflineWorld::new(Timestamp::now(), 0);
    world.set_objects(objects);
    if engine.uses_namespace_labels() {
        for item in items {
            let is = |field, text| item.get(field).and_then(Value::as_str) == Some(text);
            if is("kind", "Namespace") && is("apiVersion", "v1") {
                world.add_namespace(item);
            }
        }
    }
    for (name, labels) in &engine.settings().values.namespaces {
        world.set_namespace_labels(name.clone(), labels.clone());
    }
    world
}

/// A part of the configuration, printed as a document of its own.
fn printed(field: &str, value: &Value) -> Arc<Source> {
    let mut text = String::new();
    yaml::print(value, &mut text);
    Arc::new(Source::new(format!("functionConfig.{field}"), text))
}
