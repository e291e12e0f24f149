//! Tasks of one spawner run on each sequenced object in the order of their spawns: each guarantee
//! by itself. `order_of_programs` checks all of them together.

use crate::common::{Flag, Gate, Quad, Setting, on_all, on_each, side_by_side, silence_tasks};
use crate::every_primitive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use xtasking::{
    Context, JoinError, Object, Plain, Priority, Promise, Runtime, Shared, Snapshot, Version, Versioned,
    Word,
    primitive::{Class, OptimisticSequenced, Sequencing, SpinLatch},
    task::Spawner,
};

/// An entry in the log of an object: the spawner, and the number of its task there.
type Log = Vec<(usize, usize)>;

/// The numbers of each spawner are consecutive.
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
    ($spawner:expr, $objects:expr, $origin:expr, $number:expr, $gate:expr) => {{
        let Objects { a, b, latched } = $objects;
        let (number, entry) = ($number, ($origin, $number));
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
        for origin in 0..inside {
            let (objects, gate) = (objects.clone(), gate.clone());
            rt.task(()).core(origin as u16).spawn(move |(), cx| {
                for number in 0..each {
                    spawn!(cx, &objects, origin, number, &gate);
                }
            });
        }
        let spawns = (inside..inside + outside).map(|origin| {
            let (rt, objects, gate) = (&rt, &objects, &gate);
            move || (0..each).for_each(|number| spawn!(rt, objects, origin, number, gate))
        });
        if setting.is_simulation() {
            spawns.for_each(|spawn| spawn());
        } else {
            side_by_side(spawns);
        }
        all.join().unwrap();
        let [a, b] = objects.logs(&rt);
        check(&a, inside + outside, each);
        check(&b, inside + outside, each);
        // Tasks with both objects have the same order at both.
        let both =
            |log: Log| log.into_iter().filter(|entry| [1, 2].contains(&(entry.1 % 5))).collect::<Vec<_>>();
        assert_eq!(both(a), both(b));
    });
}

/// A chain of tasks that hops over the workers and spawns on the way is one spawner, too: each hop
/// comes after the one before.
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

/// A counter, and whether it was ever out of order.
#[derive(Default)]
struct Counted {
    next: Word,
    wrong: Word,
}

impl Version for Counted {}

#[test]
fn sequenced_writers_of_a_versioned_object_keep_their_order() {
    fn spawn(
        spawner: impl Spawner,
        object: &Object<Versioned<Counted>>,
        other: &Object<Plain<()>>,
        number: u64,
        gate: Gate,
    ) {
        let write = move |counted: xtasking::arena::Written<'_, Counted>| {
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
        // The remaining ones come from a task, spawned after these, on the worker that runs them.
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

/// With sequencing, the first halves of two-part reads keep the order of their spawns, too.
#[test]
fn sequenced_reads_in_two_halves_keep_their_order() {
    on_all(|setting| {
        let rt = setting.build();
        let object = rt.versioned(Counted::default()).pin(Sequencing).build();
        let reads = (0..100).map(|number| {
            let write = rt.task(object.write()).core(number as u16);
            write.spawn(move |counted, _| counted.next.set(number + 1, counted.token()));
            let read = rt.task(object.read()).core(number as u16 + 1);
            read.submit_read(|counted| counted.next.get(), |next, _| next)
        });
        let reads: Vec<_> = reads.collect();
        assert!(reads.into_iter().map(|read| read.join().unwrap()).eq(1..=100));
    });
}

/// Tasks that wait at a held object run in the order of their arrival, however long it is held.
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
        crate::common::eventually("all have been met at the home", || arrived.load(SeqCst) == 100);
        go.set();
        let seen = rt.task(a.read()).submit(|a, _| a.clone()).join().unwrap();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    });
}

