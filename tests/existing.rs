//! Rules with targets against Kyverno's real controllers. Runs when `KYV_REAL_PROGRAMS` is 1; `KYV_CASES` is a text
//! that the names of the cases must contain.
//!
//! For each case of the corpus whose rules have targets, and for each such policy of the conformance folder, the
//! objects are stored with no policy installed. Our program says of them, as the server holds them, what will become
//! of the targets. Then the policy is installed, the triggers are really sent, the background controller does its
//! work, and what the cluster then holds must be what was said.

#[path = "admission/case.rs"]
mod case;
#[path = "existing/cast.rs"]
mod cast;
#[path = "existing/conformance.rs"]
mod conformance;
#[path = "existing/corpus.rs"]
mod corpus;
#[path = "existing/foresight.rs"]
mod foresight;
#[path = "admission/ours.rs"]
mod ours;
#[path = "shadow/policies.rs"]
mod policies;
#[path = "existing/requests.rs"]
mod requests;
mod rig;
#[path = "shadow/objects.rs"]
mod shapes;
#[path = "existing/stage.rs"]
mod stage;
