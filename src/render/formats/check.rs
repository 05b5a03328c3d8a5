//! The formats of `check`: how the policies of a set get along, grouped by policies.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Write};

use crate::render::diff::object_diff;
use crate::render::findings::{FindingWriter, RunEnd, shown_object};
use crate::render::messages::RulePlaces;
use crate::render::printable::{printable_json, printable_line};
use crate::render::{Origin, counted, first_names, to_yaml};
use crate::report::{
    CheckFinding, CheckFindingKind, Diagnostic, FilePlace, Finding, FindingGroup, FindingResult,
    GeneratedFinding, ObjectReport, Outcome, Settling,
};
use crate::value::{ObjectRef, Text, Value};

use super::findings::object_place;
use super::report::diagnostic_json;
use super::{DocumentView, Format, FormatWriter, ObjectView, Prepared, RunTotals, finished_empty};

/// The origin of generated objects.
const GENERATED: &str = "generated";

/// How many fields are named; the rest is counted.
const NAMED_FIELDS: usize = 10;

/// Findings, once for the same policies.
#[derive(Clone, Copy, Debug)]
pub struct CheckReport {
    /// How they are written.
    pub output: CheckOutput,
}

/// How findings are written.
#[derive(Clone, Copy, Debug)]
pub enum CheckOutput {
    /// For people.
    Text,
    /// As one JSON object.
    Json,
    /// In the format of another program. The function begins the output.
    Findings(fn() -> Box<dyn FindingWriter>),
}

impl Format for CheckReport {
    fn prepare(&self, _: &DocumentView<'_>) -> Prepared {
        Prepared::default()
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(CheckWriter { output: self.output, groups: BTreeMap::new() })
    }

    fn failure(&self, diagnostics: &[Diagnostic]) -> Option<String> {
        match self.output {
            CheckOutput::Text => Some(String::new()),
            CheckOutput::Json | CheckOutput::Findings(_) => finished_empty(self.writer(), diagnostics),
        }
    }

    fn shows_impact(&self) -> bool {
        true
    }
}

struct CheckWriter {
    output: CheckOutput,
    groups: BTreeMap<(CheckFindingKind, Vec<Text>, Option<Settling>), Group>,
}

/// The findings of one kind about the same policies.
struct Group {
    /// How many of the objects of the run have it; 0 if only a generated one has.
    objects: usize,
    /// What it takes to write the smallest object down.
    weight: usize,
    smallest: Option<ObjectRef>,
    origin: Origin,
    /// The place of the smallest object, and that of a rule of the policies that acted on it.
    places: [Option<FilePlace>; 2],
    diff: Option<String>,
    is_hidden: bool,
    fields: BTreeSet<String>,
    failing: BTreeSet<Text>,
    /// Why the API server refuses the smallest object.
    refusal: Option<String>,
    /// The kinds of all its objects, and the namespaces of those of the run.
    kinds: BTreeSet<Text>,
    namespaces: BTreeSet<Text>,
    generated: Option<GeneratedObject>,
}

/// An object that was made from the conditions of policies.
struct GeneratedObject {
    object: Value,
    namespace_labels: Option<Value>,
    has_generated_lookups: bool,
    others: Vec<Text>,
}

impl FormatWriter for CheckWriter {
    fn write(&mut self, view: &DocumentView<'_>, _: Prepared, _: &mut dyn Write) -> io::Result<()> {
        for object in &view.objects {
            for finding in object.findings {
                self.add(view, object, finding);
            }
        }
        Ok(())
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        for found in totals.generated.iter().flat_map(|generated| &generated.findings) {
            self.add_generated(found, totals.places);
        }
        match self.output {
            CheckOutput::Text => self.write_text(totals, out),
            CheckOutput::Json => self.write_json(totals, out),
            CheckOutput::Findings(writer) => self.write_findings(&mut *writer(), totals, out),
        }
    }
}

impl CheckWriter {
    fn add(&mut self, view: &DocumentView<'_>, object: &ObjectView<'_>, finding: &CheckFinding) {
        let report = object.report;
        let weight = report.before.weight();
        let group = self.groups.entry(key(finding)).or_insert_with(|| Group::new(view.origin(object)));
        group.objects += 1;
        // First, because it takes the most memory.
        if weight < group.weight {
            group.weight = weight;
            group.origin = view.origin(object);
            group.places = [object_place(view, object), rule_place(view.places, report, finding)];
            group.show(report, finding);
        }
        group.add(finding);
        group.add_object(report.object.as_ref());
    }

