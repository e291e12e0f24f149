//! A reader ends before its runtime does, and its walks keep no borrowed data.
//!
//! refused shut_down: error[E0505]: cannot move out of `rt` because it is borrowed
//! refused borrows: error[E0597]: `limit` does not live long enough
//! refused keeps: error: lifetime may not live long enough

use xtasking::{Runtime, Shutdown, Version, Word, arena::{Arena, Step}};

struct Node(Word);
impl Version for Node {}

fn main() {
    let rt = Runtime::new().unwrap();
    let arena = Arena::new(&rt);
    let node = arena.alloc_outside(Node(Word::new(1)));
    let limit = 7;
    let reader = rt.reader();

    #[cfg(refused = "borrows")]
    let read = {
        let limit = &limit;
        reader.walk(node, move |_, node: &Node| Step::End(node.0.get() < *limit))
    };
    #[cfg(not(refused = "borrows"))]
    let read = reader.walk(node, move |_, node: &Node| Step::End(node.0.get() < limit));
    assert!(read.unwrap());

    #[cfg(refused = "keeps")]
    reader.walk(node, |_, node: &Node| Step::End(&node.0)).unwrap();
    reader.walk(node, |_, node: &Node| Step::End(node.0.get())).unwrap();

    #[cfg(not(refused = "shut_down"))]
    drop(reader);
    #[cfg(refused = "shut_down")]
    let _kept = &reader;
    rt.shutdown(Shutdown::Drain);
    #[cfg(refused = "shut_down")]
    drop(reader);
    drop(arena);
}
