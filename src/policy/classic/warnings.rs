//! What a policy says that loads and cannot be meant.

use std::sync::LazyLock;

use regex::Regex;

use crate::jmespath::{Doubt, Expression, FixedClock, Runtime, SeededRandom};
use crate::patch::{Anchor, has_anchor};
use crate::pattern::{self, is_wildcard};
use crate::policy::fields::{given, list, string};
use crate::policy::kinds::KindSelector;
use crate::policy::warning::{Warning, WarningCause};
use crate::resources::{ApiResource, Resources};
use crate::semantics::DivergenceTracker;
use crate::value::{Pointer, Segment, Text, Value, shortened};
use crate::variables::Query;

use super::expressions::{is_expression, variables};
use super::strings::each_string;
use super::variable_checks::USER_NAMES;
use super::written::{WrittenRule, filters, kinds, mutates, targets};

/// A variable whose braces are apart.
static SPACED_BRACES: LazyLock<Regex> = LazyLock::new(|| constant(r"\{\s+\{[^{}]*\}\s*\}"));

/// An expression without braces.
static BARE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"^\s*(?:request\.(?:object|oldObject|operation|userInfo|namespace|name|kind)|element|target)(?:\.[\w.]+)?\s*$",
    )
});

fn constant(expression: &str) -> Regex {
    Regex::new(expression).expect("the expression is constant and valid")
}

/// The length to which messages shorten texts.
const MAX_SHOWN_CHARS: usize = 40;

/// The warnings of a policy, those of its mutate rules in the order of the document.
pub(super) fn find(document: &Value, rules: &[WrittenRule]) -> Vec<Warning> {
    let mut found = Vec::new();
    if rules.is_empty() {
        let pointer = Pointer::ROOT.key("spec");
        let field = pointer.key("rules");
        let pointer = if document.pointed(&field).is_some() { field } else { pointer };
        found.push(Warning { pointer, rule: None, cause: WarningCause::NoRules });
    }
    for rule in rules.iter().filter(|rule| mutates(&rule.value)) {
        let name = rule.value.get("name").and_then(Value::as_text);
        let entries = context_entries(&rule.value);
        let mut finder = Finder { at: rule.at.clone(), below: 0, name, entries, found: &mut found };
        finder.below = finder.at.segments().len();
        finder.kinds(&rule.value);
        finder.rule(&rule.value);
    }
    found
}

/// The names of the context entries of a rule and of its loops.
fn context_entries(rule: &Value) -> Vec<Text> {
    let mut names = Vec::new();
    each_string(rule, &mut Pointer::default(), &mut |at, text| {
        if let [.., Segment::Key(context), Segment::Index(_), Segment::Key(name)] = at.segments()
            && &**context == "context"
            && &**name == "name"
        {
            names.push(text.clone());
        }
    });
    names
}

struct Finder<'a> {
    /// The current place.
    at: Pointer,
    /// The number of its segments that lead to the rule.
    below: usize,
    name: Option<&'a Text>,
    /// The names of the context entries of the rule.
    entries: Vec<Text>,
    found: &'a mut Vec<Warning>,
}

