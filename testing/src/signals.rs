//! Signals between tests and their tasks, and a count of drops.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use xtasking::{Handle, Promise, Runtime};

/// A flag for which threads and tasks wait.
#[derive(Clone, Default)]
pub struct Flag(Arc<AtomicBool>);

impl Flag {
    /// Sets the flag.
    pub fn set(&self) {
        self.0.store(true, SeqCst);
    }

    /// Returns true if the flag is set.
    pub fn is_set(&self) -> bool {
        self.0.load(SeqCst)
    }

    /// Waits for the flag, in a task on threads or on a plain thread.
    pub fn wait(&self) {
        while !self.is_set() {
            thread::yield_now();
        }
    }
}

/// Resolves a handle when a number of tasks have passed.
#[derive(Clone)]
pub struct Gate(Arc<(AtomicUsize, Mutex<Option<Promise<()>>>)>);

impl Gate {
    /// Returns a gate for `count` tasks, and the handle that waits for them.
    pub fn new(rt: &Runtime, count: usize) -> (Self, Handle<()>) {
        let (promise, handle) = rt.promise();
        (Self(Arc::new((AtomicUsize::new(count), Mutex::new(Some(promise))))), handle)
    }

    /// Lets one task pass.
    ///
    /// # Panics
    ///
    /// Panics if more than `count` tasks pass.
    pub fn pass(&self) {
        if self.0.0.fetch_sub(1, SeqCst) == 1 {
            self.0.1.lock().unwrap().take().expect("all have passed").fulfil(());
        }
    }
}

/// Counts its drops.
pub struct Dropped(pub Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}
