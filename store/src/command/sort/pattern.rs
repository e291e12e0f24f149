//! What the patterns of SORT lead to.

use crate::keyspace::Keys;
use crate::value::ValueRef;
use memchr::{memchr, memmem};
use std::borrow::Cow;

/// Returns what a pattern leads to for an element: the string of the key in which the element
/// stands in the place of the first star; after `->` the field of a hash. `#` leads to the element
/// itself.
pub(super) fn look_up<'v>(keys: &'v Keys<'_>, pattern: &[u8], element: &'v [u8]) -> Option<Cow<'v, [u8]>> {
    if pattern == b"#" {
        return Some(Cow::Borrowed(element));
    }
    let star = memchr(b'*', pattern)?;
    let (before, after) = (&pattern[..star], &pattern[star + 1..]);
    let arrow = memmem::find(after, b"->").filter(|arrow| arrow + 2 < after.len());
    let (after, field) = match arrow {
        Some(arrow) => (&after[..arrow], Some(&after[arrow + 2..])),
        None => (after, None),
    };
    match (keys.get(&[before, element, after].concat())?, field) {
        (ValueRef::Hash(hash), Some(field)) => hash.get(field).map(Cow::Borrowed),
        (ValueRef::String(text), None) => Some(text.bytes()),
        _ => None,
    }
}
