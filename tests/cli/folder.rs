//! The program, run in a folder of its own.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-kyv");

/// A folder that the program runs in.
pub(crate) struct Folder(TempDir);

/// How a run ended.
pub(crate) struct RunOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder for the test"));
        for (name, text) in files {
            let path = folder.path().join(name);
            write(&path, text);
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect("a file can be written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect("the file is there")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(self.path()).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> RunOutput {
        end(self.command(arguments), "")
    }

    pub(crate) fn run_with(&self, arguments: &[&str], stdin: &str) -> RunOutput {
        end(self.command(arguments), stdin)
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    let folder = path.parent().expect("a file is in a folder");
    fs::create_dir_all(folder).and_then(|()| fs::write(path, text)).expect("the file can be written");
}

pub(crate) fn end(mut command: Command, stdin: &str) -> RunOutput {
    if !stdin.is_empty() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().expect("the program starts");
    if let Some(mut pipe) = child.stdin.take() {
        // Bad usage ends the program before it reads anything.
        let _written = pipe.write_all(stdin.as_bytes());
    }
    let output = child.wait_with_output().expect("the program ends");
    RunOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

impl RunOutput {
    /// Asserts exit code and standard output, and that standard error names these.
    #[track_caller]
    pub(crate) fn is(&self, code: i32, stdout: &str, named: &[&str]) {
        let Self { code: ended, stdout: printed, stderr } = self;
        assert_eq!(*ended, Some(code), "{stderr}");
        assert_eq!(printed, stdout, "{stderr}");
        for name in named {
            assert!(stderr.contains(name), "`{name}` is not in:\n{stderr}");
        }
    }
}
