//! What is replayed of changes in groups: times and counts are those of now.

use super::super::Call;
use crate::value::StreamId;

/// A consumer of a group of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub(super) key: &'a [u8],
    pub(super) group: &'a [u8],
    pub(super) consumer: &'a [u8],
}

/// Replays that entries were delivered at this time, and how often they were: once more if that is
/// `None`.
pub(super) fn deliveries(
    call: &mut Call<'_, '_>,
    names: Names<'_>,
    ids: &[StreamId],
    deliveries: Option<u64>,
    delivered_at: u64,
    seen_at: u64,
) {
    let count = deliveries.map(|count| [b"RETRYCOUNT".to_vec(), text(count)]);
    let flags = deliveries.map(|_| [b"FORCE".to_vec(), b"JUSTID".to_vec()]);
    let time = [b"TIME".to_vec(), text(delivered_at)];
    let options = count.into_iter().chain(flags).flatten().chain(time);
    claim(call, names, ids.iter().copied(), options, seen_at);
}

/// Replays that a consumer is there, and was active at this time.
pub(super) fn seen(call: &mut Call<'_, '_>, names: Names<'_>, seen_at: u64) {
    // No entry has this ID.
    claim(call, names, [StreamId::MIN].into_iter(), std::iter::empty(), seen_at);
}

fn claim(
    call: &mut Call<'_, '_>,
    names: Names<'_>,
    ids: impl Iterator<Item = StreamId>,
    options: impl Iterator<Item = Vec<u8>>,
    seen_at: u64,
) {
    let Names { key, group, consumer } = names;
    let front = [b"XCLAIM", key, group, consumer, b"0"].into_iter().map(<[u8]>::to_vec);
    let seen = [b"SEEN".to_vec(), text(seen_at)];
    let seen = seen.into_iter().take(if planted!("activity-unlogged") { 0 } else { 2 });
    call.replay(front.chain(ids.map(text)).chain(options).chain(seen));
}

/// Replays which entry was the last that was delivered in a group.
pub(super) fn position(
    call: &mut Call<'_, '_>,
    names: Names<'_>,
    last_id: StreamId,
    entries_read: Option<u64>,
) {
    let entries_read = entries_read.map_or_else(|| b"-1".to_vec(), text);
    let (id, word) = (text(last_id), b"ENTRIESREAD".to_vec());
    let front = [b"XGROUP", &b"SETID"[..], names.key, names.group].into_iter().map(<[u8]>::to_vec);
    call.replay(front.chain([id, word, entries_read]));
}

/// Replays that entries are pending no longer.
pub(super) fn acknowledged(call: &mut Call<'_, '_>, names: Names<'_>, ids: &[StreamId]) {
    let front = [b"XACK", names.key, names.group].into_iter().map(<[u8]>::to_vec);
    call.replay(front.chain(ids.iter().map(text)));
}

fn text(shown: impl ToString) -> Vec<u8> {
    shown.to_string().into_bytes()
}
