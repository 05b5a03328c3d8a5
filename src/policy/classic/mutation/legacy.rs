//! The legacy syntax: `overlay` and `patches`, the fields of Kyverno before 1.2.

use crate::diagnostics::Code;
use crate::patch::{JsonPatch, LegacyBehavior, LegacyOverlay, LegacyPatches, PatchError};
use crate::pattern::nearest;
use crate::semantics::{LegacyMode, Semantics};
use crate::value::{Pointer, Value};
use crate::variables::{Template, holds_variable};

use super::{Patch, Reader};
use crate::policy::error::PolicyError;
use crate::policy::fields::given;
use crate::policy::schema::found;

/// The legacy fields of a rule, compiled.
#[derive(Clone, Debug)]
pub enum LegacyMutation {
    /// Not evaluated: a cluster refuses them.
    Refused,
    /// Evaluated by the rules of their time: the overlay first, then the patches.
    Own {
        /// By the documentation or by the engine of the time.
        behavior: LegacyBehavior,
        /// `overlay`.
        overlay: Option<Box<LegacyPart<LegacyOverlay>>>,
        /// `patches`.
        patches: Option<Box<LegacyPart<LegacyPatches>>>,
    },
    /// Evaluated like the fields that replaced them, one after the other.
    Later(Vec<Patch>),
}

/// One legacy field.
#[derive(Clone, Debug)]
pub struct LegacyPart<T> {
    /// Its value with its variables.
    pub template: Template,
    /// The value compiled, if it has no variables.
    pub prepared: Option<T>,
}

/// The operations of `patches`.
const OPERATIONS: [&str; 3] = ["add", "replace", "remove"];
/// The fields of an operation.
const FIELDS: [&str; 3] = ["path", "op", "value"];

