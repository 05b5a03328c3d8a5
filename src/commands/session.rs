//! What a run works with, made from its arguments.

use std::collections::BTreeSet;
use std::iter;
use std::path::PathBuf;
use std::slice;
use std::sync::Arc;

use jiff::Timestamp;
use rayon::ThreadPoolBuilder;

use crate::engine::{Engine, Settings, World};
use crate::patch::Schemas;
use crate::policy::{KindSelector, PolicyExceptions, PolicySet, UserInfo};
use crate::render::harmless_name;
use crate::source::cluster::{
    Cluster, ClusterWorld, LiveKinds, Missed, MissingInCluster, Resource, Rights, StoredObjects, Subject,
};
use crate::source::{
    Asked, CustomKind, ExceptionLoader, GivenLoader, GivenObjects, Head, LoadedValues, Location, Manifests,
    OfflineWorld, OldObjects, SourceError, custom_kinds, load_user, load_values,
};
use crate::value::{GroupVersionKind, Text};

use super::connect::connect;
use super::discovery::{filters, live_kinds};
use super::evaluate::Evaluator;
use super::exit::Exit;
use super::options::RunOptions;
use super::policies::{kind_selectors, policies};
use super::policy_notes::{remarks, remarks_on_exceptions};
use super::reporter::{NoteKind, Reporter, Verbosity};
use super::schemaless::Schemaless;
use super::spool::Spool;
use super::summary::listed;
use super::versions::in_other_versions;

/// The stack of a thread: enough for whatever the limits on depth let through.
const STACK: usize = 16 << 20;

/// The world of a run: what its inputs tell, and the cluster.
pub(super) type RunWorld = ClusterWorld<OfflineWorld>;

/// So many refusals of a cluster are told one by one.
const TOLD: usize = 10;

/// What is said where nothing is to be evaluated.
const NO_OBJECTS: &str = "no objects are given: manifests come from -f or -k, objects of the cluster that the kubeconfig \
                          names from TYPE [NAME], or from -A, -n, -l or --field-selector for all kinds that the policies \
                          can match";

/// Everything that is loaded before the first object.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) engine: Engine,
    pub(super) old: OldObjects,
    kinds: Vec<CustomKind>,
    /// What context entries are answered from.
    objects: GivenObjects,
    /// What is said about the inputs when the run is over.
    pub(super) remarks: Vec<(NoteKind, String)>,
    twice: bool,
    live: bool,
    pub(super) shows_secrets: bool,
    /// The cluster that is asked, if one is.
    pub(super) cluster: Option<Arc<dyn Cluster>>,
    /// The time that the run sees.
    now: Timestamp,
    /// Where the stored objects of manifests come from, if from a cluster.
    stored: Option<StoredObjects>,
    /// Whose rights to change targets are asked for, where somebody wants to know.
    check_rights: Option<String>,
    /// What is said about the inputs where some rule acts on an object.
    pub(super) remarks_on_acts: Vec<String>,
    /// The kinds of which nobody knows how their lists merge.
    pub(super) schemaless: Schemaless,
}

/// Runs a command on as many threads as its arguments ask for; how it ends.
pub(super) fn on_threads(options: &RunOptions, run: impl FnOnce(&mut Reporter) + Send) -> Exit {
    let verbosity = Verbosity { quiet: options.quiet, strict: options.strict };
    with_pool(options.workers, verbosity, run)
}

/// Runs a command on so many threads, as many as there are processors for 0; how it ends.
pub(super) fn with_pool(
    threads: usize,
    verbosity: Verbosity,
    run: impl FnOnce(&mut Reporter) + Send,
) -> Exit {
    let mut reporter = Reporter::new(verbosity);
    match ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build() {
        Ok(pool) => pool.install(|| run(&mut reporter)),
        Err(error) => reporter.error(Exit::Input, &format!("threads cannot be started: {error}")),
    }
    reporter.exit()
}

impl Session {
    /// Loads policies and whatever they may ask for. Everything that is wrong is said; `None` if anything
    /// is.
    pub(super) fn open(options: &RunOptions, reporter: &mut Reporter) -> Option<Self> {
        Self::load(options, false, reporter)
    }

    /// The same, for reports that tell how outcomes came about.
    pub(super) fn open_traced(options: &RunOptions, reporter: &mut Reporter) -> Option<Self> {
        Self::load(options, true, reporter)
    }

