//! What context entries are loaded from without a cluster: objects, global context entries, images, responses to calls.

mod documents;
mod field_query;
mod global_entry;
mod label_query;
mod mocks;
mod objects;
mod request;
mod requested;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::admission::Admission;
use crate::engine::{LookupError, LookupSource, image_name};
use crate::resources::{ApiResource, GroupVersionResource};
use crate::value::{ObjectRef, Pointer, Text, Value};
use crate::yaml::{Document, Limits, Source};

use super::text::{documents_of, read_files};
use super::{CustomKind, SourceError, Walk};

use documents::Reader;
use global_entry::GlobalEntry;
use objects::{Defaults, Objects};
use request::Request;

pub(in crate::source) use global_entry::EntrySource;
pub use requested::RequestedResources;

/// The objects of a cluster, as far as files contain them. They stand in for the API server.
#[derive(Clone, Debug, Default)]
pub struct ContextObjects {
    /// The files for context entries.
    files: Option<Arc<Files>>,
    /// Objects among the manifests, used for resources of which the files have no object.
    manifests: Option<Arc<Objects>>,
}

#[derive(Debug, Default)]
struct Files {
    objects: Objects,
    global_entries: BTreeMap<Text, GlobalEntry>,
    /// Elements of `spec.images` of a `Context`, by [`image_key`].
    images: BTreeMap<Text, Value>,
    /// Responses of a test suite, by method (empty for any) and address.
    responses: BTreeMap<(Text, Text), Response>,
}

/// A response to a call.
#[derive(Debug)]
struct Response {
    status: i64,
    body: Value,
}

/// The full name of an image, so that all references to it have the same.
fn image_key(reference: &str) -> Text {
    image_name(reference).map_or_else(|| reference.into(), Text::from)
}

impl Files {
    fn mock(&self, method: &str, url: &str) -> Option<&Response> {
        let of = |method: &str| self.responses.get(&(method.into(), url.into()));
        of(method).or_else(|| of(""))
    }

    /// The response to a call. As in Kyverno one without success is a failure, and no default replaces it.
    fn response(&self, method: &str, url: &str) -> Option<Result<Value, LookupError>> {
        let Response { status, body } = self.mock(method, url)?;
        Some(match status {
            200..300 => Ok(body.clone()),
            _ => Err(LookupError::Unanswerable(format!("HTTP {status} from apiCallResponses"))),
        })
    }
}

impl ContextObjects {
    /// No objects at all.
    pub const NONE: Self = Self { files: None, manifests: None };

