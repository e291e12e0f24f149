//! Busy waiting between threads that have a core each.

use std::hint::spin_loop;
use std::thread::yield_now;

/// Probes between two yields: the other thread may have lost its core.
const YIELD_INTERVAL: u32 = 1 << 14;

/// Spins until a probe returns a value.
#[inline(always)]
pub(super) fn spin_until<T>(mut probe: impl FnMut() -> Option<T>) -> T {
    let mut probes = 0u32;
    loop {
        if let Some(value) = probe() {
            return value;
        }
        probes = probes.wrapping_add(1);
        spin_loop();
        if probes.is_multiple_of(YIELD_INTERVAL) {
            yield_now();
        }
    }
}
