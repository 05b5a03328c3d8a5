//! Rules with targets against Kyverno's real controllers. Runs when `KYV_REAL_PROGRAMS` is 1; `KYV_CASES` is a text
//! that the names of the cases must contain.
//!
//! For each case of the corpus whose rules have targets, and for each such policy of the conformance folder, the
//! objects are stored with no policy installed. Our program says of them, as the server holds them, what will become
//! of the targets. Then the policy is installed, the triggers are really sent, the background controller does its
//! work, and what the cluster then holds must be what was said.

mod conformance;
mod corpus;
mod objects;
mod predictions;
mod test_cluster;
mod update_requests;
