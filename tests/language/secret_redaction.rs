//! Output contains no values derived from Secrets: the results of all JMESPath functions, in all fields of a rule.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kyv::engine::{Engine, Lookup, LookupError, LookupSource, Settings, World};
use kyv::policy::{self, PolicySet};
use kyv::render::{
    DiffStyle, Explanation, Origin, Palette, RuleSources, error_lines, impact_json, markdown, object_json,
    tally_json, unified_diff,
};
use kyv::report::{MissingData, ObjectReport, Totals};
use kyv::semantics::Semantics;
use kyv::value::{Change, Value};
use kyv::yaml;

/// The values of the Secret, by key.
const VALUES: [(&str, &str); 16] = [
    ("word", "Zq7Hunter-Sesame"),
    ("other", "Vx3Open-Barley"),
    ("short", "hQ"),
    ("number", "47114.5"),
    ("integer", "90817"),
    ("json", r#"{"user":"Qadmin77","deep":["Xk9Zeta"],"n":80819}"#),
    ("yaml", "user: Wyaml8833\nn: 70712\n"),
    ("time", "2031-05-06T07:08:09Z"),
    ("later", "2033-11-12T13:14:15Z"),
    ("duration", "5h17m23s"),
    ("image", "ghcr.qx/zimage77:v9.8.7"),
    ("path", "/zqdir/../zqpath/x"),
    ("list", "aa1z,bb2z,cc3z"),
    ("version", "9.87.6"),
    ("lines", "first1Line\nsecond2Line\n"),
    ("encoded", "UGFja2VkLVdvcmQ="),
];

/// Calls of every function on values of the Secret: `$key` is replaced by the decoded value of that key.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("abs", "abs(to_number($number))"),
    ("add", "add(to_number($integer), `1`)"),
    ("avg", "avg([to_number($integer), `5`])"),
    ("base64_decode", "base64_decode($encoded)"),
    ("base64_encode", "base64_encode($word)"),
    ("ceil", "ceil(to_number($number))"),
    ("compare", "compare($word, 'a')"),
    ("contains", "contains($word, 'a')"),
    ("divide", "divide(to_number($integer), `7`)"),
    ("ends_with", "ends_with($word, 'a')"),
    ("equal_fold", "equal_fold($word, 'a')"),
    ("floor", "floor(to_number($number))"),
    ("image_normalize", "image_normalize($image)"),
    ("is_external_url", "is_external_url($word)"),
    ("items", "items(parse_json($json), 'k', 'v')"),
    ("join", "join('-', [$short, $word])"),
    ("join", "join('', [$short, 'x'])"),
    ("keys", "keys(parse_json($json))"),
    ("label_match", "label_match({a: $word}, {a: $word})"),
    ("length", "length($word)"),
    ("lookup", "lookup(parse_json($json), 'user')"),
    ("map", "map(&to_upper(@), split($list, ','))"),
    ("max", "max(split($list, ','))"),
    ("max_by", "max_by([{a: $word}, {a: $other}], &a)"),
    ("md5", "md5($word)"),
    ("merge", "merge({a: $word}, {b: to_lower($other)})"),
    ("min", "min(split($list, ','))"),
    ("min_by", "min_by([{a: $word}, {a: $other}], &a)"),
    ("modulo", "modulo(to_number($integer), `10007`)"),
    ("multiply", "multiply(to_number($integer), `3`)"),
    ("not_null", "not_null(none, to_lower($word))"),
    ("object_from_lists", "object_from_lists(split($list, ','), split($list, ','))"),
    ("parse_json", "parse_json($json)"),
    ("parse_json", "parse_json($json).deep[0]"),
    ("parse_json", "parse_json($word)"),
    ("parse_yaml", "parse_yaml($yaml)"),
    ("path_canonicalize", "path_canonicalize($path)"),
    ("pattern_match", "pattern_match('Z*', $word)"),
    ("random", "random($word)"),
    ("regex_match", "regex_match('^Z', $word)"),
    ("regex_replace_all", "regex_replace_all('Hunter', $word, 'y')"),
    ("regex_replace_all_literal", "regex_replace_all_literal('Hunter', $word, 'y')"),
    ("replace", "replace($word, 'e', '_', `1`)"),
    ("replace_all", "replace_all($word, 'e', '_')"),
    ("reverse", "reverse($word)"),
    ("round", "round(to_number($number), `0`)"),
    ("semver_compare", "semver_compare($version, '>1.0.0')"),
    ("sha1", "sha1($word)"),
    ("sha256", "sha256($word)"),
    ("sort", "sort(split($list, ','))[-1]"),
    ("sort_by", "sort_by([{a: $word}, {a: $other}], &a)[0].a"),
    ("split", "split($word, '-')[0]"),
    ("split", "split($lines, '\n')[1]"),
    ("starts_with", "starts_with($word, 'a')"),
    ("subtract", "subtract(to_number($integer), `11`)"),
    ("sum", "sum([to_number($integer), `11`])"),
    ("time_add", "time_add($time, '1h')"),
    ("time_after", "time_after($time, $later)"),
    ("time_before", "time_before($time, $later)"),
    ("time_between", "time_between($time, $time, $later)"),
    ("time_diff", "time_diff($time, $later)"),
    ("time_now", "time_now()"),
    ("time_now_utc", "time_now_utc()"),
    ("time_parse", "time_parse('2006-01-02T15:04:05Z07:00', $time)"),
    ("time_parse", "time_parse($word, $time)"),
    ("time_since", "time_since('', $time, $later)"),
    ("time_to_cron", "time_to_cron($time)"),
    ("time_truncate", "time_truncate($time, '2h')"),
    ("time_utc", "time_utc($time)"),
    ("to_array", "to_array(to_upper($word))"),
    ("to_boolean", "to_boolean($word)"),
    ("to_lower", "to_lower($word)"),
    ("to_number", "to_number($integer)"),
    ("to_string", "to_string(secret)"),
    ("to_upper", "to_upper($word)"),
    ("trim", "trim($word, 'Ze')"),
    ("trim_prefix", "trim_prefix($word, 'Zq7')"),
    ("truncate", "truncate($word, `2`)"),
    ("type", "type($word)"),
    ("values", "values(parse_json($json))"),
    ("x509_decode", "x509_decode($word)"),
    ("truncate", "to_upper(truncate($word, `3`))"),
];

