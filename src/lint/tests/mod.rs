mod cel;
mod reach;

use crate::yaml::parse_value;

use super::*;

/// A policy of one rule, of these lines below the rule, and more lines of `spec`.
fn policy(rule: &str, spec: &str) -> Value {
    let rule: String = rule.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n{spec}  rules:\n  - name: r\n{rule}"
    );
    parse_value(&text).unwrap()
}

/// The findings about a policy of which autogen made a rule.
fn findings(policy: &Value) -> Vec<Lint> {
    lint(policy, &["r".into(), "autogen-r".into()])
}

/// The findings about a rule: code and place.
fn found(rule: &str) -> Vec<String> {
    let all = findings(&policy(rule, "")).into_iter();
    all.map(|one| format!("{} {}", one.code, one.pointer.to_json_pointer())).collect()
}

const MATCH: &str = "match: {any: [{resources: {kinds: [Service]}}]}\n";
const LABEL: &str = "mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}\n";

#[test]
fn two_values_of_one_key_are_never_equal_at_once() {
    let rule = |block: &str, second: &str| {
        let condition =
            |value: &str| format!("{{key: '{{{{ request.operation }}}}', operator: Equals, value: {value}}}");
        format!(
            "{MATCH}{LABEL}preconditions: {{{block}: [{}, {}]}}\n",
            condition("CREATE"),
            condition(second)
        )
    };
    assert_eq!(found(&rule("all", "UPDATE")), ["KYV901 /spec/rules/0/preconditions/all/1"]);
    for (block, second) in [("any", "UPDATE"), ("all", "CREATE"), ("all", "'{{ x }}'"), ("all", "'U*'")] {
        assert_eq!(found(&rule(block, second)), Vec::<String>::new(), "{block} {second}");
    }
}

#[test]
fn values_that_do_not_occur_are_found() {
    let created = "match: {any: [{resources: {kinds: [Service], operations: [CREATE]}}]}\n";
    let rule = |head: &str, key: &str, operator: &str, value: &str| {
        format!(
            "{head}{LABEL}preconditions: {{all: [{{key: \"{key}\", operator: {operator}, value: {value}}}]}}\n"
        )
    };
    let at = ["KYV901 /spec/rules/0/preconditions/all/0"];
    let operation = "{{ request.operation }}";
    for (head, key, operator, value) in [
        (MATCH, "{{ request.object.spec.type }}", "AnyIn", "[]"),
        (created, operation, "Equals", "UPDATE"),
        (created, operation, "AnyIn", "[UPDATE, DELETE]"),
    ] {
        assert_eq!(found(&rule(head, key, operator, value)), at, "{key} {operator} {value}");
    }
    for (head, key, operator, value) in [
        (MATCH, operation, "Equals", "UPDATE"),
        (created, operation, "AnyIn", "[UPDATE, CREATE]"),
        (created, operation, "NotEquals", "UPDATE"),
        (created, operation, "AnyIn", "'{{ wanted }}'"),
        (MATCH, "{{ request.object.spec.type }}", "AnyNotIn", "[]"),
    ] {
        assert_eq!(
            found(&rule(head, key, operator, value)),
            Vec::<String>::new(),
            "{key} {operator} {value}"
        );
    }
}

#[test]
fn classic_conditions_without_variables_are_constant() {
    let rule = |key: &str, operator: &str, value: &str| {
        format!(
            "{MATCH}{LABEL}preconditions: {{all: [{{key: {key}, operator: {operator}, value: {value}}}]}}\n"
        )
    };
    let at = |code: &str| vec![format!("{code} /spec/rules/0/preconditions/all/0")];
    for (key, operator, value, expected) in [
        ("a", "Equals", "b", at("KYV901")),
        ("a", "Equals", "'?'", at("KYV909")),
        ("a", "AnyIn", "[b, c]", at("KYV901")),
        ("2", "GreaterThan", "1", at("KYV909")),
        // These are other findings, or depend on the request.
        ("request.operation", "Equals", "CREATE", vec![]),
        ("'{{ a }}'", "Equals", "b", vec![]),
        ("a", "AnyIn", "['{{ b }}']", vec![]),
        ("a", "Equals", "$(./../key)", vec![]),
    ] {
        assert_eq!(found(&rule(key, operator, value)), expected, "{key} {operator} {value}");
    }
}

