//! Links between the nodes of a data structure.

use super::class::{Version, Versioned};
use super::reference::Reference;
use crate::annotation::{Frequency, Part};
use crate::sync::{Acquire, AtomicU64, Relaxed, Release};
use crate::task::{ReadLink, WriteLink};
use core::fmt;
use core::marker::PhantomData;

/// Names a node in an [`Arena`](super::Arena). Small, copyable, and storable in one word of another
/// node.
///
/// A link does not keep its node. Nodes are freed with their arena or array: a task that comes
/// later fails with [`JoinError::Freed`](crate::JoinError::Freed). An
/// [`Arena::retire`](super::Arena::retire) frees one before, whose caller promises that no link to
/// it is followed afterwards.
///
/// A link is for tasks of the runtime that its arena was made for. Tasks of another runtime fail
/// with [`JoinError::Foreign`](crate::JoinError::Foreign).
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

    /// Returns the link as a word, which is never 0.
    #[inline(always)]
    pub fn to_word(self) -> u64 {
        self.reference.0
    }

    /// Returns the link that was stored as `word`; `None` for 0.
    ///
    /// # Safety
    ///
    /// `word` is 0, or came from [`to_word`](Self::to_word) of a link to a `T`, or the link is not
    /// followed. (A walk does not follow a link that it returns from a node at a version that is
    /// not validated.) The making of its node happens before the link is followed: the word was
    /// read at a version of a node that was validated since and is written under its own token
    /// only, or with Acquire from a Release store.
    #[inline(always)]
    pub unsafe fn from_word(word: u64) -> Option<Self> {
        (word != 0).then_some(Self::from_reference(Reference(word)))
    }

    /// Returns a link to the same node with a mark below 16, which has a meaning to its user only.
    ///
    /// # Panics
    ///
    /// Panics if the mark is 16 or more.
    #[must_use]
    #[track_caller]
    pub fn with_mark(self, mark: u8) -> Self {
        Self::from_reference(self.reference.with_mark(mark))
    }

    /// Returns the mark; 0 unless set.
    #[inline(always)]
    pub fn mark(self) -> u8 {
        self.reference.mark()
    }

    /// Returns a link to the same node with another expected frequency of use.
    #[must_use]
    pub fn with_frequency(self, frequency: Frequency) -> Self {
        Self::from_reference(self.reference.with_frequency(frequency))
    }

    /// Returns the address of the node, by which reports name it.
    pub fn address(self) -> usize {
        self.reference.address() as usize
    }

    /// Returns true if both links name the same node, regardless of mark and frequency.
    pub fn is_same_node(self, other: Self) -> bool {
        self.reference.address() == other.reference.address()
    }
}

impl<T: Version> Link<T> {
    /// Returns a read access for a task.
    #[inline(always)]
    pub fn read(self) -> ReadLink<T> {
        ReadLink(self, Part::HEAD)
    }

    /// Returns a write access for a task.
    #[inline(always)]
    pub fn write(self) -> WriteLink<T> {
        WriteLink(self, Part::HEAD)
    }

    /// Returns the node, outside of any task: for readers that exclude writers by other means, and
    /// for checkers.
    ///
    /// # Safety
    ///
    /// The node is not freed for `'a`.
    #[inline(always)]
    pub unsafe fn follow<'a>(self) -> &'a T {
        // SAFETY: by the contract the node is alive; versioned data may be read at any time.
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

/// A cell for a link outside of any node, such as a tree's root. Links are published and read as a
/// whole.
pub struct LinkCell<T> {
    word: AtomicU64,
    target: PhantomData<fn() -> T>,
}

impl<T> LinkCell<T> {
    /// Creates a cell with a link.
    pub fn new(link: Link<T>) -> Self {
        Self { word: AtomicU64::new(link.to_word()), target: PhantomData }
    }

    /// Returns the link. Its node is seen as it was when the link was published.
    #[inline(always)]
    pub fn get(&self) -> Link<T> {
        // Acquire pairs with the Release of `set`: the node's contents are seen.
        Link::from_reference(Reference(self.word.load(Acquire)))
    }

    /// Publishes another link. Writers must be kept apart; holding one particular node for each
    /// write does that.
    pub fn set(&self, link: Link<T>) {
        // Release pairs with the Acquire of `get`.
        let order = if planted!("link-published-early") { Relaxed } else { Release };
        self.word.store(link.to_word(), order);
    }
}
