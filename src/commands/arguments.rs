//! The arguments that `mutate` and `diff` share.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::admission::View;
use crate::engine::DottedName;
use crate::policy::Operation;
use crate::render::{DiffStyle, Palette};
use crate::semantics::{Dialect, LegacyMode, Semantics};
use crate::source::assignment;
use crate::source::cluster::{Connection, Impersonation, Secret};
use crate::value::Value;

use super::argument_values::{
    Choice, choice_parser, chunk_size, extra, limit, limits, operation, request_timeout,
};
use super::options::{ClusterOptions, RunOptions};
use super::reporter::Reporter;

/// What a run works on, and how.
#[derive(Debug, Args)]
pub(super) struct RunArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    request: RequestArguments,
    #[command(flatten)]
    dialect: DialectArguments,
    /// Fail (exit code 3) for everything that was not evaluated, did not match, or differs between the
    /// semantics.
    #[arg(long, help_heading = "Evaluation")]
    strict: bool,
    /// Evaluate every changed object a second time, at the same time and with the same chance, and report
    /// what that would change.
    #[arg(long, help_heading = "Evaluation")]
    check_idempotent: bool,
    #[command(flatten)]
    engine: EngineArguments,
    /// How many threads evaluate; as many as there are processors by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Evaluation")]
    workers: Option<u16>,
    /// Show the values of Secrets, in recordings, too.
    #[arg(long, help_heading = "Output")]
    show_secrets: bool,
    /// Print errors only on standard error, no notes and no summary.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// Policies and objects from files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
struct InputArguments {
    /// Policies: a file, a directory with all below it, a glob, or - for standard input.
    #[arg(
        short,
        long,
        value_name = "PATH",
        required_unless_present = "cluster_policies",
        value_delimiter = ','
    )]
    policy: Vec<PathBuf>,
    /// Objects: a file, a directory, a glob, or - for standard input.
    #[arg(short = 'f', long, value_name = "PATH", value_delimiter = ',')]
    filename: Vec<PathBuf>,
    /// Look into the directories below those given with -f, too.
    #[arg(short = 'R', long, requires = "filename")]
    recursive: bool,
    /// Objects: directories with kustomizations, built by kubectl or kustomize.
    #[arg(short, long, value_name = "DIR", value_delimiter = ',', conflicts_with_all = ["filename", "recursive"])]
    kustomize: Vec<PathBuf>,
    /// The namespace of live objects, and that in which manifests without one are evaluated; it is never
    /// written out. By default that of the context where a cluster is asked (live objects, --live), as with
    /// kubectl apply, else default.
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Further objects that rules with targets may change: files, directories or globs. They trigger nothing,
    /// and are printed, after all others, if they change.
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    targets: Vec<PathBuf>,
}

/// The requests that policies see, and what they load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
struct RequestArguments {
    #[command(flatten)]
    values: ValueArguments,
    #[arg(
        long,
        alias = "exception",
        value_name = "PATH",
        value_delimiter = ',',
        help = "PolicyExceptions (kyverno.io/v2): a file, a directory with all below it, or a glob"
    )]
    exceptions: Vec<PathBuf>,
    /// What the requests do: CREATE, UPDATE, DELETE or CONNECT. CREATE by default; UPDATE for live objects,
    /// because whatever reaches a policy of what already runs is an update of it.
    #[arg(long, value_name = "NAME", value_parser = operation)]
    operation: Option<Operation>,
    /// Nobody sends a request: the policies have just been installed or changed. Rules with targets that have
    /// mutateExistingOnPolicyUpdate run for all objects, and no other rule does.
    #[arg(long, conflicts_with_all = ["operation", "old"])]
    on_policy_update: bool,
    /// The objects as they are stored before an update: a file, a directory or a glob.
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    old: Vec<PathBuf>,
    #[arg(
        long,
        value_name = "PATH",
        value_delimiter = ',',
        help = "CustomResourceDefinitions: how lists of custom resources merge, and which kinds have namespaces"
    )]
    crds: Vec<PathBuf>,
    #[arg(
        long,
        value_name = "PATH",
        value_delimiter = ',',
        help = "What context entries are answered from: ConfigMaps, whatever an apiCall asks the API server for, GlobalContextEntries, and documents of kind Context or ClusterResource (cli.kyverno.io)"
    )]
    context_from: Vec<PathBuf>,
    #[arg(
        long,
        value_name = "FILE",
        value_delimiter = ',',
        help = "What imageRegistry entries are answered from: documents of kind Context (cli.kyverno.io) with `images` (image, digest, manifest, imageIndex, config)"
    )]
    images: Vec<PathBuf>,
}

