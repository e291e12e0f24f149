//! What catches panics elsewhere. Here a panic ends the machine.

use alloc_crate::boxed::Box;
use core::any::Any;
pub use core::panic::*;

/// Runs a function. A panic in it ends the machine.
pub fn catch_unwind<R>(run: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    Ok(run())
}

/// Panics.
pub fn resume_unwind(_: Box<dyn Any + Send>) -> ! {
    panic!("a panic that goes on")
}

/// Panics.
pub fn panic_any<T>(_: T) -> ! {
    panic!("a panic without a message")
}
