//! A result goes to another thread, once.
//!
//! refused submit: error[E0277]: `Rc<u64>` cannot be sent between threads safely
//! refused submit_read: error[E0277]: `Rc<u64>` cannot be sent between threads safely
//! refused promise: error[E0277]: `Rc<u64>` cannot be sent between threads safely
//! refused joined_twice: error[E0382]: use of moved value: `handle`
//! refused copied: error[E0599]: no method named `clone` found for struct `Handle<R>`
//! refused fulfilled_twice: error[E0382]: use of moved value: `promise`
//! refused borrowed: error[E0597]: `local` does not live long enough

use std::rc::Rc;
use xtasking::{Runtime, Version, Word};

struct Node(Word);
impl Version for Node {}

fn main() {
    let rt = Runtime::new().unwrap();
    let node = rt.versioned(Node(Word::new(1))).build();

    #[cfg(refused = "submit")]
    let handle = rt.task(()).submit(|(), _cx| Rc::new(1u64));
    #[cfg(not(refused = "submit"))]
    let handle = rt.task(()).submit(|(), _cx| Box::new(1u64));
    #[cfg(refused = "joined_twice")]
    drop(handle.join());
    #[cfg(refused = "copied")]
    let handle = handle.clone();
    drop(handle.join());

    // What a reader leaves for its second half stays on the worker, and need not be `Send`.
    #[cfg(refused = "submit_read")]
    let _handle = rt.task(node.read()).submit_read(|node| Rc::new(node.0.get()), |found, _cx| found);
    #[cfg(not(refused = "submit_read"))]
    let _handle = rt.task(node.read()).submit_read(|node| Rc::new(node.0.get()), |found, _cx| *found);

    #[cfg(refused = "promise")]
    let (promise, _handle) = rt.promise::<Rc<u64>>();
    #[cfg(not(refused = "promise"))]
    let (promise, _handle) = rt.promise::<Box<u64>>();
    #[cfg(refused = "fulfilled_twice")]
    promise.fulfil(2u64.into());
    promise.fulfil(1u64.into());

    let local = 1u64;
    #[cfg(refused = "borrowed")]
    let result = &local;
    #[cfg(not(refused = "borrowed"))]
    let result = local;
    let (promise, _handle) = rt.promise();
    rt.task(()).spawn(move |(), _cx| promise.fulfil(result));
}
