//! All of a file system, compared with what the clients did.

use super::layout::{DIRECTORIES, Locations, NODES, Name, Path, Place, WIDTH};
use xtasking_harness::failure::Wrong;

/// All nodes of a file system, as a walk from the root found them.
#[derive(Debug)]
pub(super) struct Contents {
    nodes: u32,
    total: u64,
    /// The place of each lowest directory.
    places: Vec<Option<Place>>,
    /// The files that were found in each lowest directory, a bit for each.
    files: Vec<u16>,
    /// The first path that cannot be.
    wrong: Option<Path>,
}

/// The bits of all files of a directory.
const ALL_FILES: u16 = (1 << WIDTH) - 1;

impl Contents {
    /// Creates contents without nodes.
    pub fn new() -> Self {
        let directories = usize::from(DIRECTORIES);
        Self { nodes: 0, total: 0, places: vec![None; directories], files: vec![0; directories], wrong: None }
    }

    /// Adds a node. A directory comes before its entries.
    pub fn add(&mut self, path: &Path, value: u64) {
        self.nodes += 1;
        self.total += value;
        let is_new = match *path.names() {
            [] => true,
            [top] | [top, _] if top >= WIDTH => false,
            [_] => true,
            [_, middle] => middle < WIDTH,
            [top, middle, directory] => {
                let place = self.places.get_mut(usize::from(directory));
                place.is_some_and(|found| found.replace(Place { top, middle }).is_none())
            }
            [top, middle, directory, file] => {
                let is_there = self.places.get(usize::from(directory)) == Some(&Some(Place { top, middle }));
                is_there && file < WIDTH && self.add_file(directory, file)
            }
            _ => false,
        };
        if !is_new {
            self.wrong.get_or_insert(*path);
        }
    }

    /// Returns true if the file is new.
    fn add_file(&mut self, directory: Name, file: Name) -> bool {
        let files = &mut self.files[usize::from(directory)];
        let is_new = *files & 1 << file == 0;
        *files |= 1 << file;
        is_new
    }

    /// Checks that all nodes are there once, that each directory is in its place with all its
    /// files, and that the values add up to what was added.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check(&self, locations: &Locations, added: u64) -> Result<(), Wrong> {
        let wrong = |text: String| Err(Wrong::new(text));
        if let Some(path) = self.wrong {
            return wrong(format!("there is a second or an impossible node {:?}", path.names()));
        }
        for name in 0..DIRECTORIES {
            let (found, expected) = (self.places[usize::from(name)], locations.of(name));
            if found != Some(expected) {
                return wrong(format!("directory {name} is in {found:?} instead of {expected:?}"));
            }
            let files = self.files[usize::from(name)];
            if files != ALL_FILES {
                return wrong(format!("directory {name} has {} of {WIDTH} files", files.count_ones()));
            }
        }
        if self.nodes != NODES {
            return wrong(format!("there are {} of {NODES} nodes", self.nodes));
        }
        if self.total != added {
            return wrong(format!("the nodes have {:#x} in all, but {added:#x} was added", self.total));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::entries;
    use super::*;

    /// Returns the contents of the initial tree, where `change` has changed the paths.
    fn contents(change: impl FnOnce(&mut Vec<Path>)) -> Contents {
        let mut paths = vec![Path::new(&[])];
        entries().for_each(|(parent, name, _)| paths.push(paths[parent as usize].child(name)));
        change(&mut paths);
        let mut contents = Contents::new();
        paths.iter().for_each(|path| contents.add(path, 2));
        contents
    }

    #[test]
    fn every_fault_is_found() {
        let check = |contents: Contents, added| {
            contents.check(&Locations::new(), added).map_err(|wrong| wrong.to_string())
        };
        assert_eq!(check(contents(|_| ()), 22_222), Ok(()));
        let refused = |contents, words: &str| {
            let wrong = check(contents, 22_222).unwrap_err();
            assert!(wrong.contains(words), "{wrong}");
        };
        refused(contents(|paths| _ = paths.pop()), "directory 999 has 9 of 10 files");
        refused(contents(|paths| paths.push(paths[200])), "a second or an impossible node [0, 8, 89]");
        refused(contents(|paths| paths.push(paths[1200])), "a second or an impossible node [0, 0, 8, 9]");
        refused(contents(|paths| _ = paths.remove(5)), "there are 11110 of 11111 nodes");
        let moved = |paths: &mut Vec<Path>| {
            for path in &mut paths[111..] {
                if let [_, _, 3, files @ ..] = path.names() {
                    let moved = Path::new(&[9, 9, 3]);
                    *path = files.iter().fold(moved, |path, &file| path.child(file));
                }
            }
        };
        refused(contents(moved), "directory 3 is in Some(Place { top: 9, middle: 9 }) instead of");
        let wrong = check(contents(|_| ()), 22_223).unwrap_err();
        assert!(wrong.contains("0x56ce in all, but 0x56cf was added"), "{wrong}");
    }
}