/// A world with one Secret.
struct Cluster(Value);

impl World for Cluster {
    fn now(&self) -> Timestamp {
        "2026-01-31T12:00:00Z".parse().expect("a time")
    }

    fn random(&self, _: &str, call: u64) -> u64 {
        call
    }

    fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        match lookup.source {
            LookupSource::Api("/api/v1/namespaces/shop/secrets/db") => Ok(self.0.clone()),
            LookupSource::ConfigMap { .. } => Err(LookupError::NotFound),
            _ => Err(LookupError::Unanswerable("no".into())),
        }
    }
}

fn secret() -> Value {
    let data: Value = VALUES.iter().map(|(key, value)| (*key, Value::from(STANDARD.encode(value)))).collect();
    let mut secret =
        yaml::parse_value("{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: shop}}")
            .expect("YAML");
    secret.insert("data", data);
    secret
}

/// An expression with its placeholders replaced, for a policy.
fn written(expression: &str, of: &str) -> String {
    let mut out = String::new();
    let mut rest = expression;
    while let Some((before, behind)) = rest.split_once('$') {
        let end = behind.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(behind.len());
        out.push_str(before);
        let _ = write!(out, "base64_decode({of}.data.{})", &behind[..end]);
        rest = &behind[end..];
    }
    out + &rest.replace("to_string(secret)", &format!("to_string({of})"))
}

