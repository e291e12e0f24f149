//! What a pool is built from, and how it is built.

use crate::error::ThreadPoolBuildError;
use crate::queues::{BoundJobs, Queues};
use crate::registry::Registry;
use crate::threads::{DefaultSpawn, Handlers, ThreadBuilder, ThreadSpawn};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::{env, io, thread};
use xtasking::platform::Threads;
use xtasking::{Builder, QueuePolicy, Runtime};

/// The options of a [`ThreadPool`](crate::ThreadPool).
///
/// ```
/// let name = |index| format!("worker {index}");
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).thread_name(name).build()?;
/// assert_eq!(pool.current_num_threads(), 3);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    pub(crate) num_threads: usize,
    pub(crate) stack_size: Option<usize>,
    pub(crate) name: Option<Box<dyn FnMut(usize) -> String>>,
    pub(crate) handlers: Handlers,
    pub(crate) oldest_first: bool,
    pub(crate) use_current_thread: bool,
    pub(crate) configure: Option<Box<dyn FnOnce(Builder) -> Builder>>,
    pub(crate) spawn: S,
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

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds what a pool consists of, and starts its threads.
    pub(crate) fn build_registry(mut self) -> Result<Arc<Registry>, ThreadPoolBuildError> {
        if self.use_current_thread {
            return Err(ThreadPoolBuildError::current_thread());
        }
        let workers = self.threads().min(crate::max_num_threads());
        // `None` when the pool is complete: it gets no further threads.
        let to_start = Arc::new(Mutex::new(Some(Vec::new())));
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
            match starts.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                Some(starts) => starts.push(thread),
                None => return Err(io::Error::other("a pool has the threads with which it was built")),
            }
            Ok(())
        });
        let builder = serve_bound(builder, bound.clone(), of_hook.clone());
        let runtime = builder.workers(workers).most_workers(workers).platform(threads).build();
        let runtime = runtime.map_err(ThreadPoolBuildError::runtime)?;
        let queues = Queues::new(workers, self.oldest_first);
        let registry = Arc::new(Registry::new(runtime, queues, bound, self.handlers.panic.clone()));
        _ = of_hook.set(Arc::downgrade(&registry));
        let handlers = Arc::new(self.handlers);
        let to_start = to_start.lock().unwrap_or_else(PoisonError::into_inner).take();
        for worker in to_start.into_iter().flatten() {
            let name = self.name.as_mut().map(|name| name(worker.worker()));
            let thread =
                ThreadBuilder { worker, name, stack_size: self.stack_size, handlers: handlers.clone() };
            self.spawn.spawn(thread).map_err(ThreadPoolBuildError::thread)?;
        }
        Ok(registry)
    }
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
