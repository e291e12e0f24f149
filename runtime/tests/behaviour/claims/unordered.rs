//! Unordered claims.

use super::{Watched, many, mixed, settings};
use crate::common::{Flag, on_each, watchdog, watchdog_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use xtasking::{Claim, Context, Granules, JoinError, QueuePolicy, Runtime, Shutdown};

/// How many readers overtake a waiting writer, on two workers.
const MAX_OVERTAKING: usize = 16;

/// Spawns a reader that holds the granule until the flag is set, and a writer that queues behind it
/// and sets the number.
fn held(rt: &Runtime, granules: &Granules) -> (Flag, Arc<AtomicU64>) {
    let (hold, written) = (Flag::default(), Arc::new(AtomicU64::new(0)));
    let (held, noted) = (hold.clone(), written.clone());
    rt.task(()).core(0).claim(granules.read(0..1)).spawn(move |(), _| held.wait());
    rt.task(()).core(1).claim(granules.write(0..1)).spawn(move |(), _| noted.store(1, Relaxed));
    (hold, written)
}

/// Waits until a worker has got to all tasks that were sent there.
pub(crate) fn drain(rt: &Runtime, core: u16) {
    rt.task(()).core(core).submit(|(), _| ()).join().unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_bounded_number_of_readers_overtakes_a_writer() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let granules = rt.granules(1);
    let (hold, written) = held(&rt, &granules);
    let readers: Vec<_> = (0..3 * MAX_OVERTAKING)
        .map(|_| {
            let written = written.clone();
            let task = rt.task(()).core(1).claim(granules.read(0..1).unordered());
            task.submit(move |(), _| written.load(Relaxed))
        })
        .collect();
    // An ordered reader runs after the writer.
    let last = written.clone();
    let last = rt.task(()).core(1).claim(granules.read(0..1)).submit(move |(), _| last.load(Relaxed));
    let mut readers = readers.into_iter().map(|reader| reader.join().unwrap());
    let overtaking: Vec<u64> = readers.by_ref().take(MAX_OVERTAKING).collect();
    assert_eq!(overtaking, [0; MAX_OVERTAKING]);
    // All have tried before the writer may run.
    drain(&rt, 1);
    hold.set();
    assert!(readers.all(|written| written == 1), "readers overtake the writer without bound");
    assert_eq!(last.join().unwrap(), 1);
}

/// An ordered task that lacks one granule keeps others from those that it holds; an unordered one
/// holds none.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_task_that_waits_to_retry_holds_no_granule() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let granules = rt.granules(2);
    let (hold, written) = held(&rt, &granules);
    let both = rt.task(()).core(1).claim(granules.write(0..2).unordered()).submit(|(), _| ());
    drain(&rt, 1);
    rt.task(()).core(1).claim(granules.write(1..2)).submit(|(), _| ()).join().unwrap();
    assert!(!both.is_finished() && written.load(Relaxed) == 0);
    hold.set();
    both.join().unwrap();
}

/// A notified task that lacks another granule passes the notification on to the next retry waiter.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_waiter_notified_for_nothing_passes_the_notification_on() {
    let _watched = watchdog_of(Duration::from_secs(20));
    let rt = Runtime::builder().workers(3).build().unwrap();
    let granules = rt.granules(2);
    let holds = [0, 1].map(|core| {
        let hold = Flag::default();
        let (held, granule) = (hold.clone(), u32::from(core));
        rt.task(()).core(core).claim(granules.write(granule..granule + 1)).spawn(move |(), _| held.wait());
        hold
    });
    let both = rt.task(()).core(2).claim(granules.write(0..2).unordered()).submit(|(), _| ());
    let next = rt.task(()).core(2).claim(granules.write(0..1).unordered()).submit(|(), _| ());
    drain(&rt, 2);
    holds[0].set();
    next.join().unwrap();
    assert!(!both.is_finished());
    holds[1].set();
    both.join().unwrap();
}

/// The first retry waiter is notified while its worker is busy, and then cancelled.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_cancelled_waiter_passes_the_notification_on() {
    let _watched = watchdog_of(Duration::from_secs(20));
    let rt = Runtime::builder().workers(2).build().unwrap();
    let granules = rt.granules(1);
    let hold = Flag::default();
    let held = hold.clone();
    rt.task(()).core(0).claim(granules.write(0..1)).spawn(move |(), _| held.wait());
    let waiters =
        [(); 2].map(|()| rt.task(()).core(1).claim(granules.write(0..1).unordered()).submit(|(), _| ()));
    drain(&rt, 1);
    let begun = Flag::default();
    let begins = begun.clone();
    let busy = rt.task(()).core(1).submit(move |(), cx| {
        begins.set();
        while !cx.is_shutting_down() {
            std::thread::yield_now();
        }
    });
    begun.wait();
    hold.set();
    drain(&rt, 0);
    rt.shutdown(Shutdown::Cancel);
    busy.join().unwrap();
    for task in waiters {
        assert!(matches!(task.join(), Err(JoinError::Cancelled)));
    }
}

