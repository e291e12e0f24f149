//! Links between the nodes of a data structure.

use super::class::{Version, Versioned};
use super::reference::Reference;
use crate::annotation::{Frequency, Part};
use crate::sync::{Acquire, AtomicU64, Relaxed, Release};
use crate::task::{ReadLink, WriteLink};
use core::fmt;
use core::marker::PhantomData;

/// Names a node that lives in an [`Arena`](super::Arena). Small, copyable, and storable in one word of another node.
///
/// A link does not keep its node alive. It needs not: nodes are freed only by [`Arena::retire`](super::Arena::retire)
/// and [`Arena::dispose`](super::Arena::dispose), whose callers promise that no link is followed afterwards.
///
/// A link is for tasks of the runtime that its arena was made for. Where nothing would keep tasks of another one apart
/// from these, they fail with [`JoinError::Foreign`](crate::JoinError::Foreign).
pub struct Link<T> {
    reference: Reference,
    target: PhantomData<fn() -> T>,
}

impl<T> Link<T> {
    #[inline(always)]
    pub(crate) fn from_reference(reference: Reference) -> Self {
        Self { reference, target: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn reference(self) -> Reference {
        self.reference
    }

    /// The link as a word, never 0.
    #[inline(always)]
    pub fn to_word(self) -> u64 {
        self.reference.0
    }

    /// The link that was stored as `word`; `None` for 0.
    ///
    /// # Safety
    ///
    /// `word` is 0 or came from [`to_word`](Self::to_word) of a link to a `T`.
    #[inline(always)]
    pub unsafe fn from_word(word: u64) -> Option<Self> {
        (word != 0).then_some(Self::from_reference(Reference(word)))
    }

    /// The same node, with a mark of its user (below 16).
    ///
    /// # Panics
    ///
    /// If the mark is 16 or more.
    #[must_use]
    pub fn with_mark(self, mark: u8) -> Self {
        Self::from_reference(self.reference.with_mark(mark))
    }

    /// The mark; 0 unless set.
    #[inline(always)]
    pub fn mark(self) -> u8 {
        self.reference.mark()
    }

    /// The same node, expected to be used that often.
    #[must_use]
    pub fn with_frequency(self, frequency: Frequency) -> Self {
        Self::from_reference(self.reference.with_frequency(frequency))
    }

    /// Where the node lies: reports name nodes by it.
    pub fn address(self) -> usize {
        self.reference.address() as usize
    }

    /// Whether both name the same node, whatever else they say about it.
    pub fn is_same_node(self, other: Self) -> bool {
        self.reference.address() == other.reference.address()
    }
}

impl<T: Version> Link<T> {
    /// Read access for a task.
    #[inline(always)]
    pub fn read(self) -> ReadLink<T> {
        ReadLink(self, Part::HEAD)
    }

    /// Write access for a task.
    #[inline(always)]
    pub fn write(self) -> WriteLink<T> {
        WriteLink(self, Part::HEAD)
    }

    /// The node itself, from outside of any task: readers that exclude writers by other means, checkers.
    ///
    /// # Safety
    ///
    /// The node is not freed for `'a`.
    #[inline(always)]
    pub unsafe fn follow<'a>(self) -> &'a T {
        // SAFETY: alive, by the caller's promise; versioned data may be looked at any time.
        unsafe { &(*self.reference.cell::<Versioned<T>>()).value.0 }
    }
}

impl<T> Clone for Link<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Link<T> {}

impl<T> fmt::Debug for Link<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Link({:#x})", self.reference.0)
    }
}

/// A place for a link outside of any node, such as a tree's root: published and found whole.
pub struct LinkCell<T> {
    word: AtomicU64,
    target: PhantomData<fn() -> T>,
}

impl<T> LinkCell<T> {
    /// A cell with a link.
    pub fn new(link: Link<T>) -> Self {
        Self { word: AtomicU64::new(link.to_word()), target: PhantomData }
    }

    /// The link; its node is seen as it was published.
    #[inline(always)]
    pub fn get(&self) -> Link<T> {
        // Acquire pairs with the Release of `set`.
        Link::from_reference(Reference(self.word.load(Acquire)))
    }

    /// Publishes another link. Writers have to be kept apart, best by writing only while holding some node.
    pub fn set(&self, link: Link<T>) {
        // Release pairs with the Acquire of `get`.
        let order = if planted!("link-published-early") { Relaxed } else { Release };
        self.word.store(link.to_word(), order);
    }
}
