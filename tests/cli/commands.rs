//! Arguments, streams, exit codes and files of the commands. What policies do to objects is tested by the case corpus;
//! the policies here are as small as possible.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::folder::{Folder, end, write};

/// Adds the label `a: b` to every `ConfigMap`.
pub(crate) const LABEL: &str = include_str!("../support/label.yaml");

/// A rule that fails on every Secret.
const FAILING: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: failing
spec:
  rules:
  - name: fail
    match:
      any:
      - resources:
          kinds: [Secret]
    mutate:
      patchStrategicMerge:
        metadata:
          labels:
            a: \"{{ request.object.data.nothing }}\"
";
pub(crate) const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n";
const LABELLED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n  labels:\n    a: b\n";
const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: secret\n";
/// Written as nobody would print it.
pub(crate) const SERVICE: &str =
    "# a service\nkind:   Service # odd\napiVersion: 'v1'\nmetadata: {name: \"svc\"}\n";

#[test]
fn unchanged_documents_are_printed_byte_for_byte() {
    let folder = Folder::new(&[
        ("policy.yaml", LABEL),
        ("in.yaml", &format!("{SERVICE}---\n{MAP}--- # next\n{SERVICE}---\n# end\n")),
    ]);
    let expected = format!("{SERVICE}---\n{LABELLED}--- # next\n{SERVICE}---\n# end\n");
    folder.run(&["mutate", "-p", "policy.yaml", "-f", "in.yaml"]).is(
        0,
        &expected,
        &["3 objects, 1 changed by 1 rule\n"],
    );
}

#[test]
fn several_files_are_printed_as_one_stream() {
    let unterminated = SERVICE.trim_end();
    let folder = Folder::new(&[
        ("policy.yaml", LABEL),
        ("in/a.yaml", unterminated),
        ("in/b.yaml", &format!("--- # own\n{SERVICE}")),
        ("in/c.json", "{\"apiVersion\": \"v1\",\"kind\":\"Service\"}"),
        ("in/d.yaml", "%YAML 1.1\n---\napiVersion: v1\nkind: Node\n"),
        ("in/e.yml", "\u{feff}apiVersion: v1\nkind: Node"),
        ("in/f.yaml", ""),
        ("in/ignored.txt", "]"),
        ("in/below/g.yaml", "]"),
    ]);
    let expected = format!(
        "{SERVICE}--- # own\n{SERVICE}---\n{{\"apiVersion\": \"v1\",\"kind\":\"Service\"}}\n...\n%YAML 1.1\n---\n\
         apiVersion: v1\nkind: Node\n---\napiVersion: v1\nkind: Node"
    );
    folder.run(&["mutate", "-p", "policy.yaml", "-f", "in"]).is(0, &expected, &["5 objects, 0 changed\n"]);
    folder.run(&["mutate", "-p", "policy.yaml", "-f", "in", "-R"]).is(
        2,
        "",
        &["error[KYV107]: in/below/g.yaml:1:1: "],
    );
}

#[test]
fn globs_and_repeated_arguments_keep_their_order() {
    let folder = Folder::new(&[
        ("p/one.yaml", LABEL),
        ("p/.git/two.yaml", "]"),
        ("a.yaml", "a: 1\n"),
        ("b.yaml", "b: 1\n"),
        ("c.yaml", "c: 1\n"),
    ]);
    let ended = folder.run(&["mutate", "-p", "p", "-f", "c.yaml", "-f", "[ab].yaml", "-f", "c.yaml"]);
    ended.is(
        0,
        "c: 1\n---\na: 1\n---\nb: 1\n---\nc: 1\n",
        &[
            "note[KYV117]: 4 documents without apiVersion or kind left unchanged: a.yaml, b.yaml, c.yaml\n",
            "note[KYV233]: 1 rule selected no object: label/add\n",
        ],
    );
    folder.run(&["mutate", "-p", "p", "-f", "x*.yaml"]).is(2, "", &["x*.yaml: no file matches this glob"]);
    let twice = folder.run(&["mutate", "-p", "p", "-p", "p/one.yaml", "-f", "a.yaml"]);
    twice.is(0, "a: 1\n", &["note[KYV233]: 1 rule selected no object: label/add\n"]);
    assert!(!twice.stderr.contains("also defined"), "{}", twice.stderr);
    for path in ["p/", "./p", "."] {
        let run = folder.run(&["diff", "-p", "p/one.yaml", path]);
        let expected = format!(
            "error[KYV004]: {path} is not a kind of objects but a path: read manifests with -f {path}, policies with -p \
             {path}\n"
        );
        assert_eq!((run.code, run.stderr), (Some(2), expected));
    }
    // It could be a kind of the cluster as well.
    let run = folder.run(&["diff", "-p", "p/one.yaml", "p"]);
    run.is(2, "", &["error[KYV501]: ", "note[KYV004]: p is also a directory: read manifests with -f p\n"]);
    folder.run(&["mutate", "-p", "q*", "-f", "a.yaml"]).is(2, "", &["q*: no file matches this glob"]);
}

