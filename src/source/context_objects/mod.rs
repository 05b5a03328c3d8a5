//! What context entries are answered from: objects, global context entries, images, answers to calls.

mod asked;
mod documents;
mod field_query;
mod globals;
mod images;
mod label_query;
mod mocks;
mod names;
mod objects;
mod request;
mod responses;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::engine::{LookupError, LookupSource};
use crate::value::{ObjectRef, Pointer, Value};
use crate::yaml::{Document, Limits, Source};

use super::text::{documents_of, read_documents};
use super::{CustomKind, SourceError, Walk, expand};

use documents::Reader;
use globals::Globals;
use images::Images;
use objects::{Objects, Places};
use request::{Request, Resource};
use responses::Responses;

pub use asked::Asked;
pub(in crate::source) use globals::Origin;

/// What a cluster holds, as far as files tell of it; answers what the API server would.
#[derive(Clone, Debug, Default)]
pub struct GivenObjects {
    /// What was given as what the cluster holds.
    given: Option<Arc<Given>>,
    /// Objects among the manifests; they answer where no object of their kind was given.
    manifests: Option<Arc<Objects>>,
}

/// What files give.
#[derive(Debug, Default)]
struct Given {
    objects: Objects,
    globals: Globals,
    images: Images,
    responses: Responses,
}

impl GivenObjects {
    /// No objects at all.
    pub const NONE: Self = Self { given: None, manifests: None };

    /// What of the manifests calls of these paths ask for: resources of which no object was given. In the
    /// paths stands [`Asked::VARIABLE`] for whatever is not known yet.
    pub fn asked<'k>(&self, paths: &[String], namespace: &'k str, kinds: &'k [CustomKind]) -> Asked<'k> {
        let globals = self.given.iter().flat_map(|given| given.globals.origins());
        let mut resources = BTreeSet::new();
        for origin in globals {
            match origin {
                Origin::Resource { resource, .. } => drop(resources.insert(resource.clone())),
                Origin::Call { path } => {
                    resources.extend(Request::parse(path).map(|request| request.resource));
                }
                Origin::Data(_) | Origin::Elsewhere(_) => {}
            }
        }
        resources
            .extend(paths.iter().filter_map(|path| Request::parse(path)).map(|request| request.resource));
        resources.retain(|resource| !self.given.as_ref().is_some_and(|given| given.objects.knows(resource)));
        Asked::new(resources, Places { namespace, kinds })
    }

    /// Lets objects among the manifests answer what they are asked for.
    pub fn add_manifests(&mut self, asked: &Asked<'_>, manifests: Vec<Value>) {
        let mut objects = Objects::default();
        for value in manifests {
            if let Some(object) = ObjectRef::of(&value) {
                // Of two with one name the last one is what a cluster would end with.
                objects.add(&object, value, &asked.places);
            }
        }
        self.manifests = Some(Arc::new(objects));
    }

    /// Answers a context entry.
    ///
    /// # Errors
    ///
    /// See [`LookupError`]. An object is known not to be there where others of its kind are given.
    pub fn lookup(&self, source: LookupSource<'_>) -> Result<Value, LookupError> {
        if let LookupSource::Api(path) = source {
            let response = self.given.as_ref().and_then(|given| given.responses.get("GET", path));
            return response.unwrap_or_else(|| self.get(path));
        }
        let given = self.given.as_ref().ok_or(LookupError::NotGiven)?;
        match source {
            LookupSource::ConfigMap { namespace, name } => {
                let resource = (String::new(), "v1".to_owned(), "configmaps".to_owned());
                given.objects.one(&resource, Some(namespace), name)
            }
            LookupSource::Global(name) => match given.globals.origin(name).ok_or(LookupError::NotGiven)? {
                Origin::Resource { resource, namespace } => {
                    self.objects(resource).ok_or(LookupError::NotGiven)?.all(resource, namespace)
                }
                Origin::Call { path } => self.get(path),
                Origin::Data(data) => data.clone().map_err(LookupError::Unanswerable),
                Origin::Elsewhere(what) => Err(LookupError::Unanswerable(format!("{what} are never sent"))),
            },
            LookupSource::GlobalEntry(name) => given.globals.spec(name).cloned().ok_or(LookupError::NotGiven),
            LookupSource::Image(reference) => given.images.get(reference),
            LookupSource::Call { method, url } => {
                let method = if method.is_empty() { "GET" } else { method };
                given.responses.get(method, url).unwrap_or(Err(LookupError::NotGiven))
            }
            LookupSource::Api(_) => Err(LookupError::NotGiven),
        }
    }

    /// What a GET of a path gives.
    fn get(&self, path: &str) -> Result<Value, LookupError> {
        let request = Request::parse(path).ok_or(LookupError::NotGiven)?;
        self.objects(&request.resource).ok_or(LookupError::NotGiven)?.get(&request)
    }

    /// The objects that answer for a resource.
    fn objects(&self, resource: &Resource) -> Option<&Objects> {
        let given = self.given.as_ref().map(|given| &given.objects);
        let all = given.into_iter().chain(self.manifests.as_deref());
        all.into_iter().find(|objects| objects.knows(resource))
    }
}

