//! Turns a hang into a failure.
//!
//! A hang is distinguished from a slow machine by the activity of the process, not by the clock. A
//! watched test hangs if, since its start, the process has either
//!
//! - used the bound in CPU time on each of the machine's cores, or
//! - slept: in as many consecutive ticks of a second as the bound has seconds, no thread was ready
//!   to run, hardly one was scheduled, and almost no CPU time was used.
//!
//! If other programs use the cores, CPU time passes more slowly, and threads are ready to run but
//! wait for a core. So a busy machine alone causes neither.

use crate::clock::{is_any_ready, voluntary_switches};
use crate::{cpu_time, lock};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Once};
use std::thread;
use std::time::Duration;

/// Factor by which bounds grow under a sanitizer, which slows everything down.
pub const PATIENCE: u32 = if cfg!(any(sanitizer = "address", sanitizer = "thread")) { 8 } else { 1 };

/// The bound of a [`watchdog`].
const BOUND: Duration = Duration::from_secs(60);

/// CPU time of a thread after which [`eventually`] gives up.
const GIVES_UP: Duration = Duration::from_secs(10);

/// Interval between two checks of the watched tests.
const TICK: Duration = Duration::from_secs(1);

/// A process that sleeps uses less CPU time than this in a tick.
const SLEEP: Duration = Duration::from_millis(20);

/// A process that sleeps is scheduled less often than this in a tick.
const SWITCHES: u64 = 5;

/// Aborts the process if its test hangs before this is dropped.
#[must_use]
pub struct Watchdog(Arc<AtomicBool>);

/// A test that is being watched.
struct Watched {
    test: String,
    bound: Duration,
    /// CPU time of the process when the test began.
    began: Duration,
    /// Consecutive ticks in which the process slept.
    slept: u32,
    is_over: Arc<AtomicBool>,
}

/// All tests of the process that are being watched.
static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

/// Watches the current test with the usual bound.
pub fn watchdog() -> Watchdog {
    watchdog_of(BOUND)
}

/// Watches the current test with a bound of its own.
pub fn watchdog_of(bound: Duration) -> Watchdog {
    watchdog_called(thread::current().name().unwrap_or("a test").to_owned(), bound)
}

/// Watches the test or part of this name, with a bound of its own.
pub fn watchdog_called(test: String, bound: Duration) -> Watchdog {
    static WATCHER: Once = Once::new();
    let is_over = Arc::new(AtomicBool::new(false));
    let bound = at_most(bound) * PATIENCE;
    let watched = Watched { test, bound, began: cpu_time(), slept: 0, is_over: is_over.clone() };
    lock(&WATCHED).push(watched);
    WATCHER.call_once(|| drop(thread::spawn(watch)));
    Watchdog(is_over)
}

/// Returns the bound, or the number of seconds in the environment variable `XTASKING_HANGS_AFTER`
/// if that is less.
fn at_most(bound: Duration) -> Duration {
    let Ok(text) = std::env::var("XTASKING_HANGS_AFTER") else { return bound };
    let seconds = text.parse().expect("XTASKING_HANGS_AFTER is a number of seconds");
    bound.min(Duration::from_secs(seconds))
}

/// Checks all watched tests, once a tick, as long as the process lives.
fn watch() {
    let cores = thread::available_parallelism().map_or(1, usize::from) as u32;
    let mut before = (cpu_time(), voluntary_switches());
    loop {
        thread::sleep(TICK);
        let now = cpu_time();
        let scheduled = voluntary_switches();
        let is_asleep =
            now.saturating_sub(before.0) < SLEEP && scheduled - before.1 < SWITCHES && !is_any_ready();
        before = (now, scheduled);
        let mut all = lock(&WATCHED);
        all.retain(|watched| !watched.is_over.load(SeqCst));
        for watched in all.iter_mut() {
            watched.slept = if is_asleep { watched.slept + 1 } else { 0 };
            let slept = TICK * watched.slept;
            let used = now.saturating_sub(watched.began);
            if slept >= watched.bound || used >= watched.bound * cores {
                let test = &watched.test;
                // Not by `eprintln`, whose output would be captured and lost.
                let _ = writeln!(
                    std::io::stderr(),
                    "WATCHDOG: {test} hangs: {used:?} of CPU time, asleep for the last {slept:?}"
                );
                std::process::abort();
            }
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Waits on a plain thread, by polling, until a condition holds.
///
/// # Panics
///
/// Panics if this thread has used 10 s of CPU time and the condition still does not hold. The bound
/// does not apply to a condition that sleeps; the test's [`watchdog`] ends it.
pub fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let bound = at_most(GIVES_UP) * PATIENCE;
    let began = crate::cpu_time_of_thread();
    while !is_true() {
        assert!(crate::cpu_time_of_thread().saturating_sub(began) < bound, "never: {what}");
        thread::yield_now();
    }
}
