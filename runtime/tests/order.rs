//! Tasks spawned by one spawner run on each sequenced object in the order of their spawns.

mod common;

use common::{Flag, Gate, Setting, on_all, on_each};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use xtasking::{
    Context, Object, OptimisticSequenced, Plain, Priority, Runtime, Sequencing, Shared, Spawner, SpinLatch,
    Version, Versioned, Word,
};

/// What happened at an object: who spawned, and which number it had there.
type Log = Vec<(usize, usize)>;

/// The numbers of each spawner rise, and none is missing.
fn check(log: &Log, spawners: usize, each: usize) {
    assert_eq!(log.len(), spawners * each);
    for spawner in 0..spawners {
        let numbers: Vec<_> = log.iter().filter(|entry| entry.0 == spawner).map(|entry| entry.1).collect();
        assert_eq!(numbers, (0..each).collect::<Vec<_>>(), "spawner {spawner}");
    }
}

#[derive(Clone)]
struct Objects {
    a: Object<Plain<Log>>,
    b: Object<Shared<Log>>,
    latched: Object<Plain<u64>>,
}

impl Objects {
    fn new(rt: &Runtime) -> Self {
        Self {
            a: rt.plain(Log::new()).pin(Sequencing).build(),
            b: rt.shared_reads(Log::new()).pin(Sequencing).build(),
            latched: rt.plain(0).pin(SpinLatch).build(),
        }
    }

    fn logs(&self, rt: &Runtime) -> [Log; 2] {
        let a = rt.task(self.a.read()).submit(|log, _| log.clone());
        let b = rt.task(self.b.read()).submit(|log, _| log.clone());
        [a.join().unwrap(), b.join().unwrap()]
    }
}

/// Spawns a task on each object, alone or together with the other one and a latched one.
macro_rules! spawn {
    ($spawner:expr, $objects:expr, $who:expr, $number:expr, $gate:expr) => {{
        let Objects { a, b, latched } = $objects;
        let (number, entry) = ($number, ($who, $number));
        let (gate, other): (Gate, Gate) = ($gate.clone(), $gate.clone());
        match number % 5 {
            1 => $spawner.task((a.write(), b.write())).spawn(move |(a, b), _| {
                a.push(entry);
                b.push(entry);
                gate.pass();
                other.pass();
            }),
            2 => $spawner.task((b.write(), latched.write(), a.write())).spawn(move |(b, latched, a), _| {
                a.push(entry);
                b.push(entry);
                *latched += 1;
                gate.pass();
                other.pass();
            }),
            4 => {
                $spawner.task((a.write(), latched.write())).core(number as u16).spawn(move |(a, _), _| {
                    a.push(entry);
                    gate.pass();
                });
                $spawner.task(b.write()).core(number as u16).spawn(move |b, _| {
                    b.push(entry);
                    other.pass();
                });
            }
            _ => {
                $spawner.task(a.write()).spawn(move |a, _| {
                    a.push(entry);
                    gate.pass();
                });
                $spawner.task(b.write()).spawn(move |b, _| {
                    b.push(entry);
                    other.pass();
                });
            }
        }
    }};
}

/// From plain threads, and from tasks on all workers at once.
#[test]
fn each_spawner_is_served_in_its_order() {
    on_all(|setting| {
        let rt = setting.build();
        let objects = Objects::new(&rt);
        let (inside, outside, each) = (rt.workers(), 2, 100);
        let (gate, all) = Gate::new(&rt, 2 * each * (inside + outside));
        for who in 0..inside {
            let (objects, gate) = (objects.clone(), gate.clone());
            rt.task(()).core(who as u16).spawn(move |(), cx| {
                for number in 0..each {
                    spawn!(cx, &objects, who, number, &gate);
                }
            });
        }
        thread::scope(|scope| {
            for who in inside..inside + outside {
                let (rt, objects, gate) = (&rt, &objects, &gate);
                let spawn = move || (0..each).for_each(|number| spawn!(rt, objects, who, number, gate));
                if matches!(setting, Setting::Threads { .. }) { drop(scope.spawn(spawn)) } else { spawn() }
            }
        });
        all.join().unwrap();
        let [a, b] = objects.logs(&rt);
        check(&a, inside + outside, each);
        check(&b, inside + outside, each);
        // Those with both objects stand in the same order at both.
        let both =
            |log: Log| log.into_iter().filter(|entry| [1, 2].contains(&(entry.1 % 5))).collect::<Vec<_>>();
        assert_eq!(both(a), both(b));
    });
}

