//! Fields of patches that no kind of the rule has, and values of a type that the field does not have.
//!
//! Checked are rules whose kinds are all built in. What a variable may be is not known, nor are keys with wildcards.

use indexmap::IndexSet;

use crate::admission::{KindSchemas, ScalarType, Schema};
use crate::patch::split_anchor;
use crate::pattern::{self, is_wildcard};
use crate::policy::fields::{any_of, given, list, string};
use crate::policy::kinds::KindSelector;
use crate::policy::warning::{Warning, WarningCause};
use crate::value::{GroupVersionKind, Pointer, Segment, Text, Value, unescaped_token};

use super::paths::{UNKNOWN, patch_operations};
use super::warnings::meant_anchor;
use super::written::{WrittenRule, filters, kinds, mutates, targets};

/// More kinds than this are not listed.
const LISTED_KINDS: usize = 3;

/// Where kinds have a Pod, below the place where a Pod has its fields.
const TEMPLATES: [&[&str]; 2] = [&["template", "spec"], &["jobTemplate", "spec", "template", "spec"]];

/// Adds the warnings of mutate rules.
pub(super) fn find(rules: &[WrittenRule], found: &mut Vec<Warning>) {
    rules.iter().filter(|rule| mutates(&rule.value)).for_each(|rule| of_rule(rule, found));
}

fn of_rule(rule: &WrittenRule, found: &mut Vec<Warning>) {
    let known = KindSchemas::default();
    let (Some(kinds), Some(mutate)) = (kinds_of(&rule.value, &known), given(&rule.value, "mutate")) else {
        return;
    };
    let (kinds, schemas): (Vec<GroupVersionKind>, Vec<Schema<'_>>) = kinds.into_iter().unzip();
    let mut names: Vec<&Text> = kinds.iter().map(|kind| &kind.kind).collect();
    names.dedup();
    let kinds = if names.len() > LISTED_KINDS { "the kinds of the rule".into() } else { any_of(&names) };
    let name = rule.value.get("name").and_then(Value::as_text).cloned();
    let at = rule.at.key("mutate");
    let mut checker = Checker { kinds, name, schemas, at, path: Pointer::ROOT, found: IndexSet::new() };
    checker.block(mutate);
    found.extend(checker.found);
}

/// The kinds of the objects that a rule changes; `None` if they are not known, or not all built in.
fn kinds_of<'a>(rule: &Value, schemas: &'a KindSchemas) -> Option<Vec<(GroupVersionKind, Schema<'a>)>> {
    let selectors: Vec<KindSelector> = match targets(rule) {
        Some(targets) => {
            let target = |target: &Value| {
                KindSelector::parse(&format!("{}/{}", string(target, "apiVersion"), string(target, "kind")))
            };
            targets.as_array()?.iter().map(target).collect()
        }
        None => {
            let has_other_kinds =
                list(rule.get("match")?, "any").iter().any(|filter| kinds(filter).is_empty());
            if has_other_kinds {
                return None;
            }
            let texts = filters(rule, "match").flat_map(|(_, filter)| kinds(filter));
            texts.map(|text| KindSelector::parse(&text)).collect()
        }
    };
    let mut found = Vec::new();
    for selector in selectors {
        let mut matching =
            selector.built_in_kinds().filter_map(|known| Some((known.clone(), schemas.of(known)?)));
        found.push(matching.next()?);
        found.extend(matching);
    }
    (!found.is_empty()).then_some(found)
}

struct Checker<'a> {
    /// The kinds in words.
    kinds: String,
    /// The name of the rule.
    name: Option<Text>,
    /// The schemas of the kinds.
    schemas: Vec<Schema<'a>>,
    /// The place in the policy.
    at: Pointer,
    /// The place in the object.
    path: Pointer,
    /// Operations of a JSON patch share their place.
    found: IndexSet<Warning>,
}

/// How a value of a patch is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// As a part of an overlay.
    Overlay,
    /// As a condition of an overlay: its scalars are patterns.
    Condition,
    /// As it is, in a JSON patch.
    Plain,
}

impl<'a> Checker<'a> {
    /// Checks the patches of a `mutate`, or of an entry of `foreach`.
    fn block(&mut self, block: &Value) {
        let schemas = self.schemas.clone();
        let outer = self.at.clone();
        if let Some(overlay) = given(block, "patchStrategicMerge") {
            self.at.push_key("patchStrategicMerge");
            self.value(overlay, &schemas, Part::Overlay);
        }
        self.at = outer.clone();
        if let Some(patch) = given(block, "patchesJson6902") {
            self.at.push_key("patchesJson6902");
            patch_operations(patch)
                .unwrap_or_default()
                .iter()
                .for_each(|operation| self.operation(operation));
        }
        for (index, entry) in list(block, "foreach").iter().enumerate() {
            self.at = outer.key("foreach").index(index);
            self.block(entry);
        }
        self.at = outer;
    }

