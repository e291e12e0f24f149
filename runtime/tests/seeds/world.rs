//! Random programs in a world of objects of all classes and primitives.

use crate::check::{Ledger, check, check_objects};
use crate::common::{Pair, Random, Setting};
use crate::plan::{COPIED, NODES, PLAIN, SHARED, VERSIONED};
use crate::plan::{Ending, OBJECTS, Task, Touch, program};
use crate::{cores, each_seed, each_seed_on_threads};
use std::array;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use xtasking::{
    Context, JoinError, Object, Part, Plain, Priority, Promise, Runtime, Shared, Shutdown, Snapshot,
    TaskBuilder, Versioned,
    arena::{Arena, Link, Modify, Step, Visit, Written},
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::Spawner,
};

/// Two halves to which each writer adds the same number.
pub type Halves = [u64; 2];

/// The objects of a program, and the record of its run.
pub struct World {
    pub plain: [Object<Plain<Halves>>; PLAIN],
    pub shared: [Object<Shared<Halves>>; SHARED],
    pub copied: [Object<Snapshot<Halves>>; COPIED],
    pub versioned: [Object<Versioned<Pair>>; VERSIONED],
    pub nodes: [Link<Pair>; NODES],
    pub ledger: Ledger,
}

impl World {
    fn new(rt: &Runtime, arena: &Arena<Pair>, tasks: usize) -> Self {
        Self {
            plain: [
                rt.plain([0; 2]).pin(Sequencing).build(),
                rt.plain([0; 2]).pin(Sequencing).build(),
                rt.plain([0; 2]).pin(SpinLatch).build(),
            ],
            shared: [
                rt.shared_reads([0; 2]).pin(Sequencing).build(),
                rt.shared_reads([0; 2]).pin(SpinLatch).build(),
                rt.shared_reads([0; 2]).pin(ReaderWriterLatch).build(),
            ],
            copied: [
                rt.snapshot([0; 2]).pin(OptimisticSequenced).build(),
                rt.snapshot([0; 2]).pin(OptimisticLatched).build(),
            ],
            versioned: [
                rt.versioned(Pair::default()).pin(Sequencing).build(),
                rt.versioned(Pair::default()).pin(SpinLatch).build(),
                rt.versioned(Pair::default()).pin(ReaderWriterLatch).build(),
                rt.versioned(Pair::default()).pin(OptimisticSequenced).build(),
                rt.versioned(Pair::default()).pin(OptimisticLatched).build(),
            ],
            nodes: array::from_fn(|_| arena.alloc_outside(Pair::default())),
            ledger: Ledger::new(tasks, OBJECTS),
        }
    }
}

/// The number of an object among all, from its number within its class.
pub mod number {
    use crate::plan::{COPIED, PLAIN, SHARED, VERSIONED};

    pub fn plain(at: usize) -> usize {
        at
    }
    pub fn shared(at: usize) -> usize {
        PLAIN + at
    }
    pub fn copied(at: usize) -> usize {
        PLAIN + SHARED + at
    }
    pub fn versioned(at: usize) -> usize {
        PLAIN + SHARED + COPIED + at
    }
    pub fn node(at: usize) -> usize {
        PLAIN + SHARED + COPIED + VERSIONED + at
    }
}

fn add(halves: &mut Halves) {
    assert_eq!(halves[0], halves[1]);
    *halves = halves.map(|half| half + 1);
}

fn add_to(pair: &Written<'_, Pair>) {
    look_at(pair);
    pair.0.set(pair.0.get() + 1, pair.token());
    pair.1.set(pair.1.get() + 1, pair.token());
}

fn look(halves: &Halves) {
    assert_eq!(halves[0], halves[1]);
}

fn look_at(pair: &Pair) {
    assert_eq!(pair.0.get(), pair.1.get());
}

/// The captures of a body.
struct Body {
    task: Task,
    /// The number of the spawner, and the priority.
    by: Parent,
    world: Arc<World>,
    /// Abandoned when all bodies have been dropped.
    open: Arc<Promise<()>>,
}

/// The spawner: the test itself, or a task.
#[derive(Clone, Copy)]
struct Parent {
    number: Option<usize>,
    priority: Priority,
}

impl Body {
    fn priority(&self) -> Priority {
        self.task.priority.unwrap_or(self.by.priority)
    }

