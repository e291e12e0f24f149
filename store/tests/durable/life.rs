//! A store on a disk that fails by seed, from its start to its end, several times. All of it runs
//! in one thread, so a seed says what happens.

use super::builder;
use super::clients::Clients;
use std::sync::{Arc, Mutex, PoisonError};
use xtasking::Runtime;
use xtasking_storage::{Faults, SimulatedDisk};
use xtasking_store::Engine;
use xtasking_store::log::{OpenError, Options, SyncPolicy};
use xtasking_testing::{Random, Setting};

/// The starts of a store on one disk.
const STARTS: u64 = 4;
/// Steps between two starts, at most.
const STEPS: u64 = 80;

/// The number of seeds: `XTASKING_STORE_SEEDS`, or 200.
fn seeds() -> u64 {
    let given = std::env::var("XTASKING_STORE_SEEDS").ok();
    given.map_or(200, |given| given.parse().expect("XTASKING_STORE_SEEDS is a number"))
}

fn random_faults(random: &mut Random) -> Faults {
    let mut percent = |most| if random.below(2) == 0 { 0 } else { random.below(most) as u8 };
    let (short, interrupted, errors, failed_syncs) = (percent(40), percent(10), percent(4), percent(20));
    Faults {
        short,
        interrupted,
        errors,
        failed_syncs,
        capacity: (random.below(4) == 0).then(|| 1000 + random.below(40_000)),
        power_cut: (random.below(3) > 0).then(|| random.below(200)),
        kill: (random.below(4) == 0).then(|| random.below(200)),
    }
}

fn policy_of(seed: u64) -> (SyncPolicy, &'static str) {
    match seed % 4 {
        0 | 1 => (SyncPolicy::Always, "always"),
        2 => (SyncPolicy::EverySecond, "everysec"),
        _ => (SyncPolicy::Never, "no"),
    }
}

/// One life after another on a disk.
struct Lives {
    seed: u64,
    disk: SimulatedDisk,
    random: Random,
    clients: Clients,
    /// The time in ms, which the test sets.
    clock: Arc<Mutex<u64>>,
}

impl Lives {
    fn new(seed: u64) -> Self {
        let (disk, clients) = (SimulatedDisk::new(seed), Clients::new());
        Self { seed, disk, random: Random(seed), clients, clock: Arc::new(Mutex::new(1)) }
    }

    fn advance(&mut self, most: u64) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) += self.random.below(most);
    }

    fn open(&mut self, rt: &Runtime) -> Result<Engine, OpenError> {
        let clock = self.clock.clone();
        let now = move || *clock.lock().unwrap_or_else(PoisonError::into_inner);
        let segment = 500 + self.random.below(20_000);
        let options = Options::default().without_thread().clock(now).segment_bytes(segment);
        // So small that it is reached now and then.
        let options = options.backlog_bytes(4 * (100 + self.random.below(4000) as usize));
        let policy = policy_of(self.seed).1;
        builder().setting("appendfsync", policy).log(self.disk.clone(), options).open(rt)
    }

    /// Runs the tasks that are ready.
    fn run_tasks(rt: &Runtime, turns: u64) {
        (0..turns).for_each(|_| rt.task(()).submit(|(), _| ()).join().expect("a task"));
    }

    /// Begins the log anew with a base. Nothing else uses the disk meanwhile.
    fn rewrite(rt: &Runtime, engine: &Engine) {
        let reply = engine.client().run(["BGREWRITEAOF"]).expect("a reply");
        assert_eq!(reply[0], b'+', "{}", reply.escape_ascii());
        while engine.server().persistence.status().begun_at.is_some() {
            Self::run_tasks(rt, 1);
        }
    }

    /// Lives until the disk fails for good, or it was enough.
    fn live(&mut self, rt: &Runtime, engine: &Engine) {
        self.clients.connect(engine);
        for _ in 0..self.random.below(STEPS) {
            match self.random.below(20) {
                0..12 => self.clients.send(rt, engine, &mut self.random, &self.clock),
                12 | 13 => self.advance(400),
                14 => Self::rewrite(rt, engine),
                _ => engine.log().expect("a log").flush(),
            }
            Self::run_tasks(rt, self.random.below(3));
        }
        Self::run_tasks(rt, 20);
        self.clients.disconnect();
    }

    /// Starts a store on the disk, checks what it has, and uses it.
    fn start(&mut self, number: u64) -> Result<(), String> {
        let is_last = number + 1 == STARTS;
        if !is_last {
            let faults = random_faults(&mut self.random);
            self.disk.set_faults(faults);
        }
        let rt = Setting::Simulation { cores: 4, seed: self.seed * STARTS + number }.build();
        match self.open(&rt) {
            Ok(engine) => {
                self.clients.check(&mut engine.client(), policy_of(self.seed).0)?;
                self.live(&rt, &engine);
            }
            // What has never failed for good must not look as if it had.
            Err(OpenError::Disk { .. }) if !is_last => {}
            Err(error) => return Err(format!("start {number}: {error}")),
        }
        drop(rt);
        if self.random.below(2) == 0 {
            self.disk.cut_power();
        }
        self.disk.restart();
        Ok(())
    }
}

#[test]
fn promises_are_kept_over_power_cuts_kills_and_faults() {
    for seed in 0..seeds() {
        let mut lives = Lives::new(seed);
        for number in 0..STARTS {
            lives.start(number).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        }
    }
}
