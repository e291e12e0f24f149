//! A runtime is resized while it runs: no task is lost or runs twice, no order changes, and no more
//! workers run than requested.

use crate::common::{Flag, PATIENCE, Setting, eventually, lock, on_each, watchdog, watchdog_of};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use xtasking::platform::{Driver, Platform, PlatformError, Threads};
use xtasking::{BuildError, Builder, Context, Object, Plain, Runtime, Shutdown, primitive::Sequencing};

const MOST: usize = 8;

/// Builders of runtimes of up to eight workers that begin with one.
fn on_both(body: impl Fn(Setting, fn(Setting) -> Builder)) {
    let threads = [Setting::Threads { workers: 1 }];
    let simulations = [1, 2, 3].map(|seed| Setting::Simulation { cores: MOST, seed });
    on_each(threads.into_iter().chain(simulations), |setting| {
        body(setting, |setting| setting.builder().workers(1).most_workers(MOST));
    });
}

#[test]
fn as_many_workers_run_as_requested() {
    on_both(|setting, builder| {
        let rt = builder(setting).build().unwrap();
        assert_eq!((rt.workers(), rt.running_workers()), (MOST, 1));
        for workers in [8, 3, 5, 1, 2, 8, 8, 7, 1] {
            rt.resize(workers).unwrap();
            eventually("as many run as were asked for", || {
                // Virtual workers run only while a thread waits.
                rt.task(()).submit(|(), _| ()).join().unwrap();
                rt.running_workers() == workers
            });
        }
    });
}

#[test]
fn an_impossible_size_is_refused() {
    on_both(|setting, builder| {
        let rt = builder(setting).build().unwrap();
        assert_eq!(rt.resize(0), Err(BuildError::NoWorkers));
        assert_eq!(rt.resize(MOST + 1), Err(BuildError::TooManyWorkers(MOST + 1)));
        assert_eq!(rt.running_workers(), 1);
    });
    let rt = Runtime::builder().workers(2).build().unwrap();
    assert_eq!(rt.resize(3), Err(BuildError::TooManyWorkers(3)), "resizing has to be asked for");
    rt.resize(1).unwrap();
}

/// Tasks sent to each run queue run, whichever worker owns it, even if all workers slept.
#[test]
fn every_pool_is_served_at_every_size() {
    on_both(|setting, builder| {
        let rt = builder(setting).build().unwrap();
        for workers in [1, 8, 2, 4, 1] {
            rt.resize(workers).unwrap();
            for round in 0..3 {
                for core in 0..MOST as u16 {
                    let worker = rt.task(()).core(core).submit(|(), cx| cx.worker()).join();
                    assert_eq!(worker.unwrap(), usize::from(core), "{workers} workers, round {round}");
                }
                let objects: Vec<_> = (0..MOST).map(|_| rt.plain(0).pin(Sequencing).build()).collect();
                for object in &objects {
                    rt.task(object.write()).spawn(|count, _| *count += 1);
                    let count = rt.task(object.read()).submit(|count, _| *count).join();
                    assert_eq!(count.unwrap(), 1);
                }
            }
        }
    });
}

/// An entry is a spawner and the number of its task.
type Log = Vec<(usize, usize)>;

/// Spawners that write numbers in order to sequenced objects, and follow-ups that hop over all run
/// queues.
struct Load {
    logs: Vec<Object<Plain<Log>>>,
    ran: Arc<AtomicUsize>,
}

const SPAWNERS: usize = 3;

impl Load {
    fn new(rt: &Runtime) -> Self {
        let logs = (0..5).map(|_| rt.plain(Vec::new()).pin(Sequencing).build()).collect();
        Self { logs, ran: Arc::default() }
    }

