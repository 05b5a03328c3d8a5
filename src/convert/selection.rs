//! `match` and `exclude` as resource rules and conditions.

use crate::policy::selector_error;
use crate::resources::{KindScope, Resources};
use crate::value::{Pointer, Value};

use super::cel_text::{Cel, Operator};
use super::conditions::Tests;
use super::expression::holds_variables;
use super::kinds::{Kind, kinds};
use super::problem::{self, MAX_PARTS, Problem, Refusal};
use super::text_match::wildcard;

/// What a rule is for.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub(super) kinds: Vec<Kind>,
    /// The operations that all blocks of `match` name.
    pub(super) tests: Tests,
    /// The selector of namespaces that all blocks share, for `matchConstraints`.
    pub(super) namespace_selector: Option<Value>,
}

/// The objects that a policy mutates, instead of the one of the request.
#[derive(Clone, Debug)]
pub(super) struct Targets {
    pub(super) kind: Kind,
    /// What finds them.
    pub(super) lookup: Cel,
    pub(super) tests: Tests,
    /// Its number among the targets of the rule.
    pub(super) number: usize,
    /// Whether a classic policy runs the rule when it is created or changed.
    pub(super) on_policy_update: bool,
}

impl Targets {
    /// The expressions about them.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &Cel> {
        std::iter::once(&self.lookup).chain(self.tests.tests.iter().map(|test| &test.cel))
    }
}

/// A block of `match` or `exclude`.
struct Filter {
    /// `None` if it names no kinds.
    kinds: Option<Vec<Kind>>,
    operations: Option<Vec<String>>,
    tests: Vec<Cel>,
    namespace_selector: Option<Value>,
}

struct Reader<'r> {
    resources: &'r Resources,
    /// The rule.
    at: &'r Pointer,
    is_native: bool,
    is_namespaced: bool,
    /// The kind selectors that stand for `Pod`, beside it.
    generated: &'r [String],
}

/// Reads `match` and `exclude` of a rule.
pub(super) fn selection(
    rule: &Value,
    at: &Pointer,
    resources: &Resources,
    (is_native, is_namespaced): (bool, bool),
    generated: &[String],
) -> Result<Selection, Refusal> {
    let reader = Reader { resources, at, is_native, is_namespaced, generated };
    let (filters, is_any) = reader.filters(rule, "match")?;
    let mut selection = if is_any { one_of(filters, at) } else { all_of(filters, at) }?;
    if rule.get("exclude").is_some_and(|exclude| !exclude.is_null()) {
        let (filters, is_any) = reader.filters(rule, "exclude")?;
        let at = at.key("exclude");
        let mut excluded = Vec::new();
        for filter in filters {
            let test = filter.whole_test(&selection.kinds, &at)?;
            if !test.is_false() {
                excluded.push(test);
            }
        }
        if !is_any && !excluded.is_empty() {
            excluded = vec![Cel::all(excluded)];
        }
        for test in excluded {
            let test = test.negated();
            if test.is_false() {
                let problem = Problem::new("`exclude`", "it excludes everything", "remove the rule");
                return Err(problem.at(&at));
            }
            selection.tests.push(test, false, &at);
        }
    }
    Ok(selection)
}

