//! Plain threads that do something at the same time.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;

thread_local! {
    /// This thread runs the tasks of a simulation.
    static DRIVES: Cell<bool> = const { Cell::new(false) };
}

/// Says whether this thread runs the tasks of a simulation.
pub(crate) fn drives(simulation: bool) {
    DRIVES.set(simulation);
}

/// Gives others time to come in between. In a [setting](crate::on_each) of virtual cores these are none but strangers,
/// whom to wait for takes long on a busy machine and shows nothing.
pub fn let_others_in() {
    if !DRIVES.get() {
        thread::yield_now();
    }
}

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
