//! Notes on loaded policies and exceptions: in groups of one cause, or each if the run is verbose.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use jiff::Timestamp;

use crate::diagnostics::{Code, Coded as _};
use crate::policy::{Policy, WarningCause, Why};
use crate::render::{counted, first_names};
use crate::source::{
    LoadedExceptions, LoadedPolicies, PolicyNote, PolicyWarning, Unsupported, UnsupportedCause, not_evaluated,
};

use super::exit::Exit;
use super::reporter::{Note, NoteKind, Reporter};

/// How many policies of a group are named; the rest is counted.
const NAMED_POLICIES: usize = 3;

const EXCEPTION: &str = "PolicyException";
const UNBOUND_HINT: &str = ": a cluster ignores it until it is bound; here it applies without restrictions";
const EXCEPTION_HINT: &str = " here: pass exceptions with `--exceptions`";

/// What notes on policies depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoteSettings {
    /// Whether unsupported policies are skipped, and not errors.
    pub(super) skips_unsupported: bool,
    /// The input that sets the user who sends the requests; `None` if it is known.
    pub(super) missing_user: Option<&'static str>,
}

/// Warnings and notes on the policies. Unsupported ones are reported as errors at once, unless they are to be skipped.
pub(super) fn policy_notes(
    loaded: &LoadedPolicies,
    settings: NoteSettings,
    reporter: &mut Reporter,
) -> Vec<Note> {
    let is_verbose = reporter.is_verbose();
    let unsupported = loaded.unsupported();
    let texts = if is_verbose {
        unsupported.iter().map(|one| (one.cause.code(), one.to_string())).collect()
    } else {
        grouped_unsupported(unsupported)
    };
    let mut notes = warnings(&loaded.warnings, settings.missing_user, is_verbose);
    if settings.skips_unsupported {
        notes.extend(texts.into_iter().map(|(code, text)| Note::omission(code, text)));
    } else {
        texts.iter().for_each(|(code, text)| reporter.error(Exit::Evaluation, *code, text));
    }
    notes.extend(if is_verbose { verbose_notes(loaded) } else { grouped_notes(loaded) });
    notes
}

/// All warnings, or one for each group of one cause.
pub(super) fn warnings(
    warnings: &[PolicyWarning],
    missing_user: Option<&str>,
    is_verbose: bool,
) -> Vec<Note> {
    let mut groups: IndexMap<&WarningCause, Vec<&PolicyWarning>> = IndexMap::new();
    for warning in warnings {
        if missing_user.is_some() || !warning.cause.depends_on_user() {
            groups.entry(&warning.cause).or_default().push(warning);
        }
    }
    let mut notes = Vec::new();
    for (cause, group) in groups {
        let cure = missing_user.filter(|_| cause.depends_on_user());
        let cure = cure.map_or_else(String::new, |input| format!("; {input} sets it"));
        if is_verbose || group.len() == 1 {
            let texts = group.iter().map(|one| format!("{}: {}: {cause}{cure}", one.place, one.name));
            notes.extend(texts.map(|text| Note::warning(cause.code(), text)));
        } else {
            let names = group.iter().map(|one| format!("{} ({})", one.name, one.place));
            let text = format!("{cause}{cure}: {}", first_names(NAMED_POLICIES, names));
            notes.push(Note::warning(cause.code(), text));
        }
    }
    notes
}

/// A line for each cause.
fn grouped_unsupported(unsupported: Vec<Unsupported>) -> Vec<(Code, String)> {
    let mut groups: IndexMap<UnsupportedCause, Vec<Unsupported>> = IndexMap::new();
    for one in unsupported {
        groups.entry(one.cause.clone()).or_default().push(one);
    }
    let texts = groups.into_iter().map(|(cause, group)| {
        if let [one] = &*group {
            return (cause.code(), one.to_string());
        }
        let code = cause.code();
        let number = group.len();
        let names = named(group.iter().map(|one| (&*one.name, &*one.origin)));
        let text = match cause {
            UnsupportedCause::Part(why) => format!("not evaluated in {number} policies: {why}: {names}"),
            UnsupportedCause::Refused(message) => format!("{message}: {names}"),
        };
        (code, text)
    });
    texts.collect()
}

