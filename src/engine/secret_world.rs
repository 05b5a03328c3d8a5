//! The Secrets among the answers of a world.

use jiff::Timestamp;

use crate::policy::TargetSelector;
use crate::resources::KindScope;
use crate::secrets::{Secrets, TaintTracker};
use crate::value::{GroupVersionKind, Text, Value};

use super::world::{Disguise, Lookup, LookupError, TargetAccess, TargetRefusal, World};

/// How deep in an answer Secrets are looked for: the API server puts them at the top or into one list.
const DEPTH: usize = 3;

/// A world that tells a ledger of the Secrets that it answers with, and hides those that it is asked with.
pub(super) struct SecretTrackingWorld<'a> {
    world: &'a dyn World,
    pub(super) taint: TaintTracker,
}

impl<'a> SecretTrackingWorld<'a> {
    pub(super) fn new(world: &'a dyn World) -> Self {
        Self { world, taint: TaintTracker::new(world.keeps_stand_ins()) }
    }

    /// What came to light of secrets.
    pub(super) fn secrets(self) -> Secrets {
        self.taint.secrets()
    }

    /// How a question is hidden that these texts are asked with; `None` where there is nothing to hide.
    fn disguise(&self, texts: &[&str], shows_names: bool) -> Option<Disguise> {
        if !texts.iter().any(|text| self.taint.holds_text(text)) {
            return None;
        }
        let stand_in = |text: &&str| match self.taint.stand_in(&Value::from(*text))? {
            Value::String(text) => Some(text),
            _ => None,
        };
        Some(Disguise {
            texts: texts.iter().map(|text| Text::from(*text)).collect(),
            stand_in: texts.iter().map(stand_in).collect::<Option<Vec<Text>>>(),
            secrets: self.taint.secrets_so_far(),
            shows_names,
        })
    }
}

impl World for SecretTrackingWorld<'_> {
    fn now(&self) -> Timestamp {
        self.world.now()
    }

    fn random(&self, key: &str, call: u64) -> u64 {
        self.world.random(key, call)
    }

    fn namespace_labels(&self, namespace: &str) -> Option<Value> {
        self.world.namespace_labels(namespace)
    }

    fn scope(&self, kind: &GroupVersionKind) -> KindScope {
        self.world.scope(kind)
    }

    fn targets(&self, selector: &TargetSelector) -> Result<Vec<Value>, LookupError> {
        match self.disguise(&selector.texts(), true) {
            None => self.world.targets(selector),
            Some(disguise) => self.world.disguised_targets(selector, &disguise),
        }
    }

    fn refusal(&self, access: &TargetAccess<'_>) -> Option<TargetRefusal> {
        self.world.refusal(access)
    }

    fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        let disguise = match lookup {
            Lookup::ConfigMap { namespace, name } => self.disguise(&[namespace, name], false),
            Lookup::Api(path) => self.disguise(&[path], false),
            Lookup::Call { .. } | Lookup::Global(_) | Lookup::GlobalEntry(_) | Lookup::Image(_) => None,
        };
        let answer = match disguise {
            None => self.world.lookup(lookup),
            Some(disguise) => self.world.disguised_lookup(lookup, &disguise),
        }?;
        if !matches!(lookup, Lookup::Image(_) | Lookup::GlobalEntry(_) | Lookup::ConfigMap { .. }) {
            gather(&answer, DEPTH, &self.taint);
        }
        Ok(answer)
    }
}

/// Tells of the Secrets in a value. Elements of a `SecretList` need not say what they are.
fn gather(value: &Value, depth: usize, taint: &TaintTracker) {
    let kind = value.get("kind").and_then(Value::as_str);
    if kind == Some("Secret") {
        taint.see_secret(value);
    } else if kind == Some("SecretList") {
        for item in value.get("items").and_then(Value::as_array).into_iter().flatten() {
            taint.see_secret(item);
        }
    } else if depth > 0 {
        for member in value.as_array().into_iter().flatten() {
            gather(member, depth - 1, taint);
        }
        if let Some(items) = value.get("items") {
            gather(items, depth - 1, taint);
        }
    }
}
