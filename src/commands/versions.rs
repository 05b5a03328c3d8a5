//! Rules that name kinds in other versions than those of the objects.

use indexmap::IndexSet;

use crate::policy::KindSelector;
use crate::resources::{ApiResource, Resources};
use crate::source::cluster::in_another_version;

/// Notes on rules that do not match these kinds because they name other versions of them. Kyverno's webhooks are called
/// in the versions that rules name.
pub(super) fn in_other_versions(
    rules: &[Vec<KindSelector>],
    read: &[ApiResource],
    served: &Resources,
    describe: impl Fn(&KindSelector, &ApiResource) -> String,
) -> IndexSet<String> {
    let named = rules.iter().flat_map(|rule| rule.iter().map(move |selector| (rule, selector)));
    let others = named.filter_map(|(rule, selector)| {
        let resource = in_another_version(served, selector, rule, read)?;
        Some(format!("{}, and Kyverno would, converted", describe(selector, resource)))
    });
    others.collect()
}
