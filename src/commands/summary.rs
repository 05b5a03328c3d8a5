//! Counts and notes of a run, reported at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::diagnostics::Code;
use crate::policy::Policy;
use crate::render::{
    RuleError, counted, dry_run_line, dry_runs_line, impact_line, listed, missing_targets, refused_inputs,
    summary_table,
};
use crate::report::{CheckFindingKind, ObjectReport, Outcome, RunningKyverno, ServerDryRun, Totals};
use crate::semantics::Semantics;
use crate::source::Place;
use crate::source::cluster::{InstalledKyverno, MissingSchema};
use crate::value::{Change, Text};
use crate::yaml::{Edited, Fallback};

use super::divergence_notes::DivergenceNotes;
use super::evaluate::{Evaluated, Evaluation, NotIdempotent};
use super::exit::Exit;
use super::failed_rules::{FailedRules, first_object};
use super::grouped::GroupedMessages;
use super::missing_schemas::MissingSchemas;
use super::order_notes::OrderNotes;
use super::reporter::{Note, NoteSubject, Reporter};
use super::run_context::RunContext;
use super::session::Session;
use super::terminal;
use super::view_notes::ViewNotes;

/// How many objects that the API server refuses are named in errors; the rest is counted.
const NAMED_REFUSALS: usize = 10;

/// How many objects without a response of the API server are named among the gaps.
const NAMED_UNANSWERED: usize = 1000;

/// The versions of Kyverno whose divergences were measured.
const MEASURED_VERSIONS: &str = "1.19.";

/// Counts and notes of a run.
#[derive(Debug, Default)]
pub(super) struct RunSummary {
    pub(super) tally: Totals,
    divergences: DivergenceNotes,
    /// The rules whose changes were kept.
    patched: BTreeSet<(Text, Text)>,
    /// How many documents have no `apiVersion` or `kind`, and the names of their inputs.
    without_kind: usize,
    without_kind_in: BTreeSet<String>,
    /// How many documents have markers of Helm templates, and where the first one is.
    unrendered: usize,
    first_unrendered: Option<Place>,
    /// The places of documents that were printed canonically, by the reason why they could not be edited.
    printed: BTreeMap<Fallback, Vec<String>>,
    /// The places of documents in which aliases were written out.
    expanded: Vec<String>,
    /// Notes on single objects.
    object_notes: Vec<Note>,
    /// The same in groups, unless the run is verbose.
    second_runs: GroupedMessages,
    /// The rules that failed.
    pub(super) failed: FailedRules,
    order_notes: OrderNotes,
    /// Whether the policies do not get along on some object.
    pub(super) has_findings: bool,
    view_notes: ViewNotes,
    /// Namespaces whose labels a rule needed and no input has.
    unlabelled: BTreeSet<Text>,
    /// Whether a rule needed the user, and no input has one.
    lacks_user: bool,
    /// How many objects each exception exempted from some rule.
    exempted: BTreeMap<Text, usize>,
    /// Notes on exceptions that do not apply because their conditions cannot be evaluated, with the number of objects.
    undecided: BTreeMap<String, usize>,
    /// The classes of Pods whose priority is not known.
    priority_classes: BTreeSet<Text>,
    /// How many objects that some rule matches each filter of Kyverno's configuration excludes.
    excluded: BTreeMap<Text, usize>,
    /// The rules with targets that some object triggered.
    triggered: BTreeSet<(Text, Text)>,
    /// The names of targets that were not found.
    missing_targets: BTreeSet<String>,
    /// Errors for the first objects that the API server does not accept, and how many more there are.
    refusals: Vec<String>,
    more_refused: usize,
    more_unanswered: usize,
    /// Whether the run came to its end, so that there is a result.
    is_complete: bool,
}

/// How the summary on standard error looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SummaryStyle {
    /// One line on what was changed.
    Line,
    /// One line on what would be changed.
    WouldLine,
    Table,
    /// None: it is part of the result.
    None,
}

impl SummaryStyle {
    /// Tables, where there is a summary.
    pub(super) const fn with_tables(self) -> Self {
        match self {
            Self::None => Self::None,
            Self::Line | Self::WouldLine | Self::Table => Self::Table,
        }
    }

    /// Whether it has the impact of changes on a cluster.
    pub(super) const fn shows_impact(self) -> bool {
        matches!(self, Self::WouldLine | Self::Table)
    }
}

