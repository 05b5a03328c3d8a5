//! The `mutate` block of a rule.

mod legacy;
mod targets;

use std::sync::Arc;

use crate::diagnostics::Code;
use crate::patch::{JsonPatch, JsonPatchTemplate, Overlay, PatchError};
use crate::pattern::{Conditions, nearest};
use crate::semantics::{Divergence, DivergenceTracker, LegacyMode, Semantics};
use crate::value::{Pointer, Value};
use crate::variables::{Query, Template, replace_variables};
use crate::yaml;

use super::findings::Findings;
use super::variable_checks::MAX_NESTING;
use super::{ContextEntry, conditions, context};
use crate::policy::error::PolicyError;
use crate::policy::fields::{filled, given, string};
use crate::policy::schema::found;

pub use legacy::{LegacyMutation, LegacyPart};
pub use targets::{MutateExisting, Target};

/// The `mutate` block of a rule.
#[derive(Clone, Debug)]
pub enum Mutation {
    /// It changes the object that it selects.
    Standard(Edit),
    /// It has `targets`, and changes them.
    MutateExisting(MutateExisting),
}

/// How an object is changed.
#[derive(Clone, Debug)]
pub enum Edit {
    /// By one patch.
    Patch(Patch),
    /// By `foreach`: its entries, one after the other.
    Foreach(Vec<ForeachEntry>),
}

/// One patch.
#[derive(Clone, Debug)]
pub enum Patch {
    /// `patchStrategicMerge`. A rule without a patch has an overlay of `null`.
    StrategicMerge {
        /// The overlay with its variables.
        overlay: Template,
        /// The overlay compiled, if it has no variables.
        prepared: Option<Overlay>,
    },
    /// `patchesJson6902`.
    Json6902 {
        /// The text of the patch with its variables.
        patch: Template,
        /// The patch compiled, if it has no variables.
        prepared: Option<JsonPatch>,
        /// The patch parsed, if its variables are inside strings.
        open: Option<JsonPatchTemplate>,
    },
    /// The legacy fields `overlay` and `patches`.
    Legacy(LegacyMutation),
}

impl Edit {
    /// Whether it has a strategic merge patch, so that the schema of an object decides how lists are merged.
    pub fn merges(&self) -> bool {
        match self {
            Self::Patch(patch) => patch.merges(),
            Self::Foreach(entries) => entries.iter().any(|entry| entry.body.merges()),
        }
    }

    /// The compiled overlay of its only patch.
    const fn overlay(&self) -> Option<&Overlay> {
        match self {
            Self::Patch(Patch::StrategicMerge { prepared, .. }) => prepared.as_ref(),
            _ => None,
        }
    }

    /// What an entry of a foreach does.
    fn of_entry(&self, index: usize) -> Option<&Self> {
        match self {
            Self::Foreach(entries) => entries.get(index).map(|entry| &entry.body),
            Self::Patch(_) => None,
        }
    }
}

impl Patch {
    fn json_patch(patch: Template, prepared: Option<JsonPatch>) -> Self {
        let texts = if prepared.is_none() { patch.literals() } else { None };
        let open = texts.and_then(|texts| JsonPatchTemplate::parse(&texts));
        Self::Json6902 { patch, prepared, open }
    }

    fn merges(&self) -> bool {
        match self {
            Self::StrategicMerge { .. } => true,
            Self::Json6902 { .. } | Self::Legacy(LegacyMutation::Refused) => false,
            Self::Legacy(LegacyMutation::Own { overlay, .. }) => overlay.is_some(),
            Self::Legacy(LegacyMutation::Later(patches)) => patches.iter().any(Self::merges),
        }
    }
}

/// One entry of a `foreach`.
#[derive(Clone, Debug)]
pub struct ForeachEntry {
    /// The expression for the elements.
    pub list: Query,
    /// The order of the elements; if not written the kind of patch decides.
    pub order: Option<Order>,
    /// The `context` of each element.
    pub context: Vec<Arc<ContextEntry>>,
    /// The `preconditions` of each element.
    pub preconditions: Option<Conditions<Template>>,
    /// A patch, or a nested foreach.
    pub body: Edit,
}

/// The order of the elements of a foreach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the first to the last.
    Ascending,
    /// From the last to the first.
    Descending,
}

impl ForeachEntry {
    /// Whether the last element comes first. With an overlay it does by default: each patched element moves to the
    /// front, so that the old order is kept.
    pub const fn is_descending(&self) -> bool {
        match self.order {
            Some(order) => matches!(order, Order::Descending),
            None => matches!(self.body, Edit::Patch(Patch::StrategicMerge { .. })),
        }
    }
}

