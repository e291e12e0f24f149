//! Memory that tasks can reach is kept; everything else is freed, once, and soon.

use crate::common::{Dropped, Flag, Gate, Setting, eventually, on_all, on_each, watchdog};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use xtasking::{
    Context, Runtime, Version, Word,
    arena::{Arena, Link},
    primitive::{OptimisticLatched, OptimisticSequenced, Sequencing, SpinLatch},
};

/// A node that counts its drop.
struct Node {
    word: Word,
    _drops: Dropped,
}

impl Version for Node {}

fn node(value: u64, drops: &Arc<AtomicUsize>) -> Node {
    Node { word: Word::new(value), _drops: Dropped(drops.clone()) }
}

/// Lets the runtime run some rounds of empty tasks, spawned from outside.
fn pass_time(rt: &Runtime, rounds: u16) {
    for round in 0..rounds {
        rt.task(()).core(round).submit(|(), _| ()).join().unwrap();
    }
}

/// Waits until a condition holds while the runtime advances.
fn in_time(rt: &Runtime, what: &str, is_true: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if is_true() {
            return;
        }
        pass_time(rt, 1);
    }
    eventually(what, is_true);
}

#[test]
fn objects_live_as_long_as_tasks_wait_for_them() {
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let (gate, all) = Gate::new(&rt, 300);
        for round in 0..100u16 {
            let sequenced = rt.plain((Dropped(drops.clone()), 7)).pin(Sequencing).build();
            let latched = rt.plain((Dropped(drops.clone()), 7)).pin(SpinLatch).build();
            let versioned = rt.versioned(node(7, &drops)).pin(OptimisticSequenced).build();
            let gates = [gate.clone(), gate.clone(), gate.clone()];
            let [one, two, three] = gates;
            rt.task((sequenced.write(), latched.read())).core(round).spawn(move |(a, b), _| {
                assert_eq!(a.1 + b.1, 14);
                one.pass();
            });
            rt.task((versioned.write(), sequenced.read())).core(round).spawn(move |(a, b), _| {
                assert_eq!(a.word.get() + b.1, 14);
                two.pass();
            });
            rt.task(versioned.read()).core(round).read_then(
                |node| node.word.get(),
                move |seven, _| {
                    assert_eq!(seven, 7);
                    three.pass();
                },
            );
        }
        all.join().unwrap();
        // All are dropped before the runtime.
        in_time(&rt, "all objects are dropped", || drops.load(SeqCst) == 300);
        drop(rt);
        assert_eq!(drops.load(SeqCst), 300);
    });
}

#[test]
fn an_object_is_not_dropped_before_a_waiting_task_has_run() {
    let _watched = watchdog();
    let drops = Arc::new(AtomicUsize::new(0));
    let rt = Setting::Threads { workers: 2 }.build();
    let (inside, go) = (Flag::default(), Flag::default());
    let (i, g) = (inside.clone(), go.clone());
    rt.task(()).core(0).spawn(move |(), _| {
        i.set();
        g.wait();
    });
    inside.wait();
    let object = rt.plain(Dropped(drops.clone())).pin(SpinLatch).build();
    let task = rt.task(object.read()).core(0).submit(|object, _| object.0.load(SeqCst));
    drop(object);
    // The other worker is busy, falls asleep, and is busy again.
    for _ in 0..50 {
        rt.task(()).core(1).submit(|(), _| ()).join().unwrap();
        thread::sleep(Duration::from_micros(300));
    }
    assert_eq!(drops.load(SeqCst), 0);
    go.set();
    assert_eq!(task.join().unwrap(), 0);
    eventually("it is dropped", || drops.load(SeqCst) == 1);
}

/// An operation whose follow-ups wait in the run queues, one after the other, until the flag is
/// set.
fn operate(cx: &mut Context, link: Link<Node>, drops: Arc<AtomicUsize>, done: Flag) {
    if done.is_set() {
        // The node has not been freed.
        cx.task(link.read()).read_then(
            |node| node.word.get(),
            move |seven, _| {
                assert_eq!((seven, drops.load(SeqCst)), (7, 0));
            },
        );
    } else {
        cx.task(()).spawn(move |(), cx| operate(cx, link, drops, done));
    }
}

