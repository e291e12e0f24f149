//! A simulation with costs: the clocks agree with a computation by hand.

use crate::common::{Random, divide, lock, side_by_side};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use xtasking::platform::{Clocks, CoreTime, Costs, Platform, Simulation};
use xtasking::primitive::{ReaderWriterLatch, Sequencing};
use xtasking::{Priority, Runtime};

/// Costs of different magnitudes, so that each sum reveals its parts. An idle core sees new tasks
/// at once.
const COSTS: Costs = Costs {
    task: 10,
    unit: 1,
    local_push: 100,
    remote_push: 1_000,
    steal: 10_000,
    miss: 0,
    poll: 1,
    retry: 0,
    queue: 0,
};

fn simulate(cores: usize, seed: u64, costs: Costs) -> (Runtime, Clocks) {
    let (simulation, clocks) = Simulation::with_costs(cores, 1, seed, costs);
    (Runtime::builder().platform(simulation).build().unwrap(), clocks)
}

#[test]
fn equal_tasks_spread_evenly_take_their_share_of_the_time() {
    for (cores, seed) in [(1, 1), (4, 2), (16, 3)] {
        let (rt, clocks) = simulate(cores, seed, COSTS);
        for number in 0..cores * 50 {
            rt.task(()).core((number % cores) as u16).cost(7).spawn(|(), _| ());
        }
        drop(rt);
        assert_eq!(clocks.makespan(), 50 * (10 + 7));
        let times = clocks.cores();
        assert_eq!(times.len(), cores);
        assert!(times.iter().all(|core| (core.busy, core.idle) == (50 * 17, 0)));
        assert_eq!(clocks.imbalance(), 0.0);
    }
}

/// A worker that owns several queues serves all of them, and no task is lost.
#[test]
fn workers_come_and_go_in_virtual_time() {
    for seed in 0..20 {
        let (simulation, clocks) = Simulation::with_costs(8, 1, seed, COSTS);
        let rt = Runtime::builder().platform(simulation).workers(1).most_workers(8).build().unwrap();
        let count = rt.plain(0u64).pin(Sequencing).build();
        let mut random = Random::new(seed);
        let mut handles = Vec::new();
        for size in [1, 8, 3, 5, 1, 8] {
            rt.resize(size).unwrap();
            for core in 0..80 {
                let count = count.clone();
                handles.push(rt.task(()).core(core % 8).submit(move |(), cx| {
                    cx.task(count.write()).spawn(|count, _| *count += 1);
                }));
            }
            // Some tasks are still in flight when the next ones arrive.
            let kept = random.below(handles.len());
            handles.drain(kept..).for_each(|handle| handle.join().unwrap());
        }
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        // Tasks enter the object's queue in the order in which they arrive.
        while rt.task(count.read()).submit(|count, _| *count).join().unwrap() < 480 {}
        assert!(clocks.makespan() >= 2 * 480 * 10 / 8, "{}", clocks.makespan());
    }
}

#[test]
fn a_lopsided_placement_is_as_lopsided_as_it_is() {
    let (rt, clocks) = simulate(4, 1, COSTS);
    for core in [0, 1, 0, 0, 1, 0, 0, 0] {
        rt.task(()).core(core).spawn(|(), _| ());
    }
    drop(rt);
    let times: Vec<_> = clocks.cores().iter().map(|core| (core.busy, core.idle)).collect();
    assert_eq!(times, [(66, 0), (22, 44), (0, 66), (0, 66)]);
    assert_eq!((clocks.makespan(), clocks.imbalance()), (66, 2.0));
    // Without work there is no imbalance.
    assert_eq!(simulate(4, 1, COSTS).1.imbalance(), 0.0);
}

#[test]
fn the_spawner_pays_for_spawns() {
    let (rt, clocks) = simulate(2, 1, COSTS);
    rt.task(()).core(0).spawn(|(), cx| {
        cx.task(()).spawn(|(), _| ());
        cx.task(()).core(0).cost(5).spawn(|(), _| ());
        cx.task(()).core(1).spawn(|(), _| ());
    });
    drop(rt);
    let busy: Vec<_> = clocks.cores().iter().map(|core| core.busy).collect();
    assert_eq!(busy, [11 + 100 + 100 + 1_000 + 11 + 15, 11]);
}

