//! Work that was left to an idle worker is passed on to one that sleeps when the idle one becomes
//! busy with something else, or ends: no test here would end otherwise.

use crate::common::{Flag, Setting, eventually, watchdog};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use xtasking::platform::{Driver, Platform, PlatformError, Progress, Threads};
use xtasking::queues::RankOrder;
use xtasking::{Context, Fork, Handle, QueuePolicy, Runtime};

/// The worker that sleeps.
const SLEEPER: usize = 1;
/// The worker that the test drives, so that it stays idle and does not fall asleep.
const BY_HAND: usize = 2;

/// Three workers, of which two are threads.
struct OneByHand {
    threads: Threads,
    has_barrier: bool,
    by_hand: Arc<Mutex<Option<Driver>>>,
    /// How often the sleeper has parked and gone on: it sleeps if that is odd.
    parks: Arc<AtomicUsize>,
}

impl Platform for OneByHand {
    xtasking_testing::forward_platform!(threads: topology wake block pages now);

    fn start(&self, driver: Driver) -> Result<(), PlatformError> {
        if driver.worker() != BY_HAND {
            return self.threads.start(driver);
        }
        *self.by_hand.lock().unwrap() = Some(driver);
        Ok(())
    }

    fn park(&self, worker: usize) {
        let count = || (worker == SLEEPER).then(|| self.parks.fetch_add(1, SeqCst));
        count();
        self.threads.park(worker);
        count();
    }

    fn join(&self) {
        if let Some(mut driver) = self.by_hand.lock().unwrap().take() {
            step_until(&mut driver, Progress::Stopped);
        }
        self.threads.join();
    }

    fn barrier(&self) -> bool {
        self.has_barrier && self.threads.barrier()
    }
}

/// Offers work, sets the first flag, and waits until that work has set the second.
type Offer = fn(Flag, Flag, &mut Context);

/// A runtime on this platform.
struct Stage {
    rt: Runtime,
    by_hand: Arc<Mutex<Option<Driver>>>,
    parks: Arc<AtomicUsize>,
}

impl Stage {
    fn new(policy: QueuePolicy, has_barrier: bool) -> Self {
        let (by_hand, parks) = (Arc::default(), Arc::default());
        let platform = OneByHand {
            threads: Threads::new(3),
            has_barrier,
            by_hand: Arc::clone(&by_hand),
            parks: Arc::clone(&parks),
        };
        let builder = Setting::Threads { workers: 3 }.builder().pool(policy);
        Self { rt: builder.platform(platform).build().unwrap(), by_hand, parks }
    }

    /// Waits until the second worker has parked more often than `before`, and sleeps. Returns how
    /// often it has.
    fn wait_for_sleeper(&self, before: usize) -> usize {
        let parks = || self.parks.load(SeqCst);
        eventually("the second worker sleeps", || parks() > before && !parks().is_multiple_of(2));
        parks()
    }

    /// Makes the third worker idle. It looks for no work from then on, until it has to.
    fn idle_worker(&self) -> Driver {
        let mut driver = self.by_hand.lock().unwrap().take().unwrap();
        step_until(&mut driver, Progress::Idle);
        driver
    }

    /// Lets the first worker offer work. Returns the flag that this work sets.
    fn offer(&self, offer: Offer) -> (Handle<()>, Flag) {
        let (offered, ran) = (Flag::default(), Flag::default());
        let flags = (offered.clone(), ran.clone());
        let offering = self.rt.task(()).core(0).submit(move |(), cx| offer(flags.0, flags.1, cx));
        offered.wait();
        (offering, ran)
    }
}

fn step_until(driver: &mut Driver, end: Progress) {
    eventually("a step ends so", || driver.step(1) == end);
}

fn halves(offered: Flag, ran: Flag, cx: &mut Context) {
    let first = |_: Fork<'_>| {
        offered.set();
        ran.wait();
    };
    cx.fork().join(first, |_| ran.set());
}

fn tasks(offered: Flag, ran: Flag, cx: &mut Context) {
    let sets = ran.clone();
    cx.task(()).spawn(move |(), _| sets.set());
    offered.set();
    ran.wait();
}

/// The idle worker is given a task that ends when the offered work has run.
fn the_idle_worker_becomes_busy(policy: QueuePolicy, offer: Offer) {
    let _watched = watchdog();
    for has_barrier in [true, false] {
        let stage = Stage::new(policy, has_barrier);
        for _ in 0..20 {
            let mut idle = stage.idle_worker();
            stage.wait_for_sleeper(0);
            let (offering, ran) = stage.offer(offer);
            let busy = stage.rt.task(()).core(BY_HAND as u16).submit(move |(), _| ran.wait());
            // It receives this task first, and so does not look at halves and batches.
            eventually("the third worker has run its task", || {
                idle.step(1);
                busy.is_finished()
            });
            offering.join().unwrap();
            *stage.by_hand.lock().unwrap() = Some(idle);
        }
    }
}

#[test]
fn a_half_that_was_left_to_an_idle_worker_is_passed_on() {
    the_idle_worker_becomes_busy(QueuePolicy::Local, halves);
}

#[test]
fn a_task_that_was_left_to_an_idle_worker_is_passed_on() {
    the_idle_worker_becomes_busy(QueuePolicy::WorkStealing, tasks);
}

#[test]
fn a_ranked_task_that_was_left_to_an_idle_worker_is_passed_on() {
    the_idle_worker_becomes_busy(QueuePolicy::Ranked(RankOrder::Exact), tasks);
}

#[test]
fn a_half_that_was_left_to_a_worker_that_ends_is_passed_on() {
    let _watched = watchdog();
    for has_barrier in [true, false] {
        let stage = Stage::new(QueuePolicy::Local, has_barrier);
        for _ in 0..20 {
            let mut idle = stage.idle_worker();
            let parks = stage.wait_for_sleeper(0);
            // Wakes all workers.
            stage.rt.resize(2).unwrap();
            stage.wait_for_sleeper(parks);
            let (offering, _) = stage.offer(halves);
            step_until(&mut idle, Progress::Stopped);
            offering.join().unwrap();
            // Starts a third worker anew.
            stage.rt.resize(3).unwrap();
        }
    }
}
