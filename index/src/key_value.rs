//! Types of keys, and keys and values that words encode.

use crate::key_space::{EncodedKey, KeySpace, Words};
use crate::node::Layout;
use crate::tree::DefaultLayout;
use crate::value::WordValue;
use xtasking::arena::AsWord;

/// A type of keys.
///
/// Every [`WordKey`] is one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    label = "not a type of keys",
    note = "keys are integers, `bool`, `char`, `String`, `Vec<u8>`, `Box<[u8]>` and arrays of up to 32 bytes",
    note = "implement `WordKey` for a type that 64 bits can encode in its order"
)]
pub trait Key: Send + Sync + Sized + 'static {
    /// The space that keys are encoded in.
    type Keys: KeySpace;
    /// The default layout of nodes.
    type Node: Layout<Keys = Self::Keys>;
    /// A key as an argument of an operation.
    type Arg<'k>: Copy + Send + Sync;
    /// An encoded key that may borrow from the argument.
    type Probe<'k>: EncodedKey<Self::Keys>;
    /// An encoded key that a task carries.
    type Carried: EncodedKey<Self::Keys> + 'static;

    /// Encodes an argument for the time of a call.
    fn probe<'k>(key: Self::Arg<'k>) -> Self::Probe<'k>;
    /// Encodes an argument for a task.
    fn carry(key: Self::Arg<'_>) -> Self::Carried;
    /// Encodes a key.
    fn encode(self) -> <Self::Keys as KeySpace>::Owned;
    /// Decodes a key that came from an encoding function.
    fn decode(key: <Self::Keys as KeySpace>::Owned) -> Self;
}

/// A key that 64 bits can encode in its own order.
///
/// Integers of up to 64 bits, `[u8; 1]` to `[u8; 8]`, `char` and `bool` are such keys.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be encoded as a word in its order",
    label = "not a key of up to 64 bits",
    note = "implement `WordKey` if words can have the order of the values"
)]
pub trait WordKey: Copy + Send + Sync + 'static {
    /// Encodes the key. Words have the order of the keys.
    fn to_word(self) -> u64;
    /// Decodes a word that came from `to_word`.
    fn from_word(word: u64) -> Self;
}

#[diagnostic::do_not_recommend]
impl<K: WordKey> Key for K {
    type Keys = Words;
    type Node = DefaultLayout;
    type Arg<'k> = K;
    type Probe<'k> = u64;
    type Carried = u64;

    #[inline(always)]
    fn probe<'k>(key: Self::Arg<'k>) -> Self::Probe<'k> {
        key.to_word()
    }
    #[inline(always)]
    fn carry(key: Self::Arg<'_>) -> u64 {
        key.to_word()
    }
    #[inline(always)]
    fn encode(self) -> u64 {
        self.to_word()
    }
    #[inline(always)]
    fn decode(key: u64) -> K {
        K::from_word(key)
    }
}

/// Encodes values as fields of versioned nodes do: integers by casts, which extend the sign; truth
/// values as 0 and 1; characters as their code points; floats as their bits.
///
/// A reader beside a writer may decode any word. None panics.
macro_rules! as_fields {
    ($trait:ident: $($type:ty)+) => {$(
        impl $trait for $type {
            #[inline(always)]
            fn to_word(self) -> u64 {
                AsWord::to_word(self)
            }
            #[inline(always)]
            fn from_word(word: u64) -> Self {
                AsWord::from_word(word)
            }
        }
    )+};
}

as_fields!(WordKey: u8 u16 u32 u64 usize bool char);
as_fields!(WordValue: u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool char);

macro_rules! signed_keys {
    ($($type:ty)+) => {$(
        impl WordKey for $type {
            // With the sign bit flipped, negative numbers come first.
            #[inline(always)]
            fn to_word(self) -> u64 {
                self as i64 as u64 ^ (1 << 63)
            }
            #[inline(always)]
            fn from_word(word: u64) -> Self {
                (word ^ (1 << 63)) as i64 as Self
            }
        }
    )+};
}

signed_keys!(i8 i16 i32 i64 isize);

/// Encodes bytes as numbers, the first byte as the most significant one, so that words have the
/// order of the bytes.
macro_rules! fixed_bytes {
    ($trait:ident: $($bytes:literal)+) => {$(
        impl $trait for [u8; $bytes] {
            #[inline(always)]
            fn to_word(self) -> u64 {
                let mut word = [0; 8];
                word[8 - $bytes..].copy_from_slice(&self);
                u64::from_be_bytes(word)
            }
            #[inline(always)]
            fn from_word(word: u64) -> Self {
                let mut bytes = [0; $bytes];
                bytes.copy_from_slice(&word.to_be_bytes()[8 - $bytes..]);
                bytes
            }
        }
    )+};
}

fixed_bytes!(WordKey: 1 2 3 4 5 6 7 8);
fixed_bytes!(WordValue: 1 2 3 4 5 6 7 8);

impl WordValue for () {
    fn to_word(self) -> u64 {
        0
    }
    fn from_word(_: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps_order<K: WordKey + PartialEq + core::fmt::Debug>(ascending: &[K]) {
        for pair in ascending.windows(2) {
            assert!(pair[0].to_word() < pair[1].to_word(), "{pair:?}");
        }
        for &key in ascending {
            assert_eq!(K::from_word(WordKey::to_word(key)), key);
        }
    }

    #[test]
    fn words_have_the_order_of_keys() {
        keeps_order(&[0u64, 1, u64::MAX]);
        keeps_order(&[i64::MIN, -1, 0, 1, i64::MAX]);
        keeps_order(&[i8::MIN, -1, 0, 1, i8::MAX]);
        keeps_order(&[0u16, 9, u16::MAX]);
        keeps_order(&[[0u8; 8], *b"\0\0\0\0\0\0\0\x01", *b"\x01\0\0\0\0\0\0\0", *b"abcdefgh", [u8::MAX; 8]]);
        keeps_order(&[*b"ab\0", *b"abc", *b"b\0\0"]);
        keeps_order(&[[0u8], [u8::MAX]]);
        keeps_order(&[false, true]);
        keeps_order(&['\0', 'a', '\u{d7ff}', '\u{e000}', char::MAX]);
    }

    #[test]
    fn values_round_trip() {
        fn round_trip<V: WordValue + PartialEq + core::fmt::Debug>(values: &[V]) {
            for &value in values {
                assert_eq!(V::from_word(value.to_word()), value);
            }
        }
        round_trip(&[-0.5f64, f64::INFINITY]);
        round_trip(&[i64::MIN, -7, i64::MAX]);
        round_trip(&[i8::MIN, -7, i8::MAX]);
        round_trip(&[0u8, u8::MAX]);
        round_trip(&[()]);
        round_trip(&[-0.5f32, f32::INFINITY]);
        round_trip(&[false, true]);
        round_trip(&['\0', char::MAX]);
        round_trip(&[*b"abcde", [0; 5], [u8::MAX; 5]]);
    }

    #[test]
    fn every_word_decodes_as_a_character() {
        for word in [0xd800, 0x11_0000, u64::MAX] {
            assert_eq!(<char as WordKey>::from_word(word), char::REPLACEMENT_CHARACTER);
        }
    }
}
