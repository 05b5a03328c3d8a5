//! From an overlay with anchors to a plain patch.

use crate::patch::strategic::anchor::Anchor;
use crate::patch::strategic::condition::{Evidence, Miss, Probe, Steps, Test};
use crate::patch::strategic::keyed::key_text;
use crate::patch::strategic::overlay::{FailedCondition, InlineResolver};
use crate::patch::strategic::planner::Stop;
use crate::patch::{NodeKind, PatchError};
use crate::semantics::DivergenceTracker;
use crate::value::{Map, Pointer, Text, Value};

/// Turns an overlay into a plain patch, in place.
pub(in crate::patch) struct Observer<'a> {
    pub(in crate::patch) tracker: &'a DivergenceTracker,
    pub(in crate::patch) steps: Steps,
    pub(in crate::patch) overlay: Pointer,
    pub(in crate::patch) at: Pointer,
    pub(in crate::patch) in_element: bool,
}

impl<'a> Observer<'a> {
    pub(in crate::patch) fn new(tracker: &'a DivergenceTracker) -> Self {
        Self {
            tracker,
            steps: Steps::default(),
            overlay: Pointer::ROOT,
            at: Pointer::ROOT,
            in_element: false,
        }
    }

    /// The plain patch for an object.
    pub(in crate::patch) fn plan(
        &mut self,
        overlay: &Value,
        base: &Value,
        inline: Option<&dyn InlineResolver>,
    ) -> Result<Value, Stop> {
        let mut pattern = overlay.clone();
        if let Some(inline) = inline {
            resolve(&mut pattern, base, &mut Pointer::default(), inline)?;
        }
        self.walk(&mut pattern, Some(base))?;
        self.clean_root(&mut pattern)?;
        Ok(pattern)
    }

