//! Matchers: the compiled values of conditions.

use crate::patch::cursor::Cursor;
use crate::patch::outcome::OverlayError;
use crate::patch::scalar::scalar_text;
use crate::patch::strategic::anchor::Anchor;
use crate::pattern::LeafPattern;
use crate::value::{Text, Value};

/// The compiled value of a condition. Anchors inside are keys like others.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    /// A scalar directly under the anchor: both sides are compared as text.
    Text(LeafPattern),
    /// A scalar further down: compared by type.
    Leaf(LeafPattern),
    /// Every key exists and matches.
    Map(Vec<(Text, Self)>),
    /// Every pattern matches some element, and every element matches some pattern.
    List(Vec<Self>),
}

impl Matcher {
    /// Compiles the value of a condition.
    pub(super) fn compile(value: &Value) -> Self {
        match scalar_text(value) {
            Some(text) => Self::Text(LeafPattern::text(text.as_ref())),
            None => Self::compile_nested(value),
        }
    }

    fn compile_nested(value: &Value) -> Self {
        match value {
            Value::Object(members) => Self::Map(
                members.iter().map(|(key, member)| (plain_name(key), Self::compile_nested(member))).collect(),
            ),
            Value::Array(items) => Self::List(items.iter().map(Self::compile_nested).collect()),
            leaf => Self::Leaf(LeafPattern::prepare(leaf)),
        }
    }

    /// Whether a value matches; the cursor is at the value.
    pub(super) fn check(&self, value: &Value, cursor: &mut Cursor) -> Result<(), OverlayError> {
        cursor.steps.count()?;
        match (self, value) {
            (Self::Text(_) | Self::Leaf(_), Value::Object(_)) => {
                Err(cursor.not_met(|| "value is an object".into()))
            }
            (Self::Text(_) | Self::Leaf(_), Value::Array(_)) => {
                Err(cursor.not_met(|| "value is a list".into()))
            }
            (Self::Text(pattern), scalar) => {
                require(scalar_text(scalar).is_some_and(|text| pattern.matches_text(&text)), cursor)
            }
            (Self::Leaf(pattern), scalar) => require(pattern.matches(scalar), cursor),
            (Self::Map(keys), Value::Object(members)) => {
                for (key, matcher) in keys {
                    cursor.at.push_key(key.clone());
                    let checked = match members.get(key) {
                        Some(member) => matcher.check(member, cursor),
                        None => Err(cursor.not_met(|| format!("key \"{key}\" is missing"))),
                    };
                    cursor.at.pop();
                    checked?;
                }
                Ok(())
            }
            // A map matches a list if it matches one of its elements.
            (Self::Map(_), Value::Array(items)) if is_list_of_maps(items) => self.matches_some(items, cursor),
            (Self::Map(_), _) => Err(cursor.not_met(|| "value is no object".into())),
            (Self::List(matchers), Value::Array(items)) => match_both_ways(matchers, items, cursor),
            (Self::List(_), _) => Err(cursor.not_met(|| "value is no list".into())),
        }
    }

    fn matches_some(&self, items: &[Value], cursor: &mut Cursor) -> Result<(), OverlayError> {
        for item in items {
            if self.matches(item, cursor)? {
                return Ok(());
            }
        }
        Err(cursor.not_met(|| "no element of the list matches".into()))
    }

    fn matches(&self, value: &Value, cursor: &mut Cursor) -> Result<bool, OverlayError> {
        let in_element = std::mem::replace(&mut cursor.in_element, true);
        let checked = self.check(value, cursor);
        cursor.in_element = in_element;
        OverlayError::selected(checked)
    }
}

fn require(matched: bool, cursor: &Cursor) -> Result<(), OverlayError> {
    if matched { Ok(()) } else { Err(cursor.not_met(|| "value does not match the pattern".into())) }
}

fn match_both_ways(matchers: &[Matcher], items: &[Value], cursor: &mut Cursor) -> Result<(), OverlayError> {
    let mut used = vec![false; matchers.len()];
    for (index, item) in items.iter().enumerate() {
        cursor.at.push_index(index);
        let mut matched = false;
        for (matcher, used) in matchers.iter().zip(&mut used) {
            if matcher.matches(item, cursor)? {
                *used = true;
                matched = true;
            }
        }
        if !matched {
            let error = cursor.not_met(|| "element matches none of the listed patterns".into());
            cursor.at.pop();
            return Err(error);
        }
        cursor.at.pop();
    }
    if used.contains(&false) {
        Err(cursor.not_met(|| "no element matches a listed pattern".into()))
    } else {
        Ok(())
    }
}

/// Whether a list is not empty and contains only maps.
pub(super) fn is_list_of_maps(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(|item| item.as_object().is_some())
}

/// The name of a key without its condition or add anchor.
pub(super) fn plain_name(key: &Text) -> Text {
    match Anchor::parse(key) {
        Some((Anchor::Condition | Anchor::Add, name)) => name.into(),
        _ => key.clone(),
    }
}
