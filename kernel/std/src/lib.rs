//! As much of the standard library as the runtime's tests and the store need, on this kernel.
//!
//! A crate that depends on it under the name `std` has it in place of the standard library, with
//! its prelude and macros: the compiler takes the crate of this name. So the sources of tests and
//! of the store compile as they are.
//!
//! A thread is a core: a new one takes a free core, and fails if there is none. What waits here
//! looks again and again, and halts in between. No lock is ever poisoned. Without the feature
//! `unwind` a panic ends the machine, and what would catch it never returns an error. There are no
//! files, and what would open one fails.
//!
//! | file | what is in it |
//! |---|---|
//! | `float` | functions of floating-point numbers |
//! | `fs`, `path` | files, of which there are none |
//! | `hash` | random keys of hash functions |
//! | `io` | readers and writers |
//! | `panic` | what catches panics elsewhere |
//! | `pause` | how a core waits |
//! | `random` | random bits |
//! | `sync` | locks, barriers, channels, what is initialised once |
//! | `thread` | threads, which are cores |
//! | `time` | the clock and the date |

#![no_std]

extern crate alloc as alloc_crate;
// The standard library, for panics alone.
#[cfg(feature = "unwind")]
extern crate std as unwinding;

mod float;
pub mod fs;
pub mod hash;
pub mod io;
pub mod panic;
pub mod path;
mod pause;
mod random;
pub mod sync;
pub mod thread;
pub mod time;

// By a glob, as the macro `panic` has a module of the same name beside it there.
pub use macros::*;

pub use alloc_crate::{alloc, borrow, boxed, fmt, format, rc, slice, str, string, vec};
pub use core::{
    any, array, cell, cmp, convert, error, f32, f64, future, hint, iter, marker, mem, num, ops, option, pin,
    ptr, result,
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
    pub use alloc_crate::collections::*;
    use hashbrown::DefaultHashBuilder;

    /// A map without an order. Its own hashes can be foreseen: keys that clients choose need
    /// others.
    pub type HashMap<K, V, S = DefaultHashBuilder> = hashbrown::HashMap<K, V, S>;
    /// A set without an order, with the same hashes.
    pub type HashSet<T, S = DefaultHashBuilder> = hashbrown::HashSet<T, S>;
}

/// Wakers.
pub mod task {
    pub use alloc_crate::task::Wake;
    pub use core::task::*;
}

/// An environment without variables.
pub mod env {
    /// The error of a variable that is not set.
    #[derive(Debug)]
    pub struct VarError;

    /// Returns an error: there are no variables.
    pub fn var(_: &str) -> Result<alloc_crate::string::String, VarError> {
        Err(VarError)
    }

    /// What is known of the system.
    pub mod consts {
        /// Its name.
        pub const OS: &str = "xkernel";
    }

    /// Returns `None`: there are no variables.
    pub fn var_os(_: &str) -> Option<alloc_crate::string::String> {
        None
    }
}

/// The one process.
pub mod process {
    /// Returns the number of the one process.
    pub fn id() -> u32 {
        1
    }

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
        pub use crate::float::Float as _;
        pub use crate::macros::*;
        pub use crate::{eprintln, println, thread_local};
        pub use alloc_crate::borrow::ToOwned;
        pub use alloc_crate::boxed::Box;
        pub use alloc_crate::string::{String, ToString};
        pub use alloc_crate::vec::Vec;
        pub use alloc_crate::{format, vec};
        pub use core::prelude::rust_2024::*;
        pub use xkernel_test_attribute::test;
    }
}
