//! An explanation as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::render::Palette;
use crate::render::printable;
use crate::semantics::Semantics;
use crate::value::{Change, ChangeKind, Text, Value};

use super::{Anchor, Condition, Element, Explained, Explanation, RuleSource, Variable, Verdict};
use crate::report::{Impact, Outcome};

/// The length of a value, in characters; longer ones are cut.
const VALUE_LENGTH: usize = 100;
/// How many names are listed in one line.
const LISTED_NAMES: usize = 6;
/// How many elements of each loop are shown, those that failed first.
const SHOWN_ELEMENTS: usize = 6;
/// Lines are broken so as not to be longer, where they can be broken.
const WIDTH: usize = 80;
/// Where the text of verdicts and facts begins.
const COLUMN: usize = "  NOT EVALUATED  ".len();

impl Explanation<'_> {
    /// The screen. With `all` the rules for other kinds are listed, too.
    pub fn text(&self, semantics: Semantics, all: bool, palette: Palette) -> String {
        let mut screen = Screen { palette, out: String::new(), depth: 0 };
        let name = self.report.object.as_ref().map_or_else(String::new, ToString::to_string);
        screen.line(Some("1"), &format!("{name}  {}", self.origin));
        screen.line(None, &format!("  {}", self.sum()));
        if self.report.unknown.user {
            let text =
                "what match and exclude ask of the user: nobody said who sends the request, --userinfo does";
            screen.verdict("LEFT ASIDE", "33", text);
        }
        for rule in &self.rules {
            self.rule(rule, semantics, &mut screen);
        }
        self.meanings(&mut screen);
        for (policy, divergences) in &self.divergences {
            for difference in divergences.iter() {
                let title =
                    format!("{difference} in {policy}: {} (this run: {semantics})", difference.title());
                screen.verdict("DIFFERS", "35", &title);
                screen.fact("documented", difference.documented());
                screen.fact("kyverno", difference.kyverno());
            }
        }
        self.others(all, &mut screen);
        screen.out
    }

    /// What the change means for a cluster.
    fn meanings(&self, screen: &mut Screen) {
        let Impact { rollout, immutable, privilege } = &self.impact;
        if *rollout {
            screen.verdict("ROLLOUT", "35", "what it runs would be restarted");
        }
        let marked = [
            ("IMMUTABLE", "the API server would refuse the update, these may not change", immutable),
            ("PRIVILEGE", "it would be allowed more than before", privilege),
        ];
        for (word, meaning, places) in marked {
            if !places.is_empty() {
                let names: Vec<String> = places.iter().take(LISTED_NAMES).map(ToString::to_string).collect();
                let more = places.len().saturating_sub(LISTED_NAMES);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                screen.verdict(word, "35", &format!("{meaning}: {}{more}", names.join(", ")));
            }
        }
    }

    /// How many rules did something, in one line. A rule with targets may have several verdicts; it counts by the one
    /// that says most.
    fn sum(&self) -> String {
        let verdicts = [
            (Verdict::Patched, "changed it"),
            (Verdict::Error, "failed"),
            (Verdict::Dropped, "dropped"),
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
        let rules = if all == 1 { "rule" } else { "rules" };
        let mut line = format!("{} of {all} {rules} changed it", count(0));
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

    fn rule(&self, rule: &Explained<'_>, semantics: Semantics, screen: &mut Screen) {
        let colon = if rule.why.is_empty() { "" } else { ": " };
        let name = format!("{}/{}{colon}{}", rule.policy, rule.rule, rule.why);
        screen.verdict(&rule.verdict.word().to_uppercase(), colour(rule.verdict), &name);
        if let Some(from) = rule.source.and_then(|source| source.generated_from.as_ref()) {
            screen.fact("generated", &format!("from the rule {from}, which is for Pods"));
        }
        let label = match rule.verdict {
            Verdict::NotMatched => "because",
            Verdict::Skipped => "message",
            Verdict::Error => "error",
            Verdict::Patched | Verdict::Dropped => "left out",
            Verdict::Triggered => "target",
            Verdict::NoChange | Verdict::NotEvaluated => "reason",
        };
        if let Some(trigger) = rule.report.and_then(|report| report.trigger.as_ref()) {
            screen.fact("trigger", &trigger.to_string());
            if rule.verdict == Verdict::Patched {
                screen.fact("event", &event(rule, semantics));
            }
        }
        for condition in rule.conditions.iter().filter(|condition| condition.decisive) {
            screen.condition("failed", condition);
        }
        for reason in &rule.reasons {
            screen.fact(label, reason);
        }
        for exception in &rule.exceptions {
            screen.fact("exception", exception);
        }
        if let Some(Outcome::Error(error)) = rule.report.map(|report| &report.outcome)
            && let Some(hint) = &error.hint
        {
            screen.fact("hint", &self.redactor.text(hint));
        }
        if let Some(anchor) = &rule.anchor {
            screen.anchor(anchor);
        }
        for change in &rule.changes {
            screen.fact("change", &self.change(change));
        }
        elements(rule, screen);
        for condition in rule.conditions.iter().filter(|condition| !condition.decisive) {
            screen.condition(if condition.met { "holds" } else { "fails" }, condition);
        }
        screen.variables(&rule.variables, &rule.conditions);
    }

    fn change(&self, change: &Change) -> String {
        let shown = |value: &Value| shown(&self.redactor.at(&change.pointer, value));
        let place =
            if change.pointer.is_root() { "the object".to_owned() } else { change.pointer.to_string() };
        match &change.kind {
            ChangeKind::Add(value) => format!("{place}: {} added", shown(value)),
            ChangeKind::Remove(value) => format!("{place}: {} removed", shown(value)),
            ChangeKind::Replace { before, after } => format!("{place}: {} → {}", shown(before), shown(after)),
        }
    }

    fn others(&self, all: bool, screen: &mut Screen) {
        let kinds = |source: &RuleSource| {
            let kinds: Vec<&str> = source.kinds.iter().flatten().map(|kind| &**kind).collect();
            kinds.join(", ")
        };
        let names =
            self.others.iter().map(|source| (format!("{}/{}", source.policy, source.rule), kinds(source)));
        if all {
            for (name, kinds) in names {
                screen.verdict("OTHER KIND", "2", &format!("{name}: it is for {kinds}"));
            }
            return;
        }
        let few: Vec<String> =
            names.take(LISTED_NAMES).map(|(name, kinds)| format!("{name} ({kinds})")).collect();
        let more = self.others.len().saturating_sub(LISTED_NAMES);
        let tail = if more > 0 { format!(" and {more} more; --all lists them") } else { String::new() };
        if !few.is_empty() {
            screen.verdict("OTHER KINDS", "2", &format!("{}{tail}", few.join(", ")));
        }
    }
}

/// Tells about the elements that the loops of a rule went through.
fn elements(rule: &Explained<'_>, screen: &mut Screen) {
    let (failed, others): (Vec<&Element>, Vec<&Element>) =
        rule.elements.iter().partition(|element| element.verdict == Verdict::Error);
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    let mut left_out = rule.elements_left_out;
    for element in failed.into_iter().chain(others) {
        let so_far = told.entry(&element.place).or_default();
        if *so_far == SHOWN_ELEMENTS {
            left_out += 1;
            continue;
        }
        *so_far += 1;
        let word = element.verdict.word();
        let colon = if element.why.is_empty() { "" } else { ": " };
        let indexes: Vec<String> = element.indexes.iter().map(ToString::to_string).collect();
        let text = format!("{word}{colon}{} ({})", element.why, element.place);
        screen.fact(&format!("element {}", indexes.join(".")), &text);
        screen.depth += 1;
        for condition in element.conditions.iter().filter(|condition| condition.decisive) {
            screen.condition("failed", condition);
        }
        if !element.message.is_empty() {
            screen.fact("message", &element.message);
        }
        if let Some(anchor) = &element.anchor {
            screen.anchor(anchor);
        }
        for condition in element.conditions.iter().filter(|condition| !condition.decisive) {
            screen.condition(if condition.met { "holds" } else { "fails" }, condition);
        }
        screen.variables(&element.variables, &element.conditions);
        screen.depth -= 1;
    }
    if left_out > 0 {
        let all = if rule.elements_left_out == 0 { "-o json has them all" } else { "-o json has more" };
        screen.fact("elements", &format!("{left_out} more; {all}"));
    }
}

struct Screen {
    palette: Palette,
    out: String,
    /// How many elements of loops the facts are of.
    depth: usize,
}

impl Screen {
    fn line(&mut self, code: Option<&str>, text: &str) {
        let text = format!("{}\n", printable(text));
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

    /// The text of a line of which so much is written, in the column where it belongs.
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

    fn condition(&mut self, label: &str, condition: &Condition) {
        let Condition { path, key, operator, value, written, .. } = condition;
        let side = |value: &Value, written: &Option<Value>| match written {
            Some(written) => {
                let written = written.as_str().map_or_else(|| written.to_json(), one_line);
                format!("{} ({})", cut(&written), shown(value))
            }
            None => shown(value),
        };
        let (key, value) = (side(key, &written[0]), side(value, &written[1]));
        self.fact(label, &format!("{path}: {key} {operator} {value}"));
    }

    /// Variables with their values, but for those that the conditions show already.
    fn variables(&mut self, variables: &[Variable], conditions: &[Condition]) {
        let told = |expression: &str| {
            conditions.iter().flat_map(|condition| &condition.written).flatten().any(|written| {
                written.as_str().and_then(variable_alone).is_some_and(|alone| alone == expression)
            })
        };
        for variable in variables.iter().filter(|variable| !told(&variable.expression)) {
            let value = match &variable.value {
                Ok(value) => shown(value),
                Err(error) => format!("no value: {error}"),
            };
            self.fact("variable", &format!("{} = {value}", one_line(&variable.expression)));
        }
    }

    fn anchor(&mut self, anchor: &Anchor) {
        let Anchor { overlay, object, reason, wanted, found } = anchor;
        let wanted = wanted.as_ref().map_or_else(String::new, |wanted| format!(": {}", shown(wanted)));
        self.fact("overlay", &format!("{overlay}{wanted}"));
        let place = if object.is_empty() { "the object" } else { object };
        let found = match found {
            Some(found) => format!(": {}", shown(found)),
            // Policies see the status of a live object, and reports leave it out.
            None if object.starts_with("status") => String::new(),
            None => ": nothing there".to_owned(),
        };
        self.fact("object", &format!("{place}{found}"));
        self.fact("reason", reason);
    }
}

/// A line in pieces of so many characters at the most, broken behind blanks and commas; a longer piece
/// without any stays as it is.
fn broken(line: &str, width: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut end = 0;
    let mut length = 0;
    for part in line.split_inclusive([' ', ',']) {
        let added = part.chars().count();
        let seen = part.trim_end().chars().count();
        if length + seen > width && end > start {
            pieces.push(&line[start..end]);
            start = end;
            length = 0;
        }
        end += part.len();
        length += added;
    }
    pieces.push(&line[start..]);
    pieces
}

const fn colour(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Patched => "32",
        Verdict::NoChange | Verdict::Triggered => "36",
        Verdict::Skipped | Verdict::NotMatched => "33",
        Verdict::Dropped | Verdict::Error | Verdict::NotEvaluated => "31",
    }
}

/// The text of Kyverno's event about a changed target.
fn event(rule: &Explained<'_>, semantics: Semantics) -> String {
    match semantics {
        Semantics::Documented => format!("policy {}/{} applied", rule.policy, rule.rule),
        Semantics::Kyverno => "resource mutated".to_owned(),
    }
}

fn shown(value: &Value) -> String {
    cut(&value.to_json())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(VALUE_LENGTH) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}

/// The expression of a text that is one variable and nothing else.
fn variable_alone(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inside.contains("{{")).then_some(inside.trim())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