    /// Checks the path and the value of an `add` or `replace`.
    fn operation(&mut self, operation: &Value) {
        if !matches!(string(operation, "op"), "add" | "replace") {
            return;
        }
        let mut schemas = self.schemas.clone();
        self.path = Pointer::ROOT;
        for token in string(operation, "path").split('/').skip(1) {
            let name = unescaped_token(token);
            let elements: Vec<Schema<'a>> = elements(&schemas).collect();
            schemas = match name.parse::<usize>() {
                Ok(index) if !elements.is_empty() => {
                    self.path.push_index(index);
                    elements
                }
                _ if !elements.is_empty() => {
                    self.path.push_key("*");
                    elements
                }
                _ if name.is_empty() || name.contains(UNKNOWN) => return,
                _ => match self.member(&name, &schemas) {
                    Some(schemas) => schemas,
                    None => return,
                },
            };
        }
        if let Some(value) = operation.get("value") {
            self.value(value, &schemas, Part::Plain);
        }
        self.path = Pointer::ROOT;
    }

    /// Checks a value that has one of the schemas.
    fn value(&mut self, value: &Value, schemas: &[Schema<'a>], part: Part) {
        let is_unknown = |text: &Text| text.contains("{{") || text.contains("$(") || text.contains(UNKNOWN);
        match value {
            Value::Null => {}
            Value::String(text) if is_unknown(text) => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                if part != Part::Condition && !schemas.iter().any(|schema| accepts(*schema, value)) {
                    self.wrong_type(value, schemas);
                }
            }
            Value::Array(items) => {
                let elements: Vec<Schema<'a>> = elements(schemas).collect();
                if elements.is_empty() {
                    if part != Part::Condition {
                        self.wrong_type(value, schemas);
                    }
                    return;
                }
                for (index, item) in items.iter().enumerate() {
                    self.at.push_index(index);
                    self.path.push_index(index);
                    self.value(item, &elements, part);
                    self.path.pop();
                    self.at.pop();
                }
            }
            Value::Object(members) => {
                if schemas.iter().all(|schema| schema.forms().map.is_none()) {
                    if part != Part::Condition {
                        self.wrong_type(value, schemas);
                    }
                    return;
                }
                for (key, member) in members.iter() {
                    self.at.push_key(key.clone());
                    self.key(key, member, schemas, part);
                    self.at.pop();
                }
            }
        }
    }

