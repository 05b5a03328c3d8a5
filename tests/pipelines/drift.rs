//! `drift` beside the comparison of Argo CD's application controller, which the program `argocd-diff` makes with Argo CD's
//! own code: without rules the objects are OutOfSync as predicted, with the rules they are Synced, and any other change still
//! shows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kyv::admission::Admission;
use kyv::drift::live_drift;
use kyv::engine::{EmptyWorld, Engine, Settings};
use kyv::policy::PolicySet;
use kyv::report::{Cause, Drift, ObjectReport};
use kyv::semantics::Semantics;
use kyv::source::PolicyLoader;
use kyv::value::{GroupVersionKind, Value};
use kyv::yaml::Limits;
use serde_json::{Value as Json, json};
use test_support::{drift as argo, log, sample_objects, skip_without_real_programs};

use crate::folder::{Folder, kyv_program};

/// The objects of a run; those of [`sample_objects`], and one with many lists.
const OBJECTS: usize = 72;

const RICH: &str = r#"{
  "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "rich", "namespace": "shop", "labels": {"app": "rich"}},
  "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "rich"}}, "template": {
    "metadata": {"labels": {"app": "rich"}, "annotations": {"a.example/b": "c"}},
    "spec": {
      "tolerations": [{"key": "batch", "operator": "Exists"}],
      "imagePullSecrets": [{"name": "old"}],
      "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}],
      "volumes": [{"name": "v", "emptyDir": {}}],
      "initContainers": [{"name": "init", "image": "init:latest"}],
      "containers": [
        {"name": "web", "image": "web:latest", "imagePullPolicy": "IfNotPresent", "args": ["a", "b"],
         "resources": {"requests": {"cpu": "0.5"}, "limits": {"memory": "1024Mi"}},
         "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}],
         "volumeMounts": [{"name": "v", "mountPath": "/v"}]},
        {"name": "proxy", "image": "docker.io/library/proxy:1"}]}}}}"#;

const CUSTOM: &str = r#"{
  "apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "shop", "namespace": "shop", "labels": {"app": "shop"}},
  "spec": {"items": [{"name": "a"}], "size": 1}}"#;

/// Policies whose changes Argo CD shows in different ways.
const POLICIES: &[(&str, &str)] = &[
    ("image", "{spec: {template: {spec: {containers: [{(name): '*', image: 'mirror/x:1'}]}}}}"),
    ("pull", "{spec: {template: {spec: {containers: [{(image): '*:latest', imagePullPolicy: Always}]}}}}"),
    ("order", "{spec: {template: {spec: {containers: [{(name): proxy, imagePullPolicy: Always}]}}}}"),
    (
        "toleration",
        "{spec: {template: {spec: {tolerations: [{key: batch, operator: Exists}, {key: new, operator: Exists}]}}}}",
    ),
    ("sidecar", "{spec: {template: {spec: {containers: [{name: agent, image: 'agent:1'}]}}}}"),
    ("secret", "{spec: {template: {spec: {imagePullSecrets: [{name: new}]}}}}"),
    ("alias", "{spec: {template: {spec: {hostAliases: [{ip: 10.0.0.1, hostnames: [b]}]}}}}"),
    ("arguments", "{spec: {template: {spec: {containers: [{name: web, args: [c]}]}}}}"),
    ("removed", "{spec: {replicas: null, template: {spec: {volumes: null}}}}"),
    ("token", "{stringData: {token: changed, more: data}}"),
    ("goods", "{spec: {items: [{name: a}, {name: b}]}}"),
    ("goods-by-condition", "{spec: {items: [{(name): a, price: 3}]}}"),
    ("goods-of-another-name", "{spec: {items: [{name: b}]}}"),
    ("size", "{spec: {size: 2, color: red}}"),
    ("scale", "{spec: {replicas: 5}}"),
    ("label", "{metadata: {labels: {app: other, new: label}}}"),
    (
        "requests",
        "{spec: {template: {spec: {containers: [{name: web, resources: {requests: {cpu: 500m}}}]}}}}",
    ),
];

