//! What an evaluation has cost so far.

use std::sync::Arc;

use crate::regexp::Regexp;
use crate::value::{Text, Value};

use super::env::Dialect;
use super::error::EvalError;
use super::limits::{COST_LIMIT, MEMORY_LIMIT};

/// So many visits count as one of the cost.
const VISITS_PER_COST: u64 = 4;

/// So many bytes of a text count as one visit.
const BYTES_PER_VISIT: usize = 16;

/// What a node of a JSON value counts in bytes, besides its text.
const JSON_NODE_BYTES: usize = 32;

/// Counts the cost of an evaluation as Kubernetes does, and the bytes that it makes.
///
/// Kubernetes' cost does not tell the work: comparing two lists costs as much as they have elements, whatever is in
/// these. So visits of values and of steps of the expression are counted, too, and have the same limit.
#[derive(Debug)]
pub struct Meter {
    cost: u64,
    limit: u64,
    visits: u64,
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
        Self { cost: 0, limit, visits: 0, bytes: 0, regexp: None, dialect: Dialect::Kubernetes }
    }

    /// The same where so many bytes are made already.
    #[must_use]
    pub const fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// The bytes made so far.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The cost so far.
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    /// The cost and the visits so far, as steps.
    pub const fn work(&self) -> u64 {
        self.cost.saturating_add(self.visits / VISITS_PER_COST)
    }

    /// Adds to the cost.
    pub(super) fn spend(&mut self, cost: u64) -> Result<(), EvalError> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(EvalError::CostLimit(self.limit)) } else { Ok(()) }
    }

    /// Counts values or steps that are visited; to be called before they are.
    pub fn visit(&mut self, count: u64) -> Result<(), EvalError> {
        self.visits = self.visits.saturating_add(count);
        if self.visits / VISITS_PER_COST > self.limit {
            Err(EvalError::CostLimit(self.limit))
        } else {
            Ok(())
        }
    }

    /// Counts the reading of a text; to be called before it is read.
    pub(super) fn visit_text(&mut self, bytes: usize) -> Result<(), EvalError> {
        self.visit((bytes / BYTES_PER_VISIT) as u64)
    }

    /// Counts the values that a list has.
    pub(super) fn visit_items(&mut self, count: usize) -> Result<(), EvalError> {
        self.visit(count as u64)
    }

    /// Counts a JSON value that is made, with a text of so many bytes.
    pub(super) fn make_json(&mut self, text: usize) -> Result<(), EvalError> {
        self.visit(1)?;
        self.make(JSON_NODE_BYTES.saturating_add(text))
    }

    /// Counts all of a JSON value, as if it were made. One that occurs in several places counts in each.
    pub(super) fn make_all_json(&mut self, value: &Value) -> Result<(), EvalError> {
        let mut open = vec![value];
        while let Some(node) = open.pop() {
            self.make_json(if let Value::String(text) = node { text.len() } else { 0 })?;
            match node {
                Value::Array(items) => open.extend(items.iter()),
                Value::Object(members) => {
                    for (name, member) in members.iter() {
                        self.make(name.len())?;
                        open.push(member);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The visits so far.
    #[cfg(test)]
    pub(super) const fn visits(&self) -> u64 {
        self.visits
    }

    /// Makes room for bytes that an expression makes; to be called before they are made.
    pub(super) fn make(&mut self, bytes: usize) -> Result<(), EvalError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MEMORY_LIMIT { Err(EvalError::MemoryLimit(MEMORY_LIMIT)) } else { Ok(()) }
    }
}
