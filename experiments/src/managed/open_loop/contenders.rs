//! The contenders: this runtime by its managed pool and by plain tasks, and other thread pools.

use super::requests::Request;
use crate::managed::threads::start_threads;
use std::sync::Arc;
use std::time::Duration;
use threadpool::ThreadPool;
use xtasking::{QueuePolicy, Runtime, managed::Managed, queues::RankOrder};
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{cannot_start, start_rayon, start_tokio};
use xtasking_harness::page;

/// A function that submits a request.
pub(super) type Submit = Box<dyn Fn(Request) + Sync>;

/// A server of requests.
pub(super) enum Server {
    Running(Submit),
    /// Its latencies are computed, not measured.
    Ideal,
}

pub(super) type Entry = xtasking_harness::lineup::Entry<Server>;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    entry("managed", "XTasking, Managed::enqueue with the default policy", |workers| {
        managed(workers, QueuePolicy::Local)
    }),
    entry("managed-stealing", "XTasking, Managed::enqueue with work stealing", |workers| {
        managed(workers, QueuePolicy::WorkStealing)
    }),
    entry("managed-ranked", "XTasking, Managed::enqueue with exactly ranked queues", |workers| {
        managed(workers, QueuePolicy::Ranked(RankOrder::Exact))
    }),
    entry("tasks", "XTasking, a task for each request, with the default policy", |workers| {
        tasks(workers, QueuePolicy::Local)
    }),
    entry("tasks-stealing", "XTasking, a task for each request, with work stealing", |workers| {
        tasks(workers, QueuePolicy::WorkStealing)
    }),
    entry("tasks-ranked", "XTasking, a task for each request, with exactly ranked queues", |workers| {
        tasks(workers, QueuePolicy::Ranked(RankOrder::Exact))
    }),
    entry("rayon", "rayon, ThreadPool::spawn", rayon),
    entry("tokio", "tokio, Runtime::spawn in the multi-threaded runtime", tokio),
    entry("tokio-blocking", "tokio, Runtime::spawn_blocking, with as many threads as workers", blocking),
    entry("threadpool", "the crate threadpool, ThreadPool::execute", threads),
    entry("ideal", "computed: a FIFO server that takes no time between requests", |_| Ok(Server::Ideal)),
];

const fn entry(
    name: &'static str,
    about: &'static str,
    start: fn(usize) -> Result<Server, Failure>,
) -> Entry {
    Entry { name, about, is_parallel: true, start, more: () }
}

fn running(submit: impl Fn(Request) + Sync + 'static) -> Result<Server, Failure> {
    Ok(Server::Running(Box::new(submit)))
}

fn start(workers: usize, policy: QueuePolicy) -> Result<Runtime, Failure> {
    let builder = Runtime::builder().workers(workers).pool(policy);
    page::start(builder).map_err(|error| cannot_start("xtasking", workers, &error))
}

fn managed(workers: usize, policy: QueuePolicy) -> Result<Server, Failure> {
    let pool = Managed::new(Arc::new(start(workers, policy)?));
    running(move |request| _ = pool.enqueue(move || request.serve()))
}

fn tasks(workers: usize, policy: QueuePolicy) -> Result<Server, Failure> {
    let rt = start(workers, policy)?;
    running(move |request| rt.task(()).spawn(move |(), _| request.serve()))
}

fn rayon(workers: usize) -> Result<Server, Failure> {
    let pool = start_rayon(workers)?;
    running(move |request| pool.spawn(move || request.serve()))
}

fn tokio(workers: usize) -> Result<Server, Failure> {
    let rt = start_tokio(workers)?;
    running(move |request| _ = rt.spawn(async move { request.serve() }))
}

fn blocking(workers: usize) -> Result<Server, Failure> {
    // Without workers for futures, all threads are those of the blocking pool.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.max_blocking_threads(workers).thread_keep_alive(Duration::from_secs(3600));
    let rt = builder.build().map_err(|error| cannot_start("tokio", workers, &error))?;
    start_threads(workers, |start| _ = rt.spawn_blocking(start));
    running(move |request| _ = rt.spawn_blocking(move || request.serve()))
}

fn threads(workers: usize) -> Result<Server, Failure> {
    let pool = ThreadPool::new(workers);
    start_threads(workers, |start| pool.execute(start));
    running(move |request| pool.execute(move || request.serve()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed::open_loop::requests::Records;
    use crate::managed::open_loop::schedule::{Schedule, Workload};

    #[test]
    fn all_contenders_serve_each_request_once() {
        let records = Records::new(2000);
        for entry in ALL {
            for workers in [1, 2, 4] {
                let Server::Running(submit) = (entry.start)(workers).unwrap() else { continue };
                let workload = Workload { service: 1, load: 50 };
                let schedule = Schedule::draw(workload, workers, Duration::from_micros(1000), 5);
                let latencies = records.run(&schedule, 10.0, workers, &*submit).unwrap();
                assert_eq!(latencies.len(), 500 * workers, "{}", entry.name);
            }
        }
    }
}
