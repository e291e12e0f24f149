//! Random graphs of tasks against an oracle that runs them one after another.

mod common;

use common::{Random, Setting, on_each, watchdog_of};
use proptest::prelude::*;
use xtasking::{Object, Plain, Runtime, Sequencing, SpinLatch};

/// A task that mixes its objects: the result depends on the order of all tasks on each of them.
fn mix(objects: &mut [&mut u64], task: usize) {
    let sum = objects.iter().fold(task as u64 + 1, |sum, object| sum.wrapping_mul(31).wrapping_add(**object));
    objects.iter_mut().enumerate().for_each(|(index, object)| **object = sum ^ (index as u64) << 40);
}

/// What tasks spawned by one thread leave in sequenced objects: the same as if run one after another.
fn run_graph(rt: &Runtime, objects: usize, tasks: &[Vec<usize>], inside: bool) -> Vec<u64> {
    let all: Vec<_> = (0..objects).map(|_| rt.plain(0u64).pin(Sequencing).build()).collect();
    let latched = rt.plain(0u64).pin(SpinLatch).build();
    fn spawn_all(
        mut task: impl FnMut(usize, &[&Object<Plain<u64>>]),
        all: &[Object<Plain<u64>>],
        tasks: &[Vec<usize>],
    ) {
        for (number, set) in tasks.iter().enumerate() {
            let set: Vec<_> = set.iter().map(|&index| &all[index]).collect();
            task(number, &set);
        }
    }
    macro_rules! spawn {
        ($spawner:expr, $latched:expr) => {
            |number, set| match *set {
                [a] if number % 2 == 0 => $spawner.task(a.write()).spawn(move |a, _| mix(&mut [a], number)),
                // A latched object in the set changes no order.
                [a] => {
                    $spawner.task(($latched.write(), a.write())).spawn(move |(_, a), _| mix(&mut [a], number))
                }
                [a, b] => {
                    $spawner.task((a.write(), b.write())).spawn(move |(a, b), _| mix(&mut [a, b], number));
                }
                [a, b, c] => {
                    let access = (a.write(), b.write(), c.write());
                    $spawner.task(access).spawn(move |(a, b, c), _| mix(&mut [a, b, c], number));
                }
                [a, b, c, d] => {
                    let access = (a.write(), b.write(), c.write(), d.write());
                    $spawner.task(access).spawn(move |(a, b, c, d), _| mix(&mut [a, b, c, d], number));
                }
                _ => unreachable!("1 to 4 objects"),
            }
        };
    }
    if inside {
        let (all, latched, tasks) = (all.clone(), latched.clone(), tasks.to_vec());
        let spawner = rt.task(()).submit(move |(), cx| spawn_all(spawn!(cx, latched), &all, &tasks));
        spawner.join().unwrap();
    } else {
        spawn_all(spawn!(rt, latched), &all, tasks);
    }
    // These stand behind the others, one by one.
    all.iter().map(|object| rt.task(object.read()).submit(|value, _| *value).join().unwrap()).collect()
}

fn oracle(objects: usize, tasks: &[Vec<usize>]) -> Vec<u64> {
    let mut all = vec![0; objects];
    for (number, set) in tasks.iter().enumerate() {
        let mut copies: Vec<_> = set.iter().map(|&index| all[index]).collect();
        mix(&mut copies.iter_mut().collect::<Vec<_>>(), number);
        set.iter().zip(copies).for_each(|(&index, value)| all[index] = value);
    }
    all
}

const OBJECTS: usize = 6;

fn graphs() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let set = prop::collection::vec(0..OBJECTS, 1..=4).prop_map(|mut set| {
        let mut seen = [false; OBJECTS];
        set.retain(|&index| !std::mem::replace(&mut seen[index], true));
        set
    });
    prop::collection::vec(set, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_run_as_if_one_after_another(
        tasks in graphs(), cores in 1..17usize, seed: u64, inside: bool,
    ) {
        let _watched = watchdog_of(std::time::Duration::from_secs(60));
        let rt = Setting::Simulation { cores, seed }.build();
        prop_assert_eq!(run_graph(&rt, OBJECTS, &tasks, inside), oracle(OBJECTS, &tasks));
    }
}

#[test]
fn random_graphs_on_threads() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let tasks: Vec<Vec<usize>> = (0..200)
                .map(|_| {
                    let (first, step, count) =
                        (random.below(OBJECTS), 1 + 4 * random.below(2), 1 + random.below(4));
                    (0..count).map(|index| (first + step * index) % OBJECTS).collect()
                })
                .collect();
            let found = run_graph(&rt, OBJECTS, &tasks, seed % 2 == 0);
            assert_eq!(found, oracle(OBJECTS, &tasks), "seed {seed}");
        }
    });
}
