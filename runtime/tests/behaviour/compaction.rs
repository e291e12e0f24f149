//! Compactions: nodes move where their memory holds few, and the memory is given back. Keepers:
//! objects live on from one operation to the next.

use crate::common::{Dropped, Setting, eventually, on_all, on_each, watchdog};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use xtasking::{
    Context, Runtime, Version, Word,
    arena::{Arena, Compaction, Keeper, Link},
    platform::{GlobalPages, PageSource, Pages, Platform, Simulation},
};

/// A node that is found by its number.
struct Node([Word; 60]);

impl Version for Node {}

fn node(number: u64) -> Node {
    Node(std::array::from_fn(|_| Word::new(number)))
}

/// A simulation whose pages count what is discarded, and zero it.
struct Discarding(Simulation, Arc<DiscardedPages>);

#[derive(Default)]
struct DiscardedPages(AtomicUsize);

// SAFETY: every run is one of `GlobalPages`, which keeps the contract.
unsafe impl PageSource for DiscardedPages {
    fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
        GlobalPages.pages(bytes, align, node, huge)
    }

    unsafe fn discard(&self, start: NonNull<u8>, bytes: usize) -> bool {
        self.0.fetch_add(bytes, SeqCst);
        // SAFETY: by the contract the memory is in a run of this source, and not in use.
        unsafe { start.write_bytes(0, bytes) };
        true
    }

    unsafe fn release(&self, pages: Pages) {
        // SAFETY: the caller returns pages that it got from `pages`.
        unsafe { GlobalPages.release(pages) };
    }
}

impl Platform for Discarding {
    xtasking_testing::forward_platform!(0: topology start park wake join block now virtual_time);

    fn pages(&self) -> Arc<dyn PageSource> {
        self.1.clone()
    }
}

/// Moves the nodes that a compaction names. Only the vector links to nodes.
fn move_nodes(
    arena: &Arena<Node>,
    compaction: &Compaction<Node>,
    links: Vec<(u64, Link<Node>)>,
    cx: &mut Context,
) -> Vec<(u64, Link<Node>)> {
    let relocate = |(number, link): (u64, Link<Node>)| {
        if !compaction.should_move(link) {
            return (number, link);
        }
        let place = compaction.reserve(link, cx).unwrap();
        let copy = place.fill(node(number));
        assert!(!compaction.should_move(copy), "a copy is to be moved again");
        // SAFETY: the link was in the vector only, and is replaced there.
        unsafe { arena.retire(link, cx) };
        (number, copy)
    };
    links.into_iter().map(relocate).collect()
}

