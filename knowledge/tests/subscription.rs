//! Being told of better plans, while the files of a machine change. Times are those of the clock: upper limits are generous.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use support::Machine;
use xtasking_knowledge::{
    Advice, Adviser, Bound, Change, Knowledge, NoPlan, Patience, Request, Subscription, Trouble,
};

const EVERY: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(60);

/// The paper's machine, whose CPUs' counters go on as long as this lives.
struct World {
    machine: Arc<Machine>,
    /// Percent that strangers take of CPU 1.
    hog: Arc<AtomicU32>,
    /// Percent that strangers may take of any CPU for a while.
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

    fn subscribe(&self) -> (Subscription, Receiver<Result<Advice, Trouble>>) {
        let system = self.machine.system();
        let request = Request::new(1 << 30, Bound::Compute);
        let plan = Knowledge::new(system.facts().unwrap()).best_plan(&request, None).unwrap();
        assert_eq!(plan.partitions.len(), 16);
        let (tell, told) = mpsc::channel();
        let adviser = Adviser::new(request, plan, Patience::default());
        (adviser.subscribe(&system, EVERY, move |news| drop(tell.send(news))).unwrap(), told)
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

/// Writes the counters after so many ticks, of which a hundred are written as one.
fn tick(machine: &Machine, busy: &mut [u32; 16], ticks: u32) {
    let line = |(cpu, busy): (usize, &u32)| format!("cpu{cpu} {busy} 0 0 {}\n", ticks * 100 - busy);
    let lines: String = busy.iter().enumerate().map(line).collect();
    machine.replace("/proc/stat", format!("cpu 0 0 0 0\n{lines}"));
}

#[test]
fn a_hog_is_told_of_and_noise_is_not() {
    let world = World::new();
    let (subscription, told) = world.subscribe();
    world.noise.store(20, Ordering::Relaxed);
    assert_eq!(told.recv_timeout(Duration::from_secs(3)), Err(RecvTimeoutError::Timeout));
    world.noise.store(0, Ordering::Relaxed);
    world.hog.store(100, Ordering::Relaxed);
    let since = Instant::now();
    // One CPU of sixteen at half its speed: whoever has a sixteenth there makes all wait.
    let advice = told.recv_timeout(LONG).unwrap().unwrap();
    println!("told after {:?}", since.elapsed());
    assert!((0.3..0.6).contains(&advice.gain), "{}", advice.gain);
    let of = |cpu| advice.plan.on(cpu).unwrap().weight;
    assert!((of(1) / of(0) - 0.5).abs() < 0.15, "{} {}", of(1), of(0));
    assert!(advice.changes.iter().all(|change| matches!(change, Change::Resize { .. })));
    drop(subscription);
    assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Disconnected));
}

#[test]
fn a_smaller_quota_is_told_at_once() {
    let world = World::new();
    let (_subscription, told) = world.subscribe();
    world.machine.replace("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    let advice = told.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!((advice.plan.cpus().to_string().as_str(), advice.gain), ("0-1", 1.0));
    // So is a mask under which the plan cannot be carried out.
    world.machine.replace("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
    world.machine.replace("/proc/self/status", "Cpus_allowed_list:\t4\n");
    let advice = told.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(advice.plan.cpus().to_string(), "4");
}

#[test]
fn what_keeps_it_from_looking_is_told_once() {
    let world = World::new();
    let (_subscription, told) = world.subscribe();
    world.machine.remove("/proc/self/task");
    let trouble = told.recv_timeout(LONG).unwrap().unwrap_err();
    assert!(matches!(trouble, Trouble::Unreadable(_)));
    let text = trouble.to_string();
    assert_eq!(text, "the system cannot be looked at: `/proc/self/task` tells of no thread");
    assert_eq!(told.recv_timeout(10 * EVERY), Err(RecvTimeoutError::Timeout));
    // It goes on when it can.
    world.machine.write("/proc/self/task/1/stat", OWN);
    world.hog.store(100, Ordering::Relaxed);
    assert!(told.recv_timeout(LONG).unwrap().is_ok());
}

#[test]
fn too_much_is_asked_for() {
    let world = World::new();
    let system = world.machine.system();
    let request = Request { fewest: Some(16), ..Request::new(1 << 30, Bound::Compute) };
    let plan = Knowledge::new(system.facts().unwrap()).best_plan(&request, None).unwrap();
    let (tell, told) = mpsc::channel();
    let adviser = Adviser::new(request, plan, Patience::default());
    let _subscription = adviser.subscribe(&system, EVERY, move |news| drop(tell.send(news))).unwrap();
    world.machine.replace("/proc/self/status", "Cpus_allowed_list:\t0-3\n");
    let trouble = told.recv_timeout(LONG).unwrap().unwrap_err();
    assert!(
        matches!(trouble, Trouble::NoPlan(NoPlan::TooFewCpus { wanted: 16, usable: 4, .. })),
        "{trouble}"
    );
}

#[test]
fn there_is_nothing_to_watch() {
    let machine = Machine::named("amd-4x4");
    let request = Request::new(1 << 30, Bound::Compute);
    let plan = Knowledge::new(machine.facts()).best_plan(&request, None).unwrap();
    let adviser = Adviser::new(request, plan, Patience::default());
    let error = adviser.subscribe(&machine.system(), EVERY, |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "`/proc/self/task` tells of no thread");
}

#[test]
fn a_panic_is_not_lost() {
    let world = World::new();
    let system = world.machine.system();
    let request = Request::new(1 << 30, Bound::Compute);
    let plan = Knowledge::new(system.facts().unwrap()).best_plan(&request, None).unwrap();
    let (tell, told) = mpsc::channel::<()>();
    let adviser = Adviser::new(request, plan, Patience::default());
    let subscription = adviser
        .subscribe(&system, EVERY, move |_| {
            let _dropped_with_the_panic = &tell;
            panic!("what is told is not liked");
        })
        .unwrap();
    world.machine.replace("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    assert_eq!(told.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
    let panicked = thread::spawn(move || drop(subscription)).join().unwrap_err();
    assert_eq!(panicked.downcast_ref::<&str>(), Some(&"what is told is not liked"));
}
