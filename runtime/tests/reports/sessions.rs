//! What recordings on demand count, where tasks wait on or outlast a session.

use crate::common::{Setting, eventually, watchdog};
use crate::inspection::{granules, inspected, kind, object, on_threads, seen, suspend};
use std::time::{Duration, Instant};
use xtasking::primitive::{Sequencing, SpinLatch};

#[test]
fn a_deferred_task_waits_on_and_counts_once() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(1);
    let _recording = inspector.record();
    let held = rt.plain(0).name("held").pin(Sequencing).build();
    let holder = suspend(|wait| rt.task(held.write()).spawn(move |_, cx| cx.block_in_place(wait)));
    let later = (0..3).map(|_| rt.task(held.write()).name("later").submit(|held, _| *held += 1));
    let later: Vec<_> = later.collect();
    eventually("all are deferred", || {
        kind(&seen(&inspector), "later").is_some_and(|kind| kind.waiting.count() == 3)
    });
    let deferred = Instant::now();
    let inspection = seen(&inspector);
    assert_eq!(kind(&inspection, "later").map(|kind| (kind.runs, kind.finished)), Some((0, 0)));
    let found = object(&inspection, "held").expect("it was accessed");
    assert_eq!((found.queued, found.accesses, found.waits), (3, 1, 0));
    eventually("some time passes", || deferred.elapsed() > Duration::from_millis(5));
    let waited = deferred.elapsed();
    drop(holder);
    later.into_iter().for_each(|task| task.join().unwrap());
    let inspection = seen(&inspector);
    assert_eq!(kind(&inspection, "later").map(|kind| (kind.runs, kind.finished)), Some((3, 3)));
    let found = object(&inspection, "held").expect("it was accessed");
    assert_eq!((found.queued, found.accesses, found.waits), (0, 4, 3));
    // Half, as the clocks may differ a little.
    assert!(found.waited > 3 * waited / 2, "{found:?} in {waited:?}");
}

#[test]
fn a_task_deferred_in_a_session_is_not_taken_for_a_new_one() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(1);
    let held = rt.plain(0).name("held").pin(Sequencing).build();
    let first = suspend(|wait| rt.task(()).core(0).spawn(move |(), _| wait()));
    let mut later = None;
    let mut recording = None;
    let holder = suspend(|wait| {
        rt.task(held.write()).spawn(move |_, cx| cx.block_in_place(wait));
        later = Some(rt.task(held.write()).name("later").submit(|_, _| ()));
        recording = Some(inspector.record());
        drop(first);
    });
    eventually("it is deferred", || {
        object(&seen(&inspector), "held").is_some_and(|object| object.queued == 1)
    });
    drop(holder);
    later.expect("it was spawned").join().unwrap();
    let inspection = seen(&inspector);
    let kind = kind(&inspection, "later").expect("it ran");
    assert_eq!((kind.runs, kind.waiting.count()), (1, 0));
}

#[test]
fn claims_that_wait_say_how_long() {
    let _watched = watchdog();
    for is_constant in [false, true] {
        let (rt, inspector) = inspected(Setting::Threads { workers: 2 }.builder().statistics(is_constant));
        let _recording = inspector.record();
        let places = rt.granules(3000);
        let holder = suspend(|wait| {
            rt.task(()).claim(places.write(0..3000)).spawn_with(move |(), _, _| wait());
        });
        let waits = rt.task(()).name("waits").claim(places.read(1000..2100)).submit_with(|(), _, _| ());
        let retries = rt.task(()).name("retries").claim(places.write(2500..2501).unordered());
        let retries = retries.submit_with(|(), _, _| ());
        eventually("both wait", || seen(&inspector).claims.len() == 2);
        let inspection = seen(&inspector);
        for (name, first, count) in [("waits", 1000, 1100), ("retries", 2500, 1)] {
            let claim = inspection.claims.iter().find(|claim| claim.task == name).expect("it waits");
            assert!(claim.waiting.is_some(), "{claim:?}");
            assert_eq!(granules(claim), (first..first + count).collect::<Vec<_>>());
        }
        drop(holder);
        waits.join().unwrap();
        retries.join().unwrap();
        let inspection = seen(&inspector);
        assert_eq!(kind(&inspection, "retries").map(|kind| (kind.runs, kind.finished)), Some((1, 1)));
        if let Some(statistics) = rt.statistics() {
            assert_eq!(statistics.spawned, 3);
            // The claim is released before its task counts as finished.
            eventually("the holder has ended", || rt.statistics().unwrap().finished == 3);
        }
    }
}

