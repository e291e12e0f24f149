//! Reads the tree of directories and files below a directory. Links are not followed, and mounted
//! file systems are not entered.

use super::links::build;
use super::{Hierarchy, unreadable};
use std::path::Path;
use walkdir::WalkDir;
use xtasking_harness::failure::Failure;

/// Reads a directory.
///
/// # Errors
/// The directory cannot be read. What cannot be read below it is left out, with a note.
pub fn read(path: &Path) -> Result<Hierarchy, Failure> {
    // The numbers of the directories from the root to the current one.
    let mut above = Vec::new();
    let mut edges = Vec::new();
    let (mut nodes, mut unread) = (0, 0);
    for entry in WalkDir::new(path).same_file_system(true).sort_by_file_name() {
        match entry {
            Ok(entry) => {
                above.truncate(entry.depth());
                edges.extend(above.last().map(|&parent| (parent, nodes)));
                above.push(nodes);
                nodes += 1;
            }
            // An unreadable directory has been counted already.
            Err(error) if nodes > 0 && error.depth() > 0 => unread += 1,
            Err(error) => {
                let error = error.into_io_error().expect("only followed links can form loops");
                return Err(unreadable(path, &error, ""));
            }
        }
    }
    let shape = build(path, nodes as usize, &edges, |node| node.to_string())?;
    let notes = if unread > 0 {
        vec![format!("files and directories that cannot be read: {unread}")]
    } else {
        vec![]
    };
    Ok(Hierarchy { title: format!("the files below {}", path.display()), shape, notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use xtasking_hierarchy::Node;

    #[test]
    fn a_directory_is_the_parent_of_its_entries() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("b/deep/deeper")).unwrap();
        fs::create_dir(at("d")).unwrap();
        for file in ["a", "b/x", "b/deep/deeper/y", "c"] {
            fs::write(at(file), "").unwrap();
        }
        let hierarchy = read(directory.path()).unwrap();
        // In depth-first order: the directory, a, b, b/deep, b/deep/deeper, b/deep/deeper/y, b/x,
        // c, d.
        let edges = [(0, 1), (0, 2), (0, 7), (0, 8), (2, 3), (2, 6), (3, 4), (4, 5)];
        assert_eq!(hierarchy.edges(), edges);
        assert!(hierarchy.notes.is_empty());
        assert!(hierarchy.shape.roots().eq([Node(0)]));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("a")).unwrap();
        std::os::unix::fs::symlink(directory.path(), directory.path().join("a/up")).unwrap();
        assert_eq!(read(directory.path()).unwrap().shape.len(), 3);
    }

    #[test]
    fn a_file_is_a_hierarchy_of_one_node_and_a_missing_path_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let error = read(&path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot read {}: ", path.display())), "{error}");
        fs::write(&path, "").unwrap();
        assert_eq!(read(&path).unwrap().shape.len(), 1);
    }
}