/// A note for each cause.
fn grouped_notes(loaded: &LoadedPolicies) -> Vec<Note> {
    let mut notes: Vec<Note> = ignored(loaded).into_iter().collect();
    let (mut exceptions, mut repeated, mut replaced, mut unbound) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for note in &loaded.notes {
        match note {
            PolicyNote::Other { origin, kind, name } if &**kind == EXCEPTION => {
                exceptions.push((note, format!("{name} ({origin})")));
            }
            PolicyNote::NotBound { origin, name } => unbound.push((note, format!("{name} ({origin})"))),
            PolicyNote::BindingMisses { .. } => notes.push(text(note)),
            PolicyNote::Twice { origin, first, name } => {
                repeated.push((note, format!("{name} ({first}, {origin})")));
            }
            PolicyNote::Replaced { by, name } => replaced.push((note, format!("{name} ({by})"))),
            PolicyNote::NoPolicies { .. } => notes.push(text(note)),
            PolicyNote::Other { .. } => {}
        }
    }
    for (group, words) in [
        (exceptions, format!("PolicyExceptions are not evaluated{EXCEPTION_HINT}")),
        (repeated, "policies are defined more than once, each definition is evaluated".to_owned()),
        (replaced, "policies of the cluster are replaced by others of their names".to_owned()),
        (unbound, format!("MutatingAdmissionPolicies have no binding{UNBOUND_HINT}")),
    ] {
        let Some((note, _)) = group.first() else { continue };
        let single = text(note);
        let number = group.len();
        let names = group.into_iter().map(|(_, name)| name);
        let grouped = format!("{number} {words}: {}", first_names(NAMED_POLICIES, names));
        notes.push(if number == 1 { single } else { Note { text: grouped, ..single } });
    }
    let mut of_policies: IndexMap<(Code, &str), Vec<(String, &str)>> = IndexMap::new();
    for (policy, origin) in loaded.policies.iter().zip(&loaded.origins) {
        for (code, text, name) in policy_texts(policy) {
            of_policies.entry((code, text)).or_default().push((name, origin));
        }
    }
    notes.extend(of_policies.into_iter().map(|((code, text), group)| {
        let text = match &*group {
            [(name, origin)] => format!("{origin}: {name}: {text}"),
            _ => format!("{text}: {}", named(group.iter().map(|(name, origin)| (&**name, *origin)))),
        };
        policy_note(code, text)
    }));
    notes
}

/// One note on all rules and policies that mutate nothing.
fn ignored(loaded: &LoadedPolicies) -> Option<Note> {
    let mut rules: BTreeMap<Why, usize> = BTreeMap::new();
    for skipped in loaded.policies.iter().flat_map(|policy| &policy.meta().not_evaluated) {
        if !skipped.why.changes_the_result() {
            *rules.entry(skipped.why).or_default() += 1;
        }
    }
    let mut policies: BTreeMap<&str, usize> = BTreeMap::new();
    for note in &loaded.notes {
        if let PolicyNote::Other { kind, .. } = note
            && &**kind != EXCEPTION
        {
            *policies.entry(kind).or_default() += 1;
        }
    }
    let rules = rules.into_iter().map(|(why, number)| counted(number, &why.to_string()));
    let policies = policies.into_iter().map(|(kind, number)| match number {
        1 => format!("1 {kind}"),
        _ => format!("{number} {}", plural(kind)),
    });
    let all: Vec<String> = rules.chain(policies).collect();
    (!all.is_empty()).then(|| Note::other(Code::Ignored, format!("{} ignored", all.join(", "))))
}