impl Reader<'_> {
    /// Reads the legacy fields of a `mutate` block.
    pub(super) fn legacy(&mut self, mutate: &Value, at: &Pointer) -> Patch {
        let (overlay, patches) = (given(mutate, "overlay"), given(mutate, "patches"));
        let spellings = [
            (overlay, "`overlay` is the legacy field of Kyverno before 1.2; write `patchStrategicMerge`"),
            (
                patches,
                "`patches` is the legacy field of Kyverno before 1.2; write `patchesJson6902`, a string with the list",
            ),
        ];
        for (_, text) in spellings.iter().filter(|(field, _)| field.is_some()) {
            self.note(Code::IgnoredField, *text);
        }
        let behavior = match (self.legacy, self.tracker.semantics()) {
            (LegacyMode::Documented, Semantics::Kyverno) => return Patch::Legacy(LegacyMutation::Refused),
            (LegacyMode::Documented, Semantics::Documented) => LegacyBehavior::Documented,
            (LegacyMode::Native, _) => LegacyBehavior::Native,
            (LegacyMode::Later, _) => return self.later(overlay, patches, at),
        };
        let overlay =
            overlay.map(|overlay| Box::new(self.legacy_overlay(overlay, &at.key("overlay"), behavior)));
        let patches =
            patches.map(|patches| Box::new(self.legacy_patches(patches, &at.key("patches"), behavior)));
        Patch::Legacy(LegacyMutation::Own { behavior, overlay, patches })
    }

    fn legacy_overlay(
        &mut self,
        overlay: &Value,
        below: &Pointer,
        behavior: LegacyBehavior,
    ) -> LegacyPart<LegacyOverlay> {
        let template = self.template(below);
        let fixed = template.fixed();
        let mut prepared = None;
        // With variables it is compiled once they have values; its keys can be checked now. A whole overlay may come from
        // a variable.
        if fixed.is_some() || overlay.as_object().is_some() {
            match LegacyOverlay::prepare(fixed.unwrap_or(overlay), behavior) {
                Ok(overlay) => {
                    if behavior == LegacyBehavior::Documented {
                        self.note_empty_lists(&overlay);
                    }
                    prepared = fixed.is_some().then_some(overlay);
                }
                Err(error) => self.legacy_error(&error, below),
            }
        } else if overlay.as_str().is_none() {
            self.error(Code::LegacySyntax, below, format!("expected an object, found {}", found(overlay)));
        }
        LegacyPart { template, prepared }
    }

    fn note_empty_lists(&mut self, overlay: &LegacyOverlay) {
        for at in overlay.empty_lists() {
            let text = format!("the empty list at `{at}` of the overlay changes no list of the object");
            self.note(Code::IgnoredField, text);
        }
    }

    fn legacy_error(&mut self, error: &PatchError, below: &Pointer) {
        let (at, suggestion) = match error {
            PatchError::ForeignAnchor { at, key } => {
                let name = key.split_once('(').map(|(_, name)| format!("({name}"));
                (at.key(key.as_str()), name)
            }
            PatchError::BlankAnchor { at, key } => (at.key(key.as_str()), Some(key.trim().to_owned())),
            PatchError::NullInOverlay { at } => (at.clone(), None),
            _ => (Pointer::ROOT, None),
        };
        let error = PolicyError::new(Code::LegacySyntax, self.at.join(&below.join(&at)), error.to_string());
        self.findings.errors.push(error.suggesting(suggestion.as_deref()));
    }

    fn legacy_patches(
        &mut self,
        patches: &Value,
        below: &Pointer,
        behavior: LegacyBehavior,
    ) -> LegacyPart<LegacyPatches> {
        let template = self.template(below);
        let Some(operations) = patches.as_array() else {
            self.error(
                Code::LegacySyntax,
                below,
                format!("expected a list of operations, found {}", found(patches)),
            );
            return LegacyPart { template, prepared: None };
        };
        let before = self.findings.errors.len();
        for (index, operation) in operations.iter().enumerate() {
            self.legacy_operation(operation, &below.index(index));
        }
        // The engine of the time did not substitute variables in patches.
        let fixed = match behavior {
            LegacyBehavior::Native => Some(patches),
            LegacyBehavior::Documented => template.fixed(),
        };
        let mut prepared = None;
        if let (Some(fixed), true) = (fixed, self.findings.errors.len() == before) {
            match LegacyPatches::from_value(fixed, behavior) {
                Ok(patches) => prepared = Some(patches),
                Err(error) => self.error(Code::LegacySyntax, below, error.to_string()),
            }
        }
        LegacyPart { template, prepared }
    }

    fn legacy_operation(&mut self, operation: &Value, below: &Pointer) {
        let mut error = |at: Pointer, message: String, suggestion: Option<&str>| {
            self.findings.errors.push(
                PolicyError::new(Code::LegacySyntax, self.at.join(&at), message).suggesting(suggestion),
            );
        };
        let Some(members) = operation.as_object() else {
            return error(below.clone(), format!("expected an object, found {}", found(operation)), None);
        };
        for key in members.keys().filter(|key| !FIELDS.contains(&&***key)) {
            let key: String = key.chars().take(64).collect();
            let suggestion = nearest(&key, FIELDS.into_iter());
            error(below.key(key.as_str()), format!("unknown field `{key}` of an operation"), suggestion);
        }
        let kind = members.get("op").and_then(Value::as_str);
        match kind {
            Some(op) if OPERATIONS.contains(&op) => {}
            Some(op) => {
                let op: String = op.chars().take(64).collect();
                let message =
                    format!("unsupported operation `{op}`, expected one of {}", OPERATIONS.join(", "));
                error(below.key("op"), message, nearest(&op, OPERATIONS.into_iter()));
            }
            None => error(below.clone(), "missing op field".into(), None),
        }
        match members.get("path").and_then(Value::as_str) {
            Some(path) if path.starts_with('/') || holds_variable(path) => {}
            Some(_) => error(below.key("path"), "path must begin with a forward slash".into(), None),
            None => error(below.clone(), "missing path field".into(), None),
        }
        if matches!(kind, Some("add" | "replace")) && members.get("value").is_none_or(Value::is_null) {
            let message = format!("missing value field of `{}`", kind.unwrap_or_default());
            error(below.clone(), message, None);
        }
    }

    /// Reads the fields like those that replaced them.
    fn later(&mut self, overlay: Option<&Value>, patches: Option<&Value>, at: &Pointer) -> Patch {
        let mut parts = Vec::new();
        if let Some(overlay) = overlay {
            let below = at.key("overlay");
            let template = self.template(&below);
            let prepared = self.overlay(overlay, &below, &template, self.written);
            parts.push(Patch::StrategicMerge { overlay: template, prepared });
        }
        if let Some(patches) = patches {
            let below = at.key("patches");
            let patch = self.template(&below);
            let before = self.findings.errors.len();
            match patches.as_array() {
                Some(operations) => {
                    for (index, operation) in operations.iter().enumerate() {
                        self.later_operation(operation, index, &below);
                    }
                }
                None => {
                    self.error(
                        Code::LegacySyntax,
                        &below,
                        format!("expected a list of operations, found {}", found(patches)),
                    );
                }
            }
            let fixed = patch.fixed().filter(|_| self.findings.errors.len() == before);
            let mut prepared = None;
            match fixed.map(JsonPatch::from_value) {
                Some(Ok(patch)) => prepared = Some(patch),
                Some(Err(error)) => self.error(Code::LegacySyntax, &below, error.to_string()),
                None => {}
            }
            parts.push(Patch::json_patch(patch, prepared));
        }
        match <[Patch; 1]>::try_from(parts) {
            Ok([only]) => only,
            Err(parts) => Patch::Legacy(LegacyMutation::Later(parts)),
        }
    }

    fn later_operation(&mut self, operation: &Value, index: usize, below: &Pointer) {
        /// A text that no path is likely to have.
        const WORD: &str = "kyv-variable";
        let path = operation.get("path").and_then(Value::as_str);
        if !path.is_some_and(holds_variable) {
            return self.operation(operation, index + 1, below, None, false);
        }
        let mut operation = operation.clone();
        operation.insert("path", Value::from(WORD));
        self.operation(&operation, index + 1, below, Some(WORD), false);
    }
}
