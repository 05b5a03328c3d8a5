//! Constructs with which Kyverno does something else than its documentation says, as far as a policy alone shows it.

use std::collections::BTreeSet;

use crate::diagnostics::Code;
use crate::patch::{Anchor, has_anchor, is_unsupported_directive};
use crate::pattern::Range;
use crate::policy::{each_expression, is_variable_without_text};
use crate::semantics::Divergence;
use crate::value::{Map, Number, Pointer, Text, Value};

use super::{Lint, LintLevel, MAX_NESTING, Rule};

/// The largest integer up to which all integers are exact as floats.
const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// A finding about a divergence.
pub(super) fn found(rule: &Rule<'_>, divergence: Divergence, at: Pointer) -> Lint {
    use Divergence as D;

    // For these it depends on the objects whether anything differs.
    let level = match divergence {
        D::AddAnchorInList
        | D::EmptyMap
        | D::LiteralPatchElement
        | D::ReplaceOfMissing
        | D::WholePolicyRequest => LintLevel::Info,
        _ => LintLevel::Warning,
    };
    let help = match divergence {
        D::ListWithoutMergeKey | D::InlineElement => "use foreach with a JSON patch for each element",
        D::AddAnchorInList => {
            "use foreach with a precondition that the element lacks the field, and the key without the anchor"
        }
        D::AnchoredElements => "write a rule for each of them",
        D::BesideGlobal => "use the anchor `()`, or foreach",
        D::ConditionWritten | D::ConditionList | D::ForeignAnchor | D::RepeatedKey => {
            "write the condition as a precondition"
        }
        D::AnchorShapedText | D::EmptyMap | D::LiteralPatchElement | D::RoundedInteger => "use a JSON patch",
        D::TypedLabel => "quote the value; wrap an expression in to_string()",
        D::PatchDirective => "use `$patch`, or a JSON patch",
        D::ForeachBadList => "write the list as an expression without braces",
        D::TargetWithoutVersion => "name the apiVersion",
        D::SubresourceByPattern => "name the object",
        D::LegacySyntax => "use patchStrategicMerge and patchesJson6902, or convert the policy",
        D::BracketedYaml => "write it as a YAML list without brackets, or as JSON",
        D::WholePolicyRequest => "give each rule with targets a policy of its own",
        D::EmptyExclude => "name the kinds, or remove the filter",
        D::AutogenTargets => "give each rule with targets a policy of its own, or turn autogen off",
        D::MissingComma => "write the commas",
        D::ReplaceOfMissing => "use `add`, which sets the field in both cases, or add a precondition",
        D::CompareResult => "compare the number as text: to_string(elementIndex) == '0'",
        _ => "write what does the same in both, as on the page of the divergence",
    };
    let message = format!(
        "{} ({divergence}); documented: {}; Kyverno: {}",
        divergence.title(),
        divergence.documented(),
        divergence.kyverno()
    );
    rule.found(Code::KyvernoDiffers, level, at, message, help)
}

/// Adds the findings about a rule.
pub(super) fn check(rule: &Rule<'_>, lints: &mut Vec<Lint>) {
    let mut finder = Finder { rule, lints };
    finder.excludes();
    finder.expressions();
    if let Some(mutate) = rule.mutate() {
        finder.targets(mutate);
        for legacy in ["overlay", "patches"] {
            if mutate.get(legacy).is_some() {
                finder.add(Divergence::LegacySyntax, rule.at.key("mutate").key(legacy));
            }
        }
        finder.part(mutate, &rule.at.key("mutate"), false, MAX_NESTING);
    }
}

