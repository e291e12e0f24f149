//! Tasks that panic while they hold granules.

use super::controls::{Control, granules_of};
use super::{many, mixed, settings, under_each};
use crate::common::silence_tasks;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{Granules, Handle, JoinError, Runtime};

/// Spawns a task that writes both halves of each pair, and panics between the halves of the last.
fn half_way(rt: &Runtime, granules: &Granules<(u32, u32)>, range: std::ops::Range<u32>) -> Handle<()> {
    rt.task(()).claim(granules.write(range.clone())).submit_with(move |(), mut held, _| {
        for granule in range.clone() {
            held.get_mut(granule).0 += 1;
            assert!(granule + 1 < range.end, "provoked");
            held.get_mut(granule).1 += 1;
        }
    })
}

fn poisoned(granules: &Granules<(u32, u32)>) -> Vec<u32> {
    (0..granules.count()).filter(|&granule| granules.is_poisoned(granule)).collect()
}

#[test]
fn a_panic_poisons_only_what_was_claimed_to_write() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [0u32; 4]);
        let claim = granules.write(1..3).and_read(0..1);
        let bomb = rt.task(()).claim(claim).submit_with(|(), mut held, _| {
            *held.get_mut(1) = 7;
            panic!("provoked");
        });
        // A task that is queued behind it fails like later ones. (With a baseline it might start
        // first.)
        let behind = || rt.task(()).claim(granules.read(2..3)).submit_with(|(), held, _| *held.get(2));
        let early = (control == Control::Fifo).then(behind);
        assert!(matches!(bomb.join(), Err(JoinError::Panicked(_))));
        assert!(matches!(early.unwrap_or_else(behind).join(), Err(JoinError::Poisoned)));
        assert_eq!([0, 1, 2, 3].map(|at| granules.is_poisoned(at)), [false, true, true, false]);
        let read = |range| rt.task(()).claim(granules.read(range)).submit_with(|(), _, _| ()).join();
        assert!(matches!(read(1..2), Err(JoinError::Poisoned)));
        assert!(matches!(read(0..4), Err(JoinError::Poisoned)));
        assert!(read(0..1).is_ok() && read(3..4).is_ok());
        // A task without access to the data fails too.
        let blind = rt.task(()).claim(granules.write(2..4)).submit(|(), _| ());
        assert!(matches!(blind.join(), Err(JoinError::Poisoned)));
        assert!(!granules.is_poisoned(3), "a task that did not run poisons nothing");
        granules.clear_poison();
        let sum =
            rt.task(()).claim(granules.read(0..4)).submit_with(|(), held, _| *held.get(1) + *held.get(2));
        assert_eq!(sum.join().unwrap(), 7);
    });
}

#[test]
fn a_panic_without_write_access_to_data_poisons_nothing() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [0u32; 2]);
        let blind = rt.task(()).claim(granules.write(0..2)).submit(|(), _| panic!("provoked"));
        assert!(matches!(blind.join(), Err(JoinError::Panicked(_))));
        let reader = rt
            .task(())
            .claim(granules.read(0..2))
            .submit_with(|(), held, _| assert!(*held.get(0) == 1, "provoked"));
        assert!(matches!(reader.join(), Err(JoinError::Panicked(_))));
        rt.task(()).claim(granules.write(0..2)).submit_with(|(), _, _| ()).join().unwrap();
    });
}

/// A plan does not see what a panic has left half-written; its task fails for that reason.
#[test]
fn a_plan_sees_no_poisoned_data() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [0u32; 2]);
        let bomb = rt.task(()).claim(granules.write(0..1)).submit_with(|(), mut held, _| {
            *held.get_mut(0) = 99;
            panic!("provoked");
        });
        let _ = bomb.join();
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = runs.clone();
        let claim = granules.planned(move |view| {
            counted.fetch_add(1, Relaxed);
            let seen = view.peek(1, |&next| next).and_then(|next| view.peek(next, |&half| half));
            assert!(seen.is_none(), "provoked: a plan sees poisoned data");
        });
        let task = rt.task(()).claim(claim).submit_with(|(), _, _| ());
        assert!(matches!(task.join(), Err(JoinError::Poisoned)));
        assert!(runs.load(Relaxed) >= 2);
    });
}

