//! Who keeps a [`Stand`].
//!
//! It lies in a block of the runtime's own memory, as its task does: what one thread allocates and another one frees, for each task, is
//! what the system's allocator does worst. Nobody counts who uses it: it is the spawner's until there is a task, and then the task's.

use super::stand::Stand;
use crate::memory::SizeClass;
use crate::task::builder::sealed::Spawn;
use crate::task::quietly;
use core::ptr::NonNull;

/// The stand of a task, as long as that is there; or none, if there was no memory left. Then there will be no task either.
#[derive(Clone, Copy)]
pub(super) struct StandOf(Option<NonNull<Stand>>);

// SAFETY: no more than a place; who may use what is there is said by `Stand`, which is Send and Sync.
unsafe impl Send for StandOf {}
// SAFETY: as above.
unsafe impl Sync for StandOf {}

impl StandOf {
    const CLASS: SizeClass = match SizeClass::for_size(size_of::<Stand>()) {
        Some(class) => class,
        None => panic!("a stand is larger than any block"),
    };

    pub fn new(spawner: &mut impl Spawn, stand: impl FnOnce() -> Stand) -> Self {
        const {
            assert!(align_of::<Stand>() <= 64, "blocks begin with a cache line");
            assert!(
                cfg!(any(model = "loom", model = "shuttle")) || size_of::<Stand>() <= 256,
                "it has grown"
            );
        }
        let block = spawner.allocate(Self::CLASS).map(NonNull::cast);
        match block {
            // SAFETY: it is fresh, and large enough.
            Some(block) => unsafe { block.write(stand()) },
            // What was to be in it is the application's, too.
            None => quietly(|| drop(stand)),
        }
        Self(block)
    }

    pub fn is_there(self) -> bool {
        self.0.is_some()
    }

    /// Where the stand is of a task, or of a spawner that has made one.
    pub fn get(self) -> NonNull<Stand> {
        self.0.expect("a task has a stand")
    }

    /// # Safety
    ///
    /// Nobody uses the stand any more; the spawner is of the same runtime as the one that it was made for.
    pub unsafe fn free(self, spawner: &mut impl Spawn) {
        if let Some(stand) = self.0 {
            // SAFETY: by the caller's promise; it was made in a block of that class.
            unsafe {
                stand.drop_in_place();
                spawner.give_back(Self::CLASS, stand.cast());
            }
        }
    }
}
