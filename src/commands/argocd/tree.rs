//! The tree that was unpacked for an application, and what must not lead out of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::argocd::{Start, below, is_out_of_reach, tree_of};
use crate::diagnostics::{Code, Coded};
use crate::value::Value;
use crate::yaml;

const MAX_FOLDER_DEPTH: usize = 256;

/// The folder of an application and the tree around it, links followed.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) folder: PathBuf,
    root: PathBuf,
    /// The path of the root in the repository.
    root_path: PathBuf,
}

/// Why a file of an application is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum TreeError {
    #[error("{path}: cannot be read: {cause}")]
    Unreadable { path: String, cause: io::Error },
    #[error("{path}: {cause}")]
    NotBelow { path: String, cause: &'static str },
    #[error("{path}: not in what Argo CD unpacked (argocd.argoproj.io/manifest-generate-paths)")]
    NotUnpacked { path: String },
    #[error("{path}: a link that leads out of what was unpacked for the application")]
    Link { path: String },
    /// A device or pipe, which may never end.
    #[error("{path}: neither a file nor a folder")]
    Special { path: String },
    #[error("{path}: more than {MAX_FOLDER_DEPTH} folders in each other")]
    TooDeep { path: String },
}

impl Coded for TreeError {
    fn code(&self) -> Code {
        match self {
            Self::Unreadable { .. } => Code::Unreadable,
            Self::NotBelow { .. }
            | Self::NotUnpacked { .. }
            | Self::Link { .. }
            | Self::Special { .. }
            | Self::TooDeep { .. } => Code::NotInApplication,
        }
    }
}

impl Tree {
    /// The tree of the current folder.
    pub(super) fn around(source_path: &str) -> io::Result<Self> {
        let folder = fs::canonicalize(std::env::current_dir()?)?;
        let (root, root_path) = tree_of(&folder, source_path);
        Ok(Self { folder, root, root_path })
    }

    /// Whether a path leads into the tree, links followed.
    pub(super) fn holds(&self, path: &Path) -> bool {
        match fs::canonicalize(path) {
            Ok(real) => real.starts_with(&self.root),
            // Nothing is there, or it is a glob.
            Err(_) => !is_out_of_reach(&self.root, &self.folder, path),
        }
    }

    /// The file or folder that a parameter names.
    pub(super) fn find(&self, path: &str) -> Result<PathBuf, TreeError> {
        let shown = || path.to_owned();
        let (start, below) = below(path).map_err(|cause| TreeError::NotBelow { path: shown(), cause })?;
        let place = match (start, below.strip_prefix(&self.root_path)) {
            (Start::Application, _) => self.folder.join(below),
            (Start::Repository, Ok(rest)) => self.root.join(rest),
            (Start::Repository, Err(_)) => return Err(TreeError::NotUnpacked { path: shown() }),
        };
        match fs::canonicalize(place) {
            Ok(real) if real.starts_with(&self.root) => Ok(real),
            Ok(_) => Err(TreeError::Link { path: shown() }),
            Err(cause) => Err(TreeError::Unreadable { path: shown(), cause }),
        }
    }

    /// Checks that no link leads out of the tree, so that programs read nothing outside of it.
    pub(super) fn check(&self) -> Result<(), TreeError> {
        let mut open = vec![(self.root.clone(), 0)];
        while let Some((folder, depth)) = open.pop() {
            let unreadable = |cause| TreeError::Unreadable { path: self.shown(&folder), cause };
            if depth > MAX_FOLDER_DEPTH {
                return Err(TreeError::TooDeep { path: self.shown(&folder) });
            }
            for entry in fs::read_dir(&folder).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let kind = entry.file_type().map_err(unreadable)?;
                if kind.is_dir() {
                    open.push((entry.path(), depth + 1));
                } else if kind.is_symlink() && self.is_left_by(&folder, &entry.path()).map_err(unreadable)? {
                    return Err(TreeError::Link { path: self.shown(&entry.path()) });
                } else if !kind.is_symlink() && !kind.is_file() {
                    return Err(TreeError::Special { path: self.shown(&entry.path()) });
                }
            }
        }
        Ok(())
    }

    /// A copy of the tree, without `.git`, and the folder of the application in it.
    pub(super) fn copy(&self) -> io::Result<(TempDir, PathBuf)> {
        let copy = tempfile::tempdir()?;
        let root = fs::canonicalize(copy.path())?;
        let mut open = vec![PathBuf::new()];
        while let Some(path) = open.pop() {
            for entry in fs::read_dir(self.root.join(&path))? {
                let entry = entry?;
                let kind = entry.file_type()?;
                let path = path.join(entry.file_name());
                if kind.is_dir() && entry.file_name() != ".git" {
                    fs::create_dir(root.join(&path))?;
                    open.push(path);
                } else if kind.is_file() {
                    fs::copy(entry.path(), root.join(&path))?;
                } else if kind.is_symlink() {
                    copy_link(&entry.path(), &root.join(&path), (&self.root, &root))?;
                }
            }
        }
        let folder = self.folder.strip_prefix(&self.root).map_err(io::Error::other)?;
        Ok((copy, root.join(folder)))
    }

    /// The first dependency of the application's chart that is a folder outside of the tree, which Helm would pack.
    pub(super) fn chart_out_of_reach(&self) -> Option<String> {
        let files = ["Chart.yaml", "Chart.lock", "requirements.yaml", "requirements.lock"];
        let texts = files.iter().filter_map(|name| fs::read_to_string(self.folder.join(name)).ok());
        let mut folders = texts.filter_map(|text| yaml::parse_value(&text).ok()).flat_map(|chart| {
            let dependencies = chart.get("dependencies").and_then(Value::as_array).unwrap_or_default();
            let addresses = dependencies.iter().filter_map(|one| one.get("repository")?.as_str());
            addresses.filter(|address| address.starts_with("file:")).map(str::to_owned).collect::<Vec<_>>()
        });
        let leads_out = |address: &String| {
            let path = address.trim_start_matches("file:");
            let path = path.strip_prefix("//").unwrap_or(path);
            !self.holds(&self.folder.join(path))
        };
        folders.find(leads_out)
    }

    fn is_left_by(&self, folder: &Path, link: &Path) -> io::Result<bool> {
        match fs::canonicalize(link) {
            Ok(real) => Ok(!real.starts_with(&self.root)),
            // Nothing is there now, or it leads in a ring.
            Err(_) => Ok(is_out_of_reach(&self.root, folder, &fs::read_link(link)?)),
        }
    }

    /// A path as the application knows it.
    fn shown(&self, path: &Path) -> String {
        let known =
            path.strip_prefix(&self.folder).or_else(|_| path.strip_prefix(&self.root)).unwrap_or(path);
        if known.as_os_str().is_empty() { ".".to_owned() } else { known.display().to_string() }
    }
}

/// Copies a link of one tree into another. One that is absolute leads to the same place of the other tree.
#[cfg(unix)]
fn copy_link(link: &Path, copy: &Path, (from, to): (&Path, &Path)) -> io::Result<()> {
    let target = fs::read_link(link)?;
    let target = target.strip_prefix(from).map_or(target.clone(), |inside| to.join(inside));
    std::os::unix::fs::symlink(target, copy)
}

/// Copies what a link of one tree leads to into another.
#[cfg(not(unix))]
fn copy_link(link: &Path, copy: &Path, _: (&Path, &Path)) -> io::Result<()> {
    fs::copy(link, copy).map(drop)
}
