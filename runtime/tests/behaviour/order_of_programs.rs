//! Random programs, from many seeds: tasks queued at a sequenced object run in the guaranteed
//! order, whatever spawns them.

use crate::common::*;
use std::sync::{Arc, Mutex};
use xtasking::{
    Context, Handle, Object, Plain, Priority, Runtime, Shared, Shutdown, Snapshot, TaskBuilder, Versioned,
    primitive::{OptimisticSequenced, Sequencing, SpinLatch},
    task::Spawner,
};

/// A task that waits at an object: its spawner, and its number among the spawner's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticket {
    spawner: usize,
    number: usize,
    priority: Priority,
    /// Whether the task names its objects by a tuple.
    several: bool,
}

impl Ticket {
    /// Returns true if the task is in the queue of this spawner and priority. A spawner has one
    /// queue for each priority.
    fn stands_in(&self, spawner: usize, line: Priority) -> bool {
        self.spawner == spawner && if self.several { line == Priority::Normal } else { self.priority == line }
    }
}

/// Number of sequenced objects.
const LINES: usize = 5;
/// The positions of the objects in the logs.
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const D: usize = 3;
const E: usize = 4;

/// State shared by the tasks of a program.
struct World {
    a: Object<Plain<()>>,
    b: Object<Shared<()>>,
    c: Object<Versioned<Pair>>,
    d: Object<Versioned<Pair>>,
    e: Object<Snapshot<u64>>,
    latched: Object<Plain<()>>,
    /// Tasks spawned for each sequenced object, in the order of each spawner.
    spawned: [Mutex<Vec<Ticket>>; LINES],
    /// Tasks that have run on each of them.
    ran: [Mutex<Vec<Ticket>>; LINES],
    /// Tasks whose handle has cancelled them in time.
    cancelled: Mutex<Vec<Ticket>>,
}

impl World {
    fn new(rt: &Runtime) -> Arc<Self> {
        Arc::new(Self {
            a: rt.plain(()).pin(Sequencing).build(),
            b: rt.shared_reads(()).pin(Sequencing).build(),
            c: rt.versioned(Pair::default()).pin(Sequencing).build(),
            d: rt.versioned(Pair::default()).pin(OptimisticSequenced).build(),
            e: rt.snapshot(0).pin(OptimisticSequenced).build(),
            latched: rt.plain(()).pin(SpinLatch).build(),
            spawned: Default::default(),
            ran: Default::default(),
            cancelled: Mutex::default(),
        })
    }
}

/// Adds a random place and cost, which must not matter.
fn anywhere<P: Spawner, T>(task: TaskBuilder<P, T>, random: &mut Random) -> TaskBuilder<P, T> {
    let number = random.below(16) as u16;
    match random.below(4) {
        0 => task.core(number),
        1 => task.node(number),
        2 => task.cost(number).begin_operation(),
        _ => task,
    }
}

const PRIORITIES: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

/// Spawns a random task.
fn spawn(
    spawner: impl Spawner,
    world: &Arc<World>,
    origin: usize,
    number: usize,
    random: &mut Random,
) -> (Ticket, Handle<()>) {
    let World { a, b, c, d, e, latched, .. } = &**world;
    let mut ticket =
        Ticket { spawner: origin, number, priority: PRIORITIES[random.below(3)], several: false };
    // Panics that poison nothing: of readers, and of a writer of a copy.
    let panics = random.below(8) == 0;
    macro_rules! submit {
        ($access:expr, at $($at:expr),+ $(; $panics:ident)?) => {{
            for at in [$($at),+] {
                lock(&world.spawned[at]).push(ticket);
            }
            let world = world.clone();
            let task = anywhere(spawner.task($access), random).priority(ticket.priority);
            let handle = task.submit(move |_, _| {
                for at in [$($at),+] {
                    lock(&world.ran[at]).push(ticket);
                }
                $(assert!(!$panics, "provoked: it changes no order");)?
            });
            (ticket, handle)
        }};
    }
    match random.below(16) {
        0 | 1 => return submit!(a.write(), at A),
        2 => return submit!(a.read(), at A; panics),
        3 => return submit!(b.write(), at B),
        4 => return submit!(b.read(), at B; panics),
        5 => return submit!(c.write(), at C),
        6 => return submit!(c.read(), at C; panics),
        7 => return submit!(d.write(), at D),
        8 => return submit!(e.write(), at E; panics),
        _ => {}
    }
    ticket.several = true;
    match random.below(8) {
        0 => submit!((a.write(), b.write()), at A, B),
        1 => submit!((b.read(), latched.write(), a.read()), at A, B),
        2 => submit!((c.write(), d.write()), at C, D),
        3 => submit!((e.write(), a.read()), at A, E; panics),
        4 => submit!((d.write(),), at D),
        5 => submit!((latched.read(), b.write(), e.write()), at B, E),
        6 => submit!((a.read(), latched.read()), at A; panics),
        _ => {
            submit!((d.write(), b.read(), e.write(), a.write(), latched.write(), c.read()), at A, B, C, D, E)
        }
    }
}

/// Number of tasks of each spawner.
const EACH: usize = 8;

