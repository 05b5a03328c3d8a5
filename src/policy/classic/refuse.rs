//! What Kyverno refuses in `match` and `exclude` when a policy is installed.

use std::fmt::Write as _;

use crate::pattern;
use crate::resources::{Resources, groups_of_cluster_kind};
use crate::value::{Pointer, Segment, Text, Value};
use crate::variables::holds_variable;

use crate::policy::Note;
use crate::policy::error::PolicyError;
use crate::policy::fields::{given, is_blank, texts};
use crate::policy::kinds::KindSelector;
use crate::policy::labels::LabelSelector;

/// Names that Kubernetes gives a kind without namespaces, and others one with: no group, no verdict.
const SHARED_NAMES: [&str; 1] = ["IPAddress"];

/// Whether all that a selector can mean lives in no namespace, as far as one can know without a cluster. A
/// kind without a group is that of Kubernetes, as Kyverno has it.
fn is_of_cluster(selector: &KindSelector) -> bool {
    let named = &*selector.group != "*";
    let mut groups = groups_of_cluster_kind(&selector.kind);
    (named || !SHARED_NAMES.contains(&&*selector.kind))
        && groups.any(|group| pattern::matches(&selector.group, group))
}

/// The filters of a block of a rule: the block itself, then the entries of `any` and `all`, each with its
/// place below the rule.
pub(super) fn blocks<'v>(rule: &'v Value, block: &'static str) -> impl Iterator<Item = (Pointer, &'v Value)> {
    let whole = rule.get(block);
    let at = Pointer::ROOT.key(block);
    let entries = ["any", "all"].into_iter().flat_map({
        let at = at.clone();
        move |branch| {
            let list =
                whole.and_then(|whole| whole.get(branch)).and_then(Value::as_array).unwrap_or_default();
            let at = at.key(branch);
            list.iter().enumerate().map(move |(index, filter)| (at.index(index), filter))
        }
    });
    whole.map(|whole| (at, whole)).into_iter().chain(entries)
}

/// Whether `exclude` takes back what `match` gives, as far as Kyverno compares the two: filters of `any` one
/// by one, the direct forms part by part, and a direct `match` beside an `exclude.any` always.
fn leaves_nothing(rule: &Value) -> bool {
    let (Some(taken), Some(excluded)) = (rule.get("match"), rule.get("exclude")) else { return false };
    let list = |block: &'_ Value, branch: &str| -> Vec<Value> {
        block.get(branch).and_then(Value::as_array).unwrap_or_default().to_vec()
    };
    let has = |block: &Value, branch: &str| !list(block, branch).is_empty();
    if has(taken, "all") || has(excluded, "all") {
        return false;
    }
    match (has(taken, "any"), has(excluded, "any")) {
        (true, true) => list(taken, "any").iter().any(|filter| list(excluded, "any").contains(filter)),
        (true, false) => false,
        (false, true) => true,
        (false, false) => covers(excluded, taken),
    }
}

/// Whether every part that a direct `exclude` names is met by `match`.
fn covers(excluded: &Value, taken: &Value) -> bool {
    const PARTS: [&str; 7] =
        ["kinds", "name", "names", "namespaces", "annotations", "selector", "namespaceSelector"];
    let users = ["roles", "clusterRoles", "subjects"];
    if users.iter().any(|part| given(excluded, part).is_some_and(|part| !is_blank(part))) {
        return false;
    }
    let part =
        |block: &Value, name: &str| block.path(&["resources", name]).filter(|part| !is_blank(part)).cloned();
    let mut named = false;
    for name in PARTS {
        let Some(out) = part(excluded, name) else { continue };
        named = true;
        let Some(inside) = part(taken, name) else { return false };
        let met = match name {
            "kinds" => texts(Some(&inside)).iter().all(|kind| texts(Some(&out)).contains(kind)),
            "name" => match (out.as_str(), inside.as_str()) {
                (Some(pattern), Some(text)) => pattern::matches(pattern, text),
                _ => false,
            },
            _ => out == inside,
        };
        if !met {
            return false;
        }
    }
    named
}

