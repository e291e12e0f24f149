//! Bundles: many walks in one task, beside writers, failures, other tasks and the end of a runtime.

use crate::common::{Dropped, Flag, Pair, Setting, lock, on_all, on_each, silence_tasks, watchdog};
use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use xtasking::{
    Context, JoinError, Part, Runtime, Shutdown, Version,
    arena::{Arena, Array, Link, Written},
    bundle::{Bundle, Hop, Start, Walk, each, fold},
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::LegalFor,
};

/// A node of a list: two words that writers keep equal.
struct Item {
    pair: Pair,
    next: Option<Link<Item>>,
}

impl Version for Item {}

/// Arenas of nodes, kept until the end of a test.
#[derive(Default)]
struct Arenas(RefCell<Vec<Box<dyn Any>>>);

impl Arenas {
    fn keep<T: Version>(&self, arena: Arena<T>) {
        self.0.borrow_mut().push(Box::new(arena));
    }

    /// Makes a list of items. Returns their links from the first on.
    fn list<P>(&self, rt: &Runtime, primitive: P, len: usize) -> Vec<Link<Item>>
    where
        P: LegalFor<xtasking::Versioned<Item>>,
    {
        let arena = Arena::with_primitive(rt, primitive);
        let mut links = Vec::new();
        for _ in 0..len {
            let next = links.last().copied();
            links.push(arena.alloc_outside(Item { pair: Pair::default(), next }));
        }
        links.reverse();
        self.keep(arena);
        links
    }

    /// Runs a test on lists with each primitive.
    fn with_each_primitive(&self, rt: &Runtime, len: usize, test: impl Fn(&Runtime, &[Link<Item>])) {
        let lists = [
            self.list(rt, Sequencing, len),
            self.list(rt, SpinLatch, len),
            self.list(rt, ReaderWriterLatch, len),
            self.list(rt, OptimisticSequenced, len),
            self.list(rt, OptimisticLatched, len),
        ];
        lists.iter().for_each(|links| test(rt, links));
    }
}

/// Goes along a list to its end, or adds to some of its items on the way.
struct Along {
    writes: bool,
    /// The item at which the walk ends.
    last: Link<Item>,
}

impl Along {
    fn hop(&self, at: Link<Item>, item: &Item, value: u64) -> Hop<Item, u64> {
        match item.next {
            Some(next) if !at.is_same_node(self.last) => {
                if self.writes {
                    Hop::Write(next, Part::HEAD)
                } else {
                    Hop::Go(next, Part::HEAD)
                }
            }
            _ => Hop::End(value),
        }
    }
}

impl Walk for Along {
    type Target = Item;
    type Output = u64;

    const LOCATES: bool = true;

    fn locate(&mut self, _: Link<Item>, _: &Item) -> Part {
        Part::HEAD
    }

    fn read(&self, at: Link<Item>, item: &Item) -> Hop<Item, u64> {
        let (one, other) = (item.pair.0.get(), item.pair.1.get());
        // Only a validated read may show that both are equal.
        self.hop(at, item, if one == other { one } else { u64::MAX })
    }

    fn write(&mut self, at: Link<Item>, item: Written<'_, Item>, _: &mut Context) -> Hop<Item, u64> {
        let (one, other) = (item.pair.0.get(), item.pair.1.get());
        assert_eq!(one, other);
        item.pair.0.set(one + 1, item.token());
        item.pair.1.set(one + 1, item.token());
        self.hop(at, &item, one)
    }
}

/// A walk as it is, or as one that mostly ends at its first node.
struct Kind<const SHORT: bool, W>(W);

impl<const SHORT: bool, W: Walk> Walk for Kind<SHORT, W> {
    type Target = W::Target;
    type Output = W::Output;

    const LOCATES: bool = W::LOCATES;
    const ENDS_AT_ONCE: bool = SHORT;

    fn locate(&mut self, at: Link<W::Target>, target: &W::Target) -> Part {
        self.0.locate(at, target)
    }

