//! What the engine needs from outside.

use jiff::Timestamp;

use crate::policy::TargetSelector;
use crate::resources::{KindResource, builtin_resource};
use crate::secrets::Secrets;
use crate::value::{GroupVersionKind, Value};

/// A lookup of a context entry.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// What is looked up.
    pub source: LookupSource<'a>,
    /// The secrets that its texts were made of, if any: it must not be shown or kept with them.
    pub tainted: Option<&'a Secrets>,
}

/// What a context entry looks up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupSource<'a> {
    /// A `ConfigMap`.
    ConfigMap {
        /// Its namespace.
        namespace: &'a str,
        /// Its name.
        name: &'a str,
    },
    /// The response of the API server to a GET of this path, which may have a query.
    Api(&'a str),
    /// The response of a service, or of the API server to another method than GET.
    Call {
        /// The method; empty for GET.
        method: &'a str,
        /// The address, or the path at the API server.
        url: &'a str,
    },
    /// The data of a global context entry by its name.
    Global(&'a str),
    /// The `spec` of a global context entry by its name.
    GlobalEntry(&'a str),
    /// The metadata of an image by its reference: an element of `spec.images` of Kyverno's `Context`.
    Image(&'a str),
}

impl<'a> From<LookupSource<'a>> for Lookup<'a> {
    fn from(source: LookupSource<'a>) -> Self {
        Self { source, tainted: None }
    }
}

/// A lookup of the targets of a rule.
#[derive(Clone, Copy, Debug)]
pub struct TargetLookup<'a> {
    /// Which objects.
    pub selector: &'a TargetSelector,
    /// The secrets that its texts were made of, if any: it must not be shown or kept with them.
    pub tainted: Option<&'a Secrets>,
}

/// An access to the targets of a rule, as the user who runs mutate existing rules.
#[derive(Clone, Copy, Debug)]
pub enum TargetAccess<'a> {
    /// The targets are looked up.
    Find(&'a TargetSelector),
    /// One of them, this object, is updated.
    Update(&'a TargetSelector, &'a Value),
}

/// Why a target cannot be looked up or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRefusal {
    /// The message of the API server.
    pub message: String,
    /// A hint for the user.
    pub hint: String,
}

/// Why a lookup has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// No input gives the answer.
    #[error("nothing is given that answers it")]
    NotGiven,
    /// There is no such object.
    #[error("not found")]
    NotFound,
    /// The lookup failed.
    #[error("{0}")]
    Unanswerable(String),
}

/// The outside of an evaluation. One world serves many threads, and equal lookups have equal answers for the length of a
/// run.
pub trait World: Sync {
    /// The time that `time_now()` returns.
    fn now(&self) -> Timestamp;

    /// A random number for `random()`. It depends on nothing but the key (object and rule) and the number of the call, so
    /// that threads do not matter.
    fn random(&self, key: &str, call: u64) -> u64;

    /// The labels of a namespace, as an object; `None` for an unknown namespace.
    fn namespace_labels(&self, namespace: &str) -> Option<Value>;

    /// The resource of a kind. Of an unknown kind the plural is guessed.
    fn resource(&self, kind: &GroupVersionKind) -> KindResource<'_>;

    /// Looks up what a context entry needs.
    ///
    /// # Errors
    ///
    /// See [`LookupError`]; a world without objects has no answer to anything.
    fn lookup(&self, _lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        Err(LookupError::NotGiven)
    }

    /// Looks up the objects that a target selects, besides those of the run itself. Where
    /// [`TargetSelector::exact`] gives a name this is a get, else a list over all namespaces; both return matching objects
    /// alone.
    ///
    /// # Errors
    ///
    /// [`LookupError::NotGiven`] from a world without further objects, [`LookupError::NotFound`] from one that knows that
    /// there is none of this name.
    fn targets(&self, _lookup: &TargetLookup<'_>) -> Result<Vec<Value>, LookupError> {
        Err(LookupError::NotGiven)
    }

    /// Why the user who runs mutate existing rules may not access targets. `None` where access is granted or not checked.
    fn refusal(&self, _access: &TargetAccess<'_>) -> Option<TargetRefusal> {
        None
    }
}

/// A world that knows nothing: the time is the epoch, nothing is random, there are no namespaces, and the kinds are those
/// built into Kubernetes.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyWorld;

impl World for EmptyWorld {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn random(&self, _key: &str, call: u64) -> u64 {
        call
    }

    fn namespace_labels(&self, _namespace: &str) -> Option<Value> {
        None
    }

    fn resource(&self, kind: &GroupVersionKind) -> KindResource<'_> {
        builtin_resource(kind)
    }
}
