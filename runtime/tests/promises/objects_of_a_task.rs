//! A task names up to six objects by an access to each, or any number in a list. There is no other
//! way to reach their data.
//!
//! refused seven: error[E0277]: `(
//! says seven: a tuple has up to six of these, a list any number
//! refused object: error[E0277]: `Object<Plain<u64>>` is not what a task can access
//! says object: call its `.read()` or `.write()`
//! refused list: error[E0277]: `Object<Plain<u64>>` is not an access
//! says list: call its `.read()` or `.write()`
//! refused outlived: error[E0597]: `short` does not live long enough
//! refused field: error[E0599]: no method named `get` found for struct `Object<C>`
//! refused shut_down: error[E0505]: cannot move out of `rt` because it is borrowed
//! refused no_object: error[E0631]: type mismatch in closure arguments

use xtasking::{Runtime, Shutdown};

fn main() {
    let rt = Runtime::new().unwrap();
    let [a, b, c, d, e, f, g] = std::array::from_fn(|_| rt.plain(1u64).build());

    #[cfg(refused = "seven")]
    rt.task((a.read(), b.read(), c.read(), d.read(), e.read(), f.read(), g.read())).spawn(|_, _cx| {});
    rt.task((a.read(), b.read(), c.read(), d.read(), e.read(), f.read())).spawn(|_, _cx| {});

    #[cfg(refused = "object")]
    rt.task(g).spawn(|_, _cx| {});
    #[cfg(refused = "list")]
    rt.task(vec![g]).spawn(|_, _cx| {});
    #[cfg(not(any(refused = "object", refused = "list")))]
    rt.task(vec![g.read()]).spawn(|_, _cx| {});

    // The handle keeps the object alive until the task is spawned.
    let long = rt.plain(1u64).build();
    let access = {
        #[cfg(refused = "outlived")]
        let short = rt.plain(1u64).build();
        #[cfg(not(refused = "outlived"))]
        let short = &long;
        short.read()
    };
    rt.task(access).spawn(|_, _cx| {});

    #[cfg(refused = "field")]
    drop(a.get());
    drop(a.primitive());

    #[cfg(refused = "no_object")]
    rt.task(()).spawn(|number: &mut u64, _cx| *number += 1);
    rt.task(a.write()).spawn(|number: &mut u64, _cx| *number += 1);

    let task = rt.task(a.read());
    #[cfg(not(refused = "shut_down"))]
    drop(task);
    rt.shutdown(Shutdown::Drain);
    #[cfg(refused = "shut_down")]
    drop(task);
}
