//! The topmost node may be replaced and freed while a thread outside of the runtime starts an
//! operation. So the operation must not read the link to it before its own tasks keep the node
//! alive.

use std::cell::RefCell;
use std::sync::Arc;
use xtasking::{Runtime, platform::Simulation};
use xtasking_index::node::words;
use xtasking_index::{HintedNode, Tree, WordKey};

type Shrinking = Tree<Interrupting, u64, HintedNode<{ words(512) }>>;

thread_local! {
    /// Runs while the next operation is being started.
    static MEANWHILE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// A key whose conversion simulates a preemption of the thread.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Interrupting(u64);

impl WordKey for Interrupting {
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
fn an_operation_from_outside_starts_at_the_current_top() {
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
        // Advances epochs, so that new nodes reuse the memory of the old topmost node.
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
