//! Tasks with several objects get all of them, exclusively, in an order that all agree on.

use super::platform::standing;
use super::{Watched, model};
use crate::sync::Relaxed;
use crate::sync::global::AtomicU64;
use crate::{Handle, Object, Plain, Runtime, platform::Driver};
use loom::thread;
use std::sync::Arc;

type Number = Object<Plain<Watched>>;

/// Makes objects with a home at each of the first two workers.
fn objects(runtime: &Runtime) -> [Number; 2] {
    let objects = [(); 2].map(|()| runtime.plain(Watched::new(0)).build());
    assert_eq!(objects.each_ref().map(Object::home), [0, 1]);
    objects
}

/// Spawns a task that counts at both objects.
fn count_at_both(runtime: &Runtime, first: &Number, second: &Number) -> Handle<()> {
    runtime.task((first.write(), second.write())).submit(|(first, second), _cx| {
        first.add(1);
        second.add(1);
    })
}

/// Steps each driver a few times on a thread of its own.
fn step_in_parallel(drivers: Vec<Driver>) -> Vec<Driver> {
    let workers = drivers.into_iter().map(|mut driver| {
        thread::spawn(move || {
            (0..3).for_each(|_| _ = driver.step(8));
            driver
        })
    });
    let workers: Vec<_> = workers.collect();
    workers.into_iter().map(|worker| worker.join().unwrap()).collect()
}

/// Steps all drivers until all tasks have run.
fn drive(drivers: &mut [Driver], handles: &[Handle<()>]) {
    for _ in 0..10 {
        drivers.iter_mut().for_each(|driver| _ = driver.step(8));
    }
    assert!(handles.iter().all(Handle::is_finished), "tasks wait for each other");
}

/// Asserts how often tasks have counted at the objects, when nothing runs.
fn assert_counted(runtime: &Runtime, drivers: &mut [Driver], objects: &[Number], counted: u64) {
    for object in objects {
        let read = runtime.task(object.read()).submit(move |number, _cx| assert_eq!(number.get(), counted));
        drive(drivers, &[read]);
    }
}

#[test]
fn two_tasks_with_crossed_objects_do_not_deadlock() {
    model(2, || {
        let (runtime, mut drivers) = standing(2);
        let runtime = Arc::new(runtime);
        let objects = objects(&runtime);
        let (there, [first, second]) = (runtime.clone(), objects.clone());
        let other = thread::spawn(move || count_at_both(&there, &second, &first));
        let handle = count_at_both(&runtime, &objects[0], &objects[1]);
        let handles = [handle, other.join().unwrap()];
        // Tasks queued in any order can all run to their end.
        drive(&mut drivers, &handles);
        assert_counted(&runtime, &mut drivers, &objects, 2);
    });
}

#[test]
fn two_homes_grant_tasks_all_their_objects_once() {
    model(2, || {
        let (runtime, drivers) = standing(2);
        let objects = objects(&runtime);
        let handles = [
            count_at_both(&runtime, &objects[0], &objects[1]),
            count_at_both(&runtime, &objects[1], &objects[0]),
        ];
        let mut drivers = step_in_parallel(drivers);
        drive(&mut drivers, &handles);
        assert_counted(&runtime, &mut drivers, &objects, 2);
    });
}

#[test]
fn a_task_with_two_objects_keeps_its_place_among_those_with_one() {
    model(2, || {
        let (runtime, drivers) = standing(2);
        let objects = objects(&runtime);
        let order = Arc::new(AtomicU64::new(0));
        let note = |number: u64| {
            let order = order.clone();
            move |here: &Watched| {
                here.add(1);
                order.store(order.load(Relaxed) * 10 + number, Relaxed);
            }
        };
        let (before, both, after) = (note(1), note(2), note(3));
        let handles = [
            runtime.task(objects[0].write()).submit(move |here, _cx| before(here)),
            runtime.task((objects[1].write(), objects[0].write())).submit(move |(_, here), _cx| both(here)),
            runtime.task(objects[0].write()).submit(move |here, _cx| after(here)),
        ];
        let mut drivers = step_in_parallel(drivers);
        drive(&mut drivers, &handles);
        assert_eq!(order.load(Relaxed), 123);
    });
}
