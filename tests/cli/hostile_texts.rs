//! Names, labels, messages and file names that mean harm: inert in every format of every command.

use proptest::test_runner::{Config, TestRunner};

use crate::folder::{Folder, RunOutput, write};

/// Commands of terminals and CI servers, markup, and what ends a text of some format.
const FRAGMENTS: [&str; 22] = [
    "\u{1b}[2J",
    "\u{1b}]0;t\u{7}",
    "\u{9b}31m",
    "\u{202e}",
    "\u{2066}",
    "\r",
    "\n",
    "\t",
    "\n::error::x",
    "\n  ::add-mask::y",
    "##[error]z",
    "##vso[task.complete]",
    "%0A::x",
    "</script><script>alert(1)</script>",
    "]]></failure>",
    "<!--",
    "](http://x)",
    "|`a`|",
    "\u{0}",
    "${{ x }}",
    "'\"",
    "word",
];

/// A text of JSON, which YAML reads as well.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Policies and objects with a text wherever a text may be, in a file with that name.
struct Files {
    folder: Folder,
    objects: String,
    policies: String,
}

impl Files {
    fn new(text: &str) -> Self {
        let folder = Folder::new(&[]);
        let name: String = text.chars().filter(|c| !matches!(c, '/' | '\0')).take(60).collect();
        let [objects, policies] = ["objects", "policies"].map(|kind| format!("{kind}{name}.yaml"));
        let quoted = quoted(text);
        let named = |letter: &str| quoted.replacen('"', &format!("\"{letter}"), 1);
        write(
            &folder.path().join(&objects),
            &format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}, namespace: {}, labels: {{a: {quoted}, {}: b}}}}\n\
                 data: {{{}: {quoted}}}\n---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {}}}\nstringData: {{{}: {quoted}}}\n",
                named("n"),
                named("s"),
                named("l"),
                named("d"),
                named("m"),
                named("k"),
            ),
        );
        let matched = "match: {any: [{resources: {kinds: [ConfigMap, Secret]}}]}";
        let rule =
            |name: &str, rest: String| format!("  - name: {}\n    {matched}\n    {rest}\n", named(name));
        let rules = [
            rule(
                "a",
                format!(
                    "mutate: {{patchStrategicMerge: {{metadata: {{annotations: {{{}: {quoted}}}}}}}}}",
                    named("x")
                ),
            ),
            rule(
                "b",
                format!(
                    "preconditions: {{all: [{{key: {quoted}, operator: Equals, value: {}, message: {quoted}}}]}}\n    \
                         mutate: {{patchStrategicMerge: {{metadata: {{labels: {{y: {quoted}}}}}}}}}",
                    named("z")
                ),
            ),
            rule(
                "c",
                format!(
                    "mutate: {{patchStrategicMerge: {{metadata: {{annotations: {{v: {}}}}}}}}}",
                    named("{{ request.object.none }}")
                ),
            ),
            rule(
                "e",
                format!(
                    "mutate: {{patchesJson6902: {}}}",
                    self::quoted(&format!(
                        "[{{\"op\": \"test\", \"path\": \"/none\", \"value\": {quoted}}}]"
                    ))
                ),
            ),
        ];
        write(
            &folder.path().join(&policies),
            &format!(
                "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {}}}\nspec:\n  rules:\n{}",
                named("p"),
                rules.concat()
            ),
        );
        Self { folder, objects, policies }
    }

    fn run(&self, command: &str) -> RunOutput {
        let argument = |word| match word {
            "OBJECTS" => &self.objects,
            "POLICIES" => &self.policies,
            word => word,
        };
        self.folder.run(&Vec::from_iter(command.split(' ').map(argument)))
    }
}

/// Characters of a text that reach a terminal as something else than letters.
fn unsafe_characters(text: &str) -> Vec<char> {
    let is_unsafe = |c: &char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().filter(is_unsafe).collect()
}

/// Lines that a CI server takes for commands.
fn commands(text: &str) -> Vec<&str> {
    let is_command =
        |line: &&str| line.trim_start().starts_with("::") || line.contains("##[") || line.contains("##vso[");
    text.lines().filter(is_command).collect()
}

/// Whether a line is a command of `-o github`.
fn is_own(line: &str) -> bool {
    ["error", "warning", "notice"].iter().any(|level| {
        let rest = line.strip_prefix("::").and_then(|line| line.strip_prefix(level));
        rest.is_some_and(|rest| rest.starts_with(" file=") || rest.starts_with(" title="))
    })
}

