//! Rules that name kinds in other versions than those of the objects.

use indexmap::IndexSet;

use crate::policy::KindSelector;
use crate::source::cluster::{Resource, Resources};

/// What is said of rules that see nothing of these kinds, because they name other versions of them. Kyverno has its
/// webhooks asked in the versions that rules name.
pub(super) fn in_other_versions(
    rules: &[Vec<KindSelector>],
    read: &[Resource],
    served: &Resources,
    told: impl Fn(&KindSelector, &Resource) -> String,
) -> IndexSet<String> {
    let named = rules.iter().flat_map(|rule| rule.iter().map(move |selector| (rule, selector)));
    let others = named.filter_map(|(rule, selector)| {
        let resource = served.in_another_version(selector, rule, read)?;
        Some(format!("{}, and Kyverno would, converted", told(selector, resource)))
    });
    others.collect()
}
