//! YAML in and out: what an edit of a document changes, and what it keeps.

mod minimal_diff;
mod nodes;
mod random_documents;
mod random_edits;
mod round_trip;
mod yaml_suite;
