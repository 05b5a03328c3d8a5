//! Diagnostics on standard error in groups, so that they do not grow with objects and policies.

use std::fmt::Write as _;

use crate::commands::{LABEL, MAP};
use crate::folder::{Folder, RunOutput};

/// A rule that fails on every Secret, with the same message or one with the name of the object.
fn failing(text: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: failing}}
spec:
  rules:
  - name: fail
    match: {{any: [{{resources: {{kinds: [Secret]}}}}]}}
    mutate: {{patchStrategicMerge: {{metadata: {{labels: {{a: \"{text}\"}}}}}}}}
"
    )
}

const SAME_MESSAGE: &str = "{{ request.object.data.nothing }}";
const OWN_MESSAGE: &str = "{{ time_parse('2006-01-02', request.object.metadata.name) }}";

/// Secrets with names that begin with `s`.
fn secrets(number: usize) -> String {
    let mut text = String::new();
    for index in 0..number {
        let _ = writeln!(
            text,
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s{index}, namespace: shop}}"
        );
    }
    text
}

/// A policy with rules of these types, none of which mutates.
fn ignored(name: &str, types: &[&str]) -> String {
    let head = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n"
    );
    let rule = |(index, body): (usize, &&str)| {
        format!(
            "  - name: r{index}\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n    {body}\n"
        )
    };
    head + &types.iter().enumerate().map(rule).collect::<String>()
}

const VALIDATE: &str = "validate: {message: no, pattern: {metadata: {name: '?*'}}}";
const GENERATE: &str = "generate: {apiVersion: v1, kind: ConfigMap, name: x, namespace: y, data: {}}";

fn planned(name: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  \
         rules: [{{name: r, match: {{any: [{{resources: {{kinds: [Secret]}}}}]}}, mutate: {{overlay: {{metadata: {{labels: {{a: b}}}}}}}}}}]\n"
    )
}

fn lines<'a>(run: &'a RunOutput, part: &str) -> Vec<&'a str> {
    run.stderr.lines().filter(|line| line.contains(part)).collect()
}

#[test]
fn rules_that_are_not_for_mutation_are_one_line() {
    let validating = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: cel}\n";
    let folder = Folder::new(&[
        ("p/label.yaml", LABEL),
        ("p/a.yaml", &ignored("a", &[VALIDATE, GENERATE])),
        ("p/b.yaml", &ignored("b", &[VALIDATE])),
        ("p/cel.yaml", validating),
        ("map.yaml", MAP),
    ]);
    let run = folder.run(&["diff", "-p", "p", "-f", "map.yaml"]);
    assert_eq!(
        lines(&run, "note["),
        ["note[KYV224]: 2 validate rules, 1 generate rule, 1 ValidatingPolicy ignored"],
        "{}",
        run.stderr
    );
    let run = folder.run(&["diff", "-p", "p", "-f", "map.yaml", "--verbose"]);
    assert_eq!(
        lines(&run, "note["),
        [
            "note[KYV224]: p/cel.yaml:1: ValidatingPolicy cel is not evaluated",
            "note[KYV224]: p/a.yaml:1: a/r0: not evaluated: validate rule",
            "note[KYV224]: p/a.yaml:1: a/r1: not evaluated: generate rule",
            "note[KYV224]: p/b.yaml:1: b/r0: not evaluated: validate rule",
        ],
        "{}",
        run.stderr
    );
    let run = folder.run(&["diff", "-p", "p", "-f", "map.yaml", "--strict"]);
    assert_eq!((run.code, lines(&run, "ignored (--strict)").len()), (Some(1), 0), "{}", run.stderr);
    folder.run(&["diff", "-p", "p", "-f", "map.yaml", "-v", "-q"]).is(2, "", &["cannot be used with"]);
}

