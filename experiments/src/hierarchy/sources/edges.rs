//! A text file of anybody's: in each line a parent and a child, by any names without blanks, which may be numbers. A line of
//! one name is a node that need have no link. What comes behind `#` is not looked at.
//!
//! Nodes have numbers in the order in which the file names them first, and children are in the order of their lines.

use super::links::{build, note_twice};
use super::{Hierarchy, foreign, unreadable};
use crate::failure::Failure;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Reads a file.
///
/// # Errors
/// It cannot be read, has a line that is none, or has a cycle.
pub fn read(path: &Path) -> Result<Hierarchy, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error, ""))?;
    let mut names: Vec<&str> = Vec::new();
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut edges = Vec::new();
    let (mut seen, mut twice) = (HashSet::new(), 0);
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
            [parent, child] if seen.insert((parent, child)) => edges.push((parent, child)),
            [_, _] => twice += 1,
            _ => return Err(foreign(path, &format!("has more than a parent and a child in line {at}"), "")),
        }
    }
    let mut notes = Vec::new();
    note_twice(twice, &mut notes);
    let shape = build(path, names.len(), &edges, |node| names[node as usize].to_string())?;
    if shape.is_empty() {
        return Err(foreign(path, "names no nodes", ""));
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
    fn nodes_are_numbered_as_they_come() {
        let hierarchy =
            written("# who is where\nroot b\n\nroot\ta # not the last\n  b 17\na 17\nalone\r\nroot b")
                .unwrap();
        // By number: root, b, a, 17, alone.
        assert_eq!(hierarchy.edges(), [(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert!(hierarchy.shape.roots().eq([0, 4].map(Node)));
        assert_eq!(hierarchy.notes, ["links left out, as they are given a second time: 1"]);
    }

    #[test]
    fn what_is_no_hierarchy_is_told_where() {
        let refused = |text: &str| written(text).unwrap_err();
        assert!(refused("a b\na b c").contains("in line 2"));
        assert!(refused("# nothing\n").contains("names no nodes"));
        let cycle = refused("top b\nb c\nc d\nd b\n");
        assert!(cycle.contains("has a cycle of 3 nodes, each above the next: b → c → d → b"), "{cycle}");
        assert!(refused("a a").contains("a cycle of 1 nodes, each above the next: a → a"));
        let around: String = (0..20).map(|node| format!("n{node} n{}\n", (node + 1) % 20)).collect();
        assert!(refused(&around).contains("n0 → n1 → n2 → n3 → n4 → n5 → n6 → n7 → …"));
    }
}
