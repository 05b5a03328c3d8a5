//! What a run remembers of its objects, and what it says about them at the end.

use std::collections::{BTreeMap, BTreeSet};

use crate::policy::Rule;
use crate::render::{Width, lines, missing_targets, shown_message, summary_table, trial_line, trials_line};
use crate::report::{ObjectReport, Outcome, RunningKyverno, ServerDryRun, Tally};
use crate::semantics::{DivergenceSet, Semantics};
use crate::source::Content;
use crate::source::cluster::{InstalledKyverno, MissingSchema};
use crate::value::{Change, Text};
use crate::yaml::{Edited, Fallback};

use super::evaluate::{Evaluated, Unsettled};
use super::exit::Exit;
use super::reporter::{NoteKind, Reporter};
use super::session::{Session, counted};

/// So many names are listed in one note.
const LISTED: usize = 10;

/// So many objects are remembered that the API server did not answer for.
const MOST_UNANSWERED: usize = 1000;

/// The versions whose differences are known.
const MEASURED: &str = "1.19.";

/// Counts and marks of a run.
#[derive(Debug, Default)]
pub(super) struct RunSummary {
    pub(super) tally: Tally,
    divergences: DivergenceSet,
    /// Whether the cluster was asked which Kyverno it runs.
    is_searched: bool,
    /// The rules whose changes were kept.
    patched: BTreeSet<(Text, Text)>,
    /// Documents without `apiVersion` or `kind`, and the texts they stand in.
    unknown: usize,
    unknown_in: BTreeSet<String>,
    /// Documents that could not be edited and were printed canonically, by the reason.
    printed: BTreeMap<Fallback, Vec<String>>,
    /// Documents in which aliases were written out.
    expanded: Vec<String>,
    /// What a second run would do.
    unsettled: Vec<String>,
    /// Namespaces whose labels were asked for and not given.
    unlabelled: BTreeSet<Text>,
    /// The user was asked for and not given.
    nobody: bool,
    /// How many objects each exception took out of some rule.
    exempted: BTreeMap<Text, usize>,
    /// Exceptions that do not apply because their conditions cannot be evaluated: what is said of them, and
    /// for how many objects.
    undecided: BTreeMap<String, usize>,
    /// How many objects, that some rule acts on, each part of Kyverno's configuration hides.
    hidden: BTreeMap<Text, usize>,
    /// The rules with targets that some object triggered.
    triggered: BTreeSet<(Text, Text)>,
    /// Targets that no object answers.
    missing: BTreeSet<String>,
    /// What is said of the first objects that an API server does not take, and how many more there are.
    untaken: Vec<String>,
    more_refused: usize,
    more_unanswered: usize,
}

/// How the run is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SumUp {
    /// In one line.
    Line,
    /// In one line, of what was not done.
    Would,
    /// As a table.
    Table,
    /// Not at all: the result does it.
    Nothing,
}

impl RunSummary {
    /// A ledger of a run that does not tell what changes mean for a cluster.
    pub(super) fn flagless() -> Self {
        Self { tally: Tally { flagless: true, ..Tally::default() }, ..Self::default() }
    }

    /// Takes a piece in, and says what went wrong with its objects.
    pub(super) fn take(&mut self, evaluated: &Evaluated, reporter: &mut Reporter) {
        self.count(evaluated, reporter);
        for object in evaluated.objects.iter().filter(|object| object.report.has_error()) {
            reporter.error_lines(Exit::Evaluation, &lines(&object.report, &evaluated.origin(object)));
        }
    }