    /// Spawns one round of one spawner: an entry in each log, and a few tasks on other workers.
    fn spawn(&self, rt: &Runtime, spawner: usize, number: usize) {
        fn hop(cx: &mut Context, hops: u16, ran: Arc<AtomicUsize>) {
            ran.fetch_add(1, Relaxed);
            if hops > 0 {
                cx.task(()).core(hops * 5).spawn(move |(), cx| hop(cx, hops - 1, ran));
            }
        }
        for log in &self.logs {
            rt.task(log.write()).spawn(move |log, _| log.push((spawner, number)));
        }
        let both = (self.logs[number % 5].read(), self.logs[(number + 1) % 5].read());
        let (first, second) = (self.ran.clone(), self.ran.clone());
        rt.task(both).spawn(move |_, _| _ = first.fetch_add(1, Relaxed));
        rt.task(()).spawn(move |(), cx| hop(cx, 3, second));
    }

    /// Asserts that all rounds are in the logs, once and in order.
    fn check(&self, rt: &Runtime, rounds: &[usize; SPAWNERS]) {
        for log in &self.logs {
            let log = rt.task(log.read()).submit(|log, _| log.clone()).join().unwrap();
            for (spawner, &rounds) in rounds.iter().enumerate() {
                let numbers = log.iter().filter(|entry| entry.0 == spawner).map(|entry| entry.1);
                assert!(numbers.eq(0..rounds), "spawner {spawner}");
            }
        }
        eventually("all that was spawned has run", || {
            rt.task(()).submit(|(), _| ()).join().unwrap();
            self.ran.load(Relaxed) == 5 * rounds.iter().sum::<usize>()
        });
    }
}

/// 1 → 8 → 2 → 4 under load, a thousand times.
#[test]
fn resizing_under_load_loses_nothing_and_keeps_the_order() {
    // A hundred resizes take much less than a second.
    let watch = || watchdog_of(Duration::from_secs(20));
    let mut _watched = watch();
    let rt = Runtime::builder().workers(1).most_workers(MOST).build().unwrap();
    let load = Load::new(&rt);
    let done = AtomicBool::new(false);
    let mut rounds = [0; SPAWNERS];
    thread::scope(|scope| {
        let spawners: Vec<_> = (0..SPAWNERS)
            .map(|spawner| {
                let (rt, load, done) = (&rt, &load, &done);
                scope.spawn(move || {
                    let mut round = 0;
                    while round == 0 || !done.load(Relaxed) {
                        load.spawn(rt, spawner, round);
                        round += 1;
                        if round % 8 == 0 {
                            // Spawns no faster than the tasks run.
                            rt.task(load.logs[0].read()).submit(|_, _| ()).join().unwrap();
                        }
                    }
                    round
                })
            })
            .collect();
        for time in 0..1000 / PATIENCE {
            if time % 100 == 0 {
                _watched = watch();
            }
            for workers in [8, 2, 4, 1] {
                rt.resize(workers).unwrap();
                rt.task(()).submit(|(), _| ()).join().unwrap();
            }
        }
        done.store(true, Relaxed);
        for (rounds, spawner) in rounds.iter_mut().zip(spawners) {
            *rounds = spawner.join().unwrap();
        }
    });
    load.check(&rt, &rounds);
}

#[test]
fn resizing_virtual_workers_loses_nothing_and_keeps_the_order() {
    for seed in 0..20 {
        let _watched = watchdog();
        let setting = Setting::Simulation { cores: MOST, seed };
        let rt = setting.builder().workers(1).most_workers(MOST).build().unwrap();
        let load = Load::new(&rt);
        let mut round = 0;
        for _ in 0..50 / PATIENCE as usize {
            for workers in [8, 2, 4, 1] {
                for _ in 0..3 {
                    (0..SPAWNERS).for_each(|spawner| load.spawn(&rt, spawner, round));
                    round += 1;
                }
                rt.resize(workers).unwrap();
                // Some tasks run at this size.
                rt.task(()).core((round % MOST) as u16).submit(|(), _| ()).join().unwrap();
            }
        }
        load.check(&rt, &[round; SPAWNERS]);
    }
}

