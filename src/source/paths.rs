//! Paths, folders and globs of the command line.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};

use super::SourceError;

/// The deepest nesting of folders that are searched.
const MAX_FOLDER_DEPTH: usize = 64;

/// One text to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// Standard input.
    Stdin,
    /// A file.
    File {
        /// Its path: the argument, or below the folder that is the argument.
        path: PathBuf,
        /// Whether the argument is this very file, rather than a folder or a glob.
        named: bool,
    },
}

impl Location {
    /// The file at a path.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File { path: path.into(), named: true }
    }

    /// Whether the user named it, rather than a folder or a glob.
    pub(super) const fn is_named(&self) -> bool {
        !matches!(self, Self::File { named: false, .. })
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => "stdin".to_owned(),
            Self::File { path, .. } => path.display().to_string(),
        }
    }
}

/// How folders are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// Only the files of the folder itself.
    Flat,
    /// With all folders below.
    Deep,
    /// With all folders below whose names do not start with a dot.
    DeepWithoutDots,
}

/// Files and folders that are left out of arguments.
#[derive(Debug, Default)]
pub struct Exclusions(Vec<Pattern>);

impl Exclusions {
    /// Globs: of names, or with a `/` of paths below the argument.
    ///
    /// # Errors
    ///
    /// The first text that is no glob.
    pub fn new(globs: &[String]) -> Result<Self, SourceError> {
        let pattern = |glob: &String| {
            Pattern::new(glob.trim_end_matches('/'))
                .map_err(|error| SourceError::BadGlob { pattern: glob.clone(), fault: error.msg })
        };
        globs.iter().map(pattern).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a file that an argument stands for is left out, or one of its folders is. A named file is not.
    pub(super) fn leave_out(&self, argument: &Path, location: &Location) -> bool {
        const OPTIONS: MatchOptions = MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: false,
        };
        let Location::File { path, named: false } = location else { return false };
        let below = path.strip_prefix(argument).unwrap_or(path);
        self.0.iter().any(|pattern| {
            let is_path = pattern.as_str().contains('/');
            below.ancestors().any(|part| match part.file_name().filter(|_| !is_path) {
                Some(name) => pattern.matches_with(&name.to_string_lossy(), OPTIONS),
                None => is_path && pattern.matches_path_with(part, OPTIONS),
            })
        })
    }
}

/// The texts that an argument stands for, in the order of their names.
///
/// `-` is standard input. A folder stands for its files that end in `.json`, `.yaml` or `.yml`; a glob for
/// what it matches, unless a file has this very name; a named file may have any ending.
///
/// # Errors
///
/// Missing paths, folders without a file to read, globs that match nothing, URLs.
pub fn expand(argument: &Path, walk: Walk) -> Result<Vec<Location>, SourceError> {
    if argument == OsStr::new("-") {
        return Ok(vec![Location::Stdin]);
    }
    let shown = argument.display().to_string();
    match fs::metadata(argument) {
        Ok(metadata) if metadata.is_dir() => folder(argument, walk),
        Ok(_) => Ok(vec![Location::file(argument)]),
        Err(_) if shown.starts_with("https://") || shown.starts_with("http://") => {
            Err(SourceError::Url { url: shown })
        }
        Err(_) if shown.contains(['*', '?', '[']) => globbed(argument, shown, walk),
        Err(cause) => Err(SourceError::unreadable(shown, cause)),
    }
}

/// The same without files that were read before: `read` are their paths. A file that several arguments name is read once.
pub(super) fn expand_new(
    argument: &Path,
    walk: Walk,
    read: &mut BTreeSet<PathBuf>,
) -> Result<Vec<Location>, SourceError> {
    let mut is_new = |location: &Location| match location {
        Location::File { path, .. } => fs::canonicalize(path).map_or(true, |path| read.insert(path)),
        Location::Stdin => true,
    };
    Ok(expand(argument, walk)?.into_iter().filter(|location| is_new(location)).collect())
}

