//! The end of a server while no file can be opened. The limit is that of the process, so that this
//! is its only test.

#![cfg(target_os = "linux")]

use xtasking::Runtime;
use xtasking_inspect::serve;

/// Returns true if the server's thread sleeps: it waits for a connection.
fn is_accepting() -> bool {
    std::fs::read_dir("/proc/self/task").unwrap().any(|thread| {
        let stat = std::fs::read_to_string(thread.unwrap().path().join("stat"));
        stat.is_ok_and(|stat| stat.contains("(inspect) S "))
    })
}

fn limit_files(limit: &libc::rlimit) {
    // SAFETY: the limit is only read, and lives that long.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const *limit) }, 0);
}

#[test]
fn the_end_needs_no_free_file() {
    // SAFETY: a hang ends by a signal; nothing else uses the alarm.
    unsafe { libc::alarm(120) };
    let rt = Runtime::builder().workers(1).inspection(true).build().unwrap();
    let server = serve(&rt, "127.0.0.1:0").unwrap();
    while !is_accepting() {
        std::thread::yield_now();
    }
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is written, and lives that long.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut before) }, 0);
    limit_files(&libc::rlimit { rlim_cur: 0, ..before });
    assert!(std::fs::File::open("/dev/null").is_err(), "a file is free");
    drop(server);
    limit_files(&before);
    // SAFETY: it has no requirements.
    unsafe { libc::alarm(0) };
}
