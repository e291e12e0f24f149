//! Priorities, placement, prefetching, and their counters.

use crate::common::{Flag, Gate, Quad, Setting, lock, on_all, on_each, watchdog};
use std::sync::{Arc, Mutex};
use xtasking::platform::Simulation;
use xtasking::{
    Frequency, Part, Place, Priority, QueuePolicy, Runtime, Shutdown, Version, Word,
    arena::{Arena, Link, Step, Visit},
    primitive::{OptimisticLatched, Sequencing},
};

/// Runs tasks of these priorities, all ready at once on one worker. Returns their indices in the
/// order of execution.
fn order_of(setting: Setting, priorities: &[Priority]) -> Vec<usize> {
    // Other queue policies keep no order among unbound tasks.
    let rt = setting.builder().pool(QueuePolicy::Local).build().unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let (seen, all) = (order.clone(), priorities.to_vec());
    // Spawned by one task, so that none runs before all exist.
    rt.task(()).core(0).spawn(move |(), cx| {
        for (index, priority) in all.into_iter().enumerate() {
            let seen = seen.clone();
            cx.task(()).priority(priority).spawn(move |(), _| lock(&seen).push(index));
        }
    });
    rt.shutdown(Shutdown::Drain);
    Arc::into_inner(order).unwrap().into_inner().unwrap()
}

#[test]
fn the_more_urgent_runs_first() {
    use Priority::{High, Low, Normal};
    on_each(
        [Setting::Threads { workers: 1 }, Setting::Simulation { cores: 1, seed: 1 }].into_iter(),
        |setting| {
            assert_eq!(order_of(setting, &[Low, Normal, High]), [2, 1, 0]);
            let many: Vec<_> = (0..90).map(|index| [Low, High, Normal][index % 3]).collect();
            let order = order_of(setting, &many);
            // Ageing lets some tasks through, but only a few.
            for (level, range) in [(1, 0..30), (2, 30..60), (0, 60..90)] {
                let place: usize = (0..90).filter(|&at| order[at] % 3 == level).sum::<usize>() / 30;
                assert!(range.contains(&place), "tasks {level} run around {place}: {order:?}");
            }
            // Within a priority the order is kept.
            for level in 0..3 {
                let same: Vec<_> = order.iter().filter(|&index| index % 3 == level).copied().collect();
                assert!(same.is_sorted(), "{same:?}");
            }
        },
    );
}

#[test]
fn ageing_lets_lower_priorities_through() {
    fn storm(cx: &mut xtasking::Context, calm: [Flag; 2]) {
        if !calm.iter().all(Flag::is_set) {
            cx.task(()).spawn(move |(), cx| storm(cx, calm));
        }
    }
    on_all(|setting| {
        let rt = setting.build();
        let calm = [Flag::default(), Flag::default()];
        for _ in 0..4 {
            let calm = calm.clone();
            rt.task(()).core(0).priority(Priority::High).spawn(move |(), cx| storm(cx, calm));
        }
        for (flag, priority) in calm.iter().zip([Priority::Normal, Priority::Low]) {
            let flag = flag.clone();
            let task = rt.task(()).core(0).priority(priority).submit(move |(), _| flag.set());
            task.join().unwrap();
        }
    });
}

#[test]
fn a_follow_up_is_as_urgent_as_its_parent() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let rt = Setting::Simulation { cores: 1, seed: 1 }.build();
    for (name, priority) in [("low", Priority::Low), ("high", Priority::High)] {
        let order = order.clone();
        rt.task(()).priority(priority).spawn(move |(), cx| {
            let (again, log) = (order.clone(), move |text| lock(&order).push((name, text)));
            log("parent");
            cx.task(()).spawn(move |(), _| lock(&again).push((name, "child")));
        });
    }
    drop(rt);
    let expected = [("high", "parent"), ("high", "child"), ("low", "parent"), ("low", "child")];
    assert_eq!(*lock(&order), expected);
}

