//! The programs that are measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The programs, each found when it is first asked for.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) kyv: PathBuf,
    /// This program.
    pub(crate) this: PathBuf,
    kyverno: OnceLock<PathBuf>,
    kustomize: OnceLock<PathBuf>,
}

impl Programs {
    /// The binary that `KYV_BINARY` names, or the one that cargo built with this program, in the same profile.
    ///
    /// # Errors
    ///
    /// Where there is none.
    pub(crate) fn find() -> Result<Self, String> {
        let kyv = std::env::var_os("KYV_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_kubectl-kyv").into());
        let kyv = Path::new(&kyv);
        let kyv = kyv.canonicalize().map_err(|error| format!("KYV_BINARY: {}: {error}", kyv.display()))?;
        if !kyv.is_file() {
            return Err(format!("KYV_BINARY: {}: no file", kyv.display()));
        }
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Self { kyv, this, kyverno: OnceLock::new(), kustomize: OnceLock::new() })
    }

    pub(crate) fn kyverno(&self) -> &Path {
        self.kyverno.get_or_init(|| test_support::tool("kyverno"))
    }

    pub(crate) fn kustomize(&self) -> &Path {
        self.kustomize.get_or_init(|| test_support::tool("kustomize"))
    }

    /// What the programs that were needed say of their versions.
    pub(crate) fn versions(&self) -> Vec<(&'static str, String)> {
        let mut versions = vec![("kyv", said(&self.kyv, "version"))];
        if let Some(kyverno) = self.kyverno.get() {
            versions.push(("Kyverno CLI", said(kyverno, "version")));
        }
        if let Some(kustomize) = self.kustomize.get() {
            versions.push(("kustomize", said(kustomize, "version")));
        }
        versions
    }
}

/// A program of the system.
pub(crate) fn system(name: &str) -> PathBuf {
    let places = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
    places.into_iter().find(|path| path.exists()).unwrap_or_else(|| PathBuf::from(name))
}

/// The first thing that looks like a version.
fn said(program: &Path, argument: &str) -> String {
    let output = Command::new(program).arg(argument).env_clear().stdin(Stdio::null()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let plain = |word: &&str| word.trim_start_matches('v').starts_with(|first: char| first.is_ascii_digit());
    text.split_whitespace().find(plain).unwrap_or("of unknown version").to_owned()
}
