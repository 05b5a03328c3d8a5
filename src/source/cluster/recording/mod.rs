//! The look-ups of a run as files: one for each, readable, with a name that is the same in every run.
//!
//! A file's name is made of what was asked; what could mean anything to a file system is left out of it, and a
//! digest of the whole question keeps names apart. `recording.json` tells of the run as a whole.
//!
//! Unless Secrets are to be shown, texts stand in for their values. What a run asks for by such a value is recorded under
//! what a replay will ask for instead, and what an object holds that was made of such a value is written as the
//! replay will make it: the same policies find in the recording what they found in the cluster.

mod answer;
mod copies;
mod disguised;
mod question;
mod replay;
mod write;

use crate::value::Value;

pub use replay::RecordedCluster;
pub use write::RecordingCluster;

/// The file that tells of the recording as a whole.
const HEAD: &str = "recording.json";
/// The member of it that counts answers that are not in the recording, because nothing stands in for the Secrets in
/// what was asked.
const LEFT_OUT: &str = "leftOut";
/// The member of it that says whether the run that made the recording came to its end.
const COMPLETE: &str = "complete";
/// The member of it that says whether texts stand in for values of Secrets somewhere.
const STANDS_IN: &str = "standIns";
/// The member of it that lists the rules that come out otherwise in a replay.
const OTHERWISE: &str = "otherwise";
const API_VERSION: &str = "kyv.dev/v1alpha1";
const KIND: &str = "Recording";

/// Makes of an object what may be written to a file.
pub type Cover = fn(&Value) -> Value;

#[cfg(test)]
mod tests;
