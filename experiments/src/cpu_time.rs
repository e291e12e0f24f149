//! The CPU time of this process.

use std::time::Duration;

/// Returns the time that all threads of this process have spent on CPUs, in user and in system
/// mode; `None` where the system has no such clock.
pub(crate) fn cpu_time() -> Option<Duration> {
    #[cfg(target_os = "linux")]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a valid place for the result, and the call keeps no pointer to it.
        let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
        (status == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::cpu_time;
    use crate::computation::work;
    use std::hint::black_box;

    #[test]
    fn computing_takes_cpu_time() {
        let before = cpu_time().unwrap();
        black_box(work(black_box(1), 1_000_000));
        assert!(cpu_time().unwrap() > before);
    }
}
