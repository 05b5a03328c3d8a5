//! Which objects among the manifests are asked for.

use std::collections::BTreeSet;

use crate::resources::plural;
use crate::value::GroupVersionKind;

use super::objects::Places;
use super::request::Resource;

/// The resources that policies may ask for. Only their objects are kept while manifests stream by.
#[derive(Debug)]
pub struct Asked<'k> {
    resources: BTreeSet<Resource>,
    pub(super) places: Places<'k>,
}

impl<'k> Asked<'k> {
    /// What stands in a path for a variable. Which resource such a path names nobody can tell ahead.
    pub const VARIABLE: &'static str = "\u{1}";

    pub(super) fn new(mut resources: BTreeSet<Resource>, places: Places<'k>) -> Self {
        resources.retain(|(group, version, plural)| {
            [group, version, plural].iter().all(|part| !part.contains(Self::VARIABLE))
        });
        Self { resources, places }
    }

    /// The plurals of what is asked for.
    pub fn plurals(&self) -> Vec<&str> {
        self.resources.iter().map(|(.., plural)| plural.as_str()).collect()
    }

    /// Whether objects of a kind with this name may be asked for.
    pub(in crate::source) fn may_name(&self, name: &str) -> bool {
        self.resources.iter().any(|(group, _, asked)| *asked == *plural(group, name))
            || self
                .places
                .kinds
                .iter()
                .any(|custom| custom.versions.iter().any(|one| *one.kind.kind == *name))
    }

    /// Whether objects of a kind are asked for.
    pub(in crate::source) fn holds(&self, kind: &GroupVersionKind) -> bool {
        self.resources.contains(&self.places.resource(kind))
    }
}
