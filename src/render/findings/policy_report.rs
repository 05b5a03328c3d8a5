//! `policyreport` and `openreports`: a report object for each object, for `kubectl apply`.
//!
//! <https://github.com/kubernetes-sigs/wg-policy-prototypes> and <https://github.com/openreports/reports-api>

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::report::{Finding, FindingGroup, FindingResult};
use crate::value::{ObjectRef, Value};

use super::object::is_namespaced;
use super::{FindingWriter, RunEnd, digest};
use crate::render::json::{list, number};
use crate::render::patch::identity;
use crate::render::to_yaml;

/// The API of the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportApi {
    /// `wgpolicyk8s.io/v1alpha2`.
    PolicyWorkingGroup,
    /// `openreports.io/v1alpha1`.
    OpenReports,
}

impl ReportApi {
    const fn version(self) -> &'static str {
        match self {
            Self::PolicyWorkingGroup => "wgpolicyk8s.io/v1alpha2",
            Self::OpenReports => "openreports.io/v1alpha1",
        }
    }

    /// The kind of the reports on an object with or without namespace.
    const fn kind(self, is_namespaced: bool) -> &'static str {
        match (self, is_namespaced) {
            (Self::PolicyWorkingGroup, true) => "PolicyReport",
            (Self::PolicyWorkingGroup, false) => "ClusterPolicyReport",
            (Self::OpenReports, true) => "Report",
            (Self::OpenReports, false) => "ClusterReport",
        }
    }
}

/// A YAML document for each object that a rule matched.
#[derive(Debug)]
pub struct PolicyReports {
    api: ReportApi,
    /// How many reports have each name: an input may have an object twice.
    names: BTreeMap<String, usize>,
}

impl PolicyReports {
    /// Reports of this API.
    #[must_use]
    pub const fn new(api: ReportApi) -> Self {
        Self { api, names: BTreeMap::new() }
    }

    /// A name that no other report has.
    fn name(&mut self, object: &ObjectRef) -> String {
        let kind = &object.kind;
        let namespace = object.namespace.as_deref().unwrap_or_default();
        let digest = digest(&[&kind.group, &kind.kind, namespace, &object.name]);
        let name = format!("kubectl-kyv-{}", &digest[..32]);
        let times = self.names.entry(name.clone()).or_default();
        *times += 1;
        if *times > 1 { format!("{name}-{times}") } else { name }
    }
}

impl FindingWriter for PolicyReports {
    fn group(&mut self, group: &FindingGroup, out: &mut dyn Write) -> io::Result<()> {
        let Some(object) = group.object.as_ref().filter(|_| !group.findings.is_empty()) else {
            return Ok(());
        };
        let mut metadata = Value::from_iter([("name", self.name(object).into())]);
        if let Some(namespace) = &object.namespace {
            metadata.insert("namespace", namespace.clone().into());
        }
        metadata.insert("labels", Value::from_iter([("app.kubernetes.io/managed-by", "kubectl-kyv".into())]));
        let count = |results: &[FindingResult]| {
            number(group.findings.iter().filter(|finding| results.contains(&finding.result)).count())
        };
        let report = Value::from_iter([
            ("apiVersion", self.api.version().into()),
            ("kind", self.api.kind(is_namespaced(object)).into()),
            ("metadata", metadata),
            ("scope", identity(object)),
            (
                "summary",
                Value::from_iter([
                    ("pass", count(&[FindingResult::Passed, FindingResult::Note])),
                    ("fail", count(&[FindingResult::Failed])),
                    ("warn", count(&[FindingResult::Warning])),
                    ("error", count(&[FindingResult::Error])),
                    ("skip", count(&[FindingResult::Skipped])),
                ]),
            ),
            ("results", list(group.findings.iter().map(|finding| result(finding, group)))),
        ]);
        write!(out, "---\n{}", to_yaml(&report))
    }

    fn finish(&mut self, end: &RunEnd<'_>, out: &mut dyn Write) -> io::Result<()> {
        if end.gaps.is_empty() { Ok(()) } else { writeln!(out, "# incomplete: {}", end.gaps) }
    }
}

fn result(finding: &Finding, group: &FindingGroup) -> Value {
    let word = match finding.result {
        FindingResult::Passed | FindingResult::Note => "pass",
        FindingResult::Skipped => "skip",
        FindingResult::Warning => "warn",
        FindingResult::Failed => "fail",
        FindingResult::Error => "error",
    };
    let mut result = Value::from_iter([
        ("source", "kubectl-kyv".into()),
        ("policy", finding.policy.clone().into()),
        ("rule", finding.rule.clone().into()),
        ("result", word.into()),
    ]);
    if !finding.message.is_empty() {
        result.insert("message", finding.message.clone().into());
    }
    let mut properties = Value::empty_object();
    if let Some(code) = finding.code {
        properties.insert("code", code.name().into());
    }
    for (name, place) in [("policyFile", &finding.place), ("file", &group.place)] {
        if let Some(place) = place {
            properties.insert(name, format!("{}:{}", place.file, place.line).into());
        }
    }
    if properties.as_object().is_some_and(|properties| !properties.is_empty()) {
        result.insert("properties", properties);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::findings::examples::group;

    #[test]
    fn each_object_has_a_report_and_each_rule_a_result() {
        let mut out = Vec::new();
        let mut reports = PolicyReports::new(ReportApi::PolicyWorkingGroup);
        let one = FindingGroup { findings: group().findings[..2].to_vec(), ..group() };
        reports.group(&one, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let (head, rest) = text.split_once("  name: kubectl-kyv-").unwrap();
        assert_eq!(head, "---\napiVersion: wgpolicyk8s.io/v1alpha2\nkind: PolicyReport\nmetadata:\n");
        let (digest, rest) = rest.split_at(32);
        assert!(digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{digest}");
        assert_eq!(
            rest,
            "
  namespace: shop
  labels:
    app.kubernetes.io/managed-by: kubectl-kyv
scope:
  apiVersion: apps/v1
  kind: Deployment
  namespace: shop
  name: web
summary:
  pass: 0
  fail: 1
  warn: 0
  error: 1
  skip: 0
results:
- source: kubectl-kyv
  policy: labels
  rule: owner
  result: fail
  message: would change /metadata/labels
  properties:
    policyFile: policies/a b.yaml:7
    file: manifests/web.yaml:1
- source: kubectl-kyv
  policy: labels
  rule: team
  result: error
  message: |-
    no user: 100%
    ::error::<b>
  properties:
    code: KYV401
    policyFile: policies/a b.yaml:7
    file: manifests/web.yaml:1
"
        );
    }

    #[test]
    fn an_object_that_comes_twice_has_two_reports() {
        let mut reports = PolicyReports::new(ReportApi::OpenReports);
        let object = group().object.unwrap();
        let (first, second) = (reports.name(&object), reports.name(&object));
        assert_eq!(second, format!("{first}-2"));
    }
}