/// A chain of tasks that hops over the workers, with any priorities, and spawns on the way.
fn hop(cx: &mut Context, world: Arc<World>, origin: usize, number: usize, mut random: Random) {
    drop(spawn(&mut *cx, &world, origin, number, &mut random));
    if number + 1 < EACH {
        let (core, priority) = (random.below(16) as u16, PRIORITIES[random.below(3)]);
        let next = world.clone();
        match random.below(3) {
            0 => {
                let task = cx.task((world.b.write(), world.latched.read())).core(core).priority(priority);
                task.spawn(move |_, cx| hop(cx, next, origin, number + 1, random));
            }
            _ => {
                let task = cx.task(()).core(core).priority(priority);
                task.spawn(move |(), cx| hop(cx, next, origin, number + 1, random));
            }
        }
    }
}

/// Spawns from a plain thread; cancels some of the tasks.
fn from_outside(rt: &Runtime, world: &Arc<World>, origin: usize, mut random: Random) {
    for number in 0..EACH {
        let (ticket, handle) = spawn(rt, world, origin, number, &mut random);
        if random.below(6) == 0 && handle.cancel() {
            lock(&world.cancelled).push(ticket);
        }
    }
}

/// Number of spawners of each kind: plain threads, tasks, and chains of tasks.
const OF_A_KIND: usize = 2;

fn run(setting: Setting, seed: u64) {
    let _blame = Blame((setting, seed));
    let rt = setting.build();
    let world = World::new(&rt);
    let random = |origin: usize| Random::new(seed * 100 + origin as u64);
    for origin in 0..OF_A_KIND {
        let (same, random) = (world.clone(), random(origin));
        rt.task(()).core(origin as u16).spawn(move |(), cx| hop(cx, same, origin, 0, random));
        let (same, origin) = (world.clone(), origin + OF_A_KIND);
        let mut random = Random::new(seed * 100 + origin as u64);
        rt.task(()).core(origin as u16).spawn(move |(), cx| {
            (0..EACH).for_each(|number| drop(spawn(&mut *cx, &same, origin, number, &mut random)));
        });
    }
    let outside = 2 * OF_A_KIND..3 * OF_A_KIND;
    if setting.is_simulation() {
        outside.for_each(|origin| {
            from_outside(&rt, &world, origin, random(origin));
            // Some steps.
            rt.task(()).submit(|(), _| ()).join().unwrap();
        });
    } else {
        let (rt, world, random) = (&rt, &world, &random);
        side_by_side(outside.map(|origin| move || from_outside(rt, world, origin, random(origin))));
    }
    let how = if seed.is_multiple_of(3) { Shutdown::Cancel } else { Shutdown::Drain };
    rt.shutdown(how);
    check(&world, how);
}

fn check(world: &World, how: Shutdown) {
    let logs = world.ran.each_ref().map(|log| lock(log).clone());
    let cancelled = lock(&world.cancelled);
    for (at, ran) in logs.iter().enumerate() {
        let spawned = lock(&world.spawned[at]);
        for (spawner, line) in (0..3 * OF_A_KIND).flat_map(|spawner| PRIORITIES.map(|line| (spawner, line))) {
            let in_line = |log: &[Ticket]| -> Vec<Ticket> {
                log.iter().copied().filter(|ticket| ticket.stands_in(spawner, line)).collect()
            };
            let (ran, mut expected) = (in_line(ran), in_line(&spawned));
            expected.retain(|ticket| !cancelled.contains(ticket));
            let rises = ran.is_sorted_by(|one, next| one.number < next.number);
            assert!(rises, "at object {at} spawner {spawner} is served out of order: {ran:?}");
            if how == Shutdown::Drain {
                assert_eq!(ran, expected, "at object {at} a task of spawner {spawner} did not run");
            } else {
                // After the first task with one object that was dropped, none runs.
                let single = |log: Vec<Ticket>| log.into_iter().filter(|ticket| !ticket.several);
                let (ran, expected) = (single(ran), single(expected));
                assert!(
                    ran.clone().zip(expected).all(|(one, other)| one == other),
                    "at object {at} a task of spawner {spawner} was dropped before {:?}",
                    ran.collect::<Vec<_>>()
                );
            }
        }
        // Tasks with several objects have the same order at all common objects.
        for other in &logs[at + 1..] {
            let both = |log: &[Ticket], other: &[Ticket]| -> Vec<Ticket> {
                log.iter().copied().filter(|ticket| ticket.several && other.contains(ticket)).collect()
            };
            assert_eq!(both(ran, other), both(other, ran), "at object {at} and another");
        }
    }
}

#[test]
fn programs_run_in_order_in_a_simulation() {
    silence_tasks();
    // A sanitizer learns little from the single thread of a simulation.
    let all = 0..20 / u64::from(PATIENCE);
    for hundred in part_of_policy(4).map_or(all, |part| 5 * part as u64..5 * (part as u64 + 1)) {
        let _watched = watchdog();
        for seed in 100 * hundred..100 * (hundred + 1) {
            run(Setting::Simulation { cores: 1 + seed as usize % 5, seed }, seed);
        }
    }
}

#[test]
fn programs_run_in_order_on_threads() {
    silence_tasks();
    on_each(Setting::threads(), |setting| (0..60).for_each(|seed| run(setting, seed)));
}
