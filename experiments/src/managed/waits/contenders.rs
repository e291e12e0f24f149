//! The contenders: this runtime by ids and by handles, and other thread pools.

use super::strategy::{Pool, Request, Requests, Strategy, run};
use crate::managed::threads::start_threads;
use std::sync::Arc;
use threadpool::ThreadPool;
use xtasking::managed::{Managed, SetId};
use xtasking::{Handle, QueuePolicy, Runtime, queues::RankOrder};
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{cannot_start, start_rayon, start_tokio};
use xtasking_harness::page;

/// A client: a function that submits requests and waits for them by a strategy.
pub(super) type Client = Box<dyn Fn(Strategy, Requests) + Sync>;

/// Whether a contender has handles, so that it can wait for one request while others are
/// outstanding.
pub(super) type HasHandles = bool;

pub(super) type Entry = xtasking_harness::lineup::Entry<Client, HasHandles>;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    entry("managed", "XTasking, Managed::enqueue with the default policy", true, |workers| {
        managed(workers, QueuePolicy::Local)
    }),
    entry("managed-stealing", "XTasking, Managed::enqueue with work stealing", true, |workers| {
        managed(workers, QueuePolicy::WorkStealing)
    }),
    entry("managed-ranked", "XTasking, Managed::enqueue with exactly ranked queues", true, |workers| {
        managed(workers, QueuePolicy::Ranked(RankOrder::Exact))
    }),
    entry("tasks", "XTasking, a task with a handle for each request", true, |workers| {
        let rt = start(workers, QueuePolicy::Local)?;
        Ok(Box::new(move |strategy, requests| run(&Tasks(&rt), strategy, requests)))
    }),
    entry("tokio", "tokio, Runtime::spawn and the task's JoinHandle", true, |workers| {
        let rt = start_tokio(workers)?;
        Ok(Box::new(move |strategy, requests| run(&Tokio(&rt), strategy, requests)))
    }),
    entry("rayon", "rayon, a scope for each batch; no handles", false, rayon),
    entry("threadpool", "the crate threadpool, ThreadPool::join; no handles", false, threads),
];

const fn entry(
    name: &'static str,
    about: &'static str,
    has_handles: HasHandles,
    start: fn(usize) -> Result<Client, Failure>,
) -> Entry {
    Entry { name, about, is_parallel: true, start, more: has_handles }
}

fn start(workers: usize, policy: QueuePolicy) -> Result<Runtime, Failure> {
    let builder = Runtime::builder().workers(workers).pool(policy);
    page::start(builder).map_err(|error| cannot_start("xtasking", workers, &error))
}

fn managed(workers: usize, policy: QueuePolicy) -> Result<Client, Failure> {
    let pool = Managed::new(Arc::new(start(workers, policy)?));
    Ok(Box::new(move |strategy, requests| run(&pool, strategy, requests)))
}

const NO_FAILURE: &str = "no request fails";

impl Pool for Managed<Arc<Runtime>> {
    type Handle = SetId;
    fn submit(&self, request: Request) -> SetId {
        self.enqueue(move || request.serve())
    }
    fn is_over(&self, id: &SetId) -> bool {
        Managed::is_over(self, *id).expect(NO_FAILURE)
    }
    fn wait(&self, id: SetId) {
        Managed::wait(self, id).expect(NO_FAILURE);
    }
    fn wait_all(&self, _: impl Iterator<Item = SetId>) {
        Managed::wait_all(self).expect(NO_FAILURE);
    }
}

struct Tasks<'a>(&'a Runtime);

impl Pool for Tasks<'_> {
    type Handle = Handle<()>;
    fn submit(&self, request: Request) -> Handle<()> {
        self.0.task(()).submit(move |(), _| request.serve())
    }
    fn is_over(&self, handle: &Handle<()>) -> bool {
        handle.is_finished()
    }
    fn wait(&self, handle: Handle<()>) {
        handle.join().expect(NO_FAILURE);
    }
}

struct Tokio<'a>(&'a tokio::runtime::Runtime);

impl Pool for Tokio<'_> {
    type Handle = tokio::task::JoinHandle<()>;
    fn submit(&self, request: Request) -> Self::Handle {
        self.0.spawn(async move { request.serve() })
    }
    fn is_over(&self, handle: &Self::Handle) -> bool {
        handle.is_finished()
    }
    fn wait(&self, handle: Self::Handle) {
        self.0.block_on(handle).expect(NO_FAILURE);
    }
}

fn rayon(workers: usize) -> Result<Client, Failure> {
    let pool = start_rayon(workers)?;
    Ok(Box::new(move |strategy, requests| {
        let mut requests = requests.all().peekable();
        while requests.peek().is_some() {
            let batch = requests.by_ref().take(strategy.batch().unwrap_or(1));
            pool.in_place_scope(|scope| batch.for_each(|request| scope.spawn(move |_| request.serve())));
        }
    }))
}

fn threads(workers: usize) -> Result<Client, Failure> {
    let pool = ThreadPool::new(workers);
    start_threads(workers, |start| pool.execute(start));
    Ok(Box::new(move |strategy, requests| {
        let mut requests = requests.all().peekable();
        while requests.peek().is_some() {
            let batch = requests.by_ref().take(strategy.batch().unwrap_or(1));
            batch.for_each(|request| pool.execute(move || request.serve()));
            pool.join();
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn all_contenders_serve_each_request_once_before_the_last_wait_ends() {
        for entry in ALL {
            for workers in [1, 2] {
                let client = (entry.start)(workers).unwrap();
                let strategies = Strategy::all(&[1, 7]).into_iter();
                for strategy in strategies.filter(|strategy| entry.more || strategy.batch().is_some()) {
                    let requests = Requests { count: 300, steps: 3, sum: Box::leak(Box::default()) };
                    client(strategy, requests);
                    let sum = requests.sum.load(Relaxed);
                    assert_eq!(sum, requests.expected_sum(), "{} {strategy}", entry.name);
                }
            }
        }
    }
}
