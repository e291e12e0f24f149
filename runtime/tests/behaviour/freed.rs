//! Arenas and arrays free what is left in them, and links that outlive them do no harm.

use crate::common::{
    Dropped, Flag, Gate, PATIENCE, Random, Setting, eventually, on_all, on_each, silence_tasks, watchdog,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use xtasking::bundle::{Hop, Start, Walk, each};
use xtasking::{
    Context, JoinError, Part, Runtime, Shutdown, Version, Versioned, Word,
    arena::{Arena, Array, Link, Step, Visit, Written},
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::LegalFor,
};

/// A node with memory of its own, which a reader looks at.
struct Node {
    one: Word,
    two: Word,
    text: Box<str>,
    next: Option<Link<Node>>,
    _drops: Dropped,
}

impl Version for Node {}

fn node(drops: &Arc<AtomicUsize>, next: Option<Link<Node>>) -> Node {
    let [one, two] = [(); 2].map(|()| Word::new(0));
    Node { one, two, text: "alive".into(), next, _drops: Dropped(drops.clone()) }
}

/// Makes a list. Returns its links, the first node's last.
fn list<P: LegalFor<Versioned<Node>>>(
    rt: &Runtime,
    primitive: P,
    len: usize,
    drops: &Arc<AtomicUsize>,
) -> (Arena<Node>, Vec<Link<Node>>) {
    let arena = Arena::with_primitive(rt, primitive);
    let mut links = Vec::new();
    (0..len).for_each(|_| links.push(arena.alloc_outside(node(drops, links.last().copied()))));
    (arena, links)
}

/// Goes to the end of a list, or writes its first node.
struct Count;

impl Walk for Count {
    type Target = Node;
    type Output = ();
    fn read(&self, _: Link<Node>, node: &Node) -> Hop<Node, ()> {
        assert_eq!(&*node.text, "alive");
        node.next.map_or(Hop::End(()), |next| Hop::Go(next, Part::HEAD))
    }
    fn write(&mut self, _: Link<Node>, node: Written<'_, Node>, _: &mut Context) -> Hop<Node, ()> {
        assert_eq!(&*node.text, "alive");
        Hop::End(())
    }
}

/// A walk that looks at its next node before it reads it.
struct Locating;

impl Visit for Locating {
    type Target = Node;
    type Output = ();
    const LOCATES: bool = true;
    fn locate(&self, _: Link<Node>, node: &Node) -> Part {
        assert_eq!(&*node.text, "alive");
        Part::HEAD
    }
    fn read(&self, _: Link<Node>, node: &Node) -> Step<Node, ()> {
        assert_eq!(&*node.text, "alive");
        node.next.map_or(Step::End(()), |next| Step::Go(next, Part::HEAD))
    }
    fn then(self, (): (), _: &mut Context) {}
}

/// Runs a test on a list with each primitive.
fn with_each_primitive(rt: &Runtime, len: usize, test: impl Fn(Arena<Node>, &[Link<Node>], &AtomicUsize)) {
    let drops = Arc::new(AtomicUsize::new(0));
    let test = |(arena, links): (Arena<Node>, Vec<Link<Node>>)| {
        drops.store(0, SeqCst);
        test(arena, &links, &drops);
    };
    test(list(rt, Sequencing, len, &drops));
    test(list(rt, SpinLatch, len, &drops));
    test(list(rt, ReaderWriterLatch, len, &drops));
    test(list(rt, OptimisticSequenced, len, &drops));
    test(list(rt, OptimisticLatched, len, &drops));
}

/// Waits until a condition holds, while the runtime advances.
fn in_time(rt: &Runtime, what: &str, is_true: impl Fn() -> bool) {
    for round in 0..10_000 {
        if is_true() {
            return;
        }
        rt.task(()).core(round).submit(|(), _| ()).join().unwrap();
    }
    eventually(what, is_true);
}

/// Returns true if the node is freed. Nodes of another test may lie there by now.
fn is_refused(result: &Result<(), JoinError>) -> bool {
    matches!(result, Err(JoinError::Freed | JoinError::Foreign))
}

/// Every kind of task fails at freed nodes.
fn assert_refused(rt: &Runtime, [link, other]: [Link<Node>; 2]) {
    let freed = |result: Result<(), JoinError>| assert!(is_refused(&result), "{result:?}");
    freed(rt.task(link.read()).submit(|_, _| ()).join());
    freed(rt.task(link.write()).submit(|_, _| ()).join());
    freed(rt.task(link.read()).submit_read(|_| (), |(), _| ()).join());
    freed(rt.task((link.write(), other.write())).submit(|_, _| ()).join());
    freed(rt.task((other.read(), link.read())).submit(|_, _| ()).join());
    freed(rt.reader().walk(link, |_, _: &Node| Step::End(())));
    let group = rt.group();
    rt.task(link.read()).of(&group).visit(Locating);
    freed(group.wait());
    let alive = rt.versioned(crate::common::Pair::default()).build();
    freed(rt.task((alive.write(), link.write())).submit(|_, _| ()).join());
    freed(rt.task((link.read(), alive.read())).submit(|_, _| ()).join());
    rt.task(alive.write()).submit(|_, _| ()).join().unwrap();
    let results = Arc::new(Mutex::new(Vec::new()));
    for start in [Start::from(link.read()), link.write().into()] {
        let told = results.clone();
        let bundle =
            each([(start, Count)].into_iter(), move |_, result, _| told.lock().unwrap().push(result));
        drop(rt.task(()).submit_bundle(bundle).join().unwrap());
    }
    let results = results.lock().unwrap().drain(..).collect::<Vec<_>>();
    assert_eq!(results.len(), 2);
    results.into_iter().for_each(freed);
}

#[test]
fn an_arena_frees_its_nodes_when_it_is_dropped() {
    on_all(|setting| {
        silence_tasks();
        let _watched = watchdog();
        let rt = setting.build();
        with_each_primitive(&rt, 100, |arena, links, drops| {
            let clone = arena.clone();
            drop(arena);
            rt.task(links[7].write()).submit(|node, _| node.one.set(1, node.token())).join().unwrap();
            assert_eq!((drops.load(SeqCst), clone.stats().live), (0, 100));
            drop(clone);
            in_time(&rt, "the nodes are dropped", || drops.load(SeqCst) == 100);
            assert_refused(&rt, [links[99], links[98]]);
        });
    });
}

#[test]
fn tasks_that_were_spawned_before_still_find_their_nodes() {
    on_all(|setting| {
        let _watched = watchdog();
        let rt = setting.build();
        with_each_primitive(&rt, 50, |arena, links, drops| {
            let (gate, all) = Gate::new(&rt, 100);
            for link in links {
                let [one, two] = [gate.clone(), gate.clone()];
                rt.task(link.write()).spawn(move |node, cx| {
                    assert_eq!(&*node.text, "alive");
                    node.one.set(1, node.token());
                    // A task of the same operation.
                    if let Some(next) = node.next {
                        cx.task(next.read()).spawn(move |node, _| {
                            assert_eq!(&*node.text, "alive");
                            one.pass();
                        });
                    } else {
                        one.pass();
                    }
                });
                rt.task(link.read())
                    .read_then(|node| assert_eq!(&*node.text, "alive"), move |(), _| two.pass());
            }
            drop((arena, gate));
            all.join().unwrap();
            in_time(&rt, "the nodes are dropped", || drops.load(SeqCst) == 50);
        });
    });
}

/// Tasks of all kinds, by links of an arena that is dropped meanwhile: each finds its node whole or
/// fails, and each node is dropped once.
#[test]
fn old_links_are_used_all_the_time() {
    const NODES: usize = 24;
    on_all(|setting| {
        silence_tasks();
        let _watched = watchdog();
        let rt = setting.build();
        let rounds = if PATIENCE == 1 && !setting.is_simulation() { 2 } else { 1 };
        for round in 0..rounds {
            with_each_primitive(&rt, NODES, |arena, links, drops| {
                let mut owner = Some(arena);
                let mut random = Random::new(round);
                let (group, mut handles) = (rt.group(), Vec::new());
                let mut spawned = 0;
                while spawned < 3_000 && (drops.load(SeqCst) < NODES || spawned < 600) {
                    let [one, other] = [(); 2].map(|()| links[random.below(NODES)]);
                    let write = |node: Written<'_, Node>| {
                        assert!(&*node.text == "alive" && node.one.get() == node.two.get());
                        let sum = node.one.get() + 1;
                        node.one.set(sum, node.token());
                        node.two.set(sum, node.token());
                    };
                    let read = |node: &Node| {
                        assert_eq!(&*node.text, "alive");
                        node.one.get() == node.two.get()
                    };
                    match random.below(6) {
                        0 => handles.push(rt.task(one.write()).submit(move |node, _| write(node))),
                        1 => handles.push(rt.task(one.read()).submit_read(read, |equal, _| assert!(equal))),
                        2 if !one.is_same_node(other) => {
                            handles.push(rt.task((one.write(), other.read())).submit(
                                move |(one, other), _| {
                                    write(one);
                                    assert_eq!(&*other.text, "alive");
                                },
                            ));
                        }
                        3 => {
                            let task = rt.task(()).submit(move |(), cx| {
                                cx.task(one.write()).begin_operation().spawn(move |node, _| write(node));
                            });
                            handles.push(task);
                        }
                        4 => rt.task(one.read()).of(&group).visit(Locating),
                        _ => {
                            let starts = [Start::from(one.read()), other.write().into()];
                            let walks = starts.map(|start| (start, Count)).into_iter();
                            let bundle = each(walks, |_, result: Result<(), JoinError>, _| {
                                assert!(
                                    matches!(result, Ok(()) | Err(JoinError::Freed | JoinError::Foreign)),
                                    "{result:?}"
                                );
                            });
                            rt.task(()).of(&group).bundle_then(bundle, |_, _| ());
                        }
                    }
                    spawned += 1;
                    if spawned == 200 {
                        drop(owner.take());
                    }
                }
                for handle in handles {
                    let result = handle.join();
                    assert!(
                        matches!(result, Ok(()) | Err(JoinError::Freed | JoinError::Foreign)),
                        "{result:?}"
                    );
                }
                let result = group.wait();
                assert!(matches!(result, Ok(())) || is_refused(&result), "{result:?}");
                in_time(&rt, "the nodes are dropped", || drops.load(SeqCst) == NODES);
                assert_refused(&rt, [links[0], links[1]]);
            });
        }
        assert_eq!(rt.task(()).submit(|(), _| 5).join().unwrap(), 5);
    });
}

