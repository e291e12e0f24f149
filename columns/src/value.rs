//! Values, and the words of 64 bits that they are kept as.

use arrow_schema::DataType;
use std::fmt;

/// A value of a column that is no null.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Of a column of `Int64`.
    Int(i64),
    /// Of a column of `UInt64`.
    Unsigned(u64),
    /// Of a column of `Float64`. They are ordered and compared as Arrow does: by `total_cmp`, so that a zero with a sign is
    /// less than one without, and those that are no numbers are equal to themselves.
    Float(f64),
}

/// What a column keeps. Its words are Arrow's: the values themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Unsigned,
    Float,
}

impl Kind {
    /// What a column of that type keeps, if there are such columns.
    pub fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Int64 => Some(Self::Int),
            DataType::UInt64 => Some(Self::Unsigned),
            DataType::Float64 => Some(Self::Float),
            _ => None,
        }
    }

    /// The word of a value of this kind; `None` for one of another kind.
    pub fn word(self, value: Value) -> Option<u64> {
        match (self, value) {
            (Self::Int, Value::Int(value)) => Some(value.cast_unsigned()),
            (Self::Unsigned, Value::Unsigned(value)) => Some(value),
            (Self::Float, Value::Float(value)) => Some(value.to_bits()),
            _ => None,
        }
    }

    /// The value of a word.
    pub fn value(self, word: u64) -> Value {
        match self {
            Self::Int => Value::Int(word.cast_signed()),
            Self::Unsigned => Value::Unsigned(word),
            Self::Float => Value::Float(f64::from_bits(word)),
        }
    }

    /// The *key* of a word: keys have the order of the values, as plain numbers.
    #[inline(always)]
    pub fn key(self, word: u64) -> u64 {
        const SIGN: u64 = 1 << 63;
        match self {
            Self::Int => word ^ SIGN,
            Self::Unsigned => word,
            // Negative numbers are ordered the other way round, and lie below the others.
            Self::Float => word ^ ((word.cast_signed() >> 63).cast_unsigned() | SIGN),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int => "Int64",
            Self::Unsigned => "UInt64",
            Self::Float => "Float64",
        })
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Unsigned(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
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
        }

        #[test]
        fn a_word_is_its_value(word: u64) {
            for kind in [Kind::Int, Kind::Unsigned, Kind::Float] {
                prop_assert_eq!(kind.word(kind.value(word)), Some(word));
            }
        }
    }
}
