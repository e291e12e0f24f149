//! Lives of a whole server in simulation: its clients and the server are tasks of one runtime, on
//! a network and a disk that fail by seed.

use super::client::{Client, Recorder};
use super::history::{Op, Outcome, Transaction};
use super::recovery::{Life, check_lives};
use super::reply::Reply;
use super::script::{EXPIRING, LISTS, QUEUES, REGISTERS};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use xtasking::events::{Buffered, Event, Filled, Handled, Interest};
use xtasking::platform::{Network, NetworkFaults, SimulatedStream, Simulation};
use xtasking::{Context, Object, Plain, Promise, Runtime};
use xtasking_storage::{Disk, Faults, SimulatedDisk};
use xtasking_store::Engine;
use xtasking_store::log::{Log, OpenError, Options};
use xtasking_store::net::Service;
use xtasking_testing::{Random, lock, watchdog_of};

/// The starts of a server on one disk.
const STARTS: u64 = 3;
const PORT: u16 = 6379;

/// What all tasks of a life share.
struct World {
    network: Network,
    recorder: Arc<Recorder>,
    /// The time in ms.
    clock: Arc<AtomicU64>,
    disk: SimulatedDisk,
    log: Log,
    /// The longest time that a client waits before it sends more, in ms.
    longest_pause: u64,
    /// The longest time between two steps of the log, in µs.
    longest_flush: u64,
    /// The server was killed: nothing that happens from then on counts.
    is_dead: AtomicBool,
    /// The clients that are not done.
    at_work: AtomicUsize,
    end: Mutex<Option<Promise<()>>>,
    /// Since when the log cannot be written, in ms.
    trouble_since: Mutex<Option<u64>>,
}

impl World {
    fn end(&self) {
        if let Some(end) = lock(&self.end).take() {
            end.fulfil(());
        }
    }

    /// Notes whether the log can be written.
    fn look_at_log(&self) {
        let mut since = lock(&self.trouble_since);
        if self.log.error().is_none() {
            *since = None;
        } else {
            since.get_or_insert(self.recorder.now());
            self.recorder.note_trouble();
        }
    }

    /// Lets the log make a step.
    fn flush(&self) {
        self.look_at_log();
        self.log.flush();
        self.look_at_log();
    }

    /// Kills the server, perhaps in the midst of a step of the log.
    fn kill(&self, random: &mut Random) {
        let is_power_cut = random.below(2) == 0;
        let operation = Some(random.below(4));
        let faults = match is_power_cut {
            true => Faults { power_cut: operation, ..Faults::default() },
            false => Faults { kill: operation, ..Faults::default() },
        };
        self.disk.set_faults(faults);
        if random.below(3) == 0 {
            self.log.flush();
        }
        if is_power_cut {
            self.disk.cut_power();
        }
        self.disk.set_faults(Faults { kill: Some(0), ..Faults::default() });
        _ = self.disk.list();
        self.is_dead.store(true, SeqCst);
        self.end();
    }
}

/// Lets the time pass. All that is measured in it is late by a ms at most.
fn pass_time(world: Arc<World>, cx: &mut Context) {
    world.clock.fetch_add(1, SeqCst);
    world.look_at_log();
    cx.timer(Duration::from_millis(1), |cx| pass_time(world, cx));
}

/// Lets the log make steps.
fn write_log(world: Arc<World>, mut random: Random, cx: &mut Context) {
    if !world.is_dead.load(SeqCst) {
        world.flush();
    }
    let pause = Duration::from_micros(1 + random.below(world.longest_flush));
    cx.timer(pause, |cx| write_log(world, random, cx));
}

/// A connection of a client.
struct Peer {
    io: Buffered<SimulatedStream>,
    client: Arc<Mutex<Client>>,
    world: Arc<World>,
    /// A timer will let it send more.
    is_pausing: bool,
}

/// Connects a client, some time from now.
fn connect_later(client: Arc<Mutex<Client>>, world: Arc<World>, cx: &mut Context) {
    let pause = Duration::from_micros(1 + lock(&client).random.below(1000 * world.longest_pause));
    cx.timer(pause, |cx| connect(client, world, cx));
}