#[test]
fn a_task_runs_on_the_core_it_names() {
    on_all(|setting| {
        let rt = setting.build();
        let workers = rt.workers();
        for core in 0..40u16 {
            let expected = usize::from(core) % workers;
            assert_eq!(rt.task(()).core(core).submit(|(), cx| cx.worker()).join().unwrap(), expected);
            let (promise, inner) = rt.promise();
            rt.task(()).spawn(move |(), cx| {
                cx.task(()).core(core).spawn(move |(), cx| promise.fulfil(cx.worker()));
            });
            assert_eq!(inner.join().unwrap(), expected);
            // A follow-up without a place stays on its worker, unless the policy moves unbound
            // tasks.
            if rt.pool() != QueuePolicy::Local {
                continue;
            }
            let (promise, inner) = rt.promise();
            rt.task(()).core(core).spawn(move |(), cx| {
                cx.task(()).spawn(move |(), cx| promise.fulfil(cx.worker()));
            });
            assert_eq!(inner.join().unwrap(), expected);
        }
        assert_eq!(Place::default(), Place::Here);
    });
}

#[test]
fn a_sequenced_object_has_the_last_word() {
    on_all(|setting| {
        let rt = setting.build();
        for core in 0..20 {
            let object = rt.plain(0).pin(Sequencing).build();
            let task = rt.task(object.write()).core(core).node(core).submit(|_, cx| cx.worker());
            assert_eq!(task.join().unwrap(), object.home());
        }
        for core in 0..3 * rt.workers() {
            let object = rt.plain(0).pin(Sequencing).node(1).core(core).build();
            assert_eq!(object.home(), core % rt.workers());
        }
        // Homes are assigned in round-robin order.
        let mut homes: Vec<_> = (0..rt.workers()).map(|_| rt.plain(0).build().home()).collect();
        homes.sort_unstable();
        assert!(homes.iter().copied().eq(0..rt.workers()), "{homes:?}");
    });
}

fn with_nodes(cores: usize, nodes: usize, seed: u64) -> Runtime {
    Runtime::builder().platform(Simulation::with_nodes(cores, nodes, seed)).build().unwrap()
}

#[test]
fn a_task_runs_on_the_node_it_names() {
    for (cores, nodes) in [(4, 2), (16, 4), (5, 2)] {
        let rt = with_nodes(cores, nodes, 5);
        let topology = rt.topology();
        assert_eq!((topology.cores.len(), topology.nodes), (cores, nodes));
        for node in 0..3 * nodes as u16 {
            let expected = node % nodes as u16;
            for _ in 0..5 {
                let worker = rt.task(()).node(node).submit(|(), cx| cx.worker()).join().unwrap();
                assert_eq!(topology.node_of(worker), expected);
                let home = rt.plain(0).node(node).build().home();
                assert_eq!(topology.node_of(home), expected);
            }
        }
    }
    // With more nodes than cores, all workers serve a node without workers.
    let rt = with_nodes(2, 4, 1);
    assert!((0..8).all(|node| rt.task(()).node(node).submit(|(), _| ()).join().is_ok()));
}

/// Tasks for a node are distributed among its workers by their cost.
#[test]
fn the_least_loaded_worker_of_a_node_is_chosen() {
    let rt = with_nodes(4, 2, 1);
    let spawned = |costs: &[u16]| {
        let tasks: Vec<_> =
            costs.iter().map(|&cost| rt.task(()).node(1).cost(cost).submit(|(), cx| cx.worker())).collect();
        let workers: Vec<_> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
        // Idle workers publish that their queues are empty.
        for core in 0..4 {
            rt.task(()).core(core).submit(|(), _| ()).join().unwrap();
        }
        workers
    };
    let even = spawned(&[1; 40]);
    assert_eq!([2, 3].map(|worker| even.iter().filter(|&&at| at == worker).count()), [20, 20]);
    let uneven = spawned(&[20, 1, 1, 1, 1, 1, 1, 1]);
    let alone = uneven[0];
    assert!(uneven[1..].iter().all(|&worker| worker != alone), "{uneven:?}");
}

