//! Access to the data of granules, and their lifetime.

use super::controls::{CONTROLS, Control, granules_of};
use super::{many, mixed, settings, under_each};
use crate::common::{Blame, Dropped, Flag, Setting, lock, on_each, silence_tasks, watchdog};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use xtasking::{Context, Granules, Held, JoinError, Runtime, primitive::Sequencing};

/// Writers change two granules in plain memory, and readers find both equal; with and without
/// objects and groups.
#[test]
fn data_have_one_writer_or_many_readers() {
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, vec![0u64; 8]);
        let (sum, log) = (rt.plain(0u64).pin(Sequencing).build(), rt.plain(0u64).pin(Sequencing).build());
        let group = rt.group();
        let mut submitted = Vec::new();
        for number in 0..many(400) {
            let pair = (mixed(u64::from(number)) % 4) as u32 * 2;
            let both = pair..pair + 2;
            let add = move |held: &mut Held<'_, u64>| {
                *held.get_mut(pair) += 1;
                *held.get_mut(pair + 1) += 1;
            };
            match number % 5 {
                0 => rt
                    .task(())
                    .of(&group)
                    .claim(granules.write(both))
                    .spawn_with(move |(), mut held, _| add(&mut held)),
                1 => rt.task(sum.write()).of(&group).claim(granules.write(both)).spawn_with(
                    move |sum, mut held, _| {
                        *sum += 1;
                        add(&mut held);
                    },
                ),
                2 => submitted.push(rt.task(()).claim(granules.write(both)).submit_with(
                    move |(), mut held, _| {
                        add(&mut held);
                        *held.get(pair)
                    },
                )),
                3 => rt.task((sum.write(), log.write())).of(&group).claim(granules.write(both)).spawn_with(
                    move |(sum, log), mut held, _| {
                        *sum += 1;
                        *log += 1;
                        add(&mut held);
                    },
                ),
                _ => rt.task(()).of(&group).claim(granules.read(0..8)).spawn_with(|(), held, _| {
                    for pair in [0, 2, 4, 6] {
                        assert_eq!(held.get(pair), held.get(pair + 1));
                    }
                }),
            }
        }
        group.wait().unwrap();
        assert!(submitted.into_iter().all(|task| task.join().unwrap() > 0));
        let all = rt.task((sum.read(), log.read())).claim(granules.read(0..8));
        let (sum, log, counted) = all
            .submit_with(|(sum, log), held, _| (*sum, *log, (0..8).map(|at| *held.get(at)).sum::<u64>()))
            .join()
            .unwrap();
        let fifth = u64::from(many(400)) / 5;
        assert_eq!((sum, log, counted), (2 * fifth, fifth, 8 * fifth));
    });
}

/// Conflicting tasks of one spawner run in the order of their spawns at all granules.
#[test]
fn data_are_written_in_the_order_of_spawns() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let granules = rt.granules_of(vec![Vec::new(); 6]);
        let group = rt.group();
        for number in 0..many(300) {
            let from = (mixed(u64::from(number)) % 4) as u32;
            rt.task(()).of(&group).claim(granules.write(from..from + 3)).spawn_with(
                move |(), mut held, _| {
                    (from..from + 3).for_each(|at| held.get_mut(at).push(number));
                },
            );
        }
        group.wait().unwrap();
        let task = rt.task(()).claim(granules.read(0..6));
        let total = task.submit_with(|(), held, _| {
            assert!((0..6).all(|at| held.get(at).is_sorted()));
            (0..6).map(|at| held.get(at).len()).sum::<usize>()
        });
        assert_eq!(total.join().unwrap(), 3 * many(300) as usize);
    });
}

