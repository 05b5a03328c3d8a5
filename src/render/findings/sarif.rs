//! `sarif`: a log of static analysis results, for code scanning.
//!
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use crate::diagnostics::Code;
use crate::report::{Diagnostic, FilePlace, Finding, FindingGroup, FindingResult, Severity};
use crate::value::Value;

use super::{DOCS, FindingWriter, RunEnd, fingerprint, page, sentence};
use crate::render::json::{list, number};
use crate::render::printable::printable_json;

const HEAD: &str = "{\"$schema\": \"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json\",\n\
                    \"version\": \"2.1.0\",\n\"runs\": [{\n\"columnKind\": \"unicodeCodePoints\",\n\"results\": [";

/// One SARIF log with one run. The place of a result is that in the policy; the object is a related location.
#[derive(Debug, Default)]
pub struct Sarif {
    is_started: bool,
    has_results: bool,
    /// What the results name, by id: the rest of the log describes it.
    rules: BTreeMap<String, Value>,
}

impl Sarif {
    fn start(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if std::mem::replace(&mut self.is_started, true) { Ok(()) } else { out.write_all(HEAD.as_bytes()) }
    }
}

impl FindingWriter for Sarif {
    fn group(&mut self, group: &FindingGroup, out: &mut dyn Write) -> io::Result<()> {
        self.start(out)?;
        let subject = group.subject();
        for finding in group.problems() {
            self.rules.entry(finding.cause().to_owned()).or_insert_with(|| rule(finding));
            let separator = if std::mem::replace(&mut self.has_results, true) { "," } else { "" };
            write!(out, "{separator}\n{}", printable_json(result(finding, group, &subject).to_json()))?;
        }
        Ok(())
    }

    fn finish(&mut self, end: &RunEnd<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.start(out)?;
        let driver = Value::from_iter([
            ("name", "kubectl-kyv".into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("semanticVersion", env!("CARGO_PKG_VERSION").into()),
            ("informationUri", DOCS.trim_end_matches("/blob/main/docs").into()),
            ("rules", list(self.rules.values().cloned())),
        ]);
        let tool = Value::from_iter([("driver", driver)]);
        let is_successful = end.diagnostics.iter().all(|one| one.severity != Severity::Error);
        let invocation = Value::from_iter([
            ("executionSuccessful", is_successful.into()),
            ("toolExecutionNotifications", list(end.diagnostics.iter().map(notification))),
        ]);
        let [tool, invocations] = [tool, list([invocation])].map(|value| printable_json(value.to_json()));
        let newline = if self.has_results { "\n" } else { "" };
        write!(out, "{newline}],\n\"tool\": {tool},\n\"invocations\": {invocations}\n}}]}}\n")
    }
}

/// The description of what results name.
fn rule(finding: &Finding) -> Value {
    let id = finding.cause();
    let title = finding.code.map_or_else(|| format!("the rule {id}"), code_title);
    let mut rule = Value::from_iter([("id", id.into()), ("shortDescription", message(&title))]);
    if let Some(page) = page(id) {
        rule.insert("helpUri", page.into());
    }
    rule
}

fn code_title(code: Code) -> String {
    // Titles are Markdown.
    code.title().replace('`', "")
}

fn result(finding: &Finding, group: &FindingGroup, subject: &str) -> Value {
    let level = match finding.result {
        FindingResult::Error => "error",
        FindingResult::Failed | FindingResult::Warning => "warning",
        FindingResult::Note | FindingResult::Passed | FindingResult::Skipped => "note",
    };
    let mut result = Value::from_iter([
        ("ruleId", finding.cause().into()),
        ("level", level.into()),
        ("message", message(&sentence(finding, group))),
    ]);
    let object = || {
        let named = Value::from_iter([("fullyQualifiedName", subject.into()), ("kind", "resource".into())]);
        let mut location = Value::from_iter([("logicalLocations", list([named]))]);
        if let Some(place) = &group.place {
            location.insert("physicalLocation", physical(place));
        }
        location
    };
    match (&finding.place, &group.object) {
        (Some(place), object_ref) => {
            result.insert("locations", list([Value::from_iter([("physicalLocation", physical(place))])]));
            if object_ref.is_some() {
                let mut related = object();
                related.insert("message", message(subject));
                result.insert("relatedLocations", list([related]));
            }
        }
        (None, _) => result.insert("locations", list([object()])),
    }
    let fingerprints = Value::from_iter([("kubectlKyv/v1", fingerprint(finding, subject).into())]);
    result.insert("partialFingerprints", fingerprints);
    result
}

fn notification(one: &Diagnostic) -> Value {
    let level = match one.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    Value::from_iter([
        ("level", level.into()),
        ("descriptor", Value::from_iter([("id", one.code.clone().into())])),
        ("message", message(&one.message)),
    ])
}

/// A message: backslashes and brackets, which make links (§3.11.6), and braces, which make placeholders (§3.11.5), are
/// text.
fn message(text: &str) -> Value {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '[' | ']' => quoted.push('\\'),
            '{' | '}' => quoted.push(c),
            _ => {}
        }
        quoted.push(c);
    }
    Value::from_iter([("text", quoted.into())])
}

