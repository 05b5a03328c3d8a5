//! What the engine may ask of the outside.

use jiff::Timestamp;

use crate::policy::TargetSelector;
use crate::resources::{KindScope, builtin_scope};
use crate::secrets::{MASK, Secrets};
use crate::value::{GroupVersionKind, Text, Value};

/// What a context entry asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// A `ConfigMap`.
    ConfigMap {
        /// Its namespace.
        namespace: &'a str,
        /// Its name.
        name: &'a str,
    },
    /// What the API server answers to a GET of this path, which may hold a query.
    Api(&'a str),
    /// What another service answers to a call, or the API server to one that is no GET.
    Call {
        /// The method; empty stands for GET.
        method: &'a str,
        /// The address, or the path at the API server.
        url: &'a str,
    },
    /// The data of a global context entry by its name.
    Global(&'a str),
    /// What a global context entry says of itself: its `spec`.
    GlobalEntry(&'a str),
    /// The metadata of an image by its reference: an element of `spec.images` of Kyverno's `Context`.
    Image(&'a str),
}

/// How a question is hidden that secrets were written into.
#[derive(Clone, Debug)]
pub struct Disguise {
    /// The texts that it is asked with.
    pub texts: Vec<Text>,
    /// The same as they would be if they were made of what stands in for Secrets; `None` where nobody knows.
    pub stand_in: Option<Vec<Text>>,
    /// What is known of secrets.
    pub secrets: Secrets,
    /// Whether objects are shown that answer it, by their names.
    pub shows_names: bool,
}

impl Disguise {
    /// A message about the question, as it may be shown.
    pub fn hide(&self, message: &str) -> String {
        let mut texts: Vec<&Text> = self.texts.iter().filter(|text| !text.is_empty()).collect();
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let known = self.secrets.texts();
        let mut shown = message.to_owned();
        for text in texts.into_iter().filter(|text| known.hold(text)) {
            let hidden = known.hide_inside(text).unwrap_or_else(|| MASK.to_owned());
            shown = shown.replace(&**text, &hidden);
        }
        known.hide_inside(&shown).unwrap_or(shown)
    }
}

/// What is done with the targets of a rule, in the name of whoever carries it out.
#[derive(Clone, Copy, Debug)]
pub enum TargetAccess<'a> {
    /// They are looked up.
    Find(&'a TargetSelector),
    /// This object, one of them, is updated.
    Update(&'a TargetSelector, &'a Value),
}

/// Why a target cannot be looked up or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRefusal {
    /// In the words of the API server.
    pub message: String,
    /// What else there is to say about it.
    pub hint: String,
}

/// Why a look-up has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// Nobody said what the answer is.
    #[error("nothing is given that answers it")]
    NotGiven,
    /// The answer is known: there is no such object.
    #[error("not found")]
    NotFound,
    /// The question cannot be answered.
    #[error("{0}")]
    Unanswerable(String),
}

/// The outside of an evaluation. One world serves many threads, and equal questions get equal answers
/// for the length of a run.
pub trait World: Sync {
    /// The time that `time_now()` yields.
    fn now(&self) -> Timestamp;

    /// Chance for `random()`: depends on nothing but the key (object and rule) and the number of the
    /// call, so that threads do not matter.
    fn random(&self, key: &str, call: u64) -> u64;

    /// The labels of a namespace, as an object; `None` where nobody knows the namespace.
    fn namespace_labels(&self, namespace: &str) -> Option<Value>;

    /// Whether objects of this kind live in namespaces.
    fn scope(&self, kind: &GroupVersionKind) -> KindScope;

    /// The objects that a target stands for, besides those that the run itself is about. Where
    /// [`TargetSelector::exact`] gives a name it is a get, else a list over all namespaces; either holds
    /// fitting objects alone.
    ///
    /// # Errors
    ///
    /// [`LookupError::NotGiven`] from a world that knows no further objects, [`LookupError::NotFound`] from one
    /// that knows there is none of this name.
    fn targets(&self, _selector: &TargetSelector) -> Result<Vec<Value>, LookupError> {
        Err(LookupError::NotGiven)
    }

    /// Why whoever changes targets may not do so, in the words of the API server. `None` where nothing forbids it,
    /// or nobody wants to know.
    fn refusal(&self, _access: &TargetAccess<'_>) -> Option<TargetRefusal> {
        None
    }

    /// What a context entry asks for.
    ///
    /// # Errors
    ///
    /// See [`LookupError`]; a world that knows no objects has no answer to anything.
    fn lookup(&self, _lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        Err(LookupError::NotGiven)
    }

    /// Whether it is to be known what would be asked if all were made of what stands in for Secrets.
    fn keeps_stand_ins(&self) -> bool {
        false
    }

    /// The same as [`World::lookup`] for a question that secrets were written into: its path, or its namespace and name.
    ///
    /// # Errors
    ///
    /// As there.
    fn disguised_lookup(&self, lookup: &Lookup<'_>, _disguise: &Disguise) -> Result<Value, LookupError> {
        self.lookup(lookup)
    }

    /// The same as [`World::targets`] for a target whose texts hold secrets.
    ///
    /// # Errors
    ///
    /// As there.
    fn disguised_targets(
        &self,
        selector: &TargetSelector,
        _disguise: &Disguise,
    ) -> Result<Vec<Value>, LookupError> {
        self.targets(selector)
    }

    /// Takes in what is known of secrets in an object that the world gave.
    fn take_secrets(&self, _object: &Value, _secrets: &Secrets) {}

    /// The world as a replay of this run will find it, so far; `None` where that is no other.
    fn rehearsal(&self) -> Option<&dyn World> {
        None
    }

    /// Takes it in that a rule comes out otherwise for an object when the run is replayed, or may where that was not tried.
    fn take_difference(&self, _rule: &str, _object: &str, _is_tried: bool) {}
}

/// A world that knows nothing: the epoch, no chance, no namespaces, the kinds built into Kubernetes.
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

    fn scope(&self, kind: &GroupVersionKind) -> KindScope {
        builtin_scope(kind)
    }
}
