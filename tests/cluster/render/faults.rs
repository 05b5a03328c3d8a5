//! What was compared, and what differs.

use std::collections::BTreeMap;
use std::fmt;

use test_support::log;

use super::ROUNDS;
use super::builds::Build;
use super::cluster::Object;
use super::comparison::Outcome;
use super::prediction::Prediction;

#[derive(Default)]
pub(super) struct Counts {
    /// Pairs of an object and a set of policies that were compared.
    pub(super) objects: usize,
    pub(super) changed: usize,
    pub(super) denied: usize,
    pub(super) refused: usize,
    pub(super) second_passes: usize,
    pub(super) noted_unstable: usize,
    /// Noted to depend on the order of policies; those are not compared with Kyverno.
    pub(super) order_dependent: usize,
    /// Pairs for which all orders were evaluated.
    pub(super) all_orders: usize,
    /// Pairs with another result under the documented semantics.
    pub(super) other_semantics: usize,
    /// Sets that both refuse.
    pub(super) refused_sets: usize,
}

impl Counts {
    pub(super) fn add(&mut self, prediction: &Prediction, answer: &Outcome) {
        match answer {
            Outcome::Held(_) => self.changed += usize::from(prediction.printed.is_some()),
            Outcome::Denied(_) => self.denied += 1,
            Outcome::Refused(..) => self.refused += 1,
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} objects compared, {} changed, {} denied, {} refused by the server; {} sent to Kyverno a second time, \
             {} changed again and noted; all orders of policies tried for {}, {} noted to depend on it; {} differ \
             under the documented semantics; {} sets refused",
            self.objects,
            self.changed,
            self.denied,
            self.refused,
            self.second_passes,
            self.noted_unstable,
            self.all_orders,
            self.order_dependent,
            self.other_semantics,
            self.refused_sets,
        )
    }
}

/// Disagreements by cause: how many there are, and the first.
pub(super) struct Faults<'a> {
    builds: &'a [Build],
    /// The name of the set of policies that is compared.
    pub(super) set: String,
    by_cause: BTreeMap<String, (usize, String)>,
}

impl<'a> Faults<'a> {
    pub(super) fn new(builds: &'a [Build]) -> Self {
        Self { builds, set: String::new(), by_cause: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, object: &Object, fault: String) {
        self.insert(format!("{}: {}", self.builds[object.build].name, object.name()), fault);
    }

    pub(super) fn add_of_set(&mut self, fault: String) {
        self.insert("all objects".to_owned(), fault);
    }

    /// Adds it in the last round only.
    pub(super) fn add_in_round(&mut self, round: usize, object: &Object, fault: String) {
        if round == ROUNDS {
            self.add(object, fault);
        }
    }

    fn insert(&mut self, place: String, fault: String) {
        let cause = fault.split_once(" it is ").map_or(&*fault, |(cause, _)| cause);
        let cause = format!("{}: {cause}", self.set);
        let cause: String = cause.chars().filter(|letter| !letter.is_ascii_digit()).take(110).collect();
        let text = format!("{}: {place}: {fault}", self.set);
        self.by_cause.entry(cause).or_insert((0, text)).0 += 1;
    }

    /// Fails if there are any.
    pub(super) fn finish(&self) {
        for (count, first) in self.by_cause.values() {
            log(&format!("{count} x {first}"));
        }
        assert!(self.by_cause.is_empty(), "{} causes of disagreements", self.by_cause.len());
    }
}
