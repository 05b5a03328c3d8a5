//! What a policy says, without objects: constructs that load and do not do what they say.
//!
//! [`lint`] reads a policy as it is written and returns findings as data. Warnings of the loader are none of them:
//! commands show both.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod autogen;
mod baseline;
mod cel;
mod conditions;
mod divergences;
mod guards;
mod identity;
mod missing;
mod operations;
mod order;
mod patches;
mod suppression;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::diagnostics::Code;
use crate::policy::KindSelector;
use crate::value::{Pointer, Text, Value};
use crate::yaml::parse_value;

pub use baseline::{Baseline, BaselineEntry, BaselineError};
pub use suppression::{Suppression, suppressions};

/// The nesting of loops and overlays that is looked at.
const MAX_NESTING: usize = 64;

/// How many rules nearby, patches of a rule, operations of a patch and filters are compared with one another. More of them only
/// a program writes, and comparing all would take too long.
const MAX_COMPARED: usize = 64;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LintLevel {
    /// Something that may be written better, or that is good to know.
    Info,
    /// Something that does not do what it says.
    Warning,
}

/// A finding about a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Lint {
    /// The code of the cause.
    pub code: Code,
    /// How much it matters.
    pub level: LintLevel,
    /// The rule; `None` if it is about the policy.
    pub rule: Option<Text>,
    /// Its place in the policy.
    pub pointer: Pointer,
    /// What it is, in one sentence without its end.
    pub message: String,
    /// What to do, likewise.
    pub help: &'static str,
    /// The value of the node that corrects it, and changes nothing else.
    pub fix: Option<Value>,
}

/// The findings about a policy, rule by rule. `evaluated` are the names of all its rules, those of autogen included.
pub fn lint(policy: &Value, evaluated: &[Text]) -> Vec<Lint> {
    let text = |name| policy.get(name).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").split('/').next().unwrap_or_default();
    let mut found = Vec::new();
    if group != "kyverno.io" {
        cel::check(policy, group, &mut found);
        cel::check_patches(policy, group, &mut found);
        cel::check_identity(policy, group, &mut found);
        return found;
    }
    let at = Pointer::ROOT.key("spec").key("rules");
    let rules = policy.path(&["spec", "rules"]).and_then(Value::as_array).unwrap_or_default();
    let place = |(index, value)| Rule { value, at: at.index(index) };
    let rules = rules.iter().enumerate().filter(|(_, rule)| rule.get("mutate").is_some());
    let rules: Vec<Rule<'_>> = rules.map(place).collect();
    let evaluated: BTreeSet<&str> = evaluated.iter().map(Text::as_str).collect();
    let autogen = autogen::Autogen::new(policy, &rules, &evaluated);
    for (index, rule) in rules.iter().enumerate() {
        let patches = rule.patches();
        conditions::check(rule, &mut found);
        operations::check_filters(rule, &mut found);
        operations::check_exclude(rule, &mut found);
        operations::check(rule, &mut found);
        patches::check(rule, &patches, &mut found);
        identity::check(rule, &patches, &mut found);
        missing::check(rule, &patches, &rules[..index], &mut found);
        divergences::check(rule, &mut found);
        autogen.check(rule, &mut found);
    }
    order::check(policy, &rules, &mut found);
    divergences::check_all(&rules, &evaluated, &mut found);
    found
}

/// A mutate rule and its place in the policy.
struct Rule<'v> {
    value: &'v Value,
    at: Pointer,
}

/// A patch as it is written: an overlay, or the operations of a JSON patch.
struct WrittenPatch<'v> {
    at: Pointer,
    overlay: Option<&'v Value>,
    operations: Vec<Value>,
    /// The conditions of the rule, and of the loops around the patch.
    conditions: Vec<&'v Value>,
}

impl<'v> Rule<'v> {
    fn name(&self) -> Option<Text> {
        self.value.get("name").and_then(Value::as_text).cloned()
    }

