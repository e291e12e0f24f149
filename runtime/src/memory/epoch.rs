//! Epochs: when a retired object cannot be reached any more.
//!
//! Every task belongs to the epoch in which its operation began; follow-ups inherit it. An object
//! is unlinked, then retired in the global epoch `r` of that moment. Only tasks of epochs up to `r`
//! can reach it. It is freed when all these epochs are *settled*.
//!
//! ```text
//!  current ──(global epoch +1)──> ending ──(+1)──> ended ──(empty)──> settled
//!  tasks begin                    workers that     no task begins     all tasks have run:
//!                                 lag may begin                       objects are freed
//! ```
//!
//! 1. Each worker *announces* the epoch in which its operations begin, between tasks. The global
//!    epoch advances from `g` to `g + 1` only when every awake worker has announced `g`. A sleeping
//!    worker has announced [`OFFLINE`] and holds nothing up.
//! 2. Each worker counts, for each epoch, the tasks that it started and finished, in counters that
//!    only it writes.
//! 3. An epoch is *empty* when both sums over all workers agree, all finishes having been read
//!    before all starts. Starts that are read later can only be more. So equality means that no
//!    task was left at the moment between; and only a task of that epoch could start another one in
//!    it.
//! 4. An epoch is settled, in order, when the global epoch is two further and it is empty.
//! 5. Threads outside the runtime count in a shared ledger, and check the global epoch again
//!    afterwards.
//! 6. A thread that reads without a task announces its epoch in a slot: `memory/readers.rs`.
//!
//! Why the global epoch must be *two* further, and not one:
//!
//! ```text
//! reader: has announced 5; starts a task in 5, which finds the object
//! writer: unlinks the object in 5; the global epoch becomes 6
//! writer: does not see the start yet, finds 5 empty, frees the object
//! reader: the task uses the object                     -> use after free
//! ```
//!
//! The global epoch becomes 7 only after the reader has announced 6. That store publishes its
//! starts of 5.
//!
//! Why finishes are read first:
//!
//! ```text
//! writer: reads the starts of epoch 5: 1 (task A)
//! A:      starts a follow-up B in 5, and finishes
//! writer: reads the finishes of epoch 5: 1             -> equal, and B is left
//! ```
//!
//! Why an announcement reads the global epoch again:
//!
//! ```text
//! sleeper: wakes, reads global epoch 5
//! others:  advance to 7, settle 5
//! sleeper: announces 5, and begins a task in a settled epoch
//! ```
//!
//! Counters are kept for [`EPOCH_SLOTS`] epochs; the slot of an epoch is reused only after it has
//! settled. Models: `model/epoch.rs`.

use super::readers::{READER_SLOTS, ReaderSlots, prefer, preferred};
use crate::sync::{Acquire, AtomicU64, Padded, Relaxed, Release, SeqCst, fence};

/// The largest number of unsettled epochs.
const EPOCH_SLOTS: usize = 8;
/// No task begins in an epoch that is this much older than the global one.
const EPOCHS_UNTIL_ENDED: u64 = 2;
/// The announcement of a sleeping worker.
pub(crate) const OFFLINE: u64 = u64::MAX;

/// Returns the slot of an epoch.
pub(crate) const fn slot(epoch: u64) -> u8 {
    (epoch % EPOCH_SLOTS as u64) as u8
}

/// Tasks started and finished, by slot. Only its owner writes it; the external ledger is written by
/// all outside threads, with atomic additions.
#[derive(Default)]
pub(crate) struct Ledger {
    started: [AtomicU64; EPOCH_SLOTS],
    finished: [AtomicU64; EPOCH_SLOTS],
    announced: AtomicU64,
}

impl Ledger {
    /// Counts a task that the owner starts.
    #[inline(always)]
    pub fn start(&self, slot: u8) {
        let counter = &self.started[usize::from(slot) % EPOCH_SLOTS];
        // Relaxed: published by the Release of the `finish` of the task that does this, or by the
        // announcement that ends the epoch for this worker.
        counter.store(counter.load(Relaxed) + 1, Relaxed);
    }

    /// Counts a task that the owner has finished.
    #[inline(always)]
    pub fn finish(&self, slot: u8) {
        let counter = &self.finished[usize::from(slot) % EPOCH_SLOTS];
        // Release pairs with the Acquire of `is_empty`: a thread that counts this finish sees the
        // starts before it, and everything that the task did to objects.
        counter.store(counter.load(Relaxed) + 1, Release);
    }

    /// Returns the tasks of a slot that the owner has finished, for the owner itself.
    pub fn finished_in(&self, slot: u8) -> u64 {
        self.finished[usize::from(slot) % EPOCH_SLOTS].load(Relaxed)
    }

    /// Returns the number of all tasks started so far.
    pub fn started(&self) -> u64 {
        self.started.iter().map(|counter| counter.load(SeqCst)).sum()
    }

