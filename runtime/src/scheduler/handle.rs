//! Handles to a runtime: for threads and objects that use it without owning it.

use super::runtime_state::phase;
use super::{Context, Runtime, RuntimeState};
use alloc::sync::{Arc, Weak};
use core::fmt;
use core::ops::Deref;

/// A handle to a [`Runtime`], to be cloned and passed to whatever spawns tasks: a connection, a
/// service, another thread. It has all methods of the runtime but [`Runtime::shutdown`].
///
/// A handle does not keep the runtime running: dropping the [`Runtime`] ends it, whatever handles
/// there are. From then on a handle spawns nothing. The result of such a task is
/// [`JoinError::ShutDown`](crate::JoinError::ShutDown); without a handle the failure goes to the
/// runtime's hook. So no task is lost silently, and none hangs.
///
/// A spawn by a handle takes two atomic additions more than one by the runtime itself.
///
/// ```
/// use xtasking::{JoinError, Runtime};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let handle = rt.handle();
/// let thread = std::thread::spawn(move || {
///     let total = handle.plain(0u64).build();
///     for number in 1..=100 {
///         handle.task(total.write()).spawn(move |total, _| *total += number);
///     }
///     let sum = handle.task(total.read()).submit(|total, _| *total).join();
///     (handle, sum)
/// });
/// let (handle, sum) = thread.join().unwrap();
/// assert_eq!(sum?, 5050);
///
/// drop(rt);
/// let late = handle.task(()).submit(|(), _| ()).join();
/// assert!(matches!(late, Err(JoinError::ShutDown)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RuntimeHandle {
    /// Not the owner: dropping it has no effect.
    runtime: Runtime,
}

/// A handle that does not keep the memory of a runtime; made by [`RuntimeHandle::downgrade`].
///
/// A [`RuntimeHandle`] in something that the runtime itself owns, as the hook of
/// [`Builder::on_failure`](crate::Builder::on_failure), would keep the two alive forever. This one
/// does not.
#[derive(Clone)]
pub struct WeakRuntimeHandle {
    shared: Weak<RuntimeState>,
}

impl Runtime {
    /// Returns a handle, by which other threads use the runtime.
    pub fn handle(&self) -> RuntimeHandle {
        RuntimeHandle::new(self.shared.clone())
    }

    /// Returns true if the runtime has begun to end. A handle spawns nothing from then on.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.is_shutting_down()
    }
}

impl Context {
    /// Returns a handle to the runtime, for a thread or a future outside that is to spawn tasks.
    pub fn handle(&self) -> RuntimeHandle {
        RuntimeHandle::new(self.worker.shared.clone())
    }
}

impl RuntimeHandle {
    pub(crate) fn new(shared: Arc<RuntimeState>) -> Self {
        Self { runtime: Runtime { shared, is_owner: false } }
    }

    /// Returns a handle that does not keep the memory of the runtime.
    pub fn downgrade(&self) -> WeakRuntimeHandle {
        WeakRuntimeHandle { shared: Arc::downgrade(&self.runtime.shared) }
    }
}

impl WeakRuntimeHandle {
    /// Returns a handle to the runtime; `None` once the runtime has ended.
    pub fn upgrade(&self) -> Option<RuntimeHandle> {
        let shared = self.shared.upgrade()?;
        (shared.phase() != phase::STOPPED).then(|| RuntimeHandle::new(shared))
    }
}

impl Clone for RuntimeHandle {
    fn clone(&self) -> Self {
        self.runtime.handle()
    }
}

impl Deref for RuntimeHandle {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        &self.runtime
    }
}

impl fmt::Debug for RuntimeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeHandle").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

impl fmt::Debug for WeakRuntimeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakRuntimeHandle").finish_non_exhaustive()
    }
}
