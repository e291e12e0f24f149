//! Column types: the conversion between Arrow's arrays and words and texts.

use crate::text;
use crate::value::{Value, WordKind};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, LargeStringArray, StringArray, StringViewArray, make_array,
};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use std::ops::Range;
use std::sync::Arc;

/// The type of a column. Numbers carry their width in bytes; they are stored as words of eight
/// bytes with the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Bool,
    /// Signed integers, and the types that count in them: dates, times, timestamps, durations,
    /// decimals.
    Int(u8),
    Unsigned(u8),
    Float(u8),
    Text,
}

/// The position of a value that a column is compared with, relative to the words that the column
/// can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeyPosition {
    Below,
    At(u64),
    Above,
}

/// An array of one of Arrow's types of text.
#[derive(Clone, Debug)]
pub(crate) enum TextArray {
    Small(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
}

/// The texts of some rows, one after another.
#[derive(Debug, Default)]
pub(crate) struct TextBuffer {
    all: String,
    ends: Vec<usize>,
}

impl ColumnType {
    /// Returns the column type that stores an Arrow type, or `None` if it cannot be stored.
    pub fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Boolean => Self::Bool,
            DataType::Int8 => Self::Int(1),
            DataType::Int16 => Self::Int(2),
            DataType::Int32 | DataType::Date32 | DataType::Time32(_) | DataType::Decimal32(1..=9, _) => {
                Self::Int(4)
            }
            DataType::Int64
            | DataType::Date64
            | DataType::Time64(_)
            | DataType::Timestamp(..)
            | DataType::Duration(_)
            | DataType::Decimal64(1..=18, _) => Self::Int(8),
            DataType::UInt8 => Self::Unsigned(1),
            DataType::UInt16 => Self::Unsigned(2),
            DataType::UInt32 => Self::Unsigned(4),
            DataType::UInt64 => Self::Unsigned(8),
            DataType::Float32 => Self::Float(4),
            DataType::Float64 => Self::Float(8),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            _ => return None,
        })
    }

    /// Returns the kind of the column's words; for texts, that of their prefixes.
    pub fn kind(self) -> WordKind {
        match self {
            Self::Int(_) => WordKind::Int,
            Self::Bool | Self::Unsigned(_) => WordKind::Unsigned,
            Self::Float(_) => WordKind::Float,
            Self::Text => WordKind::Prefix,
        }
    }

    /// Returns the position of a value. It may have another type: integers are compared as numbers.
    /// `None` if the types cannot be compared.
    pub fn key_position(self, value: &Value) -> Option<KeyPosition> {
        let integer = match *value {
            Value::Int(value) => Some(i128::from(value)),
            Value::Unsigned(value) => Some(i128::from(value)),
            _ => None,
        };
        let within = |least: i128, greatest: i128| {
            integer.map(|integer| match integer {
                _ if integer < least => KeyPosition::Below,
                _ if integer > greatest => KeyPosition::Above,
                // The lower half of a number in range is its word.
                _ => KeyPosition::At(integer as u64),
            })
        };
        match (self, value) {
            (Self::Bool, &Value::Bool(value)) => Some(KeyPosition::At(value.into())),
            (Self::Float(_), &Value::Float(value)) => Some(KeyPosition::At(value.to_bits())),
            (Self::Text, Value::Text(text)) => Some(KeyPosition::At(text::prefix(text))),
            (Self::Int(_), _) => within(i64::MIN.into(), i64::MAX.into()),
            (Self::Unsigned(_), _) => within(0, u64::MAX.into()),
            _ => None,
        }
    }

    /// Returns the word of a value to be stored, or `None` if the column's type cannot hold it. A
    /// float is rounded to the nearest of the type.
    pub fn word(self, value: &Value, data_type: &DataType) -> Option<u64> {
        let KeyPosition::At(word) = self.key_position(value)? else { return None };
        let fits = match (self, data_type) {
            (_, DataType::Decimal32(digits, _) | DataType::Decimal64(digits, _)) => {
                word.cast_signed().unsigned_abs() < 10u64.pow((*digits).into())
            }
            (Self::Int(bytes), _) => word.cast_signed() == widen_signed(word, bytes).cast_signed(),
            (Self::Unsigned(bytes), _) => bytes == 8 || word < 1 << (8 * bytes),
            (Self::Float(4), _) => {
                let number = f64::from_bits(word);
                if number.is_finite() && !(number as f32).is_finite() {
                    return None;
                }
                return Some(widen(narrow(word)));
            }
            (Self::Text, _) => matches!(value, Value::Text(text) if text.len() <= text::MAX_TEXT_BYTES),
            _ => true,
        };
        fits.then_some(word)
    }

    /// Returns the words of an array of this type, which is not text.
    pub fn words(self, array: &dyn Array) -> ScalarBuffer<u64> {
        fn each<T: ArrowNativeType>(array: &dyn Array, word: impl Fn(T) -> u64) -> ScalarBuffer<u64> {
            let data = array.to_data();
            data.buffer::<T>(0)[..data.len()].iter().map(|&value| word(value)).collect()
        }
        let signed = |value: i64| value.cast_unsigned();
        match self {
            Self::Bool => array.as_boolean().values().iter().map(u64::from).collect(),
            Self::Int(1) => each(array, |value: i8| signed(value.into())),
            Self::Int(2) => each(array, |value: i16| signed(value.into())),
            Self::Int(4) => each(array, |value: i32| signed(value.into())),
            Self::Unsigned(1) => each(array, |value: u8| value.into()),
            Self::Unsigned(2) => each(array, |value: u16| value.into()),
            Self::Unsigned(4) => each(array, |value: u32| value.into()),
            Self::Float(4) => each(array, |value: f32| widen(value.to_bits())),
            Self::Int(_) | Self::Unsigned(_) | Self::Float(_) => {
                let data = array.to_data();
                ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len())
            }
            Self::Text => unreachable!("the words of texts are hashes and prefixes"),
        }
    }

    /// Builds an array of an Arrow type from words. The type is not text.
    pub fn array(self, data_type: &DataType, words: Vec<u64>, nulls: Option<NullBuffer>) -> ArrayRef {
        fn each<T: ArrowNativeType>(words: &[u64], value: impl Fn(u64) -> T) -> Buffer {
            words.iter().map(|&word| value(word)).collect::<ScalarBuffer<T>>().into_inner()
        }
        let count = words.len();
        let buffer = match self {
            Self::Bool => {
                return Arc::new(BooleanArray::new(words.iter().map(|&word| word != 0).collect(), nulls));
            }
            // Truncation reverts the sign extension.
            Self::Int(1) | Self::Unsigned(1) => each(&words, |word| word as u8),
            Self::Int(2) | Self::Unsigned(2) => each(&words, |word| word as u16),
            Self::Int(4) | Self::Unsigned(4) => each(&words, |word| word as u32),
            Self::Float(4) => each(&words, narrow),
            Self::Int(_) | Self::Unsigned(_) | Self::Float(_) => ScalarBuffer::from(words).into_inner(),
            Self::Text => unreachable!("the words of texts are hashes and prefixes"),
        };
        let data =
            arrow_data::ArrayData::builder(data_type.clone()).len(count).add_buffer(buffer).nulls(nulls);
        make_array(data.build().expect("the buffer has a number for each row"))
    }
}