#[test]
fn policies_that_are_not_evaluated_are_one_line() {
    let names: Vec<String> = (0..5).map(|index| format!("p/m{index}.yaml")).collect();
    let texts: Vec<String> = (0..5).map(|index| planned(&format!("m{index}"))).collect();
    let mut files: Vec<(&str, &str)> =
        names.iter().map(|name| &**name).zip(texts.iter().map(|text| &**text)).collect();
    files.extend([("p/label.yaml", LABEL), ("map.yaml", MAP)]);
    let folder = Folder::new(&files);
    let arguments = ["diff", "--semantics", "kyverno", "-p", "p", "-f", "map.yaml"];
    let run = folder.run(&arguments);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let group = "error[KYV223]: not evaluated in 5 policies: mutate rule with `overlay` or `patches`: m0/r (p/m0.yaml:1), \
                 m1/r (p/m1.yaml:1), m2/r (p/m2.yaml:1) and 2 more";
    assert_eq!(lines(&run, "error[KYV223]"), [group]);
    let run = folder.run(&[&arguments[..], &["-v"]].concat());
    assert_eq!((run.code, lines(&run, "error[KYV223]").len()), (Some(3), 5), "{}", run.stderr);
}

#[test]
fn errors_of_a_rule_with_one_cause_are_one_line() {
    let folder = Folder::new(&[("failing.yaml", &failing(SAME_MESSAGE)), ("in.yaml", &secrets(1200))]);
    let run = folder.run(&["diff", "-p", "failing.yaml", "-f", "in.yaml"]);
    let errors = lines(&run, "error[");
    assert_eq!((run.code, errors.len()), (Some(3), 1), "{}", run.stderr);
    assert!(
        errors[0].starts_with("error[KYV301]: failing.yaml:8:63: failing/fail: no value for `"),
        "{errors:?}"
    );
    assert_eq!(lines(&run, "  on "), ["  on 1,200 objects, first: Secret/shop/s0 (in.yaml:2)"]);
    let run = folder.run(&["diff", "-p", "failing.yaml", "-f", "in.yaml", "--verbose"]);
    let objects = lines(&run, "  on ");
    assert_eq!((run.code, lines(&run, "error[").len(), objects.len()), (Some(3), 1200, 1200));
    assert_eq!(objects[1199], "  on Secret/shop/s1199 (in.yaml:4798)");
}

#[test]
fn errors_of_a_rule_with_many_causes_are_bounded() {
    let folder = Folder::new(&[
        ("failing.yaml", &failing(OWN_MESSAGE)),
        ("few.yaml", &secrets(3)),
        ("in.yaml", &secrets(50)),
    ]);
    let run = folder.run(&["diff", "-p", "failing.yaml", "-f", "few.yaml"]);
    assert_eq!(lines(&run, "  on Secret/shop/s").len(), 3, "{}", run.stderr);
    for more in [&["diff"][..], &["mutate", "-i"]] {
        let run = folder.run(&[more, &["-p", "failing.yaml", "-f", "in.yaml"]].concat());
        let errors = lines(&run, "failing/fail");
        assert_eq!((run.code, errors.len()), (Some(3), 4), "{}", run.stderr);
        assert!(errors[2].starts_with("error[KYV305]: failing.yaml:8:63: failing/fail: "), "{errors:?}");
        assert_eq!(lines(&run, "  on ")[2], "  on Secret/shop/s2 (in.yaml:10)");
        assert_eq!(
            errors[3],
            "error[KYV305]: failing/fail × 47 with other messages, first: Secret/shop/s3 (in.yaml:14), all with --verbose"
        );
    }
}

#[test]
fn notes_on_second_runs_are_one_line() {
    let growing = failing("{{ request.object.metadata.labels.a || '' }}x").replace("failing", "growing");
    let folder = Folder::new(&[("growing.yaml", &growing), ("in.yaml", &secrets(30))]);
    let run = |more: &[&str]| {
        let arguments = ["mutate", "-p", "growing.yaml", "-f", "in.yaml", "--check-idempotent"];
        folder.run(&[&arguments, more].concat())
    };
    let grouped =
        "growing/fail × 30, first: Secret/shop/s0 (in.yaml:2): a second run would change metadata.labels.a";
    let first = run(&[]);
    assert_eq!(lines(&first, "a second run"), [format!("note[KYV802]: {grouped}")]);
    assert_eq!(lines(&run(&["--strict"]), "a second run"), [format!("error[KYV802]: {grouped} (--strict)")]);
    let verbose = run(&["--verbose"]);
    let notes = lines(&verbose, "a second run");
    assert_eq!(notes.len(), 30);
    assert_eq!(
        notes[0],
        "note[KYV802]: in.yaml:2: Secret/shop/s0: growing/fail: a second run would change metadata.labels.a"
    );
}

