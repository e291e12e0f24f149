//! Pools of plain threads: workers around a queue, and a thread for each request.

use super::load::Request;
use crate::machine::pin;
use crossbeam_skiplist::SkipMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

/// A queue with ranks, from which several threads take.
pub(super) trait Queue: Send + Sync + 'static {
    fn push(&self, rank: u16, request: Arc<Request>);
    /// Waits for a request; `None` when the queue is closed and empty.
    fn pop(&self) -> Option<Arc<Request>>;
    fn close(&self);
}

/// A number by which requests of the same rank are told apart.
type Key = (u16, u64);

/// The standard library's heap under its mutex, with its condition variable.
#[derive(Default)]
pub(super) struct MutexHeap {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    heap: BinaryHeap<Reverse<Entry>>,
    came: u64,
    closed: bool,
}

struct Entry(Key, Arc<Request>);

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Entry {}

const NOT_POISONED: &str = "nobody panics under the lock";

impl Queue for MutexHeap {
    fn push(&self, rank: u16, request: Arc<Request>) {
        let mut state = self.state.lock().expect(NOT_POISONED);
        state.came += 1;
        let key = (rank, state.came);
        state.heap.push(Reverse(Entry(key, request)));
        drop(state);
        self.filled.notify_one();
    }

    fn pop(&self) -> Option<Arc<Request>> {
        let mut state = self.state.lock().expect(NOT_POISONED);
        loop {
            if let Some(Reverse(Entry(_, request))) = state.heap.pop() {
                return Some(request);
            }
            if state.closed {
                return None;
            }
            state = self.filled.wait(state).expect(NOT_POISONED);
        }
    }

    fn close(&self) {
        self.state.lock().expect(NOT_POISONED).closed = true;
        self.filled.notify_all();
    }
}

/// A lock-free skip list. There is nothing to wait on, so who finds nothing gives its core away and looks again.
#[derive(Default)]
pub(super) struct SkipList {
    map: SkipMap<Key, Arc<Request>>,
    came: AtomicU64,
    closed: AtomicBool,
}

impl Queue for SkipList {
    fn push(&self, rank: u16, request: Arc<Request>) {
        self.map.insert((rank, self.came.fetch_add(1, Relaxed)), request);
    }

    fn pop(&self) -> Option<Arc<Request>> {
        loop {
            if let Some(entry) = self.map.pop_front() {
                return Some(entry.value().clone());
            }
            if self.closed.load(Relaxed) {
                return None;
            }
            thread::yield_now();
        }
    }

    fn close(&self) {
        self.closed.store(true, Relaxed);
    }
}

/// Threads that serve what is in a queue.
pub(super) struct Threads<Q: Queue> {
    queue: Arc<Q>,
    workers: Vec<JoinHandle<()>>,
}

impl<Q: Queue + Default> Threads<Q> {
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

/// A new thread for each request, so many at a time at most: whoever submits waits while there are as many.
pub(super) struct ThreadPerRequest {
    at_once: usize,
    running: Arc<(Mutex<usize>, Condvar)>,
}

impl ThreadPerRequest {
    pub fn new(at_once: usize) -> Self {
        Self { at_once, running: Arc::default() }
    }

    pub fn submit(&self, request: Arc<Request>) {
        let (running, ended) = &*self.running;
        let mut count = running.lock().expect(NOT_POISONED);
        count = ended.wait_while(count, |running| *running >= self.at_once).expect(NOT_POISONED);
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
