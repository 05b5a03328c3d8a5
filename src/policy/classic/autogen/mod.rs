//! Rules for Pods, carried over to the controllers that make Pods.

use std::collections::BTreeSet;

use crate::policy::classic::refuse::blocks;
use crate::policy::fields::{is_blank, texts};
use crate::policy::{KindSelector, Note};
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{Map, Text, Value};

/// The annotation that names the controllers.
pub(super) const ANNOTATION: &str = "pod-policies.kyverno.io/autogen-controllers";

/// The controllers of Kubernetes but `CronJob`, with the selectors of their kinds.
const CONTROLLERS: &[(&str, &str)] = &[
    ("DaemonSet", "apps/v1/DaemonSet"),
    ("Deployment", "apps/v1/Deployment"),
    ("Job", "batch/v1/Job"),
    ("ReplicaSet", "apps/v1/ReplicaSet"),
    ("ReplicationController", "v1/ReplicationController"),
    ("StatefulSet", "apps/v1/StatefulSet"),
];
const CRON_JOB: (&str, &str) = ("CronJob", "batch/v1/CronJob");

/// The most bytes that the name of a rule may have.
const LONGEST_NAME: usize = 63;

/// A rule made from a rule for Pods.
#[derive(Debug)]
pub(super) struct Generated {
    /// The index of the source among the rules of the policy.
    pub(super) source: usize,
    /// The rule as it could have been written.
    pub(super) rule: Value,
    /// Whether only Kyverno generates it.
    pub(super) controller_only_rules: bool,
}

/// What came of the rules of a policy.
#[derive(Debug, Default)]
pub(super) struct Autogen {
    pub(super) generated: Vec<Generated>,
    pub(super) notes: Vec<Note>,
    /// Why nothing is generated for anything.
    pub(super) stopped: Option<String>,
}

/// Carries the mutate rules of a policy over to controllers.
///
/// `readings` are those of the rules, in the same order: a rule that comes through a divergence is marked.
pub(super) fn generate(policy: &Value, rules: &[Value], readings: &[DivergenceTracker]) -> Autogen {
    let annotation = policy.path(&["metadata", "annotations", ANNOTATION]).and_then(Value::as_str);
    let requested = Requested::read(annotation);
    let mut made = Autogen::default();
    if requested.is_empty() {
        made.stopped = Some(format!("the annotation `{ANNOTATION}` names no controllers"));
        return made;
    }
    if !names_workloads(rules) {
        return made;
    }
    let pod_rules: Vec<(usize, &Value)> = rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| rule.get("mutate").is_some() && is_for_pods(rule))
        .collect();
    let pairs = || rules.iter().zip(readings);
    let stopped = pairs().find_map(|(rule, tracker)| Some((rule, stopper(rule, tracker)?)));
    if let Some((rule, reason)) = stopped {
        let name = rule.get("name").and_then(Value::as_str).unwrap_or_default();
        made.stopped = Some(format!("no rule of the policy is generated, because the rule {name} {reason}"));
        let deprived = pod_rules.iter().any(|(index, rule)| {
            readings.get(*index).is_some_and(|tracker| stopper(rule, tracker).is_none() && !has_targets(rule))
        });
        if deprived || (annotation.is_some() && !pod_rules.is_empty()) {
            made.notes.push(Note::of_rule(
                rule,
                format!("no rule is generated for pod controllers, because this one {reason}"),
            ));
        }
        return made;
    }
    if !pod_rules.is_empty() {
        made.notes.extend(requested.ignored.iter().map(|name| {
            Note::new(format!(
                "the annotation `{ANNOTATION}` names `{name}`, which is ignored beside known controllers"
            ))
        }));
    }
    let patches_admitted = rules.iter().any(|rule| {
        rule.get("verifyImages").is_some() || (rule.get("mutate").is_some() && !has_targets(rule))
    });
    for (source, rule) in pod_rules {
        let Some(tracker) = readings.get(source) else { continue };
        // Nobody asks Kyverno about the controllers unless a rule of the policy patches what is admitted.
        if has_targets(rule) && !patches_admitted {
            continue;
        }
        let controller_only_rules = has_targets(rule) && tracker.documented(Divergence::AutogenTargets);
        let mut make = |form: &Form<'_>| {
            made.generated.push(Generated { source, rule: form.carry(rule, tracker), controller_only_rules });
        };
        if !requested.controllers.is_empty() {
            make(&Form {
                prefix: "autogen-",
                path: &["spec", "template"],
                kinds: &requested.controllers,
                every: false,
            });
        }
        if requested.cron_job {
            make(&Form {
                prefix: "autogen-cronjob-",
                path: &["spec", "jobTemplate", "spec", "template"],
                kinds: &[CRON_JOB.1.into()],
                every: true,
            });
        }
    }
    made
}

