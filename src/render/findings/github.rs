//! `github`: workflow commands of GitHub Actions, which become annotations.
//!
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>

use std::io::{self, Write};

use crate::report::{FilePlace, FindingGroup, FindingResult, Severity};

use super::{FindingWriter, RunEnd, sentence, shown_at};

/// One workflow command for each problem.
#[derive(Debug, Default)]
pub struct Github;

impl FindingWriter for Github {
    fn group(&mut self, group: &FindingGroup, out: &mut dyn Write) -> io::Result<()> {
        for finding in group.problems() {
            let command = match finding.result {
                FindingResult::Error => "error",
                FindingResult::Failed | FindingResult::Warning => "warning",
                FindingResult::Note | FindingResult::Passed | FindingResult::Skipped => "notice",
            };
            let line = line(command, finding.cause(), shown_at(finding, group), &sentence(finding, group));
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn finish(&mut self, end: &RunEnd<'_>, out: &mut dyn Write) -> io::Result<()> {
        for one in end.diagnostics {
            let command = match one.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "notice",
            };
            out.write_all(line(command, &one.code, None, &one.message).as_bytes())?;
        }
        Ok(())
    }
}

/// A command on a line of its own.
fn line(command: &str, title: &str, place: Option<&FilePlace>, message: &str) -> String {
    let place = place.map_or_else(String::new, |FilePlace { file, line, column }| {
        let column = column.map_or_else(String::new, |column| format!(",col={column}"));
        format!("file={},line={line}{column},", property(file))
    });
    format!("::{command} {place}title={}::{}\n", property(title), data(message))
}

/// Text behind the command: what would end the line is encoded.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property: what would end it is encoded, too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::findings::examples::group;

    #[test]
    fn each_problem_is_one_command() {
        let mut out = Vec::new();
        Github.group(&group(), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "::warning file=manifests/web.yaml,line=1,title=labels/owner::Deployment/shop/web: labels/owner: would change \
             /metadata/labels\n\
             ::error file=policies/a b.yaml,line=7,col=3,title=KYV401::Deployment/shop/web: labels/team: no user: 100%25%0A\
             ::error::<b>\n"
        );
    }

    #[test]
    fn properties_cannot_end_early() {
        assert_eq!(line("error", "a::b,c=d\n", None, "\r%0A"), "::error title=a%3A%3Ab%2Cc=d%0A::%0D%250A\n");
    }
}
