//! What a cluster is asked before the first object: kinds, and what never reaches a policy.

use crate::policy::{Mutation, Policy, RequestFilters, Rule};
use crate::source::CustomKind;
use crate::source::cluster::{Cluster, KyvernoConfiguration, LiveKinds, custom_kinds_of};
use crate::value::GroupVersionKind;

use super::policies::kind_selectors;
use super::reporter::Reporter;

/// The custom kinds of a cluster that the policies can change and that were not given. `None` if the cluster does
/// not even tell what it serves.
pub(super) fn live_kinds(
    cluster: &dyn Cluster,
    policies: &[Policy],
    given: &[CustomKind],
    reporter: &mut Reporter,
) -> Option<LiveKinds> {
    let rules: Vec<&Rule> = policies
        .iter()
        .flat_map(|policy| &policy.rules)
        .filter(|rule| rule.not_evaluated().is_none() && rule.mutation.merges())
        .collect();
    let is_own = |rule: &&&Rule| !matches!(rule.mutation, Mutation::MutateExisting(_));
    let mut selectors = kind_selectors(rules.iter().filter(is_own).copied());
    for rule in &rules {
        if let Mutation::MutateExisting(existing) = &rule.mutation {
            selectors.extend(existing.kind_selectors());
        }
    }
    let mut kinds = match custom_kinds_of(cluster, &selectors) {
        Ok(read) => read,
        Err(error) => {
            reporter.fault(&error.into());
            return None;
        }
    };
    let is_given = |kind: &GroupVersionKind| given.iter().any(|known| known.defines(&kind.group, &kind.kind));
    kinds.found.retain(|found| !found.versions.iter().any(|resource| is_given(&resource.kind)));
    for schema in &mut kinds.missing {
        schema.kinds.retain(|kind| !is_given(kind));
    }
    kinds.missing.retain(|schema| !schema.kinds.is_empty());
    Some(kinds)
}

/// What the Kyverno of a cluster is configured to hide from policies. What is not known of that is remarked.
pub(super) fn filters(
    cluster: &dyn Cluster,
    is_user_known: bool,
    remarks: &mut Vec<String>,
) -> RequestFilters {
    let KyvernoConfiguration { place, filters } = match KyvernoConfiguration::find(cluster) {
        Ok(found) => found.unwrap_or_default(),
        Err((place, error)) => {
            remarks.push(format!(
                "the configuration of the cluster's Kyverno (ConfigMap {place}) cannot be read, so nothing is known of \
                 objects that it hides from policies: {error}"
            ));
            return RequestFilters::default();
        }
    };
    let senders = filters.about_senders();
    if !senders.is_empty() && !is_user_known {
        remarks.push(format!(
            "the configuration of the cluster's Kyverno (ConfigMap {place}) keeps requests of some users from policies: \
             --userinfo says who sends them ({})",
            senders.join(", ")
        ));
    }
    if !filters.not_evaluated().is_empty() {
        remarks.push(format!(
            "the configuration of the cluster's Kyverno (ConfigMap {place}) also has {}, not evaluated here: requests \
             that they take out meet no policy",
            filters.not_evaluated().join(", ")
        ));
    }
    filters
}
