//! The policies applied to the items, and the function's response.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::commands::evaluate::{Evaluated, Evaluator};
use crate::commands::exit::Exit;
use crate::commands::pipeline::{chunks, evaluate_all};
use crate::commands::policy_places::PolicyPlaces;
use crate::commands::reporter::{Label, Note, NoteKind, Reporter};
use crate::commands::run_context::RunContext;
use crate::commands::summary::{Closing, RunSummary};
use crate::diagnostics::Code;
use crate::krm::{
    FunctionResult, ItemOutcome, Mode, OnError, Response, Severities, Severity, change_words, file_of,
    file_path, hide, is_resource, is_same_object, lacks_kind, results, sort,
};
use crate::policy::{DocumentKind, kind_of};
use crate::render::{Masked, Origin, error_lines, mask_beside, printable_line};
use crate::report::{ObjectReport, Outcome};
use crate::source::{Content, InputDocument, OldObjects};
use crate::value::{ObjectRef, Value};

use super::input::{FunctionInput, Node, Subject};
use super::load::Function;

impl Function {
    pub(super) fn response(&self, input: &FunctionInput<'_>, reporter: &mut Reporter) -> Response {
        let mode = self.config.mode;
        let subjects = match mode {
            Mode::Generate => self.generated.clone(),
            Mode::Mutate | Mode::Validate => {
                input.items.iter().map(|item| self.subject(item, input.config.value)).collect()
            }
        };
        let mut summary = RunSummary::without_impact();
        let mut evaluated = self.run(input, &subjects, &mut summary);
        self.report(&evaluated, &summary, reporter);
        let notes = reporter.take_notes();
        let found = evaluated.iter().flatten().map(|item| item.results.len()).sum::<usize>();
        let mut results = Vec::with_capacity(found + notes.len());
        for item in evaluated.iter_mut().flatten() {
            results.extend(std::mem::take(&mut item.results));
        }
        let is_strict = reporter.is_strict();
        results.extend(notes.iter().map(|note| note_result(note, is_strict, &subjects)));
        sort(&mut results);
        if mode == Mode::Validate {
            // kustomize expects no items from a validator, but items that come from files would be deleted.
            let is_of_files = input.items.iter().any(|item| file_path(item.value).is_some());
            let outcome = if is_of_files { ItemOutcome::Kept } else { ItemOutcome::Dropped };
            return Response { items: vec![outcome; input.items.len()], added: Vec::new(), results };
        }
        if reporter.exit() != Exit::Done {
            // The changes did not happen: only errors are reported.
            results.retain(|result| result.severity() == Severity::Error);
            return Response::unchanged(input.items.len(), results);
        }
        let after = evaluated.into_iter().map(|item| item.and_then(|item| item.after));
        if mode == Mode::Generate {
            let objects = subjects.into_iter().zip(after);
            let object = |(subject, after): (Subject, Option<After>)| match after {
                Some(After::Object(object)) => object,
                Some(After::Text(_)) | None => subject.value,
            };
            return added(input, objects.map(object).collect(), results);
        }
        let outcome = |after: Option<After>| match after {
            Some(After::Text(text)) => ItemOutcome::Replaced(text),
            Some(After::Object(_)) | None => ItemOutcome::Kept,
        };
        let items = after.map(outcome).collect();
        Response { items, added: Vec::new(), results }
    }

    fn subject(&self, item: &Node<'_>, function_config: &Value) -> Subject {
        let file = file_of(item.value);
        Subject {
            value: item.value.clone(),
            origin: match file.as_ref().filter(|_| file_path(item.value).is_some()) {
                Some(file) => Origin { name: file.path.clone(), line: None },
                None => item.origin(),
            },
            is_evaluated: is_resource(item.value, function_config) && !self.is_applied(item.value)
                // So that it is noted.
                || lacks_kind(item.value),
            file,
        }
    }

