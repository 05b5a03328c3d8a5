//! Why `match` and `exclude` decide as they do, in words, with what the rule asks for and what the object has.

use crate::pattern;
use crate::value::{Text, Value};

use super::Selection;
use super::selection::{Branch, Filter};
use crate::policy::fields::{all_of, any_of};
use crate::policy::labels::{LabelSelector, Labels, annotations_match};
use crate::policy::{Candidate, KindSelector, UserInfo};

/// What is said where a policy of one namespace meets an object of another.
pub fn other_namespace(policy: &str, candidate: &Candidate<'_>) -> String {
    format!("the policy is for namespace `{policy}`, and {}", place(candidate))
}

impl Selection {
    /// Why the block, read as `match`, does not take a candidate: a line for each filter that should.
    pub(super) fn misses(&self, candidate: &Candidate<'_>) -> Vec<String> {
        let lines = self.numbered("match").filter_map(|(place, filter)| {
            let missed = filter.misses(candidate);
            (!missed.is_empty()).then(|| format!("{place}: {}", missed.join("; ")))
        });
        lines.collect()
    }

    /// Which filters of the block, read as `exclude`, take a candidate away.
    pub(super) fn hits(&self, candidate: &Candidate<'_>) -> Vec<String> {
        let hit = |filter: &Filter| !filter.is_empty(true) && filter.holds(candidate, true, None);
        let lines = self.numbered("exclude").filter(|(_, filter)| hit(filter));
        lines
            .map(|(place, filter)| format!("{place} takes it out: {}", filter.attributes().join(", ")))
            .collect()
    }

    fn numbered(&self, block: &'static str) -> impl Iterator<Item = (String, &Filter)> {
        let (name, filters) = match &self.branch {
            Branch::Any(filters) => (".any", filters.as_slice()),
            Branch::All(filters) => (".all", filters.as_slice()),
            Branch::Direct(filter) => ("", std::slice::from_ref(&**filter)),
        };
        filters.iter().enumerate().map(move |(index, filter)| {
            let place = if name.is_empty() { block.to_owned() } else { format!("{block}{name}[{index}]") };
            (place, filter)
        })
    }
}

impl Filter {
    /// What keeps the filter from taking a candidate; empty if nothing does.
    fn misses(&self, candidate: &Candidate<'_>) -> Vec<String> {
        let users = candidate.user.is_some_and(|user| !user.is_unknown());
        if self.is_empty(users) {
            return vec!["asks for nothing, and so takes nothing".into()];
        }
        let mut missed = Vec::new();
        self.kind_misses(candidate, &mut missed);
        if let Some(operations) = self.operations.as_ref().filter(|all| !candidate.has_operation_of(all)) {
            let wanted: Vec<Text> = operations.iter().map(|operation| operation.name().into()).collect();
            let wanted = any_of(&wanted);
            missed.push(match candidate.operation {
                Some(operation) => format!("operation is `{operation}`, wanted {wanted}"),
                None => format!("the policy changes and nobody sends a request, wanted {wanted}"),
            });
        }
        self.name_misses(candidate, &mut missed);
        self.label_misses(candidate, &mut missed);
        if users {
            self.user_misses(candidate.user, &mut missed);
        }
        missed
    }

    fn kind_misses(&self, candidate: &Candidate<'_>, missed: &mut Vec<String>) {
        let fits = |kind: &KindSelector| kind.matches(candidate.kind, candidate.subresource, true);
        if self.kinds.is_empty() || self.kinds.iter().any(fits) {
            return;
        }
        let kind = candidate.kind;
        let slash = if candidate.subresource.is_empty() { "" } else { "/" };
        let wanted: Vec<Text> = self.kinds.iter().map(|kind| kind.text.clone()).collect();
        missed.push(format!(
            "kind is `{}/{}{slash}{}`, wanted {}",
            kind.api_version(),
            kind.kind,
            candidate.subresource,
            any_of(&wanted)
        ));
    }