const ONE_OF_TWO: &str = "only one of `patchStrategicMerge` or `patchesJson6902` is allowed";
const ONE_OF_THREE: &str = "only one of `foreach`, `patchStrategicMerge`, or `patchesJson6902` is allowed";

/// The operations of JSON patches.
const OPERATIONS: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];

/// Reads the `mutate` block of a rule whose place in the policy is `at`.
pub(super) struct Reader<'a> {
    /// The whole rule.
    pub(super) rule: &'a Value,
    pub(super) at: &'a Pointer,
    pub(super) tracker: &'a DivergenceTracker,
    pub(super) legacy: LegacyMode,
    /// The edit of the rule that this one was generated from: what is the same in both is compiled once.
    pub(super) written: Option<&'a Edit>,
    pub(super) findings: &'a mut Findings,
}

impl Reader<'_> {
    fn error(&mut self, code: Code, below: &Pointer, message: impl Into<String>) {
        self.findings.error(code, self.at.join(below), message);
    }

    fn note(&mut self, code: Code, text: impl Into<String>) {
        self.findings.note(code, self.rule, text);
    }

    /// Reads the block; `None` if there is none.
    pub(super) fn read(&mut self) -> Option<Mutation> {
        let mutate = self.rule.get("mutate").filter(|mutate| mutate.as_object().is_some())?;
        let at = Pointer::ROOT.key("mutate");
        let is_legacy = given(mutate, "overlay").is_some() || given(mutate, "patches").is_some();
        let overlay = given(mutate, "patchStrategicMerge");
        let patch = filled(mutate, "patchesJson6902");
        let foreach = filled(mutate, "foreach");
        if foreach.is_some() && (overlay.is_some() || patch.is_some()) {
            self.error(Code::MutateFields, &at, ONE_OF_THREE);
        } else if overlay.is_some() && patch.is_some() {
            self.error(Code::MutateFields, &at, ONE_OF_TWO);
        }
        if is_legacy && (overlay.is_some() || patch.is_some() || foreach.is_some()) {
            self.error(
                Code::MutateFields,
                &at,
                "the legacy fields `overlay` and `patches` cannot be used beside the newer ones",
            );
        }
        if is_legacy && given(mutate, "targets").is_some() {
            self.error(
                Code::MutateFields,
                &at,
                "the legacy fields `overlay` and `patches` do not support targets",
            );
        }
        let entries = foreach.map(|entries| self.foreach(entries, &at.key("foreach"), self.written));
        let overlay_template = self.template(&at.key("patchStrategicMerge"));
        let patch_template = self.template(&at.key("patchesJson6902"));
        let prepared_overlay = overlay.map(|overlay| {
            self.overlay(overlay, &at.key("patchStrategicMerge"), &overlay_template, self.written)
        });
        let prepared_patch =
            patch.map(|patch| self.json_patch(patch, &at.key("patchesJson6902"), &patch_template, false));
        let body = if is_legacy {
            Edit::Patch(self.legacy(mutate, &at))
        } else if given(mutate, "foreach").is_some() && overlay.is_none() && patch.is_none() {
            Edit::Foreach(entries.unwrap_or_default())
        } else if patch.is_some() && overlay.is_none() {
            Edit::Patch(Patch::json_patch(patch_template, prepared_patch.flatten()))
        } else {
            let prepared = prepared_overlay.flatten();
            Edit::Patch(Patch::StrategicMerge { overlay: overlay_template, prepared })
        };
        let has_targets = given(mutate, "targets").is_some() && !is_legacy;
        Some(if has_targets { self.existing(mutate, body) } else { Mutation::Standard(body) })
    }

    fn existing(&mut self, mutate: &Value, body: Edit) -> Mutation {
        let targets = targets::read(self.rule, self.at, self.tracker.semantics(), self.findings);
        let kinds = targets::kinds(&targets);
        if kinds.len() > 1 && self.tracker.semantics() == Semantics::Documented {
            let text = format!(
                "targets of several kinds ({}): the documentation allows one; each is merged with the schema of \
                 its own",
                kinds.join(", ")
            );
            self.note(Code::IgnoredField, text);
        }
        let on_policy_update = mutate.get("mutateExistingOnPolicyUpdate").and_then(Value::as_bool);
        Mutation::MutateExisting(MutateExisting { targets, body, on_policy_update })
    }

    fn template(&self, below: &Pointer) -> Template {
        Template::prepare_at(self.rule, below, self.tracker.semantics())
    }

    /// Checks an overlay, and compiles it if it has no variables. What it has in common with the one of the written rule
    /// is shared.
    fn overlay(
        &mut self,
        overlay: &Value,
        below: &Pointer,
        template: &Template,
        written: Option<&Edit>,
    ) -> Option<Overlay> {
        let fixed = template.fixed();
        if fixed.is_none() && overlay.as_object().is_none() {
            if overlay.as_str().is_none() {
                self.error(
                    Code::InvalidOverlay,
                    below,
                    format!("expected an object, found {}", found(overlay)),
                );
            }
            return None;
        }
        // With variables it is compiled once they have values; keys and directives can be checked now.
        let compiled = written.and_then(Edit::overlay);
        match Overlay::prepare_sharing(fixed.unwrap_or(overlay), compiled, self.tracker) {
            Ok(prepared) => fixed.is_some().then_some(prepared),
            Err(error) => {
                let at = match &error {
                    PatchError::UnknownStrategy { at } if fixed.is_some() => at.clone(),
                    _ if fixed.is_some() => Pointer::ROOT,
                    _ => return None,
                };
                let at = self.at.join(&below.join(&at));
                self.findings.error(Code::InvalidOverlay, at, error.to_string());
                None
            }
        }
    }

    /// Checks a JSON patch as Kyverno does when the policy is installed, with a word in place of each variable, and
    /// compiles it if it has none. In a foreach paths may have variables.
    fn json_patch(
        &mut self,
        patch: &Value,
        below: &Pointer,
        template: &Template,
        in_foreach: bool,
    ) -> Option<JsonPatch> {
        /// A text that no patch is likely to have.
        const WORD: &str = "kyv-variable";
        // The schema reports what is no string.
        let text = patch.as_str()?;
        let mut stable = text.to_owned();
        let mut varies = false;
        // Deeper nesting is an error of its own.
        for _ in 0..MAX_NESTING {
            let Some(next) = replace_variables(&stable, |_| WORD.into()) else { break };
            stable = next;
            varies = true;
        }
        let before = self.findings.errors.len();
        // In a foreach whole operations may come from the elements.
        let open = in_foreach && varies;
        match read_operations(&stable) {
            Err(_) if open => {}
            Err(message) => {
                self.error(Code::InvalidJsonPatch, below, format!("failed to decode patches: {message}"));
            }
            Ok(operations) => {
                for (index, operation) in operations.as_array().unwrap_or_default().iter().enumerate() {
                    self.operation(operation, index + 1, below, varies.then_some(WORD), in_foreach);
                }
                if operations.as_array().is_none() && !open {
                    let message = format!(
                        "failed to decode patches: expected a list of operations, found {}",
                        found(&operations)
                    );
                    self.error(Code::InvalidJsonPatch, below, message);
                }
            }
        }
        if self.findings.errors.len() > before {
            return None;
        }
        match JsonPatch::parse(&stable) {
            // Brackets around YAML are parsed when the patch is applied.
            Err(PatchError::Syntax { .. }) if stable.starts_with('[') => None,
            Ok(prepared) => {
                let undocumented = prepared
                    .operations()
                    .iter()
                    .map(|operation| operation.kind())
                    .find(|kind| !kind.is_documented());
                if let Some(kind) = undocumented {
                    let text = format!(
                        "the JSON patch operation `{kind}` works, though Kyverno's documentation does not name it"
                    );
                    self.note(Code::IgnoredField, text);
                }
                let fixed = template.fixed().is_some_and(|fixed| fixed == patch);
                fixed.then_some(prepared)
            }
            // A path with variables may be anything.
            Err(_) if open => None,
            Err(error) => {
                self.error(Code::InvalidJsonPatch, below, error.to_string());
                None
            }
        }
    }

    fn operation(
        &mut self,
        operation: &Value,
        number: usize,
        below: &Pointer,
        word: Option<&str>,
        in_foreach: bool,
    ) {
        let text = |name| operation.get(name).and_then(Value::as_str);
        let mut error = |message: String, suggestion| {
            let error = PolicyError::new(
                Code::InvalidJsonPatch,
                self.at.join(below),
                format!("invalid operation {number}: {message}"),
            );
            self.findings.errors.push(error.suggesting(suggestion));
        };
        let is_variable = |text: Option<&str>| {
            in_foreach && text.is_some_and(|text| word.is_some_and(|word| text.contains(word)))
        };
        if operation.as_object().is_none() {
            if is_variable(operation.as_str()) {
                return;
            }
            return error(format!("expected an object, found {}", found(operation)), None);
        }
        match text("op") {
            op if is_variable(op) => {}
            Some(op) if OPERATIONS.contains(&op) => {
                if matches!(op, "add" | "replace" | "test") && operation.get("value").is_none() {
                    error(format!("missing value field of `{op}`"), None);
                }
                if matches!(op, "move" | "copy") && text("from").is_none() {
                    error(format!("missing from field of `{op}`"), None);
                }
            }
            Some(op) => {
                let known = OPERATIONS.join(", ");
                let op: String = op.chars().take(64).collect();
                let suggestion = nearest(&op, OPERATIONS.into_iter());
                error(format!("unsupported operation `{op}`, expected one of {known}"), suggestion);
            }
            None => error("missing op field".into(), None),
        }
        match text("path") {
            None => error("missing path field".into(), None),
            Some(path) if in_foreach && word.is_some_and(|word| path.starts_with(word)) => {}
            Some(path) if !in_foreach && word.is_some_and(|word| path.contains(word)) => {
                let rule = string(self.rule, "name");
                let message =
                    format!("rule \"{rule}\" should not have variables in patchesJSON6902 path section");
                self.error(Code::InvalidJsonPatch, below, message);
            }
            Some(path) if !path.starts_with('/') => {
                error(format!("path must begin with a forward slash: {path}"), None);
            }
            Some(_) => {}
        }
    }

    /// Reads the entries of a foreach.
    fn foreach(&mut self, entries: &Value, at: &Pointer, written: Option<&Edit>) -> Vec<ForeachEntry> {
        let mut read = Vec::new();
        for (index, entry) in entries.as_array().unwrap_or_default().iter().enumerate() {
            let at = at.index(index);
            let written = written.and_then(|written| written.of_entry(index));
            let overlay = given(entry, "patchStrategicMerge");
            let patch = filled(entry, "patchesJson6902");
            let body = if let Some(nested) = filled(entry, "foreach") {
                let others = ["context", "preconditions"].iter().any(|name| filled(entry, name).is_some());
                if others || overlay.is_some() || patch.is_some() {
                    self.error(Code::Foreach, &at, "a nested foreach cannot contain other declarations");
                }
                Edit::Foreach(self.foreach(nested, &at.key("foreach"), written))
            } else {
                if overlay.is_some() == patch.is_some() && entry.as_object().is_some() {
                    self.error(Code::Foreach, &at, ONE_OF_TWO);
                }
                Edit::Patch(self.patch_of_entry((overlay, patch), &at, written))
            };
            context::check_kinds(entry.get("context"), &self.at.join(&at.key("context")), self.findings);
            let list = self.foreach_list(entry);
            let preconditions = self.foreach_conditions(entry, &at.key("preconditions"));
            let order = match entry.get("order").and_then(Value::as_str) {
                Some("Ascending") => Some(Order::Ascending),
                Some("Descending") => Some(Order::Descending),
                _ => None,
            };
            let context = context::read(self.rule, &at.key("context"), self.tracker.semantics());
            read.push(ForeachEntry { list, order, context, preconditions, body });
        }
        read
    }

    /// The patch of an entry, a document of its own for variables and references.
    fn patch_of_entry(
        &mut self,
        (overlay, patch): (Option<&Value>, Option<&Value>),
        at: &Pointer,
        written: Option<&Edit>,
    ) -> Patch {
        let whole = Value::from_iter([
            ("patchStrategicMerge", overlay.cloned().unwrap_or_default()),
            ("patchesJson6902", patch.cloned().unwrap_or_default()),
        ]);
        let template =
            |name: &str| Template::prepare_at(&whole, &Pointer::ROOT.key(name), self.tracker.semantics());
        match patch.filter(|_| overlay.is_none()) {
            Some(text) => {
                let patch = template("patchesJson6902");
                let prepared = self.json_patch(text, &at.key("patchesJson6902"), &patch, true);
                Patch::json_patch(patch, prepared)
            }
            None => {
                let template = template("patchStrategicMerge");
                let at = at.key("patchStrategicMerge");
                let prepared = overlay.and_then(|overlay| self.overlay(overlay, &at, &template, written));
                Patch::StrategicMerge { overlay: template, prepared }
            }
        }
    }

    /// The list form is for rules only.
    fn foreach_conditions(&mut self, entry: &Value, at: &Pointer) -> Option<Conditions<Template>> {
        match given(entry, "preconditions") {
            Some(list @ Value::Array(_)) => {
                self.error(Code::InvalidCondition, at, format!("expected an object, found {}", found(list)));
                None
            }
            _ => conditions::read(self.rule, at, self.at, self.tracker.semantics(), self.findings),
        }
    }

    fn foreach_list(&self, entry: &Value) -> Query {
        let list = entry.get("list").and_then(Value::as_str).unwrap_or_default();
        if list.trim().is_empty() || list.trim_start().starts_with("{{") {
            self.tracker.reach(Divergence::ForeachBadList);
        }
        Query::new(list)
    }
}

/// Parses the text of a JSON patch: as JSON if it begins with a bracket, else as YAML.
fn read_operations(text: &str) -> Result<Value, String> {
    if text.starts_with('[')
        && let Ok(operations) = Value::from_json(text)
    {
        return Ok(operations);
    }
    // As in Kyverno, a list in brackets that is no JSON is YAML.
    yaml::parse_value(text).map_err(|error| error.to_string())
}
