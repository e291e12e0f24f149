//! Tasks with lists of objects, whose length is known only at run time.

use crate::common::{
    Dropped, Flag, Pair, Random, Setting, eventually, let_others_in, on_all, on_each, silence_tasks, watchdog,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use xtasking::{
    JoinError, Object, Plain, Runtime, Shared, Shutdown, Snapshot, Versioned,
    arena::{Arena, Array, Link},
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::{ReadOrWrite, ReadOrWriteLink, ReadOrWriteView},
};

const ACCOUNTS: usize = 24;
const START: i64 = 100;

/// Accounts of one class, with all its primitives.
fn accounts(rt: &Runtime) -> Vec<Object<Plain<i64>>> {
    let account = |number| match number % 2 {
        0 => rt.plain(START).pin(Sequencing).build(),
        _ => rt.plain(START).pin(SpinLatch).build(),
    };
    (0..ACCOUNTS).map(account).collect()
}

/// Returns some different numbers below `end`, in random order.
fn subset(random: &mut Random, end: usize, most: usize) -> Vec<usize> {
    let mut all: Vec<_> = (0..end).collect();
    (0..end).for_each(|at| all.swap(at, at + random.below(end - at)));
    all.truncate(random.below(most + 1));
    all
}

#[test]
fn transfers_among_random_accounts_keep_the_sum() {
    on_all(|setting| {
        let _watched = watchdog();
        let rt = setting.build();
        let (plain, group) = (accounts(&rt), rt.group());
        let mut random = Random::new(7);
        for round in 0..300 {
            let chosen = subset(&mut random, ACCOUNTS, ACCOUNTS);
            let writes: Vec<_> = chosen.iter().map(|&account| plain[account].write()).collect();
            let len = writes.len();
            rt.task(writes).of(&group).core(round).spawn(move |mut accounts, _| {
                assert_eq!(accounts.len(), len);
                if let [from, .., to] = &mut accounts[..] {
                    **from -= 7;
                    let_others_in();
                    **to += 7;
                }
            });
            // All of them at one moment, beside tuples and single objects.
            let reads: Vec<_> = plain.iter().map(|account| account.read()).collect();
            rt.task(&reads).of(&group).spawn(|accounts, _| {
                assert_eq!(accounts.into_iter().sum::<i64>(), START * ACCOUNTS as i64);
            });
            let two = (plain[3].write(), plain[random.below(3)].write());
            rt.task(two).of(&group).spawn(|(one, other), _| {
                *one += 1;
                *other -= 1;
            });
        }
        group.wait().unwrap();
    });
}

#[test]
fn lists_mix_reads_and_writes_of_every_class() {
    fn go(rt: &Runtime, random: &mut Random) {
        let plain = accounts(rt);
        let shared: Vec<Object<Shared<i64>>> = vec![
            rt.shared_reads(1).pin(Sequencing).build(),
            rt.shared_reads(2).pin(SpinLatch).build(),
            rt.shared_reads(3).pin(ReaderWriterLatch).build(),
        ];
        let snapshot: Vec<Object<Snapshot<i64>>> = vec![
            rt.snapshot(1).pin(OptimisticSequenced).build(),
            rt.snapshot(2).pin(OptimisticLatched).build(),
            rt.snapshot(3).build(),
        ];
        let pair = || rt.versioned(Pair::default());
        let versioned: Vec<Object<Versioned<Pair>>> = vec![
            pair().pin(Sequencing).build(),
            pair().pin(ReaderWriterLatch).build(),
            pair().pin(OptimisticSequenced).build(),
            pair().pin(OptimisticLatched).build(),
        ];
        let group = rt.group();
        let mut writes = [0; 4];
        macro_rules! add {
            ($class:literal, $objects:ident, |$writer:ident| $add:expr) => {
                let list: Vec<_> = subset(random, $objects.len(), $objects.len())
                    .into_iter()
                    .map(|number| match random.below(2) {
                        0 => {
                            writes[$class] += 1;
                            ReadOrWrite::from($objects[number].write())
                        }
                        _ => $objects[number].read().into(),
                    })
                    .collect();
                rt.task(list).of(&group).spawn(|mut list, _| {
                    for view in &mut list {
                        if let Some($writer) = view.writer() {
                            $add
                        }
                    }
                });
            };
        }
        for _ in 0..100 {
            add!(0, plain, |account| **account += 1);
            add!(1, shared, |account| **account += 1);
            add!(2, snapshot, |account| **account += 1);
            add!(3, versioned, |pair| {
                let sum = pair.0.get() + 1;
                pair.0.set(sum, pair.token());
                pair.1.set(sum, pair.token());
            });
        }
        group.wait().unwrap();
        let list: Vec<_> = plain.iter().map(Object::read).collect();
        let sum = rt.task(list).submit(|list, _| list.into_iter().sum::<i64>()).join().unwrap();
        assert_eq!(sum, START * ACCOUNTS as i64 + writes[0]);
        let list: Vec<_> = shared.iter().map(Object::read).collect();
        assert_eq!(
            rt.task(list).submit(|list, _| list.into_iter().sum::<i64>()).join().unwrap(),
            6 + writes[1]
        );
        let list: Vec<_> = snapshot.iter().map(Object::read).collect();
        assert_eq!(
            rt.task(list).submit(|list, _| list.into_iter().sum::<i64>()).join().unwrap(),
            6 + writes[2]
        );
        let list: Vec<_> = versioned.iter().map(Object::read).collect();
        let sums = rt.task(list).submit(|list, _| {
            [list.iter().map(|pair| pair.0.get()).sum::<u64>(), list.iter().map(|pair| pair.1.get()).sum()]
        });
        assert_eq!(sums.join().unwrap(), [writes[3] as u64; 2]);
    }
    on_all(|setting| {
        let _watched = watchdog();
        go(&setting.build(), &mut Random::new(11));
    });
}

/// Nodes and elements, from outside and from tasks, with more objects than a tuple has.
#[test]
fn nodes_of_an_arena_and_elements_of_an_array_are_listed() {
    on_all(|setting| {
        let _watched = watchdog();
        let rt = setting.build();
        let arena = Arena::with_primitive(&rt, OptimisticSequenced);
        let links: Vec<Link<Pair>> = (0..50).map(|_| arena.alloc_outside(Pair::default())).collect();
        let array = Array::new(&rt, 50, |_| Pair::default());
        let elements = array.links();
        let group = rt.group();
        for round in 0..40 {
            let links = links.clone();
            rt.task(()).of(&group).core(round).spawn(move |(), cx| {
                let access = |(at, link): (usize, &Link<Pair>)| match at % 3 {
                    0 => ReadOrWriteLink::from(link.write()),
                    _ => link.read().into(),
                };
                let list: Vec<_> = links.iter().enumerate().map(access).collect();
                cx.task(list).as_sibling().spawn(move |mut nodes, cx| {
                    for node in &mut nodes {
                        if let ReadOrWriteView::Write(node) = node {
                            node.0.set(node.0.get() + 1, node.token());
                        }
                    }
                    let list: Vec<_> = (0..50).rev().map(|index| elements.link(index).write()).collect();
                    cx.task(&list[..]).as_sibling().spawn(|elements, _| {
                        for (at, element) in elements.iter().rev().enumerate() {
                            element.0.set(element.0.get() + at as u64, element.token());
                        }
                    });
                });
            });
        }
        group.wait().unwrap();
        let list: Vec<_> = links.iter().map(|link| link.read()).collect();
        let words =
            rt.task(list).submit(|nodes, _| nodes.iter().map(|node| node.0.get()).collect::<Vec<_>>());
        let words = words.join().unwrap();
        assert!(words.iter().enumerate().all(|(at, word)| *word == if at % 3 == 0 { 40 } else { 0 }));
        assert!((0..50).all(|at| array.peek(at).0.get() == 40 * at as u64));
        drop(arena);
        eventually("the arena is gone", || {
            let again: Vec<_> = links.iter().map(|link| link.write()).collect();
            matches!(rt.task(again).submit(|_, _| ()).join(), Err(JoinError::Freed))
        });
    });
}

#[test]
fn empty_long_and_contradictory_lists() {
    on_all(|setting| {
        silence_tasks();
        let _watched = watchdog();
        let rt = setting.build();
        let none: Vec<xtasking::task::Write<'_, Plain<i64>>> = Vec::new();
        assert_eq!(rt.task(none).submit(|list, _| list.len()).join().unwrap(), 0);
        let plain = accounts(&rt);
        let one = vec![plain[0].write()];
        assert_eq!(rt.task(one).submit(|list, _| *list[0]).join().unwrap(), START);
        // Twice to read is no contradiction.
        let twice = vec![plain[0].read(), plain[1].read(), plain[0].read()];
        let same = rt.task(twice).submit(|list, _| list.len() == 3 && std::ptr::eq(list[0], list[2]));
        assert!(same.join().unwrap());
        for list in [
            vec![ReadOrWrite::from(plain[0].read()), plain[1].write().into(), plain[0].write().into()],
            vec![ReadOrWrite::from(plain[0].write()), plain[0].read().into()],
            vec![ReadOrWrite::from(plain[1].write()), plain[0].read().into(), plain[1].write().into()],
        ] {
            let drops = Arc::new(AtomicUsize::new(0));
            let body = Dropped(drops.clone());
            let result = rt.task(list).submit(move |_, _| drop(body)).join();
            assert!(matches!(result, Err(JoinError::NamedTwice)), "{result:?}");
            assert_eq!(drops.load(SeqCst), 1);
        }
        let many: Vec<_> = (0..3000).map(|_| rt.plain(1).pin(Sequencing).build()).collect();
        for _ in 0..3 {
            let list: Vec<_> = many.iter().map(Object::write).collect();
            let sum = rt.task(list).submit(|list, _| {
                list.into_iter()
                    .map(|cell| {
                        *cell += 1;
                        *cell
                    })
                    .sum::<i32>()
            });
            assert!(sum.join().unwrap() % 3000 == 0);
        }
        // All objects can be used afterwards.
        for object in plain.iter() {
            rt.task(object.write()).submit(|_, _| ()).join().unwrap();
        }
    });
}

#[test]
fn a_panic_poisons_what_the_list_writes() {
    on_all(|setting| {
        silence_tasks();
        let _watched = watchdog();
        let rt = setting.build();
        let plain = accounts(&rt);
        let list: Vec<_> = (0..ACCOUNTS)
            .map(|at| match at % 3 {
                0 => ReadOrWrite::from(plain[at].write()),
                _ => plain[at].read().into(),
            })
            .collect();
        let result = rt.task(list).submit(|_, _| panic!("provoked")).join();
        assert!(matches!(result, Err::<(), _>(JoinError::Panicked(_))));
        for (at, account) in plain.iter().enumerate() {
            assert_eq!(account.is_poisoned(), at % 3 == 0);
        }
        let all: Vec<_> = plain.iter().map(Object::read).collect();
        assert!(matches!(rt.task(all).submit(|_, _| ()).join(), Err(JoinError::Poisoned)));
        plain.iter().for_each(Object::clear_poison);
        let all: Vec<_> = plain.iter().map(Object::write).collect();
        assert_eq!(rt.task(all).submit(|all, _| all.len()).join().unwrap(), ACCOUNTS);
    });
}

#[test]
fn lists_are_cancelled_and_borrow_in_scopes() {
    on_each(Setting::threads(), |setting| {
        silence_tasks();
        let rt = setting.build();
        let plain = accounts(&rt);
        let (entered, open) = (Flag::default(), Flag::default());
        let (here, gate) = (entered.clone(), open.clone());
        let holder = rt.task(plain[0].write()).submit(move |_, _| {
            here.set();
            gate.wait();
        });
        entered.wait();
        let all = || plain.iter().map(Object::write).collect::<Vec<_>>();
        let waiting = rt.task(all()).submit(|_, _| ());
        waiting.cancel();
        let last = rt.task(all()).submit(|all, _| all.len());
        open.set();
        holder.join().unwrap();
        assert!(matches!(waiting.join(), Err(JoinError::Cancelled)));
        assert_eq!(last.join().unwrap(), ACCOUNTS);
        let amounts: Vec<i64> = (0..ACCOUNTS as i64).collect();
        rt.task_scope(|scope| {
            for part in amounts.chunks(5) {
                let list: Vec<_> = part.iter().map(|&at| plain[at as usize].write()).collect();
                scope.task(list).spawn(move |list, _| {
                    list.into_iter().zip(part).for_each(|(account, amount)| *account += amount);
                });
            }
        })
        .unwrap();
        for (at, account) in plain.iter().enumerate() {
            let sum = rt.task(account.read()).submit(|sum, _| *sum).join().unwrap();
            assert_eq!(sum, START + at as i64);
        }
        rt.shutdown(Shutdown::Cancel);
    });
}

/// A spawn without memory for all placeholders takes none.
#[test]
fn a_list_without_memory_is_refused() {
    silence_tasks();
    let rt = Runtime::builder().workers(2).memory_limit(1 << 20).build().unwrap();
    let many: Vec<_> = (0..20_000).map(|_| rt.plain(0).pin(Sequencing).build()).collect();
    let all = |len: usize| many[..len].iter().map(Object::write).collect::<Vec<_>>();
    let result = rt.task(all(20_000)).submit(|_, _| ()).join();
    assert!(matches!(result, Err(JoinError::OutOfMemory)), "{result:?}");
    for _ in 0..20 {
        let len = rt.task(all(1000)).submit(|list, _| list.into_iter().map(|count| *count += 1).count());
        assert_eq!(len.join().unwrap(), 1000);
    }
}
