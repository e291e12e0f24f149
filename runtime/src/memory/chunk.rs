//! What pages are cut into: *chunks*, each for blocks of one class, and aligned to their size.
//!
//! A chunk's first block is its header. A block finds it by masking its own address. Before each block there may be a
//! *lead*: bytes that its user has besides, so many for all blocks of a heap.

use super::magazine::{BATCH, Depot};
use super::pages::Span;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// Size and alignment of a chunk.
pub(crate) const CHUNK: usize = 64 << 10;

/// A size of blocks.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// 64 bytes.
    #[default]
    B64,
    /// 128 bytes.
    B128,
    /// 256 bytes.
    B256,
    /// 512 bytes.
    B512,
}

impl Class {
    /// All classes, smallest first.
    pub const ALL: [Self; 4] = [Self::B64, Self::B128, Self::B256, Self::B512];

    /// The smallest class whose blocks hold `bytes` bytes; `None` if there is none.
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

    /// Bytes of a block of this class.
    #[inline(always)]
    pub const fn size(self) -> usize {
        64 << self as usize
    }

    /// Bytes from one block to the next, with a lead of so many bytes before each.
    pub(crate) const fn stride(self, lead: usize) -> usize {
        lead + self.size()
    }

    /// Blocks in a chunk, with a lead of so many bytes before each: all of it but for the first, its header.
    pub(crate) const fn in_chunk(self, lead: usize) -> usize {
        CHUNK / self.stride(lead) - 1
    }

    /// Where the first block of a chunk lies, behind the header and its own lead.
    pub(crate) const fn first(self, lead: usize) -> usize {
        self.stride(lead) + lead
    }

    /// Blocks in a batch: a page of them, but enough to make the way to the node heap rare.
    pub(crate) const fn batch(self) -> usize {
        match self {
            Self::B64 => BATCH,
            Self::B128 => BATCH / 2,
            Self::B256 | Self::B512 => 16,
        }
    }
}

/// What the first bytes of a chunk say about all of its blocks. Written before any of them is given out, and never
/// again while somebody has one; so whoever has a block has received the header with it.
#[derive(Clone, Copy)]
pub(super) struct ChunkHeader {
    pub node: u16,
    pub class: Class,
}

/// Where the first block of a chunk, behind the header, has room for a number that only the node heap uses.
const COUNT: usize = 16;
const _: () = assert!(size_of::<ChunkHeader>() <= COUNT);

/// The chunk that `block` lies in.
fn chunk_of(block: NonNull<u8>) -> *mut u8 {
    block.as_ptr().map_addr(|address| address & !(CHUNK - 1))
}

/// The header of the chunk that `block` lies in.
///
/// # Safety
///
/// `block` is a block of a node heap.
pub(super) unsafe fn header_of(block: NonNull<u8>) -> ChunkHeader {
    // SAFETY: a chunk is aligned to its size and in one mapping with its blocks; its header was written before.
    unsafe { chunk_of(block).cast::<ChunkHeader>().read() }
}

/// The number that stands behind the header of the chunk that `block` lies in.
fn count_of(block: NonNull<u8>) -> *mut usize {
    chunk_of(block).wrapping_add(COUNT).cast()
}

/// Takes those blocks out of a depot whose chunks are there as a whole, and adds these chunks to the unused ones. How
/// many there were.
///
/// # Safety
///
/// The depot's blocks are of this class, with leads of so many bytes, and in chunks whose numbers nobody else uses
/// meanwhile.
pub(super) unsafe fn take_whole_chunks(
    class: Class,
    lead: usize,
    depot: &mut Depot,
    unused: &mut Vec<Span>,
) -> usize {
    let before = unused.len();
    // SAFETY: by the caller's promise; the number is in the chunk's first block, which is no depot's.
    unsafe {
        depot.blocks().for_each(|block| *count_of(block) = 0);
        depot.blocks().for_each(|block| *count_of(block) += 1);
    }
    depot.retain(|block| {
        // SAFETY: as above.
        let stays = unsafe { *count_of(block) } != class.in_chunk(lead);
        // Each chunk once: with its first block.
        if !stays && block.addr().get() % CHUNK == class.first(lead) {
            // SAFETY: a chunk begins so far before its first block.
            unused.push(Span::new(unsafe { block.byte_sub(class.first(lead)) }, 1));
        }
        stays
    });
    unused.len() - before
}
