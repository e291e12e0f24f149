//! rayon's functions beside tasks of the same runtime, and where jobs wait for one another.

use rayon_core::{ThreadPool, ThreadPoolBuilder, broadcast, current_thread_index, join, scope};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread::yield_now;
use xtasking_testing::{eventually, silence_tasks, watchdog};

fn pool(threads: usize) -> Arc<ThreadPool> {
    Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().unwrap())
}

/// Waits for a flag, and lets other threads have the core meanwhile.
fn wait_for(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        yield_now();
    }
}

fn sum(numbers: &[u64]) -> u64 {
    if numbers.len() <= 10 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (left, right) = join(|| sum(left), || sum(right));
    left + right
}

#[test]
fn tasks_and_jobs_share_the_workers() {
    let _watched = watchdog();
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        let rt = pool.runtime();
        let total = rt.plain(0).build();
        let numbers: Vec<u64> = (0..1000).collect();
        let tasks: Vec<_> = (0..50)
            .map(|_| {
                let (pool, numbers) = (pool.clone(), numbers.clone());
                rt.task(total.write()).submit(move |total, cx| {
                    *total += pool.within(cx.fork(), || sum(&numbers));
                })
            })
            .collect();
        for _ in 0..50 {
            assert_eq!(pool.install(|| sum(&numbers)), 499_500);
        }
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(rt.task(total.read()).submit(|total, _| *total).join().unwrap(), 50 * 499_500);
    }
}

/// Within a task: scopes, jobs, broadcasts, another pool.
#[test]
fn a_task_uses_all_of_rayon() {
    let _watched = watchdog();
    let (pool, other) = (pool(3), pool(1));
    let count = Arc::new(AtomicUsize::new(0));
    let (inside, elsewhere, counted) = (pool.clone(), other.clone(), count.clone());
    let task = pool.runtime().task(()).submit(move |(), cx| {
        let home = cx.worker();
        inside.within(cx.fork(), || {
            assert_eq!(current_thread_index(), Some(home));
            let count = &counted;
            scope(|scope| {
                (0..100).for_each(|_| scope.spawn(|_| _ = count.fetch_add(1, SeqCst)));
                scope.spawn_broadcast(|_, _| _ = count.fetch_add(1, SeqCst));
            });
            assert_eq!(broadcast(|cx| cx.index()), [0, 1, 2]);
            elsewhere.install(|| inside.install(|| count.fetch_add(1, SeqCst)));
            rayon_core::spawn({
                let count = counted.clone();
                move || _ = count.fetch_add(1, SeqCst)
            });
        });
        assert_eq!(current_thread_index(), None);
    });
    task.join().unwrap();
    eventually("all have run", || count.load(SeqCst) == 105);
}

/// Such a call would wait for its own worker.
#[test]
fn a_task_that_calls_rayon_without_its_fork_fails() {
    let _watched = watchdog();
    silence_tasks();
    let (pool, other) = (pool(2), pool(2));
    let (inside, elsewhere) = (pool.clone(), other.clone());
    let fails = |body: &mut dyn FnMut()| catch_unwind(AssertUnwindSafe(body)).is_err();
    let task = pool.runtime().task(()).submit(move |(), cx| {
        assert!(fails(&mut || inside.install(|| ())));
        assert!(fails(&mut || inside.in_place_scope(|_| ())));
        assert!(fails(&mut || _ = inside.broadcast(|_| ())));
        assert!(fails(&mut || elsewhere.within(cx.fork(), || ())));
        // What does not wait works, and so does another pool.
        let (sender, receiver) = channel();
        inside.spawn(move || sender.send(1).unwrap());
        elsewhere.install(move || receiver.recv().unwrap())
    });
    assert_eq!(task.join().unwrap(), 1);
}

