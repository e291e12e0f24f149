//! Counts the bytes and blocks that the process has allocated and not freed, and its threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use xtasking_harness::failure::Wrong;

static BYTES: AtomicI64 = AtomicI64::new(0);
static BLOCKS: AtomicI64 = AtomicI64::new(0);

/// The system's allocator, counted.
struct CountingAllocator;

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator;

fn count(blocks: i64, bytes: i64) {
    // Relaxed: the counts order nothing. They are compared when no other thread allocates.
    BLOCKS.fetch_add(blocks, Relaxed);
    BYTES.fetch_add(bytes, Relaxed);
}

// SAFETY: each method is the system's, whose contract is the same; the counts change no block.
#[allow(unsafe_code, reason = "an allocator is an unsafe trait")]
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: this function's contract.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            count(1, layout.size() as i64);
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: this function's contract.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            count(1, layout.size() as i64);
        }
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: this function's contract.
        let moved = unsafe { System.realloc(block, layout, size) };
        if !moved.is_null() {
            count(0, size as i64 - layout.size() as i64);
        }
        moved
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-1, -(layout.size() as i64));
        // SAFETY: this function's contract.
        unsafe { System.dealloc(block, layout) };
    }
}

/// What the process has at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Live {
    bytes: i64,
    blocks: i64,
    threads: i64,
}

impl Live {
    /// Returns what there is now.
    pub(super) fn now() -> Self {
        // Linux lists the threads of a process. Elsewhere it is not known when they have ended, and
        // nothing is checked.
        let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        Self { bytes: BYTES.load(Relaxed), blocks: BLOCKS.load(Relaxed), threads: threads as i64 }
    }

    /// Returns what has been added since `before`.
    fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes - before.bytes,
            blocks: self.blocks - before.blocks,
            threads: self.threads - before.threads,
        }
    }
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes in {} blocks, and {} threads", self.bytes, self.blocks, self.threads)
    }
}

/// Rounds in which things that are made once in a process are needed for the first time.
const WARM_UP: i64 = 16;
/// Blocks that each of these rounds may leave, beyond those of sequenced trees.
const WARM_UP_BLOCKS: i64 = 12;
/// Blocks that a round may leave if its tree is sequenced: the source of its arena's pages. Its
/// address is in a list, which grows in place.
const SEQUENCED_BLOCKS: i64 = 1;
/// Blocks of all later rounds together: of what a round is the first one to need.
const BLOCKS_NEEDED_LATE: i64 = 4;
/// Bytes of what is made once, and of the lists of kept addresses for each round.
const BYTES_MADE_ONCE: i64 = 64 << 10;
const BYTES_OF_A_ROUND: i64 = 256;

/// Checks that each round frees what it has allocated, and ends its threads.
pub(super) struct Leaks {
    before: Live,
    first: Live,
    /// Blocks that rounds after the warm-up have left beyond what they may.
    blocks_over: i64,
    rounds: i64,
}

impl Leaks {
    /// Begins before the first round.
    pub(super) fn begin() -> Self {
        let now = Live::now();
        Self { before: now, first: now, blocks_over: 0, rounds: 0 }
    }

    /// Returns true if the threads of a round have ended, and freed what was theirs.
    pub(super) fn are_settled(&self) -> bool {
        Live::now().threads <= self.before.threads
    }

    /// Checks what a round has left.
    pub(super) fn check(&mut self, is_sequenced: bool) -> Result<(), Wrong> {
        let now = Live::now();
        if now.threads == 0 {
            return Ok(());
        }
        let left = now.since(self.before);
        self.before = now;
        self.rounds += 1;
        let expected = if is_sequenced { SEQUENCED_BLOCKS } else { 0 };
        let is_too_much = self.leaves_too_much(left.blocks - expected);
        let bytes = now.bytes - self.first.bytes;
        let most_bytes = BYTES_MADE_ONCE + self.rounds * BYTES_OF_A_ROUND;
        if left.threads > 0 || is_too_much || bytes > most_bytes {
            let (rounds, since) = (self.rounds, now.since(self.first));
            return Err(Wrong::new(format!("a round has left {left}; {rounds} rounds have left {since}")));
        }
        Ok(())
    }

    /// Returns true if a round has left too many blocks beyond those that are expected.
    fn leaves_too_much(&mut self, over: i64) -> bool {
        if self.rounds <= WARM_UP {
            return over > WARM_UP_BLOCKS;
        }
        self.blocks_over += over.max(0);
        self.blocks_over > BLOCKS_NEEDED_LATE
    }
}

impl fmt::Display for Leaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "left by {} rounds: {}", self.rounds, self.before.since(self.first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_a_round_is_a_leak_after_the_warm_up() {
        let mut leaks = Leaks::begin();
        let found = (1..=100).find(|&round| {
            leaks.rounds = round;
            leaks.leaves_too_much(1)
        });
        assert_eq!(found, Some(WARM_UP + BLOCKS_NEEDED_LATE + 1));
    }

    #[test]
    fn what_is_made_once_is_no_leak() {
        let mut leaks = Leaks::begin();
        let is_leak = (1..=100).any(|round| {
            leaks.rounds = round;
            leaks.leaves_too_much(if round == 1 { 10 } else { i64::from(round % 30 == 0) })
        });
        assert!(!is_leak);
    }
}
