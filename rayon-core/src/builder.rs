//! The options of a pool, as a program sets them.

use crate::error::ThreadPoolBuildError;
use crate::global::set_global;
use crate::options::ThreadPoolBuilder;
use crate::panics::{PanicHandler, Payload};
use crate::pool::ThreadPool;
use crate::threads::{CustomSpawn, Handler, ThreadBuilder, ThreadSpawn, std_builder};
use std::sync::Arc;
use std::{fmt, io, thread};
use xtasking::Builder;

impl ThreadPoolBuilder {
    /// Begins the options of a pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a function that starts each thread: it calls [`ThreadBuilder::run`] there.
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            stack_size: self.stack_size,
            name: self.name,
            handlers: self.handlers,
            oldest_first: self.oldest_first,
            use_current_thread: self.use_current_thread,
            configure: self.configure,
            spawn: CustomSpawn(spawn),
        }
    }

    /// Builds a pool whose threads may borrow, calls a function with it, and waits for the threads.
    /// `wrapper` is called on each thread, and calls [`ThreadBuilder::run`].
    ///
    /// # Errors
    ///
    /// Fails as [`build`](Self::build) does.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        thread::scope(|scope| {
            let spawn =
                |thread| std_builder(&thread).spawn_scoped(scope, move || wrapper(thread)).map(|_| ());
            let pool = self.spawn_handler(spawn).build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds a pool.
    ///
    /// # Errors
    ///
    /// Fails if the threads cannot be started, or with
    /// [`use_current_thread`](Self::use_current_thread).
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.build_registry().map(ThreadPool::of)
    }

    /// Builds the global pool.
    ///
    /// # Errors
    ///
    /// Fails if there is one already, or as [`build`](Self::build) does.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        set_global(|| self.build_registry())
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Sets the number of threads. Default, and for 0: that of the environment variable
    /// `RAYON_NUM_THREADS`, or one for each core.
    #[must_use]
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Sets a function that names each thread.
    #[must_use]
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.name = Some(Box::new(closure));
        self
    }

    /// Sets the stack size of each thread in bytes. Default: that of the standard library.
    #[must_use]
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Makes the build fail: see the head of this crate.
    #[must_use]
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Sets the function that gets the payloads of panics for which no thread waits. Without one,
    /// or if it panics itself, such a panic ends the process.
    #[must_use]
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Payload) + Send + Sync + 'static,
    {
        let handler: Arc<PanicHandler> = Arc::new(panic_handler);
        self.handlers.panic = Some(handler);
        self
    }

    /// Sets a function that each thread calls when it starts.
    #[must_use]
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        let handler: Box<Handler> = Box::new(start_handler);
        self.handlers.start = Some(handler);
        self
    }

    /// Sets a function that each thread calls when it ends.
    #[must_use]
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        let handler: Box<Handler> = Box::new(exit_handler);
        self.handlers.exit = Some(handler);
        self
    }

    /// Lets each worker run the oldest of its own jobs first.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo`")]
    #[must_use]
    pub fn breadth_first(mut self) -> Self {
        self.oldest_first = true;
        self
    }

    /// Sets options of the pool's runtime, such as
    /// [statistics](xtasking::Builder::statistics). The number of workers, the platform and
    /// [`while_waiting`](xtasking::Builder::while_waiting) are the pool's own. (rayon has no such
    /// function.)
    ///
    /// ```
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(2);
    /// let pool = builder.configure(|runtime| runtime.statistics(true)).build()?;
    /// rayon_core::ThreadPool::install(&pool, || ());
    /// assert!(pool.runtime().statistics().is_some());
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn configure(mut self, configure: impl FnOnce(Builder) -> Builder + 'static) -> Self {
        self.configure = Some(Box::new(configure));
        self
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

/// The options of a pool, by an older name.
#[deprecated(note = "use `ThreadPoolBuilder`")]
#[derive(Debug, Default)]
pub struct Configuration(ThreadPoolBuilder);

/// Builds the global pool.
///
/// # Errors
///
/// Fails as [`ThreadPoolBuilder::build_global`] does.
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
#[allow(deprecated, reason = "a part of the interface")]
pub fn initialize(configuration: Configuration) -> Result<(), Box<dyn std::error::Error>> {
    configuration.0.build_global().map_err(Box::from)
}

#[allow(deprecated, reason = "a part of the interface")]
impl Configuration {
    /// Begins the options of a pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool.
    ///
    /// # Errors
    ///
    /// Fails as [`ThreadPoolBuilder::build`] does.
    pub fn build(self) -> Result<ThreadPool, Box<dyn std::error::Error + 'static>> {
        self.0.build().map_err(Box::from)
    }

    /// As [`ThreadPoolBuilder::thread_name`].
    #[must_use]
    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        Self(self.0.thread_name(closure))
    }

    /// As [`ThreadPoolBuilder::num_threads`].
    #[must_use]
    pub fn num_threads(self, num_threads: usize) -> Self {
        Self(self.0.num_threads(num_threads))
    }

    /// As [`ThreadPoolBuilder::panic_handler`].
    #[must_use]
    pub fn panic_handler<H>(self, panic_handler: H) -> Self
    where
        H: Fn(Payload) + Send + Sync + 'static,
    {
        Self(self.0.panic_handler(panic_handler))
    }

    /// As [`ThreadPoolBuilder::stack_size`].
    #[must_use]
    pub fn stack_size(self, stack_size: usize) -> Self {
        Self(self.0.stack_size(stack_size))
    }

    /// As [`ThreadPoolBuilder::breadth_first`].
    #[must_use]
    pub fn breadth_first(self) -> Self {
        Self(self.0.breadth_first())
    }

    /// As [`ThreadPoolBuilder::start_handler`].
    #[must_use]
    pub fn start_handler<H>(self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Self(self.0.start_handler(start_handler))
    }

    /// As [`ThreadPoolBuilder::exit_handler`].
    #[must_use]
    pub fn exit_handler<H>(self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Self(self.0.exit_handler(exit_handler))
    }
}