#[test]
fn a_retired_node_waits_for_older_operations() {
    for (cores, seed) in [(1, 1), (2, 2), (4, 3), (16, 4)] {
        let _watched = watchdog();
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = Setting::Simulation { cores, seed }.build();
        let arena = Arena::with_primitive(&rt, OptimisticLatched);
        let link = arena.alloc_outside(node(7, &drops));
        let done = Flag::default();
        let (same, seen) = (done.clone(), drops.clone());
        rt.task(()).core(1).spawn(move |(), cx| operate(cx, link, seen, same));
        let inner = arena.clone();
        // SAFETY: only the operation above has the link, and it began before.
        let retire = rt.task(()).submit(move |(), cx| unsafe { inner.retire(link, cx) });
        retire.join().unwrap();
        pass_time(&rt, 300);
        assert_eq!((drops.load(SeqCst), arena.stats().live), (0, 1));
        done.set();
        in_time(&rt, "the node is freed", || drops.load(SeqCst) == 1);
        in_time(&rt, "its place is free", || arena.stats().live == 0);
        drop(arena);
    }
}

/// An operation whose follow-ups wait in the run queues until the flag is set, and then see that
/// the value has not been dropped.
fn wait_for(cx: &mut Context, drops: Arc<AtomicUsize>, done: Flag) {
    if done.is_set() {
        assert_eq!(drops.load(SeqCst), 0);
    } else {
        cx.task(()).spawn(move |(), cx| wait_for(cx, drops, done));
    }
}

#[test]
fn a_value_to_be_dropped_later_waits_for_older_operations() {
    for (cores, seed) in [(1, 1), (2, 2), (4, 3)] {
        let _watched = watchdog();
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = Setting::Simulation { cores, seed }.build();
        let (done, value) = (Flag::default(), Dropped(drops.clone()));
        let (same, seen) = (done.clone(), drops.clone());
        rt.task(()).core(1).spawn(move |(), cx| wait_for(cx, seen, same));
        rt.task(()).submit(move |(), cx| cx.drop_later(value)).join().unwrap();
        pass_time(&rt, 300);
        assert_eq!(drops.load(SeqCst), 0);
        done.set();
        in_time(&rt, "the value is dropped", || drops.load(SeqCst) == 1);
    }
}

#[test]
fn a_value_to_be_dropped_later_is_dropped_with_the_runtime_at_the_latest() {
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let value = Dropped(drops.clone());
        rt.task(()).submit(move |(), cx| cx.drop_later(value)).join().unwrap();
        drop(rt);
        assert_eq!(drops.load(SeqCst), 1);
    });
}

/// A chain whose steps begin their own operations blocks no reclamation, although it never ends.
#[test]
fn operations_that_follow_each_other_do_not_delay_reclamation() {
    fn chain(cx: &mut Context, done: Flag, gate: Gate) {
        if done.is_set() {
            return gate.pass();
        }
        cx.task(()).begin_operation().spawn(move |(), cx| chain(cx, done, gate));
    }
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let arena = Arena::new(&rt);
        let done = Flag::default();
        let (gate, all) = Gate::new(&rt, rt.workers());
        for core in 0..rt.workers() {
            let (done, gate) = (done.clone(), gate.clone());
            rt.task(()).core(core as u16).spawn(move |(), cx| chain(cx, done, gate));
        }
        let (inner, seen) = (arena.clone(), drops.clone());
        let retire = rt.task(()).submit(move |(), cx| {
            for _ in 0..100 {
                let link = inner.alloc(node(1, &seen), cx);
                // SAFETY: no other code has the link.
                unsafe { inner.retire(link, cx) };
            }
        });
        retire.join().unwrap();
        in_time(&rt, "the nodes are freed", || drops.load(SeqCst) == 100);
        done.set();
        all.join().unwrap();
        drop(arena);
    });
}

