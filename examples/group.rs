//! How to wait for many tasks together: tasks of a group count the words of several files, and a
//! task runs after all of them.
//!
//! `cargo run --release -p xtasking-examples --example group`

#![forbid(unsafe_code)]

use std::collections::HashMap;
use xtasking::{Context, Object, Plain, Priority, Runtime};

type Counts = Object<Plain<HashMap<String, u64>>>;

/// Counts words, 100 at a time. Tasks for the rest join the group of the running task as its
/// siblings.
fn count(mut words: Vec<String>, counts: Counts, cx: &mut Context) {
    while words.len() > 100 {
        let (part, counts) = (words.split_off(words.len() - 100), counts.clone());
        cx.task(()).as_sibling().spawn(move |(), cx| count(part, counts, cx));
    }
    // This one is a member of the group, too.
    cx.task(counts.write()).as_sibling().spawn(move |counts, _cx| {
        for word in words {
            *counts.entry(word).or_default() += 1;
        }
    });
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let counts = [(); 2].map(|()| rt.plain(HashMap::new()).build());
    let total = rt.plain(0u64).build();

    let group = rt.group();
    for file in 0..20usize {
        let words = (0..50 * file).map(|index| format!("word {}", index % 97)).collect();
        let counts = counts[file % 2].clone();
        rt.task(()).of(&group).spawn(move |(), cx| count(words, counts, cx));
    }

    // A task with objects and annotations that runs once the group is done. No thread is blocked
    // meanwhile.
    let [even, odd] = &counts;
    let sum = rt.task((even.read(), odd.read(), total.write())).priority(Priority::High).after(group);
    let sum = sum.submit(|(even, odd, total), _cx| {
        *total = even.values().chain(odd.values()).sum();
        *total
    });
    assert_eq!(sum.join()?, (0..20).map(|file| 50 * file).sum());

    // A task without objects gets the outcome of the group.
    let (promise, outcome) = rt.promise();
    let group = rt.group();
    rt.task(()).of(&group).spawn(|(), _cx| ());
    group.then(&rt, move |outcome, _cx| promise.fulfil(outcome.is_ok()));
    assert!(outcome.join()?);

    // A plain thread can wait for a group, too.
    let group = rt.group();
    let most = rt.task(even.read()).of(&group).submit(|even, _cx| even.values().max().copied());
    group.wait()?;
    println!("{} words, the most frequent one {} times", 9500, most.join()?.unwrap_or_default());
    Ok(())
}
