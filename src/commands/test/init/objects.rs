//! Objects that a rule selects, and others that it does not, made from the rule itself.

use crate::pattern;
use crate::policy::{KindSelector, Rule};
use crate::resources::{ApiResource, Resources};
use crate::value::{GroupVersionKind, Map, Text, Value};

/// The kinds that are tried first for a pattern, and for objects that a rule does not select.
const USUAL_KINDS: [&str; 5] = ["Pod", "Deployment", "ConfigMap", "Service", "Namespace"];

/// The group and version of kinds that Kubernetes does not have.
const CUSTOM_GROUP: &str = "example.com/v1";

const IMAGE: &str = "registry.example/app:1.0";

/// Objects that a rule may change, the most fitting first.
pub(super) fn matching(rule: &Rule, name: &str) -> Vec<Value> {
    let filter = filter(&rule.raw);
    let selectors = rule.matching.kind_selectors().unwrap_or_default();
    let Some(kind) = selectors.iter().find_map(|selector| kind_of(selector)) else { return Vec::new() };
    let plain = fitted(template(&kind, name), &filter);
    let mut anchored = plain.clone();
    let overlay = rule.raw.path(&["mutate", "patchStrategicMerge"]);
    if let Some(overlay) = overlay {
        fulfil(overlay, &mut anchored);
    }
    let mut conditioned = anchored.clone();
    if let Some(conditions) = rule.raw.get("preconditions") {
        fulfil_conditions(conditions, &mut conditioned);
    }
    let mut all = Vec::new();
    for object in [conditioned, anchored, plain] {
        if !all.contains(&object) {
            all.push(object);
        }
    }
    all
}

/// Objects that a rule may not select, the nearest to the one that it selects first.
pub(super) fn not_matching(selected: &Value, name: &str) -> Vec<Value> {
    let renamed = |mut object: Value| {
        set(&mut object, &["metadata", "name"], Value::string(name));
        object
    };
    let mut without_labels = renamed(selected.clone());
    if let Some(metadata) = without_labels.as_object_mut().and_then(|object| object.get_mut("metadata")) {
        metadata.remove("labels");
        metadata.remove("annotations");
    }
    let kinds = USUAL_KINDS.iter().filter_map(|kind| kind_of(&KindSelector::parse(kind)));
    [without_labels].into_iter().chain(kinds.map(|kind| template(&kind, name))).collect()
}

/// The first filter of `match`: the fields of its `resources`.
fn filter(rule: &Value) -> Value {
    let found = |list: &str| rule.path(&["match", list])?.at(0)?.get("resources").cloned();
    let plain = || rule.path(&["match", "resources"]).cloned();
    let all = rule.path(&["match", "all"]).and_then(Value::as_array).unwrap_or_default();
    let mut merged = Value::empty_object();
    for (key, value) in
        all.iter().filter_map(|filter| filter.get("resources")?.as_object()).flat_map(Map::iter)
    {
        merged.insert(key.clone(), value.clone());
    }
    if all.is_empty() { found("any").or_else(plain).unwrap_or_default() } else { merged }
}

/// A kind that a selector matches; `None` for subresources.
fn kind_of(selector: &KindSelector) -> Option<GroupVersionKind> {
    if !selector.subresource.is_empty() && &*selector.subresource != "*" {
        return None;
    }
    let built_in = || Resources::built_in().iter().filter(|known| selector.matches(&known.kind, "", true));
    let usual = |known: &&ApiResource| USUAL_KINDS.contains(&&*known.kind.kind);
    if let Some(known) = built_in().find(usual).or_else(|| built_in().next()) {
        return Some(known.kind.clone());
    }
    let is_name = |text: &Text| !text.is_empty() && !text.contains(['*', '?']);
    let (group, version) = CUSTOM_GROUP.split_once('/')?;
    let or = |text: &Text, default: &str| if is_name(text) { text.clone() } else { default.into() };
    is_name(&selector.kind).then(|| GroupVersionKind {
        group: or(&selector.group, group),
        version: or(&selector.version, version),
        kind: selector.kind.clone(),
    })
}

