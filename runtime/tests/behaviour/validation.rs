//! What a read decides beside a writer counts for nothing: neither where it goes, nor its result,
//! nor its panic.
//!
//! The interleaving is forced: the first read of a node has seen an old word, and ends only after a
//! task on the other worker has written the node.

use crate::common::{Flag, eventually, silence_tasks, watchdog};
use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use xtasking::{
    Context, Frequency, JoinError, Part, Promise, Runtime, Version, Word,
    arena::{Arena, Link, Step, Visit},
    bundle::{Bundle, Hop, Next, Walk},
    primitive::ReaderWriterLatch,
};

/// A node with a choice between two others, or the end of a walk.
struct Crossing {
    choice: Word,
    exits: Option<[Link<Crossing>; 2]>,
}

impl Version for Crossing {}

/// A read that meets a writer once.
#[derive(Clone, Default)]
struct Disturbance {
    begun: Flag,
    written: Flag,
}

impl Disturbance {
    /// The first time, waits until the node has been written.
    fn meet_writer(&self) {
        if !self.begun.is_set() {
            self.begun.set();
            self.written.wait();
        }
    }

    /// Reads a node, and meets the writer after that.
    fn read(&self, node: &Crossing) -> Result<Link<Crossing>, u64> {
        let choice = node.choice.get();
        let exits = node.exits.ok_or(choice)?;
        self.meet_writer();
        Ok(exits[choice as usize])
    }
}

/// Two workers, and a node that leads to the end with the number 0, or, once it was written, to the
/// one with the number 1.
struct Fixture {
    rt: Runtime,
    first: Link<Crossing>,
    _arena: Arena<Crossing>,
    disturbance: Disturbance,
}

impl Fixture {
    fn new() -> Self {
        let rt = Runtime::builder().workers(2).build().unwrap();
        let arena = Arena::new(&rt);
        let end = |number| arena.alloc_outside(Crossing { choice: Word::new(number), exits: None });
        let exits = Some([end(0), end(1)]);
        let first = arena.alloc_outside(Crossing { choice: Word::new(0), exits });
        Self { rt, first, _arena: arena, disturbance: Disturbance::default() }
    }

    /// Writes the node on the second worker while the first read of it waits.
    fn write_beside_reader(&self) {
        self.disturbance.begun.wait();
        let write =
            self.rt.task(self.first.write()).core(1).submit(|node, _| node.choice.set(1, node.token()));
        write.join().unwrap();
        self.disturbance.written.set();
    }
}

/// Goes where the nodes lead, and fulfils a promise with the number of the last one.
struct Follow {
    disturbance: Disturbance,
    promise: Promise<u64>,
}

impl Visit for Follow {
    type Target = Crossing;
    type Output = u64;

    fn read(&self, _: Link<Crossing>, node: &Crossing) -> Step<Crossing, u64> {
        match self.disturbance.read(node) {
            Ok(next) => Step::Go(next, Part::HEAD),
            Err(number) => Step::End(number),
        }
    }

    fn then(self, number: u64, _: &mut Context) {
        self.promise.fulfil(number);
    }
}

#[test]
fn a_disturbed_visit_does_not_go_on() {
    let _watched = watchdog();
    let fixture = Fixture::new();
    let (promise, handle) = fixture.rt.promise();
    let follow = Follow { disturbance: fixture.disturbance.clone(), promise };
    fixture.rt.task(fixture.first.read()).core(0).visit(follow);
    fixture.write_beside_reader();
    assert_eq!(handle.join().unwrap(), 1, "the visit went where a changed node had led");
}

/// A walk over nodes in the cache begins within the spawn.
#[test]
fn a_disturbed_visit_does_not_go_on_within_its_spawn() {
    let _watched = watchdog();
    let fixture = Fixture::new();
    let (promise, handle) = fixture.rt.promise();
    let follow = Follow { disturbance: fixture.disturbance.clone(), promise };
    let first = fixture.first.with_frequency(Frequency::High);
    fixture.rt.task(()).core(0).spawn(move |(), cx| cx.task(first.read()).visit(follow));
    fixture.write_beside_reader();
    assert_eq!(handle.join().unwrap(), 1, "the visit went where a changed node had led");
}

