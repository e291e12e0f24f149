//! Implements the tree of the index without the runtime, on plain threads.
//!
//! [`OlcTree`] is the B-link tree of the index over the same node layouts, kept consistent by
//! hand-written optimistic lock coupling: what the runtime saves an application from writing. Each
//! thread runs one operation at a time from the root to the leaf. [`limit`] interleaves lookups by
//! hand without any protection: no safe tree over these nodes can be faster.

mod arena;
mod cell;
mod contender;
pub mod limit;
#[cfg(test)]
mod tests;
mod tree;

pub use contender::{LIMIT, THREADS};
pub use limit::Nodes;
pub use tree::OlcTree;

use xtasking::{Part, platform::CACHE_LINE};
use xtasking_index::node::HEADER_BYTES;

/// Starts fetching a part of a node into the first-level cache.
#[inline(always)]
fn fetch<L>(node: *const L, part: Part) {
    let cell = node.wrapping_byte_sub(HEADER_BYTES);
    let line = |number: usize| fetch_line(cell.wrapping_byte_add(number * CACHE_LINE));
    if part.count() == 0 {
        return;
    }
    if part.count() <= 3 {
        // The two or three lines of a key: prefetching one twice is cheaper than an unpredictable
        // branch.
        line(part.first());
        line(part.first() + part.count() / 2);
        line(part.first() + part.count() - 1);
    } else {
        (part.first()..part.first() + part.count()).for_each(line);
    }
}

#[inline(always)]
fn fetch_line<T>(line: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint that is valid for any address, and every x86-64 processor
    // supports it.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(line.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