/// An object of a kind with what it needs.
fn template(kind: &GroupVersionKind, name: &str) -> Value {
    let version = if kind.group.is_empty() {
        kind.version.to_string()
    } else {
        format!("{}/{}", kind.group, kind.version)
    };
    let mut object = Value::empty_object();
    object.insert("apiVersion", Value::string(version));
    object.insert("kind", Value::string(kind.kind.clone()));
    set(&mut object, &["metadata", "name"], Value::string(name));
    let pod: &[&str] = match &*kind.kind {
        "Pod" => &["spec"],
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" | "ReplicationController" => {
            &["spec", "template", "spec"]
        }
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => return object,
    };
    if ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"].contains(&&*kind.kind) {
        set(&mut object, &["spec", "selector", "matchLabels", "app"], Value::string(name));
        set(&mut object, &["spec", "template", "metadata", "labels", "app"], Value::string(name));
    }
    if &*kind.kind == "CronJob" {
        set(&mut object, &["spec", "schedule"], Value::string("0 0 * * *"));
    }
    let container = Value::from_iter([("name", Value::string("app")), ("image", Value::string(IMAGE))]);
    let containers: Vec<&str> = pod.iter().copied().chain(["containers"]).collect();
    set(&mut object, &containers, Value::array(vec![container]));
    if kind.kind.ends_with("Job") {
        let restart: Vec<&str> = pod.iter().copied().chain(["restartPolicy"]).collect();
        set(&mut object, &restart, Value::string("Never"));
    }
    object
}

/// An object with the name, namespace, labels and annotations of a filter.
fn fitted(mut object: Value, filter: &Value) -> Value {
    let first = |key: &str| filter.get(key)?.at(0)?.as_str().and_then(example_text);
    let single = || filter.get("name").and_then(Value::as_str).and_then(example_text);
    if let Some(name) = first("names").or_else(single) {
        set(&mut object, &["metadata", "name"], Value::string(name));
    }
    if let Some(namespace) = first("namespaces") {
        set(&mut object, &["metadata", "namespace"], Value::string(namespace));
    }
    for (field, from) in
        [("labels", filter.path(&["selector", "matchLabels"])), ("annotations", filter.get("annotations"))]
    {
        for (key, value) in from.and_then(Value::as_object).into_iter().flat_map(Map::iter) {
            if let (Some(key), Some(value)) = (example_text(key), value.as_str().and_then(example_text)) {
                set(&mut object, &["metadata", field, &key], Value::string(value));
            }
        }
    }
    let expressions = filter.path(&["selector", "matchExpressions"]).and_then(Value::as_array);
    for expression in expressions.unwrap_or_default() {
        let word = |name: &str| expression.get(name).and_then(Value::as_str);
        let value = expression.get("values").and_then(|values| values.at(0)?.as_str()).unwrap_or("x");
        if let (Some(key), Some("In" | "Exists")) = (word("key"), word("operator")) {
            set(&mut object, &["metadata", "labels", key], Value::string(value));
        }
    }
    object
}

/// Sets a field, and makes the maps above it.
fn set(object: &mut Value, path: &[&str], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *object = value;
        return;
    };
    if object.as_object().is_none() {
        *object = Value::empty_object();
    }
    if let Some(members) = object.as_object_mut() {
        set(members.entry((*first).into()).or_default(), rest, value);
    }
}

/// A key of an overlay: its anchor, empty for none, and the name.
fn anchor(key: &str) -> (&str, &str) {
    let parts = key.strip_suffix(')').and_then(|key| key.split_once('('));
    parts
        .filter(|(anchor, _)| anchor.len() <= 1)
        .map_or(("", key), |(anchor, name)| (if anchor.is_empty() { "(" } else { anchor }, name))
}

/// Gives an object what the conditions of an overlay demand.
fn fulfil(overlay: &Value, object: &mut Value) {
    match overlay {
        Value::Object(members) => {
            for (key, demanded) in members.iter() {
                fulfil_member(key, demanded, object);
            }
        }
        Value::Array(items) => {
            let Some(first) = items.first() else { return };
            if !has_conditions(overlay) || object.as_array().is_none() && !object.is_null() {
                return;
            }
            if object.as_array().is_none_or(<[_]>::is_empty) {
                *object = Value::array(vec![Value::empty_object()]);
            }
            if let Some(element) = object.as_array_mut().and_then(|elements| elements.first_mut()) {
                fulfil(first, element);
            }
        }
        _ => {}
    }
}

fn fulfil_member(key: &Text, demanded: &Value, object: &mut Value) {
    let Some(members) = object.as_object_mut() else { return };
    match anchor(key) {
        ("(" | "<", name) => match demanded {
            Value::Object(_) | Value::Array(_) if has_conditions(demanded) => {
                fulfil(demanded, member(members, name, demanded));
            }
            _ => {
                let known = members.get(name).is_some_and(|value| is_matched(demanded, value));
                if let Some(example) = example(demanded).filter(|_| !known) {
                    members.insert(name.into(), example);
                }
            }
        },
        ("X", name) => {
            members.shift_remove(name);
        }
        ("" | "=", name) if has_conditions(demanded) => {
            fulfil(demanded, member(members, name, demanded));
        }
        _ => {}
    }
}

/// A member, made as a list or map where it is missing.
fn member<'m>(members: &'m mut Map, name: &str, like: &Value) -> &'m mut Value {
    let is_list = like.as_array().is_some();
    let new = || if is_list { Value::array(Vec::new()) } else { Value::empty_object() };
    members.entry(name.into()).or_insert_with(new)
}

