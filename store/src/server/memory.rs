//! How much memory the keys take, and may take: the setting `maxmemory`.
//!
//! What counts is the memory of keys and values. Buffers of clients do not: they never evict keys.
//! The count of bytes knows the sizes of an allocator, but not its fragmentation. So a timer
//! compares it with the memory of the process. What the process has beyond the count, and beyond
//! all else that is known of, is the *excess*, which counts too. It counts up to half of the keys:
//! a process may keep the memory of evicted keys, so to evict more would not make it smaller.

use super::{Setting, Settings};
use crate::keyspace::EvictionOrder;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Returns the memory of the process in bytes, if that is known.
pub(crate) type MemorySource = Box<dyn Fn() -> Option<u64> + Send + Sync>;

/// The memory of the keys, and its limit.
pub struct Memory {
    /// The sum of all is the bytes of the keys. Workers use different ones, so that they do not
    /// contend.
    lanes: [MemoryLane; LANES],
    /// By how many bytes the task of each worker may still let keys grow, at most.
    shares: Box<[MemoryLane]>,
    /// In bytes; 0 if there is none.
    limit: AtomicI64,
    excess: AtomicI64,
    /// True once all shards are counted, or are about to be.
    is_counted: AtomicBool,
    counts: MemoryCounts,
    source: MemorySource,
    /// The memory of the process when the store began.
    at_start: u64,
    /// The bytes of the keys at the last times when they were compared with the process.
    recent: Mutex<VecDeque<i64>>,
}

/// What changes more often than the limit, which each task reads.
#[derive(Debug, Default)]
#[repr(align(128))]
struct MemoryCounts {
    /// Bytes in buffers of clients, of those that are large.
    buffers: AtomicI64,
    /// The number of large values and tables that were removed and are not freed yet.
    unfreed: AtomicI64,
    /// Their bytes.
    unfreed_bytes: AtomicI64,
    /// The number of tables that were removed, and that a snapshot still has to have.
    retired: AtomicI64,
    /// Their bytes: nothing frees those sooner, neither evictions nor larger parts.
    retired_bytes: AtomicI64,
    evicted: AtomicU64,
    peak: AtomicU64,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct MemoryLane(AtomicI64);

const LANES: usize = 16;

/// How many comparisons, of which there are ten a second, an allocator may keep what was freed.
const KEPT: usize = 12;
/// What an empty store takes, so that with a lower limit nothing is accepted.
const EMPTY: i64 = 1 << 10;
/// Memory of the process beyond what is known of that is no excess, in bytes.
const ALLOWANCE: i64 = 32 << 20;
/// The same for each client.
const CLIENT_ALLOWANCE: i64 = 64 << 10;
/// What a snapshot holds at most before it is written, unless values are very large.
const SNAPSHOT_ALLOWANCE: i64 = 40 << 20;
/// The most bytes that are evicted beyond what has to be, so that not each command has to.
const MOST_SLACK: i64 = 64 << 10;
/// The part of the limit that may be garbage before it is freed as urgently as requests are run.
const GARBAGE_PART: i64 = 64;
/// The same without a limit, in bytes.
const MOST_GARBAGE: i64 = 16 << 20;
/// Up to this many times that, tasks free no more than by default.
const CALM_BOUNDS: i64 = 4;
/// They free at most this many times as much, some ms long.
const MOST_URGENCY: i64 = 64;

/// What is known of the memory of the process besides keys.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KnownMemory {
    pub(crate) clients: usize,
    pub(crate) log_backlog: usize,
    pub(crate) is_saving: bool,
    /// The bytes that a snapshot has still to write.
    pub(crate) unwritten: usize,
}

/// The memory of the process in bytes, where the system tells it.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

impl Memory {
    pub(crate) fn new(source: MemorySource, workers: usize) -> Self {
        Self {
            lanes: Default::default(),
            shares: (0..workers.max(1)).map(|_| MemoryLane::default()).collect(),
            limit: AtomicI64::new(0),
            excess: AtomicI64::new(0),
            is_counted: AtomicBool::new(false),
            counts: MemoryCounts::default(),
            at_start: source().unwrap_or(0),
            source,
            recent: Mutex::default(),
        }
    }

