//! The end of a runtime at any moment: all tasks that must run do, every handle is resolved, and
//! all workers return.

use crate::common::Dropped;
use crate::platform::{pause, runtime, wait_a_little};
use crate::schedules::explore;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{Context, JoinError, Shutdown, primitive::Sequencing};

/// A tree of tasks: each spawns two more on other workers, to a given depth.
fn grow(levels: u16, ran: Arc<AtomicUsize>, cx: &mut Context) {
    ran.fetch_add(1, Relaxed);
    for branch in 0..if levels == 0 { 0 } else { 2 } {
        let ran = ran.clone();
        cx.task(()).core(levels + branch).spawn(move |(), cx| grow(levels - 1, ran, cx));
    }
}

#[test]
fn a_drain_runs_everything_with_follow_ups() {
    explore(|mut random| {
        let rt = Arc::new(runtime(2));
        let ran = Arc::new(AtomicUsize::new(0));
        // The last of these to drop the runtime drains it.
        let threads: Vec<_> = (0..2)
            .map(|thread| {
                let (rt, ran) = (rt.clone(), ran.clone());
                thread::spawn(move || {
                    let first = ran.clone();
                    rt.task(()).core(thread).spawn(move |(), cx| grow(2, first, cx));
                    rt.task(()).spawn(move |(), cx| grow(1, ran, cx));
                })
            })
            .collect();
        wait_a_little(&mut random, 200);
        drop(rt);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(ran.load(Relaxed), 2 * (7 + 3));
    });
}

#[test]
fn a_cancelled_runtime_resolves_every_handle_and_drops_every_body() {
    explore(|mut random| {
        let rt = runtime(2);
        let (ran, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let body = || {
            let (ran, dropped) = (ran.clone(), Dropped(dropped.clone()));
            move || {
                let _dropped = &dropped;
                pause();
                ran.fetch_add(1, Relaxed);
            }
        };
        let (a, b) = (rt.plain(0).pin(Sequencing).build(), rt.plain(0).pin(Sequencing).build());
        let mut handles = Vec::new();
        for core in 0..2 {
            let [bare, one, both, parent, child] = std::array::from_fn(|_| body());
            handles.push(rt.task(()).core(core).submit(move |(), _| bare()));
            handles.push(rt.task(a.write()).submit(move |_, _| one()));
            handles.push(rt.task((b.write(), a.write())).submit(move |_, _| both()));
            handles.push(rt.task(()).core(core).submit(move |(), cx| {
                parent();
                cx.task(()).core(core + 1).spawn(move |(), _| child());
            }));
        }
        wait_a_little(&mut random, 300);
        rt.shutdown(Shutdown::Cancel);
        let mut finished = 0;
        for handle in handles {
            assert!(handle.is_finished());
            match handle.join() {
                Ok(()) => finished += 1,
                Err(JoinError::Cancelled) => {}
                Err(other) => panic!("{other}"),
            }
        }
        // Two of the bodies that may also have run belong to follow-ups.
        assert!((finished..=finished + 2).contains(&ran.load(Relaxed)));
        assert_eq!(dropped.load(Relaxed), 10);
    });
}

#[test]
fn a_runtime_may_be_dropped_by_one_of_its_tasks() {
    explore(|_| {
        let rt = Arc::new(runtime(2));
        let ran = Arc::new(AtomicUsize::new(0));
        for core in 0..2 {
            let (inner, ran) = (rt.clone(), ran.clone());
            rt.task(()).core(core).spawn(move |(), cx| {
                let counted = ran.clone();
                inner.task(()).core(core + 1).spawn(move |(), cx| grow(1, counted, cx));
                drop(inner);
                grow(1, ran, cx);
            });
        }
        drop(rt);
        // Any thread may drop the last handle. All tasks have run when the workers have returned;
        // this test waits for the workers.
        while ran.load(Relaxed) < 2 * (3 + 3) {
            thread::yield_now();
        }
    });
}

#[test]
fn an_idle_runtime_ends() {
    explore(|mut random| {
        let rt = runtime(3);
        wait_a_little(&mut random, 100);
        rt.shutdown(if random.below(2) == 0 { Shutdown::Drain } else { Shutdown::Cancel });
    });
}
