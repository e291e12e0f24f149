//! Plans: claims that depend on data.

use super::controls::{CONTROLS, Control, granules_of, parks};
use super::{many, mixed, settings, under_each};
use crate::common::{Blame, Dropped, Flag, Setting, lock, on_each, silence_tasks, watchdog};
use std::mem::replace;
use std::panic::panic_any;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use xtasking::{JoinError, Runtime, Shutdown, claims::PlanView};

/// Follows links as far as the plan can see. Returns true if it could see all.
fn chase(view: &mut PlanView<'_, '_, u32>, hops: u32, path: &mut Vec<u32>) -> bool {
    path.clear();
    path.push(0);
    for _ in 0..hops {
        let Some(next) = view.peek(path[path.len() - 1], |&next| next) else { return false };
        path.push(next);
    }
    true
}

/// Some tasks change links while others follow them; a body finds the links that its plan has
/// found.
#[test]
fn a_body_sees_what_its_plan_saw() {
    const ROOMS: u32 = 12;
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let rooms = granules_of(&rt, control, (0..ROOMS).map(|room| (room + 1) % ROOMS));
        let (group, rounds) = (rt.group(), Arc::new(AtomicUsize::new(0)));
        for number in 0..u64::from(many(400)) {
            let chance = mixed(number) as u32;
            if number % 2 == 0 {
                let (room, next) = (chance % ROOMS, chance / 64 % ROOMS);
                let task = rt.task(()).of(&group).claim(rooms.write(room..room + 1));
                task.spawn_with(move |(), mut held, _| *held.get_mut(room) = next);
                continue;
            }
            let hops = chance % 4 + 1;
            let found = Arc::new(Mutex::new((false, Vec::new())));
            let (plans, rounds) = (found.clone(), rounds.clone());
            let claim = rooms.planned(move |view| {
                rounds.fetch_add(1, Relaxed);
                let (all, path) = &mut *lock(&plans);
                *all = chase(view, hops, path);
                if *all {
                    let last = path[path.len() - 1];
                    view.write(last..last + 1);
                }
            });
            // Ordered and deferred claims.
            let claim = if chance.is_multiple_of(3) { claim } else { claim.unordered() };
            rt.task(()).of(&group).claim(claim).spawn_with(move |(), mut held, _| {
                let (all, path) = &*lock(&found);
                assert!(all, "the body runs before its plan has seen all links");
                for step in path.windows(2) {
                    assert_eq!(*held.get(step[0]), step[1], "the links were changed meanwhile");
                }
                // The new link leads backwards, for variety.
                let last = path[path.len() - 1];
                assert!(held.has_to_write(last));
                *held.get_mut(last) = last / 2;
            });
        }
        group.wait().unwrap();
        assert!(rounds.load(Relaxed) >= many(400) as usize, "a plan runs again when all is granted");
    });
}

/// A plan that names another granule when it runs again is granted that one too.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_body_waits_for_what_its_plan_names_at_last() {
    let _watched = watchdog();
    for control in CONTROLS.into_iter().filter(|&control| parks(control)) {
        let _blame = Blame(control);
        let rt = Runtime::builder().workers(2).build().unwrap();
        let rooms = granules_of(&rt, control, [0u32; 2]);
        let (begun, hold) = (Flag::default(), Flag::default());
        let (begins, held) = (begun.clone(), hold.clone());
        let writer = rt.task(()).core(0).claim(rooms.write(0..1)).submit_with(move |(), mut rooms, _| {
            begins.set();
            held.wait();
            *rooms.get_mut(0) = 1;
        });
        begun.wait();
        let mut is_first = true;
        let claim = rooms.planned(move |view| {
            let room = u32::from(replace(&mut is_first, false));
            view.write(room..room + 1);
        });
        let planned =
            rt.task(()).core(1).claim(claim).submit_with(|(), mut rooms, _| replace(rooms.get_mut(0), 2));
        // The worker gets to the planned task first.
        rt.task(()).core(1).submit(|(), _| ()).join().unwrap();
        let is_early = planned.is_finished();
        hold.set();
        assert!(!is_early, "the body runs beside a writer of what its plan names");
        writer.join().unwrap();
        assert_eq!(planned.join().unwrap(), 1);
    }
}