    /// Returns the number of all tasks finished so far.
    pub fn finished(&self) -> u64 {
        // Acquire pairs with the Release of `finish`.
        self.finished.iter().map(|counter| counter.load(Acquire)).sum()
    }
}

/// A reader without a task: it holds the epoch until it [leaves](Epochs::leave_reader).
///
/// It says where the reader is known: below [`READER_SLOTS`] in that slot; else among the readers
/// without a slot, in the slot of their ledger that is as far above.
pub(crate) struct ReaderToken(usize);

/// The global epoch, and which epochs are settled.
pub(crate) struct Epochs {
    global: Padded<AtomicU64>,
    /// All epochs up to this one are settled.
    settled: AtomicU64,
    external: Padded<Ledger>,
    readers: ReaderSlots,
    /// Readers that found all slots taken: each counts as if it were a task.
    more_readers: Padded<Ledger>,
    /// Tasks that wait to begin in the epoch of a later moment: counted as begun here, and as ended
    /// when they are counted in their epoch.
    waits_begun: AtomicU64,
    waits_ended: AtomicU64,
}

impl Epochs {
    pub fn new() -> Self {
        Self {
            global: Padded(AtomicU64::new(1)),
            settled: AtomicU64::new(0),
            external: Padded::default(),
            readers: ReaderSlots::new(),
            more_readers: Padded::default(),
            waits_begun: AtomicU64::new(0),
            waits_ended: AtomicU64::new(0),
        }
    }

    /// Announces the current epoch for a worker, between tasks. `known` is its previous
    /// announcement.
    #[inline(always)]
    pub fn announce(&self, ledger: &Ledger, known: u64) -> u64 {
        let epoch = self.global.0.load(Relaxed);
        if epoch == known { known } else { self.announce_new(ledger) }
    }

    #[cold]
    fn announce_new(&self, ledger: &Ledger) -> u64 {
        loop {
            let epoch = self.global.0.load(SeqCst);
            // SeqCst, with `advance`: either it sees the announcement, or this thread sees the
            // epoch that it advanced to.
            ledger.announced.store(epoch, SeqCst);
            // Pairs with the fence of `retirement`: a thread that unlinks an object which this
            // worker still finds afterwards sees this epoch.
            fence(SeqCst);
            if self.global.0.load(SeqCst) == epoch || planted!("epoch-announced-unchecked") {
                return epoch;
            }
        }
    }

    /// Records that this ledger's worker goes to sleep, between tasks.
    pub fn go_offline(&self, ledger: &Ledger) {
        ledger.announced.store(OFFLINE, SeqCst);
    }

    /// Counts a task that a thread outside the runtime starts. Returns its slot.
    pub fn start_external(&self) -> u8 {
        self.start_in(&self.external.0)
    }

    /// Counts a task of the current epoch in a ledger that several threads write.
    fn start_in(&self, ledger: &Ledger) -> u8 {
        loop {
            let epoch = self.global.0.load(SeqCst);
            let slot = slot(epoch);
            ledger.started[usize::from(slot)].fetch_add(1, SeqCst);
            // No thread checks whether an epoch is empty before the global one is two further
            // (SeqCst, with `settle`).
            if self.global.0.load(SeqCst) <= epoch + 1 || planted!("epoch-outsider-unchecked") {
                // Pairs with the fence of `retirement`, as in `announce_new`.
                fence(SeqCst);
                return slot;
            }
            ledger.finished[usize::from(slot)].fetch_add(1, SeqCst);
        }
    }