/// What the checks of a rule's filters need to know of its policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// Whether the policy lives in a namespace.
    pub(super) namespaced: bool,
    /// Whether the policy is also for background scans.
    pub(super) background: bool,
    /// Whether the version of the policy knows the direct form of `match`.
    pub(super) direct: bool,
}

/// Checks one rule's `match` and `exclude`.
pub(super) fn check(
    rule: &Value,
    at: &Pointer,
    setting: Setting,
    errors: &mut Vec<PolicyError>,
    notes: &mut Vec<Note>,
) {
    let mut checks = Checks { rule, at, setting, errors, notes };
    for block in ["match", "exclude"] {
        checks.branches(block);
        for (below, filter) in blocks(rule, block) {
            checks.filter(block, &below, filter);
        }
        checks.variables(block);
    }
    checks.kind_for_all();
    if leaves_nothing(rule) {
        let below = Pointer::ROOT.key("exclude");
        let direct = rule.get("exclude").and_then(|block| block.get("any")).is_some()
            && rule.get("match").and_then(|block| block.get("any")).is_none();
        checks.error(
            &below,
            if direct {
                "Rule is matching an empty set: so Kyverno takes a direct `match` beside `exclude.any`, write `match.any`"
            } else {
                "Rule is matching an empty set: `exclude` takes back what `match` gives"
            },
        );
    }
}

/// Checks the `match` of an exception, which stands in its `spec`.
pub(super) fn check_exception(
    spec: &Value,
    at: &Pointer,
    background: bool,
    errors: &mut Vec<PolicyError>,
    notes: &mut Vec<Note>,
) {
    let setting = Setting { namespaced: false, background, direct: false };
    let mut checks = Checks { rule: spec, at, setting, errors, notes };
    let block = Pointer::ROOT.key("match");
    if spec.get("match").is_some_and(|whole| given(whole, "any").is_some() && given(whole, "all").is_some()) {
        checks.error(&block, "Can't specify any and all together");
    }
    for (below, filter) in blocks(spec, "match").skip(1) {
        if let Some(resources) = given(filter, "resources") {
            checks.resources(&below.key("resources"), resources);
        }
        checks.users("match", &below, filter);
    }
}

struct Checks<'a> {
    rule: &'a Value,
    at: &'a Pointer,
    setting: Setting,
    errors: &'a mut Vec<PolicyError>,
    notes: &'a mut Vec<Note>,
}

