//! Values, and the kinds of words of 64 bits that they are kept as.

use std::fmt;
use std::sync::Arc;

/// A value of a column that is no null.
///
/// | Arrow's type | value |
/// |---|---|
/// | `Int8` … `Int64` | [`Int`](Self::Int) |
/// | `UInt8` … `UInt64` | [`Unsigned`](Self::Unsigned) |
/// | `Float32`, `Float64` | [`Float`](Self::Float) |
/// | `Boolean` | [`Bool`](Self::Bool) |
/// | `Utf8`, `LargeUtf8`, `Utf8View` | [`Text`](Self::Text) |
/// | `Date32` | [`Int`](Self::Int): days since 1970 |
/// | `Date64` | [`Int`](Self::Int): milliseconds since 1970 |
/// | `Timestamp` | [`Int`](Self::Int): of its unit since 1970, in UTC if it has a zone |
/// | `Time32`, `Time64` | [`Int`](Self::Int): of its unit since midnight |
/// | `Duration` | [`Int`](Self::Int): of its unit |
/// | `Decimal32`, `Decimal64` | [`Int`](Self::Int): the number without its point |
///
/// Where a value is *asked for*, whole numbers are compared as numbers, whatever their types: a column of `Int8` never equals
/// 300, and all of its values are less. Where a value is to be *kept*, it has to be one of the column's type; only a number
/// that is not whole is rounded to the nearest of `Float32`. All else is a [mismatch](crate::Failure::Mismatch).
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A whole number without a sign.
    Unsigned(u64),
    /// They are ordered and compared as Arrow does: by `total_cmp`, so that a zero with a sign is less than one without, and
    /// those that are no numbers are equal to themselves.
    Float(f64),
    /// True is greater than false.
    Bool(bool),
    /// A text. Its order is that of its bytes. It is at most 2 GiB long.
    Text(Arc<str>),
}

/// What a column of words keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Int,
    Unsigned,
    Float,
    /// The first bytes of texts, which are kept beside it.
    Prefix,
}

impl Kind {
    /// The key of a word.
    #[inline(always)]
    pub fn key(self, word: u64) -> u64 {
        self.keys().of(word)
    }

    /// How keys of this kind are made.
    #[inline(always)]
    pub fn keys(self) -> Keys {
        let (flip, if_negative) = match self {
            Self::Int => (SIGN, 0),
            Self::Unsigned | Self::Prefix => (0, 0),
            // Negative numbers are ordered the other way round, and lie below the others.
            Self::Float => (SIGN, u64::MAX),
        };
        Keys { flip, if_negative }
    }
}

const SIGN: u64 = 1 << 63;

/// How words become *keys*, which have the order of the values, as plain numbers: some of their bits are flipped. There is
/// no branch in it, so that a loop over many words has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    flip: u64,
    /// The same for words with a sign, besides.
    if_negative: u64,
}

impl Keys {
    /// The key of a word.
    #[inline(always)]
    pub fn of(self, word: u64) -> u64 {
        word ^ (all_if_negative(word) & self.if_negative | self.flip)
    }

    /// The word of a key.
    #[inline(always)]
    pub fn word(self, key: u64) -> u64 {
        // The key of a number that is not negative has its upper bit, if that is flipped.
        key ^ (all_if_negative(!key) & self.if_negative | self.flip)
    }
}

/// All bits, if there is a sign.
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
            let by_key = |kind: Kind| kind.key(a).cmp(&kind.key(b));
            prop_assert_eq!(by_key(Kind::Int), a.cast_signed().cmp(&b.cast_signed()));
            prop_assert_eq!(by_key(Kind::Unsigned), a.cmp(&b));
            prop_assert_eq!(by_key(Kind::Float), f64::from_bits(a).total_cmp(&f64::from_bits(b)));
            for kind in [Kind::Int, Kind::Unsigned, Kind::Float, Kind::Prefix] {
                prop_assert_eq!(kind.keys().word(kind.key(a)), a);
            }
        }
    }
}
