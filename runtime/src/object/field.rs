//! Typed cells: what changes in a versioned object, as values rather than words.
//!
//! A cell is one [`Word`]. Readers decode it while its writer changes the object: they see a value
//! that was stored, whole, but maybe together with older or newer neighbours.

use super::class::Version;
use super::link::Link;
use super::word::{Word, WriteToken};
use crate::sync::{Acquire, AtomicU64, Release};
use core::fmt;
use core::marker::PhantomData;

/// A value that fits into a word: an integer, a float, a truth value, a character, or an enum
/// without fields, for which it can be derived:
///
/// ```
/// use xtasking::arena::{AsWord, Field};
///
/// #[derive(AsWord, Clone, Copy, PartialEq, Debug)]
/// enum Color { Red, Black }
///
/// let color = Field::new(Color::Black);
/// assert_eq!(color.get(), Color::Black);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fit into a word",
    label = "not a number, `bool`, `char` or enum that derives `AsWord`",
    note = "derive `AsWord` and `Copy` for an enum whose variants have no fields",
    note = "keep larger data in several fields, or in a node of its own behind an `OptionalLink`"
)]
pub trait AsWord: Copy + Send + Sync + 'static {
    /// Returns the value as a word.
    fn to_word(self) -> u64;

    /// Returns the value that [`to_word`](Self::to_word) has made the word of; any value for other
    /// words. A [`Field`] passes only words that `to_word` has made.
    fn from_word(word: u64) -> Self;
}

macro_rules! integers {
    ($($integer:ty),+) => {$(
        impl AsWord for $integer {
            #[inline(always)]
            fn to_word(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn from_word(word: u64) -> Self {
                word as Self
            }
        }
    )+};
}

integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

macro_rules! floats {
    ($($float:ty: $bits:ty),+) => {$(
        impl AsWord for $float {
            #[inline(always)]
            fn to_word(self) -> u64 {
                self.to_bits().into()
            }
            #[inline(always)]
            fn from_word(word: u64) -> Self {
                Self::from_bits(word as $bits)
            }
        }
    )+};
}

floats!(f32: u32, f64: u64);

impl AsWord for bool {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self.into()
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        word != 0
    }
}

impl AsWord for char {
    #[inline(always)]
    fn to_word(self) -> u64 {
        u32::from(self).into()
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        Self::from_u32(word as u32).unwrap_or(Self::REPLACEMENT_CHARACTER)
    }
}

/// A value of a versioned object that changes. As a [`Word`], any thread may read it at any time,
/// and only the writer of its object sets it.
///
/// ```
/// use xtasking::arena::Field;
/// use xtasking::{Runtime, Version};
///
/// #[derive(Version)]
/// struct Sensor { degrees: Field<f32>, is_valid: Field<bool> }
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let nothing = Sensor { degrees: Field::new(0.0), is_valid: Field::new(false) };
/// let sensor = rt.versioned(nothing).build();
/// rt.task(sensor.write()).spawn(|sensor, _cx| {
///     sensor.degrees.set(21.5, sensor.token());
///     sensor.is_valid.set(true, sensor.token());
/// });
/// let read = |sensor: &Sensor| sensor.is_valid.get().then_some(sensor.degrees.get());
/// let degrees = rt.task(sensor.read()).submit_read(read, |degrees, _cx| degrees);
/// assert!(matches!(degrees.join()?, None | Some(21.5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Field<T> {
    word: Word,
    value: PhantomData<T>,
}

impl<T: AsWord> Field<T> {
    /// Creates a field of an object that is not published yet.
    pub fn new(value: T) -> Self {
        Self { word: Word::new(value.to_word()), value: PhantomData }
    }

    /// Returns the value. Beside a writer it may be older or newer than its neighbours.
    #[inline(always)]
    pub fn get(&self) -> T {
        T::from_word(self.word.get())
    }

    /// Sets the value, as the writer of the object.
    #[inline(always)]
    pub fn set(&self, value: T, token: &WriteToken<'_>) {
        self.word.set(value.to_word(), token);
    }
}

impl<T: AsWord + Default> Default for Field<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: AsWord + fmt::Debug> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// A link of a versioned object, or none: the next node of a list, a child of a tree. Only the
/// writer of its object sets it. For a link outside of any node see [`LinkCell`](super::LinkCell).
///
/// ```
/// use xtasking::arena::{Arena, Field, OptionalLink};
/// use xtasking::{Runtime, Version};
///
/// #[derive(Version)]
/// struct Node { value: Field<u64>, next: OptionalLink<Node> }
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let nodes = Arena::new(&rt);
/// let node = |value| Node { value: Field::new(value), next: OptionalLink::none() };
/// let [first, second] = [1, 2].map(|value| nodes.alloc_outside(node(value)));
/// rt.task(first.write())
///     .submit(move |first, _cx| first.next.set(Some(second), first.token()))
///     .join()?;
/// let next = rt.task(first.read()).submit_read(|first| first.next.get(), |next, _cx| next);
/// assert!(next.join()?.is_some_and(|next| next.is_same_node(second)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OptionalLink<T> {
    word: AtomicU64,
    target: PhantomData<fn() -> T>,
}

