//! A runtime as an inspector sees it while it runs.

use crate::common::{Flag, Setting, eventually, on_all, silence_tasks, watchdog};
use std::time::Duration;
use xtasking::metrics::{Activity, Inspection, Inspector, ObjectUse, TaskKind, WaitingClaim};
use xtasking::primitive::{Sequencing, SpinLatch};
use xtasking::{Builder, Runtime};

pub(crate) fn inspected(builder: Builder) -> (Runtime, Inspector) {
    let rt = builder.inspection(true).build().unwrap();
    let inspector = rt.inspector().expect("inspection is on");
    (rt, inspector)
}

pub(crate) fn on_threads(workers: usize) -> (Runtime, Inspector) {
    inspected(Setting::Threads { workers }.builder())
}

pub(crate) fn seen(inspector: &Inspector) -> Inspection {
    inspector.snapshot().expect("the runtime has not ended")
}

pub(crate) fn kind<'i>(inspection: &'i Inspection, name: &str) -> Option<&'i TaskKind> {
    inspection.kinds.iter().find(|kind| kind.name == name)
}

pub(crate) fn object<'i>(inspection: &'i Inspection, name: &str) -> Option<&'i ObjectUse> {
    inspection.objects.iter().find(|seen| seen.object.name.as_deref() == Some(name))
}

/// Returns the granules that a claim waits for.
pub(crate) fn granules(claim: &WaitingClaim) -> Vec<u32> {
    claim.ranges.iter().cloned().flatten().collect()
}

/// A task that waits until this is dropped, also if the test fails meanwhile.
pub(crate) struct Suspended(Flag);

impl Drop for Suspended {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Calls `spawn` with a function that its task calls, and waits until it does. The task waits
/// there.
pub(crate) fn suspend(spawn: impl FnOnce(Box<dyn FnOnce() + Send>)) -> Suspended {
    let (started, flag) = (Flag::default(), Flag::default());
    let (starts, suspended) = (started.clone(), Suspended(flag.clone()));
    spawn(Box::new(move || {
        starts.set();
        flag.wait();
    }));
    started.wait();
    suspended
}

#[test]
fn an_inspector_is_only_there_if_it_is_asked_for() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    assert!(rt.inspector().is_none() && rt.statistics().is_none());
    let (rt, inspector) = on_threads(1);
    assert!(rt.statistics().is_none() && rt.timeline().is_none() && rt.counters().is_none());
    let inspection = seen(&inspector);
    assert!(inspection.counters.is_none() && !inspection.is_recording);
    assert_eq!((inspection.size, inspection.workers.len()), (1, 1));
}

#[test]
fn kinds_have_the_right_counts() {
    silence_tasks();
    on_all(|setting| {
        let (rt, inspector) = inspected(setting.builder());
        let recording = inspector.record();
        let total = rt.plain(0).build();
        let sells = (0..300).map(|_| rt.task(total.write()).name("sell").submit(|total, _| *total += 1));
        sells.collect::<Vec<_>>().into_iter().for_each(|sell| sell.join().unwrap());
        let spawns = (0..20).map(|_| {
            rt.task(()).name("outer").submit(|(), cx| {
                cx.task(()).name("inner").spawn(|(), _| ());
            })
        });
        spawns.collect::<Vec<_>>().into_iter().for_each(|outer| outer.join().unwrap());
        let fails = (0..7).map(|_| rt.task(()).name("fail").submit(|(), _| panic!("provoked")));
        fails.collect::<Vec<_>>().into_iter().for_each(|fail| assert!(fail.join().is_err()));
        let count = |name| kind(&seen(&inspector), name).map_or(0, |kind| kind.finished);
        eventually("all follow-ups have run", || {
            rt.task(()).submit(|(), _| ()).join().unwrap();
            count("inner") == 20
        });
        let inspection = seen(&inspector);
        for (name, finished, panics) in [("sell", 300, 0), ("outer", 20, 0), ("inner", 20, 0), ("fail", 7, 7)]
        {
            let kind = kind(&inspection, name).expect(name);
            assert_eq!((kind.finished, kind.runs, kind.panics), (finished, finished, panics), "{name}");
            assert_eq!(kind.running.count(), finished, "{name}");
            // Where the table of times is full for a task, its time is not kept.
            let waiting = kind.waiting.count();
            assert!((finished - finished / 5..=finished).contains(&waiting), "{name}: {waiting}");
        }
        assert!(inspection.is_recording && inspection.recorded == inspection.session);
        drop(recording);
    });
}

