//! The pages of `docs/diagnostics`: one for each code of the table, each with an example, and a case for each code.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use kyv::diagnostics::Code;
use test_support::files::files_below;

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
    let missing: Vec<Code> =
        Code::ALL.into_iter().filter(|code| !expectations.contains(&format!("[{code}]"))).collect();
    assert!(missing.is_empty(), "no case expects {missing:?}");
}

/// Codes whose example is not printed by a command on the files of the tree: a test brings the machine into that state.
const WITHOUT_RUN: [Code; 4] = [
    // The error names a temporary file of a random name.
    Code::System,
    // A signal ends the run.
    Code::Interrupted,
    // The run takes seconds.
    Code::StoppedEarly,
    // The directory of a recording is gone while the cluster is read.
    Code::RecordingFailed,
];

/// How the example of a page is printed: `<!-- example: [copy of ]FOLDER: [NAME=VALUE…] ARGUMENTS [< FILE] [> FILE] -->`.
/// `TREE` in an argument is the root of the tree.
struct ExampleRun<'p> {
    folder: &'p str,
    /// Whether the command writes files.
    in_copy: bool,
    variables: Vec<(&'p str, &'p str)>,
    arguments: Vec<&'p str>,
    stdin: Option<&'p str>,
    stdout: Option<&'p str>,
}

impl<'p> ExampleRun<'p> {
    fn of(page: &'p str) -> Option<Self> {
        let line = page.lines().find_map(|line| line.strip_prefix("<!-- example: ")?.strip_suffix(" -->"))?;
        let (folder, line) = line.split_once(": ")?;
        let (line, stdout) = line.split_once(" > ").map_or((line, None), |(line, file)| (line, Some(file)));
        let (line, stdin) = line.split_once(" < ").map_or((line, None), |(line, file)| (line, Some(file)));
        let mut words = line.split_whitespace().peekable();
        let mut variables = Vec::new();
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        while let Some(variable) =
            words.peek().and_then(|word| word.split_once('=')).filter(|(name, _)| is_name(name))
        {
            variables.push(variable);
            words.next();
        }
        let copied = folder.strip_prefix("copy of ");
        Some(Self {
            folder: copied.unwrap_or(folder),
            in_copy: copied.is_some(),
            variables,
            arguments: words.collect(),
            stdin,
            stdout,
        })
    }

    /// What the command prints on stderr; for `lint`, whose result are diagnostics, also on stdout.
    fn diagnostics(&self) -> String {
        let copy = tempfile::tempdir().unwrap();
        let mut place = folder(self.folder);
        if self.in_copy {
            copy_files(&place, copy.path());
            copy.path().clone_into(&mut place);
        }
        let stdin =
            self.stdin.map_or_else(Stdio::null, |file| fs::File::open(place.join(file)).unwrap().into());
        let is_result = self.arguments.first() == Some(&"lint");
        let stdout = || if is_result { Stdio::piped() } else { Stdio::null() };
        let stdout = self.stdout.map_or_else(stdout, |file| fs::File::create(file).unwrap().into());
        let run = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
            .args(self.arguments.iter().map(|word| word.replace("TREE", env!("CARGO_MANIFEST_DIR"))))
            .current_dir(place)
            .env_clear()
            .envs(self.variables.iter().copied())
            .stdin(stdin)
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .unwrap();
        String::from_utf8([run.stdout, run.stderr].concat()).unwrap()
    }
}

fn copy_files(from: &Path, to: &Path) {
    for path in files_below(from, &["yaml"]) {
        let copy = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(&path, copy).unwrap();
    }
}

/// The first diagnostic with a code, and the lines that belong to it.
fn diagnostic(output: &str, code: Code) -> Option<String> {
    let is_start = |line: &&str| {
        ["error", "warning", "note"].iter().any(|word| line.starts_with(&format!("{word}[{code}]: ")))
    };
    let mut lines = output.lines().skip_while(|line| !is_start(line));
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
        let is_without = WITHOUT_RUN.contains(&code);
        let Some(example) = ExampleRun::of(&page) else {
            if !is_without {
                faults.push(format!("{code}: no line says how its example is printed"));
            }
            continue;
        };
        if is_without {
            faults.push(format!("{code}: the example is run"));
        }
        let output = example.diagnostics();
        let Some(printed) = diagnostic(&output, code) else {
            faults.push(format!("{code}: the program does not print it:\n{output}"));
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
