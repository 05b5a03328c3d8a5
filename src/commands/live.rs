//! Runs on live objects.

use std::sync::Arc;
use std::vec;

use indexmap::IndexSet;
use rayon::current_num_threads;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::diagnostics::Code;
use crate::pattern;
use crate::policy::KindSelector;
use crate::render::{listed, printable_line};
use crate::resources::{ApiResource, Resources, UnavailableVersion};
use crate::source::cluster::{
    Cluster, ClusterError, ListedObject, ObjectArguments, PageBatch, Pages, Selection, lacks, serves,
};
use crate::source::{Content, InputBatch, InputDocument, Manifests, SourceError};
use crate::value::Value;

use super::driver::Presentation;
use super::exit::Exit;
use super::manifests::add_targets;
use super::options::RunOptions;
use super::pipeline::CHUNK_BYTES;
use super::progress::KindProgress;
use super::reporter::Reporter;
use super::session::Session;
use super::summary::RunSummary;
use super::versions::in_other_versions;

/// Evaluates live objects page by page and prints the result. All errors are reported; `None` if
/// nothing was evaluated.
pub(super) fn run(
    options: &RunOptions,
    session: Option<&Session>,
    presentation: &Presentation<'_>,
    reporter: &mut Reporter,
) -> Option<RunSummary> {
    let (session, cluster, selections) = selected(options, session, reporter)?;
    let mut manifests = Manifests::new(options.input_limits);
    if !add_targets(options, session, &mut manifests, reporter) {
        return None;
    }
    let world = session.world(options, &manifests);
    let kinds = Arc::new(KindProgress::new(selections.len()));
    reporter.count_kinds(Arc::clone(&kinds));
    let pages = Pages::start(Arc::clone(cluster), selections.clone(), options.cluster.chunk_size);
    let mut inconsistent = Vec::new();
    let chunks = Reading::new(pages, &selections, &kinds, &mut inconsistent);
    let summary = presentation.run(session, &world, chunks, reporter);
    note_inconsistent(inconsistent, reporter);
    if summary.tally.objects == 0 && reporter.exit() < Exit::Cluster {
        report_no_objects(&selections, &**cluster, reporter);
    }
    Some(summary)
}

/// Reads the live objects of the options. All errors are reported; `None` if there are none because of them.
pub(super) fn objects(
    options: &RunOptions,
    session: &Session,
    reporter: &mut Reporter,
) -> Option<Vec<Value>> {
    let (_, cluster, selections) = selected(options, Some(session), reporter)?;
    let kinds = KindProgress::new(selections.len());
    let pages = Pages::start(Arc::clone(cluster), selections.clone(), options.cluster.chunk_size);
    let mut inconsistent = Vec::new();
    let mut objects = Vec::new();
    let mut errors = Vec::new();
    for batch in Reading::new(pages, &selections, &kinds, &mut inconsistent) {
        for document in batch.documents() {
            match document {
                Ok(document) => objects.extend(document.value().cloned()),
                Err(error) => errors.push(error),
            }
        }
    }
    reporter.unread_files(&errors);
    note_inconsistent(inconsistent, reporter);
    if objects.is_empty() && errors.is_empty() {
        report_no_objects(&selections, &**cluster, reporter);
    }
    (errors.is_empty() || !objects.is_empty()).then_some(objects)
}

/// What the options select in the cluster of a session. Errors are reported; `None` if there are any. With refused
/// policies the cluster is not read.
fn selected<'s>(
    options: &RunOptions,
    session: Option<&'s Session>,
    reporter: &mut Reporter,
) -> Option<(&'s Session, &'s Arc<dyn Cluster>, Vec<Selection>)> {
    let arguments = object_arguments(options, reporter)?;
    let session = session?;
    let cluster = session.cluster.as_ref()?;
    let selections = if arguments.types.is_empty() {
        fitting(&arguments, &**cluster, session, reporter)?
    } else {
        named(&arguments, &**cluster, session, reporter)?
    };
    Some((session, cluster, selections))
}

fn note_inconsistent(names: Vec<String>, reporter: &mut Reporter) {
    for name in names {
        reporter.omission(Code::Inconsistent, format_args!(
            "{name}: the list expired while it was read; objects that were created, changed or deleted meanwhile may be missing or outdated"
        ));
    }
}

/// How many objects of a batch there are for each thread: results need many times the memory of the objects, and all
/// threads wait for the last one.
const BATCH_OBJECTS_PER_THREAD: usize = 32;

/// The pages of a cluster as batches, with the progress of each selection.
struct Reading<'a> {
    pages: Pages,
    /// The rest of the last page.
    page: vec::IntoIter<ListedObject>,
    /// The kind of its objects.
    name: String,
    batch_objects: usize,
    selections: &'a [Selection],
    kinds: &'a KindProgress,
    inconsistent: &'a mut Vec<String>,
    /// The selections that were read to their end, or whose error was reported.
    done: Vec<bool>,
    begun: Vec<bool>,
    /// Why the pages ended early.
    cause: Option<ClusterError>,
}

