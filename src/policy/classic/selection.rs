//! `match` and `exclude`: which objects a rule takes.

use crate::pattern;
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{GroupVersionKind, Text, Value};

use super::subject::Subject;
use crate::policy::UserInfo;
use crate::policy::fields::{text_map, texts};
use crate::policy::index::IndexKey;
use crate::policy::kinds::KindSelector;
use crate::policy::labels::{LabelSelector, Labels, annotations_match};
use crate::policy::{Candidate, Operation};

/// A compiled `match` or `exclude`.
#[derive(Clone, Debug)]
pub struct Selection {
    pub(super) branch: Branch,
}

/// How the filters of a block work together.
#[derive(Clone, Debug)]
pub(super) enum Branch {
    Any(Vec<Filter>),
    All(Vec<Filter>),
    Direct(Box<Filter>),
}

/// One filter: its attributes must all hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    pub(super) kinds: Vec<KindSelector>,
    pub(super) name: Text,
    pub(super) names: Vec<Text>,
    pub(super) namespaces: Vec<Text>,
    pub(super) annotations: Vec<(Text, Text)>,
    pub(super) selector: Option<LabelSelector>,
    pub(super) namespace_selector: Option<LabelSelector>,
    pub(super) operations: Option<Vec<Operation>>,
    pub(super) roles: Vec<Text>,
    pub(super) cluster_roles: Vec<Text>,
    pub(super) subjects: Vec<Subject>,
    /// Whether any of the user attributes is given, also as an empty list.
    pub(super) asks_for_users: bool,
}

/// Collects why a filter does not hold; without a list the first reason ends the search.
type Reasons<'r> = Option<&'r mut Vec<String>>;

impl Selection {
    /// Compiles a block; parts of a wrong type, which the field table reports, are passed over.
    pub(super) fn read(block: &Value) -> Self {
        let filters = |name| -> Vec<Filter> {
            let list = block.get(name).and_then(Value::as_array).unwrap_or_default();
            list.iter().map(Filter::read).collect()
        };
        let (any, all) = (filters("any"), filters("all"));
        let branch = if !any.is_empty() {
            Branch::Any(any)
        } else if !all.is_empty() {
            Branch::All(all)
        } else {
            Branch::Direct(Box::new(Filter::read(block)))
        };
        Self { branch }
    }

