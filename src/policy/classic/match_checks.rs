//! What Kyverno refuses in `match` and `exclude` when a policy is installed.

use std::fmt::Write as _;

use crate::diagnostics::Code;
use crate::pattern;
use crate::resources::groups_of_cluster_kind;
use crate::value::{Pointer, Segment, Text, Value};
use crate::variables::holds_variable;

use super::findings::Findings;
use super::warnings::meant_kind;
use super::written::filters;
use crate::policy::error::PolicyError;
use crate::policy::fields::{filled, given, is_blank, list, string, texts};
use crate::policy::kinds::KindSelector;
use crate::policy::labels::LabelSelector;

/// The conditions on users.
const USER_FIELDS: [&str; 3] = ["roles", "clusterRoles", "subjects"];

/// What the checks of a rule's filters depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Whether the policy is namespaced.
    pub(super) namespaced: bool,
    /// Whether the policy also runs in background scans.
    pub(super) background: bool,
    /// Whether conditions may be written in `match` itself, without `any` or `all`.
    pub(super) direct: bool,
}

/// Checks `match` and `exclude` of a rule.
pub(super) fn check(rule: &Value, at: &Pointer, settings: Settings, findings: &mut Findings) {
    let mut checks = Checks { rule, at, settings, findings };
    for block in ["match", "exclude"] {
        checks.branches(block);
        for (below, filter) in filters(rule, block) {
            checks.filter(block, &below, filter);
        }
        checks.variables(block);
    }
    checks.kind_for_all();
    if excludes_everything(rule) {
        let has_any = |block| rule.get(block).is_some_and(|block| block.get("any").is_some());
        let message = if has_any("exclude") && !has_any("match") {
            "Rule is matching an empty set: Kyverno treats a direct `match` beside `exclude.any` so; write `match.any`"
        } else {
            "Rule is matching an empty set: `exclude` excludes all that `match` selects"
        };
        checks.error(Code::MatchBlock, &Pointer::ROOT.key("exclude"), message);
    }
}

/// Checks the `match` of an exception, in its `spec`.
pub(super) fn check_exception(spec: &Value, at: &Pointer, background: bool, findings: &mut Findings) {
    let settings = Settings { namespaced: false, background, direct: false };
    let mut checks = Checks { rule: spec, at, settings, findings };
    checks.any_and_all("match");
    for (below, filter) in filters(spec, "match").skip(1) {
        if let Some(resources) = given(filter, "resources") {
            checks.resources(&below.key("resources"), resources);
        }
        checks.users("match", &below, filter);
    }
}

struct Checks<'a> {
    rule: &'a Value,
    at: &'a Pointer,
    settings: Settings,
    findings: &'a mut Findings,
}

