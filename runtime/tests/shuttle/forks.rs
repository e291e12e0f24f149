//! Joins: each half runs once, on any worker, and the join ends when both have ended.

use crate::platform::{pause, runtime};
use crate::schedules::explore;
use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{Fork, JoinError};

/// Runs joins to this depth, in a shape that follows from a number. Counts each leaf once.
fn divide(depth: u32, path: u64, shape: u64, leaves: &[AtomicUsize], mut cx: Fork<'_>) -> usize {
    let leaf = |path: u64| {
        leaves[path as usize].fetch_add(1, Relaxed);
        1
    };
    if depth == 0 || shape >> (path % 64) & 3 == 0 {
        return leaf(path << depth);
    }
    let (left, right) = cx.join(
        |cx| divide(depth - 1, path * 2, shape, leaves, cx),
        |cx| divide(depth - 1, path * 2 + 1, shape, leaves, cx),
    );
    left + right
}

#[test]
fn halves_run_once() {
    explore(|mut random| {
        let rt = runtime(1 + random.below(3));
        for _ in 0..2 {
            let shape = random.below(usize::MAX) as u64;
            let leaves: [AtomicUsize; 16] = Default::default();
            let counted = rt.run(|cx| divide(4, 0, shape, &leaves, cx)).unwrap();
            assert_eq!(leaves.iter().map(|leaf| leaf.load(Relaxed)).sum::<usize>(), counted);
            assert!(leaves.iter().all(|leaf| leaf.load(Relaxed) <= 1), "{leaves:?}");
        }
    });
}

/// Halves that take long enough for their waiters to fall asleep, sometimes more than once.
#[test]
fn a_worker_that_sleeps_in_a_join_is_woken() {
    fn slow(depth: u32, pauses: u64, mut cx: Fork<'_>) -> u64 {
        let take_long = |which: u64| (0..pauses >> (which * 3) & 7).for_each(|_| pause());
        if depth == 0 {
            take_long(0);
            return 1;
        }
        let (left, right) = cx.join(
            |cx| slow(depth - 1, pauses / 5, cx),
            |cx| {
                take_long(1);
                let leaves = slow(depth - 1, pauses / 3, cx);
                take_long(2);
                leaves
            },
        );
        left + right
    }
    explore(|mut random| {
        let rt = runtime(2 + random.below(2));
        let pauses = random.below(usize::MAX) as u64;
        assert_eq!(rt.run(|cx| slow(3, pauses, cx)).unwrap(), 8);
    });
}

/// Runs joins of which some halves panic.
fn fail(
    depth: u32,
    path: u32,
    fails: &(impl Fn(u32) -> bool + Sync),
    running: &AtomicUsize,
    mut cx: Fork<'_>,
) {
    running.fetch_add(1, Relaxed);
    struct Ran<'a>(&'a AtomicUsize);
    impl Drop for Ran<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Relaxed);
        }
    }
    let _ran = Ran(running);
    if depth > 0 {
        cx.join(
            |cx| fail(depth - 1, path * 2, fails, running, cx),
            |cx| fail(depth - 1, path * 2 + 1, fails, running, cx),
        );
    } else if fails(path) {
        panic_any(path);
    }
}

#[test]
fn a_panic_ends_the_join_when_both_halves_are_over() {
    xtasking_testing::silence_tasks();
    explore(|mut random| {
        let rt = runtime(2);
        let (one, other) = (random.below(8) as u32, random.below(8) as u32);
        let running = AtomicUsize::new(0);
        let failed = rt.run(|cx| fail(3, 0, &|path| path == one || path == other, &running, cx));
        // No worker runs a part of it any more.
        assert_eq!(running.load(Relaxed), 0);
        match failed {
            Err(JoinError::Panicked(payload)) => {
                let path = *payload.into_inner().downcast::<u32>().unwrap();
                assert!(path == one || path == other);
            }
            otherwise => panic!("{otherwise:?}"),
        }
    });
}

#[test]
fn two_runs_share_the_workers() {
    explore(|mut random| {
        let rt = std::sync::Arc::new(runtime(2));
        let shape = random.below(usize::MAX) as u64;
        crate::platform::on_threads(2, move |_| {
            let leaves: [AtomicUsize; 8] = Default::default();
            let counted = rt.run(|cx| divide(3, 0, shape, &leaves, cx)).unwrap();
            assert_eq!(leaves.iter().map(|leaf| leaf.load(Relaxed)).sum::<usize>(), counted);
        });
    });
}

/// Pieces that spawn pieces.
fn spawn_all(depth: u32, path: u64, shape: u64, leaves: &[AtomicUsize], mut cx: Fork<'_>) {
    leaves[path as usize].fetch_add(1, Relaxed);
    if depth == 0 {
        return;
    }
    cx.scope(|scope| {
        for child in 0..(shape >> (path % 32 * 2) & 3) {
            scope.spawn(move |cx| spawn_all(depth - 1, path * 4 + child, shape, leaves, cx));
        }
    });
}

#[test]
fn pieces_of_scopes_run_once() {
    explore(|mut random| {
        let rt = runtime(1 + random.below(3));
        let shape = random.below(usize::MAX) as u64;
        let leaves: [AtomicUsize; 64] = std::array::from_fn(|_| AtomicUsize::new(0));
        rt.run(|cx| spawn_all(2, 1, shape, &leaves, cx)).unwrap();
        for path in 1..64 {
            let parent = (path as u64) / 4;
            let is_spawned = path == 1
                || path >= 4
                    && leaves[parent as usize].load(Relaxed) > 0
                    && (path as u64) % 4 < (shape >> (parent % 32 * 2) & 3);
            assert_eq!(leaves[path].load(Relaxed), usize::from(is_spawned), "{path}: {leaves:?}");
        }
    });
}
