//! Diffs of files: real line numbers, and Git and `patch` make of them byte for byte what `mutate -i` writes.
//!
//! A case of `tests/cli/diff_cases/` is a folder: `policy.yaml`, `manifests/`, `expected.diff`, further arguments in
//! `options`, one a line, and in `stderr.txt` lines that standard error must hold.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use kyv::value::Value;
use kyv::yaml::{Limits, Source, read};
use tempfile::TempDir;
use test_support::conformance_folder;

/// Adds a label, changes a value, removes another.
const POLICIES: &str = r#"apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: label}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap, Service, Secret]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: shop}}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: data}
spec:
  rules:
  - name: mode
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    preconditions: {all: [{key: "{{ request.object.data.mode || '' }}", operator: NotEquals, value: ""}]}
    mutate: {patchStrategicMerge: {data: {mode: edited}}}
  - name: gone
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    preconditions: {all: [{key: "{{ request.object.data.gone || '' }}", operator: NotEquals, value: ""}]}
    mutate: {patchStrategicMerge: {data: {gone: null}}}
"#;

fn run(program: &str, folder: &Path, arguments: &[&str], stdin: &[u8]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    command
        .env_remove("NO_COLOR")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder))
        .env("LC_ALL", "C");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let text = stdin.to_vec();
    let writer = std::thread::spawn(move || pipe.write_all(&text));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().ok();
    output
}

fn kyv(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = run(env!("CARGO_BIN_EXE_kubectl-kyv"), folder, arguments, b"");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// All files below a folder, by their paths from there.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn copied(from: &Path, to: &Path) {
    for (path, bytes) in files(from) {
        write(&to.join(path), bytes);
    }
}

/// Asserts that Git, and `patch` where there is one, make of the files below `m` by the diff what `-i` writes; gives
/// the diff and what was said.
#[track_caller]
fn applies(folder: &Path, policies: &[&str], options: &[&str]) -> (String, String) {
    let mut arguments = Vec::new();
    for policy in policies {
        arguments.extend(["-p", policy]);
    }
    arguments.extend(["-f", "m", "-R", "--now", "2026-01-01T00:00:00Z"]);
    let (code, diff, stderr) = kyv(folder, &[&["diff", "-q"], &*arguments, options].concat());
    assert!(matches!(code, Some(0 | 1 | 3)), "{stderr}");
    let copy = || {
        let copy = tempfile::tempdir().unwrap();
        copied(folder, copy.path());
        copy
    };
    let wanted = copy();
    let (code, _, errors) = kyv(wanted.path(), &[&["mutate", "-i", "--keep-going"], &*arguments].concat());
    assert!(matches!(code, Some(0 | 3)), "{errors}");
    let wanted = files(wanted.path());
    let same = |made: &Path, by: &str| {
        for (path, bytes) in files(made) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(
                text(&bytes),
                wanted.get(&path).map_or_else(String::new, |bytes| text(bytes)),
                "{}: by {by}\n{diff}",
                path.display()
            );
        }
    };
    if diff.is_empty() {
        same(folder, "nothing");
        return (diff, stderr);
    }
    let by_git = copy();
    let zero: &[&str] =
        if diff.contains("\n@@ ") && options.contains(&"0") { &["--unidiff-zero"] } else { &[] };
    let output = run("git", by_git.path(), &[&["apply", "--check"], zero].concat(), diff.as_bytes());
    assert!(output.status.success(), "{}\n{diff}", String::from_utf8_lossy(&output.stderr));
    let output = run("git", by_git.path(), &[&["apply"], zero].concat(), diff.as_bytes());
    assert!(output.status.success(), "{}\n{diff}", String::from_utf8_lossy(&output.stderr));
    same(by_git.path(), "git apply");
    if has_patch() {
        let by_patch = copy();
        let arguments = ["-p1", "-F0", "--no-backup-if-mismatch", "--binary"];
        let output = run("patch", by_patch.path(), &arguments, diff.as_bytes());
        let stderr = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !stderr.contains("offset"), "{stderr}\n{diff}");
        same(by_patch.path(), "patch");
    }
    (diff, stderr)
}