impl Checks<'_> {
    fn error(&mut self, below: &Pointer, message: impl Into<String>) {
        self.errors.push(PolicyError::new(self.at.join(below), message));
    }

    fn name(&self) -> &str {
        self.rule.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// `any`, `all` and the direct form exclude each other.
    fn branches(&mut self, block: &'static str) {
        let Some(whole) = given(self.rule, block) else { return };
        let at = Pointer::ROOT.key(block);
        let direct = || {
            ["resources", "roles", "clusterRoles", "subjects"]
                .into_iter()
                .filter(|name| given(whole, name).is_some())
        };
        if given(whole, "any").is_some() && given(whole, "all").is_some() {
            self.error(&at, "Can't specify any and all together");
        }
        if !self.setting.direct {
            let unknown: Vec<_> = direct().collect();
            for name in unknown {
                let message = format!("unknown field `{name}` of this version");
                self.errors.push(PolicyError::unknown_field(
                    self.at.join(&at.key(name)),
                    message,
                    Some("any"),
                ));
            }
        } else if ["any", "all"]
            .into_iter()
            .any(|name| given(whole, name).is_some_and(|list| !is_blank(list)))
        {
            if direct().any(|name| name == "resources") {
                self.error(&at, format!("can't specify any/all together with {block} resources"));
            } else if let Some(name) = direct().next() {
                let text = format!(
                    "`{name}` of {block} is ignored beside any and all, it belongs into their filters"
                );
                self.notes.push(Note::of_rule(self.rule, text));
            }
        }
    }

    fn filter(&mut self, block: &str, below: &Pointer, filter: &Value) {
        let Some(members) = filter.as_object() else { return };
        // The block itself is a filter only where neither `any` nor `all` is used.
        let list =
            |name: &str| members.get(name).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        let branched = below.segments().len() == 1 && (list("any") || list("all"));
        let resources_at = below.key("resources");
        let resources = given(filter, "resources");
        if block == "match" && !branched {
            let kinds = resources.and_then(|resources| given(resources, "kinds"));
            // A misspelt field was reported already.
            let misspelt = [below, &resources_at].map(|at| self.at.join(at));
            let misspelt = self
                .errors
                .iter()
                .any(|error| error.is_unknown_field && misspelt.contains(&error.pointer.parent()));
            if !misspelt
                && kinds.is_none_or(is_blank)
                && resources.is_none_or(|resources| resources.as_object().is_some())
            {
                self.error(
                    if resources.is_some() { &resources_at } else { below },
                    "at least one element must be specified in a kind block, the kind attribute is mandatory \
                     when working with the resources element",
                );
            }
        }
        if let Some(resources) = resources {
            self.resources(&resources_at, resources);
        }
        self.users(block, below, filter);
    }

    fn resources(&mut self, at: &Pointer, resources: &Value) {
        if given(resources, "name").is_some() && given(resources, "names").is_some() {
            self.error(at, "only one of `name` and `names` is allowed");
        }
        let kinds = texts(resources.get("kinds"));
        for (index, kind) in kinds.iter().enumerate() {
            self.kind(&at.key("kinds").index(index), kind);
        }
        if kinds.len() > 1 && kinds.iter().any(|kind| &**kind == "*") {
            self.error(&at.key("kinds"), "the kind `*` must be the only one of its list");
        }
        if self.setting.namespaced && given(resources, "namespaces").is_some_and(|list| !is_blank(list)) {
            self.error(
                &at.key("namespaces"),
                "a namespaced policy cannot select by namespace, it is bound to its own",
            );
        }
        for name in ["selector", "namespaceSelector"] {
            if let Some(selector) = given(resources, name) {
                self.selector(&at.key(name), name, selector);
            }
        }
    }

    fn kind(&mut self, at: &Pointer, kind: &Text) {
        let selector = KindSelector::parse(kind);
        if selector.is_unusable() {
            let text = format!(
                "no kind fits the selector `{kind}`, write Kind, version/Kind or group/version/Kind, with an \
                 optional /subresource"
            );
            self.notes.push(Note::of_rule(self.rule, text));
        } else if let Some(meant) = selector.probably_meant() {
            self.notes.push(Note::of_rule(
                self.rule,
                format!(
                    "the kind selector `{kind}` asks for the subresource `{}` of a kind `{}`, did you mean `{meant}`?",
                    selector.subresource, selector.kind
                ),
            ));
        }
        if selector.kind.starts_with(|first: char| first.is_ascii_lowercase()) {
            let meant = Resources::built_in().iter().find(|resource| resource.is_named(&selector.kind));
            let meant =
                meant.map_or_else(String::new, |meant| format!(", did you mean `{}`?", meant.kind.kind));
            let text = format!(
                "the kind selector `{kind}` begins in lower case, and fits objects of such a `kind` alone{meant}"
            );
            self.notes.push(Note::of_rule(self.rule, text));
        }
        if self.setting.namespaced && is_of_cluster(&selector) {
            let message = format!(
                "a namespaced policy cannot select objects of kind `{}`, which live in no namespace",
                selector.kind
            );
            self.error(at, message);
        }
    }

    fn selector(&mut self, at: &Pointer, name: &str, selector: &Value) {
        let here = self.at.join(at);
        if self.errors.iter().any(|error| here.contains(&error.pointer)) {
            return;
        }
        let read = LabelSelector::read(selector);
        // Kyverno looks neither at selectors with wildcards nor at those of namespaces.
        if let Some(reason) = read.invalid() {
            if name == "selector" && !read.has_wildcards() {
                self.error(at, format!("the selector cannot be used: {reason}"));
            } else {
                let text = format!(
                    "the `{name}` of a filter cannot be used, so that the filter never fits: {reason}"
                );
                self.notes.push(Note::of_rule(self.rule, text));
            }
        } else if name == "selector" && read.is_empty() {
            self.error(at, "The requirements are not specified in selector");
        }
    }

    fn users(&mut self, block: &str, below: &Pointer, filter: &Value) {
        for (index, role) in texts(filter.get("roles")).iter().enumerate() {
            if role.matches(':').count() != 1 {
                self.error(&below.key("roles").index(index), "a role must have the form namespace:name");
            }
        }
        let subjects = filter.get("subjects").and_then(Value::as_array).unwrap_or_default();
        for (index, subject) in subjects.iter().enumerate() {
            let at = below.key("subjects").index(index);
            let empty = |name| subject.get(name).is_none_or(is_blank);
            if subject.get("name").is_some_and(is_blank) {
                self.error(&at, "a subject needs a name");
            }
            if subject.get("kind").and_then(Value::as_str) == Some("ServiceAccount") && empty("namespace") {
                self.error(&at, "a subject of kind ServiceAccount needs a namespace");
            }
        }
        if !self.setting.background {
            return;
        }
        for name in ["roles", "clusterRoles", "subjects"] {
            if given(filter, name).is_some_and(|list| !is_blank(list)) {
                let path = slashed(&self.at.join(&below.key(name)));
                self.error(
                    &below.key(name),
                    format!(
                        "invalid variable used at path: {path}: {block} cannot ask for users in background \
                         mode, set spec.background to false"
                    ),
                );
            }
        }
    }

    fn variables(&mut self, block: &'static str) {
        let Some(whole) = self.rule.get(block) else { return };
        let mut found = Vec::new();
        find_variables(whole, &mut Pointer::ROOT.key(block), &mut found);
        for at in found {
            let message = format!("rule \"{}\" should not have variables in {block} section", self.name());
            self.error(&at, message);
        }
    }

    /// The kind `*` takes everything, so that a rule for it may do little.
    fn kind_for_all(&mut self) {
        let is_all = |filter: &Value| {
            let kinds = filter.path(&["resources", "kinds"]).and_then(Value::as_array).unwrap_or_default();
            kinds.iter().any(|kind| kind.as_str() == Some("*"))
        };
        let Some((at, _)) = blocks(self.rule, "match").find(|(_, filter)| is_all(filter)) else { return };
        let at = at.key("resources").key("kinds");
        if self.setting.background {
            self.error(&at, "the kind `*` is not allowed in background mode, set spec.background to false");
        }
        let mutate = Pointer::ROOT.key("mutate");
        let Some(block) = self.rule.get("mutate") else { return };
        let overlay = block.get("patchStrategicMerge").and_then(Value::as_object);
        if overlay.is_some_and(|members| members.keys().any(|key| &**key != "metadata")) {
            self.error(
                &mutate.key("patchStrategicMerge"),
                "a rule for the kind `*` can only deal with the metadata field of the resource",
            );
        }
    }
}

/// The places of the texts that hold a variable, keys of maps included.
pub(super) fn find_variables(value: &Value, at: &mut Pointer, found: &mut Vec<Pointer>) {
    match value {
        Value::String(text) if holds_variable(text) => found.push(at.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push_index(index);
                find_variables(item, at, found);
                at.pop();
            }
        }
        Value::Object(members) => {
            for (key, member) in members.iter() {
                at.push_key(key.clone());
                if holds_variable(key) {
                    found.push(at.clone());
                }
                find_variables(member, at, found);
                at.pop();
            }
        }
    }
}

/// A field path as Kyverno writes it in some messages: `spec/rules[0]/match`.
fn slashed(pointer: &Pointer) -> String {
    let mut out = String::new();
    for segment in pointer.segments() {
        match segment {
            Segment::Index(index) => {
                let _ = write!(out, "[{index}]");
            }
            Segment::Key(key) => {
                if !out.is_empty() {
                    out.push('/');
                }
                out.push_str(key);
            }
        }
    }
    out
}
