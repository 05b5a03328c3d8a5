//! The inputs of a run, loaded.

mod cluster_notes;
mod inputs;

use std::iter;
use std::sync::Arc;

use jiff::Timestamp;
use rayon::ThreadPoolBuilder;

use crate::check;
use crate::diagnostics::{Code, Coded as _};
use crate::engine::{Engine, Settings, World};
use crate::policy::{CelExceptions, KindSelector, Policy, PolicyExceptions, PolicySet};
use crate::proof;
use crate::report::GeneratedFindings;
use crate::resources::Resources;
use crate::source::cluster::{
    Cluster, ClusterWorld, LiveKinds, RecordingCluster, Rights, StoredObjects, Subject,
};
use crate::source::{
    ContextObjects, CustomKind, LoadedPolicies, LoadedValues, Manifests, OfflineWorld, OldObjects,
    PolicyTexts, RequestedResources,
};
use crate::value::Text;

use super::connect::connect;
use super::discovery::{filters, live_kinds};
use super::evaluate::Evaluator;
use super::exit::Exit;
use super::missing_schemas::MissingSchemas;
use super::options::{PolicyCheck, RunOptions};
use super::pager::Pager;
use super::policies::{kind_selectors, resource_selectors};
use super::policy_notes::{NoteSettings, exception_notes, policy_notes};
use super::policy_places::PolicyPlaces;
use super::reporter::{Note, Reporter};
use super::run_context::RunContext;
use super::spool::Spool;

use inputs::LoadedInputs;

pub(super) use inputs::{SchemaError, kind_schemas, location, schemas};

/// The stack of a thread: enough for the limits on depth.
const STACK_BYTES: usize = 16 << 20;

/// The world of a run: its inputs, and the cluster.
pub(super) type RunWorld = ClusterWorld<OfflineWorld>;

/// Everything that is loaded before the objects.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) engine: Engine,
    policy_texts: PolicyTexts,
    pub(super) old: OldObjects,
    kinds: Vec<CustomKind>,
    /// What context entries are loaded from.
    objects: ContextObjects,
    /// Notes on the inputs, reported at the end of the run.
    notes: Vec<Note>,
    check_idempotent: bool,
    check: PolicyCheck,
    pub(super) keep_going: bool,
    live: bool,
    pub(super) shows_secrets: bool,
    pub(super) cluster: Option<Arc<dyn Cluster>>,
    /// The cluster as a recording, if the run is recorded.
    recording: Option<Arc<RecordingCluster>>,
    now: Timestamp,
    /// Where the stored objects of manifests come from, if from a cluster.
    stored: Option<StoredObjects>,
    check_rights: Option<String>,
    /// The same, reported only if some rule changes an object or fails.
    notes_on_acts: Vec<String>,
    /// The kinds whose schema could not be read.
    pub(super) missing_schemas: MissingSchemas,
}

/// Runs a command on the threads of its options; returns the exit code.
pub(super) fn on_threads(options: &RunOptions, run: impl FnOnce(&mut Reporter) + Send) -> Exit {
    let mut reporter = Reporter::new(options.verbosity());
    match ThreadPoolBuilder::new().num_threads(options.workers).stack_size(STACK_BYTES).build() {
        Ok(pool) => pool.install(|| {
            run(&mut reporter);
            let is_unread = matches!(reporter.exit(), Exit::Cluster | Exit::Input);
            if let Some(name) = options.directory_argument().filter(|_| is_unread && options.is_live()) {
                let text = format!("{name} is also a directory: read manifests with -f {name}");
                reporter.note(Code::ArgumentConflict, text);
            }
        }),
        Err(error) => {
            reporter.error(Exit::Input, Code::System, format_args!("threads cannot be started: {error}"));
        }
    }
    reporter.exit()
}

/// The namespace of objects that name none: where `kubectl apply` would put them.
fn namespace(options: &RunOptions, cluster: Option<&dyn Cluster>) -> String {
    let of_cluster =
        cluster.filter(|_| options.uses_cluster_state() && options.explicit_namespace().is_none());
    of_cluster.map_or_else(|| options.namespace_or_default(), Cluster::default_namespace).to_owned()
}

/// What reports have beside the changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Changes,
    Traces,
    OrderResults,
}

