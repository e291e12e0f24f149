//! Values, and the kinds of 64-bit words that represent them.

use std::fmt;
use std::sync::Arc;

/// A value of a column, which is not null.
///
/// | Arrow type | value |
/// |---|---|
/// | `Int8` … `Int64` | [`Int`](Self::Int) |
/// | `UInt8` … `UInt64` | [`Unsigned`](Self::Unsigned) |
/// | `Float32`, `Float64` | [`Float`](Self::Float) |
/// | `Boolean` | [`Bool`](Self::Bool) |
/// | `Utf8`, `LargeUtf8`, `Utf8View` | [`Text`](Self::Text) |
/// | `Date32` | [`Int`](Self::Int): days since 1970-01-01 |
/// | `Date64` | [`Int`](Self::Int): milliseconds since 1970-01-01 |
/// | `Timestamp` | [`Int`](Self::Int): in its unit since 1970-01-01, in UTC if it has a time zone |
/// | `Time32`, `Time64` | [`Int`](Self::Int): in its unit since midnight |
/// | `Duration` | [`Int`](Self::Int): in its unit |
/// | `Decimal32`, `Decimal64` | [`Int`](Self::Int): the unscaled number |
///
/// In a *comparison*, integers of all types are compared as numbers: a column of `Int8` never
/// equals 300, and all of its values are less. To be *stored*, a value must be in the range of the
/// column's type; only a float is rounded, to the nearest `Float32`. Other combinations are a
/// [mismatch](crate::Failure::Mismatch).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A float. Floats are compared by `total_cmp`, as in Arrow: -0.0 is less than 0.0, and a NaN
    /// equals itself.
    Float(f64),
    /// A boolean. True is greater than false.
    Bool(bool),
    /// A text of at most 2 GiB, ordered by its bytes.
    Text(Arc<str>),
}

/// The interpretation of a column's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WordKind {
    Int,
    Unsigned,
    Float,
    /// The first bytes of texts, which are stored beside them.
    Prefix,
}

impl WordKind {
    /// Returns the key of a word.
    #[inline(always)]
    pub fn key(self, word: u64) -> u64 {
        self.keys().encode(word)
    }

    /// Returns the encoding of keys of this kind.
    #[inline(always)]
    pub fn keys(self) -> KeyEncoding {
        let (flip, if_negative) = match self {
            Self::Int => (SIGN, 0),
            Self::Unsigned | Self::Prefix => (0, 0),
            // Negative floats are in reverse order, below the others.
            Self::Float => (SIGN, u64::MAX),
        };
        KeyEncoding { flip, if_negative }
    }
}

const SIGN: u64 = 1 << 63;

/// An encoding of words as *keys*: unsigned integers in the order of the values. It flips bits, and
/// has no branch, so that loops over words can be vectorised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyEncoding {
    flip: u64,
    /// Flipped in addition if the word is negative.
    if_negative: u64,
}

impl KeyEncoding {
    /// Returns the key of a word.
    #[inline(always)]
    pub fn encode(self, word: u64) -> u64 {
        word ^ (all_if_negative(word) & self.if_negative | self.flip)
    }

    /// Returns the word of a key.
    #[inline(always)]
    pub fn decode(self, key: u64) -> u64 {
        // If the sign bit is flipped, the key of a number that is not negative has its upper bit
        // set.
        key ^ (all_if_negative(!key) & self.if_negative | self.flip)
    }
}

/// Returns all ones if the sign bit is set.
#[inline(always)]
fn all_if_negative(word: u64) -> u64 {
    (word.cast_signed() >> 63).cast_unsigned()
}

macro_rules! values {
    ($($from:ty => $value:ident),*) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Self::$value(value.into())
            }
        })*
    };
}

values!(
    i8 => Int, i16 => Int, i32 => Int, i64 => Int,
    u8 => Unsigned, u16 => Unsigned, u32 => Unsigned, u64 => Unsigned,
    f32 => Float, f64 => Float, bool => Bool,
    &str => Text, String => Text, Arc<str> => Text
);

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "{value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_have_the_order_of_values(a: u64, b: u64) {
            let by_key = |kind: WordKind| kind.key(a).cmp(&kind.key(b));
            prop_assert_eq!(by_key(WordKind::Int), a.cast_signed().cmp(&b.cast_signed()));
            prop_assert_eq!(by_key(WordKind::Unsigned), a.cmp(&b));
            prop_assert_eq!(by_key(WordKind::Float), f64::from_bits(a).total_cmp(&f64::from_bits(b)));
            for kind in [WordKind::Int, WordKind::Unsigned, WordKind::Float, WordKind::Prefix] {
                prop_assert_eq!(kind.keys().decode(kind.key(a)), a);
            }
        }
    }
}
