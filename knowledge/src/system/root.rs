//! Reads small files below a root directory.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// `/proc/cpuinfo` of the largest machines is shorter; longer files are rejected.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// No machine has more numbered objects; further directory entries are ignored.
const ENTRIES_MAX: usize = 1 << 16;

/// The directory that contains `/proc` and `/sys`.
#[derive(Clone, Debug)]
pub(super) struct Root(PathBuf);

impl Root {
    pub(super) fn new(path: PathBuf) -> Self {
        // If the directory does not exist, every file is missing.
        Self(fs::canonicalize(&path).unwrap_or(path))
    }

    /// Reads a file. Returns `None` if it does not exist, and an error text if it cannot be read.
    pub(super) fn text(&self, path: &str) -> Result<Option<String>, String> {
        match self.bytes(path, FILE_BYTES_MAX + 1) {
            Ok(bytes) if bytes.len() as u64 > FILE_BYTES_MAX => Err(format!("`{path}` is too long")),
            Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| format!("`{path}` is not text")),
            Err(error) if absent(&error) => Ok(None),
            Err(error) => Err(format!("`{path}` cannot be read: {error}")),
        }
    }

    /// Reads the first `bytes_max` bytes of a file, with invalid UTF-8 replaced.
    pub(super) fn start(&self, path: &str, bytes_max: u64) -> Option<String> {
        Some(String::from_utf8_lossy(&self.bytes(path, bytes_max).ok()?).into_owned())
    }

    /// Returns the numbers of directory entries named `prefix` and a number; none if there is no
    /// such directory.
    pub(super) fn numbered_entries(&self, folder: &str, prefix: &str) -> BTreeSet<u32> {
        let Ok(folder) = self.below(folder) else { return BTreeSet::new() };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let number = |name: &str| name.strip_prefix(prefix)?.parse().ok();
        entries.filter_map(|entry| number(entry.file_name().to_str()?)).take(ENTRIES_MAX).collect()
    }

    fn bytes(&self, path: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
        let path = self.below(path)?;
        // A pipe or device could block the reader.
        if !fs::metadata(&path)?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(bytes_max).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Resolves a path below the root. Neither `..` nor a symbolic link leads out of it.
    fn below(&self, path: &str) -> io::Result<PathBuf> {
        let outside = || io::Error::new(ErrorKind::PermissionDenied, "it is not below the root");
        let mut below = self.0.clone();
        for component in Path::new(path.trim_start_matches('/')).components() {
            match component {
                Component::Normal(name) => below.push(name),
                Component::CurDir => {}
                _ => return Err(outside()),
            }
        }
        if self.0 != Path::new("/") && !fs::canonicalize(&below)?.starts_with(&self.0) {
            return Err(outside());
        }
        Ok(below)
    }
}

fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_the_root_is_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "outside").unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        fs::write(folder.path().join("root/file"), "inside").unwrap();
        let root = Root::new(folder.path().join("root"));
        assert_eq!(root.text("/file"), Ok(Some("inside".to_string())));
        assert_eq!(root.text("./file"), Ok(Some("inside".to_string())));
        assert_eq!(root.text("/none"), Ok(None));
        assert_eq!(root.text("/file/none"), Ok(None));
        assert!(root.text("/../secret").is_err());
        assert!(root.text("/").is_err());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("../secret", folder.path().join("root/link")).unwrap();
            assert!(root.text("/link").is_err());
            std::os::unix::fs::symlink("file", folder.path().join("root/near")).unwrap();
            assert_eq!(root.text("/near"), Ok(Some("inside".to_string())));
        }
    }
}
