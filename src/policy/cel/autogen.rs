//! Policies on Pods, rewritten for Pod controllers.
//!
//! Kyverno replaces parts of the texts, in strings too: `object.spec` becomes `object.spec.template.spec`, and the content
//! of an expression that begins with `Object{` is wrapped. So metadata in it ends up at the wrong place, and variables and
//! JSON patches stay as they are. The documentation promises the policy on the template: there every constructor is
//! wrapped and renamed, and variables and paths of JSON patches are rewritten as well.

use crate::policy::fields::{filled, list, texts};
use crate::semantics::{Divergence, DivergenceSet, Semantics};
use crate::value::{Text, Value};

/// The controllers that a policy may name.
pub(super) const CONTROLLERS: [&str; 6] =
    ["cronjobs", "daemonsets", "deployments", "jobs", "replicasets", "statefulsets"];

/// A policy for Pod controllers.
#[derive(Debug)]
pub(super) struct Generated {
    /// What its name has before that of the policy.
    pub(super) prefix: &'static str,
    /// Its `spec`.
    pub(super) spec: Value,
    /// The same under the other semantics, where it is another one, and what divergences that are.
    pub(super) other: Option<(Value, DivergenceSet)>,
}

/// Controllers whose Pod template is at one place.
struct Group {
    prefix: &'static str,
    /// Groups and resources, all in version `v1`.
    resources: &'static [(&'static str, &'static [&'static str])],
    /// The fields down to the template.
    template: &'static [&'static str],
}

const GROUPS: [Group; 2] = [
    Group {
        prefix: "autogen-cronjob-",
        resources: &[("batch", &["cronjobs"])],
        template: &["spec", "jobTemplate", "spec", "template"],
    },
    Group {
        prefix: "autogen-",
        resources: &[
            ("apps", &["daemonsets", "deployments", "replicasets", "statefulsets"]),
            ("batch", &["jobs"]),
        ],
        template: &["spec", "template"],
    },
];

/// The policies that are generated from the `spec` of a policy, in Kyverno's order.
pub(super) fn generate(spec: &Value, semantics: Semantics) -> Vec<Generated> {
    let Some(rule) = pods_rule(spec) else { return Vec::new() };
    let chosen = spec.path(&["autogen", "podControllers", "controllers"]).filter(|chosen| !chosen.is_null());
    let chosen = chosen.map(|chosen| texts(Some(chosen)));
    let is_chosen = |name: &str| chosen.as_ref().is_none_or(|chosen| chosen.iter().any(|one| **one == *name));
    let generated = GROUPS.iter().filter_map(|group| {
        let rules: Vec<Value> = group
            .resources
            .iter()
            .filter_map(|(api_group, names)| {
                let names: Vec<Value> =
                    names.iter().filter(|name| is_chosen(name)).map(|name| Value::from(*name)).collect();
                (!names.is_empty()).then(|| {
                    Value::from_iter([
                        ("apiGroups", Value::Array(vec![Value::from(*api_group)].into())),
                        ("apiVersions", Value::Array(vec![Value::from("v1")].into())),
                        ("operations", rule.get("operations").cloned().unwrap_or_default()),
                        ("resources", Value::Array(names.into())),
                    ])
                })
            })
            .collect();
        let other = match semantics {
            Semantics::Kyverno => Semantics::Documented,
            Semantics::Documented => Semantics::Kyverno,
        };
        (!rules.is_empty()).then(|| {
            let own = for_group(spec, rules.clone(), group, semantics);
            let other = for_group(spec, rules, group, other);
            let divergences = divergences(&own, &other);
            let other = (!divergences.is_empty()).then_some((other, divergences));
            Generated { prefix: group.prefix, spec: own, other }
        })
    });
    generated.collect()
}

