//! Why an application is not generated.

use std::io;
use std::path::PathBuf;

use crate::argocd::ArgocdError;
use crate::commands::exit::Exit;
use crate::diagnostics::{Code, Coded};
use crate::source::SourceError;
use crate::yaml::SyntaxError;

use super::program::ProgramError;
use super::tree::TreeError;

#[derive(Debug, thiserror::Error)]
pub(super) enum GenerateError {
    #[error("signals cannot be waited for: {0}")]
    Signals(io::Error),
    #[error("the application's folder cannot be read: {0}")]
    Folder(io::Error),
    #[error("a temporary file cannot be made: {0}")]
    TemporaryFile(io::Error),
    #[error(transparent)]
    Application(#[from] ArgocdError),
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error("parameter {parameter}: {cause}")]
    Path { parameter: &'static str, cause: TreeError },
    #[error(
        "parameter policies: this plugin accepts no policies of applications (--app-policies allows them)"
    )]
    AppPolicies,
    #[error("{flag} {}: not absolute, so that it would lead into the application", path.display())]
    Relative { flag: &'static str, path: PathBuf },
    #[error("{flag} {}: leads into the application, which could change it", path.display())]
    InsideApplication { flag: &'static str, path: PathBuf },
    #[error(
        "parameter policy-sets: this plugin has no sets that applications may choose: start it with --policy-sets"
    )]
    NoPolicySets,
    #[error("parameter policy-sets: `{0}` is none of the plugin's sets: {1}")]
    UnknownSet(String, String),
    #[error("--project-set: there is no policy set for the project `{0}`")]
    NoProjectSet(String),
    #[error("--policy-sets {}: cannot be read: {cause}", path.display())]
    UnreadableSets { path: PathBuf, cause: io::Error },
    #[error("a copy of the application cannot be made: {0}")]
    Copy(io::Error),
    #[error("there are parameters for {0}, but the application is rendered as {1}")]
    OtherRenderer(&'static str, &'static str),
    #[error("dependency {0}: a chart out of what was unpacked for the application")]
    Dependency(String),
    #[error(
        "no kustomization, no chart, and no file ending in .json, .yaml or .yml in the application's folder{0}"
    )]
    NoManifests(&'static str),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error("{cause}{hint}")]
    Program { cause: ProgramError, hint: &'static str },
}

impl Coded for GenerateError {
    fn code(&self) -> Code {
        match self {
            Self::Signals(_) | Self::TemporaryFile(_) | Self::Copy(_) => Code::System,
            Self::Folder(_) | Self::UnreadableSets { .. } => Code::Unreadable,
            Self::Application(error) => error.code(),
            Self::Tree(cause) | Self::Path { cause, .. } => cause.code(),
            Self::AppPolicies | Self::NoPolicySets | Self::UnknownSet(..) | Self::NoProjectSet(_) => {
                Code::PolicySets
            }
            Self::Relative { .. } | Self::InsideApplication { .. } => Code::NotInApplication,
            Self::OtherRenderer(..) => Code::ArgocdParameter,
            Self::Dependency(_) => Code::NotInApplication,
            Self::NoManifests(_) => Code::NoManifests,
            Self::Source(error) => error.code(),
            Self::Syntax(error) => error.code(),
            Self::Program { cause, .. } => cause.code(),
        }
    }
}

impl GenerateError {
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::Program { cause: ProgramError::Ended, .. } => Exit::Interrupted,
            _ => Exit::Input,
        }
    }
}
