//! Every policy at hand converts, or says why not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kyv::convert::Outcome;

use crate::pairs::{conversions, documents, error, faults, is_whole, mutator, mutator_as, options, result};

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
const NOT_COMPARED: [&str; 6] = [
    // They hold CEL policies beside the classic one.
    "cel/a-mutating-policy-beside-a-classic-one",
    "cel/an-admission-policy-beside-a-classic-one",
    // An ignored error of a classic policy is reported, one of a CEL policy is not.
    "documents/j10-a-failure-that-is-ignored",
    // The Kyverno CLI and this program leave conditions on users out if the user is not known; a cluster knows it.
    "match/subjects-are-compared-with-the-requester",
    // Server-side apply merges only one of several elements with the same key.
    "strategic-merge/elements-that-share-the-merge-key",
    // Variables in values of the object are not replaced in CEL.
    "variables/text-from-the-object-is-read-again-only-inside-a-longer-text",
];

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
        let new = new.join("---\n");
        let (Ok(classic), Ok(converted)) = (mutator("classic", &text), mutator("converted", &new)) else {
            continue;
        };
        for object in documents(&input) {
            let mut object_text = String::new();
            kyv::yaml::print(&object, &mut object_text);
            let (Ok(one), Ok(other)) =
                (result(&classic, &object_text, false), result(&converted, &object_text, false))
            else {
                continue;
            };
            compared += 1;
            // Where Kyverno does something else than is documented, either is the same.
            let kyverno = mutator_as("classic", &text, kyv::Semantics::Kyverno)
                .map(|classic| result(&classic, &object_text, false));
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
