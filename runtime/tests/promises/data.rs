//! The data of an object must suit its class: tasks on any worker access it, and readers of some
//! classes do so concurrently.
//!
//! refused plain: error[E0277]: `Rc<u64>` cannot be sent between threads safely
//! refused plain_borrowed: error[E0597]: `local` does not live long enough
//! refused shared_send: error[E0277]: `Rc<u64>` cannot be sent between threads safely
//! refused shared_sync: error[E0277]: `Cell<u64>` cannot be shared between threads safely
//! refused snapshot_pointer: error[E0277]: `Box<u64>` cannot be the data of a snapshot
//! refused snapshot_bits: error[E0277]: `bool` cannot be the data of a snapshot
//! says snapshot_bits: every bit pattern must be a valid value
//! says snapshot_bits: use `Runtime::shared_reads`
//! refused snapshot_link: error[E0277]: `Link<u64>` cannot be the data of a snapshot
//! refused versioned: error[E0277]: `Cell<u64>` is not a versioned type
//! says versioned: derive `Version` for a type whose fields are `Word`

use std::cell::Cell;
use std::rc::Rc;
use xtasking::{Runtime, Version, Word};

struct Node(Word);
impl Version for Node {}

fn main() {
    let rt = Runtime::new().unwrap();
    let local = 1u64;

    // One task at a time: what it holds need not be `Sync`.
    let _object = rt.plain(Cell::new(1u64)).build();
    #[cfg(refused = "plain")]
    let _object = rt.plain(Rc::new(1u64)).build();

    #[cfg(refused = "plain_borrowed")]
    let value = &local;
    #[cfg(not(refused = "plain_borrowed"))]
    let value = local;
    let object = rt.plain(value).build();
    rt.task(object.read()).spawn(|_, _cx| {});

    #[cfg(refused = "shared_send")]
    let value = Rc::new(1u64);
    #[cfg(refused = "shared_sync")]
    let value = Cell::new(1u64);
    #[cfg(not(any(refused = "shared_send", refused = "shared_sync")))]
    let value = Box::new(1u64);
    let _object = rt.shared_reads(value).build();

    #[cfg(refused = "snapshot_pointer")]
    let value = Box::new(1u64);
    #[cfg(refused = "snapshot_bits")]
    let value = true;
    #[cfg(refused = "snapshot_link")]
    // SAFETY: a word of no node, which is never followed.
    let value = unsafe { xtasking::arena::Link::<u64>::from_word(64) }.unwrap();
    #[cfg(not(any(refused = "snapshot_pointer", refused = "snapshot_bits", refused = "snapshot_link")))]
    let value = 1u64;
    let _object = rt.snapshot(value).build();

    #[cfg(refused = "versioned")]
    let value = Cell::new(1u64);
    #[cfg(not(refused = "versioned"))]
    let value = Node(Word::new(1));
    let _object = rt.versioned(value).build();
}
