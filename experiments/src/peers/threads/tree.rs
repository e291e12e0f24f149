//! The B-link tree with optimistic lock coupling.

use super::arena::Arena;
use super::cell::{Cell, Locked};
use super::{fetch, limit};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering::*};
use xtasking::{Part, WriteToken};
use xtasking_index::node::{Down, Found, Layout, Onward, Removed, Write, Wrote};

/// More levels than a tree can have.
const LEVELS: usize = 16;

/// Cells are aligned to more than this, so the root's level fits beside its address.
const LEVEL_MASK: u64 = LEVELS as u64 - 1;

/// A concurrent ordered map of words, for any number of threads.
///
/// A B-link tree: every node knows the end of its range and its right neighbour, so whoever comes too late
/// for a split finds on by itself, and nobody holds two nodes at once. Readers validate the version of each
/// node they read, writers lock one node at a time.
///
/// Nodes that became empty stay where they are, for keys to come; no node is freed before the tree is.
pub struct OlcTree<L: Layout> {
    /// Link of the root, which is the leftmost node of its level, with that level.
    root: AtomicU64,
    arena: Arena,
    nodes: PhantomData<Cell<L>>,
}

/// The inner nodes on the way to a leaf, by level; 0 where none was passed.
type Path = [u64; LEVELS];

impl<L: Layout> Default for OlcTree<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L: Layout> OlcTree<L> {
    /// An empty tree.
    pub fn new() -> Self {
        let tree = Self { root: AtomicU64::new(0), arena: Arena::new(), nodes: PhantomData };
        tree.root.store(Cell::link(tree.place(L::new(0, 0))), Release);
        tree
    }

    /// Moves a node to the arena.
    #[expect(clippy::mut_from_ref, reason = "every call returns another place")]
    fn place(&self, node: L) -> &mut Cell<L> {
        const { assert!(align_of::<Cell<L>>() > LEVEL_MASK as usize) };
        let place = self.arena.allocate(size_of::<Cell<L>>()).cast();
        // SAFETY: the place is new, of the right size and aligned to it, and lives as long as the tree.
        unsafe {
            place.write(Cell::new(node));
            &mut *place.as_ptr()
        }
    }

    #[inline(always)]
    fn cell(&self, link: u64) -> &Cell<L> {
        // SAFETY: all links in the tree are to cells in its arena.
        unsafe { Cell::from_link(link) }
    }

    /// The link of the root and its level.
    #[inline(always)]
    fn top(&self) -> (u64, u64) {
        let root = self.root.load(Acquire);
        (root & !LEVEL_MASK, root & LEVEL_MASK)
    }

    /// The link of a node of `level` that covers `key` or is to the left of the one that does.
    #[inline(always)]
    fn way(&self, key: u64, level: u64, mut visit: impl FnMut(u64, u64)) -> u64 {
        let (mut link, mut at) = self.top();
        while at > level {
            match self.cell(link).read(|node| {
                fetch(node, node.locate(key));
                node.descend(key)
            }) {
                Down::Child(child) => {
                    visit(at, link);
                    self.approach(child);
                    (link, at) = (child, at - 1);
                }
                Down::Right(right) => link = right,
            }
        }
        link
    }

