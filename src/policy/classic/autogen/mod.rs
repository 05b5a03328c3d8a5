//! Autogen: rules for Pods, applied to the controllers of Pods.

use std::collections::BTreeSet;

use super::written::{WrittenRule, filters, kinds, targets};
use crate::diagnostics::Code;
use crate::policy::fields::{filled, given, is_blank, list, string};
use crate::policy::{KindSelector, Note};
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{Map, Text, Value};

/// The annotation that names the controllers.
pub const ANNOTATION: &str = "pod-policies.kyverno.io/autogen-controllers";

/// The controllers of Kubernetes except `CronJob`, with their kind selectors.
const CONTROLLERS: &[(&str, &str)] = &[
    ("DaemonSet", "apps/v1/DaemonSet"),
    ("Deployment", "apps/v1/Deployment"),
    ("Job", "batch/v1/Job"),
    ("ReplicaSet", "apps/v1/ReplicaSet"),
    ("ReplicationController", "v1/ReplicationController"),
    ("StatefulSet", "apps/v1/StatefulSet"),
];
const CRON_JOB: (&str, &str) = ("CronJob", "batch/v1/CronJob");

/// The longest name of a generated rule.
const MAX_NAME_BYTES: usize = 63;

/// A rule generated from a rule for Pods.
#[derive(Debug)]
pub(super) struct Generated {
    /// The index of the rule for Pods among the rules of the policy.
    pub(super) source: usize,
    /// The rule as it could have been written.
    pub(super) rule: Value,
    /// Whether only Kyverno's controllers generate it.
    pub(super) controller_only: bool,
}

/// The generated rules of a policy.
#[derive(Debug, Default)]
pub(super) struct Autogen {
    pub(super) generated: Vec<Generated>,
    pub(super) notes: Vec<Note>,
    /// Why there are none, for any rule.
    pub(super) stopped: Option<String>,
}

/// Generates rules for controllers from the mutate rules of a policy.
pub(super) fn generate(policy: &Value, rules: &[WrittenRule]) -> Autogen {
    let annotation = policy.path(&["metadata", "annotations", ANNOTATION]).and_then(Value::as_str);
    let requested = Requested::read(annotation);
    let mut autogen = Autogen::default();
    if requested.is_empty() {
        autogen.stopped = Some(format!("the annotation `{ANNOTATION}` names no controllers"));
        return autogen;
    }
    if !rules.iter().any(names_workload) {
        return autogen;
    }
    let pod_rules = || rules.iter().enumerate().filter(|(_, rule)| mutates_pods(&rule.value));
    if let Some((rule, reason)) = rules.iter().find_map(|rule| Some((&rule.value, stopper(rule)?))) {
        let name = string(rule, "name");
        autogen.stopped =
            Some(format!("no rule of the policy is generated, because the rule {name} {reason}"));
        let is_deprived = |rule: &WrittenRule| stopper(rule).is_none() && targets(&rule.value).is_none();
        let is_deprived = pod_rules().any(|(_, rule)| is_deprived(rule));
        if is_deprived || (annotation.is_some() && pod_rules().next().is_some()) {
            let text = format!("no rule is generated for pod controllers, because this one {reason}");
            autogen.notes.push(Note::of_rule(Code::AutogenSkipped, rule, text));
        }
        return autogen;
    }
    if pod_rules().next().is_some() {
        autogen.notes.extend(requested.ignored.iter().map(|name| {
            Note::new(
                Code::IgnoredField,
                format!(
                    "the annotation `{ANNOTATION}` names `{name}`, which is ignored beside known controllers"
                ),
            )
        }));
    }
    // Kyverno's webhook is for the controllers only if a rule of the policy patches what is admitted.
    let forms: Vec<Form> = requested.forms().collect();
    let patches_admitted = rules.iter().any(|WrittenRule { value: rule, .. }| {
        rule.get("verifyImages").is_some() || (rule.get("mutate").is_some() && targets(rule).is_none())
    });
    for (source, WrittenRule { value: rule, autogen_tracker: tracker, .. }) in pod_rules() {
        let has_targets = targets(rule).is_some();
        if has_targets && !patches_admitted {
            continue;
        }
        let controller_only = has_targets && tracker.documented(Divergence::AutogenTargets);
        for form in &forms {
            let rule = form.generate(rule, tracker);
            autogen.generated.push(Generated { source, rule, controller_only });
        }
    }
    autogen
}

/// The controllers that the annotation of a policy names.
#[derive(Debug, Default)]
struct Requested {
    /// Their kind selectors, except that of `CronJob`.
    controllers: Vec<Text>,
    cron_job: bool,
    ignored: Vec<String>,
}

