//! Inputs and options of a [`Mutator`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;

use crate::admission::{Admission, KindSchemas, View};
use crate::engine::{Engine, InputNames, Settings};
use crate::patch::Schemas;
use crate::policy::{CelExceptions, Operation, Policy, PolicyExceptions, PolicySet, UserInfo};
use crate::semantics::Semantics;
use crate::source::{
    ContextObjectLoader, ContextObjects, CustomKind, ExceptionLoader, Head, LoadedExceptions, LoadedValues,
    Location, OfflineWorld, PolicyLoader, SourceError, custom_kinds, custom_kinds_in, load_user, load_values,
    read_text,
};
use crate::value::{Text, Value};
use crate::yaml::{Limits, Source};

use super::{LoadError, Mutator};

/// Where documents come from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Input {
    /// A file, a folder with all folders below it, or a glob.
    Path(PathBuf),
    /// A stream of YAML documents, or JSON.
    Text {
        /// The name that error messages use for it.
        name: String,
        /// The documents.
        text: String,
    },
}

impl Input {
    /// Documents of a file, a folder or a glob.
    pub fn path(path: impl AsRef<Path>) -> Self {
        Self::Path(path.as_ref().to_owned())
    }

    /// Documents of a text. Error messages call it `name`.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text { name: name.into(), text: text.into() }
    }
}

/// Names the policies of a [`Mutator`] and what they need besides the object.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct MutatorBuilder {
    policies: Vec<Input>,
    exceptions: Vec<Input>,
    crds: Vec<Input>,
    context_objects: Vec<Input>,
    values: Option<Input>,
    user_info: Option<Input>,
    namespace_labels: Vec<(Text, Value)>,
    namespace: Text,
    operation: Option<Operation>,
    semantics: Semantics,
    view: View,
    now: Option<SystemTime>,
    seed: u64,
}

impl Mutator {
    /// A builder without policies.
    pub fn builder() -> MutatorBuilder {
        MutatorBuilder::default()
    }
}

impl MutatorBuilder {
    /// Adds policies. They run in the order in which they are added. A text, and a file that a path names, must hold one.
    pub fn policies(mut self, input: Input) -> Self {
        self.policies.push(input);
        self
    }

    /// Adds `PolicyException` objects.
    pub fn exceptions(mut self, input: Input) -> Self {
        self.exceptions.push(input);
        self
    }

    /// Adds `CustomResourceDefinition` objects: the scope of their kinds and the merge keys of their lists.
    pub fn crds(mut self, input: Input) -> Self {
        self.crds.push(input);
        self
    }

    /// Adds objects of the cluster that context entries look up, such as a `ConfigMap`.
    pub fn context_objects(mut self, input: Input) -> Self {
        self.context_objects.push(input);
        self
    }

    /// Sets the document of Kyverno's kind `Values`: values of variables, labels of namespaces.
    pub fn values(mut self, input: Input) -> Self {
        self.values = Some(input);
        self
    }

    /// Sets the document of Kyverno's kind `UserInfo`: who sends the request.
    pub fn user_info(mut self, input: Input) -> Self {
        self.user_info = Some(input);
        self
    }

    /// Sets the labels of a namespace. They win over those of [`Self::values`].
    pub fn namespace_labels<K: AsRef<str>, V: AsRef<str>>(
        mut self,
        namespace: impl AsRef<str>,
        labels: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let mut object = Value::empty_object();
        for (key, value) in labels {
            object.insert(key.as_ref(), value.as_ref().into());
        }
        self.namespace_labels.push((namespace.as_ref().into(), object));
        self
    }

    /// Sets the namespace of objects of namespaced kinds that name none; without it `default`. It is not written to the
    /// object.
    pub fn namespace(mut self, namespace: impl AsRef<str>) -> Self {
        self.namespace = namespace.as_ref().into();
        self
    }

    /// Sets the operation of the request; without it [`Operation::Create`].
    pub fn operation(mut self, operation: Operation) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Sets which semantics apply where Kyverno's documentation and its controllers differ.
    pub fn semantics(mut self, semantics: Semantics) -> Self {
        self.semantics = semantics;
        self
    }

    /// Sets the state of a manifest that policies see; without it [`View::Admitted`].
    pub fn view(mut self, view: View) -> Self {
        self.view = view;
        self
    }

    /// Sets the time that `time_now()` returns; without it the start of 1970, so that results can be repeated.
    pub fn now(mut self, now: SystemTime) -> Self {
        self.now = Some(now);
        self
    }

