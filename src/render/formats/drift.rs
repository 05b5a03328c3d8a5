//! `text`, `json`, `argocd` and `flux` of `drift`: what a GitOps tool shows as a difference, and the rules that ignore it.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use crate::render::json::number;
use crate::render::printable::{printable_json, printable_line};
use crate::render::{Origin, counted};
use crate::report::{
    Cause, Diagnostic, Drift, DriftField, DriftKind, DriftStep, GitOpsTool, LiveDrift, OtherField,
};
use crate::value::{ObjectRef, Pointer, Segment, Text, Value};
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
    /// The rules that ignore it.
    Rules,
}

/// What a GitOps tool shows of the changes of policies.
#[derive(Clone, Copy, Debug)]
pub struct DriftReport {
    /// How it is written.
    pub format: DriftFormat,
    /// The tool that shows it.
    pub tool: GitOpsTool,
}

impl Format for DriftReport {
    fn prepare(&self, _: &DocumentView<'_>) -> Prepared {
        Prepared::default()
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(DriftWriter { format: self.format, tool: self.tool, objects: Vec::new() })
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
    tool: GitOpsTool,
    objects: Vec<DriftingObject>,
}

/// An object with differences.
struct DriftingObject {
    object: ObjectRef,
    origin: Origin,
    drift: Arc<Drift>,
}

impl FormatWriter for DriftWriter {
    fn write(&mut self, view: &DocumentView<'_>, _: Prepared, _: &mut dyn Write) -> io::Result<()> {
        for object in &view.objects {
            let (Some(drift), Some(name)) = (object.drift, &object.report.object) else { continue };
            let has_others = drift.live.as_ref().is_some_and(|live| !live.others.is_empty());
            if !drift.fields.is_empty() || drift.is_incomplete || has_others {
                let origin = view.origin(object);
                self.objects.push(DriftingObject { object: name.clone(), origin, drift: Arc::clone(drift) });
            }
        }
        Ok(())
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            DriftFormat::Text => self.write_text(totals, out),
            DriftFormat::Json => self.write_json(totals, out),
            DriftFormat::Rules => self.write_rules(totals, out),
        }
    }
}

impl DriftWriter {
    fn write_text(&self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut text = String::new();
        let mut out_of_sync = 0;
        for DriftingObject { object, origin, drift } in &self.objects {
            let state = self.state(drift);
            out_of_sync += usize::from(!drift.fields.is_empty());
            let _ = writeln!(text, "{} ({origin}): {state}", printable_line(&object.to_string()));
            for line in lines(drift, self.tool) {
                let _ = writeln!(text, "  {}", printable_line(&line));
            }
            if !drift.failing.is_empty() {
                let failing = printable_line(&drift.failing.join(", "));
                let _ = writeln!(text, "  the dry run of Flux fails, because of {failing}");
            } else if drift.is_incomplete {
                text.push_str("  incomplete: the defaults of this kind are not known\n");
            }
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let objects = counted(totals.tally.objects, "object");
        let _ = match self.tool {
            GitOpsTool::ArgoCd => writeln!(text, "{out_of_sync} of {objects} OutOfSync in Argo CD"),
            GitOpsTool::Flux => writeln!(text, "drift of {out_of_sync} of {objects} in Flux"),
        };
        if !totals.gaps.is_empty() {
            let _ = writeln!(text, "incomplete: {}", totals.gaps);
        }
        out.write_all(text.as_bytes())
    }

    /// What the tool shows of an object.
    fn state(&self, drift: &Drift) -> &'static str {
        match (self.tool, drift.fields.is_empty()) {
            (GitOpsTool::ArgoCd, true) => "Synced",
            (GitOpsTool::ArgoCd, false) => "OutOfSync",
            (GitOpsTool::Flux, true) if !drift.failing.is_empty() => "not compared",
            (GitOpsTool::Flux, true) => "unchanged",
            (GitOpsTool::Flux, false) if drift.is_lasting => "drift at each reconciliation",
            (GitOpsTool::Flux, false) => "drift until Flux applies it",
        }
    }

