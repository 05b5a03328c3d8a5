//! `KUBECTL_EXTERNAL_DIFF`: a program that compares two directories, as `kubectl diff` runs it.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::diagnostics::{Code, Coded};
use crate::render::{
    DocumentView, Format, FormatWriter, ObjectView, Prepared, masked_states, printable_line,
};
use crate::resources::KindScope;
use crate::resources::builtin_scope;
use crate::value::ObjectRef;

use super::exit::Exit;
use super::reporter::Reporter;

const VARIABLE: &str = "KUBECTL_EXTERNAL_DIFF";

/// The longest name of a file.
const NAME_BYTES: usize = 240;

/// Why the program shows no diff.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExternalDiffError {
    #[error("{VARIABLE}: the directories for `{program}` cannot be written: {cause}")]
    Unwritten { program: String, cause: io::Error },
    #[error("{VARIABLE}: failed to run `{program}`: {cause}")]
    NotStarted { program: String, cause: io::Error },
    #[error("{VARIABLE}: `{program}` failed: {status}")]
    Failed { program: String, status: std::process::ExitStatus },
}

impl Coded for ExternalDiffError {
    fn code(&self) -> Code {
        match self {
            Self::Unwritten { .. } => Code::Unwritable,
            Self::NotStarted { .. } => Code::NoProgram,
            Self::Failed { .. } => Code::ProgramFailed,
        }
    }
}

/// A program that compares the directories with the objects before and after.
#[derive(Debug)]
pub(super) struct ExternalDiff {
    program: String,
    arguments: Vec<String>,
    /// Arguments that kubectl ignores, too.
    ignored: Vec<String>,
    /// The namespace of objects that name none.
    namespace: String,
    directories: OnceLock<Directories>,
    /// Whether the program found differences; not set unless it ran.
    differs: OnceLock<bool>,
}

/// The objects before and after, one file each.
#[derive(Debug)]
struct Directories {
    before: TempDir,
    after: TempDir,
}

impl ExternalDiff {
    /// The program that the environment names, if it names one.
    pub(super) fn from_environment(namespace: &str) -> Option<Self> {
        let line = env::var(VARIABLE).ok().filter(|line| !line.is_empty())?;
        Some(Self::parse(&line, namespace))
    }

    /// As kubectl reads it: words with other characters than letters, digits, `-` and `=` are ignored.
    fn parse(line: &str, namespace: &str) -> Self {
        let mut words = line.split(' ');
        let program = words.next().unwrap_or_default().to_owned();
        let is_plain = |word: &String| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '=')
        };
        let (arguments, ignored) = words.map(str::to_owned).partition(is_plain);
        Self {
            program,
            arguments,
            ignored,
            namespace: namespace.to_owned(),
            directories: OnceLock::new(),
            differs: OnceLock::new(),
        }
    }

    /// Runs the program on the directories, if any object changed. Errors are reported.
    pub(super) fn run(&self, reporter: &mut Reporter) {
        let ignored = self.ignored.iter().filter(|word| !word.is_empty()).map(|word| printable_line(word));
        let ignored: Vec<String> = ignored.collect();
        if !ignored.is_empty() {
            let words = ignored.join(" ");
            reporter.note(
                Code::UnusedOption,
                format_args!("{VARIABLE}: ignored, as kubectl ignores it: {words}"),
            );
        }
        let Some(directories) = self.directories.get() else { return };
        match self.compare(directories) {
            Ok(differs) => {
                // It runs once.
                let _is_first = self.differs.set(differs);
            }
            Err(error) => reporter.error(Exit::Input, error.code(), error),
        }
    }

    /// Whether the program ran and found no difference.
    pub(super) fn finds_nothing(&self) -> bool {
        self.differs.get() == Some(&false)
    }

    fn compare(&self, directories: &Directories) -> Result<bool, ExternalDiffError> {
        let mut command = Command::new(&self.program);
        command.arg(directories.before.path()).arg(directories.after.path()).args(&self.arguments);
        let program = || printable_line(&self.program);
        let status =
            command.status().map_err(|cause| ExternalDiffError::NotStarted { program: program(), cause })?;
        match status.code() {
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            _ => Err(ExternalDiffError::Failed { program: program(), status }),
        }
    }

    /// The directories, which are made for the first object.
    fn directories(&self) -> io::Result<&Directories> {
        if let Some(directories) = self.directories.get() {
            return Ok(directories);
        }
        let new = |prefix| tempfile::Builder::new().prefix(prefix).tempdir();
        let made = Directories { before: new("LIVE-")?, after: new("MERGED-")? };
        Ok(self.directories.get_or_init(|| made))
    }

    fn file_name(&self, object: &ObjectView<'_>) -> String {
        object.report.object.as_ref().map_or_else(String::new, |object| file_name(object, &self.namespace))
    }
}