impl TextArray {
    /// Wraps an array of texts; `None` for other arrays.
    pub fn of(array: &dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => Self::Small(array.as_string().clone()),
            DataType::LargeUtf8 => Self::Large(array.as_string().clone()),
            DataType::Utf8View => Self::View(array.as_string_view().clone()),
            _ => return None,
        })
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Small(texts) => texts.len(),
            Self::Large(texts) => texts.len(),
            Self::View(texts) => texts.len(),
        }
    }

    /// Returns a row's text, which is unspecified if the row is null.
    pub fn get(&self, row: usize) -> &str {
        match self {
            Self::Small(texts) => texts.value(row),
            Self::Large(texts) => texts.value(row),
            Self::View(texts) => texts.value(row),
        }
    }
}

impl TextBuffer {
    pub fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }

    pub fn get(&self, row: usize) -> &str {
        &self.all[self.start(row)..self.ends[row]]
    }

    /// Returns the length of all texts together, in bytes.
    pub fn bytes(&self) -> usize {
        self.all.len()
    }

    /// Returns the length of the texts of some rows, in bytes.
    pub fn bytes_of(&self, rows: Range<usize>) -> usize {
        self.start(rows.end) - self.start(rows.start)
    }

    /// Returns the start of a row's text.
    fn start(&self, row: usize) -> usize {
        if row == 0 { 0 } else { self.ends[row - 1] }
    }

    /// Builds an array of one of Arrow's types of text; `None` if the texts are too long together
    /// for the type.
    pub fn array(self, data_type: &DataType, nulls: Option<NullBuffer>) -> Option<ArrayRef> {
        let lengths = || {
            let starts = std::iter::once(0).chain(self.ends.iter().copied());
            self.ends.iter().zip(starts).map(|(end, start)| end - start)
        };
        let fits = self.all.len() <= text::MAX_TEXT_BYTES;
        Some(match data_type {
            DataType::LargeUtf8 => {
                let offsets = OffsetBuffer::from_lengths(lengths());
                Arc::new(LargeStringArray::new(offsets, self.all.into_bytes().into(), nulls))
            }
            DataType::Utf8 if fits => {
                let offsets = OffsetBuffer::from_lengths(lengths());
                Arc::new(StringArray::new(offsets, self.all.into_bytes().into(), nulls))
            }
            DataType::Utf8View => {
                let texts = lengths().scan(0, |start, length| {
                    let text = &self.all[*start..*start + length];
                    *start += length;
                    Some(text)
                });
                let valid = |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                Arc::new(
                    texts
                        .enumerate()
                        .map(|(row, text)| valid(row).then_some(text))
                        .collect::<StringViewArray>(),
                )
            }
            _ => return None,
        })
    }
}

/// Extends the sign of a number with `bytes` bytes.
fn widen_signed(word: u64, bytes: u8) -> u64 {
    let shift = 64 - 8 * u32::from(bytes);
    (word.cast_signed() << shift >> shift).cast_unsigned()
}

