//! `text`, `json` and `argocd` of `drift`: what Argo CD shows as a difference, and the rules that ignore it.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::render::json::number;
use crate::render::printable::{printable_json, printable_line};
use crate::render::{Origin, counted};
use crate::report::{Cause, Diagnostic, Drift, DriftField, DriftKind, DriftStep, LiveDrift, OtherField};
use crate::value::{ObjectRef, Pointer, Text, Value};
use crate::yaml::print;

use super::report::diagnostic_json;
use super::{DocumentView, Format, FormatWriter, Prepared, RunTotals, finished_empty};

/// How drift is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriftFormat {
    /// The fields, object by object.
    Text,
    /// The same as one JSON object.
    Json,
    /// `ignoreDifferences` of an application of Argo CD.
    ArgoCd,
}

/// What a GitOps tool shows of the changes of policies.
#[derive(Clone, Copy, Debug)]
pub struct DriftReport {
    /// How it is written.
    pub format: DriftFormat,
}

impl Format for DriftReport {
    fn prepare(&self, _: &DocumentView<'_>) -> Prepared {
        Prepared::default()
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(DriftWriter { format: self.format, objects: Vec::new() })
    }

    fn failure(&self, diagnostics: &[Diagnostic]) -> Option<String> {
        if self.format == DriftFormat::Json {
            finished_empty(self.writer(), diagnostics)
        } else {
            Some(String::new())
        }
    }
}

struct DriftWriter {
    format: DriftFormat,
    objects: Vec<DriftingObject>,
}

/// An object with differences.
struct DriftingObject {
    object: ObjectRef,
    origin: Origin,
    drift: Drift,
}

impl FormatWriter for DriftWriter {
    fn write(&mut self, view: &DocumentView<'_>, _: Prepared, _: &mut dyn Write) -> io::Result<()> {
        for object in &view.objects {
            let (Some(drift), Some(name)) = (object.drift, &object.report.object) else { continue };
            let has_others = drift.live.as_ref().is_some_and(|live| !live.others.is_empty());
            if !drift.fields.is_empty() || drift.is_incomplete || has_others {
                let origin = view.origin(object);
                self.objects.push(DriftingObject { object: name.clone(), origin, drift: drift.clone() });
            }
        }
        Ok(())
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            DriftFormat::Text => self.write_text(totals, out),
            DriftFormat::Json => self.write_json(totals, out),
            DriftFormat::ArgoCd => self.write_rules(totals, out),
        }
    }
}

