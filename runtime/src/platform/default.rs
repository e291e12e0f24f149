//! The platform of runtimes whose builders name none.

use super::Platform;
use alloc::boxed::Box;
use alloc::sync::Arc;
use once_cell::race::OnceBox;

type MakePlatform = dyn Fn() -> Arc<dyn Platform> + Send + Sync;

/// A function that makes the default platform.
static DEFAULT: OnceBox<Box<MakePlatform>> = OnceBox::new();

/// Sets what a runtime runs on without a [platform](crate::Builder::platform) of its own: `make` is
/// called for each of them. Such a runtime has as many workers as the platform has cores, unless
/// its builder says otherwise.
///
/// A program calls it at most once, before it builds such a runtime. Returns false, and changes
/// nothing, if there is a default already. Until then runtimes run on threads; without the feature
/// `std` they cannot be built.
///
/// ```
/// use std::sync::Arc;
/// use xtasking::{Runtime, platform::{Simulation, set_default}};
///
/// assert!(set_default(|| Arc::new(Simulation::new(3, 1))));
/// let rt = Runtime::builder().build()?;
/// assert!(rt.is_simulated() && rt.workers() == 3);
/// assert!(!set_default(|| Arc::new(Simulation::new(1, 1))));
/// # Ok::<(), xtasking::BuildError>(())
/// ```
#[must_use = "it changes nothing if there is a default already"]
pub fn set_default(make: impl Fn() -> Arc<dyn Platform> + Send + Sync + 'static) -> bool {
    DEFAULT.set(Box::new(Box::new(make))).is_ok()
}

/// Makes a platform, if there is a default.
pub(crate) fn default_platform() -> Option<Arc<dyn Platform>> {
    DEFAULT.get().map(|make| make())
}
