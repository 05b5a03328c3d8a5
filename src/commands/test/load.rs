//! The files that a test document names, loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostics::Code;
use crate::engine::{LookupError, Values, World as _};
use crate::jmespath::{Expression, FixedClock, Runtime, SeededRandom};
use crate::pattern::nearest;
use crate::policy::{CelExceptions, DocumentKind, Policy, PolicyExceptions, UserInfo, kind_of};
use crate::report::Verdict;
use crate::resources::KindScope;
use crate::semantics::{Dialect, DivergenceTracker};
use crate::source::{
    ContextObjectLoader, ContextObjects, CustomKind, ExceptionLoader, Head, LoadedPolicies, LoadedValues,
    Location, OfflineWorld, Place, PolicyLoader, PolicyTexts, PolicyWarning, Refused, SourceError,
    custom_kinds, items_of, load_user, load_values, read_all, read_file, read_text, values_inside,
};
use crate::suite::{Suite, UnreadableFile};
use crate::value::{ObjectRef, Pointer, Text, Value};
use crate::yaml::{Document, Limits, Source};

/// The content of a suite's files.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) suite: Suite,
    pub(super) policies: Vec<Policy>,
    /// Their texts.
    pub(super) texts: PolicyTexts,
    /// The nodes that they were loaded from.
    pub(super) nodes: PolicyNodes,
    /// Policies that do not run, with the reason.
    pub(super) skipped: BTreeMap<Text, (Verdict, String)>,
    pub(super) exceptions: PolicyExceptions,
    pub(super) cel_exceptions: CelExceptions,
    pub(super) objects: Vec<Value>,
    /// Objects that only rules with targets may change.
    pub(super) targets: Vec<Value>,
    pub(super) values: LoadedValues,
    pub(super) user: Option<UserInfo>,
    /// What context entries are loaded from.
    pub(super) context_objects: ContextObjects,
    /// The files with expected objects, by their names in the suite.
    pub(super) expected: BTreeMap<Text, Result<Vec<Expected>, UnreadableFile>>,
    pub(super) notes: Vec<String>,
    pub(super) warnings: Vec<PolicyWarning>,
}

/// The nodes that policies and bindings are loaded from.
#[derive(Debug, Default)]
pub(super) struct PolicyNodes(Vec<(Arc<Document>, Pointer, Value)>);

impl PolicyNodes {
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Arc<Document>, Pointer, Value)> {
        self.0.iter()
    }

    /// The policies, one of them changed; `None` if it cannot be loaded.
    pub(super) fn load_with(
        &self,
        changed: (usize, &Value),
        dialect: Dialect,
        limits: Limits,
    ) -> Option<Vec<Policy>> {
        let mut loader = PolicyLoader::new(dialect, limits);
        for (number, (document, at, value)) in self.0.iter().enumerate() {
            loader.node(document, at, if number == changed.0 { changed.1 } else { value });
        }
        loader.finish("").ok().map(|loaded| loaded.policies)
    }
}

/// The policies of a suite.
struct SuitePolicies {
    policies: Vec<Policy>,
    texts: PolicyTexts,
    nodes: PolicyNodes,
    /// Those that do not run, with the reason.
    skipped: BTreeMap<Text, (Verdict, String)>,
}

/// An expected object.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// The index of its document, not counting empty ones.
    pub(super) document: usize,
    /// The place in the document.
    pub(super) pointer: Pointer,
    pub(super) value: Value,
}

/// Loads the files of a suite. Paths are relative to the suite's folder.
pub(super) struct Loader<'a> {
    pub(super) folder: &'a Path,
    pub(super) dialect: Dialect,
    pub(super) limits: Limits,
    /// Knows which kinds have namespaces.
    pub(super) world: &'a OfflineWorld,
    pub(super) refused: Refused,
    pub(super) notes: Vec<String>,
    pub(super) warnings: Vec<PolicyWarning>,
}

