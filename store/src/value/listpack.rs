//! Entries of Redis' listpack: byte strings and integers one after the other.
//!
//! An entry says how long it is both before and after its data, so that a sequence of entries can
//! be read from either end. The text of an integer takes up to nine bytes. Streams keep their
//! blocks in this form, which is that of Redis' files.

use crate::resp::{Reply, parse_integer};
use std::borrow::Cow;

/// The bytes before the entries: the size in four, and the number of entries in two.
pub(crate) const HEADER: usize = 6;
/// The byte after the last entry.
pub(crate) const END: u8 = 0xff;
/// The number of entries that says nothing: there are more.
pub(crate) const MANY: u16 = u16::MAX;
/// The longest text of an integer of 64 bits.
const LONGEST_INTEGER: usize = 20;

/// An entry: a byte string, or the text of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// An integer, which stands for its text.
    Integer(i64),
    /// Any bytes.
    Bytes(&'a [u8]),
}

impl<'a> Piece<'a> {
    /// Returns the bytes that it stands for.
    pub fn text(self) -> Cow<'a, [u8]> {
        match self {
            Self::Integer(number) => Cow::Owned(number.to_string().into_bytes()),
            Self::Bytes(bytes) => Cow::Borrowed(bytes),
        }
    }

    /// Returns true if it stands for these bytes.
    pub fn is(self, bytes: &[u8]) -> bool {
        match self {
            Self::Bytes(own) => own == bytes,
            Self::Integer(_) => *self.text() == *bytes,
        }
    }

    /// Returns the integer.
    pub(crate) fn integer(self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(number),
            Self::Bytes(_) => None,
        }
    }

    /// Writes the bytes that it stands for.
    pub(crate) fn write_to(self, reply: &mut Reply) {
        match self {
            Self::Integer(number) => reply.bulk_integer(number),
            Self::Bytes(bytes) => reply.bulk(bytes),
        }
    }
}

/// Returns the entry at the start of the bytes, and its size; `None` if there is none that is
/// whole.
#[inline]
pub(crate) fn decode(bytes: &[u8]) -> Option<(Piece<'_>, usize)> {
    let (&first, rest) = bytes.split_first()?;
    let (piece, size) = match first {
        0x00..=0x7f => (Piece::Integer(first.into()), 1),
        0x80..=0xbf => string(rest, usize::from(first & 0x3f), 0)?,
        0xc0..=0xdf => {
            let number = i16::from(first & 0x1f) << 8 | i16::from(*rest.first()?);
            // The highest of 13 bits is the sign.
            (Piece::Integer((number << 3 >> 3).into()), 2)
        }
        0xe0..=0xef => string(rest, usize::from(first & 0x0f) << 8 | usize::from(*rest.first()?), 1)?,
        0xf0 => string(rest, u32::from_le_bytes(*rest.first_chunk()?) as usize, 4)?,
        0xf1 => (Piece::Integer(i16::from_le_bytes(*rest.first_chunk()?).into()), 3),
        0xf2 => (Piece::Integer(three_bytes(*rest.first_chunk()?)), 4),
        0xf3 => (Piece::Integer(i32::from_le_bytes(*rest.first_chunk()?).into()), 5),
        0xf4 => (Piece::Integer(i64::from_le_bytes(*rest.first_chunk()?)), 9),
        _ => return None,
    };
    let width = length_width(size);
    let behind = bytes.get(size..size + width)?;
    let stated = behind.iter().fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
    // All but the first byte are marked: from the end, that is the last one to be read.
    let is_marked = behind.iter().enumerate().all(|(at, byte)| (byte & 0x80 != 0) == (at > 0));
    (stated == size && is_marked).then_some((piece, size + width))
}

/// Returns a string that follows its first byte and a length of `width` bytes, and their size.
fn string(rest: &[u8], length: usize, width: usize) -> Option<(Piece<'_>, usize)> {
    let bytes = rest.get(width..width.checked_add(length)?)?;
    Some((Piece::Bytes(bytes), 1 + width + length))
}

/// Returns a signed integer of three bytes.
pub(crate) fn three_bytes([low, middle, high]: [u8; 3]) -> i64 {
    i64::from(i32::from_le_bytes([0, low, middle, high]) >> 8)
}

/// Returns how many bytes the length behind an entry takes.
const fn length_width(size: usize) -> usize {
    match size {
        0..=0x7f => 1,
        0x80..=0x3ffe => 2,
        0x3fff..=0x1f_fffe => 3,
        0x1f_ffff..=0x0fff_fffe => 4,
        _ => 5,
    }
}

/// Returns where the entry that ends at `end` begins; `None` if there is none.
#[inline]
pub(crate) fn start_of_last(bytes: &[u8], end: usize) -> Option<usize> {
    let (mut size, mut width) = (0, 0);
    loop {
        let byte = *bytes.get(end.checked_sub(width + 1)?)?;
        size |= usize::from(byte & 0x7f) << (7 * width);
        width += 1;
        // The first byte of the length has no mark, and is the last that is read.
        if byte & 0x80 == 0 || width == 5 {
            return end.checked_sub(size + width);
        }
    }
}