    /// Sets where random values start from. The same seed, policy and object have the same result.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Reads and compiles everything.
    ///
    /// # Errors
    ///
    /// Every input that cannot be read, everything that is wrong with a document, and policies and rules whose changes
    /// would be missing because they are not evaluated.
    pub fn build(self) -> Result<Mutator, LoadError> {
        let limits = Limits::default();
        let mut problems = Problems::default();
        let policies = problems.take(self.load_policies(limits));
        let loaded = problems.take(self.load_exceptions(limits));
        let misses = loaded.misses(&policies);
        let LoadedExceptions { exceptions, cel, left_out, notes, .. } = loaded;
        let mut notes: Vec<String> = notes.into_iter().map(|(_, text)| text).collect();
        notes.extend(misses.into_iter().chain(left_out));
        let kinds = problems.take(self.load_crds(limits));
        let kind_schemas = KindSchemas::with_crds(kinds.iter().map(|kind| &kind.definition));
        let admission = self.view.admission(&kind_schemas);
        let objects = problems.take(self.load_context_objects(&kinds, admission.as_ref(), limits));
        let LoadedValues { values, notes: of_values } = problems.take(self.load_values(limits));
        notes.extend(of_values);
        notes.extend(values.unknown_to(&policies, [].iter()));
        let user = problems.take(self.load_user(limits));
        let mut schemas = Schemas::kubernetes();
        for kind in &kinds {
            if let Err(error) = schemas.add_crd(&kind.definition) {
                problems.0.push(format!("{}: {error}", kind.origin));
            }
        }
        let now = self.now.map_or(Ok(Timestamp::UNIX_EPOCH), Timestamp::try_from);
        let now = now.unwrap_or_else(|error| {
            problems.0.push(format!("now: {error}"));
            Timestamp::UNIX_EPOCH
        });
        if !problems.0.is_empty() {
            return Err(LoadError::new(problems.0));
        }
        let mut world = OfflineWorld::new(now, self.seed);
        world.set_kinds(&kinds);
        world.set_objects(objects);
        for (name, labels) in values.namespaces.clone().into_iter().chain(self.namespace_labels) {
            world.set_namespace_labels(name, labels);
        }
        let settings = Settings {
            semantics: self.semantics,
            admission,
            schemas,
            kind_schemas,
            values,
            user,
            exceptions: PolicyExceptions::new(exceptions),
            cel_exceptions: CelExceptions::new(cel),
            operation: self.operation,
            namespace: self.namespace,
            input_names: InputNames::FLAGS,
            ..Settings::default()
        };
        Ok(Mutator::new(Engine::new(PolicySet::new(policies), settings), world, notes))
    }

    fn load_policies(&self, limits: Limits) -> Result<Vec<Policy>, Vec<String>> {
        let mut loader = PolicyLoader::new(self.semantics, limits);
        for input in &self.policies {
            match input {
                Input::Path(path) => loader.path(path),
                Input::Text { name, text } => loader.text(&source(name, text)),
            }
        }
        let loaded = loader.finish("policies").map_err(|refused| messages(&refused.errors))?;
        let unsupported = messages(&loaded.unsupported());
        if unsupported.is_empty() { Ok(loaded.policies) } else { Err(unsupported) }
    }

    fn load_exceptions(&self, limits: Limits) -> Result<LoadedExceptions, Vec<String>> {
        let mut loader = ExceptionLoader::new(self.semantics, limits);
        for input in &self.exceptions {
            match input {
                Input::Path(path) => loader.path(path),
                Input::Text { name, text } => loader.text(&source(name, text)),
            }
        }
        loader.finish().map_err(|errors| messages(&errors))
    }

    fn load_crds(&self, limits: Limits) -> Result<Vec<CustomKind>, Vec<String>> {
        let mut kinds = Vec::new();
        for input in &self.crds {
            let read = match input {
                Input::Path(path) => custom_kinds(std::slice::from_ref(path), &limits),
                Input::Text { name, text } => custom_kinds_in(&source(name, text), &limits),
            };
            kinds.extend(read.map_err(|errors| messages(&errors))?);
        }
        Ok(kinds)
    }

    fn load_context_objects(
        &self,
        kinds: &[CustomKind],
        admission: Option<&Admission>,
        limits: Limits,
    ) -> Result<ContextObjects, Vec<String>> {
        let namespace = if self.namespace.is_empty() { "default" } else { &self.namespace };
        let mut loader = ContextObjectLoader::new(namespace, kinds, limits).admitted(admission);
        for input in &self.context_objects {
            match input {
                Input::Path(path) => loader.path(path),
                Input::Text { name, text } => loader.text(&source(name, text)),
            }
        }
        loader.finish().map_err(|errors| messages(&errors))
    }

    fn load_values(&self, limits: Limits) -> Result<LoadedValues, Vec<String>> {
        load_document(self.values.as_ref(), limits, load_values).map(Option::unwrap_or_default)
    }

    fn load_user(&self, limits: Limits) -> Result<Option<UserInfo>, Vec<String>> {
        load_document(self.user_info.as_ref(), limits, load_user)
    }
}

/// Loads an input that is a single document.
fn load_document<T>(
    input: Option<&Input>,
    limits: Limits,
    load: impl FnOnce(&Arc<Source>, Head, &Limits) -> Result<T, Vec<SourceError>>,
) -> Result<Option<T>, Vec<String>> {
    let text = match input {
        None => return Ok(None),
        Some(Input::Path(path)) => {
            read_text(&Location::file(path), &limits).map_err(|error| vec![error.to_string()])?
        }
        Some(Input::Text { name, text }) => source(name, text),
    };
    load(&text, Head::OfKind, &limits).map(Some).map_err(|errors| messages(&errors))
}

/// Everything that is wrong with the inputs.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    /// What was loaded, or its default after problems.
    fn take<T: Default>(&mut self, loaded: Result<T, Vec<String>>) -> T {
        loaded.unwrap_or_else(|problems| {
            self.0.extend(problems);
            T::default()
        })
    }
}

fn messages(errors: &[impl ToString]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn source(name: &str, text: &str) -> Arc<Source> {
    Arc::new(Source::new(name, text))
}
