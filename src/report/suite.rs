//! Results of test suites.

use crate::diagnostics::Code;
use crate::secrets::Secrets;
use crate::value::{ObjectRef, Text, Value};

use super::diagnostic::Diagnostic;

/// The result of one test suite.
#[derive(Clone, Debug)]
pub struct SuiteReport {
    /// The file.
    pub file: Text,
    /// The suite's name; may be empty.
    pub name: Text,
    /// One row per expectation and object.
    pub rows: Vec<SuiteRow>,
}

/// A suite that could not be loaded.
#[derive(Clone, Debug)]
pub struct UnloadedSuite {
    /// The file.
    pub file: Text,
    /// The errors in it and in the files it names.
    pub reasons: Vec<Diagnostic>,
}

/// The result of an expectation for one object.
#[derive(Clone, Debug)]
pub struct SuiteRow {
    /// The policy.
    pub policy: Text,
    /// The rule with the result, or the expected one; may be empty.
    pub rule: Text,
    /// The object of the expectation.
    pub resource: Subject,
    /// Whether the result is as expected.
    pub verdict: Verdict,
    /// Why, in a few words.
    pub reason: String,
    /// The message of the rule; may be empty.
    pub message: String,
    /// The difference to the expected object.
    pub difference: Option<Difference>,
    /// The object that the file of expected objects lacks, or whose file does not exist.
    pub missing: Option<MissingExpectation>,
    /// Whether the rule failed, so that the object is not a result to expect.
    pub is_error: bool,
    /// The code of its error.
    pub code: Option<Code>,
    /// The object before and after; secrets in them must not be shown.
    pub states: Option<(Value, Value)>,
    /// The secrets in it.
    pub secrets: Secrets,
}

/// The object of an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// An object of the suite.
    Object(ObjectRef),
    /// A name in the expectation; empty for all objects.
    Named(Text),
}

/// Whether a result is as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It is.
    Pass,
    /// It is not.
    Fail,
    /// No rule matches the object. That counts as passed, whatever is expected.
    Skip,
    /// The file with expected objects lacks the object, and nothing was compared. Kyverno omits such rows.
    Dropped,
    /// It is about a rule that does not mutate.
    NotEvaluated,
    /// It needs a mutation that this version does not evaluate.
    Unsupported,
}

impl Verdict {
    /// The verdict in a word or two.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Skip => "skip",
            Self::Dropped => "dropped",
            Self::NotEvaluated | Self::Unsupported => "not evaluated",
        }
    }
}

/// An object that is not as expected.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The file with the expected object, as the suite names it.
    pub file: Text,
    /// Which of its objects it is, from 0.
    pub index: usize,
    /// The expected object, without ignored fields.
    pub expected: Value,
    /// The actual object, without ignored fields, with its keys in the order of the expected one.
    pub actual: Value,
    /// The actual object, in the form of the file.
    pub object: Value,
}

/// An object without an expected one.
#[derive(Clone, Debug)]
pub struct MissingExpectation {
    /// The file, as the suite names it.
    pub file: Text,
    /// The actual object.
    pub object: Value,
}

/// The number of expectations by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuiteCounts {
    /// Suites that were run.
    pub suites: usize,
    /// Rows as expected.
    pub passed: usize,
    /// Rows not as expected.
    pub failed: usize,
    /// Rows that no rule matches.
    pub skipped: usize,
    /// Rows that Kyverno omits.
    pub dropped: usize,
    /// Rows that need something that is not evaluated.
    pub not_evaluated: usize,
}

impl SuiteCounts {
    /// Counts over suites.
    pub fn of<'a>(suites: impl IntoIterator<Item = &'a SuiteReport>) -> Self {
        let mut counts = Self::default();
        for suite in suites {
            counts.suites += 1;
            for row in &suite.rows {
                *match row.verdict {
                    Verdict::Pass => &mut counts.passed,
                    Verdict::Fail => &mut counts.failed,
                    Verdict::Skip => &mut counts.skipped,
                    Verdict::Dropped => &mut counts.dropped,
                    Verdict::NotEvaluated | Verdict::Unsupported => &mut counts.not_evaluated,
                } += 1;
            }
        }
        counts
    }
}
