//! The arguments that `mutate` and `diff` share.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;

use crate::admission::View;
use crate::diagnostics::Code;
use crate::engine::DottedName;
use crate::policy::{Operation, PolicyChoice};
use crate::render::DiffStyle;
use crate::semantics::{Dialect, LegacyMode, Semantics};
use crate::source::assignment;
use crate::source::cluster::{Connection, Impersonation, Secret};
use crate::value::Value;

use super::argument_values::{
    Choice, choice_parser, chunk_size, extra, limit, limits, operation, request_timeout,
};
use super::color::Color;
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
    /// Fail (exit code 3) on warnings, and if anything was not evaluated, depends on the order of policies, or is a
    /// divergence (KYV-Dnn).
    #[arg(long, help_heading = "Evaluation")]
    strict: bool,
    /// Note policies and rules of kinds that this version does not evaluate, instead of failing (exit code 3).
    #[arg(long, help_heading = "Evaluation")]
    skip_unsupported: bool,
    /// Evaluate every changed object a second time, with the same time and random values, and report what a
    /// second run would change.
    #[arg(long, help_heading = "Evaluation")]
    check_idempotent: bool,
    #[command(flatten)]
    engine: EngineArguments,
    /// The number of threads; by default one for each processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Evaluation")]
    workers: Option<u16>,
    /// Show values of Secrets, also in recordings.
    #[arg(long, help_heading = "Output")]
    show_secrets: bool,
    /// Print only errors on stderr, no notes and no summary.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
    /// Print each error and note on standard error, not one for each cause.
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Output")]
    verbose: bool,
    /// Print the summary on stderr as tables: objects by policy, rule, kind and namespace.
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    summary: bool,
    /// On a terminal, print a result that is longer than the screen at once. By default it goes through the
    /// pager of `KYV_PAGER` or PAGER, or less.
    #[arg(long, help_heading = "Output")]
    no_pager: bool,
}

/// Policies and objects from files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
struct InputArguments {
    /// Policies: a file, a directory with everything below it, a glob, or - for standard input.
    #[arg(
        short,
        long,
        value_name = "PATH",
        required_unless_present = "cluster_policies",
        value_delimiter = ','
    )]
    policy: Vec<PathBuf>,
    /// Evaluate only policies with these names; * and ? are wildcards.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    policy_name: Vec<String>,
    #[command(flatten)]
    objects: ObjectArguments,
    /// More objects that rules with targets may change: files, directories or globs. They trigger no rule,
    /// and are printed after all others if they change.
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    targets: Vec<PathBuf>,
}

/// Objects from files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(super) struct ObjectArguments {
    /// Objects: a file, a directory, a glob, or - for standard input.
    #[arg(short = 'f', long, value_name = "PATH", value_delimiter = ',')]
    filename: Vec<PathBuf>,
    /// Read the directories of -f with everything below them.
    #[arg(short = 'R', long, requires = "filename")]
    recursive: bool,
    /// Leave out files and directories of -f with this name, or, with a /, with this path below the directory; * and ?
    /// are wildcards, ** is any path. May be repeated.
    #[arg(long, value_name = "GLOB", requires = "filename")]
    exclude: Vec<String>,
    /// Objects: directories with kustomizations, built by kubectl or kustomize.
    #[arg(short, long, value_name = "DIR", value_delimiter = ',', conflicts_with_all = ["filename", "recursive"])]
    kustomize: Vec<PathBuf>,
    /// Options of the build of -k, such as `--enable-helm --load-restrictor LoadRestrictionsNone`.
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true,
        requires = "kustomize",
        conflicts_with = "filename"
    )]
    kustomize_options: String,
    /// The namespace of live objects, and of manifests that name none; it is never written into them. The
    /// default is that of the kubeconfig's context for live objects and with --live, otherwise `default`.
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
}

impl ObjectArguments {
    /// The options with these objects.
    pub(super) fn choose(self, options: RunOptions) -> RunOptions {
        RunOptions {
            manifests: self.filename,
            recursive: self.recursive,
            exclude: self.exclude,
            kustomize_options: self.kustomize_options,
            kustomizations: self.kustomize,
            namespace: self.namespace,
            ..options
        }
    }
}