    /// Runs the body: it writes these objects, and reads others.
    fn run(self, cx: &mut Context, written: &[usize], act: impl FnOnce()) {
        let ledger = &self.world.ledger;
        // If the writer of a snapshot panics, its changes are discarded.
        let is_copy = |object: &usize| (number::copied(0)..number::versioned(0)).contains(object);
        for &object in written.iter().filter(|object| !is_copy(object)) {
            ledger.enters(object, self.task.end != Ending::Returns);
        }
        ledger.begins(self.task.number);
        if self.task.end == Ending::PanicsAtOnce {
            unwind();
        }
        act();
        for &object in written {
            if !is_copy(&object) || self.task.end == Ending::Returns {
                ledger.has_written(object);
            }
            if self.priority() == Priority::Normal {
                ledger.stands_in_line(object, self.by.number, self.task.number);
            }
        }
        self.go_on(cx);
    }

    /// Spawns the follow-ups, and ends.
    fn go_on(self, cx: &mut Context) {
        let parent = Parent { number: Some(self.task.number), priority: self.priority() };
        for task in &self.task.follow_ups {
            spawn(&mut *cx, task.clone(), parent, &self.world, &self.open);
        }
        if self.task.end == Ending::PanicsAtTheEnd {
            unwind();
        }
    }
}

/// Unwinds like a panic, without a message.
fn unwind() -> ! {
    std::panic::resume_unwind(Box::new("provoked"))
}

/// Visits one node after the other.
struct Walk {
    body: Body,
    next: Option<Link<Pair>>,
    first: Link<Pair>,
    again: AtomicU8,
}

impl Visit for Walk {
    type Target = Pair;
    type Output = ();

    fn read(&self, at: Link<Pair>, node: &Pair) -> Step<Pair, ()> {
        look_at(node);
        if self.again.load(Relaxed) > 0 {
            self.again.fetch_sub(1, Relaxed);
            return Step::Again;
        }
        match self.next {
            Some(next) if at.is_same_node(self.first) => Step::Go(next, Part::HEAD),
            _ => Step::End(()),
        }
    }

    fn then(self, (): (), cx: &mut Context) {
        self.body.run(cx, &[], || ());
    }
}

struct Change {
    body: Body,
    object: usize,
}

impl Modify for Change {
    type Target = Pair;
    type Output = ();

    fn write(&mut self, _: Link<Pair>, node: Written<'_, Pair>, _: &mut Context) {
        add_to(&node);
        self.body.world.ledger.has_written(self.object);
    }

    fn then(self, (): (), cx: &mut Context) {
        self.body.run(cx, &[], || ());
    }
}

fn annotated<P: Spawner, A>(builder: TaskBuilder<P, A>, task: &Task) -> TaskBuilder<P, A> {
    let mut builder = builder.cost(task.cost);
    if let Some(priority) = task.priority {
        builder = builder.priority(priority);
    }
    if let Some(core) = task.core {
        builder = builder.core(core);
    }
    if task.begins_operation { builder.begin_operation() } else { builder }
}

