//! The policies over the items, and what the function replies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::krm::{
    Gravity, ItemOutcome, Mode, OnError, Reply, Severity, change_words, file_of, file_path, hide,
    is_resource, is_same_object, results, sort, warning,
};
use crate::policy::PolicyKind;
use crate::render::{Masked, Origin, harmless_name, lines, mask_beside};
use crate::report::{ObjectReport, Outcome};
use crate::semantics::DivergenceSet;
use crate::source::{Content, InputDocument, OldObjects};
use crate::value::{GroupVersionKind, ObjectRef, Text, Value};

use super::given::{Given, Node};
use super::load::Function;
use super::{Evaluated, Evaluator, Exit, NoteKind, Reporter, chunks, evaluate_all};

/// What renders is expected to give the same each time.
const TIMED: &str = "a policy looks at the time: another run may give another result";

/// What is evaluated.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) value: Value,
    /// What messages call it.
    pub(super) origin: Origin,
    /// Where results place it.
    pub(super) file: Option<Value>,
    /// Whether policies see it; others are passed over.
    pub(super) is_evaluated: bool,
}

impl Function {
    /// Runs the policies, says what there is to say, and replies.
    pub(super) fn reply(&self, given: &Given<'_>, reporter: &mut Reporter) -> Reply {
        let mode = self.config.mode;
        let subjects = match mode {
            Mode::Generate => self.made.clone(),
            Mode::Mutate | Mode::Validate => {
                given.items.iter().map(|item| self.subject(item, given.config.value)).collect()
            }
        };
        let mut ran = self.run(&subjects);
        let failed = self.tell(&ran, reporter);
        let mut results: Vec<Value> =
            ran.iter_mut().flatten().flat_map(|ran| std::mem::take(&mut ran.results)).collect();
        if self.world.was_asked_for_time() {
            reporter.note(NoteKind::Other, TIMED);
            results.push(warning(TIMED));
        }
        sort(&mut results);
        if mode == Mode::Validate {
            // What kustomize validates must not come back, what comes from files must.
            let is_of_files = given.items.iter().any(|item| file_path(item.value).is_some());
            let fate = if is_of_files { ItemOutcome::Kept } else { ItemOutcome::Dropped };
            return Reply { items: vec![fate; given.items.len()], added: Vec::new(), results };
        }
        if failed {
            // What did not happen is not reported as if it had.
            let error = Value::from(Severity::Error.word());
            results.retain(|result| result.get("severity") == Some(&error));
            return Reply::unchanged(given.items.len(), results);
        }
        let after = ran.into_iter().map(|ran| ran.and_then(|ran| ran.after));
        if mode == Mode::Generate {
            let objects = subjects.into_iter().zip(after);
            let objects = objects.map(|(subject, after)| after.unwrap_or(subject.value)).collect();
            return added(given, objects, results);
        }
        let items = after.map(|after| after.map_or(ItemOutcome::Kept, ItemOutcome::Became)).collect();
        Reply { items, added: Vec::new(), results }
    }

    fn subject(&self, item: &Node<'_>, function_config: &Value) -> Subject {
        let file = file_of(item.value);
        let path = file.as_ref().and_then(|file| file.get("path")).and_then(Value::as_text);
        Subject {
            value: item.value.clone(),
            origin: match path.filter(|_| file_path(item.value).is_some()) {
                Some(path) => Origin { name: path.clone(), line: None },
                None => item.origin(),
            },
            is_evaluated: is_resource(item.value, function_config) && !self.is_applied(item.value),
            file,
        }
    }

    /// Whether an item is one of the policies that are applied.
    fn is_applied(&self, item: &Value) -> bool {
        let text = |name| item.path(&["metadata", name]).and_then(Value::as_str);
        let Some(kind) = GroupVersionKind::of(item).filter(|kind| &*kind.group == "kyverno.io") else {
            return false;
        };
        let Some(name) = text("name") else { return false };
        self.engine.policies().policies().iter().any(|policy| {
            let is_same = match policy.kind {
                PolicyKind::ClusterPolicy => &*kind.kind == "ClusterPolicy",
                PolicyKind::Policy => {
                    let namespace = policy.namespace.as_deref().unwrap_or("default");
                    &*kind.kind == "Policy" && namespace == text("namespace").unwrap_or("default")
                }
            };
            is_same && &*policy.name == name
        })
    }

