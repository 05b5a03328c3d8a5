//! Exit codes: the one table.

use std::process::ExitCode;

use crate::source::SourceError;
use crate::source::cluster::ClusterError;

/// The exit code of a run. When several apply, the later one here wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Exit {
    /// Success; for `diff`: nothing would change.
    Done,
    /// `diff`: something would change; `test`: something is not as expected.
    Changes,
    /// Something could not be evaluated.
    Evaluation,
    /// The cluster could not be read in part or whole.
    Cluster,
    /// The user ended the run; the result until then was printed.
    Interrupted,
    /// Bad usage, unreadable input, a refused policy. Standard output is empty, unless the command keeps going.
    Input,
}

impl Exit {
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Changes => 1,
            Self::Evaluation => 3,
            Self::Cluster => 4,
            Self::Interrupted => 130,
            Self::Input => 2,
        }
    }

    pub(super) const fn of(error: &SourceError) -> Self {
        match error {
            SourceError::Cluster(error)
            | SourceError::Unread { cause: error, .. }
            | SourceError::Absent { cause: error, .. } => match error {
                ClusterError::Interrupted => Self::Interrupted,
                error if error.is_configuration() => Self::Input,
                _ => Self::Cluster,
            },
            _ => Self::Input,
        }
    }

    pub(super) fn worsen(&mut self, other: Self) {
        *self = (*self).max(other);
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_input_wins_over_the_cluster_this_over_failed_rules_and_these_over_changes() {
        let mut exit = Exit::Changes;
        exit.worsen(Exit::Done);
        assert_eq!(exit.code(), 1);
        exit.worsen(Exit::Evaluation);
        assert_eq!(exit.code(), 3);
        exit.worsen(Exit::Cluster);
        exit.worsen(Exit::Evaluation);
        assert_eq!(exit.code(), 4);
        exit.worsen(Exit::Input);
        exit.worsen(Exit::Cluster);
        exit.worsen(Exit::Evaluation);
        assert_eq!(exit.code(), 2);
    }
}
