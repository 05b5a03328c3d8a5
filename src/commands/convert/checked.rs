//! What a proof says of a pair of policies.

use crate::proof::{Counterexample, DifferenceKind, Proof};
use crate::render::first_names;

use super::Accepted;

/// The proof of a pair of policies.
#[derive(Debug)]
pub(super) struct Checked {
    /// The name of the pair.
    pub(super) name: String,
    pub(super) proof: Proof,
    pub(super) verdict: Verdict,
    /// What is accepted and was found, each name once.
    pub(super) accepted: Vec<&'static str>,
}

/// What a proof says of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All answers are equal, but for accepted differences.
    Equal,
    /// They are equal but for differences with these names.
    EqualBut(Vec<&'static str>),
    /// They differ.
    Differs {
        /// NEW denies requests that OLD admits.
        refuses: bool,
    },
    /// Not everything could be compared.
    NotCompared,
}

impl Verdict {
    /// The verdict in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Equal => "equal".to_owned(),
            Self::EqualBut(names) => format!("equal but for {}", names.join(" and ")),
            Self::Differs { refuses: false } => "differs".to_owned(),
            Self::Differs { refuses: true } => "differs, refuses".to_owned(),
            Self::NotCompared => "not compared".to_owned(),
        }
    }
}

impl Checked {
    pub(super) fn new(name: String, proof: Proof, accepted: &[Accepted]) -> Self {
        let mut names: Vec<&'static str> = Vec::new();
        let mut found: Vec<&'static str> = Vec::new();
        let (mut differs, mut refuses) = (false, false);
        for one in &proof.counterexamples {
            match one.kind.accepted_as() {
                Some(name) if accepted.iter().any(|accepted| accepted.difference().name() == name) => {
                    found.push(name);
                }
                // Nobody takes policies for equal that differ in errors or values.
                Some(name) if matches!(one.kind, DifferenceKind::Order | DifferenceKind::Replicas) => {
                    names.push(name);
                }
                _ => differs = true,
            }
            refuses |= one.kind.is_refusal();
        }
        names.dedup();
        found.dedup();
        let verdict = if differs {
            Verdict::Differs { refuses }
        } else if proof.requests == 0 || !proof.unknown.is_empty() {
            Verdict::NotCompared
        } else if names.is_empty() {
            Verdict::Equal
        } else {
            Verdict::EqualBut(names)
        };
        Self { name, proof, verdict, accepted: found }
    }

    /// Whether all answers are equal because no object is changed, which says little.
    pub(super) fn is_without_change(&self) -> bool {
        matches!(self.verdict, Verdict::Equal | Verdict::EqualBut(_)) && self.proof.changed == 0
    }

    /// The verdict in words.
    pub(super) fn words(&self) -> String {
        let words = self.verdict.words();
        if self.is_without_change() { format!("{words}, but nothing changed,") } else { words }
    }

    /// Why something could not be compared, if so.
    pub(super) fn not_compared(&self) -> Option<String> {
        match &*self.proof.unknown {
            [] => (self.proof.requests == 0).then(|| "no object reaches both sides".to_owned()),
            all => Some(first_names(1, all.iter().cloned())),
        }
    }

    /// The counterexamples that are not accepted.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Counterexample> {
        let is_accepted =
            |one: &&Counterexample| one.kind.accepted_as().is_some_and(|name| self.accepted.contains(&name));
        self.proof.counterexamples.iter().filter(move |one| !is_accepted(one))
    }
}