    fn key(&mut self, key: &Text, member: &Value, schemas: &[Schema<'a>], part: Part) {
        let (name, part) = match part {
            Part::Plain => (&**key, part),
            _ => match split_anchor(key) {
                None if key.starts_with('$') || meant_anchor(key).is_some() => return,
                None => (&**key, part),
                Some((name, tests)) => (name, if tests { Part::Condition } else { part }),
            },
        };
        if name.is_empty() || name.contains("{{") || name.contains(UNKNOWN) || is_wildcard(name) {
            return;
        }
        let depth = self.path.segments().len();
        if let Some(schemas) = self.member(name, schemas) {
            self.value(member, &schemas, part);
        }
        while self.path.segments().len() > depth {
            self.path.pop();
        }
    }

    /// Goes on to a member, and returns its schemas; `None` after a warning, because it has none.
    fn member(&mut self, name: &str, schemas: &[Schema<'a>]) -> Option<Vec<Schema<'a>>> {
        let maps = || schemas.iter().filter_map(|schema| schema.forms().map);
        self.path.push_key(name);
        let found: Vec<Schema<'a>> = maps().filter_map(|map| map.field(name).or(map.values)).collect();
        if !found.is_empty() {
            return Some(found);
        }
        let meant = pattern::nearest(name, maps().flat_map(|map| map.names())).map(str::to_owned);
        let template = TEMPLATES.into_iter().find(|template| has_field(schemas, template, name));
        let template = template.map(|template| {
            let mut path = self.path.clone();
            path.pop();
            template.iter().for_each(|key| path.push_key(*key));
            path.key(name).to_string()
        });
        let (path, kinds) = (self.path.to_string(), self.kinds.clone());
        self.add(WarningCause::NoSuchField { path, kinds, meant: template.or(meant) });
        None
    }

    fn wrong_type(&mut self, value: &Value, schemas: &[Schema<'a>]) {
        // Kyverno has words of its own on labels and annotations.
        let is_text = |segment: &Segment| matches!(segment, Segment::Key(key) if matches!(&**key, "labels" | "annotations"));
        if self.path.segments().iter().rev().nth(1).is_some_and(is_text) {
            return;
        }
        let mut expected: Vec<&'static str> = schemas.iter().flat_map(|schema| words(*schema)).collect();
        expected.sort_unstable();
        expected.dedup();
        let found = match value {
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            _ => "an object",
        };
        let (path, kinds) = (self.path.to_string(), self.kinds.clone());
        self.add(WarningCause::WrongFieldType { path, kinds, expected: expected.join(" or "), found });
    }

    fn add(&mut self, cause: WarningCause) {
        self.found.insert(Warning { pointer: self.at.clone(), rule: self.name.clone(), cause });
    }
}

/// The schemas of the elements of lists.
fn elements<'a>(schemas: &[Schema<'a>]) -> impl Iterator<Item = Schema<'a>> {
    schemas.iter().filter_map(|schema| schema.forms().list.map(|list| list.elements))
}

fn accepts(schema: Schema<'_>, scalar: &Value) -> bool {
    match schema.forms().scalar {
        None => false,
        Some(ScalarType::Any) => true,
        Some(ScalarType::Bool) => matches!(scalar, Value::Bool(_)),
        Some(ScalarType::Number) => matches!(scalar, Value::Number(_)),
        Some(ScalarType::String) => matches!(scalar, Value::String(_)),
    }
}

/// What a value may be, in words.
fn words(schema: Schema<'_>) -> impl Iterator<Item = &'static str> {
    let forms = schema.forms();
    let scalar = forms.scalar.map(|scalar| match scalar {
        ScalarType::Bool => "a boolean",
        ScalarType::Number => "a number",
        ScalarType::String => "a string",
        ScalarType::Any => "a scalar",
    });
    let list = forms.list.map(|_| "a list");
    [scalar, list, forms.map.map(|_| "an object")].into_iter().flatten()
}

/// Whether values with one of the schemas have a field below the keys.
fn has_field(schemas: &[Schema<'_>], keys: &[&str], name: &str) -> bool {
    schemas.iter().any(|schema| {
        let below = keys.iter().try_fold(*schema, |schema, key| schema.forms().map?.field(key));
        below.is_some_and(|below| below.forms().map.is_some_and(|map| map.field(name).is_some()))
    })
}

#[cfg(test)]
mod tests {
    use crate::policy::{Policy, parse};
    use crate::semantics::Semantics;
    use crate::yaml;

    fn of(kinds: &str, mutate: &str) -> Vec<String> {
        let document = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{background: false, \
             rules: [{{name: r, match: {{any: [{{resources: {{kinds: [{kinds}]}}}}]}}, mutate: {{{mutate}}}}}]}}}}"
        );
        let policy = parse(&yaml::parse_value(&document).expect(&document), Semantics::Documented);
        let Ok(Policy::Classic(policy)) = policy else { panic!("{document}: {policy:?}") };
        policy.meta.warnings.iter().map(|warning| warning.cause.to_string()).collect()
    }

    fn overlay(kinds: &str, overlay: &str) -> Vec<String> {
        of(kinds, &format!("patchStrategicMerge: {overlay}"))
    }

    #[test]
    fn unknown_fields_of_overlays_are_found() {
        for (kinds, patch, expected) in [
            (
                "Deployment",
                "{spec: {template: {spec: {securityContex: {}}}}}",
                "`spec.template.spec.securityContex` is no field of `Deployment`; did you mean `securityContext`?",
            ),
            (
                "Pod",
                "{spec: {containers: [{(name): '*', imagePullpolicy: Always}]}}",
                "`spec.containers[0].imagePullpolicy` is no field of `Pod`; did you mean `imagePullPolicy`?",
            ),
            (
                "Deployment",
                "{spec: {containers: [{(name): '*'}]}}",
                "`spec.containers` is no field of `Deployment`; did you mean `spec.template.spec.containers`?",
            ),
            ("Pod", "{spec: {'<(host)': true}}", "`spec.host` is no field of `Pod`"),
            (
                "Pod, Deployment",
                "{spec: {'+(templates)': {}}}",
                "`spec.templates` is no field of `Pod` or `Deployment`; did you mean `template`?",
            ),
        ] {
            assert_eq!(overlay(kinds, patch), [expected], "{kinds} {patch}");
        }
    }

    #[test]
    fn values_of_wrong_types_are_found() {
        for (patch, expected) in [
            ("{spec: {replicas: three}}", "`spec.replicas` of `Deployment` is a number, not a string"),
            ("{spec: {paused: 'yes'}}", "`spec.paused` of `Deployment` is a boolean, not a string"),
            ("{spec: {template: []}}", "`spec.template` of `Deployment` is an object, not a list"),
            (
                "{spec: {template: {spec: {containers: {}}}}}",
                "`spec.template.spec.containers` of `Deployment` is a list, not an object",
            ),
            (
                "{spec: {template: {spec: {nodeSelector: {a: true}}}}}",
                "`spec.template.spec.nodeSelector.a` of `Deployment` is a string, not a boolean",
            ),
        ] {
            assert_eq!(overlay("Deployment", patch), [expected], "{patch}");
        }
    }

    #[test]
    fn what_may_be_right_is_silent() {
        for (kinds, patch) in [
            ("Deployment", "{metadata: {labels: {'{{ request.namespace }}': b}, '+(annotations)': {a: b}}}"),
            ("Deployment", "{spec: {replicas: '{{ request.object.spec.x }}', '(paused)': '!true'}}"),
            (
                "Deployment",
                "{spec: {'(replicas)': '>3', strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}}}",
            ),
            ("Pod", "{spec: {containers: [{(name): '*', resources: {limits: {cpu: 1, memory: 1Gi}}}]}}"),
            (
                "Pod",
                "{spec: {containers: [{name: a, $patch: delete}], $retainKeys: [containers], hostname: null}}",
            ),
            ("Pod, Deployment", "{spec: {hostNetwork: true, replicas: 1}}"),
            ("Pod, argoproj.io/v1alpha1/Rollout", "{spec: {nonsense: a}}"),
            ("'Po*'", "{spec: {nonsense: a}}"),
            ("Pod/status", "{spec: {nonsense: a}}"),
            ("serving.knative.dev/v1/Service", "{spec: {nonsense: a}}"),
            ("ConfigMap", "{data: {any: text}}"),
        ] {
            assert_eq!(overlay(kinds, patch), [""; 0], "{kinds} {patch}");
        }
    }

    #[test]
    fn paths_and_values_of_json_patches_are_found() {
        let patch = |op: &str, path: &str, value: &str| {
            of(
                "Pod",
                &format!(r#"patchesJson6902: '[{{"op": "{op}", "path": "{path}", "value": {value}}}]'"#),
            )
        };
        let no_field =
            "`spec.containers[0].imagePullpolicy` is no field of `Pod`; did you mean `imagePullPolicy`?";
        assert_eq!(patch("add", "/spec/containers/0/imagePullpolicy", r#""Always""#), [no_field]);
        assert_eq!(patch("remove", "/spec/containers/0/imagePullpolicy", "1"), [""; 0]);
        let wrong = "`spec.hostNetwork` of `Pod` is a boolean, not a string";
        assert_eq!(patch("replace", "/spec/hostNetwork", r#""true""#), [wrong]);
        for (path, value) in [
            ("/metadata/labels/a~1b", r#""c""#),
            ("/spec/containers/-", r#"{"name": "a", "image": "b"}"#),
            ("/spec/priority", r#""{{ request.object.spec.x }}""#),
            ("/metadata/labels", r#"{"a": true}"#),
        ] {
            assert_eq!(patch("add", path, value), [""; 0], "{path}");
        }
    }

    #[test]
    fn variables_in_paths_are_elements_of_lists_or_unknown() {
        let of_path = |path: &str| {
            let patch = format!(r#"[{{"op": "add", "path": "{path}", "value": "c"}}]"#);
            of("Pod", &format!("foreach: [{{list: request.object.x, patchesJson6902: '{patch}'}}]"))
        };
        assert_eq!(of_path("/spec/volumes/{{ elementIndex }}/name"), [""; 0]);
        assert_eq!(of_path("/spec/{{ element.name }}/name"), [""; 0]);
        let expected = "`spec.volumes.*.nam` is no field of `Pod`; did you mean `name`?";
        assert_eq!(of_path("/spec/volumes/{{ elementIndex }}/nam"), [expected]);
    }

    #[test]
    fn targets_and_loops_are_checked_with_their_kinds() {
        let targets = |kind: &str| {
            of(
                "Pod",
                &format!(
                    "targets: [{{apiVersion: v1, kind: {kind}}}], patchStrategicMerge: {{spec: {{typ: a}}}}"
                ),
            )
        };
        assert_eq!(targets("Service"), ["`spec.typ` is no field of `Service`; did you mean `type`?"]);
        assert_eq!(targets("'{{ request.object.kind }}'"), [""; 0]);
        let entry = "foreach: [{list: request.object.x, foreach: [{list: element, patchStrategicMerge: {specs: {}}}]}]";
        assert_eq!(of("Pod", entry), ["`specs` is no field of `Pod`; did you mean `spec`?"]);
    }
}
