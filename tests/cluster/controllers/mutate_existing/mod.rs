//! Rules with targets against Kyverno's real controllers. Runs when `KYV_REAL_PROGRAMS` is 1; `KYV_CASES` is a text
//! that the names of the cases must contain.
//!
//! For each case of the corpus whose rules have targets, and for each such policy of the conformance folder, the
//! objects are stored with no policy installed. The program predicts from the stored objects how the targets change.
//! Then the policy is installed, the triggers are sent, the background controller runs, and the stored objects must be
//! the predicted ones.

mod conformance;
mod corpus;
mod objects;
mod predictions;
mod test_cluster;
mod update_requests;
