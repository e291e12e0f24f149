//! Planted faults, which show that the checks notice them: see `.ci/faults`.
//!
//! `planted!("name")` marks the place of a fault in the shipped code. It is the constant `false`
//! unless the crate is built with `--cfg faults`: then the runtime says whether it is planted.

/// Is true if the fault of that name is planted.
#[cfg(faults)]
macro_rules! planted {
    ($name:literal) => {
        xtasking::planted::is($name)
    };
}

/// Is false: other builds have no faults.
#[cfg(not(faults))]
macro_rules! planted {
    ($name:literal) => {
        false
    };
}
