//! Matchers: the values of condition anchors, compiled.

use std::borrow::Cow;

use crate::patch::limits::StepCounter;
use crate::patch::scalar::scalar_text;
use crate::patch::{Limit, PatchError};
use crate::pattern::{LeafPattern, is_wildcard, matches};
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{Pointer, Segment, Text, Value};

use super::anchor::Anchor;
use super::anchor_outcomes::AnchorOutcomes;

/// The compiled value of a condition.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    /// A scalar directly under the anchor: both sides are compared as text.
    Text(LeafPattern),
    /// A scalar further down: compared by type.
    Leaf(LeafPattern),
    /// `*` as the value of a key: the key exists and is not null.
    Present,
    /// All members match; anchored keys are tested first.
    Map(Vec<MemberMatcher>),
    /// A list against a list.
    List(Vec<Self>),
}

/// One member of a map in a condition.
#[derive(Clone, Debug)]
pub(super) struct MemberMatcher {
    /// Its anchor, if any; never an add anchor.
    anchor: Option<Anchor>,
    /// The key as written.
    raw: Text,
    name: Text,
    /// Whether the name is a wildcard for the first key that matches.
    wildcard: bool,
    matcher: Matcher,
}

/// The location of a map in a condition: wildcards in keys are expanded in labels and annotations only.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Location {
    Anywhere,
    Metadata,
    LabelsOrAnnotations,
}

/// How add anchors in a condition are compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AddAnchors {
    /// They are not tested.
    Omit,
    /// They are keys like others.
    Literal,
}

/// Why a value does not match.
#[derive(Debug)]
pub(super) enum Mismatch {
    /// An anchored key inside the condition does not hold: an element of a list is skipped.
    Skip(MismatchDetail),
    /// A plain value does not match.
    Fail(MismatchDetail),
    /// A limit was exceeded.
    Error(PatchError),
}

/// The value that did not match.
#[derive(Debug, Default)]
pub(super) struct MismatchDetail {
    /// Its path from the condition's value, last segment first.
    reversed_path: Vec<Segment>,
    /// Why it did not match, without the value.
    pub(super) reason: Cow<'static, str>,
}

/// State of a test.
pub(super) struct MatchContext<'a> {
    pub(super) tracker: &'a DivergenceTracker,
    pub(super) steps: &'a mut StepCounter,
}

impl Matcher {
    /// Compiles the value of a condition.
    pub(super) fn compile(value: &Value, adds: AddAnchors) -> Self {
        match scalar_text(value) {
            Some(text) => Self::Text(LeafPattern::text(text.as_ref())),
            None => Self::compile_nested(value, Location::Anywhere, adds),
        }
    }

    fn compile_nested(value: &Value, location: Location, adds: AddAnchors) -> Self {
        match value {
            Value::Object(members) => {
                let mut keys: Vec<_> = members
                    .iter()
                    .filter_map(|(raw, value)| MemberMatcher::compile(raw, value, location, adds))
                    .collect();
                keys.sort_by_cached_key(|key| (key.rank(), key.name.clone()));
                Self::Map(keys)
            }
            Value::Array(items) => {
                let compile = |item| Self::compile_nested(item, Location::Anywhere, adds);
                Self::List(items.iter().map(compile).collect())
            }
            leaf => Self::Leaf(LeafPattern::prepare(leaf)),
        }
    }

    /// Whether a value matches.
    pub(super) fn check(&self, value: &Value, context: &mut MatchContext<'_>) -> Result<(), Mismatch> {
        match self {
            Self::Present if value.is_null() => Err(Mismatch::fail("value is null")),
            Self::Present => Ok(()),
            Self::Text(pattern) => match value {
                Value::Array(items) => match_all(pattern, items, context),
                _ => require(scalar_text(value).is_some_and(|text| pattern.matches_text(&text))),
            },
            Self::Leaf(pattern) => match value {
                Value::Array(items) => match_all(pattern, items, context),
                Value::Object(_) => Err(Mismatch::fail("value is an object")),
                _ => require(pattern.matches(value)),
            },
            Self::Map(keys) => {
                if value.as_object().is_none() {
                    return Err(Mismatch::fail("value is no object"));
                }
                keys.iter().try_for_each(|key| key.check(value, context))
            }
            Self::List(matchers) => {
                let Some(items) = value.as_array() else { return Err(Mismatch::fail("value is no list")) };
                if matchers.is_empty() {
                    return Err(Mismatch::fail("pattern is an empty list"));
                }
                if matchers.len() > 1 || items.is_empty() || matches!(matchers[0], Self::List(_)) {
                    // Kyverno uses only the first element of the pattern, and an empty list always matches.
                    if !context.tracker.documented(Divergence::ConditionList) {
                        return match_first_pattern(matchers, items, context);
                    }
                }
                match_both_ways(matchers, items, context)
            }
        }
    }

