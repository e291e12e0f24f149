//! Implements the B-link tree with optimistic lock coupling.

use super::arena::Arena;
use super::cell::{Cell, Locked};
use super::{fetch, limit};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering::*};
use xtasking::{Part, arena::WriteToken};
use xtasking_index::Words;
use xtasking_index::node::{
    DescendResult, FindResult, Layout, RemoveResult, ScanNext, WriteMode, WriteResult,
};

/// An upper bound for the levels of a tree.
const LEVELS: usize = 16;

/// Cells are aligned to more than this, so the root's level fits into the low bits of its address.
const LEVEL_MASK: u64 = LEVELS as u64 - 1;

/// A concurrent ordered map of words, for any number of threads.
///
/// A B-link tree: every node knows the end of its range and its right neighbour, so a thread that
/// arrives after a split moves right, and no thread holds two nodes at once. Readers validate the
/// version of each node that they read; writers lock one node at a time.
///
/// Empty nodes stay in place for later keys; nodes are freed with the tree.
pub struct OlcTree<L: Layout<Keys = Words>> {
    /// Link of the root, which is the leftmost node of its level, with that level in the low bits.
    root: AtomicU64,
    arena: Arena,
    nodes: PhantomData<Cell<L>>,
}

/// The inner nodes on the path to a leaf, by level; 0 where none was passed.
type Path = [u64; LEVELS];

impl<L: Layout<Keys = Words>> Default for OlcTree<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L: Layout<Keys = Words>> OlcTree<L> {
    /// Creates an empty tree.
    pub fn new() -> Self {
        let tree = Self { root: AtomicU64::new(0), arena: Arena::new(), nodes: PhantomData };
        tree.root.store(Cell::link(tree.allocate(L::new(0, 0))), Release);
        tree
    }

    /// Moves a node to the arena.
    #[expect(clippy::mut_from_ref, reason = "every call returns another cell")]
    fn allocate(&self, node: L) -> &mut Cell<L> {
        const { assert!(align_of::<Cell<L>>() > LEVEL_MASK as usize) };
        let cell = self.arena.allocate(size_of::<Cell<L>>()).cast();
        // SAFETY: the arena returned new memory of the right size, aligned to it, which lives as
        // long as the tree.
        unsafe {
            cell.write(Cell::new(node));
            &mut *cell.as_ptr()
        }
    }

    #[inline(always)]
    fn cell(&self, link: u64) -> &Cell<L> {
        // SAFETY: all links in the tree are made by `allocate`, from cells in its arena.
        unsafe { Cell::from_link(link) }
    }

    /// Returns the link of the root and its level.
    #[inline(always)]
    fn top(&self) -> (u64, u64) {
        let root = self.root.load(Acquire);
        (root & !LEVEL_MASK, root & LEVEL_MASK)
    }

    /// Returns the link of a node of `level` that covers `key`, or is to the left of the one that
    /// does.
    #[inline(always)]
    fn find_node(&self, key: u64, level: u64, mut visit: impl FnMut(u64, u64)) -> u64 {
        let (mut link, mut at) = self.top();
        while at > level {
            match self.cell(link).read(|node| {
                fetch(node, node.locate(key));
                node.descend(key)
            }) {
                DescendResult::Child(child) => {
                    visit(at, link);
                    self.prefetch_step(child);
                    (link, at) = (child, at - 1);
                }
                DescendResult::Right(right) => link = right,
            }
        }
        link
    }

    /// Prefetches what a step to a node will need, as far as it is known yet.
    #[inline(always)]
    fn prefetch_step(&self, link: u64) {
        // The first line of a hinted node is loaded at once, and determines the rest.
        if L::FIRST.count() > 1 {
            fetch(self.cell(link).node(), Part::lines(1, L::FIRST.count() as u16 - 1));
        }
    }

    /// Returns the value of `key`.
    #[inline]
    pub fn get(&self, key: u64) -> Option<u64> {
        let mut link = self.find_node(key, 0, |_, _| {});
        loop {
            match self.cell(link).read(|node| {
                // Prefetches all lines of the search at once, so that their misses overlap.
                fetch(node, node.locate(key));
                node.find(key)
            }) {
                FindResult::Value(value) => return Some(value),
                FindResult::Missing => return None,
                FindResult::Right(right) => link = right,
            }
        }
    }

    /// Adds `key` if it is missing. Returns true if it was.
    #[inline]
    pub fn insert(&self, key: u64, value: u64) -> bool {
        self.write(key, value, WriteMode::Insert) == WriteResult::Inserted
    }

    /// Adds `key` or replaces its value. Returns the old value.
    #[inline]
    pub fn upsert(&self, key: u64, value: u64) -> Option<u64> {
        match self.write(key, value, WriteMode::Upsert) {
            WriteResult::Replaced(old) => Some(old),
            _ => None,
        }
    }

