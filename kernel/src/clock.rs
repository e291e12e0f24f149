//! The clock: the processor's counter of cycles, measured once against ACPI's timer.

use crate::calendar;
use crate::cpu::{self, apic, ports};
use core::sync::atomic::{AtomicU64, Ordering::*};

/// Ticks of ACPI's timer in a second.
const REFERENCE_HZ: u64 = 3_579_545;
/// The bits that each of these timers has.
const REFERENCE_MASK: u32 = 0xff_ffff;
/// Ticks of a measurement: a millisecond.
const MEASURED: u64 = REFERENCE_HZ / 1000;
/// Measurements, of which the shortest counts: others were interrupted.
const MEASUREMENTS: usize = 5;
/// Nanoseconds are multiplied by 2^32 divided by the rate.
const SHIFT: u32 = 32;

/// The counter when this kernel began.
static BEGAN: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds of 2^[`SHIFT`] cycles.
static NANOSECONDS: AtomicU64 = AtomicU64::new(0);
/// Ticks of the cores' timers in 2^20 ns.
static TIMER_TICKS: AtomicU64 = AtomicU64::new(0);

/// Nanoseconds from 1970 to the beginning of this kernel.
static BEGAN_SINCE_1970: AtomicU64 = AtomicU64::new(0);

/// Remembers when this kernel began.
pub(crate) fn begin() {
    BEGAN.store(cpu::counter(), Relaxed);
}

/// Measures the counter and the timer of this core. `port` is that of ACPI's timer.
pub(crate) fn measure(port: u16) {
    // SAFETY: reading the timer changes nothing.
    let reference = || unsafe { ports::read32(port) };
    let (mut cycles, mut ticks) = (u64::MAX, u64::MAX);
    for _ in 0..MEASUREMENTS {
        apic::start_timer(u32::MAX);
        // The reference comes last here and first below: an interruption in between makes the
        // window of the others longer, and the shortest window counts.
        let (counted_from, left_from) = (cpu::counter(), apic::timer_left());
        let from = reference();
        let passed = loop {
            let passed = u64::from(reference().wrapping_sub(from) & REFERENCE_MASK);
            if passed >= MEASURED {
                break passed;
            }
        };
        let (counted, left) = (cpu::counter() - counted_from, left_from - apic::timer_left());
        cycles = cycles.min(counted * MEASURED / passed);
        ticks = ticks.min(u64::from(left) * MEASURED / passed);
    }
    apic::start_timer(0);
    assert!(cycles > 0 && ticks > 0, "the counter of cycles or the timer stands still");
    let nanoseconds = MEASURED * 1_000_000_000 / REFERENCE_HZ;
    NANOSECONDS.store((nanoseconds << SHIFT) / cycles, Relaxed);
    TIMER_TICKS.store((ticks << 20) / nanoseconds, Relaxed);
}

/// Returns the nanoseconds since this kernel began.
pub(crate) fn now() -> u64 {
    let cycles = cpu::counter().saturating_sub(BEGAN.load(Relaxed));
    ((u128::from(cycles) * u128::from(NANOSECONDS.load(Relaxed))) >> SHIFT) as u64
}

/// Takes the date from the machine's clock, whose unit is a second.
pub(crate) fn set_date() {
    BEGAN_SINCE_1970.store((calendar::now() * 1_000_000_000).saturating_sub(now()), Relaxed);
}

/// Returns the nanoseconds since 1970.
pub(crate) fn since_1970() -> u64 {
    BEGAN_SINCE_1970.load(Relaxed) + now()
}

/// Interrupts this core at a time, or somewhat earlier if that is far away.
pub(crate) fn interrupt_at(until: u64) {
    let left = u128::from(until.saturating_sub(now()));
    let ticks = ((left * u128::from(TIMER_TICKS.load(Relaxed))) >> 20) + 1;
    apic::start_timer(u32::try_from(ticks).unwrap_or(u32::MAX));
}
