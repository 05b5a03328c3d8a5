//! What an API server says of a changed object.

use crate::value::Value;

/// What an API server says of a changed object in a dry run.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerDryRun {
    /// It would be stored.
    Accepted {
        /// The object as the policies leave it, without what the server keeps for itself.
        sent: Value,
        /// The object as it would be stored, in the same order.
        stored: Value,
    },
    /// The server or one of its webhooks refuses it: in the server's words.
    Refused(String),
    /// The server does not tell, in its words: the user may not ask, or something is down.
    Unanswered(String),
}

impl ServerDryRun {
    /// Whether the server would store something else than it was sent.
    pub fn is_changed(&self) -> bool {
        matches!(self, Self::Accepted { sent, stored } if sent != stored)
    }
}

/// How many objects met which answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerDryRuns {
    /// Objects that would be stored.
    pub accepted: usize,
    /// Those of them that would be stored otherwise than they were sent.
    pub changed: usize,
    /// Objects that would be refused.
    pub refused: usize,
    /// Objects of which the server does not tell.
    pub unanswered: usize,
}

impl ServerDryRuns {
    /// Counts an answer.
    pub fn add(&mut self, server_dry_run: &ServerDryRun) {
        match server_dry_run {
            ServerDryRun::Accepted { .. } => {
                self.accepted += 1;
                self.changed += usize::from(server_dry_run.is_changed());
            }
            ServerDryRun::Refused(_) => self.refused += 1,
            ServerDryRun::Unanswered(_) => self.unanswered += 1,
        }
    }

    /// Whether nothing was asked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