/// More ordered tasks than this before an unordered one count as starvation.
const STARVATION: usize = 20_000;

/// A chain of ordered tasks at a granule, each of which spawns the next one.
#[derive(Clone, Default)]
struct Chain {
    writes: bool,
    enough: Arc<AtomicBool>,
    ran: Arc<AtomicUsize>,
}

impl Chain {
    fn go_on(self, cx: &mut Context, granules: &Granules) {
        let inside = granules.clone();
        let claim = if self.writes { granules.write(0..1) } else { granules.read(0..1) };
        cx.task(()).begin_operation().claim(claim).spawn(move |(), cx| {
            if self.ran.fetch_add(1, Relaxed) < 2 * STARVATION && !self.enough.load(Relaxed) {
                self.go_on(cx, &inside);
            }
        });
    }
}

/// Submits an unordered task beside ordered ones that hold the granule or queue for it at any time.
/// Returns how many of them have run before it.
fn ordered_before_an_unordered(rt: &Runtime, chains_write: bool, writes: bool) -> usize {
    let granules = rt.granules(1);
    let chain = Chain { writes: chains_write, ..Chain::default() };
    let group = rt.group();
    for _ in 0..3 {
        let (granules, chain) = (granules.clone(), chain.clone());
        rt.task(()).of(&group).spawn(move |(), cx| chain.go_on(cx, &granules));
    }
    group.wait().unwrap();
    let claim = if writes { granules.write(0..1) } else { granules.read(0..1) };
    let ran = chain.ran.clone();
    let begun = ran.load(Relaxed);
    let task = rt.task(()).claim(claim.unordered()).submit(move |(), _| ran.load(Relaxed));
    let meanwhile = task.join().unwrap() - begun;
    chain.enough.store(true, Relaxed);
    meanwhile
}

/// A thread that loses its core at the wrong moment lets ordered tasks run, but not each time.
#[test]
fn unordered_tasks_are_not_starved_by_ordered_ones() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        for (chains_write, writes) in [(true, false), (true, true), (false, true)] {
            let mut attempts = (0..5).map(|_| ordered_before_an_unordered(&rt, chains_write, writes));
            assert!(attempts.any(|meanwhile| meanwhile < STARVATION), "ordered tasks ran first each time");
        }
    });
}

/// Returns a claim to some scattered granules, and what it reads and writes.
fn scattered<'g>(granules: &'g Granules, number: u64) -> (Claim<'g>, [Vec<u32>; 2]) {
    let mut all: [Vec<u32>; 2] = [Vec::new(), Vec::new()];
    let writes = mixed(number + 7000).is_multiple_of(3);
    for at in 0..1 + mixed(number + 1000) % 3 {
        let granule = (mixed(3 * number + at) % 8) as u32;
        if !all[usize::from(writes)].contains(&granule) {
            all[usize::from(writes)].push(granule);
        }
    }
    let mut claim = granules.read(0..0);
    for &granule in &all[0] {
        claim = claim.and_read(granule..granule + 1);
    }
    for &granule in &all[1] {
        claim = claim.and_write(granule..granule + 1);
    }
    (if mixed(number + 2000).is_multiple_of(4) { claim } else { claim.unordered() }, all)
}

#[test]
fn ordered_and_unordered_tasks_all_run() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let granules = rt.granules(8);
        let watched = Watched::new(&granules);
        let ran = Arc::new(AtomicUsize::new(0));
        let group = rt.group();
        for number in 0..u64::from(many(1000)) {
            let (claim, [read, written]) = scattered(&granules, number);
            let (watched, ran) = (watched.clone(), ran.clone());
            rt.task(()).of(&group).claim(claim).spawn(move |(), _| {
                watched.visit(read.into_iter(), false);
                watched.visit(written.into_iter(), true);
                ran.fetch_add(1, Relaxed);
            });
        }
        group.wait().unwrap();
        assert_eq!(ran.load(Relaxed), many(1000) as usize);
    });
}

#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_shutdown_runs_or_cancels_all_retry_waiters() {
    for shutdown in [Shutdown::Drain, Shutdown::Cancel] {
        let _watched = watchdog();
        let rt = Runtime::builder().workers(2).pool(QueuePolicy::WorkStealing).build().unwrap();
        let granules = rt.granules(8);
        let ran = Arc::new(AtomicUsize::new(0));
        for number in 0..1000 {
            let ran = ran.clone();
            let (claim, _) = scattered(&granules, number);
            rt.task(()).claim(claim).spawn(move |(), _| _ = ran.fetch_add(1, Relaxed));
        }
        rt.shutdown(shutdown);
        if matches!(shutdown, Shutdown::Drain) {
            assert_eq!(ran.load(Relaxed), 1000);
        }
        assert_eq!(Arc::strong_count(&ran), 1, "tasks are lost");
    }
}
