//! `applyRules: One`: whether a rule would change an object.

use super::cel_text::{Cel, Entry, Operator};
use super::stages::{Change, Stage};

/// Whether mutations change the object; `None` if only they themselves tell.
pub(super) fn changes(stages: &[Stage]) -> Option<Cel> {
    let [Stage { condition, change: Change::Apply(configuration) }] = stages else { return None };
    let mut tests = Vec::new();
    collect(configuration, Cel::atom("object"), false, &mut tests)?;
    Some(Cel::all(vec![condition.clone(), Cel::any(tests)]))
}

/// Tests of the leaves: each is missing or has another value.
fn collect(cel: &Cel, at: Cel, is_optional: bool, tests: &mut Vec<Cel>) -> Option<()> {
    let mut below = |name: &str, value: &Cel| {
        // Every object has metadata.
        let is_sure = name == "metadata" && at == Cel::atom("object");
        let member = if is_sure || is_optional { at.clone().member(name) } else { at.clone().maybe(name) };
        collect(value, member, !is_sure, tests)
    };
    match cel {
        Cel::Message { fields, .. } => fields.iter().try_for_each(|Entry { key, value, optional }| {
            (!optional).then_some(())?;
            below(key, value)
        }),
        Cel::Map(entries) => entries.iter().try_for_each(|Entry { key, value, optional }| {
            (!optional).then_some(())?;
            below(key.as_text()?, value)
        }),
        Cel::List(_) | Cel::If { .. } | Cel::Call { .. } => None,
        Cel::Text(text) if !text.is_empty() => {
            tests.push(at.or_value(Cel::text("")).compare(Operator::NotEqual, cel.clone()));
            Some(())
        }
        value => {
            tests.push(at.equals(Cel::some(value.clone())).negated());
            Some(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_changes_what_is_missing_or_different() {
        let field = |key: &str, value| Entry { key: key.to_owned(), value, optional: false };
        let labels = Cel::Map(vec![Entry { key: Cel::text("a"), value: Cel::text("1"), optional: false }]);
        let metadata = Cel::message("Object.metadata", vec![field("labels", labels)]);
        let stage = Stage::apply(Cel::message("Object", vec![field("metadata", metadata)]));
        let test = changes(&[stage]).map(|test| test.to_string());
        assert_eq!(test.as_deref(), Some("object.metadata.?labels.a.orValue(\"\") != \"1\""));
    }
}
