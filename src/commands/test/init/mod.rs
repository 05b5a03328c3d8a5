//! `--init`: a test suite for policies, with objects made from them.

mod objects;

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::commands::exit::Exit;
use crate::commands::options::RunOptions;
use crate::commands::reporter::Reporter;
use crate::diagnostics::Code;
use crate::engine::{Engine, InputNames, Settings};
use crate::policy::{ClassicPolicy, Policy, PolicySet, Rule};
use crate::render::counted;
use crate::report::{ObjectReport, Outcome};
use crate::semantics::{Dialect, Semantics};
use crate::source::{OfflineWorld, PolicyLoader, create_file};
use crate::value::{ObjectRef, Value};

use super::update::documents;

/// The folder of a suite beside its policy, as in Kyverno's own repositories.
const FOLDER: &str = ".kyverno-test";
const SUITE: &str = "kyverno-test.yaml";
const RESOURCES: &str = "resources.yaml";

/// The longest name of an object.
const NAME_BYTES: usize = 53;

/// What a suite is made of.
#[derive(Debug, Default)]
struct Draft {
    resources: Vec<Value>,
    results: Vec<Value>,
}

/// Writes a suite for a file or folder with policies; returns its path. Errors are reported; `None` if there are any.
pub(super) fn write(
    policy: &Path,
    folder: Option<&Path>,
    options: &RunOptions,
    reporter: &mut Reporter,
) -> Option<PathBuf> {
    let engines = [Semantics::Documented, Semantics::Kyverno].map(|semantics| {
        let dialect = Dialect { semantics, ..options.dialect };
        let mut loader = PolicyLoader::new(dialect, options.input_limits);
        loader.path(policy);
        loader.finish(&policy.display().to_string()).map(|loaded| engine(loaded.policies, semantics, options))
    });
    let [documented, kyverno] = match engines {
        [Ok(documented), Ok(kyverno)] => [documented, kyverno],
        [Err(refused), _] | [_, Err(refused)] => {
            reporter.source_errors(&refused.errors);
            return None;
        }
    };
    let mut world = OfflineWorld::new(options.now.unwrap_or_else(Timestamp::now), options.seed);
    world.set_kinds(&[]);
    let mut draft = Draft::default();
    let both = Both { documented: &documented, kyverno: &kyverno, world: &world };
    for policy in documented.policies().policies().iter().filter_map(Policy::as_classic) {
        for rule in policy.rules.iter().filter(|rule| rule.generated_from.is_none()) {
            match both.add(policy, rule, &mut draft) {
                Ok(()) => {}
                Err(why) => {
                    let name = policy.meta.full_name();
                    reporter.note(
                        Code::RuleWithoutRow,
                        format_args!("{name}/{}: no object for it: {why}", rule.name),
                    );
                }
            }
        }
    }
    if draft.results.is_empty() {
        reporter.error(
            Exit::Evaluation,
            Code::NoRows,
            format_args!("{}: no suite can be made of its rules", policy.display()),
        );
        return None;
    }
    let folder = folder.map_or_else(|| beside(policy), Path::to_owned);
    let suite = folder.join(SUITE);
    for (file, text) in [
        (&suite, suite_text(policy, &folder, &draft)),
        (&folder.join(RESOURCES), documents(draft.resources.iter())),
    ] {
        reporter.ok(create_file(file, text.as_bytes()))?;
    }
    let objects = counted(draft.resources.len(), "object");
    reporter.summary(&format!("{}: created with {objects}", suite.display()));
    Some(suite)
}

fn engine(policies: Vec<Policy>, semantics: Semantics, options: &RunOptions) -> Engine {
    // As the rows of a suite see objects.
    let settings = Settings { semantics, input_names: InputNames::SUITE, ..options.settings() };
    Engine::new(PolicySet::new(policies), settings)
}

/// The folder of the suite of a policy.
fn beside(policy: &Path) -> PathBuf {
    let parent = if policy.is_dir() { Some(policy) } else { policy.parent() };
    parent.unwrap_or_else(|| Path::new("")).join(FOLDER)
}

/// Why a rule has no row.
#[derive(Debug, thiserror::Error)]
enum NoObject {
    #[error("it is not evaluated")]
    NotEvaluated,
    #[error("it changes targets, which a suite has to name")]
    Targets,
    #[error("it names no kind")]
    Kind,
    #[error("{0}")]
    Failed(String),
    #[error("the conditions of the rule are too special; write one by hand")]
    Conditions,
}

/// The engines of both semantics: a suite is for this program and for the Kyverno CLI.
struct Both<'a> {
    documented: &'a Engine,
    kyverno: &'a Engine,
    world: &'a OfflineWorld,
}

