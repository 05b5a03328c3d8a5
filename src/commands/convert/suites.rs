//! `--tests`: Kyverno's test suites for both sides, with objects of the proof.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::commands::options::RunOptions;
use crate::commands::reporter::Reporter;
use crate::diagnostics::Code;
use crate::engine::{Engine, InputNames, Settings, World as _};
use crate::policy::{Policy, PolicySet, Rule};
use crate::proof::Case;
use crate::render::counted;
use crate::report::{ObjectReport, Outcome};
use crate::resources::KindScope;
use crate::semantics::{Dialect, Semantics};
use crate::source::{OfflineWorld, PolicyLoader, create_file, relative_to, replace_file};
use crate::suite::is_same;
use crate::value::{GroupVersionKind, PathSet, Text, Value};
use crate::yaml;

/// The most objects of a suite, and how many of them policies change.
const MAX_OBJECTS: usize = 12;
const MAX_CHANGED: usize = 7;

const SUITE: &str = "kyverno-test.yaml";
const RESOURCES: &str = "resources.yaml";
const PATCHED: &str = "patched.yaml";
const VALUES: &str = "values.yaml";

/// What suites are written for.
pub(super) struct Suites<'a> {
    /// The folder of the suites of this pair.
    pub(super) folder: PathBuf,
    pub(super) name: &'a str,
    /// The files or directories of both sides.
    pub(super) sides: [&'a Path; 2],
    /// Objects that go different ways through the policies, the smallest first.
    pub(super) samples: &'a [Case],
    /// Whether files that exist are overwritten.
    pub(super) force: bool,
}

/// An object of a suite, with what comes of it.
struct Drafted {
    object: Value,
    after: Value,
    /// The rows of both sides.
    rows: [Vec<Row>; 2],
}

/// What a rule makes of an object.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// The number of the policy.
    policy: usize,
    /// Its rule; `None` for a CEL policy.
    rule: Option<Text>,
    result: RowResult,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowResult {
    /// It changes the object.
    Changed,
    /// It applies and changes nothing, which Kyverno skips for rules, but not for CEL policies.
    Unchanged,
    Skipped,
}

impl RowResult {
    const ALL: [Self; 3] = [Self::Changed, Self::Unchanged, Self::Skipped];
}

/// The policies of a side, as documented and as Kyverno has them.
struct Side {
    engines: [Engine; 2],
}

