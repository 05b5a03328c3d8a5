//! Markers of Helm templates in manifests, which were not rendered.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use regex::Regex;

use crate::resources::Resources;
use crate::value::{GroupVersionKind, Pointer, Value};
use crate::yaml::Document;

use super::Place;

static BRACES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("{{"));

/// Values that only Helm has, and calls of named templates.
static MARKER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"\{\{-?\s*(?:[^{}]*[\s(])?(?:\.(?:Values|Release|Chart|Capabilities)\.|(?:include|template)\s+\\?")"#,
    )
    .expect("the expression is constant and valid")
});

/// The first string of a manifest with a marker of a Helm template.
///
/// Only built-in kinds are looked at, without the data of `ConfigMaps` and Secrets: others may hold templates that are meant.
pub fn helm_marker(document: &Document) -> Option<Place> {
    let body = document.body();
    if BRACES.find(body.as_bytes()).is_none() || !MARKER.is_match(body) {
        return None;
    }
    let value = document.value()?;
    let kind = GroupVersionKind::of(value)?;
    Resources::built_in().of_kind(&kind)?;
    let is_looked_at = |key: &str| !matches!(key, "data" | "stringData" | "binaryData");
    let members = value.as_object()?.iter().filter(|(key, _)| is_looked_at(key));
    let at =
        members.filter_map(|(key, member)| marked(member, &mut Pointer::ROOT.key(key.clone()))).next()?;
    Some(Place::of(document, &at))
}

/// The place of the first string with a marker.
fn marked(value: &Value, at: &mut Pointer) -> Option<Pointer> {
    match value {
        Value::String(text) => MARKER.is_match(text).then(|| at.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            at.push_index(index);
            let found = marked(item, at);
            at.pop();
            found
        }),
        Value::Object(members) => members.iter().find_map(|(key, member)| {
            at.push_key(key.clone());
            let found = if MARKER.is_match(key) { Some(at.clone()) } else { marked(member, at) };
            at.pop();
            found
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::yaml::{Limits, Source, read};

    use super::*;

    fn found(text: &str) -> Option<String> {
        let source = Arc::new(Source::new("a.yaml", text));
        let documents = read(&source, &Limits::default()).unwrap();
        helm_marker(&documents[0]).map(|place| place.to_string())
    }

    fn config_map(fields: &str) -> String {
        format!("apiVersion: v1\nkind: ConfigMap\n{fields}\n")
    }

    #[test]
    fn markers_are_found_where_no_template_is_meant() {
        for (fields, expected) in [
            ("metadata: {name: '{{ .Release.Name }}-a'}", Some("a.yaml:3:12")),
            ("metadata: {name: \"{{ include \\\"chart.name\\\" . }}\"}", Some("a.yaml:3:12")),
            ("metadata: {labels: {a: '{{- .Values.a | quote }}'}}", Some("a.yaml:3:21")),
            ("metadata: {labels: {a: '{{ default 1 .Values.a }}'}}", Some("a.yaml:3:21")),
            ("metadata: {annotations: {a: '{{ .Labels.x }} {{ $value }} {{ request.object.a }}'}}", None),
            ("data: {a: '{{ .Values.a }}'}", None),
            ("metadata: {name: a.Values.b}", None),
        ] {
            assert_eq!(found(&config_map(fields)).as_deref(), expected, "{fields}");
        }
        let custom =
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec: {a: '{{ .Values.a }}'}\n";
        assert_eq!(found(custom), None);
    }
}
