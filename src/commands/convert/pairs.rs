//! Which policies belong together: files and folders of two directories by their names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::source::SourceError;

/// Policies that are compared.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PolicyPair {
    /// The name of the pair, as in the directories.
    pub(super) name: String,
    pub(super) old: PathBuf,
    pub(super) new: PathBuf,
}

/// The pairs of two paths, and the names of the first that the second does not have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pairs {
    pub(super) pairs: Vec<PolicyPair>,
    pub(super) only_old: Vec<String>,
    pub(super) only_new: Vec<String>,
}

/// Pairs two files, or the entries of two directories that have the same names. Directories without a common name are one
/// pair.
///
/// # Errors
///
/// A path that cannot be read.
pub(super) fn pairs(old: &Path, new: &Path) -> Result<Pairs, SourceError> {
    let one = || Pairs {
        pairs: vec![PolicyPair { name: title(old), old: old.to_owned(), new: new.to_owned() }],
        ..Pairs::default()
    };
    if !old.is_dir() || !new.is_dir() {
        return Ok(one());
    }
    let [old_entries, new_entries] = [entries(old)?, entries(new)?];
    let mut found = Pairs::default();
    for (name, old) in &old_entries {
        match new_entries.get(name) {
            Some(new) => {
                found.pairs.push(PolicyPair { name: name.clone(), old: old.clone(), new: new.clone() });
            }
            None => found.only_old.push(name.clone()),
        }
    }
    found.only_new = new_entries.into_keys().filter(|name| !old_entries.contains_key(name)).collect();
    Ok(if found.pairs.is_empty() { one() } else { found })
}

/// The folders and YAML files of a directory by their names without an ending.
fn entries(folder: &Path) -> Result<BTreeMap<String, PathBuf>, SourceError> {
    let unreadable = |cause| SourceError::Io { path: folder.display().to_string(), act: "read", cause };
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_yaml =
            path.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known));
        let name = if path.is_dir() { path.file_name() } else { path.file_stem().filter(|_| is_yaml) };
        let Some(name) = name.map(|name| name.to_string_lossy().into_owned()) else { continue };
        if !name.starts_with('.') {
            found.insert(name, path);
        }
    }
    Ok(found)
}

fn title(path: &Path) -> String {
    let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
    name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_the_same_name_are_pairs() {
        let root = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| root.path().join(name));
        for (folder, file) in [
            (old.join("a"), "x.yaml"),
            (new.join("a"), "y.yaml"),
            (old.clone(), "b.yaml"),
            (new.clone(), "b.yml"),
            (old.clone(), "c.yaml"),
            (new.clone(), "d.yaml"),
            (old.join(".git"), "e.yaml"),
            (old.clone(), "notes.txt"),
        ] {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(file), "").unwrap();
        }
        let found = pairs(&old, &new).unwrap();
        let names: Vec<&str> = found.pairs.iter().map(|pair| &*pair.name).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!((found.only_old, found.only_new), (vec!["c".to_owned()], vec!["d".to_owned()]));
        // Without a common name the directories are compared as a whole.
        let found = pairs(&old.join("a"), &new.join("a")).unwrap();
        assert_eq!(found.pairs.len(), 1);
        assert_eq!((&*found.pairs[0].name, &found.pairs[0].new), ("a", &new.join("a")));
        let found = pairs(&old.join("b.yaml"), &new.join("d.yaml")).unwrap();
        assert_eq!(&*found.pairs[0].name, "b");
    }
}
