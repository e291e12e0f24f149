//! Links between nodes: their marks, and the words that encode them in nodes.

use crate::node::Layout;
use xtasking::{
    Frequency,
    arena::{Link, Reserved, Step},
};

/// Marks on links: the level of the target, which a visitor has to know before it arrives.
pub(super) mod mark {
    /// A leaf.
    pub const LEAF: u8 = 0;
    /// The highest level that can be told from others. No tree that fits into memory has as many.
    pub const MAX_LEVEL: u8 = 15;
}

/// Marks a link to a node of `level`. Inner nodes of the two topmost levels, except parents of
/// leaves, also get a high frequency: they are so few and visited so often that they stay in the
/// cache. Already the next level would have to share the cache with all other data.
pub(super) fn marked_link<L: Layout>(link: Link<L>, level: u64, top_level: u64) -> Link<L> {
    let link = link.with_mark(level.min(mark::MAX_LEVEL.into()) as u8);
    if level >= 2 && level + 1 >= top_level { link.with_frequency(Frequency::High) } else { link }
}

/// The levels whose nodes a bundle of walks expects in the cache: the three topmost ones, but not
/// the leaves.
///
/// That is one level more than links say by themselves. A bundle takes several walks through a node
/// at once, so that their accesses overlap: it loses less by a node that is not there than by a
/// fetch of one that is. Links of the third level cannot say it, as they outlive the growth of the
/// tree. Walks of one bundle that disagree would get out of step.
#[derive(Clone, Copy)]
pub(super) struct CachedLevels {
    lowest: u8,
}

impl CachedLevels {
    /// Returns the levels of a tree with this topmost node.
    #[inline(always)]
    pub fn of<L: Layout>(top: Link<L>) -> Self {
        Self { lowest: top.mark().saturating_sub(2).max(1) }
    }

    /// Returns the link of the topmost node with the frequency of its level.
    #[inline(always)]
    pub fn annotate_top<L: Layout>(self, top: Link<L>) -> Link<L> {
        with_high_frequency_if(top.mark() >= self.lowest, top)
    }

    /// Returns a link that a walk has found in the node `at`, with the frequency of the level below
    /// `at`.
    ///
    /// The level of `at` is known before the link is read, so the processor can tell sooner than by
    /// the link's own mark whether to fetch the next node. A right neighbour on the lowest cached
    /// level is fetched as well; walks rarely go there.
    #[inline(always)]
    pub fn annotate<L: Layout>(self, at: Link<L>, next: Link<L>) -> Link<L> {
        with_high_frequency_if(at.mark() > self.lowest, next)
    }
}

#[inline(always)]
fn with_high_frequency_if<L: Layout>(is_high: bool, link: Link<L>) -> Link<L> {
    link.with_frequency(if is_high { Frequency::High } else { Frequency::Normal })
}

/// Returns the link that a node's word encodes; `None` for 0.
#[inline(always)]
pub(super) fn decode_link<L: Layout>(word: u64) -> Option<Link<L>> {
    // SAFETY: `word` was read from a right link or from a value of an inner node. Layouts guarantee
    // that these contain only 0 and words of links, even while a writer is active. Whether the link
    // is current is known once the read is validated.
    unsafe { Link::from_word(word) }
}

/// The step of a visit to the node that `word` links to.
#[inline(always)]
pub(super) fn step_to_link<L: Layout, O>(word: u64) -> Step<L, O> {
    match decode_link(word) {
        Some(next) => Step::Go(next, L::FIRST),
        None => Step::Again,
    }
}

/// Returns the link that a reserved cell will have, to be stored in other nodes.
pub(super) fn reserved_link<L: Layout>(place: &Reserved<'_, L>, level: u64, top_level: u64) -> Link<L> {
    // SAFETY: callers store the link only in nodes that they hold for writing or that are not
    // shared, and fill the cell before they release these.
    marked_link(unsafe { place.link() }, level, top_level)
}