#[test]
fn standard_input_is_read_for_one_argument_only() {
    let folder = Folder::new(&[("policy.yaml", LABEL), ("map.yaml", MAP)]);
    folder.run_with(&["mutate", "-p", "policy.yaml", "-f", "-"], MAP).is(0, LABELLED, &[]);
    folder.run_with(&["mutate", "-p", "-", "-f", "map.yaml"], LABEL).is(0, LABELLED, &[]);
    folder.run_with(&["mutate", "-p", "-", "-f", "-"], LABEL).is(2, "", &["standard input (-)"]);
    folder.run_with(&["mutate", "-p", "policy.yaml", "-f", "-"], "a: [\n").is(
        2,
        "",
        &["error[KYV107]: stdin:"],
    );
    // What fails upstream in a pipe says nothing.
    for nothing in ["", " \n"] {
        let reason = ["error[KYV105]: stdin: empty; expected objects"];
        folder.run_with(&["mutate", "-p", "policy.yaml", "-f", "-"], nothing).is(2, "", &reason);
        folder
            .run_with(&["diff", "-p", "policy.yaml", "-f", "-", "-o", "summary"], nothing)
            .is(2, "", &reason);
    }
    folder.run_with(&["mutate", "-p", "policy.yaml", "-f", "-"], "# none\n").is(
        0,
        "# none\n",
        &["0 objects"],
    );
}

#[test]
fn input_errors_are_all_reported_and_nothing_is_printed() {
    let folder = Folder::new(&[
        ("policy.yaml", &LABEL.replace("mutate:", "mutat:")),
        ("good.yaml", MAP),
        ("bad.yaml", "a: 1\n---\nb: [1\n---\nc: 1\n---\nd: d: d\n"),
        ("values.yaml", "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nglobal: {}\n"),
    ]);
    let arguments = [
        "mutate",
        "-p",
        "policy.yaml",
        "-f",
        "good.yaml",
        "-f",
        "missing.yaml",
        "-f",
        "bad.yaml",
        "--values",
        "values.yaml",
    ];
    folder.run(&arguments).is(
        2,
        "",
        &[
            "error[KYV201]: policy.yaml:12:5: policy label, rule add: spec.rules[0].mutat: ",
            "\n12 |     mutat:\n   |     ^\n",
            "error[KYV101]: missing.yaml: cannot be read: no such file or directory\n",
            "error[KYV107]: bad.yaml:3:",
            "error[KYV107]: bad.yaml:7:",
            "error[KYV113]: values.yaml:3:1: global: unknown field",
        ],
    );
}

