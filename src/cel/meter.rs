//! What an evaluation has cost so far.

use std::sync::Arc;

use crate::regexp::Regexp;
use crate::value::Text;

use super::env::Dialect;
use super::error::EvalError;
use super::limits::{COST_LIMIT, MEMORY_LIMIT};

/// Counts the cost of an evaluation as Kubernetes does, and the bytes that it makes.
#[derive(Debug)]
pub struct Meter {
    cost: u64,
    limit: u64,
    bytes: usize,
    /// The regular expression of the call that runs, or of the last one.
    pub(super) regexp: Option<(Text, Arc<Regexp>)>,
    /// Whose rules apply.
    pub(super) dialect: Dialect,
}

impl Default for Meter {
    fn default() -> Self {
        Self::with_limit(COST_LIMIT)
    }
}

impl Meter {
    /// A meter with a limit of its own.
    pub const fn with_limit(limit: u64) -> Self {
        Self { cost: 0, limit, bytes: 0, regexp: None, dialect: Dialect::Kubernetes }
    }

    /// The cost so far.
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    /// Adds to the cost.
    pub(super) fn spend(&mut self, cost: u64) -> Result<(), EvalError> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(EvalError::CostLimit) } else { Ok(()) }
    }

    /// Makes room for bytes that an expression makes; to be called before they are made.
    pub(super) fn make(&mut self, bytes: usize) -> Result<(), EvalError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MEMORY_LIMIT { Err(EvalError::MemoryLimit(MEMORY_LIMIT)) } else { Ok(()) }
    }
}
