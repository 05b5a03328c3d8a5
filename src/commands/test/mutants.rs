//! Suites on mutants of their policies.

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::commands::policy_places::{place_in_file, real_path};
use crate::policy::Policy;
use crate::report::{FilePlace, Mutant, SuiteRow, Verdict};
use crate::semantics::Dialect;
use crate::source::Place;
use crate::suite::{Mutants, MutatedPolicy, mutants};
use crate::value::{Pointer, Text, Value};
use crate::yaml::{Document, Limits};

use super::load::Loaded;

/// What a suite with these rows notices of mutants of its policies: that a row has another result. `run` makes the rows
/// with other policies.
pub(super) fn noticed(
    loaded: &Loaded,
    (dialect, limits): (Dialect, Limits),
    rows: &[SuiteRow],
    run: impl Fn(&[Policy]) -> Vec<SuiteRow> + Sync,
) -> Mutants {
    let verdicts = |rows: &[SuiteRow]| -> Vec<Verdict> { rows.iter().map(|row| row.verdict).collect() };
    let before = verdicts(rows);
    let mut all = Mutants::default();
    for (number, (document, at, value)) in loaded.nodes.iter().enumerate() {
        let Some(policy) = name(value) else { continue };
        let mutated = mutants(value);
        let is_noticed = |one: &MutatedPolicy| {
            let policies = loaded.nodes.load_with((number, &one.policy), dialect, limits)?;
            Some(verdicts(&run(&policies)) != before)
        };
        let found: Vec<Option<bool>> = mutated.par_iter().map(is_noticed).collect();
        let begin = place(document, at);
        for (number, (one, is_noticed)) in mutated.into_iter().zip(found).enumerate() {
            // A policy that is refused shows its fault by itself.
            let Some(is_noticed) = is_noticed else { continue };
            let MutatedPolicy { rule, at: node, fault, .. } = one;
            let place = place(document, &at.join(&node));
            let mutant = Mutant { policy: policy.clone(), rule, place, at: node, fault, is_noticed };
            all.insert(&begin, number, mutant);
        }
    }
    all
}

/// The name of a policy, with its namespace; `None` for another object.
fn name(policy: &Value) -> Option<Text> {
    policy.get("spec")?;
    let metadata = |field| policy.path(&["metadata", field]).and_then(Value::as_text);
    let name = metadata("name")?;
    Some(metadata("namespace").map_or_else(|| name.clone(), |namespace| format!("{namespace}/{name}").into()))
}

fn place(document: &Document, at: &Pointer) -> FilePlace {
    let place = place_in_file(&Place::of(document, at));
    FilePlace { file: real_path(&place.file), ..place }
}
