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

/// The figures that pages show are those of the published run.
#[test]
fn figures_of_the_benchmark_are_those_of_its_last_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let (table, page, readme) =
        (read("docs/benchmark/table.md"), read("docs/benchmark/README.md"), read("README.md"));
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 10, "{rows:?}");
    assert!(rows.iter().all(|row| table.lines().any(|line| line == *row)), "the page differs from table.md");
    let row = rows.iter().find(|row| row.contains("kyv : Kyverno CLI, wall")).unwrap();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let sentence =
        format!("1,000 objects and 30 policies in {}, where the Kyverno CLI takes {}", cells[2], cells[3]);
    assert!(readme.contains(&sentence), "the README does not say: {sentence}");
}
