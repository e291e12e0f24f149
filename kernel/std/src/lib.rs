//! As much of the standard library as the tests of the runtime need, on this kernel.
//!
//! A crate that depends on it under the name `std` has it in place of the standard library, with
//! its prelude and macros: the compiler takes the crate of this name. So the sources of tests
//! compile as they are.
//!
//! A thread is a core: a new one takes a free core, and fails if there is none. What waits here
//! looks again and again, and halts in between. Nothing unwinds, so no lock is ever poisoned, and
//! what would catch a panic never returns an error.
//!
//! | file | what is in it |
//! |---|---|
//! | `panic` | what catches panics elsewhere |
//! | `pause` | how a core waits |
//! | `sync`, `sync/mpsc` | locks, barriers, channels |
//! | `thread` | threads, which are cores |
//! | `time` | the clock |

#![no_std]

pub extern crate alloc;

pub mod panic;
mod pause;
pub mod sync;
pub mod thread;
pub mod time;

// By a glob, as the macro `panic` has a module of the same name beside it there.
pub use macros::*;

pub use alloc::{borrow, boxed, fmt, format, rc, slice, str, string, vec};
pub use core::{
    any, array, cell, cmp, convert, error, future, hash, hint, iter, marker, mem, num, ops, option, pin, ptr,
    result,
};
pub use xkernel::println;
pub use xkernel::println as eprintln;

mod macros {
    pub use core::{
        assert_eq, assert_ne, debug_assert, debug_assert_eq, debug_assert_ne, matches, panic, todo,
        unimplemented, unreachable, write, writeln,
    };
}

/// Collections.
pub mod collections {
    pub use alloc::collections::*;

    /// A map without an order.
    pub type HashMap<K, V> = hashbrown::HashMap<K, V>;
    /// A set without an order.
    pub type HashSet<T> = hashbrown::HashSet<T>;
}

/// Wakers.
pub mod task {
    pub use alloc::task::Wake;
    pub use core::task::*;
}

/// An environment without variables.
pub mod env {
    /// The error of a variable that is not set.
    #[derive(Debug)]
    pub struct VarError;

    /// Returns an error: there are no variables.
    pub fn var(_: &str) -> Result<alloc::string::String, VarError> {
        Err(VarError)
    }

    /// Returns `None`: there are no variables.
    pub fn var_os(_: &str) -> Option<alloc::string::String> {
        None
    }
}

/// The one process.
pub mod process {
    /// Ends the machine with a failure.
    pub fn abort() -> ! {
        xkernel::exit(xkernel::ExitStatus::Failure)
    }
}

/// What each module has without an import.
pub mod prelude {
    /// What it has in this edition. `test` puts functions into the list that an image goes through.
    pub mod rust_2024 {
        // The compiler imports macros from here, too.
        pub use crate::macros::*;
        pub use crate::{eprintln, println, thread_local};
        pub use alloc::borrow::ToOwned;
        pub use alloc::boxed::Box;
        pub use alloc::string::{String, ToString};
        pub use alloc::vec::Vec;
        pub use alloc::{format, vec};
        pub use core::prelude::rust_2024::*;
        pub use xkernel_test_attribute::test;
    }
}
