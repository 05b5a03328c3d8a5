//! What conversion to the internal version of an API server and back changes.

use super::types::Setter;

/// What conversion does to the JSON of a Go type, after all defaults are set.
pub(super) fn of_type(go_type: &str) -> Option<Setter> {
    let _ = go_type;
    None
}
