//! A body may run after its spawner has returned, so it borrows nothing from it.
//!
//! refused by_reference: error[E0373]: closure may outlive the current function, but it borrows
//!     `local`
//! refused reference: error[E0597]: `local` does not live long enough
//! refused reader: error[E0597]: `local` does not live long enough
//! refused view: error[E0521]: borrowed data escapes outside of closure

use xtasking::{Runtime, Version, Word};

struct Node(Word);
impl Version for Node {}

fn main() {
    let rt = Runtime::new().unwrap();
    let node = rt.versioned(Node(Word::new(1))).build();
    let number = rt.plain(1u64).build();
    let local = 1u64;

    #[cfg(refused = "by_reference")]
    let body = |(), _: &mut _| assert_eq!(local, 1);
    #[cfg(not(refused = "by_reference"))]
    let body = move |(), _: &mut _| assert_eq!(local, 1);
    rt.task(()).spawn(body);

    #[cfg(refused = "reference")]
    let captured = &local;
    #[cfg(not(refused = "reference"))]
    let captured = local;
    rt.task(()).spawn(move |(), _cx| drop(captured.to_string()));

    #[cfg(refused = "reader")]
    let captured = &local;
    #[cfg(not(refused = "reader"))]
    let captured = local;
    rt.task(node.read()).read_then(move |_| captured.to_string(), |_, _cx| {});

    rt.task(number.read()).spawn(|number, cx| {
        #[cfg(refused = "view")]
        let captured = number;
        #[cfg(not(refused = "view"))]
        let captured = *number;
        cx.task(()).spawn(move |(), _cx| drop(captured.to_string()));
    });
}