    fn load(options: &RunOptions, trace: bool, reporter: &mut Reporter) -> Option<Self> {
        if !options.names_objects() {
            reporter.error(Exit::Input, NO_OBJECTS);
            return None;
        }
        if options.cluster.all_namespaces && !options.is_live() {
            reporter.error(
                Exit::Input,
                "-A reads live objects: manifests say themselves which namespace they are in",
            );
            return None;
        }
        if options.stdin_count() > 1 {
            reporter.error(Exit::Input, "standard input (-) can be given once only");
            return None;
        }
        if options.cluster.names_cluster() && !options.uses_cluster() {
            let text = "a cluster is named and none is asked: manifests are evaluated in it with --live";
            reporter.error(Exit::Input, text);
            return None;
        }
        if options.cluster.check_rights.is_some() && !options.uses_cluster_state() {
            reporter.error(
                Exit::Input,
                "--check-rights asks a cluster: manifests are evaluated in it with --live",
            );
            return None;
        }
        if let Some(subject) = options.cluster.check_rights.as_deref().filter(|name| !Subject::is_name(name))
        {
            let text = format!(
                "--check-rights: {subject:?} is the name of nobody: expected that of a user, or \
                 system:serviceaccount:NAMESPACE:NAME"
            );
            reporter.error(Exit::Input, &text);
            return None;
        }
        let (record, replay) = (&options.cluster.record, &options.cluster.replay);
        if (record.is_some() || replay.is_some()) && !options.uses_cluster() {
            let text =
                "a recording is named and no cluster is asked: manifests are evaluated in it with --live";
            reporter.error(Exit::Input, text);
            return None;
        }
        let limits = options.input_limits;
        let now = options.now.unwrap_or_else(Timestamp::now);
        let cluster = if options.uses_cluster() { Some(connect(options, now, reporter)) } else { None };
        let unreachable = matches!(cluster, Some(None));
        let cluster = cluster.flatten();
        let recorded = cluster.as_ref().and_then(|cluster| cluster.now());
        let now = options.now.or(recorded).unwrap_or(now);
        let namespace = match &cluster {
            // Where kubectl apply would put it.
            Some(cluster) if options.uses_cluster_state() && options.explicit_namespace().is_none() => {
                cluster.default_namespace().to_owned()
            }
            _ => options.namespace_or_default().to_owned(),
        };
        let mut exceptions = ExceptionLoader::new(options.dialect.semantics, limits);
        options.exceptions.iter().for_each(|path| exceptions.path(path));
        let policies = policies(options, cluster.as_ref(), &mut exceptions, reporter);
        let values =
            given(options.values.as_ref(), reporter, |location| load_values(location, Head::OfKind, &limits));
        let user = given(options.user_info.as_ref(), reporter, |location| {
            load_user(location, Head::OfKind, &limits)
        });
        let exceptions = said(exceptions.finish(), reporter);
        let kinds = said(custom_kinds(&options.crds, &limits), reporter);
        let old = said(OldObjects::load(&options.old, &namespace, &limits), reporter);
        let objects = {
            let kinds = kinds.as_deref().unwrap_or_default();
            let mut loader = GivenLoader::new(&namespace, kinds, limits);
            options.context_from.iter().for_each(|path| loader.path(path));
            options.images.iter().for_each(|path| loader.images(path));
            loader.finish()
        };
        let objects = said(objects, reporter);
        let repeated = repeated_names(options, reporter);
        let (policies, values, user, mut kinds, old) = (policies?, values?, user?, kinds?, old?);
        let (objects, exceptions) = (objects?, exceptions?);
        if repeated || unreachable {
            return None;
        }
        let mut remarks = remarks(&policies, reporter);
        remarks.extend(remarks_on_exceptions(&exceptions, &policies.policies));
        let asked = cluster.as_deref().filter(|_| options.uses_cluster_state());
        let mut missing_schemas = Vec::new();
        if let Some(cluster) = asked {
            let LiveKinds { found, missing } = live_kinds(cluster, &policies.policies, &kinds, reporter)?;
            kinds.extend(found);
            missing_schemas = missing;
        }
        let mut remarks_on_acts = Vec::new();
        let is_known = user.as_ref().is_some_and(|user| !user.is_unknown());
        let filters =
            asked.map(|cluster| filters(cluster, is_known, &mut remarks_on_acts)).unwrap_or_default();
        let schemas = schemas(&kinds, reporter)?;
        let vain = values.iter().flat_map(|values| values.values.unknown_to(&policies.policies, [].iter()));
        remarks.extend(vain.map(|text| (NoteKind::Omission, text)));
        let values = values.map_or_else(LoadedValues::default, |mut values| {
            remarks.extend(values.notes.drain(..).map(|note| (NoteKind::Omission, note)));
            values
        });
        let exceptions = PolicyExceptions::new(exceptions.exceptions);
        let settings = settings(options, schemas, values, user);
        let namespace_name = namespace.as_str().into();
        let settings = Settings { trace, exceptions, filters, namespace: namespace_name, ..settings };
        let engine = Engine::new(PolicySet::new(policies.policies), settings);
        let schemaless = Schemaless::new(missing_schemas, &engine);
        let twice = options.check_idempotent;
        let of_manifests = cluster.clone().filter(|_| options.cluster.live && !options.is_live());
        let stored = of_manifests.map(|cluster| StoredObjects::new(cluster, namespace.as_str().into()));
        let mut session = Self {
            engine,
            old,
            kinds,
            objects,
            remarks,
            twice,
            live: options.is_live(),
            cluster,
            stored,
            now,
            shows_secrets: options.show_secrets,
            check_rights: options.cluster.check_rights.clone(),
            remarks_on_acts,
            schemaless,
        };
        let asked = session.asked(options);
        let plurals = asked.plurals().join(", ");
        if !plurals.is_empty() && !options.uses_cluster_state() {
            let text = format!(
                "policies ask the API server for {plurals}: the manifests alone answer, as far as they can; \
                 `--context-from PATH` can give what the cluster holds, `--live` asks it"
            );
            session.remarks.push((NoteKind::Other, text));
        }
        Some(session)
    }

