//! Groups: a group ends once, when all members have ended, whatever their outcome.

use crate::common::{
    Dropped, Flag, Pair, Random, Setting, eventually, lock, on_all, side_by_side, silence_tasks, watchdog,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use xtasking::{
    Context, Fork, Group, Handle, JoinError, Primitive, Priority, QueuePolicy, Runtime, Shutdown,
    arena::{Arena, Link, Modify, Step, Visit, Written},
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
};

fn threads(workers: usize) -> Runtime {
    Setting::Threads { workers }.build()
}

/// The failures reported to a runtime's hook.
type Heard = Arc<Mutex<Vec<String>>>;

fn listening(setting: Setting) -> (Runtime, Heard) {
    let heard = Heard::default();
    let hear = heard.clone();
    let hook = move |failure: xtasking::Failure| lock(&hear).push(failure.error.to_string());
    (setting.builder().on_failure(hook).build().unwrap(), heard)
}

#[test]
fn a_group_is_over_when_all_members_are() {
    on_all(|setting| {
        let rt = setting.build();
        for members in [0, 1, 2, 33, 1000] {
            let ran = Arc::new(AtomicUsize::new(0));
            let group = rt.group();
            for _ in 0..members {
                let ran = ran.clone();
                rt.task(()).of(&group).spawn(move |(), _| _ = ran.fetch_add(1, SeqCst));
            }
            group.wait().unwrap();
            assert_eq!(ran.load(SeqCst), members);
        }
    });
}

/// A tree of members, each of which spawns two more.
fn grow(levels: u32, ran: Arc<AtomicUsize>, cx: &mut Context) {
    ran.fetch_add(1, SeqCst);
    for branch in 0..if levels == 0 { 0 } else { 2 } {
        let ran = ran.clone();
        // On both workers, and on the current one.
        let task = cx.task(()).as_sibling();
        let task = if levels.is_multiple_of(2) { task.core(branch) } else { task };
        task.spawn(move |(), cx| grow(levels - 1, ran, cx));
    }
}

#[test]
fn members_of_members_belong_to_the_group() {
    on_all(|setting| {
        let rt = setting.build();
        let ran = Arc::new(AtomicUsize::new(0));
        let group = rt.group();
        let first = ran.clone();
        rt.task(()).of(&group).spawn(move |(), cx| grow(10, first, cx));
        let (promise, seen) = rt.promise();
        let counted = ran.clone();
        group.then(&rt, move |outcome, _| {
            outcome.unwrap();
            promise.fulfil(counted.load(SeqCst));
        });
        assert_eq!(seen.join().unwrap(), (1 << 11) - 1);
    });
}

/// Divides work down to single pieces, each of which spawns a member.
fn divide(levels: u32, ran: &Arc<AtomicUsize>, mut cx: Fork<'_>) {
    if levels > 0 {
        cx.join(|cx| divide(levels - 1, ran, cx), |cx| divide(levels - 1, ran, cx));
    } else {
        let ran = ran.clone();
        cx.task(()).as_sibling().spawn(move |(), _| _ = ran.fetch_add(1, SeqCst));
        // Gives another worker time to steal a piece.
        (0..100).for_each(|_| std::hint::spin_loop());
    }
}

#[test]
fn stolen_halves_spawn_siblings() {
    on_all(|setting| {
        let rt = setting.build();
        for _ in 0..20 {
            let ran = Arc::new(AtomicUsize::new(0));
            let (group, count) = (rt.group(), ran.clone());
            rt.task(()).of(&group).spawn(move |(), cx| divide(7, &count, cx.fork()));
            group.wait().unwrap();
            assert_eq!(ran.load(SeqCst), 1 << 7);
        }
    });
}

/// A visit of one step, and a modification. Both signal when they have run.
struct Look(Arc<AtomicUsize>);

impl Visit for Look {
    type Target = Pair;
    type Output = u64;
    fn read(&self, _: Link<Pair>, pair: &Pair) -> Step<Pair, u64> {
        Step::End(pair.0.get())
    }
    fn then(self, _: u64, _: &mut Context) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Modify for Look {
    type Target = Pair;
    type Output = ();
    fn write(&mut self, _: Link<Pair>, pair: Written<'_, Pair>, _: &mut Context) {
        pair.0.set(pair.0.get() + 1, pair.token());
    }
    fn then(self, (): (), cx: &mut Context) {
        // The second half is part of the group, too.
        let ran = self.0;
        cx.task(()).as_sibling().spawn(move |(), _| _ = ran.fetch_add(1, SeqCst));
    }
}

#[test]
fn every_kind_of_task_can_be_a_member() {
    on_all(|setting| {
        let rt = setting.build();
        for primitive in [Primitive::Sequencing, Primitive::OptimisticSequenced, Primitive::OptimisticLatched]
        {
            let arena = match primitive {
                Primitive::Sequencing => Arena::with_primitive(&rt, Sequencing),
                Primitive::OptimisticSequenced => Arena::with_primitive(&rt, OptimisticSequenced),
                _ => Arena::with_primitive(&rt, OptimisticLatched),
            };
            let node = arena.alloc_outside(Pair::default());
            let ran = Arc::new(AtomicUsize::new(0));
            let add = || {
                let ran = ran.clone();
                move || _ = ran.fetch_add(1, SeqCst)
            };
            let (a, b) = (rt.plain(0).pin(SpinLatch).build(), rt.plain(0).pin(Sequencing).build());
            let c = rt.snapshot(0u64).pin(OptimisticSequenced).build();
            let d = rt.shared_reads(0).pin(ReaderWriterLatch).build();
            let e = rt.versioned(Pair::default()).build();
            let group = rt.group();
            let mut handles = Vec::new();
            for _ in 0..5 {
                let [one, two, three, four, five, six] = std::array::from_fn(|_| add());
                rt.task(a.write()).of(&group).spawn(move |_, _| one());
                rt.task(b.write()).of(&group).spawn(move |_, _| two());
                rt.task(c.read()).of(&group).spawn(move |_, _| three());
                rt.task((d.read(), b.write(), a.read())).of(&group).spawn(move |_, _| four());
                rt.task(e.read()).of(&group).read_then(|pair| pair.0.get(), move |_, _| five());
                handles.push(rt.task(b.read()).of(&group).submit(move |_, _| six()));
                rt.task(node.read()).of(&group).visit(Look(ran.clone()));
                rt.task(node.write()).of(&group).modify(Look(ran.clone()));
                let large = ([1u8; 1000], add());
                rt.task(()).of(&group).spawn(move |(), _| {
                    assert_eq!(large.0, [1; 1000]);
                    large.1();
                });
            }
            group.wait().unwrap();
            assert_eq!(ran.load(SeqCst), 5 * 9);
            assert!(handles.iter().all(Handle::is_finished));
            drop(arena);
        }
    });
}

#[test]
fn a_continuation_follows_once_and_sees_what_members_did() {
    on_all(|setting| {
        let rt = setting.build();
        let mut random = Random::new(setting.seed());
        for _ in 0..50 {
            let members = random.below(40);
            let (objects, runs) = ([(); 3].map(|()| rt.plain(0usize).build()), Arc::new(AtomicUsize::new(0)));
            let group = rt.group();
            for member in 0..members {
                rt.task(objects[member % 3].write()).of(&group).spawn(|value, _| *value += 1);
            }
            let ran = runs.clone();
            let [a, b, c] = &objects;
            let task = rt.task((a.read(), b.write(), c.read())).after(group);
            let sum = task.submit(move |(a, b, c), _| {
                ran.fetch_add(1, SeqCst);
                *b += *a + *c;
                *b
            });
            assert_eq!(sum.join().unwrap(), members);
            assert_eq!(runs.load(SeqCst), 1);
        }
    });
}

#[test]
fn continuations_of_every_kind_come() {
    on_all(|setting| {
        let rt = setting.build();
        let arena = Arena::with_primitive(&rt, OptimisticLatched);
        let node = arena.alloc_outside(Pair::default());
        let ran = Arc::new(AtomicUsize::new(0));
        let object = rt.versioned(Pair::default()).build();
        for busy in [false, true] {
            let group = || {
                let group = rt.group();
                if busy {
                    rt.task(()).of(&group).spawn(|(), cx| cx.task(()).as_sibling().spawn(|(), _| ()));
                }
                group
            };
            let all = rt.group();
            rt.task(node.read()).after(group()).of(&all).visit(Look(ran.clone()));
            rt.task(node.write()).after(group()).of(&all).modify(Look(ran.clone()));
            let read = rt.task(object.read()).after(group()).submit_read(|pair| pair.0.get(), |_, _| 7);
            let bare = rt.task(()).core(1).priority(Priority::High).after(group()).submit(|(), _| 8);
            assert_eq!((read.join().unwrap(), bare.join().unwrap()), (7, 8));
            all.wait().unwrap();
        }
        assert_eq!(ran.load(SeqCst), 4);
        drop(arena);
    });
}

#[test]
fn groups_are_members_of_groups() {
    on_all(|setting| {
        let rt = setting.build();
        let ran = Arc::new(AtomicUsize::new(0));
        let all = rt.group();
        for _ in 0..10 {
            let part = rt.group();
            for _ in 0..10 {
                let ran = ran.clone();
                rt.task(()).of(&part).spawn(move |(), _| _ = ran.fetch_add(1, SeqCst));
            }
            let ran = ran.clone();
            rt.task(()).after(part).of(&all).spawn(move |(), _| _ = ran.fetch_add(100, SeqCst));
        }
        all.wait().unwrap();
        assert_eq!(ran.load(SeqCst), 10 * 110);
    });
}

#[test]
fn a_worker_that_goes_from_group_to_group_mixes_none_up() {
    on_all(|setting| {
        let rt = setting.build();
        let groups: [Group; 3] = std::array::from_fn(|_| rt.group());
        let counts: [Arc<AtomicUsize>; 3] = Default::default();
        for round in 0..300 {
            let count = counts[round % 3].clone();
            rt.task(()).of(&groups[round % 3]).spawn(move |(), cx| {
                let again = count.clone();
                cx.task(()).as_sibling().spawn(move |(), _| _ = again.fetch_add(1, SeqCst));
                count.fetch_add(1, SeqCst);
            });
            rt.task(()).spawn(|(), _| ());
        }
        for (group, count) in groups.into_iter().zip(counts) {
            group.wait().unwrap();
            assert_eq!(count.load(SeqCst), 200);
        }
    });
}

#[test]
fn threads_and_tasks_add_members_at_the_same_time() {
    let _watched = watchdog();
    let rt = Arc::new(threads(2));
    let ran = Arc::new(AtomicUsize::new(0));
    let group = Arc::new(rt.group());
    let add = || {
        for _ in 0..200 {
            let (there, count) = (group.clone(), ran.clone());
            rt.task(()).spawn(move |(), cx| {
                cx.task(()).of(&there).spawn(move |(), _| _ = count.fetch_add(1, SeqCst));
            });
            let count = ran.clone();
            rt.task(()).of(&group).spawn(move |(), _| _ = count.fetch_add(1, SeqCst));
        }
    };
    side_by_side([add; 3]);
    // Tasks that are not members hold a reference to the group, too.
    eventually("let go", || Arc::strong_count(&group) == 1);
    let group = Arc::into_inner(group).unwrap();
    group.wait().unwrap();
    assert_eq!(ran.load(SeqCst), 3 * 400);
}

#[test]
fn the_first_failure_goes_to_the_waiter_and_the_others_to_the_hook() {
    silence_tasks();
    on_all(|setting| {
        let (rt, heard) = listening(setting);
        let object = rt.plain(0).pin(Sequencing).build();
        let group = rt.group();
        rt.task(object.write()).of(&group).spawn(|_, _| panic!("provoked: one"));
        rt.task(object.write()).of(&group).spawn(|_, _| unreachable!("poisoned"));
        rt.task(object.read()).of(&group).spawn(|_, _| unreachable!("poisoned"));
        let told = rt.task(()).of(&group).submit(|(), _| panic!("provoked: told by its handle"));
        let error = group.wait().unwrap_err().to_string();
        assert!(error.contains("provoked: one"), "{error}");
        assert!(matches!(told.join(), Err(JoinError::Panicked(_))));
        let rest = std::mem::take(&mut *lock(&heard));
        assert!(rest.len() == 2 && rest.iter().all(|error| error.contains("poisoned")), "{rest:?}");
        // No group waits for these.
        let (dropped, followed) = (rt.group(), rt.group());
        rt.task(()).of(&dropped).spawn(|(), _| panic!("provoked: dropped"));
        rt.task(()).of(&followed).spawn(|(), _| panic!("provoked: followed"));
        drop(dropped);
        rt.task(()).after(followed).submit(|(), _| ()).join().unwrap();
        let (promise, told) = rt.promise();
        let group = rt.group();
        rt.task(()).of(&group).spawn(|(), _| panic!("provoked: three"));
        rt.task(()).priority(Priority::Low).after(group).then(move |outcome, _| promise.fulfil(outcome));
        assert!(told.join().unwrap().unwrap_err().to_string().contains("provoked: three"));
        rt.shutdown(Shutdown::Drain);
        let mut heard = lock(&heard).clone();
        heard.sort();
        assert!(
            heard.len() == 2 && heard[0].contains("dropped") && heard[1].contains("followed"),
            "{heard:?}"
        );
    });
}

#[test]
fn a_member_that_is_cancelled_is_over() {
    on_all(|setting| {
        let rt = setting.build();
        for _ in 0..50 {
            let group = rt.group();
            let tasks: Vec<_> = (0..10).map(|_| rt.task(()).of(&group).submit(|(), _| ())).collect();
            let cancelled = tasks.iter().filter(|task| task.cancel()).count();
            group.wait().unwrap();
            let refused = tasks.into_iter().map(Handle::join).filter(Result::is_err).count();
            assert_eq!(refused, cancelled);
        }
    });
}

#[test]
fn a_spawn_that_panics_leaves_no_ticket_behind() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let object = rt.plain(0).build();
        let group = rt.group();
        let twice = || rt.task((object.write(), object.write())).of(&group).spawn(|_, _| ());
        assert!(catch_unwind(AssertUnwindSafe(twice)).is_err());
        drop(rt.task(()).of(&group));
        group.wait().unwrap();
        // A continuation that is not spawned does not affect its group: the members still run.
        for spawned in [false, true] {
            let group = rt.group();
            let ran = Flag::default();
            let seen = ran.clone();
            rt.task(()).of(&group).spawn(move |(), _| seen.set());
            if spawned {
                let twice = || rt.task((object.write(), object.write())).after(group).spawn(|_, _| ());
                assert!(catch_unwind(AssertUnwindSafe(twice)).is_err());
            } else {
                drop(rt.task(()).after(group));
            }
            eventually("run", || {
                rt.task(()).submit(|(), _| ()).join().unwrap();
                ran.is_set()
            });
        }
        rt.shutdown(Shutdown::Drain);
    });
}

