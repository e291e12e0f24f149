//! What tasks see and change of the data of their granules, and how long these live.

use super::{CONTROLS, granules_of, many, mixed, settings, under_each};
use crate::common::{Blame, Dropped, Flag, Setting, lock, on_each, silence_tasks, watchdog};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use xtasking::{Context, Control, Directory, Granules, Held, JoinError, Runtime, Sequencing};

/// Writers change two granules in plain memory, readers find both alike; with objects and groups and without.
#[test]
fn data_are_changed_by_one_and_read_by_many() {
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

/// Those of one spawner come in its order, wherever they meet.
#[test]
fn the_data_say_who_came_first() {
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
fn a_task_reaches_what_it_has_claimed_and_nothing_else() {
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
                panic!("it has what it has not claimed")
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
    assert_eq!(held.get(0).0.load(SeqCst), 0, "the granules are gone while tasks wait for them");
}

/// No task owns the granules, and yet they are there for all that was spawned before nobody had them any more.
#[test]
fn granules_outlive_the_tasks_that_wait_for_them() {
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let (granules, gone) = living(&rt, control);
        let group = rt.group();
        for number in 0..many(200) {
            let claim = if number % 3 == 0 {
                granules.planned(|sight| _ = sight.see(0, |_| ()))
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

/// So do they for what these go on with.
#[test]
fn granules_outlive_a_chain_of_follow_ups() {
    fn go_on(held: &Held<'_, Dropped>, left: u32, cx: &mut Context, done: xtasking::Promise<()>) {
        finds_all(held);
        if left == 0 {
            return done.fulfil(());
        }
        // Also where it says that it begins anew.
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

/// What a task holds is kept by its epoch, of which another spawner knows nothing.
#[test]
fn what_a_task_holds_is_claimed_by_its_follow_ups_only() {
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
            panic!("a stranger claims what a task holds")
        };
        assert!(payload.message().contains("is for its follow-ups"));
        // With a handle it may.
        let (there, own) = (Arc::downgrade(&rt), granules.clone());
        let task = rt.task(()).claim(granules.read(0..1)).submit_with(move |(), _, _| {
            let rt = there.upgrade().expect("it is joined");
            rt.task(()).claim(own.read(0..1)).submit(|(), _| ())
        });
        task.join().unwrap().join().unwrap();
        // The task may be the last to have let go of the runtime, and workers do not wait for themselves.
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

/// A runtime that is out of memory refuses tasks with their claims; those that stand in line already come.
#[test]
fn a_refused_task_claims_nothing() {
    if cfg!(miri) {
        return;
    }
    for control in CONTROLS {
        let (_watched, _blame) = (watchdog(), Blame(control));
        let failures = Arc::new(Mutex::new(Vec::new()));
        let told = failures.clone();
        let builder = Setting::Simulation { cores: 2, seed: 5 }.builder().memory_limit(1 << 20);
        let rt = builder.on_failure(move |failure| lock(&told).push(failure.error)).build().unwrap();
        let granules = granules_of(&rt, control, [0u32]);
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut spawned = 0;
        while lock(&failures).is_empty() {
            let held = Dropped(dropped.clone());
            let claim = granules.planned(move |sight| {
                let _ = &held;
                sight.write(0..1);
            });
            rt.task(()).claim(claim).spawn_with(|(), mut held, _| *held.get_mut(0) += 1);
            spawned += 1;
        }
        assert!(matches!(lock(&failures)[0], JoinError::OutOfMemory));
        // It is refused as a whole, whatever its plan does at its end.
        let panics = PanicsAtEnd;
        let claim = granules.planned(move |sight| {
            let _ = &panics;
            sight.write(0..1);
        });
        rt.task(()).claim(claim).spawn_with(|(), mut held, _| *held.get_mut(0) += 1);
        assert_eq!(lock(&failures).len(), 2);
        rt.shutdown(xtasking::Shutdown::Drain);
        assert_eq!(dropped.load(Relaxed), spawned);
        assert_eq!(lock(&failures).len(), 2);
    }
}

/// What a claim needs is there for the next one when its task is over, or was never spawned.
#[test]
fn what_a_claim_needs_is_given_back() {
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
                let claim = granules.planned(move |sight| sight.write(granule..granule + 1));
                // Some get in line, and some need not.
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

/// Who reads a granule finds the version that it has until somebody writes it.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn versions_tell_whether_somebody_has_written() {
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
    assert_eq!(granules.version(0), None, "it is being written");
    go.set();
    assert_eq!(writer.join().unwrap(), None);
    assert!(read(0).is_some_and(|version| Some(version) != before[0]));
    assert_eq!(granules.version(1), before[1]);
    let locked = rt.granules_with(Control::DomLock, Directory::default(), [0u32]);
    assert_eq!(locked.version(0), None, "nobody counts");
}