impl Checks<'_> {
    fn error(&mut self, code: Code, below: &Pointer, message: impl Into<String>) {
        self.findings.error(code, self.at.join(below), message);
    }

    fn note(&mut self, code: Code, text: impl Into<String>) {
        self.findings.note(code, self.rule, text);
    }

    fn any_and_all(&mut self, block: &'static str) {
        let Some(whole) = self.rule.get(block) else { return };
        if given(whole, "any").is_some() && given(whole, "all").is_some() {
            self.error(Code::MatchBlock, &Pointer::ROOT.key(block), "Can't specify any and all together");
        }
    }

    /// Checks that one of `any`, `all` and the direct form is used.
    fn branches(&mut self, block: &'static str) {
        self.any_and_all(block);
        let Some(whole) = given(self.rule, block) else { return };
        let at = Pointer::ROOT.key(block);
        let mut direct =
            ["resources"].into_iter().chain(USER_FIELDS).filter(|name| given(whole, name).is_some());
        if !self.settings.direct {
            for name in direct {
                let message = format!("unknown field `{name}` of this version");
                let error = PolicyError::unknown_field(self.at.join(&at.key(name)), message, Some("any"));
                self.findings.errors.push(error);
            }
        } else if filled(whole, "any").or_else(|| filled(whole, "all")).is_some() {
            match direct.next() {
                Some("resources") => {
                    self.error(
                        Code::MatchBlock,
                        &at,
                        format!("can't specify any/all together with {block} resources"),
                    );
                }
                Some(name) => self.note(
                    Code::IgnoredField,
                    format!("`{name}` of {block} is ignored beside any and all, move it into their filters"),
                ),
                None => {}
            }
        }
    }

    fn filter(&mut self, block: &str, below: &Pointer, filter: &Value) {
        if filter.as_object().is_none() {
            return;
        }
        let resources = given(filter, "resources");
        if block == "match" {
            self.kinds_are_given(below, filter, resources);
        }
        if let Some(resources) = resources {
            self.resources(&below.key("resources"), resources);
        }
        self.users(block, below, filter);
    }

    fn kinds_are_given(&mut self, below: &Pointer, filter: &Value, resources: Option<&Value>) {
        // The block itself is a filter only if neither `any` nor `all` is used.
        let is_direct = below.segments().len() == 1;
        if is_direct && !(list(filter, "any").is_empty() && list(filter, "all").is_empty()) {
            return;
        }
        let resources_at = below.key("resources");
        // The schema reported a misspelt field.
        let places = [below, &resources_at].map(|at| self.at.join(at));
        let is_misspelt =
            |error: &PolicyError| error.is_unknown_field && places.contains(&error.pointer.parent());
        let has_kinds = resources.is_some_and(|resources| filled(resources, "kinds").is_some());
        let is_typed = resources.is_none_or(|resources| resources.as_object().is_some());
        if !has_kinds && is_typed && !self.findings.errors.iter().any(is_misspelt) {
            self.error(
                Code::MatchBlock,
                if resources.is_some() { &resources_at } else { below },
                "at least one element must be specified in a kind block, the kind attribute is mandatory \
                 when working with the resources element",
            );
        }
    }

    fn resources(&mut self, at: &Pointer, resources: &Value) {
        if given(resources, "name").is_some() && given(resources, "names").is_some() {
            self.error(Code::MatchBlock, at, "only one of `name` and `names` is allowed");
        }
        let kinds = texts(resources.get("kinds"));
        for (index, kind) in kinds.iter().enumerate() {
            self.kind(&at.key("kinds").index(index), kind);
        }
        if kinds.len() > 1 && kinds.iter().any(|kind| &**kind == "*") {
            self.error(Code::MatchBlock, &at.key("kinds"), "the kind `*` must be the only one of its list");
        }
        if self.settings.namespaced && filled(resources, "namespaces").is_some() {
            let message = "a namespaced policy cannot select by namespace, it is bound to its own";
            self.error(Code::MatchBlock, &at.key("namespaces"), message);
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
            self.note(Code::NeverMatches, format!(
                "no kind matches the selector `{kind}`, write Kind, version/Kind or group/version/Kind, with an \
                 optional /subresource"
            ));
        } else if let Some(meant) = selector.probably_meant() {
            self.note(Code::NeverMatches, format!(
                "the kind selector `{kind}` names the subresource `{}` of a kind `{}`, did you mean `{meant}`?",
                selector.subresource, selector.kind
            ));
        }
        let is_lower_case = selector.kind.starts_with(|first: char| first.is_ascii_lowercase());
        if is_lower_case && meant_kind(&selector).is_none() {
            self.note(Code::NeverMatches, format!(
                "the kind selector `{kind}` begins in lower case, and matches only objects of such a `kind`"
            ));
        }
        if self.settings.namespaced && is_cluster_scoped(&selector) {
            let message = format!(
                "a namespaced policy cannot select objects of kind `{}`, which live in no namespace",
                selector.kind
            );
            self.error(Code::MatchBlock, at, message);
        }
    }

    fn selector(&mut self, at: &Pointer, name: &str, selector: &Value) {
        let here = self.at.join(at);
        if self.findings.errors.iter().any(|error| here.contains(&error.pointer)) {
            return;
        }
        let selector = LabelSelector::read(selector);
        // Kyverno checks neither selectors with wildcards nor those of namespaces.
        if let Some(error) = selector.invalid() {
            if name == "selector" && !selector.has_wildcards() {
                self.error(Code::MatchBlock, at, format!("the selector cannot be used: {error}"));
            } else {
                self.note(
                    Code::NeverMatches,
                    format!("the `{name}` of a filter cannot be used, so the filter never matches: {error}"),
                );
            }
        } else if name == "selector" && selector.is_empty() {
            self.error(Code::MatchBlock, at, "The requirements are not specified in selector");
        }
    }

    fn users(&mut self, block: &str, below: &Pointer, filter: &Value) {
        for (index, role) in texts(filter.get("roles")).iter().enumerate() {
            if role.matches(':').count() != 1 {
                self.error(
                    Code::MatchBlock,
                    &below.key("roles").index(index),
                    "a role must have the form namespace:name",
                );
            }
        }
        for (index, subject) in list(filter, "subjects").iter().enumerate() {
            let at = below.key("subjects").index(index);
            if subject.get("name").is_some_and(is_blank) {
                self.error(Code::MatchBlock, &at, "a subject needs a name");
            }
            if string(subject, "kind") == "ServiceAccount" && filled(subject, "namespace").is_none() {
                self.error(Code::MatchBlock, &at, "a subject of kind ServiceAccount needs a namespace");
            }
        }
        for name in USER_FIELDS {
            if self.settings.background && filled(filter, name).is_some() {
                let at = below.key(name);
                let path = slashed(&self.at.join(&at));
                let message = format!(
                    "invalid variable used at path: {path}: {block} cannot ask for users in background mode, set \
                     spec.background to false"
                );
                self.error(Code::BackgroundMode, &at, message);
            }
        }
    }

    fn variables(&mut self, block: &'static str) {
        let Some(whole) = self.rule.get(block) else { return };
        let mut found = Vec::new();
        find_variables(whole, &mut Pointer::ROOT.key(block), &mut found);
        let name = string(self.rule, "name");
        for at in found {
            self.error(
                Code::UnknownVariable,
                &at,
                format!("rule \"{name}\" should not have variables in {block} section"),
            );
        }
    }

    /// Checks a rule for the kind `*`.
    fn kind_for_all(&mut self) {
        let is_for_all = |filter: &Value| {
            let resources = filter.get("resources");
            resources.is_some_and(|resources| {
                list(resources, "kinds").iter().any(|kind| kind.as_str() == Some("*"))
            })
        };
        let Some((at, _)) = filters(self.rule, "match").find(|(_, filter)| is_for_all(filter)) else {
            return;
        };
        if self.settings.background {
            let at = at.key("resources").key("kinds");
            self.error(
                Code::BackgroundMode,
                &at,
                "the kind `*` is not allowed in background mode, set spec.background to false",
            );
        }
        let overlay = self.rule.path(&["mutate", "patchStrategicMerge"]).and_then(Value::as_object);
        if overlay.is_some_and(|members| members.keys().any(|key| &**key != "metadata")) {
            self.error(
                Code::MatchBlock,
                &Pointer::ROOT.key("mutate").key("patchStrategicMerge"),
                "a rule for the kind `*` can only deal with the metadata field of the resource",
            );
        }
    }
}

