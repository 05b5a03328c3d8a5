//! One filter of `match` or `exclude`.

use crate::pattern;
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{GroupVersionKind, PathSet, Text, Value};

use super::subject::Subject;
use crate::policy::fields::{all_of, any_of, given, list, text, text_map, texts};
use crate::policy::index::IndexKey;
use crate::policy::kinds::KindSelector;
use crate::policy::labels::{LabelSelector, Labels, annotations_match};
use crate::policy::{Candidate, Operation, UserInfo};

/// The conditions of a filter, which must all hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    pub(super) kinds: Vec<KindSelector>,
    name: Text,
    names: Vec<Text>,
    namespaces: Vec<Text>,
    pub(super) annotations: Vec<(Text, Text)>,
    pub(super) selector: Option<LabelSelector>,
    pub(super) namespace_selector: Option<LabelSelector>,
    pub(super) operations: Option<Vec<Operation>>,
    roles: Vec<Text>,
    cluster_roles: Vec<Text>,
    subjects: Vec<Subject>,
    /// Whether a condition on users is given, also as an empty list.
    pub(super) uses_user_info: bool,
}

/// A condition of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Operations,
    Kinds,
    Name,
    Names,
    Namespaces,
    Annotations,
    Selector,
    NamespaceSelector,
    Roles,
    ClusterRoles,
    Subjects,
}

/// The conditions on objects, in the order of Kyverno's messages.
const OF_OBJECT: [Condition; 8] = [
    Condition::Operations,
    Condition::Kinds,
    Condition::Name,
    Condition::Names,
    Condition::Namespaces,
    Condition::Annotations,
    Condition::Selector,
    Condition::NamespaceSelector,
];

/// The conditions on users.
const OF_USER: [Condition; 3] = [Condition::Roles, Condition::ClusterRoles, Condition::Subjects];

impl Filter {
    pub(super) fn read(filter: &Value) -> Self {
        let empty = Value::Null;
        let resources = filter.get("resources").unwrap_or(&empty);
        let operations = texts(resources.get("operations"));
        let users = ["roles", "clusterRoles", "subjects"];
        Self {
            kinds: texts(resources.get("kinds")).iter().map(|kind| KindSelector::parse(kind)).collect(),
            name: text(resources, "name"),
            names: texts(resources.get("names")),
            namespaces: texts(resources.get("namespaces")),
            annotations: text_map(resources.get("annotations")),
            selector: given(resources, "selector").map(LabelSelector::read),
            namespace_selector: given(resources, "namespaceSelector").map(LabelSelector::read),
            operations: (!operations.is_empty())
                .then(|| operations.iter().filter_map(|operation| Operation::parse(operation)).collect()),
            roles: texts(filter.get("roles")),
            cluster_roles: texts(filter.get("clusterRoles")),
            subjects: list(filter, "subjects").iter().map(Subject::read).collect(),
            uses_user_info: users.iter().any(|field| given(filter, field).is_some()),
        }
    }

    /// Whether there is no condition; without `users` those on users do not count.
    pub(super) fn is_empty(&self, users: bool) -> bool {
        self.kinds.is_empty()
            && self.name.is_empty()
            && self.names.is_empty()
            && self.namespaces.is_empty()
            && self.annotations.is_empty()
            && self.selector.is_none()
            && self.namespace_selector.is_none()
            && self.operations.is_none()
            && !(users && self.uses_user_info)
    }

    /// Whether no condition has a content, those on users included.
    pub(super) fn is_blank(&self) -> bool {
        let users = [self.roles.is_empty(), self.cluster_roles.is_empty(), self.subjects.is_empty()];
        self.is_empty(false) && users == [true; 3]
    }

    /// Adds the paths of an object that decide whether it matches.
    pub(super) fn read_paths(&self, reads: &mut PathSet) {
        let mut read = |path: &[&str]| reads.insert_keys(path);
        let is_named = !self.name.is_empty() || !self.names.is_empty();
        // The namespace of a Namespace is its name.
        if is_named || !self.namespaces.is_empty() {
            read(&["metadata", "name"]);
            read(&["metadata", "generateName"]);
        }
        if !self.namespaces.is_empty() || self.namespace_selector.is_some() {
            read(&["kind"]);
        }
        let labels = self.selector.iter().flat_map(LabelSelector::keys).map(|key| ("labels", key));
        let annotations = self.annotations.iter().map(|(key, _)| ("annotations", key));
        for (field, key) in labels.chain(annotations) {
            let path = ["metadata", field, key];
            read(if pattern::is_wildcard(key) { &path[..2] } else { &path });
        }
    }