    /// The resources of these API paths and of the global context entries, without those of which the files have objects.
    /// Paths contain [`RequestedResources::VARIABLE`] for what is not known yet.
    pub fn requested<'k>(
        &self,
        paths: &[String],
        namespace: &'k str,
        kinds: &'k [CustomKind],
        admission: Option<&'k Admission>,
    ) -> RequestedResources<'k> {
        let of_path = |path: &str| Request::parse(path).map(|request| request.resource);
        let mut resources: BTreeSet<_> = paths.iter().filter_map(|path| of_path(path)).collect();
        for entry in self.files.iter().flat_map(|files| files.global_entries.values()) {
            match &entry.source {
                EntrySource::Resource { resource, .. } => drop(resources.insert(resource.clone())),
                EntrySource::Call(path) => resources.extend(of_path(path)),
                EntrySource::Data(_) | EntrySource::Unsupported(_) => {}
            }
        }
        resources.retain(|resource| !self.files.as_ref().is_some_and(|files| files.objects.knows(resource)));
        RequestedResources::new(resources, Defaults { namespace, kinds, admission })
    }

    /// Adds the requested objects among the manifests.
    pub fn add_manifests(&mut self, requested: &RequestedResources<'_>, manifests: Vec<Value>) {
        let mut objects = Objects::default();
        for value in manifests {
            if let Some(object) = ObjectRef::of(&value) {
                // A cluster would end up with the last one of a name.
                objects.add(&object, value, &requested.defaults);
            }
        }
        self.manifests = Some(Arc::new(objects));
    }

    /// Looks up what a context entry needs.
    ///
    /// # Errors
    ///
    /// See [`LookupError`]. An object is [`LookupError::NotFound`] only where there are others of its resource.
    pub fn lookup(&self, source: LookupSource<'_>) -> Result<Value, LookupError> {
        if let LookupSource::Api(path) = source {
            let response = self.files.as_ref().and_then(|files| files.response("GET", path));
            return response.unwrap_or_else(|| self.get(path));
        }
        let files = self.files.as_ref().ok_or(LookupError::NotGiven)?;
        let entry = |name| files.global_entries.get(name).ok_or(LookupError::NotGiven);
        match source {
            LookupSource::ConfigMap { namespace, name } => {
                files.objects.one(&ApiResource::config_maps().version_resource(), Some(namespace), name)
            }
            LookupSource::Global(name) => match &entry(name)?.source {
                EntrySource::Resource { resource, namespace } => {
                    self.objects(resource)?.all(resource, namespace)
                }
                EntrySource::Call(path) => self.get(path),
                EntrySource::Data(data) => data.clone(),
                EntrySource::Unsupported(what) => {
                    Err(LookupError::Unanswerable(format!("{what} are never sent")))
                }
            },
            LookupSource::GlobalEntry(name) => Ok(entry(name)?.spec.clone()),
            LookupSource::Image(reference) => {
                files.images.get(&image_key(reference)).cloned().ok_or(LookupError::NotGiven)
            }
            LookupSource::Call { method, url } => {
                let method = if method.is_empty() { "GET" } else { method };
                files.response(method, url).unwrap_or(Err(LookupError::NotGiven))
            }
            LookupSource::Http { method, url } => {
                let Response { status, body } = files.mock(method, url).ok_or(LookupError::NotGiven)?;
                Ok(Value::from_iter([("body", body.clone()), ("statusCode", Value::from(*status))]))
            }
            LookupSource::Api(_) => Err(LookupError::NotGiven),
        }
    }

    fn get(&self, path: &str) -> Result<Value, LookupError> {
        let request = Request::parse(path).ok_or(LookupError::NotGiven)?;
        self.objects(&request.resource)?.get(&request)
    }

    /// The objects that are used for a resource.
    fn objects(&self, resource: &GroupVersionResource) -> Result<&Objects, LookupError> {
        let files = self.files.as_ref().map(|files| &files.objects);
        let mut all = files.into_iter().chain(self.manifests.as_deref());
        all.find(|objects| objects.knows(resource)).ok_or(LookupError::NotGiven)
    }
}

/// Reads files for context entries.
#[derive(Debug)]
pub struct ContextObjectLoader<'k> {
    files: Files,
    defaults: Defaults<'k>,
    limits: Limits,
    errors: Vec<SourceError>,
    /// Whether anything was read.
    is_used: bool,
    ignores_definitions: bool,
}

impl<'k> ContextObjectLoader<'k> {
    /// A loader that puts objects without a namespace into this one, if their kind is namespaced.
    pub fn new(namespace: &'k str, kinds: &'k [CustomKind], limits: Limits) -> Self {
        let (files, defaults) = (Files::default(), Defaults { namespace, kinds, admission: None });
        Self { files, defaults, limits, errors: Vec::new(), is_used: false, ignores_definitions: false }
    }

    /// Reads the objects of a file, a folder or a glob, among them Kyverno's `Context`, `ClusterResource`
    /// and `GlobalContextEntry`.
    pub fn path(&mut self, path: &Path) {
        for document in self.documents(path) {
            self.reader(&document).anything(&Pointer::ROOT);
        }
    }

    /// Reads the objects of a text.
    pub fn text(&mut self, source: &Arc<Source>) {
        match documents_of(source, &self.limits) {
            Ok(documents) => {
                documents.iter().for_each(|document| self.reader(document).anything(&Pointer::ROOT));
            }
            Err(errors) => self.errors.extend(errors),
        }
    }

    /// Gives objects the defaults that an API server sets.
    pub const fn admitted(mut self, admission: Option<&'k Admission>) -> Self {
        self.defaults.admission = admission;
        self
    }

    /// Allows `ClusterResource` documents to name files of definitions, which are not read here.
    #[must_use]
    pub const fn ignoring_definitions(mut self) -> Self {
        self.ignores_definitions = true;
        self
    }

    /// Reads the images of `Context` documents.
    pub fn images(&mut self, path: &Path) {
        for document in self.documents(path) {
            self.reader(&document).images();
        }
    }

    /// Adds an object inside another document.
    pub fn node(&mut self, document: &Document, at: &Pointer) {
        self.reader(document).anything(at);
    }

    /// Adds `apiCallResponses` of a test suite.
    pub fn responses(&mut self, document: &Document) {
        self.reader(document).responses();
    }

