//! The resources that policies may look up among the manifests.

use std::collections::BTreeSet;

use crate::resources::{GroupVersionResource, plural};
use crate::value::GroupVersionKind;

use super::objects::Defaults;

/// The resources that policies may look up. Only their objects are kept while manifests stream by.
#[derive(Debug)]
pub struct RequestedResources<'k> {
    resources: BTreeSet<GroupVersionResource>,
    pub(super) defaults: Defaults<'k>,
}

impl<'k> RequestedResources<'k> {
    /// The placeholder of a variable in a path, whose resource is not known yet.
    pub const VARIABLE: &'static str = "\u{1}";

    pub(super) fn new(mut resources: BTreeSet<GroupVersionResource>, defaults: Defaults<'k>) -> Self {
        resources.retain(|GroupVersionResource { group, version, plural }| {
            [group, version, plural].iter().all(|text| !text.contains(Self::VARIABLE))
        });
        Self { resources, defaults }
    }

    /// Their names in API paths.
    pub fn plurals(&self) -> Vec<&str> {
        self.resources.iter().map(|resource| &*resource.plural).collect()
    }

    /// Whether a kind of this name may be one of them.
    pub(in crate::source) fn may_include(&self, kind: &str) -> bool {
        let mut custom_kinds = self.defaults.kinds.iter().flat_map(|custom| &custom.versions);
        self.resources.iter().any(|resource| *resource.plural == *plural(&resource.group, kind))
            || custom_kinds.any(|resource| *resource.kind.kind == *kind)
    }

    /// Whether a kind is one of them.
    pub(in crate::source) fn includes(&self, kind: &GroupVersionKind) -> bool {
        self.resources.contains(&self.defaults.resource(kind))
    }
}
