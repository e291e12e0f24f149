//! Notifications of better plans while the files of a machine change. Time limits are wall-clock
//! times with a wide margin.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use support::Machine;
use xtasking_knowledge::{
    Advice, AdvicePolicy, Adviser, Bound, Change, Knowledge, NoPlan, Request, Subscription, WatchError,
};

const EVERY: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(60);

/// The machine of the paper on Cod; a thread advances its counters.
struct World {
    machine: Arc<Machine>,
    /// Percent of CPU 1 that another process takes.
    hog: Arc<AtomicU32>,
    /// Maximum percent of any CPU that other processes take for a moment.
    noise: Arc<AtomicU32>,
    ended: Arc<AtomicBool>,
    clock: Option<thread::JoinHandle<()>>,
}

impl World {
    fn new() -> Self {
        let machine = Machine::named("amd-4x4");
        machine.write("/proc/self/task/1/stat", OWN);
        machine.write("/proc/self/stat", OWN);
        let mut busy = [0; 16];
        tick(&machine, &mut busy, 0);
        let mut world = Self {
            machine: Arc::new(machine),
            hog: Arc::default(),
            noise: Arc::default(),
            ended: Arc::default(),
            clock: None,
        };
        let (machine, hog, noise) = (world.machine.clone(), world.hog.clone(), world.noise.clone());
        let ended = world.ended.clone();
        let clock = thread::spawn(move || {
            let mut random = 42_u64;
            for ticks in 1.. {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                for (cpu, busy) in busy.iter_mut().enumerate() {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let noise = (random >> 33) as u32 % (noise.load(Ordering::Relaxed) + 1);
                    let hog = if cpu == 1 { hog.load(Ordering::Relaxed) } else { 0 };
                    *busy += (hog + noise).min(100);
                }
                tick(&machine, &mut busy, ticks);
                thread::sleep(Duration::from_millis(5));
            }
        });
        world.clock = Some(clock);
        world
    }

    fn subscribe(&self) -> (Subscription, Receiver<Result<Advice, WatchError>>) {
        let system = self.machine.system();
        let request = Request::new(1 << 30, Bound::Compute);
        let plan = Knowledge::new(system.facts().unwrap()).best_plan(&request, None).unwrap();
        assert_eq!(plan.partitions.len(), 16);
        let (sender, receiver) = mpsc::channel();
        let adviser = Adviser::new(request, plan, AdvicePolicy::default());
        (adviser.subscribe(&system, EVERY, move |news| drop(sender.send(news))).unwrap(), receiver)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.clock.take().into_iter().for_each(|clock| clock.join().unwrap());
    }
}

/// A thread that does nothing.
const OWN: &str = "1 (a) S 1 1 1 0 -1 64 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0\n";

/// Writes the counters after `ticks` units of a hundred ticks.
fn tick(machine: &Machine, busy: &mut [u32; 16], ticks: u32) {
    let line = |(cpu, busy): (usize, &u32)| format!("cpu{cpu} {busy} 0 0 {}\n", ticks * 100 - busy);
    let lines: String = busy.iter().enumerate().map(line).collect();
    machine.replace("/proc/stat", format!("cpu 0 0 0 0\n{lines}"));
}

#[test]
fn a_competitor_is_reported_and_noise_is_not() {
    let world = World::new();
    let (subscription, receiver) = world.subscribe();
    world.noise.store(20, Ordering::Relaxed);
    assert_eq!(receiver.recv_timeout(Duration::from_secs(3)), Err(RecvTimeoutError::Timeout));
    world.noise.store(0, Ordering::Relaxed);
    world.hog.store(100, Ordering::Relaxed);
    let since = Instant::now();
    // One CPU of sixteen runs at half speed; a sixteenth of the data there would delay the whole
    // work. How much it gets instead depends on when the clock's thread ran; the tests of the
    // adviser have exact numbers.
    let advice = receiver.recv_timeout(LONG).unwrap().unwrap();
    println!("reported after {:?}", since.elapsed());
    assert!(advice.gain >= AdvicePolicy::default().gain_min, "{}", advice.gain);
    let of = |cpu| advice.plan.on(cpu).unwrap().weight;
    assert!(of(1) < of(0), "{} {}", of(1), of(0));
    assert!(advice.changes.iter().all(|change| matches!(change, Change::Resize { .. })));
    drop(subscription);
    assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Disconnected));
}