/// Whether there is a `patch`; says so if not.
fn has_patch() -> bool {
    let there = Command::new("patch").arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        writeln!(std::io::stderr(), "skipped: `patch` is not installed; `git apply` alone was tried").ok();
    }
    there
}

#[test]
fn cases_print_the_expected_diff() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/diff_cases");
    let mut cases: Vec<PathBuf> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    for case in cases {
        let name = case.file_name().unwrap().display().to_string();
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("policy.yaml"), fs::read(case.join("policy.yaml")).unwrap());
        copied(&case.join("manifests"), &folder.path().join("m"));
        let options = fs::read_to_string(case.join("options")).unwrap_or_default();
        let options: Vec<&str> = options.lines().collect();
        let arguments =
            [&["diff", "-p", "policy.yaml", "-f", "m", "-R", "--view", "written"], &*options].concat();
        let (code, diff, stderr) = kyv(folder.path(), &arguments);
        assert_eq!(code, Some(1), "{name}: {stderr}");
        assert_eq!(diff, fs::read_to_string(case.join("expected.diff")).unwrap(), "{name}: {stderr}");
        let expected = fs::read_to_string(case.join("stderr.txt")).unwrap_or_default();
        for line in expected.lines() {
            assert!(stderr.lines().any(|other| other == line), "{name}: `{line}` is not in:\n{stderr}");
        }
        if diff.contains("(masked)") || options.contains(&"always") {
            continue;
        }
        applies(folder.path(), &["policy.yaml"], &options);
    }
}

/// A `ConfigMap` with everything that the policies look for.
fn map(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  a: b # kept\n  mode: plain\n  gone: soon\n"
    )
}

#[test]
fn diffs_of_unusual_files_apply_as_in_place() {
    let long: String = (0..40).map(|number| format!("  key-{number}: value\n")).collect();
    let json =
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"},"data":{"mode":"x","gone":"y"}}"#;
    let pretty = Value::from_json(json).unwrap().to_pretty_json(2);
    let item = |name: &str| map(name).replace('\n', "\n  ").trim_end().to_owned();
    let texts: Vec<(&str, String)> = vec![
        (
            "several.yaml",
            format!("# head\n---\n{}---\n\n{}---\n# nothing\n--- # last\n{}", map("a"), map("b"), map("c")),
        ),
        ("crlf.yaml", format!("{}---\n{}", map("a"), map("b")).replace('\n', "\r\n")),
        ("bom.yaml", format!("\u{feff}{}", map("a"))),
        ("no-newline.yaml", format!("{}---\n{}", map("a"), map("b").trim_end())),
        ("no-newline-crlf.yaml", map("b").trim_end().replace('\n', "\r\n")),
        ("ends-with-metadata.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a".into()),
        ("compact.json", json.into()),
        ("pretty.json", format!("{pretty}\n")),
        ("pretty-no-newline.json", pretty),
        ("stream.json", format!("{json} {json}\n{json}{json}")),
        (
            "list.yaml",
            format!("apiVersion: v1\nkind: List\nitems:\n- {}\n# second\n- {}\n", item("a"), item("b")),
        ),
        ("far.yaml", map("a").replace("data:\n", &format!("data:\n{long}"))),
        ("flow.yaml", "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mode: x}}\n".into()),
        ("block.yaml", map("a").replace("gone: soon\n", "gone: |\n    one\n\n    two\n  mode2: >-\n    x\n")),
        (
            "anchors.yaml",
            map("a").replace("a: b # kept", "a: &x plain\n  c: *x").replace("mode: plain", "mode: *x"),
        ),
        ("lone-cr.yaml", map("a").replace("  a: b # kept\n", "  a: b # kept\r  c: d\n")),
        ("empty-lines.yaml", format!("\n\n{}\n\n\n---\n\n\n{}\n\n", map("a"), map("b"))),
        ("end.yaml", format!("{}...\n---\n{}...\n", map("a"), map("b"))),
        ("untouched.yaml", "# nothing\n".into()),
        ("sub folder/my file.yaml", map("a")),
        ("ünï/ß.yaml", map("a")),
    ];
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("policy.yaml"), POLICIES);
    for (name, text) in &texts {
        write(&folder.path().join("m").join(name), text);
    }
    #[cfg(unix)]
    for name in
        ["quote\"d.yaml", "back\\slash.yaml", "tab\there.yaml", "line\nend.yaml", " blank.yaml ends.yaml"]
    {
        write(&folder.path().join("m").join(name), map("a"));
    }
    for options in [&[][..], &["--annotate"], &["-U", "1"], &["-U", "0"], &["--unified", "100", "--annotate"]]
    {
        let (diff, stderr) = applies(folder.path(), &["policy.yaml"], options);
        assert!(diff.matches("\n+++ ").count() >= texts.len() - 1, "{stderr}\n{diff}");
    }
}

