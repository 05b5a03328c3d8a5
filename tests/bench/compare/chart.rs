//! Charts as SVG.

use crate::compare::results::Results;

/// All charts, each with the name of its file.
pub(crate) fn all(_results: &Results) -> Vec<(String, String)> {
    Vec::new()
}
