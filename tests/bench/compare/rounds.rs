//! Taking turns, so that what else the machine does meets all alike.

use std::path::Path;
use std::time::Duration;

use crate::compare::apart::{Sample, sample};
use crate::compare::contestant::Contestant;

/// A run that takes longer than this needs no run before it to warm the machine up.
const LONG: Duration = Duration::from_secs(2);

/// So long a quick program runs again in its turn, and so often at most: the first run after a long one of another
/// program meets caches and a processor as that one left them.
const TURN: Duration = Duration::from_millis(500);
const MOST_IN_TURN: usize = 7;

/// From so many figures on, those outside of the quartiles are left aside: one run in fifty meets something else.
const MANY: usize = 8;

/// The middle of several figures, and what lies around it: the least and the most, or the quartiles of many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Spread {
    fn of(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        let (middle, last) = (figures.len() / 2, figures.len() - 1);
        let aside = if figures.len() < MANY { 0 } else { figures.len() / 4 };
        let median = if figures.len() % 2 == 1 {
            figures[middle]
        } else {
            f64::midpoint(figures[middle - 1], figures[middle])
        };
        Self { low: figures[aside], median, high: figures[last - aside] }
    }
}

/// All runs of one contestant.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) samples: Vec<Sample>,
}

impl Measured {
    /// Seconds from start to end.
    pub(crate) fn wall(&self) -> Spread {
        self.spread(|sample| sample.wall.as_secs_f64())
    }

    /// Seconds of processor time.
    pub(crate) fn cpu(&self) -> Spread {
        self.spread(|sample| sample.cpu.as_secs_f64())
    }

    /// MiB at the peak.
    pub(crate) fn peak(&self) -> Spread {
        self.spread(|sample| sample.peak as f64 / 1024.0)
    }

    fn spread(&self, figure: fn(&Sample) -> f64) -> Spread {
        Spread::of(self.samples.iter().map(figure).collect())
    }
}

/// Runs all contestants in turn, the later rounds without those that have run often enough.
///
/// # Errors
///
/// The first that fails.
pub(crate) fn interleaved(
    contestants: &[Contestant],
    rounds: usize,
    folder: &Path,
) -> Result<Vec<Measured>, String> {
    let printed = folder.join("printed");
    let mut all = vec![Measured { samples: Vec::new() }; contestants.len()];
    // The first run finds files and programs that nobody has read yet.
    let mut warm = Vec::new();
    for contestant in contestants {
        warm.push(sample(contestant, &printed)?);
    }
    for round in 0..rounds {
        for (contestant, (measured, first)) in contestants.iter().zip(all.iter_mut().zip(&warm)) {
            let wanted = contestant.rounds.min(rounds);
            // Those with fewer runs have them spread over the whole time.
            if round * wanted / rounds == (round + 1) * wanted / rounds {
                continue;
            }
            if first.wall > LONG && measured.samples.is_empty() {
                measured.samples.push(*first);
                continue;
            }
            let mut taken = Duration::ZERO;
            for _ in 0..MOST_IN_TURN {
                let sample = sample(contestant, &printed)?;
                taken += sample.wall;
                measured.samples.push(sample);
                if taken + sample.wall > TURN {
                    break;
                }
            }
        }
    }
    Ok(all)
}