impl<T> OptionalLink<T> {
    /// Creates a cell with a link, or with none.
    pub fn new(link: Option<Link<T>>) -> Self {
        Self { word: AtomicU64::new(link.map_or(0, Link::to_word)), target: PhantomData }
    }

    /// Creates a cell without a link.
    pub fn none() -> Self {
        Self::new(None)
    }

    /// Returns the link, if there is one. Its node is seen as it was when the link was stored.
    #[inline(always)]
    pub fn get(&self) -> Option<Link<T>> {
        // Acquire pairs with the Release of `set`: the node's contents are seen.
        let word = self.word.load(Acquire);
        // SAFETY: the word is 0 or came from `to_word` of a link to a `T`, as only `new` and `set`
        // store words here. The making of the node happens before by this Acquire, or before this
        // cell was published.
        unsafe { Link::from_word(word) }
    }

    /// Stores a link, or none, as the writer of the object.
    #[inline(always)]
    pub fn set(&self, link: Option<Link<T>>, _: &WriteToken<'_>) {
        // Release pairs with the Acquire of `get`.
        self.word.store(link.map_or(0, Link::to_word), Release);
    }
}

impl<T> Default for OptionalLink<T> {
    fn default() -> Self {
        Self::none()
    }
}

impl<T> fmt::Debug for OptionalLink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// What a field of a versioned type can be: a cell, immutable data, or a versioned type. The derive
/// macro of [`Version`](macro@crate::Version) requires it of each field, and implements it for the
/// type as well.
///
/// Implement it for a type of your own that never changes through a shared reference, or only as a
/// [`Version`] may, if `Version` is not derived for it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a versioned type",
    label = "neither a cell nor known to be immutable",
    note = "what changes is a `Word`, `Field`, `LinkCell` or `OptionalLink`, or an array of these",
    note = "for a struct or enum of your own, derive `Version`"
)]
pub trait VersionField: Send + Sync + 'static {}

macro_rules! version_fields {
    ($($type:ty $(, $t:ident: $bound:path)?;)+) => {$(
        impl$(<$t: $bound>)? VersionField for $type {}
    )+};
}

version_fields! {
    Word;
    Field<T>, T: AsWord;
    super::LinkCell<T>, T: Version;
    OptionalLink<T>, T: Version;
    Link<T>, T: Version;
    super::Links<T>, T: Version;
    super::Arena<T>, T: Version;
    super::Object<C>, C: super::Class;
    (); bool; char; str; alloc::string::String; core::time::Duration;
    u8; u16; u32; u64; u128; usize; i8; i16; i32; i64; i128; isize; f32; f64;
    [T], T: VersionField;
    Option<T>, T: VersionField;
    alloc::vec::Vec<T>, T: VersionField;
    PhantomData<T>, T: VersionField;
}

impl<T: VersionField, const N: usize> VersionField for [T; N] {}
impl<T: VersionField + ?Sized> VersionField for alloc::boxed::Box<T> {}
impl<T: VersionField + ?Sized> VersionField for alloc::sync::Arc<T> {}
impl<T: VersionField + ?Sized> VersionField for &'static T {}
impl<A: VersionField, B: VersionField> VersionField for (A, B) {}
impl<A: VersionField, B: VersionField, C: VersionField> VersionField for (A, B, C) {}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    fn round_trip<T: AsWord + PartialEq + fmt::Debug>(values: &[T]) {
        // SAFETY: the fields are this test's.
        let token = unsafe { WriteToken::assume() };
        let field = Field::new(values[0]);
        for &value in values {
            field.set(value, &token);
            assert_eq!((field.get(), T::from_word(value.to_word())), (value, value));
        }
    }

    #[test]
    fn values_come_back_as_they_were_stored() {
        round_trip(&[u8::MIN, 7, u8::MAX]);
        round_trip(&[i8::MIN, -1, i8::MAX]);
        round_trip(&[i16::MIN, -1, i16::MAX]);
        round_trip(&[i32::MIN, -1, i32::MAX]);
        round_trip(&[i64::MIN, -1, i64::MAX]);
        round_trip(&[isize::MIN, -1, isize::MAX]);
        round_trip(&[u64::MIN, u64::MAX]);
        round_trip(&[usize::MIN, usize::MAX]);
        round_trip(&[f32::MIN, -0.0, f32::INFINITY]);
        round_trip(&[f64::MIN, -0.0, f64::EPSILON]);
        round_trip(&[false, true]);
        round_trip(&['\0', 'ß', char::MAX]);
        assert!(f64::from_word(f64::NAN.to_word()).is_nan());
    }

    #[test]
    fn every_word_is_some_character_and_truth_value() {
        assert_eq!(char::from_word(0xd800), char::REPLACEMENT_CHARACTER);
        assert!(bool::from_word(u64::MAX));
    }
}