#[test]
fn diff_paths_are_relative_to_the_working_directory() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("policy.yaml"), POLICIES);
    write(&at("here/m/a.yaml"), map("a"));
    write(&at("there/b.yaml"), map("b"));
    let absolute = at("here/m/a.yaml").display().to_string();
    let header = |argument: &str| {
        let (_, diff, stderr) = kyv(&at("here"), &["diff", "-p", "../policy.yaml", "-f", argument]);
        let lines: Vec<&str> = diff.lines().take(2).collect();
        assert_eq!(lines.len(), 2, "{stderr}");
        (lines[0].to_owned(), lines[1].to_owned())
    };
    let below = ("--- a/m/a.yaml".to_owned(), "+++ b/m/a.yaml".to_owned());
    for argument in ["m/a.yaml", "./m//a.yaml", "../here/m/a.yaml", "m/../m", &absolute] {
        assert_eq!(header(argument), below, "{argument}");
    }
    let real = fs::canonicalize(at("there/b.yaml")).unwrap();
    assert_eq!(header("../there/b.yaml").0, format!("--- a{}", real.display()));
    #[cfg(unix)]
    {
        // A link stays one: the file that it leads to is what changes.
        std::os::unix::fs::symlink("a.yaml", at("here/m/link")).unwrap();
        assert_eq!(header("m/link"), below);
    }
    let (_, diff, _) = kyv(&at("here"), &["diff", "-p", "../policy.yaml", "-f", "../there/b.yaml"]);
    let output = run("git", Path::new("/"), &["apply", "--check"], diff.as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn objects_without_a_file_are_printed_canonically() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("policy.yaml"), POLICIES);
    let program = env!("CARGO_BIN_EXE_kubectl-kyv");
    let arguments = ["diff", "-p", "policy.yaml", "-f", "-"];
    let output = run(program, folder.path(), &arguments, map("a").as_bytes());
    let diff = String::from_utf8(output.stdout).unwrap();
    assert!(
        diff.starts_with("--- ConfigMap/a\tstdin:1\n+++ ConfigMap/a\tlabel/team, data/mode, data/gone\n"),
        "{diff}"
    );
}

#[test]
fn annotate_is_noted_where_no_diff_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("policy.yaml"), POLICIES);
    write(&folder.path().join("a.yaml"), map("a"));
    for (arguments, shows) in [
        (&["diff"][..], true),
        (&["diff", "-o", "markdown"], true),
        (&["diff", "-o", "json"], false),
        (&["mutate"], false),
        (&["mutate", "-o", "diff"], true),
        (&["mutate", "-i"], false),
    ] {
        let all = [arguments, &["--annotate", "-p", "policy.yaml", "-f", "a.yaml"]].concat();
        let (_, _, stderr) = kyv(folder.path(), &all);
        assert_eq!(
            stderr.contains("--annotate shapes diffs, and this run prints none"),
            !shows,
            "{arguments:?}: {stderr}"
        );
    }
}

