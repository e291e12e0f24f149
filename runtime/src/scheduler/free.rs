//! Tasks that are bound to nothing, in pools where these may go elsewhere: see [`Pool`](crate::Pool).

use super::{Context, Shared};
use crate::annotation::Priority;
use crate::object::{Fetch, prefetch};
use crate::pool::{Deque, Entry, Exit, Links, Pool};
use crate::sync::{Relaxed, SeqCst, fence, under_model};
use crate::task::{Meta, Task, catch};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// The bit of `Context::ready` for these tasks.
pub(super) const FREE: u8 = 1 << Priority::COUNT;
/// The bits of the rings.
pub(super) const RINGS: u8 = FREE - 1;
const HIGH: u8 = 1 << Priority::High as u8;
const NORMAL: u8 = 1 << Priority::Normal as u8;
/// Every that many bursts it is the other way round who goes first: the rings or these tasks. (Neither divides the number
/// that ages the rings, nor is divided by it.)
const AGEING: u64 = 11;
/// So many of these tasks run before it is looked what else there is.
const GROUP: usize = 8;
/// So many tasks run within each other's spawns at most.
const DEEPEST: u8 = 64;
/// So many tasks a worker's own queue holds before it counts as full, like a ring.
const OWN: usize = under_model(4096, 2) as usize;
/// When all are full, so many tasks run within their spawns while each is looked at once: a look takes a line from the
/// worker at the other end. (Fewer than a lane holds, so that none runs empty meanwhile.)
const BETWEEN_LOOKS: usize = under_model(32, 2) as usize;
/// After so many tasks for other workers it is looked whether these sleep.
const SENT_UNSEEN: u32 = 64;

/// A worker's tasks that are bound to nothing.
pub(super) enum Free {
    /// They lie among the others.
    Among,
    /// See [`Pool::WorkStealing`].
    Stealing(Deque),
    /// See [`Pool::XQueue`].
    Dealt(Box<Dealer>),
    /// They lie in a queue that all share. See [`Pool::Ranked`].
    Ranked {
        /// Where to look first.
        random: u64,
    },
}

/// Deals out tasks.
pub(super) struct Dealer {
    entries: Vec<Entry>,
    exits: Vec<Exit>,
    /// The worker's own, in order.
    own: VecDeque<NonNull<Task>>,
    /// Whose turn it is: the number of an entry, or as many as there are for the worker itself.
    turn: usize,
    /// Turns until this round is over, in which each has one.
    left: usize,
    /// How many of this round were full at their turn.
    full: usize,
    /// All were full for a whole round, and whoever had a turn since then.
    is_full: bool,
    /// The exit to begin with.
    first: usize,
    /// Tasks that went to others since it was last seen that these do not sleep.
    sent: u32,
}

impl Free {
    pub fn of(shared: &Shared, worker: usize) -> Self {
        match shared.pool {
            Pool::Local => Self::Among,
            Pool::WorkStealing => Self::Stealing(Deque::new()),
            Pool::XQueue(links) => Self::Dealt(Box::new(Dealer::new(shared, links, worker))),
            Pool::Ranked(_) => Self::Ranked { random: (worker as u64) << 32 },
        }
    }
}

