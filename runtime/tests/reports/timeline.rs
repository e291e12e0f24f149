//! The timeline: a file for Perfetto with an event for each task, as long as there is room.

use crate::common::{Setting, eventually, on_all, silence_tasks, watchdog};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::process::Command;
use xtasking::{
    Context, Runtime, Shutdown,
    primitive::{Sequencing, SpinLatch},
};

fn traced(setting: Setting, events: usize) -> Runtime {
    setting.builder().timeline(events).on_failure(drop).build().unwrap()
}

fn events(json: &str) -> Vec<Value> {
    let mut json: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let Value::Array(events) = json["traceEvents"].take() else { panic!("{json}") };
    events
}

/// Returns the events of one kind.
fn of_kind<'a>(events: &'a [Value], phase: &str, category: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == phase && event["cat"] == category).collect()
}

/// Waits until no task is left, and each has its event.
fn settle(rt: &Runtime) {
    while rt.statistics().unwrap().occupancy() > 0 {
        rt.task(()).submit(|(), _| ()).join().unwrap();
    }
    // The last task of a worker may be counted and its event not yet kept.
    for core in 0..rt.workers() {
        rt.task(()).core(core as u16).submit(|(), _| ()).join().unwrap();
    }
}

fn named_task((): (), cx: &mut Context) {
    for core in 0..4 {
        cx.task(()).core(core).spawn(a_follow_up);
    }
}

fn a_follow_up((): (), _: &mut Context) {}

#[test]
fn there_is_an_event_for_each_run_of_a_task() {
    let _watched = watchdog();
    silence_tasks();
    on_all(|setting| {
        let rt = traced(setting, 10_000);
        let (a, b) = (rt.plain(0u64).pin(Sequencing).build(), rt.plain(String::new()).pin(SpinLatch).build());
        for _ in 0..20 {
            rt.task(()).spawn(named_task);
            rt.task((a.write(), b.read())).spawn(|_, _| ());
            rt.task(a.write()).spawn(|_, _| panic!("provoked"));
        }
        settle(&rt);
        let timeline = rt.timeline().unwrap();
        let all = events(&timeline.to_string());
        let tasks = of_kind(&all, "X", "task");
        assert_eq!((tasks.len() as u64, timeline.dropped()), (rt.statistics().unwrap().running.count(), 0));
        let called = |name: &str| tasks.iter().filter(|task| task["name"] == name).count();
        assert_eq!(
            (called("reports::timeline::named_task"), called("reports::timeline::a_follow_up")),
            (20, 80)
        );
        let both: Vec<_> = tasks.iter().filter(|task| task["args"]["object 1"].is_string()).collect();
        assert_eq!(both.len(), 20);
        for task in both {
            let objects = ["object 0", "object 1"].map(|key| task["args"][key].as_str().unwrap());
            assert_eq!(objects[0], format!("writes u64 at {:#x} (Sequencing)", a.address()));
            assert_eq!(objects[1], format!("reads alloc::string::String at {:#x} (SpinLatch)", b.address()));
        }
        let tracks: HashSet<_> = tasks.iter().map(|task| task["tid"].as_u64().unwrap()).collect();
        assert!(tracks.iter().all(|track| (1..=rt.workers() as u64).contains(track)), "{tracks:?}");
        assert_eq!(all.iter().filter(|event| event["name"] == "thread_name").count(), rt.workers());
        assert_eq!(all.iter().filter(|event| event["ph"] == "C").count(), tasks.len());
        // Follow-ups of a task on the same worker are spawned while it runs, and begin after it.
        let arrows = of_kind(&all, "s", "spawn");
        assert_eq!((arrows.len(), of_kind(&all, "f", "spawn").len()), (80, 80));
    });
}

/// An arrow begins in the task that spawns, and ends at the beginning of the spawned task.
#[test]
fn arrows_lead_from_the_spawn_to_the_run() {
    let _watched = watchdog();
    for setting in Setting::threads() {
        let rt = traced(setting, 10_000);
        (0..50).for_each(|_| rt.task(()).spawn(named_task));
        settle(&rt);
        let all = events(&rt.timeline().unwrap().to_string());
        let time = |event: &Value, key: &str| event[key].as_f64().unwrap();
        let runs = |name: &str| -> Vec<(u64, f64, f64)> {
            let found = of_kind(&all, "X", "task").into_iter().filter(|task| task["name"] == name);
            found.map(|task| (task["tid"].as_u64().unwrap(), time(task, "ts"), time(task, "dur"))).collect()
        };
        let (parents, children) =
            (runs("reports::timeline::named_task"), runs("reports::timeline::a_follow_up"));
        let ends = of_kind(&all, "f", "spawn").into_iter().map(|end| (end["id"].as_u64().unwrap(), end));
        let ends: HashMap<_, _> = ends.collect();
        let begins = of_kind(&all, "s", "spawn");
        assert_eq!((begins.len(), ends.len()), (200, 200));
        for begin in begins {
            let within = parents.iter().any(|&(track, ts, dur)| {
                // Each time is rounded separately.
                let at = time(begin, "ts");
                begin["tid"] == track && ts - 0.01 <= at && at <= ts + dur + 0.01
            });
            assert!(within, "{begin} is in no task");
            let end = ends[&begin["id"].as_u64().unwrap()];
            assert!(children.iter().any(|&(track, ts, _)| end["tid"] == track && time(end, "ts") == ts));
        }
    }
}