impl Finder<'_> {
    fn add_at(&mut self, pointer: Pointer, cause: WarningCause) {
        let warning = Warning { pointer, rule: self.name.cloned(), cause };
        if !self.found.contains(&warning) {
            self.found.push(warning);
        }
    }

    fn add(&mut self, cause: WarningCause) {
        self.add_at(self.at.clone(), cause);
    }

    fn kinds(&mut self, rule: &Value) {
        for block in ["match", "exclude"] {
            for (below, filter) in filters(rule, block) {
                let at = self.at.join(&below).key("resources").key("kinds");
                for (index, kind) in kinds(filter).iter().enumerate() {
                    self.kind(&at.index(index), &KindSelector::parse(kind));
                }
            }
        }
        for (index, target) in targets(rule).and_then(Value::as_array).unwrap_or_default().iter().enumerate()
        {
            let (version, kind) = (string(target, "apiVersion"), string(target, "kind"));
            let text = if version.is_empty() { kind.to_owned() } else { format!("{version}/{kind}") };
            let at = self.at.key("mutate").key("targets").index(index).key("kind");
            self.kind(&at, &KindSelector::parse(&text));
        }
    }

    fn kind(&mut self, at: &Pointer, selector: &KindSelector) {
        if let Some(meant) = meant_kind(selector) {
            self.add_at(at.clone(), WarningCause::UnknownKind { selector: selector.text.clone(), meant });
        }
    }

    fn rule(&mut self, rule: &Value) {
        for (key, member) in rule.as_object().into_iter().flat_map(|members| members.iter()) {
            if matches!(&**key, "match" | "exclude" | "name") {
                continue;
            }
            self.at.push_key(key.clone());
            self.value(member);
            if &**key == "mutate" {
                self.overlays(member);
            }
            self.at.pop();
        }
    }

    /// Looks at all strings of a value.
    fn value(&mut self, value: &Value) {
        let mut at = self.at.clone();
        each_string(value, &mut at, &mut |at, text| {
            self.at.clone_from(at);
            self.text(text);
        });
        self.at = at;
    }

    /// Looks at the variables of a string from the inside out, or at the expression that it is.
    fn text(&mut self, text: &Text) {
        if is_expression(self.at.segments().get(self.below..).unwrap_or_default()) {
            return self.expression(text);
        }
        if self.is_condition_key() && BARE.is_match(text) {
            return self.add(WarningCause::BareExpression { expression: text.clone() });
        }
        if let Some(spaced) = SPACED_BRACES.find(text) {
            self.add(WarningCause::OpenVariable { text: shortened(spaced.as_str(), MAX_SHOWN_CHARS) });
        }
        if !text.contains("{{") {
            return;
        }
        let (expressions, rest) = variables(text);
        expressions.iter().for_each(|expression| self.expression(expression));
        let open = rest.match_indices("{{").find(|(start, _)| !rest[..*start].ends_with('\\'));
        if let Some((start, _)) = open {
            let text = shortened(&rest[start..], MAX_SHOWN_CHARS);
            self.add(WarningCause::OpenVariable { text });
        }
    }

    /// Whether the string is the `key` of a condition.
    fn is_condition_key(&self) -> bool {
        let is = |segment: &Segment, name: &str| matches!(segment, Segment::Key(key) if **key == *name);
        let segments = self.at.segments().get(self.below..).unwrap_or_default();
        segments.last().is_some_and(|last| is(last, "key"))
            && segments.iter().any(|segment| is(segment, "preconditions"))
            && matches!(segments.iter().rev().nth(1), Some(Segment::Index(_)))
    }

    fn expression(&mut self, text: &str) {
        let query = Query::new(text);
        let Ok(expression) = query.expression() else { return };
        for doubt in expression.doubts() {
            self.add(match doubt {
                Doubt::UnknownFunction { name, nearest } => WarningCause::UnknownFunction { name, nearest },
                Doubt::UncalledFunction(name) => WarningCause::UncalledFunction { name },
                Doubt::QuotedField(name) if self.entries.contains(&name) => continue,
                Doubt::QuotedField(name) => WarningCause::QuotedField { name },
            });
        }
        let is_in_patch = self.at.segments().iter().any(|segment| {
            matches!(segment, Segment::Key(key) if matches!(&**key, "patchStrategicMerge" | "patchesJson6902"))
        });
        if is_in_patch && USER_NAMES.is_match(text) && has_result_without_user(expression) {
            let expression = shortened(text, 2 * MAX_SHOWN_CHARS);
            self.add(WarningCause::NoUser { expression });
        }
    }

    /// Looks at the keys of the overlays of a `mutate`, or of an entry of `foreach`.
    fn overlays(&mut self, block: &Value) {
        const OVERLAY: &str = "patchStrategicMerge";
        if let Some(overlay) = given(block, OVERLAY) {
            self.at.push_key(OVERLAY);
            if overlay.get("metadata").is_some_and(Value::is_null) {
                self.add_at(self.at.key("metadata"), WarningCause::NullMetadata);
            }
            self.anchors(overlay);
            self.at.pop();
        }
        for (index, entry) in list(block, "foreach").iter().enumerate() {
            self.at.push_key("foreach");
            self.at.push_index(index);
            self.overlays(entry);
            self.at.pop();
            self.at.pop();
        }
    }

    fn anchors(&mut self, value: &Value) {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.at.push_index(index);
                    if let Some(name) =
                        item.get("name").and_then(Value::as_text).filter(|name| is_wildcard(name))
                        && !name.contains("{{")
                        // Then it selects elements, and none is added.
                        && !has_anchor(item, &[Anchor::Condition, Anchor::Global])
                    {
                        let at = self.at.key("name");
                        self.add_at(at, WarningCause::PlainWildcard { name: name.clone() });
                    }
                    self.anchors(item);
                    self.at.pop();
                }
            }
            Value::Object(members) => {
                for (key, member) in members.iter() {
                    self.at.push_key(key.clone());
                    if let Some(meant) = meant_anchor(key) {
                        self.add(WarningCause::BrokenAnchor { key: key.clone(), meant });
                    }
                    self.anchors(member);
                    self.at.pop();
                }
            }
            _ => {}
        }
    }
}