/// Whether all kinds that a selector may match are cluster-scoped, as far as that is known without a cluster. A kind
/// without a group is one of Kubernetes, as in Kyverno.
fn is_cluster_scoped(selector: &KindSelector) -> bool {
    /// Names of a cluster-scoped and of a namespaced kind: only a group tells which is meant.
    const AMBIGUOUS: [&str; 1] = ["IPAddress"];
    let has_group = &*selector.group != "*";
    let mut groups = groups_of_cluster_kind(&selector.kind);
    (has_group || !AMBIGUOUS.contains(&&*selector.kind))
        && groups.any(|group| pattern::matches(&selector.group, group))
}

/// Whether `exclude` covers `match` by Kyverno's comparison: filters of `any` one by one, the direct forms field by
/// field, and a direct `match` beside an `exclude.any` always.
fn excludes_everything(rule: &Value) -> bool {
    let (Some(matched), Some(excluded)) = (rule.get("match"), rule.get("exclude")) else { return false };
    let [all, other_all] = [matched, excluded].map(|block| list(block, "all"));
    if !all.is_empty() || !other_all.is_empty() {
        return false;
    }
    match [matched, excluded].map(|block| list(block, "any")) {
        [[], []] => covers(excluded, matched),
        [[], _] => true,
        [any, other] => any.iter().any(|filter| other.contains(filter)),
    }
}

/// Whether every field of a direct `exclude` covers that of `match`.
fn covers(excluded: &Value, matched: &Value) -> bool {
    const FIELDS: [&str; 7] =
        ["kinds", "name", "names", "namespaces", "annotations", "selector", "namespaceSelector"];
    let (Some(excluded_resources), matched_resources) = (excluded.get("resources"), matched.get("resources"))
    else {
        return false;
    };
    let has_users = USER_FIELDS.iter().any(|field| filled(excluded, field).is_some());
    let mut fields =
        FIELDS.iter().filter_map(|name| Some((*name, filled(excluded_resources, name)?))).peekable();
    !has_users
        && fields.peek().is_some()
        && fields.all(|(name, out)| {
            matched_resources.and_then(|matched| filled(matched, name)).is_some_and(|inside| match name {
                "kinds" => texts(Some(inside)).iter().all(|kind| texts(Some(out)).contains(kind)),
                "name" => out
                    .as_str()
                    .zip(inside.as_str())
                    .is_some_and(|(out, inside)| pattern::matches(out, inside)),
                _ => out == inside,
            })
        })
}

/// The places of strings and keys with variables.
fn find_variables(value: &Value, at: &mut Pointer, found: &mut Vec<Pointer>) {
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

/// A path as in some messages of Kyverno: `spec/rules[0]/match`.
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
