//! Atomic file writing: a file is written completely or not at all.

use crate::failure::Failure;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

/// Checks that a file can be written, so that this fails before hours of work and not after them.
///
/// # Errors
///
/// A usage error with the path and the reason.
pub fn check(path: &Path) -> Result<(), Failure> {
    let attempt = || {
        if path.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        let target = Target::of(path)?;
        let file = target.open()?;
        target.discard();
        drop(file);
        Ok(())
    };
    attempt().map_err(|error| Failure::Usage(cannot_write(path, &error)))
}

/// Writes a temporary file beside the path and renames it, so that no reader sees a partial file,
/// and an old file survives if the disk is full.
///
/// # Errors
///
/// An output error with the path and the reason.
pub fn write(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    let attempt = || {
        let target = Target::of(path)?;
        let mut file = target.open()?;
        let written = file.write_all(contents).and_then(|()| target.finish(&file));
        written.inspect_err(|_| target.discard())
    };
    attempt().map_err(|error| Failure::Output(cannot_write(path, &error)))
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// Where the contents are written.
enum Target {
    /// A temporary file that is renamed to `path` at the end.
    Temporary { temporary: PathBuf, path: PathBuf },
    /// A device or a pipe, which a file must not replace.
    Direct(PathBuf),
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        // Follows symbolic links, so that the file is replaced and not the link.
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_path_buf(),
            Err(error) => return Err(error),
        };
        if fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(Target::Direct(path));
        }
        let name = path.file_name().ok_or_else(|| io::Error::other("it is not the name of a file"))?;
        let temporary = format!(".{}.{}.tmp", name.to_string_lossy(), process::id());
        Ok(Target::Temporary { temporary: path.with_file_name(temporary), path })
    }

    fn open(&self) -> io::Result<File> {
        match self {
            Target::Temporary { temporary, .. } => File::create(temporary),
            Target::Direct(path) => OpenOptions::new().write(true).open(path),
        }
    }

    fn finish(&self, file: &File) -> io::Result<()> {
        if let Target::Temporary { temporary, path } = self {
            file.sync_all()?;
            fs::rename(temporary, path)?;
        }
        Ok(())
    }

    /// Removes the temporary file. A failure to do so is not worth a second error.
    fn discard(&self) {
        if let Target::Temporary { temporary, .. } = self {
            let _ = fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_written_and_replaced_with_nothing_left_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        check(&path).unwrap();
        assert_eq!(names(directory.path()), [""; 0]);
        for contents in ["one", "two"] {
            write(&path, contents.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), contents);
        }
        check(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(names(directory.path()), ["report.json"]);
    }

    #[test]
    fn a_path_that_cannot_be_written_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path().join("no/such/report.json"), directory.path().to_path_buf()] {
            let error = check(&path).unwrap_err().to_string();
            assert!(error.starts_with("cannot write ") && !error.contains('\n'), "{error}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_and_a_device_stays_one() {
        let full = Path::new("/dev/full");
        check(full).unwrap();
        let error = write(full, b"text").unwrap_err().to_string();
        assert!(error.contains("No space left"), "{error}");
        assert!(!fs::metadata(full).unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let [real, link] = ["real", "link"].map(|name| directory.path().join(name));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
