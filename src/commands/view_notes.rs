//! Notes on what depends on the view of an object.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::diagnostics::Code;
use crate::render::{and_more, counted, first_names};
use crate::report::{ObjectReport, ViewDifference};
use crate::value::{Text, shortened};

/// The page on where the views part: `docs/divergences/KYV-D76.md`. Views are no semantics, so that the table of
/// divergences has no entry.
const NUMBER: &str = "KYV-D76";

/// How many fields of a rule, and defaults of a field, are named; the rest is counted.
const NAMED: usize = 3;

/// Longer defaults are cut.
const MAX_VALUE_CHARS: usize = 60;

/// What the admitted view changed in a run, and the objects without one.
#[derive(Debug, Default)]
pub(super) struct ViewNotes {
    /// By rule.
    differences: BTreeMap<String, RuleNote>,
    /// By the reason.
    not_admitted: BTreeMap<String, Objects>,
    /// By the kind that no webhooks are called for.
    without_webhooks: BTreeMap<Text, Objects>,
}

/// Where a rule does something else in the admitted view.
#[derive(Debug, Default)]
struct RuleNote {
    objects: Objects,
    /// By field and what the API server does with it.
    fields: BTreeMap<String, BTreeMap<ByServer, Objects>>,
}

/// What the API server does with a field.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ByServer {
    SetTo(String),
    /// Set to a value that is not shown.
    Set,
    Removed,
}

#[derive(Debug, Default)]
struct Objects {
    first: String,
    number: usize,
}

impl ViewNotes {
    pub(super) fn add(&mut self, report: &ObjectReport) {
        let name = || report.object.as_ref().map_or_else(String::new, ToString::to_string);
        let mut counted = BTreeSet::new();
        for ViewDifference { policy, rule, is_policy, field, default } in &report.view.differences {
            let default = match default {
                Some(value) if report.secrets.is_empty() => ByServer::SetTo(value.to_json()),
                Some(_) => ByServer::Set,
                None => ByServer::Removed,
            };
            let field = report.shown_place(field).to_string();
            let rule = if *is_policy { format!("policy {policy}") } else { format!("rule {policy}/{rule}") };
            let note = self.differences.entry(rule.clone()).or_default();
            if counted.insert(rule) {
                note.objects.add(name);
            }
            note.fields.entry(field).or_default().entry(default).or_default().add(name);
        }
        if let Some(reason) = &report.view.not_admitted {
            self.not_admitted.entry(reason.clone()).or_default().add(name);
        }
        if let Some(kind) = &report.view.without_webhooks {
            self.without_webhooks.entry(kind.clone()).or_default().add(name);
        }
    }

    /// Codes and texts: one for each rule, or for each of its fields, one for each reason, and one for each kind without webhooks.
    pub(super) fn texts(&self, is_verbose: bool) -> Vec<(Code, String)> {
        let differences = self.differences.iter().flat_map(|(rule, note)| note.texts(rule, is_verbose));
        let differences = differences.map(|text| (Code::ViewDiffers, text));
        let not_admitted = self.not_admitted.iter().map(|(reason, objects)| {
            let count = counted(objects.number, "object");
            let text = format!("{reason}: {count} evaluated as written, the first is {}", objects.first);
            (Code::AsWritten, text)
        });
        let without_webhooks = self.without_webhooks.iter().map(|(kind, objects)| {
            let text = format!("{objects}: the API server calls no webhooks for {kind}, so policies change nothing there ({NUMBER})");
            (Code::NoWebhooks, text)
        });
        differences.chain(not_admitted).chain(without_webhooks).collect()
    }
}

impl RuleNote {
    /// A text for the rule, or for each of its fields and their defaults if the run is verbose.
    fn texts(&self, rule: &str, is_verbose: bool) -> Vec<String> {
        let Self { objects, fields } = self;
        if is_verbose {
            let all = fields.iter().flat_map(|(field, done)| done.iter().map(move |one| (field, one)));
            let text = |(field, (done, objects)): (&String, (&ByServer, &Objects))| {
                let done = shown([done].into_iter());
                format!("{objects}: {rule} reads {field}, which the API server {done} ({NUMBER})")
            };
            return all.map(text).collect();
        }
        let mut named = fields.iter().map(|(field, done)| (field, shown(done.keys())));
        let reads = match (fields.len(), named.next()) {
            (1, Some((field, done))) => format!("{field}, which the API server {done}"),
            (number, first) => {
                let fields = first.into_iter().chain(named);
                let fields: Vec<String> = fields.map(|(field, done)| format!("{field} ({done})")).collect();
                let names = first_names(NAMED, fields.into_iter());
                format!("{number} fields that the API server sets or removes: {names}")
            }
        };
        vec![format!("{objects}: {rule} reads {reads} ({NUMBER})")]
    }
}

