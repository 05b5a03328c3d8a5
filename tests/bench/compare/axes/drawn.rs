//! kyv beside the Kyverno CLI on work that is drawn anew in each run.

use test_support::conformance_folder;
use test_support::kyverno_samples::KyvernoSamples;

use super::{Axis, Bench};
use crate::compare::goals::thousands;
use crate::compare::{agreement, drawn, say};

/// Each policy and object of Kyverno's own is there by chance.
pub(crate) fn drawn(bench: &mut Bench) -> Result<(), String> {
    let Some(folder) = conformance_folder("sets of Kyverno's own policies") else { return Ok(()) };
    let samples = KyvernoSamples::of(&folder);
    let (seed, number) = (bench.options.seed, bench.sizes.yardstick);
    say(&format!("drawing {} sets by --seed {seed}", bench.sizes.draws));
    let mut contestants = Vec::new();
    for draw in 0..bench.sizes.draws {
        let policies = bench.folder.path().join(format!("drawn-policies-{draw}"));
        let objects = bench.folder.path().join(format!("drawn-objects-{draw}.yaml"));
        drawn::write(&samples, seed, draw, &policies, (&objects, number));
        say(&format!("comparing what kyv and the Kyverno CLI print: draw {}", draw + 1));
        let failed = agreement::where_no_rule_fails(&bench.programs, &policies, &objects)?;
        bench.agreements.push(format!(
            "{} objects × 30 of Kyverno's policies, draw {} of --seed {seed} (not the {failed} on which a rule fails)",
            thousands(number),
            draw + 1
        ));
        contestants.push((draw + 1, bench.kyv(&policies, &objects).codes(&[0, 3])));
        contestants.push((draw + 1, bench.kyverno(&policies, &objects).codes(&[0, 1]).at_most(1)));
    }
    bench.take(Axis::Drawn, contestants)
}
