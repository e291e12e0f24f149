//! Tasks with several objects: all are granted together, without deadlock.

use crate::common::Quad;
use crate::platform::{on_threads, pause, runtime};
use crate::schedules::explore;
use std::sync::Arc;
use xtasking::{
    Object, Plain, Runtime,
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
};

/// Moves one from the first to the second, with switch points between the steps.
fn transfer(from: &mut i64, to: &mut i64) {
    let (seen, there) = (*from, *to);
    pause();
    *from = seen - 1;
    pause();
    *to = there + 1;
}

/// Two threads move the same amounts in opposite directions, and a third reads both objects. In the
/// end the balances are as before.
fn move_back_and_forth(rt: Runtime, a: Object<Plain<i64>>, b: Object<Plain<i64>>) {
    let rt = Arc::new(rt);
    let (spawner, first, second) = (rt.clone(), a.clone(), b.clone());
    on_threads(3, move |thread| {
        let (one, other) = if thread == 0 { (&first, &second) } else { (&second, &first) };
        let tasks = (0..2).map(|number| match thread {
            2 => spawner.task((one.read(), other.read())).submit(|(a, b), _| assert_eq!(a + b, 100)),
            // A task of this object alone comes in between.
            1 if number == 0 => spawner.task(one.write()).submit(|one, _| *one += 0),
            _ => spawner.task((one.write(), other.write())).submit(|(from, to), _| transfer(from, to)),
        });
        tasks.collect::<Vec<_>>().into_iter().for_each(|task| task.join().unwrap());
    });
    let last = rt.task((a.read(), b.read())).submit(|(a, b), _| (*a, *b)).join().unwrap();
    assert_eq!(last, (49, 51));
}

#[test]
fn opposite_orders_at_sequenced_objects() {
    explore(|_| {
        let rt = runtime(2);
        let (a, b) = (rt.plain(50).pin(Sequencing).build(), rt.plain(50).pin(Sequencing).build());
        move_back_and_forth(rt, a, b);
    });
}

#[test]
fn opposite_orders_at_latched_objects() {
    explore(|_| {
        let rt = runtime(2);
        let (a, b) = (rt.plain(50).pin(SpinLatch).build(), rt.plain(50).pin(SpinLatch).build());
        move_back_and_forth(rt, a, b);
    });
}

#[test]
fn opposite_orders_at_a_latched_and_a_sequenced_object() {
    explore(|_| {
        let rt = runtime(2);
        let (a, b) = (rt.plain(50).pin(SpinLatch).build(), rt.plain(50).pin(Sequencing).build());
        move_back_and_forth(rt, a, b);
    });
}

#[test]
fn three_sequenced_objects_in_a_cycle_do_not_deadlock() {
    explore(|_| {
        let rt = Arc::new(runtime(3));
        let objects: Arc<[_]> = (0..3).map(|_| rt.plain(0u64).pin(Sequencing).build()).collect();
        let (spawner, shared) = (rt.clone(), objects.clone());
        on_threads(3, move |thread| {
            let (a, b) = (shared[thread].clone(), shared[(thread + 1) % 3].clone());
            let outside = spawner.task((a.write(), b.write())).submit(|(a, b), _| {
                (*a, *b) = (*a + 1, *b + 1);
            });
            let inside = spawner.task(()).submit(move |(), cx| {
                cx.task((b.write(), a.write())).submit(|(b, a), _| {
                    (*a, *b) = (*a + 1, *b + 1);
                })
            });
            outside.join().unwrap();
            inside.join().unwrap().join().unwrap();
        });
        for object in &*objects {
            assert_eq!(rt.task(object.read()).submit(|sum, _| *sum).join().unwrap(), 4);
        }
    });
}

#[test]
fn one_object_of_each_primitive() {
    explore(|_| {
        let rt = Arc::new(runtime(2));
        let plain = rt.plain(0u64).pin(Sequencing).build();
        let shared = rt.shared_reads(0u64).pin(ReaderWriterLatch).build();
        let copied = rt.snapshot(0u64).pin(OptimisticSequenced).build();
        let versioned = rt.versioned(Quad::default()).pin(OptimisticLatched).build();
        let spawner = rt.clone();
        let all = (plain.clone(), shared.clone(), copied.clone(), versioned.clone());
        on_threads(2, move |thread| {
            let (plain, shared, copied, versioned) = &all;
            let access = (versioned.write(), copied.write(), shared.write(), plain.write());
            let written = spawner.task(access).submit(|(quad, copied, shared, plain), _| {
                let [first, .., last] = &quad.0;
                first.set(first.get() + 1, quad.token());
                pause();
                (*plain, *shared, *copied) = (*plain + 1, *shared + 1, *copied + 1);
                last.set(last.get() + 1, quad.token());
            });
            let access = (plain.read(), shared.read(), copied.read(), versioned.read());
            let read = spawner.task(access).core(thread as u16).submit(|(plain, shared, copied, quad), _| {
                [*plain, *shared, *copied, quad.0[0].get(), quad.0[3].get()]
            });
            let alone = spawner.task(copied.read()).submit(|copied, _| *copied);
            let pair = versioned.read();
            let look = |quad: &Quad| [quad.0[0].get(), quad.0[3].get()];
            let pair = spawner.task(pair).submit_read(look, |seen, _| seen);
            let seen = read.join().unwrap();
            assert_eq!(seen, [seen[0]; 5]);
            let [first, last] = pair.join().unwrap();
            assert_eq!(first, last);
            assert!(alone.join().unwrap() <= 2);
            written.join().unwrap();
        });
        assert_eq!(rt.task(plain.read()).submit(|plain, _| *plain).join().unwrap(), 2);
    });
}