/// Addresses are used again, for nodes of the same type.
#[test]
fn many_arenas_one_after_the_other_take_no_more_addresses() {
    struct Own([Word; 6]);
    impl Version for Own {}
    let rt = Setting::Threads { workers: 2 }.build();
    let mut addresses = Vec::new();
    for round in 0..200_u64 {
        let arena = Arena::new(&rt);
        let link = arena.alloc_outside(Own(std::array::from_fn(|_| Word::new(round))));
        let array = Array::new(&rt, 5_000, |_| Own(Default::default()));
        assert_eq!(rt.task(link.read()).submit(|node, _| node.0[5].get()).join().unwrap(), round);
        addresses.extend([link.address(), array.link(0).address()]);
        drop((arena, array));
        if round % 10 == 9 {
            // Lets the workers free what was dropped.
            (0..200).for_each(|round| rt.task(()).core(round).submit(|(), _| ()).join().unwrap());
        }
    }
    addresses.sort_unstable();
    addresses.dedup();
    assert!(addresses.len() < 200, "{} addresses", addresses.len());
}

#[test]
fn arrays_free_their_elements_when_they_are_dropped() {
    on_all(|setting| {
        silence_tasks();
        let _watched = watchdog();
        let rt = setting.build();
        for (len, more) in [(0, 10), (2, 0), (3000, 0), (3000, 2000)] {
            let drops = Arc::new(AtomicUsize::new(0));
            let array = Array::builder(&rt).build(len, |_| node(&drops, None));
            array.grower().unwrap().grow(&rt, more, |_| node(&drops, None));
            let (links, all) = (array.links(), len + more);
            let last = links.link(all - 1);
            let task = rt.task(array.write(all - 1)).submit(|node, _| node.one.set(1, node.token()));
            drop(array);
            task.join().unwrap();
            in_time(&rt, "the elements are dropped", || drops.load(SeqCst) == all);
            assert!(links.len() == all && links.index_of(last) == Some(all - 1));
            assert_refused(&rt, [last, links.link(0)]);
        }
    });
}

