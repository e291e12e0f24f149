//! The lanes of a bundle, and the loop that steps through them.

use super::errand::Returned;
use super::lane::{Lane, Mode};
use super::{Bundle, Walk};
use crate::annotation::Part;
use crate::object::{FreeWord, Link, Reference, Versioned};
use crate::scheduler::{Context, Worker};
use crate::sync::{Stamp, under_model};
use crate::task::access::value_of;
use crate::task::{JoinError, Task, drop_quietly};
use alloc::vec::Vec;
use core::ptr::NonNull;

/// Walks in flight. Random accesses to memory pay up to about this number.
pub(super) const WIDTH: usize = under_model(32, 2) as usize;
/// A bit for each lane.
pub(super) const ALL_LANES: u32 = u32::MAX >> (u32::BITS - WIDTH as u32);
/// Lanes that do the same at the same time: a group fetches while the other groups compute. Larger
/// groups make bursts of fetches, which fill the buffers of the processor.
const GROUP: usize = under_model(4, 1) as usize;
/// Steps of a turn, after which other tasks run: some microseconds.
const TURN_STEPS: usize = under_model(512, 4) as usize;
/// Steps of a turn in a simulation, where other tasks run only between turns.
const SIMULATED_TURN_STEPS: usize = 8;
/// The largest number of nodes that a group passes at once because they are in the cache.
const CACHED_NODES: usize = 16;

/// The state of a bundle.
pub(super) struct Lanes<B: Bundle> {
    lanes: [Lane<B::Walk>; WIDTH],
    /// The lanes that are not vacant, except that [`end`](Self::end) refills a lane while it is
    /// counted.
    pub occupied: u32,
    /// Walks that errands carry.
    pub away: usize,
    /// Walks that errands have brought back.
    pub returned: Vec<Returned<B>>,
    /// The lane whose code is running: `locate` or `read`, `write` if [`writes`](Self::writes) says
    /// so, or a method of the bundle while the lane is vacant.
    pub current: usize,
    /// The current lane holds its node and writes it.
    pub writes: bool,
    /// Counts rounds: in every other round a group locates.
    round: usize,
    pub turn_steps: usize,
    /// The bundle has no more walks.
    pub exhausted: bool,
    /// [`takes_more`](Self::takes_more) for the inner loop: only `exhausted` changes in a turn.
    pub refills: bool,
    /// Lanes are not filled again until the bundle has moved to a newer epoch.
    pub draining: bool,
    /// The task is in no queue: it waits for its errands.
    pub parked: bool,
    /// Why the bundle ends early.
    pub failure: Option<JoinError>,
    /// The address of this, for errands.
    pub address: NonNull<Self>,
    /// The task that carries the bundle, once it has begun.
    pub task: Option<NonNull<Task>>,
    /// The task's own name, if it has one.
    pub name: Option<&'static str>,
    pub bundle: B,
}

impl<B: Bundle> Lanes<B> {
    pub fn new(bundle: B, simulated: bool) -> Self {
        Self {
            lanes: [const { Lane::VACANT }; WIDTH],
            occupied: 0,
            away: 0,
            returned: Vec::new(),
            current: 0,
            writes: false,
            round: 0,
            turn_steps: if simulated { SIMULATED_TURN_STEPS } else { TURN_STEPS },
            exhausted: false,
            refills: false,
            draining: false,
            parked: false,
            failure: None,
            address: NonNull::dangling(),
            task: None,
            name: None,
            bundle,
        }
    }

    /// Returns true if no walk is under way.
    pub fn is_idle(&self) -> bool {
        self.occupied == 0 && self.away == 0 && self.returned.is_empty()
    }

    /// Returns true if all walks have ended.
    pub fn is_over(&self) -> bool {
        self.is_idle() && (self.exhausted || self.failure.is_some())
    }

    /// Returns true if nothing can be done before an errand returns.
    pub fn waits_for_errands(&self) -> bool {
        let may_step = self.occupied != 0 || !self.returned.is_empty();
        self.away > 0 && !may_step && !(self.takes_more() && self.has_free_lane())
    }

