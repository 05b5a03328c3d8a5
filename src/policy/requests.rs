//! What the configuration of a Kyverno keeps from all policies.

use crate::pattern;
use crate::value::{Text, Value};

use super::labels::{LabelSelector, Labels};
use super::{Candidate, ResourceFilters, UserInfo};

/// The label that every namespace has, with its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Requests that meet no policy, by the `ConfigMap` of a Kyverno: those about certain objects, those of certain senders,
/// and those that its webhooks do not ask for.
#[derive(Clone, Debug, Default)]
pub struct RequestFilters {
    resources: ResourceFilters,
    /// Whose requests are passed over, by the entries of the configuration.
    excluded: Vec<(&'static str, Vec<Text>)>,
    /// Whose are not, whatever else is said of them.
    included: Vec<(&'static str, Vec<Text>)>,
    /// What the webhooks ask for.
    namespaces: Option<LabelSelector>,
    objects: Option<LabelSelector>,
    not_evaluated: Vec<&'static str>,
}

/// The entries that name senders.
const SENDERS: [&str; 4] = ["excludeUsernames", "excludeGroups", "excludeRoles", "excludeClusterRoles"];

impl RequestFilters {
    /// Reads the `data` of a `ConfigMap`. As with Kyverno, what cannot be read counts as not there.
    pub fn read(data: &Value) -> Self {
        let text = |key| data.get(key).and_then(Value::as_str).unwrap_or_default();
        let json = |key| Value::from_json(text(key)).ok();
        let mut filters =
            Self { resources: ResourceFilters::parse(text("resourceFilters")), ..Self::default() };
        for key in SENDERS {
            let entries = text(key).split(',').map(str::trim);
            let (included, excluded): (Vec<&str>, Vec<&str>) =
                entries.partition(|entry| entry.starts_with('!'));
            let texts = |entries: Vec<&str>| -> Vec<Text> {
                let bare = entries.into_iter().map(|entry| entry.strip_prefix('!').unwrap_or(entry).trim());
                bare.filter(|entry| !entry.is_empty()).map(Text::from).collect()
            };
            filters.excluded.push((key, texts(excluded)));
            filters.included.push((key, texts(included)));
        }
        let webhooks = json("webhooks").filter(|webhooks| webhooks.as_object().is_some());
        for (name, slot) in
            [("namespaceSelector", &mut filters.namespaces), ("objectSelector", &mut filters.objects)]
        {
            let written = webhooks.as_ref().and_then(|webhooks| webhooks.get(name));
            let selector = written.map(LabelSelector::read).filter(|selector| !selector.is_empty());
            // No API server takes a webhook with such a selector.
            if selector.as_ref().is_some_and(|one| one.has_wildcards() || one.unusable().is_some()) {
                filters.not_evaluated.push("webhooks");
            } else {
                *slot = selector;
            }
        }
        filters.not_evaluated.dedup();
        if json("matchConditions").as_ref().and_then(Value::as_array).is_some_and(|list| !list.is_empty()) {
            filters.not_evaluated.push("matchConditions");
        }
        filters
    }

    /// Why the request for an object, as it is asked for and as it is stored, meets no policy, if so.
    pub fn hiding(&self, candidate: &Candidate<'_>, states: (&Value, Option<&Value>)) -> Option<Text> {
        if candidate.operation.is_some() {
            if !self.asks_in_namespace(candidate, states.0) {
                return Some("the namespaceSelector of the webhooks".into());
            }
            if !self.asks_for_object(states) {
                return Some("the objectSelector of the webhooks".into());
            }
            if let Some(entry) = candidate.user.and_then(|user| self.excluding(user)) {
                return Some(entry);
            }
        }
        self.resources.hiding(candidate).map(|filter| format!("the resource filter {filter}").into())
    }

    /// Whether labels of namespaces decide, other than that which tells the name.
    pub fn asks_for_namespace_labels(&self) -> bool {
        self.namespaces.as_ref().is_some_and(|selector| !selector.is_about(NAME_LABEL))
    }

    /// The entries that keep requests of some senders from policies.
    pub fn about_senders(&self) -> Vec<&'static str> {
        self.excluded.iter().filter(|(_, entries)| !entries.is_empty()).map(|(key, _)| *key).collect()
    }

    /// The entries that keep requests from policies and are not evaluated.
    pub fn not_evaluated(&self) -> &[&'static str] {
        &self.not_evaluated
    }

    /// Whether the webhooks are asked for requests in the namespace. A namespace itself counts by its own labels;
    /// labels that nobody knows hide nothing.
    fn asks_in_namespace(&self, candidate: &Candidate<'_>, object: &Value) -> bool {
        let Some(selector) = &self.namespaces else { return true };
        let kind = candidate.kind;
        if (&*kind.group, &*kind.kind) == ("", "Namespace") {
            return fits(selector, object.path(&["metadata", "labels"]));
        }
        if candidate.namespace.is_empty() {
            return true;
        }
        match candidate.namespace_labels {
            Some(labels) if labels.get(NAME_LABEL).is_some() => fits(selector, Some(labels)),
            labels if labels.is_some() || selector.is_about(NAME_LABEL) => {
                let mut labels = labels.cloned().unwrap_or_else(Value::empty_object);
                labels.insert(NAME_LABEL, candidate.namespace.into());
                fits(selector, Some(&labels))
            }
            _ => true,
        }
    }

    /// Whether the webhooks are asked for such an object: one of its states is enough.
    fn asks_for_object(&self, (object, stored): (&Value, Option<&Value>)) -> bool {
        let Some(selector) = &self.objects else { return true };
        let mut states = [Some(object), stored].into_iter().flatten();
        states.any(|state| fits(selector, state.path(&["metadata", "labels"])))
    }

    /// The entry that takes requests of a sender out.
    fn excluding(&self, user: &UserInfo) -> Option<Text> {
        let names = |key: &str| -> Vec<&Text> {
            match key {
                "excludeUsernames" => vec![&user.username],
                "excludeGroups" => user.groups.iter().flatten().collect(),
                "excludeRoles" => user.roles.iter().flatten().collect(),
                _ => user.cluster_roles.iter().flatten().collect(),
            }
        };
        let hit = |lists: &[(&'static str, Vec<Text>)]| {
            lists.iter().find_map(|(key, entries)| {
                let names = names(key);
                let fits = |entry: &&Text| names.iter().any(|name| pattern::matches(entry, name));
                entries.iter().find(fits).map(|entry| format!("{key} {entry}").into())
            })
        };
        hit(&self.excluded).filter(|_| hit(&self.included).is_none())
    }
}

fn fits(selector: &LabelSelector, labels: Option<&Value>) -> bool {
    selector.matches(Labels::of(labels)).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use crate::policy::Operation;
    use crate::value::GroupVersionKind;

    use super::*;

    /// The data of a configuration with one entry.
    fn configured(key: &str, text: &str) -> RequestFilters {
        RequestFilters::read(&[(key, Value::from(text))].into_iter().collect())
    }

    #[test]
    fn senders_are_taken_out_unless_something_keeps_them_in() {
        let user = UserInfo::from_document(
            &Value::from_json(
                r#"{"roles":["web:editor"],"clusterRoles":["view","edit"],
                    "userInfo":{"username":"jane","groups":["devs","system:authenticated"]}}"#,
            )
            .unwrap(),
        );
        let object = Value::empty_object();
        let kind = GroupVersionKind::new("v1", "Pod");
        let candidate = Candidate { user: Some(&user), ..Candidate::new(&object, &kind, Operation::Create) };
        for (key, text, expected) in [
            ("excludeUsernames", "", None),
            ("excludeUsernames", " joe , ja* ", Some("excludeUsernames ja*")),
            ("excludeUsernames", "joe", None),
            ("excludeGroups", "system:nodes", None),
            ("excludeGroups", "system:nodes,system:*", Some("excludeGroups system:*")),
            ("excludeGroups", "system:*,!devs", None),
            ("excludeGroups", "! devs, dev?", None),
            ("excludeGroups", "!,devs", Some("excludeGroups devs")),
            ("excludeRoles", "web:*", Some("excludeRoles web:*")),
            ("excludeRoles", "editor", None),
            ("excludeClusterRoles", "edit", Some("excludeClusterRoles edit")),
        ] {
            let filters = configured(key, text);
            assert_eq!(filters.hiding(&candidate, (&object, None)).as_deref(), expected, "{key} {text}");
            let nobody = Candidate { user: None, ..candidate };
            assert_eq!(filters.hiding(&nobody, (&object, None)), None, "{key} {text}");
            let installed = Candidate { operation: None, ..candidate };
            assert_eq!(filters.hiding(&installed, (&object, None)), None, "{key} {text}");
        }
        let data = r#"{"excludeUsernames":"jane","excludeClusterRoles":"!view"}"#;
        let filters = RequestFilters::read(&Value::from_json(data).unwrap());
        assert_eq!(filters.hiding(&candidate, (&object, None)), None);
        assert_eq!(filters.about_senders(), ["excludeUsernames"]);
    }

    #[test]
    fn webhooks_ask_for_namespaces_and_objects_by_their_labels() {
        let value = |text: &str| Value::from_json(text).unwrap();
        let (plain, seen) = (value("{}"), value(r#"{"metadata":{"labels":{"seen":"yes"}}}"#));
        let (pod, namespace, node) = (
            GroupVersionKind::new("v1", "Pod"),
            GroupVersionKind::new("v1", "Namespace"),
            GroupVersionKind::new("v1", "Node"),
        );
        let by_name = r#"{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["a"]}]}}"#;
        let by_label = r#"{"namespaceSelector":{"matchLabels":{"seen":"yes"}}}"#;
        let by_object = r#"{"objectSelector":{"matchLabels":{"seen":"yes"}}}"#;
        let (labels, none) = (value(r#"{"seen":"yes"}"#), value("{}"));
        for (text, kind, place, labels, states, is_hidden) in [
            (by_name, &pod, "a", None, (&plain, None), true),
            (by_name, &pod, "a", Some(&none), (&plain, None), true),
            (by_name, &pod, "b", None, (&plain, None), false),
            (by_name, &node, "", None, (&plain, None), false),
            (by_label, &pod, "a", Some(&labels), (&plain, None), false),
            (by_label, &pod, "a", Some(&none), (&plain, None), true),
            (by_label, &pod, "a", None, (&plain, None), false),
            (by_label, &namespace, "", None, (&plain, None), true),
            (by_label, &namespace, "", None, (&seen, None), false),
            (by_object, &pod, "a", None, (&plain, None), true),
            (by_object, &pod, "a", None, (&plain, Some(&seen)), false),
            (by_object, &pod, "a", None, (&seen, Some(&plain)), false),
            (
                r#"[{"objectSelector":{"matchLabels":{"seen":"yes"}}}]"#,
                &pod,
                "a",
                None,
                (&plain, None),
                false,
            ),
            (r#"{"objectSelector":{}}"#, &pod, "a", None, (&plain, None), false),
            ("{", &pod, "a", None, (&plain, None), false),
        ] {
            let filters = configured("webhooks", text);
            let candidate = Candidate {
                namespace: place,
                namespace_labels: labels,
                ..Candidate::new(states.0, kind, Operation::Update)
            };
            assert_eq!(filters.hiding(&candidate, states).is_some(), is_hidden, "{text} {place} {labels:?}");
            assert_eq!(filters.asks_for_namespace_labels(), text == by_label);
        }
    }

    #[test]
    fn what_is_not_evaluated_is_named() {
        for (key, text, expected) in [
            ("matchConditions", r#"[{"name":"a","expression":"true"}]"#, &["matchConditions"][..]),
            ("matchConditions", "[]", &[]),
            ("matchConditions", "x", &[]),
            ("webhooks", r#"{"objectSelector":{"matchLabels":{"a":"*"}}}"#, &["webhooks"]),
            ("webhooks", r#"{"objectSelector":{"matchLabels":{"a":"b"}}}"#, &[]),
        ] {
            assert_eq!(configured(key, text).not_evaluated(), expected, "{key} {text}");
        }
    }
}
