//! Counts over many objects.

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::semantics::DivergenceSet;
use crate::value::{ObjectRef, Pointer, Text};

use super::{Impact, ObjectReport, Outcome, ServerDryRuns, SkipReason};

/// How many objects are listed for each flag.
const MAX_LISTED: usize = 10;

/// Totals over objects, overall and by rule.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// How many policies were evaluated.
    pub policies: usize,
    /// Whether to omit the impact of changes: then there are no flags.
    pub without_flags: bool,
    /// Objects that were evaluated.
    pub objects: usize,
    /// Changed objects.
    pub changed: usize,
    /// Objects with a rule that could not be evaluated.
    pub errors: usize,
    /// Objects that the policies leave unchanged.
    pub unchanged: usize,
    /// The impact of the changes, by flag: the number of objects, and the first of them.
    pub flags: IndexMap<Flag, Flagged, RandomState>,
    /// The Kyverno of the cluster, if one runs and divergences were reached.
    pub kyverno: Option<RunningKyverno>,
    /// The dry runs of changed objects on an API server.
    pub server_dry_runs: ServerDryRuns,
    /// Objects by policy, rule, kind and namespace, in the order of first occurrence.
    pub rows: IndexMap<TotalsKey, TotalsRow, RandomState>,
    /// Objects by policy that matched them.
    pub by_policy: IndexMap<Text, Counts, RandomState>,
    /// Objects by kind.
    pub by_kind: IndexMap<Text, Counts, RandomState>,
    /// Objects by namespace; empty for none.
    pub by_namespace: IndexMap<Text, Counts, RandomState>,
}

/// The number of changed objects by flag, in the order of [`Flag::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlagCounts([usize; Flag::ALL.len()]);

impl FlagCounts {
    /// The number of objects with a flag.
    pub const fn flagged(&self, flag: Flag) -> usize {
        self.0[flag as usize]
    }

    /// Adds other objects.
    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(count, other)| *count += other);
    }

    /// Combines the flags of the same object.
    fn combine(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(count, other)| *count |= other);
    }

    /// The flags of one object.
    fn of(impact: &Impact) -> Self {
        Self([impact.rollout, !impact.immutable.is_empty(), !impact.privilege.is_empty()].map(usize::from))
    }
}

/// The objects of one policy, kind or namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Objects that were evaluated.
    pub objects: usize,
    /// Changed objects.
    pub changed: usize,
    /// Unchanged objects without errors.
    pub unchanged: usize,
    /// Objects with a rule that could not be evaluated.
    pub errors: usize,
    /// The impact of the changes.
    pub flags: FlagCounts,
}

impl Counts {
    /// Adds other objects.
    pub fn add(&mut self, other: &Self) {
        self.objects += other.objects;
        self.changed += other.changed;
        self.unchanged += other.unchanged;
        self.errors += other.errors;
        self.flags.add(&other.flags);
    }

    /// Combines the results of several rules of one policy for the same object.
    fn combine(&mut self, other: &Self) {
        self.objects = 1;
        self.changed |= other.changed;
        self.errors |= other.errors;
        self.unchanged = usize::from(self.changed == 0 && self.errors == 0);
        self.flags.combine(&other.flags);
    }

    /// The counts of one object.
    fn of(is_changed: bool, has_error: bool, impact: &Impact) -> Self {
        Self {
            objects: 1,
            changed: usize::from(is_changed),
            unchanged: usize::from(!is_changed && !has_error),
            errors: usize::from(has_error),
            flags: FlagCounts::of(impact),
        }
    }
}

/// A Kyverno that runs in a cluster, and its behavior where the semantics diverge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningKyverno {
    /// Its version, such as `v1.19.0`.
    pub version: String,
    /// The namespace of its controllers.
    pub namespace: String,
    /// The divergences that were reached.
    pub divergences: DivergenceSet,
    /// A sentence for users with all of this.
    pub message: String,
}

/// A kind of impact of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flag {
    /// Its Pods are replaced.
    Rollout,
    /// The API server refuses the change.
    Immutable,
    /// It grants more privileges.
    Privilege,
}

impl Flag {
    /// All flags.
    pub const ALL: [Self; 3] = [Self::Rollout, Self::Immutable, Self::Privilege];

    /// The flag in one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rollout => "rollout",
            Self::Immutable => "immutable",
            Self::Privilege => "privilege",
        }
    }
}

/// Objects with a flag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flagged {
    /// How many.
    pub objects: usize,
    /// The first of them, each with the paths of the fields.
    pub first: Vec<(ObjectRef, Vec<Pointer>)>,
}

