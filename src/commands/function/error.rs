//! Why a function cannot run.

use crate::commands::session::SchemaError;
use crate::diagnostics::{Code, Coded};
use crate::krm::{ConfigError, ResourceListError};
use crate::render::Origin;
use crate::source::{SourceError, Unsupported};
use crate::value::Pointer;

/// Something that keeps a function from running. The text may have an excerpt on further lines.
#[derive(Debug, thiserror::Error)]
pub(super) enum FunctionError {
    #[error("stdin: expected one document of kind ResourceList, found {0} documents")]
    Documents(usize),
    #[error("stdin: {0}")]
    ResourceList(#[from] ResourceListError),
    #[error("no functionConfig: it is where a Kyv (kyv.dev/v1alpha1) or a ConfigMap names the policies")]
    NoConfig,
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Items that an orchestrator would refuse.
    #[error("{0}")]
    Items(String),
    /// An inline object of another kind.
    #[error("{at}: neither a path nor {expected}")]
    Inline { at: Pointer, expected: &'static str },
    #[error("{0}: no object: apiVersion or kind is missing")]
    NoObject(Origin),
    #[error("functionConfig: spec.manifests: no resource among the manifests")]
    NoManifests,
    /// A policy that is not evaluated.
    #[error("{0}")]
    Unsupported(Unsupported),
}

impl Coded for FunctionError {
    fn code(&self) -> Code {
        match self {
            Self::Documents(_) | Self::ResourceList(_) => Code::NoResourceList,
            Self::NoConfig | Self::Config(_) | Self::Inline { .. } => Code::InvalidConfig,
            Self::Source(error) => error.code(),
            Self::Schema(error) => error.code(),
            Self::Items(_) => Code::InvalidItems,
            Self::NoObject(_) => Code::NoObject,
            Self::NoManifests => Code::NoManifests,
            Self::Unsupported(unsupported) => unsupported.cause.code(),
        }
    }
}