#[test]
fn a_body_says_how_long_it_takes() {
    let (rt, clocks) = simulate(2, 1, COSTS);
    let theirs = clocks.clone();
    let times = rt.task(()).core(1).submit(move |(), _| {
        let before = theirs.now();
        theirs.spend(500);
        (before, theirs.now())
    });
    assert_eq!(times.join().unwrap(), (0, 500));
    assert_eq!((clocks.now(), clocks.makespan()), (511, 511));
    // No task runs.
    clocks.spend(1_000);
    assert_eq!(clocks.now(), 511);
    // A task spawned now has the current time.
    let theirs = clocks.clone();
    assert_eq!(rt.task(()).core(0).submit(move |(), _| theirs.now()).join().unwrap(), 511);
    drop(rt);
    let times = clocks.cores();
    assert!(matches!(
        times[..],
        [CoreTime { busy: 11, idle: 511, .. }, CoreTime { busy: 511, idle: 11, .. }]
    ));
}

/// From core to core, and back.
fn pass_on(left: u16, cx: &mut xtasking::Context) {
    if left > 0 {
        let next = 1 - cx.worker() as u16;
        cx.task(()).core(next).spawn(move |(), cx| pass_on(left - 1, cx));
    }
}

#[test]
fn a_follow_up_elsewhere_starts_when_its_parent_is_over() {
    for seed in 0..10 {
        let (rt, clocks) = simulate(2, seed, COSTS);
        rt.task(()).core(0).spawn(|(), cx| pass_on(100, cx));
        drop(rt);
        assert_eq!(clocks.makespan(), 100 * (11 + 1_000) + 11);
    }
}

#[test]
fn an_idle_core_sees_what_has_come_at_its_next_poll() {
    let (rt, clocks) = simulate(2, 1, Costs { poll: 400, miss: 50, ..COSTS });
    let theirs = clocks.clone();
    rt.task(()).core(0).spawn(move |(), cx| {
        cx.task(()).core(1).spawn(move |(), _| theirs.spend(100_000));
    });
    drop(rt);
    // It runs out of tasks at 0 and notices at 450; it sees the arrival of 1011 at 450 + 2 * 400.
    assert_eq!(clocks.makespan(), 1_250 + 100_000 + 11);
}

#[test]
fn a_busy_core_does_not_take_what_has_not_arrived() {
    let (rt, clocks) = simulate(2, 1, COSTS);
    let order = Arc::new(Mutex::new(Vec::new()));
    let log = |what: u64| {
        let (order, clocks) = (order.clone(), clocks.clone());
        move |took: u64| {
            lock(&order).push((what, clocks.now()));
            clocks.spend(took);
        }
    };
    let (first, urgent) = (log(0), log(1));
    rt.task(()).core(0).spawn(move |(), cx| {
        first(5_000);
        cx.task(()).core(1).priority(Priority::High).spawn(move |(), _| urgent(1));
    });
    for number in 2..20 {
        let run = log(number);
        rt.task(()).core(1).priority(Priority::Low).spawn(move |(), _| run(489));
    }
    drop(rt);
    let order = lock(&order).clone();
    // Sent at 5000 + 11 + 1000; the tasks of core 1 take 500 each.
    let at = order.iter().position(|&(what, _)| what == 1).unwrap();
    assert_eq!(order[at].1, 6_500);
    assert!(order[at + 1..].iter().all(|&(_, when)| when > 6_500));
}

/// The objects of a task, and its start and end.
type Span = (usize, usize, u64, u64);

