//! Patches that change their own result again, or more than they name.

use std::collections::BTreeSet;

use crate::admission::KindSchemas;
use crate::diagnostics::Code;
use crate::patch::{Anchor, ListStrategy, Schemas, has_anchor, split_anchor};
use crate::policy::KindSelector;
use crate::semantics::Divergence;
use crate::value::{GroupVersionKind, Pointer, Value};

use super::{Lint, LintLevel, MAX_NESTING, Rule, WrittenPatch, divergences, guards};

/// Adds the findings about the patches of a rule.
pub(super) fn check(rule: &Rule<'_>, patches: &[WrittenPatch<'_>], found: &mut Vec<Lint>) {
    let schemas = Schemas::kubernetes();
    let kinds = kinds(rule).unwrap_or_default();
    let guards = String::new();
    let mut finder =
        Finder { rule, kinds, schemas: &schemas, path: Vec::new(), is_new: false, guards, found };
    let is_for_creation = is_for_creation(rule);
    for patch in patches {
        match patch.overlay {
            None if is_for_creation => {}
            None => finder.json_patch(patch),
            Some(overlay) if !finder.kinds.is_empty() => {
                finder.guards = patch.conditions.iter().map(|conditions| conditions.to_json()).collect();
                finder.overlay(overlay, &patch.at, MAX_NESTING);
            }
            Some(_) => {}
        }
    }
}

/// Whether the rule runs once for each object. Kyverno registers rules for the operations CREATE and UPDATE, if they name
/// none.
fn is_for_creation(rule: &Rule<'_>) -> bool {
    let is_creation = |filter| Rule::texts(filter, "operations").eq(["CREATE"]);
    let filters = rule.filters();
    let excluded = rule.value.path(&["exclude", "any"]).and_then(Value::as_array).unwrap_or_default();
    // Of updates of all objects, whatever their kinds are.
    let is_update = |filter: &Value| {
        let mut members = filter.get("resources").and_then(Value::as_object).into_iter().flatten();
        filter.as_object().is_some_and(|parts| parts.len() == 1)
            && Rule::texts(filter, "operations").any(|operation| operation == "UPDATE")
            && members.all(|(name, _)| matches!(&**name, "kinds" | "operations"))
            && (filter.path(&["resources", "kinds"]).is_none()
                || rule
                    .kinds()
                    .all(|kind| Rule::texts(filter, "kinds").any(|other| other == kind || other == "*")))
    };
    !filters.is_empty() && filters.into_iter().all(is_creation) || excluded.iter().any(is_update)
}

/// Whether conditions may be false once fields with these names are set.
fn keep_out(conditions: &[&Value], names: &[&str]) -> bool {
    conditions.iter().any(|conditions| guards::may_keep_out(conditions, names))
}

/// The last name in a JSON pointer that is no index.
fn last_name(path: &str) -> &str {
    let is_name = |name: &&str| *name != "-" && name.parse::<i64>().is_err();
    path.rsplit('/').find(is_name).unwrap_or_default()
}

/// The kinds of the objects that a rule changes; `None` if not all of them are named.
pub(super) fn kinds(rule: &Rule<'_>) -> Option<Vec<GroupVersionKind>> {
    let mut found = Vec::new();
    let targets = rule.mutate().and_then(|mutate| mutate.get("targets"));
    let selectors: Vec<String> = match targets {
        None => rule.kinds().map(str::to_owned).collect(),
        Some(targets) => targets.as_array().unwrap_or_default().iter().map(target_selector).collect(),
    };
    for text in selectors {
        if text.contains("{{") {
            return None;
        }
        let selector = KindSelector::parse(&text);
        let before = found.len();
        found.extend(selector.built_in_kinds().cloned());
        if found.len() == before {
            // Whatever its group and version are, a kind that is not built in has no merge keys.
            let kind = selector.only_kind().filter(|kind| !kind.is_empty() && selector.means_objects())?;
            found.push(GroupVersionKind {
                group: selector.group.clone(),
                version: selector.version.clone(),
                kind: kind.clone(),
            });
        }
    }
    Some(found)
}

/// The selector of the kind of a target, which `match` would have for it.
fn target_selector(target: &Value) -> String {
    let text = |name| target.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("apiVersion") {
        "" => text("kind").to_owned(),
        api_version => format!("{api_version}/{}", text("kind")),
    }
}

