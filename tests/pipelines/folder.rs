//! Temporary folders in which programs run, with `kubectl-kyv` on their PATH.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs, thread};

pub(crate) struct Folder(tempfile::TempDir);

/// How a program ended, and what it said.
#[derive(Debug)]
pub(crate) struct RunOutput {
    pub(crate) success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl RunOutput {
    /// What it printed, having succeeded.
    #[track_caller]
    pub(crate) fn succeeded(self) -> String {
        assert!(self.success, "{}\n{}", self.stderr, self.stdout);
        self.stdout
    }

    /// What it said, having failed without printing anything.
    #[track_caller]
    pub(crate) fn failed(self) -> String {
        assert!(!self.success && self.stdout.is_empty(), "{}\n{}", self.stderr, self.stdout);
        self.stderr
    }
}

impl From<Output> for RunOutput {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("programs speak UTF-8");
        Self { success: output.status.success(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Folder {
    /// A folder with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder can be made"));
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    /// A copy of an example.
    pub(crate) fn example(name: &str) -> Self {
        let folder = Self::with(&[]);
        for (path, text) in files_of(&examples().join(name)) {
            folder.write(&path, &text);
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("it stands in the folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }

    /// Puts one text of a file in the place of another.
    #[track_caller]
    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has no {from:?}");
        self.write(path, &text.replace(from, to));
    }

    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// All its files with their texts.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        files_of(self.path())
    }

    /// Runs a program in the folder.
    pub(crate) fn run(&self, program: &Path, arguments: &[&str]) -> RunOutput {
        self.pipe(program, arguments, "")
    }

    /// Runs a program in the folder with something to read.
    pub(crate) fn pipe(&self, program: &Path, arguments: &[&str], input: &str) -> RunOutput {
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(self.path())
            .env("PATH", path_with_kyv())
            .env("KUSTOMIZE_PLUGIN_HOME", self.path().join("plugins"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        let input = input.to_owned();
        let writer = thread::spawn(move || {
            // One that reads nothing is no failure.
            let _written = stdin.write_all(input.as_bytes());
        });
        let output = child.wait_with_output().expect("the program ends");
        writer.join().expect("the writer ends");
        output.into()
    }
}

pub(crate) fn kyv_program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
}

pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("krm-function/examples")
}

fn path_with_kyv() -> OsString {
    let first = kyv_program().parent().expect("it stands in a folder").to_owned();
    let others = env::var_os("PATH").unwrap_or_default();
    env::join_paths([first].into_iter().chain(env::split_paths(&others))).expect("paths without colons")
}

pub(crate) fn files_of(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(root).expect("it is below").display().to_string();
            found.insert(name, fs::read_to_string(&path).expect("a text"));
        }
    }
    found
}
