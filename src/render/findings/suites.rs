//! The findings of a test suite.

use crate::render::diff::Palette;
use crate::render::junit::is_error;
use crate::render::printable::{printable, printable_line};
use crate::render::suite::{SuiteView, message, resource, row_title, suite_difference};
use crate::report::{FilePlace, Finding, FindingGroup, FindingResult, SuiteReport, SuiteRow, Verdict};

/// The findings of a test suite, one for each row. The place is that of the suite.
pub fn suite_findings(suite: &SuiteReport, view: &SuiteView) -> FindingGroup {
    let path = suite.file.replace(std::path::MAIN_SEPARATOR, "/");
    let file = printable_line(path.strip_prefix("./").unwrap_or(&path));
    let place = FilePlace { file: file.into(), line: 1, column: None };
    let rows = view.rows(suite).into_iter();
    FindingGroup {
        object: None,
        place: Some(place),
        findings: rows.map(|(_, row)| finding(row, view)).collect(),
    }
}

fn finding(row: &SuiteRow, view: &SuiteView) -> Finding {
    let result = match row.verdict {
        _ if view.fails(row) && is_error(row, view) => FindingResult::Error,
        _ if view.fails(row) => FindingResult::Failed,
        Verdict::Pass => FindingResult::Passed,
        Verdict::Fail | Verdict::Skip | Verdict::Dropped | Verdict::NotEvaluated | Verdict::Unsupported => {
            FindingResult::Skipped
        }
    };
    let details = suite_difference(row, Palette::Plain).unwrap_or_else(|| message(row));
    let text = format!("{}: {}\n{details}", resource(row), row.reason);
    Finding {
        result,
        code: row.code,
        policy: printable_line(&row.policy).into(),
        rule: printable_line(&row.rule).into(),
        title: printable_line(&row_title(row)),
        message: printable(text.trim_end()),
        place: None,
    }
}
