//! Rules that cannot be replayed, because recordings do not contain values of Secrets.

use crate::diagnostics::Code;
use crate::report::{Outcome, RuleError};
use crate::value::Value;

use super::evaluation::Evaluation;

impl Evaluation<'_> {
    /// The outcome of a rule, or an error if the rule cannot be replayed.
    #[inline]
    pub(super) fn replayable(&self, outcome: Outcome) -> Outcome {
        self.not_replayable().map_or(outcome, Outcome::Error)
    }

    /// Why what was evaluated since the last call cannot be replayed, if it cannot.
    #[inline]
    pub(super) fn not_replayable(&self) -> Option<RuleError> {
        let message = self.taint.is_replay().then(|| self.taint.take_unreplayable()).flatten()?;
        Some(
            RuleError::new(Code::NotReplayable, message)
                .with_hint("a recording made with --show-secrets keeps the values"),
        )
    }

    /// Whether labels or annotations of the object are redacted, so that it is not known which rules match.
    #[inline]
    pub(super) fn has_redacted_labels(&self, object: &Value) -> bool {
        let metadata = |field| object.path(&["metadata", field]);
        self.taint.is_replay()
            && ["labels", "annotations"]
                .into_iter()
                .filter_map(metadata)
                .any(|value| self.taint.is_tainted(value))
    }
}
