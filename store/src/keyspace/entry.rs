//! A key with its value, its expiry and its time of access.

use super::AccessClock;
use super::block::{Block, SharedKey};
use super::shape::Content;
use crate::value::{StringRef, StringValue, Value, ValueRef, pieces_of_block};
use std::mem;
use std::num::NonZero;
use std::sync::atomic::Ordering;
use xtasking::task::Lines;

/// The bytes of a slot in a table, of which a fifth is free.
const SLOT: usize = 10;

/// A key, its value, when it expires and when it was last accessed: one block of memory, if the
/// value is a number or bytes that are replaced as a whole.
#[derive(Debug)]
pub struct Entry(Block);

impl Entry {
    pub(super) fn new(key: &[u8], value: Value, expires_at: Option<u64>, accessed: u32) -> Self {
        Self(with_content(value, |content| Block::new(key, content, expires_at, accessed)))
    }

    /// Makes an entry with a string: the text of an integer becomes one.
    pub(super) fn of_text(key: &[u8], text: &[u8], expires_at: Option<u64>, accessed: u32) -> Self {
        Self(Block::new(key, content_of(text), expires_at, accessed))
    }

    /// Returns the key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.0.key()
    }

    /// Returns the value.
    #[inline]
    pub fn value(&self) -> ValueRef<'_> {
        match self.0.content() {
            Content::Integer(number) => ValueRef::String(StringRef::Integer(number)),
            Content::Bytes(bytes) => ValueRef::String(StringRef::Fixed(bytes)),
            Content::Value(value) => value.into(),
        }
    }

    /// Makes the value one that can be changed in place. Returns the block before if it takes long
    /// to free.
    pub(super) fn make_changeable(&mut self) -> Option<Self> {
        let string = match self.0.content() {
            Content::Integer(number) => StringValue::Integer(number),
            Content::Bytes(bytes) => StringValue::fixed(bytes),
            Content::Value(_) => return None,
        };
        large(self.0.replace(Content::Value(Value::String(string))))
    }

    /// Returns the value, to be changed in place.
    ///
    /// # Panics
    ///
    /// If it was not [made changeable](Self::make_changeable).
    pub(super) fn value_mut(&mut self) -> &mut Value {
        self.0.value_mut().expect("it was made changeable")
    }

    /// Replaces the value. Returns the block before if it takes long to free.
    pub(super) fn set_value(&mut self, value: Value) -> Option<Self> {
        large(with_content(value, |content| self.0.replace(content)))
    }

    /// Replaces the value by a string: the text of an integer becomes one. Returns the block before
    /// if it takes long to free.
    pub(super) fn set_text(&mut self, text: &[u8]) -> Option<Self> {
        large(self.0.replace(content_of(text)))
    }

    /// Returns the value, without the key, and the block if that is left and takes long to free.
    pub(super) fn into_value(self) -> (Value, Option<Self>) {
        let block = match self.0.into_value() {
            Ok(value) => return (value, None),
            Err(block) => block,
        };
        let value = match block.content() {
            Content::Integer(number) => Value::String(StringValue::Integer(number)),
            Content::Bytes(bytes) => Value::String(StringValue::fixed(bytes)),
            Content::Value(value) => value.clone(),
        };
        (value, large(Some(block)))
    }

    /// Returns true if the entry takes long to free.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        let has_large_value = || matches!(self.0.content(), Content::Value(value) if value.is_large());
        self.0.is_large() || self.0.has_value() && has_large_value()
    }

    /// Takes the value out if it takes long to free. The entry is to be removed, or to get another
    /// one.
    #[inline]
    pub(super) fn take_large(&mut self) -> Option<Value> {
        if !self.0.has_value() {
            return None;
        }
        self.take_if_large()
    }

    #[cold]
    fn take_if_large(&mut self) -> Option<Value> {
        let value = self.0.value_mut()?;
        value.is_large().then(|| mem::replace(value, Value::String(StringValue::Integer(0))))
    }

    /// Frees the entry: first the entry itself, then a large value in pieces.
    pub(super) fn into_pieces(mut self) -> impl Iterator<Item = ()> + Send {
        let (value, size) = (self.take_large(), self.0.size());
        pieces_of_block(self, size).chain(value.into_iter().flat_map(Value::into_pieces))
    }

    /// Returns when the entry expires, in ms since 1970.
    #[inline]
    pub fn expires_at(&self) -> Option<u64> {
        self.0.expires_at()
    }

    /// Sets or removes the expiry. Returns the block before if it takes long to free.
    pub(super) fn set_expires_at(&mut self, expires_at: Option<u64>) -> Option<Self> {
        large(self.0.set_expires_at(expires_at))
    }

    /// Returns true if the entry has expired, and only has not been removed yet.
    #[inline]
    pub fn is_expired(&self, now: u64) -> bool {
        self.expires_at().is_some_and(|expires_at| expires_at <= now)
    }

    /// Notes an access.
    #[inline]
    pub(super) fn touch(&self, clock: AccessClock, now: u64) {
        // Most accesses find the second of the last one, and leave the cache line shared.
        let before = self.accessed();
        let after = clock.after_access(before, now);
        if before != after {
            self.set_accessed(after);
        }
    }

    /// Returns what is noted of its accesses.
    #[inline]
    pub(super) fn accessed(&self) -> u32 {
        // Relaxed: a statistic that orders nothing.
        self.0.accessed().load(Ordering::Relaxed)
    }

    /// Sets what is noted of its accesses.
    pub(super) fn set_accessed(&self, accessed: u32) {
        // Relaxed: as above.
        self.0.accessed().store(accessed, Ordering::Relaxed);
    }

    /// Returns how many bytes the entry takes, its slot in the table included. It takes constant
    /// time, and changes only if the entry does.
    pub(super) fn bytes(&self) -> usize {
        SLOT + allocated(self.0.size()) + self.value().bytes()
    }

    /// Returns about how many bytes the entry takes; see [`ValueRef::memory`].
    pub fn memory(&self, samples: usize) -> usize {
        mem::size_of::<Self>() + self.0.size() + self.value().memory(samples)
    }

    /// Returns the lines that a reader of a small entry touches.
    pub(super) fn lines(&self) -> Lines {
        self.0.lines()
    }

    /// Returns the address of the block.
    #[inline]
    pub(super) fn address(&self) -> NonZero<usize> {
        self.0.address()
    }

    /// Shares the key with an order. Returns `None` if that was done before.
    pub(super) fn share_key(&self) -> Option<SharedKey> {
        self.0.share_key()
    }

    /// Returns 16 bits of its hash.
    #[inline]
    pub(super) fn tag(&self) -> u16 {
        self.0.tag()
    }

    pub(super) fn set_tag(&mut self, tag: u16) {
        self.0.set_tag(tag);
    }
}