/// What differs between two generated policies.
fn divergences(one: &Value, other: &Value) -> DivergenceSet {
    let differs = |list_name: &str, path: &[&str]| {
        let texts = |spec: &Value| -> Vec<Option<Value>> {
            list(spec, list_name).iter().map(|item| item.path(path).cloned()).collect()
        };
        texts(one) != texts(other)
    };
    let mut set = DivergenceSet::NONE;
    if differs("matchConditions", &["expression"])
        || differs("mutations", &["applyConfiguration", "expression"])
    {
        set.insert(Divergence::AutogenOfConfigurations);
    }
    if differs("variables", &["expression"])
        || differs("mutations", &["jsonPatch", "expression"])
        || differs("auditAnnotations", &["valueExpression"])
    {
        set.insert(Divergence::AutogenOfPatches);
    }
    set
}

/// The only resource rule, if it is for all Pods and nothing else restricts the policy but namespaces.
fn pods_rule(spec: &Value) -> Option<&Value> {
    let constraints = spec.get("matchConstraints")?;
    let [rule] = list(constraints, "resourceRules") else { return None };
    let is_only = |field: &str, value: &str| *texts(rule.get(field)) == [Text::from(value)];
    let has_selector = constraints.get("objectSelector").is_some_and(|selector| {
        ["matchLabels", "matchExpressions"].iter().any(|name| filled(selector, name).is_some())
    });
    let is_for_pods =
        is_only("apiGroups", "") && is_only("apiVersions", "v1") && is_only("resources", "pods");
    (is_for_pods
        && filled(rule, "resourceNames").is_none()
        && filled(rule, "operations").is_some()
        && filled(constraints, "excludeResourceRules").is_none()
        && !has_selector)
        .then_some(rule)
}

fn for_group(spec: &Value, rules: Vec<Value>, group: &Group, semantics: Semantics) -> Value {
    let mut generated = spec.clone();
    let mut constraints = Value::empty_object();
    constraints.insert("resourceRules", Value::Array(rules.into()));
    if let Some(selector) = spec.path(&["matchConstraints", "namespaceSelector"]) {
        constraints.insert("namespaceSelector", selector.clone());
    }
    generated.insert("matchConstraints", constraints);
    let write: fn(&str, &[&str]) -> String = match semantics {
        Semantics::Kyverno => as_kyverno,
        Semantics::Documented => as_documented,
    };
    let rewrite = |text: &str| write(text, group.template);
    rewrite_all(&mut generated, &["matchConditions"], &["expression"], &rewrite);
    rewrite_all(&mut generated, &["mutations"], &["applyConfiguration", "expression"], &rewrite);
    if semantics == Semantics::Documented {
        rewrite_all(&mut generated, &["variables"], &["expression"], &rewrite);
        rewrite_all(&mut generated, &["auditAnnotations"], &["valueExpression"], &rewrite);
        rewrite_all(&mut generated, &["mutations"], &["jsonPatch", "expression"], &|text| {
            pointers_in_template(&rewrite(text), group.template)
        });
    }
    generated
}

/// Rewrites a text of each element of a list.
fn rewrite_all(spec: &mut Value, list: &[&str], text: &[&str], rewrite: &dyn Fn(&str) -> String) {
    let Some(Value::Array(items)) = list.first().and_then(|name| spec.as_object_mut()?.get_mut(name)) else {
        return;
    };
    let mut changed = items.to_vec();
    for item in &mut changed {
        let mut node = Some(item);
        for name in text {
            node = node.and_then(|node| node.as_object_mut()?.get_mut(name));
        }
        if let Some(Value::String(text)) = node {
            *text = rewrite(text).into();
        }
    }
    *items = changed.into();
}

const ROOTS: [&str; 3] = ["object", "oldObject", "Object"];

