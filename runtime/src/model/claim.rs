//! Tasks that claim granules get all of them, alone or together with other readers, and see what
//! was written there before.

use super::platform::standing;
use super::{Watched, model};
#[cfg(feature = "baselines")]
use crate::claims::{Control, Directory};
use crate::sync::Relaxed;
use crate::sync::global::AtomicU64;
use crate::{Claim, Granules, Handle, Runtime, platform::Driver};
use loom::thread;
use std::sync::Arc;

/// A number at each granule.
#[derive(Default)]
struct Cells([Watched; 3]);

/// Spawns a task on a worker that adds one at all granules that it writes, and reads the others.
fn visit(
    runtime: &Runtime,
    core: u16,
    claim: Claim,
    cells: &Arc<Cells>,
    writes: &'static [usize],
    reads: &'static [usize],
) -> Handle<()> {
    let cells = cells.clone();
    runtime.task(()).core(core).claim(claim).submit(move |(), _cx| {
        writes.iter().for_each(|&at| cells.0[at].add(1));
        reads.iter().for_each(|&at| _ = cells.0[at].get());
    })
}

/// Runs two workers in parallel, and then in turns until nothing is left.
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
    // A failed assertion in a body fails its task, and only here the model.
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

fn granules(runtime: &Runtime) -> (Granules, Arc<Cells>) {
    (runtime.granules(3), Arc::default())
}

#[test]
fn two_claims_of_the_same_granules_do_not_deadlock() {
    model(2, || {
        let (runtime, drivers) = standing(2);
        let runtime = Arc::new(runtime);
        let (granules, cells) = granules(&runtime);
        let (there, other_granules, other_cells) = (runtime.clone(), granules.clone(), cells.clone());
        let other =
            thread::spawn(move || visit(&there, 1, other_granules.write(0..2), &other_cells, &[0, 1], &[]));
        let handle = visit(&runtime, 0, granules.write(0..2), &cells, &[0, 1], &[]);
        run(drivers, [handle, other.join().unwrap()]);
        assert_eq!([0, 1].map(|at| cells.0[at].get()), [2, 2]);
    });
}

#[test]
fn a_writer_comes_after_earlier_readers_and_before_later_tasks() {
    model(2, || {
        let (runtime, drivers) = standing(2);
        let (granules, cells) = granules(&runtime);
        let handles = [
            visit(&runtime, 0, granules.read(0..2), &cells, &[], &[0, 1]),
            visit(&runtime, 1, granules.read(1..3), &cells, &[], &[1, 2]),
            visit(&runtime, 0, granules.write(1..2).and_read(2..3), &cells, &[1], &[2]),
            visit(&runtime, 1, granules.write(0..2), &cells, &[0, 1], &[]),
        ];
        run(drivers, handles);
        assert_eq!([0, 1, 2].map(|at| cells.0[at].get()), [1, 2, 0]);
    });
}

/// Two tasks on different workers each grant a third task one of its granules.
#[test]
fn the_grant_of_the_last_granule_sends_the_task() {
    model(3, || {
        let (runtime, drivers) = standing(2);
        let (granules, cells) = granules(&runtime);
        let handles = [
            visit(&runtime, 0, granules.write(0..1), &cells, &[0], &[]),
            visit(&runtime, 1, granules.write(1..2), &cells, &[1], &[]),
            visit(&runtime, 1, granules.write(0..2), &cells, &[0, 1], &[]),
        ];
        run(drivers, handles);
        assert_eq!([0, 1].map(|at| cells.0[at].get()), [2, 2]);
    });
}

/// The task that has the granule releases it while the other queues behind it.
#[test]
fn a_granule_released_while_a_task_queues_sends_it_once() {
    model(3, || {
        let (runtime, mut drivers) = standing(1);
        let (granules, cells) = granules(&runtime);
        let first = visit(&runtime, 0, granules.write(0..1), &cells, &[0], &[]);
        let mut driver = drivers.pop().unwrap();
        let worker = thread::spawn(move || {
            driver.step(8);
            driver
        });
        let second = visit(&runtime, 0, granules.write(0..1), &cells, &[0], &[]);
        run(vec![worker.join().unwrap()], [first, second]);
        assert_eq!(cells.0[0].get(), 2);
    });
}

