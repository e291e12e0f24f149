//! What a panic leaves of an object: poison, what is there, or what a task has mended.

use crate::common::{Random, Setting, on_all, on_each, silence_tasks};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use xtasking::arena::Array;
use xtasking::primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch};
use xtasking::task::{ReadOrWrite, Write};
use xtasking::{JoinError, Object, Plain, Runtime, Version, Word};

/// Two halves, which writers keep equal.
#[derive(Default)]
struct Halves(Word, Word);

impl Version for Halves {}

type Pair = [u32; 2];

/// Writes the first half, and panics.
fn half_way(rt: &Runtime, write: Write<'_, Plain<Pair>>) {
    let failed = rt.task(write).submit(|pair, _| {
        pair[0] += 1;
        panic!("provoked: half-way");
    });
    assert!(matches!(failed.join(), Err(JoinError::Panicked(_))));
}

fn read(rt: &Runtime, object: &Object<Plain<Pair>>) -> Result<Pair, JoinError> {
    rt.task(object.read()).submit(|pair, _| *pair).join()
}

#[test]
fn an_object_that_keeps_what_is_there_is_not_poisoned() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        macro_rules! kept {
            ($($object:expr),+) => {$({
                let object = $object.keep_on_panic().build();
                let failed = rt.task(object.write()).submit(|pair, _| {
                    pair[0] = 7;
                    panic!("provoked: half-way");
                });
                assert!(matches!(failed.join(), Err(JoinError::Panicked(_))));
                assert!(!object.is_poisoned());
                assert_eq!(rt.task(object.read()).submit(|pair, _| *pair).join().unwrap(), [7, 0]);
                // Also beside others, by a task with several objects.
                let other = rt.plain([0; 2]).build();
                let failed = rt.task((object.write(), other.write())).submit(|(kept, other), _| {
                    (kept[1], other[1]) = (8, 8);
                    panic!("provoked: half-way");
                });
                assert!(matches!(failed.join(), Err(JoinError::Panicked(_))));
                assert!(!object.is_poisoned() && other.is_poisoned());
                assert_eq!(rt.task(object.read()).submit(|pair, _| *pair).join().unwrap(), [7, 8]);
            })+};
        }
        kept!(
            rt.plain([0; 2]).pin(Sequencing),
            rt.plain([0; 2]).pin(SpinLatch),
            rt.shared_reads([0; 2]).pin(Sequencing),
            rt.shared_reads([0; 2]).pin(SpinLatch),
            rt.shared_reads([0; 2]).pin(ReaderWriterLatch)
        );
    });
}

#[test]
fn readers_of_a_version_that_is_kept_see_what_was_set() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let objects = [
            rt.versioned(Halves::default()).pin(OptimisticSequenced).keep_on_panic().build(),
            rt.versioned(Halves::default()).pin(OptimisticLatched).keep_on_panic().build(),
            rt.versioned(Halves::default()).pin(ReaderWriterLatch).keep_on_panic().build(),
        ];
        for object in objects {
            let failed = rt.task(object.write()).submit(|halves, _| {
                halves.0.set(3, halves.token());
                panic!("provoked: half-way");
            });
            assert!(matches!(failed.join(), Err(JoinError::Panicked(_))));
            let seen = |halves: &Halves| (halves.0.get(), halves.1.get());
            let read = rt.task(object.read()).submit_read(seen, |halves, _| halves);
            assert_eq!(read.join().unwrap(), (3, 0));
        }
    });
}

#[test]
fn elements_of_an_array_are_kept_and_mended() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let panics = |write| {
            let failed = rt.task(write).submit(|element: &mut u32, _| {
                *element += 1;
                panic!("provoked: half-way");
            });
            assert!(matches!(failed.join(), Err(JoinError::Panicked(_))));
        };
        let read = |array: &Array<u32, Plain<u32>>, index| {
            rt.task(array.read(index)).submit(|element, _| *element).join()
        };
        let kept = Array::plain(&rt).keep_on_panic().build(10, |_| 0);
        (0..10).for_each(|index| panics(kept.write(index)));
        // An element that is appended is kept as well.
        assert_eq!(kept.grower().expect("there is no other").push(7), 10);
        panics(kept.write(10));
        assert!((0..11).all(|index| !kept.is_poisoned(index)));
        assert_eq!((read(&kept, 3).unwrap(), read(&kept, 10).unwrap()), (1, 8));
        let poisoned = Array::plain(&rt).build(10, |_| 0);
        panics(poisoned.write(3));
        assert!(poisoned.is_poisoned(3) && matches!(read(&poisoned, 3), Err(JoinError::Poisoned)));
        rt.task(poisoned.write(3).even_poisoned()).submit(|element, _| *element = 5).join().unwrap();
        assert_eq!(read(&poisoned, 3).unwrap(), 5);
    });
}

