//! Reads a text file of edges: a parent and a child in each line, by any names without blanks. A
//! line with one name is a node that need have no edge. Text after `#` is a comment.
//!
//! Nodes are numbered in the order in which the file names them first; children are in the order of
//! their lines.

use super::links::{build, note_duplicates};
use super::{Hierarchy, foreign, unreadable};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use xtasking_harness::failure::Failure;

/// Reads a file.
///
/// # Errors
/// The file cannot be read, a line has more than two names, or there is a cycle.
pub fn read(path: &Path) -> Result<Hierarchy, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error, ""))?;
    let mut names: Vec<&str> = Vec::new();
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut edges = Vec::new();
    let (mut known, mut duplicates) = (HashSet::new(), 0);
    for (line, at) in text.lines().zip(1usize..) {
        let words = line.split('#').next().unwrap_or_default().split_whitespace();
        let mut number = |name| {
            *numbers.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() as u32 - 1
            })
        };
        let nodes: Vec<u32> = words.map(&mut number).collect();
        match nodes[..] {
            [] | [_] => {}
            [parent, child] if known.insert((parent, child)) => edges.push((parent, child)),
            [_, _] => duplicates += 1,
            _ => {
                return Err(foreign(
                    path,
                    &format!("line {at} has more than two names; write a parent and a child"),
                    "",
                ));
            }
        }
    }
    let mut notes = Vec::new();
    note_duplicates(duplicates, &mut notes);
    let shape = build(path, names.len(), &edges, |node| names[node as usize].to_string())?;
    if shape.is_empty() {
        return Err(foreign(path, "contains no nodes", ""));
    }
    Ok(Hierarchy { title: path.display().to_string(), shape, notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking_hierarchy::Node;

    fn written(text: &str) -> Result<Hierarchy, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("edges");
        std::fs::write(&path, text).unwrap();
        read(&path).map_err(|failure| failure.to_string())
    }

    #[test]
    fn nodes_are_numbered_in_order_of_appearance() {
        let hierarchy =
            written("# nodes and edges\nroot b\n\nroot\ta # not the last\n  b 17\na 17\nalone\r\nroot b")
                .unwrap();
        // By number: root, b, a, 17, alone.
        assert_eq!(hierarchy.edges(), [(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert!(hierarchy.shape.roots().eq([0, 4].map(Node)));
        assert_eq!(hierarchy.notes, ["duplicate links that are left out: 1"]);
    }

    #[test]
    fn malformed_lines_and_cycles_are_reported_with_their_place() {
        let refused = |text: &str| written(text).unwrap_err();
        assert!(refused("a b\na b c").contains("line 2"));
        assert!(refused("# nothing\n").contains("contains no nodes"));
        let cycle = refused("top b\nb c\nc d\nd b\n");
        assert!(
            cycle.contains("contains a cycle of 3 nodes, each the parent of the next: b → c → d → b"),
            "{cycle}"
        );
        assert!(refused("a a").contains("a cycle of 1 nodes, each the parent of the next: a → a"));
        let around: String = (0..20).map(|node| format!("n{node} n{}\n", (node + 1) % 20)).collect();
        assert!(refused(&around).contains("n0 → n1 → n2 → n3 → n4 → n5 → n6 → n7 → …"));
    }
}