impl Dealer {
    fn new(shared: &Shared, links: Links, worker: usize) -> Self {
        let workers = shared.seats.len();
        let entries = links.from(worker, workers).into_iter().map(|target| {
            let lane = links.to(target, workers).iter().position(|&source| source == worker);
            let lane = lane.map(|lane| shared.seats[target].lanes[lane].clone());
            Entry::new(lane.expect("links have two ends"), target)
        });
        let exits = shared.seats[worker].lanes.iter().map(|lane| Exit::new(lane.clone()));
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

    fn end_turn(&mut self) {
        let all = self.entries.len() + 1;
        let after = |turn: usize| if turn + 1 < all { turn + 1 } else { 0 };
        self.turn = after(self.turn);
        self.left -= 1;
        if self.left == 0 {
            // Each round begins one later: where tasks come in pairs, say, one of each pair would else always go to the same.
            (self.turn, self.left) = (after(self.turn), all);
            self.is_full |= self.full == all;
            self.full = 0;
        }
    }

    /// Whether there is room for one more task at whose turn it is. If there is none, that turn is over.
    fn has_room(&mut self) -> bool {
        let has_room = match self.entries.get_mut(self.turn) {
            Some(entry) => entry.has_room(),
            None => self.own.len() < OWN,
        };
        if has_room {
            self.is_full = false;
        } else {
            self.full += 1;
            self.end_turn();
        }
        has_room
    }

    /// How many tasks can do without another look.
    fn crowded(&self) -> u8 {
        if self.is_full { (BETWEEN_LOOKS / (self.entries.len() + 1)) as u8 } else { 0 }
    }

    /// Moves what others have sent to the worker's own: of those that say that there is something, or of all. A few of
    /// each, so that they come in turn.
    fn collect(&mut self, all: bool) -> usize {
        let before = self.own.len();
        let exits = self.exits.len();
        for index in 0..exits {
            let exit = &mut self.exits[(self.first + index) % exits];
            if all || exit.has_hint() {
                for _ in 0..GROUP {
                    let Some(task) = exit.pop() else { break };
                    prefetch(task.as_ptr() as u64);
                    self.own.push_back(task);
                }
            }
        }
        self.first = self.first.wrapping_add(1);
        self.own.len() - before
    }
}

impl Context {
    /// Said by a task that may be in a join: nothing runs within it.
    pub(crate) const IN_JOIN: u8 = 1 << 7;

    /// Puts a task that is bound to nothing where it belongs.
    #[inline(never)]
    pub(super) fn push_free(&mut self, task: NonNull<Task>, meta: Meta) {
        if let Free::Ranked { .. } = self.free
            && meta.goes_by_rank()
        {
            return self.push_ranked(task, meta);
        }
        if meta.level() != Priority::Normal as usize {
            return self.push_here(task, meta.bound(), Fetch::NONE);
        }
        self.observe_put(task);
        match &mut self.free {
            // Elsewhere there are none.
            Free::Among | Free::Ranked { .. } => {
                unreachable!("a task is bound to nothing, in a pool where that does not matter")
            }
            Free::Stealing(deque) => {
                deque.push(task);
                self.observe_queued(1);
                self.ready |= FREE;
                self.share();
            }
            Free::Dealt(_) => self.deal(task),
        }
    }

    /// Puts a task that may go elsewhere where this worker takes the next one from, and others do not; or where it belongs, if
    /// there is no such place, or there were too many of them lately.
    pub(super) fn keep_free(&mut self, task: NonNull<Task>, meta: Meta) {
        if meta.level() == Priority::Normal as usize
            && let Free::Stealing(deque) = &mut self.free
            && deque.keep(task)
        {
            self.observe_put(task);
            self.observe_queued(1);
            self.ready |= FREE;
        } else {
            self.push_free(task, meta);
        }
    }

    /// Lets others have some of its tasks, if it has two or somebody waits for any, and there are none that they could
    /// have already.
    #[inline]
    pub(super) fn share(&mut self) {
        let Free::Stealing(deque) = &mut self.free else { return };
        let hatch = &self.shared.seats[self.index].parcel;
        let has_enough =
            deque.len() > 1 || deque.len() == 1 && (deque.keeps() || self.shared.is_anybody_hungry());
        if has_enough && self.shared.seats.len() > 1 && hatch.is_empty() {
            deque.share(hatch);
            // With the one in `Context::fall_asleep`: either this worker sees that another one sleeps, or that one sees
            // the parcel before it does.
            fence(SeqCst);
            self.shared.wake_for_work(self.index);
        }
    }