struct Case {
    name: String,
    differences: Vec<String>,
    config: Json,
    live: Json,
    is_out_of_sync: bool,
    is_ignorable: bool,
    rules: Json,
    /// Live objects that someone else changed, and whether that shows as OutOfSync.
    edited: Vec<(Json, bool)>,
}

/// What someone may change in a live object.
const EDITS: [fn(&mut Json); 7] = [
    |live| live["metadata"]["labels"]["edited"] = json!("by-hand"),
    |live| live["metadata"]["labels"]["app"] = json!("edited"),
    |live| drop(live["metadata"].as_object_mut().and_then(|metadata| metadata.remove("labels"))),
    |live| live["spec"]["replicas"] = json!(7),
    |live| live["spec"]["template"]["spec"]["containers"][0]["image"] = json!("edited:9"),
    |live| {
        let containers = live["spec"]["template"]["spec"]["containers"].as_array_mut();
        containers
            .into_iter()
            .for_each(|list| list.insert(0, json!({"name": "edited", "image": "edited:9"})));
    },
    |live| live["spec"]["template"]["spec"]["tolerations"] = json!([{"key": "edited", "operator": "Exists"}]),
];

#[test]
fn argo_cd_shows_what_is_predicted() {
    if skip_without_real_programs("drift beside Argo CD") {
        return;
    }
    let mut objects: Vec<Json> = (0..OBJECTS).map(sample_objects::object).collect();
    objects.extend([RICH, CUSTOM].map(|text| serde_json::from_str(text).expect("JSON")));
    let mut policies: Vec<(String, String)> = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/compare/policies");
    for entry in fs::read_dir(folder).expect("the policies") {
        let path = entry.expect("a file").path();
        policies.push((path.display().to_string(), fs::read_to_string(&path).expect("a policy")));
    }
    policies.sort();
    for (name, overlay) in POLICIES {
        let kind = match *name {
            "token" => "Secret",
            "goods" | "goods-by-condition" | "goods-of-another-name" | "size" => "example.com/v1/Shop",
            _ => "Deployment",
        };
        let text = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  - name: r\n    \
             match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}\n    mutate: {{patchStrategicMerge: {overlay}}}\n"
        );
        policies.push(((*name).to_owned(), text));
    }
    // Also all of them at once.
    let together: Vec<&str> = policies.iter().map(|(_, text)| text.as_str()).collect();
    policies.push(("together".to_owned(), together.join("---\n")));
    let mut cases = Vec::new();
    for (name, policy) in &policies {
        cases.extend(cases_of(name, policy, &objects));
    }
    let ask = |make: &dyn Fn(&Case) -> Option<Json>| -> Vec<(usize, argo::Answer)> {
        let asked: Vec<(usize, Json)> =
            cases.iter().enumerate().filter_map(|(index, case)| Some((index, make(case)?))).collect();
        let questions: Vec<Json> = asked.iter().map(|(_, question)| question.clone()).collect();
        asked.into_iter().map(|(index, _)| index).zip(argo::compare(&questions)).collect()
    };
    let mut faults = Vec::new();
    let mut fault = |index: usize, what: &str, answer: &argo::Answer| {
        let Case { name, rules, .. } = &cases[index];
        faults.push(format!(
            "{name}: {what}\nrules {rules}\nlive {}\npredicted {}",
            answer.live, answer.predicted
        ));
    };
    let mut counts = [0; 4];
    for (index, answer) in ask(&|case| Some(json!({"config": case.config, "live": case.live}))) {
        counts[usize::from(answer.modified)] += 1;
        if answer.modified != cases[index].is_out_of_sync {
            fault(index, if answer.modified { "is OutOfSync" } else { "is Synced" }, &answer);
        }
    }
    let edits: Vec<(&str, Json, bool)> = cases
        .iter()
        .flat_map(|case| {
            case.edited.iter().map(|(live, is_shown)| {
                (&*case.name, json!({"config": case.config, "live": live}), *is_shown)
            })
        })
        .collect();
    let questions: Vec<Json> = edits.iter().map(|(_, question, _)| question.clone()).collect();
    let answers = argo::compare(&questions);
    let wrong = edits.iter().zip(&answers).filter(|((_, _, is_shown), answer)| answer.modified != *is_shown);
    let wrong: Vec<String> = wrong
        .map(|((name, question, is_shown), answer)| {
            format!(
                "{name}: OutOfSync {is_shown} of {question}\nlive {}\npredicted {}",
                answer.live, answer.predicted
            )
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        edits.len(),
        wrong[..wrong.len().min(4)].join("\n\n")
    );
    let with_rules = |case: &Case| {
        case.is_out_of_sync.then(|| json!({"config": case.config, "live": case.live, "ignore": case.rules}))
    };
    for (index, answer) in ask(&with_rules) {
        counts[2] += 1;
        if answer.modified == cases[index].is_ignorable {
            fault(index, "with the rules it is not as predicted", &answer);
        }
    }
    let changed = |case: &Case| {
        let mut live = case.live.clone();
        let label = case.config.pointer("/metadata/labels")?.as_object()?.keys().next_back()?.clone();
        let is_touched = case.rules.to_string().contains("labels");
        live["metadata"]["labels"][&label] = json!("drifted");
        (case.is_out_of_sync && case.is_ignorable && !is_touched)
            .then(|| json!({"config": case.config, "live": live, "ignore": case.rules}))
    };
    for (index, answer) in ask(&changed) {
        counts[3] += 1;
        if !answer.modified {
            fault(index, "the rules hide another change", &answer);
        }
    }
    log(&format!(
        "drift: {} policies, {} objects: {} Synced and {} OutOfSync as predicted, {} with rules, {} with another change, \
         {} live objects that others changed",
        policies.len(),
        objects.len(),
        counts[0],
        counts[1],
        counts[2],
        counts[3],
        edits.len()
    ));
    assert!(
        faults.is_empty(),
        "{} of {}:\n{}",
        faults.len(),
        cases.len(),
        faults[..faults.len().min(8)].join("\n\n")
    );
    assert!(counts.iter().all(|count| *count >= 20), "{counts:?}");
    let seen: BTreeSet<&str> = cases.iter().flat_map(|case| &case.differences).map(String::as_str).collect();
    let all = ["an element more", "another list", "another order of elements", "another value", "removed"];
    assert_eq!(seen, BTreeSet::from(all));
}