    fn mutate(&self) -> Option<&'v Value> {
        self.value.get("mutate")
    }

    /// Whether it changes other objects than that of the request.
    fn has_targets(&self) -> bool {
        self.mutate().is_some_and(|mutate| mutate.get("targets").is_some())
    }

    /// The filters of `match`: those below `any` and `all`, else the block itself.
    fn filters(&self) -> Vec<&'v Value> {
        let Some(block) = self.value.get("match") else { return Vec::new() };
        let of = |name| block.get(name).and_then(Value::as_array).unwrap_or_default().iter();
        let filters: Vec<&Value> = of("any").chain(of("all")).collect();
        if filters.is_empty() { vec![block] } else { filters }
    }

    /// The texts of a list below `resources` of a filter.
    fn texts(filter: &'v Value, name: &str) -> impl Iterator<Item = &'v str> {
        let list = filter.path(&["resources", name]).and_then(Value::as_array).unwrap_or_default();
        list.iter().filter_map(Value::as_str)
    }

    /// The patches of the rule and of its loops, the first [`MAX_COMPARED`]. A JSON patch that is no YAML is left out.
    fn patches(&self) -> Vec<WrittenPatch<'v>> {
        let conditions: Vec<&Value> = self.value.get("preconditions").into_iter().collect();
        let mut found = Vec::new();
        let mut open: Vec<_> = self
            .mutate()
            .map(|mutate| (mutate, self.at.key("mutate"), conditions, MAX_NESTING))
            .into_iter()
            .collect();
        while let Some((part, at, conditions, depth)) = open.pop().filter(|_| found.len() < MAX_COMPARED) {
            let patch = part.get("patchesJson6902").and_then(Value::as_str);
            if let Some(operations) = patch.and_then(|patch| parse_value(patch).ok()) {
                let operations = operations.as_array().unwrap_or_default().to_vec();
                let (at, conditions) = (at.key("patchesJson6902"), conditions.clone());
                found.push(WrittenPatch { at, overlay: None, operations, conditions });
            }
            if let Some(overlay) = part.get("patchStrategicMerge") {
                let (at, conditions) = (at.key("patchStrategicMerge"), conditions.clone());
                found.push(WrittenPatch { at, overlay: Some(overlay), operations: Vec::new(), conditions });
            }
            let loops = part.get("foreach").and_then(Value::as_array).unwrap_or_default();
            for (index, one) in loops.iter().enumerate().filter(|_| depth > 0).rev() {
                let conditions = conditions.iter().copied().chain(one.get("preconditions")).collect();
                open.push((one, at.key("foreach").index(index), conditions, depth - 1));
            }
        }
        found
    }

    /// Whether it is for Pods alone.
    fn is_for_pods(&self) -> bool {
        let mut kinds = self.kinds().peekable();
        kinds.peek().is_some() && kinds.all(|kind| matches!(kind, "Pod" | "v1/Pod"))
    }

    /// The selectors of kinds of all filters.
    fn kinds(&self) -> impl Iterator<Item = &'v str> {
        self.filters().into_iter().flat_map(|filter| Self::texts(filter, "kinds"))
    }

    /// Whether it is for subresources, whose objects may have another kind: that of `Deployment/scale` is `Scale`.
    fn names_subresources(&self) -> bool {
        self.kinds().any(|kind| !KindSelector::parse(kind).subresource.is_empty())
    }

    /// Whether `match` or `exclude` look at labels or annotations, which the rule may set.
    fn selects_metadata(&self) -> bool {
        let has = |filter: &Value| {
            ["selector", "annotations"].iter().any(|field| filter.path(&["resources", field]).is_some())
        };
        self.value.get("exclude").is_some() || self.filters().into_iter().any(has)
    }

    /// A finding about the rule.
    fn found(
        &self,
        code: Code,
        level: LintLevel,
        pointer: Pointer,
        message: String,
        help: &'static str,
    ) -> Lint {
        Lint { code, level, rule: self.name(), pointer, message, help, fix: None }
    }
}
