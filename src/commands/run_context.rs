//! What the notes at the end of a run are about.

use crate::engine::Engine;
use crate::value::Text;

use super::missing_schemas::MissingSchemas;
use super::reporter::Note;

/// What notes at the end of a run are about besides its results.
pub(super) struct RunContext<'a> {
    pub(super) engine: &'a Engine,
    /// Notes on the inputs.
    pub(super) notes: &'a [Note],
    /// The same, reported only if some rule changes an object or fails.
    pub(super) notes_on_acts: &'a [String],
    /// The kinds whose schema could not be read from a cluster.
    pub(super) missing_schemas: Option<&'a MissingSchemas>,
    /// The namespaces that a cluster does not have, which was reported.
    pub(super) absent_namespaces: Vec<Text>,
    /// Whether there is a cluster that is not asked about the objects.
    pub(super) has_unasked_cluster: bool,
    /// Whether the result is one of a renderer, and depends on the time.
    pub(super) varies_with_time: bool,
}