#[test]
fn a_smaller_quota_is_reported_at_once() {
    let world = World::new();
    let (_subscription, receiver) = world.subscribe();
    world.machine.replace("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    let advice = receiver.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!((advice.plan.cpus().to_string().as_str(), advice.gain), ("0-1", 1.0));
    // An affinity mask that makes the plan infeasible is reported at once, too.
    world.machine.replace("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
    world.machine.replace("/proc/self/status", "Cpus_allowed_list:\t4\n");
    let advice = receiver.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(advice.plan.cpus().to_string(), "4");
}

#[test]
fn an_error_is_reported_once() {
    let world = World::new();
    let (_subscription, receiver) = world.subscribe();
    world.machine.remove("/proc/self/task");
    let error = receiver.recv_timeout(LONG).unwrap().unwrap_err();
    assert!(matches!(error, WatchError::Unreadable(_)));
    let text = error.to_string();
    assert_eq!(text, "the system cannot be read: `/proc/self/task` lists no thread");
    assert_eq!(receiver.recv_timeout(10 * EVERY), Err(RecvTimeoutError::Timeout));
    // The thread continues when the file is back.
    world.machine.write("/proc/self/task/1/stat", OWN);
    world.hog.store(100, Ordering::Relaxed);
    assert!(receiver.recv_timeout(LONG).unwrap().is_ok());
}

#[test]
fn an_infeasible_request_is_reported() {
    let world = World::new();
    let system = world.machine.system();
    let request = Request { partitions_min: Some(16), ..Request::new(1 << 30, Bound::Compute) };
    let plan = Knowledge::new(system.facts().unwrap()).best_plan(&request, None).unwrap();
    let (sender, receiver) = mpsc::channel();
    let adviser = Adviser::new(request, plan, AdvicePolicy::default());
    let _subscription = adviser.subscribe(&system, EVERY, move |news| drop(sender.send(news))).unwrap();
    world.machine.replace("/proc/self/status", "Cpus_allowed_list:\t0-3\n");
    let error = receiver.recv_timeout(LONG).unwrap().unwrap_err();
    assert!(matches!(error, WatchError::NoPlan(NoPlan::TooFewCpus { wanted: 16, usable: 4, .. })), "{error}");
}

#[test]
fn a_system_without_counters_cannot_be_watched() {
    let machine = Machine::named("amd-4x4");
    let request = Request::new(1 << 30, Bound::Compute);
    let plan = Knowledge::new(machine.facts()).best_plan(&request, None).unwrap();
    let adviser = Adviser::new(request, plan, AdvicePolicy::default());
    let error = adviser.subscribe(&machine.system(), EVERY, |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "`/proc/self/task` lists no thread");
}

#[test]
fn a_panic_of_the_callback_is_resumed() {
    let world = World::new();
    let system = world.machine.system();
    let request = Request::new(1 << 30, Bound::Compute);
    let plan = Knowledge::new(system.facts().unwrap()).best_plan(&request, None).unwrap();
    let (sender, receiver) = mpsc::channel::<()>();
    let adviser = Adviser::new(request, plan, AdvicePolicy::default());
    let subscription = adviser
        .subscribe(&system, EVERY, move |_| {
            let _dropped_with_the_panic = &sender;
            panic!("the callback fails");
        })
        .unwrap();
    world.machine.replace("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    assert_eq!(receiver.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
    let panicked = thread::spawn(move || drop(subscription)).join().unwrap_err();
    assert_eq!(panicked.downcast_ref::<&str>(), Some(&"the callback fails"));
}