    /// Whether an item is one of the policies that are applied.
    fn is_applied(&self, item: &Value) -> bool {
        if kind_of(item) != DocumentKind::Policy {
            return false;
        }
        let text = |path: &[&str]| item.path(path).and_then(Value::as_str);
        let namespace = text(&["metadata", "namespace"]).unwrap_or("default");
        self.engine.policies().policies().iter().any(|policy| {
            let meta = policy.meta();
            meta.namespace.as_deref().is_none_or(|own| own == namespace)
                && text(&["kind"]) == Some(meta.kind)
                && text(&["metadata", "name"]) == Some(&meta.name)
        })
    }

    fn severities(&self) -> Severities {
        Severities {
            errors: self.config.on_error.severity(),
            violations: (self.config.mode == Mode::Validate).then_some(self.config.severity),
        }
    }

    /// Evaluates the subjects; `None` for one that policies are not applied to.
    fn run(
        &self,
        input: &FunctionInput<'_>,
        subjects: &[Subject],
        summary: &mut RunSummary,
    ) -> Vec<Option<ItemResult>> {
        let old = OldObjects::default();
        let evaluator = Evaluator {
            check_idempotent: self.config.check_idempotent,
            ..Evaluator::new(&self.engine, &self.world, &old)
        };
        let severities = self.severities();
        let policies =
            PolicyPlaces { policies: self.engine.policies().policies(), texts: &self.policy_texts };
        let visible = subjects.iter().enumerate().filter(|(_, subject)| subject.is_evaluated);
        let documents = visible.map(|(input, subject)| {
            let content = Content::Object(hide(&subject.value).0);
            Ok(InputDocument { input, content, file: None, further: false })
        });
        // The index of the input is that of the subject. Targets that are no items are left out.
        let prepare = |evaluated: &mut Evaluated| {
            let subject = subjects.get(evaluated.source.input).filter(|_| !evaluated.source.further)?;
            evaluated.origin = Some(subject.origin.clone());
            let after = evaluated.after.take().and_then(|after| {
                let after = || hide(&subject.value).1.restore(&after);
                match self.config.mode {
                    Mode::Mutate => Some(After::Text(input.edited(evaluated.source.input, &after()))),
                    Mode::Generate => Some(After::Object(after())),
                    Mode::Validate => None,
                }
            });
            Some(ItemResult { after, ..item_result(evaluated, subject, severities, policies) })
        };
        let mut all: Vec<Option<ItemResult>> = subjects.iter().map(|_| None).collect();
        let collect = |evaluated: Evaluated, result: Option<ItemResult>| {
            summary.count(&evaluated);
            if let (Some(result), Some(place)) = (result, all.get_mut(evaluated.source.input)) {
                *place = Some(result);
            }
            Ok(())
        };
        let _never_fails = evaluate_all(chunks(documents), &evaluator, prepare, collect, drop);
        all
    }

    /// Reports failed rules, changes in mode validate, and notes.
    fn report(&self, evaluated: &[Option<ItemResult>], summary: &RunSummary, reporter: &mut Reporter) {
        for result in evaluated.iter().flatten() {
            if !result.violations.is_empty() {
                let exit = if self.config.severity == Severity::Error { Exit::Changes } else { Exit::Done };
                reporter.error_lines(exit, &result.violations);
            }
            if !result.errors.is_empty() {
                match self.config.on_error {
                    OnError::Fail => reporter.error_lines(Exit::Evaluation, &result.errors),
                    OnError::Warn => reporter.error_lines(Exit::Done, &as_warnings(&result.errors)),
                }
            }
        }
        let context = RunContext {
            engine: &self.engine,
            notes: &self.notes,
            notes_on_acts: &[],
            missing_schemas: None,
            absent_namespaces: Vec::new(),
            has_unasked_cluster: false,
            varies_with_time: self.world.uses_time(),
        };
        summary.close(&context, Closing::ALL, reporter);
    }
}