#[test]
fn a_task_reaches_only_what_it_has_claimed() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, 0..5u32);
        let claim = granules.read(0..2).and_write(1..2).and_write(3..4);
        let seen = rt.task(()).claim(claim).submit_with(|(), held, _| {
            assert_eq!(held.count(), 5);
            assert!(held.granules().eq([(0, false), (1, true), (3, true)]));
            let has = |at| (held.has(at), held.has_to_write(at));
            [has(0), has(1), has(2), has(3), has(4), has(9)]
        });
        let (no, yes) = ((false, false), (true, true));
        assert_eq!(seen.join().unwrap(), [(true, false), yes, no, yes, no, no]);
        let wrong: [fn(Held<'_, u32>); 4] = [
            |held| _ = held.get(2),
            |held| _ = held.get(77),
            |mut held| *held.get_mut(0) = 9,
            |mut held| *held.get_mut(4) = 9,
        ];
        for wrong in wrong {
            let task = rt.task(()).claim(granules.read(0..1)).submit_with(move |(), held, _| wrong(held));
            let Err(JoinError::Panicked(payload)) = task.join() else {
                panic!("the task accesses what it has not claimed")
            };
            assert!(payload.message().starts_with("the task has not claimed granule"));
        }
        let data = rt.task(()).claim(granules.read(0..5));
        assert_eq!(data.submit_with(|(), held, _| *held.get(0) + *held.get(4)).join().unwrap(), 4);
    });
}

fn living(rt: &Runtime, control: Control) -> (Granules<Dropped>, Arc<AtomicUsize>) {
    let gone = Arc::new(AtomicUsize::new(0));
    let data: Vec<_> = (0..3).map(|_| Dropped(gone.clone())).collect();
    (granules_of(rt, control, data), gone)
}

fn finds_all(held: &Held<'_, Dropped>) {
    assert_eq!(held.get(0).0.load(SeqCst), 0, "the granules are freed while tasks wait for them");
}

/// Granules outlive all tasks that were spawned before their last handle was dropped.
#[test]
fn granules_outlive_the_tasks_that_wait_for_them() {
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let (granules, gone) = living(&rt, control);
        let group = rt.group();
        for number in 0..many(200) {
            let claim = if number % 3 == 0 {
                granules.planned(|view| _ = view.peek(0, |_| ()))
            } else {
                granules.write(0..3)
            };
            rt.task(()).of(&group).claim(claim).spawn_with(|(), held, _| finds_all(&held));
        }
        drop(granules);
        group.wait().unwrap();
        drop(rt);
        assert_eq!(gone.load(SeqCst), 3);
    });
}

/// Granules outlive the follow-ups of such tasks too.
#[test]
fn granules_outlive_a_chain_of_follow_ups() {
    fn go_on(held: &Held<'_, Dropped>, left: u32, cx: &mut Context, done: xtasking::Promise<()>) {
        finds_all(held);
        if left == 0 {
            return done.fulfil(());
        }
        // Also if the follow-up begins an operation.
        let task = cx.task(()).begin_operation().claim(held.write(0..3));
        task.spawn_with(move |(), held, cx| go_on(&held, left - 1, cx, done));
    }
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let (granules, gone) = living(&rt, control);
        let (done, all) = rt.promise();
        let first = rt.task(()).claim(granules.read(0..1));
        first.spawn_with(move |(), held, cx| go_on(&held, many(300), cx, done));
        drop(granules);
        all.join().unwrap();
        drop(rt);
        assert_eq!(gone.load(SeqCst), 3);
    });
}

/// The epoch of a task keeps what it holds, which does not protect tasks of other spawners.
#[test]
fn only_follow_ups_claim_what_a_task_holds() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = Arc::new(setting.build());
        let (granules, _gone) = living(&rt, control);
        let there = Arc::downgrade(&rt);
        let task = rt.task(()).claim(granules.read(0..1)).submit_with(move |(), held, _| {
            let rt = there.upgrade().expect("it is joined");
            rt.task(()).claim(held.read(0..1)).spawn(|(), _| ());
        });
        let Err(JoinError::Panicked(payload)) = task.join() else {
            panic!("a task of another spawner claims what a task holds")
        };
        assert!(payload.message().contains("is for its follow-ups"));
        // A handle keeps the granules for any spawner.
        let (there, own) = (Arc::downgrade(&rt), granules.clone());
        let task = rt.task(()).claim(granules.read(0..1)).submit_with(move |(), _, _| {
            let rt = there.upgrade().expect("it is joined");
            rt.task(()).claim(own.read(0..1)).submit(|(), _| ())
        });
        task.join().unwrap().join().unwrap();
        // The task must not drop the last handle to the runtime: a worker cannot join itself.
        while Arc::strong_count(&rt) > 1 {
            std::thread::yield_now();
        }
    });
}

struct PanicsAtEnd;

impl Drop for PanicsAtEnd {
    fn drop(&mut self) {
        panic!("at the end");
    }
}

