//! Links between the documents of the tree, and the files that they name.

use std::fs;
use std::path::{Path, PathBuf};

/// The documents for people: those of the root, of `docs/` and beside the tests.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "tests/corpus/README.md", "tests/tools/README.md"]
            .map(|name| root.join(name))
            .to_vec();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
    }
    documents.sort();
    documents
}

/// The lines of a document outside its fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    })
}

/// The anchors that GitHub makes of the headings of a document.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter_map(|line| line.strip_prefix('#'));
    let anchor = |heading: &str| -> String {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-' || *c == '_');
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_to_files_and_headings_that_are_there() {
    let mut faults = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let body: String = prose(&text).map(|line| format!("{line}\n")).collect();
        let links = body.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { document.clone() } else { document.with_file_name(file) };
            let is_there = match fs::read_to_string(&target) {
                Ok(text) => anchor.is_empty() || anchors(&text).iter().any(|heading| heading == anchor),
                Err(_) => target.exists() && anchor.is_empty(),
            };
            if !is_there {
                faults.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(faults.is_empty(), "links that lead nowhere:\n{}", faults.join("\n"));
}

#[test]
fn files_that_documents_name_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut faults = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for line in prose(&text) {
            let quoted = line.split('`').skip(1).step_by(2);
            let is_path = |text: &&str| {
                let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
                ["src/", "tests/", "docs/"].iter().any(|start| text.starts_with(start))
                    && text.chars().all(plain)
            };
            for path in quoted.filter(is_path).filter(|path| !path.contains("KYV-Dnn")) {
                if !root.join(path).exists() {
                    faults.push(format!("{}: {path}", document.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "files that are not there:\n{}", faults.join("\n"));
}