/// An object must match one block.
fn one_of(filters: Vec<Filter>, at: &Pointer) -> Result<Selection, Refusal> {
    let at = at.key("match");
    let mut all_kinds: Vec<Kind> = Vec::new();
    for filter in &filters {
        for kind in filter.kinds.iter().flatten() {
            if !all_kinds.contains(kind) {
                all_kinds.push(kind.clone());
            }
        }
    }
    let mut tests = Tests::default();
    let Some(first) = filters.first() else {
        return Err(Problem::new("`match`", "it is empty", "name kinds").at(&at));
    };
    let same = |filter: &Filter| {
        filter.tests == first.tests
            && filter.operations == first.operations
            && filter.namespace_selector == first.namespace_selector
    };
    if filters.iter().any(|filter| filter.kinds.is_none()) {
        let problem = Problem::new(
            "a block of `match` without kinds",
            "it is for every kind, and the resource rules of a CEL policy must name them",
            "name the kinds",
        );
        return Err(problem.at(&at));
    }
    let mut namespace_selector = None;
    if filters.iter().all(same) {
        if let Some(operations) = &first.operations {
            tests.restrict(operations);
        }
        for test in &first.tests {
            tests.push(test.clone(), false, &at);
        }
        namespace_selector.clone_from(&first.namespace_selector);
        if let Some(selector) = &namespace_selector {
            let problem = |problem: Problem| problem.at(&at);
            if all_kinds.iter().any(|kind| kind.scope == KindScope::Cluster || kind.is_any()) {
                // A webhook does not apply the selector to objects of the cluster.
                let test = first.namespace_test(selector, &all_kinds).map_err(problem)?;
                tests.push(test, false, &at);
                namespace_selector = None;
            } else if has_wildcards(selector) {
                let test = selector_test(selector, &namespace_labels()).map_err(problem)?;
                tests.push(test, false, &at);
                namespace_selector = None;
            }
        }
    } else {
        let mut alternatives = Vec::new();
        for filter in &filters {
            alternatives.push(filter.whole_test(&all_kinds, &at)?);
        }
        tests.push(Cel::any(alternatives), false, &at);
    }
    Ok(Selection { kinds: all_kinds, tests, namespace_selector })
}

/// An object must match all blocks.
fn all_of(filters: Vec<Filter>, at: &Pointer) -> Result<Selection, Refusal> {
    let mut kinds: Option<Vec<Kind>> = None;
    let mut operations: Option<Vec<String>> = None;
    let mut tests = Vec::new();
    let mut namespace_selectors = Vec::new();
    for filter in filters {
        if let Some(named) = filter.kinds {
            kinds = Some(match kinds {
                None => named,
                Some(known) if named.iter().any(Kind::is_any) => known,
                Some(known) if known.iter().any(Kind::is_any) => named,
                Some(known) => known.into_iter().filter(|kind| named.contains(kind)).collect(),
            });
        }
        if let Some(named) = filter.operations {
            operations = Some(match operations {
                None => named,
                Some(known) => known.into_iter().filter(|one| named.contains(one)).collect(),
            });
        }
        tests.extend(filter.tests);
        namespace_selectors.extend(filter.namespace_selector);
    }
    let mut namespace_selector = namespace_selectors.pop();
    for selector in namespace_selectors {
        if namespace_selector.as_ref() != Some(&selector) {
            let test = selector_test(&selector, &namespace_labels());
            tests.push(test.map_err(|problem| problem.at(&at.key("match")))?);
        }
    }
    let whole = Filter { kinds, operations, tests, namespace_selector: namespace_selector.take() };
    one_of(vec![whole], at)
}

impl Filter {
    /// Whether an object of these kinds matches.
    fn whole_test(&self, all: &[Kind], at: &Pointer) -> Result<Cel, Refusal> {
        let mut tests = Vec::new();
        if let Some(kinds) = &self.kinds {
            match kind_test(kinds, all) {
                Some(test) => tests.push(test),
                None => return Ok(Cel::bool(false)),
            }
        }
        if let Some(operations) = &self.operations {
            tests.push(operation_test(operations));
        }
        tests.extend(self.tests.iter().cloned());
        if let Some(selector) = &self.namespace_selector {
            tests.push(self.namespace_test(selector, all).map_err(|problem| problem.at(at))?);
        }
        Ok(Cel::all(tests))
    }

    /// A selector of namespaces never matches a Namespace, and objects of the cluster as if their namespace had no
    /// labels.
    fn namespace_test(&self, selector: &Value, all: &[Kind]) -> Result<Cel, Problem> {
        let mut test = selector_test(selector, &namespace_labels())?;
        let may_be_namespace = all
            .iter()
            .any(|kind| kind.is_any() || (&*kind.kind.group, &*kind.kind.kind) == ("", "Namespace"));
        if may_be_namespace {
            let other =
                Cel::atom("object").member("kind").compare(Operator::NotEqual, Cel::text("Namespace"));
            test = Cel::all(vec![other, test]);
        }
        Ok(test)
    }
}