/// The rules that are evaluated.
#[derive(Debug, Args)]
pub(super) struct RuleArguments {
    /// Evaluate only rules with these names; * and ? are wildcards. A name without / is that of a policy.
    #[arg(long, value_name = "POLICY/RULE", value_delimiter = ',', help_heading = "Input")]
    rule: Vec<String>,
}

impl RuleArguments {
    /// The options with these rules alone.
    pub(super) fn choose(self, options: RunOptions) -> RunOptions {
        RunOptions { choice: PolicyChoice { rules: self.rule, ..options.choice }, ..options }
    }
}

/// The requests that policies see, and what they load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
struct RequestArguments {
    #[command(flatten)]
    values: ValueArguments,
    #[command(flatten)]
    exceptions: ExceptionArguments,
    /// The operation of the requests: CREATE, UPDATE, DELETE or CONNECT. The default is CREATE, and UPDATE
    /// for live objects.
    #[arg(long, value_name = "NAME", value_parser = operation)]
    operation: Option<Operation>,
    /// Show what installing or changing the policies does: only rules with targets and
    /// mutateExistingOnPolicyUpdate run, for all objects.
    #[arg(long, conflicts_with_all = ["operation", "old"])]
    on_policy_update: bool,
    /// The stored objects of an update: a file, a directory or a glob.
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    old: Vec<PathBuf>,
    #[command(flatten)]
    context: ContextArguments,
}

/// Exceptions from policies.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(super) struct ExceptionArguments {
    #[arg(
        long,
        alias = "exception",
        value_name = "PATH",
        value_delimiter = ',',
        help = "PolicyExceptions of kyverno.io and policies.kyverno.io: a file, a directory with everything below it, or a glob"
    )]
    pub(super) exceptions: Vec<PathBuf>,
}

/// What policies load, and the schemas of objects.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(super) struct ContextArguments {
    #[arg(
        long,
        value_name = "PATH",
        value_delimiter = ',',
        help = "CustomResourceDefinitions: schemas, defaults and scopes of custom resources"
    )]
    crds: Vec<PathBuf>,
    #[arg(
        long,
        value_name = "PATH",
        value_delimiter = ',',
        help = "Objects that context entries read: ConfigMaps, objects for apiCalls, GlobalContextEntries, and documents of kind Context or ClusterResource (cli.kyverno.io)"
    )]
    context_from: Vec<PathBuf>,
    #[arg(
        long,
        value_name = "FILE",
        value_delimiter = ',',
        help = "Image data for imageRegistry entries: documents of kind Context (cli.kyverno.io) with `images` (image, digest, manifest, imageIndex, config)"
    )]
    images: Vec<PathBuf>,
}

impl ContextArguments {
    /// The options with these inputs.
    pub(super) fn choose(self, options: RunOptions) -> RunOptions {
        RunOptions { crds: self.crds, context_from: self.context_from, images: self.images, ..options }
    }
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
        help = "A document of kind UserInfo (cli.kyverno.io): the user who sends the requests"
    )]
    pub(super) userinfo: Option<PathBuf>,
}

impl ValueArguments {
    /// The options with these values.
    pub(super) fn choose(self, options: RunOptions) -> RunOptions {
        RunOptions { values: self.values, set: self.set, user_info: self.userinfo, ..options }
    }
}

/// How policies are read.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Evaluation")]
pub(super) struct SemanticsArguments {
    /// Which side to take where Kyverno's documentation and its controllers differ.
    #[arg(long, value_name = "NAME", value_parser = choice_parser(&SEMANTICS), default_value = "documented")]
    semantics: Semantics,
    /// How to interpret `overlay` and `patches`, the legacy fields of mutate rules. Kyverno 1.19 refuses
    /// policies with them: with --semantics kyverno this is an error, and the rules run only with native or
    /// smp.
    #[arg(long, value_name = "NAME", value_parser = choice_parser(&LEGACY_MODES), default_value = "doc")]
    legacy: LegacyMode,
}

impl SemanticsArguments {
    /// The dialect that they name.
    pub(super) const fn dialect(self) -> Dialect {
        Dialect { semantics: self.semantics, legacy: self.legacy }
    }
}

