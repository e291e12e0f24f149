//! Joins: their results, panics and ends, and that other workers steal halves.

use crate::common::{Dropped, Flag, Setting, on_all, on_each, silence_tasks, watchdog};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::Waker;
use std::time::Duration;
use xtasking::platform::{Platform, Threads, WouldBlock};
use xtasking::{Fork, JoinError, Runtime, Shutdown};
use xtasking_testing::Random;

fn fib(n: u64, mut cx: Fork<'_>) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(n - 1, cx), |cx| fib(n - 2, cx));
    a + b
}

#[test]
fn nested_joins_compute_fibonacci_numbers() {
    on_all(|setting| {
        let rt = setting.build();
        for (n, expected) in [(0, 0), (1, 1), (2, 1), (15, 610), (20, 6765)] {
            assert_eq!(rt.run(|cx| fib(n, cx)).unwrap(), expected);
        }
    });
}

/// On a busy machine other workers may have no core while the body runs, however often it does.
const MOST_REPETITIONS: usize = 1000;

/// Repeats the body until other workers have stolen a few times, or as often as is sensible.
fn until_shared(setting: Setting, workers: usize, body: impl Fn(&Runtime)) {
    let rt = setting.builder().counters(true).build().unwrap();
    let steals = || rt.counters().unwrap().steals;
    let is_shared = workers > 1 && setting.may_idle_beside_a_task();
    let mut seen = 0;
    for _ in 0..MOST_REPETITIONS {
        let before = steals();
        body(&rt);
        seen += u32::from(!is_shared || steals() > before);
        if seen == if workers > 1 { 3 } else { 1 } {
            break;
        }
    }
    if is_shared {
        share(&rt);
    }
    assert!(!is_shared || steals() > 0);
    assert!(workers > 1 || steals() == 0);
}

/// Waits until another worker has stolen.
fn share(rt: &Runtime) {
    let stolen = Flag::default();
    rt.run(|mut cx| {
        let own = cx.worker();
        cx.scope(|scope| {
            while !stolen.is_set() {
                scope.spawn(|cx| {
                    if cx.worker() != own {
                        stolen.set();
                    }
                });
                std::thread::yield_now();
            }
        });
    })
    .unwrap();
}

/// Runs the body with several numbers of workers, on threads and in a simulation.
fn shared_on_all(body: impl Fn(&Runtime)) {
    for workers in [1, 2, 4] {
        let _watched = watchdog();
        until_shared(Setting::Threads { workers }, workers, &body);
        until_shared(Setting::Simulation { cores: workers, seed: 5 }, workers, &body);
    }
}

#[test]
fn other_workers_steal_halves() {
    shared_on_all(|rt| assert_eq!(rt.run(|cx| fib(22, cx)).unwrap(), 17711));
}

/// Like `fib`, but the function ends with its join, which the compiler may turn into a loop.
#[test]
fn results_are_combined_wherever_halves_ran() {
    fn fib(n: u64, mut cx: Fork<'_>) -> u64 {
        if n < 2 {
            return n;
        }
        cx.join_with(|cx| fib(n - 1, cx), |cx| fib(n - 2, cx), |a, b| a + b)
    }
    shared_on_all(|rt| {
        assert_eq!(rt.run(|cx| fib(22, cx)).unwrap(), 17711);
        // Each half keeps its result, whichever worker runs it.
        let digits = rt.run(|cx| spell(1, 12, cx)).unwrap();
        assert_eq!(digits, (1u32 << 12..1 << 13).map(|leaf| format!("{leaf} ")).collect::<String>());
    });
    fn spell(node: u32, depth: u32, mut cx: Fork<'_>) -> String {
        if depth == 0 {
            return format!("{node} ");
        }
        let (left, right) = (2 * node, 2 * node + 1);
        cx.join_with(|cx| spell(left, depth - 1, cx), |cx| spell(right, depth - 1, cx), |a, b| a + &b)
    }
}

