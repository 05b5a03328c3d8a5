//! Strategic merge: overlays with anchors, applied.

use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{Pointer, Value};

use crate::patch::PatchError;
use super::condition::Steps;
use super::look::{Look, rounded};
use super::merge::{Merger, Patch};
use super::observed::{Observer, normalised};
use super::planner::{Planner, Stop};
use super::schema::Position;
use super::survey::Survey;
use super::tree::{OverlayBuilder, Tree};

/// A strategic merge patch, prepared: anchors parsed and conditions turned into tests.
///
/// ```
/// use kyv::patch::{Merged, Overlay, Schemas, Survey};
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
/// let merged = overlay.apply(&pod, &Survey::new(&schemas), &tracker, None).unwrap();
/// let Merged::Patched(pod) = merged else { panic!("the overlay has no condition outside a list") };
/// assert!(pod.to_json().contains(r#""imagePullPolicy":"Always""#));
/// ```
#[derive(Clone, Debug)]
pub struct Overlay {
    tree: Tree,
}

/// What an overlay makes of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Merged {
    /// The object after the patch; equal to the one before where there was nothing to do.
    Patched(Value),
    /// A condition for the whole patch does not hold.
    ConditionFailed(FailedCondition),
}

/// A condition that keeps an overlay from being applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCondition {
    /// Where the condition stands in the overlay.
    pub overlay: Pointer,
    /// What was tested in the object, or is missing there.
    pub at: Pointer,
    /// Why it does not hold, in words and without values.
    pub reason: String,
    /// Whether it is a global condition, which decides on the whole rule wherever it stands.
    pub global: bool,
}

/// Resolves the leaves of an overlay that stand for the value they replace.
pub trait InlineResolver {
    /// The value of a string leaf; none where the leaf is no such reference.
    ///
    /// `overlay` points to the leaf in the overlay, `at` to the node of the object that is patched
    /// there, and `base` is that node, if it exists. An error says what could not be resolved.
    fn resolve(&self, overlay: &Pointer, at: &Pointer, base: Option<&Value>)
    -> Option<Result<Value, String>>;
}

impl Overlay {
    /// Prepares an overlay.
    ///
    /// # Errors
    ///
    /// An overlay that is no object or is nested too deep, anchors with blanks around them and, as the
    /// documentation has it, anchors of validate patterns and directives that only kubectl knows.
    pub fn prepare(overlay: &Value, tracker: &DivergenceTracker) -> Result<Self, PatchError> {
        if overlay.as_object().is_none() {
            return Err(PatchError::NotAnObject { found: overlay.type_name() });
        }
        let look = Look::over(overlay)?;
        if look.loses_digits && !tracker.documented(Divergence::RoundedInteger) {
            return Ok(Self { tree: OverlayBuilder::new(tracker, look).build(&rounded(overlay))? });
        }
        Ok(Self { tree: OverlayBuilder::new(tracker, look).build(overlay)? })
    }

    /// Applies the overlay to an object.
    ///
    /// # Errors
    ///
    /// A patch that does not fit the object, an in-line value that cannot be resolved, a passed limit,
    /// and what crashes Kyverno where its semantics are asked for.
    pub fn apply(
        &self,
        base: &Value,
        survey: &Survey<'_>,
        tracker: &DivergenceTracker,
        inline: Option<&dyn InlineResolver>,
    ) -> Result<Merged, PatchError> {
        let position = survey.root(base, &self.tree.value);
        // The documented side knows where the other may part from it. Whether it does shows when both
        // are done: a difference is named only if the results differ.
        let suspected = DivergenceTracker::new(Semantics::Documented);
        let documented = || {
            survey.suspect_irregular(base, position, &suspected);
            self.documented(base, position, &suspected, inline)
        };
        let observed = || self.observed(base, position, inline);
        let mark = |documented: &Result<Merged, PatchError>, observed: &Result<Merged, PatchError>| {
            if differ(base, documented, observed) {
                tracker.reach_all(suspected.reached());
            }
        };
        match tracker.semantics() {
            Semantics::Documented => {
                let result = documented();
                if !suspected.reached().is_empty() {
                    mark(&result, &observed());
                }
                result
            }
            Semantics::Kyverno => {
                let result = observed();
                mark(&documented(), &result);
                result
            }
        }
    }

    fn documented(
        &self,
        base: &Value,
        position: Position<'_>,
        tracker: &DivergenceTracker,
        inline: Option<&dyn InlineResolver>,
    ) -> Result<Merged, PatchError> {
        if self.tree.traits.repeated {
            tracker.reach(Divergence::RepeatedKey);
        }
        let mut planner = Planner {
            tracker,
            inline,
            steps: Steps::default(),
            overlay: Pointer::ROOT,
            at: Pointer::ROOT,
            in_element: false,
            shared: false,
        };
        let plan = match planner.plan(&self.tree, Some(base), position) {
            Ok(None) => return Ok(Merged::Patched(base.clone())),
            Ok(Some(plan)) => plan,
            Err(stop) => return stopped(stop),
        };
        merged(base, Patch::Plan(&plan), position, tracker)
    }

    fn observed(
        &self,
        base: &Value,
        position: Position<'_>,
        inline: Option<&dyn InlineResolver>,
    ) -> Result<Merged, PatchError> {
        let tracker = DivergenceTracker::new(Semantics::Kyverno);
        // Kyverno does not know the definitions of custom resources.
        let position = if position.is_custom() { Position::Unknown } else { position };
        let plan = match Observer::new(&tracker).plan(&self.tree.value, base, inline) {
            Ok(plan) => plan,
            Err(stop) => {
                // Lists are rewritten though the patch is not applied.
                return match (normalised(base, position)?, stopped(stop)?) {
                    (Some(value), _) => Ok(Merged::Patched(value)),
                    (None, failed) => Ok(failed),
                };
            }
        };
        merged(base, Patch::Value(&plan), position, &tracker)
    }
}

fn merged(
    base: &Value,
    patch: Patch<'_>,
    position: Position<'_>,
    tracker: &DivergenceTracker,
) -> Result<Merged, PatchError> {
    let mut merger =
        Merger { tracker, steps: Steps::default(), at: Pointer::ROOT, custom: false, below_new: false };
    merger.merge_object(base, patch, position).map(Merged::Patched)
}

fn stopped(stop: Stop) -> Result<Merged, PatchError> {
    match stop {
        Stop::Error(error) => Err(error),
        Stop::Global(failed) | Stop::Condition(Some(failed)) => Ok(Merged::ConditionFailed(*failed)),
        Stop::Condition(None) => Ok(Merged::ConditionFailed(FailedCondition {
            overlay: Pointer::ROOT,
            at: Pointer::ROOT,
            reason: "a condition does not hold".into(),
            global: false,
        })),
    }
}

/// Whether both sides leave the object in another state.
fn differ(
    base: &Value,
    documented: &Result<Merged, PatchError>,
    observed: &Result<Merged, PatchError>,
) -> bool {
    let state = |result: &Result<Merged, PatchError>| match result {
        Ok(Merged::Patched(value)) => Some(value.clone()),
        Ok(Merged::ConditionFailed(_)) => Some(base.clone()),
        Err(_) => None,
    };
    state(documented) != state(observed)
}