/// The objects that a policy changes, with what `drift` says of them.
fn cases_of(name: &str, policy: &str, objects: &[Json]) -> Vec<Case> {
    let lines: String = objects.iter().map(|object| format!("---\n{object}\n")).collect();
    let folder = Folder::with(&[("policy.yaml", policy), ("objects.yaml", &lines)]);
    let arguments = ["drift", "-q", "-p", "policy.yaml", "-f", "objects.yaml", "-o", "json"];
    let output = folder.run(kyv_program(), &arguments).stdout;
    let report: Json =
        serde_json::from_str(&output).unwrap_or_else(|error| panic!("{name}: {error}: {output}"));
    let mut loader = PolicyLoader::new(Semantics::Documented, Limits::default());
    loader.path(&folder.path().join("policy.yaml"));
    let loaded = loader.finish("policy.yaml").expect("the policy loads");
    let admission = Admission::default();
    let settings = Settings { admission: Some(admission.clone()), ..Settings::default() };
    let engine = Engine::new(PolicySet::new(loaded.policies), settings);
    let mut cases = Vec::new();
    for object in objects {
        let value = Value::from_json(&object.to_string()).expect("JSON");
        let evaluated = engine.mutate(&value, None, &EmptyWorld);
        if !evaluated.is_changed() {
            continue;
        }
        let kind = GroupVersionKind::of(&value).expect("a kind");
        // Defaults of custom resources are those of their definitions.
        let live = admission.view(&evaluated.after, &kind).unwrap_or_else(|_| evaluated.after.clone());
        let shown = evaluated.object.as_ref().map_or_else(String::new, ToString::to_string);
        let rows = report["objects"].as_array().expect("objects");
        let row = rows.iter().find(|row| row["object"] == *shown);
        let fields = row.and_then(|row| row["fields"].as_array()).cloned().unwrap_or_default();
        let rules = report["ignoreDifferences"].as_array().expect("rules").iter();
        let rules: Vec<&Json> = rules
            .filter(|rule| rule["name"] == object["metadata"]["name"] && rule["kind"] == object["kind"])
            .collect();
        let edited = edited(&engine, &evaluated, &live, &admission);
        let text = |field: &Json| field["difference"].as_str().unwrap_or_default().to_owned();
        cases.push(Case {
            differences: fields.iter().map(text).collect(),
            name: format!("{name} on {shown}"),
            config: object.clone(),
            live: serde_json::from_str(&live.to_json()).expect("JSON"),
            is_out_of_sync: !fields.is_empty(),
            is_ignorable: fields.iter().all(|field| field["ignorable"] == true),
            rules: json!(rules),
            edited,
        });
    }
    cases
}