/// Values of variables, and the sender of the requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(super) struct ValueArguments {
    /// A document of kind Values (cli.kyverno.io) with values for variables.
    #[arg(long, value_name = "FILE")]
    pub(super) values: Option<PathBuf>,
    /// A value for a variable, such as request.operation=UPDATE; wins over --values.
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = assignment)]
    pub(super) set: Vec<(DottedName, Value)>,
    #[arg(
        long,
        value_name = "FILE",
        help = "A document of kind UserInfo (cli.kyverno.io): who sends the requests"
    )]
    pub(super) userinfo: Option<PathBuf>,
}

/// How policies are read, and what they see.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Evaluation")]
pub(super) struct DialectArguments {
    /// Which side is taken where Kyverno's documentation and its controllers differ.
    #[arg(long, value_name = "NAME", value_parser = choice_parser(&SEMANTICS), default_value = "documented")]
    semantics: Semantics,
    /// What the early `overlay` and `patches` of rules mean. Kyverno 1.19 refuses a policy with them: with
    /// --semantics kyverno that stays an error, and the rules run only if native or smp is asked for.
    #[arg(long, value_name = "NAME", value_parser = choice_parser(&LEGACY_MODES), default_value = "doc")]
    legacy: LegacyMode,
    /// The state of manifests that policies see; live objects are admitted already.
    #[arg(long, value_name = "NAME", value_parser = choice_parser(&VIEWS), default_value = "admitted")]
    pub(super) view: View,
    /// In the admitted view, Pods also have the volume with the token of their service account, as if each service
    /// account mounted its token. Its name ends in xxxxx, where an API server has random characters.
    #[arg(long)]
    pub(super) service_account_token: bool,
}

impl DialectArguments {
    /// The dialect that they name.
    pub(super) const fn dialect(self) -> Dialect {
        Dialect { semantics: self.semantics, legacy: self.legacy }
    }
}

/// What the result of a rule depends on besides its inputs.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Evaluation")]
pub(super) struct EngineArguments {
    /// The time that policies see, such as 2026-01-31T12:00:00Z; the start of the run by default.
    #[arg(long, value_name = "TIME")]
    now: Option<Timestamp>,
    /// Where random values start from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Another limit on the size of inputs or on the work of a rule, such as yaml-depth=512 or steps=5000000.
    #[arg(long, value_name = "NAME=N", value_delimiter = ',', value_parser = limit)]
    limit: Vec<(String, usize)>,
}

impl EngineArguments {
    /// Options with nothing else set.
    pub(super) fn options(&self) -> RunOptions {
        let (input_limits, evaluation_limits) = limits(&self.limit);
        RunOptions {
            now: self.now,
            seed: self.seed,
            input_limits,
            evaluation_limits,
            ..RunOptions::default()
        }
    }
}

/// The arguments that name objects outside of a cluster.
const OFFLINE: [&str; 2] = ["filename", "kustomize"];

