//! Conditions: the values of anchored keys, as tests.

use std::borrow::Cow;

use crate::pattern::{LeafPattern, is_wildcard, matches};
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{Number, Pointer, Segment, Text, Value};

use super::anchor::Anchor;
use crate::patch::{Limit, MAX_STEPS, PatchError};

/// The value of a condition, prepared.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// At the condition itself: both sides are compared as text.
    Text(LeafPattern),
    /// Further down: compared by type.
    Leaf(LeafPattern),
    /// `*` as the value of a key: the key is there and not null.
    Present,
    /// All keys fit; anchored keys first.
    Map(Vec<Key>),
    /// A list against a list.
    List(Vec<Self>),
}

/// One key of a map in a condition.
#[derive(Clone, Debug)]
pub(super) struct Key {
    /// Its anchor; none for a plain key. Add anchors never stand here.
    anchor: Option<Anchor>,
    name: Text,
    /// Whether it stands for the first key that fits it.
    wild: bool,
    test: Test,
}

/// Where a map in a condition stands: wildcards in keys count in labels and annotations only.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    Metadata,
    LabelsOrAnnotations,
}

/// What becomes of add anchors in a condition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Adds {
    LeftOut,
    Literal,
}

/// Why a value does not fit.
#[derive(Debug)]
pub(super) enum Miss {
    /// An anchored key inside the condition does not hold: an element of a list is passed over.
    Skip(Evidence),
    /// A plain key does not fit.
    Fail(Evidence),
    /// A bound was passed.
    Error(PatchError),
}

/// What did not fit, and where, seen from the condition.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// The way down to it, last step first.
    pub(super) way: Vec<Segment>,
    /// In words, without the value.
    pub(super) reason: Cow<'static, str>,
}

/// What a test may count and ask.
pub(super) struct Probe<'a> {
    pub(super) tracker: &'a DivergenceTracker,
    pub(super) steps: &'a mut Steps,
}

/// How many keys and elements were looked at so far.
#[derive(Debug, Default)]
pub(in crate::patch) struct Steps(usize);

impl Steps {
    /// Counts one more.
    pub(in crate::patch) fn count(&mut self) -> Result<(), PatchError> {
        self.0 += 1;
        if self.0 > MAX_STEPS { Err(PatchError::Limit(Limit::Steps)) } else { Ok(()) }
    }
}

impl Test {
    /// Prepares the value of a condition; what it would add is no part of the test.
    pub(super) fn prepare(value: &Value) -> Self {
        Self::prepared(value, Adds::LeftOut)
    }

    /// Prepares the value of a condition; add anchors further down are keys like others.
    pub(super) fn prepare_literally(value: &Value) -> Self {
        Self::prepared(value, Adds::Literal)
    }

    fn prepared(value: &Value, adds: Adds) -> Self {
        match scalar_text(value) {
            Some(text) => Self::Text(LeafPattern::text(text.as_ref())),
            None => Self::below(value, Place::Anywhere, adds),
        }
    }

    fn below(value: &Value, place: Place, adds: Adds) -> Self {
        match value {
            Value::Object(members) => {
                let keys = members.iter().filter_map(|(raw, value)| Key::prepare(raw, value, place, adds));
                let mut keys: Vec<_> = keys.collect();
                keys.sort_by_cached_key(|key| (key.rank(), key.name.clone()));
                Self::Map(keys)
            }
            Value::Array(items) => {
                Self::List(items.iter().map(|item| Self::below(item, Place::Anywhere, adds)).collect())
            }
            leaf => Self::Leaf(LeafPattern::prepare(leaf)),
        }
    }

    /// Whether a value fits.
    pub(super) fn check(&self, value: &Value, probe: &mut Probe<'_>) -> Result<(), Miss> {
        match self {
            Self::Present if value.is_null() => Err(Miss::fail("value is null")),
            Self::Present => Ok(()),
            Self::Text(pattern) => match value {
                Value::Array(items) => leaves(pattern, items, probe),
                _ => fitting(scalar_text(value).is_some_and(|text| pattern.matches_text(&text))),
            },
            Self::Leaf(pattern) => match value {
                Value::Array(items) => leaves(pattern, items, probe),
                Value::Object(_) => Err(Miss::fail("value is an object")),
                _ => fitting(pattern.matches(value)),
            },
            Self::Map(keys) => {
                if value.as_object().is_none() {
                    return Err(Miss::fail("value is no object"));
                }
                keys.iter().try_for_each(|key| key.check(value, probe))
            }
            Self::List(tests) => {
                let Some(items) = value.as_array() else { return Err(Miss::fail("value is no list")) };
                if tests.is_empty() {
                    return Err(Miss::fail("pattern is an empty list"));
                }
                if tests.len() > 1 || items.is_empty() || matches!(tests[0], Self::List(_)) {
                    // Kyverno takes the first listed element for all, and an empty list for a match.
                    if !probe.tracker.documented(Divergence::ConditionList) {
                        return first_only(tests, items, probe);
                    }
                }
                both_ways(tests, items, probe)
            }
        }
    }

