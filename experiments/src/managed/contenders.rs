//! Who takes part: this runtime with each of its queues, and pools of plain threads.

use super::load::Load;
use super::threads::{MutexHeap, Queue, SkipList, ThreadPerRequest, Threads};
use crate::failure::Failure;
use crate::lineup::cannot_start;
use std::sync::Arc;
use xtasking::{Pool, Ranking, Runtime};

/// Takes a request, to be served by and by.
pub(super) type Submit = Box<dyn Fn(&Arc<Load>, usize)>;

/// What else is known of a contender.
pub(super) struct Kind {
    /// Requests wait in a queue, so that all can be submitted before the first is served.
    pub queues: bool,
    /// The most urgent comes first, whatever happens.
    pub exact: bool,
}

pub(super) type Entry = crate::lineup::Entry<Submit, Kind>;

/// All contenders. The first always takes part, and ratios are those to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking-exact",
        about: "ranked tasks of this runtime, exactly in order",
        is_parallel: true,
        start: |workers| own(workers, Ranking::Exact),
        more: Kind { queues: true, exact: true },
    },
    Entry {
        name: "xtasking-relaxed",
        about: "ranked tasks of this runtime, nearly in order",
        is_parallel: true,
        start: |workers| own(workers, Ranking::Relaxed),
        more: Kind { queues: true, exact: false },
    },
    Entry {
        name: "mutex-heap",
        about: "plain threads around std's heap in a mutex",
        is_parallel: true,
        start: plain::<MutexHeap>,
        more: Kind { queues: true, exact: true },
    },
    Entry {
        name: "skiplist",
        about: "plain threads around crossbeam's skip list, which look again and again when it is empty",
        is_parallel: true,
        start: plain::<SkipList>,
        more: Kind { queues: true, exact: true },
    },
    Entry {
        name: "threads",
        about: "a new thread for each request, as many at a time as there are workers",
        is_parallel: true,
        start: |workers| {
            let threads = ThreadPerRequest::new(workers);
            Ok(Box::new(move |load, number| threads.submit(load, number)))
        },
        more: Kind { queues: false, exact: false },
    },
];

fn own(workers: usize, ranking: Ranking) -> Result<Submit, Failure> {
    let built = Runtime::builder().workers(workers).pool(Pool::Ranked(ranking)).build();
    let rt = built.map_err(|error| cannot_start("xtasking", workers, &error))?;
    Ok(Box::new(move |load, number| {
        let (rank, load) = (load.rank(number), load.clone());
        rt.task(()).rank(rank).spawn(move |(), _| load.serve(number));
    }))
}

fn plain<Q: Queue + Default>(workers: usize) -> Result<Submit, Failure> {
    let pool =
        Threads::<Q>::start(workers).map_err(|error| cannot_start("a pool of threads", workers, &error))?;
    Ok(Box::new(move |load, number| pool.submit(load, number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_serve_all_requests() {
        for entry in ALL {
            for workers in [1, 2, 4] {
                let submit = (entry.start)(workers).unwrap();
                let load = Arc::new(Load::new(300, if entry.more.queues { workers } else { 0 }, 50));
                let served = load.run(|number| submit(&load, number)).unwrap();
                assert_eq!(served.order.len(), 300, "{}", entry.name);
                assert!(served.waiting <= served.completion);
                if workers == 1 && entry.more.exact {
                    assert!(served.order.is_sorted(), "{}", entry.name);
                }
            }
        }
    }
}