/// Adds findings about rules with targets that have other rules beside them.
pub(super) fn check_all(rules: &[Rule<'_>], evaluated: &BTreeSet<&str>, lints: &mut Vec<Lint>) {
    if let Some(rule) = rules.iter().find(|rule| rule.has_targets()).filter(|_| rules.len() > 1) {
        lints.push(found(rule, Divergence::WholePolicyRequest, rule.at.key("mutate").key("targets")));
    }
    let written: BTreeSet<Text> = rules.iter().filter_map(Rule::name).collect();
    let is_generated = |name: &&str| {
        let source = name.strip_prefix("autogen-cronjob-").or_else(|| name.strip_prefix("autogen-"));
        source.is_some_and(|source| written.contains(source)) && !written.contains(*name)
    };
    // Where autogen makes rules, Kyverno makes them of all rules for Pods.
    if evaluated.iter().any(is_generated) {
        for rule in rules.iter().filter(|rule| rule.has_targets() && rule.is_for_pods()) {
            lints.push(found(rule, Divergence::AutogenTargets, rule.at.key("match")));
        }
    }
}

struct Finder<'r, 'f> {
    rule: &'r Rule<'r>,
    lints: &'f mut Vec<Lint>,
}

/// Where a node of an overlay is.
#[derive(Clone, Copy, Default)]
struct Place {
    depth: usize,
    in_foreach: bool,
    in_element: bool,
    /// Whether the path in the overlay is not that in the object.
    is_moved: bool,
}

impl Place {
    const fn below(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

impl Finder<'_, '_> {
    fn add(&mut self, divergence: Divergence, at: Pointer) {
        self.lints.push(found(self.rule, divergence, at));
    }

    /// A label that is no string. A number or boolean becomes one in quotes.
    fn label(&mut self, label: &Value, at: Pointer) {
        let fix = matches!(label, Value::Number(_) | Value::Bool(_)).then(|| Value::string(label.to_json()));
        self.lints.push(Lint { fix, ..found(self.rule, Divergence::TypedLabel, at) });
    }

    /// Filters of `exclude` that name nothing.
    fn excludes(&mut self) {
        let Some(block) = self.rule.value.get("exclude") else { return };
        let at = self.rule.at.key("exclude");
        let is_empty = |value: &Value| match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::String(text) => text.is_empty(),
            _ => value.is_null(),
        };
        let filters = block.get("any").and_then(Value::as_array).unwrap_or_default();
        for (index, filter) in filters.iter().enumerate() {
            let mut parts = filter.as_object().into_iter().flat_map(Map::values);
            let is_without_content = parts.all(|part| match part {
                Value::Object(members) => members.values().all(is_empty),
                part => is_empty(part),
            });
            if is_without_content {
                self.add(Divergence::EmptyExclude, at.key("any").index(index));
            }
        }
    }

    /// Expressions that Kyverno reads or compares in its own way.
    fn expressions(&mut self) {
        let mut seen = BTreeSet::new();
        each_expression(self.rule.value, &mut |at, expression| {
            let divergences = expression.divergences();
            for divergence in [Divergence::MissingComma, Divergence::CompareResult] {
                if divergences.contains(divergence) && seen.insert((divergence, at.clone())) {
                    self.add(divergence, self.rule.at.join(at));
                }
            }
        });
    }

    fn targets(&mut self, mutate: &Value) {
        let targets = mutate.get("targets").and_then(Value::as_array).unwrap_or_default();
        for (index, target) in targets.iter().enumerate() {
            let at = self.rule.at.key("mutate").key("targets").index(index);
            let text = |field| target.get(field).and_then(Value::as_str).unwrap_or_default();
            if text("apiVersion").is_empty() {
                self.add(Divergence::TargetWithoutVersion, at.clone());
            }
            if text("kind").contains('/') && text("name").contains(['*', '?']) {
                self.add(Divergence::SubresourceByPattern, at);
            }
        }
    }

    /// The overlay of a mutation or of a loop, and the loops in it.
    fn part(&mut self, part: &Value, at: &Pointer, in_foreach: bool, depth: usize) {
        if let Some(overlay) = part.get("patchStrategicMerge") {
            self.node(overlay, &at.key("patchStrategicMerge"), Place { in_foreach, ..Place::default() });
        }
        if let Some(patch) = part.get("patchesJson6902").and_then(Value::as_str)
            && patch.starts_with('[')
            && !patch.contains("{{")
            && Value::from_json(patch).is_err()
        {
            self.add(Divergence::BracketedYaml, at.key("patchesJson6902"));
        }
        let loops = part.get("foreach").and_then(Value::as_array).unwrap_or_default();
        for (index, one) in loops.iter().enumerate().filter(|_| depth > 0) {
            let at = at.key("foreach").index(index);
            match one.get("list").and_then(Value::as_str) {
                Some(list) if list.trim().is_empty() || list.trim().starts_with("{{") => {
                    self.add(Divergence::ForeachBadList, at.key("list"));
                }
                Some(_) => {}
                None => self.add(Divergence::ForeachBadList, at.clone()),
            }
            self.part(one, &at, true, depth - 1);
        }
    }

    fn node(&mut self, node: &Value, at: &Pointer, place: Place) {
        if place.depth > MAX_NESTING {
            return;
        }
        match node {
            Value::Object(members) => {
                // The API server sets the same default.
                if members.is_empty() && !at.to_json_pointer().ends_with("/emptyDir") {
                    self.add(Divergence::EmptyMap, at.clone());
                }
                self.map(members, at, place);
            }
            Value::Array(items) => self.list(items, at, place),
            Value::String(text) => {
                if place.in_element && Anchor::is_test_key(text) {
                    self.add(Divergence::AnchorShapedText, at.clone());
                }
                if (place.is_moved || place.in_foreach) && refers_to_place(text) {
                    self.add(Divergence::InlineElement, at.clone());
                }
            }
            Value::Number(number) if is_rounded(number) => self.add(Divergence::RoundedInteger, at.clone()),
            _ => {}
        }
    }

    fn map(&mut self, members: &Map, at: &Pointer, place: Place) {
        let path = at.to_json_pointer();
        let is_labels = path.split_once("/patchStrategicMerge/").is_some_and(|(_, path)| {
            let path = path.strip_prefix("spec/template/").unwrap_or(path);
            matches!(path, "metadata/labels" | "metadata/annotations")
        });
        let is_global = |key: &Text| matches!(Anchor::parse(key), Some((Anchor::Global, _)));
        if place.in_element
            && members.keys().any(is_global)
            && !members.keys().all(|key| Anchor::is_test_key(key))
        {
            self.add(Divergence::BesideGlobal, at.clone());
        }
        for (key, member) in members {
            let here = at.key(key.clone());
            let below = place.below();
            let Some((anchor, name)) = Anchor::parse(key) else {
                if is_unsupported_directive(key, member) {
                    self.add(Divergence::PatchDirective, here);
                    continue;
                }
                if is_labels && is_no_text(member) {
                    self.label(member, here);
                    continue;
                }
                let is_moved = place.is_moved || key.bytes().all(|byte| byte.is_ascii_digit());
                self.node(member, &here, Place { is_moved, ..below });
                continue;
            };
            match anchor {
                Anchor::Equality | Anchor::Existence | Anchor::Negation => {
                    self.add(Divergence::ForeignAnchor, here);
                }
                Anchor::Add => {
                    if place.in_element {
                        self.add(Divergence::AddAnchorInList, here.clone());
                    }
                    if is_labels && is_no_text(member) {
                        self.label(member, here);
                    } else {
                        self.node(member, &here, Place { is_moved: true, ..below });
                    }
                }
                Anchor::Condition | Anchor::Global => {
                    if members.contains_key(name) && !is_scalar(member) {
                        self.add(Divergence::RepeatedKey, here);
                    } else if member.as_array().is_some_and(|items| items.len() > 1) {
                        self.add(Divergence::ConditionList, here);
                    } else if !(is_scalar(member) || anchor == Anchor::Global && place.in_element) {
                        // An element with a global anchor is not written at all.
                        self.condition(member, here, place.depth);
                    }
                }
            }
        }
    }

    /// A condition on a map or list: Kyverno writes what has no anchors in it. Where that equals the object, it does no
    /// harm; a pattern does, and a key in parentheses at the top of an object.
    fn condition(&mut self, value: &Value, at: Pointer, depth: usize) {
        let mut open = vec![(value, depth == 0)];
        let mut is_written = false;
        while let Some((node, is_harmful)) = open.pop() {
            is_written |= match node {
                Value::Object(members) => {
                    let plain = members.iter().filter(|(key, _)| Anchor::parse(key).is_none());
                    open.extend(plain.map(|(_, member)| (member, is_harmful)));
                    false
                }
                Value::Array(items) => {
                    // An element without name takes the place of others.
                    let is_nameless =
                        |item: &Value| item.as_object().is_some_and(|members| !members.contains_key("name"));
                    open.extend(items.iter().map(|item| (item, is_harmful || is_nameless(item))));
                    false
                }
                Value::String(text) => is_harmful || is_pattern(text),
                Value::Null => true,
                _ => is_harmful,
            };
        }
        if is_written {
            self.add(Divergence::ConditionWritten, at);
        }
    }

    fn list(&mut self, items: &[Value], at: &Pointer, place: Place) {
        if items.iter().filter(|item| is_anchored(item)).count() > 1 {
            self.add(Divergence::AnchoredElements, at.clone());
        }
        for (index, item) in items.iter().enumerate() {
            let at = at.index(index);
            self.node(item, &at, Place { in_element: true, is_moved: true, ..place.below() });
        }
    }
}

const fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Object(_) | Value::Array(_))
}