    /// Records which anchored keys hold, as far as they are tested. `at` is the place of the condition in the overlay.
    pub(super) fn record(
        &self,
        value: &Value,
        at: &mut Pointer,
        context: &mut MatchContext<'_>,
        outcomes: &mut AnchorOutcomes,
    ) {
        match (self, value) {
            (Self::Map(keys), Value::Object(_)) => {
                for key in keys {
                    at.push_key(key.raw.clone());
                    if let Some(found) = value.get(key.found_name(value)) {
                        key.matcher.record(found, at, context, outcomes);
                    }
                    let is_held = key.check(value, context).is_ok();
                    if key.anchor.is_some() {
                        outcomes.add(at, is_held);
                    }
                    at.pop();
                    if !is_held {
                        return;
                    }
                }
            }
            (Self::List(matchers), Value::Array(items)) => {
                for (index, matcher) in matchers.iter().enumerate().filter(|(_, one)| one.is_anchored()) {
                    at.push_index(index);
                    for item in items.iter() {
                        matcher.record(item, at, context, outcomes);
                    }
                    at.pop();
                }
            }
            _ => {}
        }
    }

    /// Whether it contains anchored keys.
    fn is_anchored(&self) -> bool {
        match self {
            Self::Map(keys) => keys.iter().any(|key| key.anchor.is_some() || key.matcher.is_anchored()),
            Self::List(matchers) => matchers.iter().any(Self::is_anchored),
            Self::Text(_) | Self::Leaf(_) | Self::Present => false,
        }
    }
}

/// Every pattern matches some element, and every element matches some pattern or is skipped by an anchor.
fn match_both_ways(
    matchers: &[Matcher],
    items: &[Value],
    context: &mut MatchContext<'_>,
) -> Result<(), Mismatch> {
    let mut used = vec![false; matchers.len()];
    for (index, item) in items.iter().enumerate() {
        let mut matched = false;
        let mut skipped = false;
        let mut last = None;
        for (matcher, used) in matchers.iter().zip(&mut used) {
            context.steps.count()?;
            match matcher.check(item, context) {
                Ok(()) => {
                    *used = true;
                    matched = true;
                }
                Err(Mismatch::Skip(_)) => skipped = true,
                Err(Mismatch::Fail(detail)) => last = Some(detail),
                Err(error @ Mismatch::Error(_)) => return Err(error),
            }
        }
        if !matched && !skipped {
            let detail = if matchers.len() == 1 { last } else { None };
            let detail =
                detail.unwrap_or_else(|| MismatchDetail::new("element matches none of the listed patterns"));
            return Err(Mismatch::Fail(detail.below(Segment::Index(index))));
        }
    }
    match used.iter().position(|used| !used) {
        None => Ok(()),
        Some(first) => {
            let detail = MismatchDetail::new("no element matches a listed pattern");
            Err(if matchers[first].is_anchored() { Mismatch::Skip(detail) } else { Mismatch::Fail(detail) })
        }
    }
}

/// Matches all elements with the first pattern, as Kyverno does; lists in lists are compared by position.
fn match_first_pattern(
    matchers: &[Matcher],
    items: &[Value],
    context: &mut MatchContext<'_>,
) -> Result<(), Mismatch> {
    let Some(first @ (Matcher::Map(_) | Matcher::Leaf(_))) = matchers.first() else {
        if items.len() < matchers.len() {
            return Err(Mismatch::fail("list is shorter than the pattern"));
        }
        return matchers.iter().zip(items).try_for_each(|(matcher, item)| matcher.check(item, context));
    };
    let mut matched = false;
    for (index, item) in items.iter().enumerate() {
        context.steps.count()?;
        match first.check(item, context) {
            Ok(()) => matched = true,
            Err(Mismatch::Skip(_)) => {}
            Err(mismatch) => return Err(mismatch.below(Segment::Index(index))),
        }
    }
    if !matched && !items.is_empty() {
        return Err(Mismatch::Skip(MismatchDetail::new("no element matches a listed pattern")));
    }
    Ok(())
}

/// Matches a scalar pattern with a list: every element must match.
fn match_all(pattern: &LeafPattern, items: &[Value], context: &mut MatchContext<'_>) -> Result<(), Mismatch> {
    for (index, item) in items.iter().enumerate() {
        context.steps.count()?;
        let matched = match item {
            Value::Array(inner) => match_all(pattern, inner, context),
            Value::Object(_) => Err(Mismatch::fail("value is an object")),
            _ => require(pattern.matches(item)),
        };
        matched.map_err(|mismatch| mismatch.below(Segment::Index(index)))?;
    }
    Ok(())
}

fn require(matched: bool) -> Result<(), Mismatch> {
    if matched { Ok(()) } else { Err(Mismatch::fail("value does not match the pattern")) }
}

