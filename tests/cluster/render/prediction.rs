//! What must hold for an object under a set of policies.

use std::path::PathBuf;

use serde_json::Value;
use test_support::objects::differing_paths;

use super::builds::Build;
use super::cluster::{Cluster, Object};
use super::comparison::{Outcome, TOKEN_VOLUME};
use super::faults::{Counts, Faults};
use super::program::Surroundings;

pub(super) struct Prediction<'a> {
    pub(super) object: &'a Object,
    /// What our program prints, if it is not the object as it is written.
    pub(super) printed: Option<Value>,
    /// What the cluster without Kyverno holds of it; `None` where Kyverno is to deny the object.
    rendered: Option<Outcome>,
    pub(super) error: Option<String>,
    pub(super) is_unstable: bool,
    pub(super) depends_on_order: bool,
}

impl Prediction<'_> {
    /// Whether policies change the object and none fails.
    pub(super) const fn is_printed_changed(&self) -> bool {
        self.printed.is_some() && self.error.is_none()
    }

    /// Whether the cluster takes what our program prints.
    pub(super) const fn is_held(&self) -> bool {
        matches!(self.rendered, Some(Outcome::Held(_)))
    }
}

/// What our program makes of all objects, and what the cluster without Kyverno makes of that.
///
/// # Errors
///
/// What the program says if it refuses the policies.
pub(super) fn predict<'a>(
    policies: &[PathBuf],
    surroundings: &Surroundings,
    cluster: &Cluster,
    builds: &[Build],
    objects: &'a [Object],
    counts: &mut Counts,
    faults: &mut Faults,
) -> Result<Vec<Prediction<'a>>, String> {
    let mut ours = surroundings.render(policies, builds, "kyverno")?;
    let documented = surroundings.render(policies, builds, "documented")?;
    let mut predictions = Vec::new();
    for object in objects {
        let at = object.number;
        let printed = ours.objects[at].take();
        if documented.objects[at] != printed {
            counts.other_semantics += 1;
            if !documented.diverges[at] {
                faults.add(object, "the default semantics differ and announce nothing".to_owned());
            }
        }
        counts.order_dependent += usize::from(ours.depends_on_order[at]);
        predictions.push(Prediction {
            object,
            printed: (printed != object.written).then_some(printed),
            rendered: None,
            error: ours.errors[at].take(),
            is_unstable: ours.is_unstable[at],
            depends_on_order: ours.depends_on_order[at],
        });
    }
    let changed =
        predictions.iter().filter_map(|prediction| Some((prediction.object, prediction.printed.as_ref()?)));
    let mut answers = cluster.answers(changed).into_iter();
    for prediction in &mut predictions {
        let answer = prediction.printed.as_ref().and_then(|_| answers.next());
        if prediction.error.is_none() {
            prediction.rendered = Some(answer.unwrap_or_else(|| prediction.object.plain.clone()));
        }
    }
    Ok(predictions)
}

/// How what Kyverno and the server make of an object differs from what was predicted.
pub(super) fn disagreement(prediction: &Prediction, answer: &Outcome) -> Option<String> {
    match (&prediction.rendered, answer) {
        (None, Outcome::Denied(_)) => None,
        (None, _) => {
            let error = prediction.error.as_deref().unwrap_or_default();
            // What the server refuses before webhooks, policies never see.
            let plain = &prediction.object.plain;
            let is_refused = matches!(plain, Outcome::Refused(..)) && plain.is_like(answer);
            (!is_refused).then(|| format!("it is taken, but we report the error {error}"))
        }
        (Some(rendered), _) if rendered.is_like(answer) => None,
        (Some(Outcome::Held(rendered)), Outcome::Held(admitted)) => Some(differing_paths(rendered, admitted)),
        (Some(Outcome::Held(_)), Outcome::Denied(message)) => Some(format!("Kyverno denies it: {message}")),
        // Policies that remove the volume with the token, and not all its mounts, make Pods that are refused. The volume
        // is left out of the comparison.
        (Some(Outcome::Held(_)), Outcome::Refused(_, message)) if message.contains(TOKEN_VOLUME) => None,
        (Some(Outcome::Held(_)), Outcome::Refused(code, message)) => {
            Some(format!("the server refuses what Kyverno makes of it: {code} {message}"))
        }
        (Some(rendered), answer) => Some(format!("rendered: {rendered:?}, admitted: {answer:?}")),
    }
}