/// Spawns a task of a program.
fn spawn<P: Spawner>(spawner: P, task: Task, by: Parent, world: &Arc<World>, open: &Arc<Promise<()>>) {
    world.ledger.spawned(&task);
    let Task { touch, submitted, cancelled, number: own, .. } = task;
    let body = Body { task, by, world: world.clone(), open: open.clone() };
    // With a handle or without.
    macro_rules! launch {
        ($access:expr, $written:expr, |$view:pat_param| $act:expr) => {{
            let written = $written;
            let builder = annotated(spawner.task($access), &body.task);
            if submitted {
                let handle = builder.submit(move |$view, cx| body.run(cx, &written, || $act));
                world.ledger.keeps(own, handle, cancelled);
            } else {
                builder.spawn(move |$view, cx| body.run(cx, &written, || $act));
            }
        }};
    }
    let World { plain, shared, copied, versioned, nodes, .. } = &**world;
    match touch {
        Touch::Nothing => launch!((), [], |()| ()),
        Touch::Plain { at, write: true } => {
            launch!(plain[at].write(), [number::plain(at)], |halves| add(halves));
        }
        Touch::Plain { at, .. } => launch!(plain[at].read(), [], |halves| look(halves)),
        Touch::Shared { at, write: true } => {
            launch!(shared[at].write(), [number::shared(at)], |halves| add(halves));
        }
        Touch::Shared { at, .. } => launch!(shared[at].read(), [], |halves| look(halves)),
        Touch::Copied { at, write: true } => {
            launch!(copied[at].write(), [number::copied(at)], |halves| add(halves));
        }
        Touch::Copied { at, .. } => launch!(copied[at].read(), [], |halves| look(halves)),
        Touch::Versioned { at, write: true } => {
            launch!(versioned[at].write(), [number::versioned(at)], |pair| add_to(&pair));
        }
        Touch::Versioned { at, .. } => launch!(versioned[at].read(), [], |pair| look_at(pair)),
        Touch::ReadThen { at } => {
            let builder = annotated(spawner.task(versioned[at].read()), &body.task);
            if submitted {
                let handle = builder.submit_read(look_at, move |(), cx| body.run(cx, &[], || ()));
                world.ledger.keeps(own, handle, cancelled);
            } else {
                builder.read_then(look_at, move |(), cx| body.run(cx, &[], || ()));
            }
        }
        Touch::Visit { from, again } => {
            let (first, next) = (nodes[from], nodes.get(from + 1).copied());
            let builder = annotated(spawner.task(first.read()), &body.task);
            builder.visit(Walk { body, first, next, again: AtomicU8::new(again) });
        }
        Touch::Modify { at } => {
            let builder = annotated(spawner.task(nodes[at].write()), &body.task);
            builder.modify(Change { body, object: number::node(at) });
        }
        Touch::Transfer { from, to } => launch!(
            (plain[from].write(), plain[to].write()),
            [number::plain(from), number::plain(to)],
            |(from, to)| [from, to].into_iter().for_each(add)
        ),
        Touch::Pair { one, other } => launch!(
            (versioned[one].write(), versioned[other].write()),
            [number::versioned(one), number::versioned(other)],
            |(one, other)| [one, other].iter().for_each(add_to)
        ),
        Touch::Mixed { plain: a, shared: b, copied: c, versioned: d } => launch!(
            (versioned[d].write(), copied[c].write(), shared[b].read(), plain[a].write()),
            [number::versioned(d), number::copied(c), number::plain(a)],
            |(pair, copied, shared, plain)| {
                look(shared);
                [copied, plain].into_iter().for_each(add);
                add_to(&pair);
            }
        ),
        Touch::Look { plain: a, copied: c, versioned: d } => launch!(
            (plain[a].write(), copied[c].read(), versioned[d].read()),
            [number::plain(a)],
            |(plain, copied, pair)| {
                add(plain);
                look(copied);
                look_at(pair);
            }
        ),
    }
}

/// Runs the program of a seed, and checks its effects.
fn run(seed: u64, setting: Setting) {
    let mut random = Random::new(seed);
    let (tasks, count) = program(&mut random);
    let told = Arc::new(crate::check::Told::default());
    let hook = told.clone();
    let rt = setting.builder().on_failure(move |failure| hook.note(&failure.error)).build().unwrap();
    let arena = Arena::with_primitive(&rt, OptimisticSequenced);
    let world = Arc::new(World::new(&rt, &arena, count));
    let (promise, all_gone) = rt.promise();
    let open = Arc::new(promise);
    let roots = tasks.len();
    let outside = Parent { number: None, priority: Priority::Normal };
    for task in tasks {
        spawn(&rt, task, outside, &world, &open);
    }
    drop(open);
    let ends_early = random.below(4) == 0;
    if ends_early {
        let how = if random.below(2) == 0 { Shutdown::Drain } else { Shutdown::Cancel };
        world.ledger.wait_for_one();
        rt.shutdown(how);
        assert!(all_gone.is_finished(), "a task is left after the end");
        check(&world.ledger, &told, roots, how == Shutdown::Cancel, setting);
    } else {
        // The promise is dropped with the last body.
        assert!(matches!(all_gone.join(), Err(JoinError::Abandoned)));
        check_objects(&rt, &world);
        rt.shutdown(Shutdown::Drain);
        check(&world.ledger, &told, roots, false, setting);
    }
    drop(world);
    drop(arena);
}

#[test]
fn a_program_keeps_its_promises() {
    each_seed(4000, |seed| run(seed, cores(seed)));
}

#[test]
fn a_program_on_threads_keeps_its_promises() {
    each_seed_on_threads(60, run);
}
