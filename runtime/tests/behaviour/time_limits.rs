//! Shutdowns with a limit: they end whatever tasks do, and name those that run.

use crate::common::{Dropped, Flag, Setting, eventually, on_all, watchdog};
use crate::handles::occupy;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use xtasking::metrics::RunningTask;
use xtasking::platform::Simulation;
use xtasking::{Context, JoinError, Runtime, Shutdown, primitive::Sequencing};

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(5);

/// Builds a runtime, and returns a count that is 1 again once its state is freed.
fn build(setting: Setting) -> (Runtime, Arc<()>) {
    let alive = Arc::new(());
    let kept = alive.clone();
    let builder = setting.builder().name_running(true).on_failure(move |_| _ = &kept);
    (builder.build().unwrap(), alive)
}

fn is_freed(alive: &Arc<()>) -> bool {
    Arc::strong_count(alive) == 1
}

#[test]
fn a_shutdown_in_time_is_as_one_without_a_limit() {
    on_all(|setting| {
        for how in [Shutdown::Drain, Shutdown::Cancel] {
            let (rt, alive) = build(setting);
            let (ran, drops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            for core in 0..100 {
                let (ran, captured) = (ran.clone(), Dropped(drops.clone()));
                rt.task(()).core(core).spawn(move |(), cx| {
                    ran.fetch_add(1, SeqCst);
                    cx.task(()).spawn(move |(), _| drop(captured));
                });
            }
            rt.shutdown_within(how, LONG).unwrap();
            assert!(ran.load(SeqCst) == 100 || how == Shutdown::Cancel);
            assert_eq!(drops.load(SeqCst), 100);
            assert!(is_freed(&alive));
        }
    });
}

#[test]
fn a_task_that_runs_on_is_named() {
    let _watched = watchdog();
    for how in [Shutdown::Drain, Shutdown::Cancel] {
        let (rt, alive) = build(Setting::Threads { workers: 2 });
        let account = rt.plain(5u64).core(1).pin(Sequencing).build();
        let (inside, go) = (Flag::default(), Flag::default());
        let (i, g) = (inside.clone(), go.clone());
        let stuck = rt.task(account.write()).submit(move |_, _| {
            i.set();
            g.wait();
            3
        });
        inside.wait();
        let behind = rt.task(account.write()).submit(|_, _| ());
        let other = rt.task(()).core(0).submit(|(), _| ());
        let error = rt.shutdown_within(how, SHORT).unwrap_err();
        // The task of the other worker may not have ended.
        let (stuck_here, others): (Vec<_>, Vec<_>) = error.running.iter().partition(|task| task.worker == 1);
        let [RunningTask { details: Some(details), .. }] = stuck_here[..] else { panic!("{error}") };
        assert!(others.len() <= 1 && others.iter().all(|task| task.worker == 0), "{error}");
        assert!(details.task.contains("time_limits::a_task_that_runs_on_is_named"), "{error}");
        assert_eq!((details.objects[0].data, details.objects[0].address), ("u64", account.address()));
        assert!(error.to_string().contains("reached its limit: task behaviour::time_limits::"), "{error}");
        // The workers go on, and the task ends as if nothing had happened.
        _ = other.join();
        assert!(!behind.is_finished() && !is_freed(&alive));
        go.set();
        assert_eq!(stuck.join().unwrap(), 3);
        assert!(matches!(behind.join(), Err(JoinError::Cancelled)));
        drop(account);
        eventually("the runtime is freed", || is_freed(&alive));
    }
}

#[test]
fn tasks_and_objects_have_names() {
    let _watched = watchdog();
    let (rt, _) = build(Setting::Threads { workers: 1 });
    let savings = rt.plain(5u64).name("savings").build();
    let other = rt.plain(1u64).build();
    let granules = rt.granules(1);
    let group = rt.group();
    let names = |go: Flag, name: &str, what: &str| {
        let mut tasks = Vec::new();
        let seen = || {
            tasks = rt.running_tasks();
            tasks.iter().any(|task| task.details.as_ref().is_some_and(|details| details.task.contains(name)))
        };
        eventually("the task runs", seen);
        assert!(tasks[0].to_string().contains(what), "{}", tasks[0]);
        go.set();
    };
    let go = Flag::default();
    let g = go.clone();
    rt.task(savings.write()).name("pay out").spawn(move |_, _| g.wait());
    names(go, "pay out", "writes u64 `savings` at");
    let go = Flag::default();
    let g = go.clone();
    let task = rt.task((savings.read(), other.write())).of(&group).name("count").submit(move |_, _| g.wait());
    names(go, "count", "reads u64 `savings` at");
    task.join().unwrap();
    // The default is the path of the body.
    let go = Flag::default();
    let g = go.clone();
    let task = rt.task(other.read()).submit(move |_, _| g.wait());
    names(go, "limits::tasks_and_objects_have_names", "reads u64 at");
    task.join().unwrap();
    let go = Flag::default();
    let g = go.clone();
    let task = rt.task(()).within(LONG).claim(granules.write(0..1)).submit_with(move |(), _, _| g.wait());
    names(go, "limits::tasks_and_objects_have_names", "has been running on worker 0");
    task.join().unwrap();
}

/// All workers have gone to sleep when the limit is reached, or are about to.
#[test]
fn a_runtime_is_freed_whenever_its_tasks_end() {
    let _watched = watchdog();
    for round in 0..200u64 {
        let (rt, alive) = build(Setting::Threads { workers: 2 });
        let go = occupy(&rt, (round % 2) as u16);
        let setter = std::thread::spawn(move || {
            (0..round * 10).for_each(|_| std::hint::spin_loop());
            go.set();
        });
        _ = rt.shutdown_within(Shutdown::Drain, Duration::from_nanos(round * 500));
        setter.join().unwrap();
        eventually("the runtime is freed", || is_freed(&alive));
    }
}

#[test]
fn without_names_the_busy_workers_are_told() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 3 }.build();
    let go = occupy(&rt, 1);
    let busy = |tasks: &[RunningTask]| tasks.iter().any(|task| task.worker == 1 && task.details.is_none());
    assert!(busy(&rt.running_tasks()));
    let error = rt.shutdown_within(Shutdown::Drain, SHORT).unwrap_err();
    assert!(busy(&error.running), "{error}");
    assert!(error.to_string().contains("worker 1 is inside a task"), "{error}");
    go.set();
}