    fn write_json(&self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let objects = self.objects.iter().map(|DriftingObject { object, origin, drift }| {
            let mut row = Value::from_iter([
                ("object", Value::from(object.to_string())),
                ("origin", Value::from(origin.to_string())),
                (
                    "fields",
                    Value::array(drift.fields.iter().map(|field| field_json(field, self.tool)).collect()),
                ),
            ]);
            if let Some(LiveDrift { others, defaults }) = &drift.live {
                row.insert("others", Value::array(others.iter().map(other_json).collect()));
                row.insert("defaults", number(*defaults));
            }
            if self.tool == GitOpsTool::Flux {
                row.insert("lasting", Value::from(drift.is_lasting));
            }
            if !drift.failing.is_empty() {
                row.insert("failing", texts(&drift.failing));
            }
            if drift.is_incomplete {
                row.insert("incomplete", Value::from(true));
            }
            row
        });
        let mut members = vec![
            ("version", Value::from(1)),
            ("tool", Value::from(self.tool.name())),
            ("objects", Value::array(objects.collect())),
            ("evaluated", number(totals.tally.objects)),
            ("ignoreDifferences", Value::array(self.argocd_rules())),
        ];
        if self.tool == GitOpsTool::Flux {
            members.push(("ignore", Value::array(self.flux_rules())));
        }
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
            if !drift.failing.is_empty() {
                let failing = drift.failing.join(", ");
                let line = format!("# {object}: the dry run of Flux fails, because of {failing}");
                let _ = writeln!(text, "{}", printable_line(&line));
            } else if drift.is_incomplete {
                let line = format!("# {object}: incomplete: the defaults of this kind are not known");
                let _ = writeln!(text, "{}", printable_line(&line));
            }
            for field in drift.fields.iter().filter(|field| rule(field, self.tool).is_none()) {
                let why = match &*field.cause {
                    Cause::Policies { .. } => "no rule ignores that; apply the policies when you render",
                    Cause::Others { .. } => "drift, which no policy explains; no rule is written",
                };
                let path = shown_path(&field.path, self.tool);
                let line = format!("# {object}: {path}: {}: {why}", kind_text(field.kind));
                let _ = writeln!(text, "{}", printable_line(&line));
            }
        }
        let rules = match self.tool {
            GitOpsTool::ArgoCd => {
                Value::from_iter([("ignoreDifferences", Value::array(self.argocd_rules()))])
            }
            GitOpsTool::Flux => {
                let ignore = Value::from_iter([("ignore", Value::array(self.flux_rules()))]);
                Value::from_iter([("driftDetection", ignore)])
            }
        };
        print(&rules, &mut text);
        out.write_all(text.as_bytes())
    }

    /// A rule of Flux for each object that differs. Its names are regular expressions.
    fn flux_rules(&self) -> Vec<Value> {
        let rules = self.objects.iter().filter_map(|DriftingObject { object, drift, .. }| {
            let pointers = drift.fields.iter().filter_map(|field| match rule(field, self.tool)? {
                Rule::Pointer(pointer) => Some(Value::from(pointer)),
                Rule::Expression(_) => None,
            });
            let pointers: Vec<Value> = pointers.collect();
            let target = target(object).into_iter().map(|(name, text)| (name, Value::from(quoted(&text))));
            let target: Value = target.collect();
            (!pointers.is_empty())
                .then(|| Value::from_iter([("paths", Value::array(pointers)), ("target", target)]))
        });
        rules.collect()
    }

    /// A rule of Argo CD for each object that differs.
    fn argocd_rules(&self) -> Vec<Value> {
        if self.tool != GitOpsTool::ArgoCd {
            return Vec::new();
        }
        let rules = self.objects.iter().filter_map(|DriftingObject { object, drift, .. }| {
            let (mut pointers, mut expressions) = (Vec::new(), Vec::new());
            for rule in drift.fields.iter().filter_map(|field| rule(field, self.tool)) {
                match rule {
                    Rule::Pointer(pointer) => pointers.push(Value::from(pointer)),
                    Rule::Expression(expression) => expressions.push(Value::from(expression)),
                }
            }
            if pointers.is_empty() && expressions.is_empty() {
                return None;
            }
            let target = target(object).into_iter().map(|(name, text)| (name, Value::String(text)));
            let mut members: Vec<(&str, Value)> = target.collect();
            let lists = [("jsonPointers", pointers), ("jqPathExpressions", expressions)];
            let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
            members.extend(lists.map(|(name, list)| (name, Value::array(list))));
            Some(members.into_iter().collect())
        });
        rules.collect()
    }
}