impl<'a> Reading<'a> {
    fn new(
        pages: Pages,
        selections: &'a [Selection],
        kinds: &'a KindProgress,
        inconsistent: &'a mut Vec<String>,
    ) -> Self {
        let none = vec![false; selections.len()];
        let (page, batch_objects) =
            (Vec::new().into_iter(), BATCH_OBJECTS_PER_THREAD * current_num_threads());
        let (done, begun) = (none.clone(), none);
        let name = String::new();
        Self { pages, page, name, batch_objects, selections, kinds, inconsistent, done, begun, cause: None }
    }

    /// The next objects of the page.
    fn batch(&mut self) -> Option<InputBatch> {
        let mut bytes = 0;
        let mut objects = Vec::new();
        while objects.len() < self.batch_objects && bytes < CHUNK_BYTES {
            let Some(object) = self.page.next() else { break };
            bytes += object.weight();
            objects.push(object);
        }
        let document = |object: ListedObject| match object.read() {
            Ok(object) => {
                Ok(InputDocument { input: 0, content: Content::Object(object), file: None, further: false })
            }
            Err(cause) => Err(SourceError::Unread { what: vec![self.name.clone()], in_part: true, cause }),
        };
        (!objects.is_empty()).then(|| InputBatch::Documents(objects.into_par_iter().map(document).collect()))
    }

    /// Starts with a page; returns its error, if it has one.
    fn start_page(&mut self, batch: PageBatch) -> Option<SourceError> {
        let PageBatch { selection: index, objects, absent, is_last, is_inconsistent } = batch;
        let selection = self.selections.get(index)?;
        let name = selection.resource.full_name();
        if is_inconsistent {
            self.inconsistent.push(name.clone());
        }
        if is_last {
            self.done[index] = true;
            self.kinds.advance();
        }
        let in_part = std::mem::replace(&mut self.begun[index], true);
        match objects {
            Ok(objects) => {
                self.page = objects.into_iter();
                self.name = name;
                None
            }
            Err(cause) if cause.is_not_found() && !selection.names.is_empty() => {
                let what = absent.map_or(name, |object| selection.object_name(&object));
                Some(SourceError::Absent { what, cause })
            }
            Err(cause) => {
                self.cause = Some(cause.clone());
                self.done[index] = true;
                Some(SourceError::Unread { what: vec![name], in_part, cause })
            }
        }
    }

    /// The error for the selections that were not read after the server had failed.
    fn rest(&mut self) -> Option<SourceError> {
        let unread = self.selections.iter().zip(&self.done).filter(|(_, is_done)| !**is_done);
        let mut what: Vec<String> = unread.map(|(selection, _)| selection.resource.full_name()).collect();
        what.dedup();
        let cause = self.cause.take().filter(|_| !what.is_empty())?;
        Some(SourceError::Unread { what, in_part: false, cause })
    }
}

impl Iterator for Reading<'_> {
    type Item = InputBatch;

    fn next(&mut self) -> Option<InputBatch> {
        loop {
            if let Some(chunk) = self.batch() {
                return Some(chunk);
            }
            let error = match self.pages.next() {
                Some(batch) => self.start_page(batch),
                None => return self.rest().map(|error| InputBatch::Documents(vec![Err(error)])),
            };
            if let Some(error) = error {
                return Some(InputBatch::Documents(vec![Err(error)]));
            }
        }
    }
}

/// The arguments in kubectl's grammar.
fn object_arguments(options: &RunOptions, reporter: &mut Reporter) -> Option<ObjectArguments> {
    // The session has reported a path among them.
    if options.path_argument().is_some() {
        return None;
    }
    let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let arguments = ObjectArguments {
        namespace: filled(&options.namespace),
        all_namespaces: options.cluster.all_namespaces,
        labels: filled(&options.cluster.label_selector),
        fields: filled(&options.cluster.field_selector),
        types: Vec::new(),
    };
    arguments.parse(&options.cluster.resources).map_err(|error| reporter.coded(Exit::Input, &error)).ok()
}

/// The selections of the named kinds. Kinds that the cluster does not serve are reported.
fn named(
    arguments: &ObjectArguments,
    cluster: &dyn Cluster,
    session: &Session,
    reporter: &mut Reporter,
) -> Option<Vec<Selection>> {
    let resolved = reporter.ok(arguments.resolve(cluster, &session.kind_selectors()))?;
    let mut selections = Vec::with_capacity(resolved.len());
    let resolved = resolved.into_iter();
    let unknown: Vec<_> =
        resolved.filter_map(|found| found.map(|found| selections.push(found)).err()).collect();
    if !unknown.is_empty() {
        // Their API may be down.
        for down in unknown_kinds(cluster) {
            reporter.source_error(&unread(&down));
        }
    }
    for cause in unknown {
        let name = match &cause {
            ClusterError::UnknownType(name) | ClusterError::NotListed(name) => name.clone(),
            _ => continue,
        };
        reporter.source_error(&SourceError::Unread { what: vec![name], in_part: false, cause });
    }
    if let Ok(served) = cluster.resources() {
        note_unread_versions(&session.written_kind_selectors(), &selections, &served, reporter);
    }
    Some(selections)
}