    /// Whether the block asks for nothing.
    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.branch, Branch::Direct(filter) if filter.is_empty(true))
    }

    /// Whether a decision may need the labels of the object's namespace.
    pub fn uses_namespace_labels(&self) -> bool {
        self.filters().iter().any(|filter| filter.namespace_selector.is_some())
    }

    /// Whether the decision about objects of a kind may need the labels of their namespace.
    pub(super) fn needs_namespace_labels(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        self.filters()
            .iter()
            .any(|filter| filter.namespace_selector.is_some() && filter.may_take(kind, subresource))
    }

    /// Whether objects of a kind can fit.
    pub(super) fn may_take(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        let mut filters = self.filters().iter();
        match &self.branch {
            Branch::Any(_) | Branch::Direct(_) => filters.any(|filter| filter.may_take(kind, subresource)),
            Branch::All(_) => filters.all(|filter| filter.may_take(kind, subresource)),
        }
    }

    /// Whether a decision may need the labels or annotations of the object.
    pub fn uses_labels(&self) -> bool {
        let mut filters = self.filters().iter();
        filters.any(|filter| filter.selector.is_some() || !filter.annotations.is_empty())
    }

    /// Whether a decision may need to know who sends the request.
    pub fn uses_user_info(&self) -> bool {
        self.filters().iter().any(|filter| filter.asks_for_users)
    }

    /// Whether some filter names this operation.
    pub(super) fn names_operation(&self, operation: Operation) -> bool {
        let lists = self.filters().iter().filter_map(|filter| filter.operations.as_ref());
        lists.flatten().any(|named| *named == operation)
    }

    /// The kinds that can fit; `None` where a wildcard, or no kind at all, leaves them open.
    pub fn only_kinds(&self) -> Option<Vec<&Text>> {
        let kinds = |filter: &'_ Filter| -> bool {
            !filter.kinds.is_empty() && filter.kinds.iter().all(|kind| kind.only_kind().is_some())
        };
        let filters = match &self.branch {
            Branch::Any(filters) => filters.as_slice(),
            // Every filter must fit, so that one of them bounds the kinds.
            Branch::All(filters) => std::slice::from_ref(filters.iter().find(|filter| kinds(filter))?),
            Branch::Direct(filter) => std::slice::from_ref(&**filter),
        };
        if !filters.iter().all(kinds) {
            return None;
        }
        Some(filters.iter().flat_map(|filter| &filter.kinds).filter_map(KindSelector::only_kind).collect())
    }

    /// Index keys of which one holds of whatever the block takes as `match`; `None` where none is known.
    pub(super) fn index_keys(&self) -> Option<Vec<IndexKey<'_>>> {
        let filters = self.filters();
        match &self.branch {
            Branch::Any(_) | Branch::Direct(_) => {
                let all: Option<Vec<_>> = filters.iter().map(Filter::index_keys).collect();
                all.map(|all| all.concat())
            }
            // Every filter must hold, so that one of them is enough.
            Branch::All(_) => filters.iter().find_map(Filter::index_keys),
        }
    }

    /// Whether the block, read as the `match` of an exception, takes a candidate. What it asks of the sender
    /// is never left aside.
    pub(super) fn exempts(&self, candidate: &Candidate<'_>, tracker: &DivergenceTracker) -> bool {
        match &self.branch {
            Branch::Any(filters) => filters.iter().any(|filter| filter.exempts(candidate, tracker)),
            Branch::All(filters) => filters.iter().all(|filter| filter.exempts(candidate, tracker)),
            Branch::Direct(_) => false,
        }
    }

    /// The kinds that can fit, as they are written; `None` where some filter leaves them open.
    pub fn kind_selectors(&self) -> Option<Vec<&KindSelector>> {
        let filters = match &self.branch {
            Branch::All(filters) => {
                std::slice::from_ref(filters.iter().find(|filter| !filter.kinds.is_empty())?)
            }
            Branch::Any(_) | Branch::Direct(_) => self.filters(),
        };
        let open = filters.iter().any(|filter| filter.kinds.is_empty());
        (!open).then(|| filters.iter().flat_map(|filter| &filter.kinds).collect())
    }

    fn filters(&self) -> &[Filter] {
        match &self.branch {
            Branch::Any(filters) | Branch::All(filters) => filters,
            Branch::Direct(filter) => std::slice::from_ref(&**filter),
        }
    }

    /// Whether some filter names the kind and the operation of a candidate. Without operations a rule asks for those
    /// that create and update.
    pub(super) fn asks_for(&self, candidate: &Candidate<'_>) -> bool {
        const USUAL: &[Operation] = &[Operation::Create, Operation::Update];
        self.filters().iter().any(|filter| {
            !filter.kinds.is_empty()
                && filter.kinds_hold(candidate, None)
                && candidate.has_operation_of(filter.operations.as_deref().unwrap_or(USUAL))
        })
    }

    /// Whether one of several filters has no content at all.
    pub(super) fn has_blank(&self) -> bool {
        matches!(&self.branch, Branch::Any(filters) if filters.iter().any(Filter::is_blank))
    }

    /// Whether the block, read as `match`, takes a candidate.
    pub(super) fn includes(&self, candidate: &Candidate<'_>, mut reasons: Reasons<'_>) -> bool {
        match &self.branch {
            Branch::Any(filters) => {
                filters.iter().any(|filter| filter.includes(candidate, None))
                    || refuse(&mut reasons, || "no resource matched".into())
            }
            Branch::All(filters) => {
                let mut all = true;
                for filter in filters {
                    all &= filter.includes(candidate, reasons.as_deref_mut());
                    if !all && reasons.is_none() {
                        break;
                    }
                }
                all
            }
            Branch::Direct(filter) => filter.includes(candidate, reasons),
        }
    }

    /// Why the block, read as `exclude`, takes a candidate away; `None` where it does not.
    pub(super) fn excludes(&self, candidate: &Candidate<'_>) -> Option<&'static str> {
        let filters = self.filters();
        let hit = |filter: &Filter| !filter.is_empty(true) && filter.holds(candidate, true, None);
        match &self.branch {
            Branch::Any(_) | Branch::Direct(_) => {
                filters.iter().any(hit).then_some("resource excluded since one of the criteria excluded it")
            }
            Branch::All(_) => filters
                .iter()
                .all(hit)
                .then_some("resource excluded since the combination of all criteria exclude it"),
        }
    }
}

