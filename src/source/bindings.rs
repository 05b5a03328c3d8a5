//! Bindings and the policies that they bind.

use crate::policy::{Binding, CelPolicy, CelPolicyKind, Policy, nearest};

/// A binding whose policy is not there.
#[derive(Debug)]
pub(super) struct Miss {
    pub(super) binding: Binding,
    /// Its file and line.
    pub(super) origin: String,
    /// The policy that was probably meant.
    pub(super) meant: Option<String>,
}

/// Adds bindings to their policies. Returns those whose policy is not there.
pub(super) fn join(bindings: Vec<(Binding, String)>, policies: &mut [Policy]) -> Vec<Miss> {
    let mut misses = Vec::new();
    for (binding, origin) in bindings {
        let mut found = false;
        for policy in policies.iter_mut().filter_map(bindable) {
            if *policy.meta.name == *binding.policy {
                found = true;
                policy.bindings.get_or_insert_default().push(binding.clone());
            }
        }
        if !found {
            let names = policies.iter_mut().filter_map(bindable).map(|policy| &*policy.meta.name);
            let meant = nearest(&binding.policy, names).map(str::to_owned);
            misses.push(Miss { binding, origin, meant });
        }
    }
    misses
}

/// The policy, if it is of a kind that bindings bind.
pub(super) fn bindable(policy: &mut Policy) -> Option<&mut CelPolicy> {
    match policy {
        Policy::Cel(policy) if policy.kind == CelPolicyKind::MutatingAdmissionPolicy => Some(policy),
        _ => None,
    }
}