#[test]
fn what_is_borrowed_is_used_in_place() {
    fn sort(numbers: &mut [u64], mut cx: Fork<'_>) {
        if numbers.len() <= 8 {
            return numbers.sort_unstable();
        }
        let middle = numbers.len() / 2;
        let (_, pivot, _) = numbers.select_nth_unstable(middle);
        let pivot = *pivot;
        let (left, right) = numbers.split_at_mut(middle);
        assert!(left.iter().all(|number| *number <= pivot));
        cx.join(|cx| sort(left, cx), |cx| sort(right, cx));
    }
    shared_on_all(|rt| {
        let mut random = Random(7);
        let mut numbers: Vec<u64> = (0..5000).map(|_| random.below(1000)).collect();
        let mut expected = numbers.clone();
        expected.sort_unstable();
        rt.run(|cx| sort(&mut numbers, cx)).unwrap();
        assert_eq!(numbers, expected);
    });
}

/// Values that do not fit into a job, and values with a larger alignment.
#[test]
fn large_values_go_there_and_back() {
    #[repr(align(128))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Aligned(u64);

    fn grow(depth: u64, mut cx: Fork<'_>) -> ([u64; 32], Aligned, Box<u64>) {
        if depth == 0 {
            return ([1; 32], Aligned(1), Box::new(1));
        }
        let (numbers, aligned, boxed) = ([depth; 40], Aligned(depth), Box::new(depth));
        let (left, right) = cx.join(
            |cx| grow(depth - 1, cx),
            move |cx| {
                assert!(numbers == [depth; 40] && aligned == Aligned(depth) && *boxed == depth);
                assert_eq!((&raw const aligned).addr() % 128, 0);
                grow(depth - 1, cx)
            },
        );
        let both = core::array::from_fn(|index| left.0[index] + right.0[index]);
        (both, Aligned(left.1.0 + right.1.0), Box::new(*left.2 + *right.2))
    }
    shared_on_all(|rt| {
        let (numbers, aligned, boxed) = rt.run(|cx| grow(11, cx)).unwrap();
        assert_eq!((numbers, aligned, *boxed), ([2048; 32], Aligned(2048), 2048));
    });
}

#[test]
fn halves_of_any_size_keep_what_they_capture() {
    fn capture<const N: usize>(depth: u8, mut cx: Fork<'_>) -> u64 {
        let (left, right) = ([depth; N], [depth + 1; N]);
        let words = [u64::from(depth); 3];
        let sum = |bytes: [u8; N]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        let below = move |cx: Fork<'_>| if depth == 0 { 0 } else { capture::<N>(depth - 1, cx) };
        cx.join_with(
            move |cx| sum(left) + below(cx),
            move |cx| sum(right) + words.iter().sum::<u64>() + below(cx),
            |a, b| a + b,
        )
    }
    fn expected(size: u64, depth: u64) -> u64 {
        let below = if depth == 0 { 0 } else { 2 * expected(size, depth - 1) };
        size * (2 * depth + 1) + 3 * depth + below
    }
    shared_on_all(|rt| {
        assert_eq!(rt.run(|cx| capture::<0>(8, cx)).unwrap(), expected(0, 8));
        assert_eq!(rt.run(|cx| capture::<1>(8, cx)).unwrap(), expected(1, 8));
        assert_eq!(rt.run(|cx| capture::<13>(8, cx)).unwrap(), expected(13, 8));
        assert_eq!(rt.run(|cx| capture::<31>(8, cx)).unwrap(), expected(31, 8));
        assert_eq!(rt.run(|cx| capture::<64>(8, cx)).unwrap(), expected(64, 8));
        assert_eq!(rt.run(|cx| capture::<200>(8, cx)).unwrap(), expected(200, 8));
    });
}

#[test]
fn joins_nest_deeper_than_there_are_preallocated_jobs() {
    fn count(depth: u64, mut cx: Fork<'_>) -> u64 {
        if depth == 0 {
            return 0;
        }
        let (deeper, here) = cx.join(|cx| count(depth - 1, cx), |_| 1);
        deeper + here
    }
    fn count_second(depth: u64, mut cx: Fork<'_>) -> u64 {
        if depth == 0 {
            return 0;
        }
        let (here, deeper) = cx.join(|_| 1, |cx| count_second(depth - 1, cx));
        deeper + here
    }
    // Virtual cores share the stack of the thread that waits.
    let test = || {
        shared_on_all(|rt| {
            for depth in [2045, 2046, 2047, 2500] {
                assert_eq!(rt.run(|cx| count(depth, cx)).unwrap(), depth);
                assert_eq!(rt.run(|cx| count_second(depth, cx)).unwrap(), depth);
            }
            assert_eq!(rt.run(|cx| fib(15, cx)).unwrap(), 610);
        });
    };
    std::thread::Builder::new().stack_size(256 << 20).spawn(test).unwrap().join().unwrap();
}

