//! Which parts the block of an entry has, and where they are: see [`Block`](super::block::Block).

use crate::value::Value;
use std::alloc::Layout;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// What is beside the key.
#[derive(Debug)]
pub(super) enum Content<'b, V> {
    Integer(i64),
    Bytes(&'b [u8]),
    Value(V),
}

#[repr(C)]
pub(super) struct Header {
    /// In seconds since 1970. Readers that run side by side set it.
    pub(super) accessed: AtomicU32,
    /// The [`Form`], which stays, and the bits `SHARED` and `ORPHANED`.
    pub(super) form: AtomicU8,
    /// The length of the key, if it fits.
    pub(super) key_len: u8,
    /// The number of bytes of the content, if it fits.
    pub(super) len: u16,
}

/// Which parts a block has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Form(pub(super) u8);

impl Form {
    /// The kind of content: bytes are neither.
    pub(super) const INTEGER: u8 = 1;
    pub(super) const VALUE: u8 = 2;
    pub(super) const EXPIRES: u8 = 4;
    /// The lengths are in the block.
    pub(super) const LONG: u8 = 8;
    /// A bit beside the form: there is a [`SharedKey`](super::block::SharedKey).
    pub(super) const SHARED: u8 = 16;
    /// A bit beside the form: the owner is gone.
    pub(super) const ORPHANED: u8 = 32;

    pub(super) fn has(self, part: u8) -> bool {
        self.0 & part != 0
    }
}

impl Header {
    #[inline]
    pub(super) fn form(&self) -> Form {
        // Relaxed: the form was written with the block, and does not change.
        Form(self.form.load(Ordering::Relaxed) & !(Form::SHARED | Form::ORPHANED))
    }
}

/// Where the parts are.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) form: Form,
    pub(super) key_len: usize,
    /// The number of bytes of the content.
    pub(super) len: usize,
}

const ALIGN: usize = 8;
const HEADER: usize = size_of::<Header>();
const _: () = assert!(HEADER == 8 && align_of::<Header>() <= ALIGN && align_of::<Value>() <= ALIGN);

impl Shape {
    pub(super) fn new<V>(key: &[u8], content: &Content<'_, V>, expires: bool) -> Self {
        let (kind, len) = match content {
            Content::Integer(_) => (Form::INTEGER, 0),
            Content::Bytes(bytes) => (0, bytes.len()),
            Content::Value(_) => (Form::VALUE, 0),
        };
        let is_long = u8::try_from(key.len()).is_err() || u16::try_from(len).is_err();
        let parts = [(expires, Form::EXPIRES), (is_long, Form::LONG)];
        let form = parts.iter().fold(kind, |form, &(has, part)| if has { form | part } else { form });
        Self { form: Form(form), key_len: key.len(), len }
    }

    /// Where the expiry is.
    pub(super) const EXPIRY: usize = HEADER;

    /// Where the lengths are.
    pub(super) fn lengths(self) -> usize {
        HEADER + if self.form.has(Form::EXPIRES) { 8 } else { 0 }
    }

    /// Where the integer or value is.
    #[inline]
    pub(super) fn fixed(self) -> usize {
        self.lengths() + if self.form.has(Form::LONG) { 16 } else { 0 }
    }

    /// Where the key is.
    #[inline]
    pub(super) fn key(self) -> usize {
        let fixed = match self.form.0 & (Form::INTEGER | Form::VALUE) {
            Form::INTEGER => size_of::<i64>(),
            Form::VALUE => size_of::<Value>(),
            _ => 0,
        };
        self.fixed() + fixed
    }

    /// # Panics
    ///
    /// If the sizes exceed the address space.
    pub(super) fn layout(self) -> Layout {
        let size = self.key_len.checked_add(self.len).and_then(|bytes| bytes.checked_add(self.key()));
        let layout = size.and_then(|size| Layout::from_size_align(size, ALIGN).ok());
        layout.expect("an entry fits into the address space")
    }
}
