//! The contenders: this runtime, plain sequential programs, and other libraries.

use super::fork_join::Rayon;
use super::workload::{Problem, Workload};
use super::{forked, plain, scopes};
use rayon::slice::ParallelSliceMut;
use std::hint::black_box;
use std::num::NonZero;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{start_own, start_rayon};

/// A function that solves a problem, and returns the number that it asks for; 0 for a sort.
pub(super) type Solver = Box<dyn Fn(&mut Problem) -> u64>;

/// The workloads that a contender has.
pub(super) enum Workloads {
    All,
    Trees,
    Sort,
}

pub(super) type Entry = xtasking_harness::lineup::Entry<Solver, Workloads>;

impl Workloads {
    /// Returns true if a workload is one of these.
    pub(super) fn contain(&self, workload: Workload) -> bool {
        match self {
            Self::All => true,
            Self::Trees => workload != Workload::Sort,
            Self::Sort => workload == Workload::Sort,
        }
    }
}

/// The contender that speed-ups are relative to.
pub(super) const PLAIN: &str = "plain";

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking",
        about: "XTasking, joins down to single nodes",
        is_parallel: true,
        start: xtasking,
        more: Workloads::All,
    },
    Entry {
        name: PLAIN,
        about: "plain recursive functions; the standard library's `sort_unstable`",
        is_parallel: false,
        start: plain,
        more: Workloads::All,
    },
    Entry {
        name: "rayon",
        about: "rayon, the same joins",
        is_parallel: true,
        start: rayon,
        more: Workloads::All,
    },
    Entry {
        name: "chili",
        about: "chili, the same joins with heartbeat scheduling",
        is_parallel: true,
        start: chili,
        more: Workloads::All,
    },
    Entry {
        name: "xtasking-scope",
        about: "XTasking, a scope for each node, and a spawn for each child",
        is_parallel: true,
        start: xtasking_scope,
        more: Workloads::Trees,
    },
    Entry {
        name: "rayon-scope",
        about: "rayon, a scope for each node, and a spawn for each child",
        is_parallel: true,
        start: rayon_scope,
        more: Workloads::Trees,
    },
    Entry {
        name: "rayon-sort",
        about: "rayon, `par_sort_unstable`",
        is_parallel: true,
        start: rayon_sort,
        more: Workloads::Sort,
    },
];

fn xtasking(workers: usize) -> Result<Solver, Failure> {
    let rt = start_own(workers)?;
    Ok(Box::new(move |problem| rt.run(|cx| forked::solve(problem, cx)).expect("no piece panics")))
}

fn xtasking_scope(workers: usize) -> Result<Solver, Failure> {
    let rt = start_own(workers)?;
    Ok(Box::new(move |problem| rt.run(|cx| scopes::on_own(problem, cx)).expect("no piece panics")))
}

fn plain(_: usize) -> Result<Solver, Failure> {
    Ok(Box::new(|problem| match problem {
        Problem::Tree(depth) => plain::tree(black_box(*depth)),
        Problem::Queens(queens) => plain::queens(black_box(*queens)),
        Problem::Skynet(leaves) => plain::skynet(0, black_box(*leaves)),
        Problem::Sort(items) => {
            items.sort_unstable();
            0
        }
    }))
}

fn rayon(workers: usize) -> Result<Solver, Failure> {
    let pool = start_rayon(workers)?;
    Ok(Box::new(move |problem| pool.install(|| forked::solve(problem, Rayon))))
}

fn rayon_scope(workers: usize) -> Result<Solver, Failure> {
    let pool = start_rayon(workers)?;
    Ok(Box::new(move |problem| pool.install(|| scopes::on_rayon(problem))))
}

fn rayon_sort(workers: usize) -> Result<Solver, Failure> {
    let pool = start_rayon(workers)?;
    Ok(Box::new(move |problem| {
        let Problem::Sort(items) = problem else { unreachable!("this contender only sorts") };
        pool.install(|| items.par_sort_unstable());
        0
    }))
}

fn chili(workers: usize) -> Result<Solver, Failure> {
    // The calling thread counts as a worker.
    let config = chili::Config { thread_count: NonZero::new(workers), ..chili::Config::default() };
    let pool = chili::ThreadPool::with_config(config);
    Ok(Box::new(move |problem| forked::solve(problem, &mut pool.scope())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_contenders_solve_all_their_problems() {
        let sorts = [0, 1, 5000, 30_000].map(|items| Problem::random_integers(items, 3));
        let equal = Problem::Sort(vec![7; 5000]);
        let trees = [Problem::Tree(4), Problem::Queens(7), Problem::Skynet(1000)];
        for entry in ALL {
            for workers in [1, 2] {
                let solve = (entry.start)(workers).unwrap();
                for problem in trees.iter().chain(&sorts).chain([&equal]) {
                    let workload = match problem {
                        Problem::Sort(_) => Workload::Sort,
                        _ => Workload::Tree,
                    };
                    if entry.more.contain(workload) {
                        let (mut problem, expected) = (problem.clone(), problem.expected());
                        let number = solve(&mut problem);
                        assert!(problem.check(number, &expected).is_ok(), "{} {workload:?}", entry.name);
                    }
                }
            }
        }
    }
}