impl Both<'_> {
    /// The result of an object; `None` where the semantics differ.
    fn report(&self, object: &Value) -> Option<ObjectReport> {
        let report = self.documented.mutate_alone(object, None, self.world);
        (report.after == self.kyverno.mutate_alone(object, None, self.world).after).then_some(report)
    }

    /// Adds an object that a rule changes, and one that it does not select.
    fn add(&self, policy: &ClassicPolicy, rule: &Rule, draft: &mut Draft) -> Result<(), NoObject> {
        if rule.not_evaluated().is_some() {
            return Err(NoObject::NotEvaluated);
        }
        if rule.existing().is_some() {
            return Err(NoObject::Targets);
        }
        let name = format!("{}-{}", object_name(&rule.name), draft.resources.len() + 1);
        let candidates = objects::matching(rule, &name);
        let mut failure = if candidates.is_empty() { NoObject::Kind } else { NoObject::Conditions };
        for object in candidates {
            let object = in_namespace_of(policy, object);
            let Some(report) = self.report(&object) else { continue };
            match outcome(&report, policy, rule) {
                Some(Outcome::Patched { .. }) if is_new(&object, draft) => {
                    draft.results.push(row(policy, rule, &object, true));
                    draft.resources.push(object.clone());
                    self.add_other(policy, rule, &object, draft);
                    return Ok(());
                }
                Some(Outcome::Error(error)) => failure = NoObject::Failed(error.to_string()),
                _ => {}
            }
        }
        Err(failure)
    }

    /// Adds an object that the rule does not select.
    fn add_other(&self, policy: &ClassicPolicy, rule: &Rule, selected: &Value, draft: &mut Draft) {
        let name = format!("not-{}-{}", object_name(&rule.name), draft.resources.len() + 1);
        let candidates = objects::not_matching(selected, &name).into_iter();
        let mut candidates = candidates.map(|object| in_namespace_of(policy, object)).filter(|object| {
            let report = self.report(object).filter(|report| !is_selected(report, policy, rule));
            report.is_some() && is_new(object, draft)
        });
        if let Some(object) = candidates.next() {
            draft.results.push(row(policy, rule, &object, false));
            draft.resources.push(object);
        }
    }
}

/// Whether a rule, or one that autogen made of it, selects an object, or the policy fails.
fn is_selected(report: &ObjectReport, policy: &ClassicPolicy, rule: &Rule) -> bool {
    let is_its = |other: &&Rule| other.name == rule.name || other.generated_from.as_ref() == Some(&rule.name);
    policy.rules.iter().filter(is_its).any(|rule| outcome(report, policy, rule).is_some())
}

fn outcome<'r>(report: &'r ObjectReport, policy: &ClassicPolicy, rule: &Rule) -> Option<&'r Outcome> {
    let name = policy.meta.full_name();
    let policy = report.policies.iter().find(|found| *found.policy == *name)?;
    // The changes of a policy with an error are discarded.
    let failed = policy.rules.iter().find(|rule| matches!(rule.outcome, Outcome::Error(_)));
    failed.or_else(|| policy.rules.iter().find(|found| found.rule == rule.name)).map(|found| &found.outcome)
}

/// Whether no object of the suite has its name.
fn is_new(object: &Value, draft: &Draft) -> bool {
    let name = ObjectRef::of(object);
    draft.resources.iter().all(|known| ObjectRef::of(known) != name)
}

/// A namespaced policy is for the objects of its namespace.
fn in_namespace_of(policy: &ClassicPolicy, mut object: Value) -> Value {
    if let Some(namespace) = &policy.meta.namespace
        && let Some(metadata) = object.as_object_mut().and_then(|members| members.get_mut("metadata"))
    {
        metadata.insert("namespace", Value::string(namespace.clone()));
    }
    object
}

/// A name that an API server accepts.
fn object_name(rule: &str) -> String {
    let plain = rule.to_lowercase();
    let plain: String = plain.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    plain.get(..NAME_BYTES).unwrap_or(&plain).trim_matches('-').to_owned()
}

/// The row of an object.
fn row(policy: &ClassicPolicy, rule: &Rule, object: &Value, is_changed: bool) -> Value {
    let text = |path: &[&str]| object.path(path).cloned().unwrap_or_default();
    let mut row = Value::from_iter([
        ("policy", Value::string(policy.meta.full_name())),
        ("rule", Value::string(rule.name.clone())),
        ("kind", text(&["kind"])),
        ("resources", Value::array(vec![text(&["metadata", "name"])])),
    ]);
    if is_changed {
        let file = format!("patched-{}.yaml", object_name(&policy.meta.name));
        row.insert("patchedResources", Value::string(file));
    }
    row.insert("result", Value::string(if is_changed { "pass" } else { "skip" }));
    row
}

fn suite_text(policy: &Path, folder: &Path, draft: &Draft) -> String {
    let list = |text: String| Value::array(vec![Value::string(text)]);
    let stem = policy.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let suite = Value::from_iter([
        ("apiVersion", Value::string("cli.kyverno.io/v1alpha1")),
        ("kind", Value::string("Test")),
        ("metadata", Value::from_iter([("name", Value::string(object_name(&stem)))])),
        ("policies", list(from_folder(policy, folder))),
        ("resources", list(RESOURCES.to_owned())),
        ("results", Value::array(draft.results.clone())),
    ]);
    documents([&suite].into_iter())
}

/// The path of the policies, relative to the folder of the suite where that is beside them.
fn from_folder(policy: &Path, folder: &Path) -> String {
    if beside(policy) == folder && !policy.is_dir() {
        let name = policy.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        return format!("../{name}");
    }
    fs::canonicalize(policy).unwrap_or_else(|_| policy.to_owned()).display().to_string()
}
