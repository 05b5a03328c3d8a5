//! Formats for other programs: each is valid by its own schema, and no text of an object or policy leaves its place.
//!
//! `schemas/sarif-2.1.0.json` is the schema that OASIS publishes with the standard. GitLab publishes none: the one here is written
//! from the documentation of the format.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cases;
use crate::folder::{Folder, RunOutput, end};
use crate::json_schema;

const POLICIES: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  rules:
  - name: owner
    match: {any: [{resources: {kinds: [ConfigMap, Namespace]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {+(owner): shop}}}}
  - name: only-west
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    preconditions: {all: [{key: \"{{ request.object.data.zone || 'east' }}\", operator: Equals, value: west}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {zone: west}}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: sizes}
spec:
  rules:
  - name: as-text
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate:
      patchStrategicMerge:
        data:
          size: '{{ to_upper(request.object.data.size) }}'
";

const OBJECTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: bad, namespace: shop, labels: {owner: shop}}
data: {zone: east}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: good, namespace: shop}
data: {zone: west, size: \"3\"}
";

/// A name that every format has to quote.
const NASTY: &str =
    "a]]></testsuites>\n::error::x\r\n::add-mask::,:%0A\"'<script>[b](c){0}{{d}} \u{1b}[31m\u{202e}";

/// A folder with the policies and objects of this test.
fn folder() -> Folder {
    Folder::new(&[("policies/all.yaml", POLICIES), ("objects.yaml", OBJECTS)])
}

fn diff(folder: &Folder, format: &str) -> RunOutput {
    folder.run(&["diff", "-p", "policies", "-f", "objects.yaml", "-o", format])
}

fn schema(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The output as JSON that fits a schema.
#[track_caller]
fn valid(output: &RunOutput, schema: &Value) -> Value {
    let value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", output.stdout));
    assert_eq!(json_schema::errors(schema, &value), Vec::<String>::new(), "{}", output.stdout);
    value
}

/// The documents of a YAML stream as JSON.
fn documents(text: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

#[test]
fn sarif_has_the_rule_as_location_and_the_object_as_related_one() {
    let output = diff(&folder(), "sarif");
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let log = valid(&output, &schema("tests/cli/schemas/sarif-2.1.0.json"));
    let run = &log["runs"][0];
    let at = |place: &Value| {
        let place = &place["physicalLocation"];
        format!("{}:{}", place["artifactLocation"]["uri"].as_str().unwrap(), place["region"]["startLine"])
    };
    let rows: Vec<_> = run["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let text = |name: &str| result[name].as_str().unwrap().to_owned();
            (text("ruleId"), text("level"), at(&result["locations"][0]), at(&result["relatedLocations"][0]))
        })
        .collect();
    let row = |id: &str, level: &str, policy: &str, object: &str| {
        (
            id.to_owned(),
            level.to_owned(),
            format!("policies/all.yaml:{policy}"),
            format!("objects.yaml:{object}"),
        )
    };
    assert_eq!(
        rows,
        [
            row("KYV303", "error", "24", "1"),
            row("labels/owner", "warning", "6", "6"),
            row("labels/owner", "warning", "6", "10"),
            row("labels/only-west", "warning", "9", "10"),
        ]
    );
    let page = "https://github.com/kubectl-kyv/kubectl-kyv/blob/main/docs/diagnostics/KYV303.md";
    assert_eq!(run["tool"]["driver"]["rules"][0]["helpUri"], page);
    assert_eq!(run["invocations"], json!([{"executionSuccessful": true, "toolExecutionNotifications": []}]));
}

#[test]
fn github_annotates_objects_that_would_change_and_rules_that_fail() {
    let output = diff(&folder(), "github");
    let lines: Vec<&str> = output.stdout.lines().map(|line| line.rsplit_once("::").unwrap().0).collect();
    assert_eq!(
        lines,
        [
            "::error file=policies/all.yaml,line=24,col=21,title=KYV303",
            "::warning file=objects.yaml,line=6,title=labels/owner",
            "::warning file=objects.yaml,line=10,title=labels/owner",
            "::warning file=objects.yaml,line=10,title=labels/only-west",
        ],
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("::Namespace/shop: labels/owner: would change /metadata/labels/owner\n"),
        "{}",
        output.stdout
    );
}

#[test]
fn gitlab_has_an_issue_for_each_problem() {
    let folder = folder();
    let report = valid(&diff(&folder, "gitlab"), &schema("tests/cli/schemas/gitlab-code-quality.json"));
    let names: Vec<_> = report.as_array().unwrap().iter().map(|issue| &issue["check_name"]).collect();
    assert_eq!(names, ["KYV303", "labels/owner", "labels/owner", "labels/only-west"]);
    let fingerprints = |report: &Value| -> Vec<Value> {
        report.as_array().unwrap().iter().map(|issue| issue["fingerprint"].clone()).collect()
    };
    let before = fingerprints(&report);
    folder.write("objects.yaml", &format!("# one more line\n{OBJECTS}"));
    let after = valid(&diff(&folder, "gitlab"), &schema("tests/cli/schemas/gitlab-code-quality.json"));
    assert_eq!(fingerprints(&after), before, "an issue that moved is the same issue");
}

#[test]
fn junit_has_a_suite_for_each_object() {
    let output = diff(&folder(), "junit");
    let suites: Vec<&str> = output.stdout.lines().filter(|line| line.contains("<testsuite ")).collect();
    assert_eq!(
        suites,
        [
            "  <testsuite name=\"ConfigMap/shop/bad\" tests=\"3\" failures=\"0\" errors=\"1\" skipped=\"1\">",
            "  <testsuite name=\"Namespace/shop\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">",
            "  <testsuite name=\"ConfigMap/shop/good\" tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"0\">",
        ],
        "{}",
        output.stdout
    );
}

#[test]
fn policy_reports_name_the_object_and_count_its_results() {
    for (format, version, kinds) in [
        ("policyreport", "wgpolicyk8s.io/v1alpha2", ["PolicyReport", "ClusterPolicyReport"]),
        ("openreports", "openreports.io/v1alpha1", ["Report", "ClusterReport"]),
    ] {
        let reports = documents(&diff(&folder(), format).stdout);
        let kind = |index: usize| reports[index]["kind"].as_str().unwrap();
        assert_eq!([kind(0), kind(1), kind(2)], [kinds[0], kinds[1], kinds[0]]);
        assert!(reports.iter().all(|report| report["apiVersion"] == version), "{reports:?}");
        assert_eq!(reports[0]["metadata"]["namespace"], "shop");
        assert_eq!(reports[0]["summary"], json!({"pass": 1, "fail": 0, "warn": 0, "error": 1, "skip": 1}));
        assert_eq!(
            reports[1]["results"],
            json!([{
                "source": "kubectl-kyv",
                "policy": "labels",
                "rule": "owner",
                "result": "fail",
                "message": "would change /metadata/labels/owner",
                "properties": {"policyFile": "policies/all.yaml:6", "file": "objects.yaml:6"},
            }])
        );
    }
}

/// A published schema, without room for fields that it does not name.
fn closed_schema(name: &str) -> Value {
    fn close(schema: &mut Value) {
        if let Some(members) = schema.as_object_mut() {
            if members.get("additionalProperties") == Some(&Value::Bool(true)) {
                members.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            members.values_mut().for_each(close);
        }
        schema.as_array_mut().into_iter().flatten().for_each(close);
    }
    let mut schema = schema(&format!("docs/schemas/{name}"));
    close(&mut schema);
    schema
}

#[test]
fn reports_about_policies_fit_their_published_schemas() {
    let folder = folder();
    let policy = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: late}
spec:
  rules:
  - name: late
    match: {any: [{resources: {kinds: [ConfigMap], operations: [DELETE]}}]}
    preconditions: {all: [{key: a, operator: Equals, value: b}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {owner: late}}}}
";
    folder.write("policies/late.yaml", policy);
    folder.write("policies/bad.yaml", &policy.replace("mutate:", "mutates:"));
    let lint = folder.run(&["lint", "-p", "policies", "-o", "json"]);
    let report = valid(&lint, &closed_schema("lint-1.json"));
    assert!(report["findings"].as_array().unwrap().len() >= 2, "{report}");
    let check = folder.run(&[
        "check",
        "-q",
        "-p",
        "policies/all.yaml,policies/late.yaml",
        "-f",
        "objects.yaml",
        "-o",
        "json",
    ]);
    valid(&check, &closed_schema("check-1.json"));
    folder.write(
        "policies/late.yaml",
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: late}\nspec:\n  rules:\n  - name: late\n    \
         match: {any: [{resources: {kinds: [Service], namespaceSelector: {matchLabels: {team: web}}}}]}\n    \
         mutate: {patchesJson6902: '[{op: add, path: /spec/ports/-, value: {port: 1}}]'}\n",
    );
    let check = folder.run(&["check", "-q", "-p", "policies/late.yaml", "--generated", "-o", "json"]);
    let report = valid(&check, &closed_schema("check-1.json"));
    assert_eq!(report["findings"][0]["generated"]["namespaceLabels"]["team"], "web", "{report}");
    folder.write("policies/late.yaml", policy);
    folder.write(
        "kyverno-test.yaml",
        "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: s}\npolicies: [policies/late.yaml]\n\
         resources: [objects.yaml]\nresults:\n- {policy: late, rule: late, kind: ConfigMap, resources: [good], result: skip}\n",
    );
    let suites = folder.run(&["test", "-o", "json", "."]);
    let report = valid(&suites, &closed_schema("test-1.json"));
    assert_eq!(report["suites"][0]["rows"][0]["result"], "skip", "{report}");
    assert!(report["diagnostics"].as_array().is_some(), "{report}");
    let coverage = folder.run(&["test", "-q", "--coverage=json", "."]);
    let report = valid(&coverage, &closed_schema("coverage-1.json"));
    assert_eq!(report["rules"][0]["missing"].as_array().unwrap().len(), 2, "{report}");
    let mutants = folder.run(&["test", "-q", "--mutants=json", "."]);
    let report = valid(&mutants, &closed_schema("mutants-1.json"));
    assert!(!report["mutants"].as_array().unwrap().is_empty(), "{report}");
}

#[test]
fn suites_that_fail_or_cannot_be_loaded_fit_the_published_schema() {
    let schema = closed_schema("test-1.json");
    let folder = folder();
    folder.write(
        "kyverno-test.yaml",
        "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: labels}\npolicies: [policies/all.yaml]\n\
         resources: [objects.yaml]\nresults:\n\
         - {policy: labels, rule: owner, resources: [shop/good], kind: ConfigMap, result: skip}\n\
         - {policy: labels, rule: owner, resources: [shop/none], kind: ConfigMap, result: pass}\n\
         - {policy: labels, rule: owner, resources: [shop/bad], kind: ConfigMap, patchedResources: objects.yaml, result: pass}\n",
    );
    folder.write(
        "policies/kyverno-test.yaml",
        "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: b}\npolicies: [none.yaml]\nresources: [o.yaml]\nresults:\n- {policy: p, rule: r, kind: ConfigMap, resources: [a], result: pass}\n",
    );
    for arguments in [&["test", "-o", "json", "."][..], &["test", "-o", "json", "--detailed-results", "."]] {
        let report = valid(&folder.run(arguments), &schema);
        assert_eq!(report["summary"]["notLoaded"], 1, "{report}");
        assert!(report["summary"]["failed"].as_u64().unwrap() >= 2, "{report}");
        assert_eq!(report["diagnostics"][0]["severity"], "error", "{report}");
    }
}

#[test]
fn conversions_and_proofs_fit_their_published_schemas() {
    let folder = folder();
    let policy = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: two}
spec:
  rules:
  - name: kept
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {owner: VALUE}}}}
  - name: refused
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {data: {x: \"{{ to_string(semver_compare('1.2.3', '>1')) }}\"}}}
";
    folder.write("one.yaml", &policy.replace("VALUE", "late"));
    let converted = folder.run(&["convert", "-q", "-p", "one.yaml", "--proof", "fast", "-o", "json"]);
    let report = valid(&converted, &closed_schema("convert-1.json"));
    assert_eq!(report["policies"][0]["rules"][1]["outcome"], "refused", "{report}");
    let kept = policy.split("  - name: refused").next().unwrap();
    folder.write("one.yaml", &kept.replace("VALUE", "late"));
    folder.write("two.yaml", &kept.replace("VALUE", "soon"));
    let arguments = ["convert", "-q", "--proof", "fast", "-o", "json", "--check", "one.yaml", "two.yaml"];
    let report = valid(&folder.run(&arguments), &closed_schema("proof-1.json"));
    assert!(!report["pairs"][0]["counterexamples"].as_array().unwrap().is_empty(), "{report}");
}

#[test]
fn explanations_fit_their_published_schema() {
    let schema = closed_schema("explain-1.json");
    let all = cases::folder("explain_cases");
    let mut count = 0;
    for entry in std::fs::read_dir(all).unwrap() {
        let folder = entry.unwrap().path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
        command.args(["explain", "-p", "policy.yaml", "-f", "input.yaml", "-o", "json"]);
        let options = std::fs::read_to_string(folder.join("options")).unwrap_or_default();
        command.args(options.lines()).current_dir(folder).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        valid(&end(command, ""), &schema);
        count += 1;
    }
    assert!(count >= 15, "{count}");
    let folder = folder();
    let refused = folder.run(&["explain", "-p", "nowhere.yaml", "-f", "objects.yaml", "-o", "json"]);
    valid(&refused, &schema);
}

#[test]
fn drift_fits_its_published_schema() {
    let schema = closed_schema("drift-1.json");
    let folder = folder();
    folder.write(
        "policies/zone.yaml",
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: zone}\nspec:\n  rules:\n  - name: north\n    \
         match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    mutate: {patchStrategicMerge: {data: {zone: north}}}\n",
    );
    folder.write("other.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n");
    let arguments = ["drift", "-q", "-p", "policies", "-f", "objects.yaml,other.yaml", "-o", "json"];
    let report = valid(&folder.run(&arguments), &schema);
    assert_eq!(report["ignoreDifferences"].as_array().unwrap().len(), 2, "{report}");
    folder.write(
        "policies/more.yaml",
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: more}\nspec:\n  rules:\n  - name: x\n    \
         match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    mutate: {patchStrategicMerge: {data: {more: \
         \"{{ request.object.data.more || '' }}x\"}}}\n",
    );
    let report = valid(&folder.run(&[&arguments[..], &["--tool", "flux"]].concat()), &schema);
    assert_eq!(report["ignore"].as_array().unwrap().len(), 1, "{report}");
    let refused = folder.run(&["drift", "-p", "nowhere.yaml", "-f", "objects.yaml", "-o", "json"]);
    valid(&refused, &schema);
}

#[test]
fn json_fits_its_published_schema() {
    let schema = closed_schema("diff-1.json");
    let folder = folder();
    let report = valid(&diff(&folder, "json"), &schema);
    assert_eq!(report["version"], 1);
    assert_eq!(report["objects"].as_array().unwrap().len(), 3);
    folder.write(
        "policies/bad.yaml",
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {nam: x}\nspec: {rules: []}\n",
    );
    let refused = valid(&diff(&folder, "json"), &schema);
    assert_eq!(refused["diagnostics"][0]["severity"], "error");
}

#[test]
fn a_refused_policy_is_in_every_format() {
    let folder = folder();
    folder.write(
        "policies/bad.yaml",
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {nam: x}\nspec: {rules: []}\n",
    );
    for (format, text) in [
        ("sarif", "\"executionSuccessful\":false"),
        ("github", "::error title=KYV2"),
        ("gitlab", "\"check_name\":\"KYV2"),
        ("junit", "<testcase classname=\"kubectl-kyv\" name=\"KYV2"),
    ] {
        let output = diff(&folder, format);
        assert_eq!(output.code, Some(2), "{format}");
        assert!(output.stdout.contains(text), "{format}: {}", output.stdout);
    }
}

#[test]
fn names_and_messages_stay_in_their_places() {
    let quoted = serde_json::to_string(NASTY).unwrap();
    let object = format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {quoted}, namespace: {quoted}}}, data: {{size: {quoted}}}}}\n"
    );
    let folder = folder();
    folder.write("objects.yaml", &object);
    for format in ["sarif", "github", "gitlab", "junit", "policyreport", "openreports", "json"] {
        let output = diff(&folder, format);
        let stdout = &output.stdout;
        assert_eq!(output.code, Some(1), "{format}: {}", output.stderr);
        let is_control = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}');
        assert!(format == "json" || !stdout.contains(is_control), "{format}: {stdout}");
        match format {
            "sarif" => drop(valid(&output, &schema("tests/cli/schemas/sarif-2.1.0.json"))),
            "gitlab" => drop(valid(&output, &schema("tests/cli/schemas/gitlab-code-quality.json"))),
            "json" => drop(valid(&output, &schema("docs/schemas/diff-1.json"))),
            "github" => {
                let is_command =
                    |line: &str| line.starts_with("::warning file=") || line.starts_with("::error file=");
                assert!(stdout.lines().all(is_command), "{stdout}");
                assert_eq!(stdout.lines().count(), 2, "{stdout}");
            }
            "junit" => {
                let known =
                    ["?xml", "testsuite", "/testsuite", "testcase", "/testcase", "failure", "/failure"];
                let more = ["error", "/error", "skipped", "testsuites", "/testsuites"];
                for tag in stdout.split('<').skip(1) {
                    let name = tag.split([' ', '>', '/']).find(|name| !name.is_empty()).unwrap();
                    let name = if tag.starts_with('/') { format!("/{name}") } else { name.to_owned() };
                    assert!(known.iter().chain(&more).any(|known| *known == name), "{name}: {stdout}");
                }
                assert_eq!(stdout.matches("</testsuites>").count(), 1, "{stdout}");
            }
            _ => {
                let reports = documents(stdout);
                assert_eq!(reports.len(), 1, "{stdout}");
                let name = reports[0]["scope"]["name"].as_str().unwrap();
                assert_eq!(name, NASTY.replace(|c: char| c.is_control() || c == '\u{202e}', "\u{fffd}"));
            }
        }
    }
}

