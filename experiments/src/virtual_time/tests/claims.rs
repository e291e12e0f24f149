//! Who claims what another one has runs when that one is done.

use super::*;

#[test]
fn who_writes_the_same_comes_later() {
    for seed in 0..10 {
        let (rt, clocks) = begin(2, seed);
        let granules = rt.granules(1);
        for core in 0..2 {
            let clocks = clocks.clone();
            rt.task(()).core(core).claim(granules.write(0..1)).spawn(move |(), _| clocks.spend(1000));
        }
        drop(rt);
        assert_eq!(clocks.makespan(), 2010);
        assert!(clocks.cores().iter().all(|core| (core.busy, core.blocked, core.idle) == (1010, 0, 1000)));
    }
}