/// How policies are read, and what they see.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Evaluation")]
pub(super) struct DialectArguments {
    #[command(flatten)]
    semantics: SemanticsArguments,
    /// The state of manifests that policies see; live objects are already admitted.
    #[arg(long, value_name = "NAME", value_parser = choice_parser(&VIEWS), default_value = "admitted")]
    pub(super) view: View,
    /// In the admitted view, show policies the volume with the token of a Pod's service account. Its name
    /// ends in xxxxx, where an API server has random characters.
    #[arg(long)]
    pub(super) service_account_token: bool,
}

impl DialectArguments {
    /// The dialect that they name.
    pub(super) const fn dialect(self) -> Dialect {
        self.semantics.dialect()
    }
}

/// What the result of a rule depends on besides its inputs.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Evaluation")]
pub(super) struct EngineArguments {
    /// The time that policies see, such as 2026-01-31T12:00:00Z; by default the start of the run.
    #[arg(long, value_name = "TIME")]
    now: Option<Timestamp>,
    /// The seed of random values.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Set a limit on the size of inputs or on the work of a rule, such as yaml-depth=512 or steps=5000000; `help` lists
    /// all limits.
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
    #[command(flatten)]
    live: LiveArguments,
    /// Use the policies of the cluster, too. A policy of -p replaces the one with the same name.
    #[arg(long)]
    cluster_policies: bool,
    /// Check whether this user or service account (system:serviceaccount:NAMESPACE:NAME) may read and update
    /// the targets of rules. Kyverno's background controller needs these rights. With --as, the rights of
    /// that user are always checked.
    #[arg(long, value_name = "SUBJECT")]
    check_rights: Option<String>,
    #[command(flatten)]
    source: ClusterSourceArguments,
}

/// Live objects, and the state of their cluster.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct LiveArguments {
    /// Live objects, as in kubectl: TYPE[,TYPE…] [NAME…] or TYPE/NAME…. Without a TYPE, but with -A, -n or a
    /// selector: all kinds that the policies can match.
    #[arg(value_name = "TYPE", conflicts_with_all = OFFLINE, help_heading = None)]
    objects: Vec<String>,
    /// Live objects of all namespaces; wins over -n.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Live objects with these labels, such as app=web,tier!=db.
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with_all = OFFLINE)]
    selector: Option<String>,
    /// Live objects with these fields, such as metadata.name=web,status.phase!=Running.
    #[arg(long, value_name = "FIELDS", conflicts_with_all = OFFLINE)]
    field_selector: Option<String>,
    /// How many live objects one request lists; 0 for all.
    #[arg(
        long,
        value_name = "N",
        default_value = "500",
        value_parser = chunk_size,
        allow_negative_numbers = true,
        conflicts_with_all = OFFLINE
    )]
    chunk_size: u32,
    /// Evaluate manifests with data of the cluster: labels of namespaces, context entries, schemas of custom
    /// resources and stored objects. The cluster is only read, with your rights.
    #[arg(long, conflicts_with = "objects")]
    live: bool,
}

/// The cluster, or a recording of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct ClusterSourceArguments {
    /// Write every response of the cluster to a directory, for --replay. Values of Secrets are not recorded.
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Read the responses of the cluster from a directory that --record wrote. Nothing is sent, and the flags
    /// of the connection have no effect.
    #[arg(long, value_name = "DIR")]
    replay: Option<PathBuf>,
    #[command(flatten)]
    connection: ConnectionArguments,
}

