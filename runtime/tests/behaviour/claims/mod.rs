//! Tasks that claim ranges of granules.
//!
//! | module | contents |
//! |---|---|
//! | this one | mutual exclusion and order |
//! | `affinity` | the workers where tasks run |
//! | `controls` | the controls that the tests run with |
//! | `data` | access to the data, and their lifetime |
//! | `plans` | claims that depend on data |
//! | `poison` | tasks that panic |
//! | `toggle` | the baseline Toggle |
//! | `unordered` | unordered claims |

mod affinity;
mod controls;
mod data;
mod plans;
mod poison;
#[cfg(feature = "baselines")]
mod toggle;
pub(crate) mod unordered;

use self::controls::{CONTROLS, Control, granules_of};
use crate::common::{
    Blame, Flag, Setting, eventually, line_of_panic, lock, on_each, silence_tasks, watchdog,
};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use xtasking::{Granules, JoinError, Priority, QueuePolicy, Runtime, Shutdown, primitive::Sequencing};

/// Runs the body of a test in each setting, with each control.
fn under_each(settings: impl Iterator<Item = Setting>, body: impl Fn(Setting, Control)) {
    on_each(settings, |setting| {
        for control in CONTROLS {
            let _blame = Blame(control);
            body(setting, control);
        }
    });
}

fn settings() -> impl Iterator<Item = Setting> {
    // Miri has no affinity of threads, and is slow.
    let threads = Setting::threads().filter(|_| !cfg!(miri));
    let simulations = Setting::simulations(&[1, 2, 3]);
    threads.chain(
        simulations.filter(|&setting| !cfg!(miri) || matches!(setting, Setting::Simulation { cores: 2, .. })),
    )
}

/// Returns the number of tasks, or fewer under Miri.
fn many(tasks: u32) -> u32 {
    if cfg!(miri) { tasks.div_ceil(10) } else { tasks }
}

/// Counts the tasks at each granule: readers upwards, a writer downwards.
struct Watched(Vec<AtomicI64>);

impl Watched {
    fn new(granules: &Granules) -> Arc<Self> {
        Arc::new(Self((0..granules.count()).map(|_| AtomicI64::new(0)).collect()))
    }

    /// Visits these granules, and asserts that no conflicting task is there.
    fn visit(&self, granules: impl Iterator<Item = u32> + Clone, write: bool) {
        for granule in granules.clone() {
            let at = &self.0[granule as usize];
            if write {
                assert_eq!(at.fetch_sub(1, Relaxed), 0, "a writer is the only task");
            } else {
                assert!(at.fetch_add(1, Relaxed) >= 0, "a reader runs beside a writer");
            }
        }
        for granule in granules {
            self.0[granule as usize].fetch_add(if write { 1 } else { -1 }, Relaxed);
        }
    }
}

/// Hashes a number.
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

#[test]
fn writers_are_exclusive_and_all_tasks_run() {
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [(); 16]);
        let watched = Watched::new(&granules);
        let ran = Arc::new(AtomicUsize::new(0));
        let group = rt.group();
        for number in 0..u64::from(many(600)) {
            let chance = mixed(number);
            let (from, length, write) =
                (chance as u32 % 16, chance as u32 / 16 % 5, (chance / 128).is_multiple_of(3));
            let range = from..(from + length).min(16);
            let claim = if write { granules.write(range.clone()) } else { granules.read(range.clone()) };
            let (watched, ran) = (watched.clone(), ran.clone());
            rt.task(()).of(&group).claim(claim).spawn(move |(), _| {
                watched.visit(range, write);
                ran.fetch_add(1, Relaxed);
            });
        }
        group.wait().unwrap();
        assert_eq!(ran.load(Relaxed), many(600) as usize);
    });
}

/// Tasks that conflict at several granules have the same order at all of them.
#[test]
fn conflicting_tasks_run_in_the_order_of_their_spawns() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let granules = rt.granules(8);
        let seen: Arc<Vec<Mutex<Vec<u64>>>> = Arc::new((0..8).map(|_| Mutex::new(Vec::new())).collect());
        let (done, all) = rt.promise();
        let (there, noted) = (granules.clone(), seen.clone());
        rt.task(()).spawn(move |(), cx| {
            let group = cx.group();
            for number in 0..u64::from(many(300)) {
                let (a, b) = ((mixed(number) % 8) as u32, (mixed(number + 1000) % 8) as u32);
                let claim = there.write(a..a + 1).and_write(b..b + 1);
                let priority = [Priority::High, Priority::Normal, Priority::Low][number as usize % 3];
                let seen = noted.clone();
                cx.task(()).of(&group).priority(priority).claim(claim).spawn(move |(), _| {
                    lock(&seen[a as usize]).push(number);
                    lock(&seen[b as usize]).push(number);
                });
            }
            group.then(cx, move |outcome, _| done.fulfil(outcome.is_ok()));
        });
        assert!(all.join().unwrap());
        for seen in seen.iter() {
            assert!(lock(seen).is_sorted());
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn readers_run_in_parallel() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let granules = rt.granules(3);
    let there = Arc::new(AtomicUsize::new(0));
    let tasks = [0, 1].map(|core| {
        let there = there.clone();
        rt.task(()).core(core).claim(granules.read(0..3)).submit(move |(), _| {
            there.fetch_add(1, Relaxed);
            eventually("both readers run", || there.load(Relaxed) == 2);
        })
    });
    tasks.into_iter().for_each(|task| task.join().unwrap());
}

