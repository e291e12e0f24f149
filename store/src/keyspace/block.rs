//! The memory of an entry: one block, and a pointer of 8 bytes.
//!
//! | part | bytes | if |
//! |---|---|---|
//! | the [`Header`] | 8 | |
//! | the expiry in ms since 1970 | 8 | it expires |
//! | the lengths of key and content | 16 | they do not fit into the header |
//! | an integer, or a [`Value`] | 8, or its size | the content is one |
//! | the key | its length | |
//! | the content | its length | it is bytes |
//!
//! The upper 16 bits of the pointer are free: addresses of processes have 48. A hash table keeps
//! its tag there.
//!
//! An order of keys shares the block for its key, by a [`SharedKey`]. The memory is freed when both
//! the owner and the shared key are gone, so an order never reads freed memory.

use super::shape::{Content, Form, Header, Shape};
use crate::value::{LARGE_BYTES, Value};
use std::alloc::{alloc, dealloc, handle_alloc_error};
use std::mem::{self, ManuallyDrop};
use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::{fmt, ptr, slice};
use xtasking::task::Lines;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the store needs addresses of 64 bits");

/// An owner of a block.
pub(super) struct Block(NonNull<Header>);

/// The key of a block, which is there as long as this or the owner is.
#[derive(Debug)]
pub(super) struct SharedKey(ManuallyDrop<Block>);

/// The size of a block with a short key and a short string.
const SMALL: usize = 48;

const TAG_SHIFT: u32 = 48;
const ADDRESS: usize = (1 << TAG_SHIFT) - 1;

// The `Block` in a `SharedKey` owns nothing: it reads the form, the lengths and the key, which
// nothing changes, and changes only the atomic `form`. Its bits `SHARED` and `ORPHANED` tell which
// of the two sides is left: `share_key`, `Block::leave` and `SharedKey::drop` set and clear them by
// atomic operations, so that exactly the last side frees the block.
//
// SAFETY: an owner has its parts as a `Box` of them would: bytes, numbers, two atomics, and perhaps
// a `Value`, which is `Send` and `Sync` (checked below). A `SharedKey` is as said above.
unsafe impl Send for Block {}
// SAFETY: as above. By a shared reference only the atomics `accessed` and `form` are changed.
unsafe impl Sync for Block {}
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Value>();
};

impl Block {
    pub(super) fn new(
        key: &[u8],
        content: Content<'_, Value>,
        expires_at: Option<u64>,
        accessed: u32,
    ) -> Self {
        let shape = Shape::new(key, &content, expires_at.is_some());
        let layout = shape.layout();
        let header = Header {
            accessed: AtomicU32::new(accessed),
            form: AtomicU8::new(shape.form.0),
            key_len: u8::try_from(shape.key_len).unwrap_or(0),
            len: u16::try_from(shape.len).unwrap_or(0),
        };
        // SAFETY: the layout is not empty, as there is a header. All parts are written within the
        // block, where `Shape` says, aligned to 8 bytes before the key; key and bytes are other
        // memory than the fresh block.
        unsafe {
            let Some(block) = NonNull::new(alloc(layout)) else { handle_alloc_error(layout) };
            assert!(block.addr().get() <= ADDRESS, "addresses have 48 bits");
            block.cast::<Header>().write(header);
            if let Some(expires_at) = expires_at {
                block.add(Shape::EXPIRY).cast::<u64>().write(expires_at);
            }
            if shape.form.has(Form::LONG) {
                block.add(shape.lengths()).cast::<[usize; 2]>().write([shape.key_len, shape.len]);
            }
            let key_at = block.add(shape.key());
            key_at.copy_from_nonoverlapping(NonNull::from(key).cast(), key.len());
            match content {
                Content::Integer(number) => block.add(shape.fixed()).cast().write(number),
                Content::Value(value) => block.add(shape.fixed()).cast().write(value),
                Content::Bytes(bytes) => {
                    let at = key_at.add(key.len());
                    at.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
                }
            }
            Self(block.cast())
        }
    }

    /// Returns a pointer to the start of the block, without the tag.
    #[inline]
    fn start(&self) -> NonNull<u8> {
        let address = |pointer: NonZero<usize>| {
            NonZero::new(pointer.get() & ADDRESS).expect("a block is at no null address")
        };
        self.0.map_addr(address).cast()
    }