/// How the cluster is reached, in kubectl's flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct ConnectionArguments {
    /// The kubeconfig; by default that of KUBECONFIG or of the home directory, else the service account of
    /// the Pod.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; by default the current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The cluster of the kubeconfig; by default that of the context.
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// The user of the kubeconfig; by default that of the context.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The address of the API server.
    #[arg(short = 's', long, value_name = "URL")]
    server: Option<String>,
    /// A bearer token for the API server.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// The certificate of the authority that signed the server's certificate.
    #[arg(long, value_name = "FILE")]
    certificate_authority: Option<PathBuf>,
    /// A client certificate for the API server.
    #[arg(long, value_name = "FILE")]
    client_certificate: Option<PathBuf>,
    /// The private key of the client certificate.
    #[arg(long, value_name = "FILE")]
    client_key: Option<PathBuf>,
    /// The name to verify the server's certificate against; by default the host of its address.
    #[arg(long, value_name = "NAME")]
    tls_server_name: Option<String>,
    /// Skip the verification of the server's certificate. This is insecure.
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// The time limit of one request, such as 30s or 2m; 0 for none.
    #[arg(long, value_name = "TIME", value_parser = request_timeout, default_value = "90s")]
    request_timeout: Duration,
    /// Impersonate this user.
    #[arg(long = "as", value_name = "USER")]
    as_user: Option<String>,
    /// Impersonate a member of this group; may be repeated.
    #[arg(long, value_name = "GROUP")]
    as_group: Vec<String>,
    /// Impersonate the user with this UID.
    #[arg(long, value_name = "UID")]
    as_uid: Option<String>,
    /// Impersonate a user with this extra attribute; may be repeated.
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
        let options = request.context.choose(input.objects.choose(arguments.engine.options()));
        let options = request.values.choose(options);
        Self {
            policies: input.policy,
            choice: PolicyChoice { policies: input.policy_name, rules: Vec::new() },
            skip_unsupported: arguments.skip_unsupported,
            targets: input.targets,
            exceptions: request.exceptions.exceptions,
            old: request.old,
            operation: request.operation,
            on_policy_update: request.on_policy_update,
            dialect: arguments.dialect.dialect(),
            view: arguments.dialect.view,
            service_account_token: arguments.dialect.service_account_token,
            strict: arguments.strict,
            quiet: arguments.quiet,
            verbose: arguments.verbose,
            summary_tables: arguments.summary,
            pager: !arguments.no_pager,
            check_idempotent: arguments.check_idempotent,
            workers: arguments.workers.map_or(0, usize::from),
            show_secrets: arguments.show_secrets,
            cluster: arguments.cluster.into(),
            ..options
        }
    }
}

impl From<ClusterArguments> for ClusterOptions {
    fn from(arguments: ClusterArguments) -> Self {
        Self {
            policies: arguments.cluster_policies,
            check_rights: arguments.check_rights,
            ..Self::of(arguments.live, arguments.source)
        }
    }
}

impl ClusterOptions {
    /// Live objects of a cluster.
    pub(super) fn of(live: LiveArguments, source: ClusterSourceArguments) -> Self {
        Self {
            resources: live.objects,
            all_namespaces: live.all_namespaces,
            label_selector: live.selector,
            field_selector: live.field_selector,
            chunk_size: live.chunk_size,
            live: live.live,
            record: source.record,
            replay: source.replay,
            connection: source.connection.connection(),
            ..Self::default()
        }
    }
}

/// The values of `--semantics`.
pub(super) static SEMANTICS: [Choice<Semantics>; 2] = [
    ("documented", "As the documentation says", Semantics::Documented),
    ("kyverno", "As the controllers of Kyverno do", Semantics::Kyverno),
];

/// The values of `--view`.
static VIEWS: [Choice<View>; 2] = [
    ("admitted", "As admission webhooks receive them, with the defaults of the API server", View::Admitted),
    ("written", "As they are written, like the Kyverno CLI", View::Written),
];

/// The values of `--legacy`.
static LEGACY_MODES: [Choice<LegacyMode>; 3] = [
    ("doc", "As the documentation of that time says", LegacyMode::Documented),
    ("native", "As Kyverno 1.1.0 did", LegacyMode::Native),
    ("smp", "As `patchStrategicMerge` and `patchesJson6902`, like Kyverno 1.2 to 1.5", LegacyMode::Later),
];

/// How diffs are shown.
#[derive(Debug, Args)]
pub(super) struct DiffOptions {
    /// When to colour a diff.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub(super) color: Color,
    /// How many unchanged lines to show around a change.
    #[arg(short = 'U', long, value_name = "N", default_value_t = 3, help_heading = "Output")]
    unified: usize,
    /// Name the rules behind each hunk of a diff, and split hunks where the rules differ.
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
            reporter.note(Code::UnusedOption, "--annotate shapes diffs, and this run prints none");
        }
    }
}