/// Later readers do not overtake a writer that waits.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_writer_is_not_starved() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let granules = rt.granules(1);
    let (hold, written) = (Flag::default(), Arc::new(AtomicU64::new(0)));
    let held = hold.clone();
    rt.task(()).core(0).claim(granules.read(0..1)).spawn(move |(), _| held.wait());
    let noted = written.clone();
    rt.task(()).core(1).claim(granules.write(0..1)).spawn(move |(), _| noted.store(1, Relaxed));
    let later = written.clone();
    let reader = rt.task(()).core(1).claim(granules.read(0..1)).submit(move |(), _| later.load(Relaxed));
    // The other worker is idle by now, but neither task has run.
    rt.task(()).core(1).submit(|(), _| ()).join().unwrap();
    assert!(!reader.is_finished() && written.load(Relaxed) == 0);
    hold.set();
    assert_eq!(reader.join().unwrap(), 1);
}

#[test]
fn claims_combine_with_objects_of_all_kinds() {
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [(); 4]);
        let (a, b) = (rt.plain(0u64).pin(Sequencing).build(), rt.plain(0u64).pin(Sequencing).build());
        let group = rt.group();
        for number in 0..100u32 {
            let claim = granules.write(number % 4..number % 4 + 1);
            match number % 3 {
                0 => rt.task(a.write()).of(&group).claim(claim).spawn(|a, _| *a += 1),
                1 => rt.task((a.write(), b.write())).of(&group).claim(claim).spawn(|(a, b), _| {
                    *a += 1;
                    *b += 1;
                }),
                _ => rt.task(b.write()).of(&group).claim(claim).spawn(|b, _| *b += 1),
            }
        }
        group.wait().unwrap();
        let sums = rt.task((a.read(), b.read())).claim(granules.read(0..4)).submit(|(a, b), _| (*a, *b));
        assert_eq!(sums.join().unwrap(), (67, 66));
    });
}

#[test]
fn granules_are_released_after_panics_and_cancellations() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [(); 2]);
        let bomb = rt.task(()).claim(granules.write(0..2)).submit(|(), _| panic!("a task"));
        assert!(matches!(bomb.join(), Err(JoinError::Panicked(_))));
        let cancelled = {
            let hold = rt.task(()).claim(granules.write(0..1)).submit(|(), _| ());
            let waiting = rt.task(()).claim(granules.write(0..2)).submit(|(), _| ());
            waiting.cancel();
            hold.join().unwrap();
            waiting
        };
        let _ = cancelled.join();
        // A builder that is dropped claims nothing.
        drop(rt.task(()).claim(granules.write(0..2)));
        rt.task(()).claim(granules.write(0..2)).submit(|(), _| ()).join().unwrap();
        // An empty claim is granted at once.
        rt.task(()).claim(granules.write(1..1)).submit(|(), _| ()).join().unwrap();
    });
}

#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_shutdown_runs_or_cancels_all_queued_tasks() {
    let ends = [Shutdown::Drain, Shutdown::Cancel];
    for (shutdown, control) in ends.iter().flat_map(|&end| CONTROLS.map(|control| (end, control))) {
        let (_watched, _blame) = (watchdog(), Blame(control));
        let rt = Runtime::builder().workers(2).pool(QueuePolicy::WorkStealing).build().unwrap();
        let granules = granules_of(&rt, control, [(); 4]);
        let ran = Arc::new(AtomicUsize::new(0));
        for number in 0..1000u32 {
            let ran = ran.clone();
            let range = number % 4..4;
            rt.task(()).claim(granules.write(range)).spawn(move |(), _| _ = ran.fetch_add(1, Relaxed));
        }
        rt.shutdown(shutdown);
        if matches!(shutdown, Shutdown::Drain) {
            assert_eq!(ran.load(Relaxed), 1000);
        }
        assert_eq!(Arc::strong_count(&ran), 1, "tasks are lost");
    }
}

#[test]
fn a_panic_of_a_wrong_claim_names_the_line_of_the_program() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let other = Runtime::builder().workers(1).build().unwrap();
    let granules = rt.granules(2);
    let (here, line) = (line!(), line_of_panic(|| drop(granules.read(1..3))));
    assert_eq!(line, Some(here), "a range that ends too late");
    let (here, line) = (line!(), line_of_panic(|| drop(granules.write(0..1).and_read(1..3))));
    assert_eq!(line, Some(here), "a second range");
    let (here, line) = (line!(), line_of_panic(|| _ = granules.is_poisoned(2)));
    assert_eq!(line, Some(here), "a granule that is not there");
    let (here, line) = (line!(), line_of_panic(|| drop(other.task(()).claim(granules.read(0..1)))));
    assert_eq!(line, Some(here), "granules of another runtime");
    let (here, line) = (line!(), line_of_panic(|| drop(other.task(()).of(&rt.group()))));
    assert_eq!(line, Some(here), "a group of another runtime");
}

#[test]
#[should_panic(expected = "another runtime")]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn granules_belong_to_a_runtime() {
    let (one, other) =
        (Runtime::builder().workers(1).build().unwrap(), Runtime::builder().workers(1).build().unwrap());
    let granules = one.granules(1);
    let _ = other.task(()).claim(granules.read(0..1));
}