/// The queue of a freed element is not touched, nor its home asked for its turn.
#[test]
fn arrays_of_other_classes_outlive_their_tasks() {
    on_all(|setting| {
        let _watched = watchdog();
        let rt = setting.build();
        let drops = Arc::new(AtomicUsize::new(0));
        let texts = Array::plain(&rt).build(100, |_| (Dropped(drops.clone()), String::from("text")));
        let totals = Array::snapshot(&rt).build(100, |index| [index as u64; 2]);
        let group = rt.group();
        for index in 0..100 {
            rt.task((texts.write(index), totals.read(index))).of(&group).spawn(|(text, total), _| {
                text.1.push_str(&total[0].to_string());
            });
            rt.task(texts.read(index))
                .of(&group)
                .spawn(move |text, _| assert_eq!(text.1, format!("text{index}")));
        }
        drop((texts, totals));
        group.wait().unwrap();
        in_time(&rt, "the elements are dropped", || drops.load(SeqCst) == 100);
    });
}

#[test]
fn an_arena_may_be_dropped_anywhere() {
    on_all(|setting| {
        silence_tasks();
        let _watched = watchdog();
        let rt = setting.build();
        with_each_primitive(&rt, 10, |arena, links, drops| {
            // Inside a node.
            let drop_it = rt.task(links[0].write()).submit(move |node, _| {
                drop(arena);
                node.one.set(1, node.token());
            });
            drop_it.join().unwrap();
            in_time(&rt, "the nodes are dropped", || drops.load(SeqCst) == 10);
        });
        let drops = Arc::new(AtomicUsize::new(0));
        let (first, _) = list(&rt, OptimisticLatched, 10, &drops);
        let (second, links) = list(&rt, OptimisticSequenced, 10, &drops);
        let third = Array::new(&rt, 10, |_| node(&drops, None));
        // By a panic, in a task.
        let panic = rt.task(links[0].write()).submit(move |_, _| {
            let _dropped = first;
            panic!("provoked");
        });
        assert!(matches!(panic.join(), Err(JoinError::Panicked(_))));
        assert!(matches!(rt.task(links[0].read()).submit(|_, _| ()).join(), Err(JoinError::Poisoned)));
        in_time(&rt, "the nodes are dropped", || drops.load(SeqCst) == 10);
        // At the end of the runtime, and after it.
        let kept = third.clone();
        drop((second, third));
        rt.shutdown(Shutdown::Drain);
        assert_eq!(drops.load(SeqCst), 20);
        drop(kept);
        assert_eq!(drops.load(SeqCst), 30);
        // In another runtime the links are refused.
        let other = setting.build();
        let result = other.task(links[3].write()).submit(|_, _| ()).join();
        assert!(matches!(result, Err(JoinError::Freed)), "{result:?}");
    });
}

