//! Lists: a deque of chunks, each a [`PackedList`].
//!
//! Both ends cost O(1). A position is found by stepping over whole chunks from the nearer end.

use std::collections::VecDeque;
use std::ops::Range;

use crate::value::limits::CompactLimits;
use crate::value::memory::sampled;
use crate::value::packed::{PackedList, entry_len};
use crate::value::pieces::Removed;

/// A list of byte strings.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// No chunk is empty.
    chunks: VecDeque<PackedList>,
    len: usize,
    /// The bytes of all chunks.
    bytes: usize,
    /// The list has outgrown one chunk, and has not shrunk far below it since.
    is_quick: bool,
}

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The head.
    Left,
    /// The tail.
    Right,
}

impl List {
    /// Makes an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of elements.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there is no element.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of chunks.
    pub(super) fn pieces(&self) -> usize {
        self.chunks.len()
    }

    /// Frees the list, a chunk at a time.
    pub(super) fn into_pieces(self) -> impl Iterator<Item = ()> + Send {
        self.chunks.into_iter().map(drop)
    }

    /// Returns about how many bytes it points to, from so many samples.
    pub(super) fn memory(&self, samples: usize) -> usize {
        let chunks = self.chunks.iter().map(PackedList::memory);
        self.chunks.capacity() * size_of::<PackedList>() + sampled(chunks, samples)
    }

