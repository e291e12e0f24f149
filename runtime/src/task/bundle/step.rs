//! One step of one lane: a node is read or written, and the lane directed to the next one.

use super::errand;
use super::lane::Mode;
use super::lanes::{Lanes, node_of};
use super::{Bundle, Hop, Walk};
use crate::object::{Header, Link, Primitive, Reference, Turn};
use crate::scheduler::{Context, Worker};
use crate::sync::Stamp;
use crate::task::grant::Written;
use crate::task::{JoinError, drop_quietly};

type TargetOf<B> = <<B as Bundle>::Walk as Walk>::Target;
type HopOf<B> = Hop<TargetOf<B>, <<B as Bundle>::Walk as Walk>::Output>;

impl<B: Bundle> Lanes<B> {
    /// Reads or writes the node of a lane. Returns true if the lane's next node is expected in the
    /// cache.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn step(&mut self, index: usize, cx: &mut Worker) -> bool {
        self.current = index;
        let lane = self.lane(index);
        if !lane.reads() {
            return self.step_entering(index, cx);
        }
        if !B::Walk::LOCATES || lane.stamp.is_none() {
            return self.step_cached(index, cx);
        }
        let stamp = lane.stamp;
        self.read(index, stamp, cx)
    }

    /// Locates and reads the node of a lane that reads.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn step_cached(&mut self, index: usize, cx: &mut Worker) -> bool {
        // Before the lane is accessed: after a store elsewhere the compiler would load what it has
        // just stored there.
        self.current = index;
        let lane = self.lane(index);
        // SAFETY: the callers pass lanes that read. The epoch of the task keeps the node alive.
        let (header, node) = unsafe { lane.node_to_read::<TargetOf<B>>() };
        let Some(stamp) = header.begin_read(cx.free_word) else { return self.disturbed(index, cx) };
        // A panic counts only at this version.
        lane.stamp = stamp;
        if B::Walk::LOCATES {
            let at = Link::from_reference(lane.at);
            // SAFETY: the lane is not vacant.
            unsafe { lane.walk() }.locate(at, node);
        }
        self.read(index, stamp, cx)
    }

    /// Reads the node of the current lane, which has arrived there, at this version.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read(&mut self, index: usize, stamp: Stamp, cx: &mut Worker) -> bool {
        let lane = self.lane(index);
        let at = Link::from_reference(lane.at);
        // SAFETY: the callers pass lanes that read. The epoch of the task keeps the node alive.
        let (Header { latch, .. }, node) = unsafe { lane.node_to_read::<TargetOf<B>>() };
        // SAFETY: lanes that read are not vacant.
        let hop = unsafe { lane.walk() }.read(at, node);
        // The version is compared in each arm, which leaves the compiler free to go there from
        // where the walk has decided.
        let is_valid = || latch.validate(stamp) || planted!("walk-version-unchecked");
        match hop {
            Hop::Go(next, part) if is_valid() => self.go_to(index, next.reference(), part, false),
            Hop::Write(next, part) if is_valid() => self.go_to(index, next.reference(), part, true),
            Hop::End(output) => {
                if is_valid() {
                    return self.end(index, Ok(output), cx);
                }
                drop_quietly(output);
                self.disturbed(index, cx)
            }
            _ => self.disturbed(index, cx),
        }
    }

    /// Directs a lane to where its walk goes. Returns true if its next node is expected in the
    /// cache.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn follow(&mut self, index: usize, hop: HopOf<B>, cx: &mut Worker) -> bool {
        match hop {
            Hop::Go(next, part) => self.go_to(index, next.reference(), part, false),
            Hop::Write(next, part) => self.go_to(index, next.reference(), part, true),
            Hop::End(output) => self.end(index, Ok(output), cx),
            Hop::Again => self.disturbed(index, cx),
        }
    }

    /// Hands the result of the current lane's walk to the bundle, and takes the next walk into the
    /// lane. Returns true if its first node is expected in the cache.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn end(
        &mut self,
        index: usize,
        outcome: Result<<B::Walk as Walk>::Output, JoinError>,
        cx: &mut Worker,
    ) -> bool {
        // A panic of the bundle finds the current lane vacant.
        debug_assert_eq!(index, self.current);
        // SAFETY: the callers pass lanes that are not vacant.
        let walk = unsafe { self.lane(index).vacate() };
        self.bundle.done(walk, outcome, Context::of(cx));
        if self.refills {
            if let Some((start, walk)) = self.bundle.next(Context::of(cx)) {
                self.lane(index).put(walk);
                return self.go_to(index, start.link.reference(), start.part, start.writes);
            }
            (self.exhausted, self.refills) = (true, false);
        }
        self.remove(index);
        false
    }

    /// Counts a step that met a writer. It is repeated in the next round, and by an errand after
    /// some attempts.
    #[cold]
    #[inline(never)]
    pub(super) fn disturbed(&mut self, index: usize, cx: &mut Worker) -> bool {
        cx.counters().versioned_retries.add(1);
        let lane = self.lane(index);
        lane.stamp = Stamp::NONE;
        // SAFETY: the epoch of the task keeps the node alive.
        if let Some(error) = unsafe { lane.at.header() }.failure(cx.free_word) {
            return self.end(index, Err(error), cx);
        }
        if lane.disturbed < u32::from(Worker::OPTIMISTIC_ATTEMPTS) {
            lane.disturbed += 1;
            return false;
        }
        self.send_away(index, cx)
    }

    /// Sends a walk on an errand. Without memory for that the walk fails.
    fn send_away(&mut self, index: usize, cx: &mut Worker) -> bool {
        !errand::send(self, index, cx) && self.end(index, Err(JoinError::OutOfMemory), cx)
    }

    /// A step at a node that is written, or must be entered to be read. Vacant lanes have none.
    #[inline(never)]
    fn step_entering(&mut self, index: usize, cx: &mut Worker) -> bool {
        let lane = self.lane(index);
        let (at, mode) = (lane.at, lane.mode());
        if mode == Mode::Vacant {
            return false;
        }
        // SAFETY: the epoch of the task keeps the node alive.
        let header = unsafe { at.header() };
        match at.primitive() {
            Primitive::OptimisticLatched if mode == Mode::Write => {
                if !header.is_of(cx.free_word) || !header.latch.try_lock() {
                    return self.disturbed(index, cx);
                }
                if let Some(error) = header.failure(cx.free_word) {
                    header.latch.unlock();
                    return self.end(index, Err(error), cx);
                }
                self.write(index, header, cx)
            }
            // At home, and not held by a task with several objects: this task has its turn now.
            Primitive::OptimisticSequenced
                if mode == Mode::Write
                    && cx.home_of(at) == cx.index()
                    && header.turn(cx.free_word) == Turn::Now
                    && header.failure(cx.free_word).is_none() =>
            {
                self.write(index, header, cx)
            }
            _ => self.send_away(index, cx),
        }
    }

    /// Writes the node of a lane, which excludes all other writers.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn write(&mut self, index: usize, header: &Header, cx: &mut Worker) -> bool {
        header.latch.begin_write();
        (self.writes, self.current) = (true, index);
        let lane = self.lane(index);
        let at = lane.at;
        // SAFETY: the epoch of the task keeps the node alive, and the caller excludes other
        // writers.
        let written = unsafe { written::<B>(at) };
        // SAFETY: the caller passes a lane that writes.
        let hop = unsafe { lane.walk() }.write(Link::from_reference(at), written, Context::of(cx));
        header.latch.end_write();
        self.writes = false;
        match hop {
            Hop::Again => self.end(index, Err(JoinError::Abandoned), cx),
            hop => self.follow(index, hop, cx),
        }
    }
}

/// Returns write access to a node.
///
/// # Safety
///
/// The node is alive for `'a` and of this type, and all other writers are excluded meanwhile.
#[inline(always)]
pub(super) unsafe fn written<'a, B: Bundle>(at: Reference) -> Written<'a, <B::Walk as Walk>::Target> {
    // SAFETY: this function's contract is that of both.
    unsafe { Written::assume(node_of::<B>(at)) }
}