    /// Gives a task to whoever's turn it is.
    fn deal(&mut self, task: NonNull<Task>) {
        let Free::Dealt(dealer) = &mut self.free else { return };
        let turn = dealer.turn;
        dealer.end_turn();
        let has_room = match dealer.entries.get_mut(turn) {
            Some(entry) => {
                let has_room = entry.push(task);
                if has_room {
                    let target = entry.target;
                    dealer.sent += 1;
                    let unseen = dealer.sent >= SENT_UNSEEN;
                    self.counters.0.remote_spawns.add(1);
                    if self.shared.seats[target].asleep.0.load(Relaxed) {
                        self.shared.wake(target);
                    }
                    if unseen {
                        self.see_who_sleeps();
                    }
                }
                has_room
            }
            None if dealer.own.len() < OWN => {
                dealer.own.push_back(task);
                self.ready |= FREE;
                self.observe_queued(1);
                true
            }
            None => false,
        };
        if !has_room {
            self.run_within(task);
        }
    }

    /// Wakes those who fell asleep while tasks were on their way to them. Between two tasks, and now and then in a long
    /// one: a fence for each task would cost more than the rest.
    pub(super) fn see_who_sleeps(&mut self) {
        let Free::Dealt(dealer) = &mut self.free else { return };
        if dealer.sent == 0 {
            return;
        }
        dealer.sent = 0;
        if planted!("lane-leads-to-sleeper") {
            return;
        }
        // With the one in `Context::fall_asleep`: either this worker sees that the other one sleeps, or that one sees the
        // task before it does.
        fence(SeqCst);
        if self.shared.awake.load(Relaxed) < self.shared.seats.len() {
            for entry in &dealer.entries {
                if self.shared.seats[entry.target].asleep.0.load(Relaxed) {
                    self.shared.wake(entry.target);
                }
            }
        }
    }

    /// Runs a task within another one's spawn; or keeps it for later where that must not be.
    fn run_within(&mut self, task: NonNull<Task>) {
        self.observe_queued(1);
        if self.nested >= DEEPEST {
            if let Free::Dealt(dealer) = &mut self.free {
                dealer.own.push_back(task);
                self.ready |= FREE;
            }
            return;
        }
        let outer = self.observe_outer();
        // SAFETY: the task was given up to this pool, and has not been put anywhere.
        self.within(|cx| unsafe { cx.run_free(task) });
        self.observe_return(outer);
    }

    /// Runs a task that was left somewhere, within the message that has found it.
    ///
    /// # Safety
    ///
    /// The task was given up to the caller, was noted, and has not been put into any pool.
    pub(crate) unsafe fn run_left(&mut self, task: NonNull<Task>) {
        // A message may run many of them.
        self.look_at_phase();
        self.observe_queued(1);
        // SAFETY: by the caller's promise.
        self.within(|cx| unsafe { cx.run_free(task) });
    }

    /// Whether a task of which nothing is said would be dealt out and has no room where it would go, so that it is to run
    /// within its spawn. Where runs are watched a task must be one that can be named.
    #[inline(always)]
    pub(super) fn has_no_room(&mut self) -> bool {
        if self.current.level() != Priority::Normal as usize || self.nested >= DEEPEST || self.unusual != 0 {
            return false;
        }
        if self.crowded == 0 {
            return self.finds_no_room();
        }
        self.crowded -= 1;
        true
    }

    #[inline(never)]
    fn finds_no_room(&mut self) -> bool {
        let Free::Dealt(dealer) = &mut self.free else { return false };
        let has_room = dealer.has_room();
        self.crowded = dealer.crowded();
        !has_room
    }

    /// Runs a task within another one's spawn.
    #[inline(always)]
    pub(crate) fn within(&mut self, run: impl FnOnce(&mut Self)) {
        let (meta, nested) = (self.current, self.nested);
        let group = self.groups.set_current(None);
        self.nested += 1;
        let outcome = catch(|| run(self));
        self.settle(outcome);
        self.groups.set_current(group);
        (self.current, self.nested) = (meta, nested);
    }

