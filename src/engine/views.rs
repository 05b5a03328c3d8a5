//! Where the admitted view and the object as written lead to different results.

use crate::report::ViewReport;

use super::evaluation::Evaluation;

/// What the view changes for the policies of an object.
pub(super) fn report(evaluation: &Evaluation<'_>) -> ViewReport {
    let not_admitted = evaluation.placed.not_admitted.as_ref().map(ToString::to_string);
    ViewReport { not_admitted, differences: Vec::new() }
}
