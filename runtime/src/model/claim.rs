//! Tasks that claim granules get all of them, alone or beside other readers, and see what was done there before.

use super::platform::standing;
use super::{Watched, model};
use crate::sync::Relaxed;
use crate::sync::global::AtomicU64;
use crate::{Claim, Control, Directory, Driver, Granules, Handle, Runtime};
use loom::thread;
use std::sync::Arc;

/// Something at each granule.
#[derive(Default)]
struct Shelves([Watched; 3]);

/// A task on a worker that adds one at all granules that it writes, and reads the others.
fn visit(
    runtime: &Runtime,
    core: u16,
    claim: Claim,
    shelves: &Arc<Shelves>,
    writes: &'static [usize],
    reads: &'static [usize],
) -> Handle<()> {
    let shelves = shelves.clone();
    runtime.task(()).core(core).claim(claim).submit(move |(), _cx| {
        writes.iter().for_each(|&at| shelves.0[at].add(1));
        reads.iter().for_each(|&at| _ = shelves.0[at].get());
    })
}

/// Lets two workers run side by side, and then until nothing is left.
pub(super) fn run<const TASKS: usize>(drivers: Vec<Driver>, handles: [Handle<()>; TASKS]) {
    let workers = drivers.into_iter().map(|mut driver| {
        thread::spawn(move || {
            driver.step(8);
            driver
        })
    });
    let workers: Vec<_> = workers.collect();
    let mut drivers: Vec<_> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    for _ in 0..6 {
        drivers.iter_mut().for_each(|driver| _ = driver.step(8));
    }
    assert!(handles.iter().all(Handle::is_finished), "tasks wait for each other");
    // What a body asserts is its task's failure, not yet the model's.
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

fn granules(runtime: &Runtime) -> (Granules, Arc<Shelves>) {
    (runtime.granules(3), Arc::default())
}

#[test]
fn two_threads_that_claim_the_same_do_not_block_each_other() {
    model(2, || {
        let (runtime, drivers) = standing(2);
        let runtime = Arc::new(runtime);
        let (granules, shelves) = granules(&runtime);
        let (there, other_granules, other_shelves) = (runtime.clone(), granules.clone(), shelves.clone());
        let other =
            thread::spawn(move || visit(&there, 1, other_granules.write(0..2), &other_shelves, &[0, 1], &[]));
        let handle = visit(&runtime, 0, granules.write(0..2), &shelves, &[0, 1], &[]);
        run(drivers, [handle, other.join().unwrap()]);
        assert_eq!([0, 1].map(|at| shelves.0[at].get()), [2, 2]);
    });
}

#[test]
fn a_writer_comes_after_readers_and_before_those_who_came_later() {
    model(2, || {
        let (runtime, drivers) = standing(2);
        let (granules, shelves) = granules(&runtime);
        let handles = [
            visit(&runtime, 0, granules.read(0..2), &shelves, &[], &[0, 1]),
            visit(&runtime, 1, granules.read(1..3), &shelves, &[], &[1, 2]),
            visit(&runtime, 0, granules.write(1..2).and_read(2..3), &shelves, &[1], &[2]),
            visit(&runtime, 1, granules.write(0..2), &shelves, &[0, 1], &[]),
        ];
        run(drivers, handles);
        assert_eq!([0, 1, 2].map(|at| shelves.0[at].get()), [1, 2, 0]);
    });
}

/// Each of two on different workers gives a third one of its granules.
#[test]
fn whoever_grants_the_last_granule_sends_the_task_after_all_others() {
    model(3, || {
        let (runtime, drivers) = standing(2);
        let (granules, shelves) = granules(&runtime);
        let handles = [
            visit(&runtime, 0, granules.write(0..1), &shelves, &[0], &[]),
            visit(&runtime, 1, granules.write(1..2), &shelves, &[1], &[]),
            visit(&runtime, 1, granules.write(0..2), &shelves, &[0, 1], &[]),
        ];
        run(drivers, handles);
        assert_eq!([0, 1].map(|at| shelves.0[at].get()), [2, 2]);
    });
}

/// The one that has it gives it back while the other takes its place behind it.
#[test]
fn a_granule_given_back_while_one_gets_in_line_sends_it_once() {
    model(3, || {
        let (runtime, mut drivers) = standing(1);
        let (granules, shelves) = granules(&runtime);
        let first = visit(&runtime, 0, granules.write(0..1), &shelves, &[0], &[]);
        let mut driver = drivers.pop().unwrap();
        let worker = thread::spawn(move || {
            driver.step(8);
            driver
        });
        let second = visit(&runtime, 0, granules.write(0..1), &shelves, &[0], &[]);
        run(vec![worker.join().unwrap()], [first, second]);
        assert_eq!(shelves.0[0].get(), 2);
    });
}

/// Granules with data that loom watches.
fn watched(runtime: &Runtime) -> Granules<Watched> {
    runtime.granules_of([0, 0, 0].map(Watched::new))
}

/// A task that writes something to the first granule.
fn write(runtime: &Runtime, granules: &Granules<Watched>, value: u64) -> Handle<()> {
    let task = runtime.task(()).core(0).claim(granules.write(0..1));
    task.submit_with(move |(), mut held, _cx| held.get_mut(0).set(value))
}

/// A task that claims to write what the first granule leads to, and finds the same there as its plan has found.
fn follow(runtime: &Runtime, granules: &Granules<Watched>) -> Handle<()> {
    // Of the executions, not of the model: nothing is ordered by it.
    let found = Arc::new(AtomicU64::new(u64::MAX));
    let plans = found.clone();
    let claim = granules.planned(move |sight| {
        let Some(next) = sight.see(0, Watched::get) else { return };
        plans.store(next, Relaxed);
        sight.write(next as u32..next as u32 + 1);
    });
    runtime.task(()).core(0).claim(claim).submit_with(move |(), mut held, _cx| {
        let next = held.get(0).get();
        assert_eq!(next, found.load(Relaxed), "the plan has found something else");
        held.get_mut(next as u32).add(0);
    })
}

/// Spawns the other task while a plan may look at the granule.
#[test]
fn a_writer_who_comes_beside_a_glance_waits_for_its_end() {
    model(2, || {
        let (runtime, mut drivers) = standing(1);
        let runtime = Arc::new(runtime);
        let granules = watched(&runtime);
        let (there, theirs, mut driver) = (runtime.clone(), granules.clone(), drivers.pop().unwrap());
        let writer = thread::spawn(move || {
            let handle = write(&there, &theirs, 2);
            driver.step(8);
            (driver, handle)
        });
        let follower = follow(&runtime, &granules);
        let (driver, writer) = writer.join().unwrap();
        run(vec![driver], [follower, writer]);
    });
}

/// The writer is there first, and leaves meanwhile.
#[test]
fn a_glance_beside_a_writer_who_leaves_sees_all_or_nothing() {
    model(3, || {
        let (runtime, mut drivers) = standing(1);
        let granules = watched(&runtime);
        let mut driver = drivers.pop().unwrap();
        let writer = write(&runtime, &granules, 2);
        let worker = thread::spawn(move || {
            driver.step(8);
            driver
        });
        let follower = follow(&runtime, &granules);
        run(vec![worker.join().unwrap()], [follower, writer]);
    });
}

/// What the plan was to see is changed once before it has it, and again while it waits for what it found there.
#[test]
fn a_plan_is_asked_again_by_whoever_gives_it_what_it_named() {
    model(2, || {
        let (runtime, mut drivers) = standing(1);
        let granules = watched(&runtime);
        let mut driver = drivers.pop().unwrap();
        let first = write(&runtime, &granules, 1);
        let follower = follow(&runtime, &granules);
        let worker = thread::spawn(move || {
            driver.step(8);
            driver
        });
        let second = write(&runtime, &granules, 2);
        run(vec![worker.join().unwrap()], [first, follower, second]);
    });
}

#[test]
fn data_are_read_by_several_and_written_by_one() {
    model(2, || {
        let (runtime, drivers) = standing(2);
        let granules = watched(&runtime);
        let read = |core| {
            let task = runtime.task(()).core(core).claim(granules.read(0..2));
            task.submit_with(|(), held, _cx| assert_eq!(held.get(0).get(), held.get(1).get()))
        };
        let add = |core| {
            let task = runtime.task(()).core(core).claim(granules.write(0..2));
            task.submit_with(|(), mut held, _cx| {
                held.get_mut(0).add(1);
                held.get_mut(1).add(1);
            })
        };
        run(drivers, [read(0), read(1), add(0), read(1)]);
    });
}

/// Where a pool of locks keeps tasks apart, each worker waits for who was there before and whom it must not meet.
#[test]
fn workers_wait_in_turn_at_a_pool_of_locks() {
    model(2, || {
        let (runtime, drivers) = standing(2);
        let granules = runtime.granules_with(Control::DomLock, Directory::default(), [(); 3]);
        let shelves: Arc<Shelves> = Arc::default();
        let handles = [
            visit(&runtime, 0, granules.write(0..2), &shelves, &[0, 1], &[]),
            visit(&runtime, 1, granules.read(1..3), &shelves, &[], &[1, 2]),
            visit(&runtime, 1, granules.write(1..2), &shelves, &[1], &[]),
        ];
        run(drivers, handles);
        assert_eq!([0, 1, 2].map(|at| shelves.0[at].get()), [1, 2, 0]);
    });
}

/// Workers get to both at the same time: one gives its granules back while the other finds that they are not to be had.
#[test]
fn a_granule_given_back_beside_one_who_comes_to_hope_is_told() {
    model(3, || {
        let (runtime, drivers) = standing(2);
        let (granules, shelves) = granules(&runtime);
        let handles = [
            visit(&runtime, 0, granules.write(0..2).unordered(), &shelves, &[0, 1], &[]),
            visit(&runtime, 1, granules.write(1..3).unordered(), &shelves, &[1, 2], &[]),
        ];
        run(drivers, handles);
        assert_eq!([0, 1, 2].map(|at| shelves.0[at].get()), [1, 2, 1]);
    });
}

/// Two hope for a granule. The first of them may still lack another one when it is told.
#[test]
fn all_who_hope_for_the_same_get_it() {
    model(2, || {
        let (runtime, drivers) = standing(2);
        let (granules, shelves) = granules(&runtime);
        let handles = [
            visit(&runtime, 0, granules.write(0..1), &shelves, &[0], &[]),
            visit(&runtime, 1, granules.write(1..2), &shelves, &[1], &[]),
            visit(&runtime, 1, granules.write(0..2).unordered(), &shelves, &[0, 1], &[]),
            visit(&runtime, 0, granules.write(0..1).unordered(), &shelves, &[0], &[]),
        ];
        run(drivers, handles);
        assert_eq!([0, 1].map(|at| shelves.0[at].get()), [3, 2]);
    });
}

/// Readers hope for what is written, and go side by side.
#[test]
fn readers_who_hope_see_what_was_written() {
    model(2, || {
        let (runtime, drivers) = standing(2);
        let granules = watched(&runtime);
        let read = |core| {
            let task = runtime.task(()).core(core).claim(granules.read(0..2).unordered());
            task.submit_with(|(), held, _cx| assert_eq!(held.get(0).get(), held.get(1).get()))
        };
        let add = |core| {
            let task = runtime.task(()).core(core).claim(granules.write(0..2).unordered());
            task.submit_with(|(), mut held, _cx| {
                held.get_mut(0).add(1);
                held.get_mut(1).add(1);
            })
        };
        run(drivers, [add(0), read(1), add(1), read(0)]);
    });
}
