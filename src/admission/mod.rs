//! The admitted view: an object as an API server passes it to admission webhooks.
//!
//! An API server decodes a manifest into the types of its kind, sets defaults and runs its own admission plugins before
//! policies see the object. Pure: knows types and defaults, no policies and no cluster.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod conversions;
mod crd;
mod defaults;
mod fields;
mod independent;
mod normalize;
mod plugins;
mod quantity_text;
mod required;
mod restore;
mod room;
mod schema;
mod setters;
mod time;
mod token_volume;
mod types;
mod words;

use std::fmt;
use std::sync::Arc;

use crate::resources::is_local_group;
use crate::value::{GroupVersionKind, Pointer, Value};

use room::Room;

pub use required::{minimal, minimal_at, missing_required, without_dropped};
pub use restore::restore;
pub use schema::{Forms, ListMerge, ListType, MapType, Schema};
pub use types::{ListKey, ScalarType};
pub use words::is_word;

use crd::CustomTypes;
use types::TypeId;

/// The schemas of kinds: those of Kubernetes, and those of `CustomResourceDefinition` objects.
#[derive(Clone, Debug, Default)]
pub struct KindSchemas {
    custom: Arc<CustomTypes>,
}

impl KindSchemas {
    /// With the schemas of these `CustomResourceDefinition` objects.
    pub fn with_crds<'a>(definitions: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut custom = CustomTypes::default();
        definitions.into_iter().for_each(|definition| custom.add(definition));
        Self { custom: Arc::new(custom) }
    }
}

/// What an API server does to new objects before admission webhooks get them.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    schemas: KindSchemas,
    /// Whether Pods get the volume with the token of their service account.
    service_account_token: bool,
}

/// The state of an object that policies see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// As admission webhooks get it: with the defaults of the API server.
    #[default]
    Admitted,
    /// As the manifest has it.
    Written,
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Admitted => "admitted",
            Self::Written => "written",
        })
    }
}

impl View {
    /// The admission of this view; `None` for [`View::Written`].
    pub(crate) fn admission(self, schemas: &KindSchemas) -> Option<Admission> {
        (self == Self::Admitted).then(|| Admission::new(schemas.clone()))
    }
}

/// Why there is no admitted view of an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAdmitted {
    /// The types and defaults of the kind are not known.
    #[error("the defaults of {0} are not known")]
    UnknownKind(GroupVersionKind),
    /// The kind has too many defaults for the object.
    #[error("with its defaults, an object takes more than 32 MiB, which no API server stores")]
    ManyDefaults,
    /// The API server refuses the object.
    #[error("the API server refuses {at}: {message}")]
    Refused {
        /// The path of the error.
        at: Pointer,
        /// What was expected there.
        message: String,
    },
}

/// Whether the API server calls admission webhooks for a kind. It does not for the kinds that configure admission, and
/// it never gets files of kustomize and its like.
pub fn has_webhooks(kind: &GroupVersionKind) -> bool {
    const EXEMPT: [&str; 6] = [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ];
    let is_exempt = &*kind.group == "admissionregistration.k8s.io" && EXEMPT.contains(&&*kind.kind);
    !is_exempt && !is_local_group(&kind.group)
}

/// Whether an API server has stored the object: it gives each a uid. Such an object was admitted before.
pub fn is_stored(object: &Value) -> bool {
    object.path(&["metadata", "uid"]).is_some()
}

impl Admission {
    /// The admission of objects of these kinds.
    pub const fn new(schemas: KindSchemas) -> Self {
        Self { schemas, service_account_token: false }
    }

    /// With the schemas of these `CustomResourceDefinition` objects.
    pub fn with_crds<'a>(definitions: impl IntoIterator<Item = &'a Value>) -> Self {
        Self::new(KindSchemas::with_crds(definitions))
    }

    /// Also adds the volume with the token of the service account to Pods, and its mounts, as if each service account
    /// mounted its token. The volume is named `kube-api-access-xxxxx`; an API server has random characters there.
    #[must_use]
    pub fn with_service_account_token(self, service_account_token: bool) -> Self {
        Self { service_account_token, ..self }
    }

    /// The object of a CREATE request as admission webhooks get it.
    ///
    /// # Errors
    ///
    /// Kinds without a table, and objects that the API server cannot decode.
    pub fn view(&self, object: &Value, kind: &GroupVersionKind) -> Result<Value, NotAdmitted> {
        self.view_beside(object, kind, None)
    }

    /// The same of an object that shares much with the view of another one, `known`.
    ///
    /// # Errors
    ///
    /// As for [`Admission::view`].
    pub fn view_beside(
        &self,
        object: &Value,
        kind: &GroupVersionKind,
        known: Option<&Value>,
    ) -> Result<Value, NotAdmitted> {
        let mut view = self.decoded_beside(object, kind, known)?;
        plugins::apply(kind, &mut view, self.service_account_token);
        Ok(view)
    }

    /// The object as the API server decodes it: with defaults, and without what admission plugins change.
    ///
    /// # Errors
    ///
    /// As for [`Admission::view`].
    pub fn decoded(&self, object: &Value, kind: &GroupVersionKind) -> Result<Value, NotAdmitted> {
        self.decoded_beside(object, kind, None)
    }

    /// Checks that the API server can decode an object. What it shares with `known` is not looked at.
    ///
    /// # Errors
    ///
    /// Values of other types than those of their fields. Those of custom resources are not looked at.
    pub fn check_beside(object: &Value, kind: &GroupVersionKind, known: &Value) -> Result<(), NotAdmitted> {
        TypeId::of_kind(kind).map_or(Ok(()), |id| normalize::normalize(id, object, Some(known)).map(drop))
    }

    /// Whether an object has the same defaults with the changes from `view`, its view, to `after` as without them, but for
    /// those of what is added. The answer is `false` where that is not clear.
    pub fn keeps_defaults(
        &self,
        kind: &GroupVersionKind,
        (written, view, after): (&Value, &Value, &Value),
    ) -> bool {
        let has_token = self.service_account_token && kind.group.is_empty() && kind.kind == "Pod";
        let keeps = |id| independent::keeps_defaults(id, Some(written), view, after);
        !has_token && TypeId::of_kind(kind).is_some_and(keeps)
    }

    fn decoded_beside(
        &self,
        object: &Value,
        kind: &GroupVersionKind,
        known: Option<&Value>,
    ) -> Result<Value, NotAdmitted> {
        if let Some(id) = TypeId::of_kind(kind) {
            let mut decoded = normalize::normalize(id, object, known)?;
            // What decoding added has room of its own.
            let room = Room::new();
            setters::apply(id, &mut decoded, known, &room);
            return room.check().map(|()| decoded);
        }
        let mut decoded = object.clone();
        self.schemas.custom.apply(&mut decoded, kind)?;
        Ok(decoded)
    }
}
