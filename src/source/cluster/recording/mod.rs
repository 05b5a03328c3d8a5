//! Recordings: the responses of a cluster as files, one for each request, readable, with a name that is equal in every
//! run.
//!
//! The name shows the request, without characters that are special in a file system; a digest of the whole request makes it
//! unique. `recording.json` describes the run.
//!
//! Unless values of Secrets are shown, responses are recorded with [`REDACTED`](crate::secrets::REDACTED) in their place,
//! and lookups made of such values are not recorded. A replay reports the rules that need either.

mod dry_run;
mod head;
mod replay;
mod request;
mod response;
mod write;

pub use replay::RecordedCluster;
pub use write::RecordingCluster;

#[cfg(test)]
mod tests;
