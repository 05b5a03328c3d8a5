//! The look-ups of a run as files: one for each, readable, with a name that is the same in every run.
//!
//! A file's name is made of what was asked; what could mean anything to a file system is left out of it, and a
//! digest of the whole question keeps names apart. `recording.json` tells of the run as a whole.

mod answer;
mod question;
mod replay;
mod write;

use crate::value::Value;

pub use replay::RecordedCluster;
pub use write::RecordingCluster;

/// The file that tells of the recording as a whole.
const HEAD: &str = "recording.json";
const API_VERSION: &str = "kyv.dev/v1alpha1";
const KIND: &str = "Recording";

/// Makes of an object what may be written to a file.
pub type Cover = fn(&Value) -> Value;

#[cfg(test)]
mod tests;
