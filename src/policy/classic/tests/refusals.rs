//! What is refused, where, and under which semantics.

use crate::patch::LegacyBehavior;
use crate::policy::{Edit, LegacyMutation, Patch, Why};
use crate::semantics::{Dialect, Divergence, LegacyMode};

use super::*;

/// Both semantics refuse each of these, at this place, in words like these.
#[track_caller]
fn refused(document: &Value, place: &str, words: &str) {
    for semantics in [Semantics::Documented, Semantics::Kyverno] {
        let errors = errors(document, semantics);
        let found = errors.iter().any(|error| {
            error.pointer.to_string() == place && error.message.contains(words) && error.divergence.is_none()
        });
        assert!(found, "{semantics}: no `{words}` at {place} in: {}", shown(&errors));
    }
}

/// Fields of `spec`, the place of the error and words in it. RULE is a rule without errors.
const SPECS: &str = "
    admission: false, rules: [RULE] => spec.admission => disabling admission
    webhookTimeoutSeconds: 31, rules: [RULE] => spec.webhookTimeoutSeconds => between 1 and 30
    webhookConfiguration: {timeoutSeconds: 0}, rules: [RULE] => spec.webhookConfiguration.timeoutSeconds => between 1 and 30
    rules: [RULE, RULE] => spec.rules[1].name => Duplicate rule name: 'r'
    mutateExistingOnPolicyUpdate: true, rules: [RULE] => spec.rules[0].mutate => targets has to be specified when mutateExistingOnPolicyUpdate is set
    rules: [LONG] => spec.rules[0].name => at most 63
";

