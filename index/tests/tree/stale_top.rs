//! The tree's topmost node may be replaced and freed while a thread outside the runtime is about to begin an operation:
//! the operation must not have looked at it before its own tasks keep it alive.

use std::cell::RefCell;
use std::sync::Arc;
use xtasking::{Runtime, platform::Simulation};
use xtasking_index::node::words;
use xtasking_index::{Hinted, Key, Tree};

type Shrinking = Tree<Interrupting, u64, Hinted<{ words(512) }>>;

thread_local! {
    /// What happens while the next operation is being begun.
    static MEANWHILE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// A key whose conversion stands in for the thread being put off its core.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Interrupting(u64);

impl Key for Interrupting {
    fn to_word(self) -> u64 {
        let meanwhile = MEANWHILE.with(RefCell::take);
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        self.0
    }

    fn from_word(word: u64) -> Self {
        Self(word)
    }
}

#[test]
fn an_operation_from_outside_finds_the_top_that_is_there() {
    let rt = Arc::new(Runtime::builder().platform(Simulation::new(2, 1)).build().unwrap());
    let tree = Shrinking::new(&rt);
    let client = tree.client(&rt);
    for key in 0..2000 {
        client.insert(Interrupting(key), key).unwrap();
    }
    let (same_rt, same_tree) = (rt.clone(), tree.clone());
    let shrink_and_reuse = move || {
        let client = same_tree.client(&same_rt);
        for key in 0..2000 {
            client.remove(Interrupting(key)).unwrap();
        }
        // Epochs move on, and new nodes take the place of the old top.
        for _ in 0..200 {
            client.count().unwrap();
        }
        for key in 5000..9000 {
            client.insert(Interrupting(key), 7).unwrap();
        }
        client.insert(Interrupting(1), 42).unwrap();
    };
    MEANWHILE.with(|cell| *cell.borrow_mut() = Some(Box::new(shrink_and_reuse)));
    assert_eq!(client.get(Interrupting(1)).unwrap(), Some(42));
}