impl Suites<'_> {
    /// Writes the suites. Errors are reported.
    pub(super) fn write(&self, options: &RunOptions, reporter: &mut Reporter) {
        let [old, new] = self.sides.map(|path| Side::load(path, options));
        let (Some(old), Some(new)) = (old, new) else { return };
        let mut world = OfflineWorld::new(options.now.unwrap_or_else(Timestamp::now), options.seed);
        world.set_kinds(&[]);
        let drafted = self.draft([&old, &new], &mut world);
        for (policy, rule) in old.rules() {
            let wanted = Row { policy, rule: rule.clone(), result: RowResult::Changed };
            if !drafted.objects.iter().any(|one| one.rows[0].contains(&wanted)) {
                let name = old.title(policy, rule.as_ref());
                let message = format!("{name}: no object of the proof that it changes fits in a test suite");
                reporter.note(Code::RuleWithoutRow, message);
            }
        }
        if drafted.objects.is_empty() {
            return;
        }
        let documents =
            |values: &mut dyn Iterator<Item = &Value>| values.map(document).collect::<Vec<_>>().join("---\n");
        let mut files = vec![
            (PathBuf::from(RESOURCES), documents(&mut drafted.objects.iter().map(|one| &one.object))),
            (
                PathBuf::from(PATCHED),
                documents(&mut drafted.objects.iter().filter(|one| one.is_changed()).map(|one| &one.after)),
            ),
        ];
        if !drafted.namespaces.is_empty() {
            files.push((PathBuf::from(VALUES), document(&values(&drafted.namespaces))));
        }
        for (number, (side, name)) in [(&old, "old"), (&new, "new")].into_iter().enumerate() {
            let folder = self.folder.join(name);
            let text = document(&self.suite(side, number, &folder, &drafted));
            files.push((Path::new(name).join(SUITE), text));
        }
        for (file, text) in files {
            let path = self.folder.join(file);
            let written = if self.force && path.exists() {
                replace_file(&path, text.as_bytes())
            } else {
                create_file(&path, text.as_bytes())
            };
            if reporter.ok(written).is_none() {
                return;
            }
        }
        let objects = counted(drafted.objects.len(), "object");
        reporter.summary(&format!("{}: test suites of both sides with {objects}", self.folder.display()));
    }

    /// The objects of the suites: with names of their own, such that all sides agree on them.
    fn draft(&self, sides: [&Side; 2], world: &mut OfflineWorld) -> Draft {
        let mut draft = Draft::default();
        let mut seen = BTreeSet::new();
        for changes in [true, false] {
            for case in self.samples {
                let limit = if changes { MAX_CHANGED } else { MAX_OBJECTS };
                if draft.objects.len() >= limit {
                    break;
                }
                let Some(object) = draft.named(case, world) else { continue };
                let Some((drafted, way)) = drafted(&object, sides, world) else { continue };
                if drafted.is_changed() == changes && seen.insert(way) {
                    draft.add(drafted, case);
                }
            }
        }
        draft
    }

    fn suite(&self, side: &Side, number: usize, folder: &Path, draft: &Draft) -> Value {
        let list = |text: String| Value::array(vec![Value::string(text)]);
        let policies = relative_to(folder, self.sides[number]);
        let mut suite = Value::from_iter([
            ("apiVersion", Value::from("cli.kyverno.io/v1alpha1")),
            ("kind", Value::from("Test")),
            ("metadata", Value::from_iter([("name", Value::from(self.name))])),
            ("policies", list(policies)),
            ("resources", list(format!("../{RESOURCES}"))),
        ]);
        if !draft.namespaces.is_empty() {
            suite.insert("variables", Value::string(format!("../{VALUES}")));
        }
        suite.insert("results", Value::array(results(side, number, draft)));
        suite
    }
}

/// The objects of suites.
#[derive(Default)]
struct Draft {
    objects: Vec<Drafted>,
    /// The namespaces with their labels, if these count.
    namespaces: Vec<(Text, Value)>,
}

impl Draft {
    /// The object of a request with a name and a namespace of its own; `None` for one without a name.
    fn named(&self, case: &Case, world: &mut OfflineWorld) -> Option<Value> {
        let mut object = case.object.clone();
        let kind = GroupVersionKind::of(&object)?;
        let is_namespaced = world.resource(&kind).scope == KindScope::Namespaced;
        let number = self.objects.len() + 1;
        let metadata = object.as_object_mut()?.get_mut("metadata")?;
        if metadata.get("name")?.as_str()? == "a" {
            metadata.insert("name", Value::string(format!("{}-{number}", kind.kind.to_lowercase())));
        }
        let labels = case.namespace_labels.as_object().filter(|labels| !labels.is_empty());
        if is_namespaced && metadata.get("namespace").is_none() {
            let namespace =
                if labels.is_some() { format!("labelled-{number}") } else { "default".to_owned() };
            metadata.insert("namespace", Value::string(namespace));
        }
        let (name, namespace) = (metadata.get("name"), metadata.get("namespace"));
        let is_known = self.objects.iter().any(|one| one.object.path(&["metadata", "name"]) == name);
        if let (Some(_), Some(Value::String(namespace))) = (labels, namespace) {
            if self
                .namespaces
                .iter()
                .any(|(known, known_labels)| known == namespace && *known_labels != case.namespace_labels)
            {
                return None;
            }
            world.set_namespace_labels(namespace.clone(), case.namespace_labels.clone());
        }
        (!is_known).then_some(object)
    }