    /// What evaluates objects in a world.
    pub(super) const fn evaluator<'a, W: World>(&'a self, world: &'a W) -> Evaluator<'a, W> {
        Evaluator {
            engine: &self.engine,
            world,
            old: &self.old,
            stored: self.stored.as_ref(),
            twice: self.twice,
            live: self.live,
            shows_secrets: self.shows_secrets,
            keeps_whole: false,
        }
    }

    /// Whether the objects are those of a cluster.
    pub(super) const fn is_live(&self) -> bool {
        self.live
    }

    /// Whether there is a cluster that gives policies and is not asked for what they want to know.
    pub(super) const fn has_unasked_cluster(&self) -> bool {
        self.cluster.is_some() && self.stored.is_none() && !self.live
    }

    /// The namespaces that the manifests name and the cluster does not have.
    pub(super) fn absent_namespaces(&self) -> Vec<Text> {
        self.stored.as_ref().map(|stored| stored.lacks().namespaces).unwrap_or_default()
    }

    /// What takes the result. That of live objects is printed as it comes: nothing that is still to be read can
    /// make it void.
    pub(super) fn spool(&self, reporter: &Reporter) -> Spool {
        if self.live && reporter.exit() < Exit::Input { Spool::passing() } else { Spool::new() }
    }

    /// The kinds that the rules can match.
    pub(super) fn kind_selectors(&self) -> Vec<KindSelector> {
        kind_selectors(self.engine.policies().policies().iter().flat_map(|policy| &policy.rules))
    }

    /// The same rule by rule, without those that autogen made of others.
    pub(super) fn written_kind_selectors(&self) -> Vec<Vec<KindSelector>> {
        let rules = self.engine.policies().policies().iter().flat_map(|policy| &policy.rules);
        let written = rules.filter(|rule| rule.generated_from.is_none());
        written.map(|rule| kind_selectors(iter::once(rule))).collect()
    }

    /// The world of manifests: what the inputs tell of it, and the cluster where it may be asked.
    pub(super) fn world(&self, options: &RunOptions, manifests: &Manifests) -> RunWorld {
        let cluster = self.cluster.clone().filter(|_| options.uses_cluster_state());
        let rehearsal = cluster.as_ref().and_then(|cluster| cluster.rehearsal());
        let rehearsal = rehearsal.map(|cluster| self.world_on(options, manifests, Some(cluster)));
        self.world_on(options, manifests, cluster).with_rehearsal(rehearsal)
    }

