//! Tasks that claim ranges of granules.
//!
//! | module | what is in it |
//! |---|---|
//! | this one | who runs beside whom, and in which order |
//! | `data` | what tasks see and change of the data, and how long these live |
//! | `homes` | where tasks run |
//! | `plans` | claims that depend on what is there |
//! | `poison` | tasks that panic |
//! | `toggle` | tasks that wait in buckets |
//! | `unordered` | tasks that do not mind the order |

mod data;
mod homes;
mod plans;
mod poison;
mod toggle;
mod unordered;

use crate::common::{Blame, Flag, Setting, eventually, lock, on_each, silence_tasks, watchdog};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use xtasking::{Control, Directory, Granules, JoinError, Pool, Priority, Runtime, Sequencing, Shutdown};

/// All ways to keep tasks apart. What tests promise of them all holds whatever the order.
const CONTROLS: [Control; 5] =
    [Control::Lines, Control::Coarse, Control::DomLock, Control::NumLock, Control::Toggle];

/// Runs a test's body in each of some settings, in each of these ways.
fn under_each(settings: impl Iterator<Item = Setting>, body: impl Fn(Setting, Control)) {
    on_each(settings, |setting| {
        for control in CONTROLS {
            let _blame = Blame(control);
            body(setting, control);
        }
    });
}

/// Granules with these data, kept in that way.
fn granules_of<D: Send + Sync + 'static>(
    rt: &Runtime,
    control: Control,
    data: impl IntoIterator<Item = D>,
) -> Granules<D> {
    rt.granules_with(control, Directory::default(), data)
}

fn settings() -> impl Iterator<Item = Setting> {
    // Miri has no affinity of threads, and is slow.
    let threads = Setting::threads().filter(|_| !cfg!(miri));
    let simulations = Setting::simulations(&[1, 2, 3]);
    threads.chain(
        simulations.filter(|&setting| !cfg!(miri) || matches!(setting, Setting::Simulation { cores: 2, .. })),
    )
}

/// So many tasks, or fewer where each takes long.
fn many(tasks: u32) -> u32 {
    if cfg!(miri) { tasks.div_ceil(10) } else { tasks }
}

/// Who is at each granule: readers are counted up, a writer down.
struct Watched(Vec<AtomicI64>);

impl Watched {
    fn new(granules: &Granules) -> Arc<Self> {
        Arc::new(Self((0..granules.count()).map(|_| AtomicI64::new(0)).collect()))
    }

    /// Visits these granules, and asserts that nobody is there who must not be.
    fn visit(&self, granules: impl Iterator<Item = u32> + Clone, write: bool) {
        for granule in granules.clone() {
            let at = &self.0[granule as usize];
            if write {
                assert_eq!(at.fetch_sub(1, Relaxed), 0, "a writer is alone");
            } else {
                assert!(at.fetch_add(1, Relaxed) >= 0, "no writer is there");
            }
        }
        for granule in granules {
            self.0[granule as usize].fetch_add(if write { 1 } else { -1 }, Relaxed);
        }
    }
}

/// A number that looks as if it came by chance.
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

#[test]
fn writers_are_alone_and_all_run() {
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

/// Where tasks meet at several granules, they have one order at all of them: that of their spawner.
#[test]
fn tasks_that_meet_run_in_order() {
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
fn readers_meet() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let granules = rt.granules(3);
    let there = Arc::new(AtomicUsize::new(0));
    let tasks = [0, 1].map(|core| {
        let there = there.clone();
        rt.task(()).core(core).claim(granules.read(0..3)).submit(move |(), _| {
            there.fetch_add(1, Relaxed);
            eventually("both are there", || there.load(Relaxed) == 2);
        })
    });
    tasks.into_iter().for_each(|task| task.join().unwrap());
}

/// A writer that waits is not overtaken by readers who come later.
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
    // The other worker has nothing else to do, and does neither.
    rt.task(()).core(1).submit(|(), _| ()).join().unwrap();
    assert!(!reader.is_finished() && written.load(Relaxed) == 0);
    hold.set();
    assert_eq!(reader.join().unwrap(), 1);
}

#[test]
fn claims_go_with_objects_of_all_kinds() {
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
fn granules_are_given_back_whatever_happens() {
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
        // A task that is never spawned has claimed nothing.
        drop(rt.task(()).claim(granules.write(0..2)));
        rt.task(()).claim(granules.write(0..2)).submit(|(), _| ()).join().unwrap();
        // Nothing is claimed by nobody.
        rt.task(()).claim(granules.write(1..1)).submit(|(), _| ()).join().unwrap();
    });
}

#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_shutdown_serves_or_drops_all_that_stand_in_line() {
    let ends = [Shutdown::Drain, Shutdown::Cancel];
    for (shutdown, control) in ends.iter().flat_map(|&end| CONTROLS.map(|control| (end, control))) {
        let (_watched, _blame) = (watchdog(), Blame(control));
        let rt = Runtime::builder().workers(2).pool(Pool::WorkStealing).build().unwrap();
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
#[should_panic(expected = "another runtime")]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn granules_belong_to_a_runtime() {
    let (one, other) =
        (Runtime::builder().workers(1).build().unwrap(), Runtime::builder().workers(1).build().unwrap());
    let granules = one.granules(1);
    let _ = other.task(()).claim(granules.read(0..1));
}
