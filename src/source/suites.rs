//! Test suites: where they are, and the documents of the files that they name.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::value::{Pointer, Value};
use crate::yaml::{Document, Limits};

use super::crds::documents_in;
use super::text::read_documents;
use super::{Location, SourceError, Walk, expand};

/// Folders nested deeper than this are not looked into.
const MAX_FOLDERS: usize = 64;

/// The files of these names in a folder and in all folders below it, hidden ones included, in the order of
/// their paths. A file stands for itself. Links to folders are not followed.
///
/// # Errors
///
/// What cannot be read.
pub fn find_suites(root: &Path, names: &[&OsStr]) -> Result<Vec<PathBuf>, SourceError> {
    let fail = |path: &Path, cause| SourceError::unreadable(path.display().to_string(), cause);
    if !fs::metadata(root).map_err(|cause| fail(root, cause))?.is_dir() {
        return Ok(vec![root.to_owned()]);
    }
    let mut found = Vec::new();
    let mut open = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let entries = fs::read_dir(&folder)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|cause| fail(&folder, cause))?;
        for entry in entries {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < MAX_FOLDERS {
                    open.push((entry.path(), depth + 1));
                }
            } else if names.contains(&entry.file_name().as_os_str()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The documents of a file, or of all files of a folder without dot folders.
///
/// # Errors
///
/// What cannot be read, and every syntax error.
pub fn read_all(argument: &Path, limits: &Limits) -> Result<Vec<Document>, Vec<SourceError>> {
    let mut documents = Vec::new();
    let mut faults = Vec::new();
    for location in expand(argument, Walk::DeepWithoutDots).map_err(|error| vec![error])? {
        match read_documents(&location, limits) {
            Ok(read) => documents.extend(read),
            Err(errors) => faults.extend(errors),
        }
    }
    if faults.is_empty() { Ok(documents) } else { Err(faults) }
}

/// The documents of one file that say something.
///
/// # Errors
///
/// As [`read_all`].
pub fn read_file(path: &Path, limits: &Limits) -> Result<Vec<Document>, Vec<SourceError>> {
    read_documents(&Location::File { path: path.to_owned(), named: true }, limits)
}

/// What a document holds: itself, or the items of a `List`, each with its place.
pub fn items_of(document: &Document) -> Vec<(Pointer, Value)> {
    documents_in(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_folders_are_looked_into_and_other_names_are_not_taken() {
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
