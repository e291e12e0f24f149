//! A write token proves that a body holds an object for writing, so it ends with the body. A body
//! gets no `&mut`, because readers may be active.
//!
//! refused kept: error[E0521]: borrowed data escapes outside of closure
//! refused returned: error: lifetime may not live long enough
//! refused made: error[E0423]: cannot initialize a tuple struct which contains private fields
//! refused assumed: error[E0133]: call to unsafe function `WriteToken::<'_>::assume` is unsafe
//! refused copied: error[E0277]: the trait bound `WriteToken<'_>: Clone` is not satisfied
//! refused assigned: error[E0594]: cannot assign to data in dereference of `Written<'_, Node>`
//! refused taken_apart: error[E0616]: field `token` of struct `Written` is private

use std::sync::mpsc::channel;
use xtasking::{Runtime, Version, Word, arena::WriteToken};

struct Node {
    word: Word,
    fixed: u64,
}
impl Version for Node {}

fn main() {
    let rt = Runtime::new().unwrap();
    let node = rt.versioned(Node { word: Word::new(1), fixed: 1 }).build();

    let (kept, _all) = channel();
    rt.task(node.write()).spawn(move |node, _cx| {
        #[cfg(refused = "kept")]
        kept.send(node).unwrap();
        #[cfg(not(refused = "kept"))]
        kept.send(node.fixed).unwrap();
    });
    #[cfg(refused = "returned")]
    rt.task(node.write()).submit(|node, _cx| node.token());
    #[cfg(not(refused = "returned"))]
    let _handle = rt.task(node.write()).submit(|node, _cx| drop(node.token()));
    rt.task(node.write()).spawn(|node, _cx| {
        let token: &WriteToken<'_> = node.token();
        #[cfg(refused = "made")]
        let token = &WriteToken(std::marker::PhantomData);
        #[cfg(refused = "assumed")]
        let token = &WriteToken::assume();
        #[cfg(refused = "copied")]
        let token = &WriteToken::clone(token);
        #[cfg(refused = "taken_apart")]
        let token = &node.token;
        node.word.set(2, token);
    });
    #[cfg(refused = "assigned")]
    rt.task(node.write()).spawn(|mut node, _cx| node.fixed = 2);
    rt.task(node.write()).spawn(|node, _cx| node.word.set(2, node.token()));
}
