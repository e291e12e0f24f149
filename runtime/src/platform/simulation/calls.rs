//! Calls in virtual time: what a task runs in place, inside objects with latches.
//!
//! A step of a virtual core runs as a whole, and so do the calls of its task. So no call finds a
//! latch held, except inside of a join. When it would have been is computed here, as for the lock
//! of a shared queue: each object keeps the spans of the calls that are not past for every core.
//!
//! At a join other cores run steps in the midst of the joining task, which still has its latches. A
//! call of such a step that finds one of these held comes back. Its time is spent nevertheless, and
//! its span is kept, as it is recorded before the latch is tried.

use super::Simulation;
use super::lock::VirtualLock;
use crate::sync::SpinMutex;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The latches of the objects that calls have entered.
pub(super) struct VirtualCalls {
    /// Nanoseconds of a unit of cost.
    unit: u64,
    /// Nanoseconds in which the cache line of a latch comes from another core.
    transfer: u64,
    /// By the address of the object.
    latches: BTreeMap<usize, VirtualLatch>,
}

/// The recent calls at one object.
#[derive(Default)]
struct VirtualLatch {
    calls: Vec<CallSpan>,
    /// The last core before those.
    owner: Option<usize>,
    /// When the cache line is on its way.
    line: VirtualLock,
}

/// A call inside an object.
#[derive(Clone, Copy)]
struct CallSpan {
    core: usize,
    start: u64,
    end: u64,
    write: bool,
}

/// When a call begins, and where.
#[derive(Clone, Copy)]
struct CallStart {
    core: usize,
    now: u64,
    /// No call begins before this.
    past: u64,
}

impl VirtualLatch {
    /// Forgets the calls that no other call can meet.
    fn forget(&mut self, past: u64) {
        let is_past = |call: &&CallSpan| call.end <= past;
        let last = self.calls.iter().filter(is_past).max_by_key(|call| call.start);
        self.owner = last.map(|call| call.core).or(self.owner);
        self.calls.retain(|call| call.end > past);
    }

    /// Gets the cache line to a core. Returns when it is there.
    fn fetch(&mut self, call: CallStart, transfer: u64) -> u64 {
        let before = self.calls.iter().filter(|other| other.start <= call.now);
        let owner = before.max_by_key(|other| other.start).map(|other| other.core).or(self.owner);
        match owner {
            Some(owner) if owner != call.core => self.line.hold(call.now, transfer, call.past),
            _ => call.now,
        }
    }

    /// Returns the first moment from `start` on at which the object is free for that long.
    fn free_from(&self, mut start: u64, span: u64, write: bool) -> u64 {
        loop {
            let end = start.saturating_add(span);
            let excludes = |call: &&CallSpan| (call.write || write) && call.start < end && call.end > start;
            match self.calls.iter().filter(excludes).map(|call| call.end).max() {
                Some(later) => start = later,
                None => return start,
            }
        }
    }
}

impl VirtualCalls {
    /// Runs a call of some cost inside objects, each of which is written or read. Returns when it
    /// ends.
    fn run(&mut self, objects: &[(usize, bool)], cost: u64, call: CallStart) -> u64 {
        let span = self.unit.saturating_mul(cost).max(1);
        let mut start = call.now;
        for &(object, _) in objects {
            let latch = self.latches.entry(object).or_default();
            latch.forget(call.past);
            start = latch.fetch(CallStart { now: start, ..call }, self.transfer);
        }
        loop {
            let free = objects.iter().fold(start, |start, &(object, write)| {
                let latch = self.latches.get(&object);
                latch.map_or(start, |latch| latch.free_from(start, span, write))
            });
            if free == start {
                break;
            }
            start = free;
        }
        let end = start.saturating_add(span);
        for &(object, write) in objects {
            let latch = self.latches.entry(object).or_default();
            latch.calls.push(CallSpan { core: call.core, start, end, write });
        }
        end
    }
}

