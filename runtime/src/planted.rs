//! Faults that can be planted, to see that the checks notice: see `.ci/faults`.
//!
//! `planted!("name")` stands in the shipped code where a fault would be. It is the constant `false`, unless the crate is
//! built with `--cfg faults`: then it is whether the environment variable `XTASKING_FAULT` has that name. So one build
//! serves all faults, and no other build knows of them.

/// Whether the fault of that name is planted.
macro_rules! planted {
    ($name:literal) => {
        cfg!(faults) && $crate::planted::is($name)
    };
}

/// Whether the environment asks for this fault.
#[cfg(all(faults, feature = "std"))]
pub(crate) fn is(name: &str) -> bool {
    static ASKED_FOR: std::sync::OnceLock<Option<std::string::String>> = std::sync::OnceLock::new();
    ASKED_FOR.get_or_init(|| std::env::var("XTASKING_FAULT").ok()).as_deref() == Some(name)
}

/// There are none in other builds.
#[cfg(not(all(faults, feature = "std")))]
pub(crate) const fn is(_: &str) -> bool {
    false
}
