//! Changes of a policy that a cluster drops or refuses after the policy: it still runs there, as it does here.

use crate::diagnostics::Code;
use crate::engine::evaluation::Evaluation;
use crate::patch::not_stored_fields;
use crate::policy::CelMutation;
use crate::report::RuleError;
use crate::value::{GroupVersionKind, Pointer, Value};

use super::decoding;

/// Collects what the mutations of a policy write that a cluster does not store.
#[derive(Debug, Default)]
pub(super) struct NotStored {
    found: Vec<(Pointer, String)>,
}

impl NotStored {
    /// Adds what a mutation wrote.
    pub(super) fn add(
        &mut self,
        evaluation: &Evaluation<'_>,
        mutation: &CelMutation,
        before: &Value,
        after: &Value,
    ) {
        if before.same_storage(after) {
            return;
        }
        for fault in faults(evaluation, before, after) {
            if !self.found.iter().any(|(_, known)| *known == fault) {
                self.found.push((mutation.pointer.clone(), fault));
            }
        }
    }

    /// The warnings about what is still there after all mutations, each at the mutation that wrote it.
    pub(super) fn warnings(
        self,
        evaluation: &Evaluation<'_>,
        before: &Value,
        after: &Value,
    ) -> Vec<RuleError> {
        if self.found.is_empty() {
            return Vec::new();
        }
        let last = faults(evaluation, before, after);
        let stays = self.found.into_iter().filter(|(_, fault)| last.contains(fault));
        stays
            .map(|(at, fault)| RuleError::new(Code::NotStored, format!("{at}: {fault}")).at(&at, None))
            .collect()
    }
}

/// What an API server drops or refuses of an object and did not before, where the schema of its kind is known.
fn faults(evaluation: &Evaluation<'_>, before: &Value, after: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    if is_named(before) && !is_named(after) {
        faults.push("the API server refuses an object without metadata.name".to_owned());
    }
    let namespace = |object: &Value| {
        let namespace = object.path(&["metadata", "namespace"]).and_then(Value::as_text);
        namespace.filter(|namespace| !namespace.is_empty()).cloned()
    };
    if let (Some(before), Some(after)) = (namespace(before), namespace(after))
        && before != after
    {
        faults.push("the API server refuses another metadata.namespace than that of the request".to_owned());
    }
    faults.extend(decoding::check(before, after).err().map(|error| error.to_string()));
    let kind = GroupVersionKind::of(after);
    let schema = kind.and_then(|kind| evaluation.engine.settings.kind_schemas.of(&kind));
    let Some(schema) = schema else { return faults };
    let fields = not_stored_fields(before, after, schema).unwrap_or_default();
    faults.extend(fields.unknown.iter().map(|fault| format!("the API server drops {fault}")));
    faults.extend(fields.without_key.iter().map(|fault| format!("the API server refuses {fault}")));
    faults
}

/// Whether an object has a name, or the beginning of one.
fn is_named(object: &Value) -> bool {
    ["name", "generateName"].iter().any(|field| {
        let name = object.path(&["metadata", field]).and_then(Value::as_str);
        name.is_some_and(|name| !name.is_empty())
    })
}