    /// Fetches what a step to a node will need, as far as that is known yet.
    #[inline(always)]
    fn approach(&self, link: u64) {
        // A hinted node's first line will be loaded at once and tells the rest.
        if L::FIRST.count() > 1 {
            fetch(self.cell(link).node(), Part::lines(1, L::FIRST.count() as u16 - 1));
        }
    }

    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: u64) -> Option<u64> {
        let mut link = self.way(key, 0, |_, _| {});
        loop {
            match self.cell(link).read(|node| {
                // All lines that the search will need at once: it would wait for one after the other.
                fetch(node, node.locate(key));
                node.find(key)
            }) {
                Found::Value(value) => return Some(value),
                Found::Missing => return None,
                Found::Right(right) => link = right,
            }
        }
    }

    /// Adds `key` if it is not there yet, and says whether it did.
    #[inline]
    pub fn insert(&self, key: u64, value: u64) -> bool {
        self.write(key, value, Write::Insert) == Wrote::Inserted
    }

    /// Adds `key` or replaces its value; returns the value that it had.
    #[inline]
    pub fn upsert(&self, key: u64, value: u64) -> Option<u64> {
        match self.write(key, value, Write::Upsert) {
            Wrote::Replaced(old) => Some(old),
            _ => None,
        }
    }

    /// Replaces the value of `key` if it is there; returns the value that it had.
    #[inline]
    pub fn update(&self, key: u64, value: u64) -> Option<u64> {
        match self.write(key, value, Write::Update) {
            Wrote::Replaced(old) => Some(old),
            _ => None,
        }
    }

    #[inline(always)]
    fn write(&self, key: u64, value: u64, how: Write) -> Wrote {
        let mut path = Path::default();
        let mut link = self.way(key, 0, |level, link| path[level as usize % LEVELS] = link);
        loop {
            let leaf = self.cell(link).lock();
            match leaf.node().write(key, value, how, &leaf.token()) {
                Wrote::Right(right) => {
                    leaf.unchanged();
                    link = right;
                }
                Wrote::Full => {
                    self.split(leaf, 0, key, value, &path);
                    return Wrote::Inserted;
                }
                wrote @ (Wrote::Exists(_) | Wrote::Missing) => {
                    leaf.unchanged();
                    return wrote;
                }
                wrote => return wrote,
            }
        }
    }

    /// Splits a full node, adds the entry that did not fit and makes the new node known above.
    #[cold]
    #[inline(never)]
    fn split(&self, full: Locked<'_, L>, level: u64, key: u64, value: u64, path: &Path) {
        let right = self.place(L::new(level, 0));
        let link = Cell::link(right);
        let separator = full.node().split(right.node_mut(), link, key, &full.token());
        // The right node becomes reachable when the left one is let go of.
        // SAFETY: until then nobody else knows it.
        let token = unsafe { WriteToken::assume() };
        let home = if key >= separator { right.node() } else { full.node() };
        let wrote = home.write(key, value, Write::Insert, &token);
        debug_assert_eq!(wrote, Wrote::Inserted);
        drop(full);
        self.adopt(separator, link, level + 1, path);
    }

    /// Enters a new node with its separator at the level above it.
    fn adopt(&self, separator: u64, child: u64, level: u64, path: &Path) {
        let mut link = path[level as usize];
        while link == 0 {
            let (root, top) = self.top();
            if top >= level {
                // The tree has grown since the path was taken.
                link = self.way(separator, level, |_, _| {});
                break;
            }
            let mut node = L::new(level, 0);
            node.fill(&[(0, root), (separator, child)], None);
            let new = Cell::link(self.place(node));
            // Another thread may be about the same for another node. It takes the root that is there by then,
            // and the cell that was made in vain is left to the arena.
            if self.root.compare_exchange(root | top, new | level, AcqRel, Relaxed).is_ok() {
                return;
            }
        }
        loop {
            let parent = self.cell(link).lock();
            match parent.node().write(separator, child, Write::Insert, &parent.token()) {
                Wrote::Inserted => return,
                Wrote::Full => return self.split(parent, level, separator, child, path),
                Wrote::Right(right) => {
                    parent.unchanged();
                    link = right;
                }
                wrote => unreachable!("entering a new child: {wrote:?}"),
            }
        }
    }

    /// Removes `key`; returns the value that it had.
    #[inline]
    pub fn remove(&self, key: u64) -> Option<u64> {
        let mut link = self.way(key, 0, |_, _| {});
        loop {
            let leaf = self.cell(link).lock();
            match leaf.node().remove(key, &leaf.token()) {
                Removed::Done { value, .. } => return Some(value),
                Removed::Missing => {
                    leaf.unchanged();
                    return None;
                }
                Removed::Right(right) => {
                    leaf.unchanged();
                    link = right;
                }
            }
        }
    }

    /// Appends up to `limit` entries from key `from` on to `into`, in order. Each leaf's entries are from one
    /// moment.
    pub fn scan(&self, from: u64, limit: usize, into: &mut Vec<(u64, u64)>) {
        let end = into.len() + limit;
        into.reserve(limit);
        let mut link = self.way(from, 0, |_, _| {});
        while into.len() < end {
            let start = into.len();
            let onward = self.cell(link).read(|leaf| {
                into.truncate(start);
                leaf.visit(from, |key, value| {
                    if into.len() < end {
                        into.push((key, value));
                    }
                })
            });
            match onward {
                Onward::Right { link: right, .. } => link = right,
                Onward::End => break,
            }
        }
    }

    /// The leaves from left to right.
    pub(super) fn leaves(&self) -> impl Iterator<Item = &L> {
        let mut link = self.way(0, 0, |_, _| {});
        core::iter::from_fn(move || {
            let leaf = (link != 0).then(|| self.cell(link))?;
            link = leaf.read(L::right);
            Some(leaf.node())
        })
    }

    /// How many keys there are, counted leaf by leaf.
    pub fn len(&self) -> usize {
        self.leaves().map(L::len).sum()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.leaves().all(L::is_empty)
    }
}

// SAFETY: links are made from cells in the arena, are entered as children by the level and never change; the
// root is the leftmost node of its level.
unsafe impl<L: Layout> limit::Nodes for OlcTree<L> {
    type Node = L;

    #[inline(always)]
    fn root(&self) -> (u64, u64) {
        self.top()
    }

    #[inline(always)]
    unsafe fn node(&self, link: u64) -> &L {
        self.cell(link).node()
    }
}
