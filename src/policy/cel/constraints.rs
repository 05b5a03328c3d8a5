//! Which requests a policy is for.

use crate::policy::fields::{any_of, given, list, string, texts};
use crate::policy::labels::{LabelSelector, Labels};
use crate::policy::{Candidate, IndexKey, Operation, nearest};
use crate::resources::{ApiResource, Resources, is_built_into_kubernetes, plural};
use crate::value::{GroupVersionKind, Text, Value};

use super::CelPolicyKind;

/// Groups and resources that the API server shows to no policy: to change them may break a cluster.
///
/// See `pkg/kubeapiserver/admission/exclusion/resources.go` of Kubernetes.
const HIDDEN: &[(&str, &str)] = &[
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

/// Which requests a policy or binding is for.
#[derive(Clone, Debug, Default)]
pub struct MatchConstraints {
    /// The requests. None: all.
    pub rules: Vec<ResourceRule>,
    /// The requests that it is not for, whatever the rules say.
    pub excluded: Vec<ResourceRule>,
    pub(super) namespace_selector: Option<LabelSelector>,
    pub(super) object_selector: Option<LabelSelector>,
    /// Whether a cluster converts objects of other versions of the resources, and then selects them.
    pub is_equivalent: bool,
    /// Whether Kyverno compares them, not the API server. In Kyverno a name may match the beginning of a generated one.
    pub(super) is_of_kyverno: bool,
    /// The plurals of the resources; `None` for any.
    pub(super) plurals: Option<Vec<Text>>,
    /// Patterns of which one matches each name; `None` for any name.
    pub(super) name_keys: Option<Vec<Text>>,
}

/// Requests by resource, operation and name.
#[derive(Clone, Debug, Default)]
pub struct ResourceRule {
    /// API groups; `*` is any.
    pub groups: Vec<Text>,
    /// API versions; `*` is any.
    pub versions: Vec<Text>,
    /// Resources and subresources: `pods`, `pods/status`, `*`, `pods/*`, `*/status`, `*/*`.
    pub resources: Vec<Text>,
    /// Operations; `None` is any.
    pub operations: Option<Vec<Operation>>,
    /// Names of objects. None: all.
    pub names: Vec<Text>,
    /// The scope of the resources.
    pub scope: RuleScope,
}

/// The scope of the resources of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuleScope {
    /// Both.
    #[default]
    Any,
    /// Cluster-scoped resources, and namespaces.
    Cluster,
    /// Resources in namespaces.
    Namespaced,
}

impl MatchConstraints {
    /// Reads the constraints of a policy of a kind, or of its targets or bindings.
    pub(super) fn read(value: &Value, kind: CelPolicyKind) -> Self {
        let rules = |field: &str| list(value, field).iter().map(ResourceRule::read).collect();
        let selector = |field: &str| {
            given(value, field).map(LabelSelector::read_plain).filter(|selector| !selector.is_empty())
        };
        let read: Vec<ResourceRule> = rules("resourceRules");
        Self {
            plurals: plurals(&read),
            name_keys: name_keys(&read, kind.is_of_kyverno()),
            rules: read,
            excluded: rules("excludeResourceRules"),
            namespace_selector: selector("namespaceSelector"),
            object_selector: selector("objectSelector"),
            is_equivalent: string(value, "matchPolicy") != "Exact",
            is_of_kyverno: kind.is_of_kyverno(),
        }
    }

    /// Whether a request is selected. `old` is the stored object of an update.
    pub fn selects(&self, candidate: &Candidate<'_>, old: Option<&Value>) -> bool {
        self.selects_namespace(candidate) && self.selects_request(candidate, old)
    }

    /// The same for requests of all operations.
    #[must_use]
    pub fn for_any_operation(&self) -> Self {
        let any = |rule: &ResourceRule| ResourceRule { operations: None, ..rule.clone() };
        let [rules, excluded] = [&self.rules, &self.excluded].map(|rules| rules.iter().map(any).collect());
        Self { rules, excluded, ..self.clone() }
    }

