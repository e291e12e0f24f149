//! Tasks with several objects: all are granted together, and in order.

use crate::common::{Gate, Random, Setting, let_others_in, on_all, on_each, side_by_side, silence_tasks};
use std::panic::{AssertUnwindSafe, catch_unwind};
use xtasking::{
    JoinError, Object, Plain, Runtime, Shared, Snapshot, Version, Versioned, Word,
    arena::Written,
    primitive::{Class, OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::Spawner,
};

/// A versioned account.
struct Account(Word);

impl Version for Account {}

/// The view of an account's writer, for any class.
trait Money {
    fn add(&mut self, amount: i64);
}

impl Money for &mut i64 {
    fn add(&mut self, amount: i64) {
        **self += amount;
    }
}

impl Money for Written<'_, Account> {
    fn add(&mut self, amount: i64) {
        self.0.set(self.0.get().wrapping_add(amount as u64), self.token());
    }
}

/// The view of an account's reader.
trait Balance {
    fn balance(&self) -> i64;
}

impl Balance for i64 {
    fn balance(&self) -> i64 {
        *self
    }
}

impl Balance for Account {
    fn balance(&self) -> i64 {
        self.0.get() as i64
    }
}

/// Accounts of all classes with all primitives.
struct Bank {
    plain: Vec<Object<Plain<i64>>>,
    shared: Vec<Object<Shared<i64>>>,
    snapshot: Vec<Object<Snapshot<i64>>>,
    versioned: Vec<Object<Versioned<Account>>>,
}

const START: i64 = 100;

impl Clone for Bank {
    fn clone(&self) -> Self {
        fn cloned<C: Class>(objects: &[Object<C>]) -> Vec<Object<C>> {
            objects.to_vec()
        }
        Self {
            plain: cloned(&self.plain),
            shared: cloned(&self.shared),
            snapshot: cloned(&self.snapshot),
            versioned: cloned(&self.versioned),
        }
    }
}

impl Bank {
    fn new(rt: &Runtime) -> Self {
        let account = || rt.versioned(Account(Word::new(START as u64)));
        Self {
            plain: vec![
                rt.plain(START).pin(Sequencing).build(),
                rt.plain(START).pin(SpinLatch).build(),
                rt.plain(START).pin(Sequencing).build(),
            ],
            shared: vec![
                rt.shared_reads(START).pin(Sequencing).build(),
                rt.shared_reads(START).pin(SpinLatch).build(),
                rt.shared_reads(START).pin(ReaderWriterLatch).build(),
            ],
            snapshot: vec![
                rt.snapshot(START).pin(OptimisticSequenced).build(),
                rt.snapshot(START).pin(OptimisticLatched).build(),
            ],
            versioned: vec![
                account().pin(Sequencing).build(),
                account().pin(SpinLatch).build(),
                account().pin(ReaderWriterLatch).build(),
                account().pin(OptimisticSequenced).build(),
                account().pin(OptimisticLatched).build(),
            ],
        }
    }

    /// Moves money between 2 to 4 random accounts in one task.
    fn transfer(&self, spawner: impl Spawner, random: &mut Random, gate: &Gate) {
        fn pick<'a, C: Class>(from: &'a [Object<C>], random: &mut Random) -> &'a Object<C> {
            &from[random.below(from.len())]
        }
        let (amount, gate) = (random.below(50) as i64, gate.clone());
        let first = random.below(3);
        let (p, q) = (&self.plain[first], &self.plain[(first + 1 + random.below(2)) % 3]);
        let (sh, sn) = (pick(&self.shared, random), pick(&self.snapshot, random));
        let v = pick(&self.versioned, random);
        macro_rules! go {
            ($($object:ident $share:literal),+) => {
                spawner.task(($($object.write(),)+)).spawn(move |($(mut $object,)+), _| {
                    $($object.add(amount * i64::from($share));)+
                    gate.pass();
                })
            };
        }
        match random.below(8) {
            0 => go!(p - 1, q 1),
            1 => go!(sh - 1, p 1),
            2 => go!(v - 1, sn 1),
            3 => go!(v 2, q - 1, sh - 1),
            4 => go!(p 1, q 1, sn - 2),
            5 => go!(sh - 3, p 1, v 1, sn 1),
            6 => go!(sn 1, p 1, q - 3, v 1),
            _ => go!(sn - 1, sh 1),
        }
    }

    /// Returns the sum of all balances, read account by account.
    fn sum(&self, rt: &Runtime) -> i64 {
        let mut sum = 0;
        for object in &self.plain {
            sum += rt.task(object.read()).submit(|money, _| *money).join().unwrap();
        }
        for object in &self.shared {
            sum += rt.task(object.read()).submit(|money, _| *money).join().unwrap();
        }
        for object in &self.snapshot {
            sum += rt.task(object.read()).submit(|money, _| *money).join().unwrap();
        }
        for object in &self.versioned {
            sum += rt.task(object.read()).submit(|account, _| account.balance()).join().unwrap();
        }
        sum
    }
}

