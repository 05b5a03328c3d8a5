//! An explanation as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::render::words::{counted, first_names};
use crate::render::{Palette, printable, printable_line};
use crate::semantics::Semantics;
use crate::value::{Change, ChangeKind, Text, Value};

use super::{
    Anchor, Condition, Element, ExplainedRule, Explanation, Expression, FailedTest, RuleSource, Variable,
    Verdict,
};
use crate::report::{Impact, Outcome};

/// The most characters of a value; longer ones are cut.
const VALUE_LENGTH: usize = 100;
/// The most names in one line.
const LISTED_NAMES: usize = 6;
/// The most elements of each loop, those that failed first.
const SHOWN_ELEMENTS: usize = 6;
/// The width at which lines are broken, in characters.
const WIDTH: usize = 80;
/// The column of the text of verdicts and facts.
const COLUMN: usize = "  NOT EVALUATED  ".len();

impl Explanation<'_> {
    /// The explanation as text. With `all`, the rules for other kinds are listed one by one; long values are cut unless
    /// it is verbose.
    pub fn text(&self, semantics: Semantics, all: bool, verbose: bool, palette: Palette) -> String {
        let cut = if verbose { Cut::Nothing } else { Cut::Long };
        let mut screen = Screen { palette, out: String::new(), depth: 0, cut };
        let name = self.report.object.as_ref().map_or_else(String::new, ToString::to_string);
        screen.line(Some("1"), &format!("{name}  {}", self.origin));
        screen.line(None, &format!("  {}", self.totals()));
        if self.report.unknown.user {
            let text = "subjects and roles in match and exclude, because there is no --userinfo";
            screen.verdict("IGNORED", "33", text);
        }
        for rule in &self.rules {
            self.rule(rule, semantics, &mut screen);
        }
        self.impact(&mut screen);
        for (policy, divergences) in &self.divergences {
            for divergence in divergences.iter() {
                let title =
                    format!("{divergence} in {policy}: {} (this run: {semantics})", divergence.title());
                screen.verdict("DIFFERS", "35", &title);
                screen.fact("documented", divergence.documented());
                screen.fact("kyverno", divergence.kyverno());
            }
        }
        self.others(all, &mut screen);
        screen.out
    }

    /// Writes the impact of the change on a cluster.
    fn impact(&self, screen: &mut Screen) {
        let Impact { rollout, immutable, privilege } = &self.impact;
        if *rollout {
            screen.verdict("ROLLOUT", "35", "what it runs would be restarted");
        }
        let impacts = [
            ("IMMUTABLE", "the API server would refuse the update, these may not change", immutable),
            ("PRIVILEGE", "it would be allowed more than before", privilege),
        ];
        for (word, meaning, paths) in impacts {
            if !paths.is_empty() {
                let names = first_names(LISTED_NAMES, paths.iter().map(ToString::to_string));
                screen.verdict(word, "35", &format!("{meaning}: {names}"));
            }
        }
    }

    /// The number of rules by verdict, in one line. A rule with several verdicts, one for each target, counts by the
    /// first one in the table.
    fn totals(&self) -> String {
        let verdicts = [
            (Verdict::Patched, "changed it"),
            (Verdict::Error, "failed"),
            (Verdict::Discarded, "discarded"),
            (Verdict::Skipped, "skipped"),
            (Verdict::NotMatched, "not matched"),
            (Verdict::NoChange, "without change"),
            (Verdict::NotEvaluated, "not evaluated"),
        ];
        let mut ranks: BTreeMap<(&Text, &Text), usize> = BTreeMap::new();
        for rule in &self.rules {
            let rank = verdicts.iter().position(|(verdict, _)| *verdict == rule.verdict);
            let known = ranks.entry((rule.policy, rule.rule)).or_insert(verdicts.len());
            *known = rank.map_or(*known, |rank| rank.min(*known));
        }
        let all = ranks.len();
        let count = |rank| ranks.values().filter(|known| **known == rank).count();
        let mut line = format!("{} of {} changed it", count(0), counted(all, "rule"));
        for (rank, (_, words)) in verdicts.iter().enumerate().skip(1).filter(|_| all > 1) {
            let count = count(rank);
            if count > 0 {
                let _ = write!(line, ", {count} {words}");
            }
        }
        match all {
            0 if self.others.is_empty() => "there is no mutate rule to evaluate".to_owned(),
            0 => "no rule is for objects of this kind".to_owned(),
            _ => line,
        }
    }

    fn rule(&self, rule: &ExplainedRule<'_>, semantics: Semantics, screen: &mut Screen) {
        let colon = if rule.why.is_empty() { "" } else { ": " };
        let name = format!("{}{colon}{}", printable_line(&rule.title()), rule.why);
        screen.verdict(&rule.verdict.word().to_uppercase(), colour(rule.verdict), &name);
        if let Some(from) = rule.source.and_then(|source| source.generated_from.as_ref()) {
            screen.fact("generated", &format!("from the rule {from}, which is for Pods"));
        }
        let label = match rule.verdict {
            Verdict::NotMatched => "because",
            Verdict::Skipped => "message",
            Verdict::Error => "error",
            Verdict::Patched | Verdict::Discarded => "left out",
            Verdict::Triggered => "target",
            Verdict::NoChange | Verdict::NotEvaluated => "reason",
        };
        if let Some(trigger) = rule.report.and_then(|report| report.trigger.as_ref()) {
            screen.fact("trigger", &trigger.to_string());
            if rule.verdict == Verdict::Patched {
                screen.fact("event", &event(rule, semantics));
            }
        }
        screen.decisive_conditions(&rule.conditions);
        screen.expressions(rule.expressions.iter().filter(|expression| expression.decisive));
        for reason in &rule.reasons {
            screen.fact(label, reason);
        }
        for exception in &rule.exceptions {
            screen.fact("exception", exception);
        }
        if let Some(Outcome::Error(error)) = rule.report.map(|report| &report.outcome) {
            if let Some(hint) = &error.hint {
                screen.fact("hint", &self.redactor.text(hint));
            }
            if let Some(original) = error.original.as_ref().filter(|_| matches!(screen.cut, Cut::Nothing)) {
                screen.fact("kyverno", &self.redactor.text(original));
            }
        }
        if let Some(anchor) = &rule.anchor {
            screen.anchor(anchor);
        }
        for change in &rule.changes {
            screen.fact("change", &self.change(change, screen.cut));
        }
        elements(rule, screen);
        screen.other_conditions(&rule.conditions);
        screen.expressions(rule.expressions.iter().filter(|expression| !expression.decisive));
        screen.variables(&rule.variables, &rule.conditions);
    }

    fn change(&self, change: &Change, cut: Cut) -> String {
        let shown = |value: &Value| cut.value(&self.redactor.at(&change.pointer, value));
        let path =
            if change.pointer.is_root() { "the object".to_owned() } else { change.pointer.to_string() };
        match &change.kind {
            ChangeKind::Add(value) => format!("{path}: {} added", shown(value)),
            ChangeKind::Remove(value) => format!("{path}: {} removed", shown(value)),
            ChangeKind::Replace { before, after } => format!("{path}: {} → {}", shown(before), shown(after)),
        }
    }

    fn others(&self, all: bool, screen: &mut Screen) {
        let kinds = |source: &RuleSource| {
            let kinds: Vec<&str> = source.kinds.iter().flatten().map(|kind| &**kind).collect();
            kinds.join(", ")
        };
        let names = self.others.iter().map(|source| (source.title(), kinds(source)));
        if all {
            for (name, kinds) in names {
                screen.verdict("OTHER KIND", "2", &format!("{name}: it is for {kinds}"));
            }
        } else if !self.others.is_empty() {
            let names = first_names(LISTED_NAMES, names.map(|(name, kinds)| format!("{name} ({kinds})")));
            let hint = if self.others.len() > LISTED_NAMES { "; --all lists them" } else { "" };
            screen.verdict("OTHER KINDS", "2", &format!("{names}{hint}"));
        }
    }
}

