//! A reader/writer lock in virtual time, which is granted in the order of arrival.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use xtasking_virtual_time::{Clocks, Queue};

/// A lock without data.
pub(super) struct Lock {
    state: Mutex<State>,
    queue: Queue,
}

/// How a thread holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Write,
}

#[derive(Default)]
struct State {
    readers: usize,
    has_writer: bool,
    /// What the waiting threads want, in the order of the queue.
    waiting: VecDeque<Mode>,
}

/// A lock that is held until this is dropped.
pub(super) struct Guard<'l> {
    lock: &'l Lock,
    mode: Mode,
}

impl State {
    /// Takes the lock if nothing that holds it conflicts. Returns true if it did.
    fn take(&mut self, mode: Mode) -> bool {
        let can_take = !self.has_writer && (mode == Mode::Read || self.readers == 0);
        if can_take {
            match mode {
                Mode::Read => self.readers += 1,
                Mode::Write => self.has_writer = true,
            }
        }
        can_take
    }
}

impl Lock {
    pub fn new(clocks: &Clocks) -> Self {
        Self { state: Mutex::default(), queue: clocks.queue() }
    }

    /// Takes the lock, after all that came before.
    pub fn lock(&self, mode: Mode) -> Guard<'_> {
        let mut state = self.state();
        if !state.waiting.is_empty() || !state.take(mode) {
            state.waiting.push_back(mode);
            drop(state);
            // The thread that calls this one has taken the lock for it.
            self.queue.wait();
        }
        Guard { lock: self, mode }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let mut state = self.lock.state();
        match self.mode {
            Mode::Read => state.readers -= 1,
            Mode::Write => state.has_writer = false,
        }
        while let Some(&mode) = state.waiting.front()
            && state.take(mode)
        {
            state.waiting.pop_front();
            self.lock.queue.call_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use xtasking_virtual_time::{VirtualTime, costs};

    /// Returns when each thread had the lock, of threads that come after one another.
    fn times(modes: &[Mode]) -> Vec<u64> {
        let (_platform, clocks) = VirtualTime::new(1, 1, costs());
        let lock = Arc::new(Lock::new(&clocks));
        let threads: Vec<_> = modes
            .iter()
            .zip(1..)
            .map(|(&mode, time)| {
                let (lock, theirs) = (lock.clone(), clocks.clone());
                let body = move || {
                    theirs.spend(time);
                    let _guard = lock.lock(mode);
                    let begun = theirs.now();
                    theirs.spend(1000);
                    begun
                };
                clocks.submitter(body).unwrap()
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }

    #[test]
    fn readers_share_and_writers_exclude_in_the_order_of_arrival() {
        use Mode::{Read, Write};
        assert_eq!(times(&[Write, Write, Write]), [1, 1001, 2001]);
        assert_eq!(times(&[Read, Read, Read]), [1, 2, 3]);
        assert_eq!(times(&[Read, Write, Read, Read]), [1, 1001, 2001, 2001]);
        assert_eq!(times(&[Write, Read, Read, Write]), [1, 1001, 1001, 2001]);
    }
}
