//! Priorities as numbers: ranked queues obey them, exactly or approximately; with all other queues
//! they keep a meaning.

use crate::common::{Flag, Gate, Random, Setting, eventually, on_each, watchdog};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use xtasking::{
    Context, Priority, QueuePolicy, Runtime, Shutdown,
    primitive::Sequencing,
    queues::{RankOrder, Topology},
};

const RANKINGS: [RankOrder; 2] = [RankOrder::Exact, RankOrder::Relaxed];
const LAST: u16 = RankOrder::LAST;
const MIDDLE: u16 = RankOrder::MIDDLE;

/// The tasks in the order of their execution.
type Order<T> = Arc<Mutex<Vec<T>>>;

/// Ranked queues on both platforms.
fn on_rankings(rankings: &[RankOrder], body: impl Fn(Setting, RankOrder, &dyn Fn() -> Runtime)) {
    for &ranking in rankings {
        on_each(Setting::threads().chain(Setting::simulations(&[1, 7])), |setting| {
            body(setting, ranking, &|| {
                setting.builder().pool(QueuePolicy::Ranked(ranking)).counters(true).build().unwrap()
            });
        });
    }
}

/// Runtimes with one worker, on both platforms.
fn with_one_worker(pool: QueuePolicy, body: impl Fn(Runtime)) {
    let simulation = [1, 7].map(|seed| Setting::Simulation { cores: 1, seed });
    let settings = std::iter::once(Setting::Threads { workers: 1 }).chain(simulation);
    on_each(settings, |setting| body(setting.builder().pool(pool).build().unwrap()));
}

/// A task that spawns others, and the order in which they run.
fn order_of<T: Send + 'static>(
    rt: Runtime,
    spawn: impl FnOnce(&mut Context, &Order<T>) + Send + 'static,
) -> Vec<T> {
    let order = Order::default();
    let noted = order.clone();
    rt.task(()).core(0).spawn(move |(), cx| spawn(cx, &noted));
    drop(rt);
    std::mem::take(&mut *order.lock().unwrap())
}

#[test]
fn one_worker_runs_the_most_urgent_first_and_the_oldest_of_those() {
    with_one_worker(QueuePolicy::Ranked(RankOrder::Exact), |rt| {
        let order = order_of(rt, |cx, order| {
            let mut random = Random::new(3);
            for number in 0..1000 {
                let (rank, order) = (random.below(20) as u16 * 1000, order.clone());
                cx.task(()).rank(rank).spawn(move |(), _| order.lock().unwrap().push((rank, number)));
            }
        });
        assert_eq!(order.len(), 1000);
        assert!(order.is_sorted());
    });
}

/// Tasks from outside, too, while the worker is busy.
#[test]
fn tasks_from_outside_run_in_the_same_order() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(1).pool(QueuePolicy::Ranked(RankOrder::Exact)).build().unwrap();
    let (begun, go, order) = (Flag::default(), Flag::default(), Order::default());
    let (begins, goes) = (begun.clone(), go.clone());
    rt.task(()).spawn(move |(), _| {
        begins.set();
        goes.wait();
    });
    begun.wait();
    for number in 0..1000u16 {
        let (rank, order) = (number * 63 % 100, order.clone());
        rt.task(()).rank(rank).spawn(move |(), _| order.lock().unwrap().push((rank, number)));
    }
    go.set();
    drop(rt);
    let order = order.lock().unwrap();
    assert_eq!(order.len(), 1000);
    assert!(order.is_sorted());
}

/// A task without a rank is in the middle, whatever its parent's rank. Ranks above the maximum
/// count as the maximum.
#[test]
fn a_task_without_a_rank_is_in_the_middle() {
    with_one_worker(QueuePolicy::Ranked(RankOrder::Exact), |rt| {
        let order = order_of(rt, |cx, order| {
            let note = |name| {
                let order = order.clone();
                move |_: &mut Context| order.lock().unwrap().push(name)
            };
            let (child, last, great) = (note("child"), note("last"), note("too great"));
            let (less, more, equal) = (note("less"), note("more"), note("equal"));
            cx.task(()).rank(LAST).spawn(move |(), cx| last(cx));
            cx.task(()).rank(u16::MAX).spawn(move |(), cx| great(cx));
            cx.task(()).rank(MIDDLE + 1).spawn(move |(), cx| less(cx));
            cx.task(()).rank(MIDDLE).spawn(move |(), cx| equal(cx));
            cx.task(()).rank(MIDDLE - 1).spawn(move |(), cx| more(cx));
            cx.task(()).rank(0).spawn(|(), cx| cx.task(()).spawn(move |(), cx| child(cx)));
        });
        assert_eq!(order, ["more", "equal", "child", "less", "last", "too great"]);
    });
}