    fn gravity(&self) -> Gravity {
        Gravity {
            errors: self.config.on_error.severity(),
            violations: (self.config.mode == Mode::Validate).then_some(self.config.severity),
        }
    }

    /// Evaluates the subjects; `None` for one that policies do not see.
    fn run(&self, subjects: &[Subject]) -> Vec<Option<Ran>> {
        let old = OldObjects::default();
        let evaluator = Evaluator {
            engine: &self.engine,
            world: &self.world,
            old: &old,
            stored: None,
            twice: false,
            live: false,
            shows_secrets: false,
            keeps_whole: false,
        };
        let gravity = self.gravity();
        let visible = subjects.iter().enumerate().filter(|(_, subject)| subject.is_evaluated);
        let documents = visible.map(|(input, subject)| {
            let content = Content::Object(hide(&subject.value).0);
            Ok(InputDocument { input, content, file: None, further: false })
        });
        // The number of the input is that of the subject. Targets beyond the items are nobody's.
        let prepare = |evaluated: &mut Evaluated| {
            let subject = subjects.get(evaluated.piece.input).filter(|_| !evaluated.piece.further)?;
            Some(ran(evaluated, subject, gravity))
        };
        let mut all: Vec<Option<Ran>> = subjects.iter().map(|_| None).collect();
        let take = |evaluated: Evaluated, ran: Option<Ran>| {
            if let (Some(ran), Some(place)) = (ran, all.get_mut(evaluated.piece.input)) {
                *place = Some(ran);
            }
            Ok(())
        };
        let _never_fails = evaluate_all(chunks(documents), &evaluator, prepare, take, drop);
        all
    }

    /// Says what happened; whether the function fails by rules that could not be evaluated.
    fn tell(&self, ran: &[Option<Ran>], reporter: &mut Reporter) -> bool {
        let mut divergences = DivergenceSet::NONE;
        let mut exceptions = BTreeSet::new();
        let mut undecided = BTreeSet::new();
        let mut missing = BTreeSet::new();
        let mut failed = false;
        for ran in ran.iter().flatten() {
            divergences.extend(ran.divergences);
            exceptions.extend(&ran.exceptions);
            undecided.extend(&ran.undecided);
            missing.extend(&ran.missing);
            if !ran.violations.is_empty() {
                let exit = if self.config.severity == Severity::Error { Exit::Changes } else { Exit::Done };
                reporter.error_lines(exit, &ran.violations);
            }
            if !ran.errors.is_empty() {
                match self.config.on_error {
                    OnError::Fail => {
                        failed = true;
                        reporter.error_lines(Exit::Evaluation, &ran.errors);
                    }
                    OnError::Warn => reporter.error_lines(Exit::Done, &as_warnings(&ran.errors)),
                }
            }
        }
        for target in missing {
            reporter.note(NoteKind::Omission, &format!("no item is the target {target}"));
        }
        for (about, remark) in &self.remarks {
            reporter.note(*about, remark);
        }
        for text in undecided {
            reporter.note(NoteKind::Omission, text);
        }
        if !exceptions.is_empty() {
            let names: Vec<&str> = exceptions.into_iter().map(|name| &**name).collect();
            reporter.note(NoteKind::Other, &format!("exceptions applied: {}", names.join(", ")));
        }
        reporter.announce(divergences, self.engine.settings().semantics);
        failed
    }
}

