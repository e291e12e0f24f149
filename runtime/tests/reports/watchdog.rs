//! The watchdog: it reports tasks that run too long, and no others.

use crate::common::{Flag, Pair, Setting, eventually, lock, silence_tasks, watchdog};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use xtasking::platform::{Platform, Simulation, Threads};
use xtasking::{
    BuildError, Builder, Context, JoinError, Primitive, QueuePolicy, Runtime, Shutdown,
    arena::{Arena, Link, Modify, Step, Visit, Written},
    metrics::Overrun,
    primitive::{Sequencing, SpinLatch},
    queues::Topology,
};

/// A bound that is long for a task and short for a test.
const BOUND: Duration = Duration::from_millis(40);

/// The reports of a watchdog so far.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Overrun>>>);

impl Told {
    fn all(&self) -> Vec<Overrun> {
        lock(&self.0).clone()
    }

    /// Waits for the first report of a task and returns it.
    fn of(&self, task: &str) -> Overrun {
        let find = || self.all().into_iter().find(|overrun| overrun.task.contains(task));
        eventually(&format!("a report of {task}"), || find().is_some());
        find().unwrap()
    }

    fn hook(&self) -> impl Fn(Overrun) + Send + Sync + 'static {
        let told = self.clone();
        move |overrun| lock(&told.0).push(overrun)
    }
}

fn watched(workers: usize) -> (Runtime, Told) {
    let told = Told::default();
    let builder = Setting::Threads { workers }.builder().watchdog(BOUND, told.hook());
    (builder.build().unwrap(), told)
}

/// Runs until it has been reported, so the report comes while it runs.
fn until_told(told: &Told, part_of_name: &str) {
    told.of(part_of_name);
}

#[test]
fn a_task_that_runs_too_long_is_reported_while_it_runs() {
    let _watched = watchdog();
    let began = Instant::now();
    let (rt, told) = watched(4);
    let object = rt.plain(7u64).pin(Sequencing).build();
    let seen = told.clone();
    let task = rt.task(object.write()).submit(move |value, cx| {
        until_told(&seen, "a_task_that_runs_too_long");
        *value += 1;
        cx.worker()
    });
    let worker = task.join().unwrap();
    let overrun =
        told.of("reports::watchdog::a_task_that_runs_too_long_is_reported_while_it_runs::{{closure}}");
    assert_eq!(overrun.worker, worker);
    assert!(overrun.running > BOUND && overrun.running <= began.elapsed(), "{overrun}");
    let [touched] = overrun.objects[..] else { panic!("{overrun}") };
    assert_eq!((touched.data, touched.address), ("u64", object.address()));
    assert_eq!((touched.primitive, touched.write), (Primitive::Sequencing, true));
    assert!(overrun.to_string().contains(&format!("writes u64 at {:#x} (Sequencing)", object.address())));
}

/// Each of two tasks waits for what the other runtime's task would deliver after its own wait.
#[test]
fn a_circular_wait_of_two_runtimes_is_reported() {
    let _watched = watchdog();
    let (one, told) = watched(1);
    let other = Setting::Threads { workers: 1 }.build();
    let (to_one, from_other) = other.promise::<()>();
    let (to_other, from_one) = one.promise::<()>();
    let waits = one.task(()).submit(|(), _| from_other.join().is_ok());
    let waits_back = other.task(()).submit(|(), _| from_one.join().is_ok());
    let circular = || told.all().iter().any(|overrun| overrun.waits.is_some_and(|wait| wait.is_circular));
    eventually("the report", circular);
    let overrun = told.all().into_iter().rfind(|overrun| overrun.waits.is_some()).unwrap();
    assert!(overrun.to_string().contains(": a deadlock, unless other workers are free"), "{overrun}");
    to_one.fulfil(());
    to_other.fulfil(());
    assert!(waits.join().unwrap() && waits_back.join().unwrap());
}