/// What holds for all commands.
fn check(files: &Files, command: &str) {
    let RunOutput { code, stdout, stderr } = files.run(command);
    assert!(code.is_some_and(|code| code <= 4), "{command}: {code:?}");
    assert_eq!(unsafe_characters(&stderr), [], "{command}: {stderr:?}");
    // Manifests and diffs of them hold what they hold, other than control characters, which YAML does not have.
    let is_of_manifests = ["-o diff", "-o markdown", "-f OBJECTS", "-f POLICIES"];
    let mut found = unsafe_characters(&stdout);
    if is_of_manifests.iter().any(|end| command.ends_with(end)) {
        found.retain(|c| c.is_control());
    }
    assert_eq!(found, [], "{command}: {stdout:?}");
    assert_eq!(commands(&stderr), Vec::<&str>::new(), "{command}, stderr");
    let (_, format) = command.split_once("-o ").unwrap_or_default();
    match format {
        // A result that cannot be made is none.
        "json" if command.starts_with("mutate") && code == Some(2) => assert_eq!(stdout, "", "{command}"),
        "github" => assert!(commands(&stdout).into_iter().all(is_own), "{command}: {stdout}"),
        "html" => assert!(!stdout.contains("<script>alert"), "{command}"),
        "json" | "sarif" | "gitlab" => {
            serde_json::from_str::<serde_json::Value>(&stdout)
                .unwrap_or_else(|error| panic!("{command}: {error}: {stdout}"));
        }
        "junit" => assert_eq!(
            stdout.matches("</failure>").count(),
            stdout.matches("<failure").count(),
            "{command}: {stdout}"
        ),
        "text" => assert_eq!(commands(&stdout), Vec::<&str>::new(), "{command}"),
        _ => {}
    }
}

const COMMANDS: [&str; 38] = [
    "diff -p POLICIES -f OBJECTS -o diff",
    "diff -p POLICIES -f OBJECTS -o summary",
    "diff -p POLICIES -f OBJECTS -o json",
    "diff -p POLICIES -f OBJECTS -o markdown",
    "diff -p POLICIES -f OBJECTS -o sarif",
    "diff -p POLICIES -f OBJECTS -o github",
    "diff -p POLICIES -f OBJECTS -o gitlab",
    "diff -p POLICIES -f OBJECTS -o junit",
    "diff -p POLICIES -f OBJECTS -o policyreport",
    "diff -p POLICIES -f OBJECTS -o openreports",
    "diff -p POLICIES -f OBJECTS -o html",
    "explain -p POLICIES -f OBJECTS -o text",
    "explain -v -p POLICIES -f OBJECTS -o text",
    "explain -p POLICIES -f OBJECTS -o json",
    "explain -p POLICIES -f OBJECTS -o html",
    "check -p POLICIES -f OBJECTS -o text",
    "check -p POLICIES -f OBJECTS -o json",
    "check -p POLICIES -f OBJECTS -o html",
    "check -p POLICIES -f OBJECTS -o sarif",
    "check -p POLICIES -f OBJECTS -o github",
    "check -p POLICIES -f OBJECTS -o gitlab",
    "check -p POLICIES -f OBJECTS -o junit",
    "drift -p POLICIES -f OBJECTS -o text",
    "drift -p POLICIES -f OBJECTS -o json",
    "drift -p POLICIES -f OBJECTS -o html",
    "lint -p POLICIES -o text",
    "lint -p POLICIES -o json",
    "lint -p POLICIES -o sarif",
    "lint -p POLICIES -o github",
    "lint -p POLICIES -o gitlab",
    "mutate -p POLICIES -f OBJECTS",
    "mutate -p POLICIES -f OBJECTS -o json",
    "mutate -p POLICIES -f OBJECTS -o patch",
    "mutate -i -p POLICIES -f OBJECTS",
    "convert POLICIES",
    "convert --check POLICIES POLICIES",
    "mutate -p OBJECTS -f POLICIES",
    "test POLICIES",
];

#[test]
fn texts_are_inert_in_all_formats() {
    let cases = if test_support::has_real_programs() { 30 } else { 4 };
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let texts = proptest::collection::vec(proptest::sample::select(FRAGMENTS.to_vec()), 1..4);
    let checked = runner.run(&texts, |fragments| {
        let files = Files::new(&fragments.concat());
        COMMANDS.iter().for_each(|command| check(&files, command));
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
    // What the fragments are in is evaluated.
    let files = Files::new("word");
    let changed = files.run("diff -p POLICIES -f OBJECTS -o json");
    assert!(changed.stdout.contains("xword"), "{}", changed.stdout);
}
