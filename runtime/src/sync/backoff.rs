//! Waiting for a thread that is about to finish.

use super::{MODEL, under_model, yield_now};

/// Spins with growing pauses, then yields between checks.
///
/// The holder of a latch is always running a task, and never waits itself. With more workers than
/// cores the system may have preempted it, and only yielding lets it continue.
pub(crate) struct Backoff {
    round: u32,
}

/// After 2^6 pauses in a row the holder has probably been preempted.
const SPIN_ROUNDS: u32 = 6;
/// This many rounds, most of which yield, take about 100 µs. Waking a sleeping thread takes a part
/// of that.
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

    /// Returns true in a few rounds, ever farther apart: time for an attempt that takes longer than
    /// a round.
    pub const fn is_at_milestone(&self) -> bool {
        MODEL || matches!(self.round, 16 | 64 | 256)
    }

    /// Returns true in each eighth round: time for an attempt that takes about as long as some
    /// rounds.
    pub const fn is_eighth(&self) -> bool {
        MODEL || self.round % 8 == 4
    }

    /// Returns true if the wait has been so long that sleeping and waking would add little to it.
    pub const fn is_long(&self) -> bool {
        self.round >= LONG_ROUNDS
    }
}
