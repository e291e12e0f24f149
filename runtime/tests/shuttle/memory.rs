//! Memory is freed only when no task can reach it, and all of it in the end.

use crate::common::Dropped;
use crate::platform::{pause, runtime, wait_a_little};
use crate::schedules::explore;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use xtasking::{
    Context, Part, Promise, Runtime, Version, Word,
    arena::{Arena, Link, Step, Visit},
    bundle::{self, Hop, each},
    primitive::{Sequencing, SpinLatch},
};

#[test]
fn an_object_outlives_the_tasks_that_wait_for_it() {
    explore(|mut random| {
        let rt = Arc::new(runtime(2));
        let freed = Arc::new(AtomicUsize::new(0));
        let object = rt.plain((Dropped(freed.clone()), 0)).pin(Sequencing).build();
        let latched = rt.plain(Dropped(freed.clone())).pin(SpinLatch).build();
        let (spawner, seen) = (rt.clone(), freed.clone());
        let (other, held) = (object.clone(), latched.clone());
        let outside = thread::spawn(move || {
            let task = spawner.task((other.write(), held.write())).submit(move |(value, _), _| {
                pause();
                value.1 += 1;
                assert_eq!(seen.load(Relaxed), 0);
            });
            drop((other, held));
            task.join().unwrap();
        });
        let freed_by_now = freed.clone();
        let task = rt.task(object.write()).submit(move |value, cx| {
            value.1 += 1;
            assert_eq!(freed_by_now.load(Relaxed), 0);
            cx.task(()).core(1).spawn(|(), _| pause());
        });
        wait_a_little(&mut random, 50);
        drop(object);
        drop(latched);
        task.join().unwrap();
        outside.join().unwrap();
        drop(Arc::into_inner(rt).expect("the thread is gone"));
        assert_eq!(freed.load(Relaxed), 2);
    });
}

#[test]
fn sleeping_workers_leave_no_garbage() {
    explore(|_| {
        let rt = runtime(2);
        let freed = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let object = rt.plain(Dropped(freed.clone())).build();
            rt.task(object.write()).spawn(|_, _| ());
            let kept = rt.plain(object).build();
            rt.task(kept.write()).submit(|_, _| ()).join().unwrap();
        }
        // No task is spawned any more; the last worker to fall asleep frees all remaining memory.
        while freed.load(Relaxed) < 2 {
            thread::yield_now();
        }
    });
}

/// A node of a list that records its drop.
struct Node {
    next: Word,
    is_alive: AtomicBool,
    freed: Arc<AtomicUsize>,
}

impl Version for Node {}

impl Node {
    fn new(next: Option<Link<Self>>, freed: &Arc<AtomicUsize>) -> Self {
        let next = Word::new(next.map_or(0, Link::to_word));
        Self { next, is_alive: AtomicBool::new(true), freed: freed.clone() }
    }

    fn next(&self) -> Option<Link<Self>> {
        // SAFETY: `next` only ever holds 0 and words of links to nodes.
        unsafe { Link::from_word(self.next.get()) }
    }

    /// Goes to the next node. At the end returns true; false at a node that was freed.
    fn step(&self) -> Step<Self, bool> {
        match self.next() {
            _ if !self.is_alive.load(Relaxed) => Step::End(false),
            Some(next) => Step::Go(next, Part::HEAD),
            None => Step::End(true),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.is_alive.store(false, Relaxed);
        self.freed.fetch_add(1, Relaxed);
    }
}

/// Visits the list to its end. Returns true if all nodes on the way were alive.
struct Walk(Promise<bool>);

impl Visit for Walk {
    type Target = Node;
    type Output = bool;

    fn read(&self, _: Link<Node>, node: &Node) -> Step<Node, bool> {
        node.step()
    }

    fn then(self, alive: bool, _: &mut Context) {
        self.0.fulfil(alive);
    }
}

/// Walks along the list to its end, as [`Walk`] does.
struct InBundle;

impl bundle::Walk for InBundle {
    type Target = Node;
    type Output = bool;

    fn read(&self, _: Link<Node>, node: &Node) -> Hop<Node, bool> {
        match node.step() {
            Step::Go(next, part) => Hop::Go(next, part),
            Step::End(alive) => Hop::End(alive),
            Step::Again => Hop::Again,
        }
    }
}

/// How a thread walks along the list. Returns true if all nodes on the way were alive.
type WalkList = fn(&Runtime, Link<Node>, u16) -> bool;

#[test]
fn a_node_outlives_the_walks_that_may_reach_it() {
    beside_removals(|rt, head, core| {
        let (promise, arrived) = rt.promise();
        rt.task(head.read()).core(core).visit(Walk(promise));
        arrived.join().unwrap()
    });
}

#[test]
fn a_node_outlives_the_readers_that_may_reach_it() {
    beside_removals(|rt, head, _| rt.reader().walk(head, |_, node: &Node| node.step()).unwrap());
}

#[test]
fn a_node_outlives_the_bundles_that_may_reach_it() {
    beside_removals(|rt, head, core| {
        let mut alive = 0;
        rt.task_scope(|scope| {
            let walks = (0..4).map(|_| (head.read(), InBundle));
            let count = |_, outcome: Result<_, _>, _: &mut Context| alive += u32::from(outcome.unwrap());
            scope.task(()).core(core).bundle(each(walks, count));
        })
        .unwrap();
        alive == 4
    });
}

/// Removes nodes from a list while a thread walks along it a few times.
fn beside_removals(walk_list: WalkList) {
    const REMOVED: usize = 3;
    explore(move |_| {
        let rt = Arc::new(runtime(2));
        let freed = Arc::new(AtomicUsize::new(0));
        let arena = Arena::new(&rt);
        let last = arena.alloc_outside(Node::new(None, &freed));
        let mut nodes = vec![last];
        for _ in 0..=REMOVED {
            nodes.push(arena.alloc_outside(Node::new(nodes.last().copied(), &freed)));
        }
        let head = nodes.pop().expect("there are some");
        let walker = rt.clone();
        let walks = thread::spawn(move || {
            for core in 0..4 {
                assert!(walk_list(&walker, head, core), "a walk came to a node that was freed");
            }
        });
        for core in 0..REMOVED as u16 {
            let second = nodes.pop().expect("the last one stays");
            let arena = arena.clone();
            let removed =
                rt.task((head.write(), second.write())).core(core).submit(move |(head, node), cx| {
                    head.next.set(node.next.get(), head.token());
                    // SAFETY: only the head linked to the node, and it no longer does. Walks
                    // begin at the head, and only this task retires the node.
                    unsafe { arena.retire(second, cx) };
                });
            removed.join().unwrap();
        }
        walks.join().unwrap();
        drop(Arc::into_inner(rt).expect("the thread is gone"));
        assert_eq!(freed.load(Relaxed), REMOVED);
        drop(arena);
    });
}
