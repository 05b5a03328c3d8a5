//! The pages of `docs/diagnostics`: one for each code of the table, each with an example, and a case for each code.

use std::fs;
use std::path::Path;

use kyv::diagnostics::Code;

/// Codes without a case, because a test cannot bring the machine into that state.
const WITHOUT_CASE: [Code; 3] = [
    // The operating system has no more threads or temporary files.
    Code::System,
    // The kinds of the stub cluster all support dry runs.
    Code::NoDryRun,
    // The disk is full while a recording is written.
    Code::RecordingFailed,
];

#[test]
fn every_code_has_a_page_with_an_example() {
    let index = fs::read_to_string(folder("docs/diagnostics/README.md")).unwrap();
    let summary = fs::read_to_string(folder("docs/SUMMARY.md")).unwrap();
    let mut faults = Vec::new();
    for code in Code::ALL {
        let (page, title) = (code.page(), code.title());
        if !page.starts_with(&format!("# {code}: {title}\n\n")) {
            faults.push(format!("{code}: the page should begin with `# {code}: {title}`"));
        }
        let example = page.split_once("```text\n").map_or("", |(_, example)| example);
        if !["error", "warning", "note"].iter().any(|word| example.starts_with(&format!("{word}[{code}]: ")))
        {
            faults.push(format!("{code}: the example should begin with the code"));
        }
        if !page.contains("\n**Cure.** ") {
            faults.push(format!("{code}: the page has no cure"));
        }
        if !index.lines().any(|line| line == format!("| [{code}]({code}.md) | {title} |")) {
            faults.push(format!("README.md lacks the row of {code}"));
        }
        if !summary.contains(&format!("  - [{code}: {title}](diagnostics/{code}.md)\n")) {
            faults.push(format!("SUMMARY.md lacks the line of {code}"));
        }
    }
    let pages = fs::read_dir(folder("docs/diagnostics")).unwrap().count();
    assert_eq!(pages, Code::ALL.len() + 1, "a page of no code");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_code_is_in_the_expectation_of_a_case() {
    let mut expectations = String::new();
    for area in ["cli", "cluster", "corpus", "pipelines", "suites"] {
        collect(&folder("tests").join(area), &mut expectations);
    }
    let missing: Vec<Code> = Code::ALL
        .into_iter()
        .filter(|code| !WITHOUT_CASE.contains(code))
        .filter(|code| !expectations.contains(&format!("[{code}]")))
        .collect();
    assert!(missing.is_empty(), "no case expects {missing:?}");
}

fn folder(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The texts of all files below a folder.
fn collect(folder: &Path, texts: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, texts);
        } else if let Ok(text) = fs::read_to_string(&path) {
            texts.push_str(&text);
        }
    }
}