    /// Adds a finding on a generated object, unless an object of the run has it.
    fn add_generated(&mut self, found: &GeneratedFinding, places: Option<&dyn RulePlaces>) {
        let GeneratedFinding { finding, report, object, namespace_labels, has_generated_lookups, others } =
            found;
        let Entry::Vacant(entry) = self.groups.entry(key(finding)) else { return };
        let group = entry.insert(Group::new(Origin { name: GENERATED.into(), line: None }));
        group.add(finding);
        group.add_object(report.object.as_ref());
        group.places = [None, rule_place(places, report, finding)];
        group.show(report, finding);
        group.generated = Some(GeneratedObject {
            object: object.clone(),
            namespace_labels: namespace_labels.clone(),
            has_generated_lookups: *has_generated_lookups,
            others: others.clone(),
        });
    }

    fn write_text(&self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut text = String::new();
        for ((kind, policies, settling), group) in &self.groups {
            group.write(*kind, policies, *settling, &mut text);
        }
        let findings = if self.groups.is_empty() {
            "no findings".to_owned()
        } else {
            counted(self.groups.len(), "finding")
        };
        let errors = totals.tally.errors;
        let errors = if errors > 0 { format!(", {errors} with errors") } else { String::new() };
        let _ = writeln!(text, "{findings} in {}{errors}", evaluated_objects(totals));
        if !totals.gaps.is_empty() {
            let _ = writeln!(text, "incomplete: {}", totals.gaps);
        }
        out.write_all(text.as_bytes())
    }

    fn write_findings(
        &self,
        writer: &mut dyn FindingWriter,
        totals: &RunTotals<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for ((kind, policies, settling), group) in &self.groups {
            writer.group(&group.finding(*kind, policies, *settling), out)?;
        }
        writer.finish(&RunEnd { diagnostics: totals.diagnostics, gaps: totals.gaps }, out)
    }

    fn write_json(&self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let texts = |texts: &mut dyn Iterator<Item = String>| Value::array(texts.map(Value::from).collect());
        let count = |number: usize| Value::from(i64::try_from(number).unwrap_or(i64::MAX));
        let findings = self.groups.iter().map(|((kind, policies, settling), group)| {
            let mut row = Value::from_iter([
                ("kind", Value::from(kind.name())),
                ("meaning", Value::from(meaning(*kind))),
                ("policies", texts(&mut policies.iter().map(ToString::to_string))),
                ("fields", texts(&mut group.fields.iter().cloned())),
                ("objects", count(group.objects)),
                ("kinds", texts(&mut group.kinds.iter().map(ToString::to_string))),
                ("namespaces", texts(&mut group.namespaces.iter().map(ToString::to_string))),
                ("smallest", Value::from(group.smallest())),
                ("origin", Value::from(group.origin.to_string())),
            ]);
            if let Some(generated) = &group.generated {
                row.insert("generated", generated.to_json());
            }
            if !group.failing.is_empty() {
                row.insert("failing", texts(&mut group.failing.iter().map(ToString::to_string)));
            }
            if let Some(settling) = settling {
                row.insert("repeats", Value::from(settling_text(*settling)));
            }
            if let Some(refusal) = &group.refusal {
                row.insert("refusal", Value::from(refusal.clone()));
            }
            if let Some(diff) = &group.diff {
                row.insert("diff", Value::from(diff.clone()));
            }
            row.insert("cure", Value::from(cure(*kind)));
            row
        });
        let mut members = vec![
            ("version", Value::from(1)),
            ("findings", Value::array(findings.collect())),
            ("objects", count(totals.tally.objects)),
            ("errors", count(totals.tally.errors)),
        ];
        if let Some(generated) = totals.generated {
            members.push(("generated", count(generated.objects)));
            members.push(("stoppedEarly", Value::Bool(generated.stopped_early)));
        }
        if !totals.gaps.is_empty() {
            members.push(("incomplete", Value::from(totals.gaps.to_string())));
        }
        members.push(("diagnostics", Value::array(totals.diagnostics.iter().map(diagnostic_json).collect())));
        let document: Value = members.into_iter().collect();
        writeln!(out, "{}", printable_json(document.to_json()))
    }
}

/// The place of a rule of the policies of a finding that changed the object, or else of one that ran.
fn rule_place(
    places: Option<&dyn RulePlaces>,
    report: &ObjectReport,
    finding: &CheckFinding,
) -> Option<FilePlace> {
    let rules = || report.rules().filter(|(policy, _)| finding.policies.contains(&policy.policy));
    let changed = rules().find(|(_, rule)| matches!(rule.outcome, Outcome::Patched { .. }));
    let (policy, rule) = changed.or_else(|| rules().next())?;
    places?.rule(&policy.policy, &rule.rule)
}

/// The objects in which findings were looked for.
fn evaluated_objects(totals: &RunTotals<'_>) -> String {
    let given = totals.tally.objects;
    let generated = totals.generated.map(|generated| {
        let stopped = if generated.stopped_early { " (stopped early at the limit of work)" } else { "" };
        format!("{}{stopped}", counted(generated.objects, "generated object"))
    });
    match generated {
        None => counted(given, "object"),
        Some(generated) if given == 0 => generated,
        Some(generated) => format!("{} and {generated}", counted(given, "object")),
    }
}