/// If ranks are not obeyed as numbers, a ranked task still runs on the right side of those without
/// a rank. This is so with other queues, and for tasks with objects or places with all queues.
#[test]
fn with_other_queues_ranks_are_priorities() {
    let pools = [QueuePolicy::Local, QueuePolicy::WorkStealing, QueuePolicy::XQueue(Topology::Next)];
    for pool in pools.into_iter().chain(RANKINGS.map(QueuePolicy::Ranked)) {
        with_one_worker(pool, |rt| {
            let object = rt.plain(()).pin(Sequencing).build();
            let order = order_of(rt, move |cx, order| {
                for rank in [Some(LAST), Some(MIDDLE + 1), None, Some(MIDDLE), Some(MIDDLE - 1), Some(0)] {
                    let order = order.clone();
                    let task = cx.task(object.write());
                    let task = if let Some(rank) = rank { task.rank(rank) } else { task };
                    task.spawn(move |(), _| order.lock().unwrap().push(rank.unwrap_or(MIDDLE).cmp(&MIDDLE)));
                }
            });
            assert!(order.is_sorted(), "with an object, {pool:?}: {order:?}");
        });
        with_one_worker(pool, |rt| {
            let order = order_of(rt, |cx, order| {
                let tasks =
                    [(Some(Priority::Low), 0), (None, LAST), (None, MIDDLE), (Some(Priority::High), LAST)];
                for (number, (priority, rank)) in tasks.into_iter().enumerate() {
                    let order = order.clone();
                    let task = cx.task(()).core(0).rank(rank);
                    let task = if let Some(priority) = priority { task.priority(priority) } else { task };
                    task.spawn(move |(), _| order.lock().unwrap().push(number));
                }
            });
            assert_eq!(order, [3, 2, 0, 1], "with a place, and priorities that are said, {pool:?}");
        });
    }
}

/// A tree of tasks with all kinds of ranks: as many as Fibonacci's function has calls.
fn calls(cx: &mut Context, number: u32, seed: u64, ran: Arc<AtomicUsize>) {
    ran.fetch_add(1, Relaxed);
    if number >= 2 {
        for less in 1..=2 {
            let (ran, seed) = (ran.clone(), seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(less));
            // A task's cost is counted at the worker that runs it.
            let task = cx.task(()).cost(less as u16 * 3);
            let task = if seed.is_multiple_of(4) { task } else { task.rank((seed >> 32) as u16) };
            task.spawn(move |(), cx| calls(cx, number - less, seed, ran));
        }
    }
}

#[test]
fn every_task_runs_once() {
    on_rankings(&RANKINGS, |setting, _, build| {
        let rt = build();
        let ran = Arc::new(AtomicUsize::new(0));
        let root = ran.clone();
        rt.task(()).spawn(move |(), cx| calls(cx, 15, setting.seed(), root));
        for number in 0..1000 {
            let ran = ran.clone();
            rt.task(()).rank(number % 7).spawn(move |(), _| _ = ran.fetch_add(1, Relaxed));
        }
        rt.shutdown(Shutdown::Drain);
        assert_eq!(ran.load(Relaxed), 1973 + 1000);
    });
}

/// Tasks that have not started are cancelled.
#[test]
fn cancelling_resolves_what_is_in_the_queue() {
    on_rankings(&RANKINGS, |_, _, build| {
        let rt = build();
        let task = rt.task(()).submit(|(), cx| {
            (0..1000).map(|number| cx.task(()).rank(number).submit(|(), _| ())).collect::<Vec<_>>()
        });
        let mut handles = task.join().unwrap();
        handles.extend((0..1000).map(|number| rt.task(()).rank(number).submit(|(), _| ())));
        rt.shutdown(Shutdown::Cancel);
        assert!(handles.iter().all(|handle| handle.is_finished()));
    });
}

