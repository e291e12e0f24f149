//! The global pool, and which pool a call is for.

use crate::error::ThreadPoolBuildError;
use crate::options::ThreadPoolBuilder;
use crate::registry::Registry;
use crate::worker::Worker;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();

/// Returns the global pool. The first call builds it.
///
/// # Panics
///
/// Panics if it cannot be built, as rayon does.
pub(crate) fn global() -> &'static Arc<Registry> {
    try_global().unwrap_or_else(|error| panic!("the global thread pool cannot be started: {error}"))
}

/// Returns the global pool. The first call builds it.
pub(crate) fn try_global() -> Result<&'static Arc<Registry>, ThreadPoolBuildError> {
    let build = || set_global(|| ThreadPoolBuilder::new().build_registry());
    match GLOBAL.get() {
        Some(registry) => Ok(registry),
        // Another thread may have built it meanwhile.
        None => build().map_or_else(|error| GLOBAL.get().ok_or(error), |()| try_global()),
    }
}

/// Builds the global pool.
///
/// # Errors
///
/// Fails if there is one already, or as `build` does.
pub(crate) fn set_global(
    build: impl FnOnce() -> Result<Arc<Registry>, ThreadPoolBuildError>,
) -> Result<(), ThreadPoolBuildError> {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    if GLOBAL.get().is_some() {
        return Err(ThreadPoolBuildError::already_initialized());
    }
    let registry = build()?;
    GLOBAL.set(registry).map_err(|_| ThreadPoolBuildError::already_initialized())
}

/// Calls a function with the calling worker's pool, or else with the global one.
pub(crate) fn with_current_pool<R>(body: impl FnOnce(&Arc<Registry>) -> R) -> R {
    Worker::with_current(|worker| match worker {
        Some(worker) => body(worker.registry()),
        None => body(global()),
    })
}
