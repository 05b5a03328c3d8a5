//! Overlays: strategic merge patches with anchors.

use crate::patch::{InlineResolver, Merged, PatchError};
use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::Value;

use super::anchor_outcomes::AnchorOutcomes;
use super::builder::OverlayBuilder;
use super::context::MergeContext;
use super::merge::{Merger, PatchNode, normalized};
use super::node::OverlayNode;
use super::planner::{DocumentedPlanner, KyvernoPlanner};
use super::prescan::{Prescan, rounded};
use super::schema::Position;

/// A compiled strategic merge patch: anchors are parsed, conditions are compiled.
///
/// ```
/// use kyv::patch::{Merged, Overlay, Schemas, MergeContext};
/// use kyv::semantics::DivergenceTracker;
/// use kyv::value::Value;
///
/// let tracker = DivergenceTracker::default();
/// let overlay = r#"{"spec": {"containers": [{"(image)": "*:latest", "imagePullPolicy": "Always"}]}}"#;
/// let overlay = Overlay::prepare(&Value::from_json(overlay).unwrap(), &tracker).unwrap();
/// let pod = r#"{"apiVersion": "v1", "kind": "Pod",
///               "spec": {"containers": [{"name": "a", "image": "nginx:latest"}]}}"#;
/// let pod = Value::from_json(pod).unwrap();
/// let schemas = Schemas::kubernetes();
/// let merged = overlay.apply(&pod, &MergeContext::new(&schemas), &tracker, None).unwrap();
/// let Merged::Patched(pod) = merged else { panic!("the overlay has no condition outside a list") };
/// assert!(pod.to_json().contains(r#""imagePullPolicy":"Always""#));
/// ```
#[derive(Clone, Debug)]
pub struct Overlay {
    root: OverlayNode,
}

impl Overlay {
    /// Compiles an overlay.
    ///
    /// # Errors
    ///
    /// An overlay that is not an object or is nested too deeply, or anchors with spaces around them.
    pub fn prepare(overlay: &Value, tracker: &DivergenceTracker) -> Result<Self, PatchError> {
        Self::prepare_sharing(overlay, None, tracker)
    }

    /// The same for an overlay that may contain one compiled before: that one is shared, and the divergences that it
    /// reached are not recorded again.
    ///
    /// # Errors
    ///
    /// See [`Overlay::prepare`].
    pub fn prepare_sharing(
        overlay: &Value,
        compiled: Option<&Self>,
        tracker: &DivergenceTracker,
    ) -> Result<Self, PatchError> {
        if overlay.as_object().is_none() {
            return Err(PatchError::NotAnObject { found: overlay.type_name() });
        }
        let prescan = Prescan::scan(overlay)?;
        if prescan.loses_digits && !tracker.documented(Divergence::RoundedInteger) {
            return Ok(Self { root: OverlayBuilder::new(tracker, prescan).build(&rounded(overlay))? });
        }
        let compiled = compiled.map(|compiled| &compiled.root);
        Ok(Self { root: OverlayBuilder::new(tracker, prescan).sharing(compiled).build(overlay)? })
    }

    /// Applies the overlay to an object.
    ///
    /// # Errors
    ///
    /// A patch whose types differ from the object's, a reference that cannot be resolved, an exceeded limit, and, in
    /// Kyverno's semantics, whatever crashes Kyverno.
    pub fn apply(
        &self,
        base: &Value,
        context: &MergeContext<'_>,
        tracker: &DivergenceTracker,
        inline: Option<&dyn InlineResolver>,
    ) -> Result<Merged, PatchError> {
        let position = context.root(base, &self.root.value);
        if tracker.is_idle() {
            return match tracker.semantics() {
                Semantics::Documented => self.documented(context, base, (position, tracker), inline),
                Semantics::Kyverno => self.kyverno(context, base, position, inline),
            };
        }
        // The documented planner records where Kyverno may differ. These divergences are reported only if the results
        // of both semantics differ.
        let possible = DivergenceTracker::new(Semantics::Documented);
        let documented = || {
            context.mark_irregular_lists(base, position, &possible);
            self.documented(context, base, (position, &possible), inline)
        };
        let kyverno = || self.kyverno(context, base, position, inline);
        let mark = |documented: &Result<Merged, PatchError>, kyverno: &Result<Merged, PatchError>| {
            if differ(base, documented, kyverno) {
                tracker.reach_all(possible.reached());
            }
        };
        match tracker.semantics() {
            Semantics::Documented => {
                let result = documented();
                if !possible.reached().is_empty() {
                    mark(&result, &kyverno());
                }
                result
            }
            Semantics::Kyverno => {
                let result = kyverno();
                mark(&documented(), &result);
                result
            }
        }
    }