/// The result that repeats a note.
fn note_result(note: &Note, is_strict: bool, subjects: &[Subject]) -> FunctionResult {
    let severity = match note.kind {
        NoteKind::Omission | NoteKind::Warning if is_strict => Severity::Error,
        NoteKind::Omission | NoteKind::Warning => Severity::Warning,
        NoteKind::Other => Severity::Info,
    };
    let subject = note.subject.as_ref();
    let object = subject.and_then(|subject| subject.object.as_ref());
    let file = subject.and_then(|subject| subjects.get(subject.input)?.file.as_ref());
    let message = match note.label {
        Label::Code(_) => note.text.clone(),
        Label::Divergence(divergence) => format!("{divergence} {}", note.text),
    };
    FunctionResult::message((&note.label.to_string(), &message), severity, object, file)
}

/// The response with objects added. One that is among the items already replaces that item, and keeps the file; a
/// configuration that comes from no file is removed.
fn added(input: &FunctionInput<'_>, objects: Vec<Value>, results: Vec<FunctionResult>) -> Response {
    let mut response = Response::unchanged(input.items.len(), results);
    for (item, outcome) in input.items.iter().zip(&mut response.items) {
        if is_same_object(item.value, input.config.value) && file_path(item.value).is_none() {
            *outcome = ItemOutcome::Dropped;
        }
    }
    let mut there = BTreeMap::new();
    for (index, item) in input.items.iter().enumerate() {
        if let Some(object) =
            ObjectRef::of(item.value).filter(|_| is_resource(item.value, input.config.value))
        {
            there.entry(object).or_insert(index);
        }
    }
    for object in objects {
        let index = ObjectRef::of(&object).and_then(|identity| there.get(&identity).copied());
        match index.and_then(|index| Some((index, input.items.get(index)?))) {
            Some((index, item)) => {
                let (shown, hidden) = hide(item.value);
                if shown != object {
                    let text = input.edited(index, &hidden.restore(&object));
                    response.items[index] = ItemOutcome::Replaced(text);
                }
            }
            None => response.added.push(object),
        }
    }
    response
}

/// The same lines, as warnings.
fn as_warnings(errors: &str) -> String {
    let lines = errors.lines().map(|line| match line.strip_prefix("error[") {
        Some(rest) => format!("warning[{rest}\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// What the policies did to an item.
#[derive(Default)]
struct ItemResult {
    after: Option<After>,
    results: Vec<FunctionResult>,
    /// Lines with errors of rules.
    errors: String,
    /// Lines with changes, in mode validate.
    violations: String,
}

/// A changed item.
enum After {
    Text(String),
    /// In mode generate, whose objects have no text yet.
    Object(Value),
}

fn item_result(
    Evaluated { objects, .. }: &Evaluated,
    subject: &Subject,
    severities: Severities,
    policies: PolicyPlaces<'_>,
) -> ItemResult {
    let mut result = ItemResult::default();
    for object in objects {
        let report = &object.report;
        let masked = mask_beside(&report.before, &report.after, &report.secrets);
        let shown = |text: &str| masked.message(text);
        result.results.extend(results(report, subject.file.as_ref(), severities, &shown));
        result.errors.push_str(&error_lines(report, &subject.origin, |error| policies.place(error, report)));
        if let Some(severity) = severities.violations.filter(|_| report.is_changed()) {
            result.violations.push_str(&violations(report, &subject.origin, severity, severities, &masked));
        }
    }
    result
}

/// A line for each rule that would change an object.
fn violations(
    report: &ObjectReport,
    origin: &Origin,
    severity: Severity,
    severities: Severities,
    masked: &Masked,
) -> String {
    let word = if severity == Severity::Info { "note" } else { severity.word() };
    let name = report.object.as_ref().map_or_else(String::new, ToString::to_string);
    let mut out = String::new();
    for (policy, rule) in report.rules() {
        if policy.has_error() || !matches!(rule.outcome, Outcome::Patched { .. }) {
            continue;
        }
        let words = change_words(rule, severities, &|text| masked.message(text));
        let line = format!("{origin}: {name}: {}: {words}", rule.title(&policy.policy));
        let _ = writeln!(out, "{word}[{}]: {}", Code::Violation, printable_line(&line));
    }
    out
}
