//! The operating system's view of this process: its CPU time, and whether it runs or sleeps.

use std::time::Duration;

/// Returns the CPU time that this process has used, by all its threads.
pub fn cpu_time() -> Duration {
    read(Clock::Process)
}

/// Returns the CPU time that this thread has used.
pub fn cpu_time_of_thread() -> Duration {
    read(Clock::Thread)
}

#[derive(Clone, Copy)]
enum Clock {
    Process,
    Thread,
}

#[cfg(unix)]
fn read(clock: Clock) -> Duration {
    let id = match clock {
        Clock::Process => libc::CLOCK_PROCESS_CPUTIME_ID,
        Clock::Thread => libc::CLOCK_THREAD_CPUTIME_ID,
    };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec owned by this function, and the call only writes it.
    assert_eq!(unsafe { libc::clock_gettime(id, &raw mut time) }, 0, "this system has no clock of CPU time");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns wall-clock time in place of CPU time, which other systems do not offer here.
#[cfg(not(unix))]
fn read(_: Clock) -> Duration {
    static ORIGIN: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    ORIGIN.elapsed()
}

/// Returns the number of voluntary context switches of this process.
#[cfg(unix)]
pub fn voluntary_switches() -> u64 {
    // SAFETY: `rusage` consists of integers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid rusage owned by this function, and the call only writes it.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) }, 0);
    usage.ru_nvcsw as u64
}

/// Returns zero, because this system does not say.
#[cfg(not(unix))]
pub fn voluntary_switches() -> u64 {
    0
}

/// Returns true if a thread other than the calling one runs or is ready to run. Returns false where
/// the system does not say.
pub(crate) fn is_any_ready() -> bool {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return false };
    let is_ready = |thread: &std::fs::DirEntry| {
        // After the name, which may contain parentheses itself, comes the state.
        let text = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))
    };
    threads.flatten().filter(is_ready).count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_passes_while_a_thread_computes() {
        let (process, thread) = (cpu_time(), cpu_time_of_thread());
        let mut sum = 0u64;
        while cpu_time_of_thread() == thread {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(cpu_time() > process);
    }
}
