//! Strings that Redis has compressed: LZF.
//!
//! A byte below 32 is followed by one more literal byte than it says. Another one is a reference:
//! three bits of length, and with the next byte 13 bits of distance. A length of seven is followed
//! by a byte that adds to it.

/// Bytes that one byte of input may become: a reference of three bytes stands for up to 264.
const MOST_EXPANSION: usize = 88;

/// Decompresses a string of `len` bytes. Returns `None` if it is malformed, or has another length.
pub(super) fn decompress(mut input: &[u8], len: usize) -> Option<Vec<u8>> {
    if len > input.len().saturating_mul(MOST_EXPANSION) {
        return None;
    }
    // Not at once: the length is what the bytes claim.
    let mut output = Vec::with_capacity(len.min(input.len().saturating_mul(4)));
    while let Some((&control, rest)) = input.split_first() {
        input = rest;
        if control < 32 {
            let (literal, rest) = input.split_at_checked(usize::from(control) + 1)?;
            output.extend_from_slice(literal);
            input = rest;
        } else {
            let mut count = usize::from(control >> 5) + 2;
            if count == 9 {
                let (&more, rest) = input.split_first()?;
                count += usize::from(more);
                input = rest;
            }
            let (&low, rest) = input.split_first()?;
            input = rest;
            copy_back(&mut output, (usize::from(control & 31) << 8 | usize::from(low)) + 1, count)?;
        }
        if output.len() > len {
            return None;
        }
    }
    (output.len() == len).then_some(output)
}

/// Appends `count` bytes from `distance` before the end on, which may be bytes that it appends.
fn copy_back(output: &mut Vec<u8>, distance: usize, count: usize) -> Option<()> {
    let start = output.len().checked_sub(distance)?;
    if count <= distance {
        output.extend_from_within(start..start + count);
    } else {
        (start..start + count).for_each(|at| output.push(output[at]));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::decompress;

    #[test]
    fn references_may_reach_into_what_they_append() {
        // As liblzf compresses sixteen times the letter a.
        assert_eq!(decompress(b"\x01aa\xe0\x05\x00", 16), Some(vec![b'a'; 16]));
        assert_eq!(decompress(b"\x04hello", 5).as_deref(), Some(&b"hello"[..]));
        assert_eq!(decompress(b"\x02abc\x20\x02", 6).as_deref(), Some(&b"abcabc"[..]));
    }

    #[test]
    fn malformed_input_is_refused() {
        for (input, len) in [
            (&b"\x04hell"[..], 5), // a literal is cut off
            (b"\x00a\x20", 4),     // a reference is cut off
            (b"\x00a\xe0", 4),
            (b"\x00a\x20\x01", 4), // it reaches before the start
            (b"\x04hello", 4),     // another length
            (b"\x04hello", 6),
            (b"\x00a", 1 << 40), // more than the input can be
        ] {
            assert_eq!(decompress(input, len), None, "{input:?}");
        }
    }
}
