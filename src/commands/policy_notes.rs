//! Notes on loaded policies and exceptions.

use crate::policy::Policy;
use crate::render::counted;
use crate::source::{LoadedExceptions, LoadedPolicies, PolicyNote, not_evaluated};

use super::exit::Exit;
use super::reporter::{NoteKind, Reporter};

/// Notes on the policies. Unsupported ones are reported as errors at once.
pub(super) fn policy_notes(loaded: &LoadedPolicies, reporter: &mut Reporter) -> Vec<(NoteKind, String)> {
    for message in loaded.unsupported() {
        reporter.error(Exit::Evaluation, &message);
    }
    let mut notes = Vec::new();
    for note in &loaded.notes {
        notes.push(match note {
            PolicyNote::Planned { .. } => continue,
            PolicyNote::Other { origin, kind, name } => {
                let is_exception = &**kind == "PolicyException";
                let hint = if is_exception { " here (`--exceptions` takes those of kyverno.io)" } else { "" };
                (NoteKind::Omission, format!("{origin}: {kind} {name} is not evaluated{hint}"))
            }
            PolicyNote::NoPolicies { documents, files } => {
                let (documents, files) = (counted(*documents, "document"), counted(*files, "file"));
                (NoteKind::Other, format!("{documents} in {files} beside the policies passed over"))
            }
            PolicyNote::Replaced { by, name } => {
                (NoteKind::Other, format!("{by} stands in for the policy {name} of the cluster"))
            }
            PolicyNote::Twice { origin, first, name } => {
                let text = format!("{origin}: policy {name} is also defined in {first}; both are evaluated");
                (NoteKind::Other, text)
            }
        });
    }
    for (policy, origin) in loaded.policies.iter().zip(&loaded.origins) {
        let name = policy.full_name();
        for skipped in policy.meta().not_evaluated.iter().filter(|skipped| !skipped.why.changes_the_result())
        {
            notes.push((NoteKind::Omission, not_evaluated(policy, origin, skipped)));
        }
        for note in &policy.meta().notes {
            let rule = note.rule.as_ref().map_or_else(|| name.to_string(), |rule| format!("{name}/{rule}"));
            notes.push((NoteKind::Other, format!("{origin}: {rule}: {}", note.text)));
        }
    }
    notes
}

pub(super) fn exception_notes(
    loaded: &LoadedExceptions,
    policies: &[Policy],
) -> impl Iterator<Item = (NoteKind, String)> {
    let omissions = loaded.misses(policies).into_iter().chain(loaded.left_out.iter().cloned());
    let others = loaded.notes.iter().cloned();
    omissions.map(|text| (NoteKind::Omission, text)).chain(others.map(|text| (NoteKind::Other, text)))
}
