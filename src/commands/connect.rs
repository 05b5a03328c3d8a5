//! The cluster of a run: live, recorded or replayed.

use std::sync::Arc;

use jiff::Timestamp;

use crate::diagnostics::Code;
#[cfg(feature = "cluster")]
use crate::source::cluster::LiveCluster;
use crate::source::cluster::{Cluster, RecordedCluster, RecordingCluster};

use super::exit::Exit;
use super::options::RunOptions;
use super::reporter::Reporter;

/// The cluster of a run.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) cluster: Arc<dyn Cluster>,
    /// The cluster as a recording, if the run is recorded.
    pub(super) recording: Option<Arc<RecordingCluster>>,
    /// Whether it is a recording without the values of Secrets.
    pub(super) is_redacted: bool,
}

/// The cluster of the options, for a run that sees this time; nothing is sent yet. Errors are reported.
pub(super) fn connect(options: &RunOptions, now: Timestamp, reporter: &mut Reporter) -> Option<Connected> {
    if let Some(folder) = &options.cluster.replay {
        let cluster = reporter.ok(RecordedCluster::open(folder))?;
        let is_redacted = cluster.is_redacted();
        return Some(Connected { cluster: Arc::new(cluster), recording: None, is_redacted });
    }
    let cluster = live(options, reporter)?;
    let Some(folder) = &options.cluster.record else {
        return Some(Connected { cluster, recording: None, is_redacted: false });
    };
    let recording = RecordingCluster::new(cluster, folder, now, options.show_secrets);
    let recording = Arc::new(reporter.ok(recording)?);
    let cluster = Arc::clone(&recording) as _;
    Some(Connected { cluster, recording: Some(recording), is_redacted: false })
}

#[cfg(feature = "cluster")]
fn live(options: &RunOptions, reporter: &mut Reporter) -> Option<Arc<dyn Cluster>> {
    let connection = &options.cluster.connection;
    if connection.impersonation.lacks_user() {
        let text = "requesting uid, groups or user-extra without impersonating a user (--as)";
        reporter.error(Exit::Input, Code::ArgumentConflict, text);
        return None;
    }
    if connection.insecure_skip_tls_verify && connection.certificate_authority.is_some() {
        let text = "specifying a root certificates file with the insecure flag is not allowed";
        reporter.error(Exit::Input, Code::ArgumentConflict, text);
        return None;
    }
    let cluster = reporter.ok(LiveCluster::connect(connection))?;
    // The end of an interrupted run writes the recording.
    if options.is_live() || options.cluster.record.is_some() {
        cluster.outlive_interrupts();
    }
    Some(Arc::new(cluster))
}

/// Reports that this build has no access to clusters.
#[cfg(not(feature = "cluster"))]
fn live(_: &RunOptions, reporter: &mut Reporter) -> Option<Arc<dyn Cluster>> {
    reporter.error(
        Exit::Input,
        Code::NoInput,
        "this program was built without access to clusters; pass objects with -f or -k, or a recording with --replay",
    );
    None
}