/// Which notes come at the end of a run besides the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closing {
    /// Whether rules are named that matched no object.
    pub(super) unmatched_rules: bool,
    pub(super) divergences: bool,
}

impl Closing {
    pub(super) const ALL: Self = Self { unmatched_rules: true, divergences: true };
}

impl RunSummary {
    /// A summary that does not count what changes mean for a cluster.
    pub(super) fn without_impact() -> Self {
        Self { tally: Totals { without_flags: true, ..Totals::default() }, ..Self::default() }
    }

    /// Counts the objects of a document, and reports failed rules in the exit code.
    pub(super) fn add(&mut self, evaluated: &Evaluated, reporter: &mut Reporter) {
        self.count_objects(evaluated, reporter.is_verbose());
        for object in &evaluated.objects {
            if object.report.has_error() {
                reporter.worsen(Exit::Evaluation);
            }
            self.add_dry_run(&object.report, reporter);
        }
        reporter.advance(evaluated.objects.len());
    }

    /// Counts the objects of a document.
    pub(super) fn count(&mut self, evaluated: &Evaluated) {
        self.count_objects(evaluated, true);
    }

    fn count_objects(&mut self, evaluated: &Evaluated, verbose: bool) {
        for object in &evaluated.objects {
            self.has_findings |= !object.findings.is_empty()
                || object.drift.as_ref().is_some_and(|drift| drift.is_incomplete || !drift.fields.is_empty());
            self.add_object(object);
            self.add_second_run(evaluated, object, verbose);
        }
        if let Some(place) = &evaluated.helm_marker {
            self.unrendered += 1;
            self.first_unrendered.get_or_insert_with(|| place.clone());
        }
        if evaluated.without_kind > 0 {
            self.without_kind += evaluated.without_kind;
            self.without_kind_in.insert(evaluated.input_name().to_owned());
        }
    }

    fn add_object(&mut self, object: &Evaluation) {
        let report = &object.report;
        self.tally.add(report, object.is_update);
        self.divergences.add(report);
        self.unlabelled.extend(report.unknown.namespace.clone());
        self.lacks_user |= report.unknown.user;
        self.priority_classes.extend(report.unknown.priority_class.clone());
        // What is a finding needs no note.
        if !object.findings.iter().any(|finding| finding.kind == CheckFindingKind::Order) {
            self.order_notes.add(report);
        }
        self.view_notes.add(report);
        if let Some(filter) = &report.filter {
            *self.excluded.entry(filter.clone()).or_default() += 1;
        }
        for exception in report.exceptions() {
            *self.exempted.entry(exception.clone()).or_default() += 1;
        }
        for undecided in &report.unknown.undecided {
            let text = report.shown_text(&undecided.to_string());
            *self.undecided.entry(text).or_default() += 1;
        }
        let is_changed = report.is_changed();
        for (policy, rule) in report.rules() {
            let name = || (policy.policy.clone(), rule.rule.clone());
            match &rule.outcome {
                Outcome::Patched { .. } if is_changed && !policy.has_error() => {
                    self.patched.insert(name());
                }
                Outcome::Triggered { .. } => {
                    self.triggered.insert(name());
                    let missing = missing_targets(report, rule).into_iter();
                    let named = missing.map(|target| format!("{target} ({})", rule.title(&policy.policy)));
                    self.missing_targets.extend(named);
                }
                _ => {}
            }
        }
    }

    /// Adds notes on what a second run would change: one for each object if the run is verbose, else groups.
    fn add_second_run(&mut self, evaluated: &Evaluated, object: &Evaluation, verbose: bool) {
        let report = &object.report;
        for rule in &object.second_run {
            let NotIdempotent { policy, rule: name, .. } = rule;
            let message = report.shown_text(&second_run(rule, report));
            if !verbose {
                let (policy, rule) = (policy.clone(), name.clone());
                let code = Code::SecondRun;
                let rules = report.rules().find(|(of, found)| of.policy == policy && found.rule == rule);
                let title = rules.map(|(_, found)| found.title(&policy)).unwrap_or_default();
                let note = RuleError {
                    code,
                    title,
                    policy,
                    rule,
                    message,
                    trigger: None,
                    hint: None,
                    original: None,
                    place: None,
                };
                self.second_runs.add(note, |_| first_object(evaluated, object));
                continue;
            }
            let subject = NoteSubject {
                object: report.object.clone(),
                origin: evaluated.origin(object),
                input: evaluated.source.input,
            };
            let text = format!("{policy}/{name}: {message}");
            let note = Note::omission(Code::SecondRun, text);
            self.object_notes.push(Note { subject: Some(subject), ..note });
        }
    }