/// A note for each policy, rule and document.
fn verbose_notes(loaded: &LoadedPolicies) -> Vec<Note> {
    let mut notes: Vec<_> = loaded.notes.iter().map(text).collect();
    for (policy, origin) in loaded.policies.iter().zip(&loaded.origins) {
        let skipped = policy.meta().not_evaluated.iter();
        let skipped = skipped.filter(|skipped| !skipped.why.changes_the_result());
        let skipped = skipped.map(|skipped| not_evaluated(policy, origin, skipped).to_string());
        notes.extend(skipped.map(|text| Note::other(Code::Ignored, text)));
        let own = policy_texts(policy)
            .map(|(code, text, name)| policy_note(code, format!("{origin}: {name}: {text}")));
        notes.extend(own);
    }
    notes
}

/// The codes and texts of the notes of a policy itself, with its name or that of the rule.
fn policy_texts(policy: &Policy) -> impl Iterator<Item = (Code, &str, String)> {
    let name = policy.full_name();
    policy.meta().notes.iter().map(move |note| {
        let name = note.rule.as_ref().map_or_else(|| name.to_string(), |rule| format!("{name}/{rule}"));
        (note.code, &*note.text, name)
    })
}

/// A note of a policy itself: a warning about what cannot be meant.
fn policy_note(code: Code, text: String) -> Note {
    let kind = if code == Code::NeverMatches { NoteKind::Warning } else { NoteKind::Other };
    Note::new(kind, code, text)
}

/// The text about a document that is not evaluated, or unusual.
fn text(note: &PolicyNote) -> Note {
    match note {
        PolicyNote::Other { origin, kind, name } => {
            let text = format!("{origin}: {kind} {name} is not evaluated");
            if &**kind == EXCEPTION {
                Note::omission(Code::ExceptionNotUsed, text + EXCEPTION_HINT)
            } else {
                Note::other(Code::Ignored, text)
            }
        }
        PolicyNote::NoPolicies { documents, files } => {
            let (documents, files) = (counted(*documents, "document"), counted(*files, "file"));
            Note::other(Code::OtherDocuments, format!("{documents} in {files} beside the policies ignored"))
        }
        PolicyNote::Replaced { by, name } => {
            Note::other(Code::ReplacedPolicy, format!("{by} replaces the policy {name} of the cluster"))
        }
        PolicyNote::NotBound { origin, name } => Note::omission(
            Code::NotBound,
            format!("{origin}: MutatingAdmissionPolicy {name} has no binding{UNBOUND_HINT}"),
        ),
        PolicyNote::BindingMisses { origin, name, policy, meant } => {
            let meant = meant.as_ref().map_or_else(String::new, |meant| format!(", did you mean `{meant}`?"));
            let text = format!("{origin}: binding {name}: there is no policy `{policy}`{meant}");
            Note::warning(Code::BindingMisses, text)
        }
        PolicyNote::Twice { origin, first, name } => Note::other(
            Code::DefinedTwice,
            format!("{origin}: policy {name} is also defined in {first}; both are evaluated"),
        ),
    }
}

/// The first policies with their origins, and the number of the others.
fn named<'a>(policies: impl ExactSizeIterator<Item = (&'a str, &'a str)>) -> String {
    first_names(NAMED_POLICIES, policies.map(|(name, origin)| format!("{name} ({origin})")))
}

/// The plural of a kind: `MutatingPolicies`, `ImageCatalogs`.
fn plural(kind: &str) -> String {
    kind.strip_suffix('y').map_or_else(|| format!("{kind}s"), |stem| format!("{stem}ies"))
}

/// Notes on exceptions, also on names that no policy has if all policies are known.
pub(super) fn exception_notes(
    loaded: &LoadedExceptions,
    policies: Option<&[Policy]>,
    now: Timestamp,
) -> impl Iterator<Item = Note> {
    let misses = policies.map(|policies| loaded.misses(policies)).unwrap_or_default();
    let misses = misses.into_iter().map(|text| Note::omission(Code::ExceptionMisses, text));
    let left_out = loaded.left_out.iter().map(|text| Note::omission(Code::ExceptionNotUsed, text));
    let expired = loaded.expired(now).into_iter().map(|text| Note::other(Code::ExceptionNotUsed, text));
    misses
        .chain(left_out)
        .chain(expired)
        .chain(loaded.notes.iter().map(|(code, text)| Note::other(*code, text)))
}