const LENGTH: usize = 200;

struct Node {
    value: Word,
    next: Word,
}

impl Version for Node {}

/// Sums a list of nodes.
struct Walk {
    sum: std::cell::Cell<u64>,
    gate: Gate,
    found: Arc<Mutex<Vec<u64>>>,
}

impl Visit for Walk {
    type Target = Node;
    type Output = u64;
    const LOCATES: bool = true;

    fn locate(&self, _: Link<Node>, node: &Node) -> Part {
        Part::lines((node.value.get() % 2) as u16, 1)
    }

    fn read(&self, _: Link<Node>, node: &Node) -> Step<Node, u64> {
        // There are no writers, so no read is repeated.
        self.sum.set(self.sum.get() + node.value.get());
        // SAFETY: a link to a node of this kind, or 0.
        match unsafe { Link::from_word(node.next.get()) } {
            Some(next) => Step::Go(next, Part::HEAD),
            None => Step::End(self.sum.get()),
        }
    }

    fn then(self, sum: u64, _: &mut xtasking::Context) {
        lock(&self.found).push(sum);
        self.gate.pass();
    }
}

fn prefetch_at(setting: Setting, distance: usize) -> u64 {
    let rt = setting.builder().prefetch_distance(distance).counters(true).build().unwrap();
    let arena = Arena::<Node>::with_primitive(&rt, OptimisticLatched);
    let mut next = 0;
    for value in 0..LENGTH as u64 {
        let link = arena.alloc_outside(Node { value: Word::new(value), next: Word::new(next) });
        let often = if value % 10 == 0 { Frequency::High } else { Frequency::Normal };
        next = link.with_frequency(often).to_word();
    }
    // SAFETY: the word of a link.
    let first: Link<Node> = unsafe { Link::from_word(next) }.unwrap();
    let (gate, all) = Gate::new(&rt, 50);
    let found = Arc::new(Mutex::new(Vec::new()));
    let objects: Vec<_> = (0..20).map(|_| rt.snapshot([0u64; 32]).build()).collect();
    let quads: Vec<_> = (0..20).map(|_| rt.versioned(Quad::default()).build()).collect();
    for _ in 0..50 {
        let walk = Walk { sum: Default::default(), gate: gate.clone(), found: found.clone() };
        rt.task(first.read()).visit(walk);
    }
    // Many at once in one run queue.
    let clones = (objects.clone(), quads.clone());
    let many = rt.task(()).submit(move |(), cx| {
        for round in 0..200 {
            let (object, quad) = (&clones.0[round % 20], &clones.1[round % 19]);
            cx.task(object.write().part(Part::lines(0, 2))).spawn(|words, _| words[31] += 1);
            cx.task((quad.write(), object.read())).spawn(|(quad, _), _| {
                let next = quad.0[0].get() + 1;
                quad.0.iter().for_each(|word| word.set(next, quad.token()));
            });
        }
    });
    many.join().unwrap();
    all.join().unwrap();
    rt.task(()).submit(|(), _| ()).join().unwrap();
    assert_eq!(*lock(&found), [(LENGTH * (LENGTH - 1) / 2) as u64; 50]);
    // Wait for all before the sums are read.
    loop {
        let words = objects.iter().map(|object| rt.task(object.read()).submit(|words, _| words[31]));
        let words: u64 = words.map(|task| task.join().unwrap()).sum();
        let read = |quad: &Quad| quad.0[3].get();
        let quads = quads.iter().map(|quad| rt.task(quad.read()).submit_read(read, |word, _| word));
        let quads: u64 = quads.map(|task| task.join().unwrap()).sum();
        assert!(words <= 200 && quads <= 200);
        if (words, quads) == (200, 200) {
            break;
        }
    }
    drop(arena);
    rt.counters().unwrap().prefetches
}