struct Finder<'r, 'f> {
    rule: &'r Rule<'r>,
    /// The kinds of the objects that the rule changes; none if not all are named.
    kinds: Vec<GroupVersionKind>,
    schemas: &'r Schemas,
    /// The place in the object, without a name for the elements of a list.
    path: Vec<Option<String>>,
    /// Whether the place is below one where nothing of the object stays: a field that is only added, or a replaced list.
    is_new: bool,
    /// The conditions of the overlay, as JSON.
    guards: String,
    found: &'f mut Vec<Lint>,
}

impl Finder<'_, '_> {
    /// A JSON patch, as far as no condition guards it.
    fn json_patch(&mut self, patch: &WrittenPatch<'_>) {
        let path = |operation: &'_ Value| {
            operation.get("path").and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let paths: Vec<String> = patch.operations.iter().map(path).collect();
        let written: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
        let names: Vec<&str> = paths.iter().map(|path| last_name(path)).collect();
        // What may keep the rule from adding an element again.
        let is_guarded = keep_out(&patch.conditions, &names)
            || self.rule.selects_metadata() && paths.iter().any(|path| path.starts_with("/metadata/"));
        let [labels, annotations] =
            ["labels", "annotations"].map(|name| (name, keep_out(&patch.conditions, &[name])));
        for (operation, path) in patch.operations.iter().zip(&paths) {
            let Some(op) = operation.get("op").and_then(Value::as_str) else { continue };
            let list = path.rsplit_once('/').map_or("", |(list, _)| list);
            if matches!(op, "add" | "copy") && is_element(path) && !is_guarded && !written.contains(list) {
                self.found.push(self.rule.found(
                    Code::AddsAgain,
                    LintLevel::Warning,
                    patch.at.clone(),
                    format!("`{op}` to `{path}` adds one more element each time that the object is updated"),
                    "add a precondition that looks for the element, or match the operation CREATE alone",
                ));
            }
            let is_map = matches!(op, "add" | "replace")
                && operation.get("value").is_some_and(|value| value.as_object().is_some());
            let replaces = |(name, is_guarded): (&str, bool)| {
                !is_guarded && path.strip_suffix(name).is_some_and(|parent| parent.ends_with("/metadata/"))
            };
            if is_map && (replaces(labels) || replaces(annotations)) {
                self.found.push(self.rule.found(
                    Code::ReplacesMap,
                    LintLevel::Warning,
                    patch.at.clone(),
                    format!("`{op}` of `{path}` replaces all that is there, and not only what it names"),
                    "use patchStrategicMerge, or add each key by its own path",
                ));
            }
        }
    }

    /// Elements of merged lists without their key.
    fn overlay(&mut self, overlay: &Value, at: &Pointer, depth: usize) {
        if depth == 0 {
            return;
        }
        for (key, member) in overlay.as_object().into_iter().flat_map(|members| members.iter()) {
            // What is tested is not merged.
            if Anchor::is_test_key(key) {
                continue;
            }
            let name = split_anchor(key).map_or(&**key, |(name, _)| name);
            let at = at.key(key.clone());
            self.path.push(Some(name.to_owned()));
            let is_new = self.is_new;
            self.is_new |= matches!(Anchor::parse(key), Some((Anchor::Add, _)));
            if let Some(items) = member.as_array() {
                let merge_key = self.merge_key();
                // An element with global anchors alone is only tested.
                let selects = |item: &Value| has_anchor(item, &[Anchor::Condition, Anchor::Add]);
                if let Some(index) = items.iter().position(selects).filter(|_| self.is_list_without_names()) {
                    let at = at.index(index);
                    self.found.push(divergences::found(self.rule, Divergence::ListWithoutMergeKey, at));
                } else if !self.is_new && self.replaces(items) && !self.guards.contains(name) {
                    self.is_new = true;
                    self.found.push(self.rule.found(
                        Code::ReplacesList,
                        LintLevel::Info,
                        at.clone(),
                        format!("`{name}` has no merge key: the elements that the object has are removed"),
                        "use a JSON patch that adds an element, where the others are to stay",
                    ));
                }
                self.path.push(None);
                for (index, element) in items.iter().enumerate() {
                    let at = at.index(index);
                    // It matters where the object has no such list; containers are always there.
                    if is_directive(element) && name != "containers" {
                        self.found.push(divergences::found(
                            self.rule,
                            Divergence::LiteralPatchElement,
                            at.clone(),
                        ));
                    }
                    if let Some(merge_key) =
                        merge_key.as_deref().filter(|merge_key| lacks(element, merge_key))
                    {
                        self.found.push(self.rule.found(
                            Code::NoMergeKey,
                            LintLevel::Warning,
                            at.clone(),
                            format!(
                                "an element of `{name}` without `{merge_key}`: in Kyverno it removes all elements that the object has"
                            ),
                            "give the element its key, or choose elements by a condition such as `(name): \"*\"`",
                        ));
                    }
                    self.overlay(element, &at, depth - 1);
                }
                self.path.pop();
            } else {
                self.overlay(member, &at, depth - 1);
            }
            self.is_new = is_new;
            self.path.pop();
        }
    }

