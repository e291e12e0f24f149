//! The contenders: this runtime with each of its rank orders, and thread pools around other queues.

use super::load::Request;
use super::threads::{MutexHeap, Queue, SkipList, ThreadPerRequest, Threads};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use xtasking::{QueuePolicy, Runtime, managed::Managed, metrics::Statistics, queues::RankOrder};
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::cannot_start;
use xtasking_harness::page;

/// A function that submits a request.
type Submit = Box<dyn Fn(Arc<Request>)>;

/// A running server of requests.
pub(super) struct Server {
    pub submit: Submit,
    /// Waits until all submitted requests are counted, and returns the server's own statistics, if
    /// it has any.
    pub statistics: Box<dyn Fn() -> Option<Statistics>>,
}

impl Server {
    fn new(submit: impl Fn(Arc<Request>) + 'static) -> Self {
        Self { submit: Box::new(submit), statistics: Box::new(|| None) }
    }
}

/// Properties of a contender.
pub(super) struct ServerProfile {
    /// Whether requests wait in a queue, so that all can be submitted before the first is served.
    pub has_queue: bool,
    /// Whether it always serves the most urgent request first.
    pub is_exact: bool,
    /// The rank order with which it also runs on virtual cores.
    pub simulated: Option<RankOrder>,
}

pub(super) type Entry = xtasking_harness::lineup::Entry<Server, ServerProfile>;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking-exact",
        about: "XTasking, tasks in exact order of their ranks",
        is_parallel: true,
        start: |workers| own(workers, RankOrder::Exact, false),
        more: ServerProfile { has_queue: true, is_exact: true, simulated: Some(RankOrder::Exact) },
    },
    Entry {
        name: "xtasking-relaxed",
        about: "XTasking, tasks in approximate order of their ranks",
        is_parallel: true,
        start: |workers| own(workers, RankOrder::Relaxed, false),
        more: ServerProfile { has_queue: true, is_exact: false, simulated: Some(RankOrder::Relaxed) },
    },
    Entry {
        name: "xtasking-observed",
        about: "xtasking-exact with the runtime's own latency statistics",
        is_parallel: true,
        start: |workers| own(workers, RankOrder::Exact, true),
        more: ServerProfile { has_queue: true, is_exact: true, simulated: None },
    },
    Entry {
        name: "managed-exact",
        about: "XTasking, Managed::enqueue_ranked with tasks in exact order of their ranks",
        is_parallel: true,
        start: |workers| managed(workers, RankOrder::Exact),
        more: ServerProfile { has_queue: true, is_exact: true, simulated: None },
    },
    Entry {
        name: "managed-relaxed",
        about: "XTasking, Managed::enqueue_ranked with tasks in approximate order of their ranks",
        is_parallel: true,
        start: |workers| managed(workers, RankOrder::Relaxed),
        more: ServerProfile { has_queue: true, is_exact: false, simulated: None },
    },
    Entry {
        name: "mutex-heap",
        about: "a thread pool around a binary heap in a mutex",
        is_parallel: true,
        start: plain::<MutexHeap>,
        more: ServerProfile { has_queue: true, is_exact: true, simulated: None },
    },
    Entry {
        name: "skiplist",
        about: "a thread pool around crossbeam's skip list; idle threads poll it",
        is_parallel: true,
        start: plain::<SkipList>,
        more: ServerProfile { has_queue: true, is_exact: true, simulated: None },
    },
    Entry {
        name: "threads",
        about: "a new thread for each request, at most as many at a time as workers",
        is_parallel: true,
        start: |workers| {
            let threads = ThreadPerRequest::new(workers);
            Ok(Server::new(move |request| threads.submit(request)))
        },
        more: ServerProfile { has_queue: false, is_exact: false, simulated: None },
    },
];

fn own(workers: usize, order: RankOrder, has_statistics: bool) -> Result<Server, Failure> {
    let builder = Runtime::builder().workers(workers).pool(QueuePolicy::Ranked(order));
    let builder = builder.statistics(has_statistics);
    let rt = Rc::new(page::start(builder).map_err(|error| cannot_start("xtasking", workers, &error))?);
    let serving = rt.clone();
    let submit = move |request: Arc<Request>| {
        serving.task(()).rank(request.rank()).spawn(move |(), _| request.serve());
    };
    // The runtime counts a request shortly after it was served.
    let statistics = move || {
        loop {
            let statistics = rt.statistics()?;
            if statistics.occupancy() == 0 {
                return Some(statistics);
            }
            thread::yield_now();
        }
    };
    Ok(Server { submit: Box::new(submit), statistics: Box::new(statistics) })
}

fn managed(workers: usize, order: RankOrder) -> Result<Server, Failure> {
    let builder = Runtime::builder().workers(workers).pool(QueuePolicy::Ranked(order));
    let rt = page::start(builder).map_err(|error| cannot_start("xtasking", workers, &error))?;
    let pool = Managed::new(Arc::new(rt));
    Ok(Server::new(move |request| {
        pool.enqueue_ranked(request.rank(), [move || request.serve()]);
    }))
}

fn plain<Q: Queue + Default>(workers: usize) -> Result<Server, Failure> {
    let pool =
        Threads::<Q>::start(workers).map_err(|error| cannot_start("a pool of threads", workers, &error))?;
    Ok(Server::new(move |request| pool.submit(request)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed::load::Load;

    #[test]
    fn all_contenders_serve_all_requests() {
        for entry in ALL {
            for workers in [1, 2, 4] {
                let server = (entry.start)(workers).unwrap();
                let load = Load::new(300, if entry.more.has_queue { workers } else { 0 }, 50);
                let served = load.run(entry.more.has_queue, &server.submit).unwrap();
                assert_eq!(served.order.len(), 300, "{}", entry.name);
                assert!(served.waiting.percentile(50.0) <= served.completion.percentile(50.0));
                if workers == 1 && entry.more.is_exact {
                    assert!(served.order.is_sorted(), "{}", entry.name);
                }
            }
        }
    }
}
