//! The paths of an application.

use std::path::{Component, Path, PathBuf};

/// The folder that Argo CD unpacked for an application: the current folder without the folders of the repository that lead
/// to it.
///
/// Argo CD may unpack only the common root of `argocd.argoproj.io/manifest-generate-paths`, so that some of these folders
/// may be missing.
pub fn tree_of(folder: &Path, source_path: &str) -> PathBuf {
    let mut tree = folder;
    for name in Path::new(source_path).components().rev() {
        match (name, tree.file_name(), tree.parent()) {
            (Component::CurDir, ..) => {}
            (Component::Normal(name), Some(last), Some(above)) if name == last => tree = above,
            _ => break,
        }
    }
    tree.to_owned()
}

/// The path of a parameter, if it leads downwards from the folder of the application.
///
/// # Errors
///
/// Why it does not.
pub fn below(path: &str) -> Result<&Path, &'static str> {
    if path.is_empty() || path.contains('\0') {
        return Err("not a path");
    }
    let path = Path::new(path);
    for component in path.components() {
        match component {
            Component::Normal(_) | Component::CurDir => {}
            Component::ParentDir => {
                return Err("leads upwards (..); paths start in the application's folder");
            }
            Component::RootDir | Component::Prefix(_) => {
                return Err("absolute; paths start in the application's folder");
            }
        }
    }
    Ok(path)
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
        for (folder, source_path, tree) in [
            ("/tmp/u/apps/web", "apps/web", "/tmp/u"),
            ("/tmp/u/apps/web", "./apps/web/", "/tmp/u"),
            // Only `apps` was sent.
            ("/tmp/u/web", "apps/web", "/tmp/u"),
            ("/tmp/u", ".", "/tmp/u"),
            ("/tmp/u", "", "/tmp/u"),
            ("/tmp/u/apps/web", "other", "/tmp/u/apps/web"),
            ("/tmp/u/web", "../web", "/tmp/u"),
            ("/tmp/u/web", "..", "/tmp/u/web"),
            ("/", "a", "/"),
        ] {
            assert_eq!(tree_of(Path::new(folder), source_path), Path::new(tree), "{folder} {source_path}");
        }
    }

    #[test]
    fn paths_of_parameters_lead_downwards() {
        for path in ["values.yaml", "./a/b.yaml", "a", "a b", "$(id)"] {
            assert_eq!(below(path), Ok(Path::new(path)));
        }
        for path in ["", "/etc/passwd", "../a", "a/../../b", "a/..", "a\0b"] {
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