/// A chain of tasks that hops over the workers and spawns as it goes is one spawner, too:
/// each hop comes after the last.
#[test]
fn a_chain_over_all_workers_is_served_in_its_order() {
    fn hop(cx: &mut Context, objects: Objects, number: usize, gate: Gate) {
        spawn!(cx, &objects, 0, number, &gate);
        if number + 1 < 100 {
            let next = (number * 7 + 1) as u16;
            cx.task(()).core(next).spawn(move |(), cx| hop(cx, objects, number + 1, gate));
        }
    }
    on_all(|setting| {
        let rt = setting.build();
        let objects = Objects::new(&rt);
        let (gate, all) = Gate::new(&rt, 200);
        let first = objects.clone();
        rt.task(()).spawn(move |(), cx| hop(cx, first, 0, gate));
        all.join().unwrap();
        objects.logs(&rt).iter().for_each(|log| check(log, 1, 100));
    });
}

/// A word that counts, and tells whether it was ever out of order.
#[derive(Default)]
struct Counted {
    next: Word,
    wrong: Word,
}

// SAFETY: all fields are words.
unsafe impl Version for Counted {}

#[test]
fn sequenced_writers_of_a_versioned_object_keep_their_order() {
    fn spawn(
        spawner: impl Spawner,
        object: &Object<Versioned<Counted>>,
        other: &Object<Plain<()>>,
        number: u64,
        gate: Gate,
    ) {
        let write = move |counted: xtasking::Written<'_, Counted>| {
            if counted.next.get() != number {
                counted.wrong.set(1, counted.token());
            }
            counted.next.set(number + 1, counted.token());
            gate.pass();
        };
        match number % 3 {
            0 => spawner.task((other.write(), object.write())).spawn(move |(_, counted), _| write(counted)),
            _ => spawner.task(object.write()).spawn(move |counted, _| write(counted)),
        }
    }
    on_all(|setting| {
        let rt = setting.build();
        let object = rt.versioned(Counted::default()).pin(OptimisticSequenced).build();
        let other = rt.plain(()).pin(Sequencing).build();
        let (gate, all) = Gate::new(&rt, 150);
        for number in 0..75 {
            spawn(&rt, &object, &other, number, gate.clone());
        }
        // The rest from a task, spawned after these, at the worker that runs them.
        let (same, home) = (object.clone(), object.home() as u16);
        let task = rt.task(()).core(home).submit(move |(), cx| {
            for number in 75..150 {
                spawn(&mut *cx, &same, &other, number, gate.clone());
            }
        });
        task.join().unwrap();
        all.join().unwrap();
        let seen = rt.task(object.read()).submit(|counted, _| (counted.next.get(), counted.wrong.get()));
        assert_eq!(seen.join().unwrap(), (150, 0));
    });
}

/// What waits at a held object runs in the order of its arrival, however long the holder takes.
#[test]
fn tasks_deferred_at_a_held_object_keep_their_order() {
    on_each(Setting::threads().skip(1), |setting| {
        let rt = setting.build();
        let a = rt.plain(Vec::new()).pin(Sequencing).build();
        let b = rt.plain(()).pin(Sequencing).build();
        let elsewhere = (a.home() as u16 + 1) % rt.workers() as u16;
        let (inside, go) = (Flag::default(), Flag::default());
        let (i, g) = (inside.clone(), go.clone());
        rt.task((a.write(), b.write())).core(elsewhere).spawn(move |_, _| {
            i.set();
            g.wait();
        });
        inside.wait();
        let arrived = Arc::new(AtomicUsize::new(0));
        for number in 0..100 {
            if number % 4 == 3 {
                rt.task((b.write(), a.write())).core(elsewhere).spawn(move |(_, a), _| a.push(number));
            } else if number % 4 == 1 {
                rt.task(a.write()).priority(Priority::Normal).spawn(move |a, _| a.push(number));
            } else {
                rt.task((a.write(),)).spawn(move |(a,), _| a.push(number));
            }
            let arrived = arrived.clone();
            rt.task(()).core(a.home() as u16).spawn(move |(), _| _ = arrived.fetch_add(1, SeqCst));
        }
        common::eventually("all have been met at the home", || arrived.load(SeqCst) == 100);
        go.set();
        let seen = rt.task(a.read()).submit(|a, _| a.clone()).join().unwrap();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    });
}