/// Where the queue of a worker is full, a spawn runs the task at once, inside the one that spawns.
#[test]
fn a_task_that_runs_another_inside_is_reported_after_it() {
    let _watched = watchdog();
    let told = Told::default();
    let builder = Setting::Threads { workers: 1 }.builder().pool(QueuePolicy::XQueue(Topology::Next));
    let rt = builder.watchdog(BOUND, told.hook()).build().unwrap();
    let is_inside = Arc::new(AtomicBool::new(false));
    let (seen, inside) = (told.clone(), is_inside.clone());
    let outer = rt.task(()).submit(move |(), cx| {
        while !inside.load(SeqCst) {
            let inside = inside.clone();
            cx.task(()).spawn(move |(), _| inside.store(true, SeqCst));
        }
        until_told(&seen, "a_task_that_runs_another_inside");
    });
    outer.join().unwrap();
}

#[test]
fn each_doubling_of_the_time_is_reported() {
    let _watched = watchdog();
    let (rt, told) = watched(1);
    let seen = told.clone();
    let task = rt.task(()).submit(move |(), _| eventually("three reports", || seen.all().len() >= 3));
    task.join().unwrap();
    let told = told.all();
    for pair in told.windows(2) {
        assert!(pair[1].running > 2 * pair[0].running, "{told:?}");
    }
    assert!(told.len() >= 3 && told.iter().all(|overrun| overrun.objects.is_empty()), "{told:?}");
}

/// Each task is far below the bound, and all of them together are far above it.
#[test]
fn short_tasks_are_not_reported() {
    /// Rounds of which one must pass: on a busy machine a thread may be preempted for longer than
    /// the bound.
    const TRIES: usize = 5;
    let _watched = watchdog();
    let reports = |workers| {
        let told = Told::default();
        let builder = Setting::Threads { workers }.builder();
        let rt = builder.watchdog(Duration::from_secs(1), told.hook()).build().unwrap();
        let objects = (rt.plain(0).pin(Sequencing).build(), rt.plain(0).pin(SpinLatch).build());
        let end = Instant::now() + Duration::from_millis(2500);
        while Instant::now() < end {
            for _ in 0..100 {
                rt.task(objects.0.write()).spawn(|value, _| *value += 1);
                rt.task((objects.0.read(), objects.1.write())).spawn(|(from, to), _| *to = *from);
            }
            rt.task(()).submit(|(), _| thread::sleep(Duration::from_millis(10))).join().unwrap();
        }
        drop(rt);
        told.all().len()
    };
    for workers in [1, 4] {
        assert!((0..TRIES).any(|_| reports(workers) == 0), "{workers} workers");
    }
}

/// Set when [`a_named_function`] has been reported.
static REPORTED: AtomicBool = AtomicBool::new(false);

fn a_named_function((): (), _: &mut Context) {
    eventually("a report", || REPORTED.load(SeqCst));
}

#[test]
fn a_follow_up_is_reported_by_its_own_name() {
    let _watched = watchdog();
    let told = Told::default();
    let note = told.hook();
    // On a busy machine the parent may run for long enough, too.
    let is_of_parent = |overrun: &Overrun| (overrun.task, overrun.worker) == ("parent", 0);
    let hook = move |overrun| {
        let is_other = !is_of_parent(&overrun);
        note(overrun);
        REPORTED.fetch_or(is_other, SeqCst);
    };
    let rt = Setting::Threads { workers: 2 }.builder().watchdog(BOUND, hook).build().unwrap();
    let parent = rt.task(()).core(0).name("parent");
    parent.spawn(|(), cx| cx.task(()).core(1).spawn(a_named_function));
    rt.shutdown(Shutdown::Drain);
    let mut all = told.all();
    all.retain(|overrun| !is_of_parent(overrun));
    assert!(!all.is_empty());
    for overrun in all {
        assert_eq!((overrun.task, overrun.worker), ("reports::watchdog::a_named_function", 1));
    }
}