    /// Returns about how many bytes it points to. The buffers of chunks grow by doubling.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<PackedList>() + self.bytes + self.bytes / 4
    }

    /// Checks the count of bytes against what is there.
    #[cfg(test)]
    pub(super) fn check_bytes(&self) {
        assert_eq!(self.bytes, self.chunks.iter().map(PackedList::byte_len).sum::<usize>());
    }

    /// Returns the encoding as `OBJECT ENCODING` names it.
    pub const fn encoding(&self) -> &'static str {
        if self.is_quick { "quicklist" } else { "listpack" }
    }

    /// Adds an element at an end.
    pub fn push(&mut self, end: End, element: &[u8], limits: &CompactLimits) {
        self.len += 1;
        self.bytes += entry_len(element.len());
        let chunk = match end {
            End::Left => self.chunks.front_mut(),
            End::Right => self.chunks.back_mut(),
        };
        match chunk.filter(|chunk| has_room(chunk, element, limits)) {
            Some(chunk) if end == End::Left => chunk.push_front(element),
            Some(chunk) => chunk.push_back(element),
            None => {
                let chunk = std::iter::once(element).collect();
                match end {
                    End::Left => self.chunks.push_front(chunk),
                    End::Right => self.chunks.push_back(chunk),
                }
            }
        }
        self.note_growth(limits);
    }

    /// Removes the element at an end, and returns it.
    pub fn pop(&mut self, end: End, limits: &CompactLimits) -> Option<Box<[u8]>> {
        let index = match end {
            End::Left => 0,
            End::Right => self.len.checked_sub(1)?,
        };
        let element = self.get(index)?.into();
        self.remove_range(index..index + 1, limits);
        Some(element)
    }

    /// Returns the element at `index`.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        if index >= self.len {
            return None;
        }
        let (chunk, within) = self.locate(index);
        self.chunks[chunk].get(within)
    }

    /// Replaces the element at `index`. Returns false if there is none.
    pub fn set(&mut self, index: usize, element: &[u8], limits: &CompactLimits) -> bool {
        if index >= self.len {
            return false;
        }
        let (at, within) = self.locate(index);
        let chunk = &mut self.chunks[at];
        let old = chunk.get(within).map_or(0, |old| entry_len(old.len()));
        let bytes = chunk.byte_len() - old + entry_len(element.len());
        if chunk.len() == 1 || limits.chunk_fits(bytes, chunk.len()) {
            chunk.replace(within, element);
            self.bytes = self.bytes - old + entry_len(element.len());
        } else {
            chunk.remove(within, 1);
            self.len -= 1;
            self.bytes -= old;
            self.insert(index, element, limits);
        }
        self.note_growth(limits);
        true
    }

    /// Inserts an element before the one at `index`, or at the end if `index` is the length.
    pub fn insert(&mut self, index: usize, element: &[u8], limits: &CompactLimits) {
        if index == 0 {
            return self.push(End::Left, element, limits);
        }
        if index >= self.len {
            return self.push(End::Right, element, limits);
        }
        let (at, within) = self.locate(index);
        let chunk = &mut self.chunks[at];
        if has_room(chunk, element, limits) {
            chunk.insert(within, element);
        } else {
            let rest = chunk.split_off(within);
            self.chunks.insert(at + 1, std::iter::once(element).collect());
            self.chunks.insert(at + 2, rest);
            // From the last pair to the first, so that the indices before stay.
            for pair in (at.saturating_sub(1)..at + 3).rev() {
                self.merge(pair, limits);
            }
        }
        self.len += 1;
        self.bytes += entry_len(element.len());
        self.note_growth(limits);
    }

    /// Merges a chunk and the next, if they fit into one.
    fn merge(&mut self, at: usize, limits: &CompactLimits) {
        let (Some(chunk), Some(next)) = (self.chunks.get(at), self.chunks.get(at + 1)) else { return };
        let bytes = chunk.byte_len() + next.byte_len();
        let fits = limits.chunk_fits(bytes, chunk.len() + next.len());
        if (fits || chunk.is_empty() || next.is_empty())
            && let Some(next) = self.chunks.remove(at + 1)
        {
            self.chunks[at].append(&next);
        }
    }

    /// Removes a range of elements.
    ///
    /// # Panics
    ///
    /// If the range is not within the list.
    pub fn remove_range(&mut self, range: Range<usize>, limits: &CompactLimits) {
        drop(self.take_range(range, limits));
    }

    /// Removes a range of elements, as [`remove_range`](Self::remove_range) does. Returns the
    /// chunks that are to be freed, if they are many.
    pub(crate) fn take_range(&mut self, range: Range<usize>, limits: &CompactLimits) -> Option<Removed> {
        let mut left = range.len();
        if left == 0 {
            return None;
        }
        let (mut at, within) = self.locate(range.start);
        self.len -= left;
        if within > 0 {
            let count = left.min(self.chunks[at].len() - within);
            self.remove_from_chunk(at, within, count);
            at += 1;
            left -= count;
        }
        let mut end = at;
        while left > 0 && self.chunks[end].len() <= left {
            left -= self.chunks[end].len();
            end += 1;
        }
        // At once: to remove one chunk moves those behind it.
        let chunks: Vec<_> = self.chunks.drain(at..end).collect();
        let bytes = chunks.iter().map(PackedList::byte_len).sum::<usize>();
        self.bytes -= bytes;
        if left > 0 {
            self.remove_from_chunk(at, 0, left);
        }
        self.note_shrinking(limits);
        Removed::new(chunks, bytes)
    }

    fn remove_from_chunk(&mut self, at: usize, first: usize, count: usize) {
        let before = self.chunks[at].byte_len();
        self.chunks[at].remove(first, count);
        self.bytes -= before - self.chunks[at].byte_len();
    }

    /// Removes the elements that equal `element`, at most `limit` of them, from an end on. Returns
    /// how many were removed.
    pub fn remove_equal(&mut self, end: End, limit: usize, element: &[u8], limits: &CompactLimits) -> usize {
        let mut left = limit;
        let mut rebuild = |chunk: &mut PackedList| {
            let equal = positions(chunk, end, element, left);
            if !equal.is_empty() {
                left -= equal.len();
                let kept = chunk.iter().enumerate().filter(|(index, _)| equal.binary_search(index).is_err());
                *chunk = kept.map(|(_, kept)| kept).collect();
            }
        };
        match end {
            End::Left => self.chunks.iter_mut().for_each(&mut rebuild),
            End::Right => self.chunks.iter_mut().rev().for_each(&mut rebuild),
        }
        let removed = limit - left;
        if removed > 0 {
            self.chunks.retain(|chunk| !chunk.is_empty());
            self.len -= removed;
            self.bytes -= removed * entry_len(element.len());
            self.note_shrinking(limits);
        }
        removed
    }

    /// Iterates over the elements from either end.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.chunks.iter().flat_map(PackedList::iter)
    }

    /// Iterates over a range of elements, clamped to the list.
    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let start = range.start.min(self.len);
        let (chunk, within) = self.locate(start);
        let first = self.chunks.get(chunk).map(|first| first.iter_from(within));
        let others = self.chunks.iter().skip(chunk + 1).flat_map(PackedList::iter);
        first.into_iter().flatten().chain(others).take(range.end.saturating_sub(start))
    }

    /// Returns the chunk of the element at `index`, and the index within it.
    fn locate(&self, index: usize) -> (usize, usize) {
        if index < self.len / 2 {
            let mut within = index;
            for (at, chunk) in self.chunks.iter().enumerate() {
                if within < chunk.len() {
                    return (at, within);
                }
                within -= chunk.len();
            }
        } else {
            let mut end = self.len;
            for (at, chunk) in self.chunks.iter().enumerate().rev() {
                end -= chunk.len();
                if index >= end {
                    return (at, index - end);
                }
            }
        }
        (self.chunks.len(), 0)
    }

    fn note_growth(&mut self, limits: &CompactLimits) {
        self.is_quick |= match self.chunks.front() {
            Some(first) if self.chunks.len() == 1 => !limits.chunk_fits(first.byte_len(), first.len()),
            first => first.is_some(),
        };
    }

    fn note_shrinking(&mut self, limits: &CompactLimits) {
        if self.is_quick && self.chunks.len() <= 1 {
            let first = self.chunks.front();
            let is_small = first.is_none_or(|first| limits.shrunk_list_fits(first.byte_len(), first.len()));
            self.is_quick = !is_small;
        }
    }
}

/// Returns true if an element fits into a chunk.
fn has_room(chunk: &PackedList, element: &[u8], limits: &CompactLimits) -> bool {
    limits.chunk_fits(chunk.byte_len() + entry_len(element.len()), chunk.len() + 1)
}

/// Returns the ascending indices of the elements of a chunk that equal `element`: at most `limit`,
/// those next to `end`.
fn positions(chunk: &PackedList, end: End, element: &[u8], limit: usize) -> Vec<usize> {
    let equal = |(index, other): (usize, &[u8])| (other == element).then_some(index);
    match end {
        End::Left => chunk.iter().enumerate().filter_map(equal).take(limit).collect(),
        End::Right => {
            let mut found: Vec<_> = chunk.iter().enumerate().rev().filter_map(equal).take(limit).collect();
            found.reverse();
            found
        }
    }
}
