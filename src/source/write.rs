//! Replacing files atomically.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

use super::SourceError;
use super::signals::uninterrupted;

/// Checks that a file still has the content that was read.
///
/// # Errors
///
/// A file that was changed since, or that cannot be read any more.
pub fn check_unchanged(path: &Path, content: &[u8]) -> Result<(), SourceError> {
    let fail = |cause| SourceError::unwritable(path.display().to_string(), cause);
    if fs::read(path).map_err(fail)? == content {
        return Ok(());
    }
    Err(fail(io::Error::other("it was changed since it was read")))
}

/// Replaces the content of a file: a new file beside it is written, synced and renamed. The file keeps its permissions
/// and its owner; of a link the file that it leads to is replaced.
///
/// # Errors
///
/// Errors of the system, after which the file is unchanged.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), SourceError> {
    replace(path, content, || Ok(()))
}

/// Writes a file that does not exist yet, atomically, and its folder.
///
/// # Errors
///
/// A file that exists; errors of the system, after which there is none.
pub fn create_file(path: &Path, content: &[u8]) -> Result<(), SourceError> {
    let fail = |cause| SourceError::unwritable(path.display().to_string(), cause);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(fail)?;
    }
    uninterrupted(|| {
        let (file, _) = temporary_file(path, content).map_err(fail)?;
        file.as_file().sync_all().map_err(fail)?;
        file.persist_noclobber(path).map(drop).map_err(|error| fail(error.error))
    })
}

/// As [`replace_file`], unless the file was changed since it was read.
///
/// # Errors
///
/// As [`replace_file`] and [`check_unchanged`].
pub fn replace_read_file(path: &Path, read: &[u8], content: &[u8]) -> Result<(), SourceError> {
    replace(path, content, || check_unchanged(path, read))
}

fn replace(
    path: &Path,
    content: &[u8],
    check: impl FnOnce() -> Result<(), SourceError>,
) -> Result<(), SourceError> {
    let fail = |cause| SourceError::unwritable(path.display().to_string(), cause);
    let target = fs::canonicalize(path).map_err(fail)?;
    let metadata = fs::metadata(&target).map_err(fail)?;
    let permissions = metadata.permissions();
    if permissions.readonly() {
        return Err(fail(io::ErrorKind::PermissionDenied.into()));
    }
    uninterrupted(|| {
        let (file, folder) = temporary_file(&target, content).map_err(fail)?;
        keep_owner(file.as_file(), &metadata).map_err(fail)?;
        file.as_file().set_permissions(permissions).map_err(fail)?;
        file.as_file().sync_all().map_err(fail)?;
        check()?;
        file.persist(&target).map_err(|error| fail(error.error))?;
        // The rename is durable once the folder is synced. Where folders cannot be opened as files the system does it.
        if let Ok(folder) = fs::File::open(folder) {
            let _synced = folder.sync_all();
        }
        Ok(())
    })
}

/// Gives a new file the owner and the group of the one that it replaces.
#[cfg(unix)]
fn keep_owner(file: &fs::File, old: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let new = file.metadata()?;
    let differs = |old: u32, new: u32| (old != new).then_some(old);
    match (differs(old.uid(), new.uid()), differs(old.gid(), new.gid())) {
        (None, None) => Ok(()),
        (owner, group) => fchown(file, owner, group),
    }
}

/// Other systems set the owner by the folder.
#[cfg(not(unix))]
fn keep_owner(_: &fs::File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Writes a file atomically, in place of one of its name.
pub(super) fn write_file(path: &Path, content: &[u8]) -> Result<(), SourceError> {
    let fail = |cause| SourceError::unwritable(path.display().to_string(), cause);
    let (file, _) = temporary_file(path, content).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(path).map(drop).map_err(|error| fail(error.error))
}

/// A file beside another one, to be renamed, and their folder.
fn temporary_file<'a>(path: &'a Path, content: &[u8]) -> io::Result<(NamedTempFile, &'a Path)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".kyv-").suffix(".tmp").tempfile_in(folder)?;
    file.write_all(content)?;
    Ok((file, folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_has_only_the_new_content_and_no_temporary_file_remains() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        fs::write(&path, "old and long").unwrap();
        replace_file(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_was_changed_since_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        fs::write(&path, "theirs").unwrap();
        let error = replace_read_file(&path, b"read", b"ours").unwrap_err();
        assert!(error.to_string().contains("it was changed since"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        replace_read_file(&path, b"theirs", b"ours").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.yaml"), folder.path().join("link.yaml"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("a.yaml", &link).unwrap();
        replace_file(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = replace_file(&folder.path().join("a.yaml"), b"").unwrap_err();
        assert!(error.to_string().ends_with("cannot be written: no such file or directory"), "{error}");
    }
}