/// Whether an object is of some of these kinds; `None` if none of them is of the others.
fn kind_test(kinds: &[Kind], all: &[Kind]) -> Option<Cel> {
    if kinds.iter().any(Kind::is_any) || all.iter().all(|kind| kinds.contains(kind)) {
        return Some(Cel::bool(true));
    }
    let is_any = all.iter().any(Kind::is_any);
    let mut names: Vec<&str> = Vec::new();
    for kind in kinds.iter().filter(|kind| is_any || all.contains(kind)) {
        if !names.contains(&&*kind.kind.kind) {
            names.push(&kind.kind.kind);
        }
    }
    (!names.is_empty()).then(|| kind_is(&names))
}

/// Whether the kind has one of these names.
pub(super) fn kind_is(names: &[&str]) -> Cel {
    let kind = Cel::atom("object").member("kind");
    match names {
        [one] => kind.equals(Cel::text(*one)),
        several => {
            kind.compare(Operator::In, Cel::List(several.iter().map(|name| Cel::text(*name)).collect()))
        }
    }
}

fn operation_test(operations: &[String]) -> Cel {
    let operation = Cel::atom("request").member("operation");
    match operations {
        [one] => operation.equals(Cel::text(one)),
        several => operation.compare(Operator::In, Cel::List(several.iter().map(Cel::text).collect())),
    }
}

fn texts(value: &Value, field: &str) -> Vec<String> {
    let items = value.get(field).and_then(Value::as_array).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn pairs(value: Option<&Value>) -> Vec<(String, String)> {
    let members = value.and_then(Value::as_object);
    let pair =
        |(key, value): (&crate::value::Text, &Value)| Some((key.to_string(), value.as_str()?.to_owned()));
    members.map(|members| members.iter().filter_map(pair).collect()).unwrap_or_default()
}

impl Reader<'_> {
    /// The blocks, and whether one suffices.
    fn filters(&self, rule: &Value, field: &str) -> Result<(Vec<Filter>, bool), Refusal> {
        let block = rule.get(field).unwrap_or(&Value::Null);
        let at = self.at.key(field);
        if holds_variables(block) {
            let problem = Problem::new(
                format!("a variable in `{field}`"),
                "it is never replaced there",
                "write a precondition",
            );
            return Err(problem.at(&at));
        }
        for (list, is_any) in [("any", true), ("all", false)] {
            let items = problem::parts(block.get(list), "filters");
            let items = items.map_err(|problem| problem.at(&at.key(list)))?;
            if !items.is_empty() {
                let filter = |(index, item): (usize, &Value)| self.filter(item, &at.key(list).index(index));
                let filters = items.iter().enumerate().map(filter).collect::<Result<_, _>>()?;
                return Ok((filters, is_any));
            }
        }
        if field == "exclude"
            && ["resources", "roles", "clusterRoles", "subjects"].iter().all(|name| block.get(name).is_none())
        {
            return Ok((Vec::new(), true));
        }
        Ok((vec![self.filter(block, &at)?], true))
    }

    fn filter(&self, block: &Value, at: &Pointer) -> Result<Filter, Refusal> {
        let resources = block.get("resources").unwrap_or(&Value::Null);
        let below = at.key("resources");
        let mut named = texts(resources, "kinds");
        if named.iter().any(|name| is_pod(name)) {
            named.extend(self.generated.iter().cloned());
        }
        let mut all_kinds = Vec::new();
        for (index, selector) in named.iter().enumerate() {
            let found = kinds(selector, self.resources)
                .map_err(|problem| problem.at(&below.key("kinds").index(index)))?;
            for kind in found {
                if !all_kinds.contains(&kind) {
                    all_kinds.push(kind);
                }
            }
        }
        let mut tests = Vec::new();
        for field in ["roles", "clusterRoles"] {
            let named = texts(block, field);
            if named.is_empty() {
                continue;
            }
            if self.is_native || self.is_namespaced {
                let reason = if self.is_native {
                    "the API server does not know them in policies"
                } else {
                    "a policy of a namespace looks up only the bindings there"
                };
                let problem =
                    Problem::new(format!("`{field}`"), reason, "name the users or groups in `subjects`");
                return Err(problem.at(&at.key(field)));
            }
            tests.push(super::roles::has_one(field, &named));
        }
        let mut names = texts(resources, "names");
        if names.iter().filter(|name| name.contains(['*', '?'])).count() > MAX_PARTS {
            return Err(problem::too_many("names with wildcards").at(&below.key("names")));
        }
        let mut name_tests = |patterns: &[String]| {
            if !patterns.is_empty() {
                tests.push(any_text(&object_name(), patterns));
            }
        };
        if let Some(name) = resources.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) {
            name_tests(&[name.to_owned()]);
        }
        name_tests(&std::mem::take(&mut names));
        let namespaces = texts(resources, "namespaces");
        if !namespaces.is_empty() {
            tests.push(any_text(&object_namespace(&all_kinds), &namespaces));
        }
        for (key, value) in pairs(resources.get("annotations")) {
            let annotations = Cel::atom("object").member("metadata").maybe("annotations");
            tests.push(entry_test(&annotations, &strict_map("annotations"), &key, &value));
        }
        let problem = |problem: Problem| problem.at(&below.key("selector"));
        if let Some(selector) = resources.get("selector").filter(|selector| !selector.is_null()) {
            tests.push(labels_test(selector).map_err(problem)?);
        }
        if let Some(test) = subjects(block) {
            tests.push(test);
        }
        let of_namespaces = resources.get("namespaceSelector").filter(|value| !value.is_null());
        if let Some(error) = of_namespaces.and_then(selector_error) {
            let why = format!("the filter never matches, because it cannot be used: {error}");
            let problem = Problem::new("`namespaceSelector`", why, "correct it, or remove the filter");
            return Err(problem.at(&below.key("namespaceSelector")));
        }
        let operations = texts(resources, "operations");
        let operations = (!operations.is_empty())
            .then(|| operations.into_iter().filter(|one| one == "CREATE" || one == "UPDATE").collect());
        tests.retain(|test| !test.is_true());
        Ok(Filter {
            kinds: (!named.is_empty()).then_some(all_kinds),
            operations,
            tests,
            namespace_selector: of_namespaces.cloned(),
        })
    }
}

