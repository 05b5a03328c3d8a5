//! Expectations compared with the outcomes of the engine.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{LAST_APPLIED, World};
use crate::policy::{CelPolicyKind, Policy, RuleSummary, Why};
use crate::report::{
    Difference, MissingExpectation, ObjectReport, Outcome, RuleReport, SkipReason, Subject, SuiteRow, Verdict,
};
use crate::resources::KindScope;
use crate::secrets::Secrets;
use crate::value::{ObjectRef, Text, Value};

use super::compare::{in_order_of, is_same, without_noise};
use super::document::{Expectation, ResourceSpec, Status, Suite};
use super::objects::ObjectsByName;
use super::run::SuiteRun;

const DEFAULT_NAMESPACE: &str = "default";
/// The most rows of a suite: each result has one for each of its objects.
const MAX_ROWS: usize = 200_000;
const RESOURCE_ERROR: &str = "Resource error: ";

/// The expected objects of files, by the names that the suite has for the files.
pub type ExpectedFiles = BTreeMap<Text, Result<Vec<Value>, UnreadableFile>>;

/// Why a file has no expected objects.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct UnreadableFile {
    /// The errors.
    pub message: String,
    /// Whether there is no such file.
    pub is_missing: bool,
}

/// Everything that expectations are compared with.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// The policies that ran, in their order.
    pub policies: &'a [Policy],
    /// The policies that did not run, with the reason.
    pub skipped: &'a BTreeMap<Text, (Verdict, String)>,
    /// The runs, one for each operation.
    pub runs: &'a [SuiteRun],
    /// The expected objects.
    pub expected: &'a ExpectedFiles,
}

/// The rows of a suite: one for each expectation, object and rule that gave a result.
pub fn check(suite: &Suite, evaluation: &Evaluation<'_>, world: &dyn World) -> Vec<SuiteRow> {
    let mut rows = Vec::new();
    let objects: Vec<_> = evaluation.runs.iter().map(RunObjects::of).collect();
    for expectation in &suite.results {
        let checker = Checker { expectation, evaluation, objects: &objects, world };
        if rows.len() > MAX_ROWS {
            let reason = format!("the results have more than {MAX_ROWS} rows: the others are not compared");
            rows.push(checker.general(Verdict::Fail, reason));
            break;
        }
        checker.rows(&mut rows);
    }
    rows
}

/// A line for each name in an expectation that no object has, unless no object has any of its names, and for each generated
/// object of a rule that generates none.
pub fn unmatched_names(suite: &Suite, evaluation: &Evaluation<'_>, world: &dyn World) -> Vec<String> {
    let objects: Vec<_> = evaluation.runs.iter().map(RunObjects::of).collect();
    let names_of =
        |expectation| Checker { expectation, evaluation, objects: &objects, world }.unmatched_names();
    suite.results.iter().flat_map(names_of).collect()
}

/// The objects of a run.
struct RunObjects<'a> {
    run: &'a SuiteRun,
    own: ObjectsByName<'a>,
    /// Those that the suite names as targets.
    targets: ObjectsByName<'a>,
}

impl<'a> RunObjects<'a> {
    fn of(run: &'a SuiteRun) -> Self {
        let named = run.targets.iter().filter(|target| target.is_named);
        Self {
            run,
            own: ObjectsByName::of(run.reports.iter()),
            targets: ObjectsByName::of(named.map(|target| &target.report)),
        }
    }
}

struct Checker<'a> {
    expectation: &'a Expectation,
    evaluation: &'a Evaluation<'a>,
    objects: &'a [RunObjects<'a>],
    world: &'a dyn World,
}

