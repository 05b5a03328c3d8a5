//! Every policy at hand converts, or says why not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kyv::convert::Outcome;

use kyv::Semantics;
use kyv::policy::{DocumentKind, Policy, kind_of, parse};

use crate::pairs::{conversions, documents, error, faults, is_whole, mutator, normal, options, result};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

/// The folders with policies: the corpus, and Kyverno's own if they are at hand.
fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("tests/corpus")];
    folders.extend(std::env::var_os("KYV_CONFORMANCE").map(PathBuf::from));
    folders
}

/// Cases that are not compared, and why.
const NOT_COMPARED: [&str; 10] = [
    // The roles of a user are looked up, and the cases have no bindings.
    "match/roles-and-cluster-roles-are-exact-and-joined-by-and",
    "match/without-user-info-requesters-do-not-matter",
    "match/exclude-by-role-keeps-out-who-has-it",
    "match/exclude-by-role-needs-user-info",
    // The limits of this program.
    "context/a-variable-that-grows-without-end",
    "context/values-that-grow-without-end",
    // No API server takes their objects: containers without names, a text where the schema has a map.
    "u-08-add-anchors-in-elements-without-names",
    "x-08-another-type-is-replaced",
    // Classic policies run before CEL policies, and the converted one is one of these.
    "cel/a-mutating-policy-beside-a-classic-one",
    // Server-side apply merges only one of several elements with the same key.
    "strategic-merge/elements-that-share-the-merge-key",
];

/// The policies of a text that are not classic ones.
fn others(text: &str) -> Vec<String> {
    let is_other = |document: &kyv::value::Value| match kind_of(document) {
        DocumentKind::Policy => !matches!(parse(document, Semantics::default()), Ok(Policy::Classic(_))),
        DocumentKind::Binding => true,
        _ => false,
    };
    let print = |document: kyv::value::Value| {
        let mut printed = String::new();
        kyv::yaml::print(&document, &mut printed);
        printed
    };
    documents(text).into_iter().filter(is_other).map(print).collect()
}

#[test]
fn every_converted_policy_loads() {
    let mut wrong = Vec::new();
    for folder in folders() {
        let mut found = Vec::new();
        files(&folder, &mut found);
        let (mut rules, mut converted) = (0, 0);
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for file in found {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            for (_, conversion) in conversions(&text, &options(&[])) {
                for rule in &conversion.rules {
                    rules += 1;
                    match &rule.outcome {
                        Outcome::Converted(_) => converted += 1,
                        Outcome::NotChosen => {}
                        Outcome::Refused(refusal) => {
                            *reasons
                                .entry(format!("{}: {}", refusal.construct, refusal.reason))
                                .or_default() += 1;
                            if std::env::var_os("KYV_SHOW").is_some() {
                                eprintln!(
                                    "refused {} {}: {}: {}",
                                    file.display(),
                                    rule.name,
                                    refusal.construct,
                                    refusal.reason
                                );
                            }
                        }
                    }
                }
                for document in &conversion.documents {
                    if std::env::var_os("KYV_SHOW").is_some() {
                        eprintln!("--- {}\n{document}", file.display());
                    }
                    for fault in faults(document) {
                        wrong.push(format!("{}: {fault}\n{document}", file.display()));
                    }
                }
            }
        }
        eprintln!("{}: {converted} of {rules} rules converted", folder.display());
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (reason, count) in reasons {
            eprintln!("{count:4} {reason}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn converted_policies_do_the_same_to_the_objects_of_the_corpus() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"), &mut found);
    let (mut compared, mut different) = (0, Vec::new());
    for file in found.iter().filter(|file| file.ends_with("policy.yaml")) {
        let folder = file.parent().unwrap();
        if NOT_COMPARED.iter().any(|case| folder.ends_with(case)) {
            continue;
        }
        let (Ok(text), Ok(input)) = (fs::read_to_string(file), fs::read_to_string(folder.join("input.yaml")))
        else {
            continue;
        };
        let conversions = conversions(&text, &options(&[]));
        if conversions.is_empty() || !conversions.iter().all(|(_, conversion)| is_whole(conversion)) {
            continue;
        }
        let new: Vec<String> =
            conversions.into_iter().flat_map(|(_, conversion)| conversion.documents).collect();
        let new = new.into_iter().chain(others(&text)).collect::<Vec<_>>().join("---\n");
        let mutator = |name: &str, policies: &str, semantics| mutator(folder, name, policies, semantics);
        let documented = Semantics::default();
        let (Ok(classic), Ok(converted)) =
            (mutator("classic", &text, documented), mutator("converted", &new, documented))
        else {
            continue;
        };
        // An ignored error leaves the object as it is.
        let is_ignored = text.contains("failurePolicy: Ignore");
        for object in documents(&input) {
            let mut object_text = String::new();
            kyv::yaml::print(&object, &mut object_text);
            let result = |mutator: &kyv::Mutator| {
                let result = result(mutator, &object_text, false);
                result.map(|one| if one == "error" && is_ignored { normal(&object).to_json() } else { one })
            };
            let (Ok(one), Ok(other)) = (result(&classic), result(&converted)) else { continue };
            compared += 1;
            // Where Kyverno does something else than is documented, either is the same.
            let kyverno = mutator("classic", &text, Semantics::Kyverno).map(|classic| result(&classic));
            if one != other && kyverno != Ok(Ok(other.clone())) {
                different.push(format!(
                    "{}\n classic {one} {}\n new     {other} {}\n{new}",
                    folder.display(),
                    error(&classic, &object_text),
                    error(&converted, &object_text)
                ));
            }
        }
    }
    eprintln!("{compared} objects compared");
    assert!(different.is_empty(), "{} of {compared}:\n{}", different.len(), different.join("\n"));
}
