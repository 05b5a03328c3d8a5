//! Lookups in the world, and the secrets in what is asked and answered.

use crate::policy::TargetSelector;
use crate::secrets::{Secrets, TaintTracker};
use crate::value::Value;

use super::world::{Lookup, LookupError, LookupSource, TargetLookup, World};

/// Looks up what a context entry needs, and learns the Secrets of the answer.
pub(super) fn lookup(
    world: &dyn World,
    taint: &TaintTracker,
    source: LookupSource<'_>,
) -> Result<Value, LookupError> {
    let texts: &[&str] = match &source {
        LookupSource::ConfigMap { namespace, name } => &[namespace, name],
        LookupSource::Api(path) => &[path],
        LookupSource::Call { .. }
        | LookupSource::Global(_)
        | LookupSource::GlobalEntry(_)
        | LookupSource::Image(_) => &[],
    };
    let answer = ask(taint, texts, |tainted| world.lookup(&Lookup { source, tainted: tainted.as_ref() }))?;
    if !matches!(
        source,
        LookupSource::Image(_) | LookupSource::GlobalEntry(_) | LookupSource::ConfigMap { .. }
    ) {
        taint.see_answer(&answer);
    }
    Ok(answer)
}

/// Looks up the objects that a target selects.
pub(super) fn targets(
    world: &dyn World,
    taint: &TaintTracker,
    selector: &TargetSelector,
) -> Result<Vec<Value>, LookupError> {
    ask(taint, &selector.texts(), |tainted| {
        world.targets(&TargetLookup { selector, tainted: tainted.as_ref() })
    })
}

/// Asks with the secrets that the texts of a lookup were made of. The answers to such lookups are in no recording.
fn ask<T>(
    taint: &TaintTracker,
    texts: &[&str],
    ask: impl FnOnce(Option<Secrets>) -> Result<T, LookupError>,
) -> Result<T, LookupError> {
    let is_tainted = texts.iter().any(|text| taint.holds_text(text));
    let answer = ask(is_tainted.then(|| taint.secrets_so_far()));
    if is_tainted && answer.is_err() {
        taint.note_unanswered();
    }
    answer
}
