//! Responses as JSON values, and back.

use std::sync::Arc;

use crate::resources::{ApiResource, Resources, Subresource, UnavailableVersion};
use crate::source::cluster::{ClusterError, Page};
use crate::value::{GroupVersionKind, Text, Value};

fn text(value: &Value, name: &str) -> Option<Text> {
    value.get(name).and_then(Value::as_text).cloned()
}

fn is_true(value: &Value, name: &str) -> bool {
    matches!(value.get(name), Some(Value::Bool(true)))
}

fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).unwrap_or_default()
}

fn record(members: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    members.into_iter().collect()
}

fn texts(all: &[Text]) -> Value {
    Value::array(all.iter().cloned().map(Value::String).collect())
}

/// Serializes the resources that are served.
pub(super) fn from_resources(served: &Resources) -> Value {
    let kinds = served.iter().map(|resource| {
        record([
            ("apiVersion", resource.kind.api_version().into()),
            ("kind", Value::String(resource.kind.kind.clone())),
            ("plural", Value::String(resource.plural.clone())),
            ("singular", Value::String(resource.singular.clone())),
            ("shortNames", texts(&resource.short_names)),
            ("namespaced", resource.is_namespaced.into()),
            ("listed", resource.is_listed.into()),
            ("categories", texts(&resource.categories)),
            ("subresources", Value::array(resource.subresources.iter().map(from_subresource).collect())),
        ])
    });
    let unavailable = served.unavailable().iter().map(|version| {
        record([
            ("group", Value::String(version.group.clone())),
            ("version", Value::String(version.version.clone())),
            ("why", version.why.as_str().into()),
        ])
    });
    record([("kinds", Value::array(kinds.collect())), ("unknown", Value::array(unavailable.collect()))])
}

fn from_subresource(subresource: &Subresource) -> Value {
    record([
        ("name", Value::String(subresource.name.clone())),
        ("apiVersion", subresource.kind.api_version().into()),
        ("kind", Value::String(subresource.kind.kind.clone())),
    ])
}

fn subresource(listed: &Value) -> Option<Subresource> {
    let kind = GroupVersionKind::new(&text(listed, "apiVersion")?, &text(listed, "kind")?);
    Some(Subresource { name: text(listed, "name")?, kind })
}

/// Parses the resources that are served.
pub(super) fn resources(value: &Value) -> Option<Arc<Resources>> {
    let names =
        |listed: &Value, name| items(listed, name).iter().filter_map(Value::as_text).cloned().collect();
    let kinds = value.get("kinds")?.as_array()?.iter().map(|listed| {
        Some(ApiResource {
            kind: GroupVersionKind::new(&text(listed, "apiVersion")?, &text(listed, "kind")?),
            plural: text(listed, "plural")?,
            singular: text(listed, "singular")?,
            short_names: names(listed, "shortNames"),
            is_namespaced: is_true(listed, "namespaced"),
            is_listed: is_true(listed, "listed"),
            categories: names(listed, "categories"),
            subresources: items(listed, "subresources").iter().map(subresource).collect::<Option<_>>()?,
        })
    });
    let unavailable = items(value, "unknown").iter().map(|listed| {
        let why = text(listed, "why")?.to_string();
        Some(UnavailableVersion { group: text(listed, "group")?, version: text(listed, "version")?, why })
    });
    Some(Arc::new(Resources::new(kinds.collect::<Option<_>>()?, unavailable.collect::<Option<_>>()?)))
}

/// Serializes a page; the next one has this number.
pub(super) fn from_page(page: &Page, next: usize) -> Value {
    let mut value = record([("objects", Value::array(page.objects.clone()))]);
    if page.next.is_some() {
        value.insert("next", next.to_string().into());
    }
    if page.is_inconsistent {
        value.insert("inconsistent", true.into());
    }
    value
}

/// Parses a page.
pub(super) fn page(value: &Value) -> Option<Page> {
    let objects = value.get("objects")?.as_array()?.to_vec();
    Some(Page { objects, next: text(value, "next"), is_inconsistent: is_true(value, "inconsistent") })
}

/// Serializes an error.
pub(super) fn from_error(error: &ClusterError) -> Value {
    let (name, details): (_, Vec<&str>) = match error {
        ClusterError::Config(why) => ("Config", vec![why]),
        ClusterError::UnknownContext(name) => ("UnknownContext", vec![name]),
        ClusterError::UnreadableFile(why) => ("UnreadableFile", vec![why]),
        ClusterError::Credentials(why) => ("Credentials", vec![why]),
        ClusterError::UnknownCluster(name) => ("UnknownCluster", vec![name]),
        ClusterError::UnknownUser(name) => ("UnknownUser", vec![name]),
        ClusterError::NamesOfCategory => ("NamesOfCategory", vec![]),
        ClusterError::Unauthorized => ("Unauthorized", vec![]),
        ClusterError::Refused { reason, message } => ("Refused", vec![reason, message]),
        ClusterError::ConnectionRefused(server) => ("ConnectionRefused", vec![server]),
        ClusterError::Unreachable(why) => ("Unreachable", vec![why]),
        ClusterError::Malformed { asked, cause } => ("Malformed", vec![asked, cause]),
        ClusterError::UnknownType(name) => ("UnknownType", vec![name]),
        ClusterError::NotListed(name) => ("NotListed", vec![name]),
        ClusterError::UnknownKinds(name, why) => ("UnknownKinds", vec![name, why]),
        ClusterError::NotRecorded(asked) => ("NotRecorded", vec![asked]),
        ClusterError::NotWritten(why) => ("NotWritten", vec![why]),
        ClusterError::Interrupted => ("Interrupted", vec![]),
    };
    let details = details.into_iter().map(Value::from).collect();
    record([("is", name.into()), ("details", Value::array(details))])
}

/// Parses an error.
pub(super) fn error(value: &Value) -> Option<ClusterError> {
    let details: Vec<String> =
        items(value, "details").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let name = value.get("is")?.as_str()?;
    let mut details = details.into_iter();
    let error = match (name, details.next(), details.next()) {
        ("NamesOfCategory", None, _) => ClusterError::NamesOfCategory,
        ("Unauthorized", None, _) => ClusterError::Unauthorized,
        ("Config", Some(why), None) => ClusterError::Config(why),
        ("UnknownContext", Some(name), None) => ClusterError::UnknownContext(name),
        ("UnreadableFile", Some(why), None) => ClusterError::UnreadableFile(why),
        ("Credentials", Some(why), None) => ClusterError::Credentials(why),
        ("UnknownCluster", Some(name), None) => ClusterError::UnknownCluster(name),
        ("UnknownUser", Some(name), None) => ClusterError::UnknownUser(name),
        ("ConnectionRefused", Some(server), None) => ClusterError::ConnectionRefused(server),
        ("Unreachable", Some(why), None) => ClusterError::Unreachable(why),
        ("UnknownType", Some(name), None) => ClusterError::UnknownType(name),
        ("NotListed", Some(name), None) => ClusterError::NotListed(name),
        ("Refused", Some(reason), Some(message)) => ClusterError::Refused { reason, message },
        ("Malformed", Some(asked), Some(cause)) => ClusterError::Malformed { asked, cause },
        ("UnknownKinds", Some(name), Some(why)) => ClusterError::UnknownKinds(name, why),
        _ => return None,
    };
    details.next().is_none().then_some(error)
}