    fn read(&self, at: Link<W::Target>, target: &W::Target) -> Hop<W::Target, W::Output> {
        self.0.read(at, target)
    }

    fn write(
        &mut self,
        at: Link<W::Target>,
        target: Written<'_, W::Target>,
        cx: &mut Context,
    ) -> Hop<W::Target, W::Output> {
        self.0.write(at, target, cx)
    }
}

#[test]
fn all_walks_end_with_consistent_results_beside_writers() {
    all_walks_end::<false>();
    all_walks_end::<true>();
}

fn all_walks_end<const SHORT: bool>() {
    on_all(|setting| {
        let arenas = Arenas::default();
        let rt = setting.build();
        arenas.with_each_primitive(&rt, 4, |rt, links| {
            let last = links[links.len() - 1];
            let mut found = vec![None; 200];
            rt.task_scope(|scope| {
                for (core, found) in found.chunks_mut(50).enumerate() {
                    let walks = found.iter_mut().enumerate().map(|(id, place)| {
                        (links[id % links.len()].read(), (Along { writes: false, last }, place))
                    });
                    scope.task(()).core(core as u16).bundle(Placed::<SHORT, _>(walks));
                }
                for round in 0..100 {
                    scope.task(links[round % links.len()].write()).core(round as u16).spawn(|item, _| {
                        let value = item.pair.0.get() + 1;
                        item.pair.0.set(value, item.token());
                        item.pair.1.set(value, item.token());
                    });
                }
            })
            .unwrap();
            assert!(found.iter().all(|value| value.is_some_and(|value| value <= 100)), "{found:?}");
        });
    });
}

/// Walks with places for their results.
struct Placed<const SHORT: bool, I>(I);

impl<'a, const SHORT: bool, I> Bundle for Placed<SHORT, I>
where
    I: Iterator<Item = (xtasking::arena::ReadLink<Item>, (Along, &'a mut Option<u64>))> + Send,
{
    type Walk = Kind<SHORT, WithPlace<'a>>;

    fn next(&mut self, _: &mut Context) -> Option<(Start<Item>, Self::Walk)> {
        self.0.next().map(|(start, (along, place))| (start.into(), Kind(WithPlace { along, place })))
    }

    fn done(&mut self, Kind(walk): Self::Walk, outcome: Result<u64, JoinError>, _: &mut Context) {
        assert!(walk.place.is_none(), "a walk ends once");
        *walk.place = Some(outcome.unwrap());
    }
}

struct WithPlace<'a> {
    along: Along,
    place: &'a mut Option<u64>,
}

impl Walk for WithPlace<'_> {
    type Target = Item;
    type Output = u64;

    fn read(&self, at: Link<Item>, item: &Item) -> Hop<Item, u64> {
        self.along.read(at, item)
    }
}

#[test]
fn no_write_of_a_walk_is_lost() {
    no_write_is_lost::<false>();
    no_write_is_lost::<true>();
}

fn no_write_is_lost<const SHORT: bool>() {
    on_all(|setting| {
        let arenas = Arenas::default();
        let rt = setting.build();
        arenas.with_each_primitive(&rt, 3, |rt, links| {
            let last = links[links.len() - 1];
            rt.task_scope(|scope| {
                for core in 0..3 {
                    let walk = move |_| (links[0].write(), Kind::<SHORT, _>(Along { writes: true, last }));
                    let walks = (0..40).map(walk);
                    scope.task(()).core(core).bundle(each(walks, |_, outcome, _| assert!(outcome.is_ok())));
                }
                for task in 0..30 {
                    scope.task(links[task % 3].write()).core(task as u16).spawn(|item, _| {
                        let value = item.pair.0.get() + 1;
                        item.pair.0.set(value, item.token());
                        item.pair.1.set(value, item.token());
                    });
                }
            })
            .unwrap();
            for link in links {
                let read = rt.task(link.read()).submit_read(|item| item.pair.0.get(), |value, _| value);
                assert_eq!(read.join().unwrap(), 3 * 40 + 10);
            }
        });
    });
}

