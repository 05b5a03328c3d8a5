//! Output formats, and what holds for every one of them.

use kyv::value::Value;

use crate::commands::{LABEL, MAP, SERVICE};
use crate::folder::Folder;

/// The formats that print the result itself: for it they have the values of Secrets, as the cluster would.
const RESULTS: [(&str, &str); 3] = [("mutate", "yaml"), ("mutate", "json"), ("mutate", "patch")];

/// The values of `-o` that a command takes, from its own error message.
fn formats(folder: &Folder, command: &str) -> Vec<String> {
    let stderr = folder.run(&[command, "-o", "no-such-format"]).stderr;
    let (_, list) = stderr.split_once("possible values: ").expect("clap lists the values");
    let (list, _) = list.split_once(']').expect("the end of the list");
    list.split(", ").map(|name| name.split_whitespace().collect()).collect()
}

#[test]
fn every_format_redacts_keys_values_and_errors() {
    let rule = |name: &str, value: &str| {
        format!(
            "  - name: {name}
    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
    context:
    - name: pw
      apiCall:
        urlPath: /api/v1/namespaces/shop/secrets/db
        jmesPath: data.password | base64_decode(@)
    mutate: {{patchStrategicMerge: {{metadata: {{annotations: {{{value}}}}}}}}}
"
        )
    };
    let policy = |name: &str, rules: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n{rules}"
        )
    };
    let changing = rule("value", "dsn: 'user:{{ pw }}@db'") + &rule("key", "'a/{{ pw }}': x");
    let folder = Folder::new(&[
        ("policies/changing.yaml", &*policy("changing", &changing)),
        (
            "policies/failing.yaml",
            &policy("failing", &rule("error", "raw: \"{{ time_parse('2006', pw) }}\"")),
        ),
        (
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: shop}\n\
             data: {password: c3VwZXJzZWNyZXQtcGFzcw==}\n",
        ),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {containers: [{name: a, image: b}]}\n",
        ),
    ]);
    for command in ["diff", "explain", "mutate"] {
        let formats = formats(&folder, command);
        assert!(formats.len() > 1, "{command}: {formats:?}");
        for format in &formats {
            let ended = folder.run(&[
                command,
                "-o",
                format,
                "-p",
                "policies",
                "--context-from",
                "secret.yaml",
                "-f",
                "pod.yaml",
            ]);
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert!(said.contains("failing"), "{command} -o {format}: {said}");
            let is_result = RESULTS.contains(&(command, format));
            let shows = |text: &str| ended.stdout.contains(text);
            assert_eq!(shows("supersecret-pass"), is_result, "{command} -o {format}: {}", ended.stdout);
            assert!(!shows("c3VwZXJzZWNyZXQtcGFzcw"), "{command} -o {format}: {}", ended.stdout);
            assert!(!ended.stderr.contains("supersecret"), "{command} -o {format}: {}", ended.stderr);
        }
    }
}

#[test]
fn mutate_output_formats() {
    let folder = Folder::new(&[
        ("policy.yaml", LABEL),
        ("map.yaml", MAP),
        ("in.yaml", &format!("{MAP}---\n{SERVICE}")),
        ("none.yaml", "# nothing\n"),
    ]);
    let run = |output, file| folder.run(&["mutate", "-p", "policy.yaml", "-f", file, "-o", output]);
    let one = "{
    \"apiVersion\": \"v1\",
    \"kind\": \"ConfigMap\",
    \"metadata\": {
        \"name\": \"map\",
        \"labels\": {
            \"a\": \"b\"
        }
    }
}
";
    run("json", "map.yaml").is(0, one, &[]);
    let list = Value::from_json(&run("json", "in.yaml").stdout).unwrap();
    assert_eq!(list.get("kind").and_then(Value::as_str), Some("List"));
    assert_eq!(list.get("items").and_then(Value::as_array).map(<[_]>::len), Some(2));
    assert!(run("json", "none.yaml").stdout.contains("\"items\": []"));
    let patch = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"map\",\
                 \"patch\":[{\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":{\"a\":\"b\"}}]}\n";
    run("patch", "in.yaml").is(0, patch, &[]);
    run("name", "in.yaml").is(0, "configmap/map\n", &[]);
    let diff = run("diff", "in.yaml");
    assert_eq!(diff.code, Some(0));
    assert!(diff.stdout.contains("+  labels:\n+    a: b\n ---\n"), "{}", diff.stdout);
}

