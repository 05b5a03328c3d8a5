//! Objects by resource, namespace and name.

use std::collections::BTreeMap;

use crate::admission::{Admission, is_stored};
use crate::engine::LookupError;
use crate::resources::{
    ApiResource, GroupVersionResource, KindScope, builtin_scope, is_built_into_kubernetes, plural,
};
use crate::source::CustomKind;
use crate::value::{GroupVersionKind, ObjectRef, Text, Value};

use super::request::Request;

/// Objects by their resource.
#[derive(Debug, Default)]
pub(super) struct Objects {
    resources: BTreeMap<GroupVersionResource, Members>,
}

/// The objects of a resource, by `NAMESPACE/NAME` or `NAME`, in the order of the API server.
#[derive(Debug)]
struct Members {
    kind: GroupVersionKind,
    objects: BTreeMap<String, Value>,
}

/// What is assumed about objects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults<'a> {
    /// The namespace of objects without one.
    pub(super) namespace: &'a str,
    /// Kinds besides the built-in ones.
    pub(super) kinds: &'a [CustomKind],
    /// The admission that sets their defaults; `None`: they stay as written.
    pub(super) admission: Option<&'a Admission>,
}

impl Defaults<'_> {
    fn custom(&self, kind: &GroupVersionKind) -> Option<&ApiResource> {
        self.kinds.iter().find(|custom| custom.defines(&kind.group, &kind.kind))?.versions.first()
    }

    fn scope(&self, kind: &GroupVersionKind) -> KindScope {
        self.custom(kind).map_or_else(|| builtin_scope(kind), ApiResource::scope)
    }

    /// The resource of a kind.
    pub(super) fn resource(&self, kind: &GroupVersionKind) -> GroupVersionResource {
        let plural = match self.custom(kind) {
            Some(custom) => custom.plural.clone(),
            None => (&*plural(&kind.group, &kind.kind)).into(),
        };
        GroupVersionResource { group: kind.group.clone(), version: kind.version.clone(), plural }
    }
}

impl Objects {
    /// Adds an object, in place of one of its name; false if there was one.
    pub(super) fn add(&mut self, object: &ObjectRef, mut value: Value, defaults: &Defaults<'_>) -> bool {
        let scope = defaults.scope(&object.kind);
        let namespace = match &object.namespace {
            _ if scope == KindScope::Cluster => Text::default(),
            Some(own) => own.clone(),
            None => {
                if scope == KindScope::Namespaced
                    && let Some(Value::Object(_)) = value.get("metadata")
                    && let Some(mut metadata) = value.remove("metadata")
                {
                    metadata.insert("namespace", defaults.namespace.into());
                    value.insert("metadata", metadata);
                }
                defaults.namespace.into()
            }
        };
        if let Some(admission) = defaults.admission.filter(|_| !is_stored(&value))
            && let Ok(view) = admission.view(&value, &object.kind)
        {
            value = view;
        }
        let key = if namespace.is_empty() {
            object.name.to_string()
        } else {
            format!("{namespace}/{}", object.name)
        };
        self.known(&object.kind, defaults).objects.insert(key, value).is_none()
    }

    /// Makes a resource known, even if it has no objects.
    pub(super) fn add_kind(&mut self, kind: &GroupVersionKind, defaults: &Defaults<'_>) {
        self.known(kind, defaults);
    }

    fn known(&mut self, kind: &GroupVersionKind, defaults: &Defaults<'_>) -> &mut Members {
        let members = || Members { kind: kind.clone(), objects: BTreeMap::new() };
        self.resources.entry(defaults.resource(kind)).or_insert_with(members)
    }

    /// Whether a resource is known.
    pub(super) fn knows(&self, resource: &GroupVersionResource) -> bool {
        self.resources.contains_key(resource)
    }

    /// The response to a GET.
    pub(super) fn get(&self, request: &Request) -> Result<Value, LookupError> {
        let Some(name) = &request.name else { return self.list(request) };
        match request.subresource.as_deref() {
            None | Some("status") => {}
            Some(other) => {
                let message = format!("the subresource {other} cannot be read from objects");
                return Err(LookupError::Unanswerable(message));
            }
        }
        self.one(&request.resource, request.namespace.as_deref(), name)
    }

    /// An object by its name.
    pub(super) fn one(
        &self,
        resource: &GroupVersionResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, LookupError> {
        let members = self.resources.get(resource).ok_or(LookupError::NotGiven)?;
        let found = match namespace {
            Some(namespace) => members.objects.get(&format!("{namespace}/{name}")),
            // An unknown kind may be cluster-scoped.
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

    /// The objects of a resource as a list of complete objects; an empty namespace means all.
    pub(super) fn all(&self, resource: &GroupVersionResource, namespace: &str) -> Result<Value, LookupError> {
        let members = self.resources.get(resource).ok_or(LookupError::NotGiven)?;
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        Ok(Value::array(members.within(namespace).map(|(_, object)| object.clone()).collect()))
    }

    fn list(&self, request: &Request) -> Result<Value, LookupError> {
        let members = self.resources.get(&request.resource).ok_or(LookupError::NotGiven)?;
        let filter = request.filter()?;
        let mut found = members.within(request.namespace.as_deref()).filter(|(_, object)| {
            filter.labels.as_ref().is_none_or(|labels| labels.selects(object))
                && filter.fields.as_ref().is_none_or(|fields| fields.selects(object))
        });
        let is_builtin = is_built_into_kubernetes(&members.kind.group);
        let items: Vec<Value> = found
            .by_ref()
            .take(filter.limit)
            .map(|(_, object)| {
                let mut object = object.clone();
                if is_builtin {
                    // The API server omits them in lists of its own kinds.
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
            if filter.labels.is_none() && filter.fields.is_none() {
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
