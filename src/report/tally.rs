//! Counts over many objects.

use foldhash::fast::RandomState;
use indexmap::{Equivalent, IndexMap};

use crate::semantics::DivergenceSet;
use crate::value::{ObjectRef, Pointer, Text};

use super::{Impact, ObjectReport, Outcome, ServerDryRuns, SkipReason};

/// So many objects are named for each flag.
const NAMED: usize = 10;

/// How many objects met which fate, in all and by rule.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Whether nobody asks what the changes mean: then no flag is looked for.
    pub flagless: bool,
    /// Objects that were evaluated.
    pub objects: usize,
    /// Objects that became others.
    pub changed: usize,
    /// Objects with a rule that could not be evaluated.
    pub errors: usize,
    /// Objects that are as the policies want them.
    pub unchanged: usize,
    /// What the changes mean for a cluster, by flag: how many objects, and the first of them.
    pub flags: IndexMap<Flag, Flagged, RandomState>,
    /// The Kyverno of the cluster, where one runs and differences between the semantics were reached.
    pub kyverno: Option<RunningKyverno>,
    /// What an API server said of changed objects.
    pub server_dry_runs: ServerDryRuns,
    /// Objects by policy, rule, kind and namespace, in the order first met.
    pub rows: IndexMap<TallyKey, TallyRow, RandomState>,
    /// What each policy does to the objects that one of its rules matched.
    pub by_policy: IndexMap<Text, Counts, RandomState>,
    /// What becomes of the objects of each kind.
    pub by_kind: IndexMap<Text, Counts, RandomState>,
    /// What becomes of the objects of each namespace; the empty one stands for none.
    pub by_namespace: IndexMap<Text, Counts, RandomState>,
}

/// How many changed objects have which flag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlagCounts {
    /// Objects whose Pods are replaced.
    pub rollouts: usize,
    /// Objects that the API server would refuse.
    pub immutable: usize,
    /// Objects that gain power.
    pub privilege: usize,
}

impl FlagCounts {
    /// How many objects have a flag.
    pub const fn flagged(&self, flag: Flag) -> usize {
        match flag {
            Flag::Rollout => self.rollouts,
            Flag::Immutable => self.immutable,
            Flag::Privilege => self.privilege,
        }
    }

    /// Adds the objects of another one.
    const fn add(&mut self, other: &Self) {
        self.rollouts += other.rollouts;
        self.immutable += other.immutable;
        self.privilege += other.privilege;
    }

    /// Takes in what else is said of the same object.
    const fn join(&mut self, other: &Self) {
        self.rollouts |= other.rollouts;
        self.immutable |= other.immutable;
        self.privilege |= other.privilege;
    }

    /// The flags of one object.
    fn of(impact: &Impact) -> Self {
        Self {
            rollouts: usize::from(impact.rollout),
            immutable: usize::from(!impact.immutable.is_empty()),
            privilege: usize::from(!impact.privilege.is_empty()),
        }
    }
}

/// What becomes of the objects of one policy, kind or namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Objects that were evaluated.
    pub objects: usize,
    /// Objects that became others.
    pub changed: usize,
    /// Objects that stayed as they are, without errors.
    pub unchanged: usize,
    /// Objects with a rule that could not be evaluated.
    pub errors: usize,
    /// What the changes mean.
    pub flags: FlagCounts,
}

impl Counts {
    /// Adds the objects of another one.
    pub const fn add(&mut self, other: &Self) {
        self.objects += other.objects;
        self.changed += other.changed;
        self.unchanged += other.unchanged;
        self.errors += other.errors;
        self.flags.add(&other.flags);
    }

    /// Takes in what another rule of the same policy does to the same object.
    fn join(&mut self, other: &Self) {
        self.objects = 1;
        self.changed |= other.changed;
        self.errors |= other.errors;
        self.unchanged = usize::from(self.changed == 0 && self.errors == 0);
        self.flags.join(&other.flags);
    }

    /// The fate of one object.
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

/// A Kyverno that runs in a cluster, and what it does where the semantics differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningKyverno {
    /// Its version, such as `v1.19.0`.
    pub version: String,
    /// The namespace of its controllers.
    pub namespace: String,
    /// The differences that were reached.
    pub differences: DivergenceSet,
    /// What it does there, as a sentence with all of this.
    pub told: String,
}

/// What the change of an object can mean for a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flag {
    /// Its Pods are replaced.
    Rollout,
    /// The API server refuses it.
    Immutable,
    /// It gives somebody or something more power.
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
    /// The first of them, each with the places that are the reason.
    pub first: Vec<(ObjectRef, Vec<Pointer>)>,
}

/// What a row of a [`Tally`] counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TallyKey {
    /// The policy.
    pub policy: Text,
    /// The rule.
    pub rule: Text,
    /// The objects' kind.
    pub kind: Text,
    /// The objects' namespace; empty for none.
    pub namespace: Text,
}