    fn name_misses(&self, candidate: &Candidate<'_>, missed: &mut Vec<String>) {
        let name = candidate.name();
        let fits = |patterns: &[Text], text: &str| patterns.iter().any(|entry| pattern::matches(entry, text));
        if !self.name.is_empty() && !pattern::matches(&self.name, name) {
            missed.push(format!("name is `{name}`, wanted `{}`", self.name));
        }
        if !self.names.is_empty() && !fits(&self.names, name) {
            missed.push(format!("name is `{name}`, wanted {}", any_of(&self.names)));
        }
        let namespace = if candidate.is_namespace() { name } else { candidate.namespace };
        if !self.namespaces.is_empty() && !fits(&self.namespaces, namespace) {
            missed.push(format!("{}, wanted {}", place(candidate), any_of(&self.namespaces)));
        }
    }

    fn label_misses(&self, candidate: &Candidate<'_>, missed: &mut Vec<String>) {
        let metadata = |name| Labels::of(candidate.object.path(&["metadata", name]));
        for pair in &self.annotations {
            if !annotations_match(std::slice::from_ref(pair), metadata("annotations")) {
                missed.push(format!("no annotation fits `{}: {}`", pair.0, pair.1));
            }
        }
        if let Some(selector) = &self.selector {
            missed.extend(selector_misses(selector, metadata("labels")));
        }
        let Some(selector) = &self.namespace_selector else { return };
        if candidate.is_namespace() {
            missed.push("a namespaceSelector never takes a Namespace".into());
            return;
        }
        let unmet = selector_misses(selector, Labels::of(candidate.namespace_labels));
        if unmet.is_empty() {
            return;
        }
        missed.push(if candidate.namespace.is_empty() {
            format!("it has no namespace: {}", unmet.join("; "))
        } else if candidate.namespace_labels.is_some() {
            format!("namespace `{}`: {}", candidate.namespace, unmet.join("; "))
        } else {
            format!(
                "namespace `{}`: {} (its labels are not known: give the Namespace with -f, or --values)",
                candidate.namespace,
                unmet.join("; ")
            )
        });
    }

    fn user_misses(&self, user: Option<&UserInfo>, missed: &mut Vec<String>) {
        let nobody = UserInfo::default();
        let user = user.unwrap_or(&nobody);
        let lists =
            [("role", &self.roles, &user.roles), ("cluster role", &self.cluster_roles, &user.cluster_roles)];
        for (what, wanted, held) in lists {
            if !wanted.is_empty() && !held.iter().flatten().any(|role| wanted.contains(role)) {
                missed.push(format!("the sender has no {what} of {}", all_of(wanted)));
            }
        }
        if !self.subjects.is_empty() && !self.subjects.iter().any(|subject| subject.matches(user)) {
            missed.push(format!("the sender `{}` is none of the subjects", user.username));
        }
    }

    /// The attributes that are given, in words.
    fn attributes(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut add = |what: &str, texts: &[Text]| {
            if !texts.is_empty() {
                all.push(format!("{what} {}", any_of(texts)));
            }
        };
        let kinds: Vec<Text> = self.kinds.iter().map(|kind| kind.text.clone()).collect();
        add("kind", &kinds);
        add("name", if self.name.is_empty() { &[] } else { std::slice::from_ref(&self.name) });
        add("name", &self.names);
        add("namespace", &self.namespaces);
        let operations = self.operations.iter().flatten().map(|operation| Text::from(operation.name()));
        add("operation", &operations.collect::<Vec<_>>());
        let annotations = self.annotations.iter().map(|(key, value)| Text::from(format!("{key}: {value}")));
        for annotation in annotations {
            add("annotation", &[annotation]);
        }
        if self.selector.is_some() {
            all.push("its labels".into());
        }
        if self.namespace_selector.is_some() {
            all.push("the labels of its namespace".into());
        }
        if self.asks_for_users {
            all.push("the sender".into());
        }
        all
    }
}

fn selector_misses(selector: &LabelSelector, labels: Labels<'_>) -> Vec<String> {
    match selector.matches(labels) {
        Ok(true) => Vec::new(),
        Ok(false) => selector.mismatches(labels),
        Err(error) => vec![format!("the label selector cannot be used: {error}")],
    }
}

/// The namespace of a candidate, in words.
fn place(candidate: &Candidate<'_>) -> String {
    let name = if candidate.is_namespace() {
        candidate.object.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default()
    } else {
        candidate.namespace
    };
    if name.is_empty() { "it has no namespace".into() } else { format!("namespace is `{name}`") }
}