    /// The same as Kyverno's background controller looks up targets, if that may be something else: `*` names no group,
    /// version or resource, and the empty group is any.
    pub fn looked_up(&self) -> Option<Self> {
        let rules: Vec<ResourceRule> = self.rules.iter().map(ResourceRule::looked_up).collect();
        let is_same = rules.iter().zip(&self.rules).all(|(one, other)| one.is_for_the_same(other));
        (!is_same).then(|| Self { plurals: plurals(&rules), rules, ..self.clone() })
    }

    /// The same as Kyverno's documentation has it, where a name is no beginning of a generated one.
    pub fn selects_as_documented(&self, candidate: &Candidate<'_>, old: Option<&Value>) -> bool {
        if !self.names_may_be_generated(candidate) {
            return self.selects(candidate, old);
        }
        let is_for = |rule: &ResourceRule| rule.names.is_empty() && self.is_for(rule, candidate);
        self.selects_namespace(candidate)
            && self.selects_object(candidate, old)
            && !self.excluded.iter().any(is_for)
            && (self.rules.is_empty() || self.rules.iter().any(is_for))
    }

    /// Whether a request is selected, whatever the labels of its namespace.
    fn selects_request(&self, candidate: &Candidate<'_>, old: Option<&Value>) -> bool {
        self.sees(candidate)
            && self.selects_object(candidate, old)
            && !self.excludes(candidate)
            && (self.rules.is_empty() || self.rules.iter().any(|rule| self.is_for(rule, candidate)))
    }

    /// Whether policies see the resource at all.
    fn sees(&self, candidate: &Candidate<'_>) -> bool {
        let Candidate { kind, resource, .. } = candidate;
        self.is_of_kyverno || !HIDDEN.iter().any(|(group, name)| **group == *kind.group && name == resource)
    }

    /// Whether a request is excluded. For the API server it may be so once its object is converted.
    fn excludes(&self, candidate: &Candidate<'_>) -> bool {
        let is_converted = self.is_equivalent && !self.is_of_kyverno;
        self.excluded.iter().any(|rule| {
            self.is_for(rule, candidate) || is_converted && self.conversion(rule, candidate).is_some()
        })
    }

    /// Whether rules have names, and the object has none but one that is to be generated.
    pub fn names_may_be_generated(&self, candidate: &Candidate<'_>) -> bool {
        let is_unnamed = || {
            let name = candidate.object.path(&["metadata", "name"]).and_then(Value::as_str);
            name.is_none_or(str::is_empty)
        };
        self.is_of_kyverno
            && self.rules.iter().chain(&self.excluded).any(|rule| !rule.names.is_empty())
            && is_unnamed()
    }

    /// Whether the labels of the namespace decide about a request. `old` is the stored object of an update.
    pub fn depends_on_namespace(&self, candidate: &Candidate<'_>, old: Option<&Value>) -> bool {
        self.uses_namespace_labels() && self.selects_request(candidate, old)
    }

    /// The API version to which a cluster converts the object before the policy sees it; `None` if a rule is for the
    /// object as it is, or for none of its versions. Of built-in resources the versions are known.
    pub fn converted_to(&self, candidate: &Candidate<'_>, old: Option<&Value>) -> Option<Text> {
        if !self.is_equivalent
            || !self.sees(candidate)
            || !self.selects_namespace(candidate)
            || !self.selects_object(candidate, old)
            || self.excludes(candidate)
            || self.rules.iter().any(|rule| self.is_for(rule, candidate))
        {
            return None;
        }
        self.rules.iter().find_map(|rule| self.conversion(rule, candidate))
    }

    /// The other API version of the object for which a rule is.
    fn conversion(&self, rule: &ResourceRule, candidate: &Candidate<'_>) -> Option<Text> {
        let own = candidate.kind;
        if !self.is_for_any_version(rule, candidate) {
            return None;
        }
        if !is_built_into_kubernetes(&own.group) {
            let is_of_group = has(&rule.groups, &own.group) && !has(&rule.versions, &own.version);
            return rule.versions.first().filter(|_| is_of_group).cloned();
        }
        let is_other = |kind: &GroupVersionKind| (&kind.group, &kind.version) != (&own.group, &own.version);
        let is_of_rule =
            |kind: &GroupVersionKind| has(&rule.groups, &kind.group) && has(&rule.versions, &kind.version);
        let served = Resources::built_in().iter().filter(|one| *one.plural == *candidate.resource);
        let mut kinds = served.map(|one| &one.kind).filter(|kind| is_other(kind) && is_of_rule(kind));
        let found = kinds.find(|kind| is_same_resource(kind, own))?;
        Some(if found.group == own.group { found.version.clone() } else { found.api_version().into() })
    }

