//! The threads of a pool, and how a program starts them itself.

use crate::panics::{PanicHandler, catch_for};
use std::sync::Arc;
use std::{fmt, io};
use xtasking::platform::WorkerThread;

pub(crate) type Handler = dyn Fn(usize) + Send + Sync;

/// What the threads of a pool do besides work.
#[derive(Default)]
pub(crate) struct Handlers {
    pub start: Option<Box<Handler>>,
    pub exit: Option<Box<Handler>>,
    pub panic: Option<Arc<PanicHandler>>,
}

/// A thread of a pool that is to be started, for
/// [`ThreadPoolBuilder::spawn_handler`](crate::ThreadPoolBuilder::spawn_handler).
pub struct ThreadBuilder {
    pub(crate) worker: WorkerThread,
    pub(crate) name: Option<String>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) handlers: Arc<Handlers>,
}

impl ThreadBuilder {
    /// Returns the index of the thread in its pool.
    pub fn index(&self) -> usize {
        self.worker.worker()
    }

    /// Returns the name that the pool's builder gives to the thread.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the stack size that the pool's builder says, in bytes.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works for the pool on the calling thread, until the pool has ended.
    pub fn run(self) {
        let index = self.index();
        let call = |handler: &Option<Box<Handler>>| {
            if let Some(handler) = handler {
                catch_for(self.handlers.panic.as_deref(), || handler(index));
            }
        };
        call(&self.handlers.start);
        self.worker.run();
        call(&self.handlers.exit);
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

/// How the threads of a pool are started. Only this crate implements it.
pub trait ThreadSpawn: sealed::Sealed {
    /// Starts a thread that calls [`ThreadBuilder::run`].
    ///
    /// # Errors
    ///
    /// Fails if the thread cannot be started.
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts threads by the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

/// Starts threads by a function of the program.
#[derive(Debug)]
pub struct CustomSpawn<F>(pub(crate) F);

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::DefaultSpawn {}
    impl<F> Sealed for super::CustomSpawn<F> {}
}

/// Returns the standard library's builder for a thread.
pub(crate) fn std_builder(thread: &ThreadBuilder) -> std::thread::Builder {
    let mut builder = std::thread::Builder::new();
    if let Some(name) = thread.name() {
        builder = builder.name(name.to_string());
    }
    if let Some(stack_size) = thread.stack_size() {
        builder = builder.stack_size(stack_size);
    }
    builder
}

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        std_builder(&thread).spawn(|| thread.run()).map(|_| ())
    }
}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}
