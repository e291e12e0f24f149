//! Keeps provoked panics out of the output, and says where they were.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// The line of the last panic of this thread.
    static LINE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// A part of the message of each panic that a test provokes, in a body or by an invalid spawn.
const PROVOKED: [&str; 9] = [
    "provoked",
    "a task names the same object twice",
    "is used by a task of another runtime",
    "the running task is a member of no group",
    "the task has not claimed granule",
    "there are no granules",
    "a claim by what a task holds",
    "a task called rayon",
    "a fork of another runtime",
];

/// Keeps the messages of provoked panics out of the output; all others are still printed.
pub fn silence_tasks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            LINE.set(info.location().map(panic::Location::line));
            let text = info.payload_as_str().unwrap_or_default();
            if !PROVOKED.iter().any(|provoked| text.contains(provoked)) {
                before(info);
            }
        }));
    });
}

/// Calls a function that panics, and returns the line that the panic names.
///
/// # Panics
///
/// Panics if the function returns.
pub fn line_of_panic(panics: impl FnOnce()) -> Option<u32> {
    silence_tasks();
    assert!(panic::catch_unwind(AssertUnwindSafe(panics)).is_err(), "no panic");
    LINE.take()
}