    fn add(&mut self, drafted: Drafted, case: &Case) {
        let namespace = drafted.object.path(&["metadata", "namespace"]).and_then(Value::as_text);
        let is_labelled = case.namespace_labels.as_object().is_some_and(|labels| !labels.is_empty());
        if let Some(namespace) = namespace.filter(|_| is_labelled)
            && !self.namespaces.iter().any(|(known, _)| known == namespace)
        {
            self.namespaces.push((namespace.clone(), case.namespace_labels.clone()));
        }
        self.objects.push(drafted);
    }
}

impl Drafted {
    fn is_changed(&self) -> bool {
        self.rows[0].iter().any(|row| row.result == RowResult::Changed)
    }
}

/// What comes of an object, and which way it goes; `None` where a side fails or the sides do not agree.
fn drafted(object: &Value, sides: [&Side; 2], world: &OfflineWorld) -> Option<(Drafted, String)> {
    let reports = sides.map(|side| side.report(object, world));
    let [Some(old), Some(new)] = reports else { return None };
    if !is_same(&old.after, &new.after) {
        return None;
    }
    let rows = [sides[0].rows(&old), sides[1].rows(&new)];
    let patched = |rows: &[Row]| {
        let changed = rows.iter().filter(|row| row.result == RowResult::Changed);
        changed.map(|row| row.policy).collect::<BTreeSet<_>>()
    };
    // The state after a policy is compared, which is the last one if no other policy changes the object.
    if rows.iter().any(|rows| patched(rows).len() > 1) {
        return None;
    }
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let way = format!("{kind} {} {}", PathSet::differences(&old.before, &old.after), reasons(&old));
    let drafted = Drafted { object: object.clone(), after: old.after, rows };
    (patched(&drafted.rows[0]).is_empty() == patched(&drafted.rows[1]).is_empty()).then_some((drafted, way))
}

/// Why rules leave an object alone.
fn reasons(report: &ObjectReport) -> String {
    let reason = |outcome: &Outcome| match outcome {
        Outcome::Skipped(reason) => reason.to_string(),
        other => other.word().to_owned(),
    };
    report.rules().map(|(_, rule)| reason(&rule.outcome)).collect::<Vec<_>>().join(";")
}

impl Side {
    /// The policies of a path; `None` if they cannot be read, which was reported before.
    fn load(path: &Path, options: &RunOptions) -> Option<Self> {
        let engine = |semantics| {
            let mut loader =
                PolicyLoader::new(Dialect { semantics, ..options.dialect }, options.input_limits);
            loader.path(path);
            let policies = loader.finish("").ok()?.policies;
            // As the rows of a suite see objects.
            let settings = Settings { semantics, input_names: InputNames::SUITE, ..options.settings() };
            Some(Engine::new(PolicySet::new(policies), settings))
        };
        Some(Self { engines: [engine(Semantics::Documented)?, engine(Semantics::Kyverno)?] })
    }

    fn policies(&self) -> &[Policy] {
        self.engines[0].policies().policies()
    }

    /// What comes of an object; `None` where a rule fails, or the semantics differ.
    fn report(&self, object: &Value, world: &OfflineWorld) -> Option<ObjectReport> {
        let [documented, kyverno] =
            self.engines.each_ref().map(|engine| engine.mutate_alone(object, None, world));
        let has_error = documented.policies.iter().chain(&kyverno.policies).any(|policy| policy.has_error());
        (!has_error && documented.after == kyverno.after).then_some(documented)
    }

    /// The rules that have rows, by the number of their policy: of a CEL policy itself.
    fn rules(&self) -> Vec<(usize, Option<Text>)> {
        let rules = self.policies().iter().enumerate().flat_map(|(number, policy)| match policy {
            Policy::Classic(policy) => {
                let written = policy.rules.iter().filter(|rule| rule.generated_from.is_none());
                let written = written.filter(|rule| rule.existing().is_none());
                written.map(|rule| (number, Some(rule.name.clone()))).collect()
            }
            _ => vec![(number, None)],
        });
        rules.collect()
    }

    fn title(&self, policy: usize, rule: Option<&Text>) -> String {
        let name = self.policies().get(policy).map(Policy::full_name).unwrap_or_default();
        rule.map_or_else(|| name.to_string(), |rule| format!("{name}/{rule}"))
    }