    fn add_dry_run(&mut self, report: &ObjectReport, reporter: &mut Reporter) {
        let more = match report.server_dry_run.as_deref() {
            None | Some(ServerDryRun::Accepted { .. }) => return,
            Some(ServerDryRun::Refused(_)) => {
                reporter.worsen(Exit::Evaluation);
                &mut self.more_refused
            }
            Some(ServerDryRun::Failed(_)) => {
                reporter.worsen(Exit::Cluster);
                if self.tally.server_dry_runs.failed <= NAMED_UNANSWERED {
                    let name = report.object.as_ref().map_or_else(String::new, ToString::to_string);
                    reporter.add_gap(&format!("dry run of {name}"));
                }
                &mut self.more_unanswered
            }
        };
        if self.refusals.len() < NAMED_REFUSALS {
            self.refusals.extend(dry_run_line(report));
        } else {
            *more += 1;
        }
    }

    /// Counts a document whose edit could not keep everything.
    pub(super) fn add_edit(&mut self, evaluated: &Evaluated, edited: &Edited) {
        if edited.fallback.is_none() && edited.expanded == 0 {
            return;
        }
        let Some(document) = evaluated.document() else { return };
        let place = format!("{}:{}", document.source().name(), document.start().line);
        match edited.fallback {
            Some(fallback) => self.printed.entry(fallback).or_default().push(place),
            None => self.expanded.push(place),
        }
    }

    /// Reports notes at the end of a run.
    pub(super) fn close(&self, context: &RunContext<'_>, closing: Closing, reporter: &mut Reporter) {
        self.report_notes(context, reporter);
        if closing.unmatched_rules {
            self.report_unmatched_rules(context, reporter);
        }
        if closing.divergences {
            self.divergences.report(context.engine.settings().semantics, reporter);
        }
        if let Some(kyverno) = &self.tally.kyverno {
            reporter.note(Code::RunningKyverno, &kyverno.message);
        }
    }

    /// The result was written.
    pub(super) const fn complete(&mut self) {
        self.is_complete = true;
    }

    fn report_notes(&self, context: &RunContext<'_>, reporter: &mut Reporter) {
        let names = context.engine.settings().input_names;
        reporter.finish_progress();
        reporter.notes(context.notes);
        let acts = self.tally.changed + self.tally.errors > 0 || !self.triggered.is_empty();
        for note in context.notes_on_acts.iter().filter(|_| acts) {
            reporter.note(Code::ClusterNote, note);
        }
        let unused = context.missing_schemas.into_iter().flat_map(MissingSchemas::unused);
        let unused = unused.filter(|schema| self.has_matched(schema));
        for MissingSchema { name, why, .. } in unused {
            reporter.omission(
                Code::NoSchema,
                format_args!("the schema of {name} cannot be read, lists in it merge without keys: {why}"),
            );
        }
        if context.varies_with_time {
            reporter.omission(
                Code::TimeDependent,
                "a policy depends on the time: another run may have another result",
            );
        }
        for note in &self.object_notes {
            reporter.add(note.clone());
        }
        for (code, text) in self.second_runs.texts() {
            reporter.omission(code, text);
        }
        for (code, text) in self.view_notes.texts(reporter.is_verbose()) {
            reporter.note(code, text);
        }
        for text in self.order_notes.texts(reporter.is_verbose()) {
            reporter.omission(Code::OrderMatters, text);
        }
        self.report_documents(reporter);
        self.report_unknown(context, reporter);
        self.report_excluded(context, reporter);
        if !self.missing_targets.is_empty() {
            let targets = reporter.listed(self.missing_targets.iter().cloned());
            let remedy =
                names.targets.map_or_else(String::new, |name| format!("; pass further objects with {name}"));
            reporter.omission(
                Code::NoTarget,
                format_args!("targets that are none of the objects: {targets}{remedy}"),
            );
        }
        for line in &self.refusals {
            reporter.error(Exit::Evaluation, Code::DryRunRefused, line);
        }
        for (more, what) in [
            (self.more_refused, "that the API server refuses"),
            (self.more_unanswered, "whose dry run had no response"),
        ] {
            if more > 0 {
                reporter.error(Exit::Evaluation, Code::MoreErrors, format_args!("and {more} more {what}"));
            }
        }
        if self.lacks_user {
            reporter.omission(
                Code::NoUser,
                format_args!(
                    "rules select by user, and {} is not set: subjects and roles in `match` are ignored",
                    names.user
                ),
            );
        }
    }