fn physical(place: &FilePlace) -> Value {
    let FilePlace { file, line, column } = place;
    let mut region = Value::from_iter([("startLine", number(*line))]);
    if let Some(column) = column {
        region.insert("startColumn", number(*column));
    }
    Value::from_iter([
        ("artifactLocation", Value::from_iter([("uri", uri(file).into())])),
        ("region", region),
    ])
}

/// A path as URI: relative as it is, absolute as one of a file.
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    // The first part of a relative URI must not look like a scheme.
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use crate::report::MissingData;

    use super::*;
    use crate::render::findings::examples::group;

    fn log(groups: &[FindingGroup], diagnostics: &[Diagnostic]) -> Value {
        let mut out = Vec::new();
        let mut writer = Sarif::default();
        groups.iter().for_each(|group| writer.group(group, &mut out).unwrap());
        writer.finish(&RunEnd { diagnostics, gaps: &MissingData::default() }, &mut out).unwrap();
        Value::from_json(&String::from_utf8(out).unwrap()).unwrap()
    }

    fn run(log: &Value) -> &Value {
        &log.get("runs").and_then(Value::as_array).unwrap()[0]
    }

    #[test]
    fn results_are_at_the_rule_and_relate_to_the_object() {
        let log = log(&[group()], &[]);
        let results = run(&log).get("results").and_then(Value::as_array).unwrap();
        let [change, error] = results else { panic!("{results:?}") };
        let at = |result: &Value, list: &str| {
            let places = result.get(list).and_then(Value::as_array).unwrap();
            places[0].get("physicalLocation").unwrap().to_json()
        };
        let policy =
            r#"{"artifactLocation":{"uri":"policies/a%20b.yaml"},"region":{"startLine":7,"startColumn":3}}"#;
        assert_eq!(at(change, "locations"), policy);
        let object = r#"{"artifactLocation":{"uri":"manifests/web.yaml"},"region":{"startLine":1}}"#;
        assert_eq!(at(change, "relatedLocations"), object);
        assert_eq!(error.get("ruleId").and_then(Value::as_str), Some("KYV401"));
        let rules = run(&log).path(&["tool", "driver", "rules"]).and_then(Value::as_array).unwrap();
        let help: Vec<_> = rules.iter().map(|rule| rule.get("helpUri").and_then(Value::as_str)).collect();
        assert_eq!(help, [Some(&*format!("{DOCS}/diagnostics/KYV401.md")), None]);
    }

    #[test]
    fn a_run_with_errors_was_not_successful() {
        let error = Diagnostic { severity: Severity::Error, code: "KYV201".into(), message: "[a](b)".into() };
        let log = log(&[], &[error]);
        let invocation = &run(&log).get("invocations").and_then(Value::as_array).unwrap()[0];
        assert_eq!(
            invocation.to_json(),
            r#"{"executionSuccessful":false,"toolExecutionNotifications":[{"level":"error","descriptor":{"id":"KYV201"},"message":{"text":"\\[a\\](b)"}}]}"#
        );
    }
}
