//! Rules that others of their policy keep from running, or from having an effect.

use crate::diagnostics::Code;
use crate::patch::{Anchor, split_anchor};
use crate::value::{Text, Value};

use super::{Lint, LintLevel, MAX_COMPARED, MAX_NESTING, Rule};

/// Adds the findings about rules of a policy that come after one another, at most [`MAX_COMPARED`] rules apart.
pub(super) fn check(policy: &Value, rules: &[Rule<'_>], found: &mut Vec<Lint>) {
    if policy.path(&["spec", "applyRules"]).and_then(Value::as_str) == Some("One") {
        check_one(rules, found);
    } else {
        check_overwritten(rules, found);
    }
}

/// Adds findings about rules of a policy with `applyRules: One` that run only where an earlier rule finds nothing to change.
fn check_one(rules: &[Rule<'_>], found: &mut Vec<Lint>) {
    let always: Vec<bool> = rules.iter().map(|rule| always_applies(rule.value)).collect();
    for (index, rule) in rules.iter().enumerate() {
        let mut earlier = index.saturating_sub(MAX_COMPARED)..index;
        let earlier = earlier.find(|&earlier| always[earlier] && have_one_match(&rules[earlier], rule));
        let Some(earlier) = earlier.map(|earlier| &rules[earlier]) else { continue };
        let name = earlier.name().unwrap_or_default();
        found.push(rule.found(
            Code::RuleBehindAnother,
            LintLevel::Warning,
            rule.at.key("name"),
            format!("with `applyRules: One` the rule runs only on objects that the rule `{name}` leaves as they are"),
            "write the special rule first, or remove `applyRules: One`",
        ));
    }
}

fn have_one_match(one: &Rule<'_>, other: &Rule<'_>) -> bool {
    one.value.get("match") == other.value.get("match")
}

/// Adds findings about rules whose changes a later rule replaces, all of them and on all objects.
fn check_overwritten(rules: &[Rule<'_>], found: &mut Vec<Lint>) {
    let fields: Vec<Option<Vec<Leaf<'_>>>> = rules.iter().map(|rule| fields(rule.value)).collect();
    let always: Vec<bool> = rules.iter().map(|rule| always_applies(rule.value)).collect();
    for (index, rule) in rules.iter().enumerate() {
        let Some(set) = &fields[index] else { continue };
        for (at, later) in rules.iter().enumerate().skip(index + 1).take(MAX_COMPARED) {
            let is_overwritten = have_one_match(later, rule)
                && has_no_condition(later.value)
                && !later.selects_metadata()
                && fields[at].as_ref().is_some_and(|later| overwrites(later, set));
            if is_overwritten {
                let name = later.name().unwrap_or_default();
                found.push(rule.found(
                    Code::OverwrittenRule,
                    LintLevel::Warning,
                    rule.at.key("name"),
                    format!("the later rule `{name}` sets the same fields on the same objects: this rule has no effect"),
                    "remove one of the rules, or give the later one a condition",
                ));
                break;
            }
            // A rule in between may look at the fields.
            if !always[at] {
                break;
            }
        }
    }
}

/// The fields that the overlay of a rule sets, at most [`MAX_COMPARED`]; `None` if it does something else, or sets more.
fn fields(rule: &Value) -> Option<Vec<Leaf<'_>>> {
    let mutate = rule.get("mutate")?.as_object().filter(|mutate| mutate.len() == 1)?;
    let mut leaves = Vec::new();
    Leaves { path: Vec::new(), found: &mut leaves }.add(mutate.get("patchStrategicMerge")?)?;
    Some(leaves)
}

/// Whether an overlay without conditions sets every field that another one sets.
fn overwrites(later: &[Leaf<'_>], earlier: &[Leaf<'_>]) -> bool {
    let is_plain = later.iter().all(|leaf| {
        !leaf.is_added
            && !leaf.has_variable
            && leaf.path.iter().all(|step| !matches!(step, Step::Elements(false)))
    });
    let covers = |one: &Leaf<'_>, other: &Leaf<'_>| {
        one.path.len() == other.path.len()
            && one.path.iter().zip(&other.path).all(|steps| match steps {
                (Step::Key(key), Step::Key(other)) => key == other,
                // All elements are among those that the later rule changes.
                (Step::Elements(_), Step::Elements(_)) => true,
                _ => false,
            })
    };
    is_plain
        && !earlier.is_empty()
        && earlier.iter().all(|leaf| later.iter().any(|other| covers(other, leaf)))
}

/// A field that an overlay sets.
struct Leaf<'v> {
    path: Vec<Step<'v>>,
    /// Whether it is set only where it is missing.
    is_added: bool,
    has_variable: bool,
}

#[derive(Clone, Copy)]
enum Step<'v> {
    Key(&'v str),
    /// Containers, and whether it is all of them.
    Elements(bool),
}

/// The fields that an overlay sets, in maps and in containers that a condition selects.
struct Leaves<'v, 'f> {
    path: Vec<Step<'v>>,
    found: &'f mut Vec<Leaf<'v>>,
}

impl<'v> Leaves<'v, '_> {
    /// Adds those of a map; `None` if the overlay is of another form.
    fn add(&mut self, overlay: &'v Value) -> Option<()> {
        if self.path.len() > MAX_NESTING || self.found.len() > MAX_COMPARED {
            return None;
        }
        for (key, member) in overlay.as_object()? {
            if Anchor::is_test_key(key) && matches!(self.path.last(), Some(Step::Elements(_))) {
                continue;
            }
            let is_added = match Anchor::parse(key) {
                None if key.contains(['$', '{']) => return None,
                None => false,
                Some((Anchor::Add, _)) => true,
                Some(_) => return None,
            };
            let name = split_anchor(key).map_or(&**key, |(name, _)| name);
            self.path.push(Step::Key(name));
            match member {
                Value::Object(members) if !members.is_empty() && !is_added => self.add(member)?,
                Value::Array(items) if name == "containers" && !is_added => {
                    for item in items.iter() {
                        let tests: Vec<(&Text, &Value)> =
                            item.as_object()?.iter().filter(|(key, _)| Anchor::is_test_key(key)).collect();
                        let is_all = match tests[..] {
                            [] => return None,
                            [(key, value)] => **key == *"(name)" && value.as_str() == Some("*"),
                            _ => false,
                        };
                        self.path.push(Step::Elements(is_all));
                        self.add(item)?;
                        self.path.pop();
                    }
                }
                Value::Array(_) | Value::Object(_) => return None,
                scalar => {
                    let has_variable = scalar.as_str().is_some_and(|text| text.contains(['{', '$']));
                    self.found.push(Leaf { path: self.path.clone(), is_added, has_variable });
                }
            }
            self.path.pop();
        }
        Some(())
    }
}

/// Whether a rule changes every object that its `match` selects, or finds it changed: it has no condition, and no anchor.
fn always_applies(rule: &Value) -> bool {
    let overlay = rule.path(&["mutate", "patchStrategicMerge"]);
    has_no_condition(rule) && overlay.is_some_and(|overlay| !has_anchor_or_variable(overlay))
}

/// Whether a rule is for every object of a request that its `match` selects.
fn has_no_condition(rule: &Value) -> bool {
    ["exclude", "preconditions", "celPreconditions"].iter().all(|name| rule.get(name).is_none())
        && rule.path(&["mutate", "targets"]).is_none()
}

fn has_anchor_or_variable(overlay: &Value) -> bool {
    let mut open = vec![overlay];
    while let Some(node) = open.pop() {
        match node {
            Value::Object(members) => {
                if members.keys().any(|key| split_anchor(key).is_some() || key.contains("{{")) {
                    return true;
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items.iter()),
            Value::String(text) if text.contains("{{") => return true,
            _ => {}
        }
    }
    false
}
