//! What is done or made once.

use core::fmt;
use core::ops::Deref;
use core::sync::atomic::{AtomicBool, Ordering::*};
use once_cell::race::OnceBox;

/// What is done once.
pub struct Once(AtomicBool);

impl Once {
    /// Creates it.
    #[expect(clippy::new_without_default, reason = "the standard library has no default either")]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Calls a function, the first time.
    pub fn call_once(&self, run: impl FnOnce()) {
        // AcqRel for a later call alone: this one does not wait for the first.
        if !self.0.swap(true, AcqRel) {
            run();
        }
    }
}

/// A value that is made once.
pub struct OnceLock<T>(OnceBox<T>);

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> OnceLock<T> {
    /// Creates it without a value.
    pub const fn new() -> Self {
        Self(OnceBox::new())
    }

    /// Returns the value.
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// Sets the value, or returns the new one if there is one already.
    pub fn set(&self, value: T) -> Result<(), T> {
        self.0.set(alloc_crate::boxed::Box::new(value)).map_err(|value| *value)
    }

    /// Returns the value, which is made now if there is none.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(|| alloc_crate::boxed::Box::new(make()))
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnceLock").field(&self.get()).finish()
    }
}

/// A value that is made when it is first used. If several cores are the first, each makes one, and
/// all use the same.
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    make: F,
}

impl<T, F: Fn() -> T> LazyLock<T, F> {
    /// Creates it.
    pub const fn new(make: F) -> Self {
        Self { value: OnceLock::new(), make }
    }
}

impl<T, F: Fn() -> T> Deref for LazyLock<T, F> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value.get_or_init(&self.make)
    }
}
