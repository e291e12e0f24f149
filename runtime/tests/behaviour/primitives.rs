//! Each class with each of its primitives: no lost update, no torn read, no starvation.

use crate::common::{Flag, Gate, Quad, Setting, eventually, on_all, on_each, silence_tasks, watchdog};
use crate::every_primitive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use xtasking::{
    Context, Frequency, Handle, JoinError, Object, Plain, Primitive, Runtime, Shared, Snapshot, Versioned,
    primitive::{
        Class, Exclusive, OptimisticLatched, OptimisticReads, OptimisticSequenced, ReaderWriterLatch,
        Sequencing, SharedReads, SpinLatch,
    },
    task::Spawner,
};

/// A class of objects whose four words agree.
trait Subject: Class {
    /// Adds one to all words after checking that they agree.
    fn add(spawner: impl Spawner, object: &Object<Self>, then: impl FnOnce(&mut Context) + Send + 'static);
    /// Returns the word; fails if the words do not agree.
    fn read(spawner: impl Spawner, object: &Object<Self>) -> Handle<u64>;
    /// Writes some of the words and panics.
    fn fail(spawner: impl Spawner, object: &Object<Self>) -> Handle<()>;
    /// True if a panic leaves the object half-written.
    const IN_PLACE: bool;
}

fn agreed(words: [u64; 4]) -> u64 {
    assert_eq!(words, [words[0]; 4], "the words were read in the middle of a write");
    words[0]
}

macro_rules! subjects {
    ($($class:ident, $in_place:literal;)+) => {$(
        impl Subject for $class<[u64; 4]> {
            const IN_PLACE: bool = $in_place;
            fn add(
                spawner: impl Spawner,
                object: &Object<Self>,
                then: impl FnOnce(&mut Context) + Send + 'static,
            ) {
                spawner.task(object.write()).spawn(|words, cx| {
                    let next = agreed(*words) + 1;
                    words.iter_mut().for_each(|word| *word = next);
                    then(cx);
                });
            }
            fn read(spawner: impl Spawner, object: &Object<Self>) -> Handle<u64> {
                spawner.task(object.read()).submit(|words, _| agreed(*words))
            }
            fn fail(spawner: impl Spawner, object: &Object<Self>) -> Handle<()> {
                spawner.task(object.write()).submit(|words, _| {
                    words[1] = 99;
                    panic!("provoked: half-written");
                })
            }
        }
    )+};
}

subjects! {
    Plain, true;
    Shared, true;
    Snapshot, false;
}

impl Subject for Versioned<Quad> {
    const IN_PLACE: bool = true;
    fn add(spawner: impl Spawner, object: &Object<Self>, then: impl FnOnce(&mut Context) + Send + 'static) {
        spawner.task(object.write()).spawn(|quad, cx| {
            let next = agreed([0, 1, 2, 3].map(|index| quad.0[index].get())) + 1;
            quad.0.iter().for_each(|word| word.set(next, quad.token()));
            then(cx);
        });
    }
    fn read(spawner: impl Spawner, object: &Object<Self>) -> Handle<u64> {
        let read = |quad: &Quad| [0, 1, 2, 3].map(|index| quad.0[index].get());
        spawner.task(object.read()).submit_read(read, |words, _| agreed(words))
    }
    fn fail(spawner: impl Spawner, object: &Object<Self>) -> Handle<()> {
        spawner.task(object.write()).submit(|quad, _| {
            quad.0[1].set(99, quad.token());
            panic!("provoked: half-written");
        })
    }
}

fn add_from_everywhere<C: Subject>(rt: &Runtime, object: Object<C>) {
    const ADDITIONS: u64 = 60;
    let (gate, all) = Gate::new(rt, 2 * ADDITIONS as usize);
    for number in 0..ADDITIONS {
        let (same, first, second) = (object.clone(), gate.clone(), gate.clone());
        C::add(rt, &object, move |cx| {
            C::add(cx, &same, move |_| second.pass());
            first.pass();
        });
        if number % 16 == 0 {
            let seen = C::read(rt, &object).join().unwrap();
            assert!(seen <= 2 * ADDITIONS, "{:?}: {seen}", object.primitive());
        }
    }
    all.join().unwrap();
    let sum = C::read(rt, &object).join().unwrap();
    assert_eq!(sum, 2 * ADDITIONS, "{:?} lost an update", object.primitive());
}

#[test]
fn no_update_is_lost() {
    on_all(|setting| {
        let rt = setting.build();
        every_primitive!(&rt, add_from_everywhere);
    });
}

fn read_beside_writers<C: Subject>(rt: &Runtime, object: Object<C>) {
    let (gate, all) = Gate::new(rt, 400);
    let mut reads = Vec::new();
    for round in 0..400 {
        let pass = gate.clone();
        // From a task on some core, so that the writers of latched objects run everywhere.
        let (written, read) = (object.clone(), object.clone());
        rt.task(()).core(round).spawn(move |(), cx| C::add(cx, &written, move |_| pass.pass()));
        if round % 2 == 0 {
            let (promise, handle) = rt.promise();
            rt.task(()).core(round + 1).spawn(move |(), cx| promise.fulfil(C::read(cx, &read)));
            reads.push(handle);
        }
    }
    for read in reads {
        assert!(read.join().unwrap().join().unwrap() <= 400);
    }
    all.join().unwrap();
    assert_eq!(C::read(rt, &object).join().unwrap(), 400);
}

#[test]
fn readers_see_whole_values_beside_writers() {
    on_each(Setting::threads().chain([Setting::Simulation { cores: 4, seed: 3 }]), |setting| {
        let rt = setting.build();
        every_primitive!(&rt, read_beside_writers);
    });
}

fn read_under_a_storm<C: Subject>(rt: &Runtime, object: Object<C>) {
    fn storm<C: Subject>(cx: &mut Context, object: Object<C>, calm: Flag, gate: Gate) {
        if calm.is_set() {
            return gate.pass();
        }
        let same = object.clone();
        C::add(cx, &object, move |cx| storm(cx, same, calm, gate));
    }
    let calm = Flag::default();
    let (gate, all) = Gate::new(rt, 8);
    for core in 0..8 {
        let (object, calm, gate) = (object.clone(), calm.clone(), gate.clone());
        rt.task(()).core(core).spawn(move |(), cx| storm(cx, object, calm, gate));
    }
    let mut last = 0;
    for _ in 0..6 {
        let seen = C::read(rt, &object).join().unwrap();
        assert!(seen >= last);
        last = seen;
    }
    calm.set();
    all.join().unwrap();
}

/// An endless supply of writers does not starve a reader. (The watchdog notices.)
#[test]
fn no_reader_starves_under_continuous_writers() {
    let simulations = [(2, 5), (16, 6)].map(|(cores, seed)| Setting::Simulation { cores, seed });
    on_each(Setting::threads().take(3).chain(simulations), |setting| {
        let rt = setting.build();
        every_primitive!(&rt, read_under_a_storm);
    });
}

/// Each optimistic attempt is disturbed deliberately; then the read locks writers out.
#[test]
fn a_read_that_is_always_disturbed_runs_as_a_writer_would() {
    let _watched = watchdog();
    for latched in [false, true] {
        let rt = Setting::Threads { workers: 2 }.builder().counters(true).build().unwrap();
        let object = rt.versioned(Quad::default());
        let object = if latched {
            object.pin(OptimisticLatched).build()
        } else {
            object.pin(OptimisticSequenced).build()
        };
        let elsewhere = (object.home() as u16 + 1) % 2;
        let (reads, writes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (r, w) = (reads.clone(), writes.clone());
        let read = rt.task(object.read()).core(elsewhere).submit_read(
            move |quad| {
                let attempt = r.fetch_add(1, SeqCst);
                let first = quad.0[0].get();
                // The last attempt locks writers out: waiting for one would deadlock.
                while attempt < 4 && w.load(SeqCst) <= attempt {
                    thread::yield_now();
                }
                (first, quad.0[3].get())
            },
            |pair, _| pair,
        );
        for write in 0..4 {
            eventually("the read runs again", || reads.load(SeqCst) > write);
            let home = object.home() as u16;
            let task = rt.task(object.write()).core(home).submit(|quad, _| {
                let next = quad.0[0].get() + 1;
                quad.0.iter().for_each(|word| word.set(next, quad.token()));
            });
            task.join().unwrap();
            writes.fetch_add(1, SeqCst);
        }
        assert_eq!(read.join().unwrap(), (4, 4));
        assert_eq!(reads.load(SeqCst), 5);
        assert_eq!(rt.counters().unwrap().versioned_retries, 3);
    }
}

/// A snapshot cannot be copied while it is written: after three attempts the reader waits for the
/// writer.
#[test]
fn a_reader_of_a_snapshot_waits_for_a_long_writer() {
    let _watched = watchdog();
    let waits_at_latch = || {
        let rt = Setting::Threads { workers: 2 }.builder().counters(true).build().unwrap();
        let object = rt.snapshot([0u64; 4]).pin(OptimisticLatched).build();
        let (inside, go) = (Flag::default(), Flag::default());
        let (i, g) = (inside.clone(), go.clone());
        let write = rt.task(object.write()).core(0).submit(move |words, _| {
            words[0] = 1;
            i.set();
            g.wait();
            *words = [1; 4];
        });
        inside.wait();
        let read = rt.task(object.read()).core(1).submit(|words, _| *words);
        eventually("three retries", || rt.counters().unwrap().snapshot_retries == 3);
        // So that it most likely comes to the latch.
        thread::sleep(Duration::from_millis(1));
        assert!(!read.is_finished());
        go.set();
        assert_eq!(read.join().unwrap(), [1; 4]);
        write.join().unwrap();
        let counters = rt.counters().unwrap();
        assert_eq!(counters.snapshot_retries, 3);
        counters.latch_waits == 1
    };
    // The writer may leave before the reader comes to the latch.
    eventually("a reader waits at the latch", waits_at_latch);
}

#[test]
fn the_primitive_follows_the_annotations() {
    use Frequency::{High, Low, Normal};
    let rt = Setting::Simulation { cores: 1, seed: 1 }.build();
    assert_eq!(rt.plain(0).build().primitive(), Primitive::Sequencing);
    assert_eq!(rt.plain(0).frequency(Low).build().primitive(), Primitive::SpinLatch);
    assert_eq!(rt.plain(0).isolation(Exclusive).frequency(High).build().primitive(), Primitive::Sequencing);
    assert_eq!(rt.shared_reads(0).build().primitive(), Primitive::ReaderWriterLatch);
    assert_eq!(
        rt.shared_reads(0).isolation(SharedReads).read_share(10).build().primitive(),
        Primitive::Sequencing
    );
    assert_eq!(rt.shared_reads(0).read_share(10).frequency(Low).build().primitive(), Primitive::SpinLatch);
    let exclusive = || rt.shared_reads(0).isolation(Exclusive).read_share(100);
    assert_eq!(exclusive().build().primitive(), Primitive::Sequencing);
    assert_eq!(exclusive().frequency(Low).build().primitive(), Primitive::SpinLatch);
    assert_eq!(rt.snapshot(0u64).frequency(Normal).build().primitive(), Primitive::OptimisticLatched);
    assert_eq!(rt.snapshot(0u64).frequency(High).build().primitive(), Primitive::OptimisticSequenced);
    let quad = || rt.versioned(Quad::default()).isolation(OptimisticReads).frequency(High);
    assert_eq!(quad().build().primitive(), Primitive::OptimisticSequenced);
    assert_eq!(quad().read_share(255).build().primitive(), Primitive::OptimisticLatched);
    // A pin overrides the annotations.
    assert_eq!(quad().pin(SpinLatch).read_share(100).build().primitive(), Primitive::SpinLatch);
}

#[test]
fn a_pinned_primitive_is_read_back() {
    let rt = Setting::Simulation { cores: 1, seed: 1 }.build();
    let mut seen = Vec::new();
    let mut see = |primitive| seen.push(primitive);
    see(rt.versioned(Quad::default()).pin(Sequencing).build().primitive());
    see(rt.versioned(Quad::default()).pin(SpinLatch).build().primitive());
    see(rt.versioned(Quad::default()).pin(ReaderWriterLatch).build().primitive());
    see(rt.versioned(Quad::default()).pin(OptimisticSequenced).build().primitive());
    see(rt.versioned(Quad::default()).pin(OptimisticLatched).build().primitive());
    assert_eq!(seen, Primitive::ALL);
}

/// Two readers that wait for each other inside the object.
#[test]
fn readers_share_a_shared_object() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    let object = rt.shared_reads(7u64).pin(ReaderWriterLatch).build();
    let flags = [Flag::default(), Flag::default()];
    let reads = [0, 1].map(|me| {
        let flags = flags.clone();
        rt.task(object.read()).core(me).submit(move |value, _| {
            flags[usize::from(me)].set();
            flags[1 - usize::from(me)].wait();
            *value
        })
    });
    assert_eq!(reads.map(|read| read.join().unwrap()), [7, 7]);
}

/// The stricter isolation keeps readers apart, too.
#[test]
fn readers_of_an_exclusive_object_exclude_each_other() {
    for frequency in [Frequency::Low, Frequency::Normal] {
        on_each(Setting::threads(), |setting| {
            let rt = setting.build();
            let object = rt.shared_reads(0).isolation(Exclusive).frequency(frequency).read_share(100).build();
            let inside = Arc::new(AtomicUsize::new(0));
            let reads = (0..100).map(|core| {
                let inside = inside.clone();
                rt.task(object.read()).core(core).submit(move |_, _| {
                    let others = inside.fetch_add(1, SeqCst);
                    (0..20).for_each(|_| thread::yield_now());
                    inside.fetch_sub(1, SeqCst);
                    others
                })
            });
            let reads: Vec<_> = reads.collect();
            assert!(reads.into_iter().all(|read| read.join().unwrap() == 0));
        });
    }
}

fn fail_and_recover<C: Subject>(rt: &Runtime, object: Object<C>) {
    let primitive = object.primitive();
    let add = || {
        let (gate, done) = Gate::new(rt, 1);
        C::add(rt, &object, move |_| gate.pass());
        done.join().unwrap();
    };
    add();
    assert!(matches!(C::fail(rt, &object).join(), Err(JoinError::Panicked(_))), "{primitive:?}");
    assert_eq!(object.is_poisoned(), C::IN_PLACE, "{primitive:?}");
    if C::IN_PLACE {
        assert!(matches!(C::read(rt, &object).join(), Err(JoinError::Poisoned)), "{primitive:?}");
        assert!(matches!(C::fail(rt, &object).join(), Err(JoinError::Poisoned)), "{primitive:?}");
        object.clear_poison();
        assert!(!object.is_poisoned());
        // The panic left the data half-written: the reader's own check fails, which poisons
        // nothing.
        let error = C::read(rt, &object).join().unwrap_err();
        let JoinError::Panicked(payload) = error else { panic!("{primitive:?}: {error}") };
        assert!(payload.message().contains("in the middle of a write"), "{}", payload.message());
        assert!(!object.is_poisoned(), "{primitive:?}");
    } else {
        // Rolled back: no reader sees a part of the write.
        assert_eq!(C::read(rt, &object).join().unwrap(), 1);
        add();
        // The gate is passed within the write, which is published afterwards.
        while C::read(rt, &object).join().unwrap() != 2 {}
    }
}

#[test]
fn a_panic_poisons_what_is_written_in_place() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        every_primitive!(&rt, fail_and_recover);
    });
}
