//! Paths, folders and globs, as a user gives them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::SourceError;

/// Folders nested deeper than this are not looked into.
const MAX_FOLDERS: usize = 64;

/// One text to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// Standard input.
    Stdin,
    /// A file.
    File {
        /// Its path as given, or below the folder that was given.
        path: PathBuf,
        /// Whether the user named this very file, rather than a folder or a glob.
        named: bool,
    },
}

impl Location {
    /// What messages call it.
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => "stdin".to_owned(),
            Self::File { path, .. } => path.display().to_string(),
        }
    }
}

/// How folders are looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The files of the folder alone.
    Flat,
    /// All folders below, too.
    Deep,
    /// All folders below but those whose names start with a dot.
    DeepWithoutDots,
}

/// The texts that an argument stands for, in the order of their names.
///
/// `-` is standard input. A folder stands for its files that end in `.json`, `.yaml` or `.yml`; a glob for
/// what it fits, unless a file has this very name; a named file is taken whatever its ending.
///
/// # Errors
///
/// Paths that are not there, folders without a file to read, globs that fit nothing, URLs.
pub fn expand(argument: &Path, walk: Walk) -> Result<Vec<Location>, SourceError> {
    if argument == OsStr::new("-") {
        return Ok(vec![Location::Stdin]);
    }
    let shown = argument.display().to_string();
    match fs::metadata(argument) {
        Ok(metadata) if metadata.is_dir() => folder(argument, walk),
        Ok(_) => Ok(vec![Location::File { path: argument.to_owned(), named: true }]),
        Err(_) if shown.starts_with("https://") || shown.starts_with("http://") => {
            Err(SourceError::Url { url: shown })
        }
        Err(_) if shown.contains(['*', '?', '[']) => globbed(argument, shown, walk),
        Err(cause) => Err(SourceError::unreadable(shown, cause)),
    }
}

/// Where a file is, seen from the current folder: below it by the way that leads there, else from the root of
/// the file system. Links are followed, for the file itself is what gets changed.
pub fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().and_then(fs::canonicalize);
    match (here, fs::canonicalize(path)) {
        (Ok(here), Ok(real)) => match real.strip_prefix(here) {
            Ok(below) => below.to_owned(),
            Err(_) => real,
        },
        _ => path.to_owned(),
    }
}

fn globbed(argument: &Path, pattern: String, walk: Walk) -> Result<Vec<Location>, SourceError> {
    let Some(text) = argument.to_str() else {
        return Err(SourceError::BadGlob { pattern, fault: "it is not UTF-8" });
    };
    let matches = glob::glob(text)
        .map_err(|error| SourceError::BadGlob { pattern: pattern.clone(), fault: error.msg })?;
    let mut found = Vec::new();
    for path in matches {
        let path = path.map_err(|error| {
            let path = error.path().display().to_string();
            SourceError::unreadable(path, error.into())
        })?;
        if path.is_dir() {
            found.extend(folder(&path, walk)?);
        } else {
            found.push(Location::File { path, named: false });
        }
    }
    if found.is_empty() { Err(SourceError::EmptyGlob { pattern }) } else { Ok(found) }
}

/// The files of a folder that are read.
fn folder(root: &Path, walk: Walk) -> Result<Vec<Location>, SourceError> {
    let mut found = Vec::new();
    let mut open = vec![(root.to_owned(), 0)];
    while let Some((path, depth)) = open.pop() {
        if path != root && !path.is_dir() {
            found.push(Location::File { path, named: false });
            continue;
        }
        let entries = fs::read_dir(&path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|cause| SourceError::unreadable(path.display().to_string(), cause))?;
        let mut entries: Vec<_> = entries
            .into_iter()
            .filter(|entry| wanted(entry, walk, depth))
            .map(|entry| (entry.path(), depth + 1))
            .collect();
        // The last one is taken next, so the first by name must stand last.
        entries.sort_by(|a, b| b.cmp(a));
        open.extend(entries);
    }
    if found.is_empty() {
        let recursive = walk != Walk::Flat;
        return Err(SourceError::EmptyDirectory { path: root.display().to_string(), recursive });
    }
    Ok(found)
}

/// Whether an entry of a folder is read or looked into. Links to folders are not followed: they may form
/// a ring.
fn wanted(entry: &fs::DirEntry, walk: Walk, depth: usize) -> bool {
    let path = entry.path();
    if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        return match walk {
            Walk::Flat => false,
            Walk::Deep => depth < MAX_FOLDERS,
            Walk::DeepWithoutDots => !hidden && depth < MAX_FOLDERS,
        };
    }
    let readable = path.extension().is_some_and(|extension| {
        ["json", "yaml", "yml"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    });
    readable && !path.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path, argument: &str, walk: Walk) -> Result<Vec<String>, String> {
        let found = expand(&folder.join(argument), walk).map_err(|error| error.to_string())?;
        let relative = |location: &Location| match location {
            Location::File { path, named } => {
                let path = path.strip_prefix(folder).unwrap().display().to_string();
                if *named { format!("{path}!") } else { path }
            }
            Location::Stdin => "-".to_owned(),
        };
        Ok(found.iter().map(relative).collect())
    }

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn folders_are_read_in_the_order_of_names() {
        let folder = tree(&["b.yaml", "a/z.json", "a.yml", ".git/x.yaml", "c.txt", "a/.hidden.yaml"]);
        let names = |walk| names(folder.path(), "", walk).unwrap();
        assert_eq!(names(Walk::Flat), ["a.yml", "b.yaml"]);
        assert_eq!(names(Walk::Deep), [".git/x.yaml", "a/.hidden.yaml", "a/z.json", "a.yml", "b.yaml"]);
        assert_eq!(names(Walk::DeepWithoutDots), ["a/.hidden.yaml", "a/z.json", "a.yml", "b.yaml"]);
    }

    #[test]
    fn globs_and_names_are_told_apart() {
        let folder = tree(&["b.yaml", "a.yaml", "[x].yaml", "d/e.yaml"]);
        let names = |argument| names(folder.path(), argument, Walk::Flat);
        assert_eq!(names("?.yaml").unwrap(), ["a.yaml", "b.yaml"]);
        assert_eq!(names("[x].yaml").unwrap(), ["[x].yaml!"]);
        assert_eq!(names("**/e.yaml").unwrap(), ["d/e.yaml"]);
        assert!(names("*.json").unwrap_err().ends_with("no file matches this glob"));
        assert!(names("z.yaml").unwrap_err().ends_with("z.yaml: cannot be read: no such file or directory"));
    }

    #[test]
    fn addresses_are_refused_by_name() {
        let error = expand(Path::new("https://example.com/a.yaml"), Walk::Flat).unwrap_err();
        assert!(matches!(error, SourceError::Url { .. }));
    }

    #[test]
    fn a_folder_without_manifests_is_an_error() {
        let folder = tree(&["a.txt", "d/e.yaml"]);
        let error = names(folder.path(), "", Walk::Flat).unwrap_err();
        assert!(error.contains("-R"), "{error}");
    }
}