impl Checker<'_> {
    fn rows(&self, rows: &mut Vec<SuiteRow>) {
        let run = match self.run() {
            Ok(run) => run,
            Err((verdict, reason)) => return rows.push(self.general(verdict, reason)),
        };
        let RunObjects { run, own, targets } = run;
        let first = rows.len();
        let targets = self.selected(targets);
        let mut with_rows: BTreeSet<&ObjectRef> = BTreeSet::new();
        for (object, target) in &targets {
            let before = rows.len();
            self.rows_of_target(target, rows);
            with_rows.extend((rows.len() > before).then_some(object));
        }
        let has_target_rows = rows.len() > first;
        let selected = self.selected(own);
        if selected.is_empty() && targets.is_empty() {
            return rows.push(self.general(Verdict::Fail, "Not found: the suite has no such object".into()));
        }
        for (object, report) in selected {
            let mut of_object = self.rows_of_object(report, run);
            let is_new = with_rows.insert(object);
            if of_object.is_empty() {
                of_object.push(self.unmatched(report, !is_new));
            }
            rows.append(&mut of_object);
        }
        if has_target_rows {
            // The file is about the targets, and the objects that trigger the rule do not change.
            let mut added = rows.split_off(first);
            added.retain(|row| row.verdict != Verdict::Dropped);
            rows.append(&mut added);
        } else {
            self.fail_uncompared(rows.get_mut(first..).unwrap_or_default());
        }
    }

    /// The run that the expectation is about, or why there is none.
    fn run(&self) -> Result<&RunObjects<'_>, (Verdict, String)> {
        let not_found = |what: &str| (Verdict::Fail, format!("Not found: {what}"));
        if let Some(why) = self.evaluation.skipped.get(self.expectation.policy_name()) {
            return Err(why.clone());
        }
        let runnable: Vec<Runnable> = self.policies().map(|policy| self.runnable(policy)).collect();
        if runnable.is_empty() {
            return Err(not_found("the suite has no such policy"));
        }
        if !runnable.iter().any(|runnable| matches!(runnable, Runnable::Yes)) {
            let why = runnable.into_iter().rev().find_map(|runnable| match runnable {
                Runnable::No(verdict, why) => Some((verdict, why)),
                _ => None,
            });
            return Err(why.unwrap_or_else(|| not_found("the policy has no such rule")));
        }
        let operation = self.expectation.operation;
        let mut runs = self.objects.iter();
        runs.find(|objects| objects.run.operation == operation)
            .ok_or_else(|| not_found("no run with this operation"))
    }

    /// The policies of the name in the expectation.
    fn policies(&self) -> impl Iterator<Item = &Policy> {
        let name = self.expectation.policy_name();
        self.evaluation.policies.iter().filter(move |policy| &*policy.meta().name == name)
    }

    /// The rows of an object that rules with targets may change: one for each change, or else one for each
    /// time that a rule selected it.
    fn rows_of_target(&self, report: &ObjectReport, rows: &mut Vec<SuiteRow>) {
        let name = self.expectation.policy_name();
        let applied = || {
            report.rules().filter(|(policy, rule)| {
                policy.policy.rsplit('/').next() == Some(name) && self.is_about(&rule.rule)
            })
        };
        let mut patched = applied().filter_map(|(_, rule)| match &rule.outcome {
            Outcome::Patched { after, .. } => Some((rule, after)),
            _ => None,
        });
        let is_open = self.expectation.resources.is_empty() && self.expectation.specs.is_empty();
        if let Some((rule, after)) = patched.next() {
            rows.push(self.row(report, rule, after));
            rows.extend(patched.map(|(rule, after)| self.row(report, rule, after)));
        } else if !is_open {
            let before = rows.len();
            rows.extend(applied().map(|(_, rule)| self.row(report, rule, &report.before)));
            if rows.len() == before {
                let mut row = self.of(report, Verdict::Skip, "Excluded".into());
                row.message = "no object triggers such a rule of the policy for it".into();
                rows.push(row);
            }
        }
    }

    /// Whether the expectation is about CEL policies. They have no rules, and Kyverno ignores one that the row names.
    fn is_about_cel(&self) -> bool {
        self.policies().any(|policy| matches!(policy, Policy::Cel(_)))
    }

    /// Whether the expectation is about a rule of the policy.
    fn is_about(&self, rule: &str) -> bool {
        self.is_about_cel() || self.expectation.is_about(rule)
    }

    /// Whether the policy has a rule that the expectation is about, not only one that it could be generated from.
    fn has_the_rule(&self) -> bool {
        self.policies().flat_map(Policy::rules).any(|rule| self.is_about(rule.name))
    }

    /// Whether a policy has rules that the expectation is about, and that run.
    fn runnable(&self, policy: &Policy) -> Runnable {
        let skipped = &policy.meta().not_evaluated;
        let could = |rule: &str| self.is_about(rule) || self.expectation.could_be_about(rule);
        let about = |rule: &&RuleSummary<'_>| could(rule.name) || could(rule.source);
        let rules = policy.rules();
        if let Some(whole) = skipped.iter().find(|skipped| skipped.rule.is_none()) {
            let mutates = rules.iter().any(|rule| about(&rule));
            return Runnable::of(whole.why, mutates);
        }
        if rules.iter().filter(about).any(|rule| rule.not_evaluated.is_none()) {
            return Runnable::Yes;
        }
        let why = rules.iter().filter(about).find_map(|rule| rule.not_evaluated);
        let others = || skipped.iter().find(|skipped| skipped.rule.as_deref().is_some_and(could));
        why.or_else(|| others().map(|skipped| skipped.why))
            .map_or(Runnable::Nothing, |why| Runnable::of(why, true))
    }

    /// Why the result may be incomplete: a rule of the policy, or of a policy before it, was not evaluated.
    fn incomplete(&self) -> Option<String> {
        let name = self.expectation.policy_name();
        let last = self.evaluation.policies.iter().rposition(|policy| &*policy.meta().name == name)?;
        let so_far = self.evaluation.policies.get(..=last).unwrap_or_default();
        so_far.iter().find_map(|policy| {
            let why = policy.rules().iter().find_map(|rule| rule.not_evaluated)?;
            Some(format!("{why} in policy {}", policy.meta().name))
        })
    }

    /// The objects that the expectation names, in their order; all if it names none.
    fn selected<'o>(&self, objects: &ObjectsByName<'o>) -> Vec<(&'o ObjectRef, &'o ObjectReport)> {
        let Expectation { resources, specs, .. } = self.expectation;
        if resources.is_empty() && specs.is_empty() {
            return objects.all.clone();
        }
        let of_resources = resources.iter().flat_map(|expected| self.places(expected, objects));
        let of_specs = specs.iter().flat_map(|spec| self.places_of(spec, objects));
        let places: BTreeSet<usize> = of_resources.chain(of_specs).collect();
        places.into_iter().filter_map(|place| objects.all.get(place).copied()).collect()
    }

    /// The places of the objects that `name` or `namespace/name` means.
    fn places(&self, expected: &str, objects: &ObjectsByName<'_>) -> impl Iterator<Item = usize> {
        let name = expected.split_once('/').map_or(expected, |(_, name)| name);
        objects.named(name, move |object| self.names(expected, object))
    }

    fn places_of(&self, spec: &ResourceSpec, objects: &ObjectsByName<'_>) -> impl Iterator<Item = usize> {
        objects.named(&spec.name, move |object| self.specifies(spec, object))
    }

    /// Whether `name` or `namespace/name` means an object.
    fn names(&self, expected: &str, object: &ObjectRef) -> bool {
        match expected.split_once('/') {
            Some((expected, name)) => expected == self.namespace(object) && name == &*object.name,
            None => *expected == *object.name,
        }
    }

    fn specifies(&self, spec: &ResourceSpec, object: &ObjectRef) -> bool {
        let namespace = self.namespace(object);
        spec.group == object.kind.group
            && (spec.version.is_empty() || spec.version == object.kind.version)
            && spec.name == object.name
            && (*spec.namespace == *namespace || spec.namespace.is_empty() && namespace == DEFAULT_NAMESPACE)
    }

    /// The names that no object has. If that is all of them, a row says so.
    fn unmatched_names(&self) -> Vec<String> {
        let Expectation { pointer, resources, specs, operation, generated, .. } = self.expectation;
        let mut lines = Vec::new();
        if *generated && self.policies().any(|policy| matches!(self.runnable(policy), Runnable::Yes)) {
            lines.push(format!(
                "{pointer}: the rule is no generate rule: a generated object is not looked for"
            ));
        }
        let run = self.objects.iter().find(|objects| objects.run.operation == *operation);
        let objects: Vec<&ObjectsByName<'_>> =
            run.into_iter().flat_map(|run| [&run.own, &run.targets]).collect();
        let has = |expected: &str| objects.iter().any(|of| self.places(expected, of).next().is_some());
        let missing = resources.iter().filter(|expected| !has(expected)).map(ToString::to_string);
        let specified =
            |spec: &ResourceSpec| objects.iter().any(|of| self.places_of(spec, of).next().is_some());
        let unspecified = specs.iter().filter(|spec| !specified(spec));
        let missing: Vec<String> =
            missing.chain(unspecified.map(|spec| format!("{}/{}", spec.namespace, spec.name))).collect();
        if missing.len() == resources.len() + specs.len() {
            return lines;
        }
        lines.extend(missing.iter().map(|name| format!("{pointer}: the suite has no object `{name}`")));
        lines
    }

    /// The namespace that an object is evaluated in; empty for objects of the cluster.
    fn namespace<'o>(&self, object: &'o ObjectRef) -> &'o str {
        match &object.namespace {
            Some(namespace) => namespace,
            None if self.world.resource(&object.kind).scope == KindScope::Cluster => "",
            None => DEFAULT_NAMESPACE,
        }
    }

    fn rows_of_object(&self, report: &ObjectReport, run: &SuiteRun) -> Vec<SuiteRow> {
        let name = self.expectation.policy_name();
        let mut rows = Vec::new();
        let mut state = &report.before;
        let mut trigger = None;
        for policy in &report.policies {
            if !policy.has_error() {
                let after = policy.rules.iter().rev().find_map(|rule| match &rule.outcome {
                    Outcome::Patched { after, .. } => Some(after),
                    _ => None,
                });
                state = after.unwrap_or(state);
            }
            if policy.policy.rsplit('/').next() != Some(name) {
                continue;
            }
            let is_bound =
                |rule: &&RuleReport| !matches!(rule.outcome, Outcome::Skipped(SkipReason::NotBound));
            for rule in policy.rules.iter().filter(|rule| self.is_about(&rule.rule)).filter(is_bound) {
                if !matches!(rule.outcome, Outcome::Triggered { .. }) {
                    rows.push(self.row(report, rule, state));
                } else if self.is_about_cel() {
                    trigger = Some((&policy.policy, rule));
                } else {
                    let of_targets = run.triggered(report.object.as_ref(), &policy.policy, &rule.rule);
                    rows.extend(of_targets.map(|rule| self.row(report, rule, state)));
                }
            }
        }
        // A CEL policy has one row for an object, also if it is its own target.
        if let Some((policy, rule)) = trigger.filter(|_| rows.is_empty()) {
            let changed = run.changed_as_target(report.object.as_ref(), policy);
            let (rule, state) = changed.unwrap_or((rule, state));
            rows.push(self.row(report, rule, state));
        }
        rows
    }

    /// The row of an object that the policy or rule does not match. Of most CEL policies the Kyverno CLI then finds no result,
    /// unless the object `is_known` as a target.
    fn unmatched(&self, report: &ObjectReport, is_known: bool) -> SuiteRow {
        let mut row = self.of(report, Verdict::Skip, "Excluded".into());
        if !is_known && self.policies().all(has_no_empty_result) {
            row.verdict = Verdict::Fail;
            row.reason = "Not found: the policy does not match the object".into();
        } else if self.has_the_rule() {
            row.message = "no such rule of the policy matches the object".into();
        } else {
            row.message = "the policy has no such rule: none is generated here".into();
        }
        let namespace = report.unknown.namespace.as_ref();
        let namespace =
            namespace.map(|name| format!("the values do not have the labels of namespace {name}"));
        let user = report.unknown.user.then(|| "the suite has no `userinfo`".to_owned());
        for hint in namespace.into_iter().chain(user) {
            let separator = if row.message.is_empty() { "" } else { "; " };
            row.message.push_str(separator);
            row.message.push_str(&hint);
        }
        row
    }

    /// The row of a rule.
    fn row(&self, report: &ObjectReport, rule: &RuleReport, state: &Value) -> SuiteRow {
        let mut row = self.of(report, Verdict::Pass, "Ok".into());
        if !self.is_about_cel() {
            row.rule = rule.rule.clone();
        }
        let (status, message) = match &rule.outcome {
            Outcome::Patched { .. } | Outcome::Triggered { .. } => (Status::Pass, String::new()),
            // To Kyverno, a CEL policy that changes nothing has been applied.
            Outcome::NoChange if self.is_about_cel() => {
                (Status::Pass, "the object already has what the policy sets".to_owned())
            }
            Outcome::NoChange => (Status::Skip, "the object already has what the rule sets".to_owned()),
            // The Kyverno CLI does not know `failurePolicy`.
            Outcome::Skipped(SkipReason::FailureIgnored(error)) => (Status::Error, error.clone()),
            Outcome::Skipped(reason) => (Status::Skip, reason.to_string()),
            Outcome::Error(error) => (Status::Error, error.to_string()),
        };
        row.message = message;
        row.is_error = status == Status::Error;
        row.code = if let Outcome::Error(error) = &rule.outcome { Some(error.code) } else { None };
        if let Some(file) = &self.expectation.patched {
            let of_target = rule.trigger.is_some() && matches!(rule.outcome, Outcome::Patched { .. });
            let failed = match self.compare(file, state, of_target) {
                Comparison::Same => None,
                Comparison::Unreadable(error) => {
                    if error.is_missing {
                        row.missing = Some(MissingExpectation { file: file.clone(), object: state.clone() });
                    }
                    Some((Verdict::Fail, format!("{RESOURCE_ERROR}{error}")))
                }
                Comparison::Missing => {
                    let is_trigger = rule.trigger.is_some() && rule.trigger == report.object;
                    if !is_trigger {
                        row.missing = Some(MissingExpectation { file: file.clone(), object: state.clone() });
                    }
                    Some(self.without_expected(file, is_trigger))
                }
                Comparison::Differs(difference) => Some(match self.incomplete() {
                    Some(why) => (Verdict::Unsupported, why),
                    None => {
                        row.difference = Some(difference);
                        (Verdict::Fail, "Resource diff".to_owned())
                    }
                }),
            };
            if let Some(failed) = failed {
                (row.verdict, row.reason) = failed;
                return row;
            }
        }
        let expected = self.expectation.result;
        if status != expected {
            row.verdict = Verdict::Fail;
            row.reason = format!("Want {}, got {}", expected.word(), status.word());
        }
        row
    }

    /// The verdict on an object that a file of expected objects lacks. Kyverno omits such a row, which is what an expected
    /// `fail` relies on: a mutate rule has no such result.
    fn without_expected(&self, file: &Text, is_trigger: bool) -> (Verdict, String) {
        let Expectation { resources, specs, result, fail_on_missing, .. } = self.expectation;
        let is_open = resources.is_empty() && specs.is_empty();
        let reason = format!("{file} does not have the object");
        if *fail_on_missing || !(is_open || is_trigger || *result == Status::Fail) {
            (Verdict::Fail, format!("{RESOURCE_ERROR}{reason}"))
        } else {
            (Verdict::Dropped, reason)
        }
    }

    /// Makes the rows of an expectation without names fail if none of its objects was compared.
    fn fail_uncompared(&self, rows: &mut [SuiteRow]) {
        let is_uncompared = |row: &SuiteRow| row.verdict == Verdict::Dropped && row.missing.is_some();
        if self.expectation.result != Status::Fail && rows.iter().all(is_uncompared) {
            for row in rows {
                row.verdict = Verdict::Fail;
                row.reason.insert_str(0, RESOURCE_ERROR);
            }
        }
    }

    /// Compares an object with the expected one of a file.
    fn compare(&self, file: &Text, actual: &Value, of_target: bool) -> Comparison {
        let documents = match self.evaluation.expected.get(file) {
            Some(Ok(documents)) => documents,
            Some(Err(error)) => return Comparison::Unreadable(error.clone()),
            None => {
                let message = format!("{file} was not read");
                return Comparison::Unreadable(UnreadableFile { message, is_missing: false });
            }
        };
        let mut actual = self.placed(actual);
        let Some(identity) = ObjectRef::of(&actual) else { return Comparison::Missing };
        let name = |object: &Value| object.path(&["metadata", "name"]).cloned();
        let actual_name = name(&actual);
        let namesakes = documents.iter().enumerate().filter(|(_, document)| name(document) == actual_name);
        let mut documents = namesakes.map(|(index, document)| (index, document, self.placed(document)));
        let found = documents.find(|(_, _, placed)| ObjectRef::of(placed).as_ref() == Some(&identity));
        let Some((index, document, expected)) = found else { return Comparison::Missing };
        // Kyverno's test files know nothing of the mark that its documentation promises.
        if of_target && expected.path(&["metadata", "annotations", LAST_APPLIED]).is_none() {
            remove_mark(&mut actual);
        }
        if is_same(&expected, &actual) {
            return Comparison::Same;
        }
        // What both sides have only for the comparison is not shown, and not written.
        let mut object = actual;
        if document.path(&["metadata", "namespace"]).is_none()
            && let Some(metadata) = object.as_object_mut().and_then(|members| members.get_mut("metadata"))
        {
            metadata.remove("namespace");
        }
        let object = in_order_of(document, &object);
        let (expected, actual) = (without_noise(document), without_noise(&object));
        Comparison::Differs(Difference { file: file.clone(), index, expected, actual, object })
    }

    /// The object with the namespace that it is evaluated in.
    fn placed(&self, object: &Value) -> Value {
        let mut placed = object.clone();
        let Some(identity) = ObjectRef::of(object) else { return placed };
        let namespace = self.namespace(&identity);
        if identity.namespace.is_none()
            && !namespace.is_empty()
            && let Some(metadata) = placed.as_object_mut().and_then(|members| members.get_mut("metadata"))
        {
            metadata.insert("namespace", namespace.into());
        }
        placed
    }

    fn of(&self, report: &ObjectReport, verdict: Verdict, reason: String) -> SuiteRow {
        let mut row = self.general(verdict, reason);
        row.states = Some((report.before.clone(), report.after.clone()));
        row.secrets = report.secrets.clone();
        if let Some(object) = &report.object {
            row.resource = Subject::Object(object.clone());
        }
        row
    }

    /// A row about no single object.
    fn general(&self, verdict: Verdict, reason: String) -> SuiteRow {
        let Expectation { policy, rule, resources, specs, .. } = self.expectation;
        let specs = specs.iter().map(|spec| format!("{}/{}", spec.namespace, spec.name));
        let names: Vec<String> = resources.iter().map(ToString::to_string).chain(specs).collect();
        SuiteRow {
            policy: policy.clone(),
            rule: rule.clone().filter(|_| !self.is_about_cel()).unwrap_or_default(),
            resource: Subject::Named(names.join(", ").into()),
            verdict,
            reason,
            message: String::new(),
            difference: None,
            missing: None,
            is_error: false,
            code: None,
            states: None,
            secrets: Secrets::default(),
        }
    }
}

