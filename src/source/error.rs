//! Errors of inputs and outputs.

use std::fmt;
use std::io;
use std::mem::{self, Discriminant};
use std::ops::Range;

use crate::diagnostics::{Code, Coded};
use crate::policy::PolicyError;
use crate::value::{Pointer, Text};
use crate::yaml::{Document, DocumentNodes, Position, SyntaxError, excerpt, underlined};

use super::cluster::ClusterError;

/// Why an input could not be read, understood or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// An error of the system.
    #[error("{path}: cannot be {act}: {}", plain(.cause))]
    Io {
        /// The path.
        path: String,
        /// What failed: `read`, `written`.
        act: &'static str,
        /// The error.
        cause: io::Error,
    },
    /// An invalid glob.
    #[error("{pattern}: not a valid glob: {fault}")]
    BadGlob {
        /// The glob.
        pattern: String,
        /// The message of its parser.
        fault: &'static str,
    },
    /// A glob that matches no file.
    #[error("{pattern}: no file matches this glob")]
    EmptyGlob {
        /// The glob.
        pattern: String,
    },
    /// A folder without a single file that would be read.
    #[error("{path}: no file ending in .json, .yaml or .yml in this directory{}", recursion(*.recursive))]
    EmptyDirectory {
        /// The path.
        path: String,
        /// Whether the folders below were searched.
        recursive: bool,
    },
    /// A URL instead of a path.
    #[error("{url}: URLs are not read; download the file first")]
    Url {
        /// The URL.
        url: String,
    },
    /// Text that is neither YAML nor JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// An error in a document.
    #[error(fmt = document_error)]
    Document {
        /// The code of the cause.
        code: Code,
        /// The place.
        place: Place,
        /// The message.
        message: String,
    },
    /// Empty standard input, for example after a program that failed.
    #[error("stdin: empty; expected objects")]
    Nothing,
    /// Inputs without a policy.
    #[error("{path}: no policy found{}", only_others(.bound, .others))]
    NoPolicy {
        /// The paths.
        path: String,
        /// The policies that bindings in these inputs name.
        bound: Vec<Text>,
        /// The kinds of other policies in these inputs.
        others: Vec<Text>,
    },
    /// A file without a document of the expected kind.
    #[error("{path}: no document of kind {kind}")]
    Empty {
        /// The path.
        path: String,
        /// The expected kind.
        kind: &'static str,
    },
    /// A directory that a recording cannot be written to.
    #[error("{path}: the directory is not empty, and it is no recording")]
    Occupied {
        /// The path.
        path: String,
    },
    /// A directory that is no recording.
    #[error("{path}: this directory is no recording")]
    NoRecording {
        /// The path.
        path: String,
    },
    /// A request to a cluster failed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Objects of a cluster could not be read.
    #[error("{cause}")]
    Unread {
        /// Which objects.
        what: Vec<String>,
        /// Whether some of them were read.
        in_part: bool,
        /// Why not.
        cause: ClusterError,
    },
    /// A named object does not exist.
    #[error("{cause}")]
    Absent {
        /// The object.
        what: String,
        /// The error of the cluster.
        cause: ClusterError,
    },
    /// A child program is not installed.
    #[error("{path}: a kustomization needs one of these programs on the PATH: {programs}")]
    NoProgram {
        /// The folder of the kustomization.
        path: String,
        /// The programs.
        programs: String,
    },
    /// A child program failed.
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

/// The message with its place, and the line, which the alternate form leaves out.
/// That there are bindings, and of which policies, or policies of which other kinds.
fn only_others(bound: &[Text], others: &[Text]) -> String {
    match (bound, others) {
        ([], []) => String::new(),
        ([], others) => format!(" that mutates, only documents of kind `{}`", others.join("`, `")),
        (bound, _) => format!(", only bindings of `{}`", bound.join("`, `")),
    }
}

fn document_error(_: &Code, place: &Place, message: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{place}: {message}")?;
    if f.alternate() { Ok(()) } else { write!(f, "\n{}", place.excerpt) }
}

impl SourceError {
    /// Inputs without a policy, and without bindings.
    pub fn no_policy(path: impl Into<String>) -> Self {
        Self::NoPolicy { path: path.into(), bound: Vec::new(), others: Vec::new() }
    }

    /// Whether the results of all other inputs are invalid, too. After errors of a cluster they are incomplete.
    pub const fn spoils_the_rest(&self) -> bool {
        !matches!(self, Self::Cluster(_) | Self::Unread { .. } | Self::Absent { .. })
    }

    /// The file that could not be read, in part or whole; `None` if it is no file that is at fault.
    pub fn file(&self) -> Option<String> {
        match self {
            Self::Syntax(error) => Some(error.name().to_owned()),
            Self::Document { place, .. } => Some(place.name.clone()),
            Self::Io { path, .. }
            | Self::EmptyDirectory { path, .. }
            | Self::NoPolicy { path, .. }
            | Self::Empty { path, .. }
            | Self::NoProgram { path, .. }
            | Self::Program { path, .. } => Some(path.clone()),
            Self::BadGlob { pattern, .. } | Self::EmptyGlob { pattern } => Some(pattern.clone()),
            Self::Url { url } => Some(url.clone()),
            Self::Nothing => Some("stdin".to_owned()),
            _ => None,
        }
    }

