//! A half that another worker may run captures only what may move to another thread and outlives
//! the join.
//!
//! refused stays: error[E0277]: `Rc<i32>` cannot be shared between threads safely
//! refused result: error[E0277]: `Rc<{integer}>` cannot be sent between threads safely
//! refused both: error[E0499]: cannot borrow `numbers` as mutable more than once at a time
//! refused outer: error[E0499]: cannot borrow `cx` as mutable more than once at a time
//! refused context: error[E0505]: cannot move out of `cx` because it is borrowed
//! refused kept: error[E0521]: borrowed data escapes outside of closure
//! refused entered: error[E0277]: `*mut ()` cannot be sent between threads safely
//! refused piece: error[E0373]: closure may outlive the current function, but it borrows `own`
//! refused scope: error[E0277]: `NonNull<fork::job::Job>` cannot be sent between threads safely
//! refused nested: error[E0277]: `*mut ()` cannot be shared between threads safely
//! refused over: error[E0277]: `Rc<i32>` cannot be shared between threads safely

use std::rc::Rc;
use xtasking::{Fork, Runtime};

fn main() {
    let rt = Runtime::new().unwrap();
    let mut numbers = [1, 2];

    rt.run(|mut cx| {
        // What must stay on its thread may be in the half that does.
        let stays = Rc::new(1);
        #[cfg(not(refused = "stays"))]
        cx.join(|_| stays.clone(), |_| 2);
        #[cfg(refused = "stays")]
        cx.join(|_| 2, |_| *stays);
        #[cfg(not(refused = "result"))]
        cx.join(|_| Rc::new(1), |_| 2);
        #[cfg(refused = "result")]
        cx.join(|_| 2, |_| Rc::new(1));
    })
    .unwrap();

    rt.run(|mut cx| {
        let (left, right) = numbers.split_at_mut(1);
        #[cfg(not(refused = "both"))]
        cx.join(|_| left[0] += 1, |_| right[0] += 1);
        #[cfg(refused = "both")]
        cx.join(|_| numbers[0] += 1, |_| numbers[1] += 1);
    })
    .unwrap();

    rt.run(|mut cx| {
        #[cfg(not(refused = "outer"))]
        cx.join(|mut cx| _ = cx.join(|_| (), |_| ()), |_| ());
        #[cfg(refused = "outer")]
        cx.join(|_| _ = cx.join(|_| (), |_| ()), |_| ());
    })
    .unwrap();

    rt.task(()).spawn(|(), cx| {
        let mut fork = cx.fork();
        #[cfg(refused = "context")]
        drop(cx);
        fork.join(|_| (), |_| ());
        #[cfg(not(refused = "context"))]
        assert_eq!(cx.workers(), 1);
    });

    rt.run(|mut cx| {
        let mut kept: Option<Fork<'_>> = None;
        cx.join(
            |_cx| {
                #[cfg(refused = "kept")]
                {
                    kept = Some(_cx);
                }
            },
            |_| (),
        );
        drop(kept.take());
    })
    .unwrap();

    let other = Runtime::new().unwrap();
    rt.run(|mut cx| {
        #[cfg(refused = "entered")]
        let inner = &mut cx;
        #[cfg(not(refused = "entered"))]
        let inner = cx.worker();
        // A thread of another runtime.
        _ = other.run(|_| drop(inner));
        cx.join(|_| (), |_| ());
    })
    .unwrap();

    let lent = 7;
    rt.scope(|scope| {
        let own = 7;
        #[cfg(not(refused = "piece"))]
        scope.spawn(move |_| assert_eq!(lent, own));
        #[cfg(refused = "piece")]
        scope.spawn(|_| assert_eq!(lent, own));
        #[cfg(refused = "scope")]
        std::thread::spawn(move || drop(scope));
    })
    .unwrap();

    rt.run(|mut cx| {
        let stays = Rc::new(1);
        let stays = || *stays;
        #[cfg(refused = "over")]
        cx.over(0..7).for_each(|_| _ = stays());
        #[cfg(not(refused = "over"))]
        (0..7).for_each(|_| _ = stays());
        cx.over(0..7).for_each(|_| ());
        cx.join(
            |_| (),
            |mut half| {
                #[cfg(refused = "nested")]
                let mut other: Fork<'_> = unimplemented!();
                // A worker that runs some of the items has a fork of its own.
                #[cfg(refused = "nested")]
                other.over(0..7).for_each(|_| _ = half.help());
                #[cfg(not(refused = "nested"))]
                half.over(0..7).nested().for_each(|_, mut other| _ = other.help());
            },
        );
    })
    .unwrap();
}