/// Whether the name of a rule is one that generated rules have.
pub(super) fn is_generated_name(rule: &Value) -> bool {
    rule.get("name").and_then(Value::as_str).is_some_and(|name| name.starts_with("autogen-"))
}

/// The controllers a policy wants rules for.
#[derive(Debug, Default)]
struct Requested {
    /// The selectors of their kinds, `CronJob` apart.
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
            // As in Kyverno, unknown names count only where no known controller stands beside them.
            Self { controllers: others.map(Text::from).collect(), cron_job, ignored: Vec::new() }
        } else {
            Self { controllers, cron_job, ignored: others.map(str::to_owned).collect() }
        }
    }

    const fn is_empty(&self) -> bool {
        self.controllers.is_empty() && !self.cron_job
    }
}

/// Whether a kind selector means Pods, in whatever version, and be it for a subresource.
fn is_pod(selector: &str) -> bool {
    &*KindSelector::parse(selector).kind == "Pod"
}

/// Whether a policy asks for its rules to be carried over: some block of some rule names `Pod` or one of the
/// controllers, exactly so.
fn names_workloads(rules: &[Value]) -> bool {
    let is_named = |kind: &Text| {
        let known = CONTROLLERS.iter().map(|(name, _)| *name).chain([CRON_JOB.0, "Pod"]);
        known.into_iter().any(|name| name == &**kind)
    };
    rules.iter().any(|rule| {
        ["match", "exclude"].into_iter().any(|block| {
            blocks(rule, block)
                .any(|(_, filter)| texts(filter.path(&["resources", "kinds"])).iter().any(is_named))
        })
    })
}

/// Whether a rule takes Pods, and excludes, if any kinds, Pods too.
fn is_for_pods(rule: &Value) -> bool {
    let kinds = |block| -> Vec<Text> {
        blocks(rule, block).flat_map(|(_, filter)| texts(filter.path(&["resources", "kinds"]))).collect()
    };
    let names_pod = |kinds: &[Text]| kinds.iter().any(|kind| is_pod(kind));
    let excluded = kinds("exclude");
    names_pod(&kinds("match")) && (excluded.is_empty() || names_pod(&excluded))
}

fn has_targets(rule: &Value) -> bool {
    rule.path(&["mutate", "targets"]).is_some_and(|targets| !targets.is_null())
}

/// Why a rule keeps its whole policy from being carried over.
fn stopper(rule: &Value, tracker: &DivergenceTracker) -> Option<&'static str> {
    let given = |value: Option<&Value>| value.is_some_and(|value| !is_blank(value));
    if given(rule.get("generate")) {
        return Some("generates objects");
    }
    for block in ["match", "exclude"] {
        for (_, filter) in blocks(rule, block) {
            let part = |name| filter.path(&["resources", name]);
            if given(part("name")) || given(part("names")) {
                return Some("selects by name");
            }
            if part("selector").is_some_and(|selector| !selector.is_null()) {
                return Some("selects by label");
            }
            if given(part("annotations")) {
                return Some("selects by annotation");
            }
            let kinds = texts(part("kinds"));
            if kinds.len() > 1 && kinds.iter().any(|kind| &**kind == "Pod") {
                return Some("names other kinds beside Pod in one filter");
            }
        }
    }
    let mutate = |name| rule.path(&["mutate", name]);
    if given(mutate("patchesJson6902")) {
        return Some("has `patchesJson6902`");
    }
    if given(mutate("patches")) {
        return Some("has `patches`");
    }
    let entries = mutate("foreach").and_then(Value::as_array).unwrap_or_default();
    if entries.iter().any(|entry| given(entry.get("patchesJson6902"))) {
        return Some("has `patchesJson6902` in a foreach");
    }
    // Below the first level Kyverno does not look; it then makes a rule that deletes the pod template.
    let nested = entries.iter().filter_map(|entry| entry.get("foreach"));
    if is_for_pods(rule)
        && nested.into_iter().any(has_json_leaf)
        && tracker.documented(Divergence::AutogenForeach)
    {
        return Some("has `patchesJson6902` in a nested foreach");
    }
    None
}

fn has_json_leaf(entries: &Value) -> bool {
    entries.as_array().unwrap_or_default().iter().any(|entry| {
        entry.get("patchesJson6902").is_some_and(|patch| !is_blank(patch))
            || entry.get("foreach").is_some_and(has_json_leaf)
    })
}

