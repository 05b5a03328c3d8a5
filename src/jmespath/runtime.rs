//! What an evaluation may ask for, and what it may use up.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use jiff::tz::Offset;

use crate::secrets::TaintTracker;
use crate::semantics::DivergenceTracker;
use crate::value::{Number, Value};

use super::error::{EvalError, Limit};
use super::regexp::Regexp;

/// The time.
pub trait Clock {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// The offset of local time from UTC.
    fn offset(&self) -> Offset {
        Offset::UTC
    }
}

/// Chance.
pub trait Random {
    /// The next of a sequence of random numbers.
    fn next(&self) -> u64;
}

/// A clock that stands still.
#[derive(Clone, Copy, Debug)]
pub struct FixedClock(pub Timestamp);

impl FixedClock {
    /// The first second of 1970.
    pub const EPOCH: Self = Self(Timestamp::UNIX_EPOCH);
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// A sequence of random numbers that its seed decides.
#[derive(Debug, Default)]
pub struct SeededRandom(AtomicU64);

impl SeededRandom {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

/// The generator is splitmix64: each seed gives a sequence of full period.
impl Random for SeededRandom {
    fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^ (state >> 31)
    }
}

/// What bounds the evaluations of one runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The steps of all evaluations together, and of whatever else spends them.
    pub steps: u64,
    /// The bytes of a value that an expression builds, written as JSON.
    pub result_bytes: usize,
    /// How deep a value that an expression builds may be nested.
    pub result_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 1_000_000, result_bytes: 2 * 1024 * 1024, result_depth: 512 }
    }
}

/// What the searches of one rule share: clock, chance, reading of the policy, and the steps they may take.
pub struct Runtime<'a> {
    /// Tells the time.
    pub clock: &'a dyn Clock,
    /// Gives random numbers.
    pub random: &'a dyn Random,
    /// Which side is taken where documentation and controllers part.
    pub tracker: &'a DivergenceTracker,
    /// What bounds the evaluation.
    pub limits: Limits,
    /// What is known of secrets, where results that are made of them have to be.
    pub(super) secrets: Option<&'a TaintTracker>,
    spent: Cell<u64>,
    /// Whether a search looked at the value of a number.
    weighed: Cell<bool>,
    /// The last regular expression that a value gave.
    regexp: RefCell<Option<(String, Arc<Regexp>)>>,
}

