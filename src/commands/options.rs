//! What a run works on and how: commands make it of their arguments, functions and plugins of their configuration.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::admission::{Admission, KindSchemas, View};
use crate::diagnostics::{Code, Coded};
use crate::engine::{self, DottedName, InputNames, Settings};
use crate::policy::{Operation, PolicyChoice};
use crate::report::GitOpsTool;
use crate::semantics::Dialect;
use crate::source::cluster::{Connection, Subject};
use crate::value::Value;
use crate::yaml::Limits;

use super::reporter::Verbosity;

/// What is found out about the policies of a run beside their results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PolicyCheck {
    #[default]
    None,
    /// How they get along.
    Together,
    /// What a GitOps tool shows as a difference.
    Drift(GitOpsTool),
}

/// Policies, objects, and how they are evaluated. Paths of `Vec`s may be files, directories or globs; `-` is standard
/// input.
#[derive(Debug, Default)]
pub(super) struct RunOptions {
    pub(super) policies: Vec<PathBuf>,
    /// The policies and rules that are evaluated.
    pub(super) choice: PolicyChoice,
    /// Whether unsupported policies are noted, not errors.
    pub(super) skip_unsupported: bool,
    /// The objects; none for live objects.
    pub(super) manifests: Vec<PathBuf>,
    /// Whether the run needs no objects.
    pub(super) objects_are_optional: bool,
    /// Whether the directories below those in `manifests` are read, too.
    pub(super) recursive: bool,
    /// Globs of files and directories that are left out.
    pub(super) exclude: Vec<String>,
    /// A directory with a kustomization, built to get the objects.
    pub(super) kustomizations: Vec<PathBuf>,
    /// Options of these builds, separated by blanks.
    pub(super) kustomize_options: String,
    /// Objects that only rules with targets may change.
    pub(super) targets: Vec<PathBuf>,
    /// The namespace of live objects, and of manifests that name none.
    pub(super) namespace: Option<String>,
    /// A file of kind `Values`.
    pub(super) values: Option<PathBuf>,
    /// Values for single variables; they win over those of the file.
    pub(super) set: Vec<(DottedName, Value)>,
    /// A file of kind `UserInfo`.
    pub(super) user_info: Option<PathBuf>,
    pub(super) exceptions: Vec<PathBuf>,
    pub(super) crds: Vec<PathBuf>,
    /// The objects as they were before an update.
    pub(super) old: Vec<PathBuf>,
    /// What context entries are loaded from.
    pub(super) context_from: Vec<PathBuf>,
    /// What imageRegistry entries are loaded from.
    pub(super) images: Vec<PathBuf>,
    /// The operation of the requests; `None` for CREATE, or UPDATE where the object exists.
    pub(super) operation: Option<Operation>,
    /// Whether the run is the one that follows a change of the policies.
    pub(super) on_policy_update: bool,
    pub(super) dialect: Dialect,
    /// The state in which policies see manifests.
    pub(super) view: View,
    /// Whether Pods of the admitted view have the volume with the token of their service account.
    pub(super) service_account_token: bool,
    /// Whether omissions are errors.
    pub(super) strict: bool,
    /// Whether the rest is evaluated where a policy is refused or a file cannot be read.
    pub(super) keep_going: bool,
    /// Whether notes and the summary are left out.
    pub(super) quiet: bool,
    /// Whether each diagnostic is printed, not one for each group.
    pub(super) verbose: bool,
    /// Whether the summary is tables, not a line.
    pub(super) summary_tables: bool,
    /// Whether a result that is longer than the terminal goes through a pager.
    pub(super) pager: bool,
    /// Whether each changed object is evaluated a second time.
    pub(super) check_idempotent: bool,
    /// What is found out about the policies.
    pub(super) check: PolicyCheck,
    /// Whether the rules of one GitOps tool are asked for, and another one is named.
    pub(super) mixes_tools: bool,
    /// Whether that is found out on generated objects, too.
    pub(super) generated: bool,
    /// The time that policies see; `None` for the start of the run.
    pub(super) now: Option<Timestamp>,
    /// The seed of random values.
    pub(super) seed: u64,
    pub(super) input_limits: Limits,
    /// The limits on the evaluation of one rule.
    pub(super) evaluation_limits: engine::Limits,
    /// How many threads evaluate; 0 for one per processor.
    pub(super) workers: usize,
    pub(super) show_secrets: bool,
    /// The names of the inputs in messages.
    pub(super) input_names: InputNames,
    pub(super) cluster: ClusterOptions,
}

