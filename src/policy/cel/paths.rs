//! Which paths of an object a policy reads and writes.

use crate::cel::{self, Access};
use crate::policy::RulePaths;
use crate::policy::labels::LabelSelector;
use crate::value::Text;

use super::{CelPatch, CelVariant, MatchConstraints};

/// The paths of a variant.
pub(super) fn paths(variant: &CelVariant, dialect: cel::Dialect) -> RulePaths {
    let mut access = Access::new(dialect, variant.constraints.are_for_pods());
    for (name, program) in variant.variables.names.iter().zip(&variant.variables.programs) {
        access.define(name, program.source());
    }
    let targets = variant.targets.as_ref();
    let of_targets =
        targets.into_iter().flat_map(|targets| targets.conditions.iter().map(|condition| &condition.program));
    let expression = targets.and_then(|targets| targets.expression.as_ref());
    let conditions = variant.conditions.iter().chain(&variant.audit_annotations).map(|one| &one.program);
    for program in conditions.chain(of_targets).chain(expression) {
        access.read(program.source());
    }
    // Which object is selected.
    for field in ["name", "generateName", "namespace"] {
        access.reads.insert_keys(&["metadata", field]);
    }
    match dialect {
        cel::Dialect::Kyverno if targets.is_none() => {
            for key in variant.constraints.selector_keys() {
                access.reads.insert_keys(&["metadata", "labels", key]);
            }
        }
        // Bindings have selectors, too.
        _ => access.reads.insert_keys(&["metadata", "labels"]),
    }
    for mutation in &variant.mutations {
        match &mutation.patch {
            CelPatch::ApplyConfiguration(program) | CelPatch::JsonPatch(program) if targets.is_none() => {
                access.write(program.source());
            }
            CelPatch::ApplyConfiguration(program) | CelPatch::JsonPatch(program) => {
                access.read(program.source());
            }
            CelPatch::Ignored(_) => {}
        }
    }
    RulePaths::new(access.reads, access.writes, access.literals)
}

impl MatchConstraints {
    /// The labels that selectors read, those for namespaces included: a namespace is selected by its own.
    fn selector_keys(&self) -> impl Iterator<Item = &Text> {
        [&self.object_selector, &self.namespace_selector].into_iter().flatten().flat_map(LabelSelector::keys)
    }

    /// Whether all resources are Pods, or built-in ones with a template of a Pod.
    fn are_for_pods(&self) -> bool {
        const RESOURCES: [(&str, &[&str]); 3] = [
            ("", &["pods", "replicationcontrollers"]),
            ("apps", &["daemonsets", "deployments", "replicasets", "statefulsets"]),
            ("batch", &["cronjobs", "jobs"]),
        ];
        !self.rules.is_empty()
            && self.rules.iter().all(|rule| {
                rule.groups.iter().all(|group| {
                    let known = RESOURCES.iter().find(|(known, _)| **known == **group);
                    known.is_some_and(|(_, known)| {
                        rule.resources.iter().all(|resource| known.contains(&&**resource))
                    })
                })
            })
    }
}
