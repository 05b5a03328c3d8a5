//! How a run comes to its cluster: over the network, or by a recording.

use std::sync::Arc;

use jiff::Timestamp;

use crate::secrets::cover;
#[cfg(feature = "cluster")]
use crate::source::cluster::LiveCluster;
use crate::source::cluster::{Cluster, Cover, RecordedCluster, RecordingCluster};

use super::exit::Exit;
use super::options::RunOptions;
use super::reporter::Reporter;

/// Reaches the cluster that the arguments name for a run that sees this time; nothing is sent yet. What is
/// wrong is said.
pub(super) fn connect(
    options: &RunOptions,
    now: Timestamp,
    reporter: &mut Reporter,
) -> Option<Arc<dyn Cluster>> {
    let reached: Result<Arc<dyn Cluster>, _> = match (&options.cluster.replay, &options.cluster.record) {
        (Some(folder), _) => RecordedCluster::open(folder).map(|cluster| Arc::new(cluster) as _),
        (None, Some(folder)) => {
            let masked: Option<Cover> = if options.show_secrets { None } else { Some(cover) };
            RecordingCluster::new(live(options, reporter)?, folder, now, masked)
                .map(|cluster| Arc::new(cluster) as _)
        }
        (None, None) => return live(options, reporter),
    };
    reached.map_err(|error| reporter.source_error(&error)).ok()
}

#[cfg(feature = "cluster")]
fn live(options: &RunOptions, reporter: &mut Reporter) -> Option<Arc<dyn Cluster>> {
    let connection = &options.cluster.connection;
    if connection.impersonation.lacks_user() {
        let text = "requesting uid, groups or user-extra without impersonating a user (--as)";
        reporter.error(Exit::Input, text);
        return None;
    }
    if connection.insecure_skip_tls_verify && connection.certificate_authority.is_some() {
        let text = "specifying a root certificates file with the insecure flag is not allowed";
        reporter.error(Exit::Input, text);
        return None;
    }
    match LiveCluster::connect(connection) {
        Ok(cluster) => {
            // What a recording has to say of an interrupted run is said by its end.
            if options.is_live() || options.cluster.record.is_some() {
                cluster.outlive_interrupts();
            }
            Some(Arc::new(cluster))
        }
        Err(error) => {
            reporter.source_error(&error.into());
            None
        }
    }
}

/// Reports that this build has no access to clusters.
#[cfg(not(feature = "cluster"))]
fn live(_: &RunOptions, reporter: &mut Reporter) -> Option<Arc<dyn Cluster>> {
    reporter.error(
        Exit::Input,
        "this program was built without access to clusters; give objects with -f or -k, or a recording with --replay",
    );
    None
}
