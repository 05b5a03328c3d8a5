//! Why something could not be read or written.

use std::fmt;
use std::io;

use crate::value::Pointer;
use crate::yaml::{Document, Position, SyntaxError, excerpt};

use super::cluster::ClusterError;

/// Why an input could not be read, understood or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The system refused.
    #[error("{path}: cannot be {act}: {}", plain(.cause))]
    Io {
        /// The path as given.
        path: String,
        /// What was tried: `read`, `written`.
        act: &'static str,
        /// What the system says.
        cause: io::Error,
    },
    /// A glob that is none.
    #[error("{pattern}: not a valid glob: {fault}")]
    BadGlob {
        /// The glob as given.
        pattern: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A glob that fits no file.
    #[error("{pattern}: no file matches this glob")]
    EmptyGlob {
        /// The glob as given.
        pattern: String,
    },
    /// A folder without a single file that would be read.
    #[error("{path}: no file ending in .json, .yaml or .yml in this directory{}", recursion(*.recursive))]
    EmptyDirectory {
        /// The path as given.
        path: String,
        /// Whether the folders below were looked into.
        recursive: bool,
    },
    /// An address where a path is expected.
    #[error("{url}: URLs are not read; download the file first")]
    Url {
        /// The address as given.
        url: String,
    },
    /// Text that is neither YAML nor JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A document that does not say what it should.
    #[error("{place}: {message}{place:#}")]
    Document {
        /// Where.
        place: Place,
        /// What is wrong.
        message: String,
    },
    /// Standard input without a word in it: what fails upstream in a pipe looks like this.
    #[error("stdin: empty; expected objects")]
    Nothing,
    /// Inputs that hold no policy at all.
    #[error("{path}: no policy found")]
    NoPolicy {
        /// The paths as given.
        path: String,
    },
    /// A file without the document it should hold.
    #[error("{path}: no document of kind {kind}")]
    Empty {
        /// The path as given.
        path: String,
        /// The kind that was looked for.
        kind: &'static str,
    },
    /// A directory that a recording cannot be written to.
    #[error("{path}: the directory is not empty, and it is no recording")]
    Occupied {
        /// The path as given.
        path: String,
    },
    /// A directory that is no recording.
    #[error("{path}: this directory is no recording")]
    NoRecording {
        /// The path as given.
        path: String,
    },
    /// A cluster gave no answer.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A cluster did not give all that was asked for.
    #[error("{cause}")]
    Unread {
        /// What is missing, in part or whole.
        what: Vec<String>,
        /// Whether some of it was given.
        in_part: bool,
        /// Why it is missing.
        cause: ClusterError,
    },
    /// An object that is named is not there.
    #[error("{cause}")]
    Absent {
        /// The object.
        what: String,
        /// What the cluster says of it.
        cause: ClusterError,
    },
    /// A child program is not installed.
    #[error("{path}: a kustomization needs one of these programs on the PATH: {programs}")]
    NoProgram {
        /// The folder that asks for it.
        path: String,
        /// What was looked for.
        programs: String,
    },
    /// A child program ended badly.
    #[error("{path}: `{program}` failed: {status}")]
    Program {
        /// The folder it was run on.
        path: String,
        /// The program with its fixed arguments.
        program: String,
        /// How it ended.
        status: String,
    },
}

impl SourceError {
    /// Whether nothing else that is read may count any more. What a cluster refuses leaves the rest as it
    /// is: the answer is incomplete and says so.
    pub const fn spoils_the_rest(&self) -> bool {
        !matches!(self, Self::Cluster(_) | Self::Unread { .. } | Self::Absent { .. })
    }

    /// An error of the system while reading.
    pub(super) fn unreadable(path: impl Into<String>, cause: io::Error) -> Self {
        Self::Io { path: path.into(), act: "read", cause }
    }

    /// An error of the system while writing.
    pub(super) fn unwritable(path: impl Into<String>, cause: io::Error) -> Self {
        Self::Io { path: path.into(), act: "written", cause }
    }

    /// A complaint about a node of a document, or about the nearest node above it that is there.
    pub(super) fn at(document: &Document, pointer: &Pointer, message: impl Into<String>) -> Self {
        Self::Document { place: Place::of(document, pointer), message: message.into() }
    }
}

/// What the system says, without its number and in our manner of writing.
fn plain(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        _ => cause.to_string(),
    }
}

const fn recursion(recursive: bool) -> &'static str {
    if recursive { "" } else { " (-R looks into the folders below, too)" }
}

/// A place in a text. `Display` writes `NAME:LINE:COLUMN`, with `#` a line break, the line and a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    name: String,
    position: Position,
    excerpt: String,
}

impl Place {
    /// The place of a node, or of the nearest node above it that the document has.
    pub fn of(document: &Document, pointer: &Pointer) -> Self {
        let position = document.nearest_position(pointer);
        let source = document.source();
        Self { name: source.name().to_owned(), position, excerpt: excerpt(source, &position) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            write!(f, "\n{}", self.excerpt)
        } else {
            write!(f, "{}:{}", self.name, self.position)
        }
    }
}
