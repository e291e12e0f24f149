//! Types of values, and how nodes hold them.

use crate::record::Record;
use xtasking::Context;

/// A type of values.
///
/// Integers of up to 64 bits, `f32`, `f64`, `char`, `bool`, `()` and `[u8; 1]` to `[u8; 8]` are in
/// place: a word of a node holds them. Text, byte strings, `[u8; 9]` to `[u8; 32]`, `u128`, `i128`,
/// `Vec<T>`, `Box<[T]>` and `Arc<T>` are on the heap: a word points to them. Each result is a
/// clone, so put what is expensive to clone into an `Arc`.
///
/// Any other type becomes one in a line:
///
/// ```
/// use xtasking_index::{OnHeap, Tree, Value};
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Profile { name: String, logins: u32 }
///
/// impl Value for Profile { type Form = OnHeap; }
///
/// let rt = xtasking::Runtime::builder().workers(2).build()?;
/// let profiles = Tree::<String, Profile>::new(&rt);
/// let client = profiles.client(&rt);
/// client.insert("ada", Profile { name: "Ada".into(), logins: 0 })?;
/// client.modify("ada", |profile| Profile { logins: profile.logins + 1, ..profile })?;
/// assert_eq!(client.get("ada")?, Some(Profile { name: "Ada".into(), logins: 1 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Values are cloned and dropped within operations on the tree, so both should take little time. A
/// panic of `clone` fails the operation, or the whole batch that it is part of.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a value",
    label = "not a type of values",
    note = "for a type that can be cloned, add `impl Value for {Self} {{ type Form = OnHeap; }}`",
    note = "values of other types can be in an `Arc`"
)]
pub trait Value: Clone + Send + Sync + 'static {
    /// How nodes hold the values: [`InPlace`] or [`OnHeap`].
    type Form: ValueForm<Self>;
}

/// A value that 64 bits can encode.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value in a word",
    label = "not a value of up to 64 bits",
    note = "implement `WordValue` for a type that 64 bits can encode",
    note = "a `HashMap` has such values only; a `Tree` has others as well, by `type Form = OnHeap`"
)]
pub trait WordValue: Copy + Send + Sync + 'static {
    /// Encodes the value.
    fn to_word(self) -> u64;
    /// Decodes a word that came from `to_word`.
    fn from_word(word: u64) -> Self;
}

/// Values that are in words of nodes: for each [`WordValue`].
pub enum InPlace {}

/// Values on the heap, to which words of nodes point. They are freed once no operation can read
/// them any more.
pub enum OnHeap {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::InPlace {}
    impl Sealed for super::OnHeap {}
}

/// How nodes hold values: [`InPlace`] or [`OnHeap`].
pub trait ValueForm<V>: sealed::Sealed {
    /// Words own what they point to.
    #[doc(hidden)]
    const IS_OWNER: bool;

    /// Makes the word for a value. It owns what it points to.
    #[doc(hidden)]
    fn into_word(value: V) -> u64;

    /// Returns a copy of the value.
    ///
    /// # Safety
    ///
    /// The word came from `into_word`, for this type. What it points to is not dropped meanwhile.
    #[doc(hidden)]
    unsafe fn copy(word: u64) -> V;

    /// Drops what a word points to that no node holds any more, once no reader has it either; at
    /// once without a context.
    ///
    /// # Safety
    ///
    /// The word came from `into_word`, for this type, and is not used by operations that begin
    /// later. Without a context it is not used by any other.
    #[doc(hidden)]
    unsafe fn drop_word(word: u64, cx: Option<&mut Context>);
}

impl<V: WordValue> ValueForm<V> for InPlace {
    const IS_OWNER: bool = false;

    #[inline(always)]
    fn into_word(value: V) -> u64 {
        value.to_word()
    }
    #[inline(always)]
    unsafe fn copy(word: u64) -> V {
        V::from_word(word)
    }
    #[inline(always)]
    unsafe fn drop_word(_: u64, _: Option<&mut Context>) {}
}

impl<V: Clone + Send + Sync + 'static> ValueForm<V> for OnHeap {
    const IS_OWNER: bool = true;

    fn into_word(value: V) -> u64 {
        Record::new(value).into_word()
    }
    unsafe fn copy(word: u64) -> V {
        // SAFETY: this function's contract.
        unsafe { Record::<V>::follow(word) }.clone()
    }
    unsafe fn drop_word(word: u64, cx: Option<&mut Context>) {
        // SAFETY: this function's contract.
        let record = unsafe { Record::<V>::from_word(word) };
        match cx {
            Some(cx) => cx.drop_later(record),
            None => drop(record),
        }
    }
}

/// Implements a form for types.
macro_rules! values {
    ($form:ident: $($type:ty)+) => {$(
        impl Value for $type {
            type Form = $form;
        }
    )+};
}

values!(InPlace: u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool char);
values!(InPlace: [u8; 1] [u8; 2] [u8; 3] [u8; 4] [u8; 5] [u8; 6] [u8; 7] [u8; 8]);
values!(OnHeap: [u8; 9] [u8; 10] [u8; 11] [u8; 12] [u8; 13] [u8; 14] [u8; 15] [u8; 16]);
values!(OnHeap: [u8; 17] [u8; 18] [u8; 19] [u8; 20] [u8; 21] [u8; 22] [u8; 23] [u8; 24]);
values!(OnHeap: [u8; 25] [u8; 26] [u8; 27] [u8; 28] [u8; 29] [u8; 30] [u8; 31] [u8; 32]);
values!(OnHeap: u128 i128 String Box<str>);

impl Value for () {
    type Form = InPlace;
}

impl<T: Clone + Send + Sync + 'static> Value for Vec<T> {
    type Form = OnHeap;
}

impl<T: Clone + Send + Sync + 'static> Value for Box<[T]> {
    type Form = OnHeap;
}

impl<T: ?Sized + Send + Sync + 'static> Value for std::sync::Arc<T> {
    type Form = OnHeap;
}