#[test]
fn lines_do_not_grow_with_objects() {
    let folder = Folder::new(&[
        ("p/same.yaml", &failing(SAME_MESSAGE)),
        ("p/own.yaml", &failing(OWN_MESSAGE).replace("failing", "own")),
        (
            "p/growing.yaml",
            &failing("{{ request.object.metadata.labels.a || '' }}x").replace("failing", "growing"),
        ),
        ("p/other.yaml", &ignored("other", &[VALIDATE; 30])),
        ("few.yaml", &secrets(20)),
        ("many.yaml", &secrets(2000)),
    ]);
    for command in ["diff", "mutate"] {
        let run = |file| folder.run(&[command, "-p", "p", "-f", file, "--check-idempotent"]);
        let (few, many) = (run("few.yaml"), run("many.yaml"));
        assert_eq!((few.code, many.code), (Some(3), Some(3)));
        assert_eq!(
            few.stderr.lines().count(),
            many.stderr.lines().count(),
            "{}\n{}",
            few.stderr,
            many.stderr
        );
    }
}

/// A device in a folder would be read up to the limit, and a pipe would block.
#[cfg(unix)]
#[test]
fn folders_have_regular_files_only() {
    let folder = Folder::new(&[("p/label.yaml", LABEL), ("m/map.yaml", MAP)]);
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("m/zero.yaml")).unwrap();
    for arguments in [["diff", "-p", "p", "-f", "m"], ["diff", "-p", "m", "-f", "p"]] {
        let ended = folder.run(&arguments);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("m/zero.yaml: cannot be read: it is no regular file"),
            "{}",
            ended.stderr
        );
    }
}

/// A report goes to places where more people look than at the log.
#[test]
fn reports_repeat_diagnostics_without_lines_of_files() {
    let folder = Folder::new(&[
        ("p/label.yaml", LABEL),
        ("m/map.yaml", MAP),
        ("m/secret.yaml", "kind: Secret\nstringData: {pw: hunter2: x}\n"),
    ]);
    for format in ["markdown", "json"] {
        let ended = folder.run(&["diff", "-q", "-p", "p", "-f", "m", "-o", format]);
        assert!(ended.stderr.contains("hunter2") && !ended.stdout.contains("hunter2"), "{}", ended.stdout);
        assert!(ended.stdout.contains("secret.yaml:2:"), "{}", ended.stdout);
    }
    let strict = folder.run(&["diff", "--strict", "-p", "p", "-f", "m/map.yaml", "-o", "json"]);
    assert!(strict.stdout.contains("\"diagnostics\": []"), "{}", strict.stdout);
}

#[test]
fn unreadable_files_are_grouped_by_cause() {
    let folder = Folder::new(&[("policy.yaml", LABEL), ("in/map.yaml", MAP)]);
    for number in 0..40 {
        folder.write(&format!("in/bad{number:02}.yaml"), "a: b\n c: d\n");
    }
    for command in ["diff", "mutate"] {
        let run = |flags: &[&str]| folder.run(&[&[command, "-p", "policy.yaml", "-f", "in"], flags].concat());
        let RunOutput { code, stderr, .. } = run(&[]);
        assert_eq!(code, Some(2), "{stderr}");
        let further = "the same in 39 more: in/bad01.yaml, in/bad02.yaml, in/bad03.yaml, in/bad04.yaml, in/bad05.yaml and 34 more\n";
        assert!(stderr.contains("in/bad00.yaml:2:") && stderr.contains(further), "{stderr}");
        assert!(stderr.lines().count() < 12, "{stderr}");
        assert_eq!(run(&["--verbose"]).stderr.matches("error[KYV107]").count(), 40);
    }
}