#[test]
fn a_replace_of_an_optional_field_is_found_unless_something_looks_for_it() {
    let patch = |path: &str| {
        format!("{MATCH}mutate:\n  patchesJson6902: |-\n    - {{op: replace, path: {path}, value: x}}\n")
    };
    let at = ["KYV912 /spec/rules/0/mutate/patchesJson6902"];
    for path in ["/metadata/labels/a", "/spec/ports/0/name", "/spec/externalName"] {
        assert_eq!(found(&patch(path)), at, "{path}");
    }
    // The API server sets a default, the path has a variable, an operation or a condition looks for it.
    let added = "/spec/a, value: y}\n    - {op: replace, path: /spec/a/b";
    let added = patch(added).replacen("op: replace", "op: add", 1);
    let guarded = format!(
        "preconditions: {{all: [{{key: '{{{{ a }}}}', operator: Equals, value: x}}]}}\n{}",
        patch("/spec/a")
    );
    let custom = patch("/spec/a").replace("Service", "example.com/v1/Shop");
    for rule in [patch("/spec/type"), patch("'/spec/{{ a }}'"), added, guarded, custom] {
        assert_eq!(found(&rule), Vec::<String>::new(), "{rule}");
    }
    let pod = patch("/spec/containers/0/image").replace("Service", "Pod");
    assert!(!found(&pod).iter().any(|one| one.starts_with("KYV912")));
}

#[test]
fn a_patch_of_another_name_is_found() {
    let rule = |matched: &str, overlay: &str| {
        format!("match: {{any: [{{resources: {matched}}}]}}\nmutate: {{patchStrategicMerge: {overlay}}}\n")
    };
    let service = "{kinds: [Service]}";
    for (matched, overlay, field) in [
        (service, "{metadata: {name: a}}", "metadata/name"),
        (service, "{metadata: {name: 'a-{{ b }}'}}", "metadata/name"),
        (service, "{metadata: {namespace: a}}", "metadata/namespace"),
        (service, "{kind: Pod}", "kind"),
        ("{kinds: [Service, Secret]}", "{kind: Secret}", "kind"),
        (service, "{apiVersion: v2}", "apiVersion"),
        ("{kinds: [Service], names: ['a*']}", "{metadata: {name: a}}", "metadata/name"),
    ] {
        let at = format!("KYV914 /spec/rules/0/mutate/patchStrategicMerge/{field}");
        assert_eq!(found(&rule(matched, overlay)), [at], "{matched} {overlay}");
    }
    for (matched, overlay) in [
        (service, "{metadata: {(name): a, labels: {a: b}}}"),
        (service, "{metadata: {+(name): a}}"),
        (service, "{metadata: {name: '{{ request.object.metadata.name }}'}}"),
        (service, "{kind: Service, apiVersion: v1}"),
        ("{kinds: [Service], names: [a], namespaces: [b]}", "{metadata: {name: a, namespace: b}}"),
    ] {
        assert_eq!(found(&rule(matched, overlay)), Vec::<String>::new(), "{matched} {overlay}");
    }
    let patch =
        format!("{MATCH}mutate:\n  patchesJson6902: '[{{op: add, path: /metadata/name, value: a}}]'\n");
    assert!(found(&patch).contains(&"KYV914 /spec/rules/0/mutate/patchesJson6902".to_owned()));
}

#[test]
fn old_operators_and_lists_of_conditions_are_deprecated() {
    let condition = "[{key: '{{ request.operation }}', operator: In, value: [CREATE]}]";
    assert_eq!(
        found(&format!("{MATCH}{LABEL}preconditions: {condition}\n")),
        ["KYV902 /spec/rules/0/preconditions", "KYV902 /spec/rules/0/preconditions/0/operator"]
    );
}

