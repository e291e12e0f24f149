//! Memory of an experiment: whether its data fits, and what one contender leaves to the next.

use xtasking_harness::failure::Failure;
use xtasking_harness::machine::available_memory;

/// Checks that `bytes` of memory are available. `options` names the options that determine them.
///
/// # Errors
///
/// A usage error that says how much is available.
pub(crate) fn check_available(options: &str, bytes: u64) -> Result<(), Failure> {
    /// Bytes of a mebibyte.
    const MEBIBYTE: u64 = 1 << 20;
    let available = available_memory().unwrap_or(u64::MAX);
    if bytes <= available {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{options} take about {} MiB, but only {} MiB of memory are available; choose less",
        bytes.div_ceil(MEBIBYTE),
        available / MEBIBYTE
    )))
}

/// Makes the system's allocator tidy up what was freed. glibc leaves small blocks as they are until
/// a larger one is allocated: then it merges all of them, many millions after some contenders, at
/// the cost of the next one.
pub(crate) fn tidy_up() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function may be called at any time, by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::check_available;

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(check_available("--records", 1 << 20).is_ok());
        let refused = check_available("--records", 1 << 60).unwrap_err().to_string();
        assert!(refused.starts_with("--records take about 1099511627776 MiB, but only "), "{refused}");
    }
}