/// Workers that are asked to finish still run their tasks. If more workers are requested again,
/// these stay, and no additional one starts beside them.
#[test]
fn never_more_workers_run_than_requested() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(4).most_workers(4).build().unwrap();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let run = |count: usize| {
        let tasks = (0..count).map(|number| {
            let (now, most) = (now.clone(), most.clone());
            rt.task(()).core(number as u16).submit(move |(), _| {
                most.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
                thread::yield_now();
                now.fetch_sub(1, Relaxed);
            })
        });
        tasks.collect::<Vec<_>>().into_iter().for_each(|task| task.join().unwrap());
    };
    run(400);
    for workers in [2, 3, 1, 4, 2] {
        // All are busy when they are asked to finish.
        let hold = Flag::default();
        for core in 0..4 {
            let hold = hold.clone();
            rt.task(()).core(core).spawn(move |(), _| hold.wait());
        }
        rt.resize(1).unwrap();
        rt.resize(workers).unwrap();
        hold.set();
        eventually("as many run as were asked for", || rt.running_workers() == workers);
        most.store(0, Relaxed);
        run(400);
        assert!(most.load(Relaxed) <= workers, "{} run at once", most.load(Relaxed));
    }
}

/// A task resizes its own runtime, and a runtime ends with run queues that have changed their
/// owner.
#[test]
fn a_task_may_resize_its_own_runtime_and_drop_it() {
    on_both(|setting, builder| {
        for how in [Some(Shutdown::Drain), Some(Shutdown::Cancel), None] {
            let rt = Arc::new(builder(setting).build().unwrap());
            let ran = Arc::new(Mutex::new(0));
            let tasks: Vec<_> = (0..20)
                .map(|number| {
                    let (weak, ran) = (Arc::downgrade(&rt), ran.clone());
                    let body = move |(), cx: &mut Context| {
                        if let Some(rt) = weak.upgrade() {
                            rt.resize(number * 3 % MOST + 1).unwrap();
                        }
                        cx.task(()).core(number as u16 + 1).spawn(move |(), _| *lock(&ran) += 1);
                    };
                    rt.task(()).core(number as u16).submit(body)
                })
                .collect();
            match how {
                None => drop(rt),
                Some(how) => {
                    if how == Shutdown::Drain {
                        tasks.into_iter().for_each(|task| task.join().unwrap());
                    }
                    // A task may hold the runtime for a moment; then the task drops it.
                    if let Ok(rt) = Arc::try_unwrap(rt) {
                        rt.shutdown(how);
                    }
                }
            }
            if how == Some(Shutdown::Drain) {
                eventually("all follow-ups have run", || *lock(&ran) == 20);
            }
        }
    });
}

/// A platform whose last worker fails to start, once it is let go on.
struct Failing {
    below: Threads,
    reached: Flag,
    go_on: Flag,
}

impl Platform for Failing {
    xtasking_testing::forward_platform!(below: topology park wake join watch block pages now);

    fn start(&self, worker: Driver) -> Result<(), PlatformError> {
        if worker.worker() < 3 {
            return self.below.start(worker);
        }
        self.reached.set();
        self.go_on.wait();
        Err("provoked".into())
    }
}

/// No run queue is left to a worker that has gone meanwhile.
#[test]
fn a_resize_that_fails_heeds_another_one() {
    let _watched = watchdog();
    let (reached, go_on) = (Flag::default(), Flag::default());
    let platform = Failing { below: Threads::new(4), reached: reached.clone(), go_on: go_on.clone() };
    let rt = Runtime::builder().platform(platform).workers(1).most_workers(4).build().unwrap();
    thread::scope(|scope| {
        let failing = scope.spawn(|| rt.resize(4));
        reached.wait();
        rt.resize(2).unwrap();
        eventually("a worker has gone", || rt.running_workers() == 3);
        go_on.set();
        assert!(matches!(failing.join().unwrap(), Err(BuildError::Platform(_))));
    });
    for core in 0..4 {
        rt.task(()).core(core).submit(|(), _| ()).join().unwrap();
    }
    eventually("as many run as were asked for", || rt.running_workers() == 2);
}