/// The fields of a rule that use a result. `EXPR` is the expression.
const RULES: [(&str, &str, &str); 10] = [
    ("overlay", "[]", r#"{patchStrategicMerge: {metadata: {annotations: {made: "{{ to_string(EXPR) }}"}}}}"#),
    ("inside", "[]", r#"{patchStrategicMerge: {metadata: {annotations: {made: "pre {{ EXPR }} post"}}}}"#),
    ("value", "[]", r#"{patchStrategicMerge: {data: {made: "{{ EXPR }}"}}}"#),
    ("key", "[]", r#"{patchStrategicMerge: {data: {"x{{ EXPR }}": "y"}}}"#),
    (
        "variable",
        r#"[{name: made, variable: {jmesPath: "EXPR"}}, {name: again, variable: {value: "{{ made }}"}}]"#,
        r#"{patchStrategicMerge: {metadata: {annotations: {made: "{{ again }}"}}}}"#,
    ),
    (
        "patch",
        r#"[{name: made, variable: {jmesPath: "EXPR"}}]"#,
        r#"{patchesJson6902: "- {op: add, path: /metadata/annotations/made, value: '{{ made }}'}\n- {op: add, path: /metadata/annotations/other, value: {{ made }}}\n"}"#,
    ),
    (
        "loop",
        r#"[{name: made, variable: {jmesPath: "EXPR"}}]"#,
        r#"{foreach: [{list: "[made]", patchStrategicMerge: {data: {made: "{{ element }}"}}}]}"#,
    ),
    (
        "path",
        r#"[{name: made, variable: {jmesPath: "EXPR"}}]"#,
        r#"{foreach: [{list: "[made]", patchesJson6902: "- {op: add, path: '/data/z{{ element }}', value: 'v-{{ element }}'}\n"}]}"#,
    ),
    (
        "error",
        "[]",
        r#"{patchStrategicMerge: {metadata: {annotations: {made: "{{ request.object.none.\"{{ EXPR }}\" }}"}}}}"#,
    ),
    (
        "question",
        r#"[{name: asked, configMap: {namespace: shop, name: "{{ EXPR }}"}}]"#,
        r#"{patchStrategicMerge: {metadata: {annotations: {made: "{{ asked.data.x }}"}}}}"#,
    ),
];

fn report(context: &str, way: (&str, &str, &str), expression: &str, object: &Value) -> Option<ObjectReport> {
    let quoted = expression.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let (own, mutate) = (way.1.replace("EXPR", &quoted), way.2.replace("EXPR", &quoted));
    let own = own.trim_start_matches('[').trim_end_matches(']');
    let comma = if context.is_empty() || own.is_empty() { "" } else { ", " };
    let text = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: made}}\nspec:\n  rules:\n  - name: make\n    \
         match: {{any: [{{resources: {{kinds: [ConfigMap, Secret]}}}}]}}\n    context: [{context}{comma}{own}]\n    \
         preconditions: {{all: [{{key: \"{{{{ {quoted} }}}}\", operator: NotEquals, value: none}}]}}\n    mutate: {mutate}\n"
    );
    let document = yaml::parse_value(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let policy = policy::parse(&document, Semantics::Documented)
        .unwrap_or_else(|faults| panic!("{}: {text}", faults[0]));
    let settings = Settings { trace: true, ..Settings::default() };
    let engine = Engine::new(PolicySet::new(vec![policy]), settings);
    Some(engine.mutate(object, None, &Cluster(secret())))
}

/// All output of a report.
fn shown(report: &ObjectReport) -> Vec<(&'static str, String)> {
    let (origin, sources) = (Origin::default(), RuleSources::default());
    let explanation = Explanation::new(report, &origin, &sources, &|_, _, _| Vec::new());
    let mut all = vec![
        ("diff", unified_diff(report, &origin, &DiffStyle::default())),
        ("json", object_json(report, &origin).to_json()),
        ("lines", error_lines(report, &origin, |_| None)),
        ("explain", explanation.text(Semantics::Documented, true, true, Palette::Plain)),
        ("explain json", explanation.json().to_json()),
    ];
    let place = |change: &Change| report.shown_place(&change.pointer).to_string();
    for (_, rule) in report.rules() {
        all.push((
            "change",
            report.shown_text(&format!("{:?}", rule.changes().iter().map(place).collect::<Vec<_>>())),
        ));
    }
    all
}

/// The strings, keys and numbers in a value.
fn texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => into.push(number.to_string()),
        Value::String(text) => into.push(text.to_string()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            into.push(key.to_string());
            texts(member, into);
        }),
    }
}

/// The texts that output must not contain.
fn tainted_texts(report: &ObjectReport, before: &Value) -> Vec<String> {
    let mut tainted: Vec<String> = Vec::new();
    for (_, value) in VALUES {
        tainted.extend([value.trim().to_owned(), STANDARD.encode(value)]);
    }
    let (mut old, mut new) = (Vec::new(), Vec::new());
    texts(before, &mut old);
    texts(&report.after, &mut new);
    for (_, rule) in report.rules() {
        for seen in rule.trace.iter().flat_map(|trace| &trace.variables) {
            if let Ok(value) = &seen.value {
                texts(value, &mut new);
            }
        }
    }
    let harmless = ["made", "element", "user", "deep", "string", "object", "array"];
    let own = secret();
    let mut names = Vec::new();
    texts(&own, &mut names);
    let is_new = |text: &String| !old.contains(text) && !harmless.contains(&&**text);
    for text in new.into_iter().filter(is_new) {
        let core = text.strip_prefix("pre ").and_then(|text| text.strip_suffix(" post")).unwrap_or(&text);
        let core = core.strip_prefix(['x', 'z']).or_else(|| core.strip_prefix("v-")).unwrap_or(core).trim();
        let is_name = names.iter().any(|name| name == core) && !tainted.iter().any(|value| value == core);
        if core.len() > 2 && !is_name && core.parse::<bool>().is_err() {
            tainted.push(core.to_owned());
        }
    }
    tainted
}

/// Functions whose result reveals nothing of a Secret.
fn reveals_nothing(function: &str) -> bool {
    ["length", "compare", "type", "time_now", "time_now_utc", "random", "keys"].contains(&function)
}

#[test]
fn results_of_every_function_on_secrets_are_masked() {
    let map = yaml::parse_value("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, annotations: {a: b}}, data: {a: b}}")
        .expect("YAML");
    let call = "{name: secret, apiCall: {urlPath: /api/v1/namespaces/shop/secrets/db}}";
    let mut own = secret();
    own.as_object_mut().expect("an object")["metadata"]
        .insert("annotations", yaml::parse_value("{a: b}").expect("YAML"));
    let mut leaks = Vec::new();
    let mut changed = 0;
    for (function, expression) in EXPRESSIONS.iter().copied() {
        for (context, of, object) in [(call, "secret", &map), ("", "request.object", &own)] {
            for way in RULES {
                let expression = written(expression, of);
                let Some(report) = report(context, way, &expression, object) else { continue };
                changed += usize::from(report.is_changed());
                let mut tainted = tainted_texts(&report, object);
                if reveals_nothing(function) {
                    tainted.truncate(2 * VALUES.len());
                }
                for (format, text) in shown(&report) {
                    // The expressions belong to the policy.
                    let text = text.replace(&expression, "").replace(&expression.replace('"', "\\\""), "");
                    for value in
                        tainted.iter().filter(|value| text.contains(value.as_str()) && value.len() > 2)
                    {
                        leaks.push(format!("{function} by {} of {of}: {format} shows {value:?}", way.0));
                    }
                }
            }
        }
    }
    leaks.sort();
    leaks.dedup();
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
    assert!(changed > 700, "only {changed} reports change their object");
}

/// A policy that writes keys, some of which are derived from the Secret.
const KEYS: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: keys}
spec:
  rules:
  - name: first
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context: [{name: secret, apiCall: {urlPath: /api/v1/namespaces/shop/secrets/db}}]
    mutate:
      patchStrategicMerge:
        data:
          "{{ base64_decode(secret.data.word) }}": one
          "{{ base64_decode(secret.data.other) }}": two
          "x-{{ base64_decode(secret.data.other) }}": three
          "y{{ base64_decode(secret.data.short) }}": four
  - name: second
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context: [{name: secret, apiCall: {urlPath: /api/v1/namespaces/shop/secrets/db}}]
    mutate:
      foreach:
      - list: '[secret]'
        patchesJson6902: |
          - {op: remove, path: '/data/{{ base64_decode(element.data.word) }}'}
          - {op: add, path: '/data/z{{ base64_decode(element.data.other) }}', value: five}
          - {op: add, path: '/data/{{ to_upper(base64_decode(element.data.word)) }}', value: six}
  - name: third
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context: [{name: secret, apiCall: {urlPath: /api/v1/namespaces/shop/secrets/db}}]
    preconditions:
      all:
      - key: "{{ object_from_lists(['{{ base64_decode(secret.data.short) }}', '{{ base64_decode(secret.data.word) }}'], ['seven', 'eight']) }}"
        operator: NotEquals
        value: none
    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}
"#;

#[test]
fn masked_keys_stay_distinct() {
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {a: LONG, Zq7Hunter-Sesame: zero}}";
    // Its patch is shorter than the object.
    let map = yaml::parse_value(&map.replace("LONG", &"b".repeat(400))).expect("YAML");
    let policy = policy::parse(&yaml::parse_value(KEYS).expect("YAML"), Semantics::Documented);
    let settings = Settings { trace: true, ..Settings::default() };
    let engine = Engine::new(PolicySet::new(vec![policy.expect("a policy")]), settings);
    let report = engine.mutate(&map, None, &Cluster(secret()));
    let all = shown(&report);
    for (format, text) in &all {
        for secret in ["Zq7Hunter", "ZQ7HUNTER", "Vx3Open", "hQ"] {
            assert!(!text.contains(secret), "{format} shows {secret}: {text}");
        }
    }
    let of = |format: &str| all.iter().find(|(name, _)| *name == format).map_or("", |(_, text)| text);
    // A key has the same placeholder in every format.
    let diff = "-  '***': zero\n+  '*** (2)': two\n+  '*** (3)': three\n+  '*** (4)': four\n\
                +  '*** (5)': five\n+  '*** (6)': six\n";
    assert!(of("diff").contains(diff), "{}", of("diff"));
    let json = Value::from_json(of("json")).expect("JSON");
    let patch = |of: &Value| of.get("patch").and_then(Value::as_array).unwrap_or_default().to_vec();
    let first = json.path(&["rules"]).and_then(|rules| rules.at(0)).map(patch).unwrap_or_default();
    let paths: Vec<_> = first.iter().filter_map(|row| row.get("path")?.as_str()).collect();
    assert_eq!(paths, ["/data/***", "/data/*** (2)", "/data/*** (3)", "/data/*** (4)"], "{json:?}");
    for line in [
        "data.***: \"zero\" → \"one\"",
        "data[\"*** (2)\"]: \"two\" added",
        "data[\"*** (3)\"]: \"three\" added",
    ] {
        assert!(of("explain").contains(line), "{line}: {}", of("explain"));
    }
}

#[test]
fn impact_masks_secrets_in_keys() {
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, immutable: true, data: {a: b}}";
    let policy = policy::parse(&yaml::parse_value(KEYS).expect("YAML"), Semantics::Documented);
    let engine = Engine::new(PolicySet::new(vec![policy.expect("a policy")]), Settings::default());
    let report = engine.mutate(&yaml::parse_value(map).expect("YAML"), None, &Cluster(secret()));
    let mut tally = Totals::default();
    tally.add(&report, true);
    let outputs = [
        impact_json(&report.impact(true)).expect("a refused update").to_json(),
        tally_json(&tally, &MissingData::default()).to_json(),
        markdown(&tally, &MissingData::default()),
        unified_diff(&report, &Origin::default(), &DiffStyle::default()),
    ];
    for output in outputs {
        assert!(["Hunter", "Vx3Open", "hQ"].iter().all(|secret| !output.contains(secret)), "{output}");
    }
}

#[test]
fn every_function_is_covered() {
    for signature in kyv::jmespath::functions() {
        let is_there = EXPRESSIONS.iter().any(|(function, _)| *function == signature.name);
        assert!(is_there, "EXPRESSIONS has no call of {}", signature.name);
    }
}