impl Format for ExternalDiff {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        let mut prepared = Prepared::default();
        for object in view.changed() {
            let (before, after) = masked_states(object.report);
            prepared.texts.extend([self.file_name(object), before, after]);
        }
        prepared
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(Files { diff: self, names: BTreeSet::new() })
    }
}

/// Writes the files.
struct Files<'a> {
    diff: &'a ExternalDiff,
    names: BTreeSet<String>,
}

impl Files<'_> {
    /// A name that no other object has.
    fn unique(&mut self, name: &str) -> String {
        let numbered = |number: usize| if number == 1 { name.to_owned() } else { format!("{name}.{number}") };
        let free = (1..).map(numbered).find(|name| !self.names.contains(name)).unwrap_or_default();
        self.names.insert(free.clone());
        free
    }
}

impl FormatWriter for Files<'_> {
    fn write(&mut self, _: &DocumentView<'_>, prepared: Prepared, _: &mut dyn Write) -> io::Result<()> {
        for texts in prepared.texts.chunks(3) {
            let [name, before, after] = texts else { continue };
            let name = self.unique(name);
            let write = || {
                let directories = self.diff.directories()?;
                write(directories.before.path(), &name, before)?;
                write(directories.after.path(), &name, after)
            };
            write().map_err(|cause| {
                let program = printable_line(&self.diff.program);
                io::Error::other(ExternalDiffError::Unwritten { program, cause })
            })?;
        }
        Ok(())
    }
}

fn write(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    fs::write(directory.join(name), text)
}

/// The name that kubectl writes: `GROUP.VERSION.KIND.NAMESPACE.NAME`. Manifests can hold names that no API server accepts.
fn file_name(object: &ObjectRef, default_namespace: &str) -> String {
    let kind = &object.kind;
    let group = if kind.group.is_empty() { String::new() } else { format!("{}.", kind.group) };
    let namespace = match &object.namespace {
        Some(namespace) => namespace,
        None if builtin_scope(kind) == KindScope::Cluster => "",
        None => default_namespace,
    };
    let name = format!("{group}{}.{}.{namespace}.{}", kind.version, kind.kind, object.name);
    let is_special =
        |c: char| c.is_control() || "/\\".contains(c) || (cfg!(windows) && "<>:\"|?*".contains(c));
    let mut plain: String = name.chars().map(|c| if is_special(c) { '_' } else { c }).collect();
    plain.truncate(plain.floor_char_boundary(NAME_BYTES));
    plain
}

#[cfg(test)]
mod tests {
    use crate::value::Value;

    use super::*;

    #[test]
    fn files_are_named_as_by_kubectl() {
        for (object, expected) in [
            (
                r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"}}"#,
                "apps.v1.Deployment.shop.web",
            ),
            (r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#, "v1.ConfigMap.default.a"),
            (r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}"#, "v1.Namespace..a"),
            (
                r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"../../x"}}"#,
                "v1.ConfigMap.default..._.._x",
            ),
        ] {
            let object = ObjectRef::of(&Value::from_json(object).unwrap()).unwrap();
            assert_eq!(file_name(&object, "default"), expected);
        }
    }

    #[test]
    fn the_command_line_is_read_as_by_kubectl() {
        let diff = ExternalDiff::parse("dyff between  --color=on -x={} -N", "default");
        assert_eq!(diff.program, "dyff");
        assert_eq!(diff.arguments, ["between", "--color=on", "-N"]);
        assert_eq!(diff.ignored, ["", "-x={}"]);
    }
}