/// Appends a byte string: as an integer if it is the text of one.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let integer = (bytes.len() <= LONGEST_INTEGER).then(|| parse_integer(bytes)).flatten();
    if let Some(integer) = integer {
        return put_integer(out, integer);
    }
    let start = out.len();
    match bytes.len() {
        len @ 0..64 => out.push(0x80 | len as u8),
        len @ 64..4096 => out.extend_from_slice(&[0xe0 | (len >> 8) as u8, len as u8]),
        len => {
            out.push(0xf0);
            out.extend_from_slice(&(len as u32).to_le_bytes());
        }
    }
    out.extend_from_slice(bytes);
    put_length(out, start);
}

/// Appends an integer.
pub(crate) fn put_integer(out: &mut Vec<u8>, integer: i64) {
    let start = out.len();
    let bytes = integer.to_le_bytes();
    match integer {
        0..0x80 => out.push(integer as u8),
        -0x1000..0x1000 => out.extend_from_slice(&[0xc0 | (integer >> 8) as u8 & 0x1f, integer as u8]),
        -0x8000..0x8000 => put_number(out, 0xf1, &bytes[..2]),
        -0x80_0000..0x80_0000 => put_number(out, 0xf2, &bytes[..3]),
        -0x8000_0000..0x8000_0000 => put_number(out, 0xf3, &bytes[..4]),
        _ => put_number(out, 0xf4, &bytes),
    }
    put_length(out, start);
}

fn put_number(out: &mut Vec<u8>, code: u8, bytes: &[u8]) {
    out.push(code);
    out.extend_from_slice(bytes);
}

/// Appends the length of the entry that begins at `start`.
fn put_length(out: &mut Vec<u8>, start: usize) {
    let size = out.len() - start;
    let width = length_width(size);
    for at in (0..width).rev() {
        let mark = if at + 1 == width { 0 } else { 0x80 };
        out.push((size >> (7 * at)) as u8 & 0x7f | mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_from_either_end() {
        let mut texts: Vec<Vec<u8>> = [0, 1, 63, 64, 126, 127, 4095, 4096, 16_400, 70_000]
            .map(|len| vec![b'x'; len])
            .into_iter()
            .collect();
        let edges = [0, 127, 4095, 32_767, 8_388_607, i64::from(i32::MAX), i64::MAX];
        for edge in edges {
            for number in [edge, -edge, edge.saturating_add(1), (-edge).saturating_sub(1)] {
                texts.push(number.to_string().into_bytes());
            }
        }
        texts.extend([b"01".to_vec(), b"-0".to_vec(), b"99999999999999999999".to_vec()]);
        let mut bytes = Vec::new();
        texts.iter().for_each(|text| put_bytes(&mut bytes, text));
        let (mut at, mut starts) = (0, Vec::new());
        for text in &texts {
            let (piece, size) = decode(&bytes[at..]).expect("an entry");
            assert!(piece.is(text), "{}", text.escape_ascii());
            starts.push(at);
            at += size;
        }
        assert_eq!(at, bytes.len());
        for start in starts.iter().rev() {
            at = start_of_last(&bytes, at).expect("an entry");
            assert_eq!(at, *start);
        }
        assert_eq!(start_of_last(&bytes, 0), None);
    }

    #[test]
    fn entries_have_the_bytes_of_redis() {
        for (text, expected) in [
            (&b"7"[..], &[7, 1][..]),
            (b"-1", &[0xdf, 0xff, 2]),
            (b"4095", &[0xcf, 0xff, 2]),
            (b"-4096", &[0xd0, 0, 2]),
            (b"4096", &[0xf1, 0, 0x10, 3]),
            (b"ab", &[0x82, b'a', b'b', 3]),
        ] {
            let mut bytes = Vec::new();
            put_bytes(&mut bytes, text);
            assert_eq!(bytes, expected, "{}", text.escape_ascii());
        }
        let mut long = Vec::new();
        put_bytes(&mut long, &[b'x'; 126]);
        assert_eq!((&long[..2], &long[128..]), (&[0xe0, 126][..], &[1, 0x80][..]));
    }

    #[test]
    fn what_is_cut_off_is_no_entry() {
        for text in [&b"5"[..], b"1000", b"100000", b"10000000000", b"abc", &[b'x'; 100], &[b'x'; 5000]] {
            let mut bytes = Vec::new();
            put_bytes(&mut bytes, text);
            assert!((0..bytes.len()).all(|len| decode(&bytes[..len]).is_none()));
        }
        assert_eq!(decode(&[END]), None);
    }

    #[test]
    fn a_length_behind_an_entry_has_its_marks() {
        for len in [1, 200, 20_000] {
            let mut bytes = Vec::new();
            put_bytes(&mut bytes, &vec![b'x'; len]);
            let width = bytes.len() - 1 - len - [0, 1, 4][usize::from(len >= 64) + usize::from(len >= 4096)];
            assert!(decode(&bytes).is_some());
            for at in bytes.len() - width..bytes.len() {
                let mut altered = bytes.clone();
                altered[at] ^= 0x80;
                assert_eq!(decode(&altered), None, "{len} bytes, at {at}");
            }
        }
    }
}