#[test]
fn policies_are_refused_as_a_whole() {
    let rule = |name: &str| format!("{{name: {name}, {MATCH}, {PATCH}}}");
    for [spec, place, words] in rows(SPECS) {
        let spec = spec.replace("RULE", &rule("r")).replace("LONG", &rule(&"x".repeat(64)));
        refused(&policy(&spec), place, words);
    }
    let mut document = with_rule(PATCH);
    document.as_object_mut().unwrap()["metadata"].insert("namespace", Value::from("x"));
    let notes = load(&document).meta.notes;
    assert!(notes[0].text.contains("removes `metadata.namespace: x`"), "{notes:?}");
    let mut document = with_rule(PATCH);
    let annotations = value(r#"{"pod-policies.kyverno.io/autogen-controllers":"all"}"#);
    document.as_object_mut().unwrap()["metadata"].insert("annotations", annotations);
    refused(
        &document,
        r#"metadata.annotations["pod-policies.kyverno.io/autogen-controllers"]"#,
        "does not support 'all' anymore",
    );
}

/// Fields of a rule, the place of the error in the rule and words in it.
const RULES: &str = r#"
    context: [] => rule => No operation defined in the rule 'r'
    mutate: {} => rule => No operation defined
    mutate: {patchStrategicMerge: null, patchesJson6902: ''} => rule => No operation defined
    mutate: {patchesJson6902: '', patchStrategicMerge: {a: 1}}, validate: {message: x} => rule => Multiple operations defined in the rule 'r', only one is allowed: mutate, validate
    mutate: {patchStrategicMerge: {}, patchesJson6902: '[]'} => mutate => only one of `patchStrategicMerge` or `patchesJson6902` is allowed
    mutate: {patchStrategicMerge: {}, foreach: [{list: request.object.x, patchStrategicMerge: {}}]} => mutate => only one of `foreach`,
    mutate: {patchStrategicMerge: [1]} => mutate.patchStrategicMerge => must be an object
    mutate: {foreach: [{list: request.object.x}]} => mutate.foreach[0] => only one of
    mutate: {foreach: [{list: request.object.x, foreach: [{list: element, patchStrategicMerge: {}}], context: [{name: c, variable: {value: 1}}]}]} => mutate.foreach[0] => a nested foreach cannot contain other declarations
    mutate: {foreach: [{list: request.object.x, foreach: [{list: element}]}]} => mutate.foreach[0].foreach[0] => only one of
    mutate: {foreach: [{list: request.object.x, patchStrategicMerge: {}, preconditions: []}]} => mutate.foreach[0].preconditions => expected an object
    mutate: {foreach: [{list: request.object.x, patchStrategicMerge: {}, preconditions: {all: [{key: a, operator: Foo, value: 1}]}}]} => mutate.foreach[0].preconditions.all[0].operator => unknown operator
    mutate: {mutateExistingOnPolicyUpdate: true, patchStrategicMerge: {}} => mutate => targets has to be specified
    celPreconditions: [{name: a, expression: 'true'}], mutate: {patchStrategicMerge: {}} => celPreconditions => celPrecondition can only be used with validate.cel
    imageExtractors: {ConfigMap: [{path: /x}]}, mutate: {patchStrategicMerge: {}} => imageExtractors => only be defined for verifyImages
    preconditions: x, mutate: {patchStrategicMerge: {}} => preconditions => expected
    context: [{name: request, variable: {value: 1}}], mutate: {patchStrategicMerge: {}} => context[0].name => conflicts with a pre-defined variable
"#;

#[test]
fn rules_do_one_thing() {
    for [fields, place, words] in rows(RULES) {
        let place = if place == "rule" { String::new() } else { format!(".{place}") };
        refused(&with_rule(fields), &format!("spec.rules[0]{place}"), words);
    }
}

#[test]
fn json_patches_are_checked_without_their_variables() {
    for (patch, words) in [
        ("- {op: merge, path: /data/a, value: x}", "unsupported operation `merge`"),
        ("- {op: Add, path: /data/a, value: x}", "unsupported operation `Add`"),
        ("- {path: /data/a, value: x}", "missing op field"),
        ("- {op: add, path: /data/a}", "missing value field"),
        ("- {op: test, path: /data/a}", "missing value field"),
        ("- {op: add, value: x}", "missing path field"),
        ("- {op: move, path: /data/a}", "missing from field"),
        ("- {op: add, path: data/a, value: x}", "path must begin with a forward slash"),
        ("- {op: add, path: '', value: {}}", "path must begin with a forward slash"),
        ("- 1", "expected an object"),
        ("op: add", "expected a list of operations"),
        ("{{ request.object.metadata.ops }}", "expected a list of operations"),
        ("- {", "failed to decode patches"),
        (
            "- {op: add, path: '/data/{{ request.object.metadata.name }}', value: x}",
            "rule \"r\" should not have variables in patchesJSON6902 path section",
        ),
        ("- {op: '{{ request.object.op }}', path: /data/a, value: x}", "unsupported operation"),
    ] {
        let document =
            with_rule(&format!(r#""mutate":{{"patchesJson6902":{}}}"#, Value::from(patch).to_json()));
        refused(&document, "spec.rules[0].mutate.patchesJson6902", words);
    }
    for patch in [
        "[]",
        "- op: add\n  path: /data/a\n  value: {{ request.object.metadata.name }}",
        r"- {op: add, path: '/data/\{{ request.object.metadata.name }}', value: x}",
        "- {op: add, path: /data/a, value: null, more: x}",
        r#"[{"op":"remove","path":"/data/a"}]"#,
    ] {
        load(&with_rule(&format!(r#""mutate":{{"patchesJson6902":{}}}"#, Value::from(patch).to_json())));
    }
}

#[test]
fn all_errors_are_listed_in_the_order_of_the_document() {
    let document = value(
        r#"{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{"name":"p"},
            "spec":{"failurePolicie":"Ignore","rules":[
                {"name":"r","match":{"any":[{"resources":{"kinds":"Pod"}}]},"mutate":{"patchStrategicMerg":{}}},
                {"name":"r","match":{"resources":{"kinds":["ConfigMap"],"selector":{}}},"mutate":{"patchesJson6902":"- {op: ad, path: x}"}}]}}"#,
    );
    let found: Vec<_> = errors(&document, Semantics::Documented).iter().map(ToString::to_string).collect();
    let places: Vec<_> = found.iter().map(|error| error.split([':', ' ']).next().unwrap()).collect();
    assert_eq!(
        places,
        [
            "spec.failurePolicie",
            "spec.rules[0].match.any[0].resources.kinds",
            "spec.rules[0].mutate.patchStrategicMerg",
            "spec.rules[1].name",
            "spec.rules[1].match.resources.selector",
            "spec.rules[1].mutate.patchesJson6902",
            "spec.rules[1].mutate.patchesJson6902",
        ],
        "{found:#?}"
    );
    assert!(found[5].ends_with("did you mean `add`?"), "{}", found[5]);
}

/// `match` and `exclude` of a rule, whether its policy runs in background scans, the place of the error in the rule and
/// words in it.
const FILTERS: &str = r#"
    match: {} => true => match => at least one element must be specified in a kind block
    match: {any: [{}]} => true => match.any[0] => at least one element
    match: {any: [{resources: {names: [a]}}]} => true => match.any[0].resources => at least one element
    match: {resources: {kinds: []}} => true => match.resources => at least one element
    match: {any: [{resources: {kinds: [Pod]}}], all: [{resources: {kinds: [Pod]}}]} => true => match => Can't specify any and all together
    match: {any: [{resources: {kinds: [Pod]}}], resources: {kinds: [Pod]}} => true => match => can't specify any/all together with match resources
    match: {any: [{resources: {kinds: [ConfigMap], name: a, names: [b]}}]} => true => match.any[0].resources => only one of `name` and `names`
    match: {any: [{resources: {kinds: [ConfigMap], selector: {}}}]} => true => match.any[0].resources.selector => The requirements are not specified in selector
    match: {any: [{resources: {kinds: [ConfigMap], selector: {matchLabels: {a b: c}}}}]} => true => match.any[0].resources.selector => cannot be used
    match: {any: [{resources: {kinds: [ConfigMap], selector: {matchExpressions: [{key: a, operator: In}]}}}]} => true => match.any[0].resources.selector => cannot be used
    match: {any: [{resources: {kinds: [ConfigMap], selector: {matchExpressions: [{key: a, operator: in, values: [b]}]}}}]} => true => match.any[0].resources.selector.matchExpressions[0].operator => unsupported value
    match: {any: [{resources: {kinds: [ConfigMap], operations: [create]}}]} => true => match.any[0].resources.operations[0] => expected `CREATE`
    match: {any: [{resources: {kinds: [ConfigMap], names: ['{{ request.object.metadata.name }}']}}]} => true => match.any[0].resources.names[0] => rule "r" should not have variables in match section
    match: {any: [{resources: {kinds: ['*', Pod]}}]} => false => match.any[0].resources.kinds => must be the only one
    match: {any: [{resources: {kinds: ['*']}}]} => true => match.any[0].resources.kinds => background mode

    match: {any: [{resources: {kinds: [ConfigMap]}, roles: ['a:b']}]} => true => match.any[0].roles => invalid variable used at path: spec/rules[0]/match/any[0]/roles
    match: {any: [{resources: {kinds: [ConfigMap]}, clusterRoles: [a]}]} => true => match.any[0].clusterRoles => background
    match: {any: [{resources: {kinds: [ConfigMap]}, subjects: [{kind: User, name: a}]}]} => true => match.any[0].subjects => background
    match: {any: [{resources: {kinds: [ConfigMap]}, roles: [edit]}]} => false => match.any[0].roles[0] => namespace:name
    match: {any: [{resources: {kinds: [ConfigMap]}, roles: ['a:b:c']}]} => false => match.any[0].roles[0] => namespace:name
    match: {any: [{resources: {kinds: [ConfigMap]}, subjects: [{kind: Robot, name: a}]}]} => false => match.any[0].subjects[0].kind => `Robot`
    match: {any: [{resources: {kinds: [ConfigMap]}, subjects: [{kind: User, name: ''}]}]} => false => match.any[0].subjects[0] => needs a name
    match: {any: [{resources: {kinds: [ConfigMap]}, subjects: [{kind: User}]}]} => false => match.any[0].subjects[0] => required field `name` is missing
    match: {any: [{resources: {kinds: [ConfigMap]}, subjects: [{kind: ServiceAccount, name: a}]}]} => false => match.any[0].subjects[0] => namespace

    match: {any: [{resources: {kinds: [ConfigMap]}}]}, exclude: {any: [{subjects: [{kind: User, name: a}]}]} => true => exclude.any[0].subjects => spec/rules[0]/exclude/any[0]/subjects
    match: {any: [{resources: {kinds: [ConfigMap]}}]}, exclude: {any: [{resources: {selector: {}}}]} => true => exclude.any[0].resources.selector => The requirements
    match: {any: [{resources: {kinds: [ConfigMap]}}]}, exclude: {any: [{resources: {namespaces: ['{{ request.namespace }}']}}]} => true => exclude.any[0].resources.namespaces[0] => variables in exclude section
"#;

#[test]
fn filters_are_checked() {
    for [blocks, background, place, words] in rows(FILTERS) {
        let document = policy(&format!(
            "background: {background}, rules: [{{name: r, {blocks}, \
              mutate: {{patchStrategicMerge: {{metadata: {{labels: {{a: b}}}}}}}}}}]"
        ));
        refused(&document, &format!("spec.rules[0].{place}"), words);
    }
    // Filters of `exclude` need no kinds.
    load(&with_rule(&format!("{PATCH}, exclude: {{any: [{{}}]}}")));
    load(&with_rule(&format!("{PATCH}, exclude: {{any: [{{resources: {{names: [a]}}}}]}}")));
}

#[test]
fn a_rule_for_every_kind_may_write_metadata_alone() {
    let document = |overlay: &str| {
        policy(&format!(
            "background: false, rules: [{{name: r, match: {{any: [{{resources: {{kinds: ['*']}}}}]}}, \
              mutate: {{patchStrategicMerge: {overlay}}}}}]"
        ))
    };
    let place = "spec.rules[0].mutate.patchStrategicMerge";
    refused(&document("{spec: {a: b}}"), place, "can only deal with the metadata field");
    load(&document("{metadata: {labels: {a: b}}}"));
}

/// Fields of a rule, the place of the error in the rule and words in it.
const NAMESPACED: &str = "
    match: {any: [{resources: {kinds: [Pod], namespaces: [x]}}]}, PATCH => match.any[0].resources.namespaces => namespace
    MATCH, exclude: {any: [{resources: {namespaces: [x]}}]}, PATCH => exclude.any[0].resources.namespaces => namespace
    match: {any: [{resources: {kinds: [v1/Namespace]}}]}, PATCH => match.any[0].resources.kinds[0] => `Namespace`
    MATCH, mutate: {targets: [{apiVersion: v1, kind: Secret, namespace: 'y'}], patchStrategicMerge: {}} => mutate.targets[0].namespace => its own namespace
";

#[test]
fn a_namespaced_policy_keeps_to_its_namespace() {
    let document = |rule: &str| {
        let rule = rule.replace("MATCH", MATCH).replace("PATCH", PATCH);
        value(&format!(
            "{{apiVersion: kyverno.io/v1, kind: Policy, metadata: {{name: p, namespace: x}}, \
              spec: {{rules: [{{name: r, {rule}}}]}}}}"
        ))
    };
    for [rule, place, words] in rows(NAMESPACED) {
        refused(&document(rule), &format!("spec.rules[0].{place}"), words);
    }
    assert_eq!(&*load(&document("MATCH, PATCH")).meta.full_name(), "x/p");
}

#[test]
fn the_later_version_knows_no_direct_match() {
    let mut document =
        policy(&format!("rules: [{{name: r, match: {{resources: {{kinds: [Pod]}}}}, {PATCH}}}]"));
    load(&document);
    document.insert("apiVersion", Value::from("kyverno.io/v2beta1"));
    refused(&document, "spec.rules[0].match.resources", "unknown field `resources`");
}

#[test]
fn typed_labels_are_strings_or_refused() {
    let document = with_rule(r#""mutate":{"patchStrategicMerge":{"metadata":{"labels":{"a":true}}}}"#);
    let policy = load(&document);
    assert_eq!(policy.meta.divergences.iter().collect::<Vec<_>>(), [Divergence::TypedLabel]);
    let Edit::Patch(Patch::StrategicMerge { overlay, prepared: Some(_) }) = policy.rules[0].edit() else {
        panic!("a fixed overlay is prepared")
    };
    assert_eq!(overlay.source().to_json(), r#"{"metadata":{"labels":{"a":"true"}}}"#);
    let found = errors(&document, Semantics::Kyverno);
    assert_eq!(found[0].divergence, Some(Divergence::TypedLabel));
    assert_eq!(found[0].pointer.to_string(), "spec.rules[0].mutate.patchStrategicMerge.metadata.labels.a");
}

#[test]
fn what_only_the_documentation_forbids_is_a_divergence() {
    let bad_list = Divergence::ForeachBadList;
    for (mutate, divergence) in [
        (r#""patchStrategicMerge":{"data":{"=(k)":"v"}}"#, Divergence::ForeignAnchor),
        (
            r#""patchStrategicMerge":{"data":{"=(k)":"{{ request.object.metadata.name }}"}}"#,
            Divergence::ForeignAnchor,
        ),
        (r#""patchStrategicMerge":{"data":{"$retainKeys":["a"]}}"#, Divergence::PatchDirective),
        (r#""foreach":[{"patchStrategicMerge":{}}]"#, bad_list),
        (r#""foreach":[{"list":"{{request.object.x}}","patchStrategicMerge":{}}]"#, bad_list),
    ] {
        let document = with_rule(&format!(r#""mutate":{{{mutate}}}"#));
        for semantics in [Semantics::Documented, Semantics::Kyverno] {
            let policy = load_as(&document, semantics);
            assert_eq!(policy.meta.divergences.iter().collect::<Vec<_>>(), [divergence], "{mutate}");
        }
    }
}

#[test]
fn the_legacy_syntax_runs_and_clusters_refuse_it() {
    let document = with_rule(r#""mutate":{"overlay":{"metadata":{"labels":{"a":"b"}}}}"#);
    let documented = load(&document);
    assert!(documented.meta.refused.is_empty() && documented.meta.not_evaluated.is_empty());
    let own = |policy: &ClassicPolicy| match policy.rules[0].edit() {
        Edit::Patch(Patch::Legacy(LegacyMutation::Own { behavior, overlay: Some(part), patches: None })) => {
            assert!(part.prepared.is_some());
            Some(*behavior)
        }
        _ => None,
    };
    assert_eq!(own(&documented), Some(LegacyBehavior::Documented));
    assert!(documented.meta.divergences.contains(Divergence::LegacySyntax));
    assert!(documented.meta.notes[0].text.contains("write `patchStrategicMerge`"));
    let kyverno = load_as(&document, Semantics::Kyverno);
    assert_eq!(kyverno.meta.refused[0].divergence, Some(Divergence::LegacySyntax));
    assert_eq!(kyverno.meta.refused[0].pointer.to_string(), "spec.rules[0].mutate.overlay");
    assert_eq!(kyverno.meta.not_evaluated[0].why, Why::LegacySyntax);
    for semantics in [Semantics::Documented, Semantics::Kyverno] {
        let read = |legacy| parse(&document, Dialect { semantics, legacy }).unwrap();
        assert_eq!(own(&read(LegacyMode::Native)), Some(LegacyBehavior::Native));
        let later = read(LegacyMode::Later);
        assert!(matches!(
            later.rules[0].edit(),
            Edit::Patch(Patch::StrategicMerge { prepared: Some(_), .. })
        ));
        assert_eq!(later.meta.refused.is_empty(), semantics == Semantics::Documented);
    }
}

#[test]
fn of_a_policy_that_clusters_refuse_no_other_rule_runs() {
    let document = policy(&format!(
        r#""rules":[{{"name":"a",{MATCH},"mutate":{{"patches":[{{"op":"remove","path":"/a"}}]}}}},
            {{"name":"b",{MATCH},"mutate":{{"patchStrategicMerge":{{"metadata":{{"labels":{{"a":"b"}}}}}}}}}}]"#
    ));
    let names = |policy: &ClassicPolicy| -> Vec<String> {
        policy.rules.iter().map(|rule| rule.name.to_string()).collect()
    };
    assert_eq!(names(&load(&document)), ["a", "b"]);
    assert_eq!(names(&load_as(&document, Semantics::Kyverno)), ["a"]);
}

#[test]
fn what_is_not_evaluated_is_listed() {
    let document = policy(&format!(
        r#""rules":[
            {{"name":"v",{MATCH},"validate":{{"message":"x","pattern":{{"a":"b"}}}}}},
            {{"name":"g",{MATCH},"generate":{{"kind":"Secret"}}}},
            {{"name":"i",{MATCH},"verifyImages":[{{"imageReferences":["*"]}}]}},
            {{"name":"f",{MATCH},"mutate":{{"foreach":[{{"list":"request.object.x","patchStrategicMerge":{{}}}}]}}}},
            {{"name":"t",{MATCH},"mutate":{{"targets":[{{"apiVersion":"v1","kind":"Secret"}}],"patchStrategicMerge":{{"a":1}}}}}},
            {{"name":"c",{MATCH},"context":[{{"name":"c","variable":{{"value":1}}}}],{PATCH}}},
            {{"name":"m",{MATCH},{PATCH}}}]"#
    ));
    let policy = load(&document);
    let listed: Vec<_> = policy
        .meta
        .not_evaluated
        .iter()
        .map(|entry| (entry.rule.as_deref().unwrap_or("-"), entry.why))
        .collect();
    assert_eq!(listed, [("v", Why::Validate), ("g", Why::Generate), ("i", Why::VerifyImages)]);
    let rules: Vec<_> = policy.rules.iter().map(|rule| &*rule.name).collect();
    assert_eq!(rules, ["f", "t", "c", "m"]);
}

#[test]
fn only_fixed_patches_are_prepared() {
    for (mutate, expected) in [
        (r#"{"patchStrategicMerge":{"data":{"a":"b"}}}"#, true),
        (r#"{"patchStrategicMerge":{"data":{"a":"{{ request.object.metadata.name }}"}}}"#, false),
        (r#"{"patchesJson6902":"- {op: add, path: /data/a, value: b}"}"#, true),
        (
            r#"{"patchesJson6902":"- {op: add, path: /data/a, value: '{{ request.object.metadata.name }}'}"}"#,
            false,
        ),
        (r#"{"patchStrategicMerge":"{{ request.object.data }}"}"#, false),
    ] {
        let policy = load(&with_rule(&format!(r#""mutate":{mutate}"#)));
        let prepared = match policy.rules[0].edit() {
            Edit::Patch(Patch::StrategicMerge { prepared, .. }) => prepared.is_some(),
            Edit::Patch(Patch::Json6902 { prepared, .. }) => prepared.is_some(),
            other => panic!("{other:?}"),
        };
        assert_eq!(prepared, expected, "{mutate}");
    }
}

#[test]
fn generated_rules_follow_the_written_ones() {
    let pod = |name: &str| {
        format!(
            r#"{{"name":"{name}","match":{{"any":[{{"resources":{{"kinds":["Pod"]}}}}]}},
                "mutate":{{"patchStrategicMerge":{{"metadata":{{"labels":{{"a":1}}}}}}}}}}"#
        )
    };
    let policy = load(&policy(&format!(r#""rules":[{},{},{}]"#, pod("a"), pod("autogen-x"), pod("b"))));
    let rules: Vec<_> = policy
        .rules
        .iter()
        .map(|rule| (&*rule.name, rule.generated_from.as_deref().unwrap_or("-"), rule.pointer.to_string()))
        .collect();
    let at = |index: usize| format!("spec.rules[{index}]");
    assert_eq!(
        rules,
        [
            ("a", "-", at(0)),
            ("b", "-", at(2)),
            ("autogen-a", "a", at(0)),
            ("autogen-cronjob-a", "a", at(0)),
            ("autogen-autogen-x", "autogen-x", at(1)),
            ("autogen-cronjob-autogen-x", "autogen-x", at(1)),
            ("autogen-b", "b", at(2)),
            ("autogen-cronjob-b", "b", at(2)),
        ]
    );
    assert!(policy.rules.iter().all(|rule| rule.divergences.contains(Divergence::TypedLabel)));
    assert_eq!(&**policy.rules[2].source_name(), "a");
}

#[test]
fn notes_are_about_probable_mistakes() {
    let note = |document: &Value| {
        load(document).meta.notes.iter().map(|note| note.text.clone()).collect::<Vec<_>>().join("; ")
    };
    let kinds = policy(&format!(
        r#""rules":[{{"name":"r","match":{{"any":[{{"resources":{{"kinds":["apps/Deployment"]}}}}]}},{PATCH}}}]"#
    ));
    assert!(note(&kinds).contains("did you mean `apps/*/Deployment`?"));
    for kind in ["a/b/c/d/e", ""] {
        let unusable = policy(&format!(
            r#""rules":[{{"name":"r","match":{{"any":[{{"resources":{{"kinds":["{kind}"]}}}}]}},{PATCH}}}]"#
        ));
        assert!(note(&unusable).contains("no kind matches the selector"), "{kind}");
    }
    let selector = policy(&format!(
        r#""rules":[{{"name":"r","match":{{"any":[{{"resources":{{"kinds":["Pod"],"namespaceSelector":{{"matchLabels":{{"a b":"c"}}}}}}}}]}},{PATCH}}}]"#
    ));
    assert!(note(&selector).contains("`namespaceSelector` of a filter cannot be used"));
    let moved = with_rule(r#""mutate":{"patchesJson6902":"- {op: move, path: /data/a, from: /data/b}"}"#);
    assert!(note(&moved).contains("`move`"));
    assert_eq!(note(&with_rule(PATCH)), "");
}