/// The key of a row of [`Totals`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TotalsKey {
    /// The policy.
    pub policy: Text,
    /// The rule.
    pub rule: Text,
    /// The objects' kind.
    pub kind: Text,
    /// The objects' namespace; empty for none.
    pub namespace: Text,
}

/// The outcomes of one rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TotalsRow {
    /// Objects the rule patched.
    pub patched: usize,
    /// Objects whose patch was discarded because another rule of the policy failed.
    pub discarded: usize,
    /// Objects the rule matched without changing them.
    pub no_change: usize,
    /// Objects the rule matched and then skipped.
    pub skipped: usize,
    /// Objects the rule failed on.
    pub errors: usize,
    /// The impact of the patches.
    pub flags: FlagCounts,
}

impl TotalsRow {
    /// Adds the objects of another row.
    pub fn add(&mut self, other: &Self) {
        self.patched += other.patched;
        self.discarded += other.discarded;
        self.no_change += other.no_change;
        self.skipped += other.skipped;
        self.errors += other.errors;
        self.flags.add(&other.flags);
    }
}

impl Totals {
    /// The number of objects with a flag.
    pub fn flagged(&self, flag: Flag) -> usize {
        self.flags.get(&flag).map_or(0, |flagged| flagged.objects)
    }

    fn flag(&mut self, object: &ObjectRef, impact: Impact) {
        let Impact { rollout, immutable, privilege } = impact;
        let flags = [
            (Flag::Rollout, rollout, Vec::new()),
            (Flag::Immutable, !immutable.is_empty(), immutable),
            (Flag::Privilege, !privilege.is_empty(), privilege),
        ];
        for (flag, is_set, places) in flags {
            if is_set {
                let flagged = self.flags.entry(flag).or_default();
                flagged.objects += 1;
                if flagged.first.len() < MAX_LISTED {
                    flagged.first.push((object.clone(), places));
                }
            }
        }
    }

    /// Counts one object. `is_update` is whether it exists already.
    pub fn add(&mut self, report: &ObjectReport, is_update: bool) {
        let Some(object) = &report.object else { return };
        let (is_changed, has_error) = (report.is_changed(), report.has_error());
        let impact = if self.without_flags { Impact::default() } else { report.impact(is_update) };
        let counted = Counts::of(is_changed, has_error, &impact);
        self.objects += 1;
        self.changed += counted.changed;
        self.errors += counted.errors;
        self.unchanged += counted.unchanged;
        self.flag(object, impact);
        let namespace = object.namespace.clone().unwrap_or_default();
        self.by_kind.entry(object.kind.kind.clone()).or_default().add(&counted);
        self.by_namespace.entry(namespace.clone()).or_default().add(&counted);
        report.server_dry_run.iter().for_each(|server_dry_run| self.server_dry_runs.add(server_dry_run));
        let matched = |outcome: &Outcome| {
            !matches!(
                outcome,
                Outcome::Triggered { .. }
                    | Outcome::Skipped(SkipReason::NotSelected(_) | SkipReason::ApplyOne)
            )
        };
        // With a trace a report also contains rules that do not match.
        let mut by_policy: IndexMap<&Text, Counts, RandomState> = IndexMap::default();
        for (policy, rule) in report.rules().filter(|(_, rule)| matched(&rule.outcome)) {
            let has_error = policy.has_error();
            let mut counted = Counts::of(false, has_error, &Impact::default());
            let row = self.rows.entry(TotalsKey {
                policy: policy.policy.clone(),
                rule: rule.rule.clone(),
                kind: object.kind.kind.clone(),
                namespace: namespace.clone(),
            });
            let row = row.or_default();
            match &rule.outcome {
                Outcome::Patched { .. } if has_error => row.discarded += 1,
                Outcome::Patched { before, after } => {
                    let impact = if self.without_flags {
                        Impact::default()
                    } else {
                        Impact::of(before, after, is_update)
                    };
                    row.patched += 1;
                    row.flags.add(&FlagCounts::of(&impact));
                    counted = Counts::of(true, false, &impact);
                }
                Outcome::NoChange => row.no_change += 1,
                Outcome::Skipped(_) | Outcome::Triggered { .. } => row.skipped += 1,
                Outcome::Error(_) => row.errors += 1,
            }
            by_policy.entry(&policy.policy).or_default().combine(&counted);
        }
        for (policy, counted) in by_policy {
            self.by_policy.entry(policy.clone()).or_default().add(&counted);
        }
    }
}
