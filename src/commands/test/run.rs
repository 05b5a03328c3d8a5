//! The evaluation of suites.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::admission::{Admission, KindSchemas};
use crate::commands::options::RunOptions;
use crate::commands::policy_places::{PolicyPlaces, real_path};
use crate::diagnostics::Code;
use crate::engine::{Engine, InputNames, Settings, Targets};
use crate::patch::Schemas;
use crate::policy::{Operation, Policy, PolicySet};
use crate::render::failed_rule;
use crate::report::{FilePlace, ObjectReport, Outcome, RuleReport, SkipReason, SuiteReport, Verdict};
use crate::semantics::DivergenceSet;
use crate::source::{CustomKind, OfflineWorld, Place, PolicyWarning, Refused, SourceError, read_file};
use crate::suite::{
    Coverage, Evaluation, ExpectedFiles, Mutants, Suite, SuiteRun, TargetState, check, unmatched_names,
};
use crate::value::{GroupVersionKind, ObjectRef, Text};
use crate::yaml::Document;

use super::load::{Loaded, Loader};
use super::mutants::noticed;
use super::selector::Selector;
use super::update::{Creation, Rewrite};

/// What all suites of a run share.
pub(super) struct Runner<'a> {
    pub(super) options: &'a RunOptions,
    pub(super) kinds: &'a [CustomKind],
    pub(super) schemas: Schemas,
    pub(super) kind_schemas: KindSchemas,
    pub(super) admission: Option<Admission>,
    pub(super) selector: &'a Selector,
    /// Whether it is found out what the suites reach of their policies.
    pub(super) covers: bool,
    /// Whether the suites run on mutants of their policies, too.
    pub(super) mutates: bool,
}

/// A test document with its results.
#[derive(Debug)]
pub(super) struct SuiteResult {
    pub(super) file: Text,
    /// The rows; `None` if no expectation is selected.
    pub(super) report: Result<Option<SuiteReport>, Vec<SourceError>>,
    pub(super) notes: Vec<String>,
    /// Those of its policies.
    pub(super) warnings: Vec<PolicyWarning>,
    /// Names in its expectations that no object has.
    pub(super) unmatched_names: Vec<String>,
    pub(super) divergences: DivergenceSet,
    /// The expected objects that differ.
    pub(super) rewrites: Vec<Rewrite>,
    /// The objects that have no expected ones.
    pub(super) creations: Vec<Creation>,
    /// What it reaches of the policies.
    pub(super) coverage: Coverage,
    /// What it notices of mutants of the policies.
    pub(super) mutants: Mutants,
    /// The rows that cannot be updated, because their rules failed.
    pub(super) not_updated: Vec<String>,
}

impl SuiteResult {
    fn failed(file: &Path, errors: Vec<SourceError>) -> Self {
        Self { report: Err(errors), ..Self::skipped(file, Vec::new()) }
    }

    /// A document without a selected expectation.
    fn skipped(file: &Path, notes: Vec<String>) -> Self {
        Self {
            file: file.display().to_string().into(),
            report: Ok(None),
            notes,
            warnings: Vec::new(),
            unmatched_names: Vec::new(),
            divergences: DivergenceSet::NONE,
            rewrites: Vec::new(),
            creations: Vec::new(),
            coverage: Coverage::default(),
            mutants: Mutants::default(),
            not_updated: Vec::new(),
        }
    }
}

