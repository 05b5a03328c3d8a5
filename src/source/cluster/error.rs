//! Errors of requests to a cluster, in kubectl's words where it has some.

use crate::diagnostics::{Code, Coded};

/// Why a request to a cluster failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The kubeconfig cannot be read or is incomplete.
    #[error("kubeconfig: {0}")]
    Config(String),
    /// The kubeconfig has no such context.
    #[error("Error in configuration: context was not found for specified context: {0}")]
    UnknownContext(String),
    /// A file that the kubeconfig or an argument names cannot be read.
    #[error("Error in configuration: unable to read {0}")]
    UnreadableFile(String),
    /// The credential plugin of the kubeconfig failed.
    #[error("Unable to connect to the server: getting credentials: {0}")]
    Credentials(String),
    /// The kubeconfig has no such cluster, or one without a server.
    #[error("no server found for cluster \"{0}\"")]
    UnknownCluster(String),
    /// The kubeconfig has no such user.
    #[error("auth info \"{0}\" does not exist")]
    UnknownUser(String),
    /// Names with a category of kinds.
    #[error("you must specify only one resource")]
    NamesOfCategory,
    /// The server refuses the credentials.
    #[error("You must be logged in to the server (Unauthorized)")]
    Unauthorized,
    /// The server refuses the request.
    #[error("Error from server ({reason}): {message}")]
    Refused {
        /// The reason, as one word.
        reason: String,
        /// The server's own sentence.
        message: String,
    },
    /// The server refuses the connection.
    #[error("The connection to the server {0} was refused - did you specify the right host or port?")]
    ConnectionRefused(String),
    /// The server cannot be reached, or the connection broke.
    #[error("Unable to connect to the server: {0}")]
    Unreachable(String),
    /// The response of the server cannot be read.
    #[error("the server's response for {asked} cannot be read: {cause}")]
    Malformed {
        /// The request.
        asked: String,
        /// What is wrong with the response.
        cause: String,
    },
    /// The server serves no kind of this name.
    #[error("the server doesn't have a resource type \"{0}\"")]
    UnknownType(String),
    /// The server does not list objects of this kind.
    #[error(
        "Error from server (MethodNotAllowed): the server does not allow this method on the requested resource ({0} cannot be listed)"
    )]
    NotListed(String),
    /// The kinds of an API are not known.
    #[error("the kinds of {0} are not known: {1}")]
    UnknownKinds(String, String),
    /// The recording has no response.
    #[error("the recording has no response: {0}")]
    NotRecorded(String),
    /// A response could not be recorded.
    #[error("the response cannot be recorded: {0}")]
    NotWritten(String),
    /// The user ended the run.
    #[error("interrupted")]
    Interrupted,
}

impl Coded for ClusterError {
    fn code(&self) -> Code {
        match self {
            Self::Config(_)
            | Self::UnreadableFile(_)
            | Self::UnknownContext(_)
            | Self::UnknownCluster(_)
            | Self::UnknownUser(_) => Code::Kubeconfig,
            Self::Credentials(_) | Self::Unauthorized => Code::Credentials,
            Self::NamesOfCategory => Code::ArgumentConflict,
            Self::Refused { .. } => Code::Refused,
            Self::ConnectionRefused(_) | Self::Unreachable(_) => Code::Unreachable,
            Self::Malformed { .. } => Code::Malformed,
            Self::UnknownType(_) | Self::NotListed(_) => Code::UnknownResource,
            Self::UnknownKinds(..) => Code::KindsUnknown,
            Self::NotRecorded(_) => Code::NotRecorded,
            Self::NotWritten(_) => Code::RecordingFailed,
            Self::Interrupted => Code::Interrupted,
        }
    }
}

impl ClusterError {
    /// The same error with its messages replaced.
    #[must_use]
    pub fn with_words(self, words: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Config(why) => Self::Config(words(&why)),
            Self::Refused { reason, message } => Self::Refused { reason, message: words(&message) },
            Self::Unreachable(why) => Self::Unreachable(words(&why)),
            Self::Malformed { asked, cause } => {
                Self::Malformed { asked: words(&asked), cause: words(&cause) }
            }
            Self::NotRecorded(asked) => Self::NotRecorded(words(&asked)),
            Self::NotWritten(why) => Self::NotWritten(words(&why)),
            other => other,
        }
    }

    /// Whether the message is printed as it is, as in kubectl, which puts `error:` before every other.
    pub const fn stands_for_itself(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. }
                | Self::ConnectionRefused(_)
                | Self::Unreachable(_)
                | Self::NotListed(_)
                | Self::UnknownContext(_)
                | Self::UnreadableFile(_)
                | Self::Credentials(_)
        )
    }

    /// Whether a recording is the cause.
    pub const fn is_of_the_recording(&self) -> bool {
        matches!(self, Self::NotRecorded(_) | Self::NotWritten(_))
    }

    /// Whether the server refuses the object, and not the request.
    pub fn is_refusal_of_the_object(&self) -> bool {
        let Self::Refused { reason, message } = self else { return false };
        let denied = message.contains("denied the request");
        match &**reason {
            "Invalid" => true,
            // Messages about rights have these words.
            "Forbidden" => denied || !message.contains("forbidden: User \""),
            // The object was created again.
            "Conflict" => message.contains("UID in precondition") || denied,
            "RequestEntityTooLarge" | "status 413" => true,
            "BadRequest" => !message.contains("does not support dry run"),
            _ => denied,
        }
    }

    /// Whether there is already an object of this name.
    pub fn is_already_there(&self) -> bool {
        matches!(self, Self::Refused { reason, .. } if reason == "AlreadyExists")
    }

    /// Whether another attempt may succeed: the server does not say that the request is wrong.
    pub fn withholds(&self) -> bool {
        const ANSWERS: [&str; 7] = [
            "NotFound",
            "BadRequest",
            "MethodNotAllowed",
            "NotAcceptable",
            "Invalid",
            "Gone",
            "UnsupportedMediaType",
        ];
        match self {
            Self::Refused { reason, .. } => !ANSWERS.contains(&&**reason),
            Self::UnknownType(_) | Self::NotListed(_) => false,
            _ => true,
        }
    }

    /// Whether the server says that there is no such object.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { reason, .. } if reason == "NotFound")
    }

    /// Whether the configuration is wrong, so that nothing was sent.
    pub const fn is_configuration(&self) -> bool {
        matches!(
            self,
            Self::Config(_)
                | Self::UnknownContext(_)
                | Self::UnreadableFile(_)
                | Self::Credentials(_)
                | Self::UnknownCluster(_)
                | Self::UnknownUser(_)
                | Self::NamesOfCategory
        )
    }
}
