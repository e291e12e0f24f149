//! Each spawned task runs once, wherever it is spawned; at sequenced objects tasks run in order.

use crate::platform::{assert_each_runs_once, on_threads, pause, runtime};
use crate::schedules::explore;
use shuttle::thread;
use std::sync::Arc;
use xtasking::{
    Priority,
    primitive::{Sequencing, SpinLatch},
};

#[test]
fn tasks_spawned_by_threads_and_tasks_run_once() {
    explore(|_| {
        assert_each_runs_once(runtime(2), |rt, task, first, second| {
            let priority = [Priority::High, Priority::Normal, Priority::Low][usize::from(task)];
            rt.task(()).priority(priority).spawn(move |(), cx| {
                first();
                cx.task(()).core(task).spawn(move |(), _| second());
            });
        });
    });
}

#[test]
fn a_sleeping_worker_is_woken_by_each_task() {
    explore(|_| {
        let rt = Arc::new(runtime(2));
        on_threads(2, move |thread| {
            for number in 0..3 {
                let there = rt.task(()).core(thread as u16).submit(move |(), _| number);
                assert_eq!(there.join().unwrap(), number);
            }
        });
    });
}

#[test]
fn a_task_that_goes_round_all_workers_arrives() {
    fn go_round(hops: u16, promise: xtasking::Promise<u16>, cx: &mut xtasking::Context) {
        match hops {
            0 => promise.fulfil(7),
            _ => cx.task(()).core(hops).spawn(move |(), cx| go_round(hops - 1, promise, cx)),
        }
    }
    explore(|_| {
        let rt = runtime(3);
        let (promise, arrived) = rt.promise();
        rt.task(()).spawn(move |(), cx| go_round(8, promise, cx));
        assert_eq!(arrived.join().unwrap(), 7);
    });
}

/// The log has the tasks of each spawner in order.
fn assert_in_order(log: &[(usize, usize)], spawners: usize, each: usize) {
    for spawner in 0..spawners {
        let numbers = log.iter().filter(|(by, _)| *by == spawner).map(|(_, number)| *number);
        assert!(numbers.eq(0..each), "{log:?}");
    }
}

#[test]
fn a_sequenced_object_keeps_the_order_of_each_spawner() {
    const EACH: usize = 4;
    explore(|mut random| {
        let rt = runtime(2);
        let log = rt.plain(Vec::new()).pin(Sequencing).build();
        let (other, latched) = (rt.plain(0).pin(Sequencing).build(), rt.plain(0).pin(SpinLatch).build());
        // The objects of each task: the log alone, or with another sequenced or latched object.
        let shapes: Vec<usize> = (0..2 * EACH).map(|_| random.below(3)).collect();
        macro_rules! spawn_all {
            ($spawner:expr, $by:expr, $at:expr) => {
                let (log, other, latched, shapes) = $at;
                for number in 0..EACH {
                    let entry = ($by, number);
                    match shapes[$by * EACH + number] {
                        0 => $spawner.task(log.write()).spawn(move |log, _| log.push(entry)),
                        1 => $spawner
                            .task((other.write(), log.write()))
                            .spawn(move |(_, log), _| log.push(entry)),
                        _ => $spawner
                            .task((log.write(), latched.write()))
                            .spawn(move |(log, _), _| log.push(entry)),
                    }
                }
            };
        }
        let at = (log.clone(), other, latched, shapes);
        let copies = at.clone();
        let inside = rt.task(()).core(1).submit(move |(), cx| {
            spawn_all!(cx, 0, &copies);
        });
        spawn_all!(rt, 1, &at);
        inside.join().unwrap();
        let last = rt.task(log.read()).submit(|log, _| log.clone());
        assert_in_order(&last.join().unwrap(), 2, EACH);
    });
}

#[test]
fn tasks_that_find_the_inbox_full_are_not_lost() {
    explore(|_| {
        let rt = Arc::new(runtime(1));
        let sum = rt.plain(0u64).pin(Sequencing).build();
        let (spawner, added) = (rt.clone(), sum.clone());
        let others = thread::spawn(move || {
            (0..6).for_each(|_| spawner.task(added.write()).spawn(|sum, _| *sum += 1));
        });
        rt.task(sum.write()).spawn(|sum, _| {
            pause();
            *sum += 100;
        });
        (0..6).for_each(|_| rt.task(sum.write()).spawn(|sum, _| *sum += 10));
        others.join().unwrap();
        assert_eq!(rt.task(sum.read()).submit(|sum, _| *sum).join().unwrap(), 166);
    });
}