/// Reads one item, or panics in one of two ways.
#[derive(Clone, Copy, PartialEq)]
enum One {
    Fine(usize),
    PanicsReading(usize),
    PanicsWriting(usize),
}

impl Walk for One {
    type Target = Item;
    type Output = ();

    fn read(&self, _: Link<Item>, _: &Item) -> Hop<Item, ()> {
        assert!(!matches!(self, One::PanicsReading(_)), "provoked by a reader");
        Hop::End(())
    }

    fn write(&mut self, _: Link<Item>, item: Written<'_, Item>, _: &mut Context) -> Hop<Item, ()> {
        item.pair.0.set(9, item.token());
        assert!(!matches!(self, One::PanicsWriting(_)), "provoked by a writer");
        item.pair.1.set(9, item.token());
        Hop::End(())
    }
}

#[test]
fn a_panic_of_one_walk_ends_this_walk_only() {
    silence_tasks();
    a_panic_ends_one_walk::<false>();
    a_panic_ends_one_walk::<true>();
}

/// As a task does.
#[test]
fn a_panic_of_a_walk_leaves_an_element_that_keeps_what_is_there() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let item = |_| Item { pair: Pair::default(), next: None };
        let [kept, poisoned] = [Array::builder(&rt).keep_on_panic(), Array::builder(&rt)].map(|array| {
            let array = array.build(10, item);
            rt.task_scope(|scope| {
                let walks =
                    (0..10).map(|id| (array.link(id).write(), Kind::<false, _>(One::PanicsWriting(id))));
                scope.task(()).bundle(each(walks, |_, outcome: Result<(), _>, _| assert!(outcome.is_err())));
            })
            .unwrap();
            (0..10).map(|id| array.is_poisoned(id)).collect::<Vec<_>>()
        });
        assert_eq!((kept, poisoned), (vec![false; 10], vec![true; 10]));
    });
}

fn a_panic_ends_one_walk<const SHORT: bool>() {
    on_all(|setting| {
        let arenas = Arenas::default();
        let rt = setting.build();
        arenas.with_each_primitive(&rt, 100, |rt, links| {
            let mut outcomes: Vec<Option<Result<(), JoinError>>> = (0..100).map(|_| None).collect();
            rt.task_scope(|scope| {
                let walks = links.iter().enumerate().map(|(id, link)| match id % 10 {
                    3 => (Start::from(link.read()), One::PanicsReading(id)),
                    5 => (Start::from(link.write()), One::PanicsWriting(id)),
                    7 => (Start::from(link.write()), One::Fine(id)),
                    _ => (Start::from(link.read()), One::Fine(id)),
                });
                let walks = walks.map(|(start, walk)| (start, Kind::<SHORT, _>(walk)));
                scope.task(()).bundle(each(walks, |Kind(walk), outcome, _| {
                    let (One::Fine(id) | One::PanicsReading(id) | One::PanicsWriting(id)) = walk;
                    assert!(outcomes[id].is_none());
                    outcomes[id] = Some(outcome);
                }));
            })
            .unwrap();
            for (id, outcome) in outcomes.into_iter().enumerate() {
                match (id % 10, outcome.unwrap()) {
                    (3, Err(JoinError::Panicked(payload))) => assert!(payload.message().contains("reader")),
                    (5, Err(JoinError::Panicked(payload))) => assert!(payload.message().contains("writer")),
                    (3 | 5, other) => panic!("walk {id}: {other:?}"),
                    (_, outcome) => outcome.unwrap(),
                }
            }
            // The half-written items are poisoned, and the others are not.
            let again =
                links.iter().enumerate().map(|(id, link)| (link.read(), Kind::<SHORT, _>(One::Fine(id))));
            let poisoned = Mutex::new(Vec::new());
            rt.task_scope(|scope| {
                scope.task(()).bundle(each(again, |Kind(walk), outcome, _| match (walk, outcome) {
                    (One::Fine(id), Err(JoinError::Poisoned)) => lock(&poisoned).push(id),
                    (_, outcome) => outcome.unwrap(),
                }));
            })
            .unwrap();
            let mut poisoned = poisoned.into_inner().unwrap();
            poisoned.sort_unstable();
            assert_eq!(poisoned, (0..10).map(|tens| tens * 10 + 5).collect::<Vec<_>>());
        });
    });
}

