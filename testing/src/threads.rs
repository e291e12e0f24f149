//! Plain threads that do something at the same time.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;

/// Locks a mutex, whether or not somebody panicked meanwhile, by trying again and again: where std's `lock` has to wait it
/// does so in code that ThreadSanitizer does not see, so that those who come one after another look like a race.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    loop {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    }
}

/// Runs each body on a thread of its own, and returns their results, in order.
///
/// The threads are joined one by one: a scope waits by means that ThreadSanitizer does not see.
///
/// # Panics
///
/// If one of them does.
pub fn side_by_side<R: Send>(bodies: impl IntoIterator<Item = impl FnOnce() -> R + Send>) -> Vec<R> {
    thread::scope(|scope| {
        let threads: Vec<_> = bodies.into_iter().map(|body| scope.spawn(body)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a plain thread")).collect()
    })
}
