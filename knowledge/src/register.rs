//! What our own runtimes use, told to one another.

use crate::facts::Registration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A list of runtimes that share a machine and leave each other's CPUs alone. Copies are the same list.
#[derive(Clone, Debug, Default)]
pub struct Register(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    next: u64,
    present: Vec<(u64, Registration)>,
}

/// As long as it lives, a registration stands.
#[derive(Debug)]
#[must_use = "what is registered stands only as long as this lives"]
pub struct Registered {
    register: Register,
    number: u64,
}

impl Register {
    /// Tells the others what a runtime uses.
    pub fn register(&self, registration: Registration) -> Registered {
        let mut entries = self.entries();
        let number = entries.next;
        entries.next += 1;
        entries.present.push((number, registration));
        Registered { register: self.clone(), number }
    }

    /// What is registered now, the oldest first.
    pub fn registrations(&self) -> Vec<Registration> {
        self.entries().present.iter().map(|entry| entry.1.clone()).collect()
    }

    /// No step below leaves the list half done: a panic while it was locked has not hurt it.
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registered {
    /// Tells that something else is used from now on, in the same place of the list.
    pub fn replace(&self, registration: Registration) {
        let mut entries = self.register.entries();
        if let Some(entry) = entries.present.iter_mut().find(|entry| entry.0 == self.number) {
            entry.1 = registration;
        }
    }
}

impl Drop for Registered {
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
    fn a_registration_stands_while_its_token_lives() {
        let register = Register::default();
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