/// Tasks on one or two of some sequenced objects, spawned by tasks on all cores.
fn touch_objects(cores: usize, seed: u64) -> (Vec<Span>, Vec<CoreTime>) {
    let (rt, clocks) = simulate(cores, seed, COSTS);
    let objects: Arc<[_]> = (0..6).map(|_| rt.plain(0u64).pin(Sequencing).build()).collect();
    let spans = Arc::new(Mutex::new(Vec::new()));
    for number in 0..30 {
        let (objects, spans, clocks) = (objects.clone(), spans.clone(), clocks.clone());
        rt.task(()).core(number as u16).spawn(move |(), cx| {
            let mut random = Random::new(number);
            for _ in 0..10 {
                let (a, b) = (random.below(6), random.below(6));
                let (spans, clocks, took) = (spans.clone(), clocks.clone(), random.below(3_000) as u64);
                let run = move || {
                    let start = clocks.now();
                    clocks.spend(took);
                    lock(&spans).push((a, b, start, clocks.now()));
                };
                if a == b {
                    cx.task(objects[a].write()).spawn(move |_, _| run());
                } else {
                    cx.task((objects[a].write(), objects[b].write())).spawn(move |_, _| run());
                }
            }
        });
    }
    rt.shutdown(xtasking::Shutdown::Drain);
    let spans = lock(&spans).clone();
    (spans, clocks.cores())
}

#[test]
fn tasks_on_a_sequenced_object_do_not_overlap_in_virtual_time() {
    let mut at_once = 0;
    for seed in 0..5 {
        let (spans, _) = touch_objects(4, seed);
        assert_eq!(spans.len(), 300);
        for (index, &(a, b, start, end)) in spans.iter().enumerate() {
            for &(c, d, other_start, other_end) in &spans[..index] {
                let overlaps = start < other_end && other_start < end;
                let share = a == c || a == d || b == c || b == d;
                assert!(!(share && overlaps), "seed {seed}: {start}..{end} and {other_start}..{other_end}");
                at_once += usize::from(overlaps);
            }
        }
    }
    assert!(at_once > 0, "others do");
}

/// Each of `cores` tasks makes ten calls of cost 9 at an object. Returns the time of all, and how
/// many calls came back.
fn call_in_place(cores: usize, transfer: Option<u64>, write: bool) -> (u64, usize) {
    let (simulation, clocks) = Simulation::with_costs(cores, 1, 1, COSTS);
    let simulation = match transfer {
        Some(transfer) => simulation.calls_in_place(transfer),
        None => simulation,
    };
    let rt = Runtime::builder().platform(simulation).build().unwrap();
    let object = rt.shared_reads(()).pin(ReaderWriterLatch).build();
    let late = Arc::new(AtomicUsize::new(0));
    for core in 0..cores {
        let (object, late) = (object.clone(), late.clone());
        rt.task(()).core(core as u16).spawn(move |(), cx| {
            for _ in 0..10 {
                let is_late = match write {
                    true => cx.task(object.write()).cost(9).try_call(|_| ()).is_err(),
                    false => cx.task(object.read()).cost(9).try_call(|_| ()).is_err(),
                };
                late.fetch_add(is_late.into(), Ordering::Relaxed);
            }
        });
    }
    drop(rt);
    (clocks.makespan(), late.load(Ordering::Relaxed))
}

#[test]
fn calls_in_virtual_time_wait_for_each_other_as_latches_say() {
    let (rest, call) = (COSTS.task + COSTS.unit, 9 * COSTS.unit);
    assert_eq!(call_in_place(1, Some(0), true), (rest + 10 * call, 0));
    assert_eq!(call_in_place(4, Some(0), false), (rest + 10 * call, 0), "readers go side by side");
    assert_eq!(call_in_place(4, Some(0), true), (rest + 40 * call, 0), "writers do not");
    assert!(call_in_place(4, Some(1), false).0 > rest + 10 * call, "the latch moves between cores");
    assert_eq!(call_in_place(4, None, true), (rest, 40), "without that, each call comes back");
}

#[test]
fn a_seed_replays_its_times() {
    for cores in [1, 3, 16] {
        assert!(touch_objects(cores, 7) == touch_objects(cores, 7));
    }
    assert!((0..10).any(|seed| touch_objects(3, seed) != touch_objects(3, 10)));
}