/// What a run uses a cluster for, and how the cluster is reached.
#[derive(Debug, Default)]
pub(super) struct ClusterOptions {
    /// Live objects in kubectl's grammar: `TYPE[,TYPE…] [NAME…]` or `TYPE/NAME…`.
    pub(super) resources: Vec<String>,
    pub(super) all_namespaces: bool,
    pub(super) label_selector: Option<String>,
    pub(super) field_selector: Option<String>,
    /// How many live objects a page has; 0 for all.
    pub(super) chunk_size: u32,
    /// Whether manifests are evaluated against the state of the cluster.
    pub(super) live: bool,
    /// Whether the policies of the cluster are evaluated, too.
    pub(super) policies: bool,
    pub(super) check_rights: Option<String>,
    /// The directory that a recording is written to.
    pub(super) record: Option<PathBuf>,
    /// The directory of the recording that is replayed.
    pub(super) replay: Option<PathBuf>,
    pub(super) connection: Connection,
}

/// Options that contradict each other.
#[derive(Debug, thiserror::Error)]
pub(super) enum OptionsError {
    #[error("{0} is not a kind of objects but a path: read manifests with -f {0}, policies with -p {0}")]
    Path(String),
    #[error(
        "no objects: pass manifests with -f or -k, or select live objects with TYPE [NAME], or with -A, -n, -l or --field-selector for all kinds that the policies can match"
    )]
    NoObjects,
    #[error(
        "no objects: pass manifests with -f or -k, select live objects with TYPE [NAME], or with -A, -n, -l or --field-selector, or let objects be made from the conditions of the policies with --generated"
    )]
    NoCheckedObjects,
    #[error("-A selects live objects; a manifest names its namespace itself")]
    AllNamespacesOfManifests,
    #[error("-o argocd and -o flux are rules of that tool: leave out --tool, or name the same")]
    OtherTool,
    #[error("standard input (-) can be used only once")]
    StdinTwice,
    #[error("a cluster is named but not used: --live evaluates manifests with its data")]
    UnusedCluster,
    #[error("--check-rights needs a cluster: --live evaluates manifests with its data")]
    RightsWithoutCluster,
    #[error("--check-rights: {0:?} is no subject: expected a user, or system:serviceaccount:NAMESPACE:NAME")]
    NoSubject(String),
    #[error("a recording is named but no cluster is used: --live evaluates manifests with its data")]
    UnusedRecording,
}

impl Coded for OptionsError {
    fn code(&self) -> Code {
        match self {
            Self::NoObjects | Self::NoCheckedObjects => Code::NoInput,
            Self::NoSubject(_) => Code::InvalidValue,
            Self::Path(_) | Self::AllNamespacesOfManifests | Self::OtherTool | Self::StdinTwice => {
                Code::ArgumentConflict
            }
            Self::UnusedCluster | Self::RightsWithoutCluster | Self::UnusedRecording => Code::UnusedOption,
        }
    }
}

impl RunOptions {
    /// The admission of the view, with the schemas of custom resources; `None` where objects are seen as written.
    pub(super) fn admission(&self, schemas: &KindSchemas) -> Option<Admission> {
        let admission = self.view.admission(schemas)?;
        Some(admission.with_service_account_token(self.service_account_token))
    }

    /// The first contradiction of the options, if there is one.
    pub(super) fn contradiction(&self) -> Option<OptionsError> {
        let cluster = &self.cluster;
        let subject = cluster.check_rights.as_ref();
        let path = self.path_argument();
        let no_objects = match self.check {
            PolicyCheck::Together => OptionsError::NoCheckedObjects,
            PolicyCheck::None | PolicyCheck::Drift(_) => OptionsError::NoObjects,
        };
        let contradictions = [
            (path.is_some(), OptionsError::Path(path.cloned().unwrap_or_default())),
            (!self.names_objects(), no_objects),
            (cluster.all_namespaces && !self.is_live(), OptionsError::AllNamespacesOfManifests),
            (self.mixes_tools, OptionsError::OtherTool),
            (self.stdin_count() > 1, OptionsError::StdinTwice),
            (cluster.names_cluster() && !self.uses_cluster(), OptionsError::UnusedCluster),
            (subject.is_some() && !self.uses_cluster_state(), OptionsError::RightsWithoutCluster),
            (
                subject.is_some_and(|name| !Subject::is_name(name)),
                OptionsError::NoSubject(subject.cloned().unwrap_or_default()),
            ),
            (
                (cluster.record.is_some() || cluster.replay.is_some()) && !self.uses_cluster(),
                OptionsError::UnusedRecording,
            ),
        ];
        contradictions.into_iter().find_map(|(is_met, error)| is_met.then_some(error))
    }