#[test]
fn rows_of_suites_that_fail_are_problems() {
    let folder = folder();
    folder.write(
        "kyverno-test.yaml",
        "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: labels}\npolicies: [policies/all.yaml]\n\
         resources: [objects.yaml]\nresults:\n\
         - {policy: labels, rule: owner, resources: [shop/good], kind: ConfigMap, result: skip}\n\
         - {policy: labels, rule: only-west, resources: [shop/bad], kind: ConfigMap, result: skip}\n",
    );
    let run = |format| folder.run(&["test", "-o", format]);
    let issues = valid(&run("gitlab"), &schema("tests/cli/schemas/gitlab-code-quality.json"));
    let issues = issues.as_array().unwrap();
    assert_eq!(issues.len(), 1, "{issues:?}");
    assert_eq!(issues[0]["check_name"], "labels/owner");
    assert_eq!(issues[0]["location"], json!({"path": "kyverno-test.yaml", "lines": {"begin": 1}}));
    let log = valid(&run("sarif"), &schema("tests/cli/schemas/sarif-2.1.0.json"));
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "labels/owner");
    let github = run("github");
    assert_eq!(github.code, Some(1), "{}", github.stderr);
    assert!(
        github.stdout.starts_with("::warning file=kyverno-test.yaml,line=1,title=labels/owner::labels/owner: v1/ConfigMap/shop/good: Want skip, got pass\n"),
        "{}",
        github.stdout
    );
}
