//! Reads WordNet's nouns: sets of synonyms, each below what it is a kind or an instance of. A DAG,
//! as a set may be of several kinds.
//!
//! The file is `data.noun`, with a line for each set: its number (the line's offset in the file),
//! two fields, the number of words in hexadecimal digits, two fields for each word, the number of
//! pointers, four fields for each pointer (its kind, its target, the target's part of speech, and
//! the words concerned), and the meaning after `|`. The pointers `@` and `@i` lead to what the set
//! is a kind or an instance of. Lines that begin with blanks are the licence.

use super::links::Links;
use super::{Hierarchy, foreign, unreadable};
use std::path::Path;
use xtasking_harness::failure::Failure;

/// How to get the file.
pub const FETCH: &str = "
It is in the Debian package wordnet-base (WordNet 3.0, under its own licence):
    apt-get download wordnet-base
    dpkg-deb -x wordnet-base_*.deb wordnet    # wordnet/usr/share/wordnet/data.noun";

/// Reads the file.
///
/// # Errors
/// The file cannot be read, or holds something else; the text says how to get it.
pub fn read(path: &Path) -> Result<Hierarchy, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error, FETCH))?;
    let links = links(&text).map_err(|line| {
        foreign(path, &format!("is not a WordNet file: line {line} is not a set of words"), FETCH)
    })?;
    let (shape, notes) = links.shape(path, FETCH)?;
    Ok(Hierarchy { title: "the nouns of WordNet".to_string(), shape, notes })
}

/// Parses the text. The error is the number of a line.
fn links(text: &str) -> Result<Links, usize> {
    let mut links = Links::default();
    for (line, number) in text.lines().zip(1usize..) {
        if !line.starts_with("  ") {
            set(line, &mut links).ok_or(number)?;
        }
    }
    if links.nodes.is_empty() { Err(1) } else { Ok(links) }
}

/// Adds a set and its links; `None` if the line is malformed.
fn set(line: &str, links: &mut Links) -> Option<()> {
    let mut fields = line.split('|').next()?.split_ascii_whitespace();
    let set = fields.next()?.parse().ok()?;
    let words = usize::from_str_radix(fields.nth(2)?, 16).ok()?;
    let pointers = fields.nth(2 * words)?.parse::<usize>().ok()?;
    for _ in 0..pointers {
        let symbol = fields.next()?;
        let to = fields.next()?.parse().ok()?;
        let noun = fields.next()? == "n";
        fields.next()?;
        if noun && matches!(symbol, "@" | "@i") {
            links.links.push((to, set));
        }
    }
    links.nodes.push(set);
    // No field may remain.
    fields.next().is_none().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking_hierarchy::Node;

    const SETS: &str = "  1 A licence, which is not about vehicles | 7.
  2 It has a second line.
00000100 03 n 01 thing 0 003 ~ 00000200 n 0000 ~ 00000300 n 0000 ~ 00000350 n 0000 | everything
00000200 06 n 02 vehicle 0 conveyance 1 004 @ 00000100 n 0000 ~ 00000400 n 0000 \
+ 00000300 v 0101 ~i 00000500 n 0000 | what moves others
00000300 06 n 01 shelter 0 003 @ 00000100 n 0000 ! 00000200 n 0101 ~ 00000400 n 0000 \
| what keeps the rain off | and the wind
00000350 03 n 01 nothing 0 001 @ 00000100 a 0000 | its pointer is to an adjective
00000400 06 n 0b caravan 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 k 0 002 @ 00000300 n 0000 @ 00000200 n 0000 \
| a house on wheels
00000500 06 n 01 Argo 0 002 @i 00000200 n 0000 #m 00000300 n 0000 | a ship of old
";

    fn written(text: &str) -> Result<Hierarchy, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data.noun");
        std::fs::write(&path, text).unwrap();
        read(&path).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_set_is_below_everything_that_it_is_a_kind_or_instance_of() {
        let hierarchy = written(SETS).unwrap();
        assert!(hierarchy.notes.is_empty(), "{:?}", hierarchy.notes);
        // By number: 100, 200, 300, 350, 400, 500.
        assert_eq!(hierarchy.edges(), [(0, 1), (0, 2), (1, 4), (1, 5), (2, 4)]);
        assert!(hierarchy.shape.roots().eq([0, 3].map(Node)));
        assert!(hierarchy.shape.is_shared(Node(4)));
    }

    #[test]
    fn dangling_and_duplicate_links_are_noted() {
        let hierarchy =
            written("7 03 n 01 a 0 003 @ 8 n 0 @ 9 n 0 @ 8 n 0 | x\n8 03 n 01 b 0 000 | y\n").unwrap();
        assert_eq!(hierarchy.edges(), [(1, 0)]);
        let notes =
            ["duplicate links that are left out: 1", "links left out, as one of their ends is missing: 1"];
        assert_eq!(hierarchy.notes, notes);
    }

    #[test]
    fn a_file_that_is_not_wordnet_is_refused() {
        for (text, line) in [
            ("", 1),
            ("root:x:0:0", 1),
            ("1 03 n 01 a 0 000 | x\n2 03 n 01 b 0 001 @ 1 n | cut\n", 2),
            ("1 03 n 01 a 0 000 @ 2 n 0 | a pointer that is not counted\n", 1),
            ("  1 only a licence\n", 1),
        ] {
            let error = written(text).unwrap_err();
            assert!(
                error.contains(&format!("line {line} is not a set")) && error.contains("dpkg-deb"),
                "{error}"
            );
        }
        let twice = written("1 03 n 01 a 0 000 | x\n1 03 n 01 a 0 000 | x\n").unwrap_err();
        assert!(twice.contains("contains node 1 twice"), "{twice}");
    }
}