/// What names an object in a rule.
fn target(object: &ObjectRef) -> Vec<(&'static str, Text)> {
    let ObjectRef { kind, name, namespace } = object;
    let group = Some(&kind.group).filter(|group| !group.is_empty());
    [("group", group), ("kind", Some(&kind.kind)), ("name", Some(name)), ("namespace", namespace.as_ref())]
        .into_iter()
        .filter_map(|(field, text)| Some((field, text?.clone())))
        .collect()
}

/// A regular expression of Go that matches a text alone, as its `QuoteMeta` has it.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted
}

/// What ignores a difference.
enum Rule {
    Pointer(String),
    Expression(String),
}

/// The rule for a difference that policies explain; `None` if there is none.
fn rule(field: &DriftField, tool: GitOpsTool) -> Option<Rule> {
    // Argo CD has no rule for the order of elements, and no tool has one for what names an object.
    if field.kind == DriftKind::Identity
        || field.kind == DriftKind::Order && tool == GitOpsTool::ArgoCd
        || matches!(*field.cause, Cause::Others { .. })
    {
        return None;
    }
    let mut pointer = Pointer::ROOT;
    for step in &field.path {
        match step {
            DriftStep::Key(key) => pointer.push_key(key.clone()),
            DriftStep::Index(index) => pointer.push_index(*index),
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
            DriftStep::Index(index) => {
                let _ = write!(text, "[{index}]");
                is_start = false;
            }
            DriftStep::Item(value) => {
                let _ = write!(text, "[] | select(. == {}) | ", value.to_json());
                is_start = true;
            }
        }
    }
    text.strip_suffix(" | ").map_or_else(|| text.clone(), str::to_owned)
}

/// A path as the rules of a tool have it.
fn shown_path(path: &[DriftStep], tool: GitOpsTool) -> String {
    let step = |step: &DriftStep| match step {
        DriftStep::Key(key) => Some(Segment::Key(key.clone())),
        DriftStep::Index(index) => Some(Segment::Index(*index)),
        DriftStep::Element { .. } | DriftStep::Item(_) => None,
    };
    let pointer: Option<Pointer> = path.iter().map(step).collect();
    match (tool, pointer) {
        (GitOpsTool::Flux, Some(pointer)) => pointer.to_json_pointer(),
        _ => jq_path(path),
    }
}

/// The lines of an object: what is OutOfSync, and what else a cluster has.
fn lines(drift: &Drift, tool: GitOpsTool) -> Vec<String> {
    let shown = drift.fields.iter().map(|field| {
        let path = shown_path(&field.path, tool);
        format!("{path}: {}{}", kind_text(field.kind), cause_text(&field.cause))
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
    let (policies, rules, managers): (&[Text], &[Text], &[Text]) = match cause {
        Cause::Policies { policies, rules } => (policies, rules, &[]),
        Cause::Others { managers } => (&[], &[], managers),
    };
    [("policies", texts(policies)), ("rules", texts(rules)), ("managers", texts(managers))]
}

fn field_json(field: &DriftField, tool: GitOpsTool) -> Value {
    let own = [
        ("path", Value::from(shown_path(&field.path, tool))),
        ("difference", Value::from(kind_text(field.kind))),
        ("ignorable", Value::from(rule(field, tool).is_some())),
    ];
    own.into_iter().chain(cause_members(&field.cause)).collect()
}

fn other_json(other: &OtherField) -> Value {
    let own = [("path", Value::from(jq_path(&other.path))), ("missing", Value::from(other.is_missing))];
    own.into_iter().chain(cause_members(&other.cause)).collect()
}

fn texts(texts: &[Text]) -> Value {
    Value::array(texts.iter().cloned().map(Value::String).collect())
}

const fn kind_text(kind: DriftKind) -> &'static str {
    match kind {
        DriftKind::Changed => "another value",
        DriftKind::Set => "set",
        DriftKind::Removed => "removed",
        DriftKind::Added => "an element more",
        DriftKind::List => "another list",
        DriftKind::Order => "another order of elements",
        DriftKind::Identity => "another object",
    }
}
