//! Work that nobody tuned for: sets of Kyverno's own policies, and objects of many shapes and sizes, drawn by a seed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kyv::value::{Pointer, Value};
use kyv::yaml::print;
use test_support::kyverno_samples::{Generator, KyvernoSamples, places};
use test_support::random::SplitMix64;

use crate::compare::manifests;
use crate::compare::policies::MATCHING;

/// Of ten objects so many are manifests written by hand, and so many differ from the samples in some places.
const BY_HAND: u64 = 3;
const CHANGED: u64 = 2;

/// The most places in which these differ.
const CHANGES: usize = 3;

/// One object in so many has a list or map that is longer, by a factor up to a power of two.
const LONG: u64 = 20;
const MAX_POWER: u64 = 4;

/// Writes a set of policies and objects for them. Sets with the numbers of a row have all policies in turn.
pub(crate) fn write(
    samples: &KyvernoSamples,
    seed: u64,
    number: usize,
    policies: &Path,
    objects: (&Path, usize),
) {
    let set = set(samples, seed, number);
    fs::create_dir_all(policies).expect("a new folder");
    for (at, policy) in set.iter().enumerate() {
        let (mut policy, mut text) = (policy.clone(), String::new());
        let name = policy.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
        // Some programs go by the names of files, and some by the names of policies.
        let name = format!("p{at:02}-{name}");
        let metadata = policy.as_object_mut().and_then(|policy| policy.get_mut("metadata"));
        metadata.expect("a policy has a name").insert("name", name.as_str().into());
        print(&policy, &mut text);
        fs::write(policies.join(format!("{name}.yaml")), text).expect("room for a policy");
    }
    let mut random = SplitMix64(seed.wrapping_add(number as u64));
    let given = samples.objects.layers.iter().flatten();
    let mut generator = Generator::new(given, random.below(u64::MAX));
    let mut text = String::new();
    for at in 0..objects.1 {
        text.push_str("---\n");
        let kind_of_object = random.below(10);
        if kind_of_object < BY_HAND {
            text.push_str(&manifests::object(number * objects.1 + at));
            continue;
        }
        let changes = if kind_of_object < BY_HAND + CHANGED { CHANGES } else { 0 };
        let mut object = generator.object(&set[at % set.len()], changes);
        if random.below(LONG) == 0 {
            lengthen(&mut object, &mut random);
        }
        print(&object, &mut text);
    }
    fs::write(objects.0, text).expect("room for objects");
}

/// Thirty policies, or all there are: the sets of a seed go round through all of them.
fn set(samples: &KyvernoSamples, seed: u64, number: usize) -> Vec<Value> {
    // What a suite answers for a policy is not there for a whole set.
    let mut all: Vec<&Value> = samples
        .policies
        .iter()
        .filter(|policy| policy.values.is_none())
        .map(|policy| &policy.document)
        .collect();
    let mut random = SplitMix64(seed);
    for last in (1..all.len()).rev() {
        all.swap(last, random.index(last + 1));
    }
    let first = number * MATCHING;
    let turned: BTreeSet<usize> = (first..first + MATCHING).map(|at| at % all.len()).collect();
    turned.into_iter().map(|at| all[at].clone()).collect()
}

/// Makes one list or map of an object longer.
fn lengthen(object: &mut Value, random: &mut SplitMix64) {
    let may_be_longer = |at: &Pointer| match object.pointed(at) {
        Some(Value::Object(members)) => {
            at.segments().len() > 1 && members.values().all(|member| member.as_str().is_some())
        }
        Some(Value::Array(items)) => !items.is_empty(),
        _ => false,
    };
    let found: Vec<Pointer> = places(object).into_iter().filter(may_be_longer).collect();
    let Some(at) = found.get(random.index(found.len())) else { return };
    let factor = 1_usize << random.below(MAX_POWER + 1);
    let Some(found) = object.pointed_mut(at.segments()) else { return };
    if let Some(items) = found.as_array_mut() {
        let given = items.clone();
        for copy in 1..factor {
            items.extend(given.iter().cloned().map(|item| renamed(item, copy)));
        }
    } else {
        for copy in 1..factor {
            found.insert(format!("more.example.com/entry-{copy:03}"), format!("value {copy}").into());
        }
    }
}

/// An element of a list under another name.
fn renamed(mut item: Value, copy: usize) -> Value {
    if let Some(name) = item.get("name").and_then(Value::as_str) {
        let name = format!("{name}-{copy}");
        item.insert("name", name.into());
    }
    item
}
