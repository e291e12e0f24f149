//! The registry of the runtimes that share a machine.

use crate::facts::Registration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A list of runtimes that share a machine and avoid each other's CPUs. Clones are the same list.
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    next: u64,
    present: Vec<(u64, Registration)>,
}

/// Keeps a registration in its registry until dropped.
#[derive(Debug)]
#[must_use = "dropping the guard ends the registration"]
pub struct RegistrationGuard {
    register: Registry,
    number: u64,
}

impl Registry {
    /// Registers what a runtime uses, until the guard is dropped.
    pub fn register(&self, registration: Registration) -> RegistrationGuard {
        let mut entries = self.entries();
        let number = entries.next;
        entries.next += 1;
        entries.present.push((number, registration));
        RegistrationGuard { register: self.clone(), number }
    }

    /// Returns the current registrations, oldest first.
    pub fn registrations(&self) -> Vec<Registration> {
        self.entries().present.iter().map(|entry| entry.1.clone()).collect()
    }

    /// Every change of the list is a single step, so a panic under the lock leaves it consistent.
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RegistrationGuard {
    /// Replaces the registration; it keeps its place in the list.
    pub fn replace(&self, registration: Registration) {
        let mut entries = self.register.entries();
        if let Some(entry) = entries.present.iter_mut().find(|entry| entry.0 == self.number) {
            entry.1 = registration;
        }
    }
}

impl Drop for RegistrationGuard {
    fn drop(&mut self) {
        self.register.entries().present.retain(|entry| entry.0 != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime(name: &str, cpus: &[u32]) -> Registration {
        Registration { name: name.into(), cpus: cpus.to_vec(), memory: Vec::new() }
    }

    #[test]
    fn a_registration_lasts_until_its_guard_is_dropped() {
        let register = Registry::default();
        let first = register.register(runtime("a", &[0]));
        let second = register.clone().register(runtime("b", &[1]));
        first.replace(runtime("a", &[0, 2]));
        assert_eq!(register.registrations(), [runtime("a", &[0, 2]), runtime("b", &[1])]);
        drop(first);
        assert_eq!(register.registrations(), [runtime("b", &[1])]);
        drop(second);
        assert!(register.registrations().is_empty());
    }
}
