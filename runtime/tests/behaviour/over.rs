//! Parallel loops: one body for each of many items.

use crate::common::{Dropped, on_all, silence_tasks};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{Fork, JoinError};

const LENGTHS: [usize; 7] = [0, 1, 2, 3, 100, 1000, 4097];

#[test]
fn each_item_is_met_once() {
    on_all(|setting| {
        let rt = setting.build();
        for length in LENGTHS {
            let met: Vec<AtomicUsize> = (0..length).map(|_| AtomicUsize::new(0)).collect();
            rt.run(|mut cx| {
                cx.over(0..length).for_each(|index| _ = met[index].fetch_add(1, Relaxed));
                cx.over(&met[..]).grain(3).for_each(|met| _ = met.fetch_add(1, Relaxed));
                cx.over(0..length as u64)
                    .grain(0)
                    .for_each(|index| _ = met[index as usize].fetch_add(1, Relaxed));
                cx.over(0..length as u32)
                    .grain(usize::MAX)
                    .for_each(|index| _ = met[index as usize].fetch_add(1, Relaxed));
            })
            .unwrap();
            assert!(met.iter().all(|met| met.load(Relaxed) == 4), "of {length}");
        }
    });
}

#[test]
fn a_backward_range_is_empty() {
    on_all(|setting| {
        let rt = setting.build();
        #[allow(clippy::reversed_empty_ranges, reason = "that is the point")]
        let kept = rt.run(|mut cx| cx.over(5..2usize).filter(|_| true)).unwrap();
        assert_eq!(kept, []);
    });
}

#[test]
fn results_are_in_order() {
    on_all(|setting| {
        let rt = setting.build();
        for length in LENGTHS {
            let (mapped, kept, sum, text) = rt
                .run(|mut cx| {
                    let mapped = cx.over(0..length).map(|index| index.to_string());
                    let kept = cx.over(&mapped[..]).filter(|text| text.ends_with('7'));
                    let kept: Vec<String> = kept.into_iter().cloned().collect();
                    let sum = cx.over(0..length).reduce(|| 0, |sum, index| sum + index, |a, b| a + b);
                    let text = cx.over(&mapped[..]).grain(7).reduce(
                        String::new,
                        |all, one| all + one,
                        |a, b| a + &b,
                    );
                    (mapped, kept, sum, text)
                })
                .unwrap();
            let expected: Vec<String> = (0..length).map(|index| index.to_string()).collect();
            assert_eq!(text, expected.concat());
            assert_eq!(
                kept,
                (0..length)
                    .filter(|index| index % 10 == 7)
                    .map(|index| index.to_string())
                    .collect::<Vec<_>>()
            );
            assert_eq!(mapped, expected);
            assert_eq!(sum, (0..length).sum());
        }
    });
}

/// The function of a loop divides its own work, in all ways.
#[test]
fn loops_nest() {
    on_all(|setting| {
        let rt = setting.build();
        for (rows, columns) in [(1, 100), (7, 30), (100, 1)] {
            let mut table: Vec<Vec<u64>> = vec![(0..columns).collect(); rows];
            let (sums, count) = rt
                .run(|mut cx| {
                    cx.over(&mut table[..]).grain(2).nested().for_each(|row, mut cx| {
                        cx.over(&mut row[..]).grain(3).for_each(|number| *number *= 2);
                    });
                    let sums = cx.over(&table[..]).nested().map(|row, mut cx| {
                        let sum = |a: u64, b: u64| a + b;
                        cx.over(&row[..]).reduce(|| 0, |sum, number| sum + number, sum)
                    });
                    let count = |count: usize, row: &Vec<u64>, mut cx: Fork<'_>| {
                        let (mut low, mut high) = (0, 0);
                        cx.scope(|scope| {
                            let (left, right) = row.split_at(row.len() / 2);
                            scope.spawn(|_| low = left.len());
                            scope.spawn(|_| high = right.len());
                        });
                        count + low + high
                    };
                    let both = |a: usize, b: usize| a + b;
                    (sums, cx.over(&table[..]).grain(1).nested().reduce(|| 0, count, both))
                })
                .unwrap();
            assert_eq!(sums, vec![columns * (columns - 1); rows]);
            assert_eq!(count, rows * columns as usize);
        }
    });
}

#[test]
fn what_was_mapped_before_a_panic_is_dropped() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        for failing in [0, 1, 500, 999] {
            let (made, dropped) = (AtomicUsize::new(0), Arc::default());
            let result = rt.run(|mut cx| {
                cx.over(0..1000).grain(10).map(|index| {
                    assert_ne!(index, failing, "provoked");
                    made.fetch_add(1, Relaxed);
                    Dropped(Arc::clone(&dropped))
                });
            });
            assert!(matches!(result, Err(JoinError::Panicked(_))));
            assert_eq!(made.load(Relaxed), dropped.load(Relaxed), "{failing}");
        }
    });
}