/// What findings are grouped by.
fn key(finding: &CheckFinding) -> (CheckFindingKind, Vec<Text>, Option<Settling>) {
    (finding.kind, finding.policies.clone(), finding.settling)
}

impl GeneratedObject {
    fn to_json(&self) -> Value {
        let mut members = vec![("object", self.object.clone())];
        members.extend(self.namespace_labels.clone().map(|labels| ("namespaceLabels", labels)));
        if self.has_generated_lookups {
            members.push(("lookups", Value::from(true)));
        }
        if !self.others.is_empty() {
            members.push(("with", Value::array(self.others.iter().cloned().map(Value::String).collect())));
        }
        members.into_iter().collect()
    }

    fn write(&self, out: &mut String) {
        for text in to_yaml(&self.object).lines() {
            let _ = writeln!(out, "    {}", printable_line(text));
        }
        if let Some(labels) = &self.namespace_labels {
            let labels = labels.as_object().into_iter().flatten();
            let texts = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
            let texts: Vec<String> = texts.collect();
            let _ = writeln!(out, "  in a namespace with the labels {}", printable_line(&texts.join(", ")));
        }
        if self.has_generated_lookups {
            let _ = writeln!(out, "  what the policies look up is generated, too");
        }
        if !self.others.is_empty() {
            let names: Vec<String> = self.others.iter().map(|name| printable_line(name)).collect();
            let _ = writeln!(out, "  only together with {}", names.join(", "));
        }
    }
}

impl Group {
    fn new(origin: Origin) -> Self {
        Self {
            objects: 0,
            weight: usize::MAX,
            smallest: None,
            origin,
            places: [None, None],
            diff: None,
            is_hidden: false,
            fields: BTreeSet::new(),
            failing: BTreeSet::new(),
            refusal: None,
            kinds: BTreeSet::new(),
            namespaces: BTreeSet::new(),
            generated: None,
        }
    }

    /// Adds what a finding concerns.
    fn add(&mut self, finding: &CheckFinding) {
        self.fields.extend(finding.fields.iter().map(ToString::to_string));
        self.failing.extend(finding.failing.iter().cloned());
    }

    /// Adds the kind and the namespace of an object that has it.
    fn add_object(&mut self, object: Option<&ObjectRef>) {
        let Some(object) = object else { return };
        self.kinds.insert(object.kind.kind.clone());
        self.namespaces.extend(object.namespace.clone());
    }

    /// Shows a finding as that on the smallest object.
    fn show(&mut self, report: &ObjectReport, finding: &CheckFinding) {
        self.smallest = report.object.clone();
        self.diff = shown_diff(report, finding);
        self.is_hidden = is_hidden(report, finding);
        self.refusal = finding.refusal.as_ref().map(|refusal| report.shown_text(refusal));
    }

    fn smallest(&self) -> String {
        self.smallest.as_ref().map_or_else(String::new, ToString::to_string)
    }

    /// The finding about the smallest object.
    fn finding(&self, kind: CheckFindingKind, policies: &[Text], settling: Option<Settling>) -> FindingGroup {
        let names: Vec<String> = policies.iter().map(|policy| printable_line(policy)).collect();
        let mut message = format!("{}: {}", names.join(", "), meaning(kind));
        let mut add = |name: &str, value: &str| {
            let _ = write!(message, "; {name}{value}");
        };
        if !self.fields.is_empty() {
            add("fields ", &first_names(NAMED_FIELDS, self.fields.iter().cloned()));
        }
        if !self.failing.is_empty() {
            let failing: Vec<&str> = self.failing.iter().map(|name| &**name).collect();
            add(&failing.join(", "), " fails in one of the orders");
        }
        if let Some(settling) = settling {
            add("", &settling_text(settling));
        }
        if let Some(refusal) = &self.refusal {
            add("", refusal);
        }
        if let Some(generated) = &self.generated {
            add("generated from the conditions of the policies: ", &generated.object.to_json());
        }
        add("cure: ", cure(kind));
        let title = format!("check/{}", kind.name());
        let [place, of_rule] = self.places.clone();
        let finding = Finding {
            result: FindingResult::Failed,
            code: None,
            policy: names.join(", ").into(),
            rule: kind.name().into(),
            title,
            message: printable_line(&message),
            place: of_rule,
        };
        FindingGroup { object: self.smallest.as_ref().map(shown_object), place, findings: vec![finding] }
    }