/// The anchor that is probably meant by a key that is none: `(name`, `+name)`, `+ (name)`.
pub(super) fn meant_anchor(key: &str) -> Option<String> {
    let without_sign = key.trim_start_matches(['+', '<', '=', '^']);
    let sign = key.strip_suffix(without_sign).unwrap_or_default();
    let rest = without_sign.trim_start();
    let has_blank = rest.len() < without_sign.len();
    let name = match (rest.strip_prefix('('), rest.strip_suffix(')')) {
        (Some(name), None) => name,
        (None, Some(name)) if !name.contains('(') => name,
        (Some(_), Some(_)) if has_blank && !sign.is_empty() => &rest[1..rest.len() - 1],
        _ => return None,
    };
    (sign.len() <= 1 && !name.is_empty()).then(|| format!("{sign}({name})"))
}

/// The selector that is probably meant by one that matches no built-in kind: a plural, a name in other letters, a typing
/// error, a group or version that the kind does not have.
pub(super) fn meant_kind(selector: &KindSelector) -> Option<String> {
    let KindSelector { group, version, kind, subresource, .. } = selector;
    if kind.is_empty() || is_wildcard(kind) || kind.contains("{{") {
        return None;
    }
    let subresource = if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
    let resources = || Resources::built_in().iter();
    let with_group =
        |meant: &ApiResource| format!("{}/{}{subresource}", meant.kind.api_version(), meant.kind.kind);
    let Some(first) = resources().find(|known| known.kind.kind == *kind) else {
        let of_group = || resources().filter(|known| pattern::matches(group, &known.kind.group));
        let named = of_group().find(|known| known.is_named(kind));
        let meant = named.or_else(|| of_group().find(|known| is_misspelt(kind, &known.kind.kind)))?;
        let prefix = selector.text.find(&**kind).and_then(|end| selector.text.get(..end)).unwrap_or_default();
        return Some(format!("{prefix}{}{subresource}", meant.kind.kind));
    };
    // `Deployment.apps` is a subresource `apps`.
    let is_group =
        |known: &&ApiResource| known.kind.kind == *kind && *known.kind.group == *selector.subresource;
    if !selector.subresource.is_empty()
        && let Some(meant) = resources().find(is_group)
    {
        return Some(meant.kind.to_string());
    }
    let mut of_kind =
        resources().filter(|known| known.kind.kind == *kind && pattern::matches(group, &known.kind.group));
    let Some(of_group) = of_kind.next() else {
        let is_near = !is_wildcard(group) && pattern::edit_distance(group, &first.kind.group) == 1;
        return is_near.then(|| with_group(first));
    };
    let has_version = |known: &ApiResource| pattern::matches(version, &known.kind.version);
    let is_stable = of_group.kind.version.bytes().last().is_some_and(|last| last.is_ascii_digit())
        && !of_group.kind.version.contains("alpha")
        && !of_group.kind.version.contains("beta");
    let is_gone = is_stable && !is_wildcard(group) && version.contains("beta");
    (is_gone && !has_version(of_group) && !of_kind.any(has_version)).then(|| with_group(of_group))
}

/// Whether a kind is a misspelt built-in one, and hardly one of a custom resource.
fn is_misspelt(kind: &str, built_in: &str) -> bool {
    let distance = match kind.len().min(built_in.len()) {
        0..5 => return false,
        5..8 => 1,
        _ => 2,
    };
    // `Endpoint` may be one of a custom resource, and so may a name that begins otherwise.
    let is_singular = built_in.strip_suffix('s') == Some(kind);
    let begins_alike = kind.chars().next().map(|first| first.to_ascii_uppercase()) == built_in.chars().next();
    !is_singular && begins_alike && pattern::edit_distance(kind, built_in) <= distance
}