    /// Takes a piece in whose errors the result tells.
    pub(super) fn count(&mut self, evaluated: &Evaluated, reporter: &mut Reporter) {
        for object in &evaluated.objects {
            let report = &object.report;
            self.tally.add(report, object.is_update);
            self.divergences.extend(report.divergences());
            self.unlabelled.extend(report.unknown.namespace.clone());
            self.nobody |= report.unknown.user;
            if let Some(filter) = &report.filter {
                *self.hidden.entry(filter.clone()).or_default() += 1;
            }
            for exception in report.exceptions() {
                *self.exempted.entry(exception.clone()).or_default() += 1;
            }
            for undecided in &report.unknown.undecided {
                let text = shown_message(report, &undecided.to_string());
                *self.undecided.entry(text).or_default() += 1;
            }
            if report.is_changed() {
                for (policy, rule) in report.rules() {
                    if matches!(rule.outcome, Outcome::Patched { .. }) && !policy.has_error() {
                        self.patched.insert((policy.policy.clone(), rule.rule.clone()));
                    }
                }
            }
            for (policy, rule) in report.rules() {
                if matches!(rule.outcome, Outcome::Triggered { .. }) {
                    self.triggered.insert((policy.policy.clone(), rule.rule.clone()));
                    let name = |target: String| format!("{target} ({}/{})", policy.policy, rule.rule);
                    self.missing.extend(missing_targets(report, rule).into_iter().map(name));
                }
            }
            if report.has_error() {
                reporter.worsen(Exit::Evaluation);
            }
            match report.server_dry_run.as_deref() {
                None | Some(ServerDryRun::Accepted { .. }) => {}
                Some(ServerDryRun::Refused(_)) => reporter.worsen(Exit::Evaluation),
                Some(ServerDryRun::Unanswered(_)) => {
                    reporter.worsen(Exit::Cluster);
                    if self.tally.server_dry_runs.unanswered <= MOST_UNANSWERED {
                        let name = report.object.as_ref().map_or_else(String::new, ToString::to_string);
                        reporter.missed(&format!("dry run of {name}"));
                    }
                }
            }
            if let Some(line) = trial_line(report) {
                if self.untaken.len() < LISTED {
                    self.untaken.push(line);
                } else {
                    let is_refused =
                        matches!(report.server_dry_run.as_deref(), Some(ServerDryRun::Refused(_)));
                    let more = if is_refused { &mut self.more_refused } else { &mut self.more_unanswered };
                    *more += 1;
                }
            }
            for unsettled in &object.again {
                let name = report.object.as_ref().map_or_else(String::new, ToString::to_string);
                self.unsettled.push(format!(
                    "{}: {name}: {}",
                    evaluated.origin(object),
                    shown_message(report, &second_run(unsettled, report))
                ));
            }
        }
        if evaluated.unknown > 0 {
            self.unknown += evaluated.unknown;
            self.unknown_in.insert(evaluated.input_name().to_owned());
        }
        reporter.advance(evaluated.objects.len());
    }

    /// Remembers what an edit could not keep.
    pub(super) fn edited(&mut self, evaluated: &Evaluated, edited: &Edited) {
        if edited.fallback.is_none() && edited.expanded == 0 {
            return;
        }
        let Content::Document(document) = &evaluated.piece.content else { return };
        let place = format!("{}:{}", document.source().name(), document.start().line);
        match edited.fallback {
            Some(fallback) => self.printed.entry(fallback).or_default().push(place),
            None => self.expanded.push(place),
        }
    }

    /// Says what there is to say at the end.
    pub(super) fn close(&self, session: &Session, sum_up: SumUp, reporter: &mut Reporter) {
        self.remark(session, reporter);
        self.unmatched(session, reporter);
        self.announce(session, reporter);
        self.tell_installed(session, reporter);
        self.sum_up(sum_up, reporter);
    }

    /// The same for a result that tells itself what did not match and which differences were reached: this
    /// is said again only where it decides how the run ends. A result about some rules or objects alone says
    /// nothing of what the others do.
    pub(super) fn close_explained(
        &self,
        session: &Session,
        strict: bool,
        whole: bool,
        reporter: &mut Reporter,
    ) {
        self.remark(session, reporter);
        if strict && whole {
            self.unmatched(session, reporter);
        }
        if strict {
            self.announce(session, reporter);
        }
        self.tell_installed(session, reporter);
        self.sum_up(SumUp::Line, reporter);
    }

