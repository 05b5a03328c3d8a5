//! The files of a run's options.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::admission::KindSchemas;
use crate::commands::exit::Exit;
use crate::commands::options::RunOptions;
use crate::commands::policies::policies;
use crate::commands::reporter::Reporter;
use crate::diagnostics::{Code, Coded};
use crate::patch::{PatchError, Schemas};
use crate::policy::UserInfo;
use crate::source::cluster::Cluster;
use crate::source::{
    ContextObjectLoader, ContextObjects, CustomKind, ExceptionLoader, Head, LoadedExceptions, LoadedPolicies,
    LoadedValues, Location, OldObjects, SourceError, custom_kinds, load_user, load_values, read_text,
};
use crate::yaml::{Limits, Source};

/// The loaded files of the options.
pub(super) struct LoadedInputs {
    pub(super) policies: LoadedPolicies,
    pub(super) exceptions: LoadedExceptions,
    pub(super) values: Option<LoadedValues>,
    pub(super) user: Option<UserInfo>,
    pub(super) kinds: Vec<CustomKind>,
    pub(super) old: OldObjects,
    /// What context entries are loaded from.
    pub(super) objects: ContextObjects,
}

impl LoadedInputs {
    /// Loads everything, the policies unless they are loaded already. All errors are reported; `None` if there are any.
    pub(super) fn load(
        options: &RunOptions,
        loaded: Option<LoadedPolicies>,
        cluster: Option<&Arc<dyn Cluster>>,
        namespace: &str,
        reporter: &mut Reporter,
    ) -> Option<Self> {
        let limits = options.input_limits;
        let mut exceptions = ExceptionLoader::new(options.dialect.semantics, limits);
        options.exceptions.iter().for_each(|path| exceptions.path(path));
        let policies = loaded.or_else(|| policies(options, cluster, &mut exceptions, reporter));
        let values = load_file(options.values.as_ref(), &limits, reporter, load_values);
        let user = load_file(options.user_info.as_ref(), &limits, reporter, load_user);
        let exceptions = reporter.loaded(exceptions.finish());
        let kinds = reporter.loaded(custom_kinds(&options.crds, &limits));
        let old = reporter.loaded(OldObjects::load(&options.old, namespace, &limits));
        let known = kinds.as_deref().unwrap_or_default();
        let admission = options.admission(&kind_schemas(known));
        let mut loader = ContextObjectLoader::new(namespace, known, limits).admitted(admission.as_ref());
        options.context_from.iter().for_each(|path| loader.path(path));
        options.images.iter().for_each(|path| loader.images(path));
        let objects = reporter.loaded(loader.finish());
        if repeated_names(options, reporter) {
            return None;
        }
        Some(Self {
            policies: policies?,
            exceptions: exceptions?,
            values: values?,
            user: user?,
            kinds: kinds?,
            old: old?,
            objects: objects?,
        })
    }
}

/// Reports names that `--set` sets twice; returns whether there are any.
fn repeated_names(options: &RunOptions, reporter: &mut Reporter) -> bool {
    let mut repeated = false;
    for (index, (name, _)) in options.set.iter().enumerate() {
        if options.set.iter().take(index).any(|(earlier, _)| earlier == name) {
            repeated = true;
            let name: Vec<_> = name.parts().iter().map(|part| &**part).collect();
            reporter.error(
                Exit::Input,
                Code::ArgumentConflict,
                format_args!("--set: {} is set twice", name.join(".")),
            );
        }
    }
    repeated
}

/// A definition whose schemas cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{origin}: {cause}")]
pub(in crate::commands) struct SchemaError {
    origin: String,
    cause: PatchError,
}

impl Coded for SchemaError {
    fn code(&self) -> Code {
        Code::InvalidSchema
    }
}

/// The schemas of the built-in kinds and of these, for apply configurations and defaults.
pub(in crate::commands) fn kind_schemas(kinds: &[CustomKind]) -> KindSchemas {
    KindSchemas::with_crds(kinds.iter().map(|kind| &kind.definition))
}

/// The schemas of the built-in kinds and of these, for strategic merge patches.
pub(in crate::commands) fn schemas(kinds: &[CustomKind]) -> Result<Schemas, Vec<SchemaError>> {
    let mut schemas = Schemas::kubernetes();
    let mut errors = Vec::new();
    for kind in kinds {
        let added = schemas.add_crd(&kind.definition);
        errors.extend(added.err().map(|cause| SchemaError { origin: kind.origin.clone(), cause }));
    }
    if errors.is_empty() { Ok(schemas) } else { Err(errors) }
}

/// Loads the file of an option, if it is set. Errors are reported; `None` if there are any.
fn load_file<T>(
    path: Option<&PathBuf>,
    limits: &Limits,
    reporter: &mut Reporter,
    load: impl FnOnce(&Arc<Source>, Head, &Limits) -> Result<T, Vec<SourceError>>,
) -> Option<Option<T>> {
    let Some(path) = path else { return Some(None) };
    let text = read_text(&location(path), limits).map_err(|error| vec![error]);
    reporter.loaded(text.and_then(|text| load(&text, Head::OfKind, limits))).map(Some)
}

/// The location that an argument names: a file, or `-` for standard input.
pub(in crate::commands) fn location(path: &Path) -> Location {
    if path.as_os_str() == "-" { Location::Stdin } else { Location::file(path) }
}