/// The parts of a [`TallyKey`]: few rows are new.
#[derive(Hash)]
struct RowKey<'a> {
    policy: &'a Text,
    rule: &'a Text,
    kind: &'a Text,
    namespace: &'a Text,
}

impl Equivalent<TallyKey> for RowKey<'_> {
    fn equivalent(&self, key: &TallyKey) -> bool {
        *self.rule == key.rule
            && *self.policy == key.policy
            && *self.kind == key.kind
            && *self.namespace == key.namespace
    }
}

impl RowKey<'_> {
    fn of<'t>(&self, rows: &'t mut IndexMap<TallyKey, TallyRow, RandomState>) -> &'t mut TallyRow {
        let index = rows.get_index_of(self).unwrap_or_else(|| {
            let (policy, rule) = (self.policy.clone(), self.rule.clone());
            let (kind, namespace) = (self.kind.clone(), self.namespace.clone());
            rows.insert_full(TallyKey { policy, rule, kind, namespace }, TallyRow::default()).0
        });
        &mut rows[index]
    }
}

/// What is counted under a name.
fn counts<'t>(all: &'t mut IndexMap<Text, Counts, RandomState>, name: &Text) -> &'t mut Counts {
    let index = all.get_index_of(name).unwrap_or_else(|| all.insert_full(name.clone(), Counts::default()).0);
    &mut all[index]
}

/// Outcomes of one rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TallyRow {
    /// Objects the rule patched.
    pub patched: usize,
    /// Objects the rule patched in vain, because another rule of its policy failed.
    pub dropped: usize,
    /// Objects the rule matched without changing them.
    pub no_change: usize,
    /// Objects the rule matched and then skipped.
    pub skipped: usize,
    /// Objects the rule failed on.
    pub errors: usize,
    /// What the patches of the rule mean.
    pub flags: FlagCounts,
}

impl TallyRow {
    /// Adds the objects of another row.
    pub const fn add(&mut self, other: &Self) {
        self.patched += other.patched;
        self.dropped += other.dropped;
        self.no_change += other.no_change;
        self.skipped += other.skipped;
        self.errors += other.errors;
        self.flags.add(&other.flags);
    }
}

impl Tally {
    /// How many objects have a flag.
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
                if flagged.first.len() < NAMED {
                    flagged.first.push((object.clone(), places));
                }
            }
        }
    }

    /// Counts one object; whether it exists already, and so is updated.
    pub fn add(&mut self, report: &ObjectReport, is_update: bool) {
        let Some(object) = &report.object else { return };
        let (is_changed, has_error) = (report.is_changed(), report.has_error());
        let impact = if self.flagless { Impact::default() } else { report.impact(is_update) };
        let fate = Counts::of(is_changed, has_error, &impact);
        self.objects += 1;
        self.changed += fate.changed;
        self.errors += fate.errors;
        self.unchanged += fate.unchanged;
        self.flag(object, impact);
        let namespace = object.namespace.clone().unwrap_or_default();
        counts(&mut self.by_kind, &object.kind.kind).add(&fate);
        counts(&mut self.by_namespace, &namespace).add(&fate);
        report.server_dry_run.iter().for_each(|server_dry_run| self.server_dry_runs.add(server_dry_run));
        let matched = |outcome: &Outcome| {
            !matches!(
                outcome,
                Outcome::Triggered { .. }
                    | Outcome::Skipped(SkipReason::NotSelected(_) | SkipReason::ApplyOne)
            )
        };
        // With a trace a report also names rules that were not asked.
        let mut by_policy: IndexMap<&Text, Counts, RandomState> = IndexMap::default();
        for (policy, rule) in report.rules().filter(|(_, rule)| matched(&rule.outcome)) {
            let has_error = policy.has_error();
            let mut fate = Counts::of(false, has_error, &Impact::default());
            let key = RowKey {
                policy: &policy.policy,
                rule: &rule.rule,
                kind: &object.kind.kind,
                namespace: &namespace,
            };
            let row = key.of(&mut self.rows);
            match &rule.outcome {
                Outcome::Patched { .. } if has_error => row.dropped += 1,
                Outcome::Patched { before, after } => {
                    let impact =
                        if self.flagless { Impact::default() } else { Impact::of(before, after, is_update) };
                    row.patched += 1;
                    row.flags.add(&FlagCounts::of(&impact));
                    fate = Counts::of(true, false, &impact);
                }
                Outcome::NoChange => row.no_change += 1,
                Outcome::Skipped(_) | Outcome::Triggered { .. } => row.skipped += 1,
                Outcome::Error(_) => row.errors += 1,
            }
            by_policy.entry(&policy.policy).or_default().join(&fate);
        }
        for (policy, fate) in by_policy {
            counts(&mut self.by_policy, policy).add(&fate);
        }
    }
}