#[test]
fn the_rest_is_evaluated_without_refused_policies_and_unreadable_files() {
    let folder = Folder::new(&[
        ("p/good.yaml", LABEL),
        ("p/refused.yaml", &LABEL.replace("mutate:", "mutat:").replace("name: label", "name: other")),
        ("p/unreadable.yaml", "["),
        ("map.yaml", MAP),
        ("bad.yaml", "a: [\n"),
    ]);
    let arguments = ["-p", "p", "-f", "bad.yaml", "-f", "missing.yaml", "-f", "map.yaml"];
    let messages = [
        "error[KYV201]: p/refused.yaml:12:5: policy other, rule add: spec.rules[0].mutat: ",
        "error[KYV107]: p/unreadable.yaml:1:",
        "error[KYV101]: missing.yaml: cannot be read: no such file or directory\n",
        "error[KYV107]: bad.yaml:",
        "policies refused: other; files not read: p/unreadable.yaml, missing.yaml, bad.yaml\n1 policy refused, 3 files \
         unreadable; 1 policy evaluated\n",
    ];
    folder.run(&[&["mutate", "--keep-going"], &arguments[..]].concat()).is(2, LABELLED, &messages);
    let diff = folder.run(&[&["diff"], &arguments[..]].concat());
    assert!(diff.code == Some(2) && diff.stdout.contains("\n+  labels:\n+    a: b\n"), "{}", diff.stdout);
    let explained = folder.run(&[&["explain"], &arguments[..]].concat());
    assert!(explained.code == Some(2) && explained.stdout.contains("label/add"), "{}", explained.stdout);
    let report = folder.run(&[&["diff", "-o", "json"], &arguments[..]].concat());
    assert!(report.stdout.contains(r#""refusedPolicies":["other"]"#), "{}", report.stdout);
    // Without a single policy or file nothing is evaluated.
    folder.run(&["diff", "-p", "p", "-f", "bad.yaml"]).is(
        2,
        "# incomplete: policies refused: other; files not read: p/unreadable.yaml, bad.yaml\n",
        &[],
    );
    folder.run(&["diff", "-p", "p/refused.yaml", "-f", "map.yaml"]).is(
        2,
        "",
        &["error[KYV201]: p/refused.yaml:12:5"],
    );
    folder.run(&["mutate", "-i", "--keep-going", "-p", "p", "-f", "map.yaml"]).is(
        2,
        "",
        &["1 object, 1 changed"],
    );
    assert_eq!(folder.read("map.yaml"), LABELLED);
}

#[test]
fn policies_without_mutate_rules_are_not_counted_as_evaluated() {
    let validate = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: checked}
spec:
  rules:
    - name: r
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      validate: {message: no, pattern: {data: {a: b}}}
";
    let folder = Folder::new(&[
        ("p/good.yaml", LABEL),
        ("p/refused.yaml", &LABEL.replace("mutate:", "mutat:").replace("name: label", "name: other")),
        ("p/validate.yaml", validate),
        ("map.yaml", MAP),
    ]);
    let run = folder.run(&["diff", "-p", "p", "-f", "map.yaml"]);
    let expected = ["note[KYV224]: 1 validate rule ignored\n", "1 policy refused; 1 policy evaluated\n"];
    assert!(expected.iter().all(|line| run.stderr.contains(line)), "{}", run.stderr);
}

#[test]
fn a_failing_rule_is_reported_and_other_objects_are_printed() {
    let folder = Folder::new(&[
        ("p/label.yaml", LABEL),
        ("p/failing.yaml", FAILING),
        ("in.yaml", &format!("{SECRET}---\n{MAP}")),
    ]);
    let expected = format!("{SECRET}---\n{LABELLED}");
    folder.run(&["mutate", "-p", "p", "-f", "in.yaml"]).is(
        3,
        &expected,
        &[
            "error[KYV301]: p/failing.yaml:16:20: failing/fail: ",
            "\n16 |             a: \"{{ request.object.data.nothing }}\"\n   |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^\n  on Secret/secret (in.yaml:1)\n",
            "2 objects, 1 changed by 1 rule, 1 with errors\n",
        ],
    );
}

#[test]
fn the_most_severe_exit_code_wins() {
    let folder = Folder::new(&[
        ("label.yaml", LABEL),
        ("failing.yaml", FAILING),
        ("map.yaml", MAP),
        ("labelled.yaml", LABELLED),
        ("secret.yaml", SECRET),
        ("bad.yaml", "]"),
    ]);
    let diff = |files| folder.run(&["diff", "-p", "label.yaml", "-p", "failing.yaml", "-f", files]).code;
    assert_eq!(diff("labelled.yaml"), Some(0));
    assert_eq!(diff("map.yaml"), Some(1));
    assert_eq!(diff("map.yaml,secret.yaml"), Some(3));
    assert_eq!(diff("map.yaml,secret.yaml,bad.yaml"), Some(2));
    for usage in [&[][..], &["mutate"], &["diff", "--nope"], &["nope"]] {
        folder.run(usage).is(2, "", &["Usage:"]);
    }
}

#[test]
fn usage_error_without_objects_lists_every_input_flag() {
    let folder = Folder::new(&[("label.yaml", LABEL)]);
    let words = "error[KYV007]: no objects: pass manifests with -f or -k, or select live objects with TYPE [NAME], or with -A, -n, -l or --field-selector for all kinds that the policies can match\n";
    for more in [&[][..], &["--live"], &["--context", "x"], &["--cluster-policies"]] {
        for command in ["diff", "mutate", "explain"] {
            let run = folder.run(&[&[command, "-p", "label.yaml"], more].concat());
            assert_eq!((run.code, &*run.stdout, &*run.stderr), (Some(2), "", words), "{command} {more:?}");
        }
    }
}

#[test]
fn list_items_are_evaluated_separately() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n- apiVersion: v1\n  kind: ConfigMap\n\
                \x20 metadata:\n    name: in-list\n";
    let typed =
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMapList\",\"items\":[{\"metadata\":{\"name\":\"typed\"}}]}";
    let folder = Folder::new(&[("policy.yaml", LABEL), ("in.yaml", &format!("{list}---\n{typed}\n"))]);
    let expected = format!(
        "{}---\n{}\n",
        list.replace("name: in-list\n", "name: in-list\n    labels:\n      a: b\n"),
        typed.replace("\"typed\"", "\"typed\",\"labels\":{\"a\":\"b\"}")
    );
    let ended = folder.run(&["mutate", "-p", "policy.yaml", "-f", "in.yaml"]);
    ended.is(0, &expected, &["3 objects, 2 changed"]);
    let diff = folder.run(&["diff", "-p", "policy.yaml", "-f", "in.yaml"]).stdout;
    assert!(diff.contains("@@ ConfigMap/in-list; ConfigMap/typed\n"), "{diff}");
}

#[test]
fn in_place_rewrites_files() {
    let folder = Folder::new(&[
        ("policy.yaml", LABEL),
        ("in/a.yaml", &format!("# lead\n---\n{MAP}---\n{SERVICE}")),
        ("in/b.yaml", SERVICE),
    ]);
    let before = fs::metadata(folder.path().join("in/b.yaml")).unwrap().modified().unwrap();
    let run = || folder.run(&["mutate", "-p", "policy.yaml", "-f", "in", "-i"]);
    let check = || folder.run(&["mutate", "-p", "policy.yaml", "-f", "in", "--check"]);
    check().is(1, "", &["in/a.yaml: 1 object would change\n"]);
    assert_eq!(folder.read("in/a.yaml"), format!("# lead\n---\n{MAP}---\n{SERVICE}"));
    run().is(0, "", &["in/a.yaml: 1 object changed\n", "3 objects, 1 changed by 1 rule\n"]);
    assert_eq!(folder.read("in/a.yaml"), format!("# lead\n---\n{LABELLED}---\n{SERVICE}"));
    assert_eq!(folder.read("in/b.yaml"), SERVICE);
    assert_eq!(fs::metadata(folder.path().join("in/b.yaml")).unwrap().modified().unwrap(), before);
    run().is(0, "", &["3 objects, 0 changed\n"]);
    check().is(0, "", &["3 objects, 0 would change\n"]);
}

