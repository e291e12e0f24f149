//! Memory that is of one type for ever: the addresses of nodes, to which old links may lead.
//!
//! A link is a plain word, which safe code may keep for as long as it likes, and spawn a task with.
//! That task reads the header of the node, to find out whether the node exists. So the addresses of
//! nodes are never given back: behind each of them there is a header at any time, and if there is a
//! node, it is one of the link's type.
//!
//! 1. When an arena or array is gone, its runs of pages come here, with headers that say that there
//!    is no node. The memory itself goes back to the system, if the source can
//!    [discard](PageSource::discard_run) it.
//! 2. The next arena or array of the same type takes them first. Cells stay where they were in a
//!    run: both begin at its start and have the same distance. So an old link leads to a new node
//!    of the same type at worst, which is wrong, but sound.
//! 3. A link also names the primitive of its node, so a run serves nodes of one primitive. The
//!    links of sequenced nodes name the home of their node as well, which alone may use the
//!    header's queue. A new node could have another home than an old link says. So runs of
//!    sequenced nodes are not used again.

use super::forbidden;
use super::lists::HEADER_BYTES;
use super::pages::{PageSource, Pages};
use crate::sync::global::GlobalMutex;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::TypeId;
use core::ptr::NonNull;

/// What memory must have in common to be used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    cell: TypeId,
    /// Bytes from one cell to the next.
    stride: usize,
    /// The address of the source; 0 if it has no state, as all sources of its type are the same.
    source: usize,
    kind: Kind,
}

/// How the links of nodes are used, besides their address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// By a latch of this number.
    Latched(u8),
    /// At the home that they name.
    Sequenced,
}

/// A run that no arena or array has.
struct Kept {
    pages: Pages,
    /// Keeps the source, whose address is in the key.
    _source: Arc<dyn PageSource>,
}

static KEPT: GlobalMutex<BTreeMap<Key, Vec<Kept>>> = GlobalMutex::new(BTreeMap::new());

/// A source of pages for the cells of one type, which keeps the addresses of what is released.
///
/// Cells are at multiples of the stride in a run. Before a run is released, their headers must have
/// been [cleared](crate::object::Header::clear).
pub(crate) struct TypedPages {
    source: Arc<dyn PageSource>,
    key: Key,
}

impl TypedPages {
    /// Wraps a source for cells of type `Cell`, `stride` bytes apart.
    pub fn new<Cell: 'static>(source: Arc<dyn PageSource>, stride: usize, kind: Kind) -> Self {
        let has_state = size_of_val(&*source) != 0;
        let address = if has_state { Arc::as_ptr(&source).addr() } else { 0 };
        let key = Key { cell: TypeId::of::<Cell>(), stride, source: address, kind };
        Self { source, key }
    }

    /// Returns true if old links may lead to cells of type `Cell` in memory that was taken before.
    pub fn may_have_old_links<Cell: 'static>() -> bool {
        // An entry stays when its runs are taken.
        KEPT.with(|kept| kept.keys().any(|key| key.cell == TypeId::of::<Cell>()))
    }

    /// Calls `visit` with each part of a run that belongs to the value of a cell, or to none.
    fn for_each_value(&self, pages: &Pages, mut visit: impl FnMut(NonNull<u8>, usize)) {
        let mut at = 0;
        while at + HEADER_BYTES < pages.bytes {
            let begin = at + HEADER_BYTES;
            at = (at + self.key.stride).min(pages.bytes);
            // SAFETY: `begin` is within the run.
            visit(unsafe { pages.ptr.byte_add(begin) }, at - begin);
        }
    }
}

// SAFETY: runs come from a source that keeps the contract. Those that were released before were
// zeroed again, and are in use by nothing else: each was put here by the one holder it had.
unsafe impl PageSource for TypedPages {
    fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
        let taken = KEPT.with(|kept| {
            let runs = kept.get_mut(&self.key).filter(|_| self.key.kind != Kind::Sequenced)?;
            let fits =
                |run: &Kept| run.pages.bytes >= bytes && run.pages.ptr.addr().get().is_multiple_of(align);
            let best =
                (0..runs.len()).filter(|&at| fits(&runs[at])).min_by_key(|&at| runs[at].pages.bytes)?;
            Some(runs.swap_remove(best))
        });
        match taken {
            Some(Kept { pages, .. }) => {
                forbidden::allow(pages.ptr, pages.bytes);
                Some(pages)
            }
            None => self.source.pages(bytes, align, node, huge),
        }
    }

    unsafe fn discard(&self, start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: this function's contract, as the run came from the source.
        unsafe { self.source.discard(start, bytes) }
    }

    unsafe fn release(&self, pages: Pages) {
        forbidden::allow(pages.ptr, pages.bytes);
        // SAFETY: the run came from this source, and its memory is no longer used. Old links may
        // still lead to the headers, which `discard` allows for, and which are left alone
        // otherwise.
        unsafe {
            if !self.source.discard_run(&pages) {
                self.for_each_value(&pages, |value, bytes| value.write_bytes(0, bytes));
            }
        }
        self.for_each_value(&pages, forbidden::forbid);
        let kept = Kept { pages, _source: self.source.clone() };
        KEPT.with(|runs| runs.entry(self.key).or_default().push(kept));
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::Kind::{Latched, Sequenced};
    use super::*;
    use crate::memory::pages::GlobalPages;

    struct OneType;
    struct Another;

    fn source<T: 'static>(kind: Kind) -> TypedPages {
        TypedPages::new::<T>(Arc::new(GlobalPages), 64, kind)
    }

    fn pages<T: 'static>(kind: Kind, bytes: usize, align: usize) -> Pages {
        source::<T>(kind).pages(bytes, align, None, false).unwrap()
    }

    fn release<T: 'static>(kind: Kind, pages: Pages) {
        // SAFETY: the run is the test's, and its headers stay zeroed, as `release` requires.
        unsafe { source::<T>(kind).release(pages) };
    }

    /// Takes a run as another arena would, and gives it back at once.
    fn address<T: 'static>(kind: Kind, bytes: usize) -> NonNull<u8> {
        let pages = pages::<T>(kind, bytes, 64);
        let ptr = pages.ptr;
        release::<T>(kind, pages);
        ptr
    }

    #[test]
    fn addresses_are_used_again_for_the_same_type_only_and_zeroed() {
        let first = pages::<OneType>(Latched(1), 8192, 4096);
        let ptr = first.ptr;
        // SAFETY: the run is this test's.
        source::<OneType>(Latched(1))
            .for_each_value(&first, |value, bytes| unsafe { value.write_bytes(7, bytes) });
        release::<OneType>(Latched(1), first);
        assert_ne!(address::<Another>(Latched(1), 64), ptr);
        assert_ne!(address::<OneType>(Latched(2), 64), ptr);
        assert_ne!(address::<OneType>(Latched(1), 16384), ptr);
        let again = pages::<OneType>(Latched(1), 64, 64);
        assert_eq!((again.ptr, again.bytes), (ptr, 8192));
        // SAFETY: the run is this test's.
        let bytes = unsafe { core::slice::from_raw_parts(ptr.as_ptr(), 8192) };
        assert!(bytes.iter().all(|byte| *byte == 0));
        release::<OneType>(Latched(1), again);
    }

    #[test]
    fn addresses_of_sequenced_nodes_are_not_used_again() {
        let ptr = address::<OneType>(Sequenced, 8192);
        assert_ne!(address::<OneType>(Sequenced, 64), ptr);
    }
}