    fn remark(&self, session: &Session, reporter: &mut Reporter) {
        reporter.finish_progress();
        for (about, remark) in &session.remarks {
            reporter.note(*about, remark);
        }
        let acts = self.tally.changed + self.tally.errors > 0 || !self.triggered.is_empty();
        for remark in session.remarks_on_acts.iter().filter(|_| acts) {
            reporter.note(NoteKind::Other, remark);
        }
        for MissingSchema { name, why, .. } in
            session.schemaless.harmless().filter(|schema| self.has_met(schema))
        {
            let text = format!("the schema of {name} cannot be read, lists in it merge without keys: {why}");
            reporter.note(NoteKind::Omission, &text);
        }
        for note in &self.unsettled {
            reporter.note(NoteKind::Omission, note);
        }
        if self.unknown > 0 {
            let documents = counted(self.unknown, "document");
            let names = listed(self.unknown_in.iter().cloned());
            reporter.note(
                NoteKind::Omission,
                &format!("{documents} without apiVersion or kind passed through as they are: {names}"),
            );
        }
        for (reason, places) in &self.printed {
            let documents = counted(places.len(), "document");
            let names = listed(places.iter().cloned());
            let text = format!(
                "{documents} printed canonically, without comments inside, because {reason}: {names}"
            );
            reporter.note(NoteKind::Other, &text);
        }
        if !self.expanded.is_empty() {
            let names = listed(self.expanded.iter().cloned());
            let text = format!("aliases were written out where only one user of an anchor changes: {names}");
            reporter.note(NoteKind::Other, &text);
        }
        // Of those that are not there it was told.
        let absent = session.absent_namespaces();
        let unlabelled: Vec<&Text> = self.unlabelled.iter().filter(|name| !absent.contains(name)).collect();
        if !unlabelled.is_empty() {
            let names = listed(unlabelled.iter().map(ToString::to_string));
            let remedy = if session.has_unasked_cluster() {
                "`--live` asks the cluster for them"
            } else {
                "`--values` or a Namespace among the objects gives them"
            };
            let text = format!(
                "rules select by the labels of namespaces that were not given and count as having none: {names} \
                 ({remedy})"
            );
            reporter.note(NoteKind::Omission, &text);
        }
        for (text, objects) in &self.undecided {
            let objects = counted(*objects, "object");
            reporter.note(NoteKind::Omission, &format!("{text} ({objects})"));
        }
        if !self.exempted.is_empty() {
            let names = self.exempted.iter();
            let names = names.map(|(name, objects)| format!("{name} for {}", counted(*objects, "object")));
            reporter.note(NoteKind::Other, &format!("exceptions applied: {}", listed(names)));
        }
        if !self.hidden.is_empty() {
            let objects = counted(self.hidden.values().sum(), "object");
            let filters = listed(self.hidden.keys().map(ToString::to_string));
            let instead = match session.engine.settings().semantics {
                Semantics::Documented => {
                    "the cluster would leave them as they are, as --semantics kyverno shows"
                }
                Semantics::Kyverno => "they stay as they are",
            };
            let text = format!(
                "{objects} that rules act on are hidden from policies by the configuration of the cluster's Kyverno, \
                 {instead}: {filters}"
            );
            reporter.note(NoteKind::Other, &text);
        }
        if !self.missing.is_empty() {
            let names = listed(self.missing.iter().cloned());
            let text =
                format!("targets that no given object is: {names} (`--targets` gives further objects)");
            reporter.note(NoteKind::Omission, &text);
        }
        for line in &self.untaken {
            reporter.error(Exit::Evaluation, line);
        }
        for (more, what) in [
            (self.more_refused, "that the API server refuses"),
            (self.more_unanswered, "of which the API server does not say whether it takes them"),
        ] {
            if more > 0 {
                reporter.error(Exit::Evaluation, &format!("and {more} more {what}"));
            }
        }
        if self.nobody {
            let text = "rules select by user, and nobody said who sends the requests (`--userinfo` does): such \
                        parts of `match` are left aside";
            reporter.note(NoteKind::Omission, text);
        }
    }

    /// Whether some rule took an object of these kinds.
    fn has_met(&self, schema: &MissingSchema) -> bool {
        let is_one = |kind: &Text| schema.kinds.iter().any(|known| known.kind == *kind);
        self.tally.rows.keys().any(|key| is_one(&key.kind))
    }

    fn announce(&self, session: &Session, reporter: &mut Reporter) {
        reporter.announce(self.divergences, session.engine.settings().semantics);
    }

    /// Looks for the Kyverno that the cluster runs, and so on which side it is of the differences that were
    /// reached, for results that tell of it.
    pub(super) fn find_installed(&mut self, session: &Session) {
        self.tally.kyverno = self.installed(session);
        self.is_searched = true;
    }