    fn world_on(
        &self,
        options: &RunOptions,
        manifests: &Manifests,
        cluster: Option<Arc<dyn Cluster>>,
    ) -> RunWorld {
        let given = self.offline_world(options, manifests);
        let rights = match (&options.cluster.check_rights, &options.cluster.connection.impersonation.user) {
            (Some(subject), _) => Some(Rights::of(Subject::named(subject))),
            (None, Some(user)) => Some(Rights::own(user)),
            (None, None) => None,
        };
        ClusterWorld::new(given, cluster, self.engine.asks_for_namespace_labels())
            .with_secrets_shown(self.shows_secrets)
            .with_all_namespaces(options.cluster.all_namespaces)
            .with_most_targets(self.engine.settings().limits.targets)
            .with_rights(rights)
    }

    /// Says what the cluster did not tell though it was asked, and which stored objects were given in vain.
    pub(super) fn tell_faults(&self, world: &RunWorld, reporter: &mut Reporter) {
        for old in self.old.unfound() {
            reporter.note(
                NoteKind::Omission,
                &format!("--old: {old} is the stored state of no object of this run"),
            );
        }
        let mut faults = Vec::new();
        for Missed { what, why, is_told } in
            world.take_missed().into_iter().chain(self.stored.iter().flat_map(StoredObjects::take_missed))
        {
            reporter.missed(&what);
            if is_told {
                reporter.worsen(Exit::of(&why.into()));
            } else {
                faults.push(why);
            }
        }
        // Threads come in any order.
        faults.sort_by_cached_key(ToString::to_string);
        faults.dedup();
        let more = faults.len().saturating_sub(TOLD);
        for error in faults.into_iter().take(TOLD) {
            reporter.fault(&error.into());
        }
        if more > 0 {
            reporter.error(
                Exit::Cluster,
                &format!("and {more} more of the kind: the evaluation went on without"),
            );
        }
        self.schemaless.tell(reporter);
        self.tell_lacks(reporter);
        if let Some(subject) = self.check_rights.as_ref().filter(|_| !world.has_asked_for_rights()) {
            let text = if self.engine.has_targets() {
                format!("no target came into question: nothing was asked about the rights of {subject}")
            } else {
                format!("no rule has targets: nothing was asked about the rights of {subject}")
            };
            reporter.note(NoteKind::Omission, &text);
        }
        for remark in self.cluster.iter().flat_map(|cluster| cluster.remarks()) {
            reporter.note(NoteKind::Other, &remark);
        }
    }

    /// Says what of the manifests' surroundings the cluster does not have, and what follows.
    fn tell_lacks(&self, reporter: &mut Reporter) {
        let MissingInCluster { kinds, defined, namespaces } =
            self.stored.as_ref().map(StoredObjects::lacks).unwrap_or_default();
        if !kinds.is_empty() {
            let text = format!(
                "the cluster serves no {}: such objects are evaluated as new ones, and of custom kinds --crds alone \
                 tells how their lists merge",
                listed(kinds.into_iter())
            );
            reporter.note(NoteKind::Omission, &text);
        }
        let is_given = |group: &Text, kind: &Text| {
            self.kinds.iter().any(|known| known.group == *group && known.kind == *kind)
        };
        let defined: Vec<String> = defined
            .into_iter()
            .filter(|(group, kind, _)| !is_given(group, kind))
            .map(|(_, _, told)| told)
            .collect();
        if !defined.is_empty() {
            let text = format!(
                "the manifests define {}: where lists of such objects are to merge by their keys, --crds takes the \
                 definition, too",
                listed(defined.into_iter())
            );
            reporter.note(NoteKind::Other, &text);
        }
        for text in self.in_other_versions() {
            reporter.note(NoteKind::Omission, &text);
        }
        if !namespaces.is_empty() {
            let text = format!(
                "the cluster has no namespace {}: what is in it is evaluated as new, and the namespace as one \
                 without labels unless --values gives them",
                listed(namespaces.iter().map(|name| harmless_name(name)))
            );
            reporter.note(NoteKind::Omission, &text);
        }
    }