/// Some workers allocate and others free, repeatedly: memory stays within the bound for the nodes
/// alive at once.
#[test]
fn memory_is_bounded_over_many_rounds() {
    on_all(|setting| {
        const NODES: usize = 300;
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.builder().counters(true).build().unwrap();
        let arena = Arena::with_primitive(&rt, OptimisticSequenced);
        let mut first_rounds = 0;
        let rounds = 40;
        for round in 0..rounds {
            let (inner, seen) = (arena.clone(), drops.clone());
            let links = rt.task(()).core(round).submit(move |(), cx| {
                (0..NODES).map(|value| inner.alloc(node(value as u64, &seen), cx)).collect::<Vec<_>>()
            });
            let (links, inner) = (links.join().unwrap(), arena.clone());
            let task = rt.task(()).core(round + 1).submit(move |(), cx| {
                // SAFETY: no other code has the links any more.
                links.into_iter().for_each(|link| unsafe { inner.retire(link, cx) });
            });
            task.join().unwrap();
            let freed = NODES * usize::from(round + 1);
            in_time(&rt, "all nodes are freed", || drops.load(SeqCst) == freed && arena.stats().live == 0);
            if round == 20 {
                first_rounds = arena.stats().bytes;
            }
        }
        let stats = arena.stats();
        assert_eq!(stats.bytes, first_rounds, "memory has grown: {stats:?}");
        assert!(stats.bytes <= 16 << 20 && stats.node_bytes >= 64);
        let all = (NODES * usize::from(rounds)) as u64;
        assert_eq!(rt.counters().unwrap().retired, all);
        // A node is counted once it is free.
        in_time(&rt, "all are counted", || rt.counters().unwrap().reclaimed == all);
        drop(arena);
    });
}

#[test]
fn sleeping_workers_do_not_delay_reclamation() {
    let _watched = watchdog();
    let drops = Arc::new(AtomicUsize::new(0));
    let rt = Setting::Threads { workers: 4 }.build();
    let arena = Arena::new(&rt);
    for round in 1..20 {
        thread::sleep(Duration::from_millis(2));
        let (inner, seen) = (arena.clone(), drops.clone());
        let retire = rt.task(()).core(round).submit(move |(), cx| {
            let link = inner.alloc(node(1, &seen), cx);
            // SAFETY: no other code has the link.
            unsafe { inner.retire(link, cx) };
        });
        retire.join().unwrap();
        // No other operation runs.
        eventually("the node is freed", || drops.load(SeqCst) == usize::from(round));
    }
    drop(arena);
}

#[test]
fn a_reserved_place_that_is_not_filled_is_free_again() {
    on_each([Setting::Simulation { cores: 1, seed: 1 }].into_iter(), |setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let arena = Arena::new(&rt);
        drop(arena.reserve_outside());
        assert_eq!(arena.stats().live, 0);
        let reserved = arena.reserve_outside();
        // SAFETY: it is not followed before it is filled.
        let early = unsafe { reserved.link() };
        let link = reserved.fill(node(3, &drops));
        assert!(link.is_same_node(early) && link.with_mark(5).is_same_node(early));
        assert_eq!((link.with_mark(5).mark(), link.mark(), arena.stats().live), (5, 0, 1));
        // SAFETY: the node is not retired.
        assert_eq!(unsafe { link.follow() }.word.get(), 3);
        let write = rt.task(link.write()).submit(|node, _| node.word.set(4, node.token()));
        write.join().unwrap();
        let read = rt.task(link.read()).submit_read(|node| node.word.get(), |value, _| value);
        assert_eq!(read.join().unwrap(), 4);
        drop(rt);
        assert_eq!(drops.load(SeqCst), 0);
        drop(arena);
        assert_eq!(drops.load(SeqCst), 1);
    });
}

#[test]
fn an_arena_of_another_runtime_is_refused() {
    let (one, two) = (Setting::Threads { workers: 1 }.build(), Setting::Threads { workers: 1 }.build());
    let drops = Arc::new(AtomicUsize::new(0));
    let arena = Arena::new(&one);
    let same = arena.clone();
    let alloc = two.task(()).submit(move |(), cx| _ = same.alloc(node(1, &drops), cx));
    assert!(alloc.join().is_err());
    drop(arena);
}