#[test]
fn moved_nodes_leave_memory_that_is_given_back() {
    let _watched = watchdog();
    for (cores, seed) in [(1, 1), (2, 2), (4, 3)] {
        let pages = Arc::new(DiscardedPages::default());
        let platform = Discarding(Simulation::new(cores, seed), pages.clone());
        let rt = Runtime::builder().platform(platform).build().unwrap();
        let arena = Arena::new(&rt);
        let pass = |rounds: u16| {
            (0..rounds).for_each(|round| rt.task(()).core(round).submit(|(), _| ()).join().unwrap());
        };
        let mut links: Vec<_> =
            (0..20_000).map(|number| (number, arena.alloc_outside(node(number)))).collect();
        let full = arena.stats();
        let nothing = arena.clone();
        let begins =
            move |(), cx: &mut Context| nothing.begin_compaction(cx, |_, _| panic!("nothing is free"));
        assert!(!rt.task(()).submit(begins).join().unwrap());

        // Four of five are freed, on all workers.
        let (rest, freed): (Vec<_>, Vec<_>) = links.drain(..).partition(|(number, _)| number % 5 == 0);
        for (round, some) in freed.chunks(400).enumerate() {
            let (arena, some) = (arena.clone(), some.to_vec());
            let free = move |(), cx: &mut Context| {
                for (_, link) in some {
                    // SAFETY: the links are used nowhere else.
                    unsafe { arena.retire(link, cx) };
                }
            };
            rt.task(()).core(round as u16).submit(free).join().unwrap();
        }
        pass(200);
        let sparse = arena.stats();
        assert_eq!((sparse.live, sparse.bytes), (rest.len(), full.bytes));

        let (promise, moved) = rt.promise();
        let (owner, again) = (arena.clone(), arena.clone());
        let begins = move |(), cx: &mut Context| {
            let begins = owner.clone().begin_compaction(cx, move |compaction, cx| {
                promise.fulfil(move_nodes(&owner, &compaction, rest, cx));
            });
            begins && !again.begin_compaction(cx, |_, _| panic!("one is under way"))
        };
        assert!(rt.task(()).submit(begins).join().unwrap());
        let links = moved.join().unwrap();
        pass(200);
        let less = arena.stats();
        assert_eq!((less.live, less.bytes), (links.len(), full.bytes));
        let most = links.len() * less.node_bytes * 3 / 2 + (1 << 20);
        assert!(less.resident_bytes <= most && sparse.resident_bytes > most, "{less:?} after {sparse:?}");
        assert!(pages.0.load(SeqCst) >= full.resident_bytes - most);
        for (number, link) in links {
            let sum = rt
                .task(link.read())
                .submit_read(|node| node.0.iter().map(Word::get).sum::<u64>(), |sum, _| sum);
            assert_eq!(sum.join().unwrap(), number * 60);
        }
    }
}

/// The data of an object that counts its drop.
struct Root(Word, Dropped);

impl Version for Root {}

/// A pointer that tasks carry as long as their operation covers it, or a keeper.
struct Pointer(NonNull<Root>);

// SAFETY: it is used as a shared reference, and `Root` is `Sync`.
unsafe impl Send for Pointer {}

impl Pointer {
    fn get(&self) -> &Root {
        // SAFETY: the operation of the running task, or a keeper, keeps the root.
        unsafe { self.0.as_ref() }
    }
}

/// Continues in `left` more operations.
fn go_on(pointer: Pointer, keeper: Keeper<Root>, left: u32, cx: &mut Context) {
    assert_eq!((pointer.get().0.get(), pointer.get().1.0.load(SeqCst)), (7, 0));
    if left == 0 {
        return drop(keeper);
    }
    cx.task(()).begin_operation().spawn(move |(), cx| go_on(pointer, keeper, left - 1, cx));
}

#[test]
fn a_keeper_keeps_an_object_from_operation_to_operation() {
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        for _ in 0..20 {
            let root = rt.versioned(Root(Word::new(7), Dropped(drops.clone()))).build();
            let before = drops.swap(0, SeqCst);
            assert!(before <= 1);
            let pointer = Pointer(NonNull::from(root.peek()));
            rt.task(()).spawn(move |(), cx| {
                // SAFETY: this operation began while there was a handle.
                if let Some(keeper) = unsafe { Keeper::new(pointer.get()) } {
                    go_on(pointer, keeper, 50, cx);
                }
            });
            drop(root);
            eventually("the root is dropped", || {
                rt.task(()).submit(|(), _| ()).join().unwrap();
                drops.load(SeqCst) == 1
            });
        }
    });
}

#[test]
fn an_object_without_handles_is_not_kept() {
    on_each([Setting::Simulation { cores: 2, seed: 1 }].into_iter(), |setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let root = rt.versioned(Root(Word::new(7), Dropped(drops.clone()))).build();
        let pointer = Pointer(NonNull::from(root.peek()));
        // In a simulation the task runs only when the thread waits: after the drop.
        let kept = rt.task(()).submit(move |(), _| {
            // SAFETY: this operation began while there was a handle.
            unsafe { Keeper::new(pointer.get()) }.is_some()
        });
        drop(root);
        assert!(!kept.join().unwrap());
    });
}