#[test]
fn json_patch_replaces_a_changed_value_once() {
    let map = |key: &str, value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n  labels: {{app: web, {key}: {value}}}\n"
        )
    };
    let digits = "{{ regex_replace_all('([0-9])([0-9])', '{{ @ }}', '${1}0') }}";
    for (key, path, before, overlay, after) in [
        ("days", "days", "for_37", digits, "for_30"),
        ("example.com/days", "example.com~1days", "for_37", digits, "for_30"),
        ("example-days", "example-days", "for_37", digits, "for_30"),
        ("zone-of", "zone-of", "eu-west-1", "{{ to_upper('{{@}}') }}", "EU-WEST-1"),
    ] {
        let policy = LABEL.replace("a: b", &format!("{key}: \"{overlay}\""));
        assert!(policy.contains(overlay), "{policy}");
        let folder = Folder::new(&[("policy.yaml", &policy), ("map.yaml", &map(key, before))]);
        let patch = format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"map\",\"patch\":[{{\"op\":\"replace\",\
             \"path\":\"/metadata/labels/{path}\",\"value\":\"{after}\"}}]}}\n"
        );
        folder.run(&["mutate", "-p", "policy.yaml", "-f", "map.yaml", "-o", "patch"]).is(0, &patch, &[]);
    }
}

#[test]
fn diff_output_formats() {
    let folder = Folder::new(&[("policy.yaml", LABEL), ("in.yaml", &format!("{MAP}---\n{SERVICE}"))]);
    let run = |output| folder.run(&["diff", "-p", "policy.yaml", "-f", "in.yaml", "-o", output]);
    let diff = run("diff");
    assert_eq!(diff.code, Some(1));
    assert!(
        diff.stdout.contains("@@ ConfigMap/map\n") && diff.stdout.contains("+    a: b\n"),
        "{}",
        diff.stdout
    );
    assert!(diff.stderr.ends_with("2 objects, 1 would be changed by 1 rule\n"), "{}", diff.stderr);
    assert!(run("summary").stdout.ends_with("2 objects, 1 would change, 1 would not\n"));
    assert!(run("markdown").stdout.contains("| label | add | ConfigMap | - | 1 |"));
    let json = Value::from_json(&run("json").stdout).unwrap();
    assert_eq!(json.get("objects").and_then(Value::as_array).map(<[_]>::len), Some(1));
    assert!(json.path(&["summary", "rules"]).is_some());
}

#[test]
fn colour_only_on_terminals_or_on_request() {
    let folder = Folder::new(&[("policy.yaml", LABEL), ("map.yaml", MAP)]);
    let run = |color| folder.run(&["diff", "-p", "policy.yaml", "-f", "map.yaml", "--color", color]).stdout;
    assert!(!run("auto").contains('\u{1b}'));
    assert!(run("always").contains("\u{1b}[32m+  labels:"));
}