/// A task with a claim for poisoned granules repairs what it writes, if it has access to the data
/// and does not panic.
#[test]
fn a_task_repairs_poisoned_granules() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, vec![(0, 0); 6]);
        assert!(half_way(&rt, &granules, 1..4).join().is_err());
        assert_eq!(poisoned(&granules), [1, 2, 3]);
        // Tasks without access, readers, and tasks that panic repair nothing.
        rt.task(()).claim(granules.write(1..4).even_poisoned()).submit(|(), _| ()).join().unwrap();
        let look = rt
            .task(())
            .claim(granules.read(3..5).even_poisoned())
            .submit_with(|(), held, _| (*held.get(3), held.is_poisoned(3), held.is_poisoned(4)));
        assert_eq!(look.join().unwrap(), ((1, 0), true, false));
        let again = rt.task(()).claim(granules.write(3..5).even_poisoned()).submit_with(|(), held, _| {
            assert!(!held.is_poisoned(3), "provoked");
        });
        assert!(matches!(again.join(), Err(JoinError::Panicked(_))));
        assert_eq!(poisoned(&granules), [1, 2, 3, 4]);
        // A task that claims a part of them, and tasks that are queued behind it.
        let claim = granules.write(2..4).and_read(4..5).even_poisoned();
        let repair = rt.task(()).claim(claim).submit_with(|(), mut held, _| held.get_mut(3).1 += 1);
        let read = |range| rt.task(()).claim(granules.read(range)).submit_with(|(), held, _| *held.get(3));
        let repair = match control {
            Control::Fifo => Some(repair),
            // With a baseline, tasks are ordered when they start.
            #[cfg(feature = "baselines")]
            _ => (repair.join().unwrap(), None).1,
        };
        let (behind, beside) = (read(2..4), read(3..5));
        assert_eq!(behind.join().unwrap(), (1, 1));
        assert!(matches!(beside.join(), Err(JoinError::Poisoned)));
        repair.into_iter().for_each(|repair| repair.join().unwrap());
        // A task that claims all that are still poisoned.
        let rest = || {
            let task = rt.task(()).claim(granules.write_poisoned());
            task.submit_with(|(), held, _| held.granules().collect::<Vec<_>>()).join().unwrap()
        };
        assert_eq!(rest(), [(1, true), (4, true)]);
        assert!(poisoned(&granules).is_empty() && rest().is_empty());
        rt.task(()).claim(granules.write(0..6)).submit_with(|(), _, _| ()).join().unwrap();
    });
}

#[test]
fn a_plan_of_a_repairing_task_sees_poisoned_data() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, vec![(0, 0); 3]);
        assert!(half_way(&rt, &granules, 1..2).join().is_err());
        let claim = granules.planned(|view| {
            // The half-written pair leads to the last granule.
            if let Some(next) = view.peek(1, |pair| pair.0 + 1) {
                view.write(next..next + 1);
            }
        });
        let task = rt.task(()).claim(claim.even_poisoned());
        let held = task.submit_with(|(), held, _| held.granules().collect::<Vec<_>>());
        assert_eq!(held.join().unwrap(), [(1, false), (2, true)]);
        assert_eq!(poisoned(&granules), [1], "a granule that is only read is not repaired");
    });
}

/// Tasks panic half-way beside others, and further tasks repair the granules: no task sees a
/// half-written pair unless it repairs, and no granule stays poisoned.
#[test]
fn poisoned_granules_are_repaired_beside_other_tasks() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, vec![(0, 0); 12]);
        let repair = || {
            let task = rt.task(()).claim(granules.write_poisoned());
            task.submit_with(|(), mut held, _| {
                for granule in held.granules().map(|granule| granule.0).collect::<Vec<_>>() {
                    let (is_poisoned, pair) = (held.is_poisoned(granule), held.get_mut(granule));
                    // Another task may have repaired it before.
                    assert!(is_poisoned || pair.0 == pair.1);
                    pair.0 = pair.1;
                }
            })
        };
        let (mut tasks, mut repairs) = (Vec::new(), Vec::new());
        let mut panicked = 0;
        for number in 0..u64::from(many(200)) {
            let chance = mixed(number + setting.seed() * 1000) as u32;
            let range = chance % 12..(chance % 12 + 1 + chance / 12 % 3).min(12);
            if (chance / 36).is_multiple_of(8) {
                tasks.push(half_way(&rt, &granules, range));
            } else {
                let task = rt.task(()).claim(granules.write(range.clone()));
                tasks.push(task.submit_with(move |(), mut held, _| {
                    for granule in range {
                        let pair = held.get_mut(granule);
                        assert_eq!(pair.0, pair.1, "a half-written pair");
                        *pair = (pair.0 + 1, pair.1 + 1);
                    }
                }));
            }
            if number % 7 == 6 {
                for task in tasks.drain(..) {
                    match task.join() {
                        Ok(()) | Err(JoinError::Poisoned) => {}
                        Err(JoinError::Panicked(panic)) => {
                            assert_eq!(panic.message(), "provoked");
                            panicked += 1;
                            repairs.push(repair());
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            }
        }
        tasks.into_iter().for_each(|task| _ = task.join());
        repairs.push(repair());
        repairs.into_iter().for_each(|task| task.join().expect("a repairing task sees poisoned data"));
        assert!(panicked > 0 && poisoned(&granules).is_empty());
    });
}