/// Whether the Kyverno CLI drops the empty result of a policy for an object that it does not match: always of a
/// `MutatingAdmissionPolicy`, and of others if the policy and what autogen makes of it are for one plain resource rule each.
fn has_no_empty_result(policy: &Policy) -> bool {
    let Policy::Cel(policy) = policy else { return false };
    policy.kind == CelPolicyKind::MutatingAdmissionPolicy
        || policy.variants.iter().all(|variant| variant.constraints.is_one_plain_rule())
}

/// Removes the annotation about the change, and the annotations if there are no others.
fn remove_mark(object: &mut Value) {
    let metadata = object.as_object_mut().and_then(|members| members.get_mut("metadata"));
    if let Some(metadata) = metadata
        && let Some(annotations) = metadata.as_object_mut().and_then(|members| members.get_mut("annotations"))
        && annotations.remove(LAST_APPLIED).is_some()
        && annotations.as_object().is_some_and(|members| members.is_empty())
    {
        metadata.remove("annotations");
    }
}

/// Whether the rules that an expectation is about run.
enum Runnable {
    Yes,
    No(Verdict, String),
    /// There are none.
    Nothing,
}

impl Runnable {
    /// The reason why rules do not run, of which some mutate or none.
    fn of(why: Why, mutates: bool) -> Self {
        let is_missing = mutates && why.changes_the_result();
        Self::No(if is_missing { Verdict::Unsupported } else { Verdict::NotEvaluated }, why.to_string())
    }
}

/// An object compared with the expected ones.
enum Comparison {
    Same,
    Differs(Difference),
    Missing,
    Unreadable(UnreadableFile),
}
