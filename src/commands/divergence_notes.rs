//! Notes on divergences, with the rules and objects that reached them.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::render::{divergence_text, first_names, thousands};
use crate::report::ObjectReport;
use crate::semantics::{Divergence, DivergenceSet, Semantics};
use crate::value::Text;

use super::reporter::{Label, Note, NoteKind, Reporter};

/// How many rules of a divergence are named; the rest is counted.
const NAMED_RULES: usize = 3;

/// The divergences of a run.
#[derive(Debug, Default)]
pub(super) struct DivergenceNotes {
    /// By the policy and the rule; without a rule where it is the policy as a whole that reached one.
    reached: BTreeMap<Divergence, IndexMap<(Text, Option<Text>), Objects>>,
    all: DivergenceSet,
}

#[derive(Debug)]
struct Objects {
    first: String,
    number: usize,
}

impl DivergenceNotes {
    pub(super) fn add(&mut self, report: &ObjectReport) {
        for policy in report.policies.iter().filter(|policy| !policy.divergences.is_empty()) {
            self.all.extend(policy.divergences);
            for divergence in policy.divergences.iter() {
                let rules = policy.rules.iter().filter(|rule| rule.divergences.contains(divergence));
                let mut rules: Vec<_> = rules.map(|rule| Some(rule.rule.clone())).collect();
                if rules.is_empty() {
                    rules.push(None);
                }
                let reached = self.reached.entry(divergence).or_default();
                for rule in rules {
                    let objects = reached.entry((policy.policy.clone(), rule));
                    let objects = objects.or_insert_with(|| Objects {
                        first: report.object.as_ref().map_or_else(String::new, ToString::to_string),
                        number: 0,
                    });
                    objects.number += 1;
                }
            }
        }
    }

    pub(super) const fn all(&self) -> DivergenceSet {
        self.all
    }

    /// Prints a note for each divergence.
    pub(super) fn report(&self, semantics: Semantics, reporter: &mut Reporter) {
        for (divergence, rules) in &self.reached {
            let names = rules.iter().map(|((policy, rule), Objects { first, number })| {
                let rule = rule.as_ref().map_or_else(String::new, |rule| format!("/{rule}"));
                let objects = match number {
                    1 => format!("1 object, {first}"),
                    _ => format!("{} objects, first: {first}", thousands(*number)),
                };
                format!("{policy}{rule} ({objects})")
            });
            let limit = if reporter.is_verbose() { usize::MAX } else { NAMED_RULES };
            let text = format!("{}: {}", first_names(limit, names), divergence_text(*divergence, semantics));
            reporter.add(Note::new(NoteKind::Omission, Label::Divergence(*divergence), text));
        }
    }
}