/// Goes where the nodes lead. Within the spawn it reads the second node beside a writer.
struct Ahead {
    spawned: Flag,
    disturbance: Disturbance,
    half_written: Flag,
    is_read: Flag,
    promise: Promise<u64>,
}

impl Visit for Ahead {
    type Target = Crossing;
    type Output = u64;

    fn read(&self, _: Link<Crossing>, node: &Crossing) -> Step<Crossing, u64> {
        let Some(exits) = node.exits else { return Step::End(node.choice.get()) };
        if node.choice.get() == SECOND && !self.spawned.is_set() {
            self.disturbance.begun.set();
            self.half_written.wait();
            let choice = node.choice.get();
            self.is_read.set();
            self.disturbance.written.wait();
            return Step::Go(exits[choice as usize % 2], Part::HEAD);
        }
        Step::Go(exits[node.choice.get() as usize % 2], Part::HEAD)
    }

    fn then(self, number: u64, _: &mut Context) {
        self.promise.fulfil(number);
    }
}

/// An even number, by which the second node is known.
const SECOND: u64 = 2;

/// A node with a latch is not read beside its writer, although the walk has come to it within the
/// spawn: it has no version that tells of writers.
#[test]
fn a_visit_enters_a_latched_node_also_within_its_spawn() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let (arena, latched) = (Arena::new(&rt), Arena::with_primitive(&rt, ReaderWriterLatch));
    let node = |choice, exits| Crossing { choice: Word::new(choice), exits };
    let ends = [0, 1].map(|number| arena.alloc_outside(node(number, None)));
    let second = latched.alloc_outside(node(SECOND, Some(ends))).with_frequency(Frequency::High);
    let first = arena.alloc_outside(node(0, Some([second; 2]))).with_frequency(Frequency::High);
    let (spawned, half_written, is_read) = (Flag::default(), Flag::default(), Flag::default());
    let (promise, handle) = rt.promise();
    let disturbance = Disturbance::default();
    let visit = Ahead {
        spawned: spawned.clone(),
        disturbance: disturbance.clone(),
        half_written: half_written.clone(),
        is_read: is_read.clone(),
        promise,
    };
    let is_spawned = spawned.clone();
    rt.task(()).core(0).spawn(move |(), cx| {
        cx.task(first.read()).visit(visit);
        is_spawned.set();
    });
    eventually("the visit is spawned", || disturbance.begun.is_set() || spawned.is_set());
    let write = rt.task(second.write()).core(1).submit(move |node, _| {
        node.choice.set(1, node.token());
        half_written.set();
        while !is_read.is_set() && !spawned.is_set() {
            std::thread::yield_now();
        }
        node.choice.set(SECOND, node.token());
    });
    write.join().unwrap();
    disturbance.written.set();
    assert_eq!(handle.join().unwrap(), 0, "the visit went where a half-written node led");
}

#[test]
fn a_disturbed_reader_does_not_go_on() {
    let _watched = watchdog();
    let fixture = Fixture::new();
    let disturbance = fixture.disturbance.clone();
    let number = std::thread::scope(|scope| {
        let walk = scope.spawn(|| {
            fixture.rt.reader().walk(fixture.first, move |_, node| match disturbance.read(node) {
                Ok(next) => Step::Go(next, Part::HEAD),
                Err(number) => Step::End(number),
            })
        });
        fixture.write_beside_reader();
        walk.join().unwrap()
    });
    assert_eq!(number.unwrap(), 1, "the reader went where a changed node had led");
}

/// A walk of a bundle that goes where the nodes lead. It may panic if a node changes while it is
/// read.
struct Lane<const SHORT: bool> {
    disturbance: Disturbance,
    panics: bool,
}

impl<const SHORT: bool> Walk for Lane<SHORT> {
    type Target = Crossing;
    type Output = u64;

    const ENDS_AT_ONCE: bool = SHORT;