/// A drain alone would never end.
#[test]
fn an_endless_chain_is_cut_at_the_limit() {
    fn chain(cx: &mut Context, captured: Dropped) {
        assert_eq!(captured.0.load(SeqCst), 0);
        cx.task(()).begin_operation().spawn(move |(), cx| chain(cx, captured));
    }
    on_all(|setting| {
        let (rt, alive) = build(setting);
        let drops = Arc::new(AtomicUsize::new(0));
        let captured = Dropped(drops.clone());
        rt.task(()).spawn(move |(), cx| chain(cx, captured));
        let limit = if setting.is_simulation() { Duration::from_nanos(1000) } else { SHORT };
        rt.shutdown_within(Shutdown::Drain, limit).unwrap_err();
        eventually("the chain has ended", || drops.load(SeqCst) == 1);
        eventually("the runtime is freed", || is_freed(&alive));
    });
}

/// In virtual time it is certain which tasks run before the limit: a task takes one step.
#[test]
fn what_has_not_started_at_the_limit_is_cancelled() {
    for seed in 0..10 {
        let rt = Runtime::builder().platform(Simulation::new(3, seed)).build().unwrap();
        let handles: Vec<_> = (0..100).map(|core| rt.task(()).core(core).submit(|(), _| ())).collect();
        let error = rt.shutdown_within(Shutdown::Drain, Duration::from_nanos(40)).unwrap_err();
        assert!(error.running.is_empty(), "{error}");
        assert!(error.to_string().contains("cancelled"));
        let outcomes: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
        let cancelled =
            outcomes.iter().filter(|outcome| matches!(outcome, Err(JoinError::Cancelled))).count();
        assert!((60..100).contains(&cancelled), "{cancelled}");
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 100 - cancelled);
    }
}

#[test]
fn a_task_that_ends_its_own_runtime_is_told_so() {
    on_all(|setting| {
        let (rt, alive) = build(setting);
        let (rt, (tell, told)) = (Arc::new(rt), mpsc::channel());
        let own = rt.clone();
        let (inside, go) = (Flag::default(), Flag::default());
        let g = go.clone();
        let i = inside.clone();
        let task = rt.task(()).submit(move |(), _| {
            i.set();
            if !setting.is_simulation() {
                g.wait();
            }
            let rt = Arc::into_inner(own);
            tell.send(rt.map(|rt| rt.shutdown_within(Shutdown::Drain, LONG))).unwrap();
        });
        if setting.is_simulation() {
            // Joined first, the task does not have the last handle of the runtime.
            task.join().unwrap();
            assert!(told.recv().unwrap().is_none());
            return Arc::into_inner(rt).unwrap().shutdown_within(Shutdown::Drain, LONG).unwrap();
        }
        inside.wait();
        drop((rt, task));
        go.set();
        let error = told.recv().unwrap().expect("it has the last handle").unwrap_err();
        assert_eq!(error.running.len(), 1);
        eventually("the runtime is freed", || is_freed(&alive));
    });
}
