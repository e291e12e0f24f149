//! Types of keys and values, and their encoding as words.

/// A key: a type that 64 bits can encode in its own order.
pub trait Key: Copy + Send + Sync + 'static {
    /// Encodes the key. Words have the order of the keys.
    fn to_word(self) -> u64;
    /// Decodes a word that came from `to_word`.
    fn from_word(word: u64) -> Self;
}

/// A value: a type that 64 bits can encode.
pub trait Value: Copy + Send + Sync + 'static {
    /// Encodes the value.
    fn to_word(self) -> u64;
    /// Decodes a word that came from `to_word`.
    fn from_word(word: u64) -> Self;
}

/// Encodes integers as casts do, which extend the sign.
macro_rules! by_casts {
    ($trait:ident: $($type:ty)+) => {$(
        impl $trait for $type {
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

by_casts!(Key: u8 u16 u32 u64 usize);
by_casts!(Value: u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

macro_rules! signed_keys {
    ($($type:ty)+) => {$(
        impl Key for $type {
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

impl Value for f64 {
    fn to_word(self) -> u64 {
        self.to_bits()
    }
    fn from_word(word: u64) -> Self {
        Self::from_bits(word)
    }
}

impl Value for () {
    fn to_word(self) -> u64 {
        0
    }
    fn from_word(_: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps_order<K: Key + PartialEq + core::fmt::Debug>(ascending: &[K]) {
        for pair in ascending.windows(2) {
            assert!(pair[0].to_word() < pair[1].to_word(), "{pair:?}");
        }
        for &key in ascending {
            assert_eq!(K::from_word(Key::to_word(key)), key);
        }
    }

    #[test]
    fn words_have_the_order_of_keys() {
        keeps_order(&[0u64, 1, u64::MAX]);
        keeps_order(&[i64::MIN, -1, 0, 1, i64::MAX]);
        keeps_order(&[i8::MIN, -1, 0, 1, i8::MAX]);
        keeps_order(&[0u16, 9, u16::MAX]);
    }

    #[test]
    fn values_round_trip() {
        fn round_trip<V: Value + PartialEq + core::fmt::Debug>(values: &[V]) {
            for &value in values {
                assert_eq!(V::from_word(value.to_word()), value);
            }
        }
        round_trip(&[-0.5f64, f64::INFINITY]);
        round_trip(&[i64::MIN, -7, i64::MAX]);
        round_trip(&[i8::MIN, -7, i8::MAX]);
        round_trip(&[0u8, u8::MAX]);
        round_trip(&[()]);
    }
}