    /// What is said of rules that name kinds of manifests in other versions.
    fn in_other_versions(&self) -> BTreeSet<String> {
        let stored = self.stored.as_ref().zip(self.cluster.as_ref());
        let Some((stored, Ok(served))) = stored.map(|(stored, cluster)| (stored, cluster.resources())) else {
            return BTreeSet::new();
        };
        let rules = self.written_kind_selectors();
        let told = |selector: &KindSelector, resource: &Resource| {
            let GroupVersionKind { kind, .. } = &resource.kind;
            let version = resource.kind.api_version();
            format!("{} in a rule sees none of the manifests of {kind} ({version})", selector.text)
        };
        // One kind may be there in several versions.
        let kinds = stored.kinds();
        kinds
            .iter()
            .flat_map(|kind| in_other_versions(&rules, slice::from_ref(kind), &served, told))
            .collect()
    }

    /// What policies may ask the API server for and nobody gave: the manifests answer it, as with Kyverno's
    /// command line.
    fn asked<'a>(&'a self, options: &'a RunOptions) -> Asked<'a> {
        let rules = self.engine.policies().policies().iter().flat_map(|policy| &policy.rules);
        let paths: Vec<String> = rules.flat_map(|rule| rule.asked_paths(Asked::VARIABLE)).collect();
        self.objects.asked(&paths, options.namespace_or_default(), &self.kinds)
    }

    /// The world as far as the inputs tell of it.
    fn offline_world(&self, options: &RunOptions, manifests: &Manifests) -> OfflineWorld {
        let mut world = OfflineWorld::new(self.now, options.seed);
        world.add_kinds(&self.kinds);
        let mut objects = self.objects.clone();
        let asked = self.asked(options);
        // A cluster knows better than a part of what is going to be in it.
        if !asked.plurals().is_empty() && !options.uses_cluster_state() {
            objects.add_manifests(&asked, manifests.asked(&asked));
        }
        world.set_objects(objects);
        if self.engine.asks_for_namespace_labels() {
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

fn settings(
    options: &RunOptions,
    schemas: Schemas,
    values: LoadedValues,
    user: Option<UserInfo>,
) -> Settings {
    let mut values = values.values;
    values.set.extend(options.set.iter().cloned());
    Settings {
        semantics: options.dialect.semantics,
        schemas,
        values,
        user,
        operation: options.operation,
        namespace: options.namespace_or_default().into(),
        limits: options.evaluation_limits,
        on_policy_update: options.on_policy_update,
        ..Settings::default()
    }
}

/// Says what is wrong with names given by `--set`; whether anything is.
fn repeated_names(options: &RunOptions, reporter: &mut Reporter) -> bool {
    let mut repeated = false;
    for (index, (name, _)) in options.set.iter().enumerate() {
        if options.set.iter().take(index).any(|(earlier, _)| earlier == name) {
            repeated = true;
            let name: Vec<_> = name.parts().iter().map(|part| &**part).collect();
            reporter.error(Exit::Input, &format!("--set gives {} twice", name.join(".")));
        }
    }
    repeated
}

/// The merge keys of lists, of the kinds that Kubernetes has and of these. What is wrong is said.
pub(super) fn schemas(kinds: &[CustomKind], reporter: &mut Reporter) -> Option<Schemas> {
    let mut schemas = Schemas::kubernetes();
    let mut failed = false;
    for kind in kinds {
        if let Err(error) = schemas.add_crd(&kind.definition) {
            failed = true;
            reporter.error(Exit::Input, &format!("{}: {error}", kind.origin));
        }
    }
    (!failed).then_some(schemas)
}

/// Loads what an argument names, if it is given. What is wrong is said; `None` if anything is.
fn given<T>(
    path: Option<&PathBuf>,
    reporter: &mut Reporter,
    load: impl FnOnce(&Location) -> Result<T, Vec<SourceError>>,
) -> Option<Option<T>> {
    let Some(path) = path else { return Some(None) };
    let location = if path.as_os_str() == "-" {
        Location::Stdin
    } else {
        Location::File { path: path.clone(), named: true }
    };
    said(load(&location), reporter).map(Some)
}

/// Says what is wrong.
pub(super) fn said<T>(loaded: Result<T, Vec<SourceError>>, reporter: &mut Reporter) -> Option<T> {
    match loaded {
        Ok(loaded) => Some(loaded),
        Err(errors) => {
            for error in errors {
                reporter.error(Exit::of(&error), &error.to_string());
            }
            None
        }
    }
}

/// A number of things in words.
pub(super) fn counted(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}
