//! What the expressions of a variant name.

use super::{CelPatch, CelVariant, MatchConstraints};
use crate::cel::Program;

impl CelVariant {
    /// The texts of all its expressions, one after the other.
    pub fn sources(&self) -> String {
        self.programs().map(Program::source).collect::<Vec<_>>().join("\n")
    }

    /// Whether an expression may name the user of the request.
    pub fn names_user(&self) -> bool {
        self.programs().any(|program| program.source().contains("userInfo"))
    }

    /// Whether an expression may name `oldObject`.
    pub(super) fn may_name_old_object(&self) -> bool {
        self.programs().any(|program| program.source().contains("oldObject"))
    }

    /// Whether the labels of the namespace may decide anything.
    pub(super) fn uses_namespace_labels(&self) -> bool {
        self.constraints.uses_namespace_labels()
            || self.targets.as_ref().is_some_and(|targets| targets.constraints.uses_namespace_labels())
            || self.programs().any(|program| program.source().contains("namespaceObject"))
    }

    fn programs(&self) -> impl Iterator<Item = &Program> {
        let mutations = self.mutations.iter().filter_map(|mutation| match &mutation.patch {
            CelPatch::ApplyConfiguration(program) | CelPatch::JsonPatch(program) => Some(program),
            CelPatch::Ignored(_) => None,
        });
        let targets = self.targets.iter();
        let targets = targets.flat_map(|targets| {
            targets.expression.iter().chain(targets.conditions.iter().map(|named| &named.program))
        });
        self.conditions
            .iter()
            .chain(&self.audit_annotations)
            .map(|named| &named.program)
            .chain(&self.variables.programs)
            .chain(mutations)
            .chain(targets)
    }
}

impl MatchConstraints {
    /// Whether the labels of the namespace decide.
    pub const fn uses_namespace_labels(&self) -> bool {
        self.namespace_selector.is_some()
    }

    /// The plurals of the resources, without subresources; `None` for any.
    pub fn resources(&self) -> Option<Vec<&str>> {
        self.plurals.as_ref().map(|plurals| plurals.iter().map(|plural| &**plural).collect())
    }
}
