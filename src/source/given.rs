//! Objects that context entries are answered from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::{KindScope, Lookup, LookupError, builtin_scope};
use crate::value::{ObjectRef, Text, Value};
use crate::yaml::{Document, Limits};

use super::crds::documents_in;
use super::label_query::LabelQuery;
use super::text::read_documents;
use super::{SourceError, Walk, expand};

/// What a cluster holds, as far as files tell of it; answers what the API server would.
#[derive(Clone, Debug, Default)]
pub struct GivenObjects(Option<Arc<Objects>>);

/// Objects by their resource, then by namespace (empty for none) and name.
#[derive(Debug, Default)]
struct Objects {
    resources: BTreeMap<Resource, BTreeMap<(Text, Text), Value>>,
}

/// Group, version and the plural of the kind in small letters.
type Resource = (String, String, String);

impl GivenObjects {
    /// No objects at all.
    pub const NONE: Self = Self(None);

    /// Reads the objects of files, folders and globs. Objects of namespaced kinds that name no namespace
    /// live in the given one.
    ///
    /// # Errors
    ///
    /// What cannot be read, documents that are no objects, and objects that stand twice.
    pub fn load(arguments: &[PathBuf], namespace: &str, limits: &Limits) -> Result<Self, Vec<SourceError>> {
        let mut objects = Objects::default();
        let mut faults = Vec::new();
        for argument in arguments {
            match expand(argument, Walk::Flat) {
                Err(error) => faults.push(error),
                Ok(locations) => {
                    for location in locations {
                        match read_documents(&location, limits) {
                            Ok(documents) => {
                                documents.iter().for_each(|one| objects.add(one, namespace, &mut faults));
                            }
                            Err(errors) => faults.extend(errors),
                        }
                    }
                }
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(if arguments.is_empty() { Self::NONE } else { Self(Some(Arc::new(objects))) })
    }

    /// Answers a context entry.
    ///
    /// # Errors
    ///
    /// See [`LookupError`]. An object is known not to be there where others of its kind are given.
    pub fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        let objects = self.0.as_ref().ok_or(LookupError::NotGiven)?;
        match lookup {
            Lookup::ConfigMap { namespace, name } => {
                let resource = (String::new(), "v1".to_owned(), "configmaps".to_owned());
                objects.one(&resource, namespace, name)
            }
            Lookup::Api(path) => objects.get(path),
            Lookup::Global(_) | Lookup::Image(_) => Err(LookupError::NotGiven),
        }
    }
}

impl Objects {
    fn add(&mut self, document: &Document, namespace: &str, faults: &mut Vec<SourceError>) {
        for (pointer, value) in documents_in(document) {
            let Some(object) = ObjectRef::of(&value) else {
                faults.push(SourceError::at(document, &pointer, "an object needs apiVersion and kind"));
                continue;
            };
            let resource =
                (object.kind.group.to_string(), object.kind.version.to_string(), plural(&object.kind.kind));
            let scoped = builtin_scope(&object.kind) == KindScope::Cluster;
            let namespace = match object.namespace {
                _ if scoped => Text::default(),
                Some(own) => own,
                None => namespace.into(),
            };
            let objects = self.resources.entry(resource).or_default();
            if objects.insert((namespace, object.name), value).is_some() {
                faults.push(SourceError::at(document, &pointer, "an object with this name stands twice"));
            }
        }
    }