#[test]
fn a_check_with_a_format_is_answered_with_diff() {
    let folder = Folder::new(&[("policy.yaml", LABEL), ("map.yaml", MAP)]);
    let run = folder.run(&["mutate", "-p", "policy.yaml", "-f", "map.yaml", "--check", "-o", "diff"]);
    run.is(2, "", &["error[KYV004]: ", "'--check'", "tip: `kubectl kyv diff` prints what would change"]);
}

#[test]
fn in_place_keeps_comments_and_untouched_documents() {
    let map = "# lead\napiVersion:   v1 # odd\nkind: 'ConfigMap'\nmetadata:\n    name: \"one\"  # named\n\ndata: {a: 'b'}";
    let folder = Folder::new(&[
        ("policy.yaml", LABEL),
        ("map.yaml", map),
        ("crlf.yaml", &map.replace('\n', "\r\n")),
        (
            "map.json",
            "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"one\"}\n}",
        ),
    ]);
    let files = ["-f", "map.yaml", "-f", "crlf.yaml", "-f", "map.json"];
    folder.run(&[&["mutate", "-i", "-p", "policy.yaml"], &files[..]].concat()).is(0, "", &["3 changed"]);
    for (name, text) in [("map.yaml", map.to_owned()), ("crlf.yaml", map.replace('\n', "\r\n"))] {
        let edited = folder.read(name);
        let diff = similar::TextDiff::from_lines(&text, &edited);
        let gone = diff.iter_all_changes().filter(|change| change.tag() == similar::ChangeTag::Delete);
        assert_eq!(gone.count(), 0, "{name}: {edited}");
        assert!(edited.contains("    labels:") && edited.ends_with("data: {a: 'b'}"), "{name}: {edited}");
        assert_eq!(edited.matches('\n').count() == edited.matches("\r\n").count(), name == "crlf.yaml");
    }
    assert!(folder.read("map.json").starts_with("{\n\t\"apiVersion\": \"v1\",\n"));
    let canonical = ["mutate", "-p", "policy.yaml", "-f", "map.yaml", "--canonical"];
    folder.run(&canonical[..]).is(0, &folder.read("map.yaml"), &["0 changed"]);
}

#[test]
fn in_place_writes_nothing_after_an_error() {
    let folder = Folder::new(&[
        ("p/label.yaml", LABEL),
        ("p/failing.yaml", FAILING),
        ("map.yaml", MAP),
        ("secret.yaml", SECRET),
        ("bad.yaml", "]"),
    ]);
    let run = |more: &[&str]| folder.run(&[&["mutate", "-i", "-p", "p", "-f", "map.yaml"], more].concat());
    run(&["-f", "secret.yaml"]).is(
        3,
        "",
        &["nothing was written because of these errors; --keep-going would write 1 file"],
    );
    run(&["-f", "bad.yaml"]).is(2, "", &["bad.yaml:1:1", "nothing was written because of these errors"]);
    let all_failed = run(&["-f", "secret.yaml"]);
    assert!(all_failed.stderr.contains("2 objects, 1 would be changed by 1 rule"), "{}", all_failed.stderr);
    assert_eq!(folder.read("map.yaml"), MAP);
    run(&["-f", "bad.yaml", "--keep-going"]).is(2, "", &["bad.yaml:1:1", "map.yaml: 1 object changed"]);
    assert_eq!((folder.read("map.yaml"), folder.read("bad.yaml")), (LABELLED.to_owned(), "]".to_owned()));
    folder.write("map.yaml", MAP);
    run(&["-f", "secret.yaml", "--keep-going"]).is(3, "", &["map.yaml: 1 object changed"]);
    assert_eq!(folder.read("map.yaml"), LABELLED);
}

#[cfg(unix)]
#[test]
fn in_place_edits_a_linked_file_once() {
    let folder = Folder::new(&[("policy.yaml", LABEL), ("in/map.yaml", MAP)]);
    std::os::unix::fs::symlink("map.yaml", folder.path().join("in/other.yaml")).unwrap();
    let run = |more: &[&str]| {
        folder.write("in/map.yaml", MAP);
        folder.run(&[&["mutate", "-i", "-p", "policy.yaml", "-f", "in/map.yaml"], more].concat())
    };
    for (more, name) in
        [(&["-f", "in/map.yaml"][..], "in/map.yaml"), (&["-f", "in/other.yaml"], "in/other.yaml")]
    {
        let said = format!("note[KYV005]: passed more than once, edited once: {name}\n");
        run(more).is(0, "", &["in/map.yaml: 1 object changed\n", "1 object, 1 changed by 1 rule", &said]);
        assert_eq!(folder.read("in/map.yaml"), LABELLED);
        run(&[more, &["--check"]].concat()).is(1, "", &["in/map.yaml: 1 object would change\n", &said]);
    }
}