/// The owner of the stolen half waits in a join, and has to run its part of the broadcast there.
#[test]
fn a_stolen_half_broadcasts() {
    let _watched = watchdog();
    let pool = pool(3);
    for round in 0..50 {
        pool.install(|| {
            let stolen = AtomicBool::new(false);
            let half = || {
                stolen.store(true, SeqCst);
                if round % 10 == 0 {
                    // The owner sleeps by now.
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                broadcast(|cx| cx.index())
            };
            let ((), indices) = join(|| wait_for(&stolen), half);
            assert_eq!(indices, [0, 1, 2]);
        });
    }
}

/// The scope's own worker takes part in a join of its only job.
#[test]
fn a_waiting_scope_runs_halves_of_joins() {
    let _watched = watchdog();
    let pool = pool(2);
    for _ in 0..20 {
        pool.install(|| {
            let both = Barrier::new(2);
            let taken = AtomicBool::new(false);
            scope(|scope| {
                scope.spawn(|_| {
                    taken.store(true, SeqCst);
                    join(|| both.wait(), || both.wait());
                });
                wait_for(&taken);
            });
        });
    }
}

/// A job is run although all workers wait, each for another pool.
#[test]
fn pools_that_wait_for_each_other_go_on() {
    let _watched = watchdog();
    let pools = [pool(1), pool(2), pool(1)];
    fn nest(pools: &[Arc<ThreadPool>; 3], depth: usize) -> usize {
        let next = || if depth == 0 { 0 } else { nest(pools, depth - 1) };
        pools[depth % 3].install(|| {
            let (a, b) = join(next, || 1);
            a + b
        })
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| nest(&pools, 20))).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 21));
    });
}

#[test]
fn a_pool_may_be_dropped_by_its_own_job() {
    let _watched = watchdog();
    for threads in [1, 3] {
        let (sender, receiver) = channel();
        let pool = pool(threads);
        let own = pool.clone();
        pool.spawn(move || {
            drop(own);
            // Jobs that are spawned now still run.
            rayon_core::spawn(move || sender.send(current_thread_index()).unwrap());
        });
        drop(pool);
        assert!(receiver.recv().unwrap().is_some());
        // The job is gone, and with it what it holds.
        assert!(receiver.recv().is_err());
    }
}

#[test]
fn the_options_of_a_pool_are_heeded() {
    let error = ThreadPoolBuilder::new().use_current_thread().build().unwrap_err();
    assert!(error.to_string().contains("use_current_thread"), "{error}");
    let most = rayon_core::max_num_threads();
    assert!(most >= 256);
    let builder = ThreadPoolBuilder::new().num_threads(2).thread_name(|index| format!("rayon {index}"));
    let pool = builder.configure(|runtime| runtime.counters(true)).build().unwrap();
    let name = pool.broadcast(|_| std::thread::current().name().map(str::to_string));
    assert_eq!(name, [Some("rayon 0".into()), Some("rayon 1".into())]);
    // A task is counted after its caller was told that it has run.
    eventually("the tasks are counted", || pool.runtime().counters().unwrap().tasks > 0);
}

/// A payload whose destructor panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("provoked: again");
    }
}

#[test]
fn a_scope_waits_for_its_jobs_though_a_payload_panics_when_it_is_dropped() {
    let _watched = watchdog();
    silence_tasks();
    let (go, ran) = (AtomicBool::new(false), AtomicBool::new(false));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        pool(1).in_place_scope(|scope| {
            // The last one runs first.
            scope.spawn(|_| wait_for(&go));
            scope.spawn(|_| ran.store(true, SeqCst));
            scope.spawn(|_| panic_any(Bomb));
            scope.spawn(|_| panic!("provoked: first"));
            scope.spawn(|_| panic_any(Bomb));
            go.store(true, SeqCst);
        });
    }));
    // Which panic is the first depends on the order.
    if let Err(payload) = outcome.map_err(|payload| payload.downcast::<&str>()) {
        payload.map_or_else(std::mem::forget, |text| assert_eq!(*text, "provoked: first"));
    }
    assert!(ran.load(SeqCst), "a job was left");
}