    /// What a GET of a path gives.
    fn get(&self, path: &str) -> Result<Value, LookupError> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<String> =
            path.split('/').filter(|part| !part.is_empty()).map(percent_decoded).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Err(LookupError::NotGiven),
        };
        let resource = |plural: &str| (group.to_owned(), version.to_owned(), plural.to_owned());
        match rest {
            ["namespaces", namespace, plural] => self.list(&resource(plural), Some(namespace), query),
            ["namespaces", namespace, plural, name] => self.one(&resource(plural), namespace, name),
            [plural] => self.list(&resource(plural), None, query),
            [plural, name] => self.one(&resource(plural), "", name),
            _ => Err(LookupError::NotGiven),
        }
    }

    fn one(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Value, LookupError> {
        let objects = self.resources.get(resource).ok_or(LookupError::NotGiven)?;
        objects.get(&(namespace.into(), name.into())).cloned().ok_or(LookupError::NotFound)
    }

    fn list(&self, resource: &Resource, namespace: Option<&str>, query: &str) -> Result<Value, LookupError> {
        let objects = self.resources.get(resource).ok_or(LookupError::NotGiven)?;
        let mut selector = None;
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match name {
                "labelSelector" => {
                    let parsed = LabelQuery::parse(&percent_decoded(&value.replace('+', " ")));
                    selector = Some(parsed.map_err(LookupError::Unanswerable)?);
                }
                // They change how much is sent at once, and how long it takes.
                "limit" | "resourceVersion" | "resourceVersionMatch" | "timeoutSeconds" | "pretty" => {}
                other => {
                    let message = format!("the query parameter {other} is not evaluated");
                    return Err(LookupError::Unanswerable(message));
                }
            }
        }
        let is_wanted = |place: &Text, object: &Value| {
            namespace.is_none_or(|namespace| namespace == &**place)
                && selector.as_ref().is_none_or(|selector| selector.selects(object))
        };
        let found = objects.iter().filter(|((place, _), object)| is_wanted(place, object));
        let items: Vec<Value> = found.map(|(_, object)| object.clone()).collect();
        let first = objects.values().next();
        let kind = first.and_then(|object| object.get("kind")).and_then(Value::as_str).unwrap_or_default();
        let api_version = first.and_then(|object| object.get("apiVersion")).cloned().unwrap_or_default();
        Ok(Value::from_iter([
            ("apiVersion", api_version),
            ("kind", Value::from(format!("{kind}List"))),
            ("metadata", Value::empty_object()),
            ("items", Value::array(items)),
        ]))
    }
}

/// A text without its `%` escapes; what is no escape stays.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(rest.get(..at).unwrap_or_default().as_bytes());
        let code = rest.get(at + 1..at + 3).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let (byte, end) = match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => (byte, at + 3),
            None => (b'%', at + 1),
        };
        bytes.push(byte);
        rest = rest.get(end..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The plural of a kind as the paths of the API server write it.
fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    let before_last = kind.chars().rev().nth(1);
    if kind == "endpoints" {
        kind
    } else if ["s", "x", "z", "ch", "sh"].iter().any(|end| kind.ends_with(end)) {
        format!("{kind}es")
    } else if let Some(stem) = kind.strip_suffix('y')
        && !before_last.is_some_and(|c| "aeiou".contains(c))
    {
        format!("{stem}ies")
    } else {
        format!("{kind}s")
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
        GivenObjects::load(&[file.path().to_owned()], "default", &Limits::default()).unwrap()
    }

    fn names(path: &str) -> Result<Vec<String>, LookupError> {
        let found = given().lookup(&Lookup::Api(path))?;
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
        let field = names("/api/v1/configmaps?fieldSelector=metadata.name%3Da");
        assert!(matches!(field, Err(LookupError::Unanswerable(_))));
        assert_eq!(GivenObjects::NONE.lookup(&Lookup::Api("/api/v1/namespaces")), Err(LookupError::NotGiven));
    }

    #[test]
    fn plurals_follow_the_names_of_kubernetes() {
        for (kind, expected) in [
            ("Pod", "pods"),
            ("Ingress", "ingresses"),
            ("NetworkPolicy", "networkpolicies"),
            ("Endpoints", "endpoints"),
            ("Gateway", "gateways"),
            ("IngressClass", "ingressclasses"),
        ] {
            assert_eq!(plural(kind), expected);
        }
    }
}