/// Reads what context entries are answered from.
#[derive(Debug)]
pub struct GivenLoader<'k> {
    given: Given,
    places: Places<'k>,
    limits: Limits,
    faults: Vec<SourceError>,
    found: bool,
    definitions_elsewhere: bool,
}

impl<'k> GivenLoader<'k> {
    /// Starts with nothing. Objects of namespaced kinds that name no namespace live in the given one.
    pub fn new(namespace: &'k str, kinds: &'k [CustomKind], limits: Limits) -> Self {
        let places = Places { namespace, kinds };
        Self {
            given: Given::default(),
            places,
            limits,
            faults: Vec::new(),
            found: false,
            definitions_elsewhere: false,
        }
    }

    /// Reads the objects of a file, a folder or a glob, among them Kyverno's `Context`, `ClusterResource`
    /// and `GlobalContextEntry`.
    pub fn path(&mut self, path: &Path) {
        for document in self.documents(path) {
            self.reader(&document).anything(&Pointer::ROOT);
        }
    }

    /// Reads the objects of a text, as [`Self::path`] those of a file.
    pub fn text(&mut self, source: &Arc<Source>) {
        match documents_of(source, &self.limits) {
            Ok(documents) => {
                documents.iter().for_each(|document| self.reader(document).anything(&Pointer::ROOT));
            }
            Err(errors) => self.faults.extend(errors),
        }
    }

    /// Lets `ClusterResource` documents name files of definitions: somebody else reads them.
    #[must_use]
    pub const fn with_definitions_elsewhere(mut self) -> Self {
        self.definitions_elsewhere = true;
        self
    }

    /// Reads the images of `Context` documents.
    pub fn images(&mut self, path: &Path) {
        for document in self.documents(path) {
            self.reader(&document).images();
        }
    }

    /// Takes an object that stands inside another document.
    pub fn node(&mut self, document: &Document, at: &Pointer) {
        self.reader(document).anything(at);
    }

    /// Takes the answers to calls that a test suite lists.
    pub fn responses(&mut self, document: &Document) {
        self.reader(document).responses();
    }

    /// Takes the global context entries that a test suite lists. Files stand relative to a folder; `search`
    /// evaluates expressions.
    pub fn global_values(
        &mut self,
        document: &Document,
        folder: &Path,
        search: &dyn Fn(&str, &Value) -> Result<Value, String>,
    ) {
        let limits = self.limits;
        self.reader(document).global_values(folder, search, &limits);
    }

    /// Takes an object.
    pub fn object(&mut self, value: &Value) {
        if let Some(object) = ObjectRef::of(value) {
            self.found = true;
            self.given.objects.add(&object, value.clone(), &self.places);
        }
    }

    /// What was read.
    ///
    /// # Errors
    ///
    /// What cannot be read, documents that are no objects, deviations from the form of Kyverno's own
    /// documents, and objects that stand twice.
    pub fn finish(self) -> Result<GivenObjects, Vec<SourceError>> {
        if !self.faults.is_empty() {
            return Err(self.faults);
        }
        Ok(GivenObjects { given: self.found.then(|| Arc::new(self.given)), manifests: None })
    }

    fn documents(&mut self, path: &Path) -> Vec<Document> {
        let locations = match expand(path, Walk::Flat) {
            Ok(locations) => locations,
            Err(error) => {
                self.faults.push(error);
                return Vec::new();
            }
        };
        let mut found = Vec::new();
        for location in locations {
            match read_documents(&location, &self.limits) {
                Ok(documents) => found.extend(documents),
                Err(errors) => self.faults.extend(errors),
            }
        }
        found
    }

    fn reader<'a>(&'a mut self, document: &'a Document) -> Reader<'a>
    where
        'k: 'a,
    {
        self.found = true;
        Reader {
            given: &mut self.given,
            places: self.places,
            document,
            faults: &mut self.faults,
            definitions_elsewhere: self.definitions_elsewhere,
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

    fn given() -> GivenObjects {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(OBJECTS.as_bytes()).unwrap();
        {
            let mut loader = GivenLoader::new("default", &[], Limits::default());
            loader.path(file.path());
            loader.finish().unwrap()
        }
    }

    fn names(path: &str) -> Result<Vec<String>, LookupError> {
        let found = given().lookup(LookupSource::Api(path))?;
        let name = |object: &Value| object.path(&["metadata", "name"]).unwrap().as_str().unwrap().to_owned();
        Ok(match found.get("items") {
            Some(items) => items.as_array().unwrap().iter().map(name).collect(),
            None => vec![name(&found)],
        })
    }

    #[test]
    fn paths_of_the_api_server_are_answered() {
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
    fn what_is_not_known_is_told_from_what_is_not_there() {
        assert_eq!(names("/api/v1/namespaces/prod/configmaps/x"), Err(LookupError::NotFound));
        for path in
            ["/api/v1/secrets", "/api/v2/configmaps", "/version", "", "/api/v1/namespaces/prod/pods/a/log"]
        {
            assert_eq!(names(path), Err(LookupError::NotGiven), "{path}");
        }
        let field = names("/api/v1/configmaps?fieldSelector=data.k%3Dv");
        assert!(matches!(field, Err(LookupError::Unanswerable(_))));
        assert_eq!(
            GivenObjects::NONE.lookup(LookupSource::Api("/api/v1/namespaces")),
            Err(LookupError::NotGiven)
        );
    }
}