/// As many sleeping workers wake as there are tasks, from inside and from outside.
#[test]
fn sleepers_are_woken() {
    const WORKERS: usize = 3;
    for ranking in RANKINGS {
        let _watched = watchdog();
        let builder = Runtime::builder().workers(WORKERS).pool(QueuePolicy::Ranked(ranking)).counters(true);
        let rt = builder.build().unwrap();
        for round in 0..50 {
            let sleeps = rt.counters().unwrap().sleeps;
            eventually("all sleep", || rt.counters().unwrap().sleeps > sleeps || sleeps >= WORKERS as u64);
            // The tasks wait for each other, so each runs on another worker.
            let (there, done) = Gate::new(&rt, WORKERS);
            let met = Arc::new(AtomicUsize::new(0));
            let meet = move || {
                met.fetch_add(1, Relaxed);
                eventually("all workers come", || met.load(Relaxed) == WORKERS);
                there.pass();
            };
            if round % 2 == 0 {
                rt.task(()).rank(round).spawn(move |(), cx| {
                    for _ in 1..WORKERS {
                        let meet = meet.clone();
                        cx.task(()).rank(round).spawn(move |(), _| meet());
                    }
                    meet();
                });
            } else {
                for _ in 0..WORKERS {
                    let meet = meet.clone();
                    rt.task(()).rank(round).spawn(move |(), _| meet());
                }
            }
            done.join().unwrap();
        }
    }
}

/// Neither ranked tasks nor the workers' own tasks starve, even if there is an endless supply of
/// the other kind.
#[test]
fn the_queue_and_the_workers_own_tasks_do_not_starve_each_other() {
    fn again(cx: &mut Context, ranked: bool, stop: Flag) {
        if !stop.is_set() {
            let place = cx.worker() as u16;
            let task = cx.task(());
            let task = if ranked { task.rank(0) } else { task.core(place).priority(Priority::High) };
            task.spawn(move |(), cx| again(cx, ranked, stop));
        }
    }
    on_rankings(&RANKINGS, |_, _, build| {
        for ranked in [true, false] {
            let rt = build();
            let stop = Flag::default();
            for worker in 0..rt.workers() {
                let stop = stop.clone();
                rt.task(()).core(worker as u16).spawn(move |(), cx| again(cx, ranked, stop));
            }
            let object = rt.plain(()).build();
            let waited: Vec<_> = if ranked {
                (0..10).map(|_| rt.task(object.write()).rank(LAST).submit(|(), _| ())).collect()
            } else {
                (0..10).map(|_| rt.task(()).rank(LAST).submit(|(), _| ())).collect()
            };
            waited.into_iter().for_each(|task| task.join().unwrap());
            stop.set();
        }
    });
}

/// The least urgent task holds an object, or waits for two of which one is held, while there is an
/// endless supply of more urgent tasks, in the queue and outside it. The wait of the next task for
/// the object is bounded, however urgent it is.
#[test]
fn no_task_keeps_an_object_from_more_urgent_ones_for_ever() {
    const ROUNDS: usize = 10;
    fn again(cx: &mut Context, rank: Option<u16>, stop: Flag) {
        if !stop.is_set() {
            let place = cx.worker() as u16;
            let task = cx.task(());
            let task = match rank {
                Some(rank) => task.rank(rank),
                None => task.core(place).priority(Priority::High),
            };
            task.spawn(move |(), cx| again(cx, rank, stop));
        }
    }
    on_rankings(&RANKINGS, |_, _, build| {
        let rt = build();
        let stop = Flag::default();
        for worker in 0..rt.workers() {
            for rank in [Some(0), Some(0), None] {
                let stop = stop.clone();
                rt.task(()).core(worker as u16).spawn(move |(), cx| again(cx, rank, stop));
            }
        }
        let objects = [(); 3].map(|()| rt.plain(0).pin(Sequencing).build());
        for round in 0..ROUNDS {
            let [a, b, c] = [0, 1, 2].map(|next| &objects[(round + next) % 3]);
            let mut tasks = Vec::new();
            // The first waits for no other task, the second for the first, and the third for both.
            for (first, second) in [(a, b), (b, c), (c, a)] {
                let task = rt.task((first.write(), second.write())).rank(LAST);
                tasks.push(task.submit(|(first, second), _| (*first, *second) = (*first + 1, *second + 1)));
            }
            tasks.push(rt.task(a.write()).rank(LAST).submit(|count, _| *count += 1));
            tasks.extend(
                [a, b, c].map(|object| rt.task(object.write()).rank(0).submit(|count, _| *count += 1)),
            );
            tasks.into_iter().for_each(|task| task.join().unwrap());
        }
        stop.set();
        let counts = objects.each_ref().map(|object| rt.task(object.read()).submit(|count, _| *count).join());
        assert_eq!(counts.map(Result::unwrap).iter().sum::<usize>(), ROUNDS * 10);
    });
}

