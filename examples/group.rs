//! Tasks that are waited for together: files of words are counted side by side, and what comes then is a task as well.
//!
//! `cargo run --release -p xtasking-examples --example group`

#![forbid(unsafe_code)]

use std::collections::HashMap;
use xtasking::{Context, Object, Plain, Priority, Runtime};

type Counts = Object<Plain<HashMap<String, u64>>>;

/// Counts the words of a text, a part at a time: a long one is divided, and the parts are siblings of this task.
fn count(mut words: Vec<String>, counts: Counts, cx: &mut Context) {
    while words.len() > 100 {
        let (part, counts) = (words.split_off(words.len() - 100), counts.clone());
        cx.task(()).as_sibling().spawn(move |(), cx| count(part, counts, cx));
    }
    // The group waits for this one, too.
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

    // A task with objects and annotations, which waits until all of that is over; nobody is blocked meanwhile.
    let [even, odd] = &counts;
    let sum = rt.task((even.read(), odd.read(), total.write())).priority(Priority::High).after(group);
    let sum = sum.submit(|(even, odd, total), _cx| {
        *total = even.values().chain(odd.values()).sum();
        *total
    });
    assert_eq!(sum.join()?, (0..20).map(|file| 50 * file).sum());

    // Without objects it is told whether all went well.
    let (promise, outcome) = rt.promise();
    let group = rt.group();
    rt.task(()).of(&group).spawn(|(), _cx| ());
    group.then(&rt, move |outcome, _cx| promise.fulfil(outcome.is_ok()));
    assert!(outcome.join()?);

    // Or a plain thread waits.
    let group = rt.group();
    let most = rt.task(even.read()).of(&group).submit(|even, _cx| even.values().max().copied());
    group.wait()?;
    println!("{} words, the most frequent one {} times", 9500, most.join()?.unwrap_or_default());
    Ok(())
}