impl Runner<'_> {
    /// Runs the suites of files in parallel; the results are in the order of the files.
    pub(super) fn run(&self, files: &[PathBuf]) -> Vec<SuiteResult> {
        let ran: Vec<Vec<SuiteResult>> = files.par_iter().map(|file| self.file(file)).collect();
        ran.into_iter().flatten().collect()
    }

    fn file(&self, file: &Path) -> Vec<SuiteResult> {
        match read_file(file, &self.options.input_limits) {
            Ok(documents) if documents.is_empty() => {
                let path = file.display().to_string();
                vec![SuiteResult::failed(file, vec![SourceError::Empty { path, kind: "Test" }])]
            }
            Ok(documents) => documents.iter().map(|document| self.document(file, document)).collect(),
            Err(errors) => vec![SuiteResult::failed(file, errors)],
        }
    }

    fn document(&self, file: &Path, document: &Document) -> SuiteResult {
        let mut suite = match document.value().map(Suite::read) {
            Some(Ok(suite)) => suite,
            Some(Err(errors)) => {
                let errors = errors.into_iter().map(|error| SourceError::Document {
                    code: Code::InvalidSuite,
                    place: Place::of(document, &error.pointer),
                    message: error.to_string(),
                });
                return SuiteResult::failed(file, errors.collect());
            }
            None => return SuiteResult::failed(file, Vec::new()),
        };
        let notes = if suite.results.is_empty() {
            vec![format!("{}: a suite without results", file.display())]
        } else {
            Vec::new()
        };
        suite.results.retain_mut(|result| self.selector.select(result));
        if suite.results.is_empty() {
            return SuiteResult::skipped(file, notes);
        }
        let now = self.options.now.unwrap_or_else(Timestamp::now);
        let mut world = OfflineWorld::new(now, self.options.seed);
        world.set_kinds(self.kinds);
        let folder = file.parent().unwrap_or_else(|| Path::new(""));
        let loader = Loader {
            folder,
            dialect: self.options.dialect,
            limits: self.options.input_limits,
            world: &world,
            refused: Refused::default(),
            notes: Vec::new(),
            warnings: Vec::new(),
        };
        match loader.load(document, suite) {
            Ok(loaded) => self.loaded(file, folder, loaded, world),
            Err(Refused { errors, divergences, .. }) => {
                SuiteResult { divergences, ..SuiteResult::failed(file, errors) }
            }
        }
    }

    fn loaded(&self, file: &Path, folder: &Path, mut loaded: Loaded, mut world: OfflineWorld) -> SuiteResult {
        let objects = loaded.objects.iter().chain(&loaded.targets);
        let objects: Vec<ObjectRef> = objects.filter_map(ObjectRef::of).collect();
        let names = || objects.iter().map(|object| &object.name);
        loaded.suite.results.retain_mut(|result| self.selector.narrow(result, names()));
        if loaded.suite.results.is_empty() {
            return SuiteResult::skipped(file, loaded.notes);
        }
        add_to_world(&loaded, &mut world);
        let runs = self.runs(&loaded, &loaded.policies, &world);
        let mut divergences = DivergenceSet::NONE;
        for report in runs.iter().flat_map(|run| &run.reports) {
            divergences.extend(report.divergences());
        }
        let expected: ExpectedFiles = loaded
            .expected
            .iter()
            .map(|(name, read)| {
                let values =
                    read.as_ref().map(|objects| objects.iter().map(|object| object.value.clone()).collect());
                (name.clone(), values.map_err(Clone::clone))
            })
            .collect();
        let coverage = if self.covers { coverage(&loaded, &runs) } else { Coverage::default() };
        let evaluation = Evaluation {
            policies: &loaded.policies,
            skipped: &loaded.skipped,
            runs: &runs,
            expected: &expected,
        };
        let rows = check(&loaded.suite, &evaluation, &world);
        let mutants = if self.mutates {
            noticed(&loaded, (self.options.dialect, self.options.input_limits), &rows, |policies| {
                let runs = self.runs(&loaded, policies, &world);
                let evaluation = Evaluation { policies, runs: &runs, ..evaluation };
                check(&loaded.suite, &evaluation, &world)
            })
        } else {
            Mutants::default()
        };
        let shown = file.display().to_string();
        let unmatched_names = unmatched_names(&loaded.suite, &evaluation, &world).into_iter();
        let unmatched_names = unmatched_names.map(|line| format!("{shown}: {line}")).collect();
        let updated = || rows.iter().filter(|row| row.verdict == Verdict::Fail && !row.is_error);
        let rewrites = updated().filter_map(|row| {
            let difference = row.difference.as_ref()?;
            let objects = loaded.expected.get(&difference.file)?.as_ref().ok()?;
            let object = objects.get(difference.index)?;
            Some(Rewrite::new(folder.join(&*difference.file), object, row))
        });
        let rewrites = rewrites.flatten().collect();
        let creations = updated().filter_map(|row| {
            let missing = row.missing.as_ref()?;
            Some(Creation { file: folder.join(&*missing.file), object: missing.object.clone() })
        });
        let creations = creations.collect();
        let not_updated = rows.iter().filter(|row| {
            row.is_error
                && row.verdict == Verdict::Fail
                && (row.difference.is_some() || row.missing.is_some())
        });
        let not_updated = not_updated.map(|row| format!("{shown}: {}", failed_rule(row))).collect();
        let notes = loaded.notes.into_iter().map(|note| match note.starts_with(&*folder.to_string_lossy()) {
            true if !folder.as_os_str().is_empty() => note,
            _ => format!("{shown}: {note}"),
        });
        let report = SuiteReport { file: shown.as_str().into(), name: loaded.suite.name, rows };
        let notes = notes.collect();
        SuiteResult {
            report: Ok(Some(report)),
            warnings: loaded.warnings,
            unmatched_names,
            divergences,
            rewrites,
            creations,
            coverage,
            mutants,
            not_updated,
            ..SuiteResult::skipped(file, notes)
        }
    }

    /// Runs a suite's objects through policies, once for each operation that its rows name.
    fn runs(&self, loaded: &Loaded, policies: &[Policy], world: &OfflineWorld) -> Vec<SuiteRun> {
        let mut operations: Vec<Option<Operation>> = Vec::new();
        for result in &loaded.suite.results {
            if !operations.contains(&result.operation) {
                operations.push(result.operation);
            }
        }
        let run = |operation| self.run_operation(loaded, policies, operation, world);
        operations.into_iter().map(run).collect()
    }

    /// Runs a suite's objects through policies as requests of one operation.
    fn run_operation(
        &self,
        loaded: &Loaded,
        policies: &[Policy],
        operation: Option<Operation>,
        world: &OfflineWorld,
    ) -> SuiteRun {
        let settings = Settings {
            admission: self.admission.clone(),
            schemas: self.schemas.clone(),
            kind_schemas: self.kind_schemas.clone(),
            values: loaded.values.values.clone(),
            user: loaded.user.clone(),
            exceptions: loaded.exceptions.clone(),
            cel_exceptions: loaded.cel_exceptions.clone(),
            operation,
            input_names: InputNames::SUITE,
            trace: self.covers,
            ..self.options.settings()
        };
        let engine = Engine::new(PolicySet::new(policies.to_vec()), settings);
        let mut reports: Vec<ObjectReport> =
            loaded.objects.par_iter().map(|object| engine.mutate(object, None, world)).collect();
        // Traces also have the rules that do not select an object.
        for report in reports.iter_mut().filter(|_| self.covers) {
            let is_selected =
                |rule: &RuleReport| !matches!(rule.outcome, Outcome::Skipped(SkipReason::NotSelected(_)));
            report.policies.iter_mut().for_each(|policy| policy.rules.retain(is_selected));
        }
        let targets =
            if engine.has_targets() { targets(&engine, loaded, &mut reports, world) } else { Vec::new() };
        SuiteRun { operation, reports, targets }
    }
}

