//! How to share an object between tasks: many tasks increment one counter. There is no lock and no
//! atomic. Every task declares that it writes the counter, and the runtime runs such tasks one
//! after another.
//!
//! `cargo run --release -p xtasking-examples --example shared_counter`

#![forbid(unsafe_code)]

use xtasking::{Handle, Runtime};

const TASKS: u64 = 100_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One worker for each core that this process may use.
    let rt = Runtime::new()?;

    // A plain object holds data of any type, which one task at a time accesses. Only tasks can
    // access it.
    let counter = rt.plain(0u64).build();

    // Each task draws a number. `submit` returns a handle for the result; `spawn` returns nothing
    // and is cheaper.
    let handles: Vec<Handle<u64>> = (0..TASKS)
        .map(|_| {
            rt.task(counter.write()).submit(|count, _cx| {
                *count += 1;
                *count
            })
        })
        .collect();

    // `join` waits for a task and returns its result, or the reason why there is none.
    let mut drawn = handles.into_iter().map(Handle::join).collect::<Result<Vec<u64>, _>>()?;
    drawn.sort_unstable();
    assert!(drawn.into_iter().eq(1..=TASKS), "every number is drawn once");

    // A task can spawn other tasks, its follow-ups, through its context. It need not wait for them.
    // Tasks that one spawner has spawned on a sequenced object run in that order.
    let counter_of_task = counter.clone();
    let last = rt.task(()).submit(move |(), cx| {
        for _ in 0..1000 {
            cx.task(counter_of_task.write()).spawn(|count, _cx| *count += 1);
        }
        cx.task(counter_of_task.read()).submit(|count, _cx| *count)
    });
    // The first join returns the follow-up's handle, the second join its result.
    let total = last.join()?.join()?;
    assert_eq!(total, TASKS + 1000);

    println!("{total} increments, synchronized by {:?}", counter.primitive());
    Ok(())
}