/// Follow-ups of halves belong to the task: a shutdown waits for them, on whichever worker they
/// were spawned.
#[test]
fn follow_ups_of_both_halves_run() {
    fn spawn_all(depth: u32, runs: &Arc<AtomicU64>, mut cx: Fork<'_>) {
        if depth == 0 {
            let runs = runs.clone();
            return cx.task(()).spawn(move |(), cx| {
                cx.task(()).spawn(move |(), _| _ = runs.fetch_add(1, Relaxed));
            });
        }
        cx.join(|cx| spawn_all(depth - 1, runs, cx), |cx| spawn_all(depth - 1, runs, cx));
    }
    on_all(|setting| {
        let runs = Arc::new(AtomicU64::new(0));
        let rt = setting.build();
        rt.run(|cx| spawn_all(10, &runs, cx)).unwrap();
        rt.shutdown(Shutdown::Drain);
        assert_eq!(runs.load(Relaxed), 1024);
    });
}

/// A join in a task that holds objects: the worker that steals a half accesses only what the half
/// borrows.
#[test]
fn joins_within_tasks_on_objects() {
    on_all(|setting| {
        let rt = setting.build();
        let object = rt.plain(vec![0u64; 1000]).build();
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                rt.task(object.write()).submit(|numbers, cx| {
                    cx.fork().over(&mut numbers[..]).grain(10).for_each(|number| *number += 1);
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        let all = rt.task(object.read()).submit(|numbers, _| numbers.iter().all(|number| *number == 20));
        assert!(all.join().unwrap());
    });
}

/// Determines which halves panic, at the bottom of a tree of joins.
fn failing(
    depth: u32,
    path: u32,
    fails: &(impl Fn(u32) -> bool + Sync),
    ends: &Arc<AtomicUsize>,
    mut cx: Fork<'_>,
) {
    if depth == 0 {
        ends.fetch_add(1, Relaxed);
        assert!(!fails(path), "provoked: {path}");
        return;
    }
    let dropped = Dropped(ends.clone());
    cx.join(
        |cx| failing(depth - 1, path * 2, fails, ends, cx),
        move |cx| {
            let _dropped = dropped;
            failing(depth - 1, path * 2 + 1, fails, ends, cx);
        },
    );
}

#[test]
fn a_panic_ends_the_join_when_both_halves_are_over() {
    silence_tasks();
    shared_on_all(|rt| {
        let mut random = Random(3);
        for round in 0..20 {
            let (first, second) = (random.below(512) as u32, random.below(512) as u32);
            let ends = Arc::new(AtomicUsize::new(0));
            let result = rt.run(|cx| failing(9, 0, &|path| path == first || path == second, &ends, cx));
            match result {
                Err(JoinError::Panicked(payload)) => {
                    let message = payload.message();
                    assert!(
                        message == format!("provoked: {first}") || message == format!("provoked: {second}"),
                        "{round}: {message}"
                    );
                }
                other => panic!("{other:?}"),
            }
            // No half still runs after the join has ended.
            let after = ends.load(Relaxed);
            assert_eq!(rt.run(|cx| fib(12, cx)).unwrap(), 144);
            assert_eq!(ends.load(Relaxed), after);
        }
    });
}

/// Every second half is dropped once, whether it ran, was abandoned or panicked.
#[test]
fn second_halves_are_dropped_once() {
    silence_tasks();
    shared_on_all(|rt| {
        for failing_path in [0, 100, 511] {
            let ends = Arc::new(AtomicUsize::new(0));
            let failed = rt.run(|cx| failing(9, 0, &|path| path == failing_path, &ends, cx));
            assert!(failed.is_err());
            assert!(ends.load(Relaxed) >= 9, "the halves on the way are dropped");
        }
        let ends = Arc::new(AtomicUsize::new(0));
        rt.run(|cx| failing(9, 0, &|_| false, &ends, cx)).unwrap();
        assert_eq!(ends.load(Relaxed), 512 + 511);
    });
}

/// Pieces without a free job run at once; meanwhile other workers steal the ones with a job.
#[test]
fn a_worker_that_fills_a_scope_still_serves_steal_requests() {
    /// More pieces than this that ran at once count as proof that none is given any more.
    const LONGEST: usize = 20_000;
    let setting = Setting::Threads { workers: 2 };
    if !setting.may_idle_beside_a_task() {
        return;
    }
    let _watched = watchdog();
    let (rt, full, given) = (setting.build(), AtomicUsize::new(0), AtomicUsize::new(0));
    let enough = || given.load(Relaxed) >= 5;
    rt.run(|mut cx| {
        let own = cx.worker();
        cx.scope(|scope| {
            while !enough() && full.load(Relaxed) < LONGEST {
                scope.spawn(|cx| {
                    if cx.worker() == own && !enough() {
                        full.fetch_add(1, Relaxed);
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    } else if full.load(Relaxed) > 0 {
                        given.fetch_add(1, Relaxed);
                    }
                });
            }
        });
    })
    .unwrap();
    assert!(enough(), "{} pieces were given while {} ran at once", given.into_inner(), full.into_inner());
}

/// The captures of a half may panic when they are dropped; the first panic is reported.
#[test]
fn a_half_that_was_not_begun_may_panic_when_it_is_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("provoked: dropped");
        }
    }
    silence_tasks();
    // A single worker, so that none steals the half.
    let rt = Runtime::builder().workers(1).build().unwrap();
    let result = rt.run(|mut cx| {
        let bomb = Bomb;
        cx.join(
            |_| panic!("provoked: first"),
            move |_| {
                let _bomb = bomb;
            },
        );
    });
    let Err(JoinError::Panicked(payload)) = result else { panic!("{result:?}") };
    assert_eq!(payload.message(), "provoked: first");
    // If the first half succeeds, a panic of the second half or of the combination is reported like
    // any other.
    let combined =
        rt.run(|mut cx| cx.join_with(|_| 1, |_| 2, |_, _| -> u32 { panic!("provoked: combined") }));
    assert!(matches!(combined, Err(JoinError::Panicked(_))));
    assert_eq!(rt.run(|cx| fib(16, cx)).unwrap(), 987);
}

