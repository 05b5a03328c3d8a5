//! The crate as other programs use it, without its program and without a cluster.

use std::thread;
use std::time::{Duration, SystemTime};

use kyv::{Input, ManifestError, Mutator, MutatorBuilder, Operation, Outcome, Semantics};

/// A policy with one rule for `ConfigMap` objects.
fn policy(rule: &str) -> Input {
    let head = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  background: false
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap], operations: [CREATE, UPDATE, DELETE]}}]}
";
    let lines: String = rule.lines().map(|line| format!("    {line}\n")).collect();
    Input::text("p.yaml", format!("{head}{lines}"))
}

/// A policy that writes the value of an expression into an annotation.
fn annotating(expression: &str) -> MutatorBuilder {
    let value = format!("\"{{{{ {expression} }}}}\"");
    let patch = format!("mutate: {{patchStrategicMerge: {{metadata: {{annotations: {{is: {value}}}}}}}}}");
    Mutator::builder().policies(policy(&patch))
}

const OBJECT: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: shop}   # ours
data: {k: v}
";

/// The annotation that `annotating` wrote.
fn annotation(builder: MutatorBuilder) -> String {
    let report = builder.build().expect("a policy").mutate(OBJECT).expect("an object");
    let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
    json["metadata"]["annotations"]["is"].as_str().unwrap_or_else(|| panic!("{report:?}")).to_owned()
}

#[test]
fn all_problems_of_the_inputs_are_listed_with_their_places() {
    let error = Mutator::builder()
        .policies(policy("mutate: {patchStrategicMerge: {}, patchesJson6903: ''}"))
        .exceptions(Input::text("e.yaml", "a: [\n"))
        .values(Input::text("v.yaml", "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nglobalValue: {}\n"))
        .user_info(Input::path("/no/such/file.yaml"))
        .build()
        .unwrap_err();
    let begins = ["p.yaml:9:", "e.yaml:", "v.yaml:3:1: ", "/no/such/file.yaml: "];
    for begin in begins {
        let found = error.problems().iter().any(|problem| problem.starts_with(begin));
        assert!(found, "{begin}\n{error}");
    }
}

#[test]
fn policies_that_are_not_evaluated_are_errors() {
    let text = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: m}\nspec:\n  \
    rules: [{name: r, match: {any: [{resources: {kinds: [Secret]}}]}, mutate: {overlay: {metadata: {labels: {a: b}}}}}]\n";
    let error = Mutator::builder()
        .policies(Input::text("m.yaml", text))
        .semantics(Semantics::Kyverno)
        .build()
        .unwrap_err();
    let problem = "m.yaml:1: m/r: not evaluated: mutate rule with `overlay` or `patches`";
    assert_eq!(error.problems().first().map(String::as_str), Some(problem));
    assert_eq!(Mutator::builder().build().unwrap_err().problems(), ["policies: no policy found"]);
}

#[test]
fn what_is_no_object_is_an_error() {
    let mutator = annotating("request.operation").build().expect("a policy");
    let error = |manifest: &str| mutator.mutate(manifest).unwrap_err();
    assert!(matches!(error("a: ["), ManifestError::Syntax(errors) if errors[0].starts_with("manifest:1:")));
    assert_eq!(error(""), ManifestError::Documents(0));
    assert_eq!(error(&format!("{OBJECT}---\n{OBJECT}")), ManifestError::Documents(2));
    assert_eq!(error("kind: ConfigMap\n"), ManifestError::NoObject);
    let list = "apiVersion: v1\nkind: ConfigMapList\nitems: []\n";
    assert_eq!(error(list), ManifestError::List("ConfigMapList".to_owned()));
    assert!(matches!(mutator.mutate_update(OBJECT, "x: ["), Err(ManifestError::Syntax(_))));
}

#[test]
fn an_unchanged_manifest_is_the_same_text() {
    let mutator = Mutator::builder()
        .policies(policy("mutate: {patchStrategicMerge: {data: {+(k): other}}}"))
        .build()
        .expect("a policy");
    let report = mutator.mutate(OBJECT).expect("an object");
    assert_eq!(report.manifest(), OBJECT);
    assert!(!report.is_changed() && !report.has_errors());
    assert_eq!(report.rules().map(|rule| rule.outcome()).collect::<Vec<_>>(), [Outcome::NoChange]);
}