/// Objects of a cluster.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cluster")]
struct ClusterArguments {
    /// Live objects, as kubectl names them: TYPE[,TYPE…] [NAME…] or TYPE/NAME…. Without a TYPE, but with -A, -n
    /// or a selector: those of all kinds that the policies can match.
    #[arg(value_name = "TYPE", conflicts_with_all = OFFLINE, help_heading = None)]
    objects: Vec<String>,
    /// Live objects of all namespaces, whatever -n says.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Live objects with these labels, such as app=web,tier!=db.
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with_all = OFFLINE)]
    selector: Option<String>,
    /// Live objects with these fields, such as metadata.name=web,status.phase!=Running.
    #[arg(long, value_name = "FIELDS", conflicts_with_all = OFFLINE)]
    field_selector: Option<String>,
    /// How many live objects are read at once; 0 for a whole list.
    #[arg(
        long,
        value_name = "N",
        default_value = "500",
        value_parser = chunk_size,
        allow_negative_numbers = true,
        conflicts_with_all = OFFLINE
    )]
    chunk_size: u32,
    /// Evaluate manifests in the cluster: labels of namespaces, context entries, schemas of custom resources and
    /// the stored objects come from it. It is read only, with your rights.
    #[arg(long, conflicts_with = "objects")]
    live: bool,
    /// Take the policies of the cluster, beside those of -p; one of -p stands in for one of its name.
    #[arg(long)]
    cluster_policies: bool,
    /// Ask whether this user or service account (system:serviceaccount:NAMESPACE:NAME) may read and update what
    /// rules with targets change; Kyverno's background controller does it in its own name. With --as, the rights
    /// of that user are asked for anyway.
    #[arg(long, value_name = "SUBJECT")]
    check_rights: Option<String>,
    /// Write every answer of the cluster to a directory, for --replay. Values of Secrets are not recorded.
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Take the answers of the cluster from a directory that --record wrote. Nothing is sent, and how the
    /// cluster is reached means nothing.
    #[arg(long, value_name = "DIR")]
    replay: Option<PathBuf>,
    #[command(flatten)]
    connection: ConnectionArguments,
}

/// How the cluster is reached, in kubectl's flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct ConnectionArguments {
    /// The kubeconfig; by default what KUBECONFIG or the home directory names, or the cluster around.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; its current one by default.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The cluster of the kubeconfig; that of the context by default.
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// The user of the kubeconfig; that of the context by default.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The address of the API server.
    #[arg(short = 's', long, value_name = "URL")]
    server: Option<String>,
    /// A bearer token for the API server.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// The certificate of the authority that the server's certificate comes from.
    #[arg(long, value_name = "FILE")]
    certificate_authority: Option<PathBuf>,
    /// A certificate to be known by.
    #[arg(long, value_name = "FILE")]
    client_certificate: Option<PathBuf>,
    /// The key of that certificate.
    #[arg(long, value_name = "FILE")]
    client_key: Option<PathBuf>,
    /// The name that the server's certificate is checked against; the host of its address by default.
    #[arg(long, value_name = "NAME")]
    tls_server_name: Option<String>,
    /// Take the server's certificate as it is: whoever answers is believed.
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// How long one request may take, such as 30s or 2m; 0 for as long as it takes.
    #[arg(long, value_name = "TIME", value_parser = request_timeout, default_value = "90s")]
    request_timeout: Duration,
    /// Read as this user.
    #[arg(long = "as", value_name = "USER")]
    as_user: Option<String>,
    /// Read as a member of this group; may be repeated.
    #[arg(long, value_name = "GROUP")]
    as_group: Vec<String>,
    /// Read as the user of this id.
    #[arg(long, value_name = "UID")]
    as_uid: Option<String>,
    /// Read as a user with this further attribute; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = extra)]
    as_user_extra: Vec<(String, String)>,
}

impl ConnectionArguments {
    /// The connection that they describe.
    pub(super) fn connection(self) -> Connection {
        Connection {
            kubeconfig: self.kubeconfig,
            context: self.context,
            cluster: self.cluster,
            user: self.user,
            server: self.server,
            token: self.token.map(Secret),
            certificate_authority: self.certificate_authority,
            tls_server_name: self.tls_server_name,
            insecure_skip_tls_verify: self.insecure_skip_tls_verify,
            client_certificate: self.client_certificate,
            client_key: self.client_key,
            impersonation: Impersonation {
                user: self.as_user,
                groups: self.as_group,
                uid: self.as_uid,
                extra: self.as_user_extra,
            },
            request_timeout: Some(self.request_timeout).filter(|limit| !limit.is_zero()),
        }
    }
}