/// What the API server does with a field of one or several objects.
fn shown<'a>(done: impl Iterator<Item = &'a ByServer> + Clone) -> String {
    let value = |one: &ByServer| match one {
        ByServer::SetTo(value) => Some(shortened(value, MAX_VALUE_CHARS)),
        ByServer::Set | ByServer::Removed => None,
    };
    let values: Vec<String> = done.clone().filter_map(value).collect();
    let set = (!values.is_empty()).then(|| format!("sets to {}", first_names(NAMED, values.into_iter())));
    let others = [(ByServer::Set, "sets"), (ByServer::Removed, "removes")];
    let others = others.iter().filter(|(other, _)| done.clone().any(|one| one == other));
    let words: Vec<String> = set.into_iter().chain(others.map(|(_, word)| (*word).to_owned())).collect();
    words.join(" or ")
}

impl Objects {
    fn add(&mut self, name: impl FnOnce() -> String) {
        if self.number == 0 {
            self.first = name();
        }
        self.number += 1;
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&and_more(&self.first, self.number.saturating_sub(1)))
    }
}

#[cfg(test)]
mod tests {
    use crate::value::{ObjectRef, Pointer, Value};

    use super::*;

    /// An object with the fields that a rule reads, and their defaults; `None` for one that is removed.
    fn report(name: &str, rule: &str, fields: &[(&str, Option<Value>)]) -> ObjectReport {
        let object = format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}}}}"#);
        let object = Value::from_json(&object).unwrap();
        let difference = |(field, default): &(&str, Option<Value>)| ViewDifference {
            policy: "p".into(),
            rule: rule.into(),
            is_policy: false,
            field: Pointer::default().key(*field),
            default: default.clone(),
        };
        let mut report = ObjectReport::untouched(object.clone());
        report.object = ObjectRef::of(&object);
        report.view.differences = fields.iter().map(difference).collect();
        report
    }

    fn texts(reports: &[ObjectReport], is_verbose: bool) -> Vec<String> {
        let mut notes = ViewNotes::default();
        reports.iter().for_each(|report| notes.add(report));
        notes.texts(is_verbose).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn the_fields_of_a_rule_are_grouped() {
        let number = |number: i64| Some(Value::from(number));
        let many = [("a", number(1)), ("b", None), ("c", number(3)), ("d", number(4)), ("e", number(5))];
        let reports = [report("x", "many", &many), report("x", "one", &[("a", None)])];
        assert_eq!(
            texts(&reports, false),
            [
                "Pod/x: rule p/many reads 5 fields that the API server sets or removes: a (sets to 1), b (removes), \
                 c (sets to 3) and 2 more (KYV-D76)",
                "Pod/x: rule p/one reads a, which the API server removes (KYV-D76)",
            ]
        );
        assert_eq!(texts(&reports, true).len(), 6);
    }

    #[test]
    fn objects_of_a_rule_are_counted_once_whatever_their_fields_are() {
        let number = |number: i64| Some(Value::from(number));
        let reports = [
            report("x", "r", &[("a", number(1)), ("b", None)]),
            report("y", "r", &[("c", number(1))]),
            report("z", "r", &[("a", number(2)), ("b", None)]),
        ];
        assert_eq!(
            texts(&reports, false),
            [
                "Pod/x and 2 more: rule p/r reads 3 fields that the API server sets or removes: a (sets to 1, 2), \
              b (removes), c (sets to 1) (KYV-D76)"
            ]
        );
        assert_eq!(
            texts(&reports, true),
            [
                "Pod/x: rule p/r reads a, which the API server sets to 1 (KYV-D76)",
                "Pod/z: rule p/r reads a, which the API server sets to 2 (KYV-D76)",
                "Pod/x and 1 more: rule p/r reads b, which the API server removes (KYV-D76)",
                "Pod/y: rule p/r reads c, which the API server sets to 1 (KYV-D76)",
            ]
        );
    }

    #[test]
    fn a_field_with_several_defaults_is_one_field() {
        let ports = |name, port: i64| report(name, "r", &[("port", Some(Value::from(port)))]);
        let reports = [ports("x", 80), ports("y", 443)];
        assert_eq!(
            texts(&reports, false),
            ["Pod/x and 1 more: rule p/r reads port, which the API server sets to 443, 80 (KYV-D76)"]
        );
    }
}