#[test]
fn all_objects_of_a_task_are_reported() {
    let _watched = watchdog();
    let (rt, told) = watched(2);
    let (a, b) = (rt.plain(0u8).pin(Sequencing).build(), rt.shared_reads(String::new()).build());
    let (c, d) = (rt.snapshot(0u64).build(), rt.versioned(Pair::default()).build());
    let e = rt.plain([0u16; 3]).pin(SpinLatch).build();
    let seen = told.clone();
    // Too large for a descriptor, which must not change its name.
    let ballast = [0u8; 1000];
    let access = (a.write(), b.read(), c.read(), d.write(), e.read());
    let task = rt.task(access).submit(move |_, _| {
        until_told(&seen, "all_objects_of_a_task");
        ballast.len()
    });
    assert_eq!(task.join().unwrap(), 1000);
    let overrun = told.of("reports::watchdog::all_objects_of_a_task_are_reported::{{closure}}");
    let objects: Vec<_> = overrun.objects.iter().map(|object| (object.data, object.address)).collect();
    let pair = std::any::type_name::<Pair>();
    let (string, bytes) = ("alloc::string::String", "[u16; 3]");
    assert_eq!(
        objects,
        [
            ("u8", a.address()),
            (string, b.address()),
            ("u64", c.address()),
            (pair, d.address()),
            (bytes, e.address())
        ]
    );
    assert!(overrun.objects.iter().map(|object| object.write).eq([true, false, false, true, false]));
    assert!(overrun.objects.iter().map(|object| object.primitive).eq([
        a.primitive(),
        b.primitive(),
        c.primitive(),
        d.primitive(),
        e.primitive()
    ]));
}

/// Waiting at a latch is part of the task's time, because it blocks the worker.
#[test]
fn a_task_that_waits_at_a_latch_is_reported() {
    let _watched = watchdog();
    let (rt, told) = watched(2);
    let object = rt.plain(()).pin(SpinLatch).build();
    let (inside, seen) = (Flag::default(), told.clone());
    let entered = inside.clone();
    let holder = rt.task(object.write()).core(0).submit(move |_, _| {
        entered.set();
        until_told(&seen, "waits_at_the_latch");
    });
    inside.wait();
    fn waits_at_the_latch((): &(), _: &mut Context) {}
    rt.task(object.read()).core(1).submit(waits_at_the_latch).join().unwrap();
    holder.join().unwrap();
    assert_eq!(told.of("waits_at_the_latch").worker, 1);
}

/// A visit and a modification of a node, both of them long.
struct Slow(Flag);

impl Visit for Slow {
    type Target = Pair;
    type Output = ();
    fn read(&self, _: Link<Pair>, _: &Pair) -> Step<Pair, ()> {
        Step::End(())
    }
    fn then(self, (): (), _: &mut Context) {
        self.0.wait();
    }
}

impl Modify for Slow {
    type Target = Pair;
    type Output = ();
    fn write(&mut self, _: Link<Pair>, _: Written<'_, Pair>, _: &mut Context) {
        self.0.wait();
    }
    fn then(self, (): (), _: &mut Context) {}
}

#[test]
fn visits_and_modifications_are_reported_by_their_types() {
    let _watched = watchdog();
    let (rt, told) = watched(2);
    let arena = Arena::new(&rt);
    let node = arena.alloc_outside(Pair::default());
    for write in [false, true] {
        let go_on = Flag::default();
        if write {
            rt.task(node.write()).modify(Slow(go_on.clone()));
        } else {
            rt.task(node.read()).visit(Slow(go_on.clone()));
        }
        let is_told = || told.all().iter().any(|overrun| overrun.objects[0].write == write);
        eventually("a report", is_told);
        go_on.set();
    }
    for overrun in told.all() {
        assert_eq!((overrun.task, overrun.objects[0].address), ("reports::watchdog::Slow", node.address()));
    }
    drop(rt);
    drop(arena);
}

#[test]
fn a_task_that_panics_is_reported_before_and_not_afterwards() {
    silence_tasks();
    let _watched = watchdog();
    let told = Told::default();
    let builder = Setting::Threads { workers: 1 }.builder().counters(true);
    let rt = builder.watchdog(BOUND, told.hook()).build().unwrap();
    let sleeps = || rt.counters().unwrap().sleeps;
    let (began, goes_on) = (Instant::now(), Flag::default());
    let waits = goes_on.clone();
    let task = rt.task(()).submit(move |(), _| {
        waits.wait();
        panic!("provoked");
    });
    told.of("a_task_that_panics");
    let before = sleeps();
    goes_on.set();
    assert!(matches!(task.join(), Err(JoinError::Panicked(_))));
    eventually("nothing runs any more", || sleeps() > before);
    let ended = began.elapsed();
    // Longer than until the next report is due. A check that had begun may report a task that has
    // ended since.
    thread::sleep(2 * ended);
    assert!(told.all().iter().all(|overrun| overrun.running <= ended), "{:?} after {ended:?}", told.all());
}