#[test]
fn a_panic_discards_the_copy_of_a_snapshot() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let object = rt.snapshot([1u64, 1]).build();
        let failed = rt.task(object.write()).submit(|pair, _| {
            pair[0] = 7;
            panic!("provoked: half-way");
        });
        assert!(matches!(failed.join(), Err(JoinError::Panicked(_))));
        assert!(!object.is_poisoned());
        assert_eq!(rt.task(object.read()).submit(|pair, _| *pair).join().unwrap(), [1, 1]);
    });
}

#[test]
fn a_task_mends_a_poisoned_object() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        for object in [rt.plain([0; 2]).pin(Sequencing).build(), rt.plain([0; 2]).pin(SpinLatch).build()] {
            half_way(&rt, object.write());
            assert!(object.is_poisoned() && matches!(read(&rt, &object), Err(JoinError::Poisoned)));
            // A task that mends and panics leaves the poison.
            half_way(&rt, object.write().even_poisoned());
            assert!(object.is_poisoned() && matches!(read(&rt, &object), Err(JoinError::Poisoned)));
            let mended = rt.task(object.write().even_poisoned()).submit(|pair, _| {
                pair[1] = pair[0];
                pair[0]
            });
            assert_eq!(mended.join().unwrap(), 2);
            assert!(!object.is_poisoned());
            assert_eq!(read(&rt, &object).unwrap(), [2, 2]);
            // There need be nothing to mend.
            rt.task(object.write().even_poisoned()).submit(|pair, _| *pair = [0, 0]).join().unwrap();
            assert_eq!(read(&rt, &object).unwrap(), [0, 0]);
        }
    });
}

#[test]
fn a_task_mends_an_object_of_each_class() {
    silence_tasks();
    on_all(|setting| {
        let rt = &setting.build();
        let shared = rt.shared_reads(0).pin(ReaderWriterLatch).build();
        let failed = rt.task(shared.write()).submit(|_, _| panic!("provoked"));
        assert!(failed.join().is_err() && shared.is_poisoned());
        rt.task(shared.write().even_poisoned()).submit(|value, _| *value = 1).join().unwrap();
        assert_eq!(rt.task(shared.read()).submit(|value, _| *value).join().unwrap(), 1);
        for versioned in [
            rt.versioned(Halves::default()).pin(OptimisticSequenced).build(),
            rt.versioned(Halves::default()).pin(OptimisticLatched).build(),
        ] {
            let failed = rt.task(versioned.write()).submit(|halves, _| {
                halves.0.set(3, halves.token());
                panic!("provoked: half-way");
            });
            assert!(failed.join().is_err() && versioned.is_poisoned());
            let task = rt.task(versioned.write().even_poisoned());
            task.submit(|halves, _| halves.1.set(halves.0.get(), halves.token())).join().unwrap();
            let seen = |halves: &Halves| (halves.0.get(), halves.1.get());
            let read = rt.task(versioned.read()).submit_read(seen, |halves, _| halves);
            assert_eq!(read.join().unwrap(), (3, 3));
        }
    });
}

#[test]
fn a_task_mends_only_what_it_names() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let [a, b] = [0, 1].map(|_| rt.plain([0; 2]).build());
        half_way(&rt, a.write());
        half_way(&rt, b.write());
        // The task does not run, so it mends nothing.
        let refused = rt.task((a.write().even_poisoned(), b.write())).submit(|_, _| ());
        assert!(matches!(refused.join(), Err(JoinError::Poisoned)));
        let refused = rt.task((b.write(), a.write().even_poisoned())).submit(|_, _| ());
        assert!(matches!(refused.join(), Err(JoinError::Poisoned)));
        assert!(a.is_poisoned() && b.is_poisoned());
        let both = vec![ReadOrWrite::from(a.write().even_poisoned()), b.write().even_poisoned().into()];
        let mended = rt.task(both).submit(|mut pairs, _| {
            pairs.iter_mut().for_each(|pair| **pair.writer().unwrap() = [5, 5]);
        });
        mended.join().unwrap();
        assert_eq!([&a, &b].map(|object| read(&rt, object).unwrap()), [[5, 5]; 2]);
    });
}