/// Writes the elements of the loops of a rule.
fn elements(rule: &ExplainedRule<'_>, screen: &mut Screen) {
    let (failed, others): (Vec<&Element>, Vec<&Element>) =
        rule.elements.iter().partition(|element| element.verdict == Verdict::Error);
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    let mut left_out = rule.elements_left_out;
    for element in failed.into_iter().chain(others) {
        let count = shown.entry(&element.path).or_default();
        if *count == SHOWN_ELEMENTS {
            left_out += 1;
            continue;
        }
        *count += 1;
        let word = element.verdict.word();
        let colon = if element.why.is_empty() { "" } else { ": " };
        let indexes: Vec<String> = element.indexes.iter().map(ToString::to_string).collect();
        let text = format!("{word}{colon}{} ({})", element.why, element.path);
        screen.fact(&format!("element {}", indexes.join(".")), &text);
        screen.depth += 1;
        screen.decisive_conditions(&element.conditions);
        if !element.message.is_empty() {
            screen.fact("message", &element.message);
        }
        if let Some(anchor) = &element.anchor {
            screen.anchor(anchor);
        }
        screen.other_conditions(&element.conditions);
        screen.variables(&element.variables, &element.conditions);
        screen.depth -= 1;
    }
    if left_out > 0 {
        let all = if rule.elements_left_out == 0 { "-o json has them all" } else { "-o json has more" };
        screen.fact("elements", &format!("{left_out} more; {all}"));
    }
}

