//! Numbers that tell threads apart.

#[cfg(not(feature = "std"))]
use alloc::boxed::Box;
use core::num::NonZeroUsize;

/// The function that numbers threads.
#[cfg(not(feature = "std"))]
static NUMBER: once_cell::race::OnceBox<fn() -> NonZeroUsize> = once_cell::race::OnceBox::new();

/// Sets how threads are told apart without the feature `std`: `number` returns a number that
/// differs between all threads alive, such as that of the core where a core is a thread.
///
/// A platform calls it before it starts a worker, and at most once. Returns false, and changes
/// nothing, if it was called before; and with the feature `std`, where the standard library tells
/// threads apart. Without either only one thread may wait for a
/// [`Simulation`](super::Simulation) or for [managed sets](crate::managed) at a time: a second one
/// is taken for the first, and its wait fails.
///
/// ```
/// use std::num::NonZeroUsize;
/// use xtasking::platform::set_thread_number;
///
/// // A machine with one core.
/// let is_set = set_thread_number(|| NonZeroUsize::MIN);
/// # assert_eq!(is_set, cfg!(not(feature = "std")));
/// ```
pub fn set_thread_number(number: fn() -> NonZeroUsize) -> bool {
    #[cfg(feature = "std")]
    {
        let _ = number;
        false
    }
    #[cfg(not(feature = "std"))]
    NUMBER.set(Box::new(number)).is_ok()
}

/// Returns a number other than 0 that differs between all threads alive.
#[cfg(feature = "std")]
pub(crate) fn this_thread() -> usize {
    std::thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| core::ptr::from_ref(here).addr())
}

/// Returns a number other than 0 that differs between all threads alive, if the platform has said
/// how they are told apart; otherwise 1.
#[cfg(not(feature = "std"))]
pub(crate) fn this_thread() -> usize {
    NUMBER.get().map_or(1, |number| number().get())
}