impl Simulation {
    /// Lets tasks call at objects in place ([`try_call`](crate::TaskBuilder::try_call)) in virtual
    /// time. Without this, or without [costs](Self::with_costs), a call always comes back, so that
    /// a program is a chain of tasks.
    ///
    /// A call takes [`Costs::unit`](super::Costs::unit) times the cost that it is annotated with.
    /// At an object with a latch it waits, in virtual time, for those that exclude it, and its core
    /// is busy meanwhile. If another core has used the object since the calling one, the cache line
    /// of the latch takes `transfer` nanoseconds to come, and one core at a time gets it.
    ///
    /// Calls of a step that runs later in the simulation, but begins earlier in virtual time, are
    /// not known yet. So short tasks make the times more exact.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking::platform::{Costs, Simulation};
    /// use xtasking::primitive::SpinLatch;
    ///
    /// let costs = Costs { task: 0, unit: 100, local_push: 0, ..Costs::default() };
    /// let (simulation, clocks) = Simulation::with_costs(4, 1, 1, costs);
    /// let rt = Runtime::builder().platform(simulation.calls_in_place(50)).build()?;
    /// let counter = rt.plain(0).pin(SpinLatch).build();
    /// for core in 0..4 {
    ///     let counter = counter.clone();
    ///     rt.task(()).core(core).spawn(move |(), cx| {
    ///         assert!(cx.task(counter.write()).cost(3).try_call(|counter| *counter += 1).is_ok());
    ///     });
    /// }
    /// drop(rt);
    /// // One after the other, at once; each task also takes a unit for itself.
    /// assert_eq!(clocks.makespan(), 4 * 300 + 100);
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    #[must_use]
    pub fn calls_in_place(mut self, transfer: u64) -> Self {
        self.calls = self.timeline.as_ref().map(|timeline| {
            let unit = timeline.lock().costs.unit;
            SpinMutex::new(VirtualCalls { unit, transfer, latches: BTreeMap::new() })
        });
        self
    }

    /// Runs a call of the running core in virtual time. Returns false if it has to be a task.
    pub(super) fn call(&self, objects: &[(usize, bool)], cost: u64) -> bool {
        let (Some(timeline), Some(calls)) = (&self.timeline, &self.calls) else { return false };
        let mut timeline = timeline.lock();
        let Some(&core) = timeline.running.last() else { return false };
        let call = CallStart { core, now: timeline.now(), past: timeline.min_clock() };
        let end = calls.lock().run(objects, cost, call);
        timeline.spend(end.saturating_sub(call.now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(transfer: u64) -> VirtualCalls {
        VirtualCalls { unit: 10, transfer, latches: BTreeMap::new() }
    }

    fn at(core: usize, now: u64) -> CallStart {
        CallStart { core, now, past: 0 }
    }

    #[test]
    fn calls_exclude_each_other_as_latches_do() {
        let mut calls = calls(0);
        assert_eq!(calls.run(&[(1, false)], 2, at(0, 100)), 120);
        assert_eq!(calls.run(&[(1, false)], 3, at(1, 100)), 130, "readers are inside together");
        assert_eq!(calls.run(&[(1, true)], 1, at(2, 110)), 140, "a writer waits for both");
        assert_eq!(calls.run(&[(1, false)], 1, at(3, 125)), 150, "a reader waits for the writer");
        assert_eq!(calls.run(&[(1, true)], 1, at(4, 80)), 90, "a late call uses a free gap");
        assert_eq!(calls.run(&[(2, true)], 1, at(5, 125)), 135, "another object is free");
        assert_eq!(calls.run(&[(1, false), (2, true)], 1, at(6, 120)), 150, "all are entered together");
    }

    #[test]
    fn the_line_of_a_latch_comes_from_the_last_core() {
        let mut calls = calls(7);
        assert_eq!(calls.run(&[(1, false)], 1, at(0, 0)), 10);
        assert_eq!(calls.run(&[(1, false)], 1, at(0, 20)), 30, "it is still there");
        assert_eq!(calls.run(&[(1, false)], 1, at(1, 25)), 42, "it comes from another core");
        assert_eq!(calls.run(&[(1, false)], 1, at(2, 25)), 49, "and then goes on to the next");
        assert_eq!(calls.run(&[(1, false)], 1, CallStart { core: 2, now: 500, past: 400 }), 510);
        assert_eq!(calls.latches[&1].calls.len(), 1, "the past is forgotten, but for the last core");
        assert_eq!(calls.run(&[(1, true)], 1, CallStart { core: 0, now: 900, past: 900 }), 917);
    }
}
