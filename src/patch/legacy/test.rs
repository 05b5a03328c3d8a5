//! The values of conditions, as tests.

use crate::pattern::LeafPattern;
use crate::value::{Text, Value};

use crate::patch::strategic::condition::scalar_text;

use super::node::plain_name;
use super::{Place, Stop};

/// The value of a condition, prepared. Anchors inside are keys like others.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// The scalar of the condition itself: both sides are compared as text.
    Text(LeafPattern),
    /// A scalar further down, compared by type.
    Leaf(LeafPattern),
    /// Every key is there and fits.
    Map(Vec<(Text, Self)>),
    /// Every listed element fits some element, and every element some listed one.
    List(Vec<Self>),
}

impl Test {
    pub(super) fn prepare(value: &Value) -> Self {
        match scalar_text(value) {
            Some(text) => Self::Text(LeafPattern::text(text.as_ref())),
            None => Self::below(value),
        }
    }

    fn below(value: &Value) -> Self {
        match value {
            Value::Object(members) => Self::Map(
                members.iter().map(|(key, member)| (plain_name(key), Self::below(member))).collect(),
            ),
            Value::Array(items) => Self::List(items.iter().map(Self::below).collect()),
            leaf => Self::Leaf(LeafPattern::prepare(leaf)),
        }
    }

    /// Whether a value fits; `place` stands at it.
    pub(super) fn check(&self, value: &Value, place: &mut Place) -> Result<(), Stop> {
        place.steps.count()?;
        match (self, value) {
            (Self::Text(_) | Self::Leaf(_), Value::Object(_)) => {
                Err(place.unmet(|| "value is an object".into()))
            }
            (Self::Text(_) | Self::Leaf(_), Value::Array(_)) => Err(place.unmet(|| "value is a list".into())),
            (Self::Text(pattern), scalar) => {
                fitting(scalar_text(scalar).is_some_and(|text| pattern.matches_text(&text)), place)
            }
            (Self::Leaf(pattern), scalar) => fitting(pattern.matches(scalar), place),
            (Self::Map(keys), Value::Object(members)) => {
                for (key, test) in keys {
                    place.at.push_key(key.clone());
                    let checked = match members.get(key) {
                        Some(member) => test.check(member, place),
                        None => Err(place.unmet(|| format!("key \"{key}\" is missing"))),
                    };
                    place.at.pop();
                    checked?;
                }
                Ok(())
            }
            // A map speaks of the elements of a list.
            (Self::Map(_), Value::Array(items)) if is_list_of_maps(items) => self.some(items, place),
            (Self::Map(_), _) => Err(place.unmet(|| "value is no object".into())),
            (Self::List(tests), Value::Array(items)) => both_ways(tests, items, place),
            (Self::List(_), _) => Err(place.unmet(|| "value is no list".into())),
        }
    }

    fn some(&self, items: &[Value], place: &mut Place) -> Result<(), Stop> {
        for item in items {
            if self.fits(item, place)? {
                return Ok(());
            }
        }
        Err(place.unmet(|| "no element of the list fits".into()))
    }

    fn fits(&self, value: &Value, place: &mut Place) -> Result<bool, Stop> {
        place.trials += 1;
        let checked = self.check(value, place);
        place.trials -= 1;
        match checked {
            Ok(()) => Ok(true),
            Err(Stop::Unmet(_)) => Ok(false),
            Err(error @ Stop::Error(_)) => Err(error),
        }
    }
}

fn fitting(fits: bool, place: &Place) -> Result<(), Stop> {
    if fits { Ok(()) } else { Err(place.unmet(|| "value does not match the pattern".into())) }
}

fn both_ways(tests: &[Test], items: &[Value], place: &mut Place) -> Result<(), Stop> {
    let mut hit = vec![false; tests.len()];
    for (index, item) in items.iter().enumerate() {
        place.at.push_index(index);
        let mut taken = false;
        for (test, hit) in tests.iter().zip(&mut hit) {
            if test.fits(item, place)? {
                *hit = true;
                taken = true;
            }
        }
        if !taken {
            let unmet = place.unmet(|| "element fits none of the listed patterns".into());
            place.at.pop();
            return Err(unmet);
        }
        place.at.pop();
    }
    if hit.contains(&false) { Err(place.unmet(|| "no element fits a listed pattern".into())) } else { Ok(()) }
}

/// Whether a list has elements and all are maps.
pub(super) fn is_list_of_maps(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(|item| item.as_object().is_some())
}