/// Whether a text fits others than itself.
fn is_pattern(text: &str) -> bool {
    let has_wildcard = |part: &str| {
        let literal = part.split_once("}}").map_or(part, |(_, literal)| literal);
        literal.contains(['*', '?', '|', '&'])
    };
    text.split("{{").any(has_wildcard) || text.starts_with(['<', '>', '!']) || Range::parse(text).is_some()
}

/// Whether a label is no string, or becomes none; `null` is refused by all.
fn is_no_text(label: &Value) -> bool {
    match label {
        Value::String(text) => is_variable_without_text(text),
        label => !label.is_null(),
    }
}

/// Whether a text has a variable of the value in place.
fn refers_to_place(text: &str) -> bool {
    let mut parts = text.split("{{").peekable();
    std::iter::from_fn(|| Some((parts.next()?, *parts.peek()?))).any(|(before, variable)| {
        let expression = variable.split("}}").next().unwrap_or_default();
        !before.ends_with('\\') && expression.trim_matches([' ', '-']).starts_with('@')
    })
}

/// Whether an integer is rounded as a float.
fn is_rounded(number: &Number) -> bool {
    number.is_written_as_integer()
        && number.as_i64().is_none_or(|integer| integer.unsigned_abs() > MAX_EXACT_INTEGER)
}

/// Whether a node has an anchor.
fn is_anchored(node: &Value) -> bool {
    has_anchor(node, &[Anchor::Condition, Anchor::Global, Anchor::Add])
}
