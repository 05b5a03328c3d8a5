//! What large policies cost: each run ends, within a bound of its memory.

use std::process::Command;

use crate::folder::{Folder, RunOutput, end};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n";

/// The data that a run may have, in KiB: the allocator reserves up to twice what is used.
const MEMORY: usize = 1024 * 1024;

/// The same for inputs of 4 MB: 128 MiB are the stacks of two threads.
const SMALL: usize = 400 * 1024;

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

/// Lets a command run on the small object.
fn run(command: &str, policy: &str) -> RunOutput {
    run_on(CONFIG_MAP, command, policy)
}

fn run_on(object: &str, command: &str, policy: &str) -> RunOutput {
    run_within(MEMORY, object, command, policy)
}

/// With this bound of the data that the run may have, in KiB.
fn run_within(memory: usize, object: &str, command: &str, policy: &str) -> RunOutput {
    let folder = Folder::new(&[("policy.yaml", policy), ("object.yaml", object)]);
    let mut limited = Command::new("bash");
    let program =
        folder.command(&[command, "-q", "--workers", "2", "-p", "policy.yaml", "-f", "object.yaml"]);
    limited.args(["-c", "ulimit -d \"$0\" && exec \"$@\"", &memory.to_string()]);
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
        let expected =
            "steps of comparing elements passed in preconditions.all[0].value (limit steps=1000000)";
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
        let expected = "the changes of all rules exceed the limit `report-bytes` of 67108864 for one object";
        assert!(said.join(" ").contains(expected), "{command}");
    }
}

/// Were they free, a rule could compare four megabytes 10,000 times in a second, and sort 50,000 keys 500 times in three.
#[test]
fn comparisons_of_long_texts_and_sorted_lists_count_as_steps() {
    let text = "x".repeat(2_000_000);
    let members: String = (0..50_000).map(|number| format!("k{number}: '', ")).collect();
    for (data, expression) in
        [(format!("{{a: {text}, b: {text}}}"), "a == b"), (format!("{{{members}}}"), "length(keys(@))")]
    {
        let object = CONFIG_MAP.replace("{a: b}", &data);
        let list = vec![expression; 50].join(", ");
        let key = format!(
            "{{key: \"{{{{ request.object.data | [{list}] | length(@) }}}}\", operator: Equals, value: 1}}"
        );
        let output = run_on(&object, "diff", &policy([rule(&key, "a")].into_iter()));
        assert_eq!(output.code, Some(3), "{expression}: {}", output.stderr);
        assert!(words(&output).contains("the limit `steps` of 1000000"), "{expression}: {}", output.stderr);
    }
}

/// Each element of the patch is for each of the object: 10,000 times 10,000 took half a minute.
#[test]
fn elements_that_share_a_merge_key_count_as_steps() {
    let list = |image: &str| format!("{{name: c, image: {image}}}, ").repeat(2_500);
    let object =
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{}]}}\n", list("a"));
    let rule = format!("    mutate: {{patchStrategicMerge: {{spec: {{containers: [{}]}}}}}}\n", list("b"));
    let output = run_on(&object, "diff", &policy([rule].into_iter()).replace("[ConfigMap]", "[Pod]"));
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(words(&output).contains("more than 1000000 steps"), "{}", output.stderr);
}

/// A megabyte that is repeated 800 times took two gigabytes.
#[test]
fn aliases_of_long_texts_have_a_limit() {
    let text = "y".repeat(1_000_000);
    let aliases: String = (0..800).map(|number| format!(", k{number}: *a")).collect();
    let object = CONFIG_MAP.replace("{a: b}", &format!("{{x: &a {text}{aliases}}}"));
    let output = run_on(&object, "diff", &policy([rule("", "a")].into_iter()));
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    assert!(words(&output).contains("yaml-alias-nodes"), "{}", output.stderr);
}