    /// Whether objects of a kind can match.
    #[inline]
    pub(super) fn may_match(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|selector| selector.matches(kind, subresource, true))
    }

    /// Index keys of which one holds for every object that matches.
    pub(super) fn index_keys(&self) -> Option<Vec<IndexKey<'_>>> {
        let are_keys = |patterns: &'_ [Text]| {
            !patterns.is_empty() && patterns.iter().all(|pattern| IndexKey::is_pattern(pattern))
        };
        if !self.name.is_empty() && IndexKey::is_pattern(&self.name) {
            Some(vec![IndexKey::Name(&self.name)])
        } else if are_keys(&self.names) {
            Some(self.names.iter().map(IndexKey::Name).collect())
        } else if are_keys(&self.namespaces) {
            Some(self.namespaces.iter().map(IndexKey::Namespace).collect())
        } else {
            self.selector.as_ref()?.index_keys()
        }
    }

    pub(super) fn is_in_webhook(&self, candidate: &Candidate<'_>) -> bool {
        const DEFAULT: &[Operation] = &[Operation::Create, Operation::Update];
        !self.kinds.is_empty()
            && self.holds(Condition::Kinds, candidate)
            && candidate.has_operation_of(self.operations.as_deref().unwrap_or(DEFAULT))
    }

    #[inline]
    pub(super) fn includes(&self, candidate: &Candidate<'_>) -> bool {
        let users = knows_user(candidate);
        !self.is_empty(users) && self.matches(candidate, users)
    }

    pub(super) fn excludes(&self, candidate: &Candidate<'_>) -> bool {
        !self.is_empty(true) && self.matches(candidate, true)
    }

    pub(super) fn exempts(&self, candidate: &Candidate<'_>, tracker: &DivergenceTracker) -> bool {
        let counts = |condition: &&Condition| match condition {
            Condition::Operations => false,
            // For a Namespace the labels of its namespace do not count in an exception.
            Condition::NamespaceSelector => !candidate.is_namespace(),
            _ => true,
        };
        let mut conditions = OF_OBJECT.iter().filter(counts).chain(&OF_USER);
        !self.is_empty(true)
            && conditions.all(|condition| self.holds(*condition, candidate))
            && (self.holds(Condition::Operations, candidate)
                || !tracker.documented(Divergence::ExceptionOperations))
    }

    fn matches(&self, candidate: &Candidate<'_>, users: bool) -> bool {
        // No loop over the conditions on objects, so that each is inlined: this decides for every object and rule.
        let holds = |condition| self.holds(condition, candidate);
        holds(Condition::Kinds)
            && holds(Condition::Name)
            && holds(Condition::Names)
            && holds(Condition::Namespaces)
            && holds(Condition::Operations)
            && holds(Condition::Annotations)
            && holds(Condition::Selector)
            && holds(Condition::NamespaceSelector)
            && (!users || OF_USER.iter().all(|condition| self.holds(*condition, candidate)))
    }

    /// Whether a condition holds; one that is not given does.
    #[inline(always)]
    fn holds(&self, condition: Condition, candidate: &Candidate<'_>) -> bool {
        let any =
            |patterns: &[Text], text: &str| patterns.iter().any(|pattern| pattern::matches(pattern, text));
        let has_role = |required: &[Text], roles: fn(&UserInfo) -> &Option<Vec<Text>>| {
            let roles = candidate.user.and_then(|user| roles(user).as_ref());
            required.is_empty() || roles.into_iter().flatten().any(|role| required.contains(role))
        };
        match condition {
            Condition::Operations => {
                self.operations.as_ref().is_none_or(|operations| candidate.has_operation_of(operations))
            }
            Condition::Kinds => self.may_match(candidate.kind, candidate.subresource),
            Condition::Name => self.name.is_empty() || pattern::matches(&self.name, candidate.name()),
            Condition::Names => self.names.is_empty() || any(&self.names, candidate.name()),
            Condition::Namespaces => {
                self.namespaces.is_empty() || any(&self.namespaces, candidate.namespace_or_name())
            }
            Condition::Annotations => {
                self.annotations.is_empty()
                    || annotations_match(&self.annotations, metadata(candidate, "annotations"))
            }
            Condition::Selector => {
                let selector = self.selector.as_ref();
                selector.is_none_or(|selector| satisfies(metadata(candidate, "labels"), selector))
            }
            Condition::NamespaceSelector => {
                let selector = self.namespace_selector.as_ref();
                selector.is_none_or(|selector| self.namespace_satisfies(selector, candidate))
            }
            Condition::Roles => has_role(&self.roles, |user| &user.roles),
            Condition::ClusterRoles => has_role(&self.cluster_roles, |user| &user.cluster_roles),
            Condition::Subjects => {
                let matches = |user: &UserInfo| self.subjects.iter().any(|subject| subject.matches(user));
                self.subjects.is_empty()
                    || candidate.user.map_or_else(|| matches(&UserInfo::default()), matches)
            }
        }
    }

    fn namespace_satisfies(&self, selector: &LabelSelector, candidate: &Candidate<'_>) -> bool {
        let is_for_all = || self.kinds.iter().any(|kind| &*kind.text == "*");
        !candidate.is_namespace()
            && (candidate.own_kind().is_empty() && !is_for_all()
                || satisfies(Labels::of(candidate.namespace_labels), selector))
    }

    /// The conditions that do not hold.
    fn failed(&self, candidate: &Candidate<'_>, users: bool) -> impl Iterator<Item = Condition> {
        let of_user = OF_USER.into_iter().filter(move |_| users);
        OF_OBJECT.into_iter().chain(of_user).filter(|condition| !self.holds(*condition, candidate))
    }

    /// Why the filter does not match, in the words of Kyverno.
    pub(super) fn mismatches(&self, candidate: &Candidate<'_>) -> Vec<String> {
        let users = knows_user(candidate);
        if self.is_empty(users) {
            return vec!["match cannot be empty".into()];
        }
        if !self.holds(Condition::Operations, candidate) {
            return vec!["operation does not match".into()];
        }
        self.failed(candidate, users).map(|condition| self.mismatch(condition, candidate)).collect()
    }

    fn mismatch(&self, condition: Condition, candidate: &Candidate<'_>) -> String {
        let of_selector = |selector: &Option<LabelSelector>, labels, what: &str, failed: &str| match selector
            .as_ref()
            .map(|selector| selector.matches(labels))
        {
            Some(Err(error)) => format!("failed to parse {what}: {error}"),
            _ => failed.to_owned(),
        };
        let of_user = |what| format!("user info does not match {what} for the given conditionBlock");
        match condition {
            Condition::Operations => "operation does not match".into(),
            Condition::Kinds => {
                let kinds: Vec<&str> = self.kinds.iter().map(|kind| &*kind.text).collect();
                format!("kind does not match [{}]", kinds.join(" "))
            }
            Condition::Name => "name does not match".into(),
            Condition::Names => "none of the names match".into(),
            Condition::Namespaces => "namespace does not match".into(),
            Condition::Annotations => "annotations does not match".into(),
            Condition::Selector => {
                let labels = metadata(candidate, "labels");
                of_selector(&self.selector, labels, "selector", "selector does not match")
            }
            Condition::NamespaceSelector if candidate.is_namespace() => {
                "namespace selector is not applicable for namespace resource".into()
            }
            Condition::NamespaceSelector => {
                let labels = Labels::of(candidate.namespace_labels);
                let failed = "namespace selector does not match labels";
                of_selector(&self.namespace_selector, labels, "namespace selector", failed)
            }
            Condition::Roles => of_user("roles"),
            Condition::ClusterRoles => of_user("clustersRoles"),
            Condition::Subjects => of_user("subject"),
        }
    }

    /// Why the filter does not match, with the values that it requires and the object has; empty if it matches.
    pub(super) fn mismatch_details(&self, candidate: &Candidate<'_>) -> Vec<String> {
        let users = knows_user(candidate);
        if self.is_empty(users) {
            return vec!["is empty, and so matches nothing".into()];
        }
        let mut failed: Vec<Condition> = self.failed(candidate, users).collect();
        // The kind comes first here.
        failed.sort_by_key(|condition| *condition != Condition::Kinds);
        failed.into_iter().flat_map(|condition| self.details(condition, candidate)).collect()
    }

    fn details(&self, condition: Condition, candidate: &Candidate<'_>) -> Vec<String> {
        vec![match condition {
            Condition::Operations => {
                let wanted = any_of(self.operations.as_deref().unwrap_or_default());
                match candidate.operation {
                    Some(operation) => format!("operation is `{operation}`, expected {wanted}"),
                    None => format!("there is no request when the policy changes, expected {wanted}"),
                }
            }
            Condition::Kinds => {
                let (kind, subresource) = (candidate.kind, candidate.subresource);
                let slash = if subresource.is_empty() { "" } else { "/" };
                let found = format!("{}/{}{slash}{subresource}", kind.api_version(), kind.kind);
                format!("kind is `{found}`, expected {}", any_of(&self.kind_texts()))
            }
            Condition::Name => format!("name is `{}`, expected `{}`", candidate.name(), self.name),
            Condition::Names => format!("name is `{}`, expected {}", candidate.name(), any_of(&self.names)),
            Condition::Namespaces => {
                format!("{}, expected {}", namespace_of(candidate), any_of(&self.namespaces))
            }
            Condition::Annotations => {
                let actual = metadata(candidate, "annotations");
                let missing =
                    self.annotations.iter().filter(|pair| !annotations_match(&[(*pair).clone()], actual));
                return missing
                    .map(|(key, value)| format!("no annotation matches `{key}: {value}`"))
                    .collect();
            }
            Condition::Selector => {
                let selector = self.selector.as_ref();
                return selector.map_or_else(Vec::new, |one| unmet(one, metadata(candidate, "labels")));
            }
            Condition::NamespaceSelector => return self.namespace_details(candidate),
            Condition::Roles => format!("the sender has no role of {}", all_of(&self.roles)),
            Condition::ClusterRoles => {
                format!("the sender has no cluster role of {}", all_of(&self.cluster_roles))
            }
            Condition::Subjects => {
                let name = candidate.user.map_or("", |user| &*user.username);
                format!("the sender `{name}` is none of the subjects")
            }
        }]
    }

    fn namespace_details(&self, candidate: &Candidate<'_>) -> Vec<String> {
        if candidate.is_namespace() {
            return vec!["a namespaceSelector never matches a Namespace".into()];
        }
        let namespace = candidate.namespace;
        let labels = Labels::of(candidate.namespace_labels);
        let details = self.namespace_selector.as_ref().map_or_else(Vec::new, |one| unmet(one, labels));
        if details.is_empty() {
            return details;
        }
        let details = details.join("; ");
        vec![if namespace.is_empty() {
            format!("it has no namespace: {details}")
        } else if candidate.namespace_labels.is_some() {
            format!("namespace `{namespace}`: {details}")
        } else {
            format!(
                "namespace `{namespace}`: {details} (its labels are unknown: pass the Namespace with -f, or --values)"
            )
        }]
    }

    fn kind_texts(&self) -> Vec<&Text> {
        self.kinds.iter().map(|kind| &kind.text).collect()
    }

    /// The conditions that are given, in words.
    pub(super) fn conditions(&self) -> Vec<String> {
        let name = Some(&self.name).filter(|name| !name.is_empty());
        let operations = self.operations.as_deref().unwrap_or_default();
        let lists = [
            ("kind", any_of(&self.kind_texts())),
            ("name", any_of(name.as_slice())),
            ("name", any_of(&self.names)),
            ("namespace", any_of(&self.namespaces)),
            ("operation", any_of(operations)),
        ];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        let annotations = self.annotations.iter().map(|(key, value)| format!("annotation `{key}: {value}`"));
        let others = [
            (self.selector.is_some(), "its labels"),
            (self.namespace_selector.is_some(), "the labels of its namespace"),
            (self.uses_user_info, "the sender"),
        ];
        let others = others.into_iter().filter(|(is_given, _)| *is_given).map(|(_, words)| words.to_owned());
        lists.map(|(what, list)| format!("{what} {list}")).chain(annotations).chain(others).collect()
    }
}

/// Whether something is known of the user who sends the request.
fn knows_user(candidate: &Candidate<'_>) -> bool {
    candidate.user.is_some_and(|user| !user.is_unknown())
}

fn metadata<'a>(candidate: &Candidate<'a>, field: &str) -> Labels<'a> {
    Labels::of(candidate.object.path(&["metadata", field]))
}

/// Whether labels satisfy a selector; none satisfy an invalid one.
fn satisfies(labels: Labels<'_>, selector: &LabelSelector) -> bool {
    selector.matches(labels).is_ok_and(|satisfied| satisfied)
}

/// The requirements of a selector that labels do not satisfy, in words.
fn unmet(selector: &LabelSelector, labels: Labels<'_>) -> Vec<String> {
    match selector.matches(labels) {
        Ok(true) => Vec::new(),
        Ok(false) => selector.mismatches(labels),
        Err(error) => vec![format!("the label selector cannot be used: {error}")],
    }
}

/// The namespace of a candidate, in words.
pub(super) fn namespace_of(candidate: &Candidate<'_>) -> String {
    let name = if candidate.is_namespace() {
        candidate.object.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default()
    } else {
        candidate.namespace
    };
    if name.is_empty() { "it has no namespace".into() } else { format!("namespace is `{name}`") }
}
