//! Sets of policies that a plugin has for some of its applications.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::GenerateError;

/// The folders of the sets that an application chooses, then that of its project.
///
/// # Errors
///
/// Names without a set.
pub(super) fn policy_sets(
    folder: Option<&Path>,
    chosen: &[String],
    project: Option<&str>,
) -> Result<Vec<PathBuf>, GenerateError> {
    let Some(folder) = folder else {
        return if chosen.is_empty() { Ok(Vec::new()) } else { Err(GenerateError::NoPolicySets) };
    };
    let known =
        names(folder).map_err(|cause| GenerateError::UnreadableSets { path: folder.to_owned(), cause })?;
    if let Some(unknown) = chosen.iter().find(|name| !known.contains(name)) {
        return Err(GenerateError::UnknownSet(unknown.clone(), known.join(", ")));
    }
    if let Some(project) = project.filter(|project| !known.iter().any(|name| name == project)) {
        return Err(GenerateError::NoProjectSet(project.to_owned()));
    }
    let names = chosen.iter().map(String::as_str).chain(project);
    Ok(names.map(|name| folder.join(name)).collect())
}

/// The names of the folders below a folder, sorted; without those that start with a dot, as Kubernetes' own in a volume.
fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'));
        if entry.path().is_dir() {
            names.extend(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}
