//! Answers as values, and back.

use std::sync::Arc;

use crate::resources::{ApiResource, Resources, Subresource, UnavailableVersion};
use crate::source::cluster::{ClusterError, Page};
use crate::value::{GroupVersionKind, Text, Value};

fn text(value: &Value, name: &str) -> Option<Text> {
    value.get(name).and_then(Value::as_text).cloned()
}

fn is(value: &Value, name: &str) -> bool {
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

/// The kinds that are served.
pub(super) fn of_kinds(served: &Resources) -> Value {
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
            ("subresources", Value::array(resource.subresources.iter().map(of_subresource).collect())),
        ])
    });
    let unknown = served.unavailable().iter().map(|unknown| {
        record([
            ("group", Value::String(unknown.group.clone())),
            ("version", Value::String(unknown.version.clone())),
            ("why", unknown.why.as_str().into()),
        ])
    });
    record([("kinds", Value::array(kinds.collect())), ("unknown", Value::array(unknown.collect()))])
}

fn of_subresource(subresource: &Subresource) -> Value {
    record([
        ("name", Value::String(subresource.name.clone())),
        ("apiVersion", subresource.kind.api_version().into()),
        ("kind", Value::String(subresource.kind.kind.clone())),
    ])
}

fn subresource(told: &Value) -> Option<Subresource> {
    let kind = GroupVersionKind::new(&text(told, "apiVersion")?, &text(told, "kind")?);
    Some(Subresource { name: text(told, "name")?, kind })
}

/// The kinds that are served; `None` if the value does not tell them.
pub(super) fn kinds(value: &Value) -> Option<Arc<Resources>> {
    let names = |told: &Value, name| items(told, name).iter().filter_map(Value::as_text).cloned().collect();
    let kinds = value.get("kinds")?.as_array()?.iter().map(|told| {
        Some(ApiResource {
            kind: GroupVersionKind::new(&text(told, "apiVersion")?, &text(told, "kind")?),
            plural: text(told, "plural")?,
            singular: text(told, "singular")?,
            short_names: names(told, "shortNames"),
            is_namespaced: is(told, "namespaced"),
            is_listed: is(told, "listed"),
            categories: names(told, "categories"),
            subresources: items(told, "subresources").iter().map(subresource).collect::<Option<_>>()?,
        })
    });
    let unknown = items(value, "unknown").iter().map(|told| {
        let why = text(told, "why")?.to_string();
        Some(UnavailableVersion { group: text(told, "group")?, version: text(told, "version")?, why })
    });
    let (kinds, unknown) = (kinds.collect::<Option<_>>()?, unknown.collect::<Option<_>>()?);
    Some(Arc::new(Resources::new(kinds, unknown)))
}

/// A page, whose next one has this number.
pub(super) fn of_page(page: &Page, next: usize) -> Value {
    let mut value = record([("objects", Value::array(page.objects.clone()))]);
    if page.next.is_some() {
        value.insert("next", next.to_string().into());
    }
    if page.is_inconsistent {
        value.insert("inconsistent", true.into());
    }
    value
}

/// A page; `None` if the value is none.
pub(super) fn page(value: &Value) -> Option<Page> {
    let objects = value.get("objects")?.as_array()?.to_vec();
    Some(Page { objects, next: text(value, "next"), is_inconsistent: is(value, "inconsistent") })
}

/// Why there is no answer.
pub(super) fn of_error(error: &ClusterError) -> Value {
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
        ClusterError::Malformed { asked, fault } => ("Malformed", vec![asked, fault]),
        ClusterError::UnknownType(name) => ("UnknownType", vec![name]),
        ClusterError::NotListed(name) => ("NotListed", vec![name]),
        ClusterError::UnknownKinds(name, why) => ("UnknownKinds", vec![name, why]),
        ClusterError::NoDryRun(name) => ("NoDryRun", vec![name]),
        ClusterError::NotRecorded(asked) => ("NotRecorded", vec![asked]),
        ClusterError::NotWritten(why) => ("NotWritten", vec![why]),
        ClusterError::Interrupted => ("Interrupted", vec![]),
    };
    let details = details.into_iter().map(Value::from).collect();
    record([("is", name.into()), ("details", Value::array(details))])
}

/// Why there is no answer; `None` if the value does not tell.
pub(super) fn error(value: &Value) -> Option<ClusterError> {
    let details: Vec<&str> = items(value, "details").iter().filter_map(Value::as_str).collect();
    Some(match (value.get("is")?.as_str()?, &*details) {
        ("Config", [why]) => ClusterError::Config((*why).to_owned()),
        ("UnknownContext", [name]) => ClusterError::UnknownContext((*name).to_owned()),
        ("UnreadableFile", [why]) => ClusterError::UnreadableFile((*why).to_owned()),
        ("Credentials", [why]) => ClusterError::Credentials((*why).to_owned()),
        ("UnknownCluster", [name]) => ClusterError::UnknownCluster((*name).to_owned()),
        ("UnknownUser", [name]) => ClusterError::UnknownUser((*name).to_owned()),
        ("NamesOfCategory", []) => ClusterError::NamesOfCategory,
        ("Unauthorized", []) => ClusterError::Unauthorized,
        ("Refused", [reason, message]) => {
            ClusterError::Refused { reason: (*reason).to_owned(), message: (*message).to_owned() }
        }
        ("ConnectionRefused", [server]) => ClusterError::ConnectionRefused((*server).to_owned()),
        ("Unreachable", [why]) => ClusterError::Unreachable((*why).to_owned()),
        ("Malformed", [asked, fault]) => {
            ClusterError::Malformed { asked: (*asked).to_owned(), fault: (*fault).to_owned() }
        }
        ("UnknownType", [name]) => ClusterError::UnknownType((*name).to_owned()),
        ("NotListed", [name]) => ClusterError::NotListed((*name).to_owned()),
        ("NoDryRun", [name]) => ClusterError::NoDryRun((*name).to_owned()),
        ("UnknownKinds", [name, why]) => ClusterError::UnknownKinds((*name).to_owned(), (*why).to_owned()),
        _ => return None,
    })
}
