//! When can nothing reach a retired object any more?
//!
//! Every task belongs to the epoch in which its operation began; follow-ups inherit it. An object that was retired
//! in epoch `r` (after it had been unlinked) can only be reached by tasks of epochs up to `r`, so it is freed when all
//! these epochs are *settled*: nobody can begin in them any more, and all their tasks have run, waiting ones included.
//!
//! - Each worker *announces* the epoch in which its operations begin, between tasks. The global epoch moves from `g` to
//!   `g + 1` only when every worker that is awake has announced `g`; so once it is `e + 2`, nobody begins in `e`.
//!   A sleeping worker is [`OFFLINE`] and holds nothing up.
//! - Each worker counts, per epoch, the tasks it started and the tasks it finished: counters that it alone writes. An
//!   epoch is empty when both sums agree, all finishes having been read before all starts: the starts read later can
//!   only be more, so equality means that at the moment between no task was left; and only a task of that epoch could
//!   start another one.
//! - Threads outside the runtime count in a ledger that they share, and check the global epoch again afterwards.
//!
//! Counters are kept for [`SLOTS`] epochs; an epoch's slot is used again only after it has settled.

use crate::sync::{Acquire, AtomicU64, Padded, Relaxed, Release, SeqCst, fence};

/// How many epochs can be unsettled at a time.
const SLOTS: usize = 8;
/// In an epoch that is so much older than the global one nobody begins any more.
const BEGUN_NO_MORE: u64 = 2;
/// Announced by a worker that sleeps.
pub(crate) const OFFLINE: u64 = u64::MAX;

/// The slot of an epoch.
pub(crate) const fn slot(epoch: u64) -> u8 {
    (epoch % SLOTS as u64) as u8
}

/// Tasks started and finished, by slot. Only its owner writes it (or everybody, by atomic additions).
#[derive(Default)]
pub(crate) struct Ledger {
    started: [AtomicU64; SLOTS],
    finished: [AtomicU64; SLOTS],
    announced: AtomicU64,
}

impl Ledger {
    /// The owner starts a task.
    #[inline(always)]
    pub fn start(&self, slot: u8) {
        let counter = &self.started[usize::from(slot) % SLOTS];
        // Published by the Release of the `finish` of whichever task does this, or by the announcement that ends the
        // epoch for its worker.
        counter.store(counter.load(Relaxed) + 1, Relaxed);
    }

    /// The owner has finished a task.
    #[inline(always)]
    pub fn finish(&self, slot: u8) {
        let counter = &self.finished[usize::from(slot) % SLOTS];
        // Release pairs with the Acquire of `is_empty`: who counts this finish sees the starts before it, and all that
        // the task did to objects.
        counter.store(counter.load(Relaxed) + 1, Release);
    }

    /// Tasks of that slot that the owner has finished, as it knows itself.
    pub fn finished_in(&self, slot: u8) -> u64 {
        self.finished[usize::from(slot) % SLOTS].load(Relaxed)
    }

    /// All tasks started so far.
    pub fn started(&self) -> u64 {
        self.started.iter().map(|counter| counter.load(SeqCst)).sum()
    }

    /// All tasks finished so far.
    pub fn finished(&self) -> u64 {
        // Acquire pairs with the Release of `finish`.
        self.finished.iter().map(|counter| counter.load(Acquire)).sum()
    }
}

/// The global epoch and what follows from it.
pub(crate) struct Epochs {
    global: Padded<AtomicU64>,
    /// All epochs up to this one are settled.
    settled: AtomicU64,
    external: Padded<Ledger>,
    /// Tasks that wait to begin in whatever epoch it will be then: started, and finished when they are counted there.
    waits_begun: AtomicU64,
    waits_ended: AtomicU64,
}

impl Epochs {
    pub fn new() -> Self {
        Self {
            global: Padded(AtomicU64::new(1)),
            settled: AtomicU64::new(0),
            external: Padded::default(),
            waits_begun: AtomicU64::new(0),
            waits_ended: AtomicU64::new(0),
        }
    }

    /// Announces the current epoch for a worker, between tasks; `known` is what it announced before.
    #[inline(always)]
    pub fn announce(&self, ledger: &Ledger, known: u64) -> u64 {
        let epoch = self.global.0.load(Relaxed);
        if epoch == known { known } else { self.announce_new(ledger) }
    }

    #[cold]
    fn announce_new(&self, ledger: &Ledger) -> u64 {
        loop {
            let epoch = self.global.0.load(SeqCst);
            // SeqCst, with `advance`: either it sees the announcement, or we see what it made of the epoch.
            ledger.announced.store(epoch, SeqCst);
            // Pairs with the fence of `retirement`: who unlinks something that we still find afterwards sees this
            // epoch.
            fence(SeqCst);
            if self.global.0.load(SeqCst) == epoch || planted!("epoch-announced-unchecked") {
                return epoch;
            }
        }
    }

    /// The worker of this ledger goes to sleep, between tasks.
    pub fn go_offline(&self, ledger: &Ledger) {
        ledger.announced.store(OFFLINE, SeqCst);
    }

