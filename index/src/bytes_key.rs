//! Types of keys that are byte strings, or are encoded as such.

use crate::key_space::Bytes;
use crate::key_value::Key;
use crate::node::BytesNode;

/// Byte strings and text: arguments are borrowed, and tasks carry a copy.
macro_rules! strings {
    ($($type:ty: $borrowed:ty, $bytes:ident => $decoded:expr;)+) => {$(
        impl Key for $type {
            type Keys = Bytes;
            type Node = BytesNode;
            type Arg<'k> = &'k $borrowed;
            type Probe<'k> = &'k [u8];
            type Carried = Box<[u8]>;

            #[inline(always)]
            fn probe<'k>(key: Self::Arg<'k>) -> Self::Probe<'k> {
                key.as_ref()
            }
            fn carry(key: Self::Arg<'_>) -> Box<[u8]> {
                let bytes: &[u8] = key.as_ref();
                bytes.into()
            }
            fn encode(self) -> Box<[u8]> {
                Vec::from(self).into()
            }
            fn decode($bytes: Box<[u8]>) -> Self {
                $decoded
            }
        }
    )+};
}

strings! {
    Vec<u8>: [u8], bytes => bytes.into();
    Box<[u8]>: [u8], bytes => bytes;
    String: str, bytes => text(bytes.into());
}

/// Only validated keys are decoded, and each was encoded from text.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("keys of text are text")
}

/// Keys of a fixed length, which tasks carry as they are.
macro_rules! fixed {
    ($($type:ty: $bytes:literal, $key:ident => $encoded:expr, $array:ident => $decoded:expr;)+) => {$(
        impl Key for $type {
            type Keys = Bytes;
            type Node = BytesNode;
            type Arg<'k> = $type;
            type Probe<'k> = [u8; $bytes];
            type Carried = [u8; $bytes];

            #[inline(always)]
            fn probe<'k>($key: Self::Arg<'k>) -> Self::Probe<'k> {
                $encoded
            }
            #[inline(always)]
            fn carry($key: Self::Arg<'_>) -> [u8; $bytes] {
                $encoded
            }
            fn encode(self) -> Box<[u8]> {
                Self::carry(self).into()
            }
            fn decode(bytes: Box<[u8]>) -> Self {
                let $array: [u8; $bytes] = (*bytes).try_into().expect("all keys have one length");
                $decoded
            }
        }
    )+};
}

macro_rules! fixed_bytes {
    ($($bytes:literal)+) => {
        fixed! { $([u8; $bytes]: $bytes, key => key, bytes => bytes;)+ }
    };
}

fixed_bytes!(9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);

fixed! {
    u128: 16, key => key.to_be_bytes(), bytes => Self::from_be_bytes(bytes);
    // With the sign bit flipped, negative numbers come first.
    i128: 16, key => (key ^ Self::MIN).to_be_bytes(), bytes => Self::from_be_bytes(bytes) ^ Self::MIN;
}