#[test]
fn in_place_refuses_other_inputs_than_files() {
    let folder = Folder::new(&[("policy.yaml", LABEL)]);
    let run = |arguments: &[&str]| {
        folder.run_with(&[&["mutate", "-i", "-p", "policy.yaml"], arguments].concat(), MAP)
    };
    run(&["-f", "-"]).is(2, "", &["-i and --check are for files"]);
    run(&["-k", "."]).is(2, "", &["cannot be used with"]);
    run(&["-f", "policy.yaml", "-o", "json"]).is(2, "", &["cannot be used with"]);
}

#[test]
fn broken_pipe_is_no_error() {
    let many: String = (0..5000).map(|number| format!("{MAP}  number: \"{number}\"\n---\n")).collect();
    let folder = Folder::new(&[("policy.yaml", LABEL), ("in.yaml", &many)]);
    let mut child = folder.command(&["mutate", "-p", "policy.yaml", "-f", "in.yaml"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(!stderr.contains("error") && !stderr.contains("panicked"), "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_an_error() {
    let folder = Folder::new(&[("policy.yaml", LABEL), ("map.yaml", MAP)]);
    let mut command = folder.command(&["mutate", "-p", "policy.yaml", "-f", "map.yaml"]);
    command.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
    let ended = end(command, "");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("error[KYV008]: the result cannot be written: "), "{}", ended.stderr);
}

#[test]
fn output_does_not_depend_on_thread_count() {
    let many: String = (0..3000)
        .map(|number| match number % 3 {
            0 => format!("---\n{SERVICE}"),
            1 => format!("---\n{}", MAP.replace("name: map", &format!("name: map-{number}"))),
            _ => format!("---\n{}", SECRET.replace("name: secret", &format!("name: secret-{number}"))),
        })
        .collect();
    let folder = Folder::new(&[("p/label.yaml", LABEL), ("p/failing.yaml", FAILING), ("in.yaml", &many)]);
    for output in ["yaml", "json", "diff", "patch"] {
        let run =
            |workers| folder.run(&["mutate", "-p", "p", "-f", "in.yaml", "-o", output, "--workers", workers]);
        let (one, four) = (run("1"), run("4"));
        assert_eq!(one.code, Some(3));
        assert!(one.stdout == four.stdout, "{output}");
        assert!(one.stderr == four.stderr, "{output}");
    }
}

#[test]
fn strict_fails_for_skipped_documents() {
    let with_validate = LABEL.to_owned()
        + "  - name: check
    match:
      any:
      - resources:
          kinds: [ConfigMap]
    validate:
      message: no
      pattern:
        metadata:
          name: \"?*\"
";
    let folder = Folder::new(&[
        ("label.yaml", LABEL),
        ("both.yaml", &with_validate),
        ("map.yaml", MAP),
        ("service.yaml", SERVICE),
        ("odd.yaml", "a: 1\n"),
    ]);
    let run = |policy, file| {
        let lenient = folder.run(&["mutate", "-p", policy, "-f", file]);
        let strict = folder.run(&["mutate", "-p", policy, "-f", file, "--strict", "-q"]);
        assert_eq!((lenient.code, &lenient.stdout), (Some(0), &strict.stdout), "{}", lenient.stderr);
        (strict.code, lenient.stderr, strict.stderr)
    };
    assert_eq!(run("label.yaml", "map.yaml").0, Some(0));
    // A set of policies need not fit the manifests.
    let (code, lenient, strict) = run("label.yaml", "service.yaml");
    assert!(
        code == Some(0) && lenient.contains("1 rule selected no object") && strict.is_empty(),
        "{strict}"
    );
    // Nor need its rules mutate.
    let (code, lenient, strict) = run("both.yaml", "map.yaml");
    assert!(code == Some(0) && lenient.contains("1 validate rule ignored") && strict.is_empty(), "{strict}");
    let (code, lenient, strict) = run("label.yaml", "map.yaml,odd.yaml");
    let named = "1 document without apiVersion or kind";
    assert_eq!(code, Some(3), "{strict}");
    assert!(lenient.contains("note[") && lenient.contains(named), "{lenient}");
    assert!(strict.contains("error[") && strict.contains(named), "{strict}");
}

#[test]
fn what_is_not_evaluated_is_reported() {
    let planned = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: later}\nspec:\n  \
    rules: [{name: r, match: {any: [{resources: {kinds: [Secret]}}]}, mutate: {overlay: {metadata: {labels: {a: b}}}}}]\n";
    let other = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: ns}\n";
    let folder = Folder::new(&[
        ("p/label.yaml", LABEL),
        ("p/planned.yaml", planned),
        ("p/other.yaml", other),
        ("p/pod.yaml", "apiVersion: v1\nkind: Pod\n"),
        ("map.yaml", MAP),
    ]);
    folder.run(&["mutate", "--semantics", "kyverno", "-p", "p", "-f", "map.yaml"]).is(
        3,
        LABELLED,
        &[
            "error[KYV223]: p/planned.yaml:1: later/r: not evaluated: mutate rule with `overlay` or `patches`",
            "note[KYV228]: p/other.yaml:1: PolicyException ns/e is not evaluated here: pass exceptions with `--exceptions`\n",
            "note[KYV225]: 1 document in 1 file beside the policies ignored\n",
        ],
    );
    folder.run(&["mutate", "-p", "p/pod.yaml", "-f", "map.yaml"]).is(2, "", &["p/pod.yaml: no policy found"]);
}

