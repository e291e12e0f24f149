//! Thread pools around a queue, and a thread for each request.

use super::load::Request;
use crossbeam_skiplist::SkipMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use xtasking_harness::machine::pin;

/// A concurrent priority queue of requests.
pub(super) trait Queue: Send + Sync + 'static {
    /// Adds a request. The lowest rank is served first; equal ranks are FIFO.
    fn push(&self, rank: u16, request: Arc<Request>);
    /// Waits for a request and takes it; returns `None` once the queue is closed and empty.
    fn pop(&self) -> Option<Arc<Request>>;
    /// Closes the queue, after which `pop` does not wait.
    fn close(&self);
}

/// A rank, and a sequence number that makes keys unique and equal ranks FIFO.
type Key = (u16, u64);

/// The standard library's heap in a mutex, with a condition variable.
#[derive(Default)]
pub(super) struct MutexHeap {
    state: Mutex<HeapState>,
    filled: Condvar,
}

#[derive(Default)]
struct HeapState {
    heap: BinaryHeap<Reverse<HeapEntry>>,
    next_sequence: u64,
    is_closed: bool,
}

struct HeapEntry(Key, Arc<Request>);

impl Ord for HeapEntry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for HeapEntry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for HeapEntry {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for HeapEntry {}

const NOT_POISONED: &str = "no thread panics while it holds the lock";

impl Queue for MutexHeap {
    fn push(&self, rank: u16, request: Arc<Request>) {
        let mut state = self.state.lock().expect(NOT_POISONED);
        state.next_sequence += 1;
        let key = (rank, state.next_sequence);
        state.heap.push(Reverse(HeapEntry(key, request)));
        drop(state);
        self.filled.notify_one();
    }

    fn pop(&self) -> Option<Arc<Request>> {
        let mut state = self.state.lock().expect(NOT_POISONED);
        loop {
            if let Some(Reverse(HeapEntry(_, request))) = state.heap.pop() {
                return Some(request);
            }
            if state.is_closed {
                return None;
            }
            state = self.filled.wait(state).expect(NOT_POISONED);
        }
    }

    fn close(&self) {
        self.state.lock().expect(NOT_POISONED).is_closed = true;
        self.filled.notify_all();
    }
}

/// A lock-free skip list. It offers nothing to wait on, so an idle thread yields and polls.
#[derive(Default)]
pub(super) struct SkipList {
    map: SkipMap<Key, Arc<Request>>,
    next_sequence: AtomicU64,
    is_closed: AtomicBool,
}

impl Queue for SkipList {
    fn push(&self, rank: u16, request: Arc<Request>) {
        self.map.insert((rank, self.next_sequence.fetch_add(1, Relaxed)), request);
    }

    fn pop(&self) -> Option<Arc<Request>> {
        loop {
            if let Some(entry) = self.map.pop_front() {
                return Some(entry.value().clone());
            }
            if self.is_closed.load(Relaxed) {
                return None;
            }
            thread::yield_now();
        }
    }

    fn close(&self) {
        self.is_closed.store(true, Relaxed);
    }
}

/// A thread pool that serves the requests of a queue.
pub(super) struct Threads<Q: Queue> {
    queue: Arc<Q>,
    workers: Vec<JoinHandle<()>>,
}

impl<Q: Queue + Default> Threads<Q> {
    /// Starts a pool with a number of threads, pinned like the workers of XTasking.
    pub fn start(workers: usize) -> std::io::Result<Self> {
        let mut pool = Self { queue: Arc::new(Q::default()), workers: Vec::new() };
        for index in 0..workers {
            let queue = pool.queue.clone();
            let worker = thread::Builder::new().spawn(move || {
                pin(index, workers);
                while let Some(request) = queue.pop() {
                    request.serve();
                }
            })?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    pub fn submit(&self, request: Arc<Request>) {
        self.queue.push(request.rank(), request);
    }
}

impl<Q: Queue> Drop for Threads<Q> {
    fn drop(&mut self) {
        self.queue.close();
        for worker in self.workers.drain(..) {
            worker.join().expect("a worker does not panic");
        }
    }
}

/// A new thread for each request, with a limit on running threads, at which submitting blocks.
pub(super) struct ThreadPerRequest {
    limit: usize,
    running: Arc<(Mutex<usize>, Condvar)>,
}

impl ThreadPerRequest {
    /// Creates a server with at most `limit` threads at a time.
    pub fn new(limit: usize) -> Self {
        Self { limit, running: Arc::default() }
    }

    pub fn submit(&self, request: Arc<Request>) {
        let (running, ended) = &*self.running;
        let mut count = running.lock().expect(NOT_POISONED);
        count = ended.wait_while(count, |running| *running >= self.limit).expect(NOT_POISONED);
        *count += 1;
        drop(count);
        let state = self.running.clone();
        thread::spawn(move || {
            request.serve();
            *state.0.lock().expect(NOT_POISONED) -= 1;
            state.1.notify_one();
        });
    }
}

/// Starts and pins the threads of a pool that offers no function for this. (A thread that is
/// started later would inherit the core of the thread that submits.)
pub(super) fn start_threads(workers: usize, execute: impl Fn(Box<dyn FnOnce() + Send>)) {
    let all = Arc::new(Barrier::new(workers + 1));
    for index in 0..workers {
        let all = all.clone();
        execute(Box::new(move || {
            pin(index, workers);
            // Holds the thread, so that each takes one of these.
            all.wait();
        }));
    }
    all.wait();
}
