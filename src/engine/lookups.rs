//! Lookups in the world, with secrets in their texts and results.

use crate::policy::TargetSelector;
use crate::secrets::{Secrets, TaintTracker};
use crate::value::Value;

use super::world::{Lookup, LookupError, LookupSource, TargetLookup, World};

/// Looks up the value of a context entry, and collects the Secrets in it.
pub(super) fn lookup(
    world: &dyn World,
    taint: &TaintTracker,
    source: LookupSource<'_>,
) -> Result<Value, LookupError> {
    let texts: &[&str] = match &source {
        LookupSource::ConfigMap { namespace, name } => &[namespace, name],
        LookupSource::Api(path) => &[path],
        _ => &[],
    };
    let found = look_up(taint, texts, |tainted| world.lookup(&Lookup { source, tainted: tainted.as_ref() }))?;
    let is_response = matches!(
        source,
        LookupSource::Api(_)
            | LookupSource::Call { .. }
            | LookupSource::Http { .. }
            | LookupSource::Global(_)
    );
    if is_response {
        taint.track_response(&found);
    }
    Ok(found)
}

/// Looks up the objects that a target selects.
pub(super) fn targets(
    world: &dyn World,
    taint: &TaintTracker,
    selector: &TargetSelector,
) -> Result<Vec<Value>, LookupError> {
    look_up(taint, &selector.texts(), |tainted| {
        world.targets(&TargetLookup { selector, tainted: tainted.as_ref() })
    })
}

/// Looks something up, with the secrets in the texts of the lookup. Recordings do not contain such lookups.
fn look_up<T>(
    taint: &TaintTracker,
    texts: &[&str],
    look_up: impl FnOnce(Option<Secrets>) -> Result<T, LookupError>,
) -> Result<T, LookupError> {
    let is_tainted = texts.iter().any(|text| taint.is_tainted_text(text));
    let found = look_up(is_tainted.then(|| taint.secrets_so_far()));
    if is_tainted && found.is_err() {
        taint.note_tainted_lookup();
    }
    found
}