/// Whether an expression that reads the user of a request has a result where the user is not known.
fn has_result_without_user(expression: &Expression) -> bool {
    let texts = |names: &[&str]| -> Value { names.iter().map(|name| (*name, Value::from("x"))).collect() };
    let mut metadata = texts(&["name", "namespace"]);
    for name in ["labels", "annotations"] {
        metadata.insert(name, Value::empty_object());
    }
    let object = Value::from_iter([("metadata", metadata)]);
    let mut request = texts(&["operation", "namespace"]);
    request.insert("object", object);
    let tracker = DivergenceTracker::default();
    let random = SeededRandom::new(0);
    let runtime = Runtime::new(&FixedClock::EPOCH, &random, &tracker);
    expression.search(&Value::from_iter([("request", request)]), &runtime).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Policy, parse};
    use crate::semantics::Semantics;
    use crate::yaml;

    /// The places, below the rule, and texts of the warnings of a rule with these fields.
    fn warnings(fields: &str) -> Vec<(String, String)> {
        let document = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{background: false, \
             rules: [{{name: r, {fields}}}]}}}}"
        );
        of_policy(&document)
    }

    fn of_policy(document: &str) -> Vec<(String, String)> {
        let policy = parse(&yaml::parse_value(document).unwrap(), Semantics::Documented);
        let Ok(Policy::Classic(policy)) = policy else { panic!("{document}: {policy:?}") };
        let place = |pointer: &Pointer| pointer.to_string().replace("spec.rules[0].", "");
        let warnings = policy.meta.warnings.iter();
        warnings.map(|warning| (place(&warning.pointer), warning.cause.to_string())).collect()
    }

    fn of_mutate(mutate: &str) -> Vec<(String, String)> {
        warnings(&format!("match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, mutate: {{{mutate}}}"))
    }

    fn of_label(text: &str) -> Vec<(String, String)> {
        of_mutate(&format!("patchStrategicMerge: {{metadata: {{labels: {{a: \"{text}\"}}}}}}"))
    }

    fn of_kind(kind: &str) -> Vec<(String, String)> {
        let overlay = "patchStrategicMerge: {metadata: {labels: {a: b}}}";
        warnings(&format!("match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}, mutate: {{{overlay}}}"))
    }

    #[test]
    fn keys_that_are_almost_anchors_are_found() {
        for (key, meant) in [
            ("+(a", Some("+(a)")),
            ("(a", Some("(a)")),
            ("<(a", Some("<(a)")),
            ("+a)", Some("+(a)")),
            ("a)", Some("(a)")),
            ("+ (a)", Some("+(a)")),
            ("+(a)", None),
            ("(a)", None),
            ("=(a)", None),
            ("a", None),
            ("+a", None),
            ("a(b)", None),
            ("{{ to_upper(@) }}", None),
        ] {
            assert_eq!(meant_anchor(key).as_deref(), meant, "{key}");
        }
        let found = of_mutate("foreach: [{list: request.object.x, patchStrategicMerge: {spec: {'+(a': b}}}]");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "mutate.foreach[0].patchStrategicMerge.spec.+(a");
    }

    #[test]
    fn braces_that_begin_no_variable_are_found() {
        for (text, expected) in [
            ("{{ request.object.metadata.name", true),
            ("{{ request.object.metadata.name }", true),
            ("x {{ request.object.metadata.name }} {{", true),
            ("{{ to_string('{{a}') }}", true),
            ("{ { request.namespace }}", true),
            ("{{ request.object.metadata.name }}", false),
            ("{{ request.object.metadata.labels.{{ request.object.metadata.name }} }}", false),
            ("{{ request.object.{a: kind} }}", false),
            (r"\\{{ text", false),
            ("a }}", false),
            ("{a: {b: c}}", false),
        ] {
            let found = of_label(text);
            assert_eq!(
                found.iter().any(|(_, text)| text.contains("no variable")),
                expected,
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn names_with_wildcards_in_lists_are_found() {
        let found = of_mutate("patchStrategicMerge: {spec: {containers: [{name: '*', image: a}]}}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "mutate.patchStrategicMerge.spec.containers[0].name");
        for key in ["(name)", "image"] {
            let overlay = format!("patchStrategicMerge: {{spec: {{containers: [{{{key}: '*'}}]}}}}");
            assert_eq!(of_mutate(&overlay), [], "{key}");
        }
    }

    #[test]
    fn expressions_without_braces_in_conditions_are_found() {
        let overlay = "patchStrategicMerge: {metadata: {labels: {a: b}}}";
        for (key, expected) in [
            ("request.operation", true),
            ("request.object.metadata.name", true),
            ("'{{ request.operation }}'", false),
            ("request", false),
            ("a.b", false),
        ] {
            let found = warnings(&format!(
                "match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, mutate: {{{overlay}}}, \
                 preconditions: {{all: [{{key: {key}, operator: Equals, value: CREATE}}]}}"
            ));
            assert_eq!(found.len(), usize::from(expected), "{key}: {found:?}");
        }
    }

    #[test]
    fn a_metadata_of_null_is_found_at_the_top_of_an_overlay() {
        let found = of_mutate("patchStrategicMerge: {metadata: null, spec: {os: null}}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "mutate.patchStrategicMerge.metadata");
        assert_eq!(of_mutate("patchStrategicMerge: {metadata: {labels: null}}"), []);
    }

    #[test]
    fn functions_are_looked_at_wherever_there_are_expressions() {
        for mutate in [
            "patchStrategicMerge: {metadata: {labels: {a: '{{ to_uper(request.object.kind) }}'}}}",
            "patchStrategicMerge: {metadata: {labels: {'{{ to_uper(request.object.kind) }}': a}}}",
            "foreach: [{list: to_uper(request.object.x), patchStrategicMerge: {kind: b}}]",
            "foreach: [{list: request.object.x, context: [{name: v, variable: {jmesPath: to_uper(@), value: x}}], \
             patchStrategicMerge: {kind: b}}]",
        ] {
            let found = of_mutate(mutate);
            assert_eq!(found.len(), 1, "{mutate}: {found:?}");
            assert!(found[0].1.ends_with("did you mean `to_upper`?"), "{found:?}");
        }
        assert_eq!(of_label("{{ request.object.kind.to_upper }}").len(), 1);
        assert_eq!(of_label("{{ request.object.type || 'x' }}"), []);
    }

    #[test]
    fn plural_and_misspelt_kinds_are_found() {
        for (kind, meant) in [
            ("Pods", Some("Pod")),
            ("pods", Some("Pod")),
            ("apps/v1/Deployments", Some("apps/v1/Deployment")),
            ("NetworkPolicies", Some("NetworkPolicy")),
            ("Configmap", Some("ConfigMap")),
            ("Deploymnet", Some("Deployment")),
            ("StatefullSet", Some("StatefulSet")),
            ("Pods/status", Some("Pod/status")),
            ("Deployment.apps", Some("apps/v1/Deployment")),
            ("app/v1/Deployment", Some("apps/v1/Deployment")),
            ("apps/v1beta1/Deployment", Some("apps/v1/Deployment")),
            ("apps/v1/Deployment/scale", None),
            ("v1/Deployment", None),
            ("v1beta1/Deployment", None),
            ("serving.knative.dev/v1/Service", None),
            ("policy/v1beta1/PodSecurityPolicy", None),
            ("Pod", None),
            ("Po*", None),
            ("Endpoint", None),
            ("Release", None),
            ("Rollout", None),
            ("argoproj.io/v1alpha1/Deployments", None),
            ("CustomResourceDefinition", None),
            ("Gateway", None),
        ] {
            assert_eq!(meant_kind(&KindSelector::parse(kind)).as_deref(), meant, "{kind}");
        }
        let found = of_kind("Pod, Pods");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "match.any[0].resources.kinds[1]");
    }

    #[test]
    fn a_policy_without_rules_is_found() {
        for (spec, place) in [("{rules: []}", "spec.rules"), ("{background: true}", "spec")] {
            let document =
                format!("{{apiVersion: kyverno.io/v1, kind: Policy, metadata: {{name: p}}, spec: {spec}}}");
            let found = of_policy(&document);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].0, place);
        }
    }

    #[test]
    fn variables_with_a_result_without_user_are_found() {
        for (text, expected) in [
            ("{{ request.userInfo.username | to_string(@) }}", true),
            ("{{ to_string(request.userInfo.username) }}", true),
            ("{{ request.userInfo.username || 'none' }}", true),
            ("{{ request.object.metadata.name }}-{{ serviceAccountName || 'none' }}", true),
            // An error of the rule.
            ("{{ request.userInfo.username }}", false),
            ("{{ request.userInfo.groups[0] }}", false),
            ("{{ request.object.metadata.name }}", false),
        ] {
            assert_eq!(of_label(text).len(), usize::from(expected), "{text}");
        }
    }
}