/// Returns a block that was replaced if it takes long to free; else frees it.
#[inline]
fn large(replaced: Option<Block>) -> Option<Entry> {
    replaced.map(Entry).filter(|entry| entry.is_large() && !planted!("replaced-text-freed-in-hold"))
}

/// Passes on the content of the block of a value.
fn with_content<R>(value: Value, then: impl FnOnce(Content<'_, Value>) -> R) -> R {
    match value {
        Value::String(StringValue::Integer(number)) => then(Content::Integer(number)),
        Value::String(StringValue::Fixed(bytes)) => then(Content::Bytes(&bytes)),
        other => then(Content::Value(other)),
    }
}

/// Returns the content of a block with a string.
fn content_of(text: &[u8]) -> Content<'_, Value> {
    StringValue::parse(text).map_or(Content::Bytes(text), Content::Integer)
}

/// Returns how many bytes an allocator takes for a block: multiples of 16, and from 128 on four
/// sizes up to each power of two. So do mimalloc and jemalloc.
fn allocated(size: usize) -> usize {
    let step = if size <= 128 { 16 } else { (size - 1).ilog2().checked_sub(2).map_or(16, |bits| 1 << bits) };
    size.next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::allocated;

    #[test]
    fn sizes_are_those_of_allocators() {
        for (size, expected) in [(1, 16), (48, 48), (49, 64), (113, 128), (129, 160), (256, 256), (257, 320)]
        {
            assert_eq!(allocated(size), expected, "{size}");
        }
        assert_eq!(allocated(1_000_000), 1 << 20);
    }
}