impl Session {
    /// Loads policies and everything that they may need. All errors are reported; `None` if there are any.
    pub(super) fn open(options: &RunOptions, reporter: &mut Reporter) -> Option<Self> {
        Self::load(options, None, Detail::Changes, reporter)
    }

    /// The same, for what is found out about the policies.
    pub(super) fn open_for_findings(options: &RunOptions, reporter: &mut Reporter) -> Option<Self> {
        Self::load(options, None, Detail::OrderResults, reporter)
    }

    /// Loads what these policies may need.
    pub(super) fn of_policies(
        options: &RunOptions,
        policies: Vec<Policy>,
        reporter: &mut Reporter,
    ) -> Option<Self> {
        let loaded = LoadedPolicies { policies, ..LoadedPolicies::default() };
        Self::load(options, Some(loaded), Detail::Changes, reporter)
    }

    /// The same, with traces for explanations.
    pub(super) fn open_traced(options: &RunOptions, reporter: &mut Reporter) -> Option<Self> {
        Self::load(options, None, Detail::Traces, reporter)
    }

    fn load(
        options: &RunOptions,
        loaded: Option<LoadedPolicies>,
        detail: Detail,
        reporter: &mut Reporter,
    ) -> Option<Self> {
        if let Some(error) = options.contradiction() {
            reporter.error(Exit::Input, error.code(), error);
            return None;
        }
        let start = options.now.unwrap_or_else(Timestamp::now);
        let connected = options.uses_cluster().then(|| connect(options, start, reporter));
        let is_unreachable = matches!(connected, Some(None));
        let connected = connected.flatten();
        let is_replay = connected.as_ref().is_some_and(|connected| connected.is_redacted);
        let recording = connected.as_ref().and_then(|connected| connected.recording.clone());
        let cluster = connected.map(|connected| connected.cluster);
        let now = options.now.or_else(|| cluster.as_ref()?.now()).unwrap_or(start);
        let namespace = namespace(options, cluster.as_deref());
        let inputs = LoadedInputs::load(options, loaded, cluster.as_ref(), &namespace, reporter);
        let inputs = inputs.filter(|_| !is_unreachable)?;
        let LoadedInputs { policies, exceptions, values, user, mut kinds, old, objects } = inputs;
        let is_user_known = user.as_ref().is_some_and(|user| !user.is_unknown());
        let missing_user = (!is_user_known).then_some(options.input_names.user);
        let settings = NoteSettings { skips_unsupported: options.skip_unsupported, missing_user };
        let mut notes = policy_notes(&policies, settings, reporter);
        // Names of policies that are not chosen are unknown here.
        let all = options.choice.is_everything().then_some(&*policies.policies);
        notes.extend(exception_notes(&exceptions, all, now));
        let state = cluster.as_deref().filter(|_| options.uses_cluster_state());
        let mut missing_schemas = Vec::new();
        if let Some(cluster) = state {
            let LiveKinds { found, missing } = live_kinds(cluster, &policies.policies, &kinds, reporter)?;
            kinds.extend(found);
            missing_schemas = missing;
        }
        let mut notes_on_acts = Vec::new();
        let filters =
            state.map(|cluster| filters(cluster, is_user_known, &mut notes_on_acts)).unwrap_or_default();
        let schemas = reporter.valid(schemas(&kinds))?;
        let mut values = values.unwrap_or_default();
        notes.extend(value_notes(&mut values, all));
        values.values.set.extend(options.set.iter().cloned());
        let kind_schemas = kind_schemas(&kinds);
        let settings = Settings {
            admission: options.admission(&kind_schemas),
            schemas,
            kind_schemas,
            values: values.values,
            user,
            exceptions: PolicyExceptions::new(exceptions.exceptions),
            cel_exceptions: CelExceptions::new(exceptions.cel),
            filters,
            namespace: namespace.as_str().into(),
            is_replay,
            trace: detail == Detail::Traces,
            keeps_order_results: detail == Detail::OrderResults,
            ..options.settings()
        };
        let policy_texts = PolicyTexts::new(&policies.policies, policies.texts, exceptions.cel_texts);
        let engine = Engine::new(PolicySet::new(policies.policies), settings);
        let of_manifests = cluster.clone().filter(|_| options.cluster.live && !options.is_live());
        let mut session = Self {
            missing_schemas: MissingSchemas::new(missing_schemas, &engine),
            engine,
            policy_texts,
            old,
            kinds,
            objects,
            notes,
            check_idempotent: options.check_idempotent,
            check: options.check,
            keep_going: options.keep_going,
            live: options.is_live(),
            cluster,
            recording,
            stored: of_manifests.map(|cluster| StoredObjects::new(cluster, namespace.as_str().into())),
            now,
            shows_secrets: options.show_secrets,
            check_rights: options.cluster.check_rights.clone(),
            notes_on_acts,
        };
        session.note_api_calls(options);
        Some(session)
    }