/// The reply with objects added. One that stands among the items already takes its place there, and with it
/// the file; the configuration does not come back where it came from no file.
fn added(given: &Given<'_>, objects: Vec<Value>, results: Vec<Value>) -> Reply {
    let mut reply = Reply::unchanged(given.items.len(), results);
    for (item, fate) in given.items.iter().zip(&mut reply.items) {
        if is_same_object(item.value, given.config.value) && file_path(item.value).is_none() {
            *fate = ItemOutcome::Dropped;
        }
    }
    let mut there = BTreeMap::new();
    for (index, item) in given.items.iter().enumerate() {
        if let Some(object) =
            ObjectRef::of(item.value).filter(|_| is_resource(item.value, given.config.value))
        {
            there.entry(object).or_insert(index);
        }
    }
    for object in objects {
        let index = ObjectRef::of(&object).and_then(|identity| there.get(&identity).copied());
        match index.and_then(|index| given.items.get(index).zip(reply.items.get_mut(index))) {
            Some((item, fate)) => {
                let (shown, hidden) = hide(item.value);
                if shown != object {
                    *fate = ItemOutcome::Became(hidden.restore(&object));
                }
            }
            None => reply.added.push(object),
        }
    }
    reply
}

/// The same lines, as warnings.
fn as_warnings(errors: &str) -> String {
    let lines = errors.lines().map(|line| match line.strip_prefix("error: ") {
        Some(rest) => format!("warning: {rest}\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// What became of an item.
struct Ran {
    /// The item, if it changed.
    after: Option<Value>,
    results: Vec<Value>,
    /// What could not be evaluated, in lines.
    errors: String,
    /// What policies would change, in lines, where they must not.
    violations: String,
    divergences: DivergenceSet,
    /// The exceptions that took it out of some rule.
    exceptions: BTreeSet<Text>,
    /// What is said of exceptions whose conditions cannot be evaluated.
    undecided: Vec<String>,
    /// The targets that no item is.
    missing: Vec<Text>,
}

fn ran(Evaluated { objects, after, .. }: &Evaluated, subject: &Subject, gravity: Gravity) -> Ran {
    let mut ran = Ran {
        after: after.as_ref().map(|after| hide(&subject.value).1.restore(after)),
        results: Vec::new(),
        errors: String::new(),
        violations: String::new(),
        divergences: DivergenceSet::NONE,
        exceptions: BTreeSet::new(),
        undecided: Vec::new(),
        missing: Vec::new(),
    };
    for object in objects {
        let report = &object.report;
        let masked = mask_beside(&report.before, &report.after, &report.secrets);
        ran.exceptions.extend(report.exceptions().into_iter().cloned());
        let undecided = report.unknown.undecided.iter();
        ran.undecided.extend(undecided.map(|undecided| masked.message(&undecided.to_string())));
        ran.divergences.extend(report.divergences());
        for (_, rule) in report.rules() {
            if let Outcome::Triggered { missing, .. } = &rule.outcome {
                ran.missing.extend(missing.iter().map(|target| Text::from(masked.message(target))));
            }
        }
        let shown = |text: &str| masked.message(text);
        ran.results.extend(results(report, subject.file.as_ref(), gravity, &shown));
        ran.errors.push_str(&lines(report, &subject.origin));
        if let Some(severity) = gravity.violations.filter(|_| report.is_changed()) {
            ran.violations.push_str(&violations(report, &subject.origin, severity, gravity, &masked));
        }
    }
    ran
}

/// A line for each rule that would change an object.
fn violations(
    report: &ObjectReport,
    origin: &Origin,
    severity: Severity,
    gravity: Gravity,
    masked: &Masked,
) -> String {
    let word = if severity == Severity::Info { "note" } else { severity.word() };
    let name = report.object.as_ref().map_or_else(String::new, ToString::to_string);
    let mut out = String::new();
    for (policy, rule) in report.rules() {
        if policy.has_error() || !matches!(rule.outcome, Outcome::Patched { .. }) {
            continue;
        }
        let words = change_words(rule, gravity, &|text| masked.message(text));
        let line = format!("{origin}: {name}: {}/{}: {words}", policy.policy, rule.rule);
        let _ = writeln!(out, "{word}: {}", harmless_name(&line));
    }
    out
}