    /// Adds to the bytes of the keys.
    #[inline]
    pub(crate) fn add(&self, worker: usize, bytes: i64) {
        if bytes != 0 {
            // Relaxed, as all here: the numbers order nothing.
            self.lanes[worker % LANES].0.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Adds to the bytes in buffers of clients.
    pub(crate) fn add_buffers(&self, bytes: i64) {
        self.counts.buffers.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes in large buffers of clients.
    pub fn buffers(&self) -> u64 {
        self.counts.buffers.load(Ordering::Relaxed).max(0) as u64
    }

    /// Notes that large values or tables were removed, or freed if the numbers are negative.
    pub(crate) fn add_garbage(&self, count: i64, bytes: i64) {
        self.counts.unfreed.fetch_add(count, Ordering::Relaxed);
        self.counts.unfreed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes that tables were removed which a snapshot still has to have, or that it has let them
    /// go, if the numbers are negative.
    pub(crate) fn add_retired(&self, count: i64, bytes: i64) {
        self.counts.retired.fetch_add(count, Ordering::Relaxed);
        self.counts.retired_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns how urgent it is to free what was removed: 0 as long as its bytes are few beside the
    /// limit; else by how many times a task is to free more than it does by default.
    pub(crate) fn garbage_urgency(&self) -> usize {
        let bytes = self.counts.unfreed_bytes.load(Ordering::Relaxed);
        let most = match self.limit.load(Ordering::Relaxed) {
            0 => MOST_GARBAGE,
            limit => limit / GARBAGE_PART,
        };
        match bytes > most {
            true => (bytes / most.max(1) / CALM_BOUNDS).clamp(1, MOST_URGENCY) as usize,
            false => 0,
        }
    }

    /// Returns how many large values and tables were removed and are not freed yet.
    pub fn unfreed(&self) -> u64 {
        let retired = self.counts.retired.load(Ordering::Relaxed);
        (self.counts.unfreed.load(Ordering::Relaxed) + retired).max(0) as u64
    }

    /// Returns the bytes of keys and values; 0 until there is a limit for the first time.
    pub fn counted(&self) -> u64 {
        self.sum().max(0) as u64
    }

    fn sum(&self) -> i64 {
        self.lanes.iter().map(|lane| lane.0.load(Ordering::Relaxed)).sum()
    }

    /// Returns the limit in bytes; 0 if there is none.
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed) as u64
    }

    /// Returns the bytes that the process has beyond all that is known of, and that count as keys.
    pub fn excess(&self) -> u64 {
        self.excess.load(Ordering::Relaxed) as u64
    }

    /// Returns what is compared with the limit. Before there is one, it is what the process has
    /// taken since the start.
    pub fn used(&self) -> u64 {
        match self.is_counted.load(Ordering::Relaxed) {
            true => self.counted() + self.excess() + EMPTY as u64,
            false => self.resident().map_or(0, |bytes| bytes.saturating_sub(self.at_start)),
        }
    }

    /// Returns the memory of the process, if that is known.
    pub fn resident(&self) -> Option<u64> {
        (self.source)()
    }

    /// Returns the memory of the process when the store began.
    pub fn at_start(&self) -> u64 {
        self.at_start
    }

    /// Returns the most memory that was found in use.
    pub fn peak(&self) -> u64 {
        let used = self.used();
        self.counts.peak.fetch_max(used, Ordering::Relaxed).max(used)
    }

    /// Returns the number of evicted keys.
    pub fn evicted(&self) -> u64 {
        self.counts.evicted.load(Ordering::Relaxed)
    }

    pub(crate) fn count_evicted(&self) {
        self.counts.evicted.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn reset_statistics(&self) {
        self.counts.evicted.store(0, Ordering::Relaxed);
        self.counts.peak.store(0, Ordering::Relaxed);
    }

    /// Returns by how many bytes keys may grow; negative if too much is used.
    #[inline]
    pub(crate) fn room(&self) -> i64 {
        match self.limit.load(Ordering::Relaxed) {
            0 => i64::MAX,
            limit => self.room_below(limit),
        }
    }

    fn room_below(&self, limit: i64) -> i64 {
        limit - EMPTY - self.sum() - self.excess.load(Ordering::Relaxed)
    }

    /// Reserves a share of the room for a task of a worker: returns by how many bytes it may let
    /// keys grow before it looks again; negative if there is no room. What all tasks have reserved
    /// is never more than the room. What of it keys have grown by, or what is left in the end, is
    /// to be [given back](Self::give_back). `None` if there is no limit.
    pub(crate) fn reserve(&self, worker: usize) -> Option<i64> {
        let limit = self.limit.load(Ordering::Relaxed);
        if limit == 0 {
            return None;
        }
        let own = &self.shares[worker % self.shares.len()].0;
        let parts = if planted!("room-unshared") { 1 } else { self.shares.len() as i64 };
        let wanted = (self.room_below(limit) / parts).max(0);
        // SeqCst, as the loads: of two tasks that reserve at once the later one sees the other's.
        own.fetch_add(wanted, Ordering::SeqCst);
        let all: i64 = self.shares.iter().map(|share| share.0.load(Ordering::SeqCst)).sum();
        // Looked at again after that: what was given back by then is in the bytes of the keys.
        let share = (self.room_below(limit) - (all - wanted)).min(wanted);
        self.give_back(worker, wanted - share.max(0));
        Some(share)
    }

    /// Gives back bytes that a task of a worker has reserved. Those by which keys have grown are
    /// added before.
    #[inline]
    pub(crate) fn give_back(&self, worker: usize, bytes: i64) {
        if bytes > 0 {
            // Release pairs with the loads of `reserve`.
            self.shares[worker % self.shares.len()].0.fetch_sub(bytes, Ordering::Release);
        }
    }

    /// Returns what all tasks have reserved.
    #[cfg(test)]
    pub(crate) fn reserved(&self) -> i64 {
        self.shares.iter().map(|share| share.0.load(Ordering::SeqCst)).sum()
    }

    /// Returns the room that is made when there is none.
    pub(crate) fn slack(&self) -> i64 {
        (self.limit.load(Ordering::Relaxed) / 256).min(MOST_SLACK)
    }

    /// Sets the limit. Returns true if the shards are to be counted, which they were not yet.
    pub(crate) fn set_limit(&self, limit: i64) -> bool {
        self.limit.store(limit, Ordering::Relaxed);
        if limit == 0 {
            // It is not measured any more.
            self.excess.store(0, Ordering::Relaxed);
        }
        limit > 0 && !self.is_counted.swap(true, Ordering::Relaxed)
    }

    /// Compares the count with the memory of the process.
    pub(crate) fn measure(&self, known: KnownMemory) {
        let (counted, resident) = (self.sum().max(0), self.resident());
        let lately = self.most_lately(counted);
        let beyond = resident.map_or(0, |bytes| {
            let others = self.counts.buffers.load(Ordering::Relaxed)
                + self.counts.unfreed_bytes.load(Ordering::Relaxed)
                + self.counts.retired_bytes.load(Ordering::Relaxed)
                + ALLOWANCE
                + CLIENT_ALLOWANCE * known.clients as i64
                + known.log_backlog as i64
                + if known.is_saving { SNAPSHOT_ALLOWANCE.max(known.unwritten as i64) } else { 0 };
            bytes.saturating_sub(self.at_start) as i64 - others - lately - lately / 8
        });
        let most = if planted!("excess-unlimited") { i64::MAX } else { counted / 2 };
        self.excess.store(beyond.clamp(0, most), Ordering::Relaxed);
        self.peak();
    }

    /// Returns the most bytes that the keys had at the last comparisons. The process may still have
    /// what was freed since: the allocator returns it to the system a second later.
    fn most_lately(&self, counted: i64) -> i64 {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.truncate(KEPT - 1);
        recent.push_front(counted);
        recent.iter().copied().fold(counted, i64::max)
    }
}

impl Settings {
    /// The policies of `maxmemory`, as `maxmemory-policy` names them.
    pub(super) const EVICTION_POLICIES: &[&str] = &[
        "volatile-lru",
        "volatile-lfu",
        "volatile-random",
        "volatile-ttl",
        "allkeys-lru",
        "allkeys-lfu",
        "allkeys-random",
        "noeviction",
    ];

    fn eviction_policy(&self) -> &'static str {
        Self::EVICTION_POLICIES[self.number(Setting::MaxMemoryPolicy) as usize]
    }

    /// Returns which keys are evicted first; `None` if none are.
    pub(crate) fn eviction_order(&self) -> Option<EvictionOrder> {
        let (which, by) = self.eviction_policy().split_once('-')?;
        let is_volatile = which == "volatile";
        Some(match by {
            "ttl" => EvictionOrder::TimeToLive,
            "random" => EvictionOrder::Random { is_volatile },
            _ => EvictionOrder::Stale { is_volatile },
        })
    }

    /// Returns true if accesses are counted.
    pub(crate) fn counts_accesses(&self) -> bool {
        self.eviction_policy().ends_with("-lfu")
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Memory");
        text.field("counted", &self.counted()).field("limit", &self.limit()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    const MIB: i64 = 1 << 20;

    #[test]
    fn what_the_process_has_beyond_all_that_is_known_counts() {
        let resident = Arc::new(AtomicU64::new(100 << 20));
        let source = resident.clone();
        let memory = Memory::new(Box::new(move || Some(source.load(Ordering::Relaxed))), 2);
        assert!(memory.set_limit(1000 * MIB) && !memory.set_limit(1000 * MIB));
        memory.add(3, 500 * MIB);
        memory.add(20, 300 * MIB);
        let measure = |total: i64, known: KnownMemory| {
            resident.store((total * MIB) as u64, Ordering::Relaxed);
            memory.measure(known);
            memory.excess() as i64 / MIB
        };
        // 100 at the start, 800 of keys, an eighth of that for fragmentation, and the allowance.
        assert_eq!(measure(1032, KnownMemory::default()), 0);
        assert_eq!(measure(1052, KnownMemory::default()), 20);
        assert_eq!(memory.room(), 180 * MIB - EMPTY);
        assert_eq!(measure(1052, KnownMemory { clients: 160, ..KnownMemory::default() }), 10);
        assert_eq!(measure(1052, KnownMemory { log_backlog: 20 << 20, ..KnownMemory::default() }), 0);
        assert_eq!(measure(1052, KnownMemory { is_saving: true, ..KnownMemory::default() }), 0);
        let saving = KnownMemory { is_saving: true, unwritten: 60 << 20, ..KnownMemory::default() };
        assert_eq!(measure(1102, saving), 10);
        memory.counts.buffers.store(500 * MIB, Ordering::Relaxed);
        assert_eq!(measure(1532, KnownMemory::default()), 0);
        // Evictions do not free what a snapshot holds; and to free other things sooner neither.
        memory.add_retired(1, 300 * MIB);
        assert_eq!((measure(1832, KnownMemory::default()), memory.garbage_urgency()), (0, 0));
        assert_eq!(memory.unfreed(), 1);
        memory.add_retired(-1, -300 * MIB);
        assert_eq!(measure(1832, KnownMemory::default()), 300);
        // Evicting more would not make the process smaller.
        assert_eq!(measure(100_000, KnownMemory::default()), 400);
        memory.set_limit(0);
        assert_eq!(memory.excess(), 0);
    }

    #[test]
    fn what_was_freed_within_a_second_is_no_excess() {
        let memory = Memory::new(Box::new(|| Some(800 << 20)), 2);
        memory.set_limit(1000 * MIB);
        let memory = Memory { at_start: 0, ..memory };
        memory.add(0, 700 * MIB);
        memory.measure(KnownMemory::default());
        assert_eq!(memory.excess(), 0);
        memory.add(0, -200 * MIB);
        for _ in 1..KEPT {
            memory.measure(KnownMemory::default());
            assert_eq!(memory.excess(), 0);
        }
        memory.measure(KnownMemory::default());
        // 500 MiB of keys, an eighth of that, and the allowance.
        assert_eq!(memory.excess() as i64, 800 * MIB - 500 * MIB / 8 * 9 - ALLOWANCE);
    }

    #[test]
    fn garbage_is_urgent_when_it_is_much_beside_the_limit() {
        let memory = Memory::new(Box::new(|| None), 1);
        for (limit, bound) in [(0, 16 * MIB), (640 * MIB, 10 * MIB)] {
            memory.set_limit(limit);
            let urgencies = [1, 2, 7, 8, 64, 10_000].map(|times| {
                memory.add_garbage(1, times * bound);
                let urgency = memory.garbage_urgency();
                memory.add_garbage(-1, -times * bound);
                urgency
            });
            assert_eq!(urgencies, [0, 1, 1, 2, 16, 64], "{limit}");
        }
    }

    #[test]
    fn what_is_reserved_fits_into_the_room() {
        let memory = Memory::new(Box::new(|| None), 3);
        assert_eq!(memory.reserve(0), None);
        memory.set_limit(90 * MIB + EMPTY);
        assert_eq!([memory.reserve(0), memory.reserve(1)], [Some(30 * MIB); 2]);
        memory.give_back(0, 30 * MIB);
        // Tasks of the first worker use their shares while that of the second one goes on.
        for _ in 0..20 {
            let share = memory.reserve(0).expect("a limit");
            memory.add(0, share);
            memory.give_back(0, share);
        }
        assert!(memory.room() >= 30 * MIB, "what the second one has is left");
        memory.add(0, 90 * MIB);
        assert!(memory.reserve(2) < Some(0) && memory.reserve(1) < Some(0));
        memory.add(0, -90 * MIB);
        memory.give_back(1, 30 * MIB);
        assert_eq!(memory.reserve(1), Some(memory.room() / 3));
    }

    /// Each thread is a worker whose tasks use all that they reserve.
    #[test]
    fn workers_that_reserve_at_once_do_not_exceed_the_limit() {
        let memory = Memory::new(Box::new(|| None), 3);
        memory.set_limit(MIB);
        let total = AtomicI64::new(0);
        thread::scope(|scope| {
            for worker in 0..3 {
                let (memory, total) = (&memory, &total);
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        let share = memory.reserve(worker).expect("a limit").max(0);
                        memory.add(worker, share);
                        assert!(total.fetch_add(share, Ordering::SeqCst) + share <= MIB - EMPTY);
                        memory.give_back(worker, share);
                        total.fetch_sub(share, Ordering::SeqCst);
                        memory.add(worker, -share);
                    }
                });
            }
        });
    }
}
