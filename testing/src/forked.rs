//! Processes that are forked while the tests' runtimes have threads.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a function in a forked process. Returns true if it returns true there.
///
/// # Panics
///
/// If the process cannot be forked.
pub fn holds_in_child(check: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs only the function, and then exits without running destructors. The
    // allocator may be used in the child of a process with threads.
    unsafe {
        match libc::fork() {
            -1 => panic!("{}", io::Error::last_os_error()),
            0 => {
                // A hang ends by a signal.
                libc::alarm(60);
                let holds = catch_unwind(AssertUnwindSafe(check));
                libc::_exit(i32::from(!holds.unwrap_or(false)));
            }
            child => {
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
                status == 0
            }
        }
    }
}
