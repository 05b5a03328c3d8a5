//! What there is to say about loaded policies and exceptions.

use crate::policy::{NotEvaluated, Policy};
use crate::render::counted;
use crate::source::{LoadedExceptions, LoadedPolicies, PolicyNote};

use super::exit::Exit;
use super::reporter::{NoteKind, Reporter};

/// What there is to say about the policies. Kinds that are not run yet are errors at once.
pub(super) fn remarks(loaded: &LoadedPolicies, reporter: &mut Reporter) -> Vec<(NoteKind, String)> {
    for message in planned(loaded) {
        reporter.error(Exit::Evaluation, &message);
    }
    let mut remarks = Vec::new();
    for note in &loaded.notes {
        match note {
            PolicyNote::Planned { .. } => {}
            PolicyNote::Other { origin, kind, name } => {
                let hint = if &**kind == "PolicyException" {
                    " here (`--exceptions` takes those of kyverno.io)"
                } else {
                    ""
                };
                remarks.push((NoteKind::Omission, format!("{origin}: {kind} {name} is not evaluated{hint}")));
            }
            PolicyNote::NoPolicies { documents, files } => {
                let documents = counted(*documents, "document");
                let text =
                    format!("{documents} in {} beside the policies passed over", counted(*files, "file"));
                remarks.push((NoteKind::Other, text));
            }
            PolicyNote::Replaced { by, name } => {
                let text = format!("{by} stands in for the policy {name} of the cluster");
                remarks.push((NoteKind::Other, text));
            }
            PolicyNote::Twice { origin, first, name } => {
                let text = format!("{origin}: a policy {name} stands in {first}, too; both are evaluated");
                remarks.push((NoteKind::Other, text));
            }
        }
    }
    for (policy, origin) in loaded.policies.iter().zip(&loaded.origins) {
        let name = policy.full_name();
        for skipped in policy.not_evaluated.iter().filter(|skipped| !skipped.why.spoils_the_result()) {
            remarks.push((NoteKind::Omission, not_evaluated(policy, origin, skipped)));
        }
        for note in &policy.notes {
            let rule = note.rule.as_ref().map_or_else(|| name.to_string(), |rule| format!("{name}/{rule}"));
            remarks.push((NoteKind::Other, format!("{origin}: {rule}: {}", note.text)));
        }
    }
    remarks
}

/// What there is to say about exceptions.
pub(super) fn remarks_on_exceptions(
    loaded: &LoadedExceptions,
    policies: &[Policy],
) -> impl Iterator<Item = (NoteKind, String)> {
    let omissions = loaded.misses(policies).into_iter().chain(loaded.left_out.iter().cloned());
    let others = loaded.notes.iter().cloned();
    omissions.map(|text| (NoteKind::Omission, text)).chain(others.map(|text| (NoteKind::Other, text)))
}

/// What is said of policies whose result is missing, in part or whole: kinds and rules that are not run yet,
/// and policies that a cluster refuses.
pub(super) fn planned(loaded: &LoadedPolicies) -> Vec<String> {
    let kinds = loaded.notes.iter().filter_map(|note| match note {
        PolicyNote::Planned { origin, kind, name } => {
            Some(format!("{origin}: {kind} {name}: this kind is not evaluated by this version"))
        }
        _ => None,
    });
    let mut planned: Vec<String> = kinds.collect();
    for (policy, origin) in loaded.policies.iter().zip(&loaded.origins) {
        let spoiling = policy.not_evaluated.iter().filter(|skipped| skipped.why.spoils_the_result());
        planned.extend(spoiling.map(|skipped| not_evaluated(policy, origin, skipped)));
        planned.extend(policy.refused.iter().map(|fault| {
            let difference = fault.difference.map_or_else(String::new, |number| format!(" ({number})"));
            format!("{origin}: {}: {fault}{difference}", policy.full_name())
        }));
    }
    planned
}

fn not_evaluated(policy: &Policy, origin: &str, skipped: &NotEvaluated) -> String {
    let name = policy.full_name();
    let rule = skipped.rule.as_ref().map_or_else(String::new, |rule| format!("/{rule}"));
    format!("{origin}: {name}{rule}: not evaluated: {}", skipped.why)
}
