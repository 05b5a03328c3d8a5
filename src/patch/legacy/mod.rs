//! The `overlay` and `patches` of Kyverno before 1.2.
//!
//! They have two behaviors of their own: what the documentation of Kyverno 1.1 says, and what Kyverno 1.1 did. Their
//! third behavior, as a strategic merge patch, is that of Kyverno 1.2.

mod documented;
mod labels;
mod matcher;
mod native;
mod node;
mod patches;

#[cfg(test)]
mod tests;

use crate::semantics::DivergenceTracker;
use crate::value::{MAX_DEPTH, Pointer, Value};

use super::{AnchorOutcomes, Limit, Merged, PatchError, Schemas};

pub use patches::LegacyPatches;

use documented::Documented;
use native::Native;
use node::Node;

/// How legacy patches are applied, if not as their modern counterparts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegacyBehavior {
    /// As the documentation of Kyverno 1.1 says.
    Documented,
    /// As Kyverno 1.1.0 did, defects included; what crashed there is an error.
    Native,
}

/// A compiled `overlay`.
///
/// ```
/// use kyv::patch::{LegacyBehavior, LegacyOverlay, Merged, Schemas};
/// use kyv::semantics::DivergenceTracker;
/// use kyv::value::Value;
///
/// let overlay = r#"{"subsets": [{"ports": [{"(name)": "secure*", "port": 6443}]}]}"#;
/// let overlay = Value::from_json(overlay).unwrap();
/// let overlay = LegacyOverlay::prepare(&overlay, LegacyBehavior::Documented).unwrap();
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
    behavior: LegacyBehavior,
}

impl LegacyOverlay {
    /// Compiles an overlay.
    ///
    /// # Errors
    ///
    /// An overlay that is not an object or is nested too deeply, anchors other than `()` and `+()`, and, in documented
    /// behavior, `null` outside of conditions: an overlay cannot delete.
    pub fn prepare(overlay: &Value, behavior: LegacyBehavior) -> Result<Self, PatchError> {
        if overlay.as_object().is_none() {
            return Err(PatchError::NotAnOverlay { found: overlay.type_name() });
        }
        if overlay.depth() > MAX_DEPTH {
            return Err(Limit::Depth.into());
        }
        let overlay = labels::stringified(overlay, behavior);
        Ok(Self { root: node::OverlayBuilder::new(behavior).build(&overlay)?, behavior })
    }

    /// The paths of empty lists, which change nothing.
    pub fn empty_lists(&self) -> Vec<Pointer> {
        let mut found = Vec::new();
        self.root.empty_lists(&mut Pointer::default(), &mut found);
        found
    }

    /// Which anchors hold on an object, as far as the overlay gets as documented.
    pub fn anchor_outcomes(&self, base: &Value, schemas: &Schemas) -> AnchorOutcomes {
        let position = schemas.root(base, &Value::Null);
        Documented::new(&DivergenceTracker::default()).anchor_outcomes(&self.root, base, position)
    }

    /// Applies the overlay to an object.
    ///
    /// # Errors
    ///
    /// An exceeded limit; in native behavior also an overlay whose types differ from the object's.
    pub fn apply(
        &self,
        base: &Value,
        schemas: &Schemas,
        tracker: &DivergenceTracker,
    ) -> Result<Merged, PatchError> {
        let result = match self.behavior {
            LegacyBehavior::Documented => {
                let position = schemas.root(base, &Value::Null);
                Documented::new(tracker).run(&self.root, base, position)
            }
            LegacyBehavior::Native => Native::default().run(&self.root, base),
        };
        match result {
            Ok(after) if after.depth() > MAX_DEPTH => Err(Limit::Depth.into()),
            Ok(after) => Ok(Merged::Patched(after)),
            Err(error) => error.into_merged(),
        }
    }
}
