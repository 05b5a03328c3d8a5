//! One folder for each construct: `policy.yaml` becomes `expected.yaml`, or is refused as `refused.txt` says.
//!
//! | file | holds |
//! |---|---|
//! | `policy.yaml` | a classic policy; the first line says what the case shows |
//! | `expected.yaml` | the new policies, as they are written |
//! | `refused.txt` | a line for each rule that is not converted: its name, the construct and the reason |
//! | `input.yaml` | objects on which both must have the same result |
//! | `targets.yaml` | stored objects that rules with targets change |
//! | `options` | `accept: NAME`, `to: map` and `semantics: kyverno`, each on a line |
//! | `userinfo.yaml`, `values.yaml`, `context.yaml` | who sends the requests, labels of namespaces, objects to look up |
//!
//! `UPDATE=1` writes `expected.yaml` and `refused.txt`: read the change.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::fs;
use std::path::{Path, PathBuf};

use kyv::Semantics;
use kyv::convert::{Difference, Options, Outcome, Target};

use crate::pairs::{conversions, documents, error, faults, mutator, result};

fn folders() -> Vec<PathBuf> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/convert/cases");
    let mut folders: Vec<PathBuf> = fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

fn options(folder: &Path) -> Options {
    let text = fs::read_to_string(folder.join("options")).unwrap_or_default();
    let mut options = Options::default();
    for line in text.lines() {
        match line.split_once(": ") {
            Some(("accept", name)) => {
                let difference = Difference::ALL.into_iter().find(|difference| difference.name() == name);
                options.accepts.push(difference.unwrap_or_else(|| panic!("{line}")));
            }
            Some(("to", "map")) => options.target = Target::AdmissionPolicy,
            Some(("semantics", "kyverno")) => options.semantics = Semantics::Kyverno,
            _ => panic!("{}: {line}", folder.display()),
        }
    }
    options
}

/// The text of the new policies, and what was refused.
fn converted(text: &str, options: &Options) -> (String, String) {
    let mut policies = Vec::new();
    let mut refused = String::new();
    for (_, conversion) in conversions(text, options) {
        policies.extend(conversion.documents);
        for rule in conversion.rules {
            if let Outcome::Refused(refusal) = rule.outcome {
                refused.extend([format!("{}: {}: {}\n", rule.name, refusal.construct, refusal.reason)]);
            }
        }
    }
    (policies.join("---\n"), refused)
}

#[test]
fn constructs_become_what_their_cases_say() {
    let is_updated = std::env::var_os("UPDATE").is_some();
    let mut wrong = Vec::new();
    for folder in folders() {
        let text = fs::read_to_string(folder.join("policy.yaml")).unwrap();
        let options = options(&folder);
        let (policies, refused) = converted(&text, &options);
        assert_eq!(converted(&text, &options), (policies.clone(), refused.clone()), "{}", folder.display());
        for (file, found) in [("expected.yaml", &policies), ("refused.txt", &refused)] {
            let path = folder.join(file);
            let expected = fs::read_to_string(&path).unwrap_or_default();
            if *found == expected {
                continue;
            }
            if is_updated {
                if found.is_empty() {
                    fs::remove_file(&path).unwrap();
                } else {
                    fs::write(&path, found).unwrap();
                }
            } else {
                wrong.push(format!("{}: expected\n{expected}\nfound\n{found}", path.display()));
            }
        }
        wrong.extend(faults(&policies).into_iter().map(|fault| format!("{}: {fault}", folder.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A case that says nothing cannot fail.
#[test]
fn each_case_says_what_becomes_of_its_policy() {
    let says_nothing =
        |folder: &PathBuf| !folder.join("expected.yaml").exists() && !folder.join("refused.txt").exists();
    let silent: Vec<PathBuf> = folders().into_iter().filter(says_nothing).collect();
    assert!(silent.is_empty(), "{silent:?}");
}

/// A list of words on one line, as a block.
fn unrolled(line: &str) -> String {
    const LISTS: [&str; 6] = ["apiGroups", "apiVersions", "operations", "resources", "controllers", "values"];
    let list = line.trim_end().strip_suffix(']').and_then(|list| list.split_once(": ["));
    let Some((key, words)) = list.filter(|(_, words)| !words.is_empty()) else { return line.to_owned() };
    let name = key.trim_start().trim_start_matches("- ");
    if !LISTS.contains(&name) {
        return line.to_owned();
    }
    let indent = " ".repeat(key.len() - name.len());
    let items = words.split(", ").map(|word| format!("{indent}- {word}\n"));
    format!("{key}:\n{}", items.collect::<String>())
}

/// An expression in quotes, as a block.
fn in_block(line: &str) -> String {
    let Some((key, quoted)) =
        line.split_once("expression: ").filter(|(_, text)| text.starts_with(['\'', '"']))
    else {
        return line.to_owned();
    };
    let text = kyv::yaml::parse_value(quoted).unwrap();
    format!("{key}expression: |-\n{}{}\n", " ".repeat(key.len() + 2), text.as_str().unwrap())
}

/// A new policy that is read and printed again is the same text, but for its comments, lists of words, expressions in quotes, and
/// annotations, which are written as in the classic one.
#[test]
fn new_policies_are_written_as_yaml_is_printed() {
    for folder in folders() {
        let Ok(text) = fs::read_to_string(folder.join("expected.yaml")) else { continue };
        let plain: String = text
            .split_inclusive('\n')
            .filter(|line| !line.trim_start().starts_with("# "))
            .map(unrolled)
            .collect();
        let print = |document: &kyv::value::Value| {
            let mut printed = String::new();
            kyv::yaml::print(document, &mut printed);
            printed.split_inclusive('\n').map(in_block).collect::<String>()
        };
        let spec = |text: &str| text.split_once("\nspec:\n").unwrap().1.to_owned();
        let printed: Vec<String> = documents(&text).iter().map(|document| spec(&print(document))).collect();
        let written: Vec<String> = plain.split("---\n").map(spec).collect();
        assert_eq!(printed, written, "{}", folder.display());
        // No line ends with a blank, unless it is one of an annotation.
        for line in
            plain.split("---\n").flat_map(|text| spec(text).lines().map(str::to_owned).collect::<Vec<_>>())
        {
            assert_eq!(line, line.trim_end(), "{}", folder.display());
        }
    }
}

#[test]
fn both_generations_of_a_case_do_the_same() {
    let mut different = Vec::new();
    for folder in folders() {
        let Ok(input) = fs::read_to_string(folder.join("input.yaml")) else { continue };
        let text = fs::read_to_string(folder.join("policy.yaml")).unwrap();
        let options = options(&folder);
        let (policies, _) = converted(&text, &options);
        let sorts = options.accepts.contains(&Difference::Order);
        let classic = mutator(&folder, "classic", &text, Semantics::default()).unwrap();
        let new = match mutator(&folder, "new", &policies, Semantics::default()) {
            Ok(new) => new,
            Err(error) => {
                different.push(format!("{}: {error}\n{policies}", folder.display()));
                continue;
            }
        };
        for object in documents(&input) {
            let mut object_text = String::new();
            kyv::yaml::print(&object, &mut object_text);
            let (one, other) = (result(&classic, &object_text, sorts), result(&new, &object_text, sorts));
            if one != other {
                let errors = [error(&classic, &object_text), error(&new, &object_text)];
                different.push(format!("{}\n{one:?}\n{other:?}\n{errors:?}", folder.display()));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}
