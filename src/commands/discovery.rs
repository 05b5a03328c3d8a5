//! Discovery in a cluster: custom kinds, and Kyverno's resource filters.

use crate::policy::{Policy, RequestFilters, Rule};
use crate::source::CustomKind;
use crate::source::cluster::{Cluster, KyvernoConfiguration, LiveKinds, custom_kinds_of};
use crate::value::GroupVersionKind;

use super::policies::kind_selectors;
use super::reporter::Reporter;

/// The custom kinds of a cluster that the policies can change and that `--crds` does not have. `None` if discovery
/// failed, which is reported.
pub(super) fn live_kinds(
    cluster: &dyn Cluster,
    policies: &[Policy],
    offline: &[CustomKind],
    reporter: &mut Reporter,
) -> Option<LiveKinds> {
    let merges = |rule: &&Rule| rule.not_evaluated().is_none() && rule.edit().merges();
    let classic = policies.iter().filter_map(Policy::as_classic);
    let rules: Vec<&Rule> = classic.flat_map(|policy| &policy.rules).filter(merges).collect();
    let is_standard = |rule: &&&Rule| rule.existing().is_none();
    let mut selectors = kind_selectors(rules.iter().filter(is_standard).copied());
    for existing in rules.iter().filter_map(|rule| rule.existing()) {
        selectors.extend(existing.kind_selectors());
    }
    let mut kinds = reporter.ok(custom_kinds_of(cluster, &selectors))?;
    let is_offline =
        |kind: &GroupVersionKind| offline.iter().any(|known| known.defines(&kind.group, &kind.kind));
    kinds.found.retain(|found| !found.versions.iter().any(|resource| is_offline(&resource.kind)));
    for schema in &mut kinds.missing {
        schema.kinds.retain(|kind| !is_offline(kind));
    }
    kinds.missing.retain(|schema| !schema.kinds.is_empty());
    Some(kinds)
}

/// The filters of the cluster's Kyverno. Adds notes on those that are unknown or not evaluated.
pub(super) fn filters(cluster: &dyn Cluster, is_user_known: bool, notes: &mut Vec<String>) -> RequestFilters {
    let KyvernoConfiguration { place, filters } = match KyvernoConfiguration::find(cluster) {
        Ok(found) => found.unwrap_or_default(),
        Err(error) => {
            notes.push(error.to_string());
            return RequestFilters::default();
        }
    };
    let senders = filters.user_entries();
    if !senders.is_empty() && !is_user_known {
        notes.push(format!(
            "the configuration of the cluster's Kyverno (ConfigMap {place}) excludes requests of some users from policies; pass --userinfo to apply it ({})",
            senders.join(", ")
        ));
    }
    if !filters.not_evaluated().is_empty() {
        notes.push(format!(
            "the configuration of the cluster's Kyverno (ConfigMap {place}) also has {}, not evaluated here: requests that they exclude meet no policy",
            filters.not_evaluated().join(", ")
        ));
    }
    filters
}