impl Requested {
    fn read(annotation: Option<&str>) -> Self {
        let all = || CONTROLLERS.iter().map(|(_, kind)| Text::from(*kind)).collect();
        let named = match annotation {
            None | Some("all") => return Self { controllers: all(), cron_job: true, ignored: Vec::new() },
            Some("none" | "") => return Self::default(),
            Some(named) => named,
        };
        let names: BTreeSet<&str> = named.split(',').filter(|name| !name.is_empty()).collect();
        let cron_job = names.contains(CRON_JOB.0);
        let known = CONTROLLERS.iter().filter(|(name, _)| names.contains(name));
        let controllers: Vec<Text> = known.map(|(_, kind)| Text::from(*kind)).collect();
        let is_known = |name: &str| name == CRON_JOB.0 || CONTROLLERS.iter().any(|known| known.0 == name);
        let others = names.into_iter().filter(|name| !is_known(name));
        if controllers.is_empty() {
            // As in Kyverno, unknown names count only without known controllers.
            Self { controllers: others.map(Text::from).collect(), cron_job, ignored: Vec::new() }
        } else {
            Self { controllers, cron_job, ignored: others.map(str::to_owned).collect() }
        }
    }

    const fn is_empty(&self) -> bool {
        self.controllers.is_empty() && !self.cron_job
    }

    fn forms(self) -> impl Iterator<Item = Form> {
        let controllers = (!self.controllers.is_empty()).then(|| Form {
            prefix: "autogen-",
            path: &["spec", "template"],
            kinds: Value::array(self.controllers.into_iter().map(Value::String).collect()),
            every: false,
        });
        let cron_job = self.cron_job.then(|| Form {
            prefix: "autogen-cronjob-",
            path: &["spec", "jobTemplate", "spec", "template"],
            kinds: vec![CRON_JOB.1.into()].into(),
            every: true,
        });
        controllers.into_iter().chain(cron_job)
    }
}

/// Whether a kind selector is for Pods of any version, or for a subresource of them.
fn is_pod(selector: &Text) -> bool {
    &*KindSelector::parse(selector).kind == "Pod"
}

/// Whether a filter of a rule names exactly `Pod` or one of the controllers.
fn names_workload(rule: &WrittenRule) -> bool {
    let is_named = |kind: &Text| {
        let mut known = CONTROLLERS.iter().map(|(name, _)| *name).chain([CRON_JOB.0, "Pod"]);
        known.any(|name| name == &**kind)
    };
    let mut filters = ["match", "exclude"].into_iter().flat_map(|block| filters(&rule.value, block));
    filters.any(|(_, filter)| kinds(filter).iter().any(is_named))
}

/// Whether a rule mutates Pods. One that excludes kinds, but not Pods, counts as not doing so.
fn mutates_pods(rule: &Value) -> bool {
    rule.get("mutate").is_some() && matches_pods(rule)
}

fn matches_pods(rule: &Value) -> bool {
    let kinds = |block| filters(rule, block).flat_map(|(_, filter)| kinds(filter)).collect::<Vec<_>>();
    let excluded = kinds("exclude");
    kinds("match").iter().any(is_pod) && (excluded.is_empty() || excluded.iter().any(is_pod))
}

/// Why no rules are generated for a policy with this rule.
fn stopper(WrittenRule { value: rule, autogen_tracker: tracker, .. }: &WrittenRule) -> Option<&'static str> {
    if filled(rule, "generate").is_some() {
        return Some("generates objects");
    }
    let empty = Value::Null;
    for (_, filter) in ["match", "exclude"].into_iter().flat_map(|block| filters(rule, block)) {
        let resources = filter.get("resources").unwrap_or(&empty);
        if filled(resources, "name").or_else(|| filled(resources, "names")).is_some() {
            return Some("selects by name");
        }
        if given(resources, "selector").is_some() {
            return Some("selects by label");
        }
        if filled(resources, "annotations").is_some() {
            return Some("selects by annotation");
        }
        let kinds = kinds(filter);
        if kinds.len() > 1 && kinds.iter().any(|kind| &**kind == "Pod") {
            return Some("names other kinds beside Pod in one filter");
        }
    }
    let mutate = rule.get("mutate").unwrap_or(&empty);
    if filled(mutate, "patchesJson6902").is_some() {
        return Some("has `patchesJson6902`");
    }
    if filled(mutate, "patches").is_some() {
        return Some("has `patches`");
    }
    let entries = list(mutate, "foreach");
    if entries.iter().any(|entry| filled(entry, "patchesJson6902").is_some()) {
        return Some("has `patchesJson6902` in a foreach");
    }
    // Kyverno does not look below the first level; it then generates a rule that deletes the pod template.
    let is_nested = entries.iter().any(|entry| list(entry, "foreach").iter().any(has_json_patch));
    if matches_pods(rule) && is_nested && tracker.documented(Divergence::AutogenForeach) {
        return Some("has `patchesJson6902` in a nested foreach");
    }
    None
}

fn has_json_patch(entry: &Value) -> bool {
    filled(entry, "patchesJson6902").is_some() || list(entry, "foreach").iter().any(has_json_patch)
}

/// How a rule for Pods becomes one for controllers.
struct Form {
    /// The prefix of the rule's name.
    prefix: &'static str,
    /// The path of the pod template in a controller.
    path: &'static [&'static str],
    /// The kind selectors of the controllers, as a list.
    kinds: Value,
    /// Whether filters without Pods get the kinds as well.
    every: bool,
}

