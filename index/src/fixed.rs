//! Keys and values of fixed size, as the words that nodes hold.

/// A key: a type that 64 bits can hold in its own order.
pub trait Key: Copy + Send + Sync + 'static {
    /// The key as a word; words are ordered as keys are.
    fn to_word(self) -> u64;
    /// The key of a word that came from `to_word`.
    fn from_word(word: u64) -> Self;
}

/// A value: a type that 64 bits can hold.
pub trait Value: Copy + Send + Sync + 'static {
    /// The value as a word.
    fn to_word(self) -> u64;
    /// The value of a word that came from `to_word`.
    fn from_word(word: u64) -> Self;
}

macro_rules! unsigned {
    ($($type:ty)+) => {$(
        impl Key for $type {
            #[inline(always)]
            fn to_word(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn from_word(word: u64) -> Self {
                word as Self
            }
        }
        impl Value for $type {
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

unsigned!(u8 u16 u32 u64 usize);

macro_rules! signed {
    ($($type:ty)+) => {$(
        impl Key for $type {
            // The sign bit flipped: negative numbers come first.
            #[inline(always)]
            fn to_word(self) -> u64 {
                self as i64 as u64 ^ (1 << 63)
            }
            #[inline(always)]
            fn from_word(word: u64) -> Self {
                (word ^ (1 << 63)) as i64 as Self
            }
        }
        impl Value for $type {
            #[inline(always)]
            fn to_word(self) -> u64 {
                self as i64 as u64
            }
            #[inline(always)]
            fn from_word(word: u64) -> Self {
                word as i64 as Self
            }
        }
    )+};
}

signed!(i8 i16 i32 i64 isize);

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
    fn words_are_ordered_as_keys() {
        keeps_order(&[0u64, 1, u64::MAX]);
        keeps_order(&[i64::MIN, -1, 0, 1, i64::MAX]);
        keeps_order(&[i8::MIN, -1, 0, 1, i8::MAX]);
        keeps_order(&[0u16, 9, u16::MAX]);
    }

    #[test]
    fn values_come_back() {
        fn come_back<V: Value + PartialEq + core::fmt::Debug>(values: &[V]) {
            for &value in values {
                assert_eq!(V::from_word(value.to_word()), value);
            }
        }
        come_back(&[-0.5f64, f64::INFINITY]);
        come_back(&[i64::MIN, -7, i64::MAX]);
        come_back(&[i8::MIN, -7, i8::MAX]);
        come_back(&[0u8, u8::MAX]);
        come_back(&[()]);
    }
}