#[test]
fn check_idempotent_reports_changes_of_a_second_run() {
    let growing = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: growing
spec:
  rules:
  - name: grow
    match:
      any:
      - resources:
          kinds: [ConfigMap]
    mutate:
      patchStrategicMerge:
        data:
          text: \"{{ request.object.data.text }}x\"
";
    let folder = Folder::new(&[
        ("growing.yaml", growing),
        ("label.yaml", LABEL),
        ("map.yaml", &format!("{MAP}data:\n  text: a\n")),
    ]);
    let run = |more: &[&str]| {
        let fixed =
            ["mutate", "-p", "label.yaml", "-p", "growing.yaml", "-f", "map.yaml", "--check-idempotent"];
        folder.run(&[&fixed, more].concat())
    };
    let expected = format!("{LABELLED}data:\n  text: ax\n").replace("  labels:\n    a: b\n", "@@@");
    let expected = expected.replace("@@@", "  labels:\n    a: b\n");
    let noted = "map.yaml:1: ConfigMap/map: growing/grow: a second run would change data.text";
    run(&[]).is(0, &expected, &[&format!("note[KYV802]: {noted}\n")]);
    run(&["--strict"]).is(3, &expected, &[&format!("error[KYV802]: {noted} (--strict)\n")]);
}

#[test]
fn value_arguments_are_validated() {
    let folder = Folder::new(&[("policy.yaml", LABEL), ("map.yaml", MAP)]);
    let run =
        |more: &[&str]| folder.run(&[&["mutate", "-p", "policy.yaml", "-f", "map.yaml"], more].concat());
    run(&["--set", "a"]).is(2, "", &["NAME=VALUE"]);
    run(&["--set", "a=1,a=2"]).is(2, "", &["--set: a is set twice"]);
    run(&["--set", "request.object.metadata.name=x"]).is(2, "", &["request.object"]);
    run(&["--limit", "depth=1"]).is(2, "", &["no limit is called `depth`; there are yaml-depth"]);
    run(&["--limit", "yaml-depth=1"]).is(2, "", &["yaml-depth"]);
    run(&["--operation", "PATCH"]).is(2, "", &["expected one of CREATE, UPDATE, DELETE, CONNECT"]);
    run(&["--now", "yesterday"]).is(2, "", &["--now"]);
    run(&["--now", "2026-01-31T12:00:00Z", "--seed", "7", "--operation", "update"]).is(0, LABELLED, &[]);
    run(&["-f", "https://example.com/a.yaml"]).is(2, "", &["URLs are not read"]);
}

#[cfg(unix)]
#[test]
fn kustomizations_are_built_with_kubectl_from_path() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new(&[("policy.yaml", LABEL), ("overlay/kustomization.yaml", ""), ("other/a", "")]);
    let program = |name: &str, script: &str| {
        let path = folder.path().join(name);
        write(&path, &format!("#!/bin/sh\n{script}"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let print = format!("echo built \"$@\" >&2\nprintf '%s' '{MAP}'\n");
    let run = |path: &str, kubectl: Option<&Path>| {
        let mut command = folder.command(&["mutate", "-p", "policy.yaml", "-k", "overlay", "-k", "other"]);
        command.env("PATH", folder.path().join(path));
        command.envs(kubectl.map(|kubectl| ("KUBECTL_PATH", kubectl)));
        end(command, "")
    };
    run("nothing", None).is(2, "", &["error[KYV706]: overlay: a kustomization needs", "kubectl, kustomize"]);
    program("one/kustomize", &print);
    let both = format!("{LABELLED}---\n{LABELLED}");
    run("one", None).is(0, &both, &["built build ./overlay", "built build ./other"]);
    program("two/kubectl", &print);
    run("two", None).is(0, &both, &["built kustomize ./overlay", "built kustomize ./other"]);
    let failing = program("three/kubectl", "echo reason >&2; exit 5\n");
    run("two", Some(&failing)).is(2, "", &["reason", "three/kubectl kustomize` failed: exit status: 5"]);
}

#[test]
fn namespaces_in_later_inputs_are_used() {
    let policy = LABEL.replace(
        "kinds: [ConfigMap]",
        "kinds: [ConfigMap]\n          namespaceSelector: {matchLabels: {tier: gold}}",
    );
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod, labels: {tier: gold}}\n";
    let values = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nnamespaceSelector:\n- name: prod\n  labels: {tier: tin}\n";
    let map = |labels| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n  namespace: prod\n{labels}")
    };
    let folder = Folder::new(&[
        ("policy.yaml", &policy),
        ("in.yaml", &format!("{}---\n{namespace}", map(""))),
        ("values.yaml", values),
    ]);
    let labelled = format!("{}---\n{namespace}", map("  labels:\n    a: b\n"));
    folder.run(&["mutate", "-p", "policy.yaml", "-f", "in.yaml"]).is(0, &labelled, &[]);
    let ended = folder.run(&["mutate", "-p", "policy.yaml", "-f", "in.yaml", "--values", "values.yaml"]);
    ended.is(0, &format!("{}---\n{namespace}", map("")), &["selected no object"]);
}

