//! Tasks that claim granules get all of them, alone or beside other readers, and see what was done there before.

use super::platform::standing;
use super::{Watched, model};
use crate::{Claim, Driver, Granules, Handle, Runtime};
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
fn run(drivers: Vec<Driver>, handles: &[Handle<()>]) {
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
        run(drivers, &[handle, other.join().unwrap()]);
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
        run(drivers, &handles);
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
        run(drivers, &handles);
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
        run(vec![worker.join().unwrap()], &[first, second]);
        assert_eq!(shelves.0[0].get(), 2);
    });
}