/// The text of an explanation while it is written.
struct Screen {
    palette: Palette,
    out: String,
    /// The number of loops around the facts.
    depth: usize,
    cut: Cut,
}

/// Which values and expressions are cut.
#[derive(Clone, Copy, Debug)]
enum Cut {
    Nothing,
    Long,
}

impl Cut {
    fn value(self, value: &Value) -> String {
        self.text(&value.to_json())
    }

    fn text(self, text: &str) -> String {
        match (self, text.char_indices().nth(VALUE_LENGTH)) {
            (Self::Long, Some((end, _))) => {
                format!("{}… ({} characters)", &text[..end], text.chars().count())
            }
            _ => text.to_owned(),
        }
    }
}

impl Screen {
    fn line(&mut self, code: Option<&str>, text: &str) {
        let text = format!("{}\n", printable_line(text));
        match code {
            Some(code) => self.palette.paint(code, &text, &mut self.out),
            None => self.out.push_str(&text),
        }
    }

    fn verdict(&mut self, word: &str, code: &str, text: &str) {
        self.out.push_str("  ");
        self.palette.paint(code, word, &mut self.out);
        self.text(2 + word.len(), COLUMN, text);
    }

    /// A line below a verdict.
    fn fact(&mut self, label: &str, text: &str) {
        let indent = 4 + 2 * self.depth;
        let _ = write!(self.out, "{:indent$}{label}", "");
        self.text(indent + label.len(), COLUMN + 2 * self.depth, text);
    }

    /// Writes text at a column after the characters that are already on the line, and breaks long lines.
    fn text(&mut self, written: usize, column: usize, text: &str) {
        let mut written = written;
        for line in text.trim_end().lines().flat_map(|line| broken(line, WIDTH.saturating_sub(column))) {
            let gap = if written == 0 { column } else { column.saturating_sub(written).max(2) };
            let _ = writeln!(self.out, "{:gap$}{}", "", printable(line.trim_end()));
            written = 0;
        }
        if written > 0 {
            self.out.push('\n');
        }
    }

    /// The conditions because of which a rule or an element was skipped.
    fn decisive_conditions(&mut self, conditions: &[Condition]) {
        for condition in conditions.iter().filter(|condition| condition.decisive) {
            self.condition("failed", condition);
        }
    }

    fn other_conditions(&mut self, conditions: &[Condition]) {
        for condition in conditions.iter().filter(|condition| !condition.decisive) {
            self.condition(if condition.met { "holds" } else { "fails" }, condition);
        }
    }

    fn condition(&mut self, label: &str, condition: &Condition) {
        let Condition { path, key, operator, value, written, .. } = condition;
        let cut = self.cut;
        let side = |value: &Value, written: &Option<Value>| match written {
            Some(written) => {
                let written = written.as_str().map_or_else(|| written.to_json(), one_line);
                format!("{} ({})", cut.text(&written), cut.value(value))
            }
            None => cut.value(value),
        };
        let (key, value) = (side(key, &written[0]), side(value, &written[1]));
        self.fact(label, &format!("{path}: {key} {operator} {value}"));
    }