impl Loader<'_> {
    pub(super) fn load(mut self, document: &Document, suite: Suite) -> Result<Loaded, Refused> {
        let SuitePolicies { policies, texts, nodes, skipped } = self.policies(&suite.policies);
        let (exceptions, cel_exceptions) = self.exceptions(&suite.exceptions, &policies, &skipped);
        let objects = self.objects(&suite.resources);
        let targets = self.objects(&suite.targets);
        let values = match (&suite.values, &suite.variables) {
            (Some(at), _) => self.collect(values_inside(document, at)),
            (None, Some(file)) => self.single(file, load_values),
            (None, None) => None,
        };
        let user = suite.userinfo.as_ref().and_then(|file| self.single(file, load_user));
        let context_objects = self.context_objects(document, &suite, &objects);
        let files = suite.results.iter().filter_map(|result| result.patched.clone());
        let mut expected = BTreeMap::new();
        for file in files {
            expected.entry(file).or_insert_with_key(|file| self.expected(file));
        }
        let mut values = values.unwrap_or_default();
        self.notes.append(&mut values.notes);
        if !suite.unused.is_empty() {
            self.notes.push(format!("not used by this version: {}", suite.unused.join(", ")));
        }
        self.notes.extend(unused_values(&values.values, &policies, &skipped, objects.iter().chain(&targets)));
        if !self.refused.errors.is_empty() {
            return Err(self.refused);
        }
        let (notes, mut warnings) = (self.notes, self.warnings);
        warnings.retain(|warning| user.is_none() || !warning.cause.depends_on_user());
        Ok(Loaded {
            suite,
            policies,
            texts,
            nodes,
            skipped,
            exceptions,
            cel_exceptions,
            objects,
            targets,
            values,
            user,
            context_objects,
            expected,
            notes,
            warnings,
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The only document of a file.
    fn single<T>(
        &mut self,
        name: &str,
        load: impl FnOnce(&Arc<Source>, Head, &Limits) -> Result<T, Vec<SourceError>>,
    ) -> Option<T> {
        let text = read_text(&Location::file(self.path(name)), &self.limits).map_err(|error| vec![error]);
        let loaded = text.and_then(|text| load(&text, Head::Any, &self.limits));
        self.collect(loaded)
    }

    fn collect<T>(&mut self, loaded: Result<T, Vec<SourceError>>) -> Option<T> {
        loaded.map_err(|errors| self.refused.errors.extend(errors)).ok()
    }

    /// The documents of a file or folder that a suite names.
    fn documents(&mut self, name: &str) -> Vec<Document> {
        if name.starts_with("https://") || name.starts_with("http://") {
            self.refused.errors.push(SourceError::Url { url: name.to_owned() });
            return Vec::new();
        }
        let read = read_all(&self.path(name), &self.limits);
        self.collect(read).unwrap_or_default()
    }

    fn policies(&mut self, names: &[Text]) -> SuitePolicies {
        let mut loader = PolicyLoader::new(self.dialect, self.limits);
        let mut skipped = BTreeMap::new();
        let mut nodes = PolicyNodes::default();
        for name in names {
            let mut found = 0;
            let errors = self.refused.errors.len();
            for document in self.documents(name).into_iter().map(Arc::new) {
                for (at, value) in items_of(&document) {
                    let title = value.path(&["metadata", "name"]).and_then(Value::as_text);
                    match kind_of(&value) {
                        // The loader reports a misspelt kind.
                        DocumentKind::Policy | DocumentKind::Binding | DocumentKind::Misspelt { .. } => {
                            loader.node(&document, &at, &value);
                            nodes.0.push((Arc::clone(&document), at, value));
                        }
                        DocumentKind::OtherPolicy(kind) => {
                            skip(title, &kind, Verdict::NotEvaluated, &mut skipped);
                        }
                        _ => {
                            let line = document.nearest_position(&at).line;
                            let file = document.source().name();
                            self.notes.push(format!("{file}:{line}: no policy, ignored"));
                            continue;
                        }
                    }
                    found += 1;
                }
            }
            if found == 0 && self.refused.errors.len() == errors {
                self.refused.errors.push(SourceError::no_policy(self.path(name).display().to_string()));
            }
        }
        let (policies, texts) = if nodes.0.is_empty() {
            Default::default()
        } else {
            match loader.finish("") {
                Ok(LoadedPolicies { policies, warnings, texts, .. }) => {
                    self.warnings.extend(warnings);
                    (policies, texts)
                }
                Err(refused) => {
                    self.refused.divergences.extend(refused.divergences);
                    self.refused.errors.extend(refused.errors);
                    Default::default()
                }
            }
        };
        let texts = PolicyTexts::new(&policies, texts, Vec::new());
        skipped.retain(|name, _| policies.iter().all(|policy| policy.meta().name != *name));
        SuitePolicies { policies, texts, nodes, skipped }
    }

    /// The exceptions from the policies.
    fn exceptions(
        &mut self,
        names: &[Text],
        policies: &[Policy],
        skipped: &BTreeMap<Text, (Verdict, String)>,
    ) -> (PolicyExceptions, CelExceptions) {
        let mut loader = ExceptionLoader::new(self.dialect.semantics, self.limits);
        for name in names {
            let documents = self.documents(name);
            let mut found = 0;
            for document in &documents {
                for (at, value) in items_of(document) {
                    found += usize::from(loader.node(document, &at, &value));
                }
            }
            if found == 0 && !documents.is_empty() {
                let path = self.path(name).display().to_string();
                self.refused.errors.push(SourceError::Empty { path, kind: "PolicyException" });
            }
        }
        let Some(loaded) = self.collect(loader.finish()) else {
            return Default::default();
        };
        // Policies that do not run have rows of their own.
        if skipped.is_empty() {
            self.notes.extend(loaded.misses(policies));
            self.notes.extend(loaded.left_out);
        }
        self.notes.extend(loaded.notes.into_iter().map(|(_, text)| text));
        (PolicyExceptions::new(loaded.exceptions), CelExceptions::new(loaded.cel))
    }

    /// The objects that context entries are loaded from. If the suite has cluster resources, the objects that the
    /// policies run on are there, too.
    fn context_objects(&mut self, document: &Document, suite: &Suite, objects: &[Value]) -> ContextObjects {
        let kinds = self.definitions(&suite.cluster_resources);
        let mut loader = ContextObjectLoader::new("default", &kinds, self.limits).ignoring_definitions();
        for name in suite.cluster_resources.iter().chain(&suite.context).chain(&suite.params) {
            loader.path(&self.folder.join(&**name));
        }
        if !suite.cluster_resources.is_empty() {
            objects.iter().for_each(|object| loader.object(object));
        }
        loader.responses(document);
        let tracker = DivergenceTracker::new(self.dialect.semantics);
        let clock = FixedClock(self.world.now());
        let random = SeededRandom::new(0);
        loader.global_entries(document, self.folder, &|path, data| {
            let expression =
                Expression::parse(path).map_err(|error| LookupError::Unanswerable(error.to_string()))?;
            expression
                .search(data, &Runtime::new(&clock, &random, &tracker))
                .map_err(|error| LookupError::Unanswerable(error.to_string()))
        });
        let loaded = loader.finish();
        self.collect(loaded).unwrap_or_default()
    }

    /// The custom resource definitions that `ClusterResource` documents name.
    fn definitions(&mut self, names: &[Text]) -> Vec<CustomKind> {
        let mut files = Vec::new();
        for name in names {
            let Ok(documents) = read_file(&self.path(name), &self.limits) else { continue };
            for document in &documents {
                let crds = document.value().and_then(|root| root.path(&["spec", "crds"])?.as_array());
                files.extend(
                    crds.unwrap_or_default().iter().filter_map(|file| Some(self.path(file.as_str()?))),
                );
            }
        }
        let kinds = custom_kinds(&files, &self.limits);
        self.collect(kinds).unwrap_or_default()
    }

    /// The objects that the policies run on. The first one of each identity counts.
    fn objects(&mut self, names: &[Text]) -> Vec<Value> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for name in names {
            for document in self.documents(name) {
                for (at, value) in items_of(&document) {
                    let Some(mut identity) = ObjectRef::of(&value) else {
                        let place = Place::of(&document, &at);
                        let message = "an object needs apiVersion and kind".to_owned();
                        self.refused.errors.push(SourceError::Document {
                            code: Code::NoObject,
                            place,
                            message,
                        });
                        continue;
                    };
                    if identity.namespace.is_none()
                        && self.world.resource(&identity.kind).scope != KindScope::Cluster
                    {
                        identity.namespace = Some("default".into());
                    }
                    if seen.contains(&identity) {
                        let line = document.nearest_position(&at).line;
                        let file = document.source().name();
                        self.notes.push(format!(
                            "{file}:{line}: {identity} is defined twice; the first one is used"
                        ));
                        continue;
                    }
                    seen.insert(identity);
                    found.push(value);
                }
            }
        }
        found
    }

    /// The objects of a file with expected objects.
    fn expected(&self, file: &str) -> Result<Vec<Expected>, UnreadableFile> {
        let documents = read_file(&self.path(file), &self.limits).map_err(|errors| {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            UnreadableFile { message: errors.join("\n"), is_missing: !self.path(file).exists() }
        })?;
        let objects = documents.iter().enumerate().flat_map(|(index, document)| {
            let items = items_of(document).into_iter();
            items.map(move |(pointer, value)| Expected { document: index, pointer, value })
        });
        Ok(objects.collect())
    }
}

/// Notes on values for policies, rules and objects that the suite does not have.
fn unused_values<'o>(
    values: &Values,
    policies: &[Policy],
    skipped: &BTreeMap<Text, (Verdict, String)>,
    objects: impl Iterator<Item = &'o Value>,
) -> Vec<String> {
    let mut notes = values.unknown_to(policies, skipped.keys());
    let names: BTreeSet<&str> =
        objects.filter_map(|object| object.path(&["metadata", "name"])?.as_str()).collect();
    for (policy, assigned) in &values.policies {
        let unmatched_names = assigned.resources.keys().filter(|name| !names.contains(&***name));
        notes.extend(unmatched_names.map(|name| {
            let meant = nearest(name, names.iter().copied());
            let meant = meant.map_or_else(String::new, |meant| format!(", did you mean `{meant}`?"));
            format!("the values of policy `{policy}` name an object `{name}` that does not exist{meant}")
        }));
    }
    notes
}

/// Keeps the verdict on all expectations of a policy that is not evaluated, unless it has no rules.
fn skip(
    title: Option<&Text>,
    kind: &Text,
    verdict: Verdict,
    skipped: &mut BTreeMap<Text, (Verdict, String)>,
) {
    if let Some(title) = title.filter(|_| runs_rules(kind)) {
        skipped.insert(title.clone(), (verdict, kind.to_string()));
    }
}

/// Whether policies of a kind have rules; bindings and exceptions have none.
fn runs_rules(kind: &str) -> bool {
    !kind.ends_with("Binding") && kind != "PolicyException"
}