    /// Notes on documents that are no objects or could not be edited.
    fn report_documents(&self, reporter: &mut Reporter) {
        if let Some(first) = &self.first_unrendered {
            let what = match self.unrendered {
                1 => format!("{first}: a marker of a Helm template is text here"),
                number => {
                    format!("markers of Helm templates are text here, in {number} documents, first: {first}")
                }
            };
            reporter.warning(
                Code::HelmTemplate,
                format_args!("{what}; render the chart first (`helm template`)"),
            );
        }
        if self.without_kind > 0 {
            let documents = counted(self.without_kind, "document");
            let names = reporter.listed(self.without_kind_in.iter().cloned());
            reporter.omission(
                Code::PassedThrough,
                format_args!("{documents} without apiVersion or kind left unchanged: {names}"),
            );
        }
        for (reason, places) in &self.printed {
            let documents = counted(places.len(), "document");
            let names = reporter.listed(places.iter().cloned());
            reporter.note(
                Code::Reformatted,
                format_args!(
                    "{documents} printed canonically, without comments inside, because {reason}: {names}"
                ),
            );
        }
        if !self.expanded.is_empty() {
            let names = reporter.listed(self.expanded.iter().cloned());
            reporter.note(
                Code::Reformatted,
                format_args!("aliases were written out where only one user of an anchor changes: {names}"),
            );
        }
    }

    /// Notes on what rules and exceptions needed and no input has.
    fn report_unknown(&self, context: &RunContext<'_>, reporter: &mut Reporter) {
        let is_absent = |name: &&Text| context.absent_namespaces.contains(name);
        let unlabelled: Vec<&Text> = self.unlabelled.iter().filter(|name| !is_absent(name)).collect();
        if !unlabelled.is_empty() {
            let names = reporter.listed(unlabelled.iter().map(ToString::to_string));
            let remedy = if context.has_unasked_cluster {
                "`--live` reads them from the cluster".to_owned()
            } else {
                format!("set them with {}", context.engine.settings().input_names.namespace_labels)
            };
            reporter.omission(Code::NoNamespaceLabels, format_args!(
                "rules select by the labels of namespaces that are not known and count as having none: {names} \
                 ({remedy})"
            ));
        }
        if !self.priority_classes.is_empty() {
            let names = reporter.listed(self.priority_classes.iter().map(ToString::to_string));
            reporter.omission(Code::NoPriority, format_args!(
                "rules read or set the priority of Pods, and that of their PriorityClass is not known: {names}"
            ));
        }
        for (text, objects) in &self.undecided {
            let objects = counted(*objects, "object");
            reporter.omission(Code::Undecided, format_args!("{text} ({objects})"));
        }
    }

    /// Notes on objects that exceptions and Kyverno's configuration exclude.
    fn report_excluded(&self, context: &RunContext<'_>, reporter: &mut Reporter) {
        if !self.exempted.is_empty() {
            let names = self.exempted.iter();
            let names = names.map(|(name, objects)| format!("{name} for {}", counted(*objects, "object")));
            reporter.note(Code::Exceptions, format_args!("exceptions applied: {}", reporter.listed(names)));
        }
        if !self.excluded.is_empty() {
            let number = self.excluded.values().sum();
            let objects = counted(number, "object");
            let (are, they, them) = if number == 1 {
                ("is", "it stays as it is", "it as it is")
            } else {
                ("are", "they stay as they are", "them as they are")
            };
            let filters = reporter.listed(self.excluded.keys().map(ToString::to_string));
            let instead = match context.engine.settings().semantics {
                Semantics::Documented => {
                    format!("the cluster would leave {them}, as --semantics kyverno shows")
                }
                Semantics::Kyverno => they.to_owned(),
            };
            reporter.note(Code::Excluded, format_args!(
                "{objects} that rules act on {are} hidden from policies by the configuration of the cluster's Kyverno, \
                 {instead}: {filters}"
            ));
        }
    }

    /// Whether some rule matched an object of these kinds.
    fn has_matched(&self, schema: &MissingSchema) -> bool {
        let is_one = |kind: &Text| schema.kinds.iter().any(|known| known.kind == *kind);
        self.tally.rows.keys().any(|key| is_one(&key.kind))
    }