#[test]
fn an_element_is_added_again_unless_something_guards_it() {
    let patch = "mutate:\n  patchesJson6902: |-\n    - {op: add, path: /spec/ports/-, value: {port: 1}}\n";
    let at = "KYV903 /spec/rules/0/mutate/patchesJson6902";
    assert_eq!(found(&format!("{MATCH}{patch}")), [at]);
    assert_eq!(found(&format!("{MATCH}{}", patch.replace("/-", "/0"))), [at]);
    let replaced = found(&format!("{MATCH}{}", patch.replace("op: add", "op: replace")));
    assert_eq!(replaced, ["KYV912 /spec/rules/0/mutate/patchesJson6902"]);
    assert_eq!(found(&format!("{MATCH}{}", patch.replace("/spec/ports/-", "/data/3"))), Vec::<String>::new());
    let guard = "preconditions: {all: [{key: '{{ request.operation }}', operator: Equals, value: CREATE}]}\n";
    assert_eq!(found(&format!("{MATCH}{guard}{patch}")), Vec::<String>::new());
    let created = "match: {any: [{resources: {kinds: [Service], operations: [CREATE]}}]}\n";
    assert_eq!(found(&format!("{created}{patch}")), Vec::<String>::new());
    // A condition guards if it looks at the list, at what the patch sets, or at something that is not the object.
    let conditions = |key: &str| {
        format!("preconditions: {{all: [{{key: \"{{{{ {key} }}}}\", operator: Equals, value: x}}]}}\n")
    };
    assert_eq!(found(&format!("{MATCH}{}{patch}", conditions("request.object.spec.type"))), [at]);
    for key in ["request.object.spec.ports[0].name", "known", "length(request.object.spec.x)"] {
        assert_eq!(found(&format!("{MATCH}{}{patch}", conditions(key))), Vec::<String>::new(), "{key}");
    }
    let labels = format!("{patch}    - {{op: add, path: /metadata/labels/done, value: 'yes'}}\n");
    assert_eq!(found(&format!("{MATCH}{labels}")), [at]);
    let selected = "match: {any: [{resources: {kinds: [Service], selector: {matchExpressions: [{key: done, operator: DoesNotExist}]}}}]}\n";
    assert_eq!(found(&format!("{selected}{labels}")), Vec::<String>::new());
    let emptied =
        patch.replace("    - {op: add", "    - {op: add, path: /spec/ports, value: []}\n    - {op: add");
    assert_eq!(found(&format!("{MATCH}{emptied}")), Vec::<String>::new());
}

#[test]
fn conditions_that_hold_again_after_the_patch_are_no_guards() {
    let rule = |block: &str, patch: &str| {
        format!(
            "{MATCH}preconditions: {{{block}}}\nmutate:\n  patchesJson6902: |-\n    - {{{patch}, value: {{port: 1}}}}\n"
        )
    };
    let condition = |key: &str, operator: &str, value: &str| {
        format!("{{key: '{{{{ {key} }}}}', operator: {operator}, value: {value}}}")
    };
    let add = "op: add, path: /spec/ports/-";
    let at = ["KYV903 /spec/rules/0/mutate/patchesJson6902"];
    let [other, list] = [("request.object.spec.type", "x"), ("request.object.spec.ports[0].name", "x")]
        .map(|(key, value)| condition(key, "Equals", value));
    for block in [
        format!("all: [{}]", condition("request.operation", "NotEquals", "DELETE")),
        format!("all: [{}]", condition("request.operation", "AnyIn", "[CREATE, UPDATE]")),
        format!("all: [{}]", condition("request.namespace", "Equals", "shop")),
        format!("all: [{}]", condition("request.object.metadata.labels.app", "Equals", "ports")),
        format!("any: [{other}, {list}]"),
    ] {
        assert_eq!(found(&rule(&block, add)), at, "{block}");
    }
    for block in [
        format!("all: [{}]", condition("request.operation", "NotEquals", "UPDATE")),
        format!("all: [{}]", condition("request.operation", "AnyNotIn", "[UPDATE, DELETE]")),
        format!("all: [{other}, {list}]"),
        format!("any: [{list}]"),
    ] {
        assert_eq!(found(&rule(&block, add)), Vec::<String>::new(), "{block}");
    }
    for patch in ["op: add, path: /spec/ports/-1", "op: copy, from: /spec/ports/0, path: /spec/ports/-"] {
        assert_eq!(found(&rule(&format!("all: [{other}]"), patch)), at, "{patch}");
    }
    let excluded = "exclude: {any: [{resources: {operations: [UPDATE]}}]}\n";
    let all = format!("all: [{other}]");
    assert_eq!(found(&format!("{excluded}{}", rule(&all, add))), Vec::<String>::new());
    let labels = "op: replace, path: /metadata/labels";
    assert_eq!(found(&rule(&all, labels)), ["KYV907 /spec/rules/0/mutate/patchesJson6902"]);
}

