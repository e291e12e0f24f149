//! Waiting for somebody who is about to be done.

use super::{MODEL, under_model, yield_now};

/// Spins with growing pauses, then gives the core away between looks.
///
/// What is waited for is always held by a running task, never by a waiting one; but with more workers than
/// cores its worker may have been put off the core, and only yielding brings it back.
pub(crate) struct Backoff {
    round: u32,
}

/// After 2^6 pauses in a row the holder has probably lost its core.
const SPIN_ROUNDS: u32 = 6;
/// So many rounds, most of which yield, take some 100 µs; to wake a thread takes some of these.
const LONG_ROUNDS: u32 = under_model(500, 1) as u32;

impl Backoff {
    pub const fn new() -> Self {
        Self { round: 0 }
    }

    /// Waits a little, longer from call to call.
    pub fn wait(&mut self) {
        if self.round <= SPIN_ROUNDS && !MODEL {
            for _ in 0..1 << self.round {
                core::hint::spin_loop();
            }
        } else {
            yield_now();
        }
        self.round = self.round.saturating_add(1);
    }

    /// Whether it has been so long that falling asleep and being woken would take little more.
    pub const fn is_long(&self) -> bool {
        self.round >= LONG_ROUNDS
    }
}
