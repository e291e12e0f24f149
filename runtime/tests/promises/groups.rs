//! A group accepts members until its continuation is set, which happens once. No two groups wait
//! for each other.
//!
//! refused closed: error[E0382]: borrow of moved value: `one`
//! refused twice: error[E0382]: use of moved value: `two`
//! refused gone: error[E0505]: cannot move out of `three` because it is borrowed
//! refused outside: error[E0599]: no method named `as_sibling` found
//! refused sibling: error[E0599]: no method named `after` found
//! refused later: error[E0599]: no method named `as_sibling` found
//! refused chain: error[E0599]: the method `after` exists
//! refused stays: error[E0277]: `Rc<i32>` cannot be sent between threads safely
//! refused borrowed: error[E0597]: `own` does not live long enough

use std::rc::Rc;
use xtasking::{Runtime, managed::Managed};

fn main() {
    let rt = Runtime::new().unwrap();
    let [one, two, three, four, five, six] = std::array::from_fn(|_| rt.group());

    rt.task(()).of(&one).spawn(|(), _| ());
    one.then(&rt, |_, _| ());
    #[cfg(refused = "closed")]
    rt.task(()).of(&one).spawn(|(), _| ());

    let _handle = two.handle();
    #[cfg(refused = "twice")]
    two.then(&rt, |_, _| ());

    let member = rt.task(()).of(&three);
    #[cfg(refused = "gone")]
    drop(three);
    member.spawn(|(), _| ());

    #[cfg(refused = "outside")]
    rt.task(()).as_sibling().spawn(|(), _| ());
    rt.task(()).of(&four).spawn(|(), cx| {
        cx.task(()).as_sibling().spawn(|(), _| ());
        let group = cx.group();
        // What waits is no sibling: the groups might wait for each other.
        #[cfg(refused = "sibling")]
        cx.task(()).as_sibling().after(group).spawn(|(), _| ());
        #[cfg(refused = "later")]
        cx.task(()).after(group).as_sibling().spawn(|(), _| ());
        #[cfg(not(any(refused = "sibling", refused = "later")))]
        cx.task(()).after(group).spawn(|(), _| ());
    });

    #[cfg(refused = "chain")]
    rt.task(()).after(five).after(six).spawn(|(), _| ());
    #[cfg(not(refused = "chain"))]
    rt.task(()).after(five).of(&six).spawn(|(), _| ());

    // A function of a set may run anywhere, and outlive the code that enqueued it.
    let own = 1;
    let (stays, pool) = (Rc::new(1), Managed::new(&rt));
    #[cfg(refused = "stays")]
    pool.enqueue({
        let stays = stays.clone();
        move || drop(stays)
    });
    #[cfg(not(refused = "stays"))]
    pool.enqueue(move || assert_eq!(own, 1));
    assert_eq!(*stays, 1);
    let borrowed = &own;
    #[cfg(refused = "borrowed")]
    pool.enqueue(move || assert_eq!(*borrowed, 1));
    #[cfg(not(refused = "borrowed"))]
    assert_eq!(*borrowed, 1);
}
