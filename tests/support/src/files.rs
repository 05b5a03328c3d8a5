//! Files below a folder.

use std::fs;
use std::path::{Path, PathBuf};

/// The files below a folder whose names end so, those of each folder in order. Links are not followed.
pub fn files_below(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths.into_iter().filter(|path| !path.is_symlink()) {
        if path.is_dir() {
            found.extend(files_below(&path, endings));
        } else if path.extension().is_some_and(|ending| endings.iter().any(|wanted| ending == *wanted)) {
            found.push(path);
        }
    }
    found
}
