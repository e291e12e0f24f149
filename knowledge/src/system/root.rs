//! Reading small files below a root, and noting what could not be read.

use crate::facts::Gap;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// The longest file that is read: `/proc/cpuinfo` of the largest machines is shorter.
const LONGEST: u64 = 16 << 20;

/// More than any machine has of anything numbered: of what a folder lists beyond, nothing is looked at.
const MOST_NUMBERS: usize = 1 << 16;

/// Where `/proc` and `/sys` are.
#[derive(Clone, Debug)]
pub(super) struct Root(PathBuf);

impl Root {
    pub(super) fn new(path: PathBuf) -> Self {
        // Of a folder that is not there, nothing will be read.
        Self(fs::canonicalize(&path).unwrap_or(path))
    }

    /// What the file says; `None` if there is no such file. An error says why it cannot be used.
    pub(super) fn text(&self, path: &str) -> Result<Option<String>, String> {
        match self.bytes(path, LONGEST + 1) {
            Ok(bytes) if bytes.len() as u64 > LONGEST => Err(format!("`{path}` is too long")),
            Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| format!("`{path}` is not text")),
            Err(error) if absent(&error) => Ok(None),
            Err(error) => Err(format!("`{path}` cannot be read: {error}")),
        }
    }

    /// The first `most` bytes of a file, as far as they are text.
    pub(super) fn start(&self, path: &str, most: u64) -> Option<String> {
        Some(String::from_utf8_lossy(&self.bytes(path, most).ok()?).into_owned())
    }

    /// The numbers of the entries of a folder that are `prefix` and a number; none if there is no such folder.
    pub(super) fn numbered(&self, folder: &str, prefix: &str) -> BTreeSet<u32> {
        let Ok(folder) = self.below(folder) else { return BTreeSet::new() };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let number = |name: &str| name.strip_prefix(prefix)?.parse().ok();
        entries.filter_map(|entry| number(entry.file_name().to_str()?)).take(MOST_NUMBERS).collect()
    }

    fn bytes(&self, path: &str, most: u64) -> io::Result<Vec<u8>> {
        let path = self.below(path)?;
        // Whatever else there may be would make the reader wait.
        if !fs::metadata(&path)?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is no file"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The path below the root. Neither `..` nor a link leads out of it.
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

/// One reading of a machine: the root, and what is missing or contradictory so far.
pub(super) struct Survey<'a> {
    pub(super) root: &'a Root,
    pub(super) gaps: Vec<Gap>,
}

impl<'a> Survey<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        Self { root, gaps: Vec::new() }
    }

    pub(super) fn gap(&mut self, about: impl Into<String>, why: impl Into<String>) {
        self.gaps.push(Gap { about: about.into(), why: why.into() });
    }

    /// What the file says. `None` without a word if there is no such file, and with a gap if it cannot be used.
    pub(super) fn text(&mut self, about: &str, path: &str) -> Option<String> {
        self.root.text(path).unwrap_or_else(|why| {
            self.gap(about, why);
            None
        })
    }

    /// What the file says, where its absence is a gap too.
    pub(super) fn needed(&mut self, about: &str, path: &str) -> Option<String> {
        let known = self.gaps.len();
        let text = self.text(about, path);
        if text.is_none() && self.gaps.len() == known {
            self.gap(about, format!("`{path}` is missing"));
        }
        text
    }

    /// What the file says, as `what`, with which the sentence "… is no such thing" is made.
    pub(super) fn parsed<T: FromStr>(&mut self, about: &str, path: &str, what: &str) -> Option<T> {
        let text = self.text(about, path)?;
        self.understood(about, path, what, &text, |text| text.parse().ok())
    }

    /// What `read` makes of a text of the file; a gap if it makes nothing of it.
    pub(super) fn understood<T>(
        &mut self,
        about: &str,
        path: &str,
        what: &str,
        text: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = read(text.trim());
        if value.is_none() {
            self.gap(about, format!("`{path}` says `{}`, which is no {what}", brief(text)));
        }
        value
    }
}

/// Enough of a text to recognise it, on one line.
pub(crate) fn brief(text: &str) -> String {
    text.trim().chars().take(80).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_is_read() {
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

    #[test]
    fn what_cannot_be_used_is_a_gap_and_what_is_absent_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path().to_path_buf());
        fs::write(folder.path().join("number"), "12\n").unwrap();
        fs::write(folder.path().join("word"), "twelve\n").unwrap();
        fs::write(folder.path().join("bytes"), [0xff, 0xfe]).unwrap();
        let mut survey = Survey::new(&root);
        assert_eq!(survey.parsed("it", "/number", "number"), Some(12));
        assert_eq!(survey.parsed::<u32>("it", "/none", "number"), None);
        assert!(survey.gaps.is_empty());
        assert_eq!(survey.parsed::<u32>("it", "/word", "number"), None);
        assert_eq!(survey.parsed::<u32>("it", "/bytes", "number"), None);
        assert_eq!(survey.needed("it", "/none"), None);
        let why: Vec<_> = survey.gaps.into_iter().map(|gap| gap.why).collect();
        assert_eq!(
            why,
            ["`/word` says `twelve`, which is no number", "`/bytes` is not text", "`/none` is missing"]
        );
    }
}