    /// What is the same in the errors of several files: the kind of error, and what it says without file and place.
    pub fn cause(&self) -> (Discriminant<Self>, String) {
        let detail = match self {
            Self::Io { act, cause, .. } => format!("{act}: {cause}"),
            Self::BadGlob { fault, .. } => (*fault).to_owned(),
            Self::Syntax(error) => error.message(),
            Self::Document { message, .. } => message.clone(),
            Self::Empty { kind, .. } => (*kind).to_owned(),
            Self::NoProgram { programs, .. } => programs.clone(),
            Self::Program { program, status, .. } => format!("{program}: {status}"),
            Self::Cluster(cause) | Self::Unread { cause, .. } | Self::Absent { cause, .. } => {
                cause.to_string()
            }
            Self::EmptyGlob { .. }
            | Self::EmptyDirectory { .. }
            | Self::Url { .. }
            | Self::Nothing
            | Self::NoPolicy { .. }
            | Self::Occupied { .. }
            | Self::NoRecording { .. } => String::new(),
        };
        (mem::discriminant(self), detail)
    }

    /// An error of the system while reading.
    pub(super) fn unreadable(path: impl Into<String>, cause: io::Error) -> Self {
        Self::Io { path: path.into(), act: "read", cause }
    }

    /// An error of the system while writing.
    pub(super) fn unwritable(path: impl Into<String>, cause: io::Error) -> Self {
        Self::Io { path: path.into(), act: "written", cause }
    }

    /// An error at a node of a document, or at the nearest node above it that exists.
    pub(super) fn at(code: Code, document: &Document, pointer: &Pointer, message: impl Into<String>) -> Self {
        Self::Document { code, place: Place::of(document, pointer), message: message.into() }
    }

    /// A document in a group of policies, of a kind that does not exist.
    pub(super) fn misspelt_kind(document: &Document, at: &Pointer, kind: &str, nearest: &str) -> Self {
        let message = format!("there is no policy of kind `{kind}`, did you mean `{nearest}`?");
        Self::at(Code::UnknownKind, document, &at.key("kind"), message)
    }

    /// An error of a policy, binding or exception in a document, which begins at a node. `title` says what it is.
    pub(super) fn of_policy(document: &Document, at: &Pointer, error: &PolicyError, title: &str) -> Self {
        let pointer = at.join(&error.pointer);
        let (code, message) = (error.code, format!("{title}: {error}"));
        let Some(offset) = error.offset else { return Self::at(code, document, &pointer, message) };
        match document.position_in(&pointer, offset) {
            Some(position) => Self::Document { code, place: Place::at(document, position), message },
            None => Self::at(code, document, &pointer, format!("{message} (at byte {offset} of the text)")),
        }
    }
}

impl Coded for SourceError {
    fn code(&self) -> Code {
        match self {
            Self::Io { act: "written", .. } => Code::Unwritable,
            Self::Io { .. } => Code::Unreadable,
            Self::BadGlob { .. } | Self::EmptyGlob { .. } | Self::EmptyDirectory { .. } => {
                Code::NoFileMatches
            }
            Self::Url { .. } => Code::Url,
            Self::Syntax(error) => error.code(),
            Self::Document { code, .. } => *code,
            Self::Nothing => Code::EmptyInput,
            Self::NoPolicy { .. } | Self::Empty { .. } => Code::NoDocument,
            Self::Occupied { .. } | Self::NoRecording { .. } => Code::NoRecording,
            Self::Cluster(error) | Self::Unread { cause: error, .. } => error.code(),
            Self::Absent { .. } => Code::NoObjectOfName,
            Self::NoProgram { .. } => Code::NoProgram,
            Self::Program { .. } => Code::ProgramFailed,
        }
    }
}

/// The message of an error of the system, without its number.
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
        Self::at(document, document.nearest_position(pointer))
    }

    fn at(document: &Document, position: Position) -> Self {
        let source = document.source();
        Self { name: source.name().to_owned(), position, excerpt: excerpt(source, &position) }
    }
}

impl Place {
    /// The place of a part of a document, which is underlined.
    pub(super) fn underlined(nodes: &DocumentNodes, part: &Range<usize>) -> Self {
        let position = nodes.position(part.start);
        let source = nodes.source();
        Self { name: source.name().to_owned(), position, excerpt: underlined(source, &position, part.len()) }
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The line and column.
    pub const fn position(&self) -> Position {
        self.position
    }

    /// The line of the file, and a mark below the place.
    pub fn excerpt(&self) -> &str {
        &self.excerpt
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.position)
    }
}
