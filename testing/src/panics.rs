//! Keeps provoked panics out of the output.

use std::panic;
use std::sync::Once;

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
            let text = info.payload_as_str().unwrap_or_default();
            if !PROVOKED.iter().any(|provoked| text.contains(provoked)) {
                before(info);
            }
        }));
    });
}
