//! The initial tree, its names and numbers, and where each directory is.
//!
//! The root has ten top directories, each of these ten middle ones, each of these ten directories,
//! and each of these ten files. Names are numbers: comparing them takes least, so that what keeps
//! operations apart weighs most. Only the lowest directories move, with their files; their names
//! differ, so that a directory never meets a namesake.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The name of an entry in its directory.
pub(super) type Name = u16;

/// Entries of each directory at first.
pub(super) const WIDTH: u16 = 10;
/// Middle directories.
pub(super) const MIDDLES: u16 = WIDTH * WIDTH;
/// Lowest directories.
pub(super) const DIRECTORIES: u16 = WIDTH * MIDDLES;
/// Nodes: the root, three levels of directories, and the files.
pub(super) const NODES: u32 = 1 + (WIDTH + MIDDLES + DIRECTORIES + WIDTH * DIRECTORIES) as u32;
/// Nodes of a lowest directory: itself and its files.
pub(super) const DIRECTORY_NODES: u32 = 1 + WIDTH as u32;
/// The number of the root.
pub(super) const ROOT: u32 = 0;
/// The deepest level: files.
pub(super) const MAX_DEPTH: usize = 4;

/// The numbers of the first node of each level.
const FIRST: [u32; MAX_DEPTH + 1] =
    [ROOT, 1, 1 + WIDTH as u32, 1 + (WIDTH + MIDDLES) as u32, 1 + (WIDTH + MIDDLES + DIRECTORIES) as u32];

/// The middle directory in which a lowest directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub top: Name,
    pub middle: Name,
}

/// A path from the root: the names of a node and of the directories above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Path {
    /// Names behind the depth are zero.
    names: [Name; MAX_DEPTH],
    depth: u8,
}

impl Place {
    /// Creates the place with an index below [`MIDDLES`].
    pub fn of(index: u16) -> Self {
        Self { top: index / WIDTH, middle: index % WIDTH }
    }

    /// Returns the index below [`MIDDLES`].
    pub fn index(self) -> u16 {
        WIDTH * self.top + self.middle
    }

    /// Returns the path of the middle directory.
    pub fn path(self) -> Path {
        Path::new(&[self.top, self.middle])
    }

    /// Returns the path of a lowest directory in it.
    pub fn directory(self, name: Name) -> Path {
        Path::new(&[self.top, self.middle, name])
    }
}

impl Path {
    /// Creates the path with some names, at most [`MAX_DEPTH`].
    pub fn new(names: &[Name]) -> Self {
        let mut all = [0; MAX_DEPTH];
        all[..names.len()].copy_from_slice(names);
        Self { names: all, depth: names.len() as u8 }
    }

    /// Returns the names, from the top directory on.
    pub fn names(&self) -> &[Name] {
        &self.names[..usize::from(self.depth)]
    }

    /// Returns the path of an entry of this directory.
    pub fn child(mut self, name: Name) -> Self {
        self.names[usize::from(self.depth)] = name;
        self.depth += 1;
        self
    }

    /// Returns the number of the node, which does not change when a directory moves.
    pub fn number(&self) -> u32 {
        let [top, middle, directory, file] = self.names.map(u32::from);
        let width = u32::from(WIDTH);
        FIRST[usize::from(self.depth)]
            + match self.depth {
                0 => 0,
                1 => top,
                2 => width * top + middle,
                3 => directory,
                _ => width * directory + file,
            }
    }
}

/// Iterates over all entries of the initial tree: the number of the directory, the name, and the
/// number of the entry. A directory comes before its entries.
pub(super) fn entries() -> impl Iterator<Item = (u32, Name, u32)> {
    let (width, directories) = (u32::from(WIDTH), u32::from(DIRECTORIES));
    let level = move |depth: usize, count: u32| {
        (0..count).map(move |index| (FIRST[depth - 1] + index / width, index, FIRST[depth] + index))
    };
    let above = level(1, width).chain(level(2, width * width));
    let above = above.map(move |(parent, index, node)| (parent, index % width, node));
    let files = level(4, width * directories).map(move |(parent, index, node)| (parent, index % width, node));
    above.chain(level(3, directories)).chain(files).map(|(parent, name, node)| (parent, name as Name, node))
}

/// Where each directory is, so that clients can name paths. A client that reads a place while the
/// directory moves gets a path that leads nowhere.
pub(super) struct Locations(Box<[AtomicU64]>);

/// The place of a directory is in the lowest bits; above them is how often it has moved.
const PLACE_BITS: u32 = 16;

impl Locations {
    /// Creates the places of the initial tree.
    pub fn new() -> Self {
        Self((0..DIRECTORIES).map(|directory| AtomicU64::new((directory / WIDTH).into())).collect())
    }

    /// Returns the place of a directory.
    pub fn of(&self, directory: Name) -> Place {
        Place::of(self.0[usize::from(directory)].load(Relaxed) as u16)
    }

    /// Sets the place of a directory. The caller keeps others from moving the directory meanwhile.
    pub fn set(&self, directory: Name, place: Place) {
        let moves = self.0[usize::from(directory)].load(Relaxed) >> PLACE_BITS;
        self.set_after(directory, place, moves + 1);
    }

    /// Sets the place of a directory after a number of moves, unless it has moved more often
    /// already.
    pub fn set_after(&self, directory: Name, place: Place, moves: u64) {
        let word = moves << PLACE_BITS | u64::from(place.index());
        self.0[usize::from(directory)].fetch_max(word, Relaxed);
    }

    /// Returns the number of nodes of each top directory, itself included.
    pub fn sizes(&self) -> [u32; WIDTH as usize] {
        let mut sizes = [1 + u32::from(WIDTH); WIDTH as usize];
        (0..DIRECTORIES).for_each(|name| sizes[usize::from(self.of(name).top)] += DIRECTORY_NODES);
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_the_number_of_its_path() {
        let mut paths = vec![Path::new(&[])];
        for (parent, name, node) in entries() {
            let path = paths[parent as usize].child(name);
            assert_eq!((path.number(), node), (node, paths.len() as u32), "{path:?}");
            paths.push(path);
        }
        assert_eq!((paths.len() as u32, NODES), (NODES, 11_111));
    }

    #[test]
    fn a_later_move_prevails() {
        let locations = Locations::new();
        assert_eq!(locations.of(987), Place { top: 9, middle: 8 });
        assert_eq!(locations.sizes(), [1111; 10]);
        locations.set(987, Place { top: 0, middle: 3 });
        locations.set_after(987, Place { top: 9, middle: 9 }, 1);
        locations.set_after(987, Place { top: 5, middle: 0 }, 0);
        assert_eq!(locations.of(987), Place { top: 9, middle: 9 });
        locations.set(987, Place { top: 0, middle: 3 });
        assert_eq!(locations.of(987), Place { top: 0, middle: 3 });
        assert_eq!((locations.sizes()[0], locations.sizes()[9]), (1122, 1100));
    }
}