    /// Looks for the Kyverno of the cluster, and notes what it does for the divergences of the run.
    pub(super) fn find_installed(&mut self, session: &Session) {
        self.tally.kyverno = self.installed(session);
        let is_evaluated = |policy: &&Policy| policy.rules().iter().any(|rule| rule.not_evaluated.is_none());
        self.tally.policies = session.engine.policies().policies().iter().filter(is_evaluated).count();
    }

    fn installed(&self, session: &Session) -> Option<RunningKyverno> {
        let divergences = self.divergences.all();
        if divergences.is_empty() {
            return None;
        }
        let found = session.cluster.as_deref().and_then(InstalledKyverno::find)?;
        let InstalledKyverno { version, namespace } = found;
        let names: Vec<String> = divergences.iter().map(|difference| difference.to_string()).collect();
        let instead = match session.engine.settings().semantics {
            Semantics::Documented => "behaves as --semantics kyverno shows",
            Semantics::Kyverno => "behaves as this run shows",
        };
        let number = version.strip_prefix('v').unwrap_or(&version);
        let other = if number.starts_with(MEASURED_VERSIONS) { "" } else { ", if it is like Kyverno 1.19" };
        let message = format!(
            "Kyverno {version} runs in the namespace {namespace} of this cluster: for {} it {instead}{other}",
            names.join(", ")
        );
        Some(RunningKyverno { version, namespace, divergences, message })
    }

    /// Prints the summary of a run that came to its end.
    pub(super) fn report_totals(&self, style: SummaryStyle, reporter: &mut Reporter) {
        match style {
            _ if !self.is_complete => {}
            SummaryStyle::Line => self.report_line("changed", "changed", reporter),
            SummaryStyle::WouldLine => self.report_line("would change", "would be changed", reporter),
            SummaryStyle::Table => {
                let table = summary_table(&self.tally, reporter.gaps(), terminal::width(&io::stderr()));
                reporter.summary(table.trim_end());
            }
            SummaryStyle::None => {}
        }
    }

    fn report_line(&self, alone: &str, by: &str, reporter: &mut Reporter) {
        let refused = refused_inputs(&self.tally, reporter.gaps());
        let refused = refused.map_or_else(String::new, |line| format!("{line}\n"));
        reporter.summary(&format!("{refused}{}", self.line(alone, by)));
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
        let impact = impact_line(&self.tally);
        format!("{}{impact}{}", parts.join(", "), dry_runs_line(&self.tally.server_dry_runs))
    }

    /// Notes the rules that matched no object; a match of a rule generated by autogen counts for its source.
    fn report_unmatched_rules(&self, context: &RunContext<'_>, reporter: &mut Reporter) {
        let matched: BTreeSet<(&str, &str)> = self
            .tally
            .rows
            .keys()
            .map(|key| (&*key.policy, &*key.rule))
            .chain(self.triggered.iter().map(|(policy, rule)| (&**policy, &**rule)))
            .collect();
        let mut unmatched = Vec::new();
        for policy in context.engine.policies().policies() {
            let name = policy.full_name();
            let rules = policy.rules();
            let selected: BTreeSet<&Text> = rules
                .iter()
                .filter(|rule| matched.contains(&(&*name, &**rule.name)))
                .map(|rule| rule.source)
                .collect();
            let own = rules.iter().filter(|rule| !rule.is_generated && rule.not_evaluated.is_none());
            let unmatched_rules = own.filter(|rule| !selected.contains(rule.name));
            unmatched.extend(unmatched_rules.map(|rule| match rule.pointer {
                Some(_) => format!("{name}/{}", rule.name),
                None => name.to_string(),
            }));
        }
        if !unmatched.is_empty() {
            let number = counted(unmatched.len(), "rule");
            reporter.note(
                Code::RuleWithoutObjects,
                format_args!("{number} selected no object: {}", reporter.listed(unmatched.into_iter())),
            );
        }
    }
}

fn second_run(found: &NotIdempotent, report: &ObjectReport) -> String {
    match &found.changes {
        Ok(changes) => {
            let paths: BTreeSet<String> = changes.iter().map(|change| path(change, report)).collect();
            format!("a second run would change {}", listed(paths.into_iter()))
        }
        Err(message) => format!("a second run would fail: {message}"),
    }
}

fn path(change: &Change, report: &ObjectReport) -> String {
    let place = report.shown_place(&change.pointer);
    if place.is_root() { "the whole object".to_owned() } else { place.to_string() }
}
