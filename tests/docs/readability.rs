//! The README is short, and sentences of the README and of help texts are.

use std::fs;
use std::path::Path;

use test_support::files::files_below;

const MAX_LINES: usize = 150;
const MAX_WORDS: usize = 30;

/// The sentences of a text: units are lines that belong together, such as a paragraph or a cell of a table.
fn sentences(units: &[String]) -> Vec<&str> {
    let mut sentences = Vec::new();
    for unit in units {
        let mut start = 0;
        for (end, _) in unit.match_indices([' ', '\n']) {
            if unit[..end].ends_with(['.', '!', '?']) {
                sentences.push(unit[start..end].trim());
                start = end;
            }
        }
        sentences.push(unit[start..].trim());
    }
    sentences
}

/// Paragraphs, list items, headings and cells of tables of a Markdown text, without fenced blocks and comments.
fn units_of_markdown(text: &str) -> Vec<String> {
    let mut units = vec![String::new()];
    let mut is_fenced = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            is_fenced = !is_fenced;
        }
        let is_start = ["* ", "- ", "#", "```", "<!--"].iter().any(|start| trimmed.starts_with(start));
        if is_fenced || is_start || trimmed.is_empty() {
            units.push(String::new());
        }
        if is_fenced || trimmed.starts_with("```") || trimmed.starts_with("<!--") {
            continue;
        }
        if trimmed.starts_with('|') {
            units.extend(trimmed.split('|').map(str::to_owned));
            units.push(String::new());
        } else if let Some(unit) = units.last_mut() {
            unit.push(' ');
            unit.push_str(trimmed);
        }
    }
    units
}

/// Descriptions of a help text: lines of one indentation between blank lines; commands of examples are none.
fn units_of_help(text: &str) -> Vec<String> {
    let mut units = vec![String::new()];
    let mut indentation = 0;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let now = line.len() - trimmed.len();
        let is_item = trimmed.starts_with("- ") || trimmed.starts_with('#') || trimmed.contains("  ");
        if trimmed.is_empty() || now != indentation || is_item {
            units.push(String::new());
        }
        indentation = now;
        let is_command =
            ["kubectl", "kustomize", "helm", "kpt", "git"].iter().any(|name| trimmed.starts_with(name));
        if let Some(unit) = units.last_mut().filter(|_| !is_command) {
            unit.push(' ');
            unit.push_str(trimmed);
        }
    }
    units
}

/// The sentences with more words than allowed, after the name of their text.
fn long_sentences(name: &str, units: &[String]) -> Vec<String> {
    let long = |sentence: &&str| sentence.split_whitespace().count() > MAX_WORDS;
    sentences(units).into_iter().filter(long).map(|sentence| format!("{name}: {sentence}")).collect()
}

#[test]
fn the_readme_is_short() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let count = readme.lines().count();
    assert!(count <= MAX_LINES, "{count} lines; at most {MAX_LINES}");
}

#[test]
fn sentences_of_the_readme_and_of_pages_are_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut long = Vec::new();
    for page in files_below(&root.join("docs"), &["md"]).into_iter().chain([root.join("README.md")]) {
        let name = page.strip_prefix(root).unwrap().display().to_string();
        // What programs write.
        let is_generated = ["docs/benchmark/table.md", "docs/catalogue-audit.md"].contains(&&*name);
        if !name.starts_with("docs/divergences/KYV") && !is_generated {
            long.extend(long_sentences(&name, &units_of_markdown(&fs::read_to_string(&page).unwrap())));
        }
    }
    assert!(long.is_empty(), "sentences of more than {MAX_WORDS} words:\n{}", long.join("\n"));
}

#[test]
fn sentences_of_help_texts_are_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let texts = files_below(&root.join("tests/cli/help"), &["txt"]);
    assert!(texts.len() > 10, "{texts:?}");
    let mut long = Vec::new();
    for path in texts {
        let name = path.file_name().unwrap().to_string_lossy();
        long.extend(long_sentences(&name, &units_of_help(&fs::read_to_string(&path).unwrap())));
    }
    assert!(long.is_empty(), "sentences of more than {MAX_WORDS} words:\n{}", long.join("\n"));
}

#[test]
fn long_sentences_are_found() {
    let long = ["word"; 31].join(" ");
    let markdown = units_of_markdown(&format!(
        "# Title\n\n{long}.\nShort.\n\n* {long}\n\n```sh\n{long}\n```\n| {long} | b |\n"
    ));
    assert_eq!(long_sentences("page", &markdown).len(), 3);
    let help = units_of_help(&format!("Usage\n\n  --flag\n      {long}\n\n  # Example\n  kubectl {long}\n"));
    assert_eq!(long_sentences("help", &help).len(), 1);
}
