//! A function, loaded as its configuration says.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::admission::View;
use crate::commands::argument_values::{self, limit_names};
use crate::commands::options::RunOptions;
use crate::commands::policy_notes::{NoteSettings, exception_notes, policy_notes};
use crate::commands::reporter::{Note, NoteKind, Reporter, Verbosity};
use crate::commands::session::{kind_schemas, schemas};
use crate::decode::{DecodeError, unknown_field};
use crate::diagnostics::{Code, Coded as _};
use crate::engine::{Engine, InputNames, Settings};
use crate::krm::{ConfigError, FunctionConfig, Mode, NamedLimit, PolicyInput, hide, item_errors};
use crate::policy::{CelExceptions, PolicyExceptions, PolicySet};
use crate::semantics::Dialect;
use crate::source::{
    ContextObjectLoader, ContextObjects, CustomKind, ExceptionLoader, Head, LoadedExceptions, LoadedPolicies,
    OfflineWorld, PolicyLoader, PolicyTexts, custom_kind_at, custom_kinds, load_user, load_values,
};
use crate::value::Value;
use crate::yaml::{self, Limits, Source};

use super::error::FunctionError;
use super::generate::GeneratedObjects;
use super::input::{FunctionInput, Subject};

pub(super) struct Function {
    pub(super) engine: Engine,
    pub(super) policy_texts: PolicyTexts,
    pub(super) world: OfflineWorld,
    pub(super) config: FunctionConfig,
    /// The objects that mode generate adds.
    pub(super) generated: Vec<Subject>,
    pub(super) notes: Vec<Note>,
}

