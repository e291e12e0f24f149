//! Writing a file whole or not at all.

use crate::failure::Failure;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

/// Checks, before hours of work, that a file can be written where it is wanted.
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

/// Writes a file: first beside its place, then moved there, so that no reader ever meets half of it and an old one
/// survives if the disk is full.
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

/// Where the contents go.
enum Target {
    /// A file that is moved to its place at the end.
    Beside { temporary: PathBuf, place: PathBuf },
    /// A device or a pipe, which must not be replaced by a file.
    Direct(PathBuf),
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        // Through symbolic links: it is the file that is to be replaced, not the link.
        let place = match fs::canonicalize(path) {
            Ok(place) => place,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_path_buf(),
            Err(error) => return Err(error),
        };
        if fs::metadata(&place).is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(Target::Direct(place));
        }
        let name = place.file_name().ok_or_else(|| io::Error::other("it is not the name of a file"))?;
        let temporary = format!(".{}.{}.tmp", name.to_string_lossy(), process::id());
        Ok(Target::Beside { temporary: place.with_file_name(temporary), place })
    }

    fn open(&self) -> io::Result<File> {
        match self {
            Target::Beside { temporary, .. } => File::create(temporary),
            Target::Direct(path) => OpenOptions::new().write(true).open(path),
        }
    }

    fn finish(&self, file: &File) -> io::Result<()> {
        if let Target::Beside { temporary, place } = self {
            file.sync_all()?;
            fs::rename(temporary, place)?;
        }
        Ok(())
    }

    /// Leaves nothing behind. That the temporary file cannot be removed is not worth a second error.
    fn discard(&self) {
        if let Target::Beside { temporary, .. } = self {
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
    fn what_cannot_be_written_is_said() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path().join("no/such/report.json"), directory.path().to_path_buf()] {
            let error = check(&path).unwrap_err().to_string();
            assert!(error.starts_with("cannot write ") && !error.contains('\n'), "{error}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_said_and_a_device_stays_one() {
        let full = Path::new("/dev/full");
        check(full).unwrap();
        let error = write(full, b"text").unwrap_err().to_string();
        assert!(error.contains("No space left"), "{error}");
        assert!(!fs::metadata(full).unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let [real, link] = ["real", "link"].map(|name| directory.path().join(name));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
