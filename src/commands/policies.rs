//! The policies of a run.

use std::sync::Arc;

use crate::diagnostics::Code;
use crate::policy::{KindSelector, Policy, PolicyChoice, ResourceRule, Rule};
use crate::resources::Resources;
use crate::source::cluster::{Cluster, load_cluster_policies};
use crate::source::{ExceptionLoader, LoadedPolicies, PolicyLoader, SourceError};
use crate::value::Text;

use super::exit::Exit;
use super::options::RunOptions;
use super::reporter::Reporter;

/// Loads the policies of the options and of the cluster, and the exceptions of the latter. Errors are reported.
pub(super) fn policies(
    options: &RunOptions,
    cluster: Option<&Arc<dyn Cluster>>,
    exceptions: &mut ExceptionLoader,
    reporter: &mut Reporter,
) -> Option<LoadedPolicies> {
    let mut loader =
        PolicyLoader::new(options.dialect, options.input_limits).with_choice(options.choice.clone());
    options.policies.iter().for_each(|path| loader.path(path));
    let mut names: Vec<String> = options.policies.iter().map(|path| path.display().to_string()).collect();
    let mut is_whole = true;
    if options.cluster.policies {
        names.push("the cluster".into());
        let cluster = cluster?;
        // Policies of other namespaces do not match the objects of the run.
        let namespace = options.explicit_namespace();
        let only = (options.is_live() && !options.cluster.all_namespaces)
            .then(|| namespace.unwrap_or_else(|| cluster.default_namespace()));
        let unread = reporter.ok(load_cluster_policies(cluster, only, &mut loader, exceptions))?;
        is_whole = unread.is_empty();
        unread.into_iter().for_each(|unread| reporter.unread_policies(unread));
    }
    let names = names.join(", ");
    if is_whole && !all_matched(loader.unmatched(), reporter) {
        return None;
    }
    let (loaded, refused) = loader.finish_in_part(&names);
    if refused.errors.is_empty() {
        return Some(loaded);
    }
    let is_no_policy =
        |error: &&SourceError| matches!(error, SourceError::NoPolicy { path, .. } if *path == names);
    // Some policies of the cluster may exist that could not be read, which was reported.
    reporter.source_errors(refused.errors.iter().filter(|error| is_whole || !is_no_policy(error)));
    reporter.divergences(refused.divergences, options.dialect.semantics);
    reporter.refused(refused.policies, refused.files);
    (options.keep_going && !loaded.policies.is_empty()).then_some(loaded)
}

/// Reports each pattern for policies and rules that names none; whether there is no such pattern.
fn all_matched(unmatched: &PolicyChoice, reporter: &mut Reporter) -> bool {
    for pattern in &unmatched.policies {
        reporter.error(
            Exit::Input,
            Code::NameWithoutMatch,
            format_args!("--policy-name {pattern}: no policy has this name"),
        );
    }
    for pattern in &unmatched.rules {
        reporter.error(
            Exit::Input,
            Code::NameWithoutMatch,
            format_args!("--rule {pattern}: no mutate rule has this name"),
        );
    }
    unmatched.is_everything()
}

/// The kinds that CEL policies can match, for each policy: those of their resources that are known.
pub(super) fn resource_selectors<'p>(
    policies: impl Iterator<Item = &'p Policy>,
    known: &Resources,
) -> Vec<Vec<KindSelector>> {
    let of_rule = |rule: &ResourceRule| -> Vec<KindSelector> {
        let fits = |list: &[Text], value: &str| list.iter().any(|one| **one == *"*" || **one == *value);
        let matching = known.iter().filter(|resource| {
            fits(&rule.groups, &resource.kind.group)
                && fits(&rule.versions, &resource.kind.version)
                && rule.selects_resource(&resource.plural, "")
        });
        matching.map(|resource| KindSelector::parse(&resource.kind.to_string())).collect()
    };
    let of_policy = |policy: &'p Policy| match policy {
        Policy::Cel(policy) => {
            let rules = policy.variants.iter().flat_map(|variant| &variant.constraints.rules);
            Some(rules.flat_map(of_rule).collect())
        }
        _ => None,
    };
    policies.filter_map(of_policy).collect()
}

/// The kinds that rules can match.
pub(super) fn kind_selectors<'r>(rules: impl Iterator<Item = &'r Rule>) -> Vec<KindSelector> {
    let mut selectors: Vec<KindSelector> = Vec::new();
    for rule in rules.filter(|rule| rule.not_evaluated().is_none()) {
        let found = match rule.matching.kind_selectors() {
            Some(kinds) => kinds.into_iter().cloned().collect(),
            None => vec![KindSelector::parse("*")],
        };
        for selector in found {
            if !selectors.contains(&selector) {
                selectors.push(selector);
            }
        }
    }
    selectors
}