const EXPONENT: u64 = 0x7ff << 52;
const SIGN: u64 = 1 << 63;

/// Converts an `f32` to an `f64`, both as bits. It preserves the payload of a NaN, which a cast
/// does not guarantee.
fn widen(bits: u32) -> u64 {
    let number = f32::from_bits(bits);
    if number.is_nan() {
        let sign = u64::from(bits >> 31) << 63;
        return sign | EXPONENT | u64::from(bits & 0x7f_ffff) << 29;
    }
    f64::from(number).to_bits()
}

/// Converts an `f64` to an `f32`, both as bits, with rounding.
fn narrow(word: u64) -> u32 {
    let number = f64::from_bits(word);
    if number.is_nan() {
        let rest = (word & !SIGN & !EXPONENT) >> 29;
        // A NaN needs at least one bit of payload, or it would be infinite.
        return (((word >> 63) << 31) | 0x7f80_0000 | rest.max(1)) as u32;
    }
    (number as f32).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::{Float32Type, Int8Type, UInt16Type};
    use arrow_array::{Float32Array, Int8Array, UInt16Array};
    use proptest::prelude::*;

    /// Decimals of more digits than their integers hold have no column type, and no value of theirs
    /// is compared with a power of ten that overflows.
    #[test]
    fn decimals_with_too_many_digits_cannot_be_stored() {
        for (digits32, digits64, is_stored) in
            [(0, 0, false), (1, 1, true), (9, 18, true), (10, 19, false), (76, 76, false)]
        {
            assert_eq!(ColumnType::of(&DataType::Decimal32(digits32, 0)).is_some(), is_stored, "{digits32}");
            assert_eq!(ColumnType::of(&DataType::Decimal64(digits64, 0)).is_some(), is_stored, "{digits64}");
        }
    }

    proptest! {
        #[test]
        fn arrays_survive_the_conversion_to_words_and_back(
            small: Vec<i8>,
            unsigned: Vec<u16>,
            floats: Vec<u32>,
            skip in 0..3usize,
        ) {
            let small = Int8Array::from(small);
            let small = small.slice(skip.min(small.len()), small.len() - skip.min(small.len()));
            let words = ColumnType::Int(1).words(&small).to_vec();
            let back = ColumnType::Int(1).array(&DataType::Int8, words, None);
            prop_assert_eq!(back.as_primitive::<Int8Type>(), &small);
            let unsigned = UInt16Array::from(unsigned);
            let words = ColumnType::Unsigned(2).words(&unsigned).to_vec();
            let back = ColumnType::Unsigned(2).array(&DataType::UInt16, words, None);
            prop_assert_eq!(back.as_primitive::<UInt16Type>(), &unsigned);
            let floats = Float32Array::from_iter_values(floats.into_iter().map(f32::from_bits));
            let words = ColumnType::Float(4).words(&floats).to_vec();
            let back = ColumnType::Float(4).array(&DataType::Float32, words, None);
            let bits = |array: &Float32Array| -> Vec<_> {
                array.values().iter().map(|value| value.to_bits()).collect()
            };
            prop_assert_eq!(bits(back.as_primitive::<Float32Type>()), bits(&floats));
        }

        #[test]
        fn widened_floats_keep_their_order(a: u32, b: u32) {
            let key = |bits| WordKind::Float.key(widen(bits));
            prop_assert_eq!(key(a).cmp(&key(b)), f32::from_bits(a).total_cmp(&f32::from_bits(b)));
        }
    }

    #[test]
    fn only_values_in_range_have_words() {
        let word = |data_type: DataType, value: Value| {
            ColumnType::of(&data_type).and_then(|of| of.word(&value, &data_type)).is_some()
        };
        assert!(word(DataType::Int8, Value::Int(-128)) && word(DataType::Int8, Value::Unsigned(127)));
        assert!(!word(DataType::Int8, Value::Int(128)) && !word(DataType::Int8, Value::Int(-129)));
        assert!(word(DataType::UInt32, Value::Int(7)) && !word(DataType::UInt32, Value::Int(-1)));
        assert!(!word(DataType::UInt32, Value::Unsigned(1 << 32)));
        assert!(word(DataType::UInt64, Value::Unsigned(u64::MAX)));
        assert!(!word(DataType::Int64, Value::Unsigned(1 << 63)));
        assert!(word(DataType::Float32, Value::Float(0.1)) && !word(DataType::Float32, Value::Float(1e300)));
        assert!(word(DataType::Float32, Value::Float(f64::INFINITY)));
        assert!(!word(DataType::Float64, Value::Int(1)) && !word(DataType::Int64, Value::Float(1.0)));
        assert!(word(DataType::Decimal32(3, 1), Value::Int(-999)));
        assert!(!word(DataType::Decimal32(3, 1), Value::Int(1000)));
        assert!(word(DataType::Utf8, "a".into()) && !word(DataType::Utf8, true.into()));
        assert!(word(DataType::Boolean, true.into()) && !word(DataType::Boolean, 1.into()));
    }
}