/// A node whose destructor panics leaves the others to be dropped.
#[test]
fn a_panic_in_a_destructor_is_kept_quiet() {
    struct Angry(#[allow(dead_code, reason = "dropped")] Dropped);
    impl Version for Angry {}
    impl Drop for Angry {
        fn drop(&mut self) {
            panic!("provoked");
        }
    }
    silence_tasks();
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let drops = Arc::new(AtomicUsize::new(0));
        let arena = Arena::new(&rt);
        (0..20).for_each(|_| _ = arena.alloc_outside(Angry(Dropped(drops.clone()))));
        drop(arena);
        in_time(&rt, "the nodes are dropped", || drops.load(SeqCst) == 20);
    });
}

/// An element whose value says whether it is there.
struct Element(Arc<AtomicBool>);

impl Version for Element {}

impl Drop for Element {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// In memory that old links lead to, an array whose maker panics drops its elements while no task
/// is inside one.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn no_task_is_inside_an_element_of_an_unfinished_array() {
    let _watched = watchdog();
    silence_tasks();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let element = |dropped: &Arc<AtomicBool>| Element(dropped.clone());
    let dropped = Arc::new(AtomicBool::new(false));
    let old = Array::new(&rt, 2, |_| element(&dropped)).link(0);
    in_time(&rt, "the array is dropped", || dropped.load(SeqCst));
    let mut others = Vec::new();
    let is_reached = |array: &Array<Element>| array.link(0).is_same_node(old);
    while !others.last().is_some_and(is_reached) {
        let dropped = Arc::new(AtomicBool::new(false));
        let (inside, unwound, task) = (Flag::default(), Flag::default(), Mutex::new(None));
        let maker = |index| {
            if index == 1 {
                let (is_inside, is_unwound) = (inside.clone(), unwound.clone());
                let visit = rt.task(old.read()).submit(move |element, _| {
                    let dropped = element.0.clone();
                    is_inside.set();
                    is_unwound.wait();
                    dropped.load(SeqCst)
                });
                eventually("the task is inside or over", || inside.is_set() || visit.is_finished());
                *task.lock().unwrap() = Some(visit);
                assert!(!inside.is_set(), "provoked: a task is inside an element");
            }
            element(&dropped)
        };
        let array = catch_unwind(AssertUnwindSafe(|| Array::new(&rt, 2, maker)));
        unwound.set();
        let task = task.into_inner().unwrap().expect("the task was submitted");
        assert!(!matches!(task.join(), Ok(true)), "an element was dropped with a task inside");
        others.extend(array.ok());
    }
}
