//! Who takes part: this runtime, the plain function, and those who fork otherwise, written as their users would.

use crate::failure::Failure;
use crate::lineup::{Outside, start_own, start_rayon, start_tokio};
use crate::outside::{self, Contender, Contender::Here};
use std::hint::black_box;
use std::iter;
use std::num::NonZero;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use xtasking::Fork;

/// Computes Fibonacci numbers.
pub(super) type Fibonacci = Contender<Box<dyn Fn(u32) -> u64>>;

/// How much smaller a contender's number is, because a fork costs it so much more.
pub(super) struct Less(pub(super) u32);

pub(super) type Entry = crate::lineup::Entry<Fibonacci, Less>;

/// All contenders. The first always takes part, and ratios are those to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking",
        about: "lazy joins of this runtime",
        more: Less(0),
        is_parallel: true,
        start: xtasking,
    },
    Entry {
        name: "plain",
        about: "the function alone, without a fork",
        more: Less(0),
        is_parallel: false,
        start: plain,
    },
    Entry {
        name: "by-hand",
        about: "the function alone, on parts that a thread for each worker takes: what the cores have to give",
        more: Less(0),
        is_parallel: true,
        start: by_hand,
    },
    Entry { name: "chili", about: "joins by heartbeat", more: Less(0), is_parallel: true, start: chili },
    Entry {
        name: "rayon",
        about: "joins of a pool that steals",
        more: Less(0),
        is_parallel: true,
        start: rayon,
    },
    Entry {
        name: "rayon-scope",
        about: "a scope and a spawn for each join",
        more: Less(6),
        is_parallel: true,
        start: rayon_scope,
    },
    Entry {
        name: "tokio",
        about: "a spawned future for each join",
        more: Less(8),
        is_parallel: true,
        start: tokio,
    },
    Entry {
        name: "threads",
        about: "a thread for each join",
        more: Less(20),
        is_parallel: false,
        start: threads,
    },
];

/// Those that need more than Rust.
pub(super) static OUTSIDE: &[Outside<Fibonacci, Less>] = &[
    Outside {
        program: "tbb",
        entry: Entry {
            name: "tbb",
            about: "parallel_invoke of oneTBB",
            more: Less(0),
            is_parallel: true,
            start: |workers| outside::start("tbb", "fib", workers),
        },
    },
    Outside {
        program: "tbb",
        entry: Entry {
            name: "tbb-group",
            about: "a task_group of oneTBB for each join",
            more: Less(0),
            is_parallel: true,
            start: |workers| outside::start("tbb", "fib-group", workers),
        },
    },
    Outside {
        program: "openmp",
        entry: Entry {
            name: "openmp",
            about: "a task of OpenMP for each join",
            more: Less(6),
            is_parallel: true,
            start: |workers| outside::start("openmp", "fib", workers),
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
    Ok(Here(Box::new(move |n| rt.run(|cx| fib(n, cx)).expect("it does not panic"))))
}

fn sequential(n: u32) -> u64 {
    if n < 2 { n.into() } else { sequential(n - 1) + sequential(n - 2) }
}

fn plain(_: usize) -> Result<Fibonacci, Failure> {
    Ok(Here(Box::new(|n| sequential(black_box(n)))))
}

fn by_hand(workers: usize) -> Result<Fibonacci, Failure> {
    /// Calls of so many levels are parts or above them.
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
        // Relaxed: numbers are all that they share.
        let take = || parts.get(next.fetch_add(1, Relaxed));
        let work = || iter::from_fn(take).map(|&part| sequential(black_box(part))).sum::<u64>();
        thread::scope(|scope| {
            let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
            let here = work();
            here + others.into_iter().map(|other| other.join().expect("it does not panic")).sum::<u64>()
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
    // Its calling thread works as well; it starts no other for one worker.
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
            fib(n - 1).await + b.await.expect("it does not panic")
        })
    }
    let pool = start_tokio(workers)?;
    Ok(Here(Box::new(move |n| {
        pool.block_on(async { tokio::spawn(fib(n)).await.expect("it does not panic") })
    })))
}

fn threads(_: usize) -> Result<Fibonacci, Failure> {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        thread::scope(|scope| {
            let b = scope.spawn(|| fib(n - 2));
            fib(n - 1) + b.join().expect("it does not panic")
        })
    }
    Ok(Here(Box::new(fib)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_compute_the_same() {
        for entry in ALL {
            for workers in [1, 2] {
                let Here(fibonacci) = (entry.start)(workers).unwrap() else { panic!("{}", entry.name) };
                let found: Vec<_> = (0..13).map(&*fibonacci).collect();
                assert_eq!(found, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144], "{}", entry.name);
            }
        }
    }
}
