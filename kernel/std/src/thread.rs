//! Threads, which are cores.

use crate::io;
use crate::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use crate::pause::Pause;
use crate::sync::{Arc, Mutex};
use crate::time::Duration;
use alloc_crate::boxed::Box;
use alloc_crate::string::String;
use alloc_crate::vec::Vec;
use core::any::Any;
use core::cell::Cell;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use xkernel::{MAX_CORES, bare};

/// A value of each core.
pub struct LocalKey<T: 'static>([T; MAX_CORES]);

// SAFETY: each core accesses its own value only, and no core moves to another.
unsafe impl<T> Sync for LocalKey<T> {}

impl<T> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(values: [T; MAX_CORES]) -> Self {
        Self(values)
    }

    /// Calls a function with the value of this core.
    pub fn with<R>(&'static self, access: impl FnOnce(&T) -> R) -> R {
        access(&self.0[bare::current()])
    }
}

impl<T> LocalKey<Cell<T>> {
    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// Returns the value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }
}

impl<T> LocalKey<core::cell::RefCell<T>> {
    /// Calls a function with the value.
    pub fn with_borrow_mut<R>(&'static self, access: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| access(&mut cell.borrow_mut()))
    }
}

/// Declares values of each core.
#[macro_export]
macro_rules! thread_local {
    ($($(#[$meta:meta])* $visible:vis static $name:ident: $type:ty = const $value:block);* $(;)?) => {
        $($(#[$meta])* $visible static $name: $crate::thread::LocalKey<$type> =
            $crate::thread::LocalKey::new([const { $value }; $crate::thread::CORES]);)*
    };
}

#[doc(hidden)]
pub const CORES: usize = MAX_CORES;

/// The core may go on from [`park`].
static TOKENS: [AtomicBool; MAX_CORES] = [const { AtomicBool::new(false) }; MAX_CORES];

/// The number of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadId(usize);

/// A core.
#[derive(Clone, Debug)]
pub struct Thread(usize);

impl Thread {
    /// Returns its number.
    pub fn id(&self) -> ThreadId {
        ThreadId(self.0)
    }

    /// Lets its [`park`] return, or the next one.
    pub fn unpark(&self) {
        // SeqCst: before the core is woken.
        TOKENS[self.0].store(true, SeqCst);
        bare::wake(self.0);
    }
}

/// Returns the calling core.
pub fn current() -> Thread {
    Thread(bare::current())
}

/// Pauses for a moment, and halts at times: no other thread waits for this core, but the machine
/// below a virtual one may have fewer cores.
pub fn yield_now() {
    /// Pauses from one halt to the next.
    const INTERVAL: u32 = 16;
    /// How long a core halts.
    const NAP: Duration = Duration::from_micros(20);
    static PAUSES: [AtomicU32; MAX_CORES] = [const { AtomicU32::new(0) }; MAX_CORES];
    // Relaxed: only this core counts here.
    if PAUSES[bare::current()].fetch_add(1, Relaxed).is_multiple_of(INTERVAL) {
        bare::park(Some(NAP));
    } else {
        core::hint::spin_loop();
    }
}

/// Returns true while a panic of this core unwinds.
#[cfg(feature = "unwind")]
pub use unwinding::thread::panicking;

/// Returns false: a panic ends the machine.
#[cfg(not(feature = "unwind"))]
pub fn panicking() -> bool {
    false
}

/// Halts this core until its [`Thread::unpark`].
pub fn park() {
    // A sleep may also end for another reason.
    while !TOKENS[bare::current()].swap(false, SeqCst) {
        bare::park(None);
    }
}

/// Halts this core until its [`Thread::unpark`], or for about a time.
pub fn park_timeout(limit: Duration) {
    if !TOKENS[bare::current()].load(SeqCst) {
        bare::park(Some(limit));
    }
    _ = TOKENS[bare::current()].swap(false, SeqCst);
}

/// Halts this core for a time.
pub fn sleep(time: Duration) {
    let end = bare::now() + time;
    while let left = end.saturating_sub(bare::now())
        && !left.is_zero()
    {
        bare::park(Some(left));
    }
}

/// The panic of a thread.
type Panic = Box<dyn Any + Send>;

/// A thread that can be waited for.
pub struct JoinHandle<T> {
    thread: Thread,
    result: Arc<Mutex<Option<Result<T, Panic>>>>,
    is_done: Arc<AtomicBool>,
}

impl<T> JoinHandle<T> {
    /// Waits for its result, which is the panic's value if it has panicked.
    pub fn join(self) -> Result<T, Panic> {
        Pause::until(|| self.is_finished());
        let result = self.result.lock().ok().and_then(|mut result| result.take());
        result.expect("a thread that is done has left its result")
    }

    /// Returns true if it has left its result.
    pub fn is_finished(&self) -> bool {
        // Acquire pairs with the Release of the core that ran it.
        self.is_done.load(Acquire)
    }

    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

/// Starts a thread on a free core, if there is one.
///
/// # Safety
///
/// What the function borrows lives until the thread is done.
unsafe fn start<'a, T: Send + 'a>(run: impl FnOnce() -> T + Send + 'a) -> io::Result<JoinHandle<T>> {
    let (result, is_done) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
    let (place, done) = (result.clone(), is_done.clone());
    let job: Box<dyn FnOnce() + Send + 'a> = Box::new(move || {
        // Unwind safe: nothing else has what the function captures.
        let result = catch_unwind(AssertUnwindSafe(run));
        if let Ok(mut place) = place.lock() {
            *place = Some(result);
        }
        // The result is dropped here if its handle is gone.
        drop(place);
    });
    // SAFETY: the caller keeps what it borrows until it is done.
    let job: Box<dyn FnOnce() + Send + 'static> = unsafe { core::mem::transmute(job) };
    // Release pairs with the Acquire of those that wait for it.
    let core = bare::start(job, move || done.store(true, Release));
    let no_core = || io::Error::new(io::ErrorKind::WouldBlock, NO_CORE);
    core.map(|core| JoinHandle { thread: Thread(core), result, is_done }).ok_or_else(no_core)
}

/// Why a thread was not started.
const NO_CORE: &str = "no core is free for a thread: boot with more";

/// Starts a thread on a free core.
///
/// # Panics
///
/// Panics if there is none.
pub fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // SAFETY: it borrows nothing.
    unsafe { start(run) }.expect(NO_CORE)
}

/// Options of a thread, which change nothing here.
#[derive(Default)]
pub struct Builder;

impl Builder {
    /// Begins.
    pub fn new() -> Self {
        Self
    }

    /// Does nothing.
    #[must_use]
    pub fn name(self, _: String) -> Self {
        self
    }

    /// Does nothing.
    #[must_use]
    pub fn stack_size(self, _: usize) -> Self {
        self
    }

    /// Starts a thread on a free core, if there is one.
    pub fn spawn<T: Send + 'static>(
        self,
        run: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        // SAFETY: it borrows nothing.
        unsafe { start(run) }
    }
}

