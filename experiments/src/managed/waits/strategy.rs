//! The strategies of waiting.

use crate::piece::compute;
use std::collections::VecDeque;
use std::fmt;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use xtasking_harness::random::mix;

/// When a client waits for which of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Waits for each request before it submits the next.
    Each,
    /// Has a number of slots. When all are taken, it waits for the oldest request.
    OldestOf(usize),
    /// Has a number of slots. When all are taken, it waits for any request: one that is over, or
    /// the oldest if none is.
    AnyOf(usize),
    /// Waits for all requests each time that it has submitted this many.
    Every(usize),
    /// Submits all requests before it waits for them.
    AtEnd,
}

impl Strategy {
    /// Returns all strategies, with these numbers of slots.
    pub fn all(slots: &[u32]) -> Vec<Self> {
        let with_slots: [fn(usize) -> Self; 3] = [Self::OldestOf, Self::AnyOf, Self::Every];
        let with_slots = with_slots.iter().flat_map(|of| slots.iter().map(|&slots| of(slots as usize)));
        [Self::Each].into_iter().chain(with_slots).chain([Self::AtEnd]).collect()
    }

    /// Returns after how many requests all are waited for; `None` if some are waited for before
    /// others.
    pub fn batch(self) -> Option<usize> {
        match self {
            Self::Each => Some(1),
            Self::Every(batch) => Some(batch),
            Self::AtEnd => Some(usize::MAX),
            Self::OldestOf(_) | Self::AnyOf(_) => None,
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each => f.write_str("each at once"),
            Self::OldestOf(slots) => write!(f, "the oldest of {slots} slots"),
            Self::AnyOf(slots) => write!(f, "any of {slots} slots"),
            Self::Every(period) => write!(f, "all, every {period}"),
            Self::AtEnd => f.write_str("all at the end"),
        }
    }
}

/// A request.
#[derive(Clone, Copy)]
pub(super) struct Request {
    number: u64,
    steps: u64,
    sum: &'static AtomicU64,
}

impl Request {
    /// Serves the request. The pool calls this once, on one of its threads or in the client's wait.
    pub fn serve(self) {
        black_box(compute(self.steps));
        // Relaxed: a wait synchronizes with the ends of its requests.
        self.sum.fetch_add(mix(self.number), Relaxed);
    }
}

/// The requests of a turn.
#[derive(Clone, Copy)]
pub(super) struct Requests {
    pub count: u64,
    /// The steps of each.
    pub steps: u64,
    /// The sum of numbers that stand for the requests that were served.
    pub sum: &'static AtomicU64,
}

impl Requests {
    /// Returns the requests.
    pub fn all(self) -> impl Iterator<Item = Request> {
        (0..self.count).map(move |number| Request { number, steps: self.steps, sum: self.sum })
    }

    /// Returns the sum after each request was served once.
    pub fn expected_sum(self) -> u64 {
        (0..self.count).fold(0, |sum, number| sum.wrapping_add(mix(number)))
    }
}

/// A pool that gives a handle for each request.
pub(super) trait Pool {
    type Handle;
    fn submit(&self, request: Request) -> Self::Handle;
    fn is_over(&self, handle: &Self::Handle) -> bool;
    fn wait(&self, handle: Self::Handle);

    /// Waits for all requests that were submitted, whose handles these are.
    fn wait_all(&self, handles: impl Iterator<Item = Self::Handle>) {
        handles.for_each(|handle| self.wait(handle));
    }
}

/// Submits requests, and waits for them as the strategy says. Returns after all have ended.
pub(super) fn run<P: Pool>(pool: &P, strategy: Strategy, requests: Requests) {
    let mut outstanding = VecDeque::new();
    for request in requests.all() {
        match strategy {
            Strategy::OldestOf(slots) if outstanding.len() == slots => {
                outstanding.pop_front().into_iter().for_each(|handle| pool.wait(handle));
            }
            Strategy::AnyOf(slots) if outstanding.len() == slots => {
                let over = outstanding.iter().position(|handle| pool.is_over(handle)).unwrap_or_default();
                outstanding.remove(over).into_iter().for_each(|handle| pool.wait(handle));
            }
            _ => {}
        }
        outstanding.push_back(pool.submit(request));
        if strategy.batch().is_some_and(|batch| outstanding.len() >= batch) {
            pool.wait_all(outstanding.drain(..));
        }
    }
    pool.wait_all(outstanding.drain(..));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// A pool that ends a request when it is waited for, or as soon as two younger ones come.
    #[derive(Default)]
    struct Fake {
        running: RefCell<Vec<Request>>,
        most: Cell<usize>,
        waited: RefCell<Vec<u64>>,
    }

    impl Fake {
        fn end(&self, number: u64) {
            let mut running = self.running.borrow_mut();
            let at = running.iter().position(|request| request.number == number);
            at.into_iter().for_each(|at| running.remove(at).serve());
        }
    }

    impl Pool for Fake {
        type Handle = u64;
        fn submit(&self, request: Request) -> u64 {
            self.running.borrow_mut().push(request);
            let number = request.number;
            // Only odd ones end by themselves.
            number.checked_sub(2).filter(|number| number % 2 == 1).into_iter().for_each(|old| self.end(old));
            self.most.set(self.most.get().max(self.running.borrow().len()));
            number
        }
        fn is_over(&self, handle: &u64) -> bool {
            self.running.borrow().iter().all(|request| request.number != *handle)
        }
        fn wait(&self, handle: u64) {
            self.waited.borrow_mut().push(handle);
            self.end(handle);
        }
    }

    fn run_on_fake(strategy: Strategy) -> (Vec<u64>, usize) {
        let requests = Requests { count: 8, steps: 0, sum: Box::leak(Box::default()) };
        let pool = Fake::default();
        run(&pool, strategy, requests);
        assert_eq!(requests.sum.load(Relaxed), requests.expected_sum(), "{strategy}");
        (pool.waited.into_inner(), pool.most.get())
    }

    #[test]
    fn each_strategy_waits_once_for_each_request() {
        for strategy in Strategy::all(&[1, 3, 100]) {
            let (mut waited, most) = run_on_fake(strategy);
            waited.sort_unstable();
            assert!(waited.into_iter().eq(0..8), "{strategy}");
            assert!(most > 0);
        }
        assert_eq!(Strategy::all(&[1, 3]).len(), 8);
    }

    #[test]
    fn strategies_wait_for_the_requests_that_they_name() {
        assert_eq!(run_on_fake(Strategy::Each), ((0..8).collect(), 1));
        assert_eq!(run_on_fake(Strategy::OldestOf(3)).0, [0, 1, 2, 3, 4, 5, 6, 7]);
        // Requests 1 and 3 end when 3 and 5 are submitted; 0 does not end by itself.
        assert_eq!(run_on_fake(Strategy::AnyOf(4)).0[..3], [1, 0, 3]);
        assert!(run_on_fake(Strategy::Every(4)).1 <= 4 && run_on_fake(Strategy::AtEnd).1 > 4);
    }
}