/// Replaces `ROOT.path` by `ROOT.replacement`, where ROOT is one of the objects and no part of a longer name.
fn replace_paths(text: &str, roots: &[&str], path: &str, replacement: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    let mut is_boundary = true;
    while let Some(first) = rest.chars().next() {
        let found = roots.iter().find(|root| {
            is_boundary && rest.strip_prefix(**root).is_some_and(|after| after.starts_with(path))
        });
        if let Some(root) = found {
            out.push_str(root);
            out.push_str(replacement);
            rest = rest.get(root.len() + path.len()..).unwrap_or_default();
            is_boundary = false;
            continue;
        }
        is_boundary = !(first.is_ascii_alphanumeric() || first == '_');
        out.push(first);
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    out
}

fn as_kyverno(text: &str, template: &[&str]) -> String {
    let below = template.join(".");
    let text = replace_paths(text, &ROOTS, ".spec", &format!(".{below}.spec"));
    let text = replace_paths(&text, &ROOTS, ".metadata.labels", &format!(".{below}.metadata.labels"));
    let text =
        replace_paths(&text, &ROOTS, ".metadata.annotations", &format!(".{below}.metadata.annotations"));
    let Some(content) = text
        .trim()
        .strip_prefix("Object")
        .and_then(|rest| rest.trim_start_matches([' ', '\t', '\r', '\n']).strip_prefix('{'))
    else {
        return text;
    };
    match closing_brace(content, false) {
        Some(end) if end > 0 => wrapped(&content[..end], &content[end + 1..], template),
        _ => text.clone(),
    }
}

/// The brace that ends what begins before a text. Kyverno counts braces in strings, too.
fn closing_brace(content: &str, knows_strings: bool) -> Option<usize> {
    let mut open = 1;
    let mut quote = None;
    for (at, c) in content.char_indices() {
        match c {
            '"' | '\'' if knows_strings && quote == Some(c) => quote = None,
            '"' | '\'' if knows_strings && quote.is_none() => quote = Some(c),
            _ if quote.is_some() => {}
            '{' => open += 1,
            '}' => {
                open -= 1;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// `Object{spec: Object.spec{template: Object.spec.template{CONTENT}}}REST`.
fn wrapped(content: &str, rest: &str, template: &[&str]) -> String {
    let mut out = "Object{".to_owned();
    for (index, field) in template.iter().enumerate() {
        let path = template.get(..=index).unwrap_or_default().join(".");
        out.extend([field, ": Object.", &path, "{"]);
    }
    out + content + &"}".repeat(template.len() + 1) + rest
}

fn as_documented(text: &str, template: &[&str]) -> String {
    let below = template.join(".");
    let stored = ["object", "oldObject"];
    let paths = [
        (".spec", ".spec"),
        (".?spec", ".?spec"),
        (".metadata.labels", ".metadata.labels"),
        (".metadata.annotations", ".metadata.annotations"),
        // A template may lack the metadata that each Pod has.
        (".metadata.?labels", ".?metadata.?labels"),
        (".metadata.?annotations", ".?metadata.?annotations"),
        (".?metadata.?labels", ".?metadata.?labels"),
        (".?metadata.?annotations", ".?metadata.?annotations"),
    ];
    let moved = |text: String, (path, moved): (&str, &str)| {
        replace_paths(&text, &stored, path, &format!(".{below}{moved}"))
    };
    let text = paths.into_iter().fold(text.to_owned(), moved);
    // Constructors of fields, then those of whole objects.
    let text = replace_paths(&text, &["Object"], ".", &format!(".{below}."));
    wrap_constructors(&text, template)
}

/// Wraps the content of each `Object{`, however deep it is.
fn wrap_constructors(text: &str, template: &[&str]) -> String {
    const ROOT: &str = "Object";
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(at) = rest.find(ROOT) {
        let (before, after) = (&rest[..at], &rest[at + ROOT.len()..]);
        out.push_str(before);
        let is_name = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        let content = after.trim_start().strip_prefix('{').filter(|_| !is_name);
        match content.and_then(|content| Some((content, closing_brace(content, true)?))) {
            Some((content, end)) if !content[..end].trim().is_empty() => {
                // The constructors inside are those of fields.
                out += &wrapped(&content[..end], "", template);
                rest = &content[end + 1..];
            }
            _ => {
                out.push_str(ROOT);
                rest = after;
            }
        }
    }
    out + rest
}

/// Rewrites JSON pointers in string literals: those into the spec, the labels and the annotations of a Pod.
fn pointers_in_template(text: &str, template: &[&str]) -> String {
    let below = template.join("/");
    let mut text = text.to_owned();
    for quote in ['"', '\''] {
        for path in ["spec", "metadata/labels", "metadata/annotations"] {
            text = text.replace(&format!("{quote}/{path}"), &format!("{quote}/{below}/{path}"));
        }
    }
    text
}
