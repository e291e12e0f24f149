//! Atomics and cells under a model checker.
//!
//! Both checkers get the same thin types around their own. Each access passes through `around`,
//! which adds what the checker needs:
//!
//! - **loom** treats `SeqCst` accesses only as acquiring and releasing. `SeqCst` fences before and
//!   after make up for that. They promise slightly more than the language: a neighbouring weaker
//!   access is ordered as well.
//! - **shuttle** runs one thread at a time, so core's atomics serve. A thread switch may happen
//!   before each access.

use core::sync::atomic::Ordering;

#[cfg(model = "loom")]
mod checker {
    use super::Ordering;
    pub(crate) use loom::cell::UnsafeCell;
    pub use loom::sync::atomic as inner;
    pub use loom::thread::yield_now;

    pub fn around<R>(order: Ordering, access: impl FnOnce() -> R) -> R {
        if order == Ordering::SeqCst {
            inner::fence(order);
        }
        let result = access();
        if order == Ordering::SeqCst {
            inner::fence(order);
        }
        result
    }

    pub fn fence(order: Ordering) {
        inner::fence(order);
    }
}

#[cfg(model = "shuttle")]
mod checker {
    pub(crate) use super::super::cell::UnsafeCell;
    use super::Ordering;
    pub use core::sync::atomic as inner;
    pub use shuttle::thread::yield_now;

    pub fn around<R>(_: Ordering, access: impl FnOnce() -> R) -> R {
        shuttle_engine::runtime::thread::switch();
        access()
    }

    pub fn fence(_: Ordering) {}
}

pub use checker::fence;
pub(crate) use checker::{UnsafeCell, yield_now};
use checker::{around, inner};

/// A sequentially consistent fence right after a read-modify-write by the same thread.
pub(crate) fn fence_after_exchange() {
    fence(Ordering::SeqCst);
}

/// Whether a model checker is at work.
pub(crate) const MODEL: bool = true;

/// Defines a thin atomic type with the operations that all of them have.
macro_rules! atomic {
    ($name:ident $(<$t:ident>)?, $value:ty) => {
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name $(<$t>)? (inner::$name $(<$t>)?);

        impl $(<$t>)? Default for $name $(<$t>)? {
            fn default() -> Self {
                Self(Default::default())
            }
        }

        impl $(<$t>)? $name $(<$t>)? {
            #[cfg(model = "loom")]
            pub fn new(value: $value) -> Self {
                Self(inner::$name::new(value))
            }
            #[cfg(model = "shuttle")]
            pub const fn new(value: $value) -> Self {
                Self(inner::$name::new(value))
            }
            pub fn load(&self, order: Ordering) -> $value {
                around(order, || self.0.load(order))
            }
            pub fn store(&self, value: $value, order: Ordering) {
                around(order, || self.0.store(value, order));
            }
            #[allow(dead_code, reason = "not every type needs every operation")]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                around(order, || self.0.swap(value, order))
            }
            #[allow(dead_code, reason = "not every type needs every operation")]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                around(success, || self.0.compare_exchange(current, new, success, failure))
            }
            /// Never fails spuriously: such failures only add executions that the caller's loop
            /// repeats anyway.
            #[allow(dead_code, reason = "not every type needs every operation")]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }
        }
    };
}

/// Defines the arithmetic of the integer types.
macro_rules! arithmetic {
    ($name:ident, $value:ty: $($operation:ident),+) => {
        impl $name {$(
            #[allow(dead_code, reason = "not every type needs every operation")]
            pub fn $operation(&self, value: $value, order: Ordering) -> $value {
                around(order, || self.0.$operation(value, order))
            }
        )+}
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicPtr<T>, *mut T);
atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
atomic!(AtomicUsize, usize);
arithmetic!(AtomicU32, u32: fetch_add, fetch_sub, fetch_and, fetch_or, fetch_max);
arithmetic!(AtomicU64, u64: fetch_add, fetch_sub, fetch_and, fetch_or, fetch_max);
arithmetic!(AtomicUsize, usize: fetch_add, fetch_sub, fetch_and, fetch_or, fetch_max);