impl Function {
    /// Loads everything that the configuration names. The errors are those of the configuration, of what it names, and
    /// of the items as a whole.
    pub(super) fn open(
        input: &FunctionInput<'_>,
        reporter: &mut Reporter,
    ) -> Result<Self, Vec<FunctionError>> {
        if input.config.value.is_null() {
            return Err(vec![FunctionError::NoConfig]);
        }
        let mut errors = Vec::new();
        let config = FunctionConfig::from_value(input.config.value)
            .map_err(|errors| errors.into_iter().map(FunctionError::Config).collect::<Vec<_>>())?;
        let strict = config.strict.then_some("strict");
        reporter.set_verbosity(Verbosity { quiet: config.quiet, verbose: true, strict });
        let limits = limits(&config.limits, &mut errors);
        let (input_limits, evaluation_limits) = argument_values::limits(&limits);
        let options = RunOptions {
            input_limits,
            evaluation_limits,
            dialect: Dialect { semantics: config.semantics, legacy: config.legacy },
            view: if config.as_written { View::Written } else { View::Admitted },
            service_account_token: config.service_account_token,
            operation: config.operation,
            ..RunOptions::default()
        };
        let items: Vec<&Value> = input.items.iter().map(|item| item.value).collect();
        let label = |number: usize| {
            input.items.get(number).map_or_else(String::new, |item| item.origin().to_string())
        };
        let of_items = item_errors(&items, input.config.value, &label);
        errors.extend(of_items.into_iter().map(FunctionError::Items));
        let policies = policies(input, &config, &options, &mut errors, reporter);
        let printed = |field, value: &Option<Value>| value.as_ref().map(|value| printed(field, value));
        let values =
            printed("values", &config.values).map(|text| load_values(&text, Head::OfKind, &input_limits));
        let values = collect(values.transpose(), &mut errors).unwrap_or_default();
        let user =
            printed("userInfo", &config.user_info).map(|text| load_user(&text, Head::OfKind, &input_limits));
        let user = collect(user.transpose(), &mut errors);
        let kinds = custom_kinds_of(input, &config, input_limits, &mut errors);
        let schemas = collect(schemas(&kinds), &mut errors);
        let kind_schemas = kind_schemas(&kinds);
        let admission = options.admission(&kind_schemas);
        let mut loader =
            ContextObjectLoader::new("default", &kinds, input_limits).admitted(admission.as_ref());
        context_from(input, &config, &mut loader);
        let objects = collect(loader.finish(), &mut errors);
        let exceptions = exceptions(input, &config, input_limits, &mut errors);
        let generated = GeneratedObjects::load(&config.manifests, input.config.value, input_limits);
        let generated = collect(generated, &mut errors);
        if errors.is_empty() && !config.skip_unsupported {
            let unsupported = policies.unsupported().into_iter();
            errors.extend(unsupported.map(FunctionError::Unsupported));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let is_user_known = user.as_ref().is_some_and(|user| !user.is_unknown());
        let missing_user = (!is_user_known).then_some(InputNames::FUNCTION.user);
        let note_settings = NoteSettings { skips_unsupported: config.skip_unsupported, missing_user };
        let mut notes = policy_notes(&policies, note_settings, reporter);
        notes.extend(exception_notes(&exceptions, Some(&policies.policies), Timestamp::now()));
        notes.extend(generated.notes.into_iter().map(|text| Note::other(Code::PassedThrough, text)));
        let unknown = values.values.unknown_to(&policies.policies, [].iter());
        notes.extend(unknown.into_iter().map(|text| Note::omission(Code::UnknownName, text)));
        notes.extend(values.notes.into_iter().map(|text| Note::omission(Code::UnusedInput, text)));
        let settings = Settings {
            admission,
            schemas,
            kind_schemas,
            values: values.values,
            user,
            exceptions: PolicyExceptions::new(exceptions.exceptions),
            cel_exceptions: CelExceptions::new(exceptions.cel),
            input_names: InputNames::FUNCTION,
            ..options.settings()
        };
        let policy_texts = PolicyTexts::new(&policies.policies, policies.texts, exceptions.cel_texts);
        let engine = Engine::new(PolicySet::new(policies.policies), settings);
        let named = match config.mode {
            Mode::Generate => generated.subjects.iter().map(|subject| &subject.value).collect(),
            Mode::Mutate | Mode::Validate => items,
        };
        let world = world(&engine, &named, &kinds, objects);
        Ok(Self { engine, policy_texts, world, config, generated: generated.subjects, notes })
    }
}

/// What was loaded; if nothing was, the errors are added to the others.
fn collect<T: Default, E: Into<FunctionError>>(
    loaded: Result<T, Vec<E>>,
    errors: &mut Vec<FunctionError>,
) -> T {
    loaded.unwrap_or_else(|found| {
        errors.extend(found.into_iter().map(Into::into));
        T::default()
    })
}

/// The policies that the configuration names, and those among the items if it is set so.
fn policies(
    input: &FunctionInput<'_>,
    config: &FunctionConfig,
    options: &RunOptions,
    errors: &mut Vec<FunctionError>,
    reporter: &mut Reporter,
) -> LoadedPolicies {
    let mut loader = PolicyLoader::new(options.dialect, options.input_limits);
    let inline = input.config.at().key("spec").key("policies");
    for (index, policy) in config.policies.iter().enumerate() {
        match policy {
            PolicyInput::Path(path) => loader.path(Path::new(&**path)),
            PolicyInput::Inline(policy) => {
                let at = inline.index(index);
                if !loader.node(input.config.document, &at, policy) {
                    errors.push(FunctionError::Inline { at, expected: "a policy" });
                }
            }
            PolicyInput::Stream(text) => {
                loader.text(&Arc::new(Source::new("functionConfig.data.inline", &**text)));
            }
        }
    }
    if config.policies_from_items {
        for item in &input.items {
            loader.node(item.document, &item.at(), &hide(item.value).0);
        }
    }
    let name = if config.policies_from_items { "functionConfig and items" } else { "functionConfig" };
    let (loaded, refused) = loader.finish_in_part(name);
    if refused.errors.is_empty() {
        return loaded;
    }
    reporter.divergences(refused.divergences, config.semantics);
    if config.keep_going && !loaded.policies.is_empty() {
        for error in refused.errors {
            reporter.add(Note::new(NoteKind::Warning, error.code(), format!("refused: {error:#}")));
        }
        return loaded;
    }
    errors.extend(refused.errors.into_iter().map(FunctionError::Source));
    LoadedPolicies::default()
}

fn exceptions(
    input: &FunctionInput<'_>,
    config: &FunctionConfig,
    limits: Limits,
    errors: &mut Vec<FunctionError>,
) -> LoadedExceptions {
    let mut loader = ExceptionLoader::new(config.semantics, limits);
    let inline = input.config.at().key("spec").key("exceptions");
    for (index, exception) in config.exceptions.iter().enumerate() {
        match exception {
            PolicyInput::Path(path) => loader.path(Path::new(&**path)),
            PolicyInput::Inline(exception) => {
                let at = inline.index(index);
                if !loader.node(input.config.document, &at, exception) {
                    errors.push(FunctionError::Inline { at, expected: "an exception" });
                }
            }
            // Only policies can be a stream.
            PolicyInput::Stream(_) => {}
        }
    }
    collect(loader.finish(), errors)
}

/// The limits with known names; the others are errors.
fn limits(named: &[NamedLimit], errors: &mut Vec<FunctionError>) -> Vec<(String, usize)> {
    let names: Vec<&str> = limit_names().collect();
    let (known, unknown): (Vec<_>, Vec<_>) = named.iter().partition(|limit| names.contains(&&*limit.name));
    errors.extend(unknown.into_iter().map(|limit| {
        let error = DecodeError { pointer: limit.at.clone(), message: unknown_field(&limit.name, &names) };
        FunctionError::Config(ConfigError(error))
    }));
    known.into_iter().map(|limit| (limit.name.to_string(), limit.value)).collect()
}

/// The kinds of the definitions that the configuration names.
fn custom_kinds_of(
    input: &FunctionInput<'_>,
    config: &FunctionConfig,
    limits: Limits,
    errors: &mut Vec<FunctionError>,
) -> Vec<CustomKind> {
    let mut kinds = Vec::new();
    let inline = input.config.at().key("spec").key("crds");
    for (index, definition) in config.crds.iter().enumerate() {
        match definition {
            PolicyInput::Path(path) => {
                kinds.extend(collect(custom_kinds(&[PathBuf::from(&**path)], &limits), errors));
            }
            PolicyInput::Inline(definition) => {
                let at = inline.index(index);
                match custom_kind_at(input.config.document, &at, definition) {
                    Some(kind) => kinds.extend(kind.map_err(|error| errors.push(error.into())).ok()),
                    None => errors.push(FunctionError::Inline { at, expected: "a CustomResourceDefinition" }),
                }
            }
            // Only policies can be a stream.
            PolicyInput::Stream(_) => {}
        }
    }
    kinds
}

/// What context entries are loaded from: not the items, which are not in the cluster yet.
fn context_from(input: &FunctionInput<'_>, config: &FunctionConfig, loader: &mut ContextObjectLoader<'_>) {
    let inline = input.config.at().key("spec").key("contextFrom");
    for (index, entry) in config.context_from.iter().enumerate() {
        match entry {
            PolicyInput::Path(path) => loader.path(Path::new(&**path)),
            PolicyInput::Inline(_) | PolicyInput::Stream(_) => {
                loader.node(input.config.document, &inline.index(index));
            }
        }
    }
}

/// The world of the items, with the namespaces among them and those of the configuration.
fn world(engine: &Engine, items: &[&Value], kinds: &[CustomKind], objects: ContextObjects) -> OfflineWorld {
    let mut world = OfflineWorld::new(Timestamp::now(), 0);
    world.set_kinds(kinds);
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

/// A field of the configuration as a document of its own.
fn printed(field: &str, value: &Value) -> Arc<Source> {
    let mut text = String::new();
    yaml::print(value, &mut text);
    Arc::new(Source::new(format!("functionConfig.{field}"), text))
}
