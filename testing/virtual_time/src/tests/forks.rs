//! Tests tasks that divide their work, and whose halves take time.

use super::*;
use xtasking_testing::divide;

#[test]
fn a_stolen_half_runs_in_parallel_with_the_other_half() {
    let (rt, clocks) = begin(2, 1);
    let ours = clocks.clone();
    let both = rt.task(()).core(0).submit(move |(), cx| {
        let (_, thief) = cx.fork().join(
            |_| (0..10).for_each(|_| ours.spend(1000)),
            |cx| {
                ours.spend(50_000);
                cx.worker()
            },
        );
        (thief, ours.now())
    });
    assert_eq!(both.join().unwrap(), (1, 50_000));
    drop(rt);
    // The core that waits for the other half is blocked.
    assert_eq!(clocks.cores(), [time(10_010, 40_000, 0), time(50_000, 0, 10)]);
}

#[test]
fn recursively_divided_work_is_spread_over_all_cores() {
    for (cores, seed) in [(1, 1), (2, 1), (4, 2), (16, 3), (64, 4)] {
        let (rt, clocks) = begin(cores, seed);
        assert_eq!(rt.run(|cx| divide(4_096, &|| clocks.spend(10_000), cx)).unwrap(), 4_096);
        drop(rt);
        let (work, busy) = (4_096 * 10_000, clocks.cores().iter().map(|core| core.busy).sum::<u64>());
        assert_eq!(busy, work + 10);
        let ideal = work / cores as u64;
        assert!((ideal..ideal * 5 / 4).contains(&clocks.makespan()), "{cores}: {}", clocks.makespan());
    }
}
