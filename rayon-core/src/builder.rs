//! The options of a pool.

use crate::error::ThreadPoolBuildError;
use crate::panics::{PanicHandler, Payload};
use crate::pool::ThreadPool;
use crate::queues::{BoundJobs, Queues};
use crate::registry::{Registry, set_global};
use crate::threads::{CustomSpawn, DefaultSpawn, Handler, Handlers, ThreadBuilder, ThreadSpawn, std_builder};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::{env, fmt, io, thread};
use xtasking::platform::Threads;
use xtasking::{Builder, QueuePolicy, Runtime};

/// The options of a [`ThreadPool`].
///
/// ```
/// let name = |index| format!("worker {index}");
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).thread_name(name).build()?;
/// assert_eq!(pool.current_num_threads(), 3);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    stack_size: Option<usize>,
    name: Option<Box<dyn FnMut(usize) -> String>>,
    handlers: Handlers,
    oldest_first: bool,
    use_current_thread: bool,
    configure: Option<Box<dyn FnOnce(Builder) -> Builder>>,
    spawn: S,
}

// Not for every `S`, which would have to be named then.
impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            num_threads: 0,
            stack_size: None,
            name: None,
            handlers: Handlers::default(),
            oldest_first: false,
            use_current_thread: false,
            configure: None,
            spawn: DefaultSpawn,
        }
    }
}

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

    /// Builds what a pool consists of, and starts its threads.
    pub(crate) fn build_registry(mut self) -> Result<Arc<Registry>, ThreadPoolBuildError> {
        if self.use_current_thread {
            return Err(ThreadPoolBuildError::current_thread());
        }
        let workers = self.threads().min(crate::max_num_threads());
        let to_start = Arc::new(Mutex::new(Vec::new()));
        let bound = Arc::new(BoundJobs::new(workers));
        let of_hook = Arc::new(OnceLock::new());
        let builder = Runtime::builder().pool(QueuePolicy::WorkStealing);
        let builder = match self.configure.take() {
            Some(configure) => configure(builder),
            None => builder,
        };
        // The threads start when there is a registry.
        let starts = to_start.clone();
        let threads = Threads::new(workers).unpinned().spawn_handler(move |thread| {
            starts.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
            Ok(())
        });
        let builder = serve_bound(builder, bound.clone(), of_hook.clone());
        let runtime = builder.workers(workers).most_workers(workers).platform(threads).build();
        let runtime = runtime.map_err(ThreadPoolBuildError::runtime)?;
        let queues = Queues::new(workers, self.oldest_first);
        let registry = Arc::new(Registry::new(runtime, queues, bound, self.handlers.panic.clone()));
        _ = of_hook.set(Arc::downgrade(&registry));
        let handlers = Arc::new(self.handlers);
        let to_start = std::mem::take(&mut *to_start.lock().unwrap_or_else(PoisonError::into_inner));
        for worker in to_start {
            let name = self.name.as_mut().map(|name| name(worker.worker()));
            let thread =
                ThreadBuilder { worker, name, stack_size: self.stack_size, handlers: handlers.clone() };
            self.spawn.spawn(thread).map_err(ThreadPoolBuildError::thread)?;
        }
        Ok(registry)
    }
}

/// Lets a worker that waits in a join run the jobs that are bound to it.
fn serve_bound(builder: Builder, bound: Arc<BoundJobs>, registry: Arc<OnceLock<Weak<Registry>>>) -> Builder {
    builder.while_waiting(move |fork| {
        let has_some = bound.has_some(fork.worker());
        if has_some && let Some(registry) = registry.get().and_then(Weak::upgrade) {
            registry.run_bound(fork);
        }
        has_some
    })
}

impl<S> ThreadPoolBuilder<S> {
    /// Returns the number of threads: that of the builder, else of the environment, else one for
    /// each core.
    fn threads(&self) -> usize {
        let of_environment = |name| env::var(name).ok().and_then(|value| value.parse::<usize>().ok());
        let default = || thread::available_parallelism().map_or(1, |threads| threads.get());
        match (self.num_threads, of_environment("RAYON_NUM_THREADS")) {
            (0, Some(0)) => default(),
            (0, Some(threads)) => threads,
            (0, None) => {
                let old = of_environment("RAYON_RS_NUM_CPUS").filter(|&threads| threads > 0);
                old.unwrap_or_else(default)
            }
            (threads, _) => threads,
        }
    }

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