    /// Counts a task that a thread outside the runtime starts, and says to which slot it belongs.
    pub fn start_external(&self) -> u8 {
        loop {
            let epoch = self.global.0.load(SeqCst);
            let slot = slot(epoch);
            self.external.0.started[usize::from(slot)].fetch_add(1, SeqCst);
            // Nobody looks whether an epoch is empty before the global one is two further (SeqCst, with `settle`).
            if self.global.0.load(SeqCst) <= epoch + 1 || planted!("epoch-outsider-unchecked") {
                // As in `announce_new`.
                fence(SeqCst);
                return slot;
            }
            self.external.0.finished[usize::from(slot)].fetch_add(1, SeqCst);
        }
    }

    /// Counts a task that will begin later. Whoever calls this is a task, or keeps the runtime from ending.
    pub fn begin_wait(&self) {
        if planted!("drain-forgets-continuations") {
            self.waits_ended.fetch_add(1, SeqCst);
        }
        self.waits_begun.fetch_add(1, SeqCst);
    }

    /// It has begun, and was counted as started in its epoch.
    pub fn end_wait(&self) {
        // SeqCst pairs with `is_quiescent`: who counts this end sees the start before it.
        if planted!("drain-forgets-continuations") {
            return;
        }
        self.waits_ended.fetch_add(1, SeqCst);
    }

    /// The epoch for an object that has just been unlinked.
    pub fn retirement(&self) -> u64 {
        // Pairs with the fence of `announce_new`: an operation that could still find the object began in an epoch that
        // is seen here.
        fence(SeqCst);
        self.global.0.load(SeqCst)
    }

    /// All epochs up to this one are settled. What the tasks of these epochs did is seen by the caller.
    pub fn settled(&self) -> u64 {
        // Acquire pairs with the Release of `settle`.
        self.settled.load(Acquire)
    }

    /// Moves the global epoch on if all workers that are awake have followed, and settles what is empty.
    pub fn advance<'a>(&'a self, ledgers: impl Iterator<Item = &'a Ledger> + Clone) {
        let epoch = self.global.0.load(SeqCst);
        let followed = ledgers.clone().all(|ledger| {
            let announced = ledger.announced.load(SeqCst);
            announced == OFFLINE || announced == epoch
        });
        let slot_is_free = (epoch + 1).saturating_sub(SLOTS as u64) <= self.settled();
        if followed && slot_is_free {
            // Failure means that somebody else moved it: as good.
            let _ = self.global.0.compare_exchange(epoch, epoch + 1, SeqCst, Relaxed);
        }
        self.settle(ledgers);
    }

    fn settle<'a>(&'a self, ledgers: impl Iterator<Item = &'a Ledger> + Clone) {
        let epoch = self.global.0.load(SeqCst);
        let mut next = self.settled() + 1;
        let begun_no_more = if planted!("epoch-freed-early") { 1 } else { BEGUN_NO_MORE };
        while next + begun_no_more <= epoch && self.is_empty(next, ledgers.clone()) {
            // Release pairs with the Acquire of `settled`, handing on what the Acquires of `is_empty` saw.
            self.settled.fetch_max(next, Release);
            next += 1;
        }
    }

    /// Whether no task of an epoch in which nobody begins any more is left.
    fn is_empty<'a>(&'a self, epoch: u64, ledgers: impl Iterator<Item = &'a Ledger> + Clone) -> bool {
        let slot = usize::from(slot(epoch));
        let all = ledgers.chain(core::iter::once(&self.external.0));
        // Acquire pairs with the Release of `finish`.
        let count_finished = || all.clone().map(|ledger| ledger.finished[slot].load(Acquire)).sum::<u64>();
        let mut finished = count_finished();
        let started: u64 = all.clone().map(|ledger| ledger.started[slot].load(SeqCst)).sum();
        if planted!("epoch-starts-counted-first") {
            finished = count_finished();
        }
        finished == started
    }

    /// Whether no task at all is left, given that none is started from outside any more. (A task of one epoch can start
    /// one of another: so it is the sums over all epochs that have to agree.)
    pub fn is_quiescent<'a>(&'a self, ledgers: impl Iterator<Item = &'a Ledger> + Clone) -> bool {
        let all = ledgers.chain(core::iter::once(&self.external.0));
        if planted!("starts-counted-before-ends") {
            let started: u64 = all.clone().map(Ledger::started).sum();
            return all.map(Ledger::finished).sum::<u64>() == started;
        }
        let mut finished = self.waits_ended.load(SeqCst);
        finished += all.clone().map(Ledger::finished).sum::<u64>();
        if planted!("drain-forgets-follow-ups") && finished >= self.external_starts() {
            return true;
        }
        let started: u64 = all.map(Ledger::started).sum();
        finished == started + self.waits_begun.load(SeqCst)
    }

    /// Tasks started from outside so far.
    pub fn external_starts(&self) -> u64 {
        self.external.0.started()
    }
}
