//! Chunks: what pages are cut into. Each is aligned to its size, and has blocks of one class.
//!
//! A chunk's first block is its header, which a block finds by masking its own address. Before each
//! block there may be a *lead*: additional bytes for the user of the block, the same number in all
//! of a heap.

use super::magazine::{Depot, MAX_BATCH};
use super::pages::Span;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// Size and alignment of a chunk in bytes.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;

/// A size of blocks. No trait makes one, for the reason given at `task::options::Options`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SizeClass {
    /// 64 bytes.
    B64,
    /// 128 bytes.
    B128,
    /// 256 bytes.
    B256,
    /// 512 bytes.
    B512,
}

impl SizeClass {
    /// All classes, smallest first.
    pub const ALL: [Self; 4] = [Self::B64, Self::B128, Self::B256, Self::B512];

    /// Returns the smallest class whose blocks hold `bytes` bytes; `None` if there is none.
    #[inline(always)]
    pub const fn for_size(bytes: usize) -> Option<Self> {
        match bytes {
            0..=64 => Some(Self::B64),
            65..=128 => Some(Self::B128),
            129..=256 => Some(Self::B256),
            257..=512 => Some(Self::B512),
            _ => None,
        }
    }

    /// Returns the bytes of a block of this class.
    #[inline(always)]
    pub const fn size(self) -> usize {
        64 << self as usize
    }

    /// Returns the bytes from one block to the next, with `lead` bytes before each.
    pub(crate) const fn stride(self, lead: usize) -> usize {
        lead + self.size()
    }

    /// Returns the number of blocks in a chunk, with `lead` bytes before each: all but the first,
    /// which is the header.
    pub(crate) const fn in_chunk(self, lead: usize) -> usize {
        CHUNK_BYTES / self.stride(lead) - 1
    }

    /// Returns the offset of the first block of a chunk, behind the header and its own lead.
    pub(crate) const fn first(self, lead: usize) -> usize {
        self.stride(lead) + lead
    }

    /// Returns the number of blocks in a batch: about a page, but enough to make visits to the node
    /// heap rare.
    pub(crate) const fn batch(self) -> usize {
        match self {
            Self::B64 => MAX_BATCH,
            Self::B128 => MAX_BATCH / 2,
            Self::B256 | Self::B512 => 16,
        }
    }
}

/// The first bytes of a chunk, which describe all of its blocks. Written before any block is handed
/// out, and never while a block is allocated. So a thread that has received a block has received
/// the header with it.
#[derive(Clone, Copy)]
pub(super) struct ChunkHeader {
    pub node: u16,
    pub class: SizeClass,
}

/// The offset of a number in the first block of a chunk, behind the header; only the node heap uses
/// it.
const COUNT_OFFSET: usize = 16;
const _: () = assert!(size_of::<ChunkHeader>() <= COUNT_OFFSET);

/// Returns the chunk that `block` is in.
fn chunk_of(block: NonNull<u8>) -> *mut u8 {
    block.as_ptr().map_addr(|address| address & !(CHUNK_BYTES - 1))
}

/// Returns the header of the chunk that `block` is in.
///
/// # Safety
///
/// `block` is a block of a node heap.
pub(super) unsafe fn header_of(block: NonNull<u8>) -> ChunkHeader {
    // SAFETY: a chunk is aligned to its size, and in one mapping with its blocks. Its header was
    // written before they were handed out.
    unsafe { chunk_of(block).cast::<ChunkHeader>().read() }
}

/// Returns the number behind the header of the chunk that `block` is in.
fn count_of(block: NonNull<u8>) -> *mut usize {
    chunk_of(block).wrapping_add(COUNT_OFFSET).cast()
}

/// Removes from a depot the blocks of chunks that are complete in it, and adds these chunks to
/// `unused`. Returns their number.
///
/// # Safety
///
/// The depot's blocks are of this class, with `lead` bytes before each. No other thread uses the
/// numbers of their chunks meanwhile.
pub(super) unsafe fn take_whole_chunks(
    class: SizeClass,
    lead: usize,
    depot: &mut Depot,
    unused: &mut Vec<Span>,
) -> usize {
    let before = unused.len();
    // SAFETY: by the contract; the number is in the chunk's first block, which is never in a depot.
    unsafe {
        depot.blocks().for_each(|block| *count_of(block) = 0);
        depot.blocks().for_each(|block| *count_of(block) += 1);
    }
    depot.retain(|block| {
        // SAFETY: by the contract; the number is in the chunk's first block, which is never in a
        // depot.
        let stays = unsafe { *count_of(block) } != class.in_chunk(lead);
        // Adds each chunk once: with its first block.
        if !stays && block.addr().get() % CHUNK_BYTES == class.first(lead) {
            // SAFETY: a chunk begins that far before its first block.
            unused.push(Span::new(unsafe { block.byte_sub(class.first(lead)) }, 1));
        }
        stays
    });
    unused.len() - before
}
