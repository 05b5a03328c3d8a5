//! The early syntax: overlays and patches as policies wrote them before strategic merge came.
//!
//! Two readings live here. The documented one does what the documentation of the time says; the native one
//! does what the engine of the time did. The third reading, as a strategic merge patch, needs nothing of
//! its own.

mod documented;
mod labels;
mod native;
mod node;
mod patches;
mod test;

#[cfg(test)]
mod tests;

use crate::semantics::DivergenceTracker;
use crate::value::{MAX_DEPTH, Pointer, Value};

use super::strategic::condition::Steps;
use super::{FailedCondition, JsonPatch, Limit, Merged, PatchError, Schemas};

use labels::texts_below;

use documented::Documented;
use native::Native;
use node::Node;

/// An `overlay`, prepared.
///
/// ```
/// use kyv::patch::{LegacyOverlay, LegacyReading, Merged, Schemas};
/// use kyv::semantics::DivergenceTracker;
/// use kyv::value::Value;
///
/// let overlay = r#"{"subsets": [{"ports": [{"(name)": "secure*", "port": 6443}]}]}"#;
/// let overlay = Value::from_json(overlay).unwrap();
/// let overlay = LegacyOverlay::prepare(&overlay, LegacyReading::Documented).unwrap();
/// let endpoints = r#"{"apiVersion": "v1", "kind": "Endpoints",
///     "subsets": [{"ports": [{"name": "secure-x", "port": 443}, {"name": "plain", "port": 80}]}]}"#;
/// let endpoints = Value::from_json(endpoints).unwrap();
/// let merged = overlay.apply(&endpoints, &Schemas::kubernetes(), &DivergenceTracker::default()).unwrap();
/// let Merged::Patched(after) = merged else { panic!("a port is selected") };
/// assert!(after.to_json().contains(r#"{"name":"secure-x","port":6443},{"name":"plain","port":80}"#));
/// ```
#[derive(Clone, Debug)]
pub struct LegacyOverlay {
    root: Node,
    tracker: LegacyReading,
}

/// How the early syntax is read by code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegacyReading {
    /// As its documentation says.
    Documented,
    /// As Kyverno 1.1.0 did, defects included; what crashed there is an error.
    Native,
}

/// The operations of a `patches` list, prepared.
#[derive(Clone, Debug, PartialEq)]
pub struct LegacyPatches {
    pub(super) patch: JsonPatch,
    pub(super) tracker: LegacyReading,
}

impl LegacyOverlay {
    /// Prepares an overlay.
    ///
    /// # Errors
    ///
    /// An overlay that is no object or is nested too deep, anchors other than `()` and `+()`, and, as the
    /// documentation has it, `null` anywhere outside a condition: an overlay cannot delete.
    pub fn prepare(overlay: &Value, tracker: LegacyReading) -> Result<Self, PatchError> {
        if overlay.as_object().is_none() {
            return Err(PatchError::NotAnOverlay { found: overlay.type_name() });
        }
        if overlay.depth() > MAX_DEPTH {
            return Err(PatchError::Limit(Limit::Depth));
        }
        let overlay = labels::texts(overlay, tracker);
        Ok(Self { root: node::OverlayBuilder::new(tracker).build(&overlay)?, tracker })
    }

    /// The lists without elements, of which there is nothing to apply.
    pub fn empty_lists(&self) -> Vec<Pointer> {
        let mut found = Vec::new();
        self.root.empty_lists(&mut Pointer::default(), &mut found);
        found
    }

    /// Applies the overlay to an object.
    ///
    /// # Errors
    ///
    /// A passed limit; in the native reading also an overlay that does not fit the object.
    pub fn apply(
        &self,
        base: &Value,
        schemas: &Schemas,
        tracker: &DivergenceTracker,
    ) -> Result<Merged, PatchError> {
        let result = match self.tracker {
            LegacyReading::Documented => {
                let position = schemas.root(base, &Value::Null);
                Documented::new(tracker).run(&self.root, base, position)
            }
            LegacyReading::Native => Native::default().run(&self.root, base),
        };
        match result {
            Ok(after) if after.depth() > MAX_DEPTH => Err(PatchError::Limit(Limit::Depth)),
            Ok(after) => Ok(Merged::Patched(after)),
            Err(Stop::Unmet(failed)) => {
                Ok(Merged::ConditionFailed(failed.map_or_else(somewhere, |failed| *failed)))
            }
            Err(Stop::Error(error)) => Err(error),
        }
    }
}

impl LegacyPatches {
    /// Reads the list of a `patches` field.
    ///
    /// # Errors
    ///
    /// A value that is no list, and operations that are incomplete or neither `add`, `replace` nor `remove`.
    pub fn from_value(value: &Value, tracker: LegacyReading) -> Result<Self, PatchError> {
        let mut patch = JsonPatch::from_value(value)?;
        patch.restrict_to_early(tracker)?;
        Ok(Self { patch, tracker })
    }
}

/// Why an overlay is not applied.
#[derive(Debug)]
enum Stop {
    /// A condition does not hold. The evidence is left out where nobody would see it.
    Unmet(Option<Box<FailedCondition>>),
    Error(PatchError),
}

impl From<PatchError> for Stop {
    fn from(error: PatchError) -> Self {
        Self::Error(error)
    }
}

fn somewhere() -> FailedCondition {
    FailedCondition {
        overlay: Pointer::ROOT,
        at: Pointer::ROOT,
        reason: "a condition does not hold".into(),
        global: false,
    }
}

/// Where a walk stands in the overlay and in the object, and how far it may go.
#[derive(Debug, Default)]
struct Place {
    overlay: Pointer,
    at: Pointer,
    steps: Steps,
    /// How many elements of lists are on trial: of those that do not fit only the whole list is told.
    trials: usize,
}

impl Place {
    /// The condition here does not hold.
    fn unmet(&self, reason: impl FnOnce() -> String) -> Stop {
        Stop::Unmet((self.trials == 0).then(|| {
            Box::new(FailedCondition {
                overlay: self.overlay.clone(),
                at: self.at.clone(),
                reason: reason(),
                global: false,
            })
        }))
    }

    fn enter(&mut self, entry: &node::Entry) {
        self.overlay.push_key(entry.raw.clone());
        self.at.push_key(entry.name.clone());
    }

    fn leave(&mut self) {
        self.overlay.pop();
        self.at.pop();
    }
}