    fn write(&self, kind: CheckFindingKind, policies: &[Text], settling: Option<Settling>, out: &mut String) {
        let names: Vec<String> = policies.iter().map(|policy| printable_line(policy)).collect();
        let noun = if names.len() == 1 { "policy" } else { "policies" };
        let objects = if self.generated.is_some() {
            "a generated object".to_owned()
        } else {
            counted(self.objects, "object")
        };
        let _ = writeln!(out, "{}: {noun} {}, {objects}", kind.name(), names.join(", "));
        let _ = writeln!(out, "  {}", meaning(kind));
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(out, "  {name:<9}{}", printable_line(value));
        };
        if !self.fields.is_empty() {
            line("fields", &first_names(NAMED_FIELDS, self.fields.iter().cloned()));
        }
        if !self.failing.is_empty() {
            let failing: Vec<&str> = self.failing.iter().map(|name| &**name).collect();
            line("fails", &format!("{} in one of the orders", failing.join(", ")));
        }
        if let Some(settling) = settling {
            line("repeats", &settling_text(settling));
        }
        if let Some(refusal) = &self.refusal {
            line("why", refusal);
        }
        line("smallest", &format!("{} ({})", self.smallest(), self.origin));
        if let Some(generated) = &self.generated {
            generated.write(out);
            if self.diff.is_some() {
                let _ = writeln!(out, "  results");
            }
        }
        if self.is_hidden {
            let _ =
                writeln!(out, "  result   not shown, because it may have values of Secrets (--show-secrets)");
        }
        for text in self.diff.iter().flat_map(|diff| diff.lines()) {
            let _ = writeln!(out, "    {}", printable_line(text));
        }
        let _ = writeln!(out, "  cure     {}\n", cure(kind));
    }
}

/// The difference of the two states of a finding, with values of Secrets masked.
fn shown_diff(report: &ObjectReport, finding: &CheckFinding) -> Option<String> {
    let [before, after] = &**finding.results.as_ref()?;
    let secrets = (!report.shows_secrets).then_some(&finding.secrets);
    let diff = (!is_hidden(report, finding)).then(|| object_diff(before, after, secrets))?;
    (!diff.is_empty()).then_some(diff)
}

/// Whether the states of a finding stay hidden: another evaluation does not know what the first one made of Secrets.
fn is_hidden(report: &ObjectReport, finding: &CheckFinding) -> bool {
    let is_of_one_evaluation = match finding.kind {
        CheckFindingKind::Order
        | CheckFindingKind::Overwritten
        | CheckFindingKind::Undone
        | CheckFindingKind::Restart
        | CheckFindingKind::Privilege
        | CheckFindingKind::Immutable
        | CheckFindingKind::Refused => true,
        CheckFindingKind::NotIdempotent | CheckFindingKind::PodChangedAgain => false,
    };
    finding.results.is_some() && !report.shows_secrets && !is_of_one_evaluation && !finding.secrets.is_empty()
}

const fn meaning(kind: CheckFindingKind) -> &'static str {
    match kind {
        CheckFindingKind::Order => {
            "another order gives another result; a cluster runs policies in no fixed order"
        }
        CheckFindingKind::Overwritten => "the second replaces what the first set",
        CheckFindingKind::Undone => "the second takes back what the first did",
        CheckFindingKind::NotIdempotent => "a second admission changes the result again",
        CheckFindingKind::PodChangedAgain => {
            "the Pods of a changed template are changed again when they are created"
        }
        CheckFindingKind::Restart => "an update restarts Pods",
        CheckFindingKind::Privilege => "the changes grant more privileges",
        CheckFindingKind::Immutable => "the API server refuses the update: these fields are immutable",
        CheckFindingKind::Refused => "the API server refuses the object with the changes",
    }
}

const fn cure(kind: CheckFindingKind) -> &'static str {
    match kind {
        CheckFindingKind::Order => "write the rules in one policy: rules run in their order",
        CheckFindingKind::Overwritten | CheckFindingKind::Undone => {
            "let one policy alone set the field, or add it with `+( )` only where it is missing"
        }
        CheckFindingKind::NotIdempotent => {
            "add a condition that is false once the change is made; name elements of lists by their merge keys"
        }
        CheckFindingKind::PodChangedAgain => {
            "let the rule for Pods have a condition that is false for Pods of such templates"
        }
        CheckFindingKind::Restart => {
            "roll the policy out when restarts are acceptable, or let it act on CREATE only"
        }
        CheckFindingKind::Privilege => "check that the policy is meant to grant this",
        CheckFindingKind::Immutable => "let the rule act on CREATE only",
        CheckFindingKind::Refused => "set a value that the API server takes",
    }
}

fn settling_text(settling: Settling) -> String {
    match settling {
        Settling::After(1) => "it is stable after one admission more".to_owned(),
        Settling::After(number) => format!("it is stable after {number} admissions more"),
        Settling::Cycle(number) => format!("it alternates between {number} states"),
        Settling::Never => "it goes on at each admission".to_owned(),
        Settling::Fails => "a policy fails on the result".to_owned(),
    }
}