#[test]
fn a_wait_counts_for_the_object_of_the_task_that_waits() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(2);
    let _recording = inspector.record();
    let outer = rt.plain(0).name("outer").pin(SpinLatch).build();
    let latched = rt.plain(0).name("latched").pin(SpinLatch).build();
    let block = suspend(|wait| {
        rt.task(outer.write()).core(0).spawn(move |_, cx| cx.block_in_place(wait));
    });
    let holder = suspend(|wait| rt.task(latched.write()).core(1).spawn(move |_, _| wait()));
    // On worker 0, inside the time of the task that blocks.
    let waiter = rt.task(latched.write()).name("waiter").core(0).submit(|_, _| ());
    let runs = |name: &str| {
        let inspection = seen(&inspector);
        inspection.workers.iter().flat_map(|worker| &worker.running).any(|run| run.task == name)
    };
    eventually("it has begun", || runs("waiter"));
    // So that it most likely waits.
    std::thread::sleep(Duration::from_millis(5));
    drop(holder);
    waiter.join().unwrap();
    drop(block);
    eventually("all have ended", || seen(&inspector).workers.iter().all(|worker| worker.running.is_empty()));
    let inspection = seen(&inspector);
    assert_eq!(object(&inspection, "outer").map(|object| object.waits), Some(0));
    assert!(object(&inspection, "latched").is_some_and(|object| object.waits <= 1));
}

#[test]
fn a_suspended_task_is_not_at_work() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(1);
    let recording = inspector.record();
    let blocked = suspend(|wait| rt.task(()).spawn(move |(), cx| cx.block_in_place(wait)));
    let busy = || seen(&inspector).workers[0].busy;
    drop(recording);
    // The worker learns that the session is over.
    rt.task(()).submit(|(), _| ()).join().unwrap();
    let before = seen(&inspector);
    eventually("some time passes", || seen(&inspector).elapsed > before.elapsed * 2);
    // What a tick is becomes more exact meanwhile.
    assert!(busy() < before.workers[0].busy * 5 / 4, "{before:?}");
    let again = inspector.record();
    rt.task(()).submit(|(), _| ()).join().unwrap();
    let before = busy();
    drop(blocked);
    eventually("it has ended", || seen(&inspector).finished == seen(&inspector).spawned);
    assert!(busy() > before * 9 / 10);
    drop(again);
}

#[test]
fn time_at_work_ends_with_the_session() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(1);
    let mut long = None;
    for session in 1..4 {
        let recording = inspector.record();
        if session == 1 {
            rt.task(()).submit(|(), _| ()).join().unwrap();
            long = Some(suspend(|wait| rt.task(()).spawn(move |(), _| wait())));
        }
        let before = seen(&inspector).workers[0].busy;
        eventually("it is at work", || seen(&inspector).workers[0].busy > before);
        drop(recording);
        let inspection = seen(&inspector);
        eventually("some time passes", || seen(&inspector).elapsed > inspection.elapsed * 3 / 2);
        // What a tick is becomes more exact meanwhile.
        assert!(seen(&inspector).workers[0].busy < inspection.workers[0].busy * 5 / 4, "{inspection:?}");
        assert!(inspection.workers[0].busy <= inspection.recorded, "{inspection:?}");
    }
    let before = seen(&inspector);
    drop(long);
    rt.task(()).submit(|(), _| ()).join().unwrap();
    let inspection = seen(&inspector);
    assert!(inspection.workers[0].busy <= inspection.recorded, "{inspection:?}");
    assert!(inspection.workers[0].busy > before.workers[0].busy * 9 / 10, "{inspection:?}");
}

#[test]
fn a_worker_that_missed_the_end_of_a_session_stamps_nothing() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(1);
    let recording = inspector.record();
    let stock = rt.plain(0).name("stock").build();
    rt.task(()).submit(|(), _| ()).join().unwrap();
    let target = stock.clone();
    let long = suspend(|wait| {
        rt.task(()).spawn(move |(), cx| {
            wait();
            (0..200).for_each(|_| cx.task(target.write()).name("late").spawn(|stock, _| *stock += 1));
        });
    });
    drop(recording);
    let _recording = inspector.record();
    drop(long);
    eventually("all have run", || {
        rt.task(()).submit(|(), _| ()).join().unwrap();
        kind(&seen(&inspector), "late").is_some_and(|kind| kind.finished == 200)
    });
    assert_eq!(object(&seen(&inspector), "stock").map(|object| object.queued), Some(0));
}

#[test]
fn tasks_of_an_earlier_session_do_not_count_in_a_later_one() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(1);
    let stock = rt.plain(0).name("stock").build();
    let add = || rt.task(stock.write()).core(0).submit(|stock, _| *stock += 1);
    let (mut first, mut last) = (None, None);
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let second = suspend(|wait| {
        for session in 1..7 {
            let recording = inspector.record();
            if session == 1 {
                first = Some(suspend(|wait| rt.task(()).core(0).spawn(move |(), _| wait())));
                old = (0..5).map(|_| add()).collect();
            }
            drop(recording);
        }
        rt.task(()).core(0).spawn(move |(), _| wait());
        last = Some(inspector.record());
        new = (0..3).map(|_| add()).collect();
        drop(first.take());
    });
    assert!(last.is_some());
    let found = object(&seen(&inspector), "stock").map(|object| (object.queued, object.accesses));
    assert_eq!(found, Some((3, 5)));
    drop(second);
    old.into_iter().chain(new).for_each(|task| task.join().unwrap());
    assert_eq!(object(&seen(&inspector), "stock").map(|object| object.queued), Some(0));
}