    /// Whether they are one rule for resources, without names, exclusions and selectors.
    pub fn is_one_plain_rule(&self) -> bool {
        let is_plain = matches!(&*self.rules, [rule] if rule.names.is_empty()) && self.excluded.is_empty();
        is_plain && self.namespace_selector.is_none() && self.object_selector.is_none()
    }

    /// The labels that the selectors for objects and for namespaces use, each with the values that they name.
    pub fn named_labels(&self) -> [Vec<(Text, Vec<Text>)>; 2] {
        [&self.object_selector, &self.namespace_selector]
            .map(|selector| selector.as_ref().map_or_else(Vec::new, LabelSelector::named_values))
    }

    /// Why a request is not selected; empty if it is.
    pub fn mismatch(&self, candidate: &Candidate<'_>, old: Option<&Value>) -> Vec<String> {
        let mut reasons = Vec::new();
        if !self.selects_namespace(candidate) {
            let labels =
                if is_namespace(candidate) { labels(candidate.object) } else { candidate.namespace_labels };
            let unmet = self.namespace_selector.iter().flat_map(|one| one.mismatches(Labels::of(labels)));
            reasons.extend(unmet.map(|unmet| format!("namespace: {unmet}")));
        }
        if !self.selects_object(candidate, old) {
            let selector = self.object_selector.iter();
            reasons.extend(selector.flat_map(|one| one.mismatches(Labels::of(labels(candidate.object)))));
        }
        if !self.sees(candidate) {
            reasons.push("the API server shows reviews of access to no policy".to_owned());
        }
        if self.excludes(candidate) {
            reasons.push("a rule of excludeResourceRules is for it".to_owned());
        }
        if !self.rules.is_empty() && !self.rules.iter().any(|rule| self.is_for(rule, candidate)) {
            match &*self.rules {
                [rule] => reasons.extend(self.rule_mismatch(rule, candidate)),
                rules => reasons.push(format!("none of its {} resource rules is for it", rules.len())),
            }
        }
        reasons
    }

    /// Why a rule is not for a request.
    fn rule_mismatch(&self, rule: &ResourceRule, candidate: &Candidate<'_>) -> Vec<String> {
        let Candidate { kind, resource, subresource, operation, .. } = candidate;
        let mut reasons = Vec::new();
        let mut differs = |what: &str, found: &str, expected: &[Text]| {
            reasons.push(format!("{what} is `{found}`, expected {}", any_of(expected)));
        };
        if !has(&rule.groups, &kind.group) {
            differs("API group", &kind.group, &rule.groups);
        } else if !has(&rule.versions, &kind.version) {
            differs("API version", &kind.version, &rule.versions);
            if self.is_equivalent {
                reasons.push("a cluster would convert the object (matchPolicy Equivalent)".to_owned());
            }
        }
        let mut differs = |what: &str, found: &str, expected: &[Text]| {
            reasons.push(format!("{what} is `{found}`, expected {}", any_of(expected)));
        };
        if !rule.selects_resource(resource, subresource) {
            let separator = if subresource.is_empty() { "" } else { "/" };
            differs("resource", &format!("{resource}{separator}{subresource}"), &rule.resources);
        }
        if let Some(operations) = &rule.operations
            && !candidate.has_operation_of(operations)
        {
            let expected: Vec<Text> = operations.iter().map(|operation| operation.name().into()).collect();
            differs("operation", operation.map_or("", Operation::name), &expected);
        }
        if !self.is_named(rule, candidate) {
            differs("name", candidate.name(), &rule.names);
        }
        if !rule.scope.has(candidate) {
            reasons.push("its scope is another".to_owned());
        }
        reasons
    }

    /// The names of resources that do not exist, each with the built-in resource that is meant.
    pub fn misnamed(&self) -> Vec<(&Text, &'static ApiResource)> {
        let names = self.rules.iter().flat_map(|rule| rule.resources.iter().map(|name| (&rule.groups, name)));
        let unknown = names.filter(|(groups, name)| !name.contains(['/', '*']) && !is_plural(groups, name));
        unknown.filter_map(|(groups, name)| Some((name, meant_resource(groups, name)?))).collect()
    }

