//! Keeps provoked panics out of the output.

use std::panic;
use std::sync::Once;

/// How the message of a panic begins that a test provokes, in a body or by a wrong spawn.
const PROVOKED: [&str; 7] = [
    "provoked",
    "a task names the same object twice",
    "a group is used by a task of another runtime",
    "a task of no group has no siblings",
    "the task has not claimed granule",
    "there are no granules",
    "a claim by what a task holds",
];

/// Keeps the messages of panics that a test provokes out of its output; others are shown as ever.
pub fn silence_tasks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let text = info.payload_as_str().unwrap_or_default();
            if !PROVOKED.iter().any(|provoked| text.starts_with(provoked)) {
                before(info);
            }
        }));
    });
}
