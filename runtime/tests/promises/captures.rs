//! A body goes to whichever worker runs it, so everything that it captures is `Send`.
//!
//! refused spawn: error[E0277]: `Rc<u64>` cannot be sent between threads safely
//! refused submit: error[E0277]: `Rc<u64>` cannot be sent between threads safely
//! refused read: error[E0277]: `Rc<u64>` cannot be sent between threads safely
//! refused then: error[E0277]: `Rc<u64>` cannot be sent between threads safely
//! refused visit: error[E0277]: `Rc<u64>` cannot be sent between threads safely
//! refused modify: error[E0277]: `Rc<u64>` cannot be sent between threads safely
//! refused hook: error[E0277]: `Rc<u64>` cannot be sent between threads safely

use std::rc::Rc;
use std::sync::Arc;
use xtasking::{Context, Runtime, Version, Word, arena::{Link, Modify, Step, Visit, Written}};

struct Node(Word);
impl Version for Node {}

struct Walk {
    #[cfg(refused = "visit")]
    state: Rc<u64>,
    #[cfg(not(refused = "visit"))]
    state: Arc<u64>,
}

impl Visit for Walk {
    type Target = Node;
    type Output = u64;
    fn read(&self, _: Link<Node>, node: &Node) -> Step<Node, u64> {
        Step::End(node.0.get() + *self.state)
    }
    fn then(self, _: u64, _: &mut Context) {}
}

struct Change {
    #[cfg(refused = "modify")]
    state: Rc<u64>,
    #[cfg(not(refused = "modify"))]
    state: Arc<u64>,
}

impl Modify for Change {
    type Target = Node;
    type Output = ();
    fn write(&mut self, _: Link<Node>, node: Written<'_, Node>, _: &mut Context) {
        node.0.set(*self.state, node.token());
    }
    fn then(self, (): (), _: &mut Context) {}
}

fn main() {
    #[cfg(refused = "hook")]
    let captured = Rc::new(1u64);
    #[cfg(not(refused = "hook"))]
    let captured = Arc::new(1u64);
    let rt = Runtime::builder().on_failure(move |_| assert_eq!(*captured, 1)).build().unwrap();
    let node = rt.versioned(Node(Word::new(1))).build();

    #[cfg(refused = "spawn")]
    let captured = Rc::new(1u64);
    #[cfg(not(refused = "spawn"))]
    let captured = Arc::new(1u64);
    rt.task(()).spawn(move |(), _cx| assert_eq!(*captured, 1));

    #[cfg(refused = "submit")]
    let captured = Rc::new(1u64);
    #[cfg(not(refused = "submit"))]
    let captured = Arc::new(1u64);
    let _handle = rt.task(()).submit(move |(), _cx| *captured);

    #[cfg(refused = "read")]
    let captured = Rc::new(1u64);
    #[cfg(not(refused = "read"))]
    let captured = Arc::new(1u64);
    rt.task(node.read()).read_then(move |node| node.0.get() + *captured, |_, _cx| {});

    #[cfg(refused = "then")]
    let captured = Rc::new(1u64);
    #[cfg(not(refused = "then"))]
    let captured = Arc::new(1u64);
    rt.task(node.read()).read_then(|node| node.0.get(), move |_, _cx| assert_eq!(*captured, 1));
}
