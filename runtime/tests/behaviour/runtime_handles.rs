//! Handles to a runtime: what they spawn runs, or is refused when the runtime ends.

use crate::common::{Dropped, Pair, Setting, on_all, silence_tasks, watchdog};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use xtasking::{
    BuildError, JoinError, Runtime, RuntimeHandle, Shutdown, WeakRuntimeHandle,
    arena::{Arena, Step},
};

/// Calls each way to spawn a task, and returns the results.
fn spawn_all_ways(rt: &Runtime) -> Vec<Result<u64, JoinError>> {
    let (one, other) = (rt.plain(1u64).build(), rt.shared_reads(2u64).build());
    let pair = rt.versioned(Pair::default()).build();
    let granules = rt.granules_of([3u64, 4]);
    let (group, after) = (rt.group(), rt.group());
    rt.task(()).of(&group).spawn(|(), _| ());
    let waited = group.wait();
    vec![
        rt.task(()).submit(|(), _| 0),
        rt.task(one.write()).submit(|one, _| *one),
        rt.task((one.read(), other.read())).submit(|(one, other), _| one + other),
        rt.task(pair.read()).submit_read(|pair| pair.0.get(), |word, _| word),
        rt.task(()).after(after).submit(|(), _| 6),
    ]
    .into_iter()
    .map(|handle| handle.join())
    .chain([
        rt.task(()).claim(granules.read(1..2)).submit_with(|(), held, _| *held.get(1)).join(),
        rt.run(|mut cx| cx.join(|_| 3, |_| 4)).map(|(three, four)| three + four),
        waited.map(|()| 0),
    ])
    .collect()
}

#[test]
fn a_handle_spawns_in_each_way_and_is_refused_after_the_end() {
    on_all(|setting| {
        let rt = setting.build();
        let handle = rt.handle();
        let results = spawn_all_ways(&handle.clone());
        let results: Vec<_> = results.into_iter().map(Result::unwrap).collect();
        assert_eq!(results, [0, 1, 3, 0, 6, 4, 7, 0]);
        drop(rt);
        assert!(handle.is_shutting_down());
        for result in spawn_all_ways(&handle) {
            assert!(matches!(result, Err(JoinError::ShutDown)), "{result:?}");
        }
        assert_eq!(handle.resize(1), Err(BuildError::ShutDown));
    });
}

#[test]
fn what_is_refused_is_dropped_and_reported() {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let heard = reports.clone();
    let hook = move |failure: xtasking::Failure| heard.lock().unwrap().push(failure.error.to_string());
    let rt = Runtime::builder().workers(1).on_failure(hook).build().unwrap();
    let handle = rt.handle();
    rt.shutdown(Shutdown::Drain);
    let drops = Arc::new(AtomicUsize::new(0));
    let captured = Dropped(drops.clone());
    handle.task(()).spawn(move |(), _| drop(captured));
    assert_eq!(drops.load(SeqCst), 1);
    assert_eq!(*reports.lock().unwrap(), ["the runtime has begun to end and takes no more tasks"]);
}

/// Each task of a thread that spawns beside the end of its runtime has run or is refused.
#[test]
fn no_task_is_lost_beside_the_end_of_the_runtime() {
    let _watched = watchdog();
    for round in 0..200 {
        let rt = Setting::Threads { workers: 1 + round % 3 }.build();
        let started = AtomicUsize::new(0);
        let spawn = |handle: RuntimeHandle| {
            let ran = Arc::new(AtomicUsize::new(0));
            let mut accepted = 0;
            loop {
                let runs = ran.clone();
                let result = handle.task(()).submit(move |(), _| runs.fetch_add(1, SeqCst)).join();
                started.fetch_add(1, SeqCst);
                match result {
                    Ok(_) => accepted += 1,
                    Err(error) => {
                        assert!(matches!(error, JoinError::ShutDown), "{error}");
                        return assert_eq!(ran.load(SeqCst), accepted);
                    }
                }
            }
        };
        thread::scope(|scope| {
            let threads = [rt.handle(), rt.handle()].map(|handle| scope.spawn(|| spawn(handle)));
            while started.load(SeqCst) < round {
                thread::yield_now();
            }
            drop(rt);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}

/// The end of the runtime waits for a reader that a handle has made; later readers read nothing.
#[test]
fn a_reader_of_a_handle_reads_until_it_is_dropped() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    let handle = rt.handle();
    let arena = Arena::new(&rt);
    let link = arena.alloc_outside(Pair::default());
    let reader = handle.reader();
    let read = |_, pair: &Pair| Step::End(pair.0.get());
    thread::scope(|scope| {
        let ending = scope.spawn(|| drop(rt));
        while !handle.is_shutting_down() {
            thread::yield_now();
        }
        let late = handle.reader();
        assert!(matches!(late.walk(link, read), Err(JoinError::ShutDown)));
        drop(late);
        assert_eq!(reader.walk(link, read).unwrap(), 0);
        assert!(!ending.is_finished());
        drop(reader);
        ending.join().unwrap();
    });
}

#[test]
fn a_task_passes_a_handle_to_a_thread_outside() {
    on_all(|setting| {
        let rt = setting.build();
        let handle = rt.task(()).submit(|(), cx| cx.handle()).join().unwrap();
        assert_eq!(handle.task(()).submit(|(), cx| cx.workers()).join().unwrap(), rt.workers());
    });
}

/// A weak handle in the runtime's own hook spawns tasks, and does not keep the runtime's memory.
#[test]
fn a_weak_handle_in_the_hook_of_its_runtime_keeps_nothing() {
    let _watched = watchdog();
    silence_tasks();
    let (drops, repairs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let own = Arc::new(OnceLock::<WeakRuntimeHandle>::new());
    let (captured, known, repaired) = (Dropped(drops.clone()), own.clone(), repairs.clone());
    let builder = Runtime::builder().workers(2).on_failure(move |_| {
        let (_captured, repaired) = (&captured, repaired.clone());
        let handle = known.get().and_then(WeakRuntimeHandle::upgrade).expect("the runtime runs");
        handle.task(()).spawn(move |(), _| _ = repaired.fetch_add(1, SeqCst));
    });
    let rt = builder.build().unwrap();
    let weak = rt.handle().downgrade();
    own.set(weak.clone()).unwrap();
    rt.task(()).spawn(|(), _| panic!("provoked"));
    while repairs.load(SeqCst) == 0 {
        thread::yield_now();
    }
    drop(rt);
    assert!(weak.upgrade().is_none());
    assert_eq!(drops.load(SeqCst), 1);
}