impl From<RunArguments> for RunOptions {
    fn from(arguments: RunArguments) -> Self {
        let RunArguments { input, request, .. } = arguments;
        Self {
            policies: input.policy,
            manifests: input.filename,
            recursive: input.recursive,
            kustomizations: input.kustomize,
            targets: input.targets,
            namespace: input.namespace,
            values: request.values.values,
            set: request.values.set,
            user_info: request.values.userinfo,
            exceptions: request.exceptions,
            crds: request.crds,
            old: request.old,
            context_from: request.context_from,
            images: request.images,
            operation: request.operation,
            on_policy_update: request.on_policy_update,
            dialect: arguments.dialect.dialect(),
            view: arguments.dialect.view,
            service_account_token: arguments.dialect.service_account_token,
            strict: arguments.strict,
            quiet: arguments.quiet,
            check_idempotent: arguments.check_idempotent,
            workers: arguments.workers.map_or(0, usize::from),
            show_secrets: arguments.show_secrets,
            cluster: arguments.cluster.into(),
            ..arguments.engine.options()
        }
    }
}

impl From<ClusterArguments> for ClusterOptions {
    fn from(arguments: ClusterArguments) -> Self {
        Self {
            resources: arguments.objects,
            all_namespaces: arguments.all_namespaces,
            label_selector: arguments.selector,
            field_selector: arguments.field_selector,
            chunk_size: arguments.chunk_size,
            live: arguments.live,
            policies: arguments.cluster_policies,
            check_rights: arguments.check_rights,
            record: arguments.record,
            replay: arguments.replay,
            connection: arguments.connection.connection(),
        }
    }
}

/// The values of `--semantics`.
pub(super) static SEMANTICS: [Choice<Semantics>; 2] = [
    ("documented", "What the documentation says", Semantics::Documented),
    ("kyverno", "What the controllers of Kyverno do", Semantics::Kyverno),
];

/// The values of `--view`.
static VIEWS: [Choice<View>; 2] = [
    ("admitted", "As admission webhooks get them, with the defaults of the API server", View::Admitted),
    ("written", "As they are written, like the Kyverno CLI", View::Written),
];

/// The values of `--legacy`.
static LEGACY_MODES: [Choice<LegacyMode>; 3] = [
    ("doc", "What the documentation of the time says", LegacyMode::Documented),
    ("native", "What Kyverno 1.1.0 did", LegacyMode::Native),
    (
        "smp",
        "What `patchStrategicMerge` and `patchesJson6902` make of it, as in Kyverno 1.2 to 1.5",
        LegacyMode::Later,
    ),
];

/// How diffs are shown.
#[derive(Debug, Args)]
pub(super) struct DiffOptions {
    /// When to colour a diff.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    color: Color,
    /// How many unchanged lines to show around a change.
    #[arg(short = 'U', long, value_name = "N", default_value_t = 3, help_heading = "Output")]
    unified: usize,
    /// Name the rules behind each hunk of a diff, and part hunks where the rules differ.
    #[arg(long, help_heading = "Output")]
    annotate: bool,
}

impl DiffOptions {
    /// How a diff on standard output is written.
    pub(super) fn style(&self) -> DiffStyle {
        DiffStyle { palette: self.color.palette(), context: self.unified, annotate: self.annotate }
    }

    /// Notes that a run without diffs does not use an option.
    pub(super) fn note_unused(&self, shows_diff: bool, reporter: &mut Reporter) {
        if self.annotate && !shows_diff {
            reporter.note("--annotate shapes diffs, and this run prints none");
        }
    }
}

/// When diffs are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// How a diff on standard output is coloured.
    pub(super) fn palette(self) -> Palette {
        let wanted = match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
                    || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
                !plain && io::stdout().is_terminal()
            }
        };
        if wanted { Palette::Ansi } else { Palette::Plain }
    }
}
