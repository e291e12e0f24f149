//! Concurrent plain threads.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;

thread_local! {
    /// This thread runs the tasks of a simulation.
    static DRIVES: Cell<bool> = const { Cell::new(false) };
}

/// Sets whether this thread runs the tasks of a simulation.
pub(crate) fn drives(simulation: bool) {
    DRIVES.set(simulation);
}

/// Yields to other threads. With virtual cores no other thread takes part, so this does nothing;
/// yielding takes long on a busy machine.
pub fn let_others_in() {
    if !DRIVES.get() {
        thread::yield_now();
    }
}

/// Locks a mutex, poisoned or not, by trying repeatedly. The standard library's `lock` waits in
/// code that ThreadSanitizer does not see, so consecutive accesses would look like a race.
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
/// Joins the threads one by one: a scope waits by means that ThreadSanitizer does not see.
///
/// # Panics
///
/// Panics if one of the bodies does.
pub fn side_by_side<R: Send, B: FnOnce() -> R + Send>(bodies: impl IntoIterator<Item = B>) -> Vec<R> {
    let simulation = DRIVES.get();
    thread::scope(|scope| {
        let spawn = |body: B| {
            scope.spawn(move || {
                drives(simulation);
                body()
            })
        };
        let threads: Vec<_> = bodies.into_iter().map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().expect("a plain thread")).collect()
    })
}
