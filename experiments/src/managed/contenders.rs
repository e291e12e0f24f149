//! Who takes part: this runtime with each of its queues, and pools of plain threads.

use super::load::Request;
use super::threads::{MutexHeap, Queue, SkipList, ThreadPerRequest, Threads};
use crate::failure::Failure;
use crate::lineup::cannot_start;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use xtasking::{Pool, Ranking, Runtime, Statistics};

/// Takes a request, to be served by and by.
type Submit = Box<dyn Fn(Arc<Request>)>;

/// Who serves requests.
pub(super) struct Server {
    pub submit: Submit,
    /// What it tells of itself, if it does.
    pub statistics: Box<dyn Fn() -> Option<Statistics>>,
}

impl Server {
    fn new(submit: impl Fn(Arc<Request>) + 'static) -> Self {
        Self { submit: Box::new(submit), statistics: Box::new(|| None) }
    }
}

/// What else is known of a contender.
pub(super) struct Kind {
    /// Requests wait in a queue, so that all can be submitted before the first is served.
    pub queues: bool,
    /// The most urgent comes first, whatever happens.
    pub exact: bool,
    /// It runs on virtual cores as well, with that queue.
    pub simulated: Option<Ranking>,
}

pub(super) type Entry = crate::lineup::Entry<Server, Kind>;

/// All contenders. The first always takes part, and ratios are those to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking-exact",
        about: "ranked tasks of this runtime, exactly in order",
        is_parallel: true,
        start: |workers| own(workers, Ranking::Exact, false),
        more: Kind { queues: true, exact: true, simulated: Some(Ranking::Exact) },
    },
    Entry {
        name: "xtasking-relaxed",
        about: "ranked tasks of this runtime, nearly in order",
        is_parallel: true,
        start: |workers| own(workers, Ranking::Relaxed, false),
        more: Kind { queues: true, exact: false, simulated: Some(Ranking::Relaxed) },
    },
    Entry {
        name: "xtasking-observed",
        about: "as xtasking-exact, with statistics, which say how long requests wait",
        is_parallel: true,
        start: |workers| own(workers, Ranking::Exact, true),
        more: Kind { queues: true, exact: true, simulated: None },
    },
    Entry {
        name: "mutex-heap",
        about: "plain threads around std's heap in a mutex",
        is_parallel: true,
        start: plain::<MutexHeap>,
        more: Kind { queues: true, exact: true, simulated: None },
    },
    Entry {
        name: "skiplist",
        about: "plain threads around crossbeam's skip list, which look again and again when it is empty",
        is_parallel: true,
        start: plain::<SkipList>,
        more: Kind { queues: true, exact: true, simulated: None },
    },
    Entry {
        name: "threads",
        about: "a new thread for each request, as many at a time as there are workers",
        is_parallel: true,
        start: |workers| {
            let threads = ThreadPerRequest::new(workers);
            Ok(Server::new(move |request| threads.submit(request)))
        },
        more: Kind { queues: false, exact: false, simulated: None },
    },
];

fn own(workers: usize, ranking: Ranking, observed: bool) -> Result<Server, Failure> {
    let builder = Runtime::builder().workers(workers).pool(Pool::Ranked(ranking)).statistics(observed);
    let rt = Rc::new(builder.build().map_err(|error| cannot_start("xtasking", workers, &error))?);
    let serving = rt.clone();
    let submit = move |request: Arc<Request>| {
        serving.task(()).rank(request.rank()).spawn(move |(), _| request.serve());
    };
    // A request is counted a little after it has been served.
    let settled = move || {
        loop {
            let statistics = rt.statistics()?;
            if statistics.occupancy() == 0 {
                return Some(statistics);
            }
            thread::yield_now();
        }
    };
    Ok(Server { submit: Box::new(submit), statistics: Box::new(settled) })
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
    fn all_of_them_serve_all_requests() {
        for entry in ALL {
            for workers in [1, 2, 4] {
                let server = (entry.start)(workers).unwrap();
                let load = Load::new(300, if entry.more.queues { workers } else { 0 }, 50);
                let served = load.run(entry.more.queues, &server.submit).unwrap();
                assert_eq!(served.order.len(), 300, "{}", entry.name);
                assert!(served.waiting.percentile(50.0) <= served.completion.percentile(50.0));
                if workers == 1 && entry.more.exact {
                    assert!(served.order.is_sorted(), "{}", entry.name);
                }
            }
        }
    }
}