#[test]
fn groups_keep_to_their_runtime() {
    silence_tasks();
    let (one, two) = (Setting::Simulation { cores: 2, seed: 1 }.build(), threads(1));
    let group = one.group();
    let refused = |act: &dyn Fn()| {
        let payload = catch_unwind(AssertUnwindSafe(act)).unwrap_err();
        assert!(payload.downcast_ref::<&str>().unwrap().starts_with("a group is used by a task"));
    };
    refused(&|| two.task(()).of(&group).spawn(|(), _| ()));
    let group = Arc::new(group);
    let inside = group.clone();
    let failed = two.task(()).submit(move |(), cx| cx.task(()).of(&inside).spawn(|(), _| ())).join();
    assert!(matches!(failed, Err(JoinError::Panicked(_))));
    let lone = two.task(()).submit(|(), cx| cx.task(()).as_sibling().spawn(|(), _| ())).join();
    assert!(matches!(lone, Err(JoinError::Panicked(_))), "a sibling without a group");
    let group = Arc::into_inner(group).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| group.then(&two, |_, _| ()))).is_err());
}

#[test]
fn a_task_after_a_member_is_no_sibling_of_it() {
    on_all(|setting| {
        silence_tasks();
        let (rt, _) = listening(setting);
        let group = rt.group();
        for fails in [false, true] {
            rt.task(()).core(0).of(&group).spawn(move |(), _| assert!(!fails, "provoked"));
            let lone = rt.task(()).core(0).submit(|(), cx| cx.task(()).as_sibling().spawn(|(), _| ()));
            assert!(matches!(lone.join(), Err(JoinError::Panicked(_))));
        }
        assert!(group.wait().is_err());
    });
}