    /// Notes the API calls of policies to which only the manifests are a response.
    fn note_api_calls(&mut self, options: &RunOptions) {
        let plurals = self.api_calls(options).plurals().join(", ");
        if !plurals.is_empty() && !options.uses_cluster_state() {
            let names = self.engine.settings().input_names;
            let live = names
                .cluster
                .map_or_else(String::new, |flag| format!("; {flag} reads them from the cluster"));
            let text = format!(
                "policies call the API server for {plurals}: only the manifests are looked up; pass further \
                 objects with {}{live}",
                names.objects
            );
            self.notes.push(Note::other(Code::ManifestsAnswer, text));
        }
    }

    pub(super) fn evaluator<'a, W: World>(&'a self, world: &'a W) -> Evaluator<'a, W> {
        Evaluator {
            stored: self.stored.as_ref(),
            check_idempotent: self.check_idempotent,
            check: self.check,
            keep_going: self.keep_going,
            live: self.live,
            recording: self.recording.as_deref(),
            shows_secrets: self.shows_secrets,
            ..Evaluator::new(&self.engine, world, &self.old)
        }
    }

    /// What a proof with these inputs is made with.
    pub(super) fn proof_options(&self, seed: u64, requests_per_rule: usize) -> proof::Options {
        let settings = self.engine.settings();
        proof::Options {
            semantics: settings.semantics,
            schemas: settings.schemas.clone(),
            kind_schemas: settings.kind_schemas.clone(),
            defined: self.kinds.iter().flat_map(|kind| kind.versions.iter().cloned()).collect(),
            requests_per_rule,
            seed,
            now: self.now,
            values: settings.values.clone(),
            exceptions: settings.exceptions.clone(),
            cel_exceptions: settings.cel_exceptions.clone(),
            user: settings.user.clone(),
            is_replay: settings.is_replay,
            namespace: settings.namespace.clone(),
            limits: settings.limits,
        }
    }

    /// How the policies get along on objects that are made from their conditions.
    pub(super) fn check_generated(
        &self,
        seed: u64,
        world: &RunWorld,
        reporter: &mut Reporter,
    ) -> GeneratedFindings {
        let options = self.proof_options(seed, proof::Options::FAST);
        // A cluster is asked for objects that exist alone.
        let is_asked = !self.live && self.stored.is_none();
        let creations = proof::Creations::new(self.engine.policies().policies(), &options, (world, is_asked));
        check::on_generated(&self.engine, &creations, &mut |objects| reporter.advance(objects))
    }