/// A plan peeks beside readers, but overtakes no writer that waits.
#[test]
fn a_peek_overtakes_no_writer() {
    on_each(Setting::simulations(&[1]), |setting| {
        let rt = setting.build();
        let granules = rt.granules_of([1u32]);
        let spawn_plan = || {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let noted = seen.clone();
            let claim = granules.planned(move |view| lock(&noted).push(view.peek(0, |&it| it)));
            let body = move |(), held: xtasking::Held<'_, u32>, _: &mut xtasking::Context| {
                (*held.get(0), lock(&seen).clone())
            };
            rt.task(()).claim(claim).submit_with(body)
        };
        // Nothing runs until something is joined.
        let reader = rt.task(()).claim(granules.read(0..1)).submit_with(|(), held, _| *held.get(0));
        let beside = spawn_plan();
        let writer =
            rt.task(()).claim(granules.write(0..1)).submit_with(|(), mut held, _| *held.get_mut(0) = 2);
        let behind = spawn_plan();
        assert_eq!(reader.join().unwrap(), 1);
        assert_eq!(beside.join().unwrap(), (1, vec![Some(1), Some(1)]));
        writer.join().unwrap();
        assert_eq!(behind.join().unwrap(), (2, vec![None, Some(2)]));
    });
}

#[test]
fn a_plan_that_panics_fails_only_its_task() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [0u32; 3]);
        // At once, with granules held, during a peek, and by a granule that does not exist.
        for failing in 0..4 {
            let (dropped, mut round) = (Arc::new(AtomicUsize::new(0)), 0);
            let captured = Dropped(dropped.clone());
            let claim = granules.planned(move |view| {
                let _ = &captured;
                round += 1;
                match failing {
                    0 => panic!("provoked"),
                    1 if round == 1 => view.write(0..3),
                    1 => panic!("provoked"),
                    2 => _ = view.peek(1, |_| panic!("provoked")),
                    _ => _ = view.peek(3, |_| ()),
                }
            });
            let task = rt.task(()).claim(claim).submit_with(|(), _, _| ());
            let beside = rt.task(()).claim(granules.write(0..3)).submit_with(|(), _, _| ());
            assert!(matches!(task.join(), Err(JoinError::Panicked(_))), "{failing}");
            beside.join().unwrap();
            assert_eq!(dropped.load(Relaxed), 1);
            assert!((0..3).all(|granule| !granules.is_poisoned(granule)));
        }
    });
}

/// A plan that names other granules each time is granted all of them.
#[test]
fn a_plan_that_is_never_confirmed_is_granted_everything() {
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [0u32; 5]);
        let rounds = Arc::new(AtomicU32::new(0));
        let counted = rounds.clone();
        let claim = granules.planned(move |view| {
            let round = counted.fetch_add(1, Relaxed);
            view.write(round % 5..round % 5 + 1);
        });
        let others: Vec<_> =
            (0..5).map(|at| rt.task(()).claim(granules.write(at..at + 1)).submit(|(), _| ())).collect();
        let task = rt
            .task(())
            .claim(claim)
            .submit_with(|(), held, _| held.granules().filter(|&(_, write)| write).count());
        // A baseline may confirm earlier, as it locks more than was named.
        let written = task.join().unwrap();
        assert!(written == 5 || control != Control::Fifo && written == 1);
        assert!((2..100).contains(&rounds.load(Relaxed)));
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn a_plan_may_name_nothing() {
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [0u32; 2]);
        let none =
            rt.task(()).claim(granules.planned(|_| ())).submit_with(|(), held, _| held.granules().count());
        assert_eq!(none.join().unwrap(), 0);
        let empty = granules.planned(|view| view.write(1..1));
        assert_eq!(
            rt.task(()).claim(empty).submit_with(|(), held, _| held.granules().count()).join().unwrap(),
            0
        );
        let named = granules.planned(|view| view.read(0..1)).and_write(0..2);
        let task = rt.task(()).claim(named).submit_with(|(), held, _| held.granules().collect::<Vec<_>>());
        assert_eq!(task.join().unwrap(), [(0, true), (1, true)]);
        // A plan without granules.
        let nowhere = granules_of(&rt, control, [0u32; 0]);
        rt.task(())
            .claim(nowhere.planned(|view| assert_eq!(view.count(), 0)))
            .submit(|(), _| ())
            .join()
            .unwrap();
    });
}

#[test]
#[should_panic(expected = "there are no granules 1..3")]
fn ranges_added_to_a_plan_are_checked_at_once() {
    let rt = Setting::Simulation { cores: 1, seed: 1 }.build();
    let granules = rt.granules(2);
    let _ = granules.planned(|_| ()).and_read(1..3);
}

