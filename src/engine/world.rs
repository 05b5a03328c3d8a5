//! What the engine needs from outside.

use jiff::Timestamp;

use crate::policy::{ResourceRule, TargetSelector};
use crate::resources::{ApiResource, KindResource, Resources, builtin_resource};
use crate::secrets::Secrets;
use crate::value::{GroupVersionKind, Value};

/// A lookup of a context entry.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// What is looked up.
    pub source: LookupSource<'a>,
    /// The secrets in its texts, if any: they must not be shown or recorded.
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
    /// The response to a request of an expression, with its status: an object with `statusCode` and `body`.
    Http {
        /// The method.
        method: &'a str,
        /// The address.
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

/// A lookup of targets of a rule.
#[derive(Clone, Copy, Debug)]
pub struct TargetLookup<'a> {
    /// Which objects.
    pub selector: &'a TargetSelector,
    /// The secrets in its texts, if any: they must not be shown or recorded.
    pub tainted: Option<&'a Secrets>,
}

/// An access to targets of a rule by the service account of mutate-existing rules.
#[derive(Clone, Copy, Debug)]
pub enum TargetAccess<'a> {
    /// To look targets up.
    Find(&'a TargetSelector),
    /// To update this target.
    Update(&'a TargetSelector, &'a Value),
}

/// Why an access to targets is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRefusal {
    /// The message of the API server.
    pub message: String,
    /// A hint for the user.
    pub hint: String,
}

/// Why a lookup failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// No input has the result.
    #[error("there is no data for it")]
    NotGiven,
    /// The object does not exist.
    #[error("not found")]
    NotFound,
    /// The request failed.
    #[error("{0}")]
    Unanswerable(String),
}

/// What an evaluation needs from outside. It is shared by threads. Equal lookups in a run have equal results.
pub trait World: Sync {
    /// The time that `time_now()` returns.
    fn now(&self) -> Timestamp;

    /// A random number for `random()`. It depends only on the key (object, policy and rule) and the number of the call.
    fn random(&self, key: &str, call: u64) -> u64;

    /// The labels of a namespace, as an object; `None` for an unknown namespace, by default for all.
    fn namespace_labels(&self, _namespace: &str) -> Option<Value> {
        None
    }

    /// The resource of a kind, by default of the built-in kinds. Of an unknown kind the plural is guessed.
    fn resource(&self, kind: &GroupVersionKind) -> KindResource<'_> {
        builtin_resource(kind)
    }

    /// The kinds of the resources of which a rule may select objects, each in one version. By default those built into
    /// Kubernetes.
    fn kinds(&self, rule: &ResourceRule) -> Vec<GroupVersionKind> {
        kinds_of(Resources::built_in(), rule)
    }

    /// Looks up the value of a context entry.
    ///
    /// # Errors
    ///
    /// See [`LookupError`]; by default [`LookupError::NotGiven`].
    fn lookup(&self, _lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        Err(LookupError::NotGiven)
    }

    /// Looks up the objects that a target selects, besides those of the run: one object if [`TargetSelector::exact`] has a
    /// name, else those of all namespaces.
    ///
    /// # Errors
    ///
    /// By default [`LookupError::NotGiven`]; [`LookupError::NotFound`] if no object has the name.
    fn targets(&self, _lookup: &TargetLookup<'_>) -> Result<Vec<Value>, LookupError> {
        Err(LookupError::NotGiven)
    }

    /// Why an access to targets is refused; `None` if it is granted or not checked.
    fn refusal(&self, _access: &TargetAccess<'_>) -> Option<TargetRefusal> {
        None
    }
}

/// The kinds of the resources of which a rule may select objects, each in the version that comes first.
pub fn kinds_of(resources: &Resources, rule: &ResourceRule) -> Vec<GroupVersionKind> {
    let mut found: Vec<&ApiResource> = Vec::new();
    for resource in resources.iter().filter(|resource| rule.is_of(resource)) {
        if !found.iter().any(|known| known.is_same_as(resource)) {
            found.push(resource);
        }
    }
    found.into_iter().map(|resource| resource.kind.clone()).collect()
}

/// A world with the built-in kinds and nothing else. The time is the Unix epoch, and nothing is random.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyWorld;

impl World for EmptyWorld {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn random(&self, _key: &str, call: u64) -> u64 {
        call
    }
}
