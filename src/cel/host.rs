//! What functions need from outside of an expression.

use jiff::Timestamp;

use crate::value::{GroupVersionKind, Text};

use super::value::Val;

/// Where functions that reach outside have their values from.
pub trait Host {
    /// The time of `time.now`.
    fn now(&self) -> Timestamp;

    /// The next random number of `random`.
    fn random(&self) -> u64;

    /// The plural name of a kind's resource.
    fn plural(&self, kind: &GroupVersionKind) -> Text;

    /// The namespace of a policy that may only look there.
    fn namespace(&self) -> Option<&str> {
        None
    }

    /// Looks something up. The value is as in Kyverno also in the types of its numbers.
    ///
    /// # Errors
    ///
    /// See [`HostError`].
    fn look_up(&self, lookup: &HostLookup<'_>) -> Result<Val, HostError>;
}

/// What a function looks up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostLookup<'a> {
    /// The response of the API server to a GET of this path, which may have a query.
    Api(&'a str),
    /// The response of the API server to a POST to this path.
    Create(&'a str),
    /// The data of a global context entry, or one of its projections.
    Global {
        /// The name of the entry.
        name: &'a str,
        /// The name of the projection; empty for all data.
        projection: &'a str,
    },
    /// The metadata of an image by its reference.
    Image(&'a str),
    /// The response to a request: an object with `statusCode` and `body`.
    Http {
        /// The method.
        method: &'a str,
        /// The address.
        url: &'a str,
    },
}

/// Why a lookup has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostError {
    /// What is looked up does not exist.
    NotFound,
    /// No input has the result; with what would help.
    NoData(String),
    /// The request failed.
    Failed(String),
}