    /// The first live object whose name is certainly a path.
    pub(super) fn path_argument(&self) -> Option<&String> {
        self.cluster.resources.iter().find(|argument| is_path(argument))
    }

    /// The first type of live objects that may have been meant as a path: there is a directory of this name.
    pub(super) fn directory_argument(&self) -> Option<&String> {
        let arguments = self.cluster.resources.iter();
        arguments.take(1).find(|argument| Path::new(argument).is_dir() && !is_path(argument))
    }

    /// The settings of the engine that are options of a run.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            semantics: self.dialect.semantics,
            operation: self.operation,
            limits: self.evaluation_limits,
            input_names: self.input_names,
            on_policy_update: self.on_policy_update,
            checks_order: true,
            ..Settings::default()
        }
    }

    /// Which diagnostics are printed, and which are errors.
    pub(super) fn verbosity(&self) -> Verbosity {
        Verbosity { quiet: self.quiet, verbose: self.verbose, strict: self.strict.then_some("--strict") }
    }

    /// The namespace, unless it is empty: as with kubectl, that is none.
    pub(super) fn explicit_namespace(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|name| !name.is_empty())
    }

    /// The namespace of manifests that name none, where no cluster has a default.
    pub(super) fn namespace_or_default(&self) -> &str {
        self.explicit_namespace().unwrap_or("default")
    }

    pub(super) const fn is_live(&self) -> bool {
        self.manifests.is_empty()
            && self.kustomizations.is_empty()
            && (!self.objects_are_optional || self.names_live_objects())
    }

    /// Whether all objects are generated.
    pub(super) const fn has_generated_objects_alone(&self) -> bool {
        self.generated
            && self.manifests.is_empty()
            && self.kustomizations.is_empty()
            && !self.names_live_objects()
    }

    /// Whether there are the objects that the run needs.
    const fn names_objects(&self) -> bool {
        !self.is_live() || self.names_live_objects()
    }

    const fn names_live_objects(&self) -> bool {
        let cluster = &self.cluster;
        !cluster.resources.is_empty()
            || cluster.all_namespaces
            || self.namespace.is_some()
            || cluster.label_selector.is_some()
            || cluster.field_selector.is_some()
    }

    /// Whether objects are evaluated against the state of a cluster.
    pub(super) const fn uses_cluster_state(&self) -> bool {
        self.is_live() || self.cluster.live
    }

    /// Whether a cluster is read at all.
    pub(super) const fn uses_cluster(&self) -> bool {
        self.uses_cluster_state() || self.cluster.policies
    }

    /// How many of the paths are standard input.
    fn stdin_count(&self) -> usize {
        let lists = [
            &self.policies,
            &self.manifests,
            &self.targets,
            &self.exceptions,
            &self.old,
            &self.crds,
            &self.context_from,
            &self.images,
        ];
        let single = [&self.values, &self.user_info];
        let all = lists.into_iter().flatten().chain(single.into_iter().flatten());
        all.filter(|path| path.as_os_str() == "-").count()
    }
}

impl ClusterOptions {
    /// Whether a cluster or a user is named.
    const fn names_cluster(&self) -> bool {
        let connection = &self.connection;
        connection.kubeconfig.is_some()
            || connection.context.is_some()
            || connection.cluster.is_some()
            || connection.user.is_some()
            || connection.server.is_some()
            || connection.token.is_some()
            || connection.impersonation.user.is_some()
    }
}

/// Whether the name of a live object is a path that was meant for `-f`.
fn is_path(argument: &str) -> bool {
    let path = Path::new(argument);
    let has_ending =
        path.extension().is_some_and(|end| ["json", "yaml", "yml"].iter().any(|known| end == *known));
    (has_ending || argument.ends_with('/') || argument.starts_with(['.', '/'])) && path.exists()
}
