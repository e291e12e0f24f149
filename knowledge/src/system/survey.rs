//! One reading of a machine, with the gaps found on the way.

use super::root::Root;
use crate::facts::Gap;
use std::str::FromStr;

/// One reading of a machine: the root, and the gaps found so far.
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

    /// Reads a file. A missing file gives `None`; an unreadable one also adds a gap.
    pub(super) fn text(&mut self, about: &str, path: &str) -> Option<String> {
        self.root.text(path).unwrap_or_else(|why| {
            self.gap(about, why);
            None
        })
    }

    /// Reads a file that must exist: a missing one adds a gap, too.
    pub(super) fn required(&mut self, about: &str, path: &str) -> Option<String> {
        let known = self.gaps.len();
        let text = self.text(about, path);
        if text.is_none() && self.gaps.len() == known {
            self.gap(about, format!("`{path}` is missing"));
        }
        text
    }

    /// Reads and parses a file; `what` names the expected content in the gap.
    pub(super) fn parsed<T: FromStr>(&mut self, about: &str, path: &str, what: &str) -> Option<T> {
        let text = self.text(about, path)?;
        self.parse_or_gap(about, path, what, &text, |text| text.parse().ok())
    }

    /// Parses the text of a file with `read`, or adds a gap.
    pub(super) fn parse_or_gap<T>(
        &mut self,
        about: &str,
        path: &str,
        what: &str,
        text: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = read(text.trim());
        if value.is_none() {
            self.gap(about, format!("`{path}` contains `{}`, which is not a valid {what}", brief(text)));
        }
        value
    }
}

/// Returns the beginning of a text on one line, to quote it in a message.
pub(crate) fn brief(text: &str) -> String {
    text.trim().chars().take(80).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_invalid_file_is_a_gap_and_a_missing_one_is_not() {
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
        assert_eq!(survey.required("it", "/none"), None);
        let why: Vec<_> = survey.gaps.into_iter().map(|gap| gap.why).collect();
        assert_eq!(
            why,
            [
                "`/word` contains `twelve`, which is not a valid number",
                "`/bytes` is not text",
                "`/none` is missing"
            ]
        );
    }
}
