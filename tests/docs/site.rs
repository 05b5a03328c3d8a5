//! The site that mdBook makes of `docs/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use test_support::files::files_below;

#[test]
fn the_summary_names_each_page_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let book = fs::read_to_string(root.join("book.toml")).unwrap();
    assert!(book.contains("\nsrc = \"docs\"\n"), "{book}");
    let docs = root.join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let named: Vec<PathBuf> = summary
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .map(|page| docs.join(page))
        .collect();
    let unique: BTreeSet<&PathBuf> = named.iter().collect();
    assert_eq!(unique.len(), named.len(), "a page is named twice");
    let pages = files_below(&docs, &["md"]);
    let pages: BTreeSet<&PathBuf> = pages.iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(unique, pages);
}
