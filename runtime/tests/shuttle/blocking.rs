//! Tasks block in place beside others that do, and while the runtime is resized.

use crate::common::Random;
use crate::platform::{builder, pause, wait_a_little};
use crate::schedules::explore;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{
    Object, Plain, QueuePolicy, Runtime,
    primitive::{Sequencing, SpinLatch},
};

const MOST: usize = 3;

fn runtime(random: &mut Random) -> Runtime {
    let pool = [QueuePolicy::Local, QueuePolicy::WorkStealing][random.below(2)];
    let builder = builder(MOST).workers(random.below(MOST) + 1).most_workers(MOST).pool(pool);
    builder.build().expect("a runtime of a few workers")
}

/// Spawns a task that pushes a number, and blocks inside the object until another task has run.
/// That one is not behind a task that needs the object.
fn spawn(rt: &Runtime, object: &Object<Plain<Vec<u16>>>, number: u16, core: u16) {
    rt.task(object.write()).core(core).spawn(move |numbers, cx| {
        let follow_up = cx.task(()).core(core).submit(|(), cx| {
            let last = cx.task(()).submit(|(), _| pause());
            cx.block_in_place(|| last.join().unwrap());
        });
        numbers.push(number);
        let len = numbers.len();
        cx.block_in_place(|| follow_up.join().unwrap());
        assert_eq!(numbers.len(), len, "no other task is inside");
        cx.block_in_place(pause);
        assert_eq!(numbers.len(), len, "no other task is inside");
    });
}

#[test]
fn a_blocked_task_is_alone_in_its_object() {
    explore(|mut random| {
        let rt = Arc::new(runtime(&mut random));
        let home = random.below(MOST);
        let (sequenced, latched) = (
            rt.plain(Vec::new()).pin(Sequencing).core(home).build(),
            rt.plain(Vec::new()).pin(SpinLatch).build(),
        );
        let sizes: Vec<_> = (0..random.below(3)).map(|_| random.below(MOST) + 1).collect();
        let resized = rt.clone();
        let resizer = thread::spawn(move || {
            for size in sizes {
                pause();
                resized.resize(size).unwrap();
            }
        });
        for number in 0..3 {
            spawn(&rt, &sequenced, number, number);
            // What comes behind a task that spins for the latch waits for the blocked task.
            rt.task(latched.write()).core(random.below(MOST) as u16).spawn(move |numbers, cx| {
                numbers.push(number);
                let len = numbers.len();
                cx.block_in_place(pause);
                assert_eq!(numbers.len(), len, "no other task is inside");
            });
            wait_a_little(&mut random, 60);
        }
        let sequence = rt.task(sequenced.read()).submit(|numbers, _| numbers.clone()).join().unwrap();
        assert_eq!(sequence, [0, 1, 2], "the order of spawning is kept");
        resizer.join().unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        for core in 0..MOST {
            let ran = ran.clone();
            rt.task(()).core(core as u16).spawn(move |(), _| _ = ran.fetch_add(1, Relaxed));
        }
        drop(rt);
        assert_eq!(ran.load(Relaxed), MOST);
    });
}

/// Tasks that hold a latch spin for that of a blocked one, while run queues change their holders.
#[test]
fn a_task_that_spins_for_one_latch_and_holds_another_goes_on() {
    explore(|mut random| {
        let rt = Arc::new(runtime(&mut random));
        let [a, b] = [0, 1].map(|number| rt.plain(number).pin(SpinLatch).build());
        let sizes: Vec<_> = (0..1 + random.below(3)).map(|_| random.below(MOST) + 1).collect();
        let resized = rt.clone();
        let resizer = thread::spawn(move || {
            for size in sizes {
                pause();
                resized.resize(size).unwrap();
            }
        });
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let mut core = || random.below(MOST) as u16;
            let count = [ran.clone(), ran.clone(), ran.clone(), ran.clone()];
            let [first, second, third, fourth] = count.map(|ran| move || _ = ran.fetch_add(1, Relaxed));
            rt.task(b.write()).core(core()).spawn(move |_, cx| cx.block_in_place(|| (pause(), first()).1));
            rt.task((a.write(), b.write())).core(core()).spawn(move |_, _| second());
            rt.task(a.write()).core(core()).spawn(move |_, cx| cx.block_in_place(|| (pause(), third()).1));
            rt.task(b.write()).core(core()).spawn(move |_, _| fourth());
        }
        resizer.join().unwrap();
        drop((a, b, rt));
        assert_eq!(ran.load(Relaxed), 12);
    });
}