    /// Adds `globalContextEntries` of a test suite. Files are relative to a folder; `search` evaluates expressions.
    pub fn global_entries(
        &mut self,
        document: &Document,
        folder: &Path,
        search: &dyn Fn(&str, &Value) -> Result<Value, LookupError>,
    ) {
        let limits = self.limits;
        self.reader(document).global_entries(folder, search, &limits);
    }

    /// Adds an object.
    pub fn object(&mut self, value: &Value) {
        if let Some(object) = ObjectRef::of(value) {
            self.is_used = true;
            self.files.objects.add(&object, value.clone(), &self.defaults);
        }
    }

    /// What was read.
    ///
    /// # Errors
    ///
    /// Files that cannot be read, documents that are no objects, unknown fields and wrong types in Kyverno's own
    /// documents, and repeated objects.
    pub fn finish(self) -> Result<ContextObjects, Vec<SourceError>> {
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        Ok(ContextObjects { files: self.is_used.then(|| Arc::new(self.files)), manifests: None })
    }

    fn documents(&mut self, path: &Path) -> Vec<Document> {
        let mut found = Vec::new();
        for file in read_files(path, Walk::Flat, &self.limits) {
            match file {
                Ok((_, documents)) => found.extend(documents),
                Err(errors) => self.errors.extend(errors),
            }
        }
        found
    }

    fn reader<'a>(&'a mut self, document: &'a Document) -> Reader<'a>
    where
        'k: 'a,
    {
        self.is_used = true;
        Reader {
            files: &mut self.files,
            defaults: self.defaults,
            document,
            errors: &mut self.errors,
            ignores_definitions: self.ignores_definitions,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const OBJECTS: &str = "
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {tier: gold}}, data: {k: v}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: prod, labels: {tier: gold}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: prod}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: prod, labels: {x: z}}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: np, namespace: prod}}
";

    fn context_objects() -> ContextObjects {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(OBJECTS.as_bytes()).unwrap();
        let mut loader = ContextObjectLoader::new("default", &[], Limits::default());
        loader.path(file.path());
        loader.finish().unwrap()
    }

    fn names(path: &str) -> Result<Vec<String>, LookupError> {
        let found = context_objects().lookup(LookupSource::Api(path))?;
        let name = |object: &Value| object.path(&["metadata", "name"]).unwrap().as_str().unwrap().to_owned();
        Ok(match found.get("items") {
            Some(items) => items.as_array().unwrap().iter().map(name).collect(),
            None => vec![name(&found)],
        })
    }

    #[test]
    fn paths_of_the_api_server_are_looked_up() {
        for (path, expected) in [
            ("/api/v1/configmaps", &["a", "b", "c"][..]),
            ("/api/v1/namespaces/prod/configmaps", &["b", "c"]),
            ("/api/v1/namespaces/prod/configmaps/b", &["b"]),
            ("/api/v1/configmaps?labelSelector=tier%3Dgold&limit=5", &["a", "b"]),
            ("/api/v1/namespaces/prod/configmaps?labelSelector=!tier", &["c"]),
            ("/api/v1/configmaps?fieldSelector=metadata.name%3Da", &["a"]),
            ("/api/v1/configmaps?limit=1", &["a"]),
            ("/api/v1/namespaces/prod/configmaps/b/status", &["b"]),
            ("/api/v1/namespaces/prod/status", &["prod"]),
            ("/api/v1/namespaces/none/configmaps", &[]),
            ("/api/v1/namespaces", &["prod"]),
            ("/api/v1/namespaces/prod", &["prod"]),
            ("/apis/networking.k8s.io/v1/namespaces/prod/networkpolicies", &["np"]),
        ] {
            assert_eq!(names(path).unwrap(), expected, "{path}");
        }
    }

    #[test]
    fn an_unknown_resource_differs_from_a_missing_object() {
        assert_eq!(names("/api/v1/namespaces/prod/configmaps/x"), Err(LookupError::NotFound));
        for path in
            ["/api/v1/secrets", "/api/v2/configmaps", "/version", "", "/api/v1/namespaces/prod/pods/a/log"]
        {
            assert_eq!(names(path), Err(LookupError::NotGiven), "{path}");
        }
        let field = names("/api/v1/configmaps?fieldSelector=data.k%3Dv");
        assert!(matches!(field, Err(LookupError::Unanswerable(_))));
        assert_eq!(
            ContextObjects::NONE.lookup(LookupSource::Api("/api/v1/namespaces")),
            Err(LookupError::NotGiven)
        );
    }
}