#[test]
fn hunks_of_objects_without_a_file_name_their_rules() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("policy.yaml"), POLICIES);
    let program = env!("CARGO_BIN_EXE_kubectl-kyv");
    let arguments = ["diff", "-p", "policy.yaml", "-f", "-", "--annotate", "-U", "1"];
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  mode: plain\n  one: '1'\n  two: '2'\n  gone: now\n";
    let output = run(program, folder.path(), &arguments, text.as_bytes());
    let expected = "@@ -4,4 +4,6 @@ ConfigMap/a: label/team, data/mode
   name: a
+  labels:
+    team: shop
 data:
-  mode: plain
+  mode: edited
   one: \"1\"
@@ -8,2 +10 @@ ConfigMap/a: data/gone
   two: \"2\"
-  gone: now
";
    let diff = String::from_utf8(output.stdout).unwrap();
    assert_eq!(diff.split_inclusive('\n').skip(2).collect::<String>(), expected);
}

#[test]
fn masked_values_are_never_written_to_files() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  password: hunter2hunter2 # hunter2hunter2\n";
    let near =
        format!("{secret}---\n{}", map("a").replace("metadata:\n  name: a\n", "metadata: {name: a}\n"));
    let far = secret.replace("stringData", "type: Opaque\nx: 1\ny: 2\nz: 3\nstringData");
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: add}\nspec:\n  rules:\n  - name: add\n    \
                  match: {any: [{resources: {kinds: [Secret]}}]}\n    mutate: {patchStrategicMerge: {stringData: {token: topsecret!}}}\n";
    for (text, policies, is_masked) in
        [(secret, POLICIES, true), (&*near, POLICIES, true), (&*far, POLICIES, false), (&*far, policy, true)]
    {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("policy.yaml"), policies);
        write(&folder.path().join("m/s.yaml"), text);
        for options in [&[][..], &["--annotate", "-U", "0"], &["-o", "markdown"]] {
            let (_, diff, stderr) =
                kyv(folder.path(), &[&["diff", "-p", "policy.yaml", "-f", "m"], options].concat());
            assert!(!format!("{diff}{stderr}").contains("hunter2"), "{stderr}{diff}");
            assert!(!format!("{diff}{stderr}").contains("topsecret"), "{stderr}{diff}");
            if options.is_empty() {
                assert_eq!(diff.starts_with("--- a/m/s.yaml(masked)\n"), is_masked, "{diff}");
                assert_eq!(
                    stderr.contains("--show-secrets shows the values: m/s.yaml"),
                    is_masked,
                    "{stderr}"
                );
            }
        }
        let (_, diff, _) = kyv(folder.path(), &["diff", "-p", "policy.yaml", "-f", "m"]);
        if is_masked {
            // Neither program finds a file of that name, with or without its folders.
            for (program, arguments) in [
                ("git", &["apply"][..]),
                ("patch", &["-p1", "-f"]),
                ("patch", &["-f", "-p0"]),
                ("patch", &["-f"]),
            ] {
                if program == "git" || has_patch() {
                    let output = run(program, folder.path(), arguments, diff.as_bytes());
                    assert!(!output.status.success(), "{program} {arguments:?}");
                    assert_eq!(fs::read_to_string(folder.path().join("m/s.yaml")).unwrap(), text);
                    fs::remove_file(folder.path().join("s.yaml(masked).rej")).ok();
                }
            }
            applies(folder.path(), &["policy.yaml"], &["--show-secrets"]);
        } else {
            applies(folder.path(), &["policy.yaml"], &[]);
        }
    }
}

