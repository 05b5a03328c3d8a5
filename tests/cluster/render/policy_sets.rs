//! Sets of policies: those of the catalogue and our own one by one, and drawn sets.

use std::fs;
use std::path::Path;

use serde_json::Value;
use test_support::conformance_folder;
use test_support::files::files_below;

use super::builds::objects;
use crate::controllers::conformance_policies::Folder;

/// A sample has every so many of the sets.
const STEP: usize = 11;

/// Policies that are installed together.
pub(super) struct PolicySet {
    pub(super) name: String,
    pub(super) policies: Vec<Value>,
}

impl PolicySet {
    /// Whether Kyverno has a webhook for each of two failure policies. When the second one changes an object, the API
    /// server calls the first one again, with the result of its own policies.
    pub(super) fn has_two_webhooks(&self) -> bool {
        let ignores = |policy: &Value| policy["spec"]["failurePolicy"] == "Ignore";
        self.policies.iter().any(ignores) && !self.policies.iter().all(ignores)
    }
}

/// All sets, or a sample.
pub(super) fn all(is_whole: bool) -> Vec<PolicySet> {
    let mut sets = catalogue();
    sets.extend(own());
    let drawn = draw(&sets);
    sets.extend(drawn);
    if let Ok(part) = std::env::var("KYV_CASES") {
        sets.retain(|set| set.name.contains(&part));
    } else if !is_whole {
        sets = sets.into_iter().step_by(STEP).collect();
    }
    sets
}

/// The policies of the conformance folder one by one, with their rules that change admitted objects.
fn catalogue() -> Vec<PolicySet> {
    let Some(folder) = conformance_folder("policies of the catalogue on builds") else { return Vec::new() };
    let mut sets: Vec<PolicySet> = Vec::new();
    for policy in Folder::read(&folder).policies {
        let mut value = policy.value.clone();
        let rules = value["spec"]["rules"].as_array_mut().expect("rules");
        // Other rules change other objects, or none.
        rules.retain(|rule| rule["mutate"].is_object() && rule["mutate"]["targets"].is_null());
        if rules.is_empty() {
            continue;
        }
        let name = policy.origin.trim_end_matches(".yaml").replace('/', ".");
        let others = sets.iter().filter(|set| set.name.starts_with(&name)).count();
        let name = if others == 0 { name } else { format!("{name}-{others}") };
        sets.push(PolicySet { name, policies: vec![value] });
    }
    sets
}

/// Policies that read and write what the API server sets, one by one.
fn own() -> Vec<PolicySet> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/render/policies");
    let files = files_below(&folder, &["yaml"]);
    let sets = files.iter().map(|path| {
        let text = fs::read_to_string(path).expect("a policy");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        PolicySet { policies: objects(&name, &text), name: format!("own.{name}") }
    });
    sets.collect()
}

/// Sets of three to eight policies, drawn with a fixed seed.
fn draw(single: &[PolicySet]) -> Vec<PolicySet> {
    const SETS: u64 = 20;
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("small")
    };
    let mut sets = Vec::new();
    for number in 1..=SETS {
        let mut policies: Vec<Value> = Vec::new();
        let size = 3 + next(6);
        while policies.len() < size.min(single.len()) {
            let drawn = &single[next(single.len())].policies[0];
            if policies.iter().all(|policy| policy["metadata"]["name"] != drawn["metadata"]["name"]) {
                policies.push(drawn.clone());
            }
        }
        sets.push(PolicySet { name: format!("set-{number:02}"), policies });
    }
    sets
}