#[test]
fn conditions_on_other_kinds_never_hold() {
    let rule = |kinds: &str, key: &str, kind: &str| {
        format!(
            "match: {{any: [{{resources: {{kinds: [{kinds}]}}}}]}}\n{LABEL}preconditions: {{all: [{{key: '{{{{ {key} }}}}', operator: Equals, value: {kind}}}]}}\n"
        )
    };
    let at = ["KYV901 /spec/rules/0/preconditions/all/0"];
    assert_eq!(found(&rule("ConfigMap", "request.object.kind", "Secret")), at);
    assert_eq!(found(&rule("apps/v1/Deployment", "request.kind.kind", "Secret")), at);
    for (kinds, kind) in
        [("ConfigMap, Secret", "Secret"), ("'*'", "Secret"), ("Pod", "Deployment"), ("ConfigMap", "'S*'")]
    {
        assert_eq!(found(&rule(kinds, "request.object.kind", kind)), Vec::<String>::new(), "{kinds} {kind}");
    }
    let anchored = |kind: &str| {
        format!(
            "{MATCH}mutate: {{patchStrategicMerge: {{(kind): {kind}, metadata: {{labels: {{a: b}}}}}}}}\n"
        )
    };
    assert_eq!(found(&anchored("Secret")), ["KYV901 /spec/rules/0/mutate/patchStrategicMerge/(kind)"]);
    assert_eq!(found(&anchored("Service")), Vec::<String>::new());
    let empty = format!("{MATCH}{LABEL}preconditions: {{any: []}}\n");
    assert_eq!(found(&empty), ["KYV901 /spec/rules/0/preconditions/any"]);
}

#[test]
fn labels_are_replaced_by_a_patch_of_the_whole_map() {
    let rule = |path: &str, value: &str| {
        format!("{MATCH}mutate:\n  patchesJson6902: |-\n    - {{op: add, path: {path}, value: {value}}}\n")
    };
    let at = "KYV907 /spec/rules/0/mutate/patchesJson6902";
    assert_eq!(found(&rule("/spec/template/metadata/labels", "{a: b}")), [at]);
    assert_eq!(found(&rule("/metadata/annotations/a", "b")), Vec::<String>::new());
}

#[test]
fn an_element_without_merge_key_empties_the_list() {
    let rule = |kind: &str, element: &str| {
        format!(
            "match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}\n\
             mutate: {{patchStrategicMerge: {{spec: {{containers: [{element}]}}}}}}\n"
        )
    };
    let at = "/spec/rules/0/mutate/patchStrategicMerge/spec/containers/0";
    assert_eq!(found(&rule("Pod", "{imagePullPolicy: Always}")), [format!("KYV904 {at}")]);
    // A Deployment has its containers elsewhere; of `*` nothing is known.
    for (kind, element) in [
        ("'*'", "{imagePullPolicy: Always}"),
        ("Deployment", "{imagePullPolicy: Always}"),
        ("Pod", "{name: a, imagePullPolicy: Always}"),
        ("Pod", "{(name): '*', imagePullPolicy: Always}"),
        ("Pod", "{(image): '*:latest', imagePullPolicy: Always}"),
        ("Pod", "{securityContext: {(privileged): false}, imagePullPolicy: Always}"),
        ("Pod", "{$patch: replace}"),
        // Lists of other kinds are replaced.
        ("example.com/v1/Shop", "{imagePullPolicy: Always}"),
    ] {
        assert_eq!(found(&rule(kind, element)), Vec::<String>::new(), "{kind} {element}");
    }
}

#[test]
fn a_rule_on_delete_has_no_object() {
    let rule = "match: {any: [{resources: {kinds: [Service], operations: [CREATE, DELETE]}}]}\n";
    assert_eq!(found(&format!("{rule}{LABEL}")), ["KYV905 /spec/rules/0/match"]);
    let targets = "mutate: {targets: [{apiVersion: v1, kind: ConfigMap, name: a}], patchStrategicMerge: {data: {a: b}}}\n";
    assert_eq!(found(&format!("{rule}{targets}")), Vec::<String>::new());
}

#[test]
fn a_rule_for_pods_without_autogen_is_noted() {
    let codes = |kind: &str, evaluated: &[&str]| {
        let rule = format!("match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}\n{LABEL}");
        let evaluated: Vec<Text> = evaluated.iter().map(|name| Text::from(*name)).collect();
        lint(&policy(&rule, ""), &evaluated).into_iter().map(|one| one.code).collect::<Vec<_>>()
    };
    assert_eq!(codes("Pod", &["r"]), [Code::NoAutogen]);
    // It has rules of autogen; it is for other kinds; the policy is refused.
    for (kind, evaluated) in [("Pod", &["r", "autogen-r"][..]), ("Service", &["r"]), ("Pod", &[])] {
        assert_eq!(codes(kind, evaluated), []);
    }
}

