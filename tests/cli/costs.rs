//! What large policies cost: each run ends, within a bound of its memory.

use std::process::Command;

use crate::folder::{Folder, RunOutput, end};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n";

/// The data that a run may have, in KiB: the allocator reserves up to twice what is used.
const MEMORY: usize = 1024 * 1024;

/// A policy with these rules.
fn policy(rules: impl Iterator<Item = String>) -> String {
    let head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n";
    let rules = rules.enumerate().map(|(number, rule)| {
        format!("  - name: r{number}\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n{rule}")
    });
    head.to_owned() + &rules.collect::<String>()
}

/// A rule that sets a label, with these preconditions.
fn rule(conditions: &str, label: &str) -> String {
    format!(
        "    preconditions: {{all: [{conditions}]}}\n    \
         mutate: {{patchStrategicMerge: {{metadata: {{labels: {{{label}: x}}}}}}}}\n"
    )
}

/// A condition on two lists of so many texts, none of which is in both.
fn membership(operator: &str, [key, value]: [&str; 2], count: usize) -> String {
    let list = |text: &str| (0..count).map(|number| format!("{number}{text}")).collect::<Vec<_>>().join(", ");
    format!("{{key: [{}], operator: {operator}, value: [{}]}}", list(key), list(value))
}

fn run(command: &str, policy: &str) -> RunOutput {
    let folder = Folder::new(&[("policy.yaml", policy), ("object.yaml", CONFIG_MAP)]);
    let mut limited = Command::new("bash");
    let program = folder.command(&[command, "-q", "-p", "policy.yaml", "-f", "object.yaml"]);
    limited.args(["-c", "ulimit -d \"$0\" && exec \"$@\"", &MEMORY.to_string()]);
    limited.arg(program.get_program()).args(program.get_args());
    limited.current_dir(folder.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    limited.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    end(limited, "")
}

#[test]
fn lists_of_100_000_texts_are_compared() {
    for (operator, is_met) in [("AnyIn", false), ("AllNotIn", true)] {
        let policy = policy([rule(&membership(operator, ["k", "v"], 100_000), "a")].into_iter());
        let output = run("diff", &policy);
        assert_eq!(output.code, Some(i32::from(is_met)), "{operator}: {}", output.stderr);
    }
}

#[test]
fn lists_of_100_000_wildcards_are_refused() {
    for sides in [["k", "v*"], ["k*", "v"], ["k?", "*v"]] {
        let output = run("diff", &policy([rule(&membership("AnyIn", sides, 100_000), "a")].into_iter()));
        assert_eq!(output.code, Some(3), "{sides:?}: {}", output.stderr);
        let expected = "steps of comparing elements with wildcards passed in preconditions.all[0].value (limit steps=1000000)";
        assert!(output.stderr.contains(expected), "{sides:?}: {}", output.stderr);
    }
}

#[test]
fn thousands_of_rules_that_change_one_object_have_a_limit() {
    let policy = policy((0..3_000).map(|number| rule("", &format!("label-{number}"))));
    for command in ["diff", "explain"] {
        let output = run(command, &policy);
        assert_eq!(output.code, Some(3), "{command}: {}", output.stderr);
        let said: Vec<&str> =
            output.stdout.split_whitespace().chain(output.stderr.split_whitespace()).collect();
        let expected = "the changes of all rules exceed the limit `report-bytes` of 268435456 for one object";
        assert!(said.join(" ").contains(expected), "{command}");
    }
}

#[test]
fn thousands_of_preconditions_are_explained() {
    let condition = "{key: '{{ request.object.data.a }}', operator: Equals, value: b}, ";
    let output = run("explain", &policy([rule(&condition.repeat(20_000), "a")].into_iter()));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.stdout.matches("{{ request.object.data.a }}").count(), 20_000);
}
