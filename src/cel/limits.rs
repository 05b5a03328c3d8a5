//! What an expression may cost, and how large it may be.

/// The maximum length of an expression in characters, as the API server has it.
pub const MAX_EXPRESSION_CHARS: usize = 100_000;

/// The maximum nesting of an expression, as the API server has it.
pub const MAX_EXPRESSION_DEPTH: usize = 250;

/// The maximum nesting of an expression with the policy's variables that it names. Their evaluation and their values nest
/// as deep.
pub(super) const MAX_DEPTH: usize = 1000;

/// So many faults are reported at most.
pub(super) const MAX_SYNTAX_ERRORS: usize = 100;

/// The maximum cost of one evaluation, as Kubernetes counts it.
pub const COST_LIMIT: u64 = 1_000_000;

/// The maximum of bytes that one evaluation makes.
pub const MEMORY_LIMIT: usize = 64 * 1024 * 1024;

/// So many bytes of the parts of an expression are compiled to find the one that fails.
pub(super) const MAX_FAULT_BYTES: usize = 64 * 1024;

/// The most parts of a condition that are shown as reasons.
pub(super) const MAX_REASONS: usize = 8;