/// Whether an overlay has conditions somewhere.
fn has_conditions(overlay: &Value) -> bool {
    match overlay {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| ["(", "<", "X"].contains(&anchor(key).0) || has_conditions(value)),
        Value::Array(items) => items.iter().any(has_conditions),
        _ => false,
    }
}

fn is_matched(pattern: &Value, value: &Value) -> bool {
    match (pattern.as_str(), value.as_str()) {
        (Some(pattern), Some(value)) => pattern::matches(pattern, value),
        _ => pattern == value,
    }
}

/// A value that fits a pattern.
fn example(pattern: &Value) -> Option<Value> {
    Some(match pattern {
        Value::String(text) => Value::string(example_text(text)?),
        Value::Array(items) => Value::array(items.iter().filter_map(example).collect()),
        Value::Object(members) => {
            let examples =
                members.iter().filter_map(|(key, value)| Some((anchor(key).1.into(), example(value)?)));
            Value::object(examples.collect::<Map>())
        }
        other => other.clone(),
    })
}

/// A text that fits a pattern; `None` where it holds a variable.
fn example_text(pattern: &str) -> Option<String> {
    let first = pattern.split('|').next().unwrap_or_default().trim();
    if pattern.contains("{{") || first.is_empty() {
        return None;
    }
    if let Some(other) = first.strip_prefix('!') {
        return Some(format!("not-{}", example_text(other)?));
    }
    Some(first.replace("?*", "x").replace(['*', '?'], "x"))
}

/// Gives an object the values that preconditions compare its fields with.
fn fulfil_conditions(conditions: &Value, object: &mut Value) {
    let list = |key: &str| conditions.get(key).and_then(Value::as_array).unwrap_or_default();
    let plain = conditions.as_array().unwrap_or_default();
    for condition in list("all").iter().chain(list("any").first()).chain(plain) {
        let word = |name: &str| condition.get(name).and_then(Value::as_str);
        let (Some(key), Some(operator)) = (word("key"), word("operator")) else { continue };
        let value = condition.get("value").map(|value| value.at(0).unwrap_or(value));
        let is_equality = ["Equals", "Equal", "In", "AnyIn", "AllIn"].contains(&operator);
        if let (Some(path), Some(example)) = (field_of(key), value.and_then(example))
            && is_equality
        {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            set(object, &path, example);
        }
    }
}

/// The field of the object that an expression is: `{{ request.object.a.b || '' }}`.
fn field_of(key: &str) -> Option<Vec<String>> {
    let expression = key.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let expression = expression.split("||").next()?.trim();
    let mut rest = expression.strip_prefix("request.object.")?;
    let mut path = Vec::new();
    while !rest.is_empty() {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        let is_plain = |c: char| c.is_alphanumeric() || "_-./".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            return None;
        }
        path.push(name.to_owned());
        rest = after.strip_prefix('.').unwrap_or(after);
        if !after.is_empty() && rest.len() == after.len() {
            return None;
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_their_patterns() {
        for (pattern, expected) in [
            ("*:latest", Some("x:latest")),
            ("?*", Some("x")),
            ("a | b", Some("a")),
            ("!dev-*", Some("not-dev-x")),
            ("{{ x }}", None),
        ] {
            assert_eq!(example_text(pattern).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn fields_are_read_from_expressions() {
        let path = |key| field_of(key).map(|path| path.join(" "));
        assert_eq!(
            path("{{ request.object.metadata.labels.app || '' }}").as_deref(),
            Some("metadata labels app")
        );
        assert_eq!(
            path("{{request.object.metadata.annotations.\"a.b/c\"}}").as_deref(),
            Some("metadata annotations a.b/c")
        );
        for other in ["{{ request.operation }}", "{{ request.object.spec.containers[0].image }}", "x"] {
            assert_eq!(path(other), None, "{other}");
        }
    }

    #[test]
    fn objects_have_what_an_overlay_demands() {
        let kind = kind_of(&KindSelector::parse("Deployment")).unwrap();
        let mut object = template(&kind, "web");
        let overlay = r#"{"metadata":{"(labels)":{"(tier)":"web"}},"spec":{"template":{"spec":{"X(hostNetwork)":null,"containers":[{"(image)":"*:latest","+(tty)":true}]}}}}"#;
        fulfil(&Value::from_json(overlay).unwrap(), &mut object);
        let image = object
            .path(&["spec", "template", "spec", "containers"])
            .and_then(|list| list.at(0)?.get("image"));
        assert_eq!(image.and_then(Value::as_str), Some("x:latest"));
        assert_eq!(object.path(&["metadata", "labels", "tier"]).and_then(Value::as_str), Some("web"));
    }
}
