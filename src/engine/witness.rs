//! The Secrets among the answers of a world.

use std::sync::{Mutex, PoisonError};

use indexmap::IndexMap;
use jiff::Timestamp;

use crate::policy::TargetSelector;
use crate::value::{GroupVersionKind, KindScope, Text, Value};

use super::world::{InputNames, Lookup, LookupError, TargetAccess, TargetRefusal, World};

/// How deep in an answer Secrets are looked for: the API server puts them at the top or into one list.
const DEPTH: usize = 3;

/// A world that remembers which Secrets it answered with.
pub(super) struct Witness<'a> {
    world: &'a dyn World,
    secrets: Mutex<Secrets>,
}

/// Secrets by namespace and name.
pub(super) type Secrets = IndexMap<(Text, Text), Value>;

impl<'a> Witness<'a> {
    pub(super) fn new(world: &'a dyn World) -> Self {
        Self { world, secrets: Mutex::default() }
    }

    /// Every Secret that some answer held.
    pub(super) fn secrets(self) -> Secrets {
        self.secrets.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl World for Witness<'_> {
    fn now(&self) -> Timestamp {
        self.world.now()
    }

    fn chance(&self, key: &str, call: u64) -> u64 {
        self.world.chance(key, call)
    }

    fn namespace_labels(&self, namespace: &str) -> Option<Value> {
        self.world.namespace_labels(namespace)
    }

    fn input_names(&self) -> InputNames {
        self.world.input_names()
    }

    fn scope(&self, kind: &GroupVersionKind) -> KindScope {
        self.world.scope(kind)
    }

    fn targets(&self, selector: &TargetSelector) -> Result<Vec<Value>, LookupError> {
        self.world.targets(selector)
    }

    fn refusal(&self, access: &TargetAccess<'_>) -> Option<TargetRefusal> {
        self.world.refusal(access)
    }

    fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        let answer = self.world.lookup(lookup)?;
        if !matches!(lookup, Lookup::Image(_) | Lookup::GlobalEntry(_) | Lookup::ConfigMap { .. }) {
            let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
            gather(&answer, DEPTH, &mut secrets);
        }
        Ok(answer)
    }
}

/// The Secrets in a value. Elements of a `SecretList` need not say what they are.
fn gather(value: &Value, depth: usize, found: &mut Secrets) {
    let kind = value.get("kind").and_then(Value::as_str);
    if kind == Some("Secret") {
        remember(value, found);
    } else if kind == Some("SecretList") {
        for item in value.get("items").and_then(Value::as_array).into_iter().flatten() {
            remember(item, found);
        }
    } else if depth > 0 {
        for member in value.as_array().into_iter().flatten() {
            gather(member, depth - 1, found);
        }
        if let Some(items) = value.get("items") {
            gather(items, depth - 1, found);
        }
    }
}

fn remember(secret: &Value, found: &mut Secrets) {
    let text = |name: &str| secret.path(&["metadata", name]).and_then(Value::as_text).cloned();
    let key = (text("namespace").unwrap_or_default(), text("name").unwrap_or_default());
    found.entry(key).or_insert_with(|| secret.clone());
}