impl MemberMatcher {
    fn compile(raw: &Text, value: &Value, location: Location, adds: AddAnchors) -> Option<Self> {
        let (anchor, name) = match Anchor::parse(raw) {
            Some((Anchor::Add, _)) if adds == AddAnchors::Omit => return None,
            Some((Anchor::Add, _)) => (None, &**raw),
            Some((anchor, name)) => (Some(anchor), name),
            None => (None, &**raw),
        };
        let inner = match (location, name) {
            (_, "metadata") => Location::Metadata,
            (Location::Metadata, "labels" | "annotations") => Location::LabelsOrAnnotations,
            _ => Location::Anywhere,
        };
        let matcher = match value.as_str() {
            Some("*") => Matcher::Present,
            _ => Matcher::compile_nested(value, inner, adds),
        };
        let wildcard = location == Location::LabelsOrAnnotations && is_wildcard(name);
        Some(Self { anchor, raw: raw.clone(), name: name.into(), wildcard, matcher })
    }

    /// Sorts anchored keys first, then keys with anchors below: a key that skips an element is tested before one
    /// that fails.
    fn rank(&self) -> u8 {
        match self.anchor {
            Some(_) => 0,
            None if self.matcher.is_anchored() => 1,
            None => 2,
        }
    }

    /// The name of the member that it is about.
    fn found_name<'v>(&'v self, object: &'v Value) -> &'v Text {
        let members = object.as_object().filter(|_| self.wildcard);
        let found = members.and_then(|members| {
            members.iter().find(|(key, value)| value.as_str().is_some() && matches(&self.name, key))
        });
        found.map_or(&self.name, |(key, _)| key)
    }

    fn check(&self, object: &Value, context: &mut MatchContext<'_>) -> Result<(), Mismatch> {
        context.steps.count()?;
        let name = self.found_name(object);
        let found = object.get(name);
        let checked = match (self.anchor, found) {
            (None, found) => {
                self.matcher.check(found.unwrap_or(&Value::Null), context).map_err(|mismatch| match found {
                    None => mismatch.map(|detail| MismatchDetail {
                        reason: format!("key \"{name}\" is missing").into(),
                        ..detail
                    }),
                    Some(_) => mismatch,
                })
            }
            (Some(Anchor::Negation), None) => Ok(()),
            (Some(Anchor::Negation), Some(_)) => {
                Err(Mismatch::Fail(MismatchDetail::new(format!("key \"{name}\" is there"))))
            }
            (Some(Anchor::Condition), None) => {
                Err(Mismatch::Skip(MismatchDetail::new(format!("key \"{name}\" is missing"))))
            }
            (Some(_), None) => Ok(()),
            (Some(Anchor::Existence), Some(value)) => self.some_element(value, context),
            (Some(Anchor::Equality | Anchor::Add), Some(value)) => self.matcher.check(value, context),
            (Some(Anchor::Condition | Anchor::Global), Some(value)) => {
                self.matcher.check(value, context).map_err(Mismatch::into_skip)
            }
        };
        checked.map_err(|mismatch| mismatch.below(Segment::Key(name.clone())))
    }

    /// Every pattern matches some element.
    fn some_element(&self, value: &Value, context: &mut MatchContext<'_>) -> Result<(), Mismatch> {
        let (Matcher::List(matchers), Some(items)) = (&self.matcher, value.as_array()) else {
            return Err(Mismatch::fail("value is no list"));
        };
        for matcher in matchers {
            let mut matched = false;
            for item in items {
                context.steps.count()?;
                match matcher.check(item, context) {
                    Ok(()) => {
                        matched = true;
                        break;
                    }
                    Err(error @ Mismatch::Error(_)) => return Err(error),
                    Err(Mismatch::Skip(_) | Mismatch::Fail(_)) => {}
                }
            }
            if !matched {
                return Err(Mismatch::fail("no element matches a listed pattern"));
            }
        }
        Ok(())
    }
}

impl MismatchDetail {
    fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reversed_path: Vec::new(), reason: reason.into() }
    }

    fn below(mut self, segment: Segment) -> Self {
        self.reversed_path.push(segment);
        self
    }

    /// The path of the mismatch, given the path of the condition's value.
    pub(super) fn pointer(&self, from: &Pointer) -> Pointer {
        from.join(&self.reversed_path.iter().rev().cloned().collect())
    }
}

impl From<Limit> for Mismatch {
    fn from(limit: Limit) -> Self {
        Self::Error(limit.into())
    }
}

impl Mismatch {
    const fn fail(reason: &'static str) -> Self {
        Self::Fail(MismatchDetail { reversed_path: Vec::new(), reason: Cow::Borrowed(reason) })
    }

    fn map(self, change: impl FnOnce(MismatchDetail) -> MismatchDetail) -> Self {
        match self {
            Self::Skip(detail) => Self::Skip(change(detail)),
            Self::Fail(detail) => Self::Fail(change(detail)),
            Self::Error(error) => Self::Error(error),
        }
    }

    fn below(self, segment: Segment) -> Self {
        self.map(|detail| detail.below(segment))
    }

    fn into_skip(self) -> Self {
        if let Self::Fail(detail) = self { Self::Skip(detail) } else { self }
    }
}
