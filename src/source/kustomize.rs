//! Building kustomizations with the user's own kustomize.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use crate::yaml::{Limits, Source};

use super::SourceError;
use super::text::bounded;

/// The programs that can build a kustomization.
#[derive(Clone, Debug, Default)]
pub struct Kustomize {
    /// The kubectl that started this program, which is tried first.
    pub kubectl: Option<OsString>,
    /// Further arguments.
    pub options: Vec<String>,
}

impl Kustomize {
    /// Programs with their fixed arguments, in the order they are tried.
    fn programs(&self) -> Vec<(OsString, &'static str)> {
        let own = self.kubectl.iter().filter(|path| !path.is_empty()).map(|path| (path.clone(), "kustomize"));
        own.chain([("kubectl".into(), "kustomize"), ("kustomize".into(), "build")]).collect()
    }
}

/// Builds the kustomization of a folder with the first program that is installed. Its standard error is ours.
///
/// # Errors
///
/// A path that is no folder, no program, a program that fails, output that is too large or not UTF-8.
pub fn kustomize(folder: &Path, programs: &Kustomize, limits: &Limits) -> Result<Arc<Source>, SourceError> {
    let shown = folder.display().to_string();
    if !folder.is_dir() {
        let cause = match folder.metadata() {
            Ok(_) => io::Error::from(io::ErrorKind::NotADirectory),
            Err(cause) => cause,
        };
        return Err(SourceError::unreadable(shown, cause));
    }
    let options = &programs.options;
    let programs = programs.programs();
    for (program, argument) in &programs {
        // A folder must not look like a flag.
        let path = if folder.is_absolute() { folder.to_owned() } else { Path::new(".").join(folder) };
        let child = Command::new(program)
            .arg(argument)
            .arg(path)
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn();
        match child {
            Ok(child) => {
                let program = format!("{} {argument}", program.display());
                return output(child, shown, program, limits);
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => {
                let program = format!("{} {argument}", program.display());
                return Err(SourceError::Program { path: shown, program, status: cause.to_string() });
            }
        }
    }
    let programs: Vec<_> = programs.iter().map(|(program, _)| program.display().to_string()).collect();
    Err(SourceError::NoProgram { path: shown, programs: programs.join(", ") })
}

fn output(
    mut child: Child,
    path: String,
    program: String,
    limits: &Limits,
) -> Result<Arc<Source>, SourceError> {
    let read = child.stdout.take().map_or_else(|| Ok(Vec::new()), |pipe| bounded(pipe, 0, limits));
    // The pipe is closed, so a program that still writes ends.
    let status = child.wait();
    let bytes = read.map_err(|cause| SourceError::unreadable(path.clone(), cause))?;
    match status {
        // Beyond the limit the closed pipe may have ended the program.
        _ if bytes.len() > limits.bytes => {}
        Ok(status) if status.success() => {}
        Ok(status) => return Err(SourceError::Program { path, program, status: status.to_string() }),
        Err(cause) => return Err(SourceError::Program { path, program, status: cause.to_string() }),
    }
    Ok(Arc::new(Source::from_bytes(path, bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calling_kubectl_comes_first() {
        let programs = Kustomize { kubectl: Some("/opt/kubectl".into()), ..Kustomize::default() }.programs();
        assert_eq!(programs[0], ("/opt/kubectl".into(), "kustomize"));
        assert_eq!(Kustomize::default().programs().len(), 2);
    }

    #[test]
    fn a_path_that_is_no_folder_is_refused_before_any_program_runs() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = kustomize(file.path(), &Kustomize::default(), &Limits::default()).unwrap_err();
        assert!(matches!(error, SourceError::Io { .. }), "{error}");
    }
}
