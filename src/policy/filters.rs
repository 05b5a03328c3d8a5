//! Resource filters: objects that Kyverno's configuration excludes from all policies.

use crate::pattern;
use crate::value::{Text, Value};

use super::Candidate;
use super::kinds::KindSelector;

/// The `resourceFilters` of a configuration.
#[derive(Clone, Debug, Default)]
pub struct ResourceFilters {
    filters: Vec<Filter>,
}

#[derive(Clone, Debug)]
struct Filter {
    /// As written, without its brackets.
    text: Text,
    kind: KindSelector,
    namespace: Text,
    name: Text,
}

impl ResourceFilters {
    /// Reads groups such as `[Node,*,*] [v1/Pod,kube-system,*]` and ignores what is between them.
    ///
    /// As in Kyverno, an absent pattern matches only the empty string, spaces count, and a group of more than three
    /// patterns repeats the one before it.
    pub fn parse(text: &str) -> Self {
        let mut filters: Vec<Filter> = Vec::new();
        let mut rest = text;
        while let Some((_, open)) = rest.split_once('[') {
            let Some((group, after)) = open.split_once(']') else { break };
            rest = after;
            let group = group.rsplit('[').next().unwrap_or_default();
            let parts: Vec<&str> = group.split(',').collect();
            let part = |index: usize| Text::from(parts.get(index).copied().unwrap_or_default());
            let filter = match parts.len() {
                _ if group.is_empty() => Filter::nothing(),
                1..=3 => Filter {
                    text: group.into(),
                    kind: KindSelector::parse(&part(0)),
                    namespace: part(1),
                    name: part(2),
                },
                _ => filters.last().cloned().unwrap_or_else(Filter::nothing),
            };
            filters.push(filter);
        }
        Self { filters }
    }

    /// The filter that excludes an object from all policies, as written.
    pub fn excluding(&self, candidate: &Candidate<'_>) -> Option<Text> {
        let name = candidate.object.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
        let filter = self.filters.iter().find(|filter| filter.matches(candidate, name))?;
        Some(format!("[{}]", filter.text).into())
    }
}

impl Filter {
    /// The filter that matches nothing.
    fn nothing() -> Self {
        let nothing = KindSelector::parse("/////");
        Self { text: Text::default(), kind: nothing, namespace: Text::default(), name: Text::default() }
    }

    fn matches(&self, candidate: &Candidate<'_>, name: &str) -> bool {
        let kind = candidate.kind;
        let is_namespace = (&*kind.group, &*kind.version, &*kind.kind) == ("", "v1", "Namespace");
        self.kind.matches(kind, candidate.subresource, false)
            && (pattern::matches(&self.namespace, candidate.namespace) && pattern::matches(&self.name, name)
                || is_namespace && pattern::matches(&self.namespace, name))
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::Operation;
    use crate::value::GroupVersionKind;

    use super::*;

    fn excluded(filters: &str, kind: &str, namespace: &str, name: &str) -> bool {
        let object = Value::from_json(&format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)).unwrap();
        let kind = GroupVersionKind::new("v1", kind);
        let candidate = Candidate { namespace, ..Candidate::new(&object, &kind, Operation::Create) };
        ResourceFilters::parse(filters).excluding(&candidate).is_some()
    }

    #[test]
    fn groups_exclude_objects() {
        let two = "[Pod,default,nginx] [Pod,kube-system,api-server]";
        for (filters, kind, namespace, name, expected) in [
            (two, "Pod", "default", "nginx", true),
            (two, "Pod", "kube-system", "api-server", true),
            (two, "Pod", "default", "api-server", false),
            ("[Node]", "Node", "", "n1", false),
            ("[Node]", "Node", "", "", true),
            ("[Node,*,*]", "Node", "", "n1", true),
            ("[*,kube-system,*]", "Namespace", "", "kube-system", true),
            ("[*,kube-system,*]", "Namespace", "", "default", false),
            ("[*/*,kube-system,*]", "Pod", "kube-system", "x", true),
            ("[Pod, default,*]", "Pod", "default", "x", false),
            ("[Pod,default,nginx,unexpected]", "Pod", "default", "nginx", false),
            ("[Pod,*,*][Node,a,b,c]", "Pod", "default", "nginx", true),
            ("[]", "Pod", "", "", false),
            ("[Pod,*,*", "Pod", "a", "b", false),
            ("[[Pod,*,*]]", "Pod", "a", "b", true),
            ("", "Pod", "a", "b", false),
        ] {
            assert_eq!(
                excluded(filters, kind, namespace, name),
                expected,
                "{filters} {kind}/{namespace}/{name}"
            );
        }
    }

    #[test]
    fn a_filter_has_a_subresource() {
        let parsed = ResourceFilters::parse("[v1/Pod/*]");
        assert_eq!(parsed.filters.len(), 1);
        assert_eq!((&*parsed.filters[0].kind.version, &*parsed.filters[0].kind.subresource), ("v1", "*"));
    }
}