#[test]
fn secrets_loaded_by_context_entries_are_masked() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: shop}\n\
                  data: {password: c3VwZXJzZWNyZXQtcGFzcw==}\n";
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: copy}\nspec:\n  rules:\n  - name: copy\n    \
                  match: {any: [{resources: {kinds: [Pod]}}]}\n    context:\n    - name: pw\n      apiCall:\n        \
                  urlPath: /api/v1/namespaces/shop/secrets/db\n        jmesPath: data.password | base64_decode(@)\n    \
                  mutate:\n      patchStrategicMerge:\n        metadata:\n          annotations:\n            \
                  dsn: \"user:{{ pw }}@db\"\n            raw: \"{{ pw }}\"\n";
    let failing = policy
        .replace("{name: copy}", "{name: fail}")
        .replace("raw: \"{{ pw }}\"", "raw: \"{{ time_parse('2006', pw) }}\"");
    let list = "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: db, namespace: shop}\n  \
                data: {password: c3VwZXJzZWNyZXQtcGFzcw==}\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {containers: [{name: a, image: b}]}\n";
    let folder = Folder::new(&[
        ("secret.yaml", secret),
        ("list.yaml", list),
        ("policies/copy.yaml", policy),
        ("policies/fail.yaml", &failing),
        ("pod.yaml", pod),
    ]);
    let shown: &[&[&str]] = &[
        &["diff", "--context-from", "secret.yaml", "-f", "pod.yaml"],
        &["diff", "--context-from", "list.yaml", "-f", "pod.yaml"],
        &["diff", "-f", "secret.yaml", "-f", "pod.yaml"],
        &["diff", "-o", "json", "--context-from", "secret.yaml", "-f", "pod.yaml"],
        &["diff", "-o", "markdown", "--context-from", "secret.yaml", "-f", "pod.yaml"],
        &["mutate", "-o", "diff", "--context-from", "secret.yaml", "-f", "pod.yaml"],
        &["explain", "--context-from", "secret.yaml", "-f", "pod.yaml"],
        &["explain", "-o", "json", "--context-from", "secret.yaml", "-f", "pod.yaml"],
    ];
    for arguments in shown {
        let ended = folder.run(&[*arguments, &["-p", "policies"]].concat());
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(said.contains("user:***@db"), "{arguments:?}: {said}");
        assert!(!said.contains("supersecret"), "{arguments:?}: {said}");
    }
    let result = folder.run(&[
        "mutate",
        "-p",
        "policies/copy.yaml",
        "--context-from",
        "secret.yaml",
        "-f",
        "pod.yaml",
    ]);
    assert!(result.stdout.contains("user:supersecret-pass@db"), "{}", result.stdout);
}

#[test]
fn values_of_the_old_secret_are_masked_in_the_new_one() {
    let old = "apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: shop}\nstringData: {password: before-rotation}\n";
    let new = old.replace("before-rotation", "after-rotation");
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: keep}\nspec:\n  rules:\n  - name: keep\n    \
                  match: {any: [{resources: {kinds: [Secret]}}]}\n    mutate:\n      patchStrategicMerge:\n        \
                  metadata: {annotations: {last: \"{{ request.oldObject.stringData.password }}\"}}\n";
    let folder = Folder::new(&[("old.yaml", old), ("new.yaml", &new), ("policy.yaml", policy)]);
    for command in ["diff", "explain"] {
        let ended = folder.run(&[command, "-p", "policy.yaml", "-f", "new.yaml", "--old", "old.yaml"]);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(said.contains("last") && !said.contains("rotation"), "{said}");
    }
}

#[test]
fn secrets_are_masked_in_hints_and_target_names() {
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: named}
spec:
  rules:
  - name: by-secret
    match: {any: [{resources: {kinds: [Secret]}}]}
    mutate:
      targets:
      - {apiVersion: v1, kind: ConfigMap, namespace: shop, name: \"{{ base64_decode(request.object.data.key) }}\"}
      patchStrategicMerge: {metadata: {labels: {a: b}}}
";
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, data: {key: aHVudGVyMi12ZXJ5LXNlY3JldA==}}\n";
    let folder = Folder::new(&[("policy.yaml", policy), ("secret.yaml", secret)]);
    for arguments in
        [&["diff", "-o", "diff"][..], &["diff", "-o", "json"], &["diff", "-o", "markdown"], &["explain"]]
    {
        let ended = folder.run(&[arguments, &["-p", "policy.yaml", "-f", "secret.yaml"]].concat());
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!all.contains("hunter2"), "{arguments:?}: {all}");
        assert!(
            all.contains("configmaps \\\"***\\\" not found") || all.contains("configmaps \"***\" not found"),
            "{all}"
        );
    }
}

