//! A counter that many tasks increment. No lock, no atomic: every task says that it writes the counter, and the
//! runtime lets one after another at it.
//!
//! `cargo run --release -p xtasking-examples --example shared_counter`

#![forbid(unsafe_code)]

use xtasking::{Handle, Runtime};

const TASKS: u64 = 100_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A worker on each core that this process may use.
    let rt = Runtime::new()?;

    // A plain object: data of any kind that one task at a time touches. Only tasks reach it.
    let counter = rt.plain(0u64).build();

    // Each task draws a number. `submit` gives a handle for the result; `spawn` would be cheaper, without one.
    let handles: Vec<Handle<u64>> = (0..TASKS)
        .map(|_| {
            rt.task(counter.write()).submit(|count, _cx| {
                *count += 1;
                *count
            })
        })
        .collect();

    // `join` waits for a task and says what became of it: its result, or why there is none.
    let mut drawn = handles.into_iter().map(Handle::join).collect::<Result<Vec<u64>, _>>()?;
    drawn.sort_unstable();
    assert!(drawn.into_iter().eq(1..=TASKS), "every number is drawn once");

    // A task can spawn others, its follow-ups, through its context. Nobody need wait for them here: they are spawned
    // before their parent ends, and tasks that one spawner has on a sequenced object run in their order.
    let counter_of_task = counter.clone();
    let last = rt.task(()).submit(move |(), cx| {
        for _ in 0..1000 {
            cx.task(counter_of_task.write()).spawn(|count, _cx| *count += 1);
        }
        cx.task(counter_of_task.read()).submit(|count, _cx| *count)
    });
    // The first join gives the handle of the follow-up, the second its result.
    let total = last.join()?.join()?;
    assert_eq!(total, TASKS + 1000);

    println!("{total} increments, kept apart by {:?}", counter.primitive());
    Ok(())
}
