//! The contenders: this runtime, the sequential function, and other libraries, in the idiomatic
//! style of each.

use std::hint::black_box;
use std::iter;
use std::num::NonZero;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use xtasking::Fork;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{Outside, start_own, start_rayon, start_tokio};
use xtasking_harness::outside::{self, Contender, Contender::Here};

/// A function that computes Fibonacci numbers.
pub(super) type Fibonacci = Contender<Box<dyn Fn(u32) -> u64>>;

/// The amount by which a contender's Fibonacci number is smaller, because its forks are expensive.
pub(super) struct NumberReduction(pub(super) u32);

pub(super) type Entry = xtasking_harness::lineup::Entry<Fibonacci, NumberReduction>;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking",
        about: "XTasking, fork-join with lazy task creation",
        more: NumberReduction(0),
        is_parallel: true,
        start: xtasking,
    },
    Entry {
        name: "plain",
        about: "the sequential function, without forks",
        more: NumberReduction(0),
        is_parallel: false,
        start: plain,
    },
    Entry {
        name: "by-hand",
        about: "the sequential function on subtrees that threads share: the limit that the cores set",
        more: NumberReduction(0),
        is_parallel: true,
        start: by_hand,
    },
    Entry {
        name: "chili",
        about: "chili, fork-join with heartbeat scheduling",
        more: NumberReduction(0),
        is_parallel: true,
        start: chili,
    },
    Entry {
        name: "rayon",
        about: "rayon, join in a work-stealing pool",
        more: NumberReduction(0),
        is_parallel: true,
        start: rayon,
    },
    Entry {
        name: "rayon-scope",
        about: "rayon, a scope and a spawn for each join",
        more: NumberReduction(6),
        is_parallel: true,
        start: rayon_scope,
    },
    Entry {
        name: "tokio",
        about: "tokio, a spawned future for each join",
        more: NumberReduction(8),
        is_parallel: true,
        start: tokio,
    },
    Entry {
        name: "threads",
        about: "the standard library, a scoped thread for each join",
        more: NumberReduction(20),
        is_parallel: false,
        start: threads,
    },
];

/// Peers that are separate programs.
pub(super) static OUTSIDE: &[Outside<Fibonacci, NumberReduction>] = &[
    Outside {
        program: "tbb",
        entry: Entry {
            name: "tbb",
            about: "oneTBB, parallel_invoke",
            more: NumberReduction(0),
            is_parallel: true,
            start: |workers| outside::start("tbb", "fib", workers),
        },
    },
    Outside {
        program: "tbb",
        entry: Entry {
            name: "tbb-group",
            about: "oneTBB, a task_group for each join",
            more: NumberReduction(0),
            is_parallel: true,
            start: |workers| outside::start("tbb", "fib-group", workers),
        },
    },
    Outside {
        program: "openmp",
        entry: Entry {
            name: "openmp",
            about: "OpenMP, a task for each join",
            more: NumberReduction(6),
            is_parallel: true,
            start: |workers| outside::start("openmp", "fib", workers),
        },
    },
    Outside {
        program: "lace",
        entry: Entry {
            name: "lace",
            about: "Lace (C), a spawn and a sync for each join",
            more: NumberReduction(0),
            is_parallel: true,
            start: |workers| outside::start("lace", "fib", workers),
        },
    },
];

fn xtasking(workers: usize) -> Result<Fibonacci, Failure> {
    fn fib(n: u32, mut cx: Fork<'_>) -> u64 {
        if n < 2 {
            return n.into();
        }
        cx.join_with(move |cx| fib(n - 1, cx), move |cx| fib(n - 2, cx), |a, b| a + b)
    }
    let rt = start_own(workers)?;
    Ok(Here(Box::new(move |n| rt.run(|cx| fib(n, cx)).expect("the function does not panic"))))
}

fn sequential(n: u32) -> u64 {
    if n < 2 { n.into() } else { sequential(n - 1) + sequential(n - 2) }
}

fn plain(_: usize) -> Result<Fibonacci, Failure> {
    Ok(Here(Box::new(|n| sequential(black_box(n)))))
}

fn by_hand(workers: usize) -> Result<Fibonacci, Failure> {
    /// The depth of calls at which subtrees become units of work.
    const LEVELS: u32 = 12;

    fn divide(n: u32, levels: u32, parts: &mut Vec<u32>) {
        if n < 2 || levels == 0 {
            return parts.push(n);
        }
        divide(n - 1, levels - 1, parts);
        divide(n - 2, levels - 1, parts);
    }
    Ok(Here(Box::new(move |n| {
        let (mut parts, next) = (Vec::new(), AtomicUsize::new(0));
        divide(n, LEVELS, &mut parts);
        // Relaxed: threads share only the index.
        let take = || parts.get(next.fetch_add(1, Relaxed));
        let work = || iter::from_fn(take).map(|&part| sequential(black_box(part))).sum::<u64>();
        thread::scope(|scope| {
            let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
            let here = work();
            here + others
                .into_iter()
                .map(|other| other.join().expect("the function does not panic"))
                .sum::<u64>()
        })
    })))
}

fn chili(workers: usize) -> Result<Fibonacci, Failure> {
    fn fib(n: u32, scope: &mut chili::Scope<'_>) -> u64 {
        if n < 2 {
            return n.into();
        }
        let (a, b) = scope.join(move |scope| fib(n - 1, scope), move |scope| fib(n - 2, scope));
        a + b
    }
    // The calling thread counts as a worker.
    let config = chili::Config { thread_count: NonZero::new(workers), ..chili::Config::default() };
    let pool = chili::ThreadPool::with_config(config);
    Ok(Here(Box::new(move |n| fib(n, &mut pool.scope()))))
}

fn rayon(workers: usize) -> Result<Fibonacci, Failure> {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let (a, b) = rayon::join(move || fib(n - 1), move || fib(n - 2));
        a + b
    }
    let pool = start_rayon(workers)?;
    Ok(Here(Box::new(move |n| pool.install(|| fib(n)))))
}

fn rayon_scope(workers: usize) -> Result<Fibonacci, Failure> {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let mut b = 0;
        let a = rayon::scope(|scope| {
            scope.spawn(|_| b = fib(n - 2));
            fib(n - 1)
        });
        a + b
    }
    let pool = start_rayon(workers)?;
    Ok(Here(Box::new(move |n| pool.install(|| fib(n)))))
}

fn tokio(workers: usize) -> Result<Fibonacci, Failure> {
    fn fib(n: u32) -> Pin<Box<dyn Future<Output = u64> + Send>> {
        Box::pin(async move {
            if n < 2 {
                return n.into();
            }
            let b = tokio::spawn(fib(n - 2));
            fib(n - 1).await + b.await.expect("the function does not panic")
        })
    }
    let pool = start_tokio(workers)?;
    Ok(Here(Box::new(move |n| {
        pool.block_on(async { tokio::spawn(fib(n)).await.expect("the function does not panic") })
    })))
}

fn threads(_: usize) -> Result<Fibonacci, Failure> {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        thread::scope(|scope| {
            let b = scope.spawn(|| fib(n - 2));
            fib(n - 1) + b.join().expect("the function does not panic")
        })
    }
    Ok(Here(Box::new(fib)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_contenders_compute_the_same_numbers() {
        for entry in ALL {
            for workers in [1, 2] {
                let Here(fibonacci) = (entry.start)(workers).unwrap() else { panic!("{}", entry.name) };
                let found: Vec<_> = (0..13).map(&*fibonacci).collect();
                assert_eq!(found, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144], "{}", entry.name);
            }
        }
    }
}
