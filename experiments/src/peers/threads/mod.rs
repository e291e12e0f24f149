//! The same tree on plain threads.
//!
//! What the runtime saves an application from writing, written by hand: [`OlcTree`] is the B-link tree of the
//! index over the same node layouts, kept consistent by optimistic lock coupling, and every thread runs one
//! operation at a time from the root to the leaf. [`limit`] interleaves lookups by hand, without any
//! protection, as far as the machine will go: nothing that keeps a tree safe can be faster.

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

use xtasking::{LINE, Part};
use xtasking_index::node::HEADER;

/// Starts fetching a part of a node into the first-level cache.
#[inline(always)]
fn fetch<L>(node: *const L, part: Part) {
    let cell = node.wrapping_byte_sub(HEADER);
    let line = |number: usize| fetch_line(cell.wrapping_byte_add(number * LINE));
    if part.count() == 0 {
        return;
    }
    if part.count() <= 3 {
        // The two or three lines of a key: asking twice for one is cheaper than a branch that goes either
        // way.
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
    // SAFETY: prefetching is a hint, whatever the address; every x86-64 processor can do it.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(line.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
