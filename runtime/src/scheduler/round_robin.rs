//! How a worker deals unbound tasks out to other workers in turn: see
//! [`QueuePolicy::XQueue`](crate::QueuePolicy::XQueue).

use super::RuntimeState;
use super::unbound::UNBOUND_BATCH;
use crate::object::prefetch;
use crate::pool::{Entry, Exit, Topology};
use crate::sync::{Relaxed, SeqCst, fence, under_model};
use crate::task::Task;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// Tasks in a worker's own queue when it counts as full, as a ring does.
const OWN_QUEUE_CAPACITY: usize = under_model(4096, 2) as usize;
/// Tasks that run inline, when all queues are full, while each queue is probed once. A probe takes
/// a cache line from the worker at the other end. Fewer than a ring holds, so that no ring runs
/// empty meanwhile.
const PROBE_INTERVAL: usize = under_model(32, 2) as usize;
/// Tasks sent to other workers between two checks whether these sleep.
const SLEEPER_CHECK_INTERVAL: u32 = 64;

/// A worker's ends of the rings between workers, and its own queue.
pub(super) struct RoundRobin {
    /// Rings to other workers.
    entries: Vec<Entry>,
    /// Rings from other workers.
    exits: Vec<Exit>,
    /// The tasks that this worker runs, in order.
    pub own: VecDeque<NonNull<Task>>,
    /// Whose turn it is: an index in `entries`, or `entries.len()` for `own`.
    turn: usize,
    /// Turns left in this round, in which each queue has one.
    left: usize,
    /// Queues of this round that were full at their turn.
    full: usize,
    /// Every queue was full in a whole round, and at every turn since.
    is_full: bool,
    /// The exit to begin with.
    first: usize,
    /// Tasks sent to other workers since the last check whether these sleep.
    sent: u32,
}

/// Where the round-robin put a task.
pub(super) enum Dealt {
    /// In the ring to that worker.
    To {
        /// The worker at the other end.
        target: usize,
        /// It is time to check whether other workers sleep.
        is_check_due: bool,
    },
    /// In the worker's own queue.
    Own,
    /// Nowhere: the queue was full.
    Nowhere,
}

impl RoundRobin {
    pub fn new(shared: &RuntimeState, links: Topology, worker: usize) -> Self {
        let workers = shared.slots.len();
        let entries = links.from(worker, workers).into_iter().map(|target| {
            let position = links.to(target, workers).iter().position(|&source| source == worker);
            let ring = position.map(|position| shared.slots[target].incoming[position].clone());
            Entry::new(ring.expect("a link has a ring at its target"), target)
        });
        let exits = shared.slots[worker].incoming.iter().map(|ring| Exit::new(ring.clone()));
        let (entries, exits): (Vec<_>, _) = (entries.collect(), exits.collect());
        let left = entries.len() + 1;
        Self {
            entries,
            exits,
            own: VecDeque::new(),
            turn: 0,
            left,
            full: 0,
            is_full: false,
            first: 0,
            sent: 0,
        }
    }

    /// Puts a task into the queue whose turn it is, and ends the turn.
    #[inline]
    pub fn deal(&mut self, task: NonNull<Task>) -> Dealt {
        let turn = self.turn;
        self.end_turn();
        if let Some(entry) = self.entries.get_mut(turn) {
            if entry.push(task) {
                self.sent += 1;
                let is_check_due = self.sent >= SLEEPER_CHECK_INTERVAL;
                return Dealt::To { target: entry.target, is_check_due };
            }
        } else if self.own.len() < OWN_QUEUE_CAPACITY {
            self.own.push_back(task);
            return Dealt::Own;
        }
        Dealt::Nowhere
    }

    fn end_turn(&mut self) {
        let all = self.entries.len() + 1;
        let after = |turn: usize| if turn + 1 < all { turn + 1 } else { 0 };
        self.turn = after(self.turn);
        self.left -= 1;
        if self.left == 0 {
            // Each round begins one queue later. Otherwise, if tasks come in pairs, say, the same
            // half of each pair would always go to the same worker.
            (self.turn, self.left) = (after(self.turn), all);
            self.is_full |= self.full == all;
            self.full = 0;
        }
    }

    /// Returns true if the queue whose turn it is takes one more task. If not, its turn is over.
    pub fn has_room(&mut self) -> bool {
        let has_room = match self.entries.get_mut(self.turn) {
            Some(entry) => entry.has_room(),
            None => self.own.len() < OWN_QUEUE_CAPACITY,
        };
        if has_room {
            self.is_full = false;
        } else {
            self.full += 1;
            self.end_turn();
        }
        has_room
    }

    /// Returns the number of tasks to run inline before the next probe.
    pub fn inline_budget(&self) -> u8 {
        if self.is_full { (PROBE_INTERVAL / (self.entries.len() + 1)) as u8 } else { 0 }
    }

    /// Moves tasks from the rings of other workers to `own`: from all rings, or from those with a
    /// hint. Takes only a few from each, so that the workers take turns. Returns how many it took.
    pub fn collect(&mut self, from_all: bool) -> usize {
        let before = self.own.len();
        let exits = self.exits.len();
        for index in 0..exits {
            let exit = &mut self.exits[(self.first + index) % exits];
            if from_all || exit.has_hint() {
                for _ in 0..UNBOUND_BATCH {
                    let Some(task) = exit.pop() else { break };
                    prefetch(task.as_ptr() as u64);
                    self.own.push_back(task);
                }
            }
        }
        self.first = self.first.wrapping_add(1);
        self.own.len() - before
    }

    /// Wakes the workers that fell asleep while this one sent them tasks.
    ///
    /// After each burst, and within a long one after every `SLEEPER_CHECK_INTERVAL` tasks: a fence
    /// for each task would cost more than the rest.
    pub fn check_sleepers(&mut self, shared: &RuntimeState) {
        if self.sent == 0 {
            return;
        }
        self.sent = 0;
        if planted!("lane-leads-to-sleeper") {
            return;
        }
        // Pairs with the fence in `Worker::fall_asleep`: either this worker sees that the other one
        // sleeps, or the other one sees the task before it does.
        fence(SeqCst);
        if shared.awake.0.load(Relaxed) < shared.slots.len() {
            for entry in &self.entries {
                if shared.slots[entry.target].asleep.0.load(Relaxed) {
                    shared.wake(entry.target);
                }
            }
        }
    }
}