    /// Whether there are anchored keys in it.
    fn is_anchored(&self) -> bool {
        match self {
            Self::Map(keys) => keys.iter().any(|key| key.anchor.is_some() || key.test.is_anchored()),
            Self::List(tests) => tests.iter().any(Self::is_anchored),
            Self::Text(_) | Self::Leaf(_) | Self::Present => false,
        }
    }
}

/// Every listed element fits some element, and every element fits some listed one, unless an anchor of
/// a listed one passes it over.
fn both_ways(tests: &[Test], items: &[Value], probe: &mut Probe<'_>) -> Result<(), Miss> {
    let mut hit = vec![false; tests.len()];
    for (index, item) in items.iter().enumerate() {
        let mut taken = false;
        let mut skipped = false;
        let mut last = None;
        for (test, hit) in tests.iter().zip(&mut hit) {
            probe.steps.count().map_err(Miss::Error)?;
            match test.check(item, probe) {
                Ok(()) => {
                    *hit = true;
                    taken = true;
                }
                Err(Miss::Skip(_)) => skipped = true,
                Err(Miss::Fail(evidence)) => last = Some(evidence),
                Err(error @ Miss::Error(_)) => return Err(error),
            }
        }
        if !taken && !skipped {
            let miss = if tests.len() == 1 { last } else { None };
            let miss = miss.unwrap_or_else(|| Evidence::new("element fits none of the listed patterns"));
            return Err(Miss::Fail(miss.below(Segment::Index(index))));
        }
    }
    match hit.iter().position(|hit| !hit) {
        None => Ok(()),
        Some(first) => {
            let miss = Evidence::new("no element fits a listed pattern");
            Err(if tests[first].is_anchored() { Miss::Skip(miss) } else { Miss::Fail(miss) })
        }
    }
}

/// The first listed element counts for all elements; lists in lists are compared by position.
fn first_only(tests: &[Test], items: &[Value], probe: &mut Probe<'_>) -> Result<(), Miss> {
    let Some(first @ (Test::Map(_) | Test::Leaf(_))) = tests.first() else {
        if items.len() < tests.len() {
            return Err(Miss::fail("list is shorter than the pattern"));
        }
        return tests.iter().zip(items).try_for_each(|(test, item)| test.check(item, probe));
    };
    let mut hits = 0;
    for (index, item) in items.iter().enumerate() {
        probe.steps.count().map_err(Miss::Error)?;
        match first.check(item, probe) {
            Ok(()) => hits += 1,
            Err(Miss::Skip(_)) => {}
            Err(miss) => return Err(miss.below(Segment::Index(index))),
        }
    }
    if hits == 0 && !items.is_empty() {
        return Err(Miss::Skip(Evidence::new("no element fits a listed pattern")));
    }
    Ok(())
}

/// A scalar against a list: every element fits.
fn leaves(pattern: &LeafPattern, items: &[Value], probe: &mut Probe<'_>) -> Result<(), Miss> {
    for (index, item) in items.iter().enumerate() {
        probe.steps.count().map_err(Miss::Error)?;
        let fits = match item {
            Value::Array(inner) => leaves(pattern, inner, probe),
            Value::Object(_) => Err(Miss::fail("value is an object")),
            _ => fitting(pattern.matches(item)),
        };
        fits.map_err(|miss| miss.below(Segment::Index(index)))?;
    }
    Ok(())
}

fn fitting(fits: bool) -> Result<(), Miss> {
    if fits { Ok(()) } else { Err(Miss::fail("value does not match the pattern")) }
}

impl Key {
    fn prepare(raw: &Text, value: &Value, place: Place, adds: Adds) -> Option<Self> {
        let (anchor, name) = match Anchor::parse(raw) {
            Some((Anchor::Add, _)) if adds == Adds::LeftOut => return None,
            Some((Anchor::Add, _)) => (None, &**raw),
            Some((anchor, name)) => (Some(anchor), name),
            None => (None, &**raw),
        };
        let inside = match (place, name) {
            (_, "metadata") => Place::Metadata,
            (Place::Metadata, "labels" | "annotations") => Place::LabelsOrAnnotations,
            _ => Place::Anywhere,
        };
        let test = if value.as_str() == Some("*") { Test::Present } else { Test::below(value, inside, adds) };
        let wild = place == Place::LabelsOrAnnotations && is_wildcard(name);
        Some(Self { anchor, name: name.into(), wild, test })
    }