    /// Returns the address of the block as a number.
    #[inline]
    pub(super) fn address(&self) -> NonZero<usize> {
        self.start().addr()
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: the block begins with its header. It lives as long as its owner or its shared
        // key: by the bits `SHARED` and `ORPHANED` the last of them frees it. Nothing makes a
        // mutable reference to the header.
        unsafe { self.start().cast().as_ref() }
    }

    #[inline]
    fn shape(&self) -> Shape {
        let header = self.header();
        let (mut key_len, mut len) = (usize::from(header.key_len), usize::from(header.len));
        let form = header.form();
        if form.has(Form::LONG) {
            let shape = Shape { form, key_len, len };
            // SAFETY: a block of this form has its lengths there.
            [key_len, len] = unsafe { self.start().add(shape.lengths()).cast::<[usize; 2]>().read() };
        }
        Shape { form, key_len, len }
    }

    /// Returns the time of the last access, in seconds since 1970.
    #[inline]
    pub(super) fn accessed(&self) -> &AtomicU32 {
        &self.header().accessed
    }

    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        let shape = self.shape();
        // SAFETY: the key is there, and is not changed as long as the block lives.
        unsafe { slice::from_raw_parts(self.start().add(shape.key()).as_ptr(), shape.key_len) }
    }

    #[inline]
    pub(super) fn content(&self) -> Content<'_, &Value> {
        let shape = self.shape();
        // SAFETY: a block of this form has this content there. By a shared reference nothing
        // changes it.
        unsafe {
            let fixed = self.start().add(shape.fixed());
            match shape.form.0 & (Form::INTEGER | Form::VALUE) {
                Form::INTEGER => Content::Integer(fixed.cast().read()),
                Form::VALUE => Content::Value(fixed.cast().as_ref()),
                _ => {
                    let bytes = self.start().add(shape.key() + shape.key_len);
                    Content::Bytes(slice::from_raw_parts(bytes.as_ptr(), shape.len))
                }
            }
        }
    }

    /// Returns true if the content is a value.
    #[inline]
    pub(super) fn has_value(&self) -> bool {
        self.header().form().has(Form::VALUE)
    }

    /// Returns the value, if the content is one.
    pub(super) fn value_mut(&mut self) -> Option<&mut Value> {
        let shape = self.shape();
        // SAFETY: a block of this form has a value there, which is borrowed with its owner.
        shape.form.has(Form::VALUE).then(|| unsafe { self.start().add(shape.fixed()).cast().as_mut() })
    }

    /// Returns the value, if the content is one; else the block.
    pub(super) fn into_value(self) -> Result<Value, Self> {
        let shape = self.shape();
        if !shape.form.has(Form::VALUE) {
            return Err(self);
        }
        let mut block = ManuallyDrop::new(self);
        // SAFETY: the value is moved out once: its owner leaves the block without dropping it.
        let value = unsafe { block.start().add(shape.fixed()).cast().read() };
        block.leave();
        Ok(value)
    }

    /// Shares the key. Returns `None` if that was done before, and the shared key is still there.
    pub(super) fn share_key(&self) -> Option<SharedKey> {
        // Relaxed: the owner, from which the shared key comes, has all that it needs.
        let before = self.header().form.fetch_or(Form::SHARED, Ordering::Relaxed);
        let own = || SharedKey(ManuallyDrop::new(Self(self.start().cast())));
        (before & Form::SHARED == 0).then(own)
    }

    /// Ends the ownership, when the content is gone: frees the block, unless the key is shared.
    fn leave(&mut self) {
        let form = &self.header().form;
        // Acquire, and AcqRel: pair with the AcqRel of `SharedKey::drop`. The side that frees comes
        // after all that the other one has read.
        let is_shared = form.load(Ordering::Acquire) & Form::SHARED != 0
            && form.fetch_or(Form::ORPHANED, Ordering::AcqRel) & Form::SHARED != 0;
        if !is_shared {
            // SAFETY: there is no shared key, and only the owner could make one. The owner is about
            // to be gone.
            unsafe { self.free() };
        }
    }

    /// # Safety
    ///
    /// The content is dropped or moved out, and nothing uses the block after this.
    unsafe fn free(&mut self) {
        let layout = self.shape().layout();
        // SAFETY: by the layout with which it was allocated, as the shape stays; used no more, as
        // the caller promises.
        unsafe { dealloc(self.start().as_ptr(), layout) };
    }

    /// Replaces the content. What has the same size is replaced in place; else the content gets
    /// another block, and the old one is returned.
    pub(super) fn replace(&mut self, content: Content<'_, Value>) -> Option<Self> {
        let shape = self.shape();
        let new = Shape::new(self.key(), &content, shape.form.has(Form::EXPIRES));
        if new.form == shape.form && new.len == shape.len {
            match content {
                // SAFETY: the content has this form and length, and its owner is borrowed for it.
                Content::Integer(number) => unsafe { self.start().add(shape.fixed()).cast().write(number) },
                // SAFETY: as above; the bytes are not in this block, which is borrowed mutably.
                Content::Bytes(bytes) => unsafe {
                    let at = self.start().add(shape.key() + shape.key_len).as_ptr();
                    ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len());
                },
                Content::Value(value) => *self.value_mut().expect("a block of this form has one") = value,
            }
            return None;
        }
        // Relaxed: nothing else accesses a block that is borrowed mutably.
        let accessed = self.accessed().load(Ordering::Relaxed);
        let block = Self::new(self.key(), content, self.expires_at(), accessed);
        Some(self.take_place_of(block))
    }

    #[inline]
    pub(super) fn expires_at(&self) -> Option<u64> {
        let expires = self.header().form().has(Form::EXPIRES);
        // SAFETY: a block of this form has its expiry there.
        expires.then(|| unsafe { self.start().add(Shape::EXPIRY).cast().read() })
    }

    /// Sets or removes the expiry. If that needs another block, returns the old one.
    pub(super) fn set_expires_at(&mut self, expires_at: Option<u64>) -> Option<Self> {
        match expires_at {
            Some(expires_at) if self.header().form().has(Form::EXPIRES) => {
                // SAFETY: a block of this form has its expiry there; its owner is borrowed for it.
                unsafe { self.start().add(Shape::EXPIRY).cast().write(expires_at) };
                None
            }
            None if !self.header().form().has(Form::EXPIRES) => None,
            _ => Some(self.rebuild(expires_at)),
        }
    }

    /// Moves everything to a block with, or without, an expiry. Returns the old one.
    fn rebuild(&mut self, expires_at: Option<u64>) -> Self {
        // Relaxed: as in `replace`.
        let accessed = self.accessed().load(Ordering::Relaxed);
        let block = match self.content() {
            Content::Integer(number) => Self::new(self.key(), Content::Integer(number), expires_at, accessed),
            Content::Bytes(bytes) => Self::new(self.key(), Content::Bytes(bytes), expires_at, accessed),
            Content::Value(_) => {
                let placeholder = Value::String(crate::value::StringValue::Integer(0));
                let value = self.value_mut().expect("the content is one");
                let value = mem::replace(value, placeholder);
                Self::new(self.key(), Content::Value(value), expires_at, accessed)
            }
        };
        self.take_place_of(block)
    }

    /// Becomes another block, with the same tag. Returns what it was.
    fn take_place_of(&mut self, mut block: Self) -> Self {
        block.set_tag(self.tag());
        mem::replace(self, block)
    }

    /// Returns true if the block itself takes long to free: its key and bytes are many.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        // Most blocks have no long parts, which their header says.
        self.header().form().has(Form::LONG) && self.size() > LARGE_BYTES
    }

    /// Returns the lines of a small block.
    pub(super) fn lines(&self) -> Lines {
        Lines::from_start_of(self.header(), SMALL)
    }

    /// Returns the number of bytes.
    pub(super) fn size(&self) -> usize {
        self.shape().layout().size()
    }

    /// Returns the tag, which is 0 at first.
    #[inline]
    pub(super) fn tag(&self) -> u16 {
        (self.0.addr().get() >> TAG_SHIFT) as u16
    }

    pub(super) fn set_tag(&mut self, tag: u16) {
        let start = self.start();
        self.0 = start.map_addr(|address| address | usize::from(tag) << TAG_SHIFT).cast();
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let shape = self.shape();
        if shape.form.has(Form::VALUE) {
            // SAFETY: the value is there, and is dropped once: with its owner.
            unsafe { self.start().add(shape.fixed()).cast::<Value>().drop_in_place() };
        }
        self.leave();
    }
}