impl DriftWriter {
    fn write_text(&self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut text = String::new();
        let mut out_of_sync = 0;
        for DriftingObject { object, origin, drift } in &self.objects {
            let state = if drift.fields.is_empty() { "Synced" } else { "OutOfSync" };
            out_of_sync += usize::from(!drift.fields.is_empty());
            let _ = writeln!(text, "{} ({origin}): {state}", printable_line(&object.to_string()));
            for line in lines(drift) {
                let _ = writeln!(text, "  {}", printable_line(&line));
            }
            if drift.is_incomplete {
                text.push_str("  incomplete: the defaults of this kind are not known\n");
            }
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let objects = counted(totals.tally.objects, "object");
        let _ = writeln!(text, "{out_of_sync} of {objects} OutOfSync in Argo CD");
        if !totals.gaps.is_empty() {
            let _ = writeln!(text, "incomplete: {}", totals.gaps);
        }
        out.write_all(text.as_bytes())
    }

    fn write_json(&self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let objects = self.objects.iter().map(|DriftingObject { object, origin, drift }| {
            let mut row = Value::from_iter([
                ("object", Value::from(object.to_string())),
                ("origin", Value::from(origin.to_string())),
                ("fields", Value::array(drift.fields.iter().map(field_json).collect())),
            ]);
            if let Some(LiveDrift { others, defaults }) = &drift.live {
                row.insert("others", Value::array(others.iter().map(other_json).collect()));
                row.insert("defaults", number(*defaults));
            }
            if drift.is_incomplete {
                row.insert("incomplete", Value::from(true));
            }
            row
        });
        let mut members = vec![
            ("version", Value::from(1)),
            ("objects", Value::array(objects.collect())),
            ("evaluated", number(totals.tally.objects)),
            ("ignoreDifferences", Value::array(self.rules())),
        ];
        if !totals.gaps.is_empty() {
            members.push(("incomplete", Value::from(totals.gaps.to_string())));
        }
        members.push(("diagnostics", Value::array(totals.diagnostics.iter().map(diagnostic_json).collect())));
        writeln!(out, "{}", printable_json(members.into_iter().collect::<Value>().to_json()))
    }

    fn write_rules(&self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut text = String::new();
        if !totals.gaps.is_empty() {
            let _ = writeln!(text, "# incomplete: {}", printable_line(&totals.gaps.to_string()));
        }
        for DriftingObject { object, drift, .. } in &self.objects {
            for field in drift.fields.iter().filter(|field| rule(field).is_none()) {
                let why = match &field.cause {
                    Cause::Policies { .. } => "no rule ignores that; apply the policies when you render",
                    Cause::Others { .. } => "drift, which no policy explains; no rule is written",
                };
                let line = format!("# {object}: {}: {}: {why}", jq_path(&field.path), kind_text(field.kind));
                let _ = writeln!(text, "{}", printable_line(&line));
            }
        }
        print(&Value::from_iter([("ignoreDifferences", Value::array(self.rules()))]), &mut text);
        out.write_all(text.as_bytes())
    }

    /// A rule for each object that differs.
    fn rules(&self) -> Vec<Value> {
        let rules = self.objects.iter().filter_map(|DriftingObject { object, drift, .. }| {
            let (mut pointers, mut expressions) = (Vec::new(), Vec::new());
            for rule in drift.fields.iter().filter_map(rule) {
                match rule {
                    Rule::Pointer(pointer) => pointers.push(Value::from(pointer)),
                    Rule::Expression(expression) => expressions.push(Value::from(expression)),
                }
            }
            if pointers.is_empty() && expressions.is_empty() {
                return None;
            }
            let mut members: Vec<(&str, Value)> = Vec::new();
            if !object.kind.group.is_empty() {
                members.push(("group", Value::String(object.kind.group.clone())));
            }
            members.push(("kind", Value::String(object.kind.kind.clone())));
            members.push(("name", Value::String(object.name.clone())));
            members.extend(object.namespace.clone().map(|namespace| ("namespace", Value::String(namespace))));
            let lists = [("jsonPointers", pointers), ("jqPathExpressions", expressions)];
            let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
            members.extend(lists.map(|(name, list)| (name, Value::array(list))));
            Some(members.into_iter().collect())
        });
        rules.collect()
    }
}

/// What ignores a difference.
enum Rule {
    Pointer(String),
    Expression(String),
}

/// The rule for a difference that policies explain; `None` if there is none.
fn rule(field: &DriftField) -> Option<Rule> {
    if field.kind == DriftKind::Order || matches!(field.cause, Cause::Others { .. }) {
        return None;
    }
    let mut pointer = Pointer::ROOT;
    for step in &field.path {
        match step {
            DriftStep::Key(key) => pointer.push_key(key.clone()),
            DriftStep::Element { .. } | DriftStep::Item(_) => {
                return Some(Rule::Expression(jq_path(&field.path)));
            }
        }
    }
    Some(Rule::Pointer(pointer.to_json_pointer()))
}

/// A path expression of jq.
fn jq_path(path: &[DriftStep]) -> String {
    let mut text = String::new();
    let mut is_start = true;
    for step in path {
        match step {
            DriftStep::Key(key) => {
                if is_start {
                    text.push('.');
                }
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && key.chars().all(is_name)
                {
                    text.push_str(if is_start { "" } else { "." });
                    text.push_str(key);
                } else {
                    let _ = write!(text, "[{}]", Value::String(key.clone()).to_json());
                }
                is_start = false;
            }
            DriftStep::Element { key, value } => {
                let _ = write!(text, "[] | select(.{key} == {})", value.to_json());
                text.push_str(" | ");
                is_start = true;
            }
            DriftStep::Item(value) => {
                let _ = write!(text, "[] | select(. == {}) | ", value.to_json());
                is_start = true;
            }
        }
    }
    text.strip_suffix(" | ").map_or_else(|| text.clone(), str::to_owned)
}

/// The lines of an object: what is OutOfSync, and what else a cluster has.
fn lines(drift: &Drift) -> Vec<String> {
    let shown = drift.fields.iter().map(|field| {
        format!("{}: {}{}", jq_path(&field.path), kind_text(field.kind), cause_text(&field.cause))
    });
    let mut lines: Vec<String> = shown.collect();
    let Some(live) = &drift.live else { return lines };
    lines.extend(live.others.iter().map(|other| {
        let state = if other.is_missing { "not in the cluster" } else { "not in Git" };
        let cause = cause_text(&other.cause);
        let cause =
            cause.strip_prefix(" by").map_or_else(|| cause.clone(), |rules| format!(", set by{rules}"));
        format!("{}: {state}{cause}", jq_path(&other.path))
    }));
    if live.defaults > 0 {
        lines.push(format!("{} of the API server", counted(live.defaults, "default")));
    }
    lines
}

fn cause_text(cause: &Cause) -> String {
    match cause {
        Cause::Policies { rules, .. } if rules.is_empty() => String::new(),
        Cause::Policies { rules, .. } => format!(" by {}", rules.join(", ")),
        Cause::Others { managers } if managers.is_empty() => ", drift".into(),
        Cause::Others { managers } => format!(", drift by {}", managers.join(", ")),
    }
}

/// Where the value comes from.
fn cause_members(cause: &Cause) -> [(&'static str, Value); 3] {
    let texts = |texts: &[Text]| Value::array(texts.iter().cloned().map(Value::String).collect());
    let (policies, rules, managers): (&[Text], &[Text], &[Text]) = match cause {
        Cause::Policies { policies, rules } => (policies, rules, &[]),
        Cause::Others { managers } => (&[], &[], managers),
    };
    [("policies", texts(policies)), ("rules", texts(rules)), ("managers", texts(managers))]
}

fn field_json(field: &DriftField) -> Value {
    let own = [
        ("path", Value::from(jq_path(&field.path))),
        ("difference", Value::from(kind_text(field.kind))),
        ("ignorable", Value::from(rule(field).is_some())),
    ];
    own.into_iter().chain(cause_members(&field.cause)).collect()
}

fn other_json(other: &OtherField) -> Value {
    let own = [("path", Value::from(jq_path(&other.path))), ("missing", Value::from(other.is_missing))];
    own.into_iter().chain(cause_members(&other.cause)).collect()
}

const fn kind_text(kind: DriftKind) -> &'static str {
    match kind {
        DriftKind::Changed => "another value",
        DriftKind::Removed => "removed",
        DriftKind::Added => "an element more",
        DriftKind::List => "another list",
        DriftKind::Order => "another order of elements",
    }
}