#[test]
fn a_hot_object_is_found_by_its_name() {
    on_all(|setting| {
        let (rt, inspector) = inspected(setting.builder());
        let recording = inspector.record();
        let cold: Vec<_> = (0..300).map(|_| rt.plain(0).build()).collect();
        let hot = rt.plain(0).name("hot").build();
        let mut last = Vec::new();
        for (number, cold) in (0..1000).zip(cold.iter().cycle()) {
            last.push(rt.task(hot.write()).submit(|hot, _| *hot += 1));
            if number % 2 == 0 {
                rt.task(cold.write()).spawn(|cold, _| *cold += 1);
            }
        }
        last.into_iter().for_each(|task| task.join().unwrap());
        let inspection = seen(&inspector);
        let found = object(&inspection, "hot").expect("it is hot");
        assert!(found.accesses - found.error <= 1000, "{found:?}");
        assert!(found.accesses + inspection.object_error >= 1000, "{found:?}");
        let most = inspection.objects.iter().map(|object| object.accesses - object.error).max();
        assert_eq!(most, Some(found.accesses - found.error));
        assert!(inspection.objects.len() <= Inspection::MAX_OBJECTS);
        assert!(found.object.data.ends_with("i32") && found.object.address == hot.address());
        assert_eq!(found.queued, 0);
        drop(recording);
    });
}

#[test]
fn a_long_queue_is_seen() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(2);
    let _recording = inspector.record();
    let long = rt.plain(0).name("long").pin(Sequencing).build();
    let first = suspend(|wait| rt.task(long.write()).spawn(move |_, _| wait()));
    let tasks: Vec<_> = (0..50).map(|_| rt.task(long.write()).submit(|long, _| *long += 1)).collect();
    assert_eq!(object(&seen(&inspector), "long").map(|object| object.queued), Some(50));
    drop(first);
    tasks.into_iter().for_each(|task| task.join().unwrap());
    let inspection = seen(&inspector);
    let found = object(&inspection, "long").expect("it was accessed");
    assert_eq!((found.queued, found.accesses), (0, 51));
    assert!(found.waited > Duration::ZERO);
}

#[test]
fn waits_at_a_latch_are_those_of_its_object() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(2);
    let _recording = inspector.record();
    let latched = rt.plain(0).name("latched").pin(SpinLatch).build();
    let holder = suspend(|wait| rt.task(latched.write()).core(0).spawn(move |_, _| wait()));
    let waiter = rt.task(latched.write()).core(1).submit(|_, _| ());
    // Both workers are inside a task, or about to be.
    eventually("the second task has begun", || {
        seen(&inspector).workers.iter().filter(|worker| !worker.running.is_empty()).count() == 2
    });
    drop(holder);
    waiter.join().unwrap();
    let inspection = seen(&inspector);
    let found = object(&inspection, "latched").expect("it was accessed");
    // It may have found the latch free after all.
    assert!(found.accesses == 2 && found.waits <= 1, "{found:?}");
}

#[test]
fn a_running_task_is_named_with_its_objects() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(2);
    let _recording = inspector.record();
    let stock = rt.plain(0).name("stock").pin(Sequencing).build();
    let task = suspend(|wait| rt.task(stock.write()).name("count").spawn(move |_, _| wait()));
    let inspection = seen(&inspector);
    let busy: Vec<_> = inspection.workers.iter().filter(|worker| !worker.running.is_empty()).collect();
    let [worker] = busy[..] else { panic!("{busy:?}") };
    let [running] = &worker.running[..] else { panic!("{worker:?}") };
    assert_eq!((&running.task[..], running.is_blocked), ("count", false));
    assert_eq!(running.objects[0].name.as_deref(), Some("stock"));
    assert_eq!((worker.activity, worker.worker), (Activity::Running, worker.owner));
    drop(task);
    eventually("it has ended", || seen(&inspector).workers.iter().all(|worker| worker.running.is_empty()));
}

#[test]
fn a_task_that_blocks_in_place_is_seen_beside_the_one_that_runs() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(1);
    let _recording = inspector.record();
    let blocked = suspend(|wait| rt.task(()).name("blocked").spawn(move |(), cx| cx.block_in_place(wait)));
    let runs = suspend(|wait| rt.task(()).name("runs").spawn(move |(), _| wait()));
    let inspection = seen(&inspector);
    let running: Vec<_> =
        inspection.workers[0].running.iter().map(|running| (&running.task[..], running.is_blocked)).collect();
    assert_eq!(running, [("blocked", true), ("runs", false)]);
    drop((runs, blocked));
    eventually("both have ended", || seen(&inspector).workers[0].running.is_empty());
    let inspection = seen(&inspector);
    assert_eq!(kind(&inspection, "blocked").map(|kind| (kind.runs, kind.finished)), Some((1, 1)));
}

