//! The pages of `docs/diagnostics`: one for each code of the table, each with an example, and a case for each code.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

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

/// Codes whose example is not printed by a command on the files of the tree, with the reason.
const WITHOUT_RUN: &[(&str, &[Code])] = &[
    ("the machine has to be brought into that state", &[Code::OutputFailed, Code::Interrupted, Code::System]),
    (
        "only a cluster has it; `tests/cluster` expects it",
        &[
            Code::ReplacedPolicy,
            Code::TargetRefused,
            Code::NotReplayable,
            Code::NoSchema,
            Code::Kubeconfig,
            Code::Credentials,
            Code::Refused,
            Code::Unreachable,
            Code::Malformed,
            Code::UnknownResource,
            Code::KindsUnknown,
            Code::NoDryRun,
            Code::NotRecorded,
            Code::RecordingFailed,
            Code::NoRecording,
            Code::NoObjectOfName,
            Code::MoreErrors,
            Code::DryRunRefused,
            Code::NoResources,
            Code::NotInCluster,
            Code::OtherVersion,
            Code::Inconsistent,
            Code::RightsNotChecked,
            Code::ClusterNote,
            Code::Excluded,
            Code::RunningKyverno,
            Code::LeftOut,
        ],
    ),
    (
        "the command writes files or reads earlier results; `tests/suites` expects it",
        &[Code::NotUpdated, Code::RuleWithoutRow],
    ),
    (
        "Argo CD sets the environment of the run; `tests/pipelines` expects it",
        &[
            Code::NoManifests,
            Code::NoProgram,
            Code::ProgramFailed,
            Code::ArgocdParameter,
            Code::NotInApplication,
            Code::PolicySets,
            Code::ProgramNote,
        ],
    ),
];

/// The comment of a page that says how its example is printed: `<!-- example: FOLDER: ARGUMENTS -->`.
fn example_command(page: &str) -> Option<(&str, &str)> {
    page.lines().find_map(|line| line.strip_prefix("<!-- example: ")?.strip_suffix(" -->")?.split_once(": "))
}

/// The first diagnostic with a code, and the lines that belong to it.
fn diagnostic(stderr: &str, code: Code) -> Option<String> {
    let is_start = |line: &&str| {
        ["error", "warning", "note"].iter().any(|word| line.starts_with(&format!("{word}[{code}]: ")))
    };
    let mut lines = stderr.lines().skip_while(|line| !is_start(line));
    let mut text = format!("{}\n", lines.next()?);
    let is_further = |line: &&str| {
        let number = line.split_once(" | ").map_or("", |(number, _)| number);
        line.starts_with(' ') || !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    lines.take_while(is_further).for_each(|line| text.extend([line, "\n"]));
    Some(text)
}

/// The example of each page is what the program prints. `UPDATE=1` writes it to the pages.
#[test]
fn examples_are_what_the_program_prints() {
    let mut faults = Vec::new();
    for code in Code::ALL {
        let path = folder("docs/diagnostics").join(format!("{code}.md"));
        let page = fs::read_to_string(&path).unwrap();
        let is_without = WITHOUT_RUN.iter().any(|(_, codes)| codes.contains(&code));
        let Some((place, arguments)) = example_command(&page) else {
            if !is_without {
                faults.push(format!("{code}: no line says how its example is printed"));
            }
            continue;
        };
        if is_without {
            faults.push(format!("{code}: the example is run"));
        }
        let (arguments, input) = arguments.split_once(" < ").unwrap_or((arguments, ""));
        let place = folder(place);
        let stdin =
            if input.is_empty() { Stdio::null() } else { fs::File::open(place.join(input)).unwrap().into() };
        let run = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
            .args(arguments.split_whitespace())
            .current_dir(place)
            .env_clear()
            .stdin(stdin)
            .output()
            .unwrap();
        let stderr = String::from_utf8(run.stderr).unwrap();
        let Some(printed) = diagnostic(&stderr, code) else {
            faults.push(format!("{code}: the program does not print it:\n{stderr}"));
            continue;
        };
        let Some((before, rest)) = page.split_once("```text\n") else { continue };
        let Some((shown, after)) = rest.split_once("```\n") else { continue };
        if shown == printed {
            continue;
        }
        if env::var_os("UPDATE").is_some_and(|update| update == "1") {
            fs::write(&path, format!("{before}```text\n{printed}```\n{after}")).unwrap();
        } else {
            faults.push(format!("{code}: the program prints\n{printed}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
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