    /// Runs a task that is bound to nothing. Only now is it clear whose load it is.
    ///
    /// # Safety
    ///
    /// The task belongs to this worker.
    unsafe fn run_free(&mut self, task: NonNull<Task>) {
        // SAFETY: by the caller's promise.
        unsafe {
            self.extra_load += task.as_ref().meta.cost();
            self.run_task(task);
        }
    }

    /// Looks what others have sent.
    pub(super) fn collect(&mut self, all: bool) {
        if let Free::Dealt(dealer) = &mut self.free {
            let collected = dealer.collect(all);
            if !dealer.own.is_empty() {
                self.ready |= FREE;
            }
            if self.observing.is_some() {
                self.observe_queued(collected);
            }
        } else if !(all && planted!("ranked-without-second-look")) && self.sees_ranked() {
            self.ready |= FREE;
        }
    }

    /// Whether these tasks go before those in the rings.
    #[inline]
    pub(super) fn is_turn_of_free(&self) -> bool {
        let rings = self.ready & RINGS;
        if rings == 0 {
            return true;
        }
        let first = rings & HIGH == 0 && (rings & NORMAL == 0 || self.bursts.is_multiple_of(2));
        first != self.bursts.is_multiple_of(AGEING)
    }

    /// Runs some of these tasks. (Within the worker's loop it would take registers from the tasks of the rings.)
    #[inline(never)]
    pub(super) fn free_burst(&mut self, most: usize, ran: &mut usize) {
        self.bursts += 1;
        let ages = self.bursts.is_multiple_of(AGEING);
        if ages && self.has_garbage() {
            self.reclaim();
        }
        let others = self.ready & RINGS;
        let group = if others & HIGH != 0 { 1 } else { GROUP };
        for _ in 0..group.min(most - *ran) {
            let task = match &mut self.free {
                Free::Among => None,
                // The oldest now and then: it may wait for long below a chain of others.
                Free::Stealing(deque) => {
                    let seat = &self.shared.seats[self.index];
                    if ages {
                        deque.take_from(&seat.parcel);
                        deque.pop_oldest()
                    } else {
                        deque.pop().or_else(|| {
                            deque.take_from(&seat.parcel);
                            deque.pop()
                        })
                    }
                }
                Free::Dealt(dealer) => dealer.own.pop_front(),
                Free::Ranked { .. } => self.pop_ranked(),
            };
            let Some(task) = task else {
                self.ready &= !FREE;
                return;
            };
            *ran += 1;
            // SAFETY: a task of this pool's own belongs to this worker.
            unsafe { self.run_free(task) };
            if self.ready & RINGS & !others & (HIGH | NORMAL) != 0 {
                return;
            }
        }
        self.share();
    }

    /// Takes tasks over that somebody has too many of. Whether there were any.
    pub(crate) fn steal(&mut self) -> bool {
        if !matches!(self.free, Free::Stealing(_)) {
            return false;
        }
        let shared = self.shared.clone();
        let (before, from) = shared.seats.split_at(self.index);
        let Free::Stealing(deque) = &mut self.free else { return false };
        let others = (self.index + 1..).zip(&from[1..]).chain((0..).zip(before));
        let taken =
            others.map(|(from, seat)| (from, deque.take_from(&seat.parcel))).find(|taken| taken.1 > 0);
        if let Some((from, tasks)) = taken {
            self.observe_stolen(tasks, from);
            self.ready |= FREE;
            self.begin_work();
            self.counters().steals.add(1);
            // Where there was work there may be more.
            self.idle_looks = self.patience;
            self.share();
        }
        taken.is_some()
    }

    /// Whether somebody has tasks to be taken.
    pub(super) fn sees_parcel(&self) -> bool {
        let is_other = |seat: &usize| *seat != self.index;
        let has_parcel = |seat: usize| !self.shared.seats[seat].parcel.is_empty();
        matches!(self.free, Free::Stealing(_))
            && (0..self.shared.seats.len()).filter(is_other).any(has_parcel)
    }
}