/// A runtime that is out of memory refuses tasks with their claims; parked tasks still run.
#[test]
fn a_refused_task_claims_nothing() {
    if cfg!(miri) {
        return;
    }
    for control in CONTROLS {
        let (_watched, _blame) = (watchdog(), Blame(control));
        let failures = Arc::new(Mutex::new(Vec::new()));
        let reported = failures.clone();
        let builder = Setting::Simulation { cores: 2, seed: 5 }.builder().memory_limit(1 << 20);
        let rt = builder.on_failure(move |failure| lock(&reported).push(failure.error)).build().unwrap();
        let granules = granules_of(&rt, control, [0u32]);
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut spawned = 0;
        while lock(&failures).is_empty() {
            let held = Dropped(dropped.clone());
            let claim = granules.planned(move |view| {
                let _ = &held;
                view.write(0..1);
            });
            rt.task(()).claim(claim).spawn_with(|(), mut held, _| *held.get_mut(0) += 1);
            spawned += 1;
        }
        assert!(matches!(lock(&failures)[0], JoinError::OutOfMemory));
        // A task is refused even if the destructor of its plan panics.
        let panics = PanicsAtEnd;
        let claim = granules.planned(move |view| {
            let _ = &panics;
            view.write(0..1);
        });
        rt.task(()).claim(claim).spawn_with(|(), mut held, _| *held.get_mut(0) += 1);
        assert_eq!(lock(&failures).len(), 2);
        rt.shutdown(xtasking::Shutdown::Drain);
        assert_eq!(dropped.load(Relaxed), spawned);
        assert_eq!(lock(&failures).len(), 2);
    }
}

/// The memory of a claim is freed when its task is over, or was never spawned.
#[test]
fn the_memory_of_claims_is_freed() {
    for control in CONTROLS {
        let (_watched, _blame) = (watchdog(), Blame(control));
        let setting = Setting::Simulation { cores: 2, seed: 7 };
        let rt = setting.builder().memory_limit(1 << 20).counters(true).build().unwrap();
        let granules = granules_of(&rt, control, [0u32; 8]);
        let (rounds, each) = if cfg!(miri) { (2, 10) } else { (20, 500) };
        for _ in 0..rounds {
            let group = rt.group();
            for number in 0..each {
                drop(rt.task(()).claim(granules.write(0..8)));
                let granule = number % 8;
                let claim = granules.planned(move |view| view.write(granule..granule + 1));
                // Ordered and deferred claims.
                let claim = if number % 3 > 0 { claim.unordered() } else { claim };
                let task = rt.task(()).of(&group).claim(claim);
                task.spawn_with(move |(), mut held, _| *held.get_mut(granule) += 1);
            }
            group.wait().unwrap();
        }
        let sum = rt.task(()).claim(granules.read(0..8));
        let sum = sum.submit_with(|(), held, _| (0..8).map(|granule| *held.get(granule)).sum::<u32>());
        assert_eq!(sum.join().unwrap(), rounds * each);
        assert_eq!(rt.counters().unwrap().allocations.refused, 0);
    }
}

/// The version of a granule stays the same until a task writes the granule.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn versions_change_with_each_write() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let granules = rt.granules_of([0u32; 2]);
    let read = |granule: u32| {
        let task = rt.task(()).claim(granules.read(granule..granule + 1));
        task.submit_with(move |(), held, _| held.version(granule)).join().unwrap()
    };
    let before = [0, 1].map(read);
    assert!(before[0].is_some() && read(0) == before[0] && granules.version(0) == before[0]);
    let (inside, go) = (Flag::default(), Flag::default());
    let (i, g) = (inside.clone(), go.clone());
    let writer = rt.task(()).claim(granules.write(0..1)).submit_with(move |(), held, _| {
        i.set();
        g.wait();
        held.version(0)
    });
    inside.wait();
    assert_eq!(granules.version(0), None, "a task writes it");
    go.set();
    assert_eq!(writer.join().unwrap(), None);
    assert!(read(0).is_some_and(|version| Some(version) != before[0]));
    assert_eq!(granules.version(1), before[1]);
    #[cfg(feature = "baselines")]
    assert_eq!(granules_of(&rt, Control::DomLock, [0u32]).version(0), None, "baselines do not count");
}
