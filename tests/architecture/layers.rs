//! Which module may use which, as the architecture page says.
use std::fs;
use std::path::{Path, PathBuf};

use crate::source_tree::src;

/// Module, modules it may use, whether it may use files, processes, the environment or the network.
const MODULES: &[(&str, &[&str], bool)] = &[
    ("value", &[], false),
    ("resources", &["value"], false),
    ("admission", &["resources", "value"], false),
    ("secrets", &["value"], false),
    ("semantics", &[], false),
    ("diagnostics", &[], false),
    ("yaml", &["diagnostics", "semantics", "value"], false),
    ("pattern", &["diagnostics", "semantics", "value"], false),
    ("decode", &["pattern", "value"], false),
    ("regexp", &["value"], false),
    ("formats", &["value"], false),
    ("cel", &["diagnostics", "formats", "regexp", "yaml", "value"], false),
    (
        "jmespath",
        &["diagnostics", "formats", "regexp", "secrets", "semantics", "pattern", "yaml", "value"],
        false,
    ),
    ("variables", &["diagnostics", "secrets", "semantics", "jmespath", "value"], false),
    ("patch", &["diagnostics", "admission", "semantics", "pattern", "yaml", "value"], false),
    (
        "policy",
        &[
            "cel",
            "diagnostics",
            "admission",
            "decode",
            "resources",
            "semantics",
            "jmespath",
            "patch",
            "variables",
            "pattern",
            "yaml",
            "value",
        ],
        false,
    ),
    (
        "convert",
        &[
            "admission",
            "cel",
            "jmespath",
            "patch",
            "pattern",
            "policy",
            "resources",
            "semantics",
            "value",
            "variables",
            "yaml",
        ],
        false,
    ),
    ("report", &["diagnostics", "secrets", "semantics", "value"], false),
    (
        "engine",
        &[
            "cel",
            "diagnostics",
            "admission",
            "resources",
            "secrets",
            "semantics",
            "policy",
            "patch",
            "variables",
            "jmespath",
            "pattern",
            "report",
            "yaml",
            "value",
        ],
        false,
    ),
    (
        "lint",
        &["admission", "cel", "diagnostics", "patch", "pattern", "policy", "semantics", "yaml", "value"],
        false,
    ),
    ("drift", &["admission", "engine", "patch", "report", "value"], false),
    (
        "proof",
        &[
            "admission",
            "cel",
            "diagnostics",
            "engine",
            "jmespath",
            "patch",
            "pattern",
            "policy",
            "regexp",
            "report",
            "resources",
            "secrets",
            "semantics",
            "variables",
            "yaml",
            "value",
        ],
        false,
    ),
    ("check", &["admission", "engine", "policy", "proof", "report", "value"], false),
    (
        "suite",
        &[
            "decode",
            "resources",
            "secrets",
            "semantics",
            "engine",
            "patch",
            "pattern",
            "policy",
            "report",
            "yaml",
            "value",
        ],
        false,
    ),
    ("argocd", &["diagnostics", "decode", "pattern", "yaml", "value"], false),
    ("krm", &["decode", "resources", "secrets", "semantics", "policy", "report", "yaml", "value"], false),
    ("render", &["diagnostics", "resources", "secrets", "semantics", "report", "yaml", "value"], false),
    (
        "source",
        &[
            "diagnostics",
            "admission",
            "decode",
            "resources",
            "secrets",
            "semantics",
            "engine",
            "lint",
            "policy",
            "yaml",
            "value",
        ],
        true,
    ),
    (
        "library",
        &[
            "admission",
            "semantics",
            "source",
            "render",
            "engine",
            "policy",
            "patch",
            "report",
            "yaml",
            "value",
        ],
        false,
    ),
    (
        "commands",
        &[
            "check",
            "convert",
            "diagnostics",
            "admission",
            "cel",
            "decode",
            "drift",
            "lint",
            "resources",
            "secrets",
            "semantics",
            "source",
            "argocd",
            "krm",
            "proof",
            "render",
            "suite",
            "engine",
            "policy",
            "patch",
            "variables",
            "jmespath",
            "pattern",
            "report",
            "yaml",
            "value",
        ],
        true,
    ),
];
const OUTSIDE: &[&str] = &["std::fs", "std::env", "std::net", "std::process", "tokio::", "kube::"];

#[test]
fn modules_use_only_the_modules_below_them() {
    let src = src();
    let is_module = |name: &str| MODULES.iter().any(|module| module.0 == name);
    let mut faults = Vec::new();
    for (module, below, outside) in MODULES {
        for file in rust_files(&src.join(module)) {
            let top = file.ends_with("mod.rs") || file.parent() == Some(src.as_path());
            for (index, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                let mut fault = |text: String| {
                    faults.push(format!("{}:{}: `{module}` {text}", file.display(), index + 1));
                };
                for used in names_after(code, "crate::") {
                    if used.is_empty() {
                        fault("writes `crate::{…}`: one `use crate::<module>` per module".into());
                    } else if used != *module && !below.contains(&used) {
                        fault(format!("may not use `{used}`"));
                    }
                }
                let by_super = top && names_after(code, "super::").any(is_module);
                if by_super || code.contains("super::super::") {
                    fault("leaves by `super`: write `crate::<module>`".into());
                }
                if let Some(word) = OUTSIDE.iter().find(|word| !outside && code.contains(**word)) {
                    fault(format!("may not touch `{word}`"));
                }
            }
        }
    }
    for entry in fs::read_dir(&src).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().display().to_string();
        if !is_module(&name) && name != "lib" && name != "main" {
            faults.push(format!("`{name}` is in src/ but not in MODULES"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The identifier after each `prefix` in a line of code.
fn names_after<'a>(code: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    code.split(prefix).skip(1).map(move |rest| rest.split(|c| !word(c)).next().unwrap_or(rest))
}

/// The files of a module, whether it is a folder or still one file.
pub(crate) fn rust_files(module: &Path) -> Vec<PathBuf> {
    let mut files = vec![module.with_extension("rs")];
    let mut folders = vec![module.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.retain(|path| path.is_file() && path.extension().is_some_and(|extension| extension == "rs"));
    files
}