#[test]
fn folds_of_workers_that_share_walks_take_in_each_result_once() {
    silence_tasks();
    on_all(|setting| {
        let arenas = Arenas::default();
        let rt = setting.build();
        arenas.with_each_primitive(&rt, 100, |rt, links| {
            // For each worker the sum of numbers whose walks ended well, and the number of others.
            let mut sums = vec![(0, 0); rt.workers()];
            rt.task_scope(|scope| {
                for ((task, numbers), sum) in scope.portions(0..links.len(), 7).zip(&mut sums) {
                    let walks = numbers.map(|id| match id % 10 {
                        3 => (links[id].read(), One::PanicsReading(id)),
                        _ => (links[id].read(), One::Fine(id)),
                    });
                    let bundle =
                        fold(walks, (0, 0), |(sum, failed), walk, outcome, _| match (walk, outcome) {
                            (One::Fine(id), Ok(())) => *sum += id,
                            (One::PanicsReading(_), Err(JoinError::Panicked(_))) => *failed += 1,
                            (_, outcome) => outcome.unwrap(),
                        });
                    task.bundle_then(bundle, |bundle, _| *sum = bundle.into_state());
                }
            })
            .unwrap();
            let all = sums.iter().fold((0, 0), |all, sum| (all.0 + sum.0, all.1 + sum.1));
            assert_eq!(all, ((0..100).filter(|id| id % 10 != 3).sum::<usize>(), 10));
        });
    });
}

