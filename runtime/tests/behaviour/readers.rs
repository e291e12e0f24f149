//! Threads that read nodes without a task, beside the tasks that change, retire and free them.

use crate::common::{
    Dropped, Flag, PATIENCE, Pair, Setting, eventually, on_all, side_by_side, silence_tasks, watchdog,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::Waker;
use std::thread;
use xtasking::platform::{Platform, Threads, WouldBlock};
use xtasking::{
    Handle, JoinError, Part, Primitive, Runtime, Shutdown, Version, Versioned, Word,
    arena::{Arena, Link, Reader, Step},
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::LegalFor,
};

/// Calls a function `f(primitive, …)` for each primitive of nodes.
macro_rules! with_each_primitive {
    ($call:ident($($argument:expr),*)) => {
        $call(OptimisticLatched, $($argument),*);
        $call(OptimisticSequenced, $($argument),*);
        $call(SpinLatch, $($argument),*);
        $call(ReaderWriterLatch, $($argument),*);
        $call(Sequencing, $($argument),*);
    };
}

/// A node of a list. A writer keeps its first two words equal.
struct Node {
    one: Word,
    two: Word,
    next: Word,
    is_alive: AtomicBool,
    _drops: Dropped,
}

impl Version for Node {}

impl Node {
    fn new(next: u64, drops: &Arc<AtomicUsize>) -> Self {
        let (one, two, next) = (Word::new(0), Word::new(0), Word::new(next));
        Self { one, two, next, is_alive: AtomicBool::new(true), _drops: Dropped(drops.clone()) }
    }

    fn next(&self) -> Option<Link<Self>> {
        // SAFETY: `next` only ever holds 0 and words of links to nodes.
        unsafe { Link::from_word(self.next.get()) }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.is_alive.store(false, SeqCst);
    }
}

/// A list whose nodes are added and removed behind its head.
struct List {
    arena: Arena<Node>,
    head: Link<Node>,
    /// The nodes behind the head, the last first.
    rest: Vec<Link<Node>>,
    drops: Arc<AtomicUsize>,
    removed: usize,
}

impl List {
    fn new<P: LegalFor<Versioned<Node>>>(rt: &Runtime, primitive: P) -> Self {
        let drops = Arc::new(AtomicUsize::new(0));
        let arena = Arena::with_primitive(rt, primitive);
        let head = arena.alloc_outside(Node::new(0, &drops));
        Self { arena, head, rest: Vec::new(), drops, removed: 0 }
    }

    /// Adds a node behind the head, by a task.
    fn add(&mut self, rt: &Runtime, core: u16) {
        let next = self.rest.last().map_or(0, |&link| link.to_word());
        let node = self.arena.alloc_outside(Node::new(next, &self.drops));
        self.rest.push(node);
        let word = node.to_word();
        let add = rt.task(self.head.write()).core(core).submit(move |head, _| {
            let count = head.one.get() + 1;
            head.one.set(count, head.token());
            head.next.set(word, head.token());
            head.two.set(count, head.token());
        });
        add.join().unwrap();
    }

    /// Removes the node behind the head and retires it, by a task.
    fn remove(&mut self, rt: &Runtime, core: u16) {
        let Some(second) = self.rest.pop() else { return };
        let arena = self.arena.clone();
        let remove =
            rt.task((self.head.write(), second.write())).core(core).submit(move |(head, node), cx| {
                head.next.set(node.next.get(), head.token());
                // SAFETY: only the head linked to the node, and it no longer does. Readers begin at
                // the head, after they were made. The node is removed once.
                unsafe { arena.retire(second, cx) };
            });
        remove.join().unwrap();
        self.removed += 1;
    }

    /// Waits until all removed nodes are freed, and no other.
    fn assert_freed(&self, rt: &Runtime) {
        pass_time(rt);
        eventually("the removed nodes are freed", || self.drops.load(SeqCst) == self.removed);
    }

    /// Shuts the runtime down, and frees the list.
    fn end(self, rt: Runtime) {
        rt.shutdown(Shutdown::Drain);
        assert_eq!(self.drops.load(SeqCst), self.removed);
        drop(self.arena);
        assert_eq!(self.drops.load(SeqCst), self.removed + self.rest.len() + 1);
    }
}

/// Lets the runtime run some rounds of empty tasks.
fn pass_time(rt: &Runtime) {
    (0..100).for_each(|round| rt.task(()).core(round).submit(|(), _| ()).join().unwrap());
}

/// Walks to the end of a list. Returns true if all nodes were alive and not half-written.
fn walk(reader: &Reader<'_>, from: Link<Node>) -> Result<bool, JoinError> {
    reader.walk(from, |_, node: &Node| match node.next() {
        _ if !node.is_alive.load(SeqCst) || node.one.get() != node.two.get() => Step::End(false),
        Some(next) => Step::Go(next, Part::lines(0, 2)),
        None => Step::End(true),
    })
}

/// Finds the node behind the head, lets it be removed and more, and walks on from there.
fn walk_from_removed<P: LegalFor<Versioned<Node>>>(primitive: P, setting: Setting) {
    let rt = setting.build();
    let mut list = List::new(&rt, primitive);
    for round in 0..if PATIENCE == 1 { 8 } else { 2 } {
        (0..3).for_each(|core| list.add(&rt, round + core));
        let reader = rt.reader();
        let second = reader.walk(list.head, |_, head: &Node| Step::End(head.next())).unwrap();
        (0..3).for_each(|core| list.remove(&rt, round + core));
        pass_time(&rt);
        let second = second.expect("three nodes");
        assert!(walk(&reader, second).unwrap(), "a node was freed beside a reader");
        drop(reader);
        list.assert_freed(&rt);
    }
    list.end(rt);
}

#[test]
fn a_removed_node_outlives_an_older_reader() {
    on_all(|setting| {
        with_each_primitive!(walk_from_removed(setting));
    });
}

/// Several threads walk, while another one adds and removes nodes.
fn walk_beside_changes<P: LegalFor<Versioned<Node>>>(primitive: P, workers: usize) {
    // The walks take most of the time, so a few rounds are enough.
    const ROUNDS: u16 = if PATIENCE == 1 { 100 } else { 25 };
    let _watched = watchdog();
    let rt = Setting::Threads { workers }.build();
    let mut list = List::new(&rt, primitive);
    let (head, over, walks) = (list.head, AtomicBool::new(false), AtomicUsize::new(0));
    let walking = || {
        while !over.load(SeqCst) {
            assert!(walk(&rt.reader(), head).unwrap(), "a node was freed or half-written");
            walks.fetch_add(1, SeqCst);
        }
    };
    let changing = || {
        for round in 0..ROUNDS {
            list.add(&rt, round);
            if list.rest.len() == 3 {
                (0..3).for_each(|_| list.remove(&rt, round));
            }
        }
        eventually("some walks are over", || walks.load(SeqCst) > 100);
        over.store(true, SeqCst);
    };
    let bodies: [Box<dyn FnOnce() + Send>; 4] =
        [Box::new(walking), Box::new(walking), Box::new(walking), Box::new(changing)];
    side_by_side(bodies);
    list.assert_freed(&rt);
    list.end(rt);
}

#[test]
fn threads_walk_beside_tasks_that_change_the_nodes() {
    for workers in [1, 2, 4] {
        with_each_primitive!(walk_beside_changes(workers));
    }
}

/// Reads two nodes that a task after the other changes, the first one first.
fn read_two_at_one_moment<P: LegalFor<Versioned<Node>>>(primitive: P, workers: usize) {
    let rt = Setting::Threads { workers }.build();
    let drops = Arc::new(AtomicUsize::new(0));
    let arena = Arena::with_primitive(&rt, primitive);
    let [one, two] = [(); 2].map(|()| arena.alloc_outside(Node::new(0, &drops)));
    let count = |link: Link<Node>| {
        let count = rt.task(link.write()).submit(|node, _| {
            node.one.set(node.one.get() + 1, node.token());
            node.two.set(node.two.get() + 1, node.token());
        });
        count.join().unwrap();
    };
    let read = |_, node: &Node| Step::End(node.one.get());
    let over = AtomicBool::new(false);
    let read_both = || {
        let mut moments = 0;
        while !over.load(SeqCst) || moments == 0 {
            let reader = rt.reader();
            // In the other order than they are written, so that reads of two moments show.
            let (second, before) = reader.walk_versioned(two, read).unwrap();
            let (first, after) = reader.walk_versioned(one, read).unwrap();
            let versions = [before, after];
            if !matches!(P::PRIMITIVE, Primitive::OptimisticLatched | Primitive::OptimisticSequenced) {
                assert!(versions.iter().all(Option::is_none), "these nodes have no versions");
                return;
            }
            if versions.iter().all(|version| version.as_ref().is_some_and(|version| version.is_current())) {
                assert!(first == second || first == second + 1, "{first} and {second} are of two moments");
                moments += 1;
            }
        }
    };
    side_by_side([
        Box::new(read_both) as Box<dyn FnOnce() + Send + '_>,
        Box::new(|| {
            (0..300).for_each(|_| [one, two].into_iter().for_each(&count));
            over.store(true, SeqCst);
        }),
    ]);
    let reader = rt.reader();
    if let (_, Some(version)) = reader.walk_versioned(one, read).unwrap() {
        assert!(version.is_current());
        count(two);
        assert!(version.is_current(), "another node was written");
        count(one);
        assert!(!version.is_current(), "the node was written");
    }
}

#[test]
fn nodes_whose_versions_are_current_were_read_at_one_moment() {
    let _watched = watchdog();
    for workers in [1, 2] {
        with_each_primitive!(read_two_at_one_moment(workers));
    }
}

#[test]
fn more_readers_than_slots_all_keep_what_they_found() {
    on_all(|setting| {
        let rt = setting.build();
        let mut list = List::new(&rt, OptimisticLatched);
        list.add(&rt, 0);
        // One thread may have any number of readers.
        let mut readers: Vec<_> = (0..100).map(|_| rt.reader()).collect();
        let second = list.rest[0];
        list.remove(&rt, 1);
        while let Some(reader) = readers.pop() {
            if readers.len().is_multiple_of(33) {
                pass_time(&rt);
                assert_eq!(list.drops.load(SeqCst), 0, "the node was freed beside {}", readers.len() + 1);
            }
            assert!(walk(&reader, second).unwrap());
        }
        drop(readers);
        list.assert_freed(&rt);
        list.end(rt);
    });
}

/// Reads a node that a task has left half-written, and nodes at which reading fails.
fn fail<P: LegalFor<Versioned<Pair>>>(primitive: P, setting: Setting) {
    let rt = setting.builder().on_failure(|_| ()).build().unwrap();
    let arena = Arena::with_primitive(&rt, primitive);
    let [good, bad] = [(); 2].map(|()| arena.alloc_outside(Pair::default()));
    let half_written: Handle<()> = rt.task(bad.write()).submit(|node, _| {
        node.0.set(1, node.token());
        panic!("provoked");
    });
    assert!(matches!(half_written.join(), Err(JoinError::Panicked(_))));
    let reader = rt.reader();
    let read = |node: Link<Pair>| reader.walk(node, |_, node: &Pair| Step::End(node.0.get()));
    assert!(matches!(read(bad), Err(JoinError::Poisoned)));
    assert_eq!(read(good).unwrap(), 0);
    let panics = reader.walk(good, |_, _: &Pair| -> Step<Pair, ()> { panic!("provoked") });
    assert!(matches!(panics, Err(JoinError::Panicked(payload)) if payload.message() == "provoked"));
    let again = reader.walk(good, |_, _: &Pair| Step::<Pair, ()>::Again);
    assert!(matches!(again, Err(JoinError::Abandoned)));
    // Through a good node to a bad one.
    let through = move |at: Link<Pair>, _: &Pair| match at.is_same_node(bad) {
        true => Step::End(()),
        false => Step::Go(bad, Part::HEAD),
    };
    assert!(matches!(reader.walk(good, through), Err(JoinError::Poisoned)));
    // The latch was released.
    rt.task(good.write()).submit(|node, _| node.0.set(2, node.token())).join().unwrap();
    assert_eq!(read(good).unwrap(), 2);
    drop(reader);
    drop(rt);
    drop(arena);
}

#[test]
fn a_reader_fails_as_a_task_does() {
    silence_tasks();
    on_all(|setting| {
        with_each_primitive!(fail(setting));
    });
}

/// Reads in a task: works, unless the task would have to wait for another one.
fn read_in_task<P: LegalFor<Versioned<Pair>>>(primitive: P, setting: Setting) {
    let rt = Arc::new(setting.build());
    let arena = Arena::with_primitive(&rt, primitive);
    let node = arena.alloc_outside(Pair::default());
    let own = rt.clone();
    let inside = rt.task(()).submit(move |(), _| {
        let read = own.reader().walk(node, |_, node: &Pair| Step::End(node.0.get()));
        match P::PRIMITIVE {
            Primitive::Sequencing => matches!(read, Err(JoinError::WouldBlock)),
            _ => matches!(read, Ok(0)),
        }
    });
    assert!(inside.join().unwrap());
    let own = rt.clone();
    // The task itself holds the node, so no attempt succeeds.
    let held = rt.task(node.write()).submit(move |_, _| {
        let read = own.reader().walk(node, |_, node: &Pair| Step::End(node.0.get()));
        matches!(read, Err(JoinError::WouldBlock))
    });
    assert!(held.join().unwrap(), "a task waits for itself");
    // Tasks drop their handles of the runtime after their results are there.
    let mut rt = Some(rt);
    eventually("no task has the runtime", || match Arc::try_unwrap(rt.take().expect("it is put back")) {
        Ok(_) => true,
        Err(shared) => {
            rt = Some(shared);
            false
        }
    });
    drop(arena);
}

#[test]
fn a_reader_in_a_task_never_waits() {
    for setting in [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 1 }] {
        let _watched = watchdog();
        with_each_primitive!(read_in_task(setting));
    }
}

