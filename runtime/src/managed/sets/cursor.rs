//! How a runner goes through the lanes.

use super::SetId;
use super::block::{Block, SLOTS, TakenFunction};
use super::lane::{LANES, Lane};
use super::requests::Requests;
use crate::task::JoinError;
use alloc::sync::Arc;

/// Where a runner looks for the next request.
#[derive(Default)]
pub(super) struct Cursor {
    lane: usize,
    /// The next position in this lane.
    position: u64,
    /// An end of this lane that the runner has read.
    known_end: u64,
    /// The block of the last request.
    block: Option<Arc<Block>>,
    /// Requests of this block that the runner has ended and not counted there.
    ended: u32,
}

impl Requests {
    /// Takes and runs the next request of any lane. Returns false if there is none.
    #[inline(always)]
    pub fn run_next(&self, cursor: &mut Cursor, worker: usize) -> bool {
        self.take_next(cursor, |id, function| self.run(id, function, Some(worker)))
    }

    /// Drops all requests that no thread has taken. Each has failed with this error.
    #[cold]
    pub fn abandon_all(&self, mut cursor: Cursor, why: fn() -> JoinError) {
        while self.take_next(&mut cursor, |id, function| self.abandon(id, function, why())) {}
        self.leave_block(&mut cursor);
    }

    #[inline(always)]
    fn take_next(&self, cursor: &mut Cursor, with: impl FnOnce(SetId, TakenFunction<'_>)) -> bool {
        for _ in 0..LANES {
            let lane = &self.lanes[cursor.lane];
            while cursor.position < cursor.known_end || self.look_for_more(cursor) {
                let position = cursor.position;
                if cursor.block.as_ref().is_none_or(|block| block.number != position / SLOTS) {
                    self.enter_block(cursor);
                }
                let Some(block) = &cursor.block else { continue };
                cursor.position += 1;
                if let Some(function) = block.slot(position).take() {
                    lane.pass(position + 1);
                    cursor.ended += 1;
                    with(SetId::new(cursor.lane, position), function);
                    if position % SLOTS == SLOTS - 1 {
                        self.go_to_next_lane(cursor);
                    }
                    return true;
                }
            }
            lane.pass(cursor.position);
            self.go_to_next_lane(cursor);
        }
        false
    }

    /// Reads the end of the cursor's lane. Returns true if it lies beyond the cursor.
    fn look_for_more(&self, cursor: &mut Cursor) -> bool {
        let lane = &self.lanes[cursor.lane];
        cursor.known_end = lane.end();
        cursor.position = cursor.position.max(lane.head());
        cursor.position < cursor.known_end
    }

    /// Goes to the block of the cursor's position, or beyond it if its sets are all over.
    fn enter_block(&self, cursor: &mut Cursor) {
        self.leave_block(cursor);
        cursor.block = self.lanes[cursor.lane].records.lock().block(cursor.position).cloned();
        if cursor.block.is_none() {
            cursor.position = (cursor.position / SLOTS + 1) * SLOTS;
        }
    }

    /// Counts the requests that the runner has ended. Without this their block is never freed.
    pub fn leave_block(&self, cursor: &mut Cursor) {
        if let Some(block) = cursor.block.take() {
            self.count_ended(cursor.lane, &block, core::mem::take(&mut cursor.ended));
        }
    }

    fn go_to_next_lane(&self, cursor: &mut Cursor) {
        self.leave_block(cursor);
        *cursor = Cursor { lane: (cursor.lane + 1) % LANES, ..Cursor::default() };
    }

    /// Returns true if the cursor's lane had more requests when the runner last read its end.
    #[inline(always)]
    pub fn knows_more(&self, cursor: &Cursor) -> bool {
        cursor.position < cursor.known_end
    }

    /// Returns true if a lane may have requests that no runner has passed.
    pub fn has_more(&self) -> bool {
        self.lanes.iter().any(Lane::has_more)
    }
}
