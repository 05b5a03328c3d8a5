//! The planner that does what Kyverno's controllers do, defects included.
//!
//! Kyverno uses one copy of the overlay for all elements of a list, removes processed elements from lists while it walks
//! them, and identifies elements by the text of their keys. The planner follows this step by step; where Kyverno
//! crashes, it returns an error.

use crate::patch::cursor::Cursor;
use crate::patch::outcome::OverlayError;
use crate::patch::strategic::anchor::Anchor;
use crate::patch::strategic::any_node;
use crate::patch::strategic::matcher::{AddAnchors, MatchContext, Matcher, Mismatch};
use crate::patch::{FailedCondition, InlineResolver, PatchError};
use crate::semantics::DivergenceTracker;
use crate::value::{Map, Pointer, Text, Value};

use super::elements;

/// Turns an overlay into a patch without anchors, in place.
pub(in crate::patch::strategic) struct KyvernoPlanner<'a> {
    tracker: &'a DivergenceTracker,
    cursor: Cursor,
}

/// Whether a name is `null` or has no elements. An empty text is a name.
fn is_null_or_empty(name: &Value) -> bool {
    match name {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A key with an anchor.
struct AnchoredKey<'k> {
    /// As written.
    key: &'k str,
    /// Without the anchor.
    name: &'k str,
    anchor: Anchor,
}

impl<'a> KyvernoPlanner<'a> {
    pub(in crate::patch::strategic) fn new(tracker: &'a DivergenceTracker) -> Self {
        Self { tracker, cursor: Cursor::default() }
    }

    /// The steps so far.
    pub(in crate::patch::strategic) const fn steps(&self) -> usize {
        self.cursor.steps.taken()
    }

    /// The patch for an object.
    pub(in crate::patch::strategic) fn plan(
        &mut self,
        overlay: &Value,
        base: &Value,
        inline: Option<&dyn InlineResolver>,
    ) -> Result<Value, OverlayError> {
        let mut pattern = overlay.clone();
        if let Some(inline) = inline {
            resolve(&mut pattern, base, &mut Pointer::default(), inline)?;
        }
        self.walk(&mut pattern, Some(base))?;
        self.clean_root(&mut pattern)?;
        Ok(pattern)
    }

    fn walk(&mut self, pattern: &mut Value, base: Option<&Value>) -> Result<(), OverlayError> {
        match pattern {
            Value::Object(_) => self.walk_map(pattern, base),
            Value::Array(_) => self.walk_list(pattern, base),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn walk_map(&mut self, pattern: &mut Value, base: Option<&Value>) -> Result<(), OverlayError> {
        let keys = sorted_keys(pattern);
        let mut plain = process_adds(pattern, base, &keys);
        for kind in [Anchor::Global, Anchor::Condition] {
            for key in &keys {
                if let Some((anchor, name)) = Anchor::parse(key)
                    && anchor == kind
                {
                    let condition = AnchoredKey { key, name, anchor };
                    self.within(key, name, |this| this.test(pattern, &condition, base))?;
                }
            }
        }
        plain.retain(|key| !Anchor::is_test_key(key));
        for key in plain {
            self.cursor.steps.count()?;
            let Some(slot) = pattern.as_object_mut().and_then(|members| members.get_mut(&key)) else {
                continue;
            };
            let member = base.and_then(|base| base.get(&key));
            self.within(&key, &key, |this| this.walk(slot, member))?;
        }
        Ok(())
    }

    fn within<T>(
        &mut self,
        key: &str,
        name: &str,
        work: impl FnOnce(&mut Self) -> Result<T, OverlayError>,
    ) -> Result<T, OverlayError> {
        self.cursor.enter(key, name);
        let result = work(self);
        self.cursor.leave();
        result
    }

    /// Tests a condition. If it contains add anchors, they are processed, and only the existence of the key is tested.
    fn test(
        &mut self,
        pattern: &mut Value,
        condition: &AnchoredKey<'_>,
        base: Option<&Value>,
    ) -> Result<(), OverlayError> {
        let AnchoredKey { key, name, anchor } = *condition;
        let global = anchor == Anchor::Global;
        let Some(member) = base.and_then(|base| base.get(name)) else {
            let detail = || (self.cursor.at.clone(), format!("key \"{name}\" is missing"));
            return Err(self.cursor.failed(global, detail));
        };
        let Some(value) = pattern.as_object_mut().and_then(|members| members.get_mut(key)) else {
            return Ok(());
        };
        let keys = sorted_keys(value);
        if keys.iter().any(|key| matches!(Anchor::parse(key), Some((Anchor::Add, _)))) {
            process_adds(value, Some(member), &keys);
            return Ok(());
        }
        let mut context = MatchContext { tracker: self.tracker, steps: &mut self.cursor.steps };
        match Matcher::compile(value, AddAnchors::Literal).check(member, &mut context) {
            Ok(()) => Ok(()),
            Err(Mismatch::Error(error)) => Err(error.into()),
            Err(Mismatch::Skip(detail) | Mismatch::Fail(detail)) => {
                let detail = || (detail.pointer(&self.cursor.at), detail.reason.to_string());
                Err(self.cursor.failed(global, detail))
            }
        }
    }

    fn walk_list(&mut self, pattern: &mut Value, base: Option<&Value>) -> Result<(), OverlayError> {
        let overlay = pattern.as_array().unwrap_or_default().to_vec();
        if !matches!(overlay.first(), Some(Value::Object(_))) {
            return Ok(());
        }
        let found = elements(base, &self.cursor.at)?;
        for (index, element) in overlay.into_iter().enumerate() {
            if !has_anchor(&element) {
                continue;
            }
            self.cursor.overlay.push_index(index);
            let in_element = std::mem::replace(&mut self.cursor.in_element, true);
            let added = self.element(element, base, found);
            self.cursor.in_element = in_element;
            self.cursor.overlay.pop();
            if let Some(items) = pattern.as_array_mut() {
                items.extend(added?);
            }
        }
        Ok(())
    }

    /// The elements that an anchored element adds to the patch: one copy of it is used for all elements of the list.
    fn element(
        &mut self,
        mut element: Value,
        base: Option<&Value>,
        found: &[Value],
    ) -> Result<Vec<Value>, OverlayError> {
        let global = has_global(&element);
        let mut matched = false;
        let mut failed = None;
        let mut added = Vec::new();
        for (index, candidate) in found.iter().enumerate() {
            self.cursor.steps.count()?;
            self.cursor.at.push_index(index);
            let walked = self.walk(&mut element, Some(candidate));
            self.cursor.at.pop();
            match walked {
                Ok(()) if global => matched = true,
                Ok(()) => {
                    let mut patch = element.clone();
                    let name = candidate.get("name").filter(|name| !is_null_or_empty(name));
                    if !self.clean(&mut patch, true)?
                        && let Some(name) = name
                    {
                        patch.insert("name", name.clone());
                        added.push(patch);
                    }
                }
                Err(OverlayError::Condition(_)) => {}
                Err(OverlayError::Global(detail)) => failed = Some(detail),
                Err(error @ OverlayError::Patch(_)) => return Err(error),
            }
        }
        if base.is_none() {
            match self.walk(&mut element, None) {
                Ok(()) | Err(OverlayError::Condition(_)) => {}
                Err(OverlayError::Global(detail)) => {
                    return Err(OverlayError::Global(Box::new(FailedCondition {
                        at: self.cursor.at.clone(),
                        reason: "list is missing".into(),
                        ..*detail
                    })));
                }
                Err(error @ OverlayError::Patch(_)) => return Err(error),
            }
        }
        match failed {
            Some(detail) if !matched => Err(OverlayError::Global(detail)),
            _ => Ok(added),
        }
    }

    /// Removes processed members. The anchors of the outermost map stay in the keys.
    fn clean_root(&mut self, pattern: &mut Value) -> Result<(), PatchError> {
        for key in sorted_keys(pattern) {
            let is_test = Anchor::is_test_key(&key);
            self.clean_member(pattern, &key, is_test)?;
        }
        Ok(())
    }

    /// Cleans a member and removes it if it becomes empty; returns whether it was kept.
    fn clean_member(&mut self, map: &mut Value, key: &Text, scalars: bool) -> Result<bool, PatchError> {
        let Some(slot) = map.as_object_mut().and_then(|members| members.get_mut(key)) else {
            return Ok(false);
        };
        self.cursor.overlay.push_key(key.clone());
        let empty = self.clean(slot, scalars);
        self.cursor.overlay.pop();
        let empty = empty?;
        if empty {
            map.remove(key);
        }
        Ok(!empty)
    }

    /// Cleans a node and returns whether it is empty; for a scalar, returns `scalars`.
    fn clean(&mut self, node: &mut Value, scalars: bool) -> Result<bool, PatchError> {
        match node {
            Value::Object(_) => {
                let mut stripped = false;
                for key in sorted_keys(node).iter().filter(|key| Anchor::is_test_key(key)) {
                    stripped |= self.clean_member(node, key, true)?;
                }
                if stripped {
                    strip_tests(node);
                }
                let mut kept = false;
                for key in sorted_keys(node) {
                    kept |= self.clean_member(node, &key, false)?;
                }
                Ok(!kept)
            }
            Value::Array(_) => self.clean_list(node),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(scalars),
        }
    }

    /// Removes elements by the indexes they had before anything was removed, as Kyverno does.
    fn clean_list(&mut self, list: &mut Value) -> Result<bool, PatchError> {
        let before = list.as_array().unwrap_or_default().to_vec();
        let mut current: Vec<(usize, Value)> = before.iter().cloned().enumerate().collect();
        for (index, element) in before.iter().enumerate() {
            let remove = if has_anchor(element) {
                true
            } else if let Ok(position) = current.binary_search_by_key(&index, |(index, _)| *index) {
                self.cursor.overlay.push_index(index);
                let empty = self.clean(&mut current[position].1, false);
                self.cursor.overlay.pop();
                empty?
            } else {
                self.clean(&mut element.clone(), false)?
            };
            if remove {
                if index >= current.len() {
                    return Err(PatchError::Crash { at: self.cursor.overlay.clone() });
                }
                for _ in 0..=current.len() / 1000 {
                    self.cursor.steps.count()?;
                }
                current.remove(index);
            }
        }
        let emptied = current.is_empty() && !before.is_empty();
        *list = current.into_iter().map(|(_, element)| element).collect::<Vec<_>>().into();
        Ok(emptied)
    }
}

/// Processes add anchors: a member becomes plain if its key is missing in the object, and is removed otherwise. Returns
/// the new keys.
fn process_adds(pattern: &mut Value, base: Option<&Value>, keys: &[Text]) -> Vec<Text> {
    let mut renamed = Vec::with_capacity(keys.len());
    let mut any = false;
    for key in keys {
        match Anchor::parse(key) {
            Some((Anchor::Add, name)) => {
                any = true;
                if base.and_then(|base| base.get(name)).is_none() {
                    renamed.push(name.into());
                }
            }
            _ => renamed.push(key.clone()),
        }
    }
    if any {
        rewrite(pattern, |key| match Anchor::parse(key) {
            Some((Anchor::Add, name)) => base.and_then(|base| base.get(name)).is_none().then(|| name.into()),
            _ => Some(key.clone()),
        });
    }
    renamed
}

fn strip_tests(pattern: &mut Value) {
    rewrite(pattern, |key| match Anchor::parse(key) {
        Some((anchor, name)) if anchor.is_test() => Some(name.into()),
        _ => Some(key.clone()),
    });
}

/// Renames or removes the members of a map. Of two with the same name, the renamed one stays.
fn rewrite(pattern: &mut Value, rename: impl Fn(&Text) -> Option<Text>) {
    let Some(members) = pattern.as_object() else { return };
    let mut result = Map::default();
    for (key, value) in members {
        let Some(name) = rename(key) else { continue };
        let renamed = name != *key;
        if renamed || !result.contains_key(&name) {
            result.insert(name, value.clone());
        }
    }
    *pattern = Value::object(result);
}

fn sorted_keys(pattern: &Value) -> Vec<Text> {
    let mut keys: Vec<Text> =
        pattern.as_object().into_iter().flat_map(|members| members.keys().cloned()).collect();
    keys.sort();
    keys
}

/// Whether a text is the key of a condition or add anchor.
fn is_anchor_key(key: &Text) -> bool {
    Anchor::parse(key).is_some_and(|(anchor, _)| anchor.is_test() || anchor == Anchor::Add)
}

/// Whether it contains an anchor; strings that look like a condition count.
fn has_anchor(node: &Value) -> bool {
    any_node(None, node, &|key, node| key.is_some_and(is_anchor_key) || is_anchor_text(node))
}

/// Whether it contains a global anchor; a string that looks like any condition counts as one.
fn has_global(node: &Value) -> bool {
    let is_global = |key: &Text| matches!(Anchor::parse(key), Some((Anchor::Global, _)));
    any_node(None, node, &|key, node| key.is_some_and(is_global) || is_anchor_text(node))
}

fn is_anchor_text(node: &Value) -> bool {
    node.as_str().is_some_and(Anchor::is_test_key)
}

/// Resolves references to replaced values; their path in the object is assumed to be that in the overlay.
fn resolve(
    node: &mut Value,
    base: &Value,
    at: &mut Pointer,
    inline: &dyn InlineResolver,
) -> Result<(), PatchError> {
    match node {
        Value::Object(_) => {
            for key in sorted_keys(node) {
                let Some(slot) = node.as_object_mut().and_then(|members| members.get_mut(&key)) else {
                    continue;
                };
                at.push_key(key);
                resolve(slot, base, at, inline)?;
                at.pop();
            }
        }
        Value::Array(_) => {
            for (index, slot) in node.as_array_mut().into_iter().flatten().enumerate() {
                at.push_index(index);
                resolve(slot, base, at, inline)?;
                at.pop();
            }
        }
        Value::String(_) => {
            if let Some(value) = inline.resolve(at, at, base.pointed(at)) {
                *node = value.map_err(|error| PatchError::Inline { error, at: at.clone() })?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}