    /// The policies and their texts, for the places of errors.
    pub(super) fn policy_places(&self) -> PolicyPlaces<'_> {
        PolicyPlaces { policies: self.engine.policies().policies(), texts: &self.policy_texts }
    }

    pub(super) const fn is_live(&self) -> bool {
        self.live
    }

    /// Whether there is a cluster, and only the policies come from it.
    const fn has_unasked_cluster(&self) -> bool {
        self.cluster.is_some() && self.stored.is_none() && !self.live
    }

    /// The namespaces that the manifests name and that are missing in the cluster.
    fn absent_namespaces(&self) -> Vec<Text> {
        self.stored.as_ref().map(|stored| stored.missing().namespaces).unwrap_or_default()
    }

    /// What the notes at the end of the run are about.
    pub(super) fn context(&self) -> RunContext<'_> {
        RunContext {
            engine: &self.engine,
            notes: &self.notes,
            notes_on_acts: &self.notes_on_acts,
            missing_schemas: Some(&self.missing_schemas),
            absent_namespaces: self.absent_namespaces(),
            has_unasked_cluster: self.has_unasked_cluster(),
            varies_with_time: false,
        }
    }

    /// The writer of the result, which streams live objects: a later failure does not void them.
    pub(super) fn spool(&self, pager: Option<Pager>, reporter: &Reporter) -> Spool {
        if self.live && pager.is_none() && reporter.exit() < Exit::Input {
            Spool::streaming()
        } else {
            Spool::paged(pager)
        }
    }

    pub(super) fn kind_selectors(&self) -> Vec<KindSelector> {
        let mut selectors = kind_selectors(self.engine.policies().classic_rules());
        for selector in self.resource_selectors().into_iter().flatten() {
            if !selectors.contains(&selector) {
                selectors.push(selector);
            }
        }
        selectors
    }

    /// The kinds of the resources of CEL policies, policy by policy.
    fn resource_selectors(&self) -> Vec<Vec<KindSelector>> {
        let served = self.cluster.as_ref().and_then(|cluster| cluster.resources().ok());
        let policies = self.engine.policies().policies().iter();
        resource_selectors(policies, served.as_deref().unwrap_or_else(|| Resources::built_in()))
    }

    /// The same rule by rule, without those that autogen generated.
    pub(super) fn written_kind_selectors(&self) -> Vec<Vec<KindSelector>> {
        let rules = self.engine.policies().classic_rules();
        let written = rules.filter(|rule| rule.generated_from.is_none());
        written.map(|rule| kind_selectors(iter::once(rule))).chain(self.resource_selectors()).collect()
    }

    /// The world of a run: its inputs, and the cluster if its state is used.
    pub(super) fn world(&self, options: &RunOptions, manifests: &Manifests) -> RunWorld {
        let cluster = self.cluster.clone().filter(|_| options.uses_cluster_state());
        let offline = self.offline_world(options, manifests);
        let rights = match (&options.cluster.check_rights, &options.cluster.connection.impersonation.user) {
            (Some(subject), _) => Some(Rights::of(Subject::named(subject))),
            (None, Some(user)) => Some(Rights::own(user)),
            (None, None) => None,
        };
        ClusterWorld::new(offline, cluster, self.engine.uses_namespace_labels())
            .with_secrets_shown(self.shows_secrets)
            .with_all_namespaces(options.cluster.all_namespaces)
            .with_max_targets(self.engine.settings().limits.targets)
            .with_rights(rights)
    }

    /// The API calls of policies that no input has a response to: the manifests are the response, as in the Kyverno CLI.
    fn api_calls<'a>(&'a self, options: &'a RunOptions) -> RequestedResources<'a> {
        let rules = self.engine.policies().classic_rules();
        let paths: Vec<String> =
            rules.flat_map(|rule| rule.api_call_paths(RequestedResources::VARIABLE)).collect();
        let admission = self.engine.settings().admission.as_ref();
        self.objects.requested(&paths, options.namespace_or_default(), &self.kinds, admission)
    }

    /// The world of the inputs.
    fn offline_world(&self, options: &RunOptions, manifests: &Manifests) -> OfflineWorld {
        let mut world = OfflineWorld::new(self.now, options.seed);
        world.set_kinds(&self.kinds);
        let mut objects = self.objects.clone();
        let calls = self.api_calls(options);
        // The state of a cluster is more than the manifests.
        if !calls.plurals().is_empty() && !options.uses_cluster_state() {
            objects.add_manifests(&calls, manifests.requested(&calls));
        }
        world.set_objects(objects);
        if self.engine.uses_namespace_labels() {
            for namespace in manifests.namespaces() {
                world.add_namespace(&namespace);
            }
        }
        for (name, labels) in &self.engine.settings().values.namespaces {
            world.set_namespace_labels(name.clone(), labels.clone());
        }
        world
    }
}

/// Notes on values that nothing reads: of unknown policies and rules, and of unused fields.
fn value_notes(values: &mut LoadedValues, policies: Option<&[Policy]>) -> Vec<Note> {
    let unknown = policies.map(|policies| values.values.unknown_to(policies, [].iter())).unwrap_or_default();
    let unknown = unknown.into_iter().map(|text| Note::omission(Code::UnknownName, text));
    unknown.chain(values.notes.drain(..).map(|text| Note::omission(Code::UnusedInput, text))).collect()
}