#[test]
fn a_sequenced_node_of_another_runtime_is_refused() {
    let _watched = watchdog();
    let [one, two] = [(); 2].map(|()| Setting::Threads { workers: 1 }.build());
    let arena = Arena::with_primitive(&one, Sequencing);
    let node = arena.alloc_outside(Pair::default());
    let read = two.reader().walk(node, |_, node: &Pair| Step::End(node.0.get()));
    assert!(matches!(read, Err(JoinError::Foreign)));
    drop((one, two));
    drop(arena);
}

struct Number(Word);

impl Version for Number {}

/// A platform in which a waiting thread panics once, when this is requested, and that says when a
/// thread looks after that whether its workers are lost.
struct Refusing {
    below: Threads,
    asked: Arc<AtomicBool>,
    panicked: Flag,
    looks: Flag,
}

impl Platform for Refusing {
    xtasking_testing::forward_platform!(below: topology start park wake join pages now);

    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        while !ready(Waker::noop()) {
            if self.asked.swap(false, SeqCst) {
                self.panicked.set();
                panic!("provoked");
            }
            thread::yield_now();
        }
        Ok(())
    }

    fn has_lost_workers(&self) -> bool {
        if self.panicked.is_set() {
            self.looks.set();
        }
        false
    }
}

/// The nodes on the way of the task are kept by the reader.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_reader_stays_until_the_task_that_walks_on_is_over() {
    let _watched = watchdog();
    silence_tasks();
    let (asked, looks) = (Arc::new(AtomicBool::new(false)), Flag::default());
    let platform = Refusing {
        below: Threads::new(1),
        asked: asked.clone(),
        panicked: Flag::default(),
        looks: looks.clone(),
    };
    let rt = Runtime::builder().workers(1).platform(platform).build().unwrap();
    let arena = Arena::with_primitive(&rt, Sequencing);
    let node = arena.alloc_outside(Number(Word::new(7)));
    let [release, left, is_late, is_busy] = [(); 4].map(|()| Flag::default());
    let (held, begins) = (release.clone(), is_busy.clone());
    rt.task(()).spawn(move |(), _| {
        begins.set();
        held.wait();
    });
    is_busy.wait();
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let (has_left, late) = (left.clone(), is_late.clone());
            let read = move |_: Link<Number>, number: &Number| {
                if has_left.is_set() {
                    late.set();
                }
                Step::End(number.0.get())
            };
            asked.store(true, SeqCst);
            let reader = rt.reader();
            assert!(catch_unwind(AssertUnwindSafe(|| reader.walk(node, read))).is_err());
            drop(reader);
            left.set();
        });
        eventually("the reader waits or has left", || looks.is_set() || left.is_set());
        release.set();
        // ThreadSanitizer does not see that a scope waits.
        reading.join().unwrap();
    });
    // Behind the task.
    rt.task(node.read()).submit(|_, _| ()).join().unwrap();
    assert!(!is_late.is_set(), "the reader has left, and its task walks on");
}