#[test]
fn without_a_recording_nothing_is_recorded() {
    on_all(|setting| {
        let (rt, inspector) = inspected(setting.builder());
        let stock = rt.plain(0).name("stock").build();
        let run = || {
            let tasks = (0..50).map(|_| rt.task(stock.write()).name("sell").submit(|stock, _| *stock += 1));
            tasks.collect::<Vec<_>>().into_iter().for_each(|task| task.join().unwrap());
        };
        let nothing = |inspection: &Inspection| {
            assert!(inspection.kinds.is_empty() && inspection.objects.is_empty(), "{inspection:?}");
            assert!(inspection.workers.iter().all(|worker| worker.tasks == 0 && worker.running.is_empty()));
            assert!(!inspection.is_recording && inspection.recorded == Duration::ZERO);
        };
        run();
        nothing(&seen(&inspector));
        assert!(seen(&inspector).finished > 0);
        drop(inspector.record());
        run();
        let inspection = seen(&inspector);
        assert!(kind(&inspection, "sell").is_none() && !inspection.is_recording, "{inspection:?}");
        let recording = inspector.record();
        run();
        drop(recording);
        run();
        assert_eq!(kind(&seen(&inspector), "sell").map(|kind| kind.finished), Some(50));
        let timeline = inspector.timeline(Duration::MAX).expect("the runtime runs");
        assert_eq!(timeline.events(), 0);
    });
}

#[test]
fn recordings_that_overlap_are_one() {
    on_all(|setting| {
        let (rt, inspector) = inspected(setting.builder());
        let run = || rt.task(()).name("task").submit(|(), _| ()).join().unwrap();
        let count = || kind(&seen(&inspector), "task").map_or(0, |kind| kind.finished);
        let first = inspector.record();
        run();
        let second = inspector.clone().record();
        run();
        drop(first);
        run();
        assert!(seen(&inspector).is_recording && count() == 3);
        drop(second);
        run();
        assert!(!seen(&inspector).is_recording && count() == 3);
        let _third = inspector.record();
        run();
        assert_eq!(count(), 4, "kinds are kept from one recording to the next");
        let inspection = seen(&inspector);
        assert!(inspection.recorded >= inspection.session);
    });
}

#[test]
fn recordings_begin_and_end_beside_tasks() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(3);
    let stock = rt.plain(0u64).name("stock").build();
    let stop = Flag::default();
    let stops = stop.clone();
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !stops.is_set() {
                let recording = inspector.record();
                let inspection = seen(&inspector);
                assert!(inspection.is_recording);
                assert!(inspection.objects.iter().all(|object| object.queued <= 200));
                _ = inspector.timeline(Duration::MAX).expect("the runtime runs").to_string();
                drop(recording);
            }
        });
        for _ in 0..100 {
            let tasks = (0..100).map(|_| {
                rt.task(stock.write()).name("sell").submit(|stock, cx| {
                    *stock += 1;
                    cx.task(()).spawn(|(), _| ());
                })
            });
            tasks.collect::<Vec<_>>().into_iter().for_each(|task| task.join().unwrap());
        }
        stop.set();
        watcher.join().unwrap();
    });
    assert_eq!(rt.task(stock.read()).submit(|stock, _| *stock).join().unwrap(), 10_000);
    assert!(kind(&seen(&inspector), "sell").is_none_or(|kind| kind.finished <= 10_000));
}

#[test]
fn the_runtime_may_end_before_its_inspector() {
    on_all(|setting| {
        let (rt, inspector) = inspected(setting.builder());
        let recording = inspector.record();
        rt.task(()).submit(|(), _| ()).join().unwrap();
        drop(rt);
        assert!(inspector.snapshot().is_none() && inspector.timeline(Duration::MAX).is_none());
        drop(recording);
        drop(inspector.record());
        assert!(inspector.snapshot().is_none());
    });
}

