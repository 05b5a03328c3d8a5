//! Notes on what depends on the view of an object.

use std::collections::BTreeMap;

use crate::diagnostics::Code;
use crate::render::{and_more, counted};
use crate::report::{ObjectReport, ViewDifference};
use crate::value::Text;

/// The page on where the views part: `docs/divergences/KYV-D76.md`. Views are no semantics, so that the table of
/// divergences has no entry.
const NUMBER: &str = "KYV-D76";

/// What the admitted view changed in a run, and the objects without one.
#[derive(Debug, Default)]
pub(super) struct ViewNotes {
    /// By policy, rule, field, and the words for what the API server does with the field.
    differences: BTreeMap<(Text, Text, String, String), Objects>,
    /// By the reason.
    not_admitted: BTreeMap<String, Objects>,
    /// By the kind that no webhooks are called for.
    without_webhooks: BTreeMap<Text, Objects>,
}

#[derive(Debug)]
struct Objects {
    first: String,
    others: usize,
}

impl ViewNotes {
    pub(super) fn add(&mut self, report: &ObjectReport) {
        let name = || report.object.as_ref().map_or_else(String::new, ToString::to_string);
        let objects = || Objects { first: name(), others: 0 };
        for ViewDifference { policy, rule, field, default } in &report.view.differences {
            let does = match default {
                Some(value) if report.secrets.is_empty() => format!("sets to {}", value.to_json()),
                Some(_) => "sets".to_owned(),
                None => "removes".to_owned(),
            };
            let field = report.shown_place(field).to_string();
            let entry = self.differences.entry((policy.clone(), rule.clone(), field, does));
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

    /// Codes and texts: one for each rule and field, one for each reason, and one for each kind without webhooks.
    pub(super) fn texts(&self) -> impl Iterator<Item = (Code, String)> {
        let differences = self.differences.iter().map(|((policy, rule, field, does), objects)| {
            let objects = and_more(&objects.first, objects.others);
            let text = format!(
                "{objects}: rule {policy}/{rule} reads {field}, which the API server {does} ({NUMBER})"
            );
            (Code::ViewDiffers, text)
        });
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
        differences.chain(not_admitted).chain(without_webhooks)
    }
}
