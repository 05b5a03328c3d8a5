//! The environment of an evaluation: clock, random numbers, limits.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use jiff::tz::Offset;

use crate::secrets::TaintTracker;
use crate::semantics::DivergenceTracker;
use crate::value::{Number, Value};

use super::error::{EvalError, Limit};
use crate::regexp::Regexp;

/// A source of the current time.
pub trait Clock {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// The offset of local time from UTC.
    fn offset(&self) -> Offset {
        Offset::UTC
    }
}

/// A source of random numbers.
pub trait Random {
    /// The next random number.
    fn next(&self) -> u64;
}

/// A clock that always returns one time.
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

/// Random numbers from a seed.
#[derive(Debug, Default)]
pub struct SeededRandom(AtomicU64);

impl SeededRandom {
    /// The generator of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

/// The splitmix64 generator.
impl Random for SeededRandom {
    fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^ (state >> 31)
    }
}

/// The limits of the evaluations with one runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The steps of all evaluations together, and of whatever else spends them.
    pub steps: u64,
    /// The bytes of a value that an expression builds, as JSON.
    pub result_bytes: usize,
    /// The nesting of a value that an expression builds.
    pub result_depth: usize,
}

impl Limits {
    const fn too_large(&self) -> EvalError {
        EvalError::Limit { limit: Limit::ResultBytes, max: self.result_bytes as u64 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 1_000_000, result_bytes: 2 * 1024 * 1024, result_depth: 512 }
    }
}

/// What the evaluations of one rule share.
pub struct Runtime<'a> {
    /// The current time.
    pub clock: &'a dyn Clock,
    /// Random numbers.
    pub random: &'a dyn Random,
    /// The semantics, and the divergences that were reached.
    pub tracker: &'a DivergenceTracker,
    /// The limits.
    pub limits: Limits,
    /// Tracks results that are derived from Secrets.
    pub(super) secrets: Option<&'a TaintTracker>,
    /// Whether it matters which values are read, as in a replay.
    pub(super) tracks_reads: bool,
    spent: Cell<u64>,
    /// Whether an evaluation read the value of a number.
    numbers_read: Cell<bool>,
    /// The last regular expression that was computed.
    regexp: RefCell<Option<(String, Arc<Regexp>)>>,
}

impl<'a> Runtime<'a> {
    /// A runtime with the default limits.
    pub fn new(clock: &'a dyn Clock, random: &'a dyn Random, tracker: &'a DivergenceTracker) -> Self {
        Self {
            clock,
            random,
            tracker,
            limits: Limits::default(),
            secrets: None,
            tracks_reads: false,
            spent: Cell::new(0),
            numbers_read: Cell::new(false),
            regexp: RefCell::default(),
        }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same with a tracker for values derived from Secrets.
    #[must_use]
    pub const fn with_secrets(mut self, secrets: Option<&'a TaintTracker>) -> Self {
        self.tracks_reads = matches!(secrets, Some(secrets) if secrets.is_replay());
        self.secrets = secrets;
        self
    }

    /// The steps spent so far.
    pub fn steps(&self) -> u64 {
        self.spent.get()
    }

    /// Spends steps.
    ///
    /// # Errors
    ///
    /// More steps than the limit.
    pub fn spend(&self, steps: u64) -> Result<(), EvalError> {
        let spent = self.spent.get().saturating_add(steps);
        self.spent.set(spent);
        if spent > self.limits.steps {
            return Err(EvalError::Limit { limit: Limit::Steps, max: self.limits.steps });
        }
        Ok(())
    }

    /// Whether the evaluations since the last call read the value of a number, so that its type in Kyverno may matter.
    pub fn take_numbers_read(&self) -> bool {
        self.numbers_read.take()
    }

    /// Notes that the value of a number is read.
    pub(super) fn note_number(&self) {
        self.numbers_read.set(true);
    }

    /// Spends the steps for work on this many bytes or nodes.
    pub(super) fn spend_for(&self, amount: usize) -> Result<(), EvalError> {
        self.spend(1 + amount as u64 / 64)
    }

    /// Spends the steps for sorting so many elements.
    pub(super) fn spend_for_sorting(&self, elements: usize) -> Result<(), EvalError> {
        self.spend(elements as u64 / 2)
    }

    /// Spends the steps for comparing two numbers; none for short ones.
    pub(super) fn spend_for_digits(&self, left: &Number, right: &Number) -> Result<(), EvalError> {
        self.spend((left.text_bytes() + right.text_bytes()) as u64 / 64)
    }

    /// The compiled form of a pattern, if it was the last one.
    pub(super) fn recent_regexp(&self, pattern: &str) -> Option<Arc<Regexp>> {
        let recent = self.regexp.borrow();
        recent.as_ref().filter(|recent| recent.0 == pattern).map(|recent| Arc::clone(&recent.1))
    }

    /// Remembers a pattern as the last one.
    pub(super) fn remember_regexp(&self, pattern: &str, regexp: &Arc<Regexp>) {
        *self.regexp.borrow_mut() = Some((pattern.to_owned(), Arc::clone(regexp)));
    }

    /// The error of a result with too many bytes.
    pub(super) const fn too_large(&self) -> EvalError {
        self.limits.too_large()
    }

    /// Checks the length of a text.
    pub(super) fn allow_bytes(&self, bytes: usize) -> Result<(), EvalError> {
        self.spend_for(bytes)?;
        if bytes > self.limits.result_bytes { Err(self.too_large()) } else { Ok(()) }
    }

    /// Checks the size and nesting of a value that an expression built. As parts are shared, a short expression can
    /// build a value whose text would fit in no memory.
    ///
    /// # Errors
    ///
    /// The exceeded limit.
    pub fn allow(&self, value: Value) -> Result<Value, EvalError> {
        let mut size = Size { nodes: 0, bytes: 0, limits: &self.limits };
        let fits = size.add(&value, 0);
        self.spend_for(size.nodes)?;
        fits.map(|()| value)
    }

    /// Deep equality, which spends steps. A typed integer equals no float.
    pub(super) fn equal(&self, left: &Value, right: &Value) -> Result<bool, EvalError> {
        if let (Value::String(a), Value::String(b)) = (left, right) {
            self.spend(a.len().min(b.len()) as u64 / 64)?;
        }
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
                self.note_number();
                self.spend_for_digits(a, b)?;
                Ok(a == b && a.is_typed_integer() == b.is_typed_integer())
            }
            _ => Ok(left == right),
        }
    }
}

/// The size of a value; shared parts count each time.
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
            return Err(self.limits.too_large());
        }
        if depth > self.limits.result_depth {
            let max = self.limits.result_depth as u64;
            return Err(EvalError::Limit { limit: Limit::ResultDepth, max });
        }
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.add(item, depth + 1)),
            Value::Object(members) => members.values().try_for_each(|member| self.add(member, depth + 1)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }
}

/// The length of a number; estimated for small ones, because formatting costs time.
fn number_bytes(number: &Number) -> usize {
    if number.as_i64().is_some() { 4 } else { number.to_string().len() }
}
