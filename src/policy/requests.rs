//! Which requests the configuration of a Kyverno excludes from all policies.

use crate::pattern;
use crate::value::{Text, Value};

use super::fields::string;
use super::labels::{LabelSelector, Labels};
use super::{Candidate, ResourceFilters, UserInfo};

/// The label that every namespace has, with its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The filters of a Kyverno's `ConfigMap`: by object, by user, and by the selectors of its webhooks.
#[derive(Clone, Debug, Default)]
pub struct RequestFilters {
    resources: ResourceFilters,
    /// The patterns of the `exclude…` entries, by entry.
    excluded: Vec<(&'static str, Vec<Text>)>,
    /// The negated ones, which win.
    included: Vec<(&'static str, Vec<Text>)>,
    namespace_selector: Option<LabelSelector>,
    object_selector: Option<LabelSelector>,
    not_evaluated: Vec<&'static str>,
}

/// The entries about users.
const USER_ENTRIES: [&str; 4] = ["excludeUsernames", "excludeGroups", "excludeRoles", "excludeClusterRoles"];

impl RequestFilters {
    /// Reads the `data` of a `ConfigMap`. As in Kyverno, what cannot be read counts as absent.
    pub fn read(data: &Value) -> Self {
        let json = |key| Value::from_json(string(data, key)).ok();
        let mut filters =
            Self { resources: ResourceFilters::parse(string(data, "resourceFilters")), ..Self::default() };
        for key in USER_ENTRIES {
            let entries = string(data, key).split(',').map(str::trim);
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
        for (name, slot) in [
            ("namespaceSelector", &mut filters.namespace_selector),
            ("objectSelector", &mut filters.object_selector),
        ] {
            let written = webhooks.as_ref().and_then(|webhooks| webhooks.get(name));
            let selector = written.map(LabelSelector::read).filter(|selector| !selector.is_empty());
            // API servers refuse a webhook with such a selector.
            if selector.as_ref().is_some_and(|one| one.has_wildcards() || one.invalid().is_some()) {
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

    /// What excludes a request from all policies. `states` are the object as requested and as stored.
    pub fn excluding(&self, candidate: &Candidate<'_>, states: (&Value, Option<&Value>)) -> Option<Text> {
        if candidate.operation.is_some() {
            if !self.selects_namespace(candidate, states.0) {
                return Some("the namespaceSelector of the webhooks".into());
            }
            if !self.selects_object(states) {
                return Some("the objectSelector of the webhooks".into());
            }
            if let Some(entry) = candidate.user.and_then(|user| self.excluding_user(user)) {
                return Some(entry);
            }
        }
        self.resources.excluding(candidate).map(|filter| format!("the resource filter {filter}").into())
    }

    /// Whether labels of namespaces decide, other than that of the name.
    pub fn uses_namespace_labels(&self) -> bool {
        self.namespace_selector.as_ref().is_some_and(|selector| !selector.uses_only(NAME_LABEL))
    }

    /// The entries that exclude requests of some users.
    pub fn user_entries(&self) -> Vec<&'static str> {
        self.excluded.iter().filter(|(_, entries)| !entries.is_empty()).map(|(key, _)| *key).collect()
    }

    /// The entries that may exclude requests and are not evaluated.
    pub fn not_evaluated(&self) -> &[&'static str] {
        &self.not_evaluated
    }

    /// Whether the `namespaceSelector` of the webhooks matches: for a namespace its own labels, and always where the
    /// labels are not known.
    fn selects_namespace(&self, candidate: &Candidate<'_>, object: &Value) -> bool {
        let Some(selector) = &self.namespace_selector else { return true };
        let kind = candidate.kind;
        if (&*kind.group, &*kind.kind) == ("", "Namespace") {
            return matches(selector, object.path(&["metadata", "labels"]));
        }
        if candidate.namespace.is_empty() {
            return true;
        }
        match candidate.namespace_labels {
            Some(labels) if labels.get(NAME_LABEL).is_some() => matches(selector, Some(labels)),
            labels if labels.is_some() || selector.uses_only(NAME_LABEL) => {
                let mut labels = labels.cloned().unwrap_or_else(Value::empty_object);
                labels.insert(NAME_LABEL, candidate.namespace.into());
                matches(selector, Some(&labels))
            }
            _ => true,
        }
    }

    /// Whether the `objectSelector` of the webhooks matches one of the states.
    fn selects_object(&self, (object, stored): (&Value, Option<&Value>)) -> bool {
        let Some(selector) = &self.object_selector else { return true };
        let mut states = [Some(object), stored].into_iter().flatten();
        states.any(|state| matches(selector, state.path(&["metadata", "labels"])))
    }

    /// The entry and pattern that exclude the requests of a user.
    fn excluding_user(&self, user: &UserInfo) -> Option<Text> {
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
                let matches = |entry: &&Text| names.iter().any(|name| pattern::matches(entry, name));
                entries.iter().find(matches).map(|entry| format!("{key} {entry}").into())
            })
        };
        hit(&self.excluded).filter(|_| hit(&self.included).is_none())
    }
}

fn matches(selector: &LabelSelector, labels: Option<&Value>) -> bool {
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
    fn users_are_excluded_unless_a_negated_entry_matches() {
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
            assert_eq!(filters.excluding(&candidate, (&object, None)).as_deref(), expected, "{key} {text}");
            let nobody = Candidate { user: None, ..candidate };
            assert_eq!(filters.excluding(&nobody, (&object, None)), None, "{key} {text}");
            let installed = Candidate { operation: None, ..candidate };
            assert_eq!(filters.excluding(&installed, (&object, None)), None, "{key} {text}");
        }
        let data = r#"{"excludeUsernames":"jane","excludeClusterRoles":"!view"}"#;
        let filters = RequestFilters::read(&Value::from_json(data).unwrap());
        assert_eq!(filters.excluding(&candidate, (&object, None)), None);
        assert_eq!(filters.user_entries(), ["excludeUsernames"]);
    }

    #[test]
    fn webhooks_select_namespaces_and_objects_by_their_labels() {
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
        for (text, kind, place, labels, states, is_excluded) in [
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
            assert_eq!(
                filters.excluding(&candidate, states).is_some(),
                is_excluded,
                "{text} {place} {labels:?}"
            );
            assert_eq!(filters.uses_namespace_labels(), text == by_label);
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
