//! What INFO counts.

use super::histogram::Histogram;
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counters of the whole server. Workers use different ones of them, so that they do not contend.
#[derive(Debug)]
pub struct Statistics {
    lanes: [CounterLane; LANES],
    connections: AtomicU64,
}

/// A part of the counters, in cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct CounterLane {
    /// In the order in which they were first called; a client calls few. A name may be there
    /// several times, as it is found by its address.
    commands: Mutex<Vec<CommandEntry>>,
    /// How often each code of an error was replied.
    errors: Mutex<BTreeMap<Box<[u8]>, u64>>,
    hits: AtomicU64,
    misses: AtomicU64,
    expired: AtomicU64,
    changes: AtomicU64,
}

/// What is known of a command.
#[derive(Debug)]
struct CommandEntry {
    name: &'static str,
    counts: CommandCounts,
    times: Histogram,
}

/// More workers than these share some.
const LANES: usize = 64;

/// The longest time of a histogram in nanoseconds: a second, as in Redis.
const LONGEST_TIME: u64 = 1_000_000_000;

/// How often a command was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandCounts {
    /// How often it ran.
    pub calls: u64,
    /// How often it ran and replied with an error.
    pub failed: u64,
    /// How often it was refused before it ran.
    pub rejected: u64,
    /// The nanoseconds for which it ran in all.
    pub nanoseconds: u64,
}

impl AddAssign for CommandCounts {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.rejected += other.rejected;
        self.nanoseconds += other.nanoseconds;
    }
}

/// What happened to keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyCounts {
    /// How often a key that was to be read was there.
    pub hits: u64,
    /// How often it was not.
    pub misses: u64,
    /// How many keys were removed because they had expired.
    pub expired: u64,
}

/// Calls of a command that took this long each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) command: &'static str,
    pub(crate) calls: u64,
    pub(crate) nanoseconds: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics inside of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the entry of a command.
fn entry<'a>(commands: &'a mut Vec<CommandEntry>, name: &'static str) -> &'a mut CommandEntry {
    let known = commands.iter().position(|entry| std::ptr::eq(entry.name, name));
    let at = known.unwrap_or_else(|| {
        commands.push(CommandEntry { name, counts: CommandCounts::default(), times: Histogram::default() });
        commands.len() - 1
    });
    &mut commands[at]
}

impl CommandEntry {
    fn record(&mut self, times: Times) {
        self.times.record(times.nanoseconds.clamp(1, LONGEST_TIME), times.calls);
    }
}

impl Default for Statistics {
    fn default() -> Self {
        Self { lanes: std::array::from_fn(|_| CounterLane::default()), connections: AtomicU64::new(0) }
    }
}

impl Statistics {
    fn lane(&self, worker: usize) -> &CounterLane {
        &self.lanes[worker % LANES]
    }

    /// Adds to the counts of a command.
    pub(crate) fn count(&self, worker: usize, command: &'static str, counts: CommandCounts) {
        self.count_all(worker, [(command, counts)], &[]);
    }

    /// Adds to the counts of commands, and to their histograms.
    pub(crate) fn count_all(
        &self,
        worker: usize,
        counts: impl IntoIterator<Item = (&'static str, CommandCounts)>,
        times: &[Times],
    ) {
        let mut commands = lock(&self.lane(worker).commands);
        for (name, counts) in counts {
            entry(&mut commands, name).counts += counts;
        }
        for times in times {
            entry(&mut commands, times.command).record(*times);
        }
    }

    /// Counts an error reply by its code, which is the first word.
    #[cold]
    pub(crate) fn count_error(&self, worker: usize, text: &[u8]) {
        let code = text.split(|byte| *byte == b' ').next().unwrap_or_default();
        *lock(&self.lane(worker).errors).entry(code.into()).or_default() += 1;
    }

    /// Adds to the counts of what happened to keys.
    pub(crate) fn count_keys(&self, worker: usize, counts: KeyCounts) {
        let lane = self.lane(worker);
        let KeyCounts { hits, misses, expired } = counts;
        for (counter, count) in [(&lane.hits, hits), (&lane.misses, misses), (&lane.expired, expired)] {
            if count > 0 {
                // Relaxed, as all below: statistics order nothing.
                counter.fetch_add(count, Ordering::Relaxed);
            }
        }
    }

    /// Returns the counts of what happened to keys.
    pub fn keys(&self) -> KeyCounts {
        let sum = |counter: fn(&CounterLane) -> &AtomicU64| {
            self.lanes.iter().map(|lane| counter(lane).load(Ordering::Relaxed)).sum()
        };
        let [hits, misses, expired] =
            [sum(|lane| &lane.hits), sum(|lane| &lane.misses), sum(|lane| &lane.expired)];
        KeyCounts { hits, misses, expired }
    }

    pub(crate) fn count_connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_changes(&self, worker: usize, changes: u64) {
        if changes > 0 {
            self.lane(worker).changes.fetch_add(changes, Ordering::Relaxed);
        }
    }

    /// Returns the number of sessions that were opened.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Returns the number of changes of keys.
    pub fn changes(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.changes.load(Ordering::Relaxed)).sum()
    }

    /// Returns the counts of the commands that were called, by name.
    pub fn commands(&self) -> BTreeMap<&'static str, CommandCounts> {
        let mut all = BTreeMap::<_, CommandCounts>::new();
        for lane in &self.lanes {
            for entry in &*lock(&lane.commands) {
                *all.entry(entry.name).or_default() += entry.counts;
            }
        }
        all
    }

    /// Returns the times of the commands for which there are some, in nanoseconds, by name.
    pub(crate) fn times(&self) -> BTreeMap<&'static str, Histogram> {
        let mut all = BTreeMap::<_, Histogram>::new();
        for lane in &self.lanes {
            for entry in lock(&lane.commands).iter().filter(|entry| entry.times.calls() > 0) {
                all.entry(entry.name).or_default().add(&entry.times);
            }
        }
        all
    }

    /// Returns how often each code of an error was replied.
    pub fn errors(&self) -> BTreeMap<Box<[u8]>, u64> {
        let mut all = BTreeMap::new();
        for lane in &self.lanes {
            for (code, count) in &*lock(&lane.errors) {
                *all.entry(code.clone()).or_default() += count;
            }
        }
        all
    }

    /// Sets the counters to zero, as CONFIG RESETSTAT does.
    pub(crate) fn reset(&self) {
        for lane in &self.lanes {
            lock(&lane.commands).clear();
            lock(&lane.errors).clear();
            for counter in [&lane.hits, &lane.misses, &lane.expired] {
                counter.store(0, Ordering::Relaxed);
            }
        }
        self.connections.store(0, Ordering::Relaxed);
    }
}