    /// Lets the calling thread read without a task: what it finds from now on is not freed before
    /// it [leaves](Self::leave_reader).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn enter_reader(&self) -> ReaderToken {
        let wanted = preferred();
        let token = self.enter_preferring(wanted);
        if token.0 != wanted && token.0 < READER_SLOTS {
            prefer(token.0);
        }
        token
    }

    /// Enters a reader in this slot, if it is free.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn enter_preferring(&self, slot: usize) -> ReaderToken {
        // Relaxed: an epoch that is out of date only delays the next advance.
        let epoch = self.global.0.load(Relaxed);
        let claimed = self.readers.claim(epoch, slot);
        claimed.map_or_else(|| self.enter_counted(), ReaderToken)
    }

    /// Counts a reader as a task of the current epoch.
    #[cold]
    pub fn enter_counted(&self) -> ReaderToken {
        ReaderToken(READER_SLOTS + usize::from(self.start_in(&self.more_readers.0)))
    }

    /// Ends a reader, once.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn leave_reader(&self, token: &ReaderToken) {
        match token.0.checked_sub(READER_SLOTS) {
            None => self.readers.release(token.0),
            Some(slot) => {
                // Release pairs with the Acquire of `is_empty`: the reads come before an object is
                // freed.
                self.more_readers.0.finished[slot].fetch_add(1, Release);
            }
        }
    }

    /// Counts a task that will begin later. The caller is a task, or keeps the runtime from ending.
    pub fn begin_wait(&self) {
        if planted!("drain-forgets-continuations") {
            self.waits_ended.fetch_add(1, SeqCst);
        }
        self.waits_begun.fetch_add(1, SeqCst);
    }

    /// Ends a wait: the task has begun, and was counted as started in its epoch.
    pub fn end_wait(&self) {
        // SeqCst pairs with `is_quiescent`: a thread that counts this end sees the start before it.
        if planted!("drain-forgets-continuations") {
            return;
        }
        self.waits_ended.fetch_add(1, SeqCst);
    }

    /// Returns the epoch in which an object is retired that has just been unlinked.
    pub fn retirement(&self) -> u64 {
        // Pairs with the fence of `announce_new`: an operation that can still find the object began
        // in an epoch that is read here, or an earlier one.
        fence(SeqCst);
        self.global.0.load(SeqCst)
    }

    /// Returns the last settled epoch; all before it are settled too. The caller sees what the
    /// tasks of these epochs did.
    pub fn settled(&self) -> u64 {
        // Acquire pairs with the Release of `settle`.
        self.settled.load(Acquire)
    }

    /// Advances the global epoch if all awake workers and all readers have announced it. Settles
    /// epochs that are empty.
    pub fn advance<'a>(&'a self, ledgers: impl Iterator<Item = &'a Ledger> + Clone) {
        let epoch = self.global.0.load(SeqCst);
        let followed = ledgers.clone().all(|ledger| {
            let announced = ledger.announced.load(SeqCst);
            announced == OFFLINE || announced == epoch
        });
        let slot_is_free = (epoch + 1).saturating_sub(EPOCH_SLOTS as u64) <= self.settled()
            || planted!("epoch-slot-reused-early");
        if followed && slot_is_free && self.readers.all_follow(epoch) {
            // A failure means that another thread has advanced it.
            let _ = self.global.0.compare_exchange(epoch, epoch + 1, SeqCst, Relaxed);
        }
        self.settle(ledgers);
    }

    fn settle<'a>(&'a self, ledgers: impl Iterator<Item = &'a Ledger> + Clone) {
        let epoch = self.global.0.load(SeqCst);
        let mut next = self.settled() + 1;
        let epochs_until_ended = if planted!("epoch-freed-early") { 1 } else { EPOCHS_UNTIL_ENDED };
        while next + epochs_until_ended <= epoch && self.is_empty(next, ledgers.clone()) {
            // Release pairs with the Acquire of `settled`, and passes on what `is_empty` has
            // acquired. A failure means that another thread has settled it. (ThreadSanitizer does
            // not see what `fetch_max` releases.)
            _ = self.settled.compare_exchange(next - 1, next, Release, Relaxed);
            next += 1;
        }
    }

    /// Returns the oldest epoch that is not known to be settled, and the newest.
    pub fn span(&self) -> (u64, u64) {
        // Settled first: it is never beyond the global epoch that is read after it.
        let settled = self.settled();
        (settled + 1, self.global.0.load(SeqCst))
    }

    /// Returns true if no task is left of an epoch that has ended.
    fn is_empty<'a>(&'a self, epoch: u64, ledgers: impl Iterator<Item = &'a Ledger> + Clone) -> bool {
        let slot = usize::from(slot(epoch));
        let all = ledgers.chain([&self.external.0, &self.more_readers.0]);
        // Acquire pairs with the Release of `finish`.
        let count_finished = || all.clone().map(|ledger| ledger.finished[slot].load(Acquire)).sum::<u64>();
        let mut finished = count_finished();
        let started: u64 = all.clone().map(|ledger| ledger.started[slot].load(SeqCst)).sum();
        if planted!("epoch-starts-counted-first") {
            finished = count_finished();
        }
        finished == started
    }

    /// Returns true if no task at all is left, provided that none is started from outside any more.
    /// (A task of one epoch can start one of another, so the sums over all epochs have to agree.)
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

    /// Returns how many tasks are started and not finished, or wait to be started.
    pub fn unfinished<'a>(&'a self, ledgers: impl Iterator<Item = &'a Ledger> + Clone) -> u64 {
        let all = ledgers.chain(core::iter::once(&self.external.0));
        // In this order, as in `is_quiescent`: no task seems finished and not started.
        let ended = self.waits_ended.load(SeqCst) + all.clone().map(Ledger::finished).sum::<u64>();
        (all.map(Ledger::started).sum::<u64>() + self.waits_begun.load(SeqCst)).saturating_sub(ended)
    }

    /// Returns the number of tasks started from outside so far.
    pub fn external_starts(&self) -> u64 {
        self.external.0.started()
    }
}
