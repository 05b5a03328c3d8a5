//! A policy is compiled or refused with reasons, the same each time, and says where.

use kyv::policy::{self, PolicySet};
use kyv::semantics::Semantics;
use kyv::value::Value;

use super::input::Input;
use super::values::{edited, parsed};

/// A policy that uses every part of the format.
pub const RICH: &str = include_str!("rich-policy.yaml");

/// Checks one input.
pub fn run(data: &[u8]) {
    let document = match Input::new(data) {
        Input::Text(parts) => parsed(parts.at(0)),
        Input::Choices(mut choices) => parsed(RICH).map(|rich| edited(rich, &mut choices)),
    };
    let Some(document) = document else { return };
    let _kind = policy::kind_of(&document);
    for semantics in [Semantics::Documented, Semantics::Kyverno] {
        check(&document, semantics);
    }
}

fn check(document: &Value, semantics: Semantics) {
    let outcome = policy::parse(document, semantics);
    let again = policy::parse(document, semantics);
    assert_eq!(format!("{outcome:?}"), format!("{again:?}"), "loaded otherwise the second time");
    match outcome {
        Ok(policy) => {
            assert!(!policy.full_name().is_empty() || policy.meta().name.is_empty());
            let set = PolicySet::new(vec![policy]);
            for kind in ["Pod", "Deployment", "CronJob", "ConfigMap", ""] {
                for (policy, rules) in set.of_kind(kind, "").all() {
                    let all = policy.parts().len();
                    assert!(rules.iter().all(|index| *index < all));
                    assert!(rules.is_sorted());
                }
            }
        }
        Err(faults) => {
            assert!(!faults.is_empty(), "refused without a reason");
            for fault in &faults {
                assert!(!fault.message.is_empty());
                assert!(
                    fault.to_string().len() < 20_000,
                    "a fault of {} bytes: {:.400}",
                    fault.to_string().len(),
                    fault.to_string()
                );
            }
        }
    }
}
