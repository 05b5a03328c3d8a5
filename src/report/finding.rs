//! Findings: what a run found, each about a rule, in the form that all formats for other programs share.

use crate::diagnostics::Code;
use crate::value::{ObjectRef, Text};

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FilePlace {
    /// The path, as the run names it, with `/` between its parts.
    pub file: Text,
    /// The line, from 1.
    pub line: usize,
    /// The column in code points, from 1, if it is known.
    pub column: Option<usize>,
}

/// The result of a rule or check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingResult {
    /// There is nothing to say.
    Passed,
    /// It does not apply.
    Skipped,
    /// Something to know.
    Note,
    /// Something that is allowed and hardly meant.
    Warning,
    /// The object is not as the rule would have it.
    Failed,
    /// It could not be evaluated.
    Error,
}

impl FindingResult {
    /// Whether it is reported where only problems are listed.
    pub const fn is_problem(self) -> bool {
        !matches!(self, Self::Passed | Self::Skipped)
    }
}

/// What was found about a rule. All texts are redacted and without control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The result.
    pub result: FindingResult,
    /// The code of its cause, if it has one.
    pub code: Option<Code>,
    /// The policy, with its namespace.
    pub policy: Text,
    /// The rule; the policy's name again if the policy is its own only rule.
    pub rule: Text,
    /// What the two are called together.
    pub title: String,
    /// The message, without a place.
    pub message: String,
    /// The place in the policy, if its file is known.
    pub place: Option<FilePlace>,
}

impl Finding {
    /// The name of its cause: the code, or else the rule.
    pub fn cause(&self) -> &str {
        match self.code {
            Some(code) => code.name(),
            None => &self.title,
        }
    }
}

/// The findings about one object, or about a policy as such.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindingGroup {
    /// The object; `None` if they are about policies.
    pub object: Option<ObjectRef>,
    /// The place of the object, if it comes from a file.
    pub place: Option<FilePlace>,
    /// The findings, in the order of the rules.
    pub findings: Vec<Finding>,
}

impl FindingGroup {
    /// What they are about: the object, or else the file.
    pub fn subject(&self) -> String {
        match (&self.object, &self.place) {
            (Some(object), _) => object.to_string(),
            (None, Some(place)) => place.file.to_string(),
            (None, None) => String::new(),
        }
    }

    /// Those that are problems.
    pub fn problems(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.result.is_problem())
    }
}