fn connect(client: Arc<Mutex<Client>>, world: Arc<World>, cx: &mut Context) {
    if world.is_dead.load(SeqCst) {
        return;
    }
    let worker = lock(&client).random.below(16) as usize;
    let stream = world.network.connect(PORT).expect("the server listens");
    // Not while the runtime ends.
    let Ok((stream, events)) = cx.register_on(worker, stream, Interest::Both) else { return };
    lock(&client).connect();
    let peer = Peer { io: Buffered::new(stream), client, world, is_pausing: false };
    events.deliver(peer, |peer: &mut Peer, event: Event<'_, Peer>, cx| peer.handle(&event, cx));
}

impl Peer {
    fn handle(&mut self, event: &Event<'_, Self>, cx: &mut Context) -> Handled {
        if self.io.is_closed() || self.world.is_dead.load(SeqCst) {
            return Handled::Fully;
        }
        self.world.look_at_log();
        let filled = self.io.fill(event.ready());
        let further = lock(&self.client).receive(self.io.input());
        self.io.consume(self.io.input().len());
        self.io.output().extend(further);
        let is_open = matches!(filled, Ok(Filled::Open | Filled::More)) && self.io.flush().is_ok();
        if !is_open {
            self.lose(cx);
            return Handled::Fully;
        }
        let is_idle = lock(&self.client).is_idle();
        if is_idle && !self.is_pausing {
            self.is_pausing = true;
            let pause = lock(&self.client).random.below(1000 * self.world.longest_pause);
            let this = event.object().clone();
            cx.timer(Duration::from_micros(1 + pause), move |cx| Self::send_later(this, cx));
        }
        if matches!(filled, Ok(Filled::More)) { Handled::Partly } else { Handled::Fully }
    }

    fn send_later(this: Object<Plain<Self>>, cx: &mut Context) {
        cx.task(this.write()).spawn(Self::send);
    }

    /// Sends a pipeline, or ends if it was the last.
    fn send(&mut self, cx: &mut Context) {
        self.is_pausing = false;
        if self.io.is_closed() || self.world.is_dead.load(SeqCst) {
            return;
        }
        if lock(&self.client).is_done() {
            self.io.close();
            if self.world.at_work.fetch_sub(1, SeqCst) == 1 {
                self.world.end();
            }
            return;
        }
        let bytes = lock(&self.client).pipeline();
        self.io.output().extend(bytes);
        // Now and then it goes without the replies.
        let goes = lock(&self.client).random.below(40) == 0;
        if self.io.flush().is_err() || goes {
            self.lose(cx);
        }
    }

    /// Ends the connection without the replies that are missing, and begins another one.
    fn lose(&mut self, cx: &mut Context) {
        self.io.close();
        lock(&self.client).lose();
        connect_later(self.client.clone(), self.world.clone(), cx);
    }
}

/// Reads all keys, while nothing else runs.
pub fn read_all(engine: &Engine, recorder: &Recorder) -> Transaction {
    let (begun, begun_at) = (recorder.tick(), recorder.now());
    let mut client = engine.client();
    let mut ask = |line: String| {
        let bytes = client.run(line.split(' ')).expect("a reply");
        let (reply, _) = Reply::parse(&bytes).expect("a whole reply");
        reply
    };
    let mut ops = Vec::new();
    for key in LISTS {
        ops.push(Op::List(key, ask(format!("LRANGE {key} 0 -1")).values().expect("a list")));
    }
    for key in QUEUES {
        ops.push(Op::Queue(key, ask(format!("LRANGE {key} 0 -1")).values().expect("a list")));
    }
    for key in REGISTERS {
        ops.push(Op::Get(key, ask(format!("GET {key}")).value().expect("a value")));
    }
    for key in EXPIRING {
        ops.push(Op::GetLive(key, ask(format!("GET {key}")).value().expect("a value")));
    }
    let (session, ended, ended_at) = (recorder.session(), recorder.tick(), recorder.now());
    Transaction { session, begun, ended, begun_at, ended_at, outcome: Outcome::Done, is_sure: true, ops }
}

/// What becomes of a seed.
struct Lives {
    seed: u64,
    random: Random,
    recorder: Arc<Recorder>,
    clock: Arc<AtomicU64>,
    clients: Vec<Arc<Mutex<Client>>>,
    disk: SimulatedDisk,
    /// Whether replies wait until what they depend on is durable; else it is in a second.
    is_always: bool,
    lives: Vec<Life>,
}

impl Lives {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let clock = Arc::new(AtomicU64::new(1_000_000));
        let time = clock.clone();
        let recorder = Arc::new(Recorder::new(move || time.load(SeqCst)));
        let new = |number: u64| Client::new(recorder.clone(), seed << 8 | number);
        let clients = (0..8 + random.below(9)).map(|number| Arc::new(Mutex::new(new(number)))).collect();
        let disk = SimulatedDisk::new(seed);
        Self {
            seed,
            random,
            recorder,
            clock,
            clients,
            disk,
            is_always: !seed.is_multiple_of(3),
            lives: Vec::new(),
        }
    }

    fn network_faults(&mut self) -> NetworkFaults {
        let random = &mut self.random;
        NetworkFaults {
            longest_delay: Duration::from_micros([100, 1000, 4000][random.below(3) as usize]),
            largest_piece: [16, 200, 4096][random.below(3) as usize],
            capacity: [300, 4000, 64 << 10][random.below(3) as usize],
            breaks_one_in: [0, 100, 1000][random.below(3) as usize],
        }
    }

    fn disk_faults(&mut self) -> Faults {
        let mut percent =
            |one_in, most| if self.random.below(one_in) > 0 { 0 } else { self.random.below(most) as u8 };
        let (short, interrupted) = (percent(2, 40), percent(2, 10));
        // After these nothing more is written for a time, or at all.
        let (errors, failed_syncs) = (percent(4, 3), percent(4, 3));
        let capacity = (self.random.below(8) == 0).then(|| 2000 + self.random.below(60_000));
        Faults { short, interrupted, errors, failed_syncs, capacity, ..Faults::default() }
    }

    fn open(&mut self, rt: &Runtime) -> Result<Service, OpenError> {
        let (now, log_now) = (self.clock.clone(), self.clock.clone());
        let options = Options::default().without_thread().clock(move || log_now.load(SeqCst));
        let options = options.segment_bytes(1000 + self.random.below(40_000));
        let policy = if self.is_always { "always" } else { "everysec" };
        let builder = Engine::builder().shards(8).databases(1).seed(self.seed).setting("appendfsync", policy);
        Service::open(builder.clock(move || now.load(SeqCst)).log(self.disk.clone(), options), rt)
    }

    /// Starts the server and its clients, and ends them: by a kill, or when all is done. Returns
    /// what the last one has in the end.
    fn live(&mut self, number: u64) -> Result<Option<Transaction>, OpenError> {
        let is_last = number + 1 == STARTS;
        let (seed, faults) = (self.seed * STARTS + number, self.network_faults());
        let simulation = Simulation::new(1 + self.random.below(4) as usize, seed);
        let (simulation, network) = simulation.network(faults, seed);
        let rt = Runtime::builder().platform(simulation).build().expect("a runtime");
        if !is_last {
            let faults = self.disk_faults();
            self.disk.set_faults(faults);
        }
        let mut service = match self.open(&rt) {
            Err(OpenError::Disk { .. }) if !is_last => return Ok(None),
            opened => opened?,
        };
        let engine = service.engine().clone();
        let (promise, end) = rt.promise();
        let longest_pause = if self.is_always { 10 } else { 150 };
        let world = Arc::new(World {
            network: network.clone(),
            recorder: self.recorder.clone(),
            clock: self.clock.clone(),
            disk: self.disk.clone(),
            log: engine.log().expect("a log").clone(),
            longest_pause,
            longest_flush: [500, 5000, 50_000][self.random.below(3) as usize],
            is_dead: AtomicBool::new(false),
            at_work: AtomicUsize::new(self.clients.len()),
            end: Mutex::new(Some(promise)),
            trouble_since: Mutex::new(None),
        });
        let found = read_all(&engine, &self.recorder);
        service.listen_simulated(network.listen(PORT).expect("a port")).expect("a listener");
        let (shared, random) = (world.clone(), Random(self.random.word()));
        rt.timer(Duration::from_millis(1), |cx| pass_time(shared, cx));
        let shared = world.clone();
        rt.timer(Duration::from_micros(1), |cx| write_log(shared, random, cx));
        for client in &self.clients {
            lock(client).set_left(6);
            let (client, shared) = (client.clone(), world.clone());
            rt.task(()).spawn(|(), cx| connect_later(client, shared, cx));
        }
        if !is_last {
            let (shared, mut random) = (world.clone(), Random(self.random.word()));
            let at = Duration::from_millis(self.random.below(20 * longest_pause));
            rt.timer(at, move |_| shared.kill(&mut random));
        }
        end.join().expect("an end");
        let last = is_last.then(|| read_all(&engine, &self.recorder));
        if !is_last && !world.is_dead.load(SeqCst) {
            world.kill(&mut self.random);
        }
        world.is_dead.store(true, SeqCst);
        self.clients.iter().for_each(|client| lock(client).lose());
        let transactions = self.recorder.take();
        let trouble = *lock(&world.trouble_since);
        let ended_at = trouble.unwrap_or_else(|| self.recorder.now());
        let may_lose_from = (!self.is_always && !is_last).then(|| ended_at.saturating_sub(1001));
        self.lives.push(Life { found, transactions, may_lose_from });
        drop((world, engine, service));
        Ok(last)
    }
}

/// Runs and checks the lives of a seed.
fn run(seed: u64) -> Result<(), String> {
    let mut lives = Lives::new(seed);
    for number in 0..STARTS {
        let last = lives.live(number).map_err(|error| format!("start {number}: {error}"))?;
        lives.disk.restart();
        if let Some(last) = last {
            return check_lives(&lives.lives, &last, &EXPIRING);
        }
    }
    Err("there was no last life".to_owned())
}

/// The seeds: `XTASKING_STORE_SIMULATIONS` of them, or 40; or `XTASKING_STORE_SIMULATION` alone.
fn seeds() -> std::ops::Range<u64> {
    let number = |name| {
        let given = std::env::var(name).ok();
        given.map(|text| text.parse::<u64>().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
    };
    match number("XTASKING_STORE_SIMULATION") {
        Some(seed) => seed..seed + 1,
        None => 0..number("XTASKING_STORE_SIMULATIONS").unwrap_or(40),
    }
}

#[test]
fn histories_over_network_disk_and_kills_are_strictly_serialisable() {
    for seed in seeds() {
        let _watched = watchdog_of(Duration::from_secs(60));
        let _blame = xtasking_testing::Blame(seed);
        run(seed).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
    }
}
