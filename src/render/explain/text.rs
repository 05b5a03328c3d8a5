//! An explanation as text.

use std::fmt::Write as _;

use crate::render::Palette;
use crate::render::harmless;
use crate::semantics::Semantics;
use crate::value::{Change, ChangeKind, Value};

use super::{Anchor, Condition, Explained, Explanation, RuleSource, Verdict};
use crate::report::Outcome;

/// Longer values are cut.
const SHOWN: usize = 100;
/// So many names stand in one line.
const LISTED: usize = 6;
const WORDS: usize = "NOT EVALUATED".len();

impl Explanation<'_> {
    /// The screen. With `all` the rules for other kinds are listed, too.
    pub fn text(&self, semantics: Semantics, all: bool, palette: Palette) -> String {
        let mut screen = Screen { palette, out: String::new() };
        let name = self.report.object.as_ref().map_or_else(String::new, ToString::to_string);
        screen.line(Some("1"), &format!("{name}  {}", self.origin));
        screen.line(None, &format!("  {}", self.sum()));
        for rule in &self.rules {
            self.rule(rule, &mut screen);
        }
        for (policy, corners) in &self.corners {
            for difference in corners.iter() {
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

    /// How many rules did something, in one line.
    fn sum(&self) -> String {
        let count = |verdict| self.rules.iter().filter(|rule| rule.verdict == verdict).count();
        let rules = if self.rules.len() == 1 { "rule" } else { "rules" };
        let failed = match count(Verdict::Error) {
            0 => String::new(),
            errors => format!(", {errors} failed"),
        };
        match self.rules.len() {
            0 if self.others.is_empty() => "there is no mutate rule to evaluate".to_owned(),
            0 => "no rule is for objects of this kind".to_owned(),
            all => format!("{} of {all} {rules} changed it{failed}", count(Verdict::Patched)),
        }
    }

    fn rule(&self, rule: &Explained<'_>, screen: &mut Screen) {
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
            Verdict::NoChange | Verdict::NotEvaluated => "reason",
        };
        for reason in &rule.reasons {
            screen.fact(label, reason);
        }
        for exception in &rule.exceptions {
            screen.fact("exception", exception);
        }
        if let Some(Outcome::Error(error)) = rule.report.map(|report| &report.outcome)
            && let Some(hint) = &error.hint
        {
            screen.fact("hint", &self.shade.text(hint));
        }
        for condition in rule.conditions.iter().filter(|condition| condition.decisive) {
            screen.condition("failed", condition);
        }
        if let Some(anchor) = &rule.anchor {
            screen.anchor(anchor);
        }
        for change in &rule.changes {
            screen.fact("change", &self.change(change));
        }
        for condition in rule.conditions.iter().filter(|condition| !condition.decisive) {
            screen.condition(if condition.met { "holds" } else { "fails" }, condition);
        }
        let told = |expression: &str| {
            rule.conditions.iter().flat_map(|condition| &condition.written).flatten().any(|written| {
                written.as_str().and_then(variable_alone).is_some_and(|alone| alone == expression)
            })
        };
        for variable in rule.variables.iter().filter(|variable| !told(&variable.expression)) {
            let value = match &variable.value {
                Ok(value) => shown(value),
                Err(error) => format!("no value: {error}"),
            };
            screen.fact("variable", &format!("{} = {value}", one_line(&variable.expression)));
        }
    }

    fn change(&self, change: &Change) -> String {
        let shown = |value: &Value| shown(&self.shade.at(&change.pointer, value));
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
        let few: Vec<String> = names.take(LISTED).map(|(name, kinds)| format!("{name} ({kinds})")).collect();
        let more = self.others.len().saturating_sub(LISTED);
        let tail = if more > 0 { format!(" and {more} more; --all lists them") } else { String::new() };
        if !few.is_empty() {
            screen.verdict("OTHER KINDS", "2", &format!("{}{tail}", few.join(", ")));
        }
    }
}

struct Screen {
    palette: Palette,
    out: String,
}

impl Screen {
    fn line(&mut self, code: Option<&str>, text: &str) {
        let text = format!("{}\n", harmless(text));
        match code {
            Some(code) => self.palette.paint(code, &text, &mut self.out),
            None => self.out.push_str(&text),
        }
    }

    fn verdict(&mut self, word: &str, code: &str, text: &str) {
        self.out.push_str("  ");
        self.palette.paint(code, &format!("{word:<WORDS$}"), &mut self.out);
        let indent = format!("\n{:1$}", "", WORDS + 4);
        let _ = writeln!(self.out, "  {}", harmless(&text.trim_end().replace('\n', &indent)));
    }

    /// A line below a verdict.
    fn fact(&mut self, label: &str, text: &str) {
        let indent = format!("\n{:1$}", "", WORDS + 16);
        let text = harmless(&text.trim_end().replace('\n', &indent));
        let _ = writeln!(self.out, "{:1$}{label:<10}  {text}", "", WORDS + 4);
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

const fn colour(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Patched => "32",
        Verdict::NoChange => "36",
        Verdict::Skipped | Verdict::NotMatched => "33",
        Verdict::Dropped | Verdict::Error | Verdict::NotEvaluated => "31",
    }
}

fn shown(value: &Value) -> String {
    cut(&value.to_json())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
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
