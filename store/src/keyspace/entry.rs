//! A key with its value, its expiry and its time of access.

use super::block::{Block, Content};
use crate::value::{StringRef, StringValue, Value, ValueRef};
use std::mem;
use std::sync::atomic::Ordering;
use xtasking::task::Lines;

/// A key, its value, when it expires and when it was last accessed: one block of memory, if the
/// value is a number or bytes that are replaced as a whole.
#[derive(Debug)]
pub struct Entry(Block);

impl Entry {
    pub(super) fn new(key: &[u8], value: Value, expires_at: Option<u64>, now: u64) -> Self {
        Self(with_content(value, |content| Block::new(key, content, expires_at, seconds(now))))
    }

    /// Makes an entry with a string: the text of an integer becomes one.
    pub(super) fn of_text(key: &[u8], text: &[u8], expires_at: Option<u64>, now: u64) -> Self {
        Self(Block::new(key, content_of(text), expires_at, seconds(now)))
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

    /// Returns the value, to be changed in place.
    pub(super) fn value_mut(&mut self) -> &mut Value {
        let own = match self.0.content() {
            Content::Integer(number) => Some(StringValue::Integer(number)),
            Content::Bytes(bytes) => Some(StringValue::fixed(bytes)),
            Content::Value(_) => None,
        };
        if let Some(string) = own {
            self.0.replace(Content::Value(Value::String(string)));
        }
        self.0.value_mut().expect("it was made so above")
    }

    /// Replaces the value.
    pub(super) fn set_value(&mut self, value: Value) {
        with_content(value, |content| self.0.replace(content));
    }

    /// Replaces the value by a string: the text of an integer becomes one.
    pub(super) fn set_text(&mut self, text: &[u8]) {
        self.0.replace(content_of(text));
    }

    /// Returns the value, without the key.
    pub(super) fn into_value(self) -> Value {
        self.0.into_value().unwrap_or_else(|block| match block.content() {
            Content::Integer(number) => Value::String(StringValue::Integer(number)),
            Content::Bytes(bytes) => Value::String(StringValue::fixed(bytes)),
            Content::Value(value) => value.clone(),
        })
    }

    /// Returns when the entry expires, in ms since 1970.
    #[inline]
    pub fn expires_at(&self) -> Option<u64> {
        self.0.expires_at()
    }

    pub(super) fn set_expires_at(&mut self, expires_at: Option<u64>) {
        self.0.set_expires_at(expires_at);
    }

    /// Returns true if the entry has expired, and only has not been removed yet.
    #[inline]
    pub fn is_expired(&self, now: u64) -> bool {
        self.expires_at().is_some_and(|expires_at| expires_at <= now)
    }

    /// Notes an access.
    #[inline]
    pub(super) fn touch(&self, now: u64) {
        let (accessed, now) = (self.0.accessed(), seconds(now));
        // Relaxed: a statistic that orders nothing. Most accesses find the second of the last one,
        // and leave the cache line shared.
        if accessed.load(Ordering::Relaxed) != now {
            accessed.store(now, Ordering::Relaxed);
        }
    }

    /// Sets for how many seconds there was no access.
    pub(super) fn set_idle_seconds(&self, idle: u64, now: u64) {
        let idle = u32::try_from(idle).unwrap_or(u32::MAX);
        // Relaxed: see `touch`.
        self.0.accessed().store(seconds(now).saturating_sub(idle), Ordering::Relaxed);
    }

    /// Returns for how many seconds there was no access.
    pub fn idle_seconds(&self, now: u64) -> u32 {
        // Relaxed: see `touch`.
        seconds(now).saturating_sub(self.0.accessed().load(Ordering::Relaxed))
    }

    /// Returns about how many bytes the entry takes; see [`ValueRef::memory`].
    pub fn memory(&self, samples: usize) -> usize {
        mem::size_of::<Self>() + self.0.size() + self.value().memory(samples)
    }

    /// Returns the lines that a reader of a small entry touches.
    pub(super) fn lines(&self) -> Lines {
        self.0.lines()
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

/// Seconds since 1970, which fit until 2106.
fn seconds(now: u64) -> u32 {
    (now / 1000) as u32
}
