//! Tasks that panic with granules in their hands.

use super::{granules_of, many, mixed, settings, under_each};
use crate::common::silence_tasks;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{Control, Granules, Handle, JoinError, Runtime};

/// A task that is to write both halves of each pair, and panics between the two at the last one.
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
fn a_panic_poisons_what_was_written_and_nothing_else() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [0u32; 4]);
        let claim = granules.write(1..3).and_read(0..1);
        let bomb = rt.task(()).claim(claim).submit_with(|(), mut held, _| {
            *held.get_mut(1) = 7;
            panic!("provoked");
        });
        // One that stands in line behind it fails as those that come later. (Without lines it might come before it.)
        let behind = || rt.task(()).claim(granules.read(2..3)).submit_with(|(), held, _| *held.get(2));
        let early = (control == Control::Lines).then(behind);
        assert!(matches!(bomb.join(), Err(JoinError::Panicked(_))));
        assert!(matches!(early.unwrap_or_else(behind).join(), Err(JoinError::Poisoned)));
        assert_eq!([0, 1, 2, 3].map(|at| granules.is_poisoned(at)), [false, true, true, false]);
        let read = |range| rt.task(()).claim(granules.read(range)).submit_with(|(), _, _| ()).join();
        assert!(matches!(read(1..2), Err(JoinError::Poisoned)));
        assert!(matches!(read(0..4), Err(JoinError::Poisoned)));
        assert!(read(0..1).is_ok() && read(3..4).is_ok());
        // Whether it would see the data or not.
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
fn a_panic_of_who_did_not_see_the_data_or_only_read_them_does_no_harm() {
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

/// A plan does not see what a panic has left half written, and its task fails for that, not by the plan.
#[test]
fn what_is_poisoned_is_shown_to_no_plan() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [0u32; 2]);
        let bomb = rt.task(()).claim(granules.write(0..1)).submit_with(|(), mut held, _| {
            *held.get_mut(0) = 99;
            panic!("provoked");
        });
        let _ = bomb.join();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let claim = granules.planned(move |sight| {
            counted.fetch_add(1, Relaxed);
            let seen = sight.see(1, |&next| next).and_then(|next| sight.see(next, |&half| half));
            assert!(seen.is_none(), "provoked: nobody should see that");
        });
        let task = rt.task(()).claim(claim).submit_with(|(), _, _| ());
        assert!(matches!(task.join(), Err(JoinError::Poisoned)));
        assert!(asked.load(Relaxed) >= 2);
    });
}

/// A task that comes though they are poisoned mends what it writes, if it comes to its end and sees them; and nothing else.
#[test]
fn what_is_poisoned_is_mended_by_a_task() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, vec![(0, 0); 6]);
        assert!(half_way(&rt, &granules, 1..4).join().is_err());
        assert_eq!(poisoned(&granules), [1, 2, 3]);
        // Blind, reading, and panicking ones.
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
        // One that claims a part of them by name, and those who stand in line behind it.
        let claim = granules.write(2..4).and_read(4..5).even_poisoned();
        let mend = rt.task(()).claim(claim).submit_with(|(), mut held, _| held.get_mut(3).1 += 1);
        let read = |range| rt.task(()).claim(granules.read(range)).submit_with(|(), held, _| *held.get(3));
        let mend = match control {
            Control::Lines => Some(mend),
            // Tasks come in the order in which they are begun.
            _ => (mend.join().unwrap(), None).1,
        };
        let (behind, beside) = (read(2..4), read(3..5));
        assert_eq!(behind.join().unwrap(), (1, 1));
        assert!(matches!(beside.join(), Err(JoinError::Poisoned)));
        mend.into_iter().for_each(|mend| mend.join().unwrap());
        // And one that claims the rest, whatever that is.
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
fn a_plan_of_a_task_that_mends_sees_what_is_poisoned() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, vec![(0, 0); 3]);
        assert!(half_way(&rt, &granules, 1..2).join().is_err());
        let claim = granules.planned(|sight| {
            // Half-written, it leads to the last one.
            if let Some(next) = sight.see(1, |pair| pair.0 + 1) {
                sight.write(next..next + 1);
            }
        });
        let task = rt.task(()).claim(claim.even_poisoned());
        let held = task.submit_with(|(), held, _| held.granules().collect::<Vec<_>>());
        assert_eq!(held.join().unwrap(), [(1, false), (2, true)]);
        assert_eq!(poisoned(&granules), [1], "it has only read that");
    });
}

/// Tasks panic half-way beside others, and others mend that as soon as it is known: nobody sees a half without being told, and
/// nothing is left.
#[test]
fn panics_are_mended_beside_other_tasks() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, vec![(0, 0); 12]);
        let mend = || {
            let task = rt.task(()).claim(granules.write_poisoned());
            task.submit_with(|(), mut held, _| {
                for granule in held.granules().map(|granule| granule.0).collect::<Vec<_>>() {
                    let (is_poisoned, pair) = (held.is_poisoned(granule), held.get_mut(granule));
                    // Others may have been there before it.
                    assert!(is_poisoned || pair.0 == pair.1);
                    pair.0 = pair.1;
                }
            })
        };
        let (mut tasks, mut menders) = (Vec::new(), Vec::new());
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
                        assert_eq!(pair.0, pair.1, "a half");
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
                            menders.push(mend());
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            }
        }
        tasks.into_iter().for_each(|task| _ = task.join());
        menders.push(mend());
        menders.into_iter().for_each(|mender| mender.join().expect("menders see what is poisoned"));
        assert!(panicked > 0 && poisoned(&granules).is_empty());
    });
}
