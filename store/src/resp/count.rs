//! Tells apart replies that were written.

use std::iter;

/// Iterates over the replies and pushes in these bytes, each with all that is in it.
pub(crate) fn each_reply(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    iter::from_fn(move || {
        let rest = skip(bytes)?;
        let (reply, _) = bytes.split_at(bytes.len() - rest.len());
        bytes = rest;
        Some(reply)
    })
}

/// Returns what follows the first reply; `None` if there is none.
fn skip(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes;
    // Elements that are still to be skipped; an aggregate adds its own.
    let mut left = 1usize;
    while left > 0 {
        let end = memchr::memchr(b'\n', rest)?;
        let (line, after) = rest.split_at(end + 1);
        let (&kind, length) = line.split_first()?;
        let length = || std::str::from_utf8(length.trim_ascii()).ok()?.parse::<usize>().ok();
        rest = after;
        left -= 1;
        match kind {
            // Null has no length, and nothing follows it.
            b'$' | b'=' | b'!' => rest = length().map_or(Some(rest), |length| rest.get(length + 2..))?,
            b'*' | b'~' | b'>' => left += length().unwrap_or(0),
            b'%' => left += 2 * length().unwrap_or(0),
            _ => {}
        }
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::super::{Protocol, Reply};
    use super::*;

    #[test]
    fn replies_are_told_apart_with_what_is_in_them() {
        for protocol in [Protocol::Two, Protocol::Three] {
            let mut reply = Reply::new(protocol);
            assert_eq!(each_reply(reply.as_bytes()).count(), 0);
            reply.ok();
            reply.bulk(b"+OK\r\n:1\r\n");
            reply.null();
            reply.null_array();
            reply.array(2);
            reply.map(1);
            reply.integer(-5);
            reply.double(0.5);
            reply.set(0);
            reply.error(b"ERR no");
            reply.verbatim("txt", b"a\nb");
            reply.boolean(true);
            assert_eq!(each_reply(reply.as_bytes()).count(), 8);
            assert_eq!(each_reply(reply.as_bytes()).collect::<Vec<_>>().concat(), reply.as_bytes());
        }
    }
}