    /// Index keys of which one holds for every request that is selected; `None` if there are none.
    pub(super) fn index_keys(&self) -> Option<Vec<IndexKey<'_>>> {
        let keys = self.name_keys.as_ref()?;
        // What is not known is reported for every object.
        (!self.uses_namespace_labels()).then(|| keys.iter().map(IndexKey::Name).collect())
    }

    /// Whether objects of a kind may be selected. `subresource` is empty for objects themselves.
    pub(super) fn may_select(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        // The resource of a custom kind is not known here.
        let is_known = is_built_into_kubernetes(&kind.group);
        let plural = plural(&kind.group, &kind.kind);
        self.rules.is_empty()
            || self.rules.iter().any(|rule| {
                has(&rule.groups, &kind.group) && (!is_known || rule.selects_resource(&plural, subresource))
            })
    }

    fn selects_namespace(&self, candidate: &Candidate<'_>) -> bool {
        let Some(selector) = &self.namespace_selector else { return true };
        let labels = if is_namespace(candidate) {
            labels(candidate.object)
        } else if candidate.namespace.is_empty() {
            return true;
        } else {
            candidate.namespace_labels
        };
        selector.matches(Labels::of(labels)).unwrap_or_default()
    }

    fn selects_object(&self, candidate: &Candidate<'_>, old: Option<&Value>) -> bool {
        let Some(selector) = &self.object_selector else { return true };
        let mut states = [Some(candidate.object), old].into_iter().flatten();
        states.any(|state| selector.matches(Labels::of(labels(state))).unwrap_or_default())
    }

    fn is_for(&self, rule: &ResourceRule, candidate: &Candidate<'_>) -> bool {
        has(&rule.groups, &candidate.kind.group)
            && has(&rule.versions, &candidate.kind.version)
            && self.is_for_any_version(rule, candidate)
    }

    /// Whether a rule is for a request, whatever its API group and version.
    fn is_for_any_version(&self, rule: &ResourceRule, candidate: &Candidate<'_>) -> bool {
        rule.selects_resource(candidate.resource, candidate.subresource)
            && rule.operations.as_ref().is_none_or(|operations| candidate.has_operation_of(operations))
            && rule.scope.has(candidate)
            && self.is_named(rule, candidate)
    }

    /// Whether a rule is for objects of this name.
    fn is_named(&self, rule: &ResourceRule, candidate: &Candidate<'_>) -> bool {
        let text = |field| candidate.object.path(&["metadata", field]).and_then(Value::as_str);
        let filled = |field| text(field).filter(|text: &&str| !text.is_empty());
        let mut names = rule.names.iter();
        rule.names.is_empty()
            || match (filled("name"), filled("generateName")) {
                (Some(name), _) => names.any(|one| **one == *name),
                (None, Some(prefix)) => self.is_of_kyverno && names.any(|one| prefix.starts_with(&**one)),
                (None, None) => false,
            }
    }
}

/// Whether two built-in kinds of one plural are versions of the same resource. Events are in two groups.
fn is_same_resource(one: &GroupVersionKind, other: &GroupVersionKind) -> bool {
    let is_event = |kind: &GroupVersionKind| &*kind.kind == "Event";
    one.group == other.group || is_event(one) && is_event(other)
}

/// The built-in resources of API groups; `*` is any group.
fn built_in(groups: &[Text]) -> impl Iterator<Item = &'static ApiResource> {
    Resources::built_in().iter().filter(|resource| has(groups, &resource.kind.group))
}

/// Whether a name is the plural of a built-in resource of some groups.
pub(super) fn is_plural(groups: &[Text], name: &str) -> bool {
    built_in(groups).any(|resource| *resource.plural == *name)
}

/// The built-in resource that a name means that is no plural: a kind, a short name, a misspelt plural.
pub(super) fn meant_resource(groups: &[Text], name: &str) -> Option<&'static ApiResource> {
    let is_short = |resource: &&ApiResource| resource.short_names.iter().any(|short| **short == *name);
    let named = built_in(groups).find(|resource| resource.is_named(name) || is_short(resource));
    named.or_else(|| {
        let plural = nearest(name, built_in(groups).map(|resource| &*resource.plural))?;
        built_in(groups).find(|resource| *resource.plural == *plural)
    })
}

