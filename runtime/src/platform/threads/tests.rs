use super::*;

#[test]
fn the_default_placement_says_why() {
    let why = |usable, suggested, workers| {
        let threads =
            Threads { topology: CpuTopology::uniform(usable, 1), suggested, ..Threads::new(workers) };
        alloc::string::ToString::to_string(&threads.default_placement())
    };
    assert_eq!(why(1, 1, 1), "CPU 0: 1 CPU that this process may run on");
    assert_eq!(why(8, 8, 8), "CPUs 0-7: 8 CPUs that this process may run on");
    assert_eq!(why(8, 1, 1), "CPU 0: a quota leaves 1 CPU of the 8 that this process may run on");
    assert_eq!(why(8, 4, 2), "CPUs 0-1: asked for, of 8 CPUs that this process may run on");
}