impl<'a> Runtime<'a> {
    /// A runtime with the default limits, of which nothing is spent.
    pub fn new(clock: &'a dyn Clock, random: &'a dyn Random, tracker: &'a DivergenceTracker) -> Self {
        Self {
            clock,
            random,
            tracker,
            limits: Limits::default(),
            secrets: None,
            spent: Cell::new(0),
            weighed: Cell::new(false),
            regexp: RefCell::default(),
        }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same for values that may be secret: what functions make of them is noted.
    #[must_use]
    pub const fn with_secrets(mut self, secrets: Option<&'a TaintTracker>) -> Self {
        self.secrets = secrets;
        self
    }

    /// The steps taken so far.
    pub fn steps(&self) -> u64 {
        self.spent.get()
    }

    /// Takes steps.
    ///
    /// # Errors
    ///
    /// More steps are taken than there are.
    pub fn spend(&self, steps: u64) -> Result<(), EvalError> {
        let spent = self.spent.get().saturating_add(steps);
        self.spent.set(spent);
        if spent > self.limits.steps {
            return Err(EvalError::Limit { limit: Limit::Steps, most: self.limits.steps });
        }
        Ok(())
    }

    /// Whether the searches since the last call looked at the value of a number, so that it may matter how the number
    /// is held.
    pub fn take_weighed(&self) -> bool {
        self.weighed.take()
    }

    /// Notes that the value of a number is looked at.
    pub(super) fn weigh(&self) {
        self.weighed.set(true);
    }

    /// Takes the steps for work on this many bytes or nodes.
    pub(super) fn spend_for(&self, amount: usize) -> Result<(), EvalError> {
        self.spend(1 + amount as u64 / 64)
    }

    /// The compiled form of an expression, if it was the last one.
    pub(super) fn recent_regexp(&self, pattern: &str) -> Option<Arc<Regexp>> {
        let recent = self.regexp.borrow();
        recent.as_ref().filter(|recent| recent.0 == pattern).map(|recent| Arc::clone(&recent.1))
    }

    /// Keeps an expression as the last one.
    pub(super) fn remember_regexp(&self, pattern: &str, regexp: &Arc<Regexp>) {
        *self.regexp.borrow_mut() = Some((pattern.to_owned(), Arc::clone(regexp)));
    }

    /// The error of a value that grew too large.
    pub(super) const fn too_large(&self) -> EvalError {
        EvalError::Limit { limit: Limit::ResultBytes, most: self.limits.result_bytes as u64 }
    }

    /// Refuses text of this many bytes if that is too large.
    pub(super) fn allow_bytes(&self, bytes: usize) -> Result<(), EvalError> {
        self.spend_for(bytes)?;
        if bytes > self.limits.result_bytes { Err(self.too_large()) } else { Ok(()) }
    }

    /// Refuses a built value that is too large or nested too deep.
    ///
    /// Parts of a value are shared, so that a short expression can build a value whose text would not
    /// fit any memory; every value that an expression builds goes through here.
    ///
    /// # Errors
    ///
    /// The limit that the value passes.
    pub fn allow(&self, value: Value) -> Result<Value, EvalError> {
        let mut size = Size { nodes: 0, bytes: 0, limits: &self.limits };
        let fits = size.add(&value, 0);
        self.spend_for(size.nodes)?;
        fits.map(|()| value)
    }

    /// Deep equality, paid for in steps. An integer that is held as one equals no other number.
    pub(super) fn equal(&self, left: &Value, right: &Value) -> Result<bool, EvalError> {
        if left.same_storage(right) {
            return Ok(true);
        }
        match (left, right) {
            (Value::Array(a), Value::Array(b)) => {
                self.spend_for(a.len().min(b.len()) * 8)?;
                if a.len() != b.len() {
                    return Ok(false);
                }
                for (a, b) in a.iter().zip(b.iter()) {
                    if !self.equal(a, b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Value::Object(a), Value::Object(b)) => {
                self.spend_for(a.len().min(b.len()) * 8)?;
                if a.len() != b.len() {
                    return Ok(false);
                }
                for (key, a) in a.iter() {
                    match b.get(key) {
                        Some(b) if self.equal(a, b)? => {}
                        _ => return Ok(false),
                    }
                }
                Ok(true)
            }
            (Value::Number(a), Value::Number(b)) => {
                self.weigh();
                Ok(a == b && a.is_typed_integer() == b.is_typed_integer())
            }
            _ => Ok(left == right),
        }
    }
}

/// What a value amounts to, shared parts counted each time.
struct Size<'a> {
    nodes: usize,
    bytes: usize,
    limits: &'a Limits,
}

impl Size<'_> {
    fn add(&mut self, value: &Value, depth: usize) -> Result<(), EvalError> {
        self.nodes += 1;
        self.bytes += match value {
            Value::Null | Value::Bool(_) => 4,
            Value::Number(number) => number_bytes(number),
            Value::String(text) => text.len() + 2,
            Value::Array(items) => 2 + items.len().saturating_sub(1),
            Value::Object(members) => 2 + members.keys().map(|key| key.len() + 4).sum::<usize>(),
        };
        if self.bytes > self.limits.result_bytes {
            let most = self.limits.result_bytes as u64;
            return Err(EvalError::Limit { limit: Limit::ResultBytes, most });
        }
        if depth > self.limits.result_depth {
            let most = self.limits.result_depth as u64;
            return Err(EvalError::Limit { limit: Limit::ResultDepth, most });
        }
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.add(item, depth + 1)),
            Value::Object(members) => members.values().try_for_each(|member| self.add(member, depth + 1)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }
}

/// The length of a number; that of a short one is estimated, because writing it out costs more.
fn number_bytes(number: &Number) -> usize {
    if number.as_i64().is_some() { 4 } else { number.to_string().len() }
}