    /// Whether a kind has a schema, in this or another version: Kubernetes has no schemas of versions that are gone.
    fn has_schema(&self, kind: &GroupVersionKind) -> bool {
        let schemas = KindSchemas::default();
        self.kinds.iter().any(|other| other.kind == kind.kind && schemas.of(other).is_some())
    }

    /// Whether these elements take the place of others: maps in a list of the kinds that has no merge key.
    fn replaces(&self, items: &[Value]) -> bool {
        let is_plain = |item: &Value| {
            item.as_object().is_some_and(|members| {
                let is_special = |key: &str| split_anchor(key).is_some() || key.starts_with('$');
                !members.is_empty() && !members.keys().any(|key| is_special(key))
            })
        };
        let is_known = |kind: &GroupVersionKind| self.has_schema(kind);
        !items.is_empty()
            && items.iter().all(is_plain)
            && self.kinds.iter().all(is_known)
            && self.is_list_without_names()
            && self.merge_keys().all(|key| key.is_none())
    }

    /// The first key by which each kind merges the elements of the list at the place; `None` if it has none.
    fn merge_keys(&self) -> impl Iterator<Item = Option<String>> {
        let path: Vec<Option<&str>> = self.path.iter().map(Option::as_deref).collect();
        self.kinds.iter().map(move |kind| match self.schemas.list_strategy(kind, &path) {
            ListStrategy::Keys(keys) => keys.first().map(|key| (*key).to_owned()),
            ListStrategy::Set | ListStrategy::Replace => None,
        })
    }

    /// Whether the place is a list in some kind, and no kind merges its elements by their names. Of a kind without schema
    /// it is said to be one.
    fn is_list_without_names(&self) -> bool {
        let schemas = KindSchemas::default();
        let is_list = |kind: &GroupVersionKind| {
            let Some(root) = schemas.of(kind) else { return !self.has_schema(kind) };
            let place = self.path.iter().try_fold(root, |schema, step| match step {
                Some(name) => schema.forms().map?.field(name),
                None => Some(schema.forms().list?.elements),
            });
            place.is_some_and(|place| place.forms().list.is_some())
        };
        self.kinds.iter().any(is_list) && self.merge_keys().all(|key| key.as_deref() != Some("name"))
    }

    /// The key by which the elements of the list at the place are merged; `None` if the kinds have none, or several.
    fn merge_key(&self) -> Option<String> {
        let mut keys = self.merge_keys();
        let first = keys.next()??;
        keys.all(|key| key.as_deref() == Some(&*first)).then_some(first)
    }
}

/// Maps whose keys may be numbers.
const MAPS: [&str; 7] =
    ["annotations", "binaryData", "data", "labels", "matchLabels", "nodeSelector", "stringData"];

/// Whether a JSON pointer leads to an element of a list: `-`, or an index.
fn is_element(path: &str) -> bool {
    let mut names = path.rsplit('/');
    let (last, list) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    let is_index = last.parse::<i64>().is_ok();
    last == "-" || is_index && !MAPS.contains(&list)
}

/// Whether an element says no more than how its list is patched.
fn is_directive(element: &Value) -> bool {
    element.as_object().is_some_and(|members| members.len() == 1 && members.contains_key("$patch"))
}

/// Whether an element has neither the key nor, at any depth, an anchor, a directive or a variable as a key.
fn lacks(element: &Value, merge_key: &str) -> bool {
    let Some(members) = element.as_object().filter(|members| !members.is_empty()) else { return false };
    if members.contains_key(merge_key) {
        return false;
    }
    let mut open = vec![element];
    while let Some(node) = open.pop() {
        match node {
            Value::Object(members) => {
                if members.keys().any(|key| split_anchor(key).is_some() || key.contains(['$', '{'])) {
                    return false;
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items.iter()),
            _ => {}
        }
    }
    true
}