/// A walk whose copies are counted.
struct Counted(#[expect(dead_code, reason = "it is dropped")] Dropped);

impl Walk for Counted {
    type Target = Item;
    type Output = ();

    fn read(&self, _: Link<Item>, _: &Item) -> Hop<Item, ()> {
        Hop::End(())
    }
}

#[test]
fn a_panic_of_the_bundle_ends_it_and_drops_its_walks() {
    silence_tasks();
    a_panic_ends_the_bundle::<false>();
    a_panic_ends_the_bundle::<true>();
}

fn a_panic_ends_the_bundle<const SHORT: bool>() {
    on_all(|setting| {
        let arenas = Arenas::default();
        let rt = setting.build();
        arenas.with_each_primitive(&rt, 1, |rt, links| {
            for (fails_next, fails_done) in
                [(Some(70), None), (None, Some(70)), (Some(0), None), (None, Some(0))]
            {
                let drops = Arc::new(AtomicUsize::new(0));
                let (counted, mut made, mut ended) = (drops.clone(), 0, 0);
                let made_all = Arc::new(AtomicUsize::new(0));
                let count = made_all.clone();
                let (link, walks) = (links[0], (0..100));
                let walks = walks.map(move |_| {
                    assert_ne!(Some(made), fails_next, "provoked by next");
                    made += 1;
                    count.fetch_add(1, SeqCst);
                    (link.read(), Kind::<SHORT, _>(Counted(Dropped(counted.clone()))))
                });
                let done = move |_, _, _: &mut Context| {
                    assert_ne!(Some(ended), fails_done, "provoked by done");
                    ended += 1;
                };
                let outcome = rt.task(()).submit_bundle(each(walks, done)).join();
                assert!(matches!(outcome, Err(JoinError::Panicked(_))));
                assert_eq!(drops.load(SeqCst), made_all.load(SeqCst), "each walk is dropped once");
            }
        });
    });
}

/// Walks without end, until a condition holds.
struct Until<const SHORT: bool, C> {
    link: Link<Item>,
    condition: C,
    walks: Arc<AtomicUsize>,
    drops: Arc<AtomicUsize>,
}

impl<const SHORT: bool, C: FnMut(&mut Context) -> bool + Send> Bundle for Until<SHORT, C> {
    type Walk = Kind<SHORT, Counted>;

    fn next(&mut self, cx: &mut Context) -> Option<(Start<Item>, Self::Walk)> {
        let goes_on = !(self.condition)(cx);
        goes_on.then(|| {
            self.walks.fetch_add(1, SeqCst);
            (self.link.read().into(), Kind(Counted(Dropped(self.drops.clone()))))
        })
    }

    fn done(&mut self, _: Self::Walk, _: Result<(), JoinError>, _: &mut Context) {}
}

fn until<const SHORT: bool, C>(link: Link<Item>, condition: C) -> Until<SHORT, C>
where
    C: FnMut(&mut Context) -> bool + Send,
{
    Until { link, condition, walks: Arc::default(), drops: Arc::default() }
}

#[test]
fn other_tasks_run_between_the_turns_of_a_long_bundle() {
    other_tasks_run_between_turns::<false>();
    other_tasks_run_between_turns::<true>();
}

fn other_tasks_run_between_turns<const SHORT: bool>() {
    on_all(|setting| {
        let _watchdog = watchdog();
        let arenas = Arenas::default();
        let rt = setting.build();
        arenas.with_each_primitive(&rt, 1, |rt, links| {
            let link = links[0];
            let seen = Arc::new(AtomicBool::new(false));
            let (see, other) = (seen.clone(), seen.clone());
            let bundle =
                rt.task(()).core(0).submit_bundle(until::<SHORT, _>(link, move |_| see.load(SeqCst)));
            rt.task(()).core(0).spawn(move |(), _| other.store(true, SeqCst));
            assert!(bundle.join().is_ok());
        });
    });
}

/// A node whose end is counted.
struct Mortal(#[expect(dead_code, reason = "it is dropped")] Dropped);

impl Version for Mortal {}

/// Stays at a node until a flag is set.
struct Stay(Arc<AtomicBool>);

impl Walk for Stay {
    type Target = Mortal;
    type Output = ();

    fn read(&self, at: Link<Mortal>, _: &Mortal) -> Hop<Mortal, ()> {
        if self.0.load(SeqCst) { Hop::End(()) } else { Hop::Go(at, Part::HEAD) }
    }
}

/// A bundle moves to a newer epoch only when its lanes are empty.
#[test]
fn a_node_outlives_the_walk_that_stays_at_it() {
    on_all(|setting| {
        let _watchdog = watchdog();
        let arenas = Arenas::default();
        let rt = setting.build();
        let arena = Arena::new(&rt);
        let [freed, others] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let is_over = Arc::new(AtomicBool::new(false));
        let node = arena.alloc_outside(Mortal(Dropped(freed.clone())));
        let walks = [(node.read(), Stay(is_over.clone()))].into_iter();
        let bundle = rt.task(()).submit_bundle(each(walks, |_, outcome: Result<(), _>, _: &mut Context| {
            outcome.unwrap();
        }));
        let retire = |node: Link<Mortal>| {
            let arena = arena.clone();
            // SAFETY: no other walk begins at the node, and nothing else retires it.
            rt.task(()).submit(move |(), cx| unsafe { arena.retire(node, cx) }).join().unwrap();
        };
        retire(node);
        for _ in 0..50 {
            retire(arena.alloc_outside(Mortal(Dropped(others.clone()))));
        }
        assert_eq!(freed.load(SeqCst), 0, "the node was freed under a walk");
        is_over.store(true, SeqCst);
        assert!(bundle.join().is_ok());
        arenas.keep(arena);
        drop(rt);
        assert_eq!((freed.load(SeqCst), others.load(SeqCst)), (1, 50));
    });
}

#[test]
fn a_long_bundle_does_not_hold_up_the_reclamation_of_memory() {
    reclaims_beside_a_long_bundle::<false>();
    reclaims_beside_a_long_bundle::<true>();
}

fn reclaims_beside_a_long_bundle<const SHORT: bool>() {
    on_all(|setting| {
        let _watchdog = watchdog();
        let arenas = Arenas::default();
        let rt = setting.build();
        arenas.with_each_primitive(&rt, 1, |rt, links| {
            let drops = Arc::new(AtomicUsize::new(0));
            let arena = Arena::new(rt);
            let mortal = arena.alloc_outside(Mortal(Dropped(drops.clone())));
            let over = drops.clone();
            let bundle =
                rt.task(()).submit_bundle(until::<SHORT, _>(links[0], move |_| over.load(SeqCst) > 0));
            let retire = arena.clone();
            arenas.keep(arena);
            rt.task(()).spawn(move |(), cx| {
                // SAFETY: nothing else has the link.
                unsafe { retire.retire(mortal, cx) };
            });
            assert!(bundle.join().is_ok());
            assert_eq!(drops.load(SeqCst), 1);
        });
    });
}

#[test]
fn a_shutdown_cancels_a_bundle_and_drops_each_walk_once() {
    a_shutdown_cancels_a_bundle::<false>();
    a_shutdown_cancels_a_bundle::<true>();
}

fn a_shutdown_cancels_a_bundle<const SHORT: bool>() {
    on_all(|setting| {
        let _watchdog = watchdog();
        let arenas = Arenas::default();
        let rt = setting.build();
        let mut counts = Vec::new();
        let mut handles = Vec::new();
        let begun = Flag::default();
        for links in [arenas.list(&rt, OptimisticLatched, 1), arenas.list(&rt, Sequencing, 1)] {
            let begin = begun.clone();
            let endless = until::<SHORT, _>(links[0], move |_| {
                begin.set();
                false
            });
            counts.push((endless.walks.clone(), endless.drops.clone()));
            handles.push(rt.task(()).submit_bundle(endless));
        }
        if !setting.is_simulation() {
            begun.wait();
        }
        rt.shutdown(Shutdown::Cancel);
        for handle in handles {
            assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
        }
        for (walks, drops) in counts {
            assert_eq!(walks.load(SeqCst), drops.load(SeqCst));
        }
    });
}

#[test]
fn a_bundle_that_is_cancelled_before_it_begins_takes_no_walk() {
    on_each(Setting::simulations(&[1, 7]), |setting| {
        let arenas = Arenas::default();
        let rt = setting.build();
        let links = arenas.list(&rt, OptimisticLatched, 1);
        let bundle = until::<false, _>(links[0], |_| panic!("it was cancelled"));
        let handle = rt.task(()).submit_bundle(bundle);
        assert!(handle.cancel());
        assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    });
}

#[test]
fn bundles_with_one_claim_run_one_after_the_other() {
    on_all(|setting| {
        let arenas = Arenas::default();
        let rt = setting.build();
        let links = arenas.list(&rt, OptimisticLatched, 1);
        let granules = rt.granules_of([0u64]);
        let (link, inside) = (links[0], Arc::new(AtomicBool::new(false)));
        let group = rt.group();
        for core in 0..6 {
            let (enter, leave) = (inside.clone(), inside.clone());
            let mut entered = false;
            let walks = (0..300).map(move |id| {
                if !entered {
                    entered = true;
                    assert!(!enter.swap(true, SeqCst), "another bundle has the granule");
                }
                (link.read(), One::Fine(id))
            });
            let task = rt.task(()).of(&group).core(core).claim(granules.write(0..1));
            task.bundle_then(each(walks, |_, _, _| ()), move |_, _| leave.store(false, SeqCst));
        }
        group.wait().unwrap();
    });
}

#[test]
fn a_bundle_keeps_the_granules_that_it_has_claimed() {
    on_all(|setting| {
        let _watchdog = watchdog();
        let arenas = Arenas::default();
        let rt = setting.build();
        let links = arenas.list(&rt, OptimisticLatched, 1);
        let granules = rt.granules_of([7u64]);
        let passes = Arc::new(AtomicUsize::new(0));
        let passed = passes.clone();
        let bundle = until::<false, _>(links[0], move |_| passed.load(SeqCst) >= 100);
        let (promise, done) = rt.promise();
        let task = rt.task(()).claim(granules.write(0..1));
        task.bundle_then(bundle, |_, _| promise.fulfil(()));
        drop(granules);
        // The epoch advances as far as the bundle lets it.
        for _ in 0..100 {
            rt.task(()).submit(|(), _| ()).join().unwrap();
            passes.fetch_add(1, SeqCst);
        }
        done.join().unwrap();
    });
}

#[test]
fn a_continuation_of_any_size_and_alignment_is_kept() {
    #[repr(align(128))]
    struct Aligned([u8; 256]);

    on_all(|setting| {
        let arenas = Arenas::default();
        let rt = setting.build();
        let links = arenas.list(&rt, OptimisticLatched, 1);
        let bundle = || until::<false, _>(links[0], |_| true);
        let (large, aligned) = (Box::new([3u8; 4096]), Aligned([5; 256]));
        let ((promise, done), large) = (rt.promise(), *large);
        rt.task(()).bundle_then(bundle(), move |_, _| promise.fulfil(large.iter().all(|&byte| byte == 3)));
        assert!(done.join().unwrap());
        let (promise, done) = rt.promise();
        rt.task(()).bundle_then(bundle(), move |_, _| {
            let aligned = &aligned;
            let is_aligned = core::ptr::from_ref(aligned).addr().is_multiple_of(128);
            promise.fulfil(is_aligned && aligned.0.iter().all(|&byte| byte == 5));
        });
        assert!(done.join().unwrap());
    });
}

/// Spawns a sibling while it holds an item.
struct Spawns(Arc<AtomicUsize>);

impl Walk for Spawns {
    type Target = Item;
    type Output = ();

    fn read(&self, at: Link<Item>, _: &Item) -> Hop<Item, ()> {
        Hop::Write(at, Part::NONE)
    }

    fn write(&mut self, _: Link<Item>, _: Written<'_, Item>, cx: &mut Context) -> Hop<Item, ()> {
        let count = self.0.clone();
        cx.task(()).as_sibling().spawn(move |(), _| _ = count.fetch_add(1, SeqCst));
        Hop::End(())
    }
}

#[test]
fn siblings_that_a_writing_walk_spawns_belong_to_the_group_wherever_it_writes() {
    on_all(|setting| {
        let arenas = Arenas::default();
        let rt = setting.build();
        arenas.with_each_primitive(&rt, 4, |rt, links| {
            let (count, group) = (Arc::new(AtomicUsize::new(0)), rt.group());
            for core in 0..3 {
                let (links, count) = (links.to_vec(), count.clone());
                let walks = links.into_iter().map(move |link| (link.write(), Spawns(count.clone())));
                let done = |_, outcome: Result<(), JoinError>, _: &mut Context| outcome.unwrap();
                rt.task(()).of(&group).core(core).bundle_then(each(walks, done), |_, _| ());
            }
            group.wait().unwrap();
            assert_eq!(count.load(SeqCst), 12);
        });
    });
}

#[test]
fn siblings_of_a_bundle_belong_to_its_group() {
    silence_tasks();
    on_all(|setting| {
        let arenas = Arenas::default();
        let rt = setting.build();
        let links = arenas.list(&rt, OptimisticLatched, 1);
        let count = Arc::new(AtomicUsize::new(0));
        let group = rt.group();
        let (link, counted) = (links[0], count.clone());
        let walks = (0..500).map(move |id| (link.read(), One::Fine(id)));
        let done = move |_, _, cx: &mut Context| {
            let counted = counted.clone();
            cx.task(()).as_sibling().spawn(move |(), _| _ = counted.fetch_add(1, SeqCst));
        };
        rt.task(()).of(&group).bundle_then(each(walks, done), |_, _| ());
        // A task of no group between the turns stays outside.
        for _ in 0..20 {
            rt.task(()).spawn(|(), cx| {
                let sibling = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    cx.task(()).as_sibling().spawn(|(), _| ());
                }));
                assert!(sibling.is_err());
            });
        }
        group.wait().unwrap();
        assert_eq!(count.load(SeqCst), 500);
    });
}