/// The numbers of the divergences that a rule for Pods shows.
fn divergences(mutate: &str) -> Vec<String> {
    let rule = policy(&format!("match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\nmutate: {mutate}\n"), "");
    let all = findings(&rule).into_iter().filter(|one| one.code == Code::KyvernoDiffers);
    let number = |message: &str| {
        let (_, rest) = message.split_once("(KYV-").unwrap();
        rest.split_once(')').unwrap().0.to_owned()
    };
    all.map(|one| number(&one.message)).collect()
}

#[test]
fn divergences_are_found_where_they_have_an_effect() {
    let overlay = |spec: &str| divergences(&format!("{{patchStrategicMerge: {{spec: {{{spec}}}}}}}"));
    for (spec, expected) in [
        // Patterns are written, equal values are not seen; a variable may have any text.
        (r#"(securityContext): {runAsUser: ">999"}"#, &["D07"][..]),
        (r#"<(securityContext): {runAsUser: ">999"}"#, &["D07"]),
        ("(securityContext): {runAsUser: 1}", &[]),
        ("(nodeSelector): {disk: \"{{ request.object.spec.disk || '' }}\"}", &[]),
        // All of it is anchored, so nothing is left to write.
        (r#"(containers): [{(image): "a*"}]"#, &[]),
        (r#"(containers): [{image: "a*"}]"#, &["D07"]),
        // An element without name takes the place of others.
        ("(tolerations): [{operator: Exists}]", &["D07"]),
        ("(containers): [{name: a}]", &[]),
        // Elements with a global anchor are tested only, and what stands beside it is lost.
        ("tolerations: [{<(key): a}]", &[]),
        ("tolerations: [{(key): a, effect: NoExecute}]", &["D02"]),
        ("containers: [{<(image): a, tty: true}]", &["D15"]),
        ("containers: [{(name): '*', securityContext: {<(privileged): true, runAsUser: 1}}]", &["D15"]),
        ("containers: [{(name): a, +(tty): true}]", &["D09"]),
        ("+(priority): 1", &[]),
        ("containers: [{(name): '*', image: 'm/{{@}}'}]", &["D03"]),
        (r"containers: [{(name): '*', workingDir: '\{{@}}'}]", &[]),
        ("priorityClassName: 'm-{{@}}'", &[]),
        ("volumes: [{name: v, emptyDir: {}}]", &[]),
        ("securityContext: {}", &["D21"]),
        ("terminationGracePeriodSeconds: 18446744073709551615", &["D75"]),
    ] {
        assert_eq!(overlay(spec), expected, "{spec}");
    }
    for (patch, expected) in [
        ("[{op: add, path: /spec/a, value: b}]", &["D72"][..]),
        (r#"[{"op": "add", "path": "/spec/a", "value": "b"}]"#, &[]),
        (r#"[{"op": "add", "path": "/spec/a", "value": {{ request.object.spec.b }}}]"#, &[]),
    ] {
        assert_eq!(divergences(&format!("{{patchesJson6902: '{patch}'}}")), expected, "{patch}");
    }
}

#[test]
fn labels_from_numbers_are_found() {
    let overlay = |value: &str| {
        divergences(&format!("{{patchStrategicMerge: {{metadata: {{labels: {{a: {value}}}}}}}}}"))
    };
    for value in [
        "5",
        "\"{{ length(request.object.spec.containers) }}\"",
        "\"{{ request.object.spec.replicas > `1` }}\"",
    ] {
        assert_eq!(overlay(value), ["D05"], "{value}");
    }
    for value in [
        "a",
        "\"{{ to_string(length(request.object.spec.containers)) }}\"",
        "\"n{{ length(a) }}\"",
        "\"{{ a }}\"",
    ] {
        assert!(overlay(value).is_empty(), "{value}");
    }
}

#[test]
fn anchored_elements_of_custom_resources_and_of_targets_are_found() {
    let overlay = "patchStrategicMerge: {spec: {items: [{(name): a, v: 9}]}}";
    let at = "/spec/rules/0/mutate/patchStrategicMerge/spec/items/0";
    let of = |kinds: &str, mutate: &str| {
        let rule = policy(
            &format!("match: {{any: [{{resources: {{kinds: [{kinds}]}}}}]}}\nmutate: {{{mutate}}}\n"),
            "",
        );
        let all = findings(&rule).into_iter().filter(|one| one.message.contains("KYV-D02"));
        all.map(|one| one.pointer.to_json_pointer()).collect::<Vec<_>>()
    };
    assert_eq!(of("example.com/v1/Shop", overlay), [at]);
    assert_eq!(of("Pod, Shop", overlay), [at]);
    // A Pod merges its containers by name; of `*` nothing is known.
    let containers = "patchStrategicMerge: {spec: {containers: [{(name): a, image: b}]}}";
    assert_eq!(of("Pod, Shop", containers), Vec::<String>::new());
    assert_eq!(of("'*'", overlay), Vec::<String>::new());
    let targets = |kind: &str, overlay: &str| {
        of("Secret", &format!("targets: [{{apiVersion: example.com/v1, kind: {kind}, name: a}}], {overlay}"))
    };
    assert_eq!(targets("Shop", overlay), [at]);
    assert_eq!(targets("\"{{ request.object.kind }}\"", overlay), Vec::<String>::new());
    let pods = format!("targets: [{{apiVersion: v1, kind: Pod, name: a}}], {containers}");
    assert_eq!(of("Secret", &pods), Vec::<String>::new());
    assert_eq!(of("Secret", &pods.replace("containers", "tolerations")).len(), 1);
}

#[test]
fn filters_of_any_that_exclude_nothing_are_found() {
    let of = |exclude: &str| {
        let rule = policy(&format!("{MATCH}exclude: {exclude}\n{LABEL}"), "");
        findings(&rule).into_iter().map(|one| one.pointer.to_json_pointer()).collect::<Vec<_>>()
    };
    assert_eq!(of("{any: [{resources: {names: []}}]}"), ["/spec/rules/0/exclude/any/0"]);
    assert_eq!(of("{any: [{resources: {name: ''}}]}"), ["/spec/rules/0/exclude/any/0"]);
    assert_eq!(of("{any: [{resources: {names: [a]}}]}"), Vec::<String>::new());
    assert_eq!(of("{all: [{resources: {names: []}}]}"), Vec::<String>::new());
}

#[test]
fn expressions_that_kyverno_reads_otherwise_are_found_once_for_each_text() {
    let overlay = |text: &str| {
        format!("{MATCH}mutate:\n  patchStrategicMerge: {{metadata: {{labels: {{a: \"{text}\"}}}}}}\n")
    };
    let at = "KYV912 /spec/rules/0/mutate/patchStrategicMerge/metadata/labels/a";
    let both = "{{ join('-' keys(@)) }}{{ compare(a, b) == `0` }}";
    assert_eq!(found(&overlay(&both.repeat(2))), [at, at]);
    assert_eq!(found(&overlay("n-{{ compare(a, b) == `0` }}")), [at]);
    assert_eq!(found(&overlay("n-{{ to_string(compare(a, b)) == '0' }}")), Vec::<String>::new());
    let list = "context: [{name: c, variable: {jmesPath: \"compare(a, b) > `0`\"}}]\n";
    assert_eq!(found(&format!("{MATCH}{LABEL}{list}")), ["KYV912 /spec/rules/0/context/0/variable/jmesPath"]);
}

#[test]
fn autogen_makes_rules_of_rules_with_targets_beside_others() {
    let policy = |kind: &str| {
        let text = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: t\n    \
             match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}\n    mutate:\n      \
             targets: [{{apiVersion: v1, kind: Secret, name: s}}]\n      \
             patchStrategicMerge: {{metadata: {{labels: {{a: b}}}}}}\n  - name: r\n    \
             match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    {LABEL}"
        );
        parse_value(&text).unwrap()
    };
    let found = |policy: &Value, evaluated: &[Text]| {
        let all = lint(policy, evaluated).into_iter().filter(|one| one.message.contains("KYV-D28"));
        all.map(|one| one.pointer.to_json_pointer()).collect::<Vec<_>>()
    };
    let generated = ["t", "r", "autogen-r"].map(Text::from);
    assert_eq!(found(&policy("Pod"), &generated), ["/spec/rules/0/match"]);
    let of_cron_jobs = ["t", "r", "autogen-cronjob-r"].map(Text::from);
    assert_eq!(found(&policy("Pod"), &of_cron_jobs), ["/spec/rules/0/match"]);
    assert_eq!(found(&policy("Secret"), &generated), Vec::<String>::new());
    assert_eq!(found(&policy("Pod"), &generated[..2]), Vec::<String>::new());
}

#[test]
fn ranges_in_a_condition_are_written_as_they_are() {
    let rule = |value: &str| {
        format!(
            "{MATCH}mutate: {{patchStrategicMerge: {{spec: {{(selector): {{a: \"{value}\"}}, x: y}}}}}}\n"
        )
    };
    let at = "KYV912 /spec/rules/0/mutate/patchStrategicMerge/spec/(selector)";
    assert_eq!(found(&rule("10-20")), [at]);
    assert_eq!(found(&rule("ten-20")), Vec::<String>::new());
}

#[test]
fn a_directive_alone_needs_a_list_in_the_object() {
    let rule = |list: &str| {
        format!(
            "match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\nmutate: {{patchStrategicMerge: {{spec: {{{list}: \
             [{{$patch: replace}}, {{name: a}}]}}}}}}\n"
        )
    };
    let at = "KYV912 /spec/rules/0/mutate/patchStrategicMerge/spec/initContainers/0";
    assert_eq!(found(&rule("initContainers")), [at]);
    assert_eq!(found(&rule("containers")), Vec::<String>::new());
}

#[test]
fn lists_without_merge_key_are_replaced() {
    let rule = |kind: &str, spec: &str| {
        found(&format!(
            "match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}\nmutate: {{patchStrategicMerge: {{spec: {{{spec}}}}}}}\n"
        ))
    };
    let at = ["KYV913 /spec/rules/0/mutate/patchStrategicMerge/spec/tolerations"];
    assert_eq!(rule("Pod", "tolerations: [{key: a, operator: Exists}]"), at);
    for (kind, spec) in [
        ("Pod", "containers: [{name: a, image: b}]"),
        ("Pod", "tolerations: [{$patch: replace}, {key: a}]"),
        ("Pod", "tolerations: [{<(key): a}]"),
        ("Pod", "+(tolerations): [{key: a}]"),
        ("Deployment", "tolerations: [{key: a, operator: Exists}]"),
        ("example.com/v1/Shop", "tolerations: [{key: a, operator: Exists}]"),
    ] {
        let found = rule(kind, spec);
        assert!(!found.iter().any(|one| one.starts_with("KYV913")), "{kind} {spec}: {found:?}");
    }
}

#[test]
fn patterns_that_no_value_fits_are_found() {
    let rule = |pattern: &str| {
        found(&format!("{MATCH}mutate: {{patchStrategicMerge: {{spec: {{(type): \"{pattern}\", x: y}}}}}}\n"))
    };
    let at = "KYV901 /spec/rules/0/mutate/patchStrategicMerge/spec/(type)";
    for pattern in [">5 & <3", ">=5 & <=4 | >9 & <1"] {
        assert_eq!(rule(pattern), [at], "{pattern}");
    }
    for pattern in [
        "a | b",
        ">3 & <5",
        ">=3 & <=3",
        "a* & b",
        "R&D",
        "a & b | >5 & <3",
        "a & {{ request.name }}",
        "!a & !b",
    ] {
        assert_eq!(rule(pattern), Vec::<String>::new(), "{pattern}");
    }
}

#[test]
fn filters_without_a_common_kind_match_nothing() {
    let rule = |all: &str| found(&format!("match: {{all: [{all}]}}\n{LABEL}"));
    let at = ["KYV230 /spec/rules/0/match/all"];
    for all in [
        "{resources: {kinds: [Deployment]}}, {resources: {kinds: [Service]}}",
        "{resources: {kinds: [Service], namespaces: [a]}}, {resources: {namespaces: [b]}}",
    ] {
        assert_eq!(rule(all), at, "{all}");
    }
    for all in [
        "{resources: {kinds: [Deployment, Service]}}, {resources: {kinds: [v1/Service]}}",
        "{resources: {kinds: [Service]}}, {resources: {kinds: ['*'], namespaces: ['b*']}}, {resources: {namespaces: [b]}}",
    ] {
        assert_eq!(rule(all), Vec::<String>::new(), "{all}");
    }
}
