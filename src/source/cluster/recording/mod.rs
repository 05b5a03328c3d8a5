//! The answers of a cluster as files: one for each request, readable, with a name that is the same in every run.
//!
//! A file is named after what was asked for, without what could mean anything to a file system; a digest of the whole
//! question keeps names apart. `recording.json` describes the run as a whole.
//!
//! Unless values of Secrets are to be shown, answers are recorded with [`REDACTED`](crate::secrets::REDACTED) in their
//! place, and lookups that rules made of such values are not recorded. A replay reports the rules that need either.

mod answer;
mod dry_run;
mod head;
mod question;
mod replay;
mod write;

pub use replay::RecordedCluster;
pub use write::RecordingCluster;

#[cfg(test)]
mod tests;