/// Whether a selector names Pods, in any version.
fn is_pod(name: &str) -> bool {
    let selector = crate::policy::KindSelector::parse(name);
    &*selector.kind == "Pod" && selector.subresource.is_empty()
}

fn strict_map(name: &str) -> Cel {
    Cel::atom("object").member("metadata").member(name)
}

/// The name of an object, or the start of its name.
fn object_name() -> Cel {
    let metadata = || Cel::atom("object").member("metadata");
    metadata().maybe("name").or_value(metadata().maybe("generateName").or_value(Cel::text("")))
}

/// The namespace of an object; of a Namespace its name.
fn object_namespace(kinds: &[Kind]) -> Cel {
    let namespace = || Cel::atom("object").member("metadata").maybe("namespace").or_value(Cel::text(""));
    let name = || Cel::atom("object").member("metadata").maybe("name").or_value(Cel::text(""));
    let is_namespace = |kind: &Kind| (&*kind.kind.group, &*kind.kind.kind) == ("", "Namespace");
    if !kinds.is_empty() && kinds.iter().all(is_namespace) {
        return name();
    }
    if kinds.is_empty() || kinds.iter().any(|kind| is_namespace(kind) || kind.is_any()) {
        return Cel::if_else(kind_is(&["Namespace"]), name(), namespace());
    }
    namespace()
}

/// Whether a text matches one of these patterns.
fn any_text(text: &Cel, patterns: &[String]) -> Cel {
    let (with, without): (Vec<&String>, Vec<&String>) =
        patterns.iter().partition(|pattern| pattern.contains(['*', '?']));
    let mut tests = Vec::new();
    match without.as_slice() {
        [] => {}
        [one] => tests.push(text.clone().equals(Cel::text(&***one))),
        several => {
            let list = several.iter().map(|text| Cel::text(&***text)).collect();
            tests.push(text.clone().compare(Operator::In, Cel::List(list)));
        }
    }
    tests.extend(with.into_iter().map(|pattern| wildcard(text.clone(), pattern)));
    Cel::any(tests)
}

/// Labels or annotations.
struct Labels {
    /// The map as an optional value.
    optional: Cel,
    /// The map, which is there.
    strict: Cel,
}

fn namespace_labels() -> Labels {
    let metadata = Cel::atom("namespaceObject").maybe("metadata");
    Labels {
        optional: metadata.member("labels"),
        strict: Cel::atom("namespaceObject").member("metadata").member("labels"),
    }
}

