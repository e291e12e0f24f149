//! The end of a server in a forked process.

use crate::client::get;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use xtasking::Runtime;
use xtasking_inspect::{ServeError, Server, serve};

fn served() -> (Runtime, Server) {
    let rt = Runtime::builder().workers(1).inspection(true).build().unwrap();
    let server = serve(&rt, "127.0.0.1:0").unwrap();
    (rt, server)
}

/// Runs a function in a forked process. Returns true if it returns true there.
fn holds_in_child(check: impl FnOnce() -> bool) -> bool {
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

#[test]
fn a_forked_process_does_not_wait_for_threads_that_it_lacks() {
    let (rt, server) = served();
    // A page is open: the recording has a thread, too.
    assert_eq!(get(&server, "/data").status, 200);
    let mut kept = Some((rt, server));
    assert!(holds_in_child(|| {
        let (rt, server) = kept.take().unwrap();
        let refused = matches!(server.show(&rt), Err(ServeError::Forked));
        drop(server);
        refused
    }));
    // The parent's goes on.
    let (rt, server) = kept.unwrap();
    assert_eq!(get(&server, "/data").status, 200);
    server.show(&rt).unwrap();
}