/// The path of a file: relative if it is below the current folder, else absolute. Links are followed, because the file
/// itself is changed.
pub fn relative_to_current_folder(path: &Path) -> PathBuf {
    let current = std::env::current_dir().and_then(fs::canonicalize);
    match (current, fs::canonicalize(path)) {
        (Ok(current), Ok(real)) => match real.strip_prefix(current) {
            Ok(below) => below.to_owned(),
            Err(_) => real,
        },
        _ => path.to_owned(),
    }
}

/// The path of a file as seen from a folder that may not exist yet.
pub fn relative_to(folder: &Path, file: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (from, to) = (absolute(folder), fs::canonicalize(file).unwrap_or_else(|_| absolute(file)));
    // The part that exists may lead over links.
    let existing = from.ancestors().find(|folder| folder.exists()).unwrap_or(&from);
    let rest = from.strip_prefix(existing).unwrap_or_else(|_| Path::new(""));
    let from = fs::canonicalize(existing).unwrap_or_else(|_| existing.to_owned()).join(rest);
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), to.components().collect());
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..", from.len() - common).map(PathBuf::from);
    let down = to.iter().skip(common).map(|part| PathBuf::from(part.as_os_str()));
    up.chain(down).collect::<PathBuf>().display().to_string()
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
    let found = walk_folder(root, |entry| is_included(entry, walk))?;
    let found: Vec<_> = found.into_iter().map(|path| Location::File { path, named: false }).collect();
    if found.is_empty() {
        let recursive = walk != Walk::Flat;
        return Err(SourceError::EmptyDirectory { path: root.display().to_string(), recursive });
    }
    Ok(found)
}

/// The files below a folder, in the order of their names. `is_included` decides on files and folders.
pub(super) fn walk_folder(
    root: &Path,
    is_included: impl Fn(&fs::DirEntry) -> bool,
) -> Result<Vec<PathBuf>, SourceError> {
    let mut found = Vec::new();
    let mut open = vec![(root.to_owned(), false, 0)];
    while let Some((path, is_file, depth)) = open.pop() {
        if is_file {
            found.push(path);
            continue;
        }
        let entries = fs::read_dir(&path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|cause| SourceError::unreadable(path.display().to_string(), cause))?;
        let included = entries
            .into_iter()
            .filter(|entry| is_included(entry) && (depth < MAX_FOLDER_DEPTH || !is_folder(entry)));
        let mut entries: Vec<_> =
            included.map(|entry| (entry.path(), !is_folder(&entry), depth + 1)).collect();
        // The last one is the next one.
        entries.sort_by(|a, b| b.cmp(a));
        open.extend(entries);
    }
    Ok(found)
}

/// Whether an entry is a folder. Links to folders are not, because they may form a cycle.
pub(super) fn is_folder(entry: &fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// Whether a file is read or a folder is searched.
fn is_included(entry: &fs::DirEntry, walk: Walk) -> bool {
    if is_folder(entry) {
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        return walk == Walk::Deep || walk == Walk::DeepWithoutDots && !is_hidden;
    }
    let path = entry.path();
    let is_manifest = path.extension().is_some_and(|extension| {
        ["json", "yaml", "yml"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    });
    is_manifest && !path.is_dir()
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
    fn a_file_with_the_name_of_a_glob_is_read() {
        let folder = tree(&["b.yaml", "a.yaml", "[x].yaml", "d/e.yaml"]);
        let names = |argument| names(folder.path(), argument, Walk::Flat);
        assert_eq!(names("?.yaml").unwrap(), ["a.yaml", "b.yaml"]);
        assert_eq!(names("[x].yaml").unwrap(), ["[x].yaml!"]);
        assert_eq!(names("**/e.yaml").unwrap(), ["d/e.yaml"]);
        assert!(names("*.json").unwrap_err().ends_with("no file matches this glob"));
        assert!(names("z.yaml").unwrap_err().ends_with("z.yaml: cannot be read: no such file or directory"));
    }

    #[test]
    fn urls_are_refused() {
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