    /// Replaces the value of `key` if it exists. Returns the old value.
    #[inline]
    pub fn update(&self, key: u64, value: u64) -> Option<u64> {
        match self.write(key, value, WriteMode::Update) {
            WriteResult::Replaced(old) => Some(old),
            _ => None,
        }
    }

    #[inline(always)]
    fn write(&self, key: u64, value: u64, how: WriteMode) -> WriteResult {
        let mut path = Path::default();
        let mut link = self.find_node(key, 0, |level, link| path[level as usize % LEVELS] = link);
        loop {
            let leaf = self.cell(link).lock();
            match leaf.node().write(key, value, how, &leaf.token()) {
                WriteResult::Right(right) => {
                    leaf.unchanged();
                    link = right;
                }
                WriteResult::Full => {
                    self.split(leaf, 0, key, value, &path);
                    return WriteResult::Inserted;
                }
                result @ (WriteResult::Exists(_) | WriteResult::Missing) => {
                    leaf.unchanged();
                    return result;
                }
                result => return result,
            }
        }
    }

    /// Splits a full node, adds the entry that did not fit, and links the new node from the level
    /// above.
    #[cold]
    #[inline(never)]
    fn split(&self, full: Locked<'_, L>, level: u64, key: u64, value: u64, path: &Path) {
        let right = self.allocate(L::new(level, 0));
        let link = Cell::link(right);
        let separator = full.node().split(right.node_mut(), link, key, &full.token());
        // The right node becomes reachable when the left one is unlocked.
        // SAFETY: until then only this thread has a link to it.
        let token = unsafe { WriteToken::assume() };
        let target = if key >= separator { right.node() } else { full.node() };
        let result = target.write(key, value, WriteMode::Insert, &token);
        debug_assert_eq!(result, WriteResult::Inserted);
        drop(full);
        self.link_above(separator, link, level + 1, path);
    }

    /// Links a new node from the level above it, with its separator.
    fn link_above(&self, separator: u64, child: u64, level: u64, path: &Path) {
        let mut link = path[level as usize];
        while link == 0 {
            let (root, top) = self.top();
            if top >= level {
                // The tree has grown since the path was recorded.
                link = self.find_node(separator, level, |_, _| {});
                break;
            }
            let mut node = L::new(level, 0);
            node.fill(&[(0, root), (separator, child)], None);
            let new = Cell::link(self.allocate(node));
            // Another thread may install a root at the same time. Then this loop takes that root,
            // and the new cell stays unused in the arena.
            if self.root.compare_exchange(root | top, new | level, AcqRel, Relaxed).is_ok() {
                return;
            }
        }
        loop {
            let parent = self.cell(link).lock();
            match parent.node().write(separator, child, WriteMode::Insert, &parent.token()) {
                WriteResult::Inserted => return,
                WriteResult::Full => return self.split(parent, level, separator, child, path),
                WriteResult::Right(right) => {
                    parent.unchanged();
                    link = right;
                }
                result => unreachable!("entering a new child: {result:?}"),
            }
        }
    }

    /// Removes `key`. Returns its value.
    #[inline]
    pub fn remove(&self, key: u64) -> Option<u64> {
        let mut link = self.find_node(key, 0, |_, _| {});
        loop {
            let leaf = self.cell(link).lock();
            match leaf.node().remove(key, &leaf.token()) {
                RemoveResult::Done { value, .. } => return Some(value),
                RemoveResult::Missing => {
                    leaf.unchanged();
                    return None;
                }
                RemoveResult::Right(right) => {
                    leaf.unchanged();
                    link = right;
                }
            }
        }
    }

    /// Appends up to `limit` entries from key `from` on to `into`, in ascending order. The entries
    /// of each leaf are from one moment.
    pub fn scan(&self, from: u64, limit: usize, into: &mut Vec<(u64, u64)>) {
        let end = into.len() + limit;
        into.reserve(limit);
        let mut link = self.find_node(from, 0, |_, _| {});
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
                ScanNext::Right { link: right, .. } => link = right,
                ScanNext::End => break,
            }
        }
    }

    /// Returns the leaves from left to right.
    pub(super) fn leaves(&self) -> impl Iterator<Item = &L> {
        let mut link = self.find_node(0, 0, |_, _| {});
        core::iter::from_fn(move || {
            let leaf = (link != 0).then(|| self.cell(link))?;
            link = leaf.read(L::right);
            Some(leaf.node())
        })
    }

    /// Counts the keys, leaf by leaf.
    pub fn len(&self) -> usize {
        self.leaves().map(L::len).sum()
    }

    /// Returns true if there is no key.
    pub fn is_empty(&self) -> bool {
        self.leaves().all(L::is_empty)
    }
}

// SAFETY: `allocate` makes links from cells in the arena; they are entered as children by level and
// never change; the root is the leftmost node of its level.
unsafe impl<L: Layout<Keys = Words>> limit::Nodes for OlcTree<L> {
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