#[test]
fn of_too_many_events_the_last_are_kept_and_the_others_counted() {
    let _watched = watchdog();
    on_all(|setting| {
        let rt = traced(setting, 10);
        (0..500).for_each(|_| rt.task(()).spawn(|(), _| ()));
        settle(&rt);
        let (timeline, statistics) = (rt.timeline().unwrap(), rt.statistics().unwrap());
        assert!(timeline.events() <= 10 * rt.workers());
        let all = events(&timeline.to_string());
        let kept = of_kind(&all, "X", "task").len() + of_kind(&all, "X", "worker").len();
        assert_eq!(kept, timeline.events());
        let sleeps: u64 = statistics.workers.iter().map(|worker| worker.sleeps).sum();
        let happened = kept as u64 + timeline.dropped();
        assert!(timeline.dropped() > 0 && happened >= statistics.running.count());
        assert!(happened <= statistics.running.count() + sleeps, "{timeline:?}");
    });
}

#[test]
fn the_timeline_shows_sleeps_and_stolen_halves() {
    let _watched = watchdog();
    let rt = traced(Setting::Threads { workers: 2 }, 1000);
    rt.task(()).submit(|(), _| ()).join().unwrap();
    let names = |rt: &Runtime| {
        let all = events(&rt.timeline().unwrap().to_string());
        let found = of_kind(&all, "X", "worker").into_iter().map(|event| event["name"].to_string());
        found.collect::<HashSet<_>>()
    };
    // A worker that sleeps is woken to record the sleep.
    eventually("a sleep", || {
        rt.task(()).core(1).submit(|(), _| ()).join().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
        names(&rt).contains("\"sleep\"")
    });
    fn sum(numbers: std::ops::Range<u64>, cx: xtasking::Fork<'_>) -> u64 {
        if numbers.end - numbers.start == 1 {
            return numbers.start;
        }
        let middle = numbers.start.midpoint(numbers.end);
        let (low, high) = (numbers.start..middle, middle..numbers.end);
        let (low, high) = { cx }.join(|cx| sum(low, cx), |cx| sum(high, cx));
        low + high
    }
    let mut stolen = 0;
    for seed in 0..20 {
        let rt = traced(Setting::Simulation { cores: 4, seed }, 1000);
        assert_eq!(rt.run(|cx| sum(0..200, cx)).unwrap(), 199 * 100);
        stolen += usize::from(names(&rt).contains("\"half of a join, stolen\""));
    }
    assert!(stolen > 0);
}

/// Run by the next test in a separate process.
#[test]
#[ignore = "it is the program of another test"]
fn program() {
    for workers in [1, 2] {
        let rt = Runtime::builder().workers(workers).build().unwrap();
        (0..10).for_each(|_| rt.task(()).spawn(named_task));
        rt.shutdown(Shutdown::Drain);
    }
}

#[cfg_attr(miri, ignore = "Miri starts no processes")]
#[test]
fn the_environment_asks_for_both_without_a_change_of_code() {
    let _watched = watchdog();
    let directory = std::env::temp_dir().join(format!("xtasking-timeline-{}", std::process::id()));
    // An earlier process of this number may have left files.
    _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "timeline::program", "--ignored", "--nocapture"]);
    program.env("XTASKING_TIMELINE", directory.join("run.json")).env("XTASKING_STATISTICS", "1");
    let output = program.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    for name in ["run.json", "run-2.json"] {
        let all = events(&std::fs::read_to_string(directory.join(name)).unwrap());
        assert_eq!(of_kind(&all, "X", "task").len(), 50, "{name}");
    }
    assert_eq!(told.matches("xtasking: 50 of 50 tasks finished").count(), 2, "{told}");
    std::fs::remove_dir_all(&directory).unwrap();
}
