//! Notes on what depends on the view of an object.

use std::collections::BTreeMap;

use crate::diagnostics::Code;
use crate::render::{and_more, counted, first_names};
use crate::report::{ObjectReport, ViewDifference};
use crate::value::Text;

/// The page on where the views part: `docs/divergences/KYV-D76.md`. Views are no semantics, so that the table of
/// divergences has no entry.
const NUMBER: &str = "KYV-D76";

/// How many fields of a rule are named; the rest is counted.
const NAMED_FIELDS: usize = 3;

/// What the admitted view changed in a run, and the objects without one.
#[derive(Debug, Default)]
pub(super) struct ViewNotes {
    /// By rule, field, and the words for what the API server does with the field.
    differences: BTreeMap<(String, String, String), Objects>,
    /// By the reason.
    not_admitted: BTreeMap<String, Objects>,
    /// By the kind that no webhooks are called for.
    without_webhooks: BTreeMap<Text, Objects>,
}

/// A field, what the API server does with it, and the objects.
type FieldNote<'a> = (&'a str, &'a str, &'a Objects);

#[derive(Debug)]
struct Objects {
    first: String,
    others: usize,
}

impl ViewNotes {
    pub(super) fn add(&mut self, report: &ObjectReport) {
        let name = || report.object.as_ref().map_or_else(String::new, ToString::to_string);
        let objects = || Objects { first: name(), others: 0 };
        for ViewDifference { policy, rule, is_policy, field, default } in &report.view.differences {
            let does = match default {
                Some(value) if report.secrets.is_empty() => format!("sets to {}", value.to_json()),
                Some(_) => "sets".to_owned(),
                None => "removes".to_owned(),
            };
            let field = report.shown_place(field).to_string();
            let rule = if *is_policy { format!("policy {policy}") } else { format!("rule {policy}/{rule}") };
            let entry = self.differences.entry((rule, field, does));
            entry.and_modify(|objects| objects.others += 1).or_insert_with(objects);
        }
        if let Some(reason) = &report.view.not_admitted {
            let entry = self.not_admitted.entry(reason.clone());
            entry.and_modify(|objects| objects.others += 1).or_insert_with(objects);
        }
        if let Some(kind) = &report.view.without_webhooks {
            let entry = self.without_webhooks.entry(kind.clone());
            entry.and_modify(|objects| objects.others += 1).or_insert_with(objects);
        }
    }

    /// Codes and texts: one for each rule, or for each of its fields, one for each reason, and one for each kind without webhooks.
    pub(super) fn texts(&self, is_verbose: bool) -> Vec<(Code, String)> {
        let differences = self.differences(is_verbose).into_iter().map(|text| (Code::ViewDiffers, text));
        let not_admitted = self.not_admitted.iter().map(|(reason, objects)| {
            let count = counted(objects.others + 1, "object");
            let text = format!("{reason}: {count} evaluated as written, the first is {}", objects.first);
            (Code::AsWritten, text)
        });
        let without_webhooks = self.without_webhooks.iter().map(|(kind, objects)| {
            let named = and_more(&objects.first, objects.others);
            let text = format!("{named}: the API server calls no webhooks for {kind}, so policies change nothing there ({NUMBER})");
            (Code::NoWebhooks, text)
        });
        differences.chain(not_admitted).chain(without_webhooks).collect()
    }

    /// A text for each rule, or for each of its fields if the run is verbose.
    fn differences(&self, is_verbose: bool) -> Vec<String> {
        let mut rules: BTreeMap<&str, Vec<FieldNote<'_>>> = BTreeMap::new();
        for ((rule, field, does), objects) in &self.differences {
            rules.entry(rule).or_default().push((field, does, objects));
        }
        let mut texts = Vec::new();
        for (rule, fields) in rules {
            let one = |(field, does, objects): &FieldNote<'_>| {
                let objects = and_more(&objects.first, objects.others);
                format!("{objects}: {rule} reads {field}, which the API server {does} ({NUMBER})")
            };
            match &*fields {
                [(_, _, objects), ..] if fields.len() > 1 && !is_verbose => {
                    let others =
                        fields.iter().map(|(_, _, objects)| objects.others).max().unwrap_or_default();
                    let objects = and_more(&objects.first, others);
                    let names =
                        first_names(NAMED_FIELDS, fields.iter().map(|(field, ..)| (*field).to_owned()));
                    texts.push(format!(
                        "{objects}: {rule} reads {} fields that the API server sets or removes: {names} ({NUMBER})",
                        fields.len()
                    ));
                }
                fields => texts.extend(fields.iter().map(one)),
            }
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_rule_are_grouped() {
        let mut notes = ViewNotes::default();
        let mut add = |rule: &str, fields: &[&str]| {
            for field in fields {
                let key = (rule.to_owned(), (*field).to_owned(), "removes".to_owned());
                notes.differences.insert(key, Objects { first: "Pod/p".to_owned(), others: 0 });
            }
        };
        add("rule many/rule", &["a", "b", "c", "d", "e"]);
        add("policy one", &["a"]);
        let texts =
            |is_verbose| notes.texts(is_verbose).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(
            texts(false),
            [
                "Pod/p: policy one reads a, which the API server removes (KYV-D76)",
                "Pod/p: rule many/rule reads 5 fields that the API server sets or removes: a, b, c and 2 more (KYV-D76)",
            ]
        );
        assert_eq!(texts(true).len(), 6);
    }
}