    fn walk(&mut self, pattern: &mut Value, base: Option<&Value>) -> Result<(), Stop> {
        match pattern {
            Value::Object(_) => self.walk_map(pattern, base),
            Value::Array(_) => self.walk_list(pattern, base),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn walk_map(&mut self, pattern: &mut Value, base: Option<&Value>) -> Result<(), Stop> {
        let keys = sorted_keys(pattern);
        let mut plain = take_adds(pattern, base, &keys);
        for wanted in [Anchor::Global, Anchor::Condition] {
            for key in &keys {
                if let Some((anchor, name)) = Anchor::parse(key)
                    && anchor == wanted
                {
                    self.within(key, name, |this| this.test(pattern, key, name, base, wanted))?;
                }
            }
        }
        plain.retain(|key| !Anchor::parse(key).is_some_and(|(anchor, _)| anchor.is_test()));
        for key in plain {
            self.steps.count()?;
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
        work: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.overlay.push_key(key);
        self.at.push_key(name);
        let result = work(self);
        self.overlay.pop();
        self.at.pop();
        result
    }

    /// Tests a condition; what it adds is taken first, and then nothing is tested but the key.
    fn test(
        &mut self,
        pattern: &mut Value,
        key: &str,
        name: &str,
        base: Option<&Value>,
        anchor: Anchor,
    ) -> Result<(), Stop> {
        let global = anchor == Anchor::Global;
        let Some(member) = base.and_then(|base| base.get(name)) else {
            return Err(self.failed(global, &Evidence::default(), || format!("key \"{name}\" is missing")));
        };
        let Some(value) = pattern.as_object_mut().and_then(|members| members.get_mut(key)) else {
            return Ok(());
        };
        let keys = sorted_keys(value);
        if keys.iter().any(|key| matches!(Anchor::parse(key), Some((Anchor::Add, _)))) {
            take_adds(value, Some(member), &keys);
            return Ok(());
        }
        let mut probe = Probe { tracker: self.tracker, steps: &mut self.steps };
        match Test::prepare_literally(value).check(member, &mut probe) {
            Ok(()) => Ok(()),
            Err(Miss::Error(error)) => Err(error.into()),
            Err(Miss::Skip(evidence) | Miss::Fail(evidence)) => {
                let reason = evidence.reason.to_string();
                Err(self.failed(global, &evidence, || reason))
            }
        }
    }

    fn failed(&self, global: bool, evidence: &Evidence, reason: impl FnOnce() -> String) -> Stop {
        if self.in_element && !global {
            return Stop::Condition(None);
        }
        let failed = Box::new(FailedCondition {
            overlay: self.overlay.clone(),
            at: evidence.pointer(&self.at),
            reason: reason(),
            global,
        });
        if global { Stop::Global(failed) } else { Stop::Condition(Some(failed)) }
    }

    fn walk_list(&mut self, pattern: &mut Value, base: Option<&Value>) -> Result<(), Stop> {
        let elements = pattern.as_array().unwrap_or_default().to_vec();
        if !matches!(elements.first(), Some(Value::Object(_))) {
            return Ok(());
        }
        let found = match base {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => items.as_slice(),
            Some(other) => {
                let (expected, found) = (NodeKind::Sequence, NodeKind::of(other));
                return Err(PatchError::WrongKind { expected, found, at: self.at.clone() }.into());
            }
        };
        for (index, element) in elements.into_iter().enumerate() {
            if !has_anchor(&element) {
                continue;
            }
            self.overlay.push_index(index);
            let in_element = std::mem::replace(&mut self.in_element, true);
            let emitted = self.element(element, base, found);
            self.in_element = in_element;
            self.overlay.pop();
            if let Some(items) = pattern.as_array_mut() {
                items.extend(emitted?);
            }
        }
        Ok(())
    }

    /// What an anchored element emits for the elements of a list: all share one copy of it.
    fn element(
        &mut self,
        mut element: Value,
        base: Option<&Value>,
        found: &[Value],
    ) -> Result<Vec<Value>, Stop> {
        let global = has_global(&element);
        let mut passed = false;
        let mut failed = None;
        let mut emitted = Vec::new();
        for (index, candidate) in found.iter().enumerate() {
            self.steps.count()?;
            self.at.push_index(index);
            let walked = self.walk(&mut element, Some(candidate));
            self.at.pop();
            match walked {
                Ok(()) if global => passed = true,
                Ok(()) => {
                    let mut patch = element.clone();
                    let name = candidate.get("name").filter(|name| key_text(name).is_some());
                    if !self.clean(&mut patch, true)?
                        && let Some(name) = name
                    {
                        patch.insert("name", name.clone());
                        emitted.push(patch);
                    }
                }
                Err(Stop::Condition(_)) => {}
                Err(Stop::Global(evidence)) => failed = Some(evidence),
                Err(error @ Stop::Error(_)) => return Err(error),
            }
        }
        if base.is_none() {
            match self.walk(&mut element, None) {
                Ok(()) | Err(Stop::Condition(_)) => {}
                Err(Stop::Global(evidence)) => {
                    return Err(Stop::Global(Box::new(FailedCondition {
                        at: self.at.clone(),
                        reason: "list is missing".into(),
                        ..*evidence
                    })));
                }
                Err(error @ Stop::Error(_)) => return Err(error),
            }
        }
        match failed {
            Some(evidence) if !passed => Err(Stop::Global(evidence)),
            _ => Ok(emitted),
        }
    }

    /// Removes what is done with. Anchors of the outermost map are not stripped.
    fn clean_root(&mut self, pattern: &mut Value) -> Result<(), PatchError> {
        for key in sorted_keys(pattern) {
            let is_test = is_test(&key);
            self.clean_member(pattern, &key, is_test)?;
        }
        Ok(())
    }

    /// Cleans a member and removes it if nothing is left of it; tells whether it was kept.
    fn clean_member(&mut self, map: &mut Value, key: &Text, scalars: bool) -> Result<bool, PatchError> {
        let Some(slot) = map.as_object_mut().and_then(|members| members.get_mut(key)) else {
            return Ok(false);
        };
        self.overlay.push_key(key.clone());
        let done = self.clean(slot, scalars);
        self.overlay.pop();
        let done = done?;
        if done {
            map.remove(key);
        }
        Ok(!done)
    }

    /// Cleans a node and tells whether nothing is left of it; of a scalar that is `scalars`.
    fn clean(&mut self, node: &mut Value, scalars: bool) -> Result<bool, PatchError> {
        match node {
            Value::Object(_) => {
                let mut stripped = false;
                for key in sorted_keys(node).iter().filter(|key| is_test(key)) {
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

    /// Removes elements by the places they had before anything was removed.
    fn clean_list(&mut self, list: &mut Value) -> Result<bool, PatchError> {
        let before = list.as_array().unwrap_or_default().to_vec();
        let mut current: Vec<(usize, Value)> = before.iter().cloned().enumerate().collect();
        for (index, element) in before.iter().enumerate() {
            let remove = if has_anchor(element) {
                true
            } else if let Ok(place) = current.binary_search_by_key(&index, |(index, _)| *index) {
                self.overlay.push_index(index);
                let done = self.clean(&mut current[place].1, false);
                self.overlay.pop();
                done?
            } else {
                self.clean(&mut element.clone(), false)?
            };
            if remove {
                if index >= current.len() {
                    return Err(PatchError::Crash { at: self.overlay.clone() });
                }
                for _ in 0..=current.len() / 1000 {
                    self.steps.count()?;
                }
                current.remove(index);
            }
        }
        let emptied = current.is_empty() && !before.is_empty();
        *list = current.into_iter().map(|(_, element)| element).collect::<Vec<_>>().into();
        Ok(emptied)
    }
}

/// Takes what is to be added: unwrapped where it is missing, removed where it is there. Returns the keys
/// as they are now.
fn take_adds(pattern: &mut Value, base: Option<&Value>, keys: &[Text]) -> Vec<Text> {
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

/// Renames or removes the members of a map. Of two that get the same name, the renamed one stays.
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

fn is_test(key: &str) -> bool {
    Anchor::parse(key).is_some_and(|(anchor, _)| anchor.is_test())
}

/// Whether an anchor occurs; text that reads like a condition counts as one.
fn has_anchor(node: &Value) -> bool {
    match node {
        Value::Object(members) => members.iter().any(|(key, value)| {
            Anchor::parse(key).is_some_and(|(anchor, _)| anchor.is_test() || anchor == Anchor::Add)
                || has_anchor(value)
        }),
        Value::Array(items) => items.iter().any(has_anchor),
        Value::String(text) => is_test(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn has_global(node: &Value) -> bool {
    let is_global = |text: &str| matches!(Anchor::parse(text), Some((Anchor::Global, _)));
    match node {
        Value::Object(members) => members.iter().any(|(key, value)| is_global(key) || has_global(value)),
        Value::Array(items) => items.iter().any(has_global),
        // Text that reads like any condition counts as a global one.
        Value::String(text) => is_test(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Resolves in-line leaves: their place in the object is taken to be that in the overlay.
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
                *node = value.map_err(|message| PatchError::Inline { message, at: at.clone() })?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}