/// A panic poisons the object for the tasks queued behind, each in its turn: none overtakes the
/// task that panics, and none of those before it is lost.
#[test]
fn tasks_behind_a_panic_fail_in_their_turn() {
    const PANICS: usize = 40;
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let a = rt.plain(Vec::new()).pin(Sequencing).build();
        let b = rt.plain(()).pin(Sequencing).build();
        let submit = |number| {
            let push = move |log: &mut Vec<usize>| {
                assert_ne!(number, PANICS, "provoked: number {PANICS}");
                log.push(number);
            };
            match number % 3 {
                0 => rt.task((b.read(), a.write())).submit(move |(_, log), _| push(log)),
                _ => rt.task(a.write()).core(number as u16).submit(move |log, _| push(log)),
            }
        };
        let tasks: Vec<_> = (0..80).map(submit).collect();
        for (number, task) in tasks.into_iter().enumerate() {
            match (number, task.join()) {
                (..PANICS, Ok(())) => {}
                (PANICS, Err(JoinError::Panicked(_))) => {}
                (number, Err(JoinError::Poisoned)) if number > PANICS => {}
                (number, outcome) => panic!("{number}: {outcome:?}"),
            }
        }
        a.clear_poison();
        for task in (80..120).map(submit).collect::<Vec<_>>() {
            task.join().unwrap();
        }
        let log = rt.task(a.read()).submit(|log, _| log.clone()).join().unwrap();
        assert!(log.into_iter().eq((0..PANICS).chain(80..120)));
    });
}

/// Tasks of one priority keep their order among tasks of other priorities. Tasks with several
/// objects keep theirs whatever their priorities.
#[test]
fn each_priority_keeps_its_order() {
    const PRIORITIES: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];
    on_all(|setting| {
        let rt = setting.build();
        let a = rt.plain(Vec::new()).pin(Sequencing).build();
        let b = rt.plain(()).pin(Sequencing).build();
        for number in 0..300 {
            let priority = PRIORITIES[number * 7 % 3];
            if number % 2 == 0 {
                rt.task(a.write()).priority(priority).spawn(move |a, _| a.push((Some(priority), number)));
            } else {
                rt.task((a.write(), b.read()))
                    .priority(priority)
                    .spawn(move |(a, _), _| a.push((None, number)));
            }
        }
        // The last task of each kind.
        let last = PRIORITIES.map(|priority| rt.task(a.read()).priority(priority).submit(|_, _| ()));
        last.into_iter().for_each(|task| task.join().unwrap());
        rt.task((a.read(), b.read())).submit(|_, _| ()).join().unwrap();
        let log = rt.task(a.read()).submit(|a, _| a.clone()).join().unwrap();
        assert_eq!(log.len(), 300);
        for kind in PRIORITIES.map(Some).into_iter().chain([None]) {
            assert!(log.iter().filter(|entry| entry.0 == kind).is_sorted_by_key(|entry| entry.1), "{kind:?}");
        }
    });
}

/// Counts in an object of any class and primitive: a chain of follow-ups over all workers, each of
/// which sees what the one before it has written.
fn count_by_follow_ups<C: Count>(rt: &Runtime, object: Object<C>) {
    let (promise, counted) = rt.promise();
    rt.task(()).spawn(move |(), cx| C::count(cx, object, 0, promise));
    assert_eq!(counted.join().unwrap(), 60);
}

trait Count: Class {
    /// Expects this number, adds one, and continues on another worker until there are enough.
    fn count(cx: &mut Context, object: Object<Self>, number: u64, done: Promise<u64>);
}

macro_rules! counts {
    ($($class:ty: |$view:ident| $get:expr, |$value:ident| $set:expr;)+) => {$(
        impl Count for $class {
            fn count(cx: &mut Context, object: Object<Self>, number: u64, done: Promise<u64>) {
                let (written, next, core) = (object.clone(), object.clone(), number as u16 * 5);
                cx.task(object.read()).core(core + 3).spawn(move |$view, cx| {
                    if $get != number || number == 60 {
                        return done.fulfil($get);
                    }
                    // Spawned within the write, and for another worker, which may be faster.
                    cx.task(written.write()).core(core + 1).spawn(move |$view, cx| {
                        let $value = $get + 1;
                        Self::count(cx, next, number + 1, done);
                        $set;
                    });
                });
            }
        }
    )+};
}

counts! {
    Plain<[u64; 4]>: |view| view[0], |value| view[0] = value;
    Shared<[u64; 4]>: |view| view[0], |value| view[0] = value;
    Snapshot<[u64; 4]>: |view| view[0], |value| view[0] = value;
    Versioned<Quad>: |view| view.0[0].get(), |value| view.0[0].set(value, view.token());
}

#[test]
fn follow_ups_see_what_their_parents_have_written() {
    on_all(|setting| {
        let rt = setting.build();
        every_primitive!(&rt, count_by_follow_ups);
    });
}