/// Numbers at random, from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// A file of documents in all kinds of styles.
fn generated(dice: &mut Dice) -> String {
    let mut text = String::new();
    for number in 0..=dice.roll(4) {
        if number > 0 || dice.roll(3) == 0 {
            text.push_str(["---\n", "--- # next\n", "---\n# about\n\n"][dice.roll(3)]);
        }
        let (step, quote) = (" ".repeat(1 + dice.roll(4)), ["", "\"", "'"][dice.roll(3)]);
        let mut lines =
            vec!["apiVersion: v1".to_owned(), format!("kind: {}", ["ConfigMap", "Service"][dice.roll(2)])];
        match dice.roll(3) {
            0 => lines.push(format!("metadata: {{name: n{number}}}")),
            1 => lines.extend(["metadata:".into(), format!("{step}name: n{number}")]),
            _ => lines.extend([
                "metadata: # of it".into(),
                format!("{step}name: n{number}"),
                format!("{step}labels:"),
                format!("{step}{step}a: {quote}b{quote}"),
            ]),
        }
        lines.push("data:".into());
        for member in 0..dice.roll(12) {
            if dice.roll(4) == 0 {
                lines.push(format!("{}# comment {member}", if dice.roll(2) == 0 { "" } else { &step }));
            }
            lines.push(match dice.roll(4) {
                0 => format!("{step}k{member}: |\n{step}{step}one\n\n{step}{step}two"),
                1 => format!("{step}k{member}:   {quote}x{quote} # {member}"),
                _ => format!("{step}k{member}: {quote}value{quote}"),
            });
        }
        lines.push(format!("{step}mode: {quote}plain{quote}"));
        lines.push(format!("{step}gone: {quote}soon{quote}{}", ["", " # too"][dice.roll(2)]));
        text.push_str(&lines.join("\n"));
        text.push_str(["\n", "\n\n", "\n# end\n"][dice.roll(3)]);
    }
    if dice.roll(5) == 0 {
        text = text.trim_end().to_owned();
    }
    if dice.roll(5) == 0 {
        text = text.replace('\n', "\r\n");
    }
    text
}

#[test]
fn diffs_of_generated_files_apply_as_in_place() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("policy.yaml"), POLICIES);
    let mut dice = Dice(11);
    for number in 0..120 {
        write(&folder.path().join(format!("m/{number}.yaml")), generated(&mut dice));
    }
    for options in [&[][..], &["--annotate", "-U", "1"]] {
        let (diff, _) = applies(folder.path(), &["policy.yaml"], options);
        assert_eq!(diff.matches("\n+++ ").count(), 120);
    }
}

/// The policies and manifests of people, in a folder: those that can be read. `None` after saying that the test
/// was left out.
fn conformance_manifests() -> Option<(TempDir, Vec<String>)> {
    let root = conformance_folder("diffs of Kyverno's documents")?;
    let folder = tempfile::tempdir().unwrap();
    let mut policies = Vec::new();
    let mut taken = 0;
    for (path, bytes) in files(&root) {
        let is_yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
        let Some(text) = String::from_utf8(bytes).ok().filter(|_| is_yaml) else { continue };
        let source = Arc::new(Source::new("", text.as_str()));
        let Ok(documents) = read(&source, &Limits::default()) else { continue };
        let kinds: Vec<&str> =
            documents.iter().filter_map(|document| document.value()?.get("kind")?.as_str()).collect();
        if kinds.iter().any(|kind| matches!(*kind, "ClusterPolicy" | "Policy")) && text.contains("mutate:") {
            let name = format!("p{}.yaml", policies.len());
            write(&folder.path().join(&name), &text);
            // A policy that the program refuses changes nothing.
            write(&folder.path().join("none.yaml"), "a: b\n");
            if kyv(folder.path(), &["mutate", "-p", &name, "-f", "none.yaml"]).0 != Some(2) {
                policies.push(name);
            }
        } else if !kinds.is_empty() {
            taken += 1;
            write(&folder.path().join("m").join(path), &text);
        }
    }
    writeln!(std::io::stderr(), "{} policies, {taken} files of manifests", policies.len()).ok();
    Some((folder, policies))
}

#[test]
fn diffs_of_conformance_manifests_apply_as_in_place() {
    let Some((folder, policies)) = conformance_manifests() else { return };
    let mut hunks = 0;
    for (number, some) in policies.chunks(20).enumerate() {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        let options: &[&str] =
            if number % 2 == 0 { &["--show-secrets"] } else { &["--show-secrets", "--annotate"] };
        hunks += applies(folder.path(), &some, options).0.matches("\n@@ -").count();
    }
    writeln!(std::io::stderr(), "{hunks} hunks").ok();
    assert!(hunks > 0);
}
