//! What tasks are annotated with as their costs, in multiples of a small task.
//!
//! A small task takes about 10 ns, some 40 instructions. What a request takes was counted in
//! pipelines of 128, without what the system does: see the page of results.

use super::plan::Shards;

/// A request, besides what it does inside of shards: to look ahead, to find its command, to count
/// it.
const REQUEST: u16 = 16;
/// A key that is read.
pub(super) const READ: u16 = 8;
/// A key that is written.
pub(super) const WRITE: u16 = 24;

/// Returns the cost of requests, without what they do inside of shards.
pub(super) fn of_requests(requests: usize) -> u16 {
    u16::try_from(requests).unwrap_or(u16::MAX).saturating_mul(REQUEST)
}

/// Returns the cost of a request inside of shards, of which it probably touches a key each.
pub(super) fn of_shards(shards: &Shards) -> u16 {
    shards.iter().map(|&(_, writes)| if writes { WRITE } else { READ }).fold(0, u16::saturating_add)
}
