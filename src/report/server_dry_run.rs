//! Dry runs of changed objects on an API server.

use crate::value::Value;

/// The result of a dry run of a changed object.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerDryRun {
    /// It would be stored.
    Accepted {
        /// The object after all policies, without fields that the server manages.
        sent: Value,
        /// The object as it would be stored, in the same key order.
        stored: Value,
    },
    /// The server or one of its webhooks refuses it; the server's message.
    Refused(String),
    /// The dry run failed, for example for lack of access; the server's message.
    Failed(String),
}

impl ServerDryRun {
    /// Whether the server would store another object than it was sent.
    pub fn is_changed(&self) -> bool {
        matches!(self, Self::Accepted { sent, stored } if sent != stored)
    }
}

/// The number of objects by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerDryRuns {
    /// Objects that would be stored.
    pub accepted: usize,
    /// Accepted objects that the server would change.
    pub changed: usize,
    /// Objects that would be refused.
    pub refused: usize,
    /// Objects whose dry run failed.
    pub failed: usize,
}

impl ServerDryRuns {
    /// Counts a result.
    pub fn add(&mut self, server_dry_run: &ServerDryRun) {
        match server_dry_run {
            ServerDryRun::Accepted { .. } => {
                self.accepted += 1;
                self.changed += usize::from(server_dry_run.is_changed());
            }
            ServerDryRun::Refused(_) => self.refused += 1,
            ServerDryRun::Failed(_) => self.failed += 1,
        }
    }

    /// Whether there was no dry run.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