#[test]
fn a_hook_that_panics_is_called_again() {
    silence_tasks();
    let _watched = watchdog();
    let told = Told::default();
    let hook = told.hook();
    let panicking = move |overrun| {
        hook(overrun);
        panic!("provoked");
    };
    let rt = Runtime::builder().workers(1).watchdog(BOUND, panicking).build().unwrap();
    for round in 1..=2 {
        let seen = told.clone();
        rt.task(()).submit(move |(), _| eventually("a report", || seen.all().len() >= round)).join().unwrap();
    }
}

/// Returns the number of threads of this process whose name begins like this, if the system lists
/// them.
#[cfg(target_os = "linux")]
fn threads_named(start: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let name =
        |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    tasks.map(name).filter(|name| name.starts_with(start)).count()
}

/// Runs in a separate process, because the watchers of other tests come and go.
#[cfg(target_os = "linux")]
#[test]
fn the_watcher_ends_with_its_runtime() {
    const ALONE: &str = "XTASKING_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "watchdog::the_watcher_ends_with_its_runtime"]).env(ALONE, "");
        let output = child.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        return assert!(output.status.success() && told.contains("1 passed"), "{told}");
    }
    let _watched = watchdog();
    let watchers = || threads_named("xtasking-watch");
    let builder = || Setting::Threads { workers: 2 }.builder().watchdog(Duration::from_secs(3600), |_| ());
    for end in [Shutdown::Drain, Shutdown::Cancel] {
        let rt = builder().build().unwrap();
        eventually("a watcher", || watchers() == 1);
        rt.shutdown(end);
        // A joined thread may still be listed for a moment.
        eventually("no watcher", || watchers() == 0);
    }
    // Dropped by one of its own tasks, which cannot wait.
    let rt = Arc::new(builder().build().unwrap());
    let (last, promise) = (rt.clone(), rt.promise());
    let done = promise.0;
    rt.task(()).spawn(move |(), _| {
        eventually("the other is gone", || Arc::strong_count(&last) == 1);
        drop(last);
        done.fulfil(());
    });
    drop(rt);
    promise.1.join().unwrap();
    eventually("the watcher ends by itself", || watchers() == 0);
    eventually("its worker ends, too", || threads_named("xtasking-") == 0);
}

#[test]
fn a_shutdown_does_not_wait_for_the_watcher() {
    let _watched = watchdog();
    let threads = Threads::new(1);
    // The other watchdog has a shorter bound.
    threads.watch(Duration::from_secs(3600), Box::new(|| true)).unwrap();
    // By then the task most likely waits.
    thread::sleep(BOUND);
    threads.join();
}

/// Like [`Simulation`], but without support for a watcher.
struct Without(Simulation);

impl Platform for Without {
    xtasking_testing::forward_platform!(0: topology start park wake join block pages now virtual_time);
}

#[test]
fn a_platform_that_cannot_watch_returns_an_error() {
    let refusal = |builder: Builder| match builder.watchdog(BOUND, |_| ()).build() {
        Err(BuildError::Platform(why)) => why.to_string(),
        other => panic!("{other:?}"),
    };
    let simulation = Simulation::new(2, 1);
    let why = refusal(Runtime::builder().platform(simulation));
    assert!(why.starts_with("a simulation has no watchers, as nothing can look while a task runs;"), "{why}");
    let why = refusal(Runtime::builder().platform(Without(Simulation::new(2, 1))));
    assert!(why.starts_with("this platform has no watchers;"), "{why}");
    Runtime::builder().platform(Without(Simulation::new(2, 1))).build().unwrap();
}
