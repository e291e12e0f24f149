//! Jobs for which no thread waits.

use crate::global::with_current_pool;
use crate::panics::catch_for;
use crate::queues::Job;
use crate::registry::Registry;
use std::sync::Arc;

/// Makes a job whose panic goes to the pool's handler.
pub(crate) fn detached(registry: &Arc<Registry>, body: impl FnOnce() + Send + 'static) -> Job {
    // Weak: a queued job must not keep its own pool alive. The runner that runs it does.
    let registry = Arc::downgrade(registry);
    Box::new(move || {
        let registry = registry.upgrade();
        catch_for(registry.as_ref().and_then(|registry| registry.panic_handler.as_deref()), body);
    })
}

/// Runs a function in the calling thread's pool, or else in the global one. Returns at once.
///
/// Of the jobs that a worker spawns, it runs the youngest first. A panic goes to the pool's
/// [handler](crate::ThreadPoolBuilder::panic_handler), and without one ends the process.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon_core::spawn(move || sender.send(6 * 7).unwrap());
/// assert_eq!(receiver.recv()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn spawn(body: impl FnOnce() + Send + 'static) {
    with_current_pool(|pool| pool.push(detached(pool, body)));
}

/// Runs a function as [`spawn`] does. Of the jobs that a worker spawns so, the oldest runs first.
pub fn spawn_fifo(body: impl FnOnce() + Send + 'static) {
    with_current_pool(|pool| pool.push_fifo(detached(pool, body)));
}