    /// What each rule, or one that was generated from it, makes of an object.
    fn rows(&self, report: &ObjectReport) -> Vec<Row> {
        let rows = self.rules().into_iter().filter_map(|(number, rule)| {
            let policy = self.policies().get(number);
            let name = policy.map(Policy::full_name).unwrap_or_default();
            let is_its = |found: &Text| {
                let Some(rule) = &rule else { return true };
                let rules = policy.and_then(Policy::as_classic).map(|policy| &policy.rules);
                let is_generated =
                    |one: &Rule| one.generated_from.as_ref() == Some(rule) && one.name == *found;
                found == rule || rules.into_iter().flatten().any(is_generated)
            };
            let outcomes = || {
                let its =
                    report.rules().filter(|(policy, found)| *policy.policy == *name && is_its(&found.rule));
                its.map(|(_, found)| &found.outcome)
            };
            // Kyverno finds no result of a CEL policy for an object that its constraints do not match.
            if rule.is_none() && outcomes().next().is_none() {
                return None;
            }
            let result = if outcomes().any(|outcome| matches!(outcome, Outcome::Patched { .. })) {
                RowResult::Changed
            } else if rule.is_none() && outcomes().any(|outcome| matches!(outcome, Outcome::NoChange)) {
                RowResult::Unchanged
            } else {
                RowResult::Skipped
            };
            Some(Row { policy: number, rule, result })
        });
        rows.collect()
    }
}

/// The rows of a side: one for each rule, kind and result.
fn results(side: &Side, number: usize, draft: &Draft) -> Vec<Value> {
    let mut rows = Vec::new();
    let kinds: BTreeSet<&str> =
        draft.objects.iter().filter_map(|one| one.object.get("kind").and_then(Value::as_str)).collect();
    for (policy, rule) in side.rules() {
        for kind in &kinds {
            for result in RowResult::ALL {
                let wanted = Row { policy, rule: rule.clone(), result };
                let objects = draft.objects.iter().filter(|one| {
                    one.object.get("kind").and_then(Value::as_str) == Some(kind)
                        && one.rows[number].contains(&wanted)
                });
                let names = objects.filter_map(|one| one.object.path(&["metadata", "name"]).cloned());
                let names: Vec<Value> = names.collect();
                if !names.is_empty() {
                    rows.push(row(side, &wanted, kind, names));
                }
            }
        }
    }
    rows
}

fn row(side: &Side, wanted: &Row, kind: &str, names: Vec<Value>) -> Value {
    let Row { policy, rule, result } = wanted;
    let mut row = Value::from_iter([("policy", Value::string(side.title(*policy, None)))]);
    match (rule, side.policies().get(*policy)) {
        (Some(rule), _) => row.insert("rule", Value::String(rule.clone())),
        (None, Some(Policy::Cel(policy))) if !policy.kind.is_of_kyverno() => {
            row.insert("isMutatingAdmissionPolicy", Value::Bool(true));
        }
        _ => row.insert("isMutatingPolicy", Value::Bool(true)),
    }
    row.insert("kind", Value::from(kind));
    row.insert("resources", Value::array(names));
    if *result == RowResult::Changed {
        row.insert("patchedResources", Value::string(format!("../{PATCHED}")));
    }
    row.insert("result", Value::from(if *result == RowResult::Skipped { "skip" } else { "pass" }));
    row
}

/// The labels of namespaces.
fn values(namespaces: &[(Text, Value)]) -> Value {
    let one = |(name, labels): &(Text, Value)| {
        Value::from_iter([("name", Value::String(name.clone())), ("labels", labels.clone())])
    };
    Value::from_iter([
        ("apiVersion", Value::from("cli.kyverno.io/v1alpha1")),
        ("kind", Value::from("Values")),
        ("metadata", Value::from_iter([("name", Value::from("values"))])),
        ("namespaceSelector", Value::array(namespaces.iter().map(one).collect())),
    ])
}

fn document(value: &Value) -> String {
    let mut text = String::new();
    yaml::print(value, &mut text);
    text
}