/// Granules with data that loom watches.
fn watched(runtime: &Runtime) -> Granules<Watched> {
    runtime.granules_of([0, 0, 0].map(Watched::new))
}

/// Spawns a task that writes a value to the first granule.
fn write(runtime: &Runtime, granules: &Granules<Watched>, value: u64) -> Handle<()> {
    let task = runtime.task(()).core(0).claim(granules.write(0..1));
    task.submit_with(move |(), mut held, _cx| held.get_mut(0).set(value))
}

/// Spawns a task that claims to write the granule to which the first one leads, and checks that its
/// plan has seen the same.
fn follow(runtime: &Runtime, granules: &Granules<Watched>) -> Handle<()> {
    // Belongs to the executions, not to the model: it orders nothing.
    let found = Arc::new(AtomicU64::new(u64::MAX));
    let plans = found.clone();
    let claim = granules.planned(move |view| {
        let Some(next) = view.peek(0, Watched::get) else { return };
        plans.store(next, Relaxed);
        view.write(next as u32..next as u32 + 1);
    });
    runtime.task(()).core(0).claim(claim).submit_with(move |(), mut held, _cx| {
        let next = held.get(0).get();
        assert_eq!(next, found.load(Relaxed), "the plan has seen another value");
        held.get_mut(next as u32).add(0);
    })
}

/// Spawns the writer while a plan may look at the granule.
#[test]
fn a_writer_that_comes_during_a_peek_waits_for_its_end() {
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
fn a_peek_beside_a_leaving_writer_sees_all_or_nothing() {
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

/// What the plan reads is changed once before it has claimed it, and again while it waits for the
/// granule found there.
#[test]
fn a_plan_is_run_again_after_it_got_what_it_named() {
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
fn several_tasks_read_data_and_one_writes_it() {
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

/// With a pool of locks, each worker waits for conflicting tasks that came before.
#[cfg(feature = "baselines")]
#[test]
fn workers_wait_in_turn_at_a_pool_of_locks() {
    model(2, || {
        let (runtime, drivers) = standing(2);
        let granules = runtime.granules_with_control(Control::DomLock, Directory::default(), [(); 3]);
        let cells: Arc<Cells> = Arc::default();
        let handles = [
            visit(&runtime, 0, granules.write(0..2), &cells, &[0, 1], &[]),
            visit(&runtime, 1, granules.read(1..3), &cells, &[], &[1, 2]),
            visit(&runtime, 1, granules.write(1..2), &cells, &[1], &[]),
        ];
        run(drivers, handles);
        assert_eq!([0, 1, 2].map(|at| cells.0[at].get()), [1, 2, 0]);
    });
}

/// Both workers arrive at the same time: one releases its granules while the other finds that they
/// are taken.
#[test]
fn a_release_beside_a_new_retry_waiter_notifies_it() {
    model(3, || {
        let (runtime, drivers) = standing(2);
        let (granules, cells) = granules(&runtime);
        let handles = [
            visit(&runtime, 0, granules.write(0..2).unordered(), &cells, &[0, 1], &[]),
            visit(&runtime, 1, granules.write(1..3).unordered(), &cells, &[1, 2], &[]),
        ];
        run(drivers, handles);
        assert_eq!([0, 1, 2].map(|at| cells.0[at].get()), [1, 2, 1]);
    });
}

/// Two tasks wait to retry for one granule. The first of them may still lack another one when it is
/// notified.
#[test]
fn all_retry_waiters_for_a_granule_get_it() {
    model(2, || {
        let (runtime, drivers) = standing(2);
        let (granules, cells) = granules(&runtime);
        let handles = [
            visit(&runtime, 0, granules.write(0..1), &cells, &[0], &[]),
            visit(&runtime, 1, granules.write(1..2), &cells, &[1], &[]),
            visit(&runtime, 1, granules.write(0..2).unordered(), &cells, &[0, 1], &[]),
            visit(&runtime, 0, granules.write(0..1).unordered(), &cells, &[0], &[]),
        ];
        run(drivers, handles);
        assert_eq!([0, 1].map(|at| cells.0[at].get()), [3, 2]);
    });
}

/// Readers wait to retry for what is written, and then run in parallel.
#[test]
fn retrying_readers_see_what_was_written() {
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
