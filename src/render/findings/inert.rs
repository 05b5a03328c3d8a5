//! No text leaves its place, whatever it is: a property of all formats.

use std::sync::Arc;

use proptest::prelude::*;

use crate::report::{Diagnostic, FilePlace, Finding, FindingGroup, FindingResult, MissingData, Severity};
use crate::value::{GroupVersionKind, ObjectRef, Value};
use crate::yaml::{self, Limits, Source};

use super::examples::finding;
use super::{FindingWriter, Github, Gitlab, JunitFindings, PolicyReports, ReportApi, RunEnd, Sarif};

/// Texts made of what means something to one of the formats.
fn nasty() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a",
        " ",
        "\n",
        "\r",
        "::",
        "::error::",
        "##[group]",
        "%0A",
        ",",
        ":",
        "\"",
        "'",
        "<b>",
        "</testsuites>",
        "]]>",
        "&lt;",
        "<!--",
        "\\",
        "[x](y)",
        "{0}",
        "{{ a }}",
        "---\n",
        "...\n",
        "# ",
        "- ",
        "|",
        "\t",
        "é",
        "\u{2028}",
    ]);
    prop::collection::vec(pieces, 0..8).prop_map(|pieces| pieces.concat())
}

fn result() -> impl Strategy<Value = FindingResult> {
    prop::sample::select(vec![
        FindingResult::Passed,
        FindingResult::Skipped,
        FindingResult::Note,
        FindingResult::Warning,
        FindingResult::Failed,
        FindingResult::Error,
    ])
}

fn group() -> impl Strategy<Value = FindingGroup> {
    let one = (result(), nasty(), nasty(), any::<bool>()).prop_map(|(result, rule, message, has_place)| {
        let finding = finding(result, &rule, &message);
        let place = finding.place.clone().filter(|_| has_place);
        Finding { place, ..finding }
    });
    (prop::collection::vec(one, 0..4), nasty(), nasty(), nasty(), any::<bool>()).prop_map(
        |(findings, name, namespace, file, has_place)| FindingGroup {
            object: Some(ObjectRef {
                kind: GroupVersionKind { group: "".into(), version: "v1".into(), kind: "ConfigMap".into() },
                namespace: Some(namespace.into()),
                name: name.into(),
            }),
            place: has_place.then(|| FilePlace { file: file.into(), line: 3, column: None }),
            findings,
        },
    )
}

fn written(mut writer: impl FindingWriter, groups: &[FindingGroup], diagnostics: &[Diagnostic]) -> String {
    let mut out = Vec::new();
    groups.iter().for_each(|group| writer.group(group, &mut out).unwrap());
    writer.finish(&RunEnd { diagnostics, gaps: &MissingData::default() }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// What a runner of GitHub makes of a text of a command.
fn decoded(text: &str) -> String {
    text.replace("%3A", ":").replace("%2C", ",").replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
}

proptest! {
    #[test]
    fn texts_stay_in_their_places(groups in prop::collection::vec(group(), 0..3), message in nasty()) {
        let error = Diagnostic { severity: Severity::Error, code: "KYV201".into(), message };
        let diagnostics = std::slice::from_ref(&error);
        let problems: Vec<_> = groups.iter().flat_map(FindingGroup::problems).collect();

        let commands = written(Github, &groups, diagnostics);
        prop_assert_eq!(commands.matches('\n').count(), problems.len() + 1);
        prop_assert!(!commands.contains('\r'));
        for (line, finding) in commands.lines().zip(&problems) {
            let rest = line.strip_prefix("::").unwrap();
            let (head, text) = rest.split_once("::").unwrap();
            prop_assert!(decoded(text).ends_with(&finding.message));
            let title = head.split("title=").last().unwrap();
            prop_assert_eq!(decoded(title), finding.cause());
        }

        let issues = Value::from_json(&written(Gitlab::default(), &groups, diagnostics)).unwrap();
        prop_assert_eq!(issues.as_array().unwrap().len(), problems.len() + 1);

        let log = Value::from_json(&written(Sarif::default(), &groups, diagnostics)).unwrap();
        let runs = log.get("runs").and_then(Value::as_array).unwrap();
        prop_assert_eq!(runs[0].get("results").and_then(Value::as_array).unwrap().len(), problems.len());

        let junit = written(JunitFindings::default(), &groups, diagnostics);
        let findings = groups.iter().map(|group| group.findings.len()).sum::<usize>();
        prop_assert_eq!(junit.matches("<testcase ").count(), findings + 1);
        for part in junit.split('<').skip(1) {
            let known = ["?xml ", "testsuite", "/testsuite", "testcase ", "/testcase>", "skipped ", "system-out>", "/system-out>",
                         "failure ", "/failure>", "error ", "/error>"];
            prop_assert!(known.iter().any(|known| part.starts_with(known)), "{}", part);
            prop_assert_eq!(part.matches('>').count(), 1, "{}", part);
        }

        let reports = written(PolicyReports::new(ReportApi::OpenReports), &groups, diagnostics);
        let source = Arc::new(Source::new("reports", reports));
        let documents = yaml::read(&source, &Limits::default()).unwrap();
        let read: Vec<_> = documents.iter().filter_map(|document| document.value()).collect();
        let with_findings: Vec<_> = groups.iter().filter(|group| !group.findings.is_empty()).collect();
        prop_assert_eq!(read.len(), with_findings.len());
        for (report, group) in read.iter().zip(with_findings) {
            let name = report.path(&["scope", "name"]).and_then(Value::as_str);
            prop_assert_eq!(name, group.object.as_ref().map(|object| &*object.name));
            let results = report.get("results").and_then(Value::as_array).unwrap();
            for (result, finding) in results.iter().zip(&group.findings) {
                let message = result.get("message").and_then(Value::as_str).unwrap_or_default();
                prop_assert_eq!(message, &finding.message);
            }
        }
    }
}