impl SharedKey {
    /// Returns the key.
    #[inline]
    pub(super) fn get(&self) -> &[u8] {
        self.0.key()
    }
}

impl Drop for SharedKey {
    fn drop(&mut self) {
        // AcqRel: pairs with `Block::leave`.
        let before = self.0.header().form.fetch_and(!Form::SHARED, Ordering::AcqRel);
        if before & Form::ORPHANED != 0 {
            // SAFETY: the owner is gone, and has left the freeing of the block to this.
            unsafe { self.0.free() };
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("key", &self.key().escape_ascii()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Content};
    use crate::value::{Hash, StringValue, Value, ValueRef};
    use proptest::prelude::*;

    /// The content of a block, for the model.
    #[derive(Clone, Debug, PartialEq)]
    enum Model {
        Integer(i64),
        Bytes(Vec<u8>),
        Growing(Vec<u8>),
    }

    impl Model {
        fn content(&self) -> Content<'_, Value> {
            match self {
                Self::Integer(number) => Content::Integer(*number),
                Self::Bytes(bytes) => Content::Bytes(bytes),
                Self::Growing(bytes) => Content::Value(Value::String(StringValue::Growing(bytes.clone()))),
            }
        }

        fn of(block: &Block) -> Self {
            match block.content() {
                Content::Integer(number) => Self::Integer(number),
                Content::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
                Content::Value(Value::String(StringValue::Growing(bytes))) => Self::Growing(bytes.clone()),
                Content::Value(other) => panic!("{other:?} was not put there"),
            }
        }
    }

    fn model() -> impl Strategy<Value = Model> {
        // Lengths around the greatest that fit into a header.
        let bytes = prop_oneof![0..40usize, 65_530..65_540usize].prop_map(|len| vec![b'v'; len]);
        prop_oneof![
            any::<i64>().prop_map(Model::Integer),
            bytes.clone().prop_map(Model::Bytes),
            bytes.prop_map(Model::Growing),
        ]
    }

    #[derive(Clone, Debug)]
    enum Step {
        Replace(Model),
        Expire(Option<u64>),
        Tag(u16),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            model().prop_map(Step::Replace),
            any::<Option<u64>>().prop_map(Step::Expire),
            any::<u16>().prop_map(Step::Tag),
        ]
    }