const ACCOUNTS: usize = 2_000;
const TRANSFERS: usize = 20_000;
const INITIAL: i64 = 1_000;

/// An account, and what it was before a transfer that is not finished.
struct Account {
    balance: i64,
    before: Option<i64>,
}

/// Transfers between random accounts, of which 1% panic between debit and credit. Returns the
/// accounts, how much was debited and not credited, and how many transfers ended how.
struct Transfers {
    accounts: Vec<Object<Plain<Account>>>,
    lost: i64,
    panicked: usize,
    poisoned: usize,
}

fn transfer(rt: &Runtime, keep: bool, seed: u64) -> Transfers {
    let account = |_| {
        let account = rt.plain(Account { balance: INITIAL, before: None });
        if keep { account.keep_on_panic().build() } else { account.build() }
    };
    let accounts: Vec<_> = (0..ACCOUNTS).map(account).collect();
    let lost = Arc::new(AtomicU64::new(0));
    let mut random = Random::new(seed);
    let tasks: Vec<_> = (0..TRANSFERS)
        .map(|number| {
            let from = random.below(ACCOUNTS);
            let to = (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
            let (amount, lost) = (1 + random.below(100) as u64, lost.clone());
            rt.task((accounts[from].write(), accounts[to].write())).submit(move |(from, to), _| {
                (from.before, to.before) = (Some(from.balance), Some(to.balance));
                from.balance -= amount as i64;
                if number % 100 == 7 {
                    lost.fetch_add(amount, SeqCst);
                    panic!("provoked: a transfer");
                }
                to.balance += amount as i64;
                (from.before, to.before) = (None, None);
            })
        })
        .collect();
    let (mut panicked, mut poisoned) = (0, 0);
    for task in tasks {
        match task.join() {
            Ok(()) => {}
            Err(JoinError::Panicked(_)) => panicked += 1,
            Err(JoinError::Poisoned) => poisoned += 1,
            Err(other) => panic!("{other}"),
        }
    }
    Transfers { accounts, lost: lost.load(SeqCst) as i64, panicked, poisoned }
}

fn sum(rt: &Runtime, accounts: &[Object<Plain<Account>>]) -> i64 {
    let reads: Vec<_> = accounts.iter().map(|account| account.read()).collect();
    let balances = rt.task(reads).submit(|accounts, _| accounts.iter().map(|account| account.balance).sum());
    balances.join().expect("no account is poisoned")
}

fn settings() -> impl Iterator<Item = Setting> {
    [Setting::Threads { workers: 2 }, Setting::Threads { workers: 4 }]
        .into_iter()
        .chain([Setting::Simulation { cores: 4, seed: 5 }])
}

/// With 1% of panics each costs its own transfer alone, and no account is lost.
#[test]
fn transfers_that_panic_cost_no_account() {
    silence_tasks();
    on_each(settings(), |setting| {
        let rt = setting.build();
        let all = transfer(&rt, true, setting.seed());
        assert_eq!((all.panicked, all.poisoned), (TRANSFERS / 100, 0));
        assert!(all.accounts.iter().all(|account| !account.is_poisoned()));
        assert_eq!(sum(&rt, &all.accounts), ACCOUNTS as i64 * INITIAL - all.lost);
    });
}

/// Accounts that are poisoned are mended by what they noted, so that no amount is lost either.
#[test]
fn accounts_that_were_poisoned_are_mended() {
    silence_tasks();
    on_each(settings(), |setting| {
        let rt = setting.build();
        let all = transfer(&rt, false, setting.seed());
        let poisoned: Vec<_> = all.accounts.iter().filter(|account| account.is_poisoned()).collect();
        assert!(all.panicked > 0 && all.poisoned > 0 && poisoned.len() == 2 * all.panicked);
        let mended: Vec<_> = poisoned
            .iter()
            .map(|account| {
                rt.task(account.write().even_poisoned()).submit(|account, _| {
                    account.balance = account.before.take().expect("the transfer has noted it");
                })
            })
            .collect();
        mended.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(sum(&rt, &all.accounts), ACCOUNTS as i64 * INITIAL);
    });
}