/// A rule that fails on every Secret.
const FAILING: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: failing}
spec:
  rules:
  - name: fail
    match: {any: [{resources: {kinds: [Secret]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: \"{{ request.object.data.nothing }}\"}}}}
";

/// What a comment on GitHub has at most.
const COMMENT_CHARS: usize = 65_536;

#[test]
fn a_markdown_page_has_the_errors() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n";
    let folder = Folder::new(&[
        ("label.yaml", LABEL),
        ("failing.yaml", FAILING),
        ("refused.yaml", &LABEL.replace("    mutate:", "    mode: x\n    mutate:")),
        ("in.yaml", &format!("{MAP}---\n{secret}")),
    ]);
    let run = |policies: &str| folder.run(&["diff", "-o", "markdown", "-p", policies, "-f", "in.yaml"]);
    let page = run("label.yaml,failing.yaml");
    assert_eq!(page.code, Some(3), "{}", page.stderr);
    let error = "#### Errors\n\n```text\nerror[KYV301]: failing.yaml:8:63: failing/fail: no value for `";
    assert!(page.stdout.contains(error), "{}", page.stdout);
    assert!(page.stdout.contains("<details><summary>in.yaml</summary>"), "{}", page.stdout);
    for policies in ["label.yaml,refused.yaml", "refused.yaml", "missing.yaml"] {
        let page = run(policies);
        assert_eq!(page.code, Some(2), "{}", page.stderr);
        assert!(page.stdout.contains("### Kyverno mutations\n"), "{policies}: {}", page.stdout);
        let file = policies.rsplit(',').next().unwrap_or_default();
        let is_error =
            |line: &str| line.starts_with("error[KYV") && line[12..].starts_with(&format!("]: {file}:"));
        assert!(page.stdout.lines().any(is_error), "{policies}: {}", page.stdout);
    }
    let values = ["diff", "-o", "markdown", "-p", "label.yaml", "-f", "in.yaml", "--values", "none.yaml"];
    folder.run(&values).is(
        2,
        "### Kyverno mutations\n\nNothing was evaluated.\n\n#### Errors\n\n```text\nerror[KYV101]: none.yaml: cannot be read: no \
         such file or directory\n```\n",
        &[],
    );
}

#[test]
fn a_long_markdown_diff_is_cut_behind_a_hunk() {
    let map = |index: usize| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map-{index}\ndata:\n  a: {}\n  b: c\n  d: e\n",
            "x".repeat(200)
        )
    };
    let maps = |number: usize| (0..number).map(map).collect::<String>();
    let many: Vec<(String, String)> =
        (0..200).map(|index| (format!("many/{index:03}.yaml"), maps(3))).collect();
    let mut files = vec![("label.yaml", LABEL)];
    let (long, short) = (maps(400), maps(1));
    files.extend([("two/long.yaml", &*long), ("two/short.yaml", &*short)]);
    files.extend(many.iter().map(|(name, text)| (&**name, &**text)));
    let folder = Folder::new(&files);
    let run = |files: &str| folder.run(&["diff", "-o", "markdown", "-p", "label.yaml", "-f", files]).stdout;
    let page = run("two");
    assert!(page.chars().count() <= COMMENT_CHARS, "{}", page.len());
    assert!(page.len() > 60_000, "{}", page.len());
    assert!(page.contains("<details><summary>two/long.yaml</summary>"), "{page}");
    // The last line of the last hunk, and the whole diff of the other file.
    let shown = page.matches("\n@@ ").count() - 1;
    assert!(
        page.contains(&format!("\n```\n\n</details>\n\nLeft out: {} of 400 hunks.\n", 400 - shown)),
        "{page}"
    );
    let short = page.split("<details>").nth(2).unwrap_or_default();
    assert!(
        short.starts_with("<summary>two/short.yaml</summary>") && short.contains("+    a: b\n"),
        "{short}"
    );
    let page = run("many");
    assert!(page.chars().count() <= COMMENT_CHARS, "{}", page.len());
    let blocks = page.matches("<details>").count();
    assert!(blocks > 30, "{blocks}");
    assert!(
        page.ends_with(&format!("\nThe diffs of {} more objects are left out.\n", 3 * (200 - blocks))),
        "{page}"
    );
}

#[test]
fn a_report_of_a_refused_policy_has_its_diagnostics() {
    let refused = LABEL.replace("patchStrategicMerge", "patchStrategicMerg");
    let folder = Folder::new(&[("policy.yaml", &refused), ("in.yaml", MAP)]);
    for command in ["diff", "explain"] {
        let output = folder.run(&[command, "-p", "policy.yaml", "-f", "in.yaml", "-o", "json"]);
        assert_eq!(output.code, Some(2), "{command}: {}", output.stderr);
        let report = Value::from_json(&output.stdout).expect(command);
        assert_eq!(report.get("objects").and_then(Value::as_array), Some(&[][..]), "{command}");
        let first = report.get("diagnostics").and_then(|all| all.at(0)).expect(command);
        let field = |name| first.get(name).and_then(Value::as_str);
        assert_eq!((field("severity"), field("code")), (Some("error"), Some("KYV201")), "{command}");
    }
}