#[test]
fn a_panic_within_can_be_caught() {
    silence_tasks();
    shared_on_all(|rt| {
        let sum = rt.run(|mut cx| {
            let ends = Arc::new(AtomicUsize::new(0));
            let caught = catch_unwind(AssertUnwindSafe(|| {
                cx.join(|cx| failing(8, 0, &|path| path == 77, &ends, cx), |cx| _ = fib(12, cx));
            }));
            assert!(caught.is_err());
            // The jobs below the catch are unaffected.
            fib(16, cx)
        });
        assert_eq!(sum.unwrap(), 987);
    });
}

#[test]
fn a_run_within_a_task_is_refused() {
    on_each(
        [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 1 }].into_iter(),
        |setting| {
            let rt = Arc::new(setting.build());
            let within = rt.clone();
            let refused = rt.task(()).submit(move |(), _| {
                matches!(within.run(|_| unreachable!()), Err::<(), _>(JoinError::WouldBlock))
            });
            assert!(refused.join().unwrap());
        },
    );
}

#[test]
fn many_runs_at_once() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        crate::common::side_by_side((0..4).map(|_| {
            || {
                for _ in 0..20 {
                    assert_eq!(rt.run(|cx| fib(14, cx)).unwrap(), 377);
                }
            }
        }));
    });
}

/// Pieces of a scope, in trees of scopes and joins.
fn spawn_all(depth: u32, counts: &[AtomicU64], mut cx: Fork<'_>) {
    counts[depth as usize].fetch_add(1, Relaxed);
    if depth == 0 {
        return;
    }
    let large = [u64::from(depth); 32];
    cx.scope(|scope| {
        scope.spawn(|cx| spawn_all(depth - 1, counts, cx));
        scope.fork().join(|_| (), |cx| _ = fib(5, cx));
        // A piece that is too large for a job.
        scope.spawn(move |cx| {
            assert_eq!(large, [u64::from(depth); 32]);
            spawn_all(depth - 1, counts, cx);
        });
        scope.spawn(|mut cx| _ = cx.join(|cx| spawn_all(depth - 1, counts, cx), |_| ()));
    });
}

