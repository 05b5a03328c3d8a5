//! What became of the expectations of test suites.

use crate::secrets::Secrets;
use crate::value::{ObjectRef, Text, Value};

/// What became of one test suite.
#[derive(Clone, Debug)]
pub struct SuiteReport {
    /// The file.
    pub file: Text,
    /// The suite's name; empty where it has none.
    pub name: Text,
    /// A row for each expectation and each object that it is about.
    pub rows: Vec<SuiteRow>,
}

/// A suite that could not be loaded.
#[derive(Clone, Debug)]
pub struct UnloadedSuite {
    /// The file.
    pub file: Text,
    /// Everything that is wrong with it, or with what it names.
    pub reasons: Vec<String>,
}

/// What became of an expectation for one object.
#[derive(Clone, Debug)]
pub struct SuiteRow {
    /// The policy.
    pub policy: Text,
    /// The rule that gave the result, else the one that was expected to; empty where none is named.
    pub rule: Text,
    /// What the expectation is about.
    pub resource: Subject,
    /// Whether it came true.
    pub verdict: Verdict,
    /// Why, in a few words.
    pub reason: String,
    /// What the rule says; empty for nothing.
    pub message: String,
    /// Where the object is not as expected.
    pub difference: Option<Difference>,
    /// The object as it was and as the policies leave it; their secrets must not be shown.
    pub states: Option<(Value, Value)>,
    /// The secrets that came into it.
    pub secrets: Secrets,
}

/// What an expectation is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// An object of the suite.
    Object(ObjectRef),
    /// Whatever the expectation names; it names all objects where this is empty.
    Named(Text),
}

/// Whether an expectation came true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It did.
    Pass,
    /// It did not.
    Fail,
    /// No rule concerns the object. That counts as passed, whatever is expected.
    Skip,
    /// The file with expected objects does not hold the object: Kyverno says nothing about such rows.
    Dropped,
    /// It needs something that this version does not evaluate.
    NotEvaluated,
}

impl Verdict {
    /// The verdict in a word or two.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Skip => "skip",
            Self::Dropped => "dropped",
            Self::NotEvaluated => "not evaluated",
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
    /// The expected object, without what does not count.
    pub expected: Value,
    /// The object as it became, without what does not count, and with its keys in the order of the
    /// expected ones.
    pub actual: Value,
    /// The object as it became, as it would stand in the file.
    pub object: Value,
}

/// How many expectations met which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuiteCounts {
    /// Suites that were run.
    pub suites: usize,
    /// Rows that came true.
    pub passed: usize,
    /// Rows that did not.
    pub failed: usize,
    /// Rows that no rule concerns.
    pub skipped: usize,
    /// Rows that Kyverno says nothing about.
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
                    Verdict::NotEvaluated => &mut counts.not_evaluated,
                } += 1;
            }
        }
        counts
    }
}