#[test]
fn a_claim_that_waits_is_named_with_what_it_waits_for() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(2);
    let _recording = inspector.record();
    let shelves = rt.granules_of((0..10).map(|_| String::new()));
    let holder = suspend(|wait| {
        rt.task(()).name("holder").claim(shelves.write(2..6)).spawn_with(move |(), _, _| wait());
    });
    let reads = rt.task(()).name("reads").claim(shelves.read(0..4)).submit_with(|(), _, _| ());
    let writes = rt.task(()).name("writes").claim(shelves.write(3..9)).submit_with(|(), _, _| ());
    let inspection = seen(&inspector);
    let claim = |name: &str| inspection.claims.iter().find(|claim| claim.task == name).expect("it waits");
    let (reader, writer) = (claim("reads"), claim("writes"));
    assert_eq!(inspection.claims.len(), 2);
    assert_eq!((granules(reader), reader.is_write, reader.ahead), (vec![2, 3], false, 0));
    assert_eq!((granules(writer), writer.is_write, writer.ahead), (vec![3, 4, 5], true, 1));
    for claim in [reader, writer] {
        assert_eq!(claim.holders, ["holder"]);
        assert!(claim.waiting.is_some() && claim.data.ends_with("String"), "{claim:?}");
    }
    drop(holder);
    reads.join().unwrap();
    writes.join().unwrap();
    assert!(seen(&inspector).claims.is_empty());
}

#[test]
fn claims_that_waited_before_the_recording_are_seen() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(2);
    let places = rt.granules(3);
    let holder = suspend(|wait| {
        rt.task(()).claim(places.write(0..3)).spawn_with(move |(), _, _| wait());
    });
    let waiter = rt.task(()).name("waiter").claim(places.write(1..2)).submit_with(|(), _, _| ());
    let _recording = inspector.record();
    let [claim] = &seen(&inspector).claims[..] else { panic!("one waits") };
    assert_eq!((&claim.task[..], granules(claim)), ("waiter", vec![1]));
    assert!(claim.holders.is_empty() && claim.waiting.is_none());
    drop(holder);
    waiter.join().unwrap();
    drop(places);
    assert!(seen(&inspector).claims.is_empty());
}

#[test]
fn epochs_lag_while_a_task_holds_one() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(2);
    let holder = suspend(|wait| rt.task(()).spawn(move |(), _| wait()));
    drop(rt.plain(7).build());
    let epochs = || seen(&inspector).epochs;
    eventually("the object waits", || epochs().retired == 1);
    let oldest = epochs().oldest;
    assert!(epochs().newest >= oldest);
    assert_eq!(epochs().oldest, oldest, "the task holds its epoch");
    drop(holder);
    eventually("the object is freed", || {
        rt.task(()).submit(|(), _| ()).join().unwrap();
        epochs().retired == 0
    });
    assert!(epochs().oldest > oldest);
}

#[test]
fn a_timeline_has_what_was_recorded() {
    on_all(|setting| {
        let (rt, inspector) = inspected(setting.builder());
        rt.task(()).name("before").submit(|(), _| ()).join().unwrap();
        let _recording = inspector.record();
        let stock = rt.plain(0).name("stock").build();
        rt.task(stock.write()).name("sell").submit(|stock, _| *stock += 1).join().unwrap();
        let timeline = inspector.timeline(Duration::MAX).expect("the runtime runs");
        let json = timeline.to_string();
        assert!(json.contains(r#""name":"sell""#) && !json.contains("before"), "{json}");
        assert!(json.contains("writes i32 `stock` at"), "{json}");
    });
}

#[test]
fn statistics_and_recordings_are_independent() {
    on_all(|setting| {
        let (rt, inspector) = inspected(setting.builder().statistics(true).timeline(100));
        let run = || rt.task(()).name("task").submit(|(), _| ()).join().unwrap();
        run();
        let recording = inspector.record();
        run();
        drop(recording);
        run();
        let statistics = rt.statistics().expect("they are on");
        assert_eq!((statistics.spawned, statistics.finished), (3, 3));
        assert_eq!(statistics.waiting.count(), 3);
        assert_eq!(kind(&seen(&inspector), "task").map(|kind| kind.finished), Some(1));
        let timeline = rt.timeline().expect("it is on").to_string();
        assert_eq!(timeline.matches(r#""name":"task""#).count(), 3);
    });
}

#[cfg(feature = "serde")]
#[test]
fn an_inspection_is_read_as_it_was_written() {
    let _watched = watchdog();
    let (rt, inspector) = on_threads(1);
    let _recording = inspector.record();
    let stock = rt.plain(0).name("stock").build();
    rt.task(stock.write()).name("sell").submit(|stock, _| *stock += 1).join().unwrap();
    let inspection = seen(&inspector);
    let text = serde_json::to_string(&inspection).unwrap();
    assert_eq!(serde_json::from_str::<Inspection>(&text).unwrap(), inspection);
}