/// The kinds that the policies can match.
fn fitting(
    arguments: &ObjectArguments,
    cluster: &dyn Cluster,
    session: &Session,
    reporter: &mut Reporter,
) -> Option<Vec<Selection>> {
    let selectors = &session.kind_selectors();
    let fitting = reporter.ok(arguments.fitting(selectors, cluster))?;
    let served = reporter.ok(cluster.resources())?;
    for down in unknown_kinds(cluster) {
        let may_match = |selector: &&KindSelector| {
            pattern::matches(&selector.group, &down.group)
                && (&*selector.group != "*" || selector.only_kind().is_none() || !serves(&served, selector))
        };
        if selectors.iter().any(|selector| may_match(&selector)) {
            reporter.source_error(&unread(&down));
        } else {
            reporter.note(Code::KindsUnknown, unread(&down));
        }
    }
    if !fitting.outside.is_empty() {
        let names: Vec<String> = fitting.outside.iter().map(|outside| outside.resource.full_name()).collect();
        reporter.note(
            Code::LeftOut,
            format_args!(
                "these belong to no namespace and are left out, -A reads them: {}",
                names.join(", ")
            ),
        );
    }
    let has_unserved =
        note_unread_kinds(&session.written_kind_selectors(), &fitting.selections, &served, reporter);
    if fitting.selections.is_empty() && !has_unserved {
        reporter.omission(Code::NotInCluster, "the cluster has no kind that the policies can match");
    }
    Some(fitting.selections)
}

/// Notes kinds of rules that are not served or not read; returns whether some are not served.
fn note_unread_kinds(
    rules: &[Vec<KindSelector>],
    selections: &[Selection],
    served: &Resources,
    reporter: &mut Reporter,
) -> bool {
    let is_down = |selector: &KindSelector| {
        served.unavailable().iter().any(|down| pattern::matches(&selector.group, &down.group))
    };
    let mut unserved = IndexSet::new();
    for (rule, selector) in rules.iter().flat_map(|rule| rule.iter().map(move |selector| (rule, selector))) {
        if lacks(served, selector, rule) && !is_down(selector) {
            unserved.insert(selector.text.to_string());
        }
    }
    let is_any = !unserved.is_empty();
    if is_any {
        let names = listed(unserved.into_iter());
        reporter.omission(
            Code::NotInCluster,
            format_args!("rules name kinds that the cluster does not serve: {names}"),
        );
    }
    note_unread_versions(rules, selections, served, reporter);
    is_any
}

/// Notes rules for other versions than that in which a kind is read.
fn note_unread_versions(
    rules: &[Vec<KindSelector>],
    selections: &[Selection],
    served: &Resources,
    reporter: &mut Reporter,
) {
    let read: Vec<ApiResource> = selections.iter().map(|selection| selection.resource.clone()).collect();
    let notes = in_other_versions(rules, &read, served, |selector, resource| {
        let (name, version) = (resource.full_name(), resource.kind.api_version());
        format!("{name} are read once, as {version}: {} in a rule sees none of them", selector.text)
    });
    notes.iter().for_each(|note| reporter.omission(Code::OtherVersion, note));
}

/// The APIs whose discovery failed.
fn unknown_kinds(cluster: &dyn Cluster) -> Vec<UnavailableVersion> {
    cluster.resources().map(|served| served.unavailable().to_vec()).unwrap_or_default()
}

fn unread(down: &UnavailableVersion) -> SourceError {
    let name = format!("{}/{}", down.group, down.version);
    let cause = ClusterError::UnknownKinds(name.clone(), down.why.clone());
    SourceError::Unread { what: vec![name], in_part: false, cause }
}

/// Notes that no object was found, and names a namespace that does not exist.
fn report_no_objects(selections: &[Selection], cluster: &dyn Cluster, reporter: &mut Reporter) {
    let mut namespaces: Vec<&str> =
        selections.iter().filter_map(|selection| selection.namespace.as_deref()).collect();
    namespaces.dedup();
    let [namespace] = *namespaces else { return reporter.note(Code::NoResources, "no resources found") };
    let found = cluster.get(ApiResource::namespaces(), None, namespace);
    if found.is_err_and(|error| error.is_not_found()) {
        let name = printable_line(namespace);
        reporter.omission(Code::NotInCluster, format_args!("the cluster has no namespace {name}"));
    } else {
        reporter.note(Code::NoResources, format_args!("no resources found in namespace {namespace}"));
    }
}