/// One of the two forms a rule is carried into.
struct Form<'a> {
    prefix: &'static str,
    /// The way from the controller to its pod template.
    path: &'static [&'static str],
    kinds: &'a [Text],
    /// Whether also filters that do not name Pod get the kinds.
    every: bool,
}

impl Form<'_> {
    fn carry(&self, rule: &Value, tracker: &DivergenceTracker) -> Value {
        let mut carried = rule.clone();
        let name = rule.get("name").and_then(Value::as_str).unwrap_or_default();
        carried.insert("name", Value::from(cut(&format!("{}{name}", self.prefix), LONGEST_NAME)));
        for block in ["match", "exclude"] {
            if let Some(filters) = member(&mut carried, block) {
                self.set_kinds(filters, block == "exclude");
            }
        }
        if let Some(mutate) = member(&mut carried, "mutate") {
            mutate.remove("targets");
            mutate.remove("mutateExistingOnPolicyUpdate");
            for overlay in ["patchStrategicMerge", "overlay"] {
                if let Some(overlay) = member(mutate, overlay).filter(|overlay| !overlay.is_null()) {
                    *overlay = self.wrapped(overlay.clone());
                }
            }
            if let Some(entries) = member(mutate, "foreach") {
                self.carry_foreach(entries, true, tracker);
            }
        }
        self.rewrite(&carried)
    }

    /// Points the filters of a block at the controllers.
    fn set_kinds(&self, block: &mut Value, exclude: bool) {
        let branch =
            ["any", "all"].into_iter().find(|branch| block.get(branch).is_some_and(|list| !is_blank(list)));
        let kinds = || Value::array(self.kinds.iter().cloned().map(Value::String).collect());
        let Some(branch) = branch else {
            let given = block.path(&["resources", "kinds"]).is_some_and(|kinds| !is_blank(kinds));
            if (given || !exclude)
                && let Some(resources) = member(block, "resources")
            {
                resources.insert("kinds", kinds());
            }
            return;
        };
        let filters = member(block, branch).and_then(Value::as_array_mut).into_iter().flatten();
        for filter in filters {
            let pods = texts(filter.path(&["resources", "kinds"])).iter().any(|kind| is_pod(kind));
            if !pods && !self.every {
                continue;
            }
            if filter.get("resources").and_then(Value::as_object).is_none() {
                filter.insert("resources", Value::empty_object());
            }
            if let Some(resources) = member(filter, "resources") {
                resources.insert("kinds", kinds());
            }
        }
    }

    fn wrapped(&self, overlay: Value) -> Value {
        self.path
            .iter()
            .rev()
            .fold(overlay, |inner, key| Value::object(Map::from_iter([(Text::from(*key), inner)])))
    }

    fn carry_foreach(&self, entries: &mut Value, first: bool, tracker: &DivergenceTracker) {
        for entry in entries.as_array_mut().into_iter().flatten() {
            let nested = entry.get("foreach").is_some_and(|nested| !nested.is_null());
            let ascending = entry.get("order").and_then(Value::as_str) == Some("Ascending");
            if first && (nested || ascending) && !tracker.documented(Divergence::AutogenForeach) {
                // Kyverno copies neither the order nor the nested entries, and wraps the overlay it misses.
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
                self.carry_foreach(nested, false, tracker);
            }
        }
    }

    /// Makes every text that speaks of the Pod speak of the pod template, keys included.
    fn rewrite(&self, value: &Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => Value::String(self.rewritten(text)),
            Value::Array(items) => Value::array(items.iter().map(|item| self.rewrite(item)).collect()),
            Value::Object(members) => {
                let carried = members.iter().map(|(key, value)| (self.rewritten(key), self.rewrite(value)));
                Value::object(carried.collect())
            }
        }
    }

    fn rewritten(&self, text: &Text) -> Text {
        if !text.contains("request.o") {
            return text.clone();
        }
        let template = self.path.join(".");
        let mut text = text.to_string();
        // The fields of the Pod come first: the new path of its metadata begins with `spec` itself.
        for field in ["spec", "metadata"] {
            for object in ["request.object", "request.oldObject"] {
                text = text.replace(&format!("{object}.{field}"), &format!("{object}.{template}.{field}"));
            }
        }
        text.into()
    }
}

fn member<'v>(value: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    value.as_object_mut()?.get_mut(name)
}

/// At most so many bytes of a text, whole characters.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

#[cfg(test)]
mod tests;