/// A plan spawns tasks that claim the same granules.
#[test]
fn a_plan_may_spawn() {
    under_each(settings(), |setting, control| {
        let rt = Arc::new(setting.build());
        let granules = granules_of(&rt, control, [0u32; 2]);
        let (there, own) = (Arc::downgrade(&rt), granules.clone());
        let (runs, spawned) = (Arc::new(AtomicU32::new(0)), rt.group());
        let counted = runs.clone();
        let claim = granules.planned(move |view| {
            let rt = there.upgrade().expect("it is joined");
            counted.fetch_add(1, Relaxed);
            let again = own.planned(|view| {
                if view.peek(1, |_| ()).is_some() {
                    view.write(0..1)
                }
            });
            rt.task(()).claim(again).spawn_with(|(), mut held, _| *held.get_mut(0) += 1);
            view.peek(0, |_| {
                // During the peek.
                rt.task(()).claim(own.write(0..1)).spawn_with(|(), mut held, _| *held.get_mut(0) += 1);
            });
        });
        rt.task(()).of(&spawned).claim(claim).spawn_with(|(), _, _| ());
        spawned.wait().unwrap();
        while Arc::strong_count(&rt) > 1 {
            std::thread::yield_now();
        }
        let runs = runs.load(Relaxed);
        Arc::into_inner(rt).unwrap().shutdown(Shutdown::Drain);
        assert!((2..=4).contains(&runs));
    });
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("provoked by a drop");
    }
}

#[test]
fn a_panic_in_the_drop_of_a_plan_is_contained() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [0u32; 2]);
        let first = rt.task(()).claim(granules.write(0..1)).submit_with(|(), _, _| ());
        let bomb = Bomb;
        let claim = granules.planned(move |view| {
            let _ = &bomb;
            view.peek(0, |_| ());
        });
        let task = rt.task(()).claim(claim).submit_with(|(), _, _| 5);
        assert_eq!(task.join().unwrap(), 5);
        first.join().unwrap();
        // Also in a builder that is dropped.
        let bomb = Bomb;
        let task = rt.task(()).claim(granules.planned(move |_| _ = &bomb));
        drop(task);
    });
}

/// The payload of a plan's panic is dropped, as the task was cancelled.
#[test]
fn a_panic_of_a_plan_is_dropped_with_a_cancelled_task() {
    silence_tasks();
    on_each(Setting::simulations(&[1, 2]), |setting| {
        let rt = setting.build();
        let granules = rt.granules_of([0u32; 2]);
        // Nothing runs until something is joined.
        let task = rt.task(()).claim(granules.planned(|_| panic_any(Bomb))).submit_with(|(), _, _| ());
        assert!(task.cancel());
        let next = rt.task(()).claim(granules.write(0..2)).submit_with(|(), _, _| ());
        next.join().unwrap();
        assert!(matches!(task.join(), Err(JoinError::Cancelled)));
    });
}

#[test]
fn a_shutdown_runs_or_cancels_tasks_with_plans() {
    for shutdown in [Shutdown::Drain, Shutdown::Cancel] {
        under_each(settings(), |setting, control| {
            let rt: Runtime = setting.build();
            let granules = granules_of(&rt, control, vec![1u32, 2, 3, 0]);
            let ran = Arc::new(AtomicUsize::new(0));
            for number in 0..many(500) {
                let ran = ran.clone();
                let captured = ran.clone();
                let claim = granules.planned(move |view| {
                    let _ = &captured;
                    if let Some(next) = view.peek(number % 4, |&next| next) {
                        view.write(next..next + 1);
                    }
                });
                rt.task(()).claim(claim).spawn_with(move |(), mut held, _| {
                    let next = *held.get(number % 4);
                    *held.get_mut(next) += 0;
                    ran.fetch_add(1, Relaxed);
                });
            }
            rt.shutdown(shutdown);
            if matches!(shutdown, Shutdown::Drain) {
                assert_eq!(ran.load(Relaxed), many(500) as usize);
            }
            assert_eq!(Arc::strong_count(&ran), 1, "a plan or task was leaked");
        });
    }
}

/// A task that is cancelled while it is parked blocks no other task.
#[test]
fn a_planned_task_can_be_cancelled() {
    let _watched = watchdog();
    let rt = Setting::Simulation { cores: 2, seed: 3 }.build();
    let granules = rt.granules_of([0u32; 2]);
    let first = rt.task(()).claim(granules.write(0..1)).submit_with(|(), _, _| ());
    let claim = granules.planned(|view| {
        if view.peek(0, |_| ()).is_some() {
            view.write(1..2)
        }
    });
    let waits = rt.task(()).claim(claim).submit_with(|(), _, _| ());
    assert!(waits.cancel());
    let last = rt.task(()).claim(granules.write(0..2)).submit_with(|(), _, _| ());
    first.join().unwrap();
    assert!(matches!(waits.join(), Err(JoinError::Cancelled)));
    last.join().unwrap();
}
