//! What catches panics, where they unwind. Elsewhere a panic ends the machine.

pub use core::panic::*;

#[cfg(feature = "unwind")]
pub use unwinding::panic::{PanicHookInfo, catch_unwind, panic_any, resume_unwind, set_hook, take_hook};

#[cfg(not(feature = "unwind"))]
mod ending {
    use alloc_crate::boxed::Box;
    use core::any::Any;

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
}

#[cfg(not(feature = "unwind"))]
pub use ending::{catch_unwind, panic_any, resume_unwind};
