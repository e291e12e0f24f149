//! What is said of a panic, and what becomes of one that nothing catches.
//!
//! The standard library looks for what catches a panic before it unwinds anything. If there is
//! nothing, it says so and calls `abort`, while the core's tasks are as the panic has left them.

use crate::console::print_failure;
use crate::{cores, report};
use alloc::boxed::Box;
use std::panic::PanicHookInfo;

/// Lets panics be told on the console, unless the program sets another hook for them.
pub(crate) fn begin() {
    std::panic::set_hook(Box::new(tell));
}

/// Writes what a panic says, and what ran on this core. It needs no heap, which may be what fails.
fn tell(info: &PanicHookInfo<'_>) {
    let text = info.payload_as_str().unwrap_or("a value that is no text");
    let core = cores::own();
    let (index, node) = (core.index(), core.node());
    match (info.location(), core.try_worker()) {
        (Some(place), Some(worker)) => {
            print_failure(format_args!(
                "panic: {text}\n  at {place}\n  core {index} of node {node}\n  {worker}\n"
            ));
        }
        (Some(place), None) => {
            print_failure(format_args!("panic: {text}\n  at {place}\n  core {index} of node {node}\n"));
        }
        (None, _) => print_failure(format_args!("panic: {text}\n  core {index} of node {node}\n")),
    }
}

/// Ends the machine: the standard library has said why.
#[unsafe(no_mangle)]
extern "C" fn abort() -> ! {
    report::aborted()
}
