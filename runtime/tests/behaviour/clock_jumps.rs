//! A clock that jumps ahead and back: deadlines, waits with a limit, statistics and managed pools
//! lose no task, do not hang, and do not panic.

use crate::common::{Random, watchdog};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use xtasking::managed::SetError;
use xtasking::platform::{ClockJumps, Costs, Simulation};
use xtasking::primitive::{OptimisticLatched, Sequencing};
use xtasking::{Builder, JoinError, Runtime, Shutdown};

const HOUR: Duration = Duration::from_secs(3600);

/// Jumps of all kinds: often and rare, small and large, in both directions and in one.
fn jumps(random: &mut Random) -> ClockJumps {
    let amounts = [Duration::ZERO, Duration::from_nanos(50), Duration::from_millis(1), HOUR, Duration::MAX];
    let mut amount = || amounts[random.below(amounts.len())];
    let (ahead, behind) = (amount(), amount());
    ClockJumps { one_in: [1, 3, 50][random.below(3)], ahead, behind }
}

/// Runs a test on simulations with and without costs, each with jumps from a seed.
fn on_jumping_clocks(test: impl Fn(Builder, &mut Random)) {
    for seed in 0..60 {
        let _watched = watchdog();
        let mut random = Random::new(seed);
        let (cores, jumps) = (1 + random.below(8), jumps(&mut random));
        println!("seed {seed}: {cores} cores, {jumps:?}");
        let simulation = match seed % 2 {
            0 => Simulation::new(cores, seed),
            _ => Simulation::with_costs(cores, 1, seed, Costs::default()).0,
        };
        test(Runtime::builder().platform(simulation.clock_jumps(jumps, seed)), &mut random);
    }
}

#[test]
fn a_task_with_a_deadline_runs_or_is_late() {
    on_jumping_clocks(|builder, random| {
        let rt = builder.build().unwrap();
        let ran = Arc::<AtomicUsize>::default();
        let object = rt.plain(0).pin(Sequencing).build();
        let limits = [Duration::ZERO, Duration::from_nanos(100), Duration::from_millis(1), HOUR];
        let tasks: Vec<_> = (0..300)
            .map(|number| {
                let (ran, limit) = (ran.clone(), limits[random.below(limits.len())]);
                let follow_up = move |cx: &mut xtasking::Context| {
                    let ran = ran.clone();
                    cx.task(()).within(limit).submit(move |(), _| _ = ran.fetch_add(1, SeqCst))
                };
                match number % 2 {
                    0 => rt.task(()).within(limit).submit(move |(), cx| follow_up(cx)),
                    _ => rt.task(object.write()).within(limit).submit(move |_, cx| follow_up(cx)),
                }
            })
            .collect();
        let ended = tasks.into_iter().filter_map(|task| match task.join() {
            Ok(follow_up) => Some(follow_up),
            Err(JoinError::DeadlineExceeded) => None,
            Err(error) => panic!("{error}"),
        });
        let outcomes: Vec<_> = ended.collect::<Vec<_>>().into_iter().map(|task| task.join()).collect();
        assert!(outcomes.iter().all(|end| matches!(end, Ok(()) | Err(JoinError::DeadlineExceeded))));
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), ran.load(SeqCst));
        rt.shutdown(Shutdown::Drain);
    });
}

#[test]
fn waits_with_a_limit_end() {
    on_jumping_clocks(|builder, random| {
        let rt = builder.most_tasks(20).build().unwrap();
        for number in 0..100 {
            let limit = [Duration::ZERO, Duration::from_nanos(200), HOUR][random.below(3)];
            let task = rt.task(()).reserve_blocking().unwrap().submit(move |(), _| number);
            match task.join_timeout(limit) {
                Ok(outcome) => assert_eq!(outcome.unwrap(), number),
                Err(handle) => assert_eq!(handle.join().unwrap(), number),
            }
        }
        // Nothing ever delivers this: the clock has to come to the limit.
        let (promise, answer) = rt.promise::<()>();
        assert!(answer.join_timeout(HOUR).is_err());
        drop(promise);
        (0..50).for_each(|_| rt.task(()).spawn(|(), _| ()));
        _ = rt.shutdown_within(Shutdown::Drain, Duration::from_nanos(random.below(1000) as u64));
    });
}

#[test]
fn statistics_and_timelines_survive() {
    on_jumping_clocks(|builder, _| {
        let rt = builder.statistics(true).timeline(1000).name_running(true).build().unwrap();
        let words = rt.snapshot([0u64; 2]).pin(OptimisticLatched).build();
        let before = rt.statistics().unwrap();
        for _ in 0..200 {
            rt.task(()).spawn(|(), cx| {
                let (left, right) = cx.fork().join(|_| 1, |_| 2);
                assert_eq!(left + right, 3);
            });
            rt.task(words.write()).spawn(|words, _| words[0] += 1);
        }
        let sum = rt.task(words.read()).submit(|words, _| words[0]).join().unwrap();
        assert!(sum <= 200);
        let after = rt.statistics().unwrap();
        assert!(!before.to_string().is_empty() && !after.to_string().is_empty());
        assert!(after.imbalance() >= 0.0);
        assert!(rt.timeline().unwrap().to_string().contains("traceEvents"));
        _ = rt.running_tasks();
        rt.shutdown(Shutdown::Drain);
    });
}

#[test]
fn managed_pools_run_all_functions() {
    on_jumping_clocks(|builder, _| {
        let rt = builder.statistics(true).build().unwrap();
        let (pool, ran) = (rt.managed(), Arc::<AtomicUsize>::default());
        let count = || {
            let ran = ran.clone();
            move || _ = ran.fetch_add(1, SeqCst)
        };
        for _ in 0..20 {
            let ones: Vec<_> = (0..20).map(|_| pool.enqueue(count())).collect();
            let many = pool.enqueue_many((0..20).map(|_| count()));
            _ = pool.suggest();
            pool.wait(many).unwrap();
            ones.into_iter().for_each(|one| match pool.wait(one) {
                Ok(()) | Err(SetError::Stale) => {}
                Err(error) => panic!("{error}"),
            });
        }
        assert_eq!(ran.load(SeqCst), 800);
        rt.shutdown(Shutdown::Drain);
    });
}

/// The seed of the jumps changes what the clock says, and not which core goes next.
#[test]
fn jumps_change_no_interleaving() {
    let trace = |simulation: Simulation| {
        let order = Arc::<std::sync::Mutex<Vec<_>>>::default();
        let rt = Runtime::builder().platform(simulation).build().unwrap();
        for number in 0..100 {
            let order = order.clone();
            rt.task(()).core(number).spawn(move |(), cx| order.lock().unwrap().push((number, cx.worker())));
        }
        rt.shutdown(Shutdown::Drain);
        Arc::into_inner(order).unwrap().into_inner().unwrap()
    };
    let jumps = ClockJumps { one_in: 1, ahead: HOUR, behind: HOUR };
    let without = trace(Simulation::new(4, 9));
    for seed in 0..5 {
        assert_eq!(trace(Simulation::new(4, 9).clock_jumps(jumps, seed)), without);
    }
}
