//! Planted faults, which show that the checks notice them: see `.ci/faults`.
//!
//! `planted!("name")` marks the place of a fault in the shipped code. It is the constant `false`,
//! unless the crate is built with `--cfg faults`: then it is true if the environment variable
//! `XTASKING_FAULT` has that name. So one build serves all faults, and no other build contains
//! them. The crates of this workspace that stand on the runtime use this macro, too: with
//! `#[macro_use(planted)] extern crate xtasking`.

/// Is true if the fault of that name is planted.
#[doc(hidden)]
#[macro_export]
macro_rules! planted {
    ($name:literal) => {
        cfg!(faults) && $crate::planted::is($name)
    };
}

/// Returns true if the environment variable names this fault.
#[cfg(all(faults, feature = "std"))]
#[must_use]
pub fn is(name: &str) -> bool {
    static ASKED_FOR: std::sync::OnceLock<Option<std::string::String>> = std::sync::OnceLock::new();
    ASKED_FOR.get_or_init(|| std::env::var("XTASKING_FAULT").ok()).as_deref() == Some(name)
}

/// Returns false: other builds have no faults.
#[cfg(not(all(faults, feature = "std")))]
#[must_use]
pub const fn is(_: &str) -> bool {
    false
}