    fn tell_installed(&self, session: &Session, reporter: &mut Reporter) {
        let found = if self.is_searched { self.tally.kyverno.clone() } else { self.installed(session) };
        if let Some(found) = found {
            reporter.note(NoteKind::Other, &found.told);
        }
    }

    fn installed(&self, session: &Session) -> Option<RunningKyverno> {
        if self.divergences.is_empty() {
            return None;
        }
        let found = session.cluster.as_deref().and_then(InstalledKyverno::find)?;
        let InstalledKyverno { version, namespace } = found;
        let names: Vec<String> = self.divergences.iter().map(|difference| difference.to_string()).collect();
        let instead = match session.engine.settings().semantics {
            Semantics::Documented => "does what `kyverno` stands for, as --semantics kyverno shows",
            Semantics::Kyverno => "does what this run shows",
        };
        let number = version.strip_prefix('v').unwrap_or(&version);
        let other = if number.starts_with(MEASURED) { "" } else { ", if it is like Kyverno 1.19" };
        let told = format!(
            "Kyverno {version} runs in the namespace {namespace} of this cluster: for {} it {instead}{other}",
            names.join(", ")
        );
        Some(RunningKyverno { version, namespace, differences: self.divergences, told })
    }

    /// Says what was done.
    pub(super) fn sum_up(&self, sum_up: SumUp, reporter: &Reporter) {
        match sum_up {
            SumUp::Line => reporter.summary(&self.line("changed", "changed")),
            SumUp::Would => reporter.summary(&self.line("would change", "would be changed")),
            SumUp::Table => {
                reporter.summary(summary_table(&self.tally, reporter.gaps(), Width::Short).trim_end());
            }
            SumUp::Nothing => {}
        }
    }

    fn line(&self, alone: &str, by: &str) -> String {
        let mut parts = vec![counted(self.tally.objects, "object")];
        parts.push(match self.patched.len() {
            0 => format!("{} {alone}", self.tally.changed),
            rules => format!("{} {by} by {}", self.tally.changed, counted(rules, "rule")),
        });
        if self.tally.errors > 0 {
            parts.push(format!("{} with errors", self.tally.errors));
        }
        format!("{}{}", parts.join(", "), trials_line(&self.tally.server_dry_runs))
    }

    /// Names the rules that selected no object; one generated for controllers stands for its source.
    fn unmatched(&self, session: &Session, reporter: &mut Reporter) {
        let met: BTreeSet<(&str, &str)> = self
            .tally
            .rows
            .keys()
            .map(|key| (&*key.policy, &*key.rule))
            .chain(self.triggered.iter().map(|(policy, rule)| (&**policy, &**rule)))
            .collect();
        let mut idle = Vec::new();
        for policy in session.engine.policies().policies() {
            let name = policy.full_name();
            let selected: BTreeSet<&Text> = policy
                .rules
                .iter()
                .filter(|rule| met.contains(&(&*name, &*rule.name)))
                .map(Rule::source_name)
                .collect();
            let own = policy
                .rules
                .iter()
                .filter(|rule| rule.generated_from.is_none() && rule.not_evaluated().is_none());
            let idle_rules = own.filter(|rule| !selected.contains(&rule.name));
            idle.extend(idle_rules.map(|rule| format!("{name}/{}", rule.name)));
        }
        if !idle.is_empty() {
            let number = counted(idle.len(), "rule");
            reporter.note(
                NoteKind::Omission,
                &format!("{number} selected no object: {}", listed(idle.into_iter())),
            );
        }
    }
}

/// What a second run does to an object, in words.
fn second_run(unsettled: &Unsettled, report: &ObjectReport) -> String {
    let Unsettled { policy, rule, changes } = unsettled;
    match changes {
        Ok(changes) => {
            let paths: BTreeSet<String> = changes.iter().map(|change| path(change, report)).collect();
            format!("{policy}/{rule}: a second run would change {}", listed(paths.into_iter()))
        }
        Err(message) => format!("{policy}/{rule}: a second run would fail: {message}"),
    }
}

fn path(change: &Change, report: &ObjectReport) -> String {
    let place = report.shown_place(&change.pointer);
    if place.is_root() { "the whole object".to_owned() } else { place.to_string() }
}

/// The first names, and how many more there are.
pub(super) fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(LISTED);
    let first: Vec<String> = names.take(LISTED).collect();
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", first.join(", "))
}