/// Threads that may borrow.
pub struct Scope<'scope, 'env: 'scope> {
    threads: Mutex<Vec<Arc<AtomicBool>>>,
    /// Panics of threads that no `join` has returned.
    panics: Arc<AtomicUsize>,
    _borrows: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// A thread of a scope.
pub struct ScopedJoinHandle<'scope, T> {
    thread: JoinHandle<T>,
    panics: Arc<AtomicUsize>,
    _scope: PhantomData<&'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for its result, which is the panic's value if it has panicked.
    pub fn join(self) -> Result<T, Panic> {
        let result = self.thread.join();
        if result.is_err() {
            self.panics.fetch_sub(1, Relaxed);
        }
        result
    }

    /// Returns true if it has left its result.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a thread on a free core.
    ///
    /// # Panics
    ///
    /// Panics if there is none.
    pub fn spawn<T: Send + 'scope>(
        &'scope self,
        run: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        let panics = self.panics.clone();
        let run = move || {
            catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
                // Relaxed: the scope waits for the thread, and then reads it.
                panics.fetch_add(1, Relaxed);
                resume_unwind(panic)
            })
        };
        // SAFETY: `scope` waits until it is done, before what it borrows ends.
        let thread = unsafe { start(run) }.expect(NO_CORE);
        if let Ok(mut threads) = self.threads.lock() {
            threads.push(thread.is_done.clone());
        }
        ScopedJoinHandle { thread, panics: self.panics.clone(), _scope: PhantomData }
    }
}

/// Runs a function with a scope, and waits for all of its threads.
///
/// # Panics
///
/// Panics if the function does, or if a thread does whose `join` was not called.
pub fn scope<'env, R>(run: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
    let scope = Scope { threads: Mutex::new(Vec::new()), panics: Arc::default(), _borrows: PhantomData };
    // Caught, as the threads may borrow what ends when the panic goes on.
    // SAFETY: the scope outlives its threads, as they are waited for below.
    let result = catch_unwind(AssertUnwindSafe(|| run(unsafe { &*(&raw const scope).cast() })));
    // A thread adds those that it starts before it is done itself. So once all are done that were
    // taken, an empty list is the end.
    while let Some(is_done) = scope.threads.lock().ok().and_then(|mut threads| threads.pop()) {
        // Acquire pairs with the Release of the core that ran it.
        Pause::until(|| is_done.load(Acquire));
    }
    let result = result.unwrap_or_else(|panic| resume_unwind(panic));
    assert!(scope.panics.load(Relaxed) == 0, "a scoped thread panicked");
    result
}
