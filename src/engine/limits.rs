//! Limits of the evaluation of one rule on one object.

use crate::jmespath;
use crate::variables;
use crate::yaml;

/// Limits of steps and sizes. A rule that exceeds one fails with an error that names it. Time is not limited, so that
/// the same input always has the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The steps of expressions and loops of one rule on one object. A loop takes one for each element, and one for each
    /// [`LOOP_BYTES`](Self::LOOP_BYTES) of an object that it patches.
    pub steps: usize,
    /// The bytes of a value that an expression returns, or of a string with variables.
    pub result_bytes: usize,
    /// The nesting of a value that an expression returns.
    pub result_depth: usize,
    /// How often one string is scanned for variables again.
    pub rounds: usize,
    /// The iterations of the loops of one rule on one object, with those of inner loops.
    pub foreach_iterations: usize,
    /// How many context entries load at once, because one needs another.
    pub context_depth: usize,
    /// The bytes that the reports of all rules on one object hold beside it.
    pub report_bytes: usize,
    /// The steps of all rules on one object, with the elements that overlays visit and the cost of CEL.
    pub object_steps: usize,
    /// The targets of the rules of a run, each counted once for each trigger and rule.
    pub targets: usize,
}

impl Limits {
    /// The bytes of an object that a loop patches in one step.
    pub const LOOP_BYTES: usize = 128;

    /// The names that [`Limits::set`] knows.
    pub const NAMES: [&'static str; 9] = [
        "steps",
        "result-bytes",
        "result-depth",
        "rounds",
        "foreach-iterations",
        "context-depth",
        "report-bytes",
        "object-steps",
        "targets",
    ];

    /// The limit of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<usize> {
        Some(match name {
            "steps" => self.steps,
            "result-bytes" => self.result_bytes,
            "result-depth" => self.result_depth,
            "rounds" => self.rounds,
            "foreach-iterations" => self.foreach_iterations,
            "context-depth" => self.context_depth,
            "report-bytes" => self.report_bytes,
            "object-steps" => self.object_steps,
            "targets" => self.targets,
            _ => return None,
        })
    }

    /// Sets the limit of this name; `false` if there is none.
    pub fn set(&mut self, name: &str, value: usize) -> bool {
        match name {
            "steps" => self.steps = value,
            "result-bytes" => self.result_bytes = value,
            "result-depth" => self.result_depth = value,
            "rounds" => self.rounds = value,
            "foreach-iterations" => self.foreach_iterations = value,
            "context-depth" => self.context_depth = value,
            "report-bytes" => self.report_bytes = value,
            "object-steps" => self.object_steps = value,
            "targets" => self.targets = value,
            _ => return false,
        }
        true
    }

    pub(super) fn of_expressions(&self) -> jmespath::Limits {
        jmespath::Limits {
            steps: self.steps as u64,
            result_bytes: self.result_bytes,
            // Functions on values are recursive.
            result_depth: self.result_depth.min(yaml::Limits::MAX_DEPTH),
        }
    }

    pub(super) const fn of_substitution(&self) -> variables::Limits {
        variables::Limits { bytes: self.result_bytes, rounds: self.rounds, ..variables::Limits::DEFAULT }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let jmespath::Limits { steps, result_bytes, result_depth } = jmespath::Limits::default();
        Self {
            steps: usize::try_from(steps).unwrap_or(usize::MAX),
            result_bytes,
            result_depth,
            rounds: variables::Limits::DEFAULT.rounds,
            foreach_iterations: 100_000,
            context_depth: 64,
            report_bytes: 64 * 1024 * 1024,
            object_steps: 64_000_000,
            targets: 1_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_limit_can_be_set() {
        let mut limits = Limits::default();
        assert!(Limits::NAMES.into_iter().all(|name| limits.set(name, 7) && limits.get(name) == Some(7)));
        assert_eq!(
            limits,
            Limits {
                steps: 7,
                result_bytes: 7,
                result_depth: 7,
                rounds: 7,
                foreach_iterations: 7,
                context_depth: 7,
                report_bytes: 7,
                object_steps: 7,
                targets: 7
            }
        );
        assert!(!limits.set("seconds", 7));
    }
}