/// A task that waits for a group has its rank when the group ends, which the worker reports after a
/// bounded number of tasks.
#[test]
fn a_task_that_waits_for_a_group_keeps_its_rank() {
    with_one_worker(QueuePolicy::Ranked(RankOrder::Exact), |rt| {
        let order = order_of(rt, |cx, order| {
            let group = cx.group();
            let note = |rank| {
                let order = order.clone();
                move |(): (), _: &mut Context| order.lock().unwrap().push(rank)
            };
            (0..100).for_each(|_| cx.task(()).rank(30).spawn(note(30)));
            cx.task(()).rank(10).spawn(note(10));
            cx.task(()).rank(0).of(&group).spawn(note(0));
            cx.task(()).rank(20).after(group).spawn(note(20));
        });
        assert_eq!((order.len(), &order[..2], order.last()), (103, &[0, 10][..], Some(&30)));
    });
}

/// A runtime is resized: the remaining workers serve the queue.
#[test]
fn any_number_of_workers_empties_the_queue() {
    const MOST: usize = 4;
    for ranking in RANKINGS {
        let simulations = [1, 7].map(|seed| Setting::Simulation { cores: MOST, seed });
        on_each(simulations.into_iter().chain([Setting::Threads { workers: MOST }]), |setting| {
            let builder = setting.builder().workers(1).most_workers(MOST).pool(QueuePolicy::Ranked(ranking));
            let rt = builder.build().unwrap();
            for round in 0..40 {
                // Some tasks are queued before, and some while workers come and go.
                let submit = |rank| rt.task(()).rank(rank).submit(move |(), _| rank);
                let mut tasks: Vec<_> = (0..50).map(submit).collect();
                rt.resize(round * 3 % MOST + 1).unwrap();
                tasks.extend((50..100).map(submit));
                let ranks = tasks.into_iter().map(|task| task.join().unwrap());
                assert!(ranks.eq(0..100));
            }
        });
    }
}

/// One worker owns all run queues and runs a task; the other workers have ended.
#[test]
fn a_task_of_the_queue_that_waits_for_others_holds_up_none_of_them() {
    for ranking in RANKINGS {
        let _watched = watchdog();
        let builder = Runtime::builder().workers(4).most_workers(8).pool(QueuePolicy::Ranked(ranking));
        let rt = builder.build().unwrap();
        for workers in [2, 8, 3, 2] {
            rt.resize(workers).unwrap();
            eventually("as many run as were asked for", || rt.running_workers() == workers);
            let (begun, go) = (Flag::default(), Flag::default());
            let (begins, goes) = (begun.clone(), go.clone());
            let waits = rt.task(()).rank(0).submit(move |(), _| {
                begins.set();
                goes.wait();
            });
            begun.wait();
            // The remaining workers sleep by now, or soon will.
            let others: Vec<_> = (0..100).map(|rank| rt.task(()).rank(rank).submit(|(), _| ())).collect();
            others.into_iter().for_each(|task| task.join().unwrap());
            go.set();
            waits.join().unwrap();
        }
    }
}

/// Returns the mean and the maximum number of more urgent tasks that are passed over.
fn passed_over(ranking: RankOrder, cores: usize, seed: u64) -> (f64, usize) {
    const TASKS: usize = 5000;
    let rt =
        Setting::Simulation { cores, seed }.builder().pool(QueuePolicy::Ranked(ranking)).build().unwrap();
    let order = order_of(rt, move |cx, order| {
        let mut random = Random::new(seed);
        for number in 0..TASKS {
            let (rank, order) = (random.below(1000) as u16, order.clone());
            cx.task(()).rank(rank).spawn(move |(), _| order.lock().unwrap().push((rank, number)));
        }
    });
    assert_eq!(order.len(), TASKS);
    let mut left: Vec<_> = order.clone();
    left.sort_unstable();
    let passed: Vec<_> = order
        .iter()
        .map(|task| {
            let place = left.binary_search(task).expect("each runs once");
            left.remove(place);
            place
        })
        .collect();
    (passed.iter().sum::<usize>() as f64 / TASKS as f64, passed.into_iter().max().unwrap_or(0))
}

/// Many workers run tasks in order, exactly or as nearly as documented: with two heaps for each
/// worker, a task is passed over by few others.
#[test]
fn the_order_is_as_relaxed_as_is_said() {
    let _watched = watchdog();
    for cores in [1, 4, 16] {
        for seed in 1..4 {
            assert_eq!(passed_over(RankOrder::Exact, cores, seed), (0.0, 0), "{cores} cores, seed {seed}");
            let (mean, most) = passed_over(RankOrder::Relaxed, cores, seed);
            let heaps = 2 * cores;
            // With two heaps, half of the choices are right.
            assert!(
                (mean > 0.0) == (cores > 1) && mean < heaps as f64,
                "{mean} with {heaps} heaps, seed {seed}"
            );
            assert!(most < 20 * heaps, "{most} with {heaps} heaps, seed {seed}");
        }
    }
}
