//! A task that asked to read cannot write.
//!
//! refused plain: error[E0594]: cannot assign to `*view`, which is behind a `&` reference
//! refused shared: error[E0594]: cannot assign to `*view`, which is behind a `&` reference
//! refused snapshot: error[E0594]: cannot assign to `*view`, which is behind a `&` reference
//! refused several: error[E0594]: cannot assign to `*read`, which is behind a `&` reference
//! refused versioned: error[E0599]: no method named `token` found for reference `&Node`

use xtasking::{Runtime, Version, Word};

struct Node(Word);
impl Version for Node {}

fn main() {
    let rt = Runtime::new().unwrap();
    let plain = rt.plain(1u64).build();
    let shared = rt.shared_reads(1u64).build();
    let snapshot = rt.snapshot(1u64).build();
    let versioned = rt.versioned(Node(Word::new(1))).build();

    #[cfg(refused = "plain")]
    rt.task(plain.read()).spawn(|view, _cx| *view = 2);
    #[cfg(not(refused = "plain"))]
    rt.task(plain.write()).spawn(|view, _cx| *view = 2);

    #[cfg(refused = "shared")]
    rt.task(shared.read()).spawn(|view, _cx| *view = 2);
    #[cfg(not(refused = "shared"))]
    rt.task(shared.write()).spawn(|view, _cx| *view = 2);

    #[cfg(refused = "snapshot")]
    rt.task(snapshot.read()).spawn(|view, _cx| *view = 2);
    #[cfg(not(refused = "snapshot"))]
    rt.task(snapshot.write()).spawn(|view, _cx| *view = 2);

    #[cfg(refused = "several")]
    rt.task((plain.write(), shared.read())).spawn(|(_, read), _cx| *read = 2);
    #[cfg(not(refused = "several"))]
    rt.task((plain.read(), shared.write())).spawn(|(_, read), _cx| *read = 2);

    #[cfg(refused = "versioned")]
    rt.task(versioned.read()).spawn(|view, _cx| view.0.set(2, view.token()));
    #[cfg(not(refused = "versioned"))]
    rt.task(versioned.write()).spawn(|view, _cx| view.0.set(2, view.token()));
}
