//! Intentions at gates, which each worker counts for itself.
//!
//! A claim that goes through a gate to something below writes no cache line that another worker
//! writes: each worker has a table of its own, and plain stores. What comes and what goes are
//! counted apart, because a task may end on another worker than the one that registered it.

use super::gate::{Counted, GateSlot};
use super::mode::{COUNTED, Mode, Modes};
use super::segments::{SegmentIndex, Segments};
use crate::sync::{Acquire, AtomicU32, Padded, Relaxed, Release};
use crate::task::spawner::sealed::Origin;
use alloc::boxed::Box;

/// Counters of each kind: as many as a power of two, so that the masked number of a mode needs no
/// check.
const COLUMNS: usize = COUNTED.next_power_of_two();

/// What one worker has counted at one gate, by mode.
#[derive(Default)]
struct Count {
    ins: [AtomicU32; COLUMNS],
    outs: [AtomicU32; COLUMNS],
}

/// The table in which a thread counts.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    index: usize,
    /// Several threads count here at the same time.
    is_shared: bool,
}

/// The counts of all gates: a table for each worker, and one that other threads share.
pub(crate) struct Counts {
    sites: Box<[Padded<Segments<Count>>]>,
}

impl Counts {
    /// Makes the counts for a number of workers.
    pub fn new(workers: usize) -> Self {
        Self { sites: (0..=workers).map(|_| Padded::default()).collect() }
    }

    /// Returns the site of a thread that spawns a task or runs one.
    #[inline]
    pub fn site(&self, origin: &impl Origin) -> Site {
        match origin.on_worker() {
            Some(index) => Site { index, is_shared: false },
            None => self.shared_site(),
        }
    }

    /// Returns the site that all threads may use.
    pub fn shared_site(&self) -> Site {
        Site { index: self.sites.len() - 1, is_shared: true }
    }

    /// Returns the site of a worker that only the caller drives.
    #[cfg(all(test, model = "loom"))]
    pub fn site_of(&self, index: usize) -> Site {
        Site { index, is_shared: false }
    }

    /// Returns what a site has counted, to add to it.
    #[inline(always)]
    pub fn at(&self, site: Site) -> SiteCounts<'_> {
        SiteCounts { counts: &self.sites[site.index].0, is_shared: site.is_shared }
    }

    /// Returns true if one of these modes is counted at a gate. The gate's flag is up, and a SeqCst
    /// fence is between that and this call; so what is counted and not seen here sees the flag.
    ///
    /// The outs are read first. Each out that is seen makes its in visible, so the sums are equal
    /// only if all ins that are seen have gone. In the other order a task that comes and goes
    /// between the two sums would hide one that stays.
    pub fn is_counted(&self, gate: u32, modes: Modes) -> bool {
        // All modes are summed up, as that takes no branches.
        let sum = |column: fn(&Count) -> &[AtomicU32; COLUMNS]| {
            let mut sums = [0u32; COUNTED];
            for count in self.sites.iter().filter_map(|site| site.0.get(gate)) {
                for (sum, counter) in sums.iter_mut().zip(column(count)) {
                    // Acquire pairs with the Release of `add_one`.
                    *sum = sum.wrapping_add(counter.load(Acquire));
                }
            }
            sums
        };
        let differ = |outs: [u32; COUNTED], ins: [u32; COUNTED]| {
            Mode::COUNTED.into_iter().any(|mode| modes.has(mode) && outs[mode as usize] != ins[mode as usize])
        };
        if planted!("tree-ins-read-first") {
            let ins = sum(|count| &count.ins);
            return differ(sum(|count| &count.outs), ins);
        }
        let outs = sum(|count| &count.outs);
        differ(outs, sum(|count| &count.ins))
    }
}

/// What one site has counted at all gates.
pub(crate) struct SiteCounts<'c> {
    counts: &'c Segments<Count>,
    is_shared: bool,
}

impl SiteCounts<'_> {
    /// Counts a mode at a gate. The caller checks the gate's flag behind a SeqCst fence.
    #[inline(always)]
    pub fn count_in(&self, gate: u32, mode: Mode) {
        self.count_in_at(SegmentIndex::of(gate), mode);
    }

    /// Counts a mode at the gate with the number of a place, like [`count_in`](Self::count_in).
    #[inline(always)]
    pub fn count_in_at(&self, gate: SegmentIndex, mode: Mode) {
        self.add_one(&self.counts.get_or_make_at(gate).ins[mode as usize]);
    }

    /// Counts modes at a gate, like [`count_in`](Self::count_in).
    pub fn count_modes_in(&self, gate: u32, modes: Modes) {
        modes.iter().for_each(|mode| self.count_in(gate, mode));
    }

    /// Counts what a claim counts, like [`count_in`](Self::count_in).
    pub fn count_all_in(&self, counted: &[Counted], gates: &Segments<GateSlot>) {
        counted.iter().for_each(|counted| self.count_in(counted.slot(gates).number(), counted.mode()));
    }

    /// Counts out again what was counted in on any site.
    #[inline(always)]
    pub fn count_all_out(&self, counted: &[Counted], gates: &Segments<GateSlot>) {
        for counted in counted {
            self.add_one(&self.counts.get_or_make(counted.slot(gates).number()).outs[counted.column()]);
        }
    }

    /// Adds one to a counter of this site.
    #[inline(always)]
    fn add_one(&self, counter: &AtomicU32) {
        // Release pairs with the Acquire of `is_counted`.
        if self.is_shared {
            counter.fetch_add(1, Release);
        } else {
            // One thread at a time drives a worker, so no other thread stores here meanwhile.
            counter.store(counter.load(Relaxed).wrapping_add(1), Release);
        }
    }
}