#[test]
fn request_flags_reach_the_policies() {
    let policy = |match_more: &str| {
        format!(
            "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: request
spec:
  background: false
  rules:
  - name: tell
    match:
      any:
      - resources:
          kinds: [ConfigMap, Widget]{match_more}
    mutate:
      patchStrategicMerge:
        data:
          who: \"{{{{ request.userInfo.username }}}}\"
          old: \"{{{{ request.oldObject.data.text || 'none' }}}}\"
          operation: \"{{{{ request.operation }}}}\"
          namespace: \"{{{{ request.namespace || 'none' }}}}\"
"
        )
    };
    let widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\n";
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n\
               spec:\n  group: example.com\n  scope: Cluster\n  names: {kind: Widget, plural: widgets}\n  versions:\n  - name: v1\n";
    let folder = Folder::new(&[
        ("policy.yaml", &policy("")),
        ("roles.yaml", &policy("\n        clusterRoles: [admin]")),
        ("map.yaml", MAP),
        ("widget.yaml", widget),
        ("old.yaml", &format!("{MAP}data: {{text: before}}\n")),
        ("others.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"),
        (
            "user.yaml",
            "apiVersion: cli.kyverno.io/v1alpha1\nkind: UserInfo\nclusterRoles: [view]\nuserInfo: {username: alice}\n",
        ),
        (
            "values.yaml",
            "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nglobalValues: {request.userInfo.username: bob}\n",
        ),
        ("crd.yaml", crd),
    ]);
    let data = |who: &str, old: &str, operation: &str, namespace: &str| {
        format!("data:\n  who: {who}\n  old: {old}\n  operation: {operation}\n  namespace: {namespace}\n")
    };
    let run = |arguments: &[&str]| folder.run(&[&["mutate"], arguments].concat());
    let known = ["-p", "policy.yaml", "-f", "map.yaml", "--userinfo", "user.yaml"];
    let mutated = |data: String| format!("{MAP}{data}");
    run(&known).is(0, &mutated(data("alice", "none", "CREATE", "default")), &[]);
    run(&[&known[..], &["--old", "old.yaml", "-n", "shop"]].concat()).is(
        0,
        &mutated(data("alice", "before", "UPDATE", "shop")),
        &[],
    );
    // What is not stored is new, whatever else is; and what is stored in vain is named.
    run(&[&known[..], &["--old", "others.yaml"]].concat()).is(
        0,
        &mutated(data("alice", "none", "CREATE", "default")),
        &["note[KYV409]: --old: ConfigMap/other is the stored state of no object of this run"],
    );
    let values = ["-p", "policy.yaml", "-f", "map.yaml", "--values", "values.yaml"];
    run(&values).is(0, &mutated(data("bob", "none", "CREATE", "default")), &[]);
    run(&[&values[..], &["--set", "request.userInfo.username=eve"]].concat()).is(
        0,
        &mutated(data("eve", "none", "CREATE", "default")),
        &[],
    );
    run(&["-p", "roles.yaml", "-f", "map.yaml", "--userinfo", "user.yaml"]).is(
        0,
        MAP,
        &["selected no object"],
    );
    let widget = |namespace| format!("{widget}{}", data("alice", "none", "CREATE", namespace));
    let known = ["-p", "policy.yaml", "-f", "widget.yaml", "--userinfo", "user.yaml"];
    run(&known).is(0, &widget("default"), &[]);
    run(&[&known[..], &["--crds", "crd.yaml"]].concat()).is(0, &widget("none"), &[]);
    run(&[&known[..], &["--crds", "map.yaml"]].concat()).is(
        2,
        "",
        &["map.yaml: no document of kind CustomRes"],
    );
    run(&["-p", "policy.yaml", "-f", "map.yaml", "--userinfo", "values.yaml"]).is(
        2,
        "",
        &["values.yaml:2:1: kind: expected a document of kind UserInfo, found \"Values\""],
    );
}

#[test]
fn a_100_megabyte_scalar_is_read_and_printed() {
    let folder = Folder::new(&[("policy.yaml", LABEL)]);
    let text = "x".repeat(100 << 20);
    for (kind, label) in [("Widget", ""), ("ConfigMap", "  labels:\n    a: b\n")] {
        let head = format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: big\n");
        let input = format!("{head}data:\n  text: {text}\n");
        let ended = folder.run_with(&["mutate", "-p", "policy.yaml", "-f", "-"], &input);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let expected = format!("{head}{label}data:\n  text: {text}\n");
        assert!(ended.stdout == expected, "{kind}: {} bytes came out", ended.stdout.len());
    }
}

#[test]
fn an_expression_nested_10_000_deep_is_an_error() {
    let deep = format!("{}a{}", "(".repeat(10_000), ")".repeat(10_000));
    for expression in [deep, "!".repeat(10_000) + "a", "[".repeat(10_000), "abs(".repeat(10_000)] {
        let policy = LABEL.replace("a: b", &format!("a: \"{{{{ {expression} }}}}\""));
        let folder = Folder::new(&[("policy.yaml", &*policy), ("map.yaml", MAP)]);
        let ended = folder.run(&["mutate", "-p", "policy.yaml", "-f", "map.yaml"]);
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{}", ended.stderr);
        assert!(ended.stderr.starts_with("error[KYV218]: policy.yaml:"), "{}", ended.stderr);
    }
}