/// Whether a list has a value, or `*`.
fn has(list: &[Text], value: &str) -> bool {
    list.iter().any(|one| **one == *"*" || **one == *value)
}

fn labels(object: &Value) -> Option<&Value> {
    object.path(&["metadata", "labels"])
}

fn is_namespace(candidate: &Candidate<'_>) -> bool {
    (&*candidate.kind.group, &*candidate.kind.kind) == ("", "Namespace")
}

/// The plurals of the resources of rules; `None` for any.
fn plurals(rules: &[ResourceRule]) -> Option<Vec<Text>> {
    let patterns = rules.iter().flat_map(|rule| &rule.resources);
    let mut names: Vec<Text> =
        patterns.map(|pattern| pattern.split('/').next().unwrap_or_default().into()).collect();
    names.sort_unstable();
    names.dedup();
    (!rules.is_empty() && !names.iter().any(|name| **name == *"*")).then_some(names)
}

/// Patterns of which one matches the name of each object of the rules, or the prefix that it is generated from.
fn name_keys(rules: &[ResourceRule], matches_generated_names: bool) -> Option<Vec<Text>> {
    let are_named = !rules.is_empty() && rules.iter().all(|rule| !rule.names.is_empty());
    let names = rules.iter().flat_map(|rule| &rule.names);
    if !are_named || names.clone().any(|name| !IndexKey::is_pattern(name)) {
        return None;
    }
    let key = |name: &Text| if matches_generated_names { format!("{name}*").into() } else { name.clone() };
    Some(names.map(key).collect())
}

impl ResourceRule {
    fn read(value: &Value) -> Self {
        let operations = texts(value.get("operations"));
        let is_any = operations.iter().any(|operation| **operation == *"*");
        Self {
            groups: texts(value.get("apiGroups")),
            versions: texts(value.get("apiVersions")),
            resources: texts(value.get("resources")),
            operations: (!is_any)
                .then(|| operations.iter().filter_map(|operation| Operation::parse(operation)).collect()),
            names: texts(value.get("resourceNames")),
            scope: match string(value, "scope") {
                "Cluster" => RuleScope::Cluster,
                "Namespaced" => RuleScope::Namespaced,
                _ => RuleScope::Any,
            },
        }
    }

    /// The same with what a look-up by names finds.
    fn looked_up(&self) -> Self {
        let is_any = |name: &Text| **name == *"*";
        let named = |names: &[Text]| names.iter().filter(|name| !is_any(name)).cloned().collect();
        let is_for_all = |resource: &Text| resource.split('/').next() == Some("*");
        let group = |group: &Text| if group.is_empty() { "*".into() } else { group.clone() };
        Self {
            groups: self.groups.iter().filter(|name| !is_any(name)).map(group).collect(),
            versions: named(&self.versions),
            resources: self.resources.iter().filter(|resource| !is_for_all(resource)).cloned().collect(),
            ..self.clone()
        }
    }

    /// Whether both have the same groups, versions and resources.
    fn is_for_the_same(&self, other: &Self) -> bool {
        (&self.groups, &self.versions, &self.resources) == (&other.groups, &other.versions, &other.resources)
    }

    /// Whether it may select objects of a resource.
    pub fn is_of(&self, resource: &ApiResource) -> bool {
        let GroupVersionKind { group, version, .. } = &resource.kind;
        has(&self.groups, group)
            && has(&self.versions, version)
            && self.selects_resource(&resource.plural, "")
    }

    /// Whether a resource or subresource is one of this rule. `pods/*` is also for Pods themselves.
    pub fn selects_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|pattern| {
            let (main, sub) = pattern.split_once('/').unwrap_or((pattern, ""));
            (main == "*" || main == resource) && (sub == subresource || sub == "*")
        })
    }
}

impl RuleScope {
    fn has(self, candidate: &Candidate<'_>) -> bool {
        let is_of_cluster = candidate.namespace.is_empty() || is_namespace(candidate);
        match self {
            Self::Any => true,
            Self::Cluster => is_of_cluster,
            Self::Namespaced => !is_of_cluster,
        }
    }
}
