//! Objects by their places at the API server.

use std::collections::BTreeMap;

use crate::engine::LookupError;
use crate::resources::{ApiResource, KindScope, builtin_scope, is_built_into_kubernetes, plural};
use crate::source::CustomKind;
use crate::value::{GroupVersionKind, ObjectRef, Text, Value};

use super::request::{Request, Resource};

/// Objects by their resource.
#[derive(Debug, Default)]
pub(super) struct Objects {
    resources: BTreeMap<Resource, Members>,
}

/// The objects of a resource, by `NAMESPACE/NAME` or `NAME`, which is the order of the API server.
#[derive(Debug)]
struct Members {
    kind: GroupVersionKind,
    objects: BTreeMap<String, Value>,
}

/// Where objects live that do not say it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    /// The namespace of objects that name none.
    pub(super) namespace: &'a str,
    /// Kinds besides those of Kubernetes.
    pub(super) kinds: &'a [CustomKind],
}

impl Places<'_> {
    fn custom(&self, kind: &GroupVersionKind) -> Option<&ApiResource> {
        self.kinds.iter().find(|custom| custom.defines(&kind.group, &kind.kind))?.versions.first()
    }

    fn scope(&self, kind: &GroupVersionKind) -> KindScope {
        self.custom(kind).map_or_else(|| builtin_scope(kind), ApiResource::scope)
    }

    /// The resource that objects of a kind belong to.
    pub(super) fn resource(&self, kind: &GroupVersionKind) -> Resource {
        let plural = match self.custom(kind) {
            Some(custom) => custom.plural.to_string(),
            None => plural(&kind.group, &kind.kind).into_owned(),
        };
        (kind.group.to_string(), kind.version.to_string(), plural)
    }
}

impl Objects {
    /// Adds an object; false if one with its name is there.
    pub(super) fn add(&mut self, object: &ObjectRef, mut value: Value, places: &Places<'_>) -> bool {
        let scope = places.scope(&object.kind);
        let namespace = match &object.namespace {
            _ if scope == KindScope::Cluster => Text::default(),
            Some(own) => own.clone(),
            None => {
                if scope == KindScope::Namespaced
                    && let Some(Value::Object(_)) = value.get("metadata")
                    && let Some(mut metadata) = value.remove("metadata")
                {
                    metadata.insert("namespace", places.namespace.into());
                    value.insert("metadata", metadata);
                }
                places.namespace.into()
            }
        };
        let key = if namespace.is_empty() {
            object.name.to_string()
        } else {
            format!("{namespace}/{}", object.name)
        };
        self.known(&object.kind, places).objects.insert(key, value).is_none()
    }

    /// Makes it known which objects of a kind there are, even if there are none.
    pub(super) fn know(&mut self, kind: &GroupVersionKind, places: &Places<'_>) {
        self.known(kind, places);
    }

    fn known(&mut self, kind: &GroupVersionKind, places: &Places<'_>) -> &mut Members {
        let members = || Members { kind: kind.clone(), objects: BTreeMap::new() };
        self.resources.entry(places.resource(kind)).or_insert_with(members)
    }

    /// Whether anything is known of a resource.
    pub(super) fn knows(&self, resource: &Resource) -> bool {
        self.resources.contains_key(resource)
    }

    /// What a GET gives.
    pub(super) fn get(&self, request: &Request) -> Result<Value, LookupError> {
        let Some(name) = &request.name else { return self.list(request) };
        match request.subresource.as_deref() {
            None | Some("status") => {}
            Some(other) => {
                let message = format!("the subresource {other} cannot be told from given objects");
                return Err(LookupError::Unanswerable(message));
            }
        }
        self.one(&request.resource, request.namespace.as_deref(), name)
    }

    /// An object by its name.
    pub(super) fn one(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, LookupError> {
        let members = self.resources.get(resource).ok_or(LookupError::NotGiven)?;
        let found = match namespace {
            Some(namespace) => members.objects.get(&format!("{namespace}/{name}")),
            // A kind that nobody knows may belong to the cluster, too.
            None => members.objects.get(name).or_else(|| {
                let mut named = members.objects.iter().filter(|(key, object)| {
                    key.rsplit_once('/').is_some_and(|(_, last)| last == name)
                        && object.path(&["metadata", "namespace"]).is_none()
                });
                named.next().map(|(_, object)| object)
            }),
        };
        found.cloned().ok_or(LookupError::NotFound)
    }

    /// The objects of a resource, as a cache of them holds them.
    pub(super) fn all(&self, resource: &Resource, namespace: &str) -> Result<Value, LookupError> {
        let members = self.resources.get(resource).ok_or(LookupError::NotGiven)?;
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        Ok(Value::array(members.within(namespace).map(|(_, object)| object.clone()).collect()))
    }

    fn list(&self, request: &Request) -> Result<Value, LookupError> {
        let members = self.resources.get(&request.resource).ok_or(LookupError::NotGiven)?;
        let wanted = request.wanted()?;
        let mut found = members.within(request.namespace.as_deref()).filter(|(_, object)| {
            wanted.labels.as_ref().is_none_or(|labels| labels.selects(object))
                && wanted.fields.as_ref().is_none_or(|fields| fields.selects(object))
        });
        let is_builtin = is_built_into_kubernetes(&members.kind.group);
        let items: Vec<Value> = found
            .by_ref()
            .take(wanted.most)
            .map(|(_, object)| {
                let mut object = object.clone();
                if is_builtin {
                    // In lists of its own kinds the API server leaves them out.
                    object.remove("apiVersion");
                    object.remove("kind");
                }
                object
            })
            .collect();
        let mut metadata = Value::empty_object();
        let more = found.count();
        if more > 0 {
            metadata.insert("continue", "more".into());
            if wanted.labels.is_none() && wanted.fields.is_none() {
                metadata.insert("remainingItemCount", Value::from(i64::try_from(more).unwrap_or(i64::MAX)));
            }
        }
        Ok(Value::from_iter([
            ("apiVersion", Value::from(members.kind.api_version())),
            ("kind", Value::from(format!("{}List", members.kind.kind))),
            ("metadata", metadata),
            ("items", Value::array(items)),
        ]))
    }
}

impl Members {
    fn within(&self, namespace: Option<&str>) -> impl Iterator<Item = (&String, &Value)> {
        let prefix = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
        self.objects.range(prefix.clone()..).take_while(move |(key, _)| key.starts_with(&prefix))
    }
}
