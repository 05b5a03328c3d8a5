//! Finding test suites, and reading the files that they name.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::yaml::{Document, Limits};

use super::paths::{is_folder, walk_folder};
use super::text::{read_documents, read_files};
use super::{Location, SourceError, Walk};

/// The files of these names in a folder and in all folders below it, hidden ones included, in the order of
/// their paths. Links to folders are not followed. A file stands for itself.
///
/// # Errors
///
/// Folders that cannot be read.
pub fn find_suites(root: &Path, names: &[&OsStr]) -> Result<Vec<PathBuf>, SourceError> {
    let metadata = fs::metadata(root);
    if !metadata.map_err(|cause| SourceError::unreadable(root.display().to_string(), cause))?.is_dir() {
        return Ok(vec![root.to_owned()]);
    }
    let mut found =
        walk_folder(root, |entry| is_folder(entry) || names.contains(&entry.file_name().as_os_str()))?;
    found.sort();
    Ok(found)
}

/// The documents of a file, or of all files of a folder without those below dot folders.
///
/// # Errors
///
/// Files that cannot be read, and every syntax error.
pub fn read_all(argument: &Path, limits: &Limits) -> Result<Vec<Document>, Vec<SourceError>> {
    let mut documents = Vec::new();
    let mut errors = Vec::new();
    for file in read_files(argument, Walk::DeepWithoutDots, limits) {
        match file {
            Ok((_, read)) => documents.extend(read),
            Err(unreadable) => errors.extend(unreadable),
        }
    }
    if errors.is_empty() { Ok(documents) } else { Err(errors) }
}

/// The documents of one file, without empty ones.
///
/// # Errors
///
/// As [`read_all`].
pub fn read_file(path: &Path, limits: &Limits) -> Result<Vec<Document>, Vec<SourceError>> {
    read_documents(&Location::file(path), limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_folders_are_searched_and_other_names_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["b/kyverno-test.yaml", "a/.kyverno-test/kyverno-test.yml", "a/kyverno-test.yaml.bak"] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let names = ["kyverno-test.yaml", "kyverno-test.yml"].map(OsStr::new);
        let found = find_suites(folder.path(), &names).unwrap();
        let found: Vec<_> = found.iter().map(|path| path.strip_prefix(folder.path()).unwrap()).collect();
        assert_eq!(found, [Path::new("a/.kyverno-test/kyverno-test.yml"), Path::new("b/kyverno-test.yaml")]);
        let file = folder.path().join("b/kyverno-test.yaml");
        assert_eq!(find_suites(&file, &names).unwrap(), [file]);
        assert!(find_suites(&folder.path().join("c"), &names).is_err());
    }
}