impl Filter {
    /// Whether the kinds it names, if any, have this one among them.
    fn may_take(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|named| named.matches(kind, subresource, true))
    }

    /// Index keys of which one holds of whatever the filter takes.
    fn index_keys(&self) -> Option<Vec<IndexKey<'_>>> {
        let of = |patterns: &'_ [Text]| {
            !patterns.is_empty() && patterns.iter().all(|pattern| IndexKey::is_pattern(pattern))
        };
        if !self.name.is_empty() && IndexKey::is_pattern(&self.name) {
            Some(vec![IndexKey::Name(&self.name)])
        } else if of(&self.names) {
            Some(self.names.iter().map(IndexKey::Name).collect())
        } else if of(&self.namespaces) {
            Some(self.namespaces.iter().map(IndexKey::Namespace).collect())
        } else {
            self.selector.as_ref()?.index_keys()
        }
    }

    fn read(filter: &Value) -> Self {
        let resources = filter.get("resources");
        let part = |name| resources.and_then(|resources| resources.get(name)).filter(|part| !part.is_null());
        let operations = texts(part("operations"));
        let given = |name| filter.get(name).is_some_and(|value| !value.is_null());
        let list = filter.get("subjects").and_then(Value::as_array).unwrap_or_default();
        Self {
            kinds: texts(part("kinds")).iter().map(|kind| KindSelector::parse(kind)).collect(),
            name: part("name").and_then(Value::as_text).cloned().unwrap_or_default(),
            names: texts(part("names")),
            namespaces: texts(part("namespaces")),
            annotations: text_map(part("annotations")),
            selector: part("selector").map(LabelSelector::read),
            namespace_selector: part("namespaceSelector").map(LabelSelector::read),
            operations: (!operations.is_empty())
                .then(|| operations.iter().filter_map(|operation| Operation::parse(operation)).collect()),
            roles: texts(filter.get("roles")),
            cluster_roles: texts(filter.get("clusterRoles")),
            subjects: list.iter().map(Subject::read).collect(),
            asks_for_users: given("roles") || given("clusterRoles") || given("subjects"),
        }
    }

    /// Whether no attribute is given; without `users` those that ask for the sender do not count.
    pub(super) fn is_empty(&self, users: bool) -> bool {
        self.kinds.is_empty()
            && self.name.is_empty()
            && self.names.is_empty()
            && self.namespaces.is_empty()
            && self.annotations.is_empty()
            && self.selector.is_none()
            && self.namespace_selector.is_none()
            && self.operations.is_none()
            && !(users && self.asks_for_users)
    }

    /// Whether no attribute has a content, those that ask for the sender included.
    fn is_blank(&self) -> bool {
        self.is_empty(false)
            && self.roles.is_empty()
            && self.cluster_roles.is_empty()
            && self.subjects.is_empty()
    }

    pub(super) fn includes(&self, candidate: &Candidate<'_>, mut reasons: Reasons<'_>) -> bool {
        let users = candidate.user.is_some_and(|user| !user.is_unknown());
        if self.is_empty(users) {
            return refuse(&mut reasons, || "match cannot be empty".into());
        }
        self.holds(candidate, users, reasons)
    }

    fn exempts(&self, candidate: &Candidate<'_>, tracker: &DivergenceTracker) -> bool {
        if self.is_empty(true) {
            return false;
        }
        let labels = match &self.namespace_selector {
            // An exception does not ask a Namespace for the labels of its namespace.
            Some(_) if candidate.is_namespace() => {
                Self { namespace_selector: None, ..self.clone() }.labels_hold(candidate, None)
            }
            _ => self.labels_hold(candidate, None),
        };
        let operation = self.operations.as_ref().is_none_or(|all| candidate.has_operation_of(all));
        self.kinds_hold(candidate, None)
            && self.names_hold(candidate, None)
            && labels
            && self.users_hold(candidate.user, None)
            && (operation || !tracker.documented(Divergence::ExceptionOperations))
    }

    pub(super) fn holds(&self, candidate: &Candidate<'_>, users: bool, mut reasons: Reasons<'_>) -> bool {
        if self.operations.as_ref().is_some_and(|operations| !candidate.has_operation_of(operations)) {
            return refuse(&mut reasons, || "operation does not match".into());
        }
        let mut all = true;
        for check in [Self::kinds_hold, Self::names_hold, Self::labels_hold] {
            all &= check(self, candidate, reasons.as_deref_mut());
            if !all && reasons.is_none() {
                return false;
            }
        }
        if users {
            all &= self.users_hold(candidate.user, reasons);
        }
        all
    }

    fn kinds_hold(&self, candidate: &Candidate<'_>, mut reasons: Reasons<'_>) -> bool {
        self.kinds.is_empty()
            || self.kinds.iter().any(|kind| kind.matches(candidate.kind, candidate.subresource, true))
            || refuse(&mut reasons, || {
                let kinds: Vec<&str> = self.kinds.iter().map(|kind| &*kind.text).collect();
                format!("kind does not match [{}]", kinds.join(" "))
            })
    }

    fn names_hold(&self, candidate: &Candidate<'_>, mut reasons: Reasons<'_>) -> bool {
        let mut all = true;
        let any = |patterns: &[Text], text: &str| patterns.iter().any(|entry| pattern::matches(entry, text));
        if !self.name.is_empty() && !pattern::matches(&self.name, candidate.name()) {
            all = refuse(&mut reasons, || "name does not match".into());
        }
        if !self.names.is_empty() && !any(&self.names, candidate.name()) {
            all = refuse(&mut reasons, || "none of the names match".into());
        }
        if !self.namespaces.is_empty() && !any(&self.namespaces, candidate.namespace_or_name()) {
            all = refuse(&mut reasons, || "namespace does not match".into());
        }
        all
    }

    fn labels_hold(&self, candidate: &Candidate<'_>, mut reasons: Reasons<'_>) -> bool {
        let mut all = true;
        let metadata = |name| Labels::of(candidate.object.path(&["metadata", name]));
        if !self.annotations.is_empty() && !annotations_match(&self.annotations, metadata("annotations")) {
            all = refuse(&mut reasons, || "annotations does not match".into());
        }
        if let Some(selector) = &self.selector {
            all &= match selector.matches(metadata("labels")) {
                Ok(true) => true,
                Ok(false) => refuse(&mut reasons, || "selector does not match".into()),
                Err(error) => refuse(&mut reasons, || format!("failed to parse selector: {error}")),
            };
        }
        if let Some(selector) = &self.namespace_selector {
            all &= self.namespace_holds(selector, candidate, reasons);
        }
        all
    }

    fn namespace_holds(
        &self,
        selector: &LabelSelector,
        candidate: &Candidate<'_>,
        mut reasons: Reasons<'_>,
    ) -> bool {
        if candidate.is_namespace() {
            return refuse(&mut reasons, || {
                "namespace selector is not applicable for namespace resource".into()
            });
        }
        if candidate.own_kind().is_empty() && !self.kinds.iter().any(|kind| &*kind.text == "*") {
            return true;
        }
        match selector.matches(Labels::of(candidate.namespace_labels)) {
            Ok(true) => true,
            Ok(false) => refuse(&mut reasons, || "namespace selector does not match labels".into()),
            Err(error) => refuse(&mut reasons, || format!("failed to parse namespace selector: {error}")),
        }
    }

    fn users_hold(&self, user: Option<&UserInfo>, mut reasons: Reasons<'_>) -> bool {
        let nobody = UserInfo::default();
        let user = user.unwrap_or(&nobody);
        let shares = |wanted: &[Text], held: Option<&Vec<Text>>| {
            wanted.is_empty() || held.into_iter().flatten().any(|role| wanted.contains(role))
        };
        let mut all = true;
        let mut check = |holds: bool, what: &str| {
            if !holds {
                all = refuse(&mut reasons, || {
                    format!("user info does not match {what} for the given conditionBlock")
                });
            }
        };
        check(shares(&self.roles, user.roles.as_ref()), "roles");
        check(shares(&self.cluster_roles, user.cluster_roles.as_ref()), "clustersRoles");
        check(
            self.subjects.is_empty() || self.subjects.iter().any(|subject| subject.matches(user)),
            "subject",
        );
        all
    }
}

/// Notes a reason where reasons are collected; always `false`.
fn refuse(reasons: &mut Reasons<'_>, reason: impl FnOnce() -> String) -> bool {
    if let Some(reasons) = reasons {
        reasons.push(reason());
    }
    false
}