#[test]
fn foreach_over_long_lists_stops_at_the_limit() {
    let policy = |looped: &str| {
        format!(
            "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: long}}
spec:
  rules:
  - name: each
    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}
    mutate:
      foreach:
      - list: request.object.list
{looped}
"
        )
    };
    let patch = "patchStrategicMerge: {metadata: {labels: {hit: \"yes\"}}}";
    let nested = format!("        foreach:\n        - list: request.object.list\n          {patch}");
    let growing = format!(
        "        patchStrategicMerge: {{data: {{\"k{{{{ elementIndex }}}}\": \"{}{{{{ element }}}}\"}}}}",
        "x".repeat(100_000)
    );
    let folder = Folder::new(&[
        ("flat.yaml", &policy(&format!("        {patch}"))),
        ("nested.yaml", &policy(&nested)),
        ("growing.yaml", &policy(&growing)),
    ]);
    for (name, elements, limit) in [
        ("flat", 1_000_000, "limit foreach-iterations=100000"),
        ("nested", 70_000, "limit foreach-iterations=100000"),
        ("growing", 70_000, "the limit `steps` of 1000000"),
    ] {
        let list: Vec<String> = (0..elements).map(|index| format!("\"{index}\"")).collect();
        let object = format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"a\"}},\"list\":[{}]}}\n",
            list.join(",")
        );
        write(&folder.path().join("map.json"), &object);
        let policy = format!("{name}.yaml");
        let ended = folder.run(&["mutate", "-p", &policy, "-f", "map.json", "--view", "written"]);
        ended.is(3, &object, &[limit]);
    }
}

const LABEL_SECRETS: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: copy}
spec:
  rules:
  - name: rule
    match: {any: [{resources: {kinds: [Secret]}}]}
    mutate:
      targets: [{apiVersion: v1, kind: ConfigMap, namespace: default, name: target}]
      patchStrategicMerge: {data: {copied: '{{ request.object.data.key }}'}}
";

#[test]
fn in_place_edits_files_of_targets() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("p.yaml", LABEL_SECRETS);
    write("a.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: trigger}\ndata: {key: aHVudGVyMg==}\n");
    let other = "# stays\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n---\n";
    write("t.yaml", &format!("{other}apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: target}}\n"));
    let arguments = ["-p", "p.yaml", "-f", "a.yaml", "--targets", "t.yaml", "--semantics", "kyverno"];
    let run = |command: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
            .args(command)
            .args(arguments)
            .current_dir(folder.path())
            .env_clear()
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    for command in
        [&["diff", "--annotate"][..], &["diff", "-o", "json"], &["explain"], &["explain", "-o", "json"]]
    {
        let (_, stdout, stderr) = run(command);
        assert!(stdout.contains("Secret/trigger") || stdout.contains("\"trigger\""), "{command:?}: {stdout}");
        for shown in [&stdout, &stderr] {
            assert!(!shown.contains("aHVudGVyMg==") && !shown.contains("hunter2"), "{command:?}: {shown}");
        }
    }
    let (code, stdout, stderr) = run(&["mutate", "-i"]);
    assert_eq!((code, &*stdout), (Some(0), ""), "{stderr}");
    let target = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: target}\ndata:\n  copied: aHVudGVyMg==\n";
    assert_eq!(fs::read_to_string(folder.path().join("t.yaml")).unwrap(), format!("{other}{target}"));
}

#[test]
fn messages_name_the_inputs_of_the_command() {
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: ask}\nspec:\n  rules:\n  - name: ask\n    \
                  match: {any: [{resources: {kinds: [Pod]}}]}\n    context:\n    - name: teams\n      \
                  configMap: {name: teams, namespace: shop}\n    mutate:\n      patchStrategicMerge:\n        \
                  metadata: {annotations: {team: \"{{ teams.data.web }}\"}}\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {containers: [{name: a, image: b}]}\n";
    let suite = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: ask}\npolicies: [policy.yaml]\n\
                 resources: [pod.yaml]\nresults:\n- {policy: ask, rule: ask, kind: Pod, resources: [web], result: pass}\n";
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  apiVersion: kyv.dev/v1alpha1\n  \
                kind: Kyv\n  metadata: {name: ask}\n  spec: {policies: [policy.yaml]}\nitems:\n- apiVersion: v1\n  kind: Pod\n  \
                metadata: {name: web, namespace: shop}\n  spec: {containers: [{name: a, image: b}]}\n";
    let folder = Folder::new(&[("policy.yaml", policy), ("pod.yaml", pod), ("kyverno-test.yaml", suite)]);
    let flags = folder.run(&["mutate", "-p", "policy.yaml", "-f", "pod.yaml"]);
    assert!(flags.stderr.contains("pass the object with `--context-from PATH`"), "{}", flags.stderr);
    let function = folder.run_with(&["fn"], list);
    assert!(
        function.stderr.contains("pass the object with `contextFrom`, or the entry with `values`"),
        "{}",
        function.stderr
    );
    let suite = folder.run(&["test", "--detailed-results"]);
    assert!(suite.stdout.contains("`context` of the suite, or the entry with"), "{}", suite.stdout);
    for said in [&function.stderr, &suite.stdout] {
        assert!(!said.contains("--"), "{said}");
    }
}