/// Whether the labels of the namespace match a selector.
pub(super) fn namespace_labels_test(selector: &Value) -> Result<Cel, Problem> {
    selector_test(selector, &namespace_labels())
}

/// Whether the labels of an object match a selector.
pub(super) fn labels_test(selector: &Value) -> Result<Cel, Problem> {
    selector_test(selector, &object_labels())
}

fn object_labels() -> Labels {
    Labels { optional: Cel::atom("object").member("metadata").maybe("labels"), strict: strict_map("labels") }
}

/// Whether a map has a member whose key and value match patterns.
fn entry_test(optional: &Cel, strict: &Cel, key: &str, value: &str) -> Cel {
    if key.contains(['*', '?']) {
        let name = Cel::atom("key");
        let test =
            Cel::all(vec![wildcard(name.clone(), key), wildcard(strict.clone().index(name.clone()), value)]);
        let map = optional.clone().or_value(Cel::Map(Vec::new()));
        return map.call("exists", [name, test]);
    }
    let member = optional.clone().below(key);
    let test = wildcard(member.clone().or_value(Cel::text("")), value);
    // A missing member is no empty one.
    let matches_empty = crate::pattern::matches(value, "");
    if matches_empty { Cel::all(vec![member.call("hasValue", []), test]) } else { test }
}

fn has_wildcards(selector: &Value) -> bool {
    pairs(selector.get("matchLabels"))
        .iter()
        .any(|(key, value)| key.contains(['*', '?']) || value.contains(['*', '?']))
}

fn selector_test(selector: &Value, labels: &Labels) -> Result<Cel, Problem> {
    let mut tests = Vec::new();
    for (key, value) in pairs(selector.get("matchLabels")) {
        tests.push(entry_test(&labels.optional, &labels.strict, &key, &value));
    }
    for expression in selector.get("matchExpressions").and_then(Value::as_array).unwrap_or_default() {
        let key = expression.get("key").and_then(Value::as_str).unwrap_or_default();
        let member = || labels.optional.clone().below(key);
        let has = || member().call("hasValue", []);
        let values = texts(expression, "values");
        let is_in = || any_text_exact(member().or_value(Cel::text("")), &values);
        let holds_empty = values.iter().any(String::is_empty);
        tests.push(match expression.get("operator").and_then(Value::as_str) {
            Some("Exists") => has(),
            Some("DoesNotExist") => has().negated(),
            Some("In") if holds_empty => Cel::all(vec![has(), is_in()]),
            Some("In") => is_in(),
            Some("NotIn") if holds_empty => Cel::all(vec![has(), is_in()]).negated(),
            Some("NotIn") => is_in().negated(),
            _ => return Err(Problem::new("a label selector", "its operator is not known", "correct it")),
        });
    }
    Ok(Cel::all(tests))
}

fn any_text_exact(text: Cel, values: &[String]) -> Cel {
    match values {
        [one] => text.equals(Cel::text(one)),
        several => text.compare(Operator::In, Cel::List(several.iter().map(Cel::text).collect())),
    }
}

/// Whether the user is one of the subjects of a block.
fn subjects(block: &Value) -> Option<Cel> {
    let items = block.get("subjects").and_then(Value::as_array).filter(|items| !items.is_empty())?;
    let user = || Cel::atom("request").member("userInfo").member("username");
    let text =
        |item: &Value, field: &str| item.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let test = |item: &Value| match item.get("kind").and_then(Value::as_str) {
        Some("User") => wildcard(user(), &text(item, "name")),
        Some("ServiceAccount") => {
            let name = format!("system:serviceaccount:{}:{}", text(item, "namespace"), text(item, "name"));
            wildcard(user(), &name)
        }
        Some("Group") => {
            let groups =
                Cel::atom("request").member("userInfo").maybe("groups").or_value(Cel::List(Vec::new()));
            let name = text(item, "name");
            if name.contains(['*', '?']) {
                groups.call("exists", [Cel::atom("group"), wildcard(Cel::atom("group"), &name)])
            } else {
                Cel::text(name).compare(Operator::In, groups)
            }
        }
        _ => Cel::bool(false),
    };
    Some(Cel::any(items.iter().map(test).collect()))
}