#[test]
fn errors_discard_changes_and_hide_secrets() {
    let mutator = Mutator::builder()
        .policies(Input::text(
            "p.yaml",
            "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: changes
    match: {any: [{resources: {kinds: [Secret]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}
  - name: fails
    match: {any: [{resources: {kinds: [Secret]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: '{{ parse_json(request.object.data.key) }}'}}}}
",
        ))
        .build()
        .expect("policies");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {key: aHVudGVyMg==}\n";
    let report = mutator.mutate(secret).expect("an object");
    assert!(report.has_errors());
    assert_eq!(report.manifest(), secret);
    let outcomes: Vec<Outcome> = report.rules().map(|rule| rule.outcome()).collect();
    let [Outcome::Patched, Outcome::Error(message)] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert!(!message.contains("aHVudGVyMg"), "{message}");
}

#[test]
fn context_comes_from_the_inputs() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: lib}\ndata: {color: blue}\n";
    let rule = "context: [{name: m, configMap: {name: m, namespace: lib}}]
mutate: {patchStrategicMerge: {metadata: {annotations: {is: '{{ m.data.color }}'}}}}";
    let with_map = Mutator::builder().policies(policy(rule)).context_objects(Input::text("m.yaml", map));
    assert_eq!(annotation(with_map), "blue");
    let user = "apiVersion: cli.kyverno.io/v1alpha1\nkind: UserInfo\nuserInfo: {username: ana}\n";
    let by_user = annotating("request.userInfo.username").user_info(Input::text("u.yaml", user));
    assert_eq!(annotation(by_user), "ana");
    assert_eq!(annotation(annotating("request.operation").operation(Operation::Update)), "UPDATE");
    let later = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400);
    assert_eq!(annotation(annotating("time_now()").now(later)), "1970-01-02T00:00:00Z");
    assert_eq!(annotation(annotating("time_now()")), "1970-01-01T00:00:00Z");
    let random = || annotating("random('[a-z]{12}')");
    assert_eq!(annotation(random().seed(1)), annotation(random().seed(1)));
    assert_ne!(annotation(random().seed(1)), annotation(random().seed(2)));
}

#[test]
fn inputs_without_effect_are_noted() {
    let values = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\npolicies: [{name: q, resources: [{name: a, values: {x: y1}}]}]\n";
    let exception = "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: e, namespace: shop}\n\
        spec: {policyRefs: [{kind: ValidatingPolicy, name: v}]}\n";
    let mutator = annotating("request.operation")
        .values(Input::text("v.yaml", values))
        .exceptions(Input::text("e.yaml", exception))
        .build()
        .expect("a policy");
    for name in ["shop/e", "q"] {
        assert!(mutator.notes().iter().any(|note| note.contains(name)), "{name}: {:?}", mutator.notes());
    }
    assert!(annotating("request.operation").build().expect("a policy").notes().is_empty());
}

#[test]
fn labels_of_namespaces_select_objects() {
    let rule =
        "match: {any: [{resources: {kinds: [ConfigMap], namespaceSelector: {matchLabels: {team: a}}}}]}";
    let text = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    {rule}\n    \
         mutate: {{patchStrategicMerge: {{data: {{k: w}}}}}}\n"
    );
    let builder = || Mutator::builder().policies(Input::text("p.yaml", text.clone()));
    let changed = |builder: MutatorBuilder| {
        let report = builder.build().expect("a policy").mutate(OBJECT).expect("an object");
        (report.is_changed(), report.missing_inputs())
    };
    assert_eq!(changed(builder().namespace_labels("shop", [("team", "a")])), (true, Vec::new()));
    assert_eq!(changed(builder().namespace_labels("shop", [("team", "b")])), (false, Vec::new()));
    assert_eq!(changed(builder()), (false, vec!["the labels of namespace shop".to_owned()]));
}

#[test]
fn the_stored_object_of_an_update_is_known() {
    let mutator = annotating("request.oldObject.data.k").build().expect("a policy");
    let report = mutator.mutate_update(OBJECT, &OBJECT.replace("k: v", "k: old")).expect("objects");
    assert!(report.manifest().contains("is: old"), "{}", report.manifest());
}

#[test]
fn divergences_are_named() {
    // KYV-D16: a list that the object does not have is empty by the documentation, and an error in Kyverno.
    let rule = "mutate: {foreach: [{list: request.object.absent, patchStrategicMerge: {data: {k: w}}}]}";
    let report = |semantics| {
        let built = Mutator::builder().semantics(semantics).policies(policy(rule)).build();
        built.expect("a policy").mutate(OBJECT).expect("an object")
    };
    let (documented, kyverno) = (report(Semantics::Documented), report(Semantics::Kyverno));
    assert_eq!([documented.divergences(), kyverno.divergences()], [["KYV-D16"], ["KYV-D16"]]);
    assert_eq!([documented.has_errors(), kyverno.has_errors()], [false, true]);
}

#[test]
fn one_mutator_serves_many_threads() {
    let mutator = annotating("request.object.data.k").build().expect("a policy");
    thread::scope(|scope| {
        for number in 0..4 {
            let mutator = &mutator;
            scope.spawn(move || {
                let object = OBJECT.replace("k: v", &format!("k: v{number}"));
                let report = mutator.mutate(&object).expect("an object");
                assert!(report.manifest().contains(&format!("is: v{number}")), "{}", report.manifest());
            });
        }
    });
}
