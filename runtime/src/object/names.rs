//! Names of objects, by address. Only observed runtimes look names up, and only named objects are
//! here.

use crate::monitor::Description;
use crate::sync::{AtomicBool, Relaxed, SpinMutex};
use alloc::collections::BTreeMap;

/// The names of a runtime's objects.
#[derive(Default)]
pub(crate) struct ObjectNames {
    /// An object has had a name. Relaxed: a thread that knows a named object sees its store, which
    /// came before the object was passed on.
    has_any: AtomicBool,
    by_address: SpinMutex<BTreeMap<usize, &'static str>>,
}

impl ObjectNames {
    /// Names an object that no other thread knows yet.
    pub fn insert(&self, address: usize, name: &'static str) {
        self.by_address.lock().insert(address, name);
        self.has_any.store(true, Relaxed);
    }

    /// Forgets the name of an object, before its memory is freed.
    pub fn remove(&self, address: usize) {
        if self.has_any.load(Relaxed) && !planted!("object-name-kept") {
            self.by_address.lock().remove(&address);
        }
    }

    /// Returns the name of an object.
    pub fn get(&self, address: usize) -> Option<&'static str> {
        if !self.has_any.load(Relaxed) {
            return None;
        }
        self.by_address.lock().get(&address).copied()
    }

    /// Adds the names of the objects that a task touches.
    pub fn complete(&self, description: &mut Description) {
        if self.has_any.load(Relaxed) {
            let names = self.by_address.lock();
            for object in description.objects.iter_mut().flatten() {
                object.name = names.get(&object.address).copied();
            }
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use crate::Runtime;
    use crate::platform::Simulation;

    #[test]
    fn the_name_of_a_freed_object_is_forgotten() {
        let rt = Runtime::builder().platform(Simulation::new(2, 1)).build().unwrap();
        let names = || rt.shared().names.by_address.lock().len();
        let (kept, dropped) = (rt.plain(1).name("kept").build(), rt.plain(2).name("dropped").build());
        assert_eq!(names(), 2);
        drop(dropped);
        // Retired objects are freed some epochs later.
        (0..1000).for_each(|_| rt.task(kept.write()).submit(|_, _| ()).join().unwrap());
        assert_eq!(names(), 1);
    }
}