    fn read(&self, _: Link<Crossing>, node: &Crossing) -> Hop<Crossing, u64> {
        let before = node.choice.get();
        let next = self.disturbance.read(node);
        assert!(!self.panics || before == node.choice.get(), "provoked: torn");
        next.map_or_else(Hop::End, |next| Hop::Go(next, Part::HEAD))
    }
}

/// A bundle of one walk.
struct OneWalk<const SHORT: bool> {
    next: Option<(Link<Crossing>, Lane<SHORT>)>,
    outcome: Option<Result<u64, JoinError>>,
}

impl<const SHORT: bool> Bundle for OneWalk<SHORT> {
    type Walk = Lane<SHORT>;

    fn next(&mut self, _: &mut Context) -> Next<Self::Walk> {
        self.next.take().map(|(first, lane)| (first.read().into(), lane))
    }

    fn done(&mut self, _: Self::Walk, outcome: Result<u64, JoinError>, _: &mut Context) {
        self.outcome = Some(outcome);
    }
}

fn walk_beside_writer<const SHORT: bool>(panics: bool) {
    let fixture = Fixture::new();
    let lane = Lane::<SHORT> { disturbance: fixture.disturbance.clone(), panics };
    let bundle = OneWalk { next: Some((fixture.first, lane)), outcome: None };
    let bundle = fixture.rt.task(()).core(0).submit_bundle(bundle);
    fixture.write_beside_reader();
    let outcome = bundle.join().unwrap().outcome;
    assert!(matches!(outcome, Some(Ok(1))), "what a changed node said has counted: {outcome:?}");
}

#[test]
fn a_disturbed_walk_does_not_go_on() {
    let _watched = watchdog();
    walk_beside_writer::<false>(false);
    walk_beside_writer::<true>(false);
}

#[test]
fn a_panic_of_a_disturbed_walk_does_not_count() {
    silence_tasks();
    let _watched = watchdog();
    walk_beside_writer::<false>(true);
    walk_beside_writer::<true>(true);
}

/// A payload whose destructor panics.
struct PanicsAgain;

impl Drop for PanicsAgain {
    fn drop(&mut self) {
        panic!("provoked: again");
    }
}

/// Panics in a read that a writer disturbs, as often as a read is repeated beside writers; then in
/// the follow-up.
struct Disturbed {
    reads: AtomicUsize,
    begun: [Flag; 4],
    written: [Flag; 4],
}

impl Visit for Disturbed {
    type Target = Crossing;
    type Output = ();

    fn read(&self, _: Link<Crossing>, _: &Crossing) -> Step<Crossing, ()> {
        let read = self.reads.fetch_add(1, SeqCst);
        let Some(written) = self.written.get(read) else { return Step::End(()) };
        self.begun[read].set();
        written.wait();
        panic_any(PanicsAgain);
    }

    fn then(self, (): (), _: &mut Context) {
        panic!("provoked: by the follow-up");
    }
}

/// The payloads of panics that do not count are dropped before another panic comes.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn payloads_of_disturbed_reads_are_dropped_at_once() {
    let _watched = watchdog();
    silence_tasks();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let arena = Arena::new(&rt);
    let node = arena.alloc_outside(Crossing { choice: Word::new(0), exits: None });
    let [begun, written] = [(); 2].map(|()| [(); 4].map(|()| Flag::default()));
    let visit = Disturbed { reads: AtomicUsize::new(0), begun: begun.clone(), written: written.clone() };
    let group = rt.group();
    rt.task(node.read()).of(&group).core(0).visit(visit);
    for (begun, written) in begun.iter().zip(&written) {
        begun.wait();
        rt.task(node.write()).core(1).submit(|node, _| node.choice.set(1, node.token())).join().unwrap();
        written.set();
    }
    match group.wait() {
        Err(JoinError::Panicked(payload)) => assert_eq!(payload.message(), "provoked: by the follow-up"),
        other => panic!("{other:?}"),
    }
    rt.task(()).core(0).submit(|(), _| ()).join().unwrap();
}