    /// Which anchors hold on an object, as far as the patch gets.
    pub fn anchor_outcomes(
        &self,
        base: &Value,
        context: &MergeContext<'_>,
        semantics: Semantics,
        inline: Option<&dyn InlineResolver>,
    ) -> AnchorOutcomes {
        if !self.root.features.anchored {
            return AnchorOutcomes::default();
        }
        let tracker = DivergenceTracker::new(semantics);
        let position = context.root(base, &self.root.value);
        DocumentedPlanner::new(&tracker, inline).anchor_outcomes(&self.root, base, position)
    }

    fn documented(
        &self,
        context: &MergeContext<'_>,
        base: &Value,
        (position, tracker): (Position<'_>, &DivergenceTracker),
        inline: Option<&dyn InlineResolver>,
    ) -> Result<Merged, PatchError> {
        if self.root.features.repeated {
            tracker.reach(Divergence::RepeatedKey);
        }
        let mut planner = DocumentedPlanner::new(tracker, inline);
        let plan = planner.plan(&self.root, Some(base), position);
        context.add_steps(planner.steps());
        let plan = match plan {
            Ok(None) => return Ok(Merged::Patched(base.clone())),
            Ok(Some(plan)) => plan,
            Err(error) => return error.into_merged(),
        };
        merged(context, Merger::new(tracker), base, PatchNode::Plan(&plan), position)
    }

    fn kyverno(
        &self,
        context: &MergeContext<'_>,
        base: &Value,
        position: Position<'_>,
        inline: Option<&dyn InlineResolver>,
    ) -> Result<Merged, PatchError> {
        let tracker = DivergenceTracker::new(Semantics::Kyverno);
        // Kyverno does not know the definitions of custom resources.
        let position = if position.is_custom() { Position::Unknown } else { position };
        let mut planner = KyvernoPlanner::new(&tracker);
        let plan = planner.plan(&self.root.value, base, inline);
        context.add_steps(planner.steps());
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) => {
                // Lists are rewritten even if the patch is not applied.
                return match (normalized(base, position)?, error.into_merged()?) {
                    (Some(value), _) => Ok(Merged::Patched(value)),
                    (None, failed) => Ok(failed),
                };
            }
        };
        merged(context, Merger::new(&tracker), base, PatchNode::Value(&plan), position)
    }
}

/// Merges a patch without anchors, and counts the steps.
fn merged(
    context: &MergeContext<'_>,
    mut merger: Merger<'_>,
    base: &Value,
    patch: PatchNode<'_>,
    position: Position<'_>,
) -> Result<Merged, PatchError> {
    let result = merger.merge_object(base, patch, position);
    context.add_steps(merger.steps());
    result.map(Merged::Patched)
}

/// Whether both semantics leave the object in different states.
fn differ(
    base: &Value,
    documented: &Result<Merged, PatchError>,
    kyverno: &Result<Merged, PatchError>,
) -> bool {
    let state = |result: &Result<Merged, PatchError>| match result {
        Ok(Merged::Patched(value)) => Some(value.clone()),
        Ok(Merged::ConditionFailed(_)) => Some(base.clone()),
        Err(_) => None,
    };
    state(documented) != state(kyverno)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::patch::strategic::node::{EntryKind, Shape};
    use crate::patch::strategic::schema::Schemas;

    #[test]
    fn an_overlay_compiled_before_is_shared_and_does_the_same() {
        let json = |text: &str| Value::from_json(text).unwrap();
        let tracker = DivergenceTracker::default();
        let inner = json(r#"{"(kind)":"a*","+(b)":1,"c":[{"(d)":"!x","e":{}}],"f":{"g":{}}}"#);
        let compiled = Overlay::prepare(&inner, &tracker).unwrap();
        let outer =
            Value::from_iter([("before", json(r#"{"+(z)":1}"#)), ("spec", inner), ("then", json("[{}]"))]);
        let shared = Overlay::prepare_sharing(&outer, Some(&compiled), &tracker).unwrap();

        let Shape::Map(map) = &shared.root.shape else { panic!("no map") };
        let EntryKind::Plain(spec) = &map.entries[1].kind else { panic!("no plain member") };
        assert!(
            matches!((&spec.shape, &compiled.root.shape), (Shape::Map(a), Shape::Map(b)) if Arc::ptr_eq(a, b))
        );

        let schemas = Schemas::kubernetes();
        let alone = Overlay::prepare(&outer, &tracker).unwrap();
        assert_eq!(format!("{alone:?}"), format!("{shared:?}"));
        for base in [r#"{"spec":{"kind":"ab","c":[{"d":"y"},{"d":"x"}]}}"#, r#"{"spec":{"kind":"b"}}"#, "{}"]
        {
            let applied = [&alone, &shared].map(|overlay| {
                let merged = overlay.apply(&json(base), &MergeContext::new(&schemas), &tracker, None);
                format!("{merged:?}")
            });
            assert_eq!(applied[0], applied[1], "{base}");
        }
    }
}