impl Form {
    fn generate(&self, rule: &Value, tracker: &DivergenceTracker) -> Value {
        let mut generated = rule.clone();
        let name = format!("{}{}", self.prefix, string(rule, "name"));
        let end = name.floor_char_boundary(MAX_NAME_BYTES);
        generated.insert("name", Value::from(name.get(..end).unwrap_or(&name)));
        for block in ["match", "exclude"] {
            if let Some(filters) = member(&mut generated, block) {
                self.set_kinds(filters, block == "exclude");
            }
        }
        if let Some(mutate) = member(&mut generated, "mutate") {
            mutate.remove("targets");
            mutate.remove("mutateExistingOnPolicyUpdate");
            for overlay in ["patchStrategicMerge", "overlay"] {
                if let Some(overlay) = member(mutate, overlay).filter(|overlay| !overlay.is_null()) {
                    *overlay = self.wrapped(overlay.clone());
                }
            }
            if let Some(entries) = member(mutate, "foreach") {
                self.wrap_foreach(entries, true, tracker);
            }
        }
        self.rewrite(&generated).unwrap_or(generated)
    }

    /// Points the filters of a block at the controllers.
    fn set_kinds(&self, block: &mut Value, exclude: bool) {
        let branch = ["any", "all"].into_iter().find(|branch| filled(block, branch).is_some());
        let Some(branch) = branch else {
            let given = block.path(&["resources", "kinds"]).is_some_and(|kinds| !is_blank(kinds));
            if (given || !exclude)
                && let Some(resources) = member(block, "resources")
            {
                resources.insert("kinds", self.kinds.clone());
            }
            return;
        };
        let filters = member(block, branch).and_then(Value::as_array_mut).into_iter().flatten();
        for filter in filters {
            if !self.every && !kinds(filter).iter().any(is_pod) {
                continue;
            }
            if filter.get("resources").and_then(Value::as_object).is_none() {
                filter.insert("resources", Value::empty_object());
            }
            if let Some(resources) = member(filter, "resources") {
                resources.insert("kinds", self.kinds.clone());
            }
        }
    }

    fn wrapped(&self, overlay: Value) -> Value {
        self.path
            .iter()
            .rev()
            .fold(overlay, |inner, key| Value::object(Map::from_iter([(Text::from(*key), inner)])))
    }

    fn wrap_foreach(&self, entries: &mut Value, first: bool, tracker: &DivergenceTracker) {
        for entry in entries.as_array_mut().into_iter().flatten() {
            let nested = entry.get("foreach").is_some_and(|nested| !nested.is_null());
            let ascending = entry.get("order").and_then(Value::as_str) == Some("Ascending");
            if first && (nested || ascending) && !tracker.documented(Divergence::AutogenForeach) {
                // Kyverno copies neither the order nor the nested entries, and wraps the overlay that is not there.
                entry.remove("foreach");
                entry.remove("order");
                if nested {
                    entry.insert("patchStrategicMerge", self.wrapped(Value::Null));
                    continue;
                }
            }
            if let Some(overlay) = member(entry, "patchStrategicMerge").filter(|overlay| !overlay.is_null()) {
                *overlay = self.wrapped(overlay.clone());
            }
            if let Some(nested) = member(entry, "foreach") {
                self.wrap_foreach(nested, false, tracker);
            }
        }
    }

    /// Replaces the paths of Pods in all strings and keys by those of the pod template; `None` for what has none, which
    /// is shared.
    fn rewrite(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
            Value::String(text) => self.rewritten(text).map(Value::String),
            Value::Array(items) => {
                let mut generated: Option<Vec<Value>> = None;
                for (index, item) in items.iter().enumerate() {
                    if let Some(item) = self.rewrite(item) {
                        generated.get_or_insert_with(|| items.to_vec())[index] = item;
                    }
                }
                generated.map(Value::array)
            }
            Value::Object(members) => {
                let mut generated: Option<Map> = None;
                for (index, (key, member)) in members.iter().enumerate() {
                    let (new_key, new_member) = (self.rewritten(key), self.rewrite(member));
                    if new_key.is_some() || new_member.is_some() {
                        generated.get_or_insert_with(|| members.first(index, members.len()));
                    }
                    if let Some(generated) = &mut generated {
                        let key = new_key.unwrap_or_else(|| key.clone());
                        generated.insert(key, new_member.unwrap_or_else(|| member.clone()));
                    }
                }
                generated.map(Value::object)
            }
        }
    }

    /// `None` for a text without such a path.
    fn rewritten(&self, text: &Text) -> Option<Text> {
        if !text.contains("request.o") {
            return None;
        }
        let template = self.path.join(".");
        let mut rewritten = text.to_string();
        // `spec` first: the new path of the metadata begins with `spec` as well.
        for field in ["spec", "metadata"] {
            for object in ["request.object", "request.oldObject"] {
                rewritten =
                    rewritten.replace(&format!("{object}.{field}"), &format!("{object}.{template}.{field}"));
            }
        }
        (rewritten != **text).then(|| rewritten.into())
    }
}

fn member<'v>(value: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    value.as_object_mut()?.get_mut(name)
}

#[cfg(test)]
mod tests;