/// Transfers from plain threads and from tasks on all workers.
#[test]
fn no_money_is_made_or_lost() {
    on_all(|setting| {
        let rt = setting.build();
        let bank = Bank::new(&rt);
        let total = bank.sum(&rt);
        assert_eq!(total, 13 * START);
        let (spawners, each) = (6, 100);
        let (gate, all) = Gate::new(&rt, 2 * spawners * each);
        for spawner in 0..spawners {
            let (bank, gate) = (bank.clone(), gate.clone());
            rt.task(()).core(spawner as u16).spawn(move |(), cx| {
                let mut random = Random::new(1000 + spawner as u64);
                (0..each).for_each(|_| bank.transfer(&mut *cx, &mut random, &gate));
            });
        }
        let outside = (0..spawners).map(|spawner| {
            let (rt, bank, gate) = (&rt, &bank, &gate);
            move || {
                let mut random = Random::new(spawner as u64);
                (0..each).for_each(|_| bank.transfer(rt, &mut random, gate));
            }
        });
        if setting.is_simulation() {
            // One thread, so that the run is reproducible.
            outside.for_each(|spawn| spawn());
        } else {
            side_by_side(outside);
        }
        all.join().unwrap();
        assert_eq!(bank.sum(&rt), total);
    });
}

/// Money moves back and forth between two accounts; a reader of both always sees the total.
macro_rules! audit {
    ($rt:ident, $a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        let mut audits = Vec::new();
        for round in 0..40 {
            let core = round as u16;
            macro_rules! transfer {
                ($from:ident, $to:ident) => {
                    $rt.task(($from.write(), $to.write())).core(core).spawn(move |(mut from, mut to), _| {
                        from.add(-round);
                        let_others_in();
                        to.add(round);
                    })
                };
            }
            if round % 2 == 0 {
                transfer!(a, b)
            } else {
                transfer!(b, a)
            }
            let audit = $rt.task((a.read(), b.read())).core(core + 1);
            audits.push(audit.submit(|(a, b), _| a.balance() + b.balance()));
        }
        for audit in audits {
            assert_eq!(audit.join().unwrap(), 2 * START, "{:?} {:?}", a.primitive(), b.primitive());
        }
    }};
}

#[test]
fn audits_see_no_transfer_in_its_middle() {
    let simulations = [2, 16].map(|cores| Setting::Simulation { cores, seed: 11 });
    on_each(Setting::threads().chain(simulations), |setting| {
        let rt = setting.build();
        for (first, second) in (0..30).map(|index| (index % 5, index / 5)) {
            let (one, two) = (Bank::new(&rt), Bank::new(&rt));
            let (plain, shared) = (&one.plain[first % 3], &one.shared[second % 3]);
            let (snapshot, versioned) = (&two.snapshot[first % 2], &two.versioned[second % 5]);
            match second {
                0 => audit!(rt, plain, shared),
                1 => audit!(rt, shared, snapshot),
                2 => audit!(rt, snapshot, versioned),
                3 => audit!(rt, versioned, plain),
                4 => audit!(rt, &one.versioned[first], versioned),
                _ => audit!(rt, &one.plain[0], &one.plain[1 + first % 2]),
            }
        }
    });
}

#[test]
fn an_object_may_be_read_twice_but_not_written() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let bank = Bank::new(&rt);
        macro_rules! twice {
            ($($objects:expr),+) => {$(for object in $objects {
                let same = object.clone();
                let pair = rt.task((object.read(), same.read()));
                let pair = pair.submit(|(one, two), _| one.balance() + two.balance());
                assert_eq!(pair.join().unwrap(), 2 * START, "{:?}", object.primitive());
                let refused = |spawn: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(spawn)).is_err());
                refused(&|| rt.task((object.write(), same.write())).spawn(|_, _| unreachable!()));
                refused(&|| rt.task((object.write(), same.read())).spawn(|_, _| unreachable!()));
                let inside = rt.task(()).submit(move |(), cx| {
                    let bad = |cx: &mut xtasking::Context| {
                        cx.task((object.read(), same.write())).spawn(|_, _| unreachable!());
                    };
                    catch_unwind(AssertUnwindSafe(|| bad(cx))).is_err()
                });
                assert!(inside.join().unwrap());
            })+};
        }
        twice!(bank.plain.clone(), bank.shared.clone(), bank.snapshot.clone(), bank.versioned.clone());
        assert_eq!(bank.sum(&rt), 13 * START);
    });
}

/// A panic poisons the objects written in place, publishes no snapshot, and releases the others.
#[test]
fn a_panic_with_several_objects() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let bank = Bank::new(&rt);
        for (plain, shared) in bank.plain.iter().zip(&bank.shared) {
            for (snapshot, versioned) in bank.snapshot.iter().zip(&bank.versioned[2..]) {
                let access = (plain.write(), shared.read(), snapshot.write(), versioned.write());
                let failed = rt.task(access).submit(|(plain, _, snapshot, mut versioned), _| {
                    *plain += 1;
                    *snapshot += 1;
                    versioned.add(1);
                    panic!("provoked: in the middle of a transfer");
                });
                assert!(matches!(failed.join(), Err(JoinError::Panicked(_))));
                assert!(plain.is_poisoned() && versioned.is_poisoned());
                assert!(!shared.is_poisoned() && !snapshot.is_poisoned());
                let next = rt.task((snapshot.write(), plain.read())).submit(|_, _| unreachable!());
                assert!(matches!(next.join(), Err(JoinError::Poisoned)));
                let read = rt.task((snapshot.read(), shared.write())).submit(|(money, _), _| *money);
                assert_eq!(read.join().unwrap(), START);
                plain.clear_poison();
                versioned.clear_poison();
                let both = rt.task((plain.write(), versioned.write())).submit(|(plain, versioned), _| {
                    assert_eq!((*plain, versioned.balance()), (START + 1, START + 1));
                    *plain = START;
                    versioned.0.set(START as u64, versioned.token());
                });
                both.join().unwrap();
            }
        }
    });
}
