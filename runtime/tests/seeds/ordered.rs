//! Tasks of one spawner at sequenced objects have the same effect as running one after another.

use crate::common::{Random, Setting};
use crate::{cores, each_seed, each_seed_on_threads};
use xtasking::{
    Object, Plain, Runtime,
    primitive::{Sequencing, SpinLatch},
};

const OBJECTS: usize = 6;
type Objects = [Object<Plain<u64>>];

/// A task: its objects, and whether it only reads them.
#[derive(Clone)]
struct Touch {
    objects: Vec<usize>,
    reads: bool,
}

/// Mixes some objects: the result depends on the order of all tasks on each of them.
fn mix(objects: &mut [&mut u64], task: usize) {
    let sum = objects.iter().fold(task as u64 + 1, |sum, object| sum.wrapping_mul(31).wrapping_add(**object));
    objects.iter_mut().enumerate().for_each(|(index, object)| **object = sum ^ (index as u64) << 40);
}

fn tasks(random: &mut Random) -> Vec<Touch> {
    let touch = |random: &mut Random| {
        // A step that is coprime to the number of objects names each at most once.
        let (first, step, count) = (random.below(OBJECTS), 1 + 4 * random.below(2), 1 + random.below(4));
        let objects = (0..count).map(|index| (first + step * index) % OBJECTS).collect();
        Touch { objects, reads: random.below(4) == 0 }
    };
    (0..1 + random.below(60)).map(|_| touch(random)).collect()
}

/// The values of the reading tasks, and the final values.
type Seen = (Vec<u64>, Vec<u64>);

fn run(rt: &Runtime, tasks: &[Touch], inside: bool) -> Seen {
    let all: Vec<_> = (0..OBJECTS).map(|_| rt.plain(0u64).pin(Sequencing).build()).collect();
    let latched = rt.plain(0u64).pin(SpinLatch).build();
    // A macro, because the spawner of each task is borrowed again.
    macro_rules! spawn_all {
        ($spawner:expr, $at:expr) => {{
            let (all, latched, tasks): &(Vec<_>, Object<Plain<u64>>, Vec<Touch>) = $at;
            let mut reads = Vec::new();
            for (number, touch) in tasks.iter().enumerate() {
                let set: Vec<_> = touch.objects.iter().map(|&index| &all[index]).collect();
                match *set {
                    [a] if touch.reads => reads.push($spawner.task(a.read()).submit(|a, _| *a)),
                    [a, b, ..] if touch.reads => {
                        reads.push(
                            $spawner.task((b.read(), a.read())).submit(|(b, a), _| a ^ b.rotate_left(7)),
                        );
                    }
                    [a] if number % 2 == 0 => {
                        $spawner.task(a.write()).spawn(move |a, _| mix(&mut [a], number))
                    }
                    // A latched object in the set changes no order.
                    [a] => $spawner
                        .task((latched.write(), a.write()))
                        .spawn(move |(_, a), _| mix(&mut [a], number)),
                    [a, b] => {
                        let access = (a.write(), b.write());
                        $spawner.task(access).spawn(move |(a, b), _| mix(&mut [a, b], number));
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
            }
            reads
        }};
    }
    let at = (all.clone(), latched, tasks.to_vec());
    let reads = if inside {
        rt.task(()).submit(move |(), cx| spawn_all!(cx, &at)).join().unwrap()
    } else {
        spawn_all!(rt, &at)
    };
    // These are queued behind the others, one by one.
    let left = read_all(rt, &all);
    (reads.into_iter().map(|read| read.join().unwrap()).collect(), left)
}

fn read_all(rt: &Runtime, all: &Objects) -> Vec<u64> {
    all.iter().map(|object| rt.task(object.read()).submit(|value, _| *value).join().unwrap()).collect()
}

fn oracle(tasks: &[Touch]) -> Seen {
    let (mut seen, mut all) = (Vec::new(), vec![0u64; OBJECTS]);
    for (number, Touch { objects, reads }) in tasks.iter().enumerate() {
        match objects[..] {
            [a] if *reads => seen.push(all[a]),
            [a, b, ..] if *reads => seen.push(all[a] ^ all[b].rotate_left(7)),
            _ => {
                let mut copies: Vec<_> = objects.iter().map(|&index| all[index]).collect();
                mix(&mut copies.iter_mut().collect::<Vec<_>>(), number);
                objects.iter().zip(copies).for_each(|(&index, value)| all[index] = value);
            }
        }
    }
    (seen, all)
}

fn compare(seed: u64, setting: Setting) {
    let mut random = Random::new(seed);
    let tasks = tasks(&mut random);
    assert_eq!(run(&setting.build(), &tasks, random.below(2) == 0), oracle(&tasks));
}

#[test]
fn tasks_of_one_spawner_run_as_if_one_after_another() {
    each_seed(2000, |seed| compare(seed, cores(seed)));
}

#[test]
fn tasks_of_one_spawner_on_threads_run_as_if_one_after_another() {
    each_seed_on_threads(40, compare);
}