/// Runs the rules with targets of a suite, each on the objects as they are in the files.
fn targets(
    engine: &Engine,
    loaded: &Loaded,
    reports: &mut [ObjectReport],
    world: &OfflineWorld,
) -> Vec<TargetState> {
    let mut targets = Targets::fixed();
    for object in &loaded.objects {
        targets.add(engine, object, world);
    }
    let mut named = BTreeSet::new();
    for object in &loaded.targets {
        named.insert(targets.number_of(engine, object, world).unwrap_or_else(|| {
            targets.add(engine, object, world);
            targets.count() - 1
        }));
    }
    for report in reports {
        let states = (report.before.clone(), report.after.clone());
        let triggered = engine.mutate_targets((&states.0, &states.1), None, &mut targets, world);
        report.policies.extend(triggered.policies);
        report.secrets.extend(&triggered.secrets);
    }
    let states = (0..targets.count()).filter_map(|number| {
        let is_named = named.contains(&number);
        let object = targets.original(number)?.clone();
        let taken = targets.take(number).map(|taken| (taken.policies, taken.secrets));
        let (policies, secrets) = taken.unwrap_or_default();
        let report = ObjectReport { policies, secrets, ..ObjectReport::untouched(object) };
        Some(TargetState { report, is_named })
    });
    states.collect()
}

/// What policies look up: namespaces with their labels, and objects for context entries.
fn add_to_world(loaded: &Loaded, world: &mut OfflineWorld) {
    for object in loaded.objects.iter().chain(&loaded.targets) {
        if GroupVersionKind::of(object)
            .is_some_and(|kind| kind.group.is_empty() && &*kind.kind == "Namespace")
        {
            world.add_namespace(object);
        }
    }
    for (name, labels) in &loaded.values.values.namespaces {
        world.set_namespace_labels(name.clone(), labels.clone());
    }
    world.set_objects(loaded.context_objects.clone());
}

/// What a suite reaches of its policies.
fn coverage(loaded: &Loaded, runs: &[SuiteRun]) -> Coverage {
    let places = PolicyPlaces { policies: &loaded.policies, texts: &loaded.texts };
    Coverage::of(&loaded.policies, runs, |policy, rule, at| {
        let place = places.rule(&policy.full_name(), rule, at)?;
        Some(FilePlace { file: real_path(&place.file), ..place })
    })
}