/// A cluster does not have this limit: that a rule exceeds it here says nothing about a conversion.
#[test]
fn a_conversion_that_exceeds_a_limit_is_not_said_to_differ() {
    let folder = Folder::new(&[("policy.yaml", &policy([rule("", "a")].into_iter()))]);
    let output = folder.run(&["convert", "-p", "policy.yaml", "--limit", "report-bytes=1"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let expected = "not everything can be compared: p/r0: the changes of all rules exceed the limit";
    assert!(words(&output).contains(expected), "{}", output.stderr);
}

#[test]
fn thousands_of_preconditions_are_explained() {
    let condition = "{key: '{{ request.object.data.a }}', operator: Equals, value: b}, ";
    let output = run("explain", &policy([rule(&condition.repeat(20_000), "a")].into_iter()));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.stdout.matches("{{ request.object.data.a }}").count(), 20_000);
}

/// Each rule alone stays below the limit of steps.
#[test]
fn the_rules_on_an_object_have_a_limit_together() {
    let list = format!("{CONFIG_MAP}x: [{}]\n", "a, ".repeat(2_000));
    let label = |number: usize| format!("label-{number}: \"{{{{ length(request.object.x[?@ == 'b']) }}}}\"");
    let expressions = (0..100).map(|number| {
        format!("    mutate: {{patchStrategicMerge: {{metadata: {{labels: {{{}}}}}}}}}\n", label(number))
    });
    let overlays = (0..100).map(|_| "    mutate: {patchStrategicMerge: {x: [{(y): z, y: a}]}}\n".to_owned());
    let conditions = (0..100).map(|number| {
        rule("{key: '{{ request.object.x }}', operator: AnyNotIn, value: [b]}", &format!("l{number}"))
    });
    let cel = |number: usize| format!("string(object.x.filter(x, x == \"{number}\").size())");
    for policy in [
        policy(expressions),
        policy(overlays),
        policy(conditions),
        cel_policy(["1".to_owned()].into_iter(), (0..100).map(cel)),
    ] {
        let folder = Folder::new(&[("policy.yaml", &policy), ("object.yaml", &list)]);
        let run = |limit: &str| {
            folder.run(&[
                "mutate",
                "-q",
                "--view",
                "written",
                "--limit",
                limit,
                "-p",
                "policy.yaml",
                "-f",
                "object.yaml",
            ])
        };
        let output = run("object-steps=20000");
        assert_eq!(output.code, Some(3), "{}", output.stderr);
        let expected = "the rules exceed the limit `object-steps` of 20000 for one object";
        assert_eq!(words(&output).matches(expected).count(), 1, "{}", output.stderr);
        let hint = "hint: `--limit object-steps=N` allows more";
        assert_eq!(words(&output).matches(hint).count(), 1, "{}", output.stderr);
        assert_eq!(run("object-steps=2000000").code, Some(0), "{policy}");
    }
}

/// A rule that changes all `ConfigMaps`.
fn rule_with_targets(mutate: &str) -> String {
    format!("    mutate: {{targets: [{{apiVersion: v1, kind: ConfigMap, name: '*'}}], {mutate}}}\n")
}

/// Were their steps not counted, each rule could take all steps of a rule.
#[test]
fn rules_with_targets_have_a_limit_together() {
    let list = format!("{CONFIG_MAP}x: [{}]\n", "a, ".repeat(2_000));
    let expressions = (0..100).map(|number| {
        let value = "\"{{ length(target.x[?@ == 'b']) }}\"";
        rule_with_targets(&format!("patchStrategicMerge: {{metadata: {{labels: {{l{number}: {value}}}}}}}"))
    });
    let overlays = (0..100).map(|_| rule_with_targets("patchStrategicMerge: {x: [{(y): z, y: a}]}"));
    for policy in [policy(expressions), policy(overlays)] {
        let folder = Folder::new(&[("policy.yaml", &policy), ("object.yaml", &list)]);
        ends_by_steps(&folder, &["--view", "written"], [20_000, 2_000_000]);
    }
}

/// The first limit of steps ends the rules on the object, with one error; the second does not.
fn ends_by_steps(folder: &Folder, more: &[&str], [ends, suffices]: [u32; 2]) {
    let run = |limit: u32| {
        let limit = format!("--limit=object-steps={limit}");
        let arguments = ["mutate", "-q", "-p", "policy.yaml", "-f", "object.yaml", &limit];
        folder.run(&[&arguments[..], more].concat())
    };
    let output = run(ends);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let expected = format!("the rules exceed the limit `object-steps` of {ends} for one object");
    assert_eq!(words(&output).matches(&expected).count(), 1, "{}", output.stderr);
    let output = run(suffices);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

/// Each report has the target before and after. Were there no limit, this would take six gigabytes.
#[test]
fn reports_on_targets_have_a_limit() {
    let members: String = (0..20_000).map(|number| format!("k{number}: v, ")).collect();
    let object = CONFIG_MAP.replace("{a: b}", &format!("{{{members}}}"));
    let rules = (0..1_000).map(|number| {
        let patch = format!(r#"[{{"op": "add", "path": "/data/l{number}", "value": "x"}}]"#);
        rule_with_targets(&format!("patchesJson6902: '{patch}'"))
    });
    let output = run_on(&object, "mutate", &policy(rules));
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let expected = "the changes of all rules exceed the limit `report-bytes` of 67108864 for one object";
    assert_eq!(words(&output).matches(expected).count(), 1, "{}", output.stderr);
}

/// An exception from all rules of the policy.
fn exception(number: usize, more: &str) -> String {
    format!(
        "---\napiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {{name: e{number}}}\nspec:\n  \
         exceptions: [{{policyName: p, ruleNames: ['*']}}]\n  match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n{more}"
    )
}

/// Each rule has to do with each exception.
#[test]
fn exceptions_from_the_rules_on_an_object_have_a_limit_together() {
    let policy = policy((0..100).map(|number| rule("", &format!("label-{number}"))));
    let undecided =
        "  conditions: {all: [{key: '{{ request.object.no.key }}', operator: Equals, value: b}]}\n";
    for more in ["", undecided] {
        let exceptions: String = (0..100).map(|number| exception(number, more)).collect();
        let folder = Folder::new(&[
            ("policy.yaml", &policy),
            ("object.yaml", CONFIG_MAP),
            ("exceptions.yaml", &exceptions),
        ]);
        ends_by_steps(&folder, &["--exceptions", "exceptions.yaml"], [20_000, 20_000_000]);
    }
}

/// Were all names compared with all, this would take minutes.
#[test]
fn thousands_of_names_in_an_exception_are_compared_in_part() {
    let policy = policy((0..3_000).map(|number| rule("", &format!("label-{number}"))));
    let names: String = (0..100_000).map(|number| format!("n{number}, ")).collect();
    let exceptions = exception(0, "").replace("['*']", &format!("[{names}]"));
    let folder = Folder::new(&[
        ("policy.yaml", &policy),
        ("object.yaml", CONFIG_MAP),
        ("exceptions.yaml", &exceptions),
    ]);
    let output = folder.run(&[
        "mutate",
        "--exceptions",
        "exceptions.yaml",
        "--limit",
        "report-bytes=1",
        "-p",
        "policy.yaml",
        "-f",
        "object.yaml",
    ]);
    let expected = "the exceptions and policies have too many names: not all of them were compared";
    assert_eq!(words(&output).matches(expected).count(), 1, "{}", output.stderr);
}

/// A suite with these results for objects of the small kind.
fn suite(results: &str, count: usize) -> RunOutput {
    let suite = format!(
        "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {{name: t}}\npolicies: [policy.yaml]\n\
         resources: [objects.yaml]\nresults:\n{results}"
    );
    let objects: String = (0..count)
        .map(|number| CONFIG_MAP.replace("{name: c}", &format!("{{name: c{number}}}")) + "---\n")
        .collect();
    let folder = Folder::new(&[
        ("kyverno-test.yaml", &suite),
        ("policy.yaml", &policy([rule("", "a")].into_iter())),
        ("objects.yaml", &objects),
    ]);
    folder.run(&["test", "-q"])
}

#[test]
fn a_result_names_thousands_of_objects() {
    let names: String = (0..20_000).map(|number| format!("n{number}, ")).collect();
    let output = suite(
        &format!("- {{policy: p, rule: r0, resources: [{names}], kind: ConfigMap, result: pass}}\n"),
        1,
    );
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stdout.contains("n19999"), "{}", output.stderr);
}

/// Each result is for each object.
#[test]
fn the_rows_of_a_suite_have_a_limit() {
    let result = "- {policy: p, rule: r0, kind: ConfigMap, result: pass}\n";
    let output = suite(&result.repeat(1_100), 200);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let expected = "the results have more than 200000 rows: the others are not compared";
    assert_eq!(output.stdout.matches(expected).count(), 1, "{}", output.stderr);
}

/// Were all defaults of the custom resource set, this would take two gigabytes.
#[test]
fn defaults_have_a_limit() {
    let properties: String =
        (0..200).map(|number| format!("p{number}: {{type: string, default: x}}, ")).collect();
    let definition = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: widgets.example.com}}\nspec:\n  \
         group: example.com\n  scope: Namespaced\n  names: {{kind: Widget, plural: widgets}}\n  versions:\n  - name: v1\n    \
         served: true\n    storage: true\n    schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, \
         properties: {{parts: {{type: array, items: {{type: object, properties: {{{properties}}}}}}}, size: {{type: integer}}}}}}}}}}}}\n"
    );
    let parts = "{}, ".repeat(100_000);
    let object = format!(
        "apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: a}}\nspec: {{parts: [{parts}]}}\n"
    );
    let policy = policy(["    mutate: {patchStrategicMerge: {spec: {size: 3}}}\n".to_owned()].into_iter());
    let folder = Folder::new(&[
        ("policy.yaml", &policy.replace("[ConfigMap]", "[Widget]")),
        ("object.yaml", &object),
        ("crds.yaml", &definition),
    ]);
    let output = folder.run(&["mutate", "--crds", "crds.yaml", "-p", "policy.yaml", "-f", "object.yaml"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let expected = "with its defaults, an object takes more than 32 MiB, which no API server stores: \
                    1 object evaluated as written";
    assert!(words(&output).contains(expected), "{}", output.stderr);
    // Those of a built-in kind count, too.
    let containers = "{name: a}, ".repeat(100_000);
    let object =
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{containers}]}}\n");
    let policy = policy.replace("[ConfigMap]", "[Pod]");
    let folder = Folder::new(&[("policy.yaml", &policy), ("object.yaml", &object)]);
    let output = folder.run(&["mutate", "-p", "policy.yaml", "-f", "object.yaml"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(words(&output).contains(expected), "{}", output.stderr);
}

/// Were all entries searched for each expression without a limit, this would take half a minute.
#[test]
fn thousands_of_context_entries_have_a_limit() {
    let entry =
        |number: usize| format!("{{name: v{number}, variable: {{jmesPath: request.object.data.a}}}}, ");
    let value = |number: usize| format!("k{number}: '{{{{ v{number} }}}}', ");
    let [entries, values] =
        [&entry as &dyn Fn(usize) -> String, &value].map(|one| (0..25_000).map(one).collect::<String>());
    let policy = |data: &str| {
        let rule =
            format!("    context: [{entries}]\n    mutate: {{patchStrategicMerge: {{data: {{{data}}}}}}}\n");
        policy([rule].into_iter())
    };
    let run = |data: &str| {
        let folder = Folder::new(&[("policy.yaml", &policy(data)), ("object.yaml", CONFIG_MAP)]);
        folder.run(&["mutate", "-q", "--limit", "steps=20000", "-p", "policy.yaml", "-f", "object.yaml"])
    };
    let output = run("k: '{{ v24999 }}'");
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let output = run(&values);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(words(&output).contains("exceeds the limit `steps` of 20000"), "{}", output.stderr);
}

#[test]
fn thousands_of_rules_are_not_converted() {
    let policy = policy((0..6_000).map(|number| rule("", &format!("label-{number}"))));
    let folder = Folder::new(&[("policy.yaml", &policy)]);
    let output = folder.run(&["convert", "-p", "policy.yaml"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let expected = "more than 1000 rules or kinds: the conversion compares each with all others";
    assert_eq!(words(&output).matches(expected).count(), 6_000);
}

#[test]
fn thousands_of_parts_of_a_rule_are_not_converted() {
    let operation = "        - {op: remove, path: /data/a}\n";
    let operations = format!("    mutate:\n      patchesJson6902: |-\n{}", operation.repeat(5_000));
    let entries = "{name: v, variable: {value: x}}, ".repeat(5_000);
    let entries =
        format!("    context: [{entries}]\n    mutate: {{patchStrategicMerge: {{data: {{a: b}}}}}}\n");
    let filters = |count: usize, names: &str| {
        let filter = format!("{{resources: {{kinds: [ConfigMap], names: [{names}]}}}}, ");
        let all = format!("any: [{}]", filter.repeat(count));
        policy([rule("", "a")].into_iter()).replace("any: [{resources: {kinds: [ConfigMap]}}]", &all)
    };
    for (policy, what) in [
        (policy([operations].into_iter()), "operations"),
        (policy([entries].into_iter()), "context entries"),
        (filters(5_000, "a"), "filters"),
        (filters(1, &"'a*', ".repeat(5_000)), "names with wildcards"),
    ] {
        let folder = Folder::new(&[("policy.yaml", &policy)]);
        let output = folder.run(&["convert", "-p", "policy.yaml"]);
        assert_eq!(output.code, Some(3), "{}", output.stderr);
        let expected = format!("more than 1000 {what}: the conversion compares each with all others");
        assert!(words(&output).contains(&expected), "{}", output.stderr);
    }
}

/// A policy with CEL variables and JSON patches.
fn cel_policy(variables: impl Iterator<Item = String>, patches: impl Iterator<Item = String>) -> String {
    let head = "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: m}\nspec:\n  matchConstraints:\n    \
                resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]\n";
    let variables = variables
        .enumerate()
        .map(|(number, expression)| format!("  - name: v{number}\n    expression: '{expression}'\n"));
    let patches = patches.map(|value| {
        format!(
            "  - patchType: JSONPatch\n    jsonPatch:\n      expression: |-\n        \
             [JSONPatch{{op: \"add\", path: \"/data/k\", value: {value}}}]\n"
        )
    });
    let (variables, patches) = (variables.collect::<String>(), patches.collect::<String>());
    format!("{head}  variables:\n{variables}  mutations:\n{patches}")
}

/// An object with a text of a million bytes.
fn object_of_a_million_bytes() -> String {
    CONFIG_MAP.replace("{a: b}", &format!("{{a: {}}}", "x".repeat(1_000_000)))
}

/// What is said on stderr, with one space between words.
fn words(output: &RunOutput) -> String {
    output.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_variables_of_a_patch_are_replaced_by_has_a_limit() {
    let texts = (0..3_000).map(|number| format!("k{number}: 'a {{{{ request.object.data.a }}}}'"));
    let values = (0..3_000).map(|number| format!("k{number}: '{{{{ request.object.data }}}}'"));
    for data in [texts.collect::<Vec<_>>(), values.collect()] {
        let rule = format!("    mutate: {{patchStrategicMerge: {{data: {{{}}}}}}}\n", data.join(", "));
        let output = run_on(&object_of_a_million_bytes(), "diff", &policy([rule].into_iter()));
        assert_eq!(output.code, Some(3), "{}", output.stderr);
        let expected = "bytes of all strings and values together, 32 times those of one string, passed in \
                        mutate.patchStrategicMerge.data.k67 (limit result-bytes=2097152)";
        assert!(words(&output).contains(expected), "{}", output.stderr);
    }
}

#[test]
fn variables_and_mutations_of_a_cel_policy_share_memory() {
    let large = |number| format!("object.data.a + object.data.a + \"{number}\"");
    let all = (0..200).map(|number| format!("variables.v{number}.size()")).collect::<Vec<_>>().join(" + ");
    let by_variables = cel_policy((0..200).map(large), [format!("string({all})")].into_iter());
    let by_mutations = cel_policy(["1".to_owned()].into_iter(), (0..2_000).map(large));
    for policy in [by_variables, by_mutations] {
        let output = run_on(&object_of_a_million_bytes(), "diff", &policy);
        assert_eq!(output.code, Some(3), "{}", output.stderr);
        let expected = "operation cancelled: the values made are larger than 67108864 bytes";
        assert!(words(&output).contains(expected), "{}", output.stderr);
    }
}

#[test]
fn values_that_share_others_are_shown_as_far_as_they_fit_together() {
    // 9,000 numbers, and 300 lists that have them all.
    let tens = |of: &str, count| format!("[{}]", vec![of; count].join(", "));
    let shared = ["[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]".to_owned()].into_iter();
    let shared = shared.chain(
        [("variables.v0", 10), ("variables.v1", 10), ("variables.v2", 9)].map(|(of, count)| tens(of, count)),
    );
    let variables = shared.chain((0..300).map(|_| "[variables.v3]".to_owned()));
    let patches = (4..304).map(|number| format!("string(variables.v{number}.size())"));
    let output = run_within(SMALL, CONFIG_MAP, "explain", &cel_policy(variables, patches));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let shown = output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("variables.v10 = [[[[[1,2,3"), "{shown}");
    assert!(
        shown.contains("variables.v303 = no value: the values of the policies are too large to be shown"),
        "{shown}"
    );
}

#[test]
fn rules_after_the_limit_of_reports_do_not_run() {
    let policy = policy((0..12_000).map(|number| rule("", &format!("label-{number}"))));
    let output = run("diff", &policy);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert_eq!(words(&output).matches("exceed the limit `report-bytes`").count(), 1, "{}", output.stderr);
}

#[test]
fn small_lists_have_no_spare_room() {
    let lists = format!("{CONFIG_MAP}x: [{}]\n", "[0],".repeat(1_000_000));
    let output = run_within(SMALL, &lists, "diff", &policy([rule("", "a")].into_iter()));
    assert_eq!(output.code, Some(1), "{}", output.stderr);
}

#[test]
fn a_policy_that_no_api_server_takes_is_refused() {
    let policy = policy((0..20_000).map(|number| rule("", &format!("label-{number}"))));
    for command in ["mutate", "diff", "explain"] {
        let output = run(command, &policy);
        assert_eq!(output.code, Some(2), "{command}: {}", output.stderr);
        let expected = "error[KYV111]: policy.yaml:1:1: policy p: the policy is larger than 3 MiB, which no API server takes";
        assert!(words(&output).starts_with(expected), "{command}: {}", output.stderr);
    }
}

/// Were each rule compared with all others, this would take minutes.
#[test]
fn thousands_of_rules_are_linted() {
    let rules = policy((0..12_000).map(|number| rule("", &format!("+(label-{number})"))));
    for kind in ["ConfigMap", "Pod"] {
        let folder = Folder::new(&[("policy.yaml", &rules.replace("[ConfigMap]", &format!("[{kind}]")))]);
        let output = folder.run(&["lint", "-p", "policy.yaml"]);
        assert_eq!(
            (output.code, &*output.stderr),
            (Some(0), "no findings in 1 policy\n"),
            "{}",
            output.stdout
        );
    }
}

/// Were the lists compared for each container anew, this would take minutes.
#[test]
fn thousands_of_containers_get_defaults() {
    let overlays = [
        "{name: sidecar, image: sidecar}",
        "{(name): '*', +(imagePullPolicy): Always}",
        "{(image): old, terminationMessagePath: /log}",
    ];
    let policies = overlays.iter().enumerate().map(|(number, container)| {
        format!(
            "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p{number}}}\nspec:\n  rules:\n  - name: r\n    \
             match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    \
             mutate: {{patchStrategicMerge: {{spec: {{containers: [{container}]}}}}}}\n"
        )
    });
    let containers: String = (0..15_000).map(|number| format!("{{name: c{number}, image: old}}, ")).collect();
    let pod =
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{containers}]}}\n");
    let output = run_on(&pod, "mutate", &policies.collect::<String>());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.stdout.matches("terminationMessagePath: /log").count(), 15_000);
}

/// Were each difference to look at all changes and at all elements, this would take ten minutes.
#[test]
fn thousands_of_differences_have_their_rules() {
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    \
                  match: {any: [{resources: {kinds: [Pod], operations: [CREATE]}}]}\n    \
                  mutate: {patchStrategicMerge: {spec: {containers: [{(name): '*', image: new}]}}}\n";
    let containers: String = (0..20_000).map(|number| format!("{{name: c{number}, image: old}}, ")).collect();
    let pod =
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{containers}]}}\n");
    let folder = Folder::new(&[("policy.yaml", policy), ("object.yaml", &pod)]);
    for tool in ["argocd", "flux"] {
        let run = folder.run(&["drift", "-q", "-p", "policy.yaml", "-f", "object.yaml", "--tool", tool]);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert_eq!(run.stdout.matches("image: another value by p/r\n").count(), 20_000, "{tool}");
    }
}
