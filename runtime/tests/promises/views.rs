//! What a body gets of its objects ends with it: it cannot be kept, nor be the task's result.
//!
//! refused keep_plain: error[E0521]: borrowed data escapes outside of closure
//! refused keep_shared: error[E0521]: borrowed data escapes outside of closure
//! refused keep_snapshot: error[E0521]: borrowed data escapes outside of closure
//! refused keep_versioned: error[E0521]: borrowed data escapes outside of closure
//! refused keep_several: error[E0521]: borrowed data escapes outside of closure
//! refused return_plain: error: lifetime may not live long enough
//! refused return_shared: error: lifetime may not live long enough
//! refused return_snapshot: error: lifetime may not live long enough
//! refused return_versioned: error: lifetime may not live long enough
//! refused return_several: error: lifetime may not live long enough
//! refused thread: error[E0521]: borrowed data escapes outside of closure
//! refused scoped_thread: error[E0277]: `Cell<u64>` cannot be shared between threads safely

use std::cell::Cell;
use std::sync::mpsc::channel;
use xtasking::{Runtime, Version, Word};

struct Node(Word);
impl Version for Node {}

fn main() {
    let rt = Runtime::new().unwrap();
    let plain = rt.plain(1u64).build();
    let shared = rt.shared_reads(1u64).build();
    let snapshot = rt.snapshot(1u64).build();
    let versioned = rt.versioned(Node(Word::new(1))).build();
    let cell = rt.plain(Cell::new(1u64)).build();

    let (kept, _all) = channel();
    rt.task(plain.write()).spawn(move |view, _cx| {
        #[cfg(refused = "keep_plain")]
        kept.send(view).unwrap();
        #[cfg(not(refused = "keep_plain"))]
        kept.send(*view).unwrap();
    });
    let (kept, _all) = channel();
    rt.task(shared.read()).spawn(move |view, _cx| {
        #[cfg(refused = "keep_shared")]
        kept.send(view).unwrap();
        #[cfg(not(refused = "keep_shared"))]
        kept.send(*view).unwrap();
    });
    let (kept, _all) = channel();
    rt.task(snapshot.write()).spawn(move |view, _cx| {
        #[cfg(refused = "keep_snapshot")]
        kept.send(view).unwrap();
        #[cfg(not(refused = "keep_snapshot"))]
        kept.send(*view).unwrap();
    });
    let (kept, _all) = channel();
    rt.task(versioned.write()).spawn(move |view, _cx| {
        #[cfg(refused = "keep_versioned")]
        kept.send(view).unwrap();
        #[cfg(not(refused = "keep_versioned"))]
        kept.send(view.0.get()).unwrap();
    });
    let (kept, _all) = channel();
    rt.task((plain.write(), shared.read())).spawn(move |(view, _), _cx| {
        #[cfg(refused = "keep_several")]
        kept.send(view).unwrap();
        #[cfg(not(refused = "keep_several"))]
        kept.send(*view).unwrap();
    });

    #[cfg(refused = "return_plain")]
    rt.task(plain.write()).submit(|view, _cx| view);
    #[cfg(not(refused = "return_plain"))]
    let _handle = rt.task(plain.write()).submit(|view, _cx| *view);
    #[cfg(refused = "return_shared")]
    rt.task(shared.read()).submit(|view, _cx| view);
    #[cfg(not(refused = "return_shared"))]
    let _handle = rt.task(shared.read()).submit(|view, _cx| *view);
    #[cfg(refused = "return_snapshot")]
    rt.task(snapshot.read()).submit(|view, _cx| view);
    #[cfg(not(refused = "return_snapshot"))]
    let _handle = rt.task(snapshot.read()).submit(|view, _cx| *view);
    #[cfg(refused = "return_versioned")]
    rt.task(versioned.read()).submit_read(|view| view, |_, _cx| ());
    #[cfg(not(refused = "return_versioned"))]
    let _handle = rt.task(versioned.read()).submit_read(|view| view.0.get(), |_, _cx| ());
    #[cfg(refused = "return_several")]
    rt.task((plain.read(), shared.read())).submit(|(view, _), _cx| view);
    #[cfg(not(refused = "return_several"))]
    let _handle = rt.task((plain.read(), shared.read())).submit(|(view, _), _cx| *view);

    rt.task(shared.read()).spawn(|view, _cx| {
        #[cfg(refused = "thread")]
        let moved = view;
        #[cfg(not(refused = "thread"))]
        let moved = *view;
        std::thread::spawn(move || assert_eq!(moved.to_string(), "1"));
    });
    // No other code may read a plain object concurrently with its task, not even a thread that ends
    // before the task does.
    rt.task(cell.read()).spawn(|view, _cx| {
        std::thread::scope(|scope| {
            #[cfg(refused = "scoped_thread")]
            let moved = view;
            #[cfg(not(refused = "scoped_thread"))]
            let moved = Cell::new(view.get());
            scope.spawn(move || moved.get());
        });
    });
}
