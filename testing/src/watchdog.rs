//! Turns a hang into a failure.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// How many times longer things may take than usual: a sanitizer slows everything down.
pub const PATIENCE: u32 = if cfg!(any(sanitizer = "address", sanitizer = "thread")) { 8 } else { 1 };

/// Ends the process if it is not dropped in time.
#[must_use]
pub struct Watchdog(Arc<AtomicBool>);

/// A watchdog for whatever happens while it lives.
pub fn watchdog() -> Watchdog {
    watchdog_of(Duration::from_secs(60))
}

/// As [`watchdog`], with a time of its own.
pub fn watchdog_of(time: Duration) -> Watchdog {
    watchdog_called(thread::current().name().unwrap_or("a test").to_owned(), time)
}

/// As [`watchdog_of`], with a name for what it watches.
pub fn watchdog_called(test: String, time: Duration) -> Watchdog {
    let time = time * PATIENCE;
    let done = Arc::new(AtomicBool::new(false));
    let seen = done.clone();
    thread::spawn(move || {
        let end = Instant::now() + time;
        while Instant::now() < end {
            if seen.load(SeqCst) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        if !seen.load(SeqCst) {
            // Not by `eprintln`, whose output would be captured and lost.
            let _ = writeln!(std::io::stderr(), "WATCHDOG: {test} hangs (for {time:?})");
            std::process::abort();
        }
    });
    Watchdog(done)
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Waits on a plain thread until something becomes true.
///
/// # Panics
///
/// If it does not within some seconds.
pub fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10) * PATIENCE;
    while !is_true() {
        assert!(Instant::now() < end, "never: {what}");
        thread::yield_now();
    }
}