#[test]
fn a_stolen_half_is_the_thiefs_time_and_its_owner_waits_for_it() {
    let (rt, clocks) = simulate(2, 1, COSTS);
    let ours = clocks.clone();
    let there = rt.task(()).core(0).submit(move |(), cx| {
        let (_, thief) = cx.fork().join(
            |_| ours.spend(1_000),
            |cx| {
                ours.spend(50_000);
                cx.worker()
            },
        );
        (thief, ours.now())
    });
    // The other core finds nothing at 0, and polls again at 1.
    assert_eq!(there.join().unwrap(), (1, 1 + 50_000 + 10_000));
    drop(rt);
    let busy: Vec<_> = clocks.cores().iter().map(|core| core.busy).collect();
    assert_eq!(busy, [1_000 + 11, 50_000 + 10_000]);
    assert_eq!(clocks.makespan(), 60_001 + 11);
}

#[test]
fn work_that_divides_itself_is_spread_over_all_cores() {
    for (cores, seed) in [(1, 1), (2, 1), (4, 2), (16, 3), (64, 4)] {
        let (rt, clocks) = simulate(cores, seed, Costs { steal: 100, ..COSTS });
        assert_eq!(rt.run(|cx| divide(4_096, &|| clocks.spend(10_000), cx)).unwrap(), 4_096);
        drop(rt);
        let busy: u64 = clocks.cores().iter().map(|core| core.busy).sum();
        let work = 4_096 * 10_000;
        assert!((work..work + work / 50).contains(&busy), "{busy}");
        assert!(clocks.makespan() >= work / cores as u64);
        // Ideally all cores are busy until the end.
        assert!(clocks.makespan() < work / cores as u64 * 3 / 2, "{cores} cores: {}", clocks.makespan());
    }
}

/// Spawns this number of tasks, each a parent of two.
fn grow(tasks: u32, cx: &mut xtasking::Context) {
    let left = (tasks - 1) / 2;
    for (child, tasks) in [(1, left), (2, tasks - 1 - left)] {
        if tasks > 0 {
            let core = 2 * cx.worker() + child;
            cx.task(()).core(core as u16).spawn(move |(), cx| grow(tasks, cx));
        }
    }
}

#[test]
#[cfg_attr(sanitizer = "thread", ignore = "a simulation has one thread")]
fn many_cores_are_no_burden() {
    let (simulation, clocks) = Simulation::with_costs(192, 8, 1, Costs::default());
    let rt = Runtime::builder().platform(simulation).counters(true).build().unwrap();
    rt.task(()).spawn(|(), cx| grow(100_000, cx));
    // One task at a time, while all other cores are idle.
    let mut last = 0;
    for _ in 0..1_000 {
        rt.task(()).submit(|(), _| ()).join().unwrap();
        assert!(clocks.now() > last);
        last = clocks.now();
    }
    let object = rt.plain(0u64).pin(Sequencing).build();
    (0..1_000).for_each(|_| rt.task(object.write()).spawn(|count, _| *count += 1));
    assert_eq!(rt.task(object.read()).submit(|count, _| *count).join().unwrap(), 1_000);
    drop(rt);
    assert_eq!(clocks.cores().len(), 192);
}

#[test]
fn the_clock_of_the_platform_is_the_one_of_the_core() {
    let (simulation, clocks) = Simulation::with_costs(3, 1, 1, COSTS);
    assert_eq!((simulation.now(), clocks.now(), clocks.makespan()), (0, 0, 0));
    assert!(clocks.cores().is_empty());
    assert_eq!(format!("{clocks:?}"), "Clocks { makespan: 0, .. }");
}

/// Threads that wait for the same cores take turns in driving them: two at once would lose a core.
#[test]
fn several_threads_may_wait_at_once() {
    let _watched = crate::common::watchdog();
    for seed in 0..20 {
        let (rt, clocks) = simulate(4, seed, COSTS);
        let run = || (0..200).for_each(|_| rt.task(()).submit(|(), _| ()).join().unwrap());
        side_by_side([run; 4]);
        drop(rt);
        assert_eq!(clocks.cores().iter().map(|core| core.busy).sum::<u64>(), 800 * 11);
    }
}
