//! The bodies of the fuzz targets: bytes become an input, and what must hold for it is checked.
//!
//! A body panics where something does not hold. The fuzz targets feed it what a fuzzer thinks of, and
//! `tests/language/fuzz.rs` feeds it fixed seeds. [`input`] says how bytes become texts and values.

pub mod apply;
pub mod cel;
pub mod convert;
pub mod edits;
pub mod engine;
pub mod functions;
pub mod input;
pub mod jmespath;
pub mod json_patch;
pub mod pattern;
pub mod policy;
pub mod seeds;
pub mod strategic_merge;
pub mod suites;
pub mod target;
pub mod values;
pub mod variables;
pub mod yaml;

pub use target::Target;

/// Reads and prints YAML.
pub const YAML: Target = Target { name: "yaml", run: yaml::run, seeds: seeds::yaml };
/// Loads policies.
pub const POLICY: Target = Target { name: "policy", run: policy::run, seeds: seeds::policy };
/// Parses and evaluates expressions.
pub const JMESPATH: Target = Target { name: "jmespath", run: jmespath::run, seeds: seeds::jmespath };
/// Compiles and evaluates CEL.
pub const CEL: Target = Target { name: "cel", run: cel::run, seeds: seeds::cel };
/// Substitutes variables.
pub const VARIABLES: Target = Target { name: "variables", run: variables::run, seeds: seeds::variables };
/// Compares values with patterns and conditions.
pub const PATTERN: Target = Target { name: "pattern", run: pattern::run, seeds: seeds::pattern };
/// Applies JSON patches.
pub const JSON_PATCH: Target = Target { name: "json_patch", run: json_patch::run, seeds: seeds::json_patch };
/// Applies overlays.
pub const STRATEGIC_MERGE: Target =
    Target { name: "strategic_merge", run: strategic_merge::run, seeds: seeds::strategic_merge };
/// Merges apply configurations.
pub const APPLY: Target = Target { name: "apply", run: apply::run, seeds: seeds::apply };
/// Runs policies on objects.
pub const ENGINE: Target = Target { name: "engine", run: engine::run, seeds: seeds::engine };
/// Edits documents.
pub const EDITS: Target = Target { name: "edits", run: edits::run, seeds: seeds::edits };
/// Converts policies.
pub const CONVERT: Target = Target { name: "convert", run: convert::run, seeds: seeds::policy };
/// Checks test suites.
pub const SUITES: Target = Target { name: "suites", run: suites::run, seeds: seeds::suites };
/// Answers ResourceLists.
pub const FUNCTIONS: Target = Target { name: "functions", run: functions::run, seeds: seeds::functions };

/// All targets.
pub const TARGETS: [Target; 14] = [
    YAML,
    POLICY,
    JMESPATH,
    CEL,
    VARIABLES,
    PATTERN,
    JSON_PATCH,
    STRATEGIC_MERGE,
    APPLY,
    ENGINE,
    EDITS,
    CONVERT,
    SUITES,
    FUNCTIONS,
];