    /// Conditions and mutations of a CEL policy with their values.
    fn expressions<'e>(&mut self, expressions: impl Iterator<Item = &'e Expression>) {
        for expression in expressions {
            let Expression { invocation, path, name, expression, value, because, failed_test, .. } =
                expression;
            let cut = self.cut;
            let shown = |value: &Value| cut.value(value);
            let value = value.as_ref().map_or_else(|error| format!("error: {error}"), shown);
            if let Some(FailedTest { path, expected, found }) = failed_test {
                let expected =
                    expected.as_ref().map_or_else(|| "a value, but the operation has none".into(), shown);
                let found = found
                    .as_ref()
                    .map_or_else(|| "is missing".into(), |found| format!("is {}", shown(found)));
                self.fact("test", &format!("`{path}` {found}, expected {expected}"));
            }
            let invocation = invocation.as_ref().map(|of| format!("{of}: ")).unwrap_or_default();
            match name {
                Some(name) => {
                    let text = format!("{invocation}{name} = {value}: {}", cut.text(&one_line(expression)));
                    self.fact("condition", &text);
                }
                None => self.fact("yields", &format!("{invocation}{value} ({path})")),
            }
            for part in because {
                let value = part.value.as_ref().map_or_else(|error| format!("error: {error}"), shown);
                self.fact("because", &format!("{} = {value}", cut.text(&one_line(&part.expression))));
            }
        }
    }

    /// Variables with their values, without those that conditions show.
    fn variables(&mut self, variables: &[Variable], conditions: &[Condition]) {
        let is_shown = |expression: &str| {
            let mut written = conditions.iter().flat_map(|condition| &condition.written).flatten();
            written.any(|written| written.as_str().and_then(only_variable) == Some(expression))
        };
        for variable in variables.iter().filter(|variable| !is_shown(&variable.expression)) {
            let value = match &variable.value {
                Ok(value) => self.cut.value(value),
                Err(error) => format!("no value: {error}"),
            };
            self.fact("variable", &format!("{} = {value}", one_line(&variable.expression)));
        }
    }

    fn anchor(&mut self, anchor: &Anchor) {
        let Anchor { overlay, object, reason, expected, found } = anchor;
        let expected =
            expected.as_ref().map_or_else(String::new, |value| format!(": {}", self.cut.value(value)));
        self.fact("overlay", &format!("{overlay}{expected}"));
        let path = if object.is_empty() { "the object" } else { object };
        let found = match found {
            Some(found) => format!(": {}", self.cut.value(found)),
            // Policies see the status of a live object, but reports do not contain it.
            None if object.starts_with("status") => String::new(),
            None => ": nothing there".to_owned(),
        };
        self.fact("object", &format!("{path}{found}"));
        self.fact("reason", reason);
    }
}

/// A line broken after blanks and commas into parts of at most `width` characters, where that is possible.
fn broken(line: &str, width: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut end = 0;
    let mut length = 0;
    for part in line.split_inclusive([' ', ',']) {
        let visible = part.trim_end().chars().count();
        if length + visible > width && end > start {
            parts.push(&line[start..end]);
            start = end;
            length = 0;
        }
        end += part.len();
        length += part.chars().count();
    }
    parts.push(&line[start..]);
    parts
}

const fn colour(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Patched => "32",
        Verdict::NoChange | Verdict::Triggered => "36",
        Verdict::Skipped | Verdict::NotMatched => "33",
        Verdict::Discarded | Verdict::Error | Verdict::NotEvaluated => "31",
    }
}

/// The text of Kyverno's event about a changed target.
fn event(rule: &ExplainedRule<'_>, semantics: Semantics) -> String {
    match semantics {
        Semantics::Documented => format!("policy {} applied", rule.title()),
        Semantics::Kyverno => "resource mutated".to_owned(),
    }
}

/// The expression of a text that consists of one variable.
fn only_variable(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inside.contains("{{")).then_some(inside.trim())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
