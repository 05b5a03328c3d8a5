//! Rules that never run, or have no effect.

use super::*;

#[test]
fn an_exclude_that_covers_its_match_leaves_nothing() {
    let rule = |matched: &str, excluded: &str| format!("match: {matched}\nexclude: {excluded}\n{LABEL}");
    let in_system = "{any: [{resources: {kinds: [Service], namespaces: [kube-system]}}]}";
    let never = ["KYV230 /spec/rules/0/exclude"];
    for (matched, excluded) in [
        (in_system, "{any: [{resources: {namespaces: ['kube-*']}}]}"),
        (in_system, "{any: [{resources: {kinds: [Pod]}}, {resources: {kinds: ['*']}}]}"),
        (
            "{any: [{resources: {kinds: [Pod, Secret]}}]}",
            "{any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Secret]}}]}",
        ),
        (in_system, "{all: [{resources: {kinds: [Service]}}, {resources: {namespaces: [kube-system]}}]}"),
        (
            "{all: [{resources: {kinds: [v1/Service]}}, {subjects: [{kind: User, name: a}]}]}",
            "{any: [{subjects: [{kind: User, name: a}]}]}",
        ),
    ] {
        assert_eq!(found(&rule(matched, excluded)), never, "{matched} {excluded}");
    }
    for (matched, excluded) in [
        (in_system, "{any: [{resources: {namespaces: [default]}}]}"),
        (in_system, "{any: [{resources: {namespaces: [kube-system], names: [a]}}]}"),
        (in_system, "{any: [{resources: {namespaces: [kube-system]}, subjects: [{kind: User, name: a}]}]}"),
        (in_system, "{all: [{resources: {namespaces: [kube-system]}}, {resources: {kinds: [Pod]}}]}"),
        (
            "{any: [{resources: {kinds: [Service], namespaces: ['kube-*']}}]}",
            "{any: [{resources: {namespaces: ['kube-sys*']}}]}",
        ),
        ("{any: [{resources: {kinds: [Service]}}]}", "{any: [{resources: {namespaces: [kube-system]}}]}"),
    ] {
        assert_eq!(found(&rule(matched, excluded)), Vec::<String>::new(), "{matched} {excluded}");
    }
}

#[test]
fn a_rule_for_deletions_alone_can_change_nothing() {
    let rule = |operator: &str, value: &str, more: &str| {
        format!(
            "{MATCH}{LABEL}{more}preconditions: {{all: [{{key: '{{{{request.operation}}}}', operator: {operator}, value: {value}}}]}}\n"
        )
    };
    let at = ["KYV905 /spec/rules/0/preconditions/all/0"];
    assert_eq!(found(&rule("Equals", "DELETE", "")), at);
    assert_eq!(found(&rule("AnyIn", "[DELETE]", "")), at);
    let any = rule("Equals", "DELETE", "").replace("{all:", "{any:");
    assert_eq!(found(&any), ["KYV905 /spec/rules/0/preconditions/any/0"]);
    for (operator, value) in [("NotEquals", "DELETE"), ("AnyIn", "[DELETE, UPDATE]"), ("Equals", "UPDATE")] {
        assert_eq!(found(&rule(operator, value, "")), Vec::<String>::new(), "{operator} {value}");
    }
}

#[test]
fn a_rule_that_a_later_one_overwrites_is_found() {
    let rule = |name: &str, more: &str, overlay: &str| {
        format!(
            "  - {{name: {name}, match: {{any: [{{resources: {{kinds: [Service]}}}}]}}, {more}mutate: {{patchStrategicMerge: {overlay}}}}}\n"
        )
    };
    let found = |rules: &[String]| {
        let text = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n{}",
            rules.concat()
        );
        let found = lint(&parse_value(&text).unwrap(), &[]).into_iter();
        found
            .filter(|one| one.code == Code::OverwrittenRule)
            .filter_map(|one| one.rule)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let condition = "preconditions: {all: [{key: '{{ a }}', operator: Equals, value: b}]}, ";
    let labels = |labels: &str| format!("{{metadata: {{labels: {labels}}}}}");
    let [a, b, both] = ["{a: '1'}", "{b: '1'}", "{a: '2', b: '2'}"].map(labels);
    for (rules, expected) in [
        (vec![rule("one", "", &a), rule("two", "", &both)], "one"),
        (vec![rule("one", condition, &a), rule("two", "", &both)], "one"),
        (vec![rule("one", "", &a), rule("other", "", &b), rule("two", "", &both)], "one other"),
        (vec![rule("one", "", &both), rule("two", "", &a)], ""),
        (vec![rule("one", "", &a), rule("two", condition, &both)], ""),
        // A rule in between may look at what the first one set.
        (vec![rule("one", "", &a), rule("other", condition, &b), rule("two", "", &labels("{a: '2'}"))], ""),
        (vec![rule("one", "", &a), rule("two", "", &labels("{+(a): '2'}"))], ""),
        (vec![rule("one", "", &a), rule("two", "", &labels("{a: '{{ b }}'}"))], ""),
        (
            vec![
                rule("one", "", "{spec: {ports: [{port: 1}]}}"),
                rule("two", "", "{spec: {ports: [{port: 1}]}}"),
            ],
            "",
        ),
    ] {
        assert_eq!(found(&rules), expected, "{rules:?}");
    }
}

#[test]
fn a_rule_behind_one_that_always_applies_seldom_runs() {
    let of = |first: &str, apply: &str| {
        let text = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n{apply}  rules:\n  - name: first\n    {}  - name: second\n    {}",
            format!("{MATCH}{first}").replace('\n', "\n    ").trim_end_matches(' '),
            format!("{MATCH}{LABEL}").replace('\n', "\n    ").trim_end_matches(' '),
        );
        let all = findings(&parse_value(&text).unwrap()).into_iter();
        all.map(|one| format!("{} {}", one.code, one.pointer.to_json_pointer())).collect::<Vec<_>>()
    };
    let one = "  applyRules: One\n";
    assert_eq!(of(LABEL, one), ["KYV906 /spec/rules/1/name"]);
    assert_eq!(of(LABEL, ""), ["KYV915 /spec/rules/0/name"]);
    let anchored = "mutate: {patchStrategicMerge: {metadata: {(name): 'a*', labels: {a: c}}}}\n";
    assert_eq!(of(anchored, one), Vec::<String>::new());
}