#[test]
fn a_worker_does_not_wait_for_a_group() {
    on_all(|setting| {
        let rt = Arc::new(setting.build());
        let there = rt.clone();
        let asked = rt.task(()).submit(move |(), cx| {
            let group = cx.group();
            cx.task(()).of(&group).spawn(|(), _| ());
            there.task(()).of(&group).spawn(|(), _| ());
            drop(there);
            matches!(group.wait(), Err(JoinError::WouldBlock))
        });
        assert!(asked.join().unwrap());
    });
}

#[test]
fn a_group_is_awaited() {
    let _watched = watchdog();
    let rt = threads(2);
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        for members in [0, 1, 100] {
            let ran = Arc::new(AtomicUsize::new(0));
            let group = rt.group();
            for _ in 0..members {
                let ran = ran.clone();
                rt.task(()).of(&group).spawn(move |(), _| _ = ran.fetch_add(1, SeqCst));
            }
            group.await.unwrap();
            assert_eq!(ran.load(SeqCst), members);
        }
    });
}

#[test]
fn a_shutdown_resolves_every_wait_and_continuation() {
    silence_tasks();
    on_all(|setting| {
        for how in [Shutdown::Drain, Shutdown::Cancel] {
            let (rt, _) = listening(setting);
            let (ran, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let mut handles = Vec::new();
            for round in 0..20 {
                let all = rt.group();
                let mut group = rt.group();
                // A chain of groups: each begins when the one before ends.
                for link in 0..4 {
                    for _ in 0..round {
                        let (ran, body) = (ran.clone(), Dropped(dropped.clone()));
                        rt.task(()).core(link).of(&group).spawn(move |(), _| {
                            let _body = body;
                            ran.fetch_add(1, SeqCst);
                        });
                    }
                    let next = rt.group();
                    let (ran, body) = (ran.clone(), Dropped(dropped.clone()));
                    let task = rt.task(()).after(group).of(&next);
                    handles.push(task.submit(move |(), _| {
                        let _body = body;
                        _ = ran.fetch_add(1, SeqCst);
                    }));
                    group = next;
                }
                let (count, body) = (ran.clone(), Dropped(dropped.clone()));
                rt.task(()).after(group).of(&all).then(move |_, _| {
                    let _body = body;
                    count.fetch_add(1, SeqCst);
                });
                handles.push(all.handle());
            }
            rt.shutdown(how);
            assert!(handles.iter().all(Handle::is_finished));
            let bodies = (0..20).map(|round| 4 * round + 5).sum::<usize>();
            assert_eq!(dropped.load(SeqCst), bodies);
            if how == Shutdown::Drain {
                assert_eq!(ran.load(SeqCst), bodies);
                handles.into_iter().for_each(|handle| handle.join().unwrap());
            }
        }
    });
}

#[test]
fn a_group_outlives_its_runtime() {
    on_all(|setting| {
        silence_tasks();
        let (rt, heard) = listening(setting);
        let [waited, awaited, dropped] = std::array::from_fn(|_| rt.group());
        for group in [&waited, &awaited, &dropped] {
            rt.task(()).of(group).spawn(|(), _| panic!("provoked"));
        }
        drop(rt);
        assert!(waited.wait().is_err());
        assert!(awaited.handle().join().is_err());
        drop(dropped);
        assert_eq!(lock(&heard).len(), 1);
    });
}

/// A member that spawns itself again until the flag is set.
fn stay(flag: Flag, cx: &mut Context) {
    if !flag.is_set() {
        cx.task(()).as_sibling().begin_operation().spawn(move |(), cx| stay(flag, cx));
    }
}

#[test]
fn a_continuation_keeps_its_objects_and_without_them_nothing() {
    on_all(|setting| {
        let rt = setting.build();
        let settle = || (0..200).for_each(|_| rt.task(()).submit(|(), _| ()).join().unwrap());
        let open = || {
            let (group, go) = (rt.group(), Flag::default());
            let flag = go.clone();
            rt.task(()).of(&group).spawn(move |(), cx| stay(flag, cx));
            (group, go)
        };
        let [kept, free] = std::array::from_fn(|_| Arc::new(AtomicUsize::new(0)));
        let (group, go) = open();
        let (promise, over) = rt.promise();
        group.then(&rt, move |_, _| promise.fulfil(()));
        drop(rt.plain(Dropped(free.clone())).build());
        eventually("freed", || {
            settle();
            free.load(SeqCst) == 1
        });
        assert!(!over.is_finished());
        go.set();
        over.join().unwrap();

        let (group, go) = open();
        let object = rt.plain(Dropped(kept.clone())).build();
        let seen = kept.clone();
        let over = rt.task(object.write()).after(group).submit(move |_, _| seen.load(SeqCst));
        drop(object);
        settle();
        assert_eq!(kept.load(SeqCst), 0);
        go.set();
        assert_eq!(over.join().unwrap(), 0);
        eventually("freed", || {
            settle();
            kept.load(SeqCst) == 1
        });
    });
}

/// A group ends even if there is no memory for a member or for its continuation.
#[test]
fn a_group_without_memory_is_over() {
    on_all(|setting| {
        let refused = Arc::new(AtomicUsize::new(0));
        let hear = refused.clone();
        // (Other queue policies run some at once, and so keep fewer.)
        let builder =
            setting.builder().pool(QueuePolicy::Local).memory_limit(1 << 20).on_failure(move |failure| {
                assert!(matches!(failure.error, JoinError::OutOfMemory), "{failure}");
                hear.fetch_add(1, SeqCst);
            });
        let rt = builder.build().unwrap();
        let (group, followed) = (rt.group(), rt.group());
        let ran = Arc::new(AtomicUsize::new(0));
        let counted = ran.clone();
        rt.task(())
            .submit(move |(), cx| {
                for _ in 0..20_000 {
                    let ran = counted.clone();
                    cx.task(()).of(&group).spawn(move |(), _| _ = ran.fetch_add(1, SeqCst));
                }
                let before = refused.load(SeqCst);
                assert!(before > 0, "there was memory enough");
                // The refusals of all members but the first, and that of the continuation.
                cx.task(()).after(followed).then(|_, _| unreachable!("there is no memory for it"));
                assert_eq!(refused.load(SeqCst), before + 1);
                (group.handle(), before + 1)
            })
            .join()
            .map(|(group, refused)| {
                assert!(matches!(group.join(), Err(JoinError::OutOfMemory)));
                assert_eq!(ran.load(SeqCst) + refused, 20_000);
            })
            .unwrap();
    });
}