    /// Anchored keys come first, then those with anchors below: a key that passes an element over is
    /// seen before one that fails it.
    fn rank(&self) -> u8 {
        match self.anchor {
            Some(_) => 0,
            None if self.test.is_anchored() => 1,
            None => 2,
        }
    }

    fn check(&self, object: &Value, probe: &mut Probe<'_>) -> Result<(), Miss> {
        probe.steps.count().map_err(Miss::Error)?;
        let mut name = &self.name;
        if self.wild {
            let found = object.as_object().and_then(|members| {
                members.iter().find(|(key, value)| value.as_str().is_some() && matches(name, key))
            });
            name = found.map_or(name, |(key, _)| key);
        }
        let found = object.get(name);
        let checked = match (self.anchor, found) {
            (None, found) => self.test.check(found.unwrap_or(&Value::Null), probe).map_err(|miss| {
                if found.is_none() { miss.because(format!("key \"{name}\" is missing").into()) } else { miss }
            }),
            (Some(Anchor::Negation), None) => Ok(()),
            (Some(Anchor::Negation), Some(_)) => {
                Err(Miss::Fail(Evidence::new(format!("key \"{name}\" is there"))))
            }
            (Some(Anchor::Condition), None) => {
                Err(Miss::Skip(Evidence::new(format!("key \"{name}\" is missing"))))
            }
            (Some(_), None) => Ok(()),
            (Some(Anchor::Existence), Some(value)) => self.some_element(value, probe),
            (Some(Anchor::Equality | Anchor::Add), Some(value)) => self.test.check(value, probe),
            (Some(Anchor::Condition | Anchor::Global), Some(value)) => {
                self.test.check(value, probe).map_err(Miss::skipping)
            }
        };
        checked.map_err(|miss| miss.below(Segment::Key(name.clone())))
    }

    /// Each listed element fits some element.
    fn some_element(&self, value: &Value, probe: &mut Probe<'_>) -> Result<(), Miss> {
        let (Test::List(tests), Some(items)) = (&self.test, value.as_array()) else {
            return Err(Miss::fail("value is no list"));
        };
        for test in tests {
            let mut hit = false;
            for item in items {
                probe.steps.count().map_err(Miss::Error)?;
                match test.check(item, probe) {
                    Ok(()) => {
                        hit = true;
                        break;
                    }
                    Err(error @ Miss::Error(_)) => return Err(error),
                    Err(Miss::Skip(_) | Miss::Fail(_)) => {}
                }
            }
            if !hit {
                return Err(Miss::fail("no element fits a listed pattern"));
            }
        }
        Ok(())
    }
}

impl Evidence {
    fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { way: Vec::new(), reason: reason.into() }
    }

    fn below(mut self, step: Segment) -> Self {
        self.way.push(step);
        self
    }

    /// The pointer to what did not fit, from the pointer to the condition's value.
    pub(super) fn pointer(&self, from: &Pointer) -> Pointer {
        from.join(&self.way.iter().rev().cloned().collect())
    }
}

impl Miss {
    const fn fail(reason: &'static str) -> Self {
        Self::Fail(Evidence { way: Vec::new(), reason: Cow::Borrowed(reason) })
    }

    fn below(self, step: Segment) -> Self {
        match self {
            Self::Skip(evidence) => Self::Skip(evidence.below(step)),
            Self::Fail(evidence) => Self::Fail(evidence.below(step)),
            Self::Error(error) => Self::Error(error),
        }
    }

    fn because(self, reason: Cow<'static, str>) -> Self {
        match self {
            Self::Skip(evidence) => Self::Skip(Evidence { reason, ..evidence }),
            Self::Fail(evidence) => Self::Fail(Evidence { reason, ..evidence }),
            Self::Error(error) => Self::Error(error),
        }
    }

    fn skipping(self) -> Self {
        if let Self::Fail(evidence) = self { Self::Skip(evidence) } else { self }
    }
}

/// The text that a scalar is compared as; `None` for lists and objects.
pub(in crate::patch) fn scalar_text(value: &Value) -> Option<Cow<'_, str>> {
    Some(match value {
        Value::Null => "null".into(),
        Value::Bool(true) => "true".into(),
        Value::Bool(false) => "false".into(),
        Value::Number(number) => match number.integer_text() {
            Some(text) if text.len() <= 21 => text.into(),
            // As Go writes a float.
            _ => {
                Number::from_f64(number.as_f64()).map_or_else(|| number.to_string(), |n| n.to_string()).into()
            }
        },
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(_) | Value::Object(_) => return None,
    })
}