    /// Returns true if the bundle is to be asked for further walks.
    #[inline(always)]
    pub fn takes_more(&self) -> bool {
        !self.exhausted && !self.draining && self.failure.is_none()
    }

    /// Walks that return need a lane as well.
    pub fn has_free_lane(&self) -> bool {
        self.occupied.count_ones() as usize + self.away + self.returned.len() < WIDTH
    }

    /// Returns the number of lanes up to the last one that is not vacant.
    #[inline(always)]
    pub fn end_of_occupied(&self) -> usize {
        (u32::BITS - self.occupied.leading_zeros()) as usize
    }

    /// Makes some steps with all lanes. Returns how many.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn turn(&mut self, cx: &mut Worker) -> usize {
        if B::Walk::ENDS_AT_ONCE {
            return self.turn_of_short_walks(cx);
        }
        let mut steps = 0;
        while steps < self.turn_steps {
            if self.occupied != ALL_LANES {
                self.take_up(cx);
                if self.occupied == 0 {
                    break;
                }
            }
            let end = self.end_of_occupied();
            // Neighbouring groups are in opposite phases.
            let (mut first, mut phase) = (0, self.round);
            while first < end {
                if B::Walk::LOCATES && phase.is_multiple_of(2) {
                    self.locate(first, cx.free_word);
                } else {
                    self.step_group(first, cx);
                }
                (first, phase) = (first + GROUP, phase + 1);
            }
            self.round += 1;
            steps += end;
        }
        steps
    }

    /// Takes up walks that have returned.
    pub fn take_back_returned(&mut self, cx: &mut Worker) {
        while let Some(returned) = self.returned.pop() {
            self.take_back(returned, cx);
        }
    }

    /// Takes up walks that have returned, and begins those of one more group: not of all at once,
    /// so that the groups are on different levels of a tree and their fetches are spread over time.
    #[cold]
    #[inline(never)]
    fn take_up(&mut self, cx: &mut Worker) {
        self.take_back_returned(cx);
        if !self.takes_more() || !self.has_free_lane() {
            return;
        }
        let group = self.occupied.trailing_ones() as usize / GROUP;
        let is_to_step = (self.round + group) % 2 == 1;
        if B::Walk::LOCATES && is_to_step && group > 0 {
            return;
        }
        let first = group * GROUP;
        let mut cached = 0;
        for index in first..first + GROUP {
            if self.occupied & 1 << index == 0 && self.has_free_lane() {
                match self.begin(index, cx) {
                    Some(is_cached) => cached += usize::from(is_cached),
                    None => break,
                }
            }
        }
        self.pass_cached(first, cached, cx);
        self.prefetch(first);
    }

    /// Locates what the lanes of a group will read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn locate(&mut self, first: usize, free_word: FreeWord) {
        for index in first..first + GROUP {
            self.current = index;
            let lane = self.lane(index);
            if !lane.reads() && !lane.writes_optimistic() {
                continue;
            }
            let at = lane.at;
            // SAFETY: the epoch of the task keeps the node alive.
            let (header, node) = unsafe { (at.header(), node_of::<B>(at)) };
            // A node without a version could not say whether a panic counts.
            if let Some(stamp) = header.begin_read(free_word) {
                lane.stamp = stamp;
                // SAFETY: the lane is not vacant.
                let part = unsafe { lane.walk() }.locate(Link::from_reference(at), node);
                at.prefetch(part);
            }
        }
    }

    /// One step of each lane of a group.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn step_group(&mut self, first: usize, cx: &mut Worker) {
        let mut cached = 0;
        for index in first..first + GROUP {
            cached += usize::from(self.step(index, cx));
        }
        self.pass_cached(first, cached, cx);
        self.prefetch(first);
    }

    /// Prefetches the nodes that the lanes of a group have been directed to. One prefetch follows
    /// the other, so that the processor overlaps the walks of the page table that precede them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn prefetch(&mut self, first: usize) {
        for index in first..first + GROUP {
            self.lane(index).prefetch();
        }
    }

    /// Takes a group through nodes that are expected in the cache: all lanes together, so that the
    /// processor overlaps their accesses. `cached` is the number of lanes that come to one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn pass_cached(&mut self, first: usize, mut cached: usize, cx: &mut Worker) {
        let mut passed = 0;
        while cached == GROUP && passed < CACHED_NODES {
            cached = 0;
            for index in first..first + GROUP {
                cached += usize::from(self.step_cached(index, cx));
            }
            passed += 1;
        }
        if cached > 0 && cached < GROUP {
            self.pass_cached_singly(first, cx);
        }
    }

    /// Takes those lanes of a group through cached nodes that come to one. Mostly it is all or none
    /// of them.
    #[cold]
    #[inline(never)]
    fn pass_cached_singly(&mut self, first: usize, cx: &mut Worker) {
        let (mut any, mut passed) = (true, 0);
        while any && passed < CACHED_NODES {
            any = false;
            for index in first..first + GROUP {
                let lane = self.lane(index);
                if lane.reads() && lane.at.is_frequent() {
                    any |= self.step_cached(index, cx);
                }
            }
            passed += 1;
        }
    }

    #[inline(always)]
    pub fn lane(&mut self, index: usize) -> &mut Lane<B::Walk> {
        debug_assert!(index < WIDTH);
        // SAFETY: indices are of loops over lanes, here and in `short_walks`, which end at `WIDTH`
        // or before, or of vacant lanes, of which there is one if `has_free_lane` or a walk
        // returns.
        unsafe { self.lanes.get_unchecked_mut(index) }
    }

    /// Counts a vacant lane as such.
    #[cold]
    #[inline(never)]
    pub fn remove(&mut self, index: usize) {
        self.occupied &= !(1 << index);
    }

    /// Puts a walk into the first vacant lane, of which there must be one. Returns the index of the
    /// lane, which has yet to follow a hop.
    pub fn put_anywhere(&mut self, walk: B::Walk) -> usize {
        let index = self.occupied.trailing_ones() as usize;
        assert!(index < WIDTH, "a walk that returns has no lane");
        self.put(index, walk);
        self.lane(index).set_mode(Mode::Enter);
        index
    }

    /// Puts a walk into a vacant lane, which has yet to follow a hop.
    #[inline(always)]
    fn put(&mut self, index: usize, walk: B::Walk) {
        self.occupied |= 1 << index;
        self.lane(index).put(walk);
    }

    /// Drops all walks in lanes and those that have returned. Their destructors are code of the
    /// application.
    #[cold]
    pub fn drop_walks(&mut self) {
        self.occupied = 0;
        for index in 0..WIDTH {
            if self.lane(index).mode() != Mode::Vacant {
                // SAFETY: just asked.
                let walk = unsafe { self.lane(index).vacate() };
                drop_quietly(walk);
            }
        }
        while let Some(returned) = self.returned.pop() {
            drop_quietly(returned);
        }
    }

    /// Takes the next walk of the bundle into a vacant lane. Returns whether its node is expected
    /// in the cache; `None` if there is no walk.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn begin(&mut self, index: usize, cx: &mut Worker) -> Option<bool> {
        self.current = index;
        let next = self.bundle.next(Context::of(cx));
        let Some((start, walk)) = next else {
            (self.exhausted, self.refills) = (true, false);
            return None;
        };
        self.put(index, walk);
        Some(self.go_to(index, start.link.reference(), start.part, start.writes))
    }

    /// Directs a lane to a node. Returns true if the node is expected in the cache, and read. The
    /// node has yet to be prefetched, unless walks are short.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn go_to(&mut self, index: usize, at: Reference, part: Part, writes: bool) -> bool {
        let lane = self.lane(index);
        let is_cached = lane.go_to(at, part, writes);
        if B::Walk::LOCATES {
            lane.stamp = Stamp::NONE;
        }
        if B::Walk::ENDS_AT_ONCE {
            lane.prefetch();
        }
        is_cached
    }
}

/// Returns the node behind a reference.
///
/// # Safety
///
/// The node is alive for `'a`, and of this type.
#[inline(always)]
pub(super) unsafe fn node_of<'a, B: Bundle>(at: Reference) -> &'a <B::Walk as Walk>::Target {
    // SAFETY: this function's contract.
    unsafe { &value_of::<Versioned<<B::Walk as Walk>::Target>>(at).0 }
}