#[test]
fn all_pieces_of_a_scope_run_before_it_ends() {
    shared_on_all(|rt| {
        let counts: [AtomicU64; 8] = Default::default();
        rt.run(|cx| spawn_all(7, &counts, cx)).unwrap();
        let counts = counts.map(|count| count.into_inner());
        assert_eq!(counts, [2187, 729, 243, 81, 27, 9, 3, 1]);
    });
}

/// More pieces than there are jobs.
#[test]
fn a_scope_of_many_pieces() {
    shared_on_all(|rt| {
        let mut results = vec![0; 10_000];
        let spawned = rt.scope(|scope| {
            for (index, result) in results.iter_mut().enumerate() {
                scope.spawn(move |cx| *result = fib(index as u64 % 7, cx) + 1);
            }
            42
        });
        assert_eq!(spawned.unwrap(), 42);
        let expected = [1, 2, 2, 3, 4, 6, 9];
        assert!(results.iter().enumerate().all(|(index, result)| *result == expected[index % 7]));
    });
}

#[test]
fn a_panic_in_a_scope_comes_when_all_pieces_are_over() {
    silence_tasks();
    shared_on_all(|rt| {
        // In a piece: the other pieces still run.
        let ran = AtomicU64::new(0);
        let failed = rt.scope(|scope| {
            for number in 0..100 {
                let ran = &ran;
                scope.spawn(move |cx| {
                    fib(6, cx);
                    ran.fetch_add(1, Relaxed);
                    assert!(number % 30 != 7, "provoked");
                });
            }
        });
        assert!(matches!(failed, Err(JoinError::Panicked(payload)) if payload.message() == "provoked"));
        assert_eq!(ran.load(Relaxed), 100);
        // In the scope's own function: pieces that have not begun are dropped, each once.
        let (ends, ran) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let failed = rt.scope(|scope| {
            for _ in 0..100 {
                let (dropped, ran) = (Dropped(ends.clone()), &ran);
                scope.spawn(move |_| {
                    let _dropped = dropped;
                    ran.fetch_add(1, Relaxed);
                });
            }
            panic!("provoked");
        });
        assert!(matches!(failed, Err::<(), _>(JoinError::Panicked(_))));
        assert_eq!(ends.load(Relaxed), 100);
        assert!(ran.load(Relaxed) <= 100);
        assert_eq!(rt.run(|cx| fib(15, cx)).unwrap(), 610);
    });
}

/// A platform in which a waiting thread panics once, when this is requested.
pub struct Impatient {
    pub below: Threads,
    pub asked: Arc<AtomicBool>,
}

impl Platform for Impatient {
    xtasking_testing::forward_platform!(below: topology start park wake join pages now);

    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        while !ready(Waker::noop()) {
            assert!(!self.asked.swap(false, Relaxed), "provoked");
            std::thread::yield_now();
        }
        Ok(())
    }
}

#[test]
fn what_is_borrowed_is_there_as_long_as_it_is_used_though_its_platform_panics() {
    let _watched = watchdog();
    silence_tasks();
    let asked = Arc::new(AtomicBool::new(false));
    let platform = Impatient { below: Threads::new(2), asked: asked.clone() };
    let rt = Runtime::builder().workers(2).platform(platform).build().unwrap();
    for _ in 0..10 {
        let mut borrowed = 0;
        let run = || {
            rt.run(|_| {
                asked.store(true, Relaxed);
                while asked.load(Relaxed) {
                    std::thread::yield_now();
                }
                // The waiting thread has panicked, and is unwinding meanwhile.
                std::thread::sleep(Duration::from_millis(10));
                borrowed = 1;
            })
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        assert_eq!(borrowed, 1);
    }
    assert_eq!(rt.run(|cx| fib(15, cx)).unwrap(), 610);
}