    proptest! {
        #[test]
        fn a_block_has_what_was_put_into_it(
            key in prop_oneof![0..30usize, 250..260usize],
            mut content in model(),
            mut expires_at in any::<Option<u64>>(),
            steps in prop::collection::vec(step(), 0..10),
        ) {
            let (key, mut tag) = (vec![b'k'; key], 0);
            let mut block = Block::new(&key, content.content(), expires_at, 7);
            for step in steps {
                match step {
                    Step::Replace(new) => {
                        block.replace(new.content());
                        content = new;
                    }
                    Step::Expire(at) => {
                        block.set_expires_at(at);
                        expires_at = at;
                    }
                    Step::Tag(new) => {
                        block.set_tag(new);
                        tag = new;
                    }
                }
                prop_assert_eq!(block.key(), &key[..]);
                prop_assert_eq!(&Model::of(&block), &content);
                prop_assert_eq!((block.expires_at(), block.tag()), (expires_at, tag));
                prop_assert_eq!(block.accessed().load(std::sync::atomic::Ordering::Relaxed), 7);
            }
        }
    }

    #[test]
    fn a_shared_key_outlives_its_owner() {
        let contents = [Content::Integer(7), Content::Bytes(&[b'v'; 70_000])];
        for content in contents {
            let mut block = Block::new(b"key", content, Some(9), 0);
            let first = block.share_key().expect("the first one");
            assert!(block.share_key().is_none());
            block.set_expires_at(Some(8));
            assert_eq!((first.get(), block.expires_at()), (&b"key"[..], Some(8)));
            // Another block, whose key is not shared yet.
            block.replace(Content::Value(Value::Hash(Box::<Hash>::default())));
            let second = block.share_key().expect("that of the new block");
            assert_eq!((first.get(), second.get()), (&b"key"[..], &b"key"[..]));
            drop(first);
            assert!(block.into_value().is_ok());
            assert_eq!(second.get(), b"key");
        }
        let block = Block::new(b"other", Content::Integer(1), None, 0);
        drop(block.share_key());
        assert!(block.share_key().is_some());
    }

    #[test]
    fn values_are_moved_out_or_dropped_once() {
        let hash = || Content::Value(Value::Hash(Box::<Hash>::default()));
        let block = Block::new(b"key", hash(), None, 0);
        let value = block.into_value().expect("it is one");
        assert_eq!(ValueRef::from(&value).type_name(), "hash");
        let mut block = Block::new(b"key", hash(), None, 0);
        block.set_expires_at(Some(9));
        assert!(block.value_mut().is_some() && block.expires_at() == Some(9));
        block.replace(hash());
        block.replace(Content::Integer(3));
        assert!(block.into_value().is_err_and(|block| matches!(block.content(), Content::Integer(3))));
    }
}
