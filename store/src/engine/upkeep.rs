//! What an engine does again and again, whether there are requests or not.

use super::Engine;
use std::time::Duration;
use xtasking::{Context, Runtime};

/// The time between two looks for waits that have ended.
pub(crate) const TICK: Duration = Duration::from_millis(10);
/// The time between two cycles of expiry, in ms.
const EXPIRY_PERIOD: u64 = 100;
/// The most cycles of expiry at once, after a pause: then each shard has had its turn.
const MOST_CYCLES: u64 = 10;
/// Ticks between two looks whether there is too much memory, or a snapshot is due.
const SLOW_TICKS: u32 = 10;

/// The work of a timer that ticks every [`TICK`].
pub(crate) struct Upkeep {
    engine: Engine,
    ticks: u32,
    /// The time up to which cycles of expiry have run, in ms since 1970.
    expired_at: u64,
}

impl Drop for Upkeep {
    /// The runtime has begun to end, and drops its timers: nothing serves those that wait any more.
    fn drop(&mut self) {
        self.engine.abandon_waits();
    }
}

impl Engine {
    /// Starts a timer that ends waits, removes expired keys, takes snapshots and bounds the memory.
    /// It goes on until the runtime ends, and keeps the engine until then; it is to be started
    /// once. Programs with connections have
    /// [`Dialogues::start_upkeep`](crate::dialogue::Dialogues::start_upkeep) instead, and a
    /// `Service` of the module `net` has it already.
    pub fn start_upkeep(&self) {
        let upkeep = Upkeep::new(self.clone());
        self.runtime().timer(TICK, |cx| upkeep.go_on(cx));
    }
}

impl Upkeep {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { expired_at: engine.now(), engine, ticks: 0 }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns true in one of this many ticks.
    pub(crate) fn is_each(&self, ticks: u32) -> bool {
        self.ticks.is_multiple_of(ticks)
    }

    pub(crate) fn tick(&mut self, rt: &Runtime) {
        self.ticks = self.ticks.wrapping_add(1);
        self.engine.end_waits(rt);
        self.engine.server().bound_tracking();
        for _ in 0..due_cycles(&mut self.expired_at, self.engine.now()) {
            self.engine.remove_expired(rt);
        }
        if self.is_each(SLOW_TICKS) {
            self.engine.save_if_due(rt);
            self.engine.bound_memory(rt);
        }
    }

    fn go_on(mut self, cx: &mut Context) {
        self.tick(&cx.handle());
        cx.timer(TICK, |cx| self.go_on(cx));
    }
}

/// Returns how many cycles of expiry are due, and notes that they run. Ticks are late when there is
/// much to do, so cycles are counted by the clock.
fn due_cycles(expired_at: &mut u64, now: u64) -> u64 {
    let cycles = now.saturating_sub(*expired_at) / EXPIRY_PERIOD;
    if cycles > MOST_CYCLES || now < *expired_at {
        *expired_at = now;
        return cycles.min(MOST_CYCLES);
    }
    *expired_at += cycles * EXPIRY_PERIOD;
    cycles
}

#[cfg(test)]
mod tests {
    use super::due_cycles;

    #[test]
    fn late_ticks_cost_no_cycles_of_expiry() {
        let mut expired_at = 1000;
        let due =
            [1050, 1130, 1390, 1400, 9000, 9099, 9100, 500, 600].map(|now| due_cycles(&mut expired_at, now));
        assert_eq!(due, [0, 1, 2, 1, 10, 0, 1, 0, 1]);
    }
}
