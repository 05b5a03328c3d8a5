//! Links between the documents of the tree, and the files that they name.

use std::fs;
use std::path::{Path, PathBuf};

use test_support::files::files_below;

/// Links of this form are links into the tree, for pages that are also part of the site.
const REPOSITORY: [&str; 2] = [
    "https://github.com/kubectl-kyv/kubectl-kyv/blob/main/",
    "https://github.com/kubectl-kyv/kubectl-kyv/tree/main/",
];

/// All Markdown files of the tree.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders =
        ["docs", "examples", "tests", ".github"].map(|folder| files_below(&root.join(folder), &["md"]));
    let mut documents = folders.concat();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            documents.push(path);
        }
    }
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

/// The links of a document.
fn links(text: &str) -> Vec<String> {
    let body: String = prose(text).map(|line| format!("{line}\n")).collect();
    body.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect()
}

#[test]
fn links_lead_to_files_and_headings_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut faults = Vec::new();
    let mut count = 0;
    for document in documents() {
        for link in links(&fs::read_to_string(&document).unwrap()) {
            let in_tree = REPOSITORY.iter().find_map(|start| link.strip_prefix(start));
            if in_tree.is_none() && link.contains("://") {
                continue;
            }
            let path = in_tree.unwrap_or(&link);
            let (file, anchor) = path.split_once('#').unwrap_or((path, ""));
            let target = match (in_tree, file) {
                (Some(_), file) => root.join(file),
                (None, "") => document.clone(),
                (None, file) => document.with_file_name(file),
            };
            let is_there = match fs::read_to_string(&target) {
                Ok(text) => anchor.is_empty() || anchors(&text).iter().any(|heading| heading == anchor),
                Err(_) => target.exists() && anchor.is_empty(),
            };
            count += 1;
            if !is_there {
                faults.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(faults.is_empty(), "links that lead nowhere:\n{}", faults.join("\n"));
    assert!(count > 200, "{count} links");
}

/// Pages are part of a site, which has no files outside of `docs/`.
#[test]
fn relative_links_of_pages_stay_in_docs() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").canonicalize().unwrap();
    for page in files_below(&docs, &["md"]) {
        for link in links(&fs::read_to_string(&page).unwrap()) {
            let file = link.split('#').next().unwrap_or_default();
            if file.is_empty() || link.contains("://") {
                continue;
            }
            let target = page.with_file_name(file).canonicalize();
            assert!(target.is_ok_and(|target| target.starts_with(&docs)), "{}: {link}", page.display());
        }
    }
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
                ["src/", "tests/", "docs/", "examples/", "plugin/", "krm-function/"]
                    .iter()
                    .any(|start| text.starts_with(start))
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
