//! The paths of an application.

use std::path::{Component, Path, PathBuf};

/// The folder that Argo CD unpacked for an application: the current folder without the folders of the repository that lead
/// to it. Then the path of that folder in the repository.
///
/// Argo CD may unpack only the common root of `argocd.argoproj.io/manifest-generate-paths`, so that the path is not empty.
pub fn tree_of(folder: &Path, source_path: &str) -> (PathBuf, PathBuf) {
    let mut tree = folder;
    let mut path = Path::new(source_path).components();
    while let Some(name) = path.clone().next_back() {
        match (name, tree.file_name(), tree.parent()) {
            (Component::CurDir, ..) => {}
            (Component::Normal(name), Some(last), Some(above)) if name == last => tree = above,
            _ => break,
        }
        path.next_back();
    }
    (tree.to_owned(), path.as_path().to_owned())
}

/// Where a path of a parameter starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// In the folder of the application.
    Application,
    /// In the root of the repository, as the paths of Argo CD's own Helm applications with a slash in front.
    Repository,
}

/// The path of a parameter, if it leads downwards from where it starts.
///
/// # Errors
///
/// Why it does not.
pub fn below(path: &str) -> Result<(Start, &Path), &'static str> {
    let (start, path) = match path.strip_prefix('/') {
        Some(path) => (Start::Repository, path),
        None => (Start::Application, path),
    };
    if path.is_empty() || path.contains('\0') {
        return Err("not a path");
    }
    let path = Path::new(path);
    for component in path.components() {
        match component {
            Component::Normal(_) | Component::CurDir => {}
            Component::ParentDir => {
                return Err(
                    "leads upwards (..); paths start in the application's folder, or with / in the repository's",
                );
            }
            Component::RootDir | Component::Prefix(_) => return Err("not a path in the repository"),
        }
    }
    Ok((start, path))
}

/// Whether a link in a folder leads out of a tree, judged by the paths only.
pub fn is_out_of_reach(tree: &Path, folder: &Path, target: &Path) -> bool {
    let mut place = PathBuf::new();
    for component in folder.join(target).components() {
        match component {
            Component::ParentDir => {
                if !place.pop() {
                    return true;
                }
            }
            Component::CurDir => {}
            other => place.push(other),
        }
    }
    !place.starts_with(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_starts_above_the_folders_of_the_repository() {
        for (folder, source_path, tree, path) in [
            ("/tmp/u/apps/web", "apps/web", "/tmp/u", ""),
            ("/tmp/u/apps/web", "./apps/web/", "/tmp/u", ""),
            // Only `apps` was sent.
            ("/tmp/u/web", "apps/web", "/tmp/u", "apps"),
            ("/tmp/u", ".", "/tmp/u", ""),
            ("/tmp/u", "", "/tmp/u", ""),
            ("/tmp/u/apps/web", "other", "/tmp/u/apps/web", "other"),
            ("/tmp/u/web", "../web", "/tmp/u", ".."),
            ("/tmp/u/web", "..", "/tmp/u/web", ".."),
            ("/", "a", "/", "a"),
        ] {
            let expected = (PathBuf::from(tree), PathBuf::from(path));
            assert_eq!(tree_of(Path::new(folder), source_path), expected, "{folder} {source_path}");
        }
    }

    #[test]
    fn paths_of_parameters_lead_downwards() {
        for path in ["values.yaml", "./a/b.yaml", "a", "a b", "$(id)"] {
            assert_eq!(below(path), Ok((Start::Application, Path::new(path))));
        }
        assert_eq!(below("/etc/passwd"), Ok((Start::Repository, Path::new("etc/passwd"))));
        for path in ["", "/", "//a", "/../a", "../a", "a/../../b", "a/..", "a\0b"] {
            assert!(below(path).is_err(), "{path}");
        }
    }

    #[test]
    fn links_are_judged_by_their_paths() {
        for (target, is_out) in [
            ("b", false),
            ("../b", false),
            ("/t/b", false),
            ("../../b", true),
            ("/etc", true),
            ("/t/../etc", true),
            ("../../../../../b", true),
        ] {
            assert_eq!(
                is_out_of_reach(Path::new("/t"), Path::new("/t/a"), Path::new(target)),
                is_out,
                "{target}"
            );
        }
    }
}