#[test]
fn the_prefetch_distance_changes_no_result() {
    let simulations = [1, 4].map(|cores| Setting::Simulation { cores, seed: 9 });
    on_each(Setting::threads().chain(simulations), |setting| {
        assert_eq!(prefetch_at(setting, 0), 0);
        for distance in [1, 12, 64] {
            assert!(prefetch_at(setting, distance) > 0, "nothing is fetched at distance {distance}");
        }
    });
}

#[test]
fn nothing_is_fetched_that_no_annotation_names() {
    let rt = Setting::Simulation { cores: 1, seed: 1 }.builder().counters(true).build().unwrap();
    let fetched = |lines: &dyn Fn()| {
        let before = rt.counters().unwrap().prefetches;
        lines();
        rt.task(()).priority(Priority::Low).submit(|(), _| ()).join().unwrap();
        rt.counters().unwrap().prefetches - before
    };
    let object = rt.plain([0u64; 64]).prefetch(64).build();
    let often = rt.plain([0u64; 64]).frequency(Frequency::High).build();
    let none = rt.plain([0u64; 64]).prefetch(0).build();
    let ten = |access: &dyn Fn()| fetched(&|| (0..10).for_each(|_| access()));
    assert_eq!(ten(&|| rt.task(()).spawn(|(), _| ())), 0);
    assert_eq!(ten(&|| rt.task(often.write()).spawn(|_, _| ())), 0);
    assert_eq!(ten(&|| rt.task(none.write()).spawn(|_, _| ())), 0);
    let named = ten(&|| rt.task(object.write()).spawn(|_, _| ()));
    assert!(named > 0 && named.is_multiple_of(2), "{named}");
    assert_eq!(ten(&|| rt.task(object.write().part(Part::NONE)).spawn(|_, _| ())), 0);
}

#[test]
fn counters_say_what_happened() {
    on_all(|setting| {
        let rt = setting.builder().pool(QueuePolicy::Local).counters(true).build().unwrap();
        let workers = rt.workers();
        let before = rt.counters().unwrap();
        assert_eq!((before.external_spawns, before.tasks), (0, 0));
        let (gate, all) = Gate::new(&rt, 100);
        rt.task(()).core(0).spawn(move |(), cx| {
            for round in 0..100 {
                let gate = gate.clone();
                let task = cx.task(());
                if round % 4 == 0 { task.core(1) } else { task }.spawn(move |(), _| gate.pass());
            }
        });
        all.join().unwrap();
        rt.task(()).submit(|(), _| ()).join().unwrap();
        // A task is counted shortly after its handle was resolved.
        let counters = || rt.counters().unwrap();
        if matches!(setting, Setting::Threads { .. }) {
            crate::common::eventually("all are counted", || counters().tasks == 102);
        }
        let after = counters();
        let remote = if workers == 1 { 0 } else { 25 };
        assert_eq!((after.external_spawns, after.tasks), (2, 102));
        assert_eq!((after.local_spawns, after.remote_spawns), (100 - remote, remote));
        assert_eq!(after.allocations.node_single, 2);
        assert_eq!((after.snapshot_retries, after.versioned_retries, after.latch_waits), (0, 0, 0));
    });
    let rt = Setting::Threads { workers: 2 }.build();
    assert!(rt.counters().is_none(), "counting is off unless asked for");
}

#[test]
fn sleeps_are_counted() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.builder().counters(true).build().unwrap();
    let sleeps = || rt.counters().unwrap().sleeps;
    crate::common::eventually("both sleep", || sleeps() >= 2);
    let before = sleeps();
    rt.task(()).submit(|(), _| ()).join().unwrap();
    crate::common::eventually("it sleeps again", || sleeps() > before);
}
