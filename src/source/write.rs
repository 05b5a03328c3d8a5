//! Files replaced as a whole or not at all.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::SourceError;

/// Replaces the content of a file: a new file beside it is written, brought to the disk and renamed. The
/// file keeps its permissions; a link stays one, and the file it leads to is replaced.
///
/// # Errors
///
/// What the system refuses; the file is as it was then.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), SourceError> {
    let fail = |cause| SourceError::unwritable(path.display().to_string(), cause);
    let target = fs::canonicalize(path).map_err(fail)?;
    let permissions = fs::metadata(&target).map_err(fail)?.permissions();
    if permissions.readonly() {
        return Err(fail(std::io::ErrorKind::PermissionDenied.into()));
    }
    let folder = target.parent().unwrap_or_else(|| Path::new("."));
    let mut file =
        tempfile::Builder::new().prefix(".kyv-").suffix(".tmp").tempfile_in(folder).map_err(fail)?;
    file.write_all(content).map_err(fail)?;
    file.as_file().set_permissions(permissions).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(&target).map_err(|error| fail(error.error))?;
    // The rename itself is safe only when the folder is on the disk; where folders cannot be opened as
    // files, the system takes care of it.
    if let Ok(folder) = fs::File::open(folder) {
        let _synced = folder.sync_all();
    }
    Ok(())
}

/// Writes a file that is there as a whole or not at all, in the place of one of the same name.
pub(super) fn write_file(path: &Path, content: &[u8]) -> Result<(), SourceError> {
    let fail = |cause| SourceError::unwritable(path.display().to_string(), cause);
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file =
        tempfile::Builder::new().prefix(".kyv-").suffix(".tmp").tempfile_in(folder).map_err(fail)?;
    file.write_all(content).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(path).map(drop).map_err(|error| fail(error.error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_keeps_nothing_of_the_old_and_leaves_nothing_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        fs::write(&path, "old and long").unwrap();
        replace_file(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
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
    fn a_file_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = replace_file(&folder.path().join("a.yaml"), b"").unwrap_err();
        assert!(error.to_string().ends_with("cannot be written: no such file or directory"), "{error}");
    }
}