/// A live object as others changed it, as the API server stores it, and whether that shows. What they changed is never
/// explained by policies, and what policies changed is.
fn edited(engine: &Engine, report: &ObjectReport, live: &Value, admission: &Admission) -> Vec<(Json, bool)> {
    let kind = GroupVersionKind::of(live).expect("a kind");
    let drift = |live: &Value| live_drift(engine, &[report], live).expect("a name");
    let is_explained = |drift: &Drift| {
        let of_others = |cause: &Cause| matches!(cause, Cause::Others { .. });
        let others = drift.live.as_ref().map_or(&[][..], |live| &live.others);
        !drift.fields.iter().any(|field| of_others(&field.cause))
            && !others.iter().any(|other| other.is_missing || of_others(&other.cause))
    };
    assert!(is_explained(&drift(live)), "{}", live.to_json());
    let is_workload = live.path(&["spec", "template", "spec", "containers"]).is_some();
    let edits = EDITS.iter().take(if is_workload { EDITS.len() } else { 3 });
    let states = edits.filter_map(|edit| {
        let mut edited: Json = serde_json::from_str(&live.to_json()).expect("JSON");
        edit(&mut edited);
        let edited = Value::from_json(&edited.to_string()).expect("JSON");
        let edited = admission.view(&edited, &kind).ok().filter(|edited| edited != live)?;
        let found = drift(&edited);
        assert!(!is_explained(&found), "{found:?}\n{}", edited.to_json());
        Some((serde_json::from_str(&edited.to_json()).expect("JSON"), !found.fields.is_empty()))
    });
    states.collect()
}

#[test]
fn what_may_be_a_default_is_no_drift() {
    let settings = Settings { admission: Some(Admission::default()), ..Settings::default() };
    let engine = Engine::new(PolicySet::new(Vec::new()), settings);
    for (kind, expected) in
        [(r#""v1","kind":"ConfigMap""#, (1, 1, false)), (r#""a.b/v1","kind":"Widget""#, (1, 0, true))]
    {
        let object = |data: &str| {
            let text = format!(r#"{{"apiVersion":{kind},"metadata":{{"name":"a"}},"data":{data}}}"#);
            Value::from_json(&text).expect("JSON")
        };
        let report = engine.mutate(&object(r#"{"a":"1"}"#), None, &EmptyWorld);
        let drift = live_drift(&engine, &[&report], &object(r#"{"a":"2","b":"3"}"#)).expect("a name");
        let others = drift.live.expect("compared").others.len();
        assert_eq!((drift.fields.len(), others, drift.is_incomplete), expected, "{kind}");
    }
}
