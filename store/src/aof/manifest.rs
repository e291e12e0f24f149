//! The manifest of a directory of append-only files.

use crate::resp::words;

/// The files of Redis 7, in the order in which they are loaded.
///
/// ```
/// use xtasking_store::aof::Manifest;
///
/// let text = b"file appendonly.aof.2.base.rdb seq 2 type b\n\
///     file appendonly.aof.1.incr.aof seq 1 type h\n\
///     file appendonly.aof.2.incr.aof seq 2 type i\n";
/// let manifest = Manifest::parse(text)?;
/// assert_eq!(manifest.files(), ["appendonly.aof.2.base.rdb", "appendonly.aof.2.incr.aof"]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    files: Vec<String>,
}

impl Manifest {
    /// Reads the contents of a manifest. Files of the history, which Redis is about to remove, are
    /// left out.
    ///
    /// # Errors
    ///
    /// The line that is wrong, and why: also where a newer version of Redis has another format.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let (mut bases, mut increments) = (Vec::new(), Vec::new());
        let mut last = 0;
        for (number, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let wrong = |why: &str| format!("line {}: {why}", number + 1);
            let line = line.strip_suffix(b"\n").ok_or_else(|| wrong("it has no end"))?;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.starts_with(b"#") {
                continue;
            }
            let (file, sequence, kind) = entry(line).map_err(wrong)?;
            match kind {
                b"b" => bases.push(file),
                b"h" => {}
                _ if sequence <= last => return Err(wrong("the numbers seq do not ascend")),
                _ => {
                    last = sequence;
                    increments.push(file);
                }
            }
        }
        match bases.len() {
            0 | 1 if !(bases.is_empty() && increments.is_empty()) => {
                Ok(Self { files: bases.into_iter().chain(increments).collect() })
            }
            0 => Err("it names no file".to_owned()),
            _ => Err("it names several bases".to_owned()),
        }
    }

    /// Returns the names of the files, in the order in which they are loaded.
    pub fn files(&self) -> &[String] {
        &self.files
    }
}

/// Reads a line: pairs of a word and its value. Returns the file, its number and its type, which is
/// b, h or i.
fn entry(line: &[u8]) -> Result<(String, u64, &'static [u8]), &'static str> {
    let words = words(line).ok_or("a quote is not closed")?;
    if words.is_empty() || words.len() % 2 == 1 {
        return Err("it has no pairs of words");
    }
    let (mut file, mut sequence, mut kind) = (None, None, None);
    for pair in words.chunks_exact(2) {
        let value = std::str::from_utf8(&pair[1]).map_err(|_| "a word is not UTF-8")?;
        match pair[0].to_ascii_lowercase().as_slice() {
            b"file" if value.is_empty() || value.contains(['/', '\\']) => {
                return Err("the file is no name of a file in the directory");
            }
            b"file" => file = Some(value.to_owned()),
            b"seq" => sequence = value.parse().ok().filter(|number| *number > 0),
            b"type" => kind = [&b"b"[..], b"i", b"h"].into_iter().find(|kind| *kind == value.as_bytes()),
            // Those of newer versions, as Redis takes them.
            _ => {}
        }
    }
    Ok((
        file.ok_or("it names no file")?,
        sequence.ok_or("it has no number seq")?,
        kind.ok_or("it has no type b, i or h")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::Manifest;

    #[test]
    fn a_manifest_names_its_files_in_order() {
        let text = b"# comment\r\nfile \"a b.rdb\" seq 7 type b startoffset 9\r\n\
            file two seq 3 type i\nfile three seq 5 type i\nfile old seq 1 type h\n";
        assert_eq!(Manifest::parse(text).unwrap().files(), ["a b.rdb", "two", "three"]);
        // Redis writes it before the first rewrite.
        assert_eq!(Manifest::parse(b"file one seq 1 type i\n").unwrap().files(), ["one"]);
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        for (text, why) in [
            (&b""[..], "it names no file"),
            (b"file a seq 1 type h\n", "it names no file"),
            (b"file a seq 1 type b", "line 1: it has no end"),
            (b"file a seq 1 type b\n\n", "line 2: it has no pairs of words"),
            (b"file a seq 1 type\n", "line 1: it has no pairs of words"),
            (b"file a seq 1 type b\nfile b seq 2 type b\n", "it names several bases"),
            (b"file a seq 2 type i\nfile b seq 2 type i\n", "line 2: the numbers seq do not ascend"),
            (b"file ../a seq 2 type i\n", "line 1: the file is no name of a file in the directory"),
            (b"file a seq x type i\n", "line 1: it has no number seq"),
            (b"file a seq 1 type x\n", "line 1: it has no type b, i or h"),
            (b"file \"a seq 1 type x\n", "line 1: a quote is not closed"),
        ] {
            assert_eq!(Manifest::parse(text).unwrap_err(), why, "{}", text.escape_ascii());
        }
    }
}
